//! What CUDA may still use stays loaded and allocated, in whatever order values are
//! dropped. Each test runs on a simulated runtime of its own, whose clock stands still
//! between calls, so that a launch runs until something waits for it.

use cuda_graphs::{
    Buffer, CudaError, Graph, NegatedSquares, RouteChoice, Runtime, SpinKernel, Stream, cudaError_t,
};
use cudart_model::{Fault, FunctionId, Isolated, LiveObjects};

/// A second of the simulated GPU, and more.
const LONG: i64 = 4_000_000_000;

fn spin(runtime: &Runtime) -> SpinKernel<'_> {
    SpinKernel::load(
        runtime,
        SpinKernel::PTX,
        SpinKernel::NAME,
        RouteChoice::Auto,
    )
    .expect("the kernel loads")
}

fn libraries(model: &Isolated) -> u64 {
    model.live_objects().libraries
}

#[test]
fn a_kernel_that_is_dropped_while_it_runs_is_unloaded_when_the_stream_is_done() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let stream = Stream::new(&runtime).expect("a stream");
    let kernel = spin(&runtime);
    kernel.launch(&stream, LONG).expect("launched");
    drop(kernel);
    assert!(stream.is_busy().expect("it answers"));
    assert_eq!(libraries(&model), 1, "it runs still");
    stream.synchronize().expect("done");
    assert_eq!(libraries(&model), 0);
}

#[test]
fn a_stream_that_answers_that_it_is_idle_gives_up_what_it_ran() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let stream = Stream::new(&runtime).expect("a stream");
    let kernel = spin(&runtime);
    kernel.launch(&stream, LONG).expect("launched");
    drop(kernel);
    model.advance(10_000_000_000);
    assert_eq!(libraries(&model), 1, "nobody has looked");
    assert!(!stream.is_busy().expect("it answers"));
    assert_eq!(libraries(&model), 0);
}

#[test]
fn graph_exec_and_kernel_may_go_while_a_launch_runs() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let stream = Stream::new(&runtime).expect("a stream");
    {
        let kernel = spin(&runtime);
        let graph = Graph::new(&runtime, 0).expect("a graph");
        graph.add_spin(&[], &kernel, LONG).expect("a node");
        drop(kernel);
        assert_eq!(libraries(&model), 1, "the graph launches it");
        let exec = graph.instantiate().expect("an exec");
        drop(graph);
        assert_eq!(libraries(&model), 1, "the exec launches it");
        let launched = exec.launch(&stream).expect("launched");
        assert!(launched.live.is_empty());
    }
    assert!(stream.is_busy().expect("it answers"));
    let live = model.live_objects();
    assert_eq!((live.graphs, live.execs, live.libraries), (0, 0, 1));
    stream.destroy().expect("it waits, and ends");
    assert_eq!(model.live_objects(), LiveObjects::default());
}

#[test]
fn a_stream_is_waited_for_before_what_it_runs_is_unloaded() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let stream = Stream::new(&runtime).expect("a stream");
    spin(&runtime).launch(&stream, LONG).expect("launched");
    let waits = || model.calls_of(FunctionId::cudaStreamSynchronize);
    let before = waits();
    drop(stream);
    assert_eq!(waits(), before + 1);
    assert_eq!(model.live_objects(), LiveObjects::default());

    // Where nothing can be running there is nothing to wait for.
    let before = waits();
    drop(Stream::new(&runtime).expect("a stream"));
    assert_eq!(waits(), before);
}

#[test]
fn what_may_still_run_is_never_unloaded() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let stream = Stream::new(&runtime).expect("a stream");
    spin(&runtime).launch(&stream, LONG).expect("launched");
    model.inject([Fault {
        function: Some(FunctionId::cudaStreamSynchronize),
        call: model.calls_of(FunctionId::cudaStreamSynchronize) + 1,
        code: cudaError_t(999),
    }]);
    let error = stream.destroy().expect_err("the wait failed");
    assert_eq!((error.call, error.code.0), ("cudaStreamSynchronize", 999));
    let live = model.live_objects();
    assert_eq!((live.streams, live.libraries), (0, 1));
}

#[test]
fn buffers_stay_for_graphs_execs_and_launches_that_use_them() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let allocations = || model.live_objects().allocations;
    let stream = Stream::new(&runtime).expect("a stream");
    let kernel = NegatedSquares::load(&runtime, RouteChoice::Auto).expect("it loads");
    let (from, to) = (
        Buffer::new(&runtime, 16).expect("memory"),
        Buffer::new(&runtime, 16).expect("memory"),
    );
    stream
        .write(&from.region(), &[1, -2, 3, -4])
        .expect("written");
    let graph = Graph::new(&runtime, 0).expect("a graph");
    graph
        .add_negated_squares(&[], &kernel, (&from.region(), &to.region()), 4)
        .expect("a node");
    let result = to.region();
    from.free().expect("later");
    drop(to);
    assert_eq!(allocations(), 2, "the graph uses both");
    let exec = graph.instantiate().expect("an exec");
    drop(graph);
    let launched = exec.launch(&stream).expect("launched");
    assert!(launched.live.is_empty());
    drop(exec);
    assert_eq!(allocations(), 2, "the launch uses both");
    let squares: Vec<i32> = stream.read(&result, 4).expect("read");
    assert_eq!(squares, [-1, -4, -9, -16]);
    assert_eq!(allocations(), 1, "the region is left");
    drop(result);
    assert_eq!(allocations(), 0);
}

#[test]
fn a_captured_kernel_stays_for_the_graph() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let stream = Stream::new(&runtime).expect("a stream");
    let mut capture = stream.capture(0).expect("a capture");
    capture.spin(&spin(&runtime), LONG).expect("captured");
    assert_eq!(libraries(&model), 1);
    let graph = capture.end().expect("a graph");
    let exec = graph.instantiate().expect("an exec");
    drop(graph);
    assert_eq!(libraries(&model), 1);
    let launched = exec.launch(&stream).expect("launched");
    assert!(launched.live.is_empty());
    drop(exec);
    stream.synchronize().expect("done");
    assert_eq!(libraries(&model), 0);
}

/// A kernel that is not found is unloaded with what was loaded to look for it, whatever
/// the unload returns.
#[test]
fn a_load_that_fails_half_way_leaves_what_it_must() {
    for (unload_code, left) in [(None, 0), (Some(999), 1)] {
        let model = Isolated::deterministic();
        let runtime = Runtime::built_in_model();
        let fail = |function, code| Fault {
            function: Some(function),
            call: 1,
            code: cudaError_t(code),
        };
        model.inject([fail(FunctionId::cudaLibraryGetKernel, 500)]);
        model.inject(unload_code.map(|code| fail(FunctionId::cudaLibraryUnload, code)));
        let error = NegatedSquares::load(&runtime, RouteChoice::Auto).expect_err("it fails");
        assert_eq!((error.call, error.code.0), ("cudaLibraryGetKernel", 500));
        assert_eq!(libraries(&model), left);
        let unclosed = runtime.first_error(None);
        let unclosed = unclosed.map(|error: CudaError| error.code.0);
        assert_eq!(unclosed, unload_code);
    }
}

#[test]
fn a_copy_is_waited_for_also_if_the_call_fails() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let stream = Stream::new(&runtime).expect("a stream");
    let buffer = Buffer::new(&runtime, 4).expect("memory");
    let waits = || model.calls_of(FunctionId::cudaStreamSynchronize);
    for is_write in [true, false] {
        model.inject([Fault {
            function: Some(FunctionId::cudaMemcpyAsync),
            call: model.calls_of(FunctionId::cudaMemcpyAsync) + 1,
            code: cudaError_t(2),
        }]);
        let before = waits();
        let error = if is_write {
            stream
                .write(&buffer.region(), &[1_u32])
                .expect_err("it fails")
        } else {
            stream
                .read::<u32>(&buffer.region(), 1)
                .expect_err("it fails")
        };
        assert_eq!((error.call, error.code.0), ("cudaMemcpyAsync", 2));
        assert_eq!(waits(), before + 1);
    }
}
