//! R47 to R50, M12: the four attributes.

use std::ffi::c_int;

use crate::program::{INVALID_DEVICE, INVALID_VALUE, MIB, OK, Program};
use cudart_ffi::types::*;

const SIZE: u64 = 64 * MIB;

fn set(p: &Program, device: c_int, attribute: u32, mut value: u64) -> i32 {
    // SAFETY: a u64 of this function.
    unsafe {
        p.f().cudaDeviceSetGraphMemAttribute(
            device,
            cudaGraphMemAttributeType(attribute),
            (&raw mut value).cast(),
        )
    }
    .0
}

#[test]
fn r47_the_attributes_are_numbers_0_to_3() {
    let p = Program::new();
    for attribute in 0..4 {
        assert_eq!(p.try_attribute(0, attribute), Ok(0));
    }
    for attribute in [4, 7, u32::MAX] {
        assert_eq!(p.try_attribute(0, attribute), Err(INVALID_VALUE));
    }
}

#[test]
fn r49_m12_only_the_high_marks_can_be_set_and_only_to_0() {
    let p = Program::new();
    let exec = p.instantiate(p.usual_graph(SIZE, 1).0);
    assert_eq!(p.launch(exec, p.stream()), OK);
    p.sync();
    p.trim();
    assert_eq!(p.attributes(), [0, SIZE, 0, SIZE]);
    for attribute in [0, 2, 7] {
        assert_eq!(set(&p, 0, attribute, 0), INVALID_VALUE);
    }
    for attribute in [1, 3] {
        assert_eq!(set(&p, 0, attribute, 5), INVALID_VALUE);
        assert_eq!(p.try_attribute(0, attribute), Ok(SIZE));
        assert_eq!(set(&p, 0, attribute, 0), OK);
        assert_eq!(p.try_attribute(0, attribute), Ok(0));
    }
}

#[test]
fn r49_m12_invalid_devices_and_null_values_are_refused() {
    let p = Program::new();
    for device in [9, -1] {
        assert_eq!(p.try_attribute(device, 0), Err(INVALID_DEVICE));
        assert_eq!(set(&p, device, 1, 0), INVALID_DEVICE);
        // SAFETY: takes an ordinal.
        let trim = unsafe { p.f().cudaDeviceGraphMemTrim(device) };
        assert_eq!(trim.0, INVALID_DEVICE);
    }
    let used = cudaGraphMemAttributeType::USED_MEM_CURRENT;
    // SAFETY: null is refused.
    let code = unsafe {
        p.f()
            .cudaDeviceGetGraphMemAttribute(0, used, std::ptr::null_mut())
    };
    assert_eq!(code.0, INVALID_VALUE);
}

#[test]
fn r50_used_is_at_most_reserved_and_marks_are_at_least_the_current_values() {
    let p = Program::new();
    let stream = p.stream();
    for bytes in [1, 33 * MIB, 100 * MIB, 7 * MIB] {
        let graph = p.graph();
        let (a, _) = p.alloc(graph, &[], bytes);
        p.alloc(graph, &[a], bytes + MIB);
        assert_eq!(p.launch(p.instantiate(graph), stream), OK);
        let [used, used_high, reserved, reserved_high] = p.attributes();
        assert!(used <= reserved && used <= used_high && reserved <= reserved_high);
    }
}
