//! Stream capture as measured on an H200 (driver 580, runtimes 11.8, 12.8 and 13.0; cases
//! 08 and 09). `library/tests/capture` contains the recordings.

use std::ptr::null_mut;

use crate::program::{MIB, OK, Program};
use cudart_ffi::types::*;

const UNSUPPORTED: i32 = 900;
const INVALIDATED: i32 = 901;
const UNJOINED: i32 = 904;
const IMPLICIT: i32 = 906;
const GLOBAL: cudaStreamCaptureMode = cudaStreamCaptureMode::GLOBAL;
const THREAD_LOCAL: cudaStreamCaptureMode = cudaStreamCaptureMode::THREAD_LOCAL;
const RELAXED: cudaStreamCaptureMode = cudaStreamCaptureMode::RELAXED;

impl Program {
    fn event(&self) -> cudaEvent_t {
        let mut event = cudaEvent_t::NULL;
        // SAFETY: a variable of this function.
        let code = unsafe { self.f().cudaEventCreateWithFlags(&mut event, 2) };
        assert_eq!(code.0, OK);
        event
    }

    fn end(&self, stream: cudaStream_t) -> (i32, cudaGraph_t) {
        let mut graph = cudaGraph_t::NULL;
        // SAFETY: a variable of this function.
        let code = unsafe { self.f().cudaStreamEndCapture(stream, &mut graph) };
        (code.0, graph)
    }
}

/// Begins a capture, makes a call and ends the capture. Returns the two codes.
fn within(
    p: &Program,
    stream: cudaStream_t,
    mode: cudaStreamCaptureMode,
    call: impl FnOnce() -> cudaError_t,
) -> (i32, i32) {
    // SAFETY: handles are looked up.
    let begun = unsafe { p.f().cudaStreamBeginCapture(stream, mode) };
    assert_eq!(begun.0, OK);
    let code = call().0;
    let (end, graph) = p.end(stream);
    assert_eq!(
        graph.is_null(),
        end != OK,
        "only a valid end of a capture returns a graph"
    );
    (code, end)
}

#[test]
fn r17_calls_that_a_capture_forbids_invalidate_it() {
    let p = Program::new();
    let stream = p.stream();
    let mut blocking = cudaStream_t::NULL;
    let mut address = null_mut();
    let mut pool = cudaMemPool_t(null_mut());
    let mut value = 0_u64;
    // SAFETY: variables of this function; handles are looked up.
    unsafe {
        let f = p.f();
        assert_eq!(f.cudaStreamCreateWithFlags(&mut blocking, 0).0, OK);
        assert_eq!(f.cudaDeviceGetDefaultMemPool(&mut pool, 0).0, OK);
        let mut malloc = |mode| within(&p, stream, mode, || f.cudaMalloc(&mut address, 4096));
        assert_eq!(malloc(GLOBAL), (UNSUPPORTED, INVALIDATED));
        assert_eq!(malloc(THREAD_LOCAL), (UNSUPPORTED, INVALIDATED));
        assert_eq!(malloc(RELAXED), (OK, OK));
        let place = (&raw mut value).cast();
        let threshold = cudaMemPoolAttr::RELEASE_THRESHOLD;
        let get = || f.cudaMemPoolGetAttribute(pool, threshold, place);
        let set = || f.cudaMemPoolSetAttribute(pool, threshold, place);
        assert_eq!(within(&p, stream, GLOBAL, get), (UNSUPPORTED, INVALIDATED));
        assert_eq!(within(&p, stream, GLOBAL, set), (UNSUPPORTED, INVALIDATED));
        for mode in [GLOBAL, RELAXED] {
            let wait = || f.cudaDeviceSynchronize();
            assert_eq!(within(&p, stream, mode, wait), (UNSUPPORTED, INVALIDATED));
        }
        let query = || f.cudaStreamQuery(stream);
        assert_eq!(
            within(&p, stream, RELAXED, query),
            (UNSUPPORTED, INVALIDATED)
        );
        let legacy = || f.cudaMallocAsync(&mut address, 4096, cudaStream_t::NULL);
        assert_eq!(
            within(&p, blocking, RELAXED, legacy),
            (IMPLICIT, INVALIDATED)
        );
    }
}

/// A capture of two streams: memory that is allocated in one is used in the other. It is
/// freed in the first one, which with `join` waits for the other one before.
fn fork(p: &Program, join: bool) -> (i32, cudaGraph_t) {
    let (a, b) = (p.stream(), p.stream());
    let (fork, joined) = (p.event(), p.event());
    let mut address = null_mut();
    // SAFETY: a variable of this function; handles are looked up.
    let codes = unsafe {
        let f = p.f();
        let mut codes = vec![
            f.cudaStreamBeginCapture(a, THREAD_LOCAL),
            f.cudaMallocAsync(&mut address, 64 << 20, a),
            f.cudaEventRecord(fork, a),
            f.cudaStreamWaitEvent(b, fork, 0),
            f.cudaMemsetAsync(address, 0, 64 << 20, b),
        ];
        if join {
            codes.push(f.cudaEventRecord(joined, b));
            codes.push(f.cudaStreamWaitEvent(a, joined, 0));
        }
        codes.push(f.cudaFreeAsync(address, a));
        codes
    };
    assert!(codes.iter().all(|code| code.0 == OK), "{codes:?}");
    p.end(a)
}

#[test]
fn r17_streams_fork_and_join_through_events() {
    let p = Program::new();
    let (code, graph) = fork(&p, true);
    assert_eq!(code, OK);
    let exec = p.instantiate(graph);
    let stream = p.stream();
    assert_eq!(p.launch(exec, stream), OK);
    assert_eq!(p.used(), 64 * MIB);
    let (code, graph) = fork(&p, false);
    assert_eq!((code, graph.is_null()), (UNJOINED, true));
}
