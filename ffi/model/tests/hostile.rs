//! Programs that pass invalid counts, sizes and kernels. Each call returns a code within a
//! short time, and uses no more host memory than it needs.

#![allow(
    unsafe_code,
    reason = "C functions are called as a C program calls them"
)]

#[path = "rules/program.rs"]
#[allow(dead_code, reason = "the rules' tests use the rest of it")]
mod program;

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cudart_ffi::types::*;
use cudart_model::Profile;
use program::{INVALID_VALUE, MEMORY_ALLOCATION, MIB, OK, Program};

const GIB: u64 = 1024 * MIB;

/// Two tests measure the memory of the process, so all tests run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts that are invalid for the dependencies of any graph.
const COUNTS: [usize; 7] = [
    100,
    1 << 16,
    1 << 31,
    1 << 40,
    (1 << 60) - 1,
    1 << 60,
    usize::MAX,
];

/// An array of one node that ends at a page which cannot be read, so that reading further
/// would end the process.
#[cfg(target_os = "linux")]
struct Edge(*mut c_void);

#[cfg(target_os = "linux")]
mod sys {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub fn mmap(
            address: *mut c_void,
            bytes: usize,
            access: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void;
        pub fn mprotect(address: *mut c_void, bytes: usize, access: c_int) -> c_int;
        pub fn munmap(address: *mut c_void, bytes: usize) -> c_int;
    }

    pub const READ_AND_WRITE: c_int = 3;
    /// `MAP_PRIVATE`, `MAP_ANONYMOUS`, `MAP_NORESERVE`.
    pub const SPARSE: c_int = 0x4022;
}

/// Host memory that gets physical pages only where it is written.
#[cfg(target_os = "linux")]
fn sparse(bytes: u64) -> *mut c_void {
    // SAFETY: the call maps new memory.
    let address = unsafe {
        sys::mmap(
            null_mut(),
            bytes as usize,
            sys::READ_AND_WRITE,
            sys::SPARSE,
            -1,
            0,
        )
    };
    assert_ne!(address as isize, -1, "no {bytes} bytes of addresses");
    address
}

#[cfg(target_os = "linux")]
impl Edge {
    fn new(node: cudaGraphNode_t) -> Self {
        let pages = sparse(8192);
        // SAFETY: the second of the two pages is protected, and then the last bytes
        // of the first one are written.
        unsafe {
            assert_eq!(sys::mprotect(pages.byte_add(4096), 4096, 0), 0);
            pages
                .byte_add(4096 - size_of_val(&node))
                .cast::<cudaGraphNode_t>()
                .write(node);
        }
        Self(pages)
    }

    fn first(&self) -> *mut cudaGraphNode_t {
        // SAFETY: as above.
        unsafe { self.0.byte_add(4096 - size_of::<cudaGraphNode_t>()).cast() }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Edge {
    fn drop(&mut self) {
        // SAFETY: the pages that `new` mapped.
        unsafe { sys::munmap(self.0, 8192) };
    }
}

/// Bytes of physical memory that the process uses.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the kernel's numbers");
    let pages = statm.split(' ').nth(1).expect("the second number");
    pages.parse::<u64>().expect("a number") * 4096
}

#[test]
#[cfg(target_os = "linux")]
fn a_count_above_the_number_of_nodes_is_refused_before_the_array_is_read() {
    let _alone = alone();
    let p = Program::new();
    let graph = p.graph();
    let child = p.graph();
    // One node is in the array and one is not, so a count of 2 could be valid.
    let node = p.kernel(graph, &[], 1);
    p.kernel(graph, &[], 1);
    let (_, address) = p.alloc(graph, &[], MIB);
    let edge = Edge::new(node);
    let stream = p.stream();
    for count in COUNTS {
        for first in [edge.first().cast_const(), null()] {
            let mut new = cudaGraphNode_t::NULL;
            let mut params = Program::alloc_params(MIB);
            let mut kernel = cudaKernelNodeParams::zeroed();
            kernel.func = p.spin.0;
            let mut captured = cudaGraph_t::NULL;
            // SAFETY: the pointers are to local variables. The array must not be
            // read, which this test checks.
            let codes = unsafe {
                [
                    p.f().cudaGraphAddEmptyNode(&mut new, graph, first, count),
                    p.f()
                        .cudaGraphAddMemAllocNode(&mut new, graph, first, count, &mut params),
                    p.f()
                        .cudaGraphAddMemFreeNode(&mut new, graph, first, count, address),
                    p.f()
                        .cudaGraphAddKernelNode(&mut new, graph, first, count, &kernel),
                    p.f()
                        .cudaGraphAddChildGraphNode(&mut new, graph, first, count, child),
                ]
            };
            assert_eq!(codes.map(|code| code.0), [INVALID_VALUE; 5], "{count:#x}");
            assert!(new.is_null());
            // A captured node is then passed too often.
            // SAFETY: as above.
            let codes = unsafe {
                let mode = cudaStreamCaptureMode::GLOBAL;
                [
                    p.f().cudaStreamBeginCapture(stream, mode),
                    p.f().cudaStreamEndCapture(stream, &mut captured),
                ]
            };
            assert_eq!(codes.map(|code| code.0), [OK; 2]);
        }
        // More access descriptors than there can be devices.
        let mut params = Program::alloc_params(MIB);
        params.access_descs = edge.first().cast_const().cast();
        params.access_desc_count = count;
        let refused = p.try_alloc(graph, &[], &mut params);
        assert_eq!(refused, Err(INVALID_VALUE), "{count:#x}");
    }
}

/// A kernel with these lines, and a parameter `out` whose value is in `%rd1`.
fn ptx(lines: &str) -> String {
    format!(
        ".version 6.5\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b64 %rd<200>; .reg .b32 %r<9>;\n\
         ld.param.u64 %rd1, [out];\n{lines}\nret;\n}}\n\0"
    )
}

fn kernel(p: &Program, ptx: &str) -> cudaKernel_t {
    let mut library = cudaLibrary_t::NULL;
    let mut kernel = cudaKernel_t::NULL;
    let none = null_mut::<*mut c_void>;
    // SAFETY: NUL-terminated texts and variables of this function.
    let codes = unsafe {
        let loaded = p.f().cudaLibraryLoadData(
            &mut library,
            ptx.as_ptr().cast(),
            null_mut(),
            none(),
            0,
            null_mut(),
            none(),
            0,
        );
        let found = p
            .f()
            .cudaLibraryGetKernel(&mut kernel, library, c"k".as_ptr());
        [loaded, found].map(|code| code.map(|code| code.0))
    };
    assert_eq!(codes, [Some(OK); 2], "{ptx}");
    kernel
}

fn launch(p: &Program, kernel: cudaKernel_t, out: *mut c_void, grid: dim3, block: dim3) -> i32 {
    let mut out = out;
    let mut arguments = [(&raw mut out).cast::<c_void>()];
    // SAFETY: one argument of 64 bits, as the kernel has one parameter.
    unsafe {
        p.f().cudaLaunchKernel(
            kernel.0,
            grid,
            block,
            arguments.as_mut_ptr(),
            0,
            cudaStream_t::NULL,
        )
    }
    .0
}

fn malloc(p: &Program, bytes: u64) -> *mut c_void {
    let mut address = null_mut();
    // SAFETY: a variable of this function.
    let code = unsafe { p.f().cudaMalloc(&mut address, bytes as usize) };
    assert_eq!(code.0, OK);
    address
}

/// The largest grid and block that a device supports.
fn largest() -> (dim3, dim3) {
    let extents = |x, y, z| dim3 { x, y, z };
    (extents(0x7fff_ffff, 65_535, 65_535), extents(1024, 1, 1))
}

#[test]
fn every_kernel_ends_within_a_time_limit_for_any_grid_and_body() {
    let _alone = alone();
    let p = Program::new();
    let out = malloc(&p, MIB);
    let registers: String = (2..200)
        .map(|number| format!("mov.u64 %rd{number}, {number};\n"))
        .collect();
    let bodies = [
        String::new(),
        "mov.u32 %r1, %tid.x;".to_owned(),
        registers + "st.global.u64 [%rd1], %rd2;",
        // The store is never reached, so a thread costs only its start.
        "bra $END; st.global.u64 [%rd1], 1; $END:".to_owned(),
    ];
    for body in bodies {
        let kernel = kernel(&p, &ptx(&body));
        let (grid, block) = largest();
        let start = Instant::now();
        assert_eq!(launch(&p, kernel, out, grid, block), OK, "{body}");
        let took = start.elapsed();
        assert!(took < Duration::from_secs(30), "{took:?} for {body}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn stores_that_are_far_apart_use_little_host_memory() {
    let _alone = alone();
    let p = Program::new();
    let out = malloc(&p, 64 * GIB);
    // Each thread writes one byte, and the bytes are 512 B or more than a page apart.
    for distance in [512, 1 << 16] {
        let kernel = kernel(
            &p,
            &ptx(&format!(
                "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n\
                 mad.lo.s32 %r4, %r1, %r2, %r3; mul.wide.u32 %rd3, %r4, {distance};\n\
                 add.s64 %rd4, %rd1, %rd3; st.global.u8 [%rd4], 1;"
            )),
        );
        let before = resident();
        let (blocks, threads) = (dim3::linear(1 << 20), dim3::linear(1024));
        assert_eq!(launch(&p, kernel, out, blocks, threads), OK);
        let grown = resident().saturating_sub(before);
        assert!(grown < 600 * MIB, "{} MiB for {distance}", grown / MIB);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn copies_of_64_gib_keep_sparse_memory_sparse() {
    let _alone = alone();
    let p = Program::new();
    let bytes = 64 * GIB;
    let device = malloc(&p, bytes);
    let host = sparse(bytes);
    let before = resident();
    let copy = |to: *mut c_void, from: *const c_void, bytes: u64, kind| {
        // SAFETY: the ranges are mapped, or looked up.
        let code = unsafe {
            p.f()
                .cudaMemcpyAsync(to, from, bytes as usize, kind, cudaStream_t::NULL)
        };
        assert_eq!(code.0, OK);
    };
    copy(host, device, bytes, cudaMemcpyKind::DEVICE_TO_HOST);
    // SAFETY: the address is looked up.
    let set = unsafe {
        p.f()
            .cudaMemsetAsync(device, 0, bytes as usize, cudaStream_t::NULL)
    };
    assert_eq!(set.0, OK);
    // Fewer zeros are copied in both directions, because host memory is read.
    copy(host, device, 2 * GIB, cudaMemcpyKind::DEVICE_TO_HOST);
    copy(device, host, 2 * GIB, cudaMemcpyKind::HOST_TO_DEVICE);
    copy(
        // SAFETY: within the allocation.
        unsafe { device.byte_add(bytes as usize / 2) },
        device,
        bytes / 2,
        cudaMemcpyKind::DEVICE_TO_DEVICE,
    );
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 * MIB, "{} MiB", grown / MIB);
    // SAFETY: what `sparse` mapped.
    unsafe { sys::munmap(host, bytes as usize) };
}

#[test]
fn child_graphs_that_double_in_size_are_refused_with_code_2() {
    let _alone = alone();
    let p = Program::new();
    let child = |graph, child| {
        let mut node = cudaGraphNode_t::NULL;
        // SAFETY: a variable; no dependencies.
        unsafe {
            p.f()
                .cudaGraphAddChildGraphNode(&mut node, graph, null(), 0, child)
        }
        .0
    };
    let mut inner = p.graph();
    for _ in 0..1 << 14 {
        p.kernel(inner, &[], 1);
    }
    for level in 0.. {
        assert!(level < 40, "2^{level} nodes and no end");
        let outer = p.graph();
        let codes = [child(outer, inner), child(outer, inner)];
        // SAFETY: handles are looked up.
        assert_eq!(unsafe { p.f().cudaGraphDestroy(inner) }.0, OK);
        inner = outer;
        if codes.contains(&MEMORY_ALLOCATION) {
            assert!(level >= 5, "refused at level {level} already");
            break;
        }
        assert_eq!(codes, [OK, OK]);
    }
}

#[test]
fn graphs_that_are_nested_too_deeply_are_refused_with_code_2() {
    let _alone = alone();
    let p = Program::new();
    let mut inner = p.graph();
    p.kernel(inner, &[], 1);
    for level in 0.. {
        assert!(level < 10_000, "no end");
        let outer = p.graph();
        let mut node = cudaGraphNode_t::NULL;
        // SAFETY: a variable; no dependencies. Handles are looked up.
        let code = unsafe {
            p.f()
                .cudaGraphAddChildGraphNode(&mut node, outer, null(), 0, inner)
        };
        if code.0 == MEMORY_ALLOCATION {
            assert!(level >= 64);
            break;
        }
        assert_eq!(code.0, OK);
        inner = outer;
    }
}

/// Live allocations. A new one must not overlap any of them.
#[derive(Default)]
struct Live(std::collections::BTreeMap<u64, u64>);

impl Live {
    fn add(&mut self, address: *mut c_void, bytes: u64) {
        let (start, end) = (address as u64, address as u64 + bytes);
        let meets = self.0.range(..end).next_back();
        assert!(
            meets.is_none_or(|(_, &other)| other <= start),
            "{start:#x}..{end:#x} meets {meets:x?}"
        );
        self.0.insert(start, end);
    }

    fn remove(&mut self, address: *mut c_void) {
        assert!(self.0.remove(&(address as u64)).is_some());
    }
}

#[test]
fn live_allocations_never_overlap_even_after_many_allocations() {
    let _alone = alone();
    let p = Program::on(Profile::built_in("two-devices").expect("it is built in"));
    let mut live = Live::default();
    let set = |device: c_int| {
        // SAFETY: no pointers.
        assert_eq!(unsafe { p.f().cudaSetDevice(device) }.0, OK);
    };
    for device in 0..2 {
        set(device);
        live.add(malloc(&p, 64 * MIB), 64 * MIB);
        let graph = p.graph();
        let mut params = Program::alloc_params(64 * MIB);
        params.pool_props.location.id = device;
        assert!(p.try_alloc(graph, &[], &mut params).is_ok());
        live.add(params.dptr, 64 * MIB);
    }
    // 64 GiB at a time; in total far more than there are addresses below 2^47.
    for cycle in 0..6_000_u64 {
        set((cycle % 2) as c_int);
        let bytes = 64 * GIB - 4096 * (cycle % 7);
        let mut pooled = null_mut();
        // SAFETY: a variable.
        let code = unsafe {
            p.f()
                .cudaMallocAsync(&mut pooled, bytes as usize, cudaStream_t::NULL)
        };
        assert_eq!(code.0, OK, "cycle {cycle}");
        live.add(pooled, bytes);
        let plain = malloc(&p, 32 * GIB);
        live.add(plain, 32 * GIB);
        // SAFETY: addresses are looked up.
        let codes = unsafe {
            [
                p.f().cudaFreeAsync(pooled, cudaStream_t::NULL),
                p.f().cudaFree(plain),
                p.f().cudaDeviceSynchronize(),
            ]
        };
        assert_eq!(codes.map(|code| code.0), [OK; 3]);
        live.remove(pooled);
        live.remove(plain);
    }
}

#[test]
fn profiles_whose_addresses_would_overlap_are_refused() {
    let (_, h200) = Profile::BUILT_IN[0];
    for (from, to) in [
        ("devices = 1 ", "devices = 64 "),
        ("0x302000000", "0x1c0000000000"),
        ("150_109_880_320", "15_500_000_000_000"),
    ] {
        let one = h200.replace(from, to);
        let both = one.replace("150_109_880_320", "1_500_000_000_000");
        assert_ne!(one, h200);
        assert!(Profile::from_toml(&both).is_err(), "{to}");
    }
    let eight = h200.replace("devices = 1 ", "devices = 8 ");
    assert!(Profile::from_toml(&eight).is_ok());
}

#[test]
#[cfg(target_os = "linux")]
fn pinned_memory_uses_physical_pages_only_where_it_is_written() {
    type MallocHost = unsafe extern "C" fn(*mut *mut c_void, usize) -> cudaError_t;
    type FreeHost = unsafe extern "C" fn(*mut c_void) -> cudaError_t;
    let _alone = alone();
    let _model = cudart_model::Isolated::deterministic();
    let symbol = |name| {
        cudart_model::symbol(name)
            .expect("the function is exported")
            .as_ptr()
    };
    // SAFETY: the C prototypes of the two functions.
    let (malloc, free) = unsafe {
        (
            std::mem::transmute::<*mut c_void, MallocHost>(symbol(c"cudaMallocHost")),
            std::mem::transmute::<*mut c_void, FreeHost>(symbol(c"cudaFreeHost")),
        )
    };
    let before = resident();
    let mut address = null_mut();
    // SAFETY: a variable of this test.
    let code = unsafe { malloc(&mut address, 8 * GIB as usize) };
    // The system may refuse this much memory; the result is then 2.
    assert!(matches!(code.0, OK | MEMORY_ALLOCATION), "{code:?}");
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 * MIB, "{} MiB", grown / MIB);
    // SAFETY: a variable; an address that was just given.
    unsafe {
        if code.0 == OK {
            assert_eq!(address as usize % 4096, 0);
            assert_eq!(*address.cast::<u64>(), 0);
            assert_eq!(free(address).0, OK);
        }
        let code = malloc(&mut address, usize::MAX - 4096);
        assert_eq!(code.0, MEMORY_ALLOCATION);
    }
}
