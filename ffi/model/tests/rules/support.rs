//! R51, R54, and the profiles: devices, drivers, GPUs without memory pools.

use std::ffi::c_int;

use crate::program::{INVALID_DEVICE, INVALID_VALUE, MIB, NOT_SUPPORTED, OK, Program};
use cudart_ffi::types::*;
use cudart_model::Profile;

fn on(profile: &str) -> Program {
    Program::on(Profile::built_in(profile).unwrap())
}

fn attribute(p: &Program, attribute: cudaDeviceAttr) -> c_int {
    let mut value = -1;
    // SAFETY: a variable of this function.
    let code = unsafe { p.f().cudaDeviceGetAttribute(&mut value, attribute, 0) };
    assert_eq!(code.0, OK);
    value
}

#[test]
fn r51_access_is_only_read_write_and_for_existing_devices() {
    let p = on("two-devices");
    let graph = p.graph();
    let request = |device: c_int, flags| {
        let mut params = Program::alloc_params(MIB);
        let access = cudaMemAccessDesc {
            location: cudaMemLocation {
                type_: cudaMemLocationType::DEVICE,
                id: device,
            },
            flags,
        };
        params.access_descs = &raw const access;
        params.access_desc_count = 1;
        p.try_alloc(graph, &[], &mut params)
    };
    let both = cudaMemAccessFlags::PROT_READ_WRITE;
    let node = request(1, both).unwrap();
    assert_eq!(request(2, both), Err(INVALID_DEVICE));
    assert_eq!(
        request(1, cudaMemAccessFlags::PROT_NONE),
        Err(INVALID_VALUE)
    );
    let mut params = cudaMemAllocNodeParams::zeroed();
    // SAFETY: a variable of this function.
    unsafe { p.f().cudaGraphMemAllocNodeGetParams(node, &mut params) };
    assert_eq!(params.access_desc_count, 1);
    // SAFETY: the descriptors live as long as the graph.
    let access = unsafe { *params.access_descs };
    assert_eq!((access.location.id, access.flags), (1, both));
}

#[test]
fn r45_each_device_has_its_own_pool_and_attributes() {
    let p = on("two-devices");
    let graph = p.graph();
    let mut params = Program::alloc_params(64 * MIB);
    params.pool_props.location.id = 1;
    p.try_alloc(graph, &[], &mut params).unwrap();
    let there = params.dptr;
    let (_, here) = p.alloc(graph, &[], MIB);
    assert_ne!(here, there);
    assert_eq!(p.launch(p.instantiate(graph), p.stream()), OK);
    assert_eq!(p.try_attribute(0, 0), Ok(32 * MIB));
    assert_eq!(p.try_attribute(1, 0), Ok(64 * MIB));
    assert_eq!(p.try_attribute(2, 0), Err(INVALID_DEVICE));
    p.sync();
    p.trim();
    assert_eq!(p.try_attribute(1, 0), Ok(64 * MIB));
    assert_eq!(p.free(there), OK);
    // SAFETY: takes an ordinal.
    assert_eq!(unsafe { p.f().cudaDeviceGraphMemTrim(1) }.0, OK);
    assert_eq!(p.try_attribute(1, 0), Ok(0));
}

#[test]
fn r54_without_memory_pools_the_attribute_says_so_and_alloc_nodes_are_not_supported() {
    let p = on("no-memory-pools");
    assert_eq!(attribute(&p, cudaDeviceAttr::MEMORY_POOLS_SUPPORTED), 0);
    let mut params = Program::alloc_params(MIB);
    assert_eq!(p.try_alloc(p.graph(), &[], &mut params), Err(NOT_SUPPORTED));
    assert_eq!(
        attribute(&Program::new(), cudaDeviceAttr::MEMORY_POOLS_SUPPORTED),
        1
    );
}

#[test]
fn r54_an_old_driver_returns_its_version_and_refuses_all_other_calls() {
    let p = on("old-driver");
    let (mut version, mut count) = (0, -1);
    // SAFETY: variables of this function.
    unsafe {
        assert_eq!(p.f().cudaDriverGetVersion(&mut version).0, OK);
        assert_eq!(p.f().cudaGetDeviceCount(&mut count).0, 35);
        assert_eq!(p.f().cudaSetDevice(0).0, 35);
        assert_eq!(
            (p.f().cudaGetLastError().0, p.f().cudaGetLastError().0),
            (35, 35)
        );
    }
    assert!((1..11040).contains(&version));
    assert_eq!(count, -1, "the count is not written");
}

#[test]
fn without_a_driver_the_version_is_0_and_without_a_device_the_code_is_100() {
    let p = Program::on(Profile {
        driver_version: 0,
        ..Profile::default()
    });
    let mut value = -1;
    // SAFETY: variables of this function.
    unsafe {
        assert_eq!(p.f().cudaDriverGetVersion(&mut value).0, OK);
        assert_eq!(value, 0);
        assert_eq!(p.f().cudaGetDeviceCount(&mut value).0, 35);
    }
    let p = Program::on(Profile {
        devices: 0,
        ..Profile::default()
    });
    // SAFETY: a variable of this function.
    assert_eq!(unsafe { p.f().cudaGetDeviceCount(&mut value) }.0, 100);
}

#[test]
fn attributes_and_memory_have_the_values_of_the_profile() {
    let p = on("consumer-8gib");
    let profile = Profile::built_in("consumer-8gib").unwrap();
    assert_eq!(attribute(&p, cudaDeviceAttr::CLOCK_RATE), 1_777_000);
    assert_eq!(attribute(&p, cudaDeviceAttr::MULTI_PROCESSOR_COUNT), 20);
    assert_eq!(p.mem_info().1, 8192 * MIB);
    let exec = p.instantiate(p.usual_graph(MIB, 1).0);
    assert_eq!(p.launch(exec, p.stream()), OK);
    assert_eq!(p.used(), profile.block_bytes());
    let mut prop = cudaDeviceProp::zeroed();
    // SAFETY: a variable of this function, larger than any version's struct.
    assert_eq!(unsafe { p.f().cudaGetDeviceProperties(&mut prop, 0) }.0, OK);
    let name: Vec<u8> = prop
        .name
        .iter()
        .map(|&c| c as u8)
        .take_while(|&c| c != 0)
        .collect();
    assert_eq!(String::from_utf8(name).unwrap(), profile.device_name);
}
