//! Streams, events, libraries, plain memory, faults, the last error.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::program::{INVALID_HANDLE, INVALID_VALUE, MIB, NOT_READY, OK, Program, SPIN_PTX};
use cudart_ffi::types::*;
use cudart_model::{FunctionId, LiveObjects};

fn load(p: &Program, text: &[u8]) -> (i32, cudaLibrary_t, String) {
    let mut library = cudaLibrary_t::NULL;
    let mut log = [0_u8; 256];
    let mut options = [
        cudaJitOption::ERROR_LOG_BUFFER,
        cudaJitOption::ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), log.len() as *mut c_void];
    // SAFETY: NUL-terminated text, arrays of the length given.
    let code = unsafe {
        p.f().cudaLibraryLoadData(
            &mut library,
            text.as_ptr().cast(),
            options.as_mut_ptr(),
            values.as_mut_ptr(),
            2,
            null_mut(),
            null_mut(),
            0,
        )
    };
    let log = log.iter().take_while(|&&c| c != 0).copied().collect();
    (code.unwrap().0, library, String::from_utf8(log).unwrap())
}

fn event(p: &Program, flags: u32) -> cudaEvent_t {
    let mut event = cudaEvent_t::NULL;
    // SAFETY: a variable of this function.
    let code = unsafe { p.f().cudaEventCreateWithFlags(&mut event, flags) };
    assert_eq!(code.0, OK);
    event
}

#[test]
fn a_kernel_takes_its_spin_time_and_branches_overlap() {
    let p = Program::new();
    let stream = p.stream();
    let graph = p.graph();
    let root = p.kernel(graph, &[], 1_000);
    p.kernel(graph, &[root], 2_000);
    p.kernel(graph, &[root], 5_000);
    let exec = p.instantiate(graph);
    let (start, end) = (event(&p, 0), event(&p, 0));
    let mut ms = 0.0;
    // SAFETY: handles are looked up; a variable of this function.
    unsafe {
        p.f().cudaEventRecord(start, stream);
        assert_eq!(p.launch(exec, stream), OK);
        p.f().cudaEventRecord(end, stream);
        assert_eq!(p.f().cudaEventElapsedTime(&mut ms, start, end).0, NOT_READY);
        assert_eq!(p.query(stream), NOT_READY);
        assert_eq!(p.f().cudaEventSynchronize(end).0, OK);
        assert_eq!(p.query(stream), OK);
        assert_eq!(p.f().cudaEventElapsedTime(&mut ms, start, end).0, OK);
    }
    assert!((6.0..6.05).contains(&ms), "{ms}");
}

#[test]
fn a_grid_larger_than_the_device_runs_in_waves() {
    let p = Program::new();
    let stream = p.stream();
    let graph = p.graph();
    // 132 multiprocessors can run 4 blocks of 512 threads each, which gives 62.06 waves.
    p.try_kernel(
        graph,
        &[],
        dim3::linear(32_768),
        dim3::linear(512),
        1980 * 5,
    )
    .unwrap();
    let exec = p.instantiate(graph);
    let start = p.model.now();
    assert_eq!(p.launch(exec, stream), OK);
    p.sync();
    let microseconds = (p.model.now() - start) / 1000;
    assert!((315..330).contains(&microseconds), "{microseconds}");
}

#[test]
fn a_stream_waits_for_an_events_work_but_not_for_later_work() {
    let p = Program::new();
    let (first, second) = (p.stream(), p.stream());
    let graph = p.graph();
    p.kernel(graph, &[], 5_000);
    let exec = p.instantiate(graph);
    let other = p.graph();
    p.kernel(other, &[], 50_000);
    let other = p.instantiate(other);
    let done = event(&p, event_flags::DISABLE_TIMING);
    assert_eq!(p.launch(exec, first), OK);
    // SAFETY: handles are looked up.
    unsafe {
        p.f().cudaEventRecord(done, first);
        p.f().cudaStreamWaitEvent(second, done, 0);
    }
    assert_eq!(p.launch(other, first), OK);
    assert_eq!(p.query(second), NOT_READY);
    // SAFETY: handles are looked up.
    unsafe { p.f().cudaStreamSynchronize(second) };
    assert_eq!(p.query(first), NOT_READY);
}

#[test]
fn blocking_streams_and_the_default_stream_wait_for_each_other() {
    let p = Program::new();
    let mut blocking = cudaStream_t::NULL;
    // SAFETY: a variable of this function.
    unsafe {
        p.f()
            .cudaStreamCreateWithFlags(&mut blocking, stream_flags::DEFAULT)
    };
    let graph = p.graph();
    p.kernel(graph, &[], 5_000);
    let exec = p.instantiate(graph);
    assert_eq!(p.launch(exec, blocking), OK);
    // SAFETY: the null stream.
    unsafe { p.f().cudaStreamSynchronize(cudaStream_t::NULL) };
    assert_eq!(p.query(blocking), OK);
    let apart = p.stream();
    assert_eq!(p.launch(exec, apart), OK);
    // SAFETY: the null stream.
    unsafe { p.f().cudaStreamSynchronize(cudaStream_t::NULL) };
    assert_eq!(p.query(apart), NOT_READY);
}

#[test]
fn elapsed_time_needs_recorded_events_with_timing() {
    let p = Program::new();
    let (timed, untimed) = (event(&p, 0), event(&p, event_flags::DISABLE_TIMING));
    let mut ms = 0.0;
    // SAFETY: handles are looked up; a variable of this function.
    unsafe {
        assert_eq!(
            p.f().cudaEventElapsedTime(&mut ms, timed, timed).0,
            INVALID_HANDLE
        );
        p.f().cudaEventRecord(timed, cudaStream_t::NULL);
        p.f().cudaEventRecord(untimed, cudaStream_t::NULL);
        assert_eq!(
            p.f().cudaEventElapsedTime(&mut ms, timed, untimed).0,
            INVALID_HANDLE
        );
        assert_eq!(p.f().cudaEventElapsedTime(&mut ms, timed, timed).0, OK);
    }
}

#[test]
fn ptx_is_checked_for_driver_and_device_and_the_log_gives_the_reason() {
    let p = Program::new();
    assert_eq!(load(&p, SPIN_PTX).0, OK);
    let text = String::from_utf8(SPIN_PTX.to_vec()).unwrap();
    for (text, code) in [
        ("no ptx\0".to_owned(), 218),
        (text.replace("6.5", "9.9"), 222),
        (text.replace("sm_50", "sm_120"), 209),
        ("\x7fELF\0".to_owned(), 209),
    ] {
        let (found, library, log) = load(&p, text.as_bytes());
        assert_eq!((found, library), (code, cudaLibrary_t::NULL));
        assert_eq!(log.is_empty(), text.starts_with('\x7f'), "{log}");
    }
}

#[test]
fn kernels_are_found_by_name_until_their_library_is_unloaded() {
    let mut p = Program::new();
    let (_, library, _) = load(&p, SPIN_PTX);
    let mut kernel = cudaKernel_t::NULL;
    // SAFETY: variables of this function, NUL-terminated names.
    unsafe {
        assert_eq!(
            p.f()
                .cudaLibraryGetKernel(&mut kernel, library, c"spun".as_ptr())
                .unwrap()
                .0,
            500
        );
        assert_eq!(
            p.f()
                .cudaLibraryGetKernel(&mut kernel, library, c"spin".as_ptr())
                .unwrap()
                .0,
            OK
        );
        assert_eq!(p.f().cudaLibraryUnload(library).unwrap().0, OK);
        assert_eq!(p.f().cudaLibraryUnload(library).unwrap().0, INVALID_HANDLE);
    }
    p.spin = kernel;
    let one = dim3::linear(1);
    assert_eq!(
        p.try_kernel(p.graph(), &[], one, one, 1),
        Err(INVALID_HANDLE)
    );
}

#[test]
fn plain_memory_is_allocated_freed_and_counted() {
    let p = Program::new();
    let (before, _) = p.mem_info();
    let mut address = null_mut();
    // SAFETY: a variable of this function; addresses are looked up.
    unsafe {
        assert_eq!(p.f().cudaMalloc(&mut address, 3 << 20).0, OK);
        assert_eq!(before - p.mem_info().0, 4 << 20);
        assert_eq!(
            p.f()
                .cudaMemsetAsync(address, 0, 3 << 20, cudaStream_t::NULL)
                .0,
            OK
        );
        assert_eq!(
            p.f()
                .cudaMemsetAsync(address, 0, (3 << 20) + 1, cudaStream_t::NULL)
                .0,
            INVALID_VALUE
        );
        assert_eq!(p.free(address), OK);
        assert_eq!(p.free(address), INVALID_VALUE);
        assert_eq!(p.free(null_mut()), OK);
        assert_eq!(p.f().cudaMalloc(&mut address, 1 << 40).0, 2);
        assert_eq!(p.f().cudaMalloc(&mut address, 4096).0, OK);
    }
    assert_eq!(p.free_async(address, cudaStream_t::NULL), OK);
    p.sync();
    assert_eq!(p.mem_info().0, before);
}

#[test]
fn r41_objects_that_a_program_does_not_destroy_are_counted() {
    let p = Program::new();
    let start = p.model.live_objects();
    assert_eq!(
        start,
        LiveObjects {
            libraries: 1,
            ..LiveObjects::default()
        }
    );
    let (graph, address) = p.unfreed_graph(MIB, 1);
    let exec = p.instantiate(graph);
    let stream = p.stream();
    event(&p, 0);
    assert_eq!(p.launch(exec, stream), OK);
    let expected = LiveObjects {
        graphs: 1,
        execs: 1,
        streams: 1,
        events: 1,
        allocations: 1,
        libraries: 1,
    };
    assert_eq!(p.model.live_objects(), expected);
    let mut counts = [0_u64; 8];
    // SAFETY: an array of the length given.
    let kinds = unsafe {
        p.f()
            .cudartModelLiveObjects(counts.as_mut_ptr(), counts.len())
    };
    assert_eq!(kinds, Some(6));
    assert_eq!(counts[..6], expected.to_array());
    assert_eq!(p.free(address), OK);
    assert_eq!(p.model.live_objects().allocations, 0);
}

#[test]
fn any_call_can_be_made_to_fail_once() {
    let p = Program::new();
    p.model.inject(["cudaGraphLaunch:2=2".parse().unwrap()]);
    let exec = p.instantiate(p.usual_graph(MIB, 1).0);
    let stream = p.stream();
    let codes: Vec<i32> = (0..3).map(|_| p.launch(exec, stream)).collect();
    assert_eq!(codes, [OK, 2, OK]);
    assert_eq!(p.model.calls_of(FunctionId::cudaGraphLaunch), 3);
    let next = p.model.calls() + 1;
    p.model.inject([format!("{next}=999").parse().unwrap()]);
    assert_eq!(p.query(stream), 999);
}

#[test]
fn after_the_context_is_corrupted_every_call_returns_the_same_code() {
    let p = Program::new();
    p.model.inject(["cudaStreamQuery:1=700".parse().unwrap()]);
    assert_eq!(p.query(p.stream()), 700);
    // SAFETY: takes nothing.
    let last = || unsafe { p.f().cudaGetLastError() }.0;
    assert_eq!((last(), last()), (700, 700));
    assert_eq!(p.free(null_mut()), 700);
    let mut version = 0;
    // SAFETY: a variable of this function.
    assert_eq!(unsafe { p.f().cudaDriverGetVersion(&mut version) }.0, OK);
}

#[test]
fn the_code_of_a_busy_stream_is_not_stored_as_last_error() {
    let p = Program::new();
    let stream = p.stream();
    let exec = p.instantiate(p.usual_graph(MIB, 10_000).0);
    assert_eq!(p.launch(exec, stream), OK);
    assert_eq!(p.launch(cudaGraphExec_t::NULL, stream), INVALID_VALUE);
    assert_eq!(p.query(stream), NOT_READY);
    // SAFETY: takes nothing.
    let last = || unsafe { p.f().cudaGetLastError() }.0;
    assert_eq!((last(), last()), (INVALID_VALUE, OK));
}

#[test]
fn invalid_handles_are_refused_by_every_call() {
    let p = Program::new();
    let stream = p.stream();
    // SAFETY: handles are looked up, never followed.
    unsafe {
        assert_eq!(p.f().cudaStreamDestroy(stream).0, OK);
        for gone in [
            stream.0,
            p.graph().0,
            0xdead_beef as *mut c_void,
            usize::MAX as *mut c_void,
        ] {
            assert_eq!(p.query(cudaStream_t(gone)), INVALID_HANDLE);
            assert_eq!(
                p.f().cudaStreamDestroy(cudaStream_t(gone)).0,
                INVALID_HANDLE
            );
            assert_eq!(p.f().cudaEventDestroy(cudaEvent_t(gone)).0, INVALID_HANDLE);
            assert_eq!(
                p.launch(cudaGraphExec_t(gone), cudaStream_t::NULL),
                INVALID_VALUE
            );
            assert_eq!(p.exec_destroy(cudaGraphExec_t(gone)), INVALID_VALUE);
        }
    }
}
