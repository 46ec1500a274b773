//! Wrong programs that the types allow are refused, and the call is not made.

#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use cuda_graphs::{
    Argument, Buffer, CudaError, DeviceAddress, Event, Graph, Kernel, KernelError, LaunchConfig,
    NegatedSquares, Result, RouteChoice, Runtime, SpinKernel, Stream, cudaError_t,
};
use cudart_model::{FunctionId, Isolated};

#[track_caller]
fn refused<T>(outcome: Result<T>, code: i32, why: &str) -> CudaError {
    let Err(error) = outcome else {
        panic!("it was not refused");
    };
    assert_eq!(error.code.0, code, "{error}");
    assert!(error.text.contains(why), "{error}");
    assert!(!error.advice().is_empty());
    error
}

/// The library would take the other one's pointers for its own: with a GPU's and the
/// simulated one in one program that is a crash at best.
#[test]
fn a_handle_of_another_runtime_is_refused_before_the_call() {
    let model = Isolated::deterministic();
    let (ours, theirs) = (Runtime::built_in_model(), Runtime::built_in_model());
    let load = |runtime| {
        SpinKernel::load(
            runtime,
            SpinKernel::PTX,
            SpinKernel::NAME,
            RouteChoice::Auto,
        )
    };
    let squares = NegatedSquares::load(&ours, RouteChoice::Auto).expect("it loads");
    let their_spin = load(&theirs).expect("it loads");
    let (stream, their_stream) = (
        Stream::new(&ours).expect("a stream"),
        Stream::new(&theirs).expect("a stream"),
    );
    let (event, their_event) = (
        Event::new(&ours).expect("an event"),
        Event::new(&theirs).expect("an event"),
    );
    let (buffer, their_buffer) = (
        Buffer::new(&ours, 64).expect("memory"),
        Buffer::new(&theirs, 64).expect("memory"),
    );
    let (graph, their_graph) = (
        Graph::new(&ours, 0).expect("a graph"),
        Graph::new(&theirs, 0).expect("a graph"),
    );
    graph.add_alloc(&[], 1).expect("a node");
    let exec = graph.instantiate().expect("an exec");
    let left = exec.launch(&stream).expect("launched").live;
    let pooled = stream.allocate(1).expect("memory");
    stream.synchronize().expect("done");

    let (ours, theirs) = (buffer.region(), their_buffer.region());
    let before = model.calls();
    let other = |outcome: Result<()>| {
        refused(outcome, 400, "belongs to another Runtime");
    };
    other(exec.launch(&their_stream).map(drop));
    other(exec.upload(&their_stream));
    other(event.record(&their_stream));
    other(stream.wait(&their_event));
    other(event.elapsed_ms_since(&their_event).map(drop));
    other(their_spin.launch(&stream, 0));
    other(graph.add_spin(&[], &their_spin, 0).map(drop));
    other(graph.try_add_child(&their_graph));
    other(stream.write(&theirs, &[1_u8]));
    other(stream.read::<u8>(&theirs, 1).map(drop));
    other(squares.launch(&stream, &ours, &theirs, 1));
    other(squares.launch(&stream, &theirs, &ours, 1));
    other(squares.launch(&their_stream, &ours, &ours, 1));
    other(
        graph
            .add_negated_squares(&[], &squares, (&ours, &theirs), 1)
            .map(drop),
    );
    other(
        their_graph
            .add_negated_squares(&[], &squares, (&theirs, &theirs), 1)
            .map(drop),
    );
    // Each asks the library for the code's name, which returns no code.
    assert_eq!(model.calls(), before, "no call was made");

    let frees = || model.calls_of(FunctionId::cudaFreeAsync);
    let before = frees();
    other(pooled.free_async(&their_stream));
    for one in left {
        other(one.free_async(&their_stream));
    }
    assert_eq!(frees(), before);

    let mut capture = stream.capture(0).expect("a capture");
    let before = model.calls();
    other(capture.spin(&their_spin, 0));
    other(capture.negated_squares(&squares, (&ours, &theirs), 1));
    assert_eq!(model.calls(), before);
}

#[test]
fn a_node_of_another_graph_is_refused_before_the_call() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let (one, other) = (
        Graph::new(&runtime, 0).expect("a graph"),
        Graph::new(&runtime, 0).expect("a graph"),
    );
    let spin = SpinKernel::load(
        &runtime,
        SpinKernel::PTX,
        SpinKernel::NAME,
        RouteChoice::Auto,
    )
    .expect("it loads");
    let own: Vec<_> = (0..9)
        .map(|_| one.add_spin(&[], &spin, 0).expect("a node"))
        .collect();
    one.add_alloc(&own, 1).expect("its own nodes, many");
    let foreign = [own[0]];
    let before = model.calls();
    refused(other.add_alloc(&foreign, 1), 1, "another graph");
    refused(
        other.add_free(&foreign, DeviceAddress(0)),
        1,
        "another graph",
    );
    refused(other.add_spin(&foreign, &spin, 0), 1, "another graph");
    refused(other.try_add_and_remove(&foreign), 1, "another graph");
    assert_eq!(model.calls(), before, "no call was made");
}

#[test]
fn arguments_that_the_parameters_do_not_take_are_refused() {
    let _model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let ptx = "\
.version 8.0
.target sm_80
.address_size 64
.entry two(.param .u64 a, /* .param .u64 no, */ .param .f32 b) { ret; }
";
    let kernel = Kernel::load(&runtime, ptx, "two", RouteChoice::Auto).expect("it loads");
    let shown: Vec<_> = kernel
        .parameters()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(shown, [".u64", ".f32"]);
    let stream = Stream::new(&runtime).expect("a stream");
    let graph = Graph::new(&runtime, 0).expect("a graph");
    let launch = |arguments: &[Argument<'_>]| {
        let config = LaunchConfig {
            grid: [2, 3, 4],
            block: [8, 8, 1],
            shared_bytes: 16,
        };
        // SAFETY: the kernel returns at once.
        unsafe {
            kernel.launch(&stream, config, arguments)?;
            graph.add_kernel(&[], &kernel, config, arguments).map(drop)
        }
    };
    launch(&[Argument::from(1_u64), Argument::from(1_f32)]).expect("launched");
    launch(&[Argument::from(DeviceAddress(0)), Argument::from(1_f32)]).expect("launched");
    let error = refused(
        launch(&[Argument::from(1_u64)]),
        1,
        "two: 1 arguments for 2 parameters",
    );
    assert_eq!(error.call, "cudaLaunchKernel");
    refused(
        launch(&[Argument::from(1_u32), Argument::from(1_f32)]),
        1,
        "parameter 1 is .u64, and the argument is an integer of 32 bits",
    );
    refused(
        launch(&[Argument::from(1_u64), Argument::from(1_u32)]),
        1,
        "parameter 2 is .f32, and the argument is an integer of 32 bits",
    );
}

#[test]
fn a_kernel_that_is_not_what_it_should_be_is_not_loaded() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let load = |ptx: &str, name: &str| SpinKernel::load(&runtime, ptx, name, RouteChoice::Auto);
    let entry = |entry: &str| format!(".version 8.0\n.target sm_80\n.address_size 64\n{entry}");
    let before = model.calls();
    for (ptx, why) in [
        ("hello".to_owned(), "no .version directive"),
        // ELF, as far as its first bytes go: CUDA would read it as machine code.
        (
            format!("\u{7f}ELF\n{}", entry(".entry k(.param .u64 a) { ret; }")),
            "not PTX",
        ),
        (entry(".entry other() { ret; }"), "no kernel `k`"),
        (entry(".entry k() { ret; }"), "one 64-bit integer"),
        (
            entry(".entry k(.param .u64 a, .param .u64 b) { ret; }"),
            "one 64-bit integer",
        ),
        (
            entry(".entry k(.param .u64 a /* ) */ , .param .u64 b) { ret; }"),
            "one 64-bit integer",
        ),
        (
            entry(".entry k(.param .u64 a) { st.global.u32 [%rd1], 0; ret; }"),
            "access memory",
        ),
    ] {
        let error = load(&ptx, "k").expect_err(&ptx);
        assert!(error.to_string().contains(why), "{ptx}: {error}");
    }
    // The driver would take the simulated runtime's graph for one of its own.
    let by_driver = Kernel::load(
        &runtime,
        SpinKernel::PTX,
        SpinKernel::NAME,
        RouteChoice::Driver,
    );
    assert!(matches!(by_driver, Err(KernelError::NoRoute(why)) if why.contains("simulated")));
    assert_eq!(model.calls(), before, "no call was made");
}

#[test]
fn memory_is_used_within_its_bounds_and_while_it_is_allocated() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let stream = Stream::new(&runtime).expect("a stream");
    let buffer = Buffer::new(&runtime, 10).expect("memory");
    stream
        .write(&buffer.region(), &[7_u16; 5])
        .expect("it fits");
    let small = buffer.region();
    let squares = NegatedSquares::load(&runtime, RouteChoice::Auto).expect("it loads");

    let graph = Graph::new(&runtime, 0).expect("a graph");
    let alloc = graph.add_alloc(&[], 64).expect("a node");
    let memory = alloc.region();
    let exec = graph.instantiate().expect("an exec");

    let before = model.calls();
    refused(
        stream.write(&small, &[0_u16; 6]),
        1,
        "12 bytes in a region of 10 bytes",
    );
    refused(stream.read::<u64>(&small, 2), 1, "16 bytes in a region");
    refused(stream.read::<u64>(&small, usize::MAX), 1, "in a region");
    refused(
        squares.launch(&stream, &small, &small, 3),
        1,
        "12 bytes in a region",
    );
    refused(
        graph.add_negated_squares(&[], &squares, (&memory, &small), 3),
        1,
        "12 bytes in a region",
    );
    refused(
        stream.write(&memory, &[1_u8]),
        1,
        "no allocation of a graph is live",
    );
    refused(
        squares.launch(&stream, &memory, &memory, 1),
        1,
        "no allocation of a graph is live",
    );
    assert_eq!(model.calls(), before, "no call was made");

    let launched = exec.launch(&stream).expect("launched");
    stream.write(&memory, &[3_i32, 4]).expect("it is live");
    squares
        .launch(&stream, &memory, &memory, 2)
        .expect("launched");
    assert_eq!(stream.read::<i32>(&memory, 2).expect("read"), [-9, -16]);
    for live in launched.live {
        assert_eq!(live.region().bytes(), 64);
        live.free_async(&stream).expect("freed");
    }
    refused(
        stream.read::<i32>(&memory, 2),
        1,
        "no allocation of a graph is live",
    );
}

#[test]
fn an_address_that_no_graph_has_is_not_freed() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let buffer = Buffer::new(&runtime, 64).expect("memory");
    let before = model.calls_of(FunctionId::cudaFree);
    refused(runtime.try_free(buffer.address()), 1, "no alloc node");
    refused(
        runtime.try_free(DeviceAddress(0x7f00_0000_0000)),
        1,
        "no alloc node",
    );
    assert_eq!(model.calls_of(FunctionId::cudaFree), before);
    buffer.free().expect("freed once");
}

#[test]
fn a_captured_stream_takes_no_other_call() {
    let model = Isolated::deterministic();
    let runtime = Runtime::built_in_model();
    let stream = Stream::new(&runtime).expect("a stream");
    let spin = SpinKernel::load(
        &runtime,
        SpinKernel::PTX,
        SpinKernel::NAME,
        RouteChoice::Auto,
    )
    .expect("it loads");
    let buffer = Buffer::new(&runtime, 64).expect("memory");
    let event = Event::new(&runtime).expect("an event");
    let graph = Graph::new(&runtime, 0).expect("a graph");
    let exec = graph.instantiate().expect("an exec");
    let pooled = stream.allocate(1).expect("memory");
    let capture = stream.capture(0).expect("a capture");
    let before = model.calls();
    let captured = |outcome: Result<()>| {
        refused(outcome, 900, "being captured");
    };
    captured(exec.launch(&stream).map(drop));
    captured(exec.upload(&stream));
    captured(event.record(&stream));
    captured(spin.launch(&stream, 0));
    captured(stream.write(&buffer.region(), &[0_u8]));
    captured(stream.read::<u8>(&buffer.region(), 1).map(drop));
    captured(stream.allocate(1).map(drop));
    refused(stream.capture(0), 401, "captured already");
    assert_eq!(model.calls(), before, "no call was made");
    capture.end().expect("the capture is as it was");

    // What is refused is dropped, and dropping it is a call that no capture allows.
    let capture = stream.capture(0).expect("a capture");
    captured(pooled.free_async(&stream));
    let error = capture.end().expect_err("it is no more");
    assert_eq!(error.code, cudaError_t::STREAM_CAPTURE_INVALIDATED);
}
