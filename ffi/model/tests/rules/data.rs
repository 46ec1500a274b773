//! R10, R11, R17, R44: contents of memory, captured allocations, and the stream-ordered
//! pool.

use std::ffi::c_void;

use crate::program::{INVALID_VALUE, MIB, NOT_SUPPORTED, OK, Program};
use cudart_ffi::types::*;
use cudart_model::memory::contents::NEVER_WRITTEN;

const SIZE: u64 = 64 * MIB;
const CAPTURE_UNSUPPORTED: i32 = 900;
const CAPTURE_INVALIDATED: i32 = 901;

/// This project's kernel that writes to memory, as the compiler wrote it.
const SQUARES_PTX: &str = concat!(
    include_str!("../../../../kernels-rs/ptx/negated_squares.ptx"),
    "\0"
);

impl Program {
    fn squares(&self) -> cudaKernel_t {
        let mut library = cudaLibrary_t::NULL;
        let mut kernel = cudaKernel_t::NULL;
        let none = std::ptr::null_mut::<*mut c_void>;
        // SAFETY: NUL-terminated texts and variables of this function.
        let codes = unsafe {
            let loaded = self.f().cudaLibraryLoadData(
                &mut library,
                SQUARES_PTX.as_ptr().cast(),
                std::ptr::null_mut(),
                none(),
                0,
                std::ptr::null_mut(),
                none(),
                0,
            );
            let name = c"negated_squares".as_ptr();
            let found = self.f().cudaLibraryGetKernel(&mut kernel, library, name);
            (loaded.map(|code| code.0), found.map(|code| code.0))
        };
        assert_eq!(codes, (Some(OK), Some(OK)));
        kernel
    }

    /// Launches it in a stream, with one thread for each number, in blocks of two.
    fn launch_squares(
        &self,
        kernel: cudaKernel_t,
        from: *mut c_void,
        to: *mut c_void,
        count: u64,
        stream: cudaStream_t,
    ) -> i32 {
        let (mut from, mut to, mut count) = (from as u64, to as u64, count);
        let mut arguments = [&raw mut from, &raw mut to, &raw mut count].map(<*mut u64>::cast);
        let blocks = dim3::linear(count.div_ceil(2) as u32);
        // SAFETY: three arguments of 64 bits, as the kernel has parameters.
        unsafe {
            self.f().cudaLaunchKernel(
                kernel.0,
                blocks,
                dim3::linear(2),
                arguments.as_mut_ptr(),
                0,
                stream,
            )
        }
        .0
    }

    fn write(&self, to: *mut c_void, numbers: &[i32]) -> i32 {
        let kind = cudaMemcpyKind::HOST_TO_DEVICE;
        let bytes = size_of_val(numbers);
        // SAFETY: a slice of this many bytes; the address is looked up.
        unsafe {
            self.f()
                .cudaMemcpyAsync(to, numbers.as_ptr().cast(), bytes, kind, cudaStream_t::NULL)
        }
        .0
    }

    fn read(&self, from: *mut c_void) -> [i32; 3] {
        let mut numbers = [0; 3];
        let kind = cudaMemcpyKind::DEVICE_TO_HOST;
        let bytes = size_of_val(&numbers);
        // SAFETY: an array of this many bytes; the address is looked up.
        let code = unsafe {
            self.f().cudaMemcpyAsync(
                numbers.as_mut_ptr().cast(),
                from,
                bytes,
                kind,
                cudaStream_t::NULL,
            )
        };
        assert_eq!(code.0, OK);
        numbers
    }

    fn plain(&self) -> *mut c_void {
        let mut address = std::ptr::null_mut();
        // SAFETY: a variable of this function.
        assert_eq!(unsafe { self.f().cudaMalloc(&mut address, 12) }.0, OK);
        address
    }

    fn malloc_async(&self, bytes: u64, stream: cudaStream_t) -> Result<*mut c_void, i32> {
        let mut address = std::ptr::null_mut();
        // SAFETY: a variable of this function.
        let code = unsafe {
            self.f()
                .cudaMallocAsync(&mut address, bytes as usize, stream)
        };
        if code.0 == OK {
            Ok(address)
        } else {
            Err(code.0)
        }
    }

    fn begin_capture(&self, stream: cudaStream_t) -> i32 {
        // SAFETY: handles are looked up.
        unsafe {
            self.f()
                .cudaStreamBeginCapture(stream, cudaStreamCaptureMode::GLOBAL)
        }
        .0
    }

    fn end_capture(&self, stream: cudaStream_t) -> Result<cudaGraph_t, i32> {
        let mut graph = cudaGraph_t(std::ptr::dangling_mut());
        // SAFETY: a variable of this function.
        let code = unsafe { self.f().cudaStreamEndCapture(stream, &mut graph) };
        if code.0 == OK {
            Ok(graph)
        } else {
            assert!(graph.is_null(), "a failed capture gives no graph");
            Err(code.0)
        }
    }

    fn pool(&self) -> cudaMemPool_t {
        let mut pool = cudaMemPool_t::NULL;
        // SAFETY: a variable of this function.
        let code = unsafe { self.f().cudaDeviceGetDefaultMemPool(&mut pool, 0) };
        assert_eq!(code.0, OK);
        pool
    }

    fn pool_attribute(&self, attribute: cudaMemPoolAttr) -> u64 {
        let mut value = u64::MAX;
        // SAFETY: a u64 of this function, which these attributes are.
        let code = unsafe {
            self.f()
                .cudaMemPoolGetAttribute(self.pool(), attribute, (&raw mut value).cast())
        };
        assert_eq!(code.0, OK);
        value
    }

    fn keep_what_is_freed(&self) {
        let mut threshold = u64::MAX;
        // SAFETY: a u64 of this function, which the attribute is.
        let code = unsafe {
            self.f().cudaMemPoolSetAttribute(
                self.pool(),
                cudaMemPoolAttr::RELEASE_THRESHOLD,
                (&raw mut threshold).cast(),
            )
        };
        assert_eq!(code.0, OK);
    }
}

#[test]
fn a_kernel_in_a_stream_writes_the_results_of_its_ptx() {
    let p = Program::new();
    let (kernel, from, to) = (p.squares(), p.plain(), p.plain());
    assert_eq!(p.write(from, &[2, -3, 70_000]), OK);
    assert_eq!(
        p.launch_squares(kernel, from, to, 2, cudaStream_t::NULL),
        OK
    );
    let never = i32::from_ne_bytes([NEVER_WRITTEN; 4]);
    assert_eq!(
        p.read(to),
        [-4, -9, never],
        "the third thread writes nothing"
    );
    assert_eq!(
        p.launch_squares(kernel, from, to, 3, cudaStream_t::NULL),
        OK
    );
    assert_eq!(
        p.read(to)[2],
        70_000_i32.wrapping_mul(70_000).wrapping_neg()
    );
}

#[test]
fn r8_the_contents_of_an_unfreed_allocation_stay_after_the_launch() {
    let p = Program::new();
    let (kernel, input) = (p.squares(), p.plain());
    p.write(input, &[1, 2, 3]);
    let (graph, address) = p.unfreed_graph(SIZE, 1);
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, cudaStream_t::NULL), OK);
    assert_eq!(
        p.launch_squares(kernel, input, address, 3, cudaStream_t::NULL),
        OK
    );
    p.sync();
    p.trim();
    assert_eq!(p.read(address), [-1, -4, -9]);
    assert_eq!(p.free(address), OK);
    assert_eq!(
        p.write(address, &[0]),
        INVALID_VALUE,
        "the allocation is freed"
    );
}

#[test]
fn r10_graphs_that_share_a_block_see_each_others_bytes() {
    let p = Program::new();
    let (stream, block) = (p.stream(), 32 * MIB);
    let (first, a) = p.unfreed_graph(block, 1);
    let (second, b) = p.unfreed_graph(block, 1);
    assert_ne!(a, b);
    let (first, second) = (p.instantiate(first), p.instantiate(second));
    assert_eq!(p.launch(first, stream), OK);
    p.write(a, &[7, 8, 9]);
    assert_eq!(p.free_async(a, stream), OK);
    assert_eq!(p.launch(second, stream), OK);
    assert_eq!(p.used(), block, "one block of memory backs two addresses");
    assert_eq!(p.read(b), [7, 8, 9]);
    assert_eq!(p.free(b), OK);
    p.sync();
    p.trim();
    assert_eq!(p.launch(second, stream), OK);
    let never = i32::from_ne_bytes([NEVER_WRITTEN; 4]);
    assert_eq!(p.read(b), [never; 3], "the contents do not survive a trim");
}

#[test]
fn r17_a_captured_allocation_is_an_alloc_node_of_the_graph() {
    let p = Program::new();
    let stream = p.stream();
    assert_eq!(p.begin_capture(stream), OK);
    let address = p.malloc_async(SIZE, stream).unwrap();
    assert_eq!(p.free_async(address, stream), OK);
    let graph = p.end_capture(stream).unwrap();
    assert_eq!(
        (
            p.used(),
            p.pool_attribute(cudaMemPoolAttr::RESERVED_MEM_CURRENT)
        ),
        (0, 0)
    );
    let exec = p.instantiate(graph);
    assert_eq!(p.try_instantiate(graph, 0), Err(NOT_SUPPORTED));
    for _ in 0..2 {
        assert_eq!(p.launch(exec, stream), OK);
        assert_eq!(p.used(), SIZE);
    }
    assert_eq!(
        p.free(address),
        INVALID_VALUE,
        "its own graph frees the allocation"
    );
}

#[test]
fn r17_captured_work_is_ordered_and_runs_at_each_launch() {
    let p = Program::new();
    let (stream, kernel) = (p.stream(), p.squares());
    let (input, output) = (p.plain(), p.plain());
    p.write(input, &[1, 2, 3]);
    assert_eq!(p.begin_capture(stream), OK);
    let x = p.malloc_async(12, stream).unwrap();
    assert_eq!(p.launch_squares(kernel, input, x, 3, stream), OK);
    assert_eq!(p.launch_squares(kernel, x, output, 3, stream), OK);
    assert_eq!(p.free_async(x, stream), OK);
    let graph = p.end_capture(stream).unwrap();
    let exec = p.instantiate(graph);
    let never = i32::from_ne_bytes([NEVER_WRITTEN; 4]);
    assert_eq!(p.read(output), [never; 3], "captured work does not run");
    assert_eq!(p.launch(exec, stream), OK);
    assert_eq!(p.read(output), [-1, -16, -81]);
    p.write(input, &[0, -1, -2]);
    assert_eq!(p.launch(exec, stream), OK);
    assert_eq!(p.read(output), [0, -1, -16]);
}

#[test]
fn r17_a_call_that_cannot_be_captured_invalidates_the_capture() {
    let p = Program::new();
    let stream = p.stream();
    assert_eq!(p.begin_capture(cudaStream_t::NULL), CAPTURE_UNSUPPORTED);
    assert_eq!(p.begin_capture(stream), OK);
    p.malloc_async(SIZE, stream).unwrap();
    assert_eq!(p.query(stream), CAPTURE_UNSUPPORTED);
    assert_eq!(p.malloc_async(SIZE, stream), Err(CAPTURE_INVALIDATED));
    let graphs = p.model.live_objects().graphs;
    assert_eq!(p.end_capture(stream), Err(CAPTURE_INVALIDATED));
    assert_eq!(p.model.live_objects().graphs, graphs - 1);
    assert_eq!(p.query(stream), OK, "the stream stays usable");
}

#[test]
fn r44_each_trim_affects_only_its_own_pool() {
    let p = Program::new();
    let stream = p.stream();
    p.keep_what_is_freed();
    let (free_before, _) = p.mem_info();
    let address = p.malloc_async(SIZE, stream).unwrap();
    assert_eq!(p.pool_attribute(cudaMemPoolAttr::USED_MEM_CURRENT), SIZE);
    assert_eq!(p.free_async(address, stream), OK);
    p.sync();
    let exec = p.instantiate(p.usual_graph(SIZE, 1).0);
    assert_eq!(p.launch(exec, stream), OK);
    p.sync();
    assert_eq!(free_before - p.mem_info().0, 2 * SIZE);
    p.trim();
    assert_eq!(p.used(), 0);
    assert_eq!(
        p.pool_attribute(cudaMemPoolAttr::RESERVED_MEM_CURRENT),
        SIZE
    );
    assert_eq!(p.launch(exec, stream), OK);
    // SAFETY: handles are looked up.
    assert_eq!(unsafe { p.f().cudaMemPoolTrimTo(p.pool(), 0) }.0, OK);
    assert_eq!(p.pool_attribute(cudaMemPoolAttr::RESERVED_MEM_CURRENT), 0);
    assert_eq!(p.used(), SIZE);
}

#[test]
fn without_a_threshold_the_pool_returns_memory_at_the_next_synchronization() {
    let p = Program::new();
    let stream = p.stream();
    let address = p.malloc_async(SIZE, stream).unwrap();
    p.sync();
    assert_eq!(
        p.pool_attribute(cudaMemPoolAttr::RESERVED_MEM_CURRENT),
        SIZE
    );
    assert_eq!(p.free_async(address, stream), OK);
    assert_eq!(p.free_async(address, stream), INVALID_VALUE);
    p.sync();
    assert_eq!(p.pool_attribute(cudaMemPoolAttr::RESERVED_MEM_CURRENT), 0);
}

#[test]
fn r54_without_memory_pools_stream_ordered_allocation_is_refused() {
    let profile = cudart_model::Profile::built_in("no-memory-pools").unwrap();
    let p = Program::on(profile);
    assert_eq!(p.malloc_async(MIB, p.stream()), Err(NOT_SUPPORTED));
}

#[test]
fn a_copy_longer_than_any_memory_is_invalid_value() {
    let p = Program::new();
    let mut address = std::ptr::null_mut();
    // SAFETY: a variable of this function.
    assert!(unsafe { p.f().cudaMalloc(&raw mut address, MIB as usize) }.is_success());
    let mut byte = 0_u8;
    let here = (&raw mut byte).cast::<c_void>();
    for (to, from, kind) in [
        (address, here, cudaMemcpyKind::HOST_TO_DEVICE),
        (here, address, cudaMemcpyKind::DEVICE_TO_HOST),
    ] {
        // SAFETY: refused before a byte is read or written.
        let code = unsafe {
            p.f()
                .cudaMemcpyAsync(to, from, usize::MAX, kind, cudaStream_t::NULL)
        };
        assert_eq!(code, cudaError_t::INVALID_VALUE);
    }
}
