//! Data in graph memory is correct, however the graph was made and whoever frees it.
//!
//! The kernel writes the negated square of each number, so the values show whether the
//! data went through graph memory.

use std::time::Duration;

use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{
    Buffer, DeviceAddress, GraphExec, LiveAllocation, NegatedSquares, Region, Result, Stream,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "data-survives",
    title: "Data in graph memory",
    shows: "A kernel writes the negated square of each number to graph memory, and reads it from \
            there: in a graph built by hand, in a captured graph, and in an unfreed allocation \
            that is then freed in the stream, by cudaFree, and by another graph. All numbers are \
            correct.",
    teaches: "Between its alloc node and its free, graph memory behaves like any other memory. \
              Kernels of the graph can use it. If the graph does not free it, so can later kernels \
              and copies, at the address that was known before the first launch. Two allocations \
              at one address do not overwrite each other's data, because the order that allows the \
              sharing keeps them apart.",
    rules: &[
        "R1", "R2", "R3", "R8", "R9", "R11", "R14", "R17", "R31", "R42",
    ],
    run,
};

/// Number of values. It is not a multiple of the block size, so the last block has
/// threads without work.
const NUMBERS: u32 = 1000;

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let bench = Bench::new(lab)?;
    notebook.baseline()?;
    built_by_hand(&bench, notebook)?;
    captured(&bench, notebook)?;
    outliving_its_graph(&bench, notebook)?;
    notebook.trim_to_nothing("R42", "a trim returns everything")
}

/// What all parts use: the kernel, the numbers, and the output buffer.
struct Bench<'l, 'rt> {
    lab: &'l Lab<'rt>,
    kernel: NegatedSquares<'rt>,
    stream: Stream<'rt>,
    input: Region<'rt>,
    output: Region<'rt>,
    numbers: Vec<i32>,
}

impl<'l, 'rt> Bench<'l, 'rt> {
    fn new(lab: &'l Lab<'rt>) -> Result<Self> {
        let bytes = u64::from(NUMBERS) * size_of::<i32>() as u64;
        let stream = Stream::new(lab.runtime)?;
        let input = Buffer::new(lab.runtime, bytes)?.region();
        let output = Buffer::new(lab.runtime, bytes)?.region();
        let numbers: Vec<i32> = (-9..=9).cycle().take(NUMBERS as usize).collect();
        stream.write(&input, &numbers)?;
        Ok(Self {
            lab,
            kernel: NegatedSquares::load(lab.runtime, lab.kernel.route().into())?,
            stream,
            input,
            output,
            numbers,
        })
    }

    /// The size of each allocation: the requested size, or more if the numbers need it.
    fn bytes(&self) -> u64 {
        self.lab.choices.allocation_bytes.max(self.input.bytes())
    }

    /// The number of values in memory that equal the input after `times` runs of the kernel.
    fn right_after(&self, times: u32, at: &Region<'rt>) -> Result<usize> {
        let found: Vec<i32> = self.stream.read(at, NUMBERS as usize)?;
        let expected = self
            .numbers
            .iter()
            .map(|&number| (0..times).fold(number, |n, _| n.wrapping_mul(n).wrapping_neg()));
        Ok(expected.zip(found).filter(|(a, b)| a == b).count())
    }

    /// Clears the output, so that the next values are new.
    fn clear_output(&self) -> Result<()> {
        self.stream.write(&self.output, &[0; NUMBERS as usize])
    }
}

/// Two allocations, one after the other at one address, each filled and read.
fn built_by_hand(bench: &Bench<'_, '_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let lab = bench.lab;
    let (kernel, input, output) = (&bench.kernel, &bench.input, &bench.output);
    let graph = lab.graph()?;
    let x = graph.add_alloc(&[], bench.bytes())?;
    let into = graph.add_negated_squares(&[x.node], kernel, (input, &x.region()), NUMBERS)?;
    let out = graph.add_negated_squares(&[into], kernel, (&x.region(), output), NUMBERS)?;
    let free = graph.add_free(&[out], x.address)?;
    let y = graph.add_alloc(&[free], bench.bytes())?;
    let into = graph.add_negated_squares(&[y.node], kernel, (output, &y.region()), NUMBERS)?;
    let out = graph.add_negated_squares(&[into], kernel, (&y.region(), output), NUMBERS)?;
    graph.add_free(&[out], y.address)?;
    notebook.allocation("x", 0, x.address, bench.bytes());
    notebook.allocation("y", 0, y.address, bench.bytes());
    let exec = notebook
        .step("build the graph by hand", Action::Instantiate)
        .graph(0)
        .address(x.address)
        .done(|| graph.instantiate())?;
    notebook.check_address(
        "R3",
        "the second allocation has the first one's address",
        x.address,
        y.address,
    );
    let right = launch_and_count(bench, notebook, &exec, 0, "launch it", 4)?;
    notebook.check_count(
        "R8 R11",
        "built by hand: correct numbers after both allocations",
        NUMBERS as usize,
        right,
    );
    exec.destroy()
}

/// The same calls in a captured stream.
fn captured(bench: &Bench<'_, '_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let (kernel, input, output) = (&bench.kernel, &bench.input, &bench.output);
    let (exec, address) = notebook
        .step("capture the same in a stream", Action::Instantiate)
        .graph(1)
        .done(|| {
            let mut capture = bench.stream.capture(bench.lab.device.ordinal())?;
            let x = capture.allocate(bench.bytes())?;
            capture.negated_squares(kernel, (input, &x), NUMBERS)?;
            capture.negated_squares(kernel, (&x, output), NUMBERS)?;
            capture.free(x.address())?;
            Ok((capture.end()?.instantiate()?, x.address()))
        })?;
    notebook.allocation("x", 1, address, bench.bytes());
    let right = launch_and_count(bench, notebook, &exec, 1, "launch the captured graph", 2)?;
    notebook.check_count(
        "R8 R17",
        "captured: correct numbers",
        NUMBERS as usize,
        right,
    );
    exec.destroy()
}

/// An unfreed allocation that its graph fills, used and freed in three ways.
fn outliving_its_graph(bench: &Bench<'_, '_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let lab = bench.lab;
    let stream = &bench.stream;
    let (kernel, input, output) = (&bench.kernel, &bench.input, &bench.output);
    let graph = lab.graph()?;
    let x = graph.add_alloc(&[], bench.bytes())?;
    let memory = x.region();
    graph.add_negated_squares(&[x.node], kernel, (input, &memory), NUMBERS)?;
    notebook.allocation("x", 2, x.address, bench.bytes());
    let exec = notebook
        .step(
            "build a graph that leaves it allocated",
            Action::Instantiate,
        )
        .graph(2)
        .address(x.address)
        .done(|| graph.instantiate())?;
    let address = x.address;

    let live = fill(bench, notebook, &exec, address)?;
    bench.clear_output()?;
    notebook
        .step("use and free it in the stream", Action::Free)
        .stream(0)
        .address(address)
        .done(|| {
            kernel.launch(stream, &memory, output, NUMBERS)?;
            live.into_iter()
                .try_for_each(|live| live.free_async(stream))
        })?;
    let right = bench.right_after(2, output)?;
    notebook.check_count(
        "R9 R14",
        "freed in the stream: correct numbers",
        NUMBERS as usize,
        right,
    );

    let live = fill(bench, notebook, &exec, address)?;
    let right = bench.right_after(1, &memory)?;
    notebook.check_count(
        "R2 R14",
        "copied from the graph's address: correct numbers",
        NUMBERS as usize,
        right,
    );
    notebook
        .step("cudaFree", Action::Free)
        .address(address)
        .done(|| live.into_iter().try_for_each(LiveAllocation::free))?;

    let consumer = lab.graph()?;
    let used = consumer.add_negated_squares(&[], kernel, (&memory, output), NUMBERS)?;
    consumer.add_free(&[used], address)?;
    let consumer = consumer.instantiate()?;
    let live = fill(bench, notebook, &exec, address)?;
    let right = launch_and_count(
        bench,
        notebook,
        &consumer,
        3,
        "launch a graph that uses and frees it",
        2,
    )?;
    notebook.check_count(
        "R1 R14",
        "freed by another graph: correct numbers",
        NUMBERS as usize,
        right,
    );
    let still_live = live.iter().filter(|live| live.is_live()).count();
    notebook.check_count(
        "R14",
        "the other graph has freed the allocation",
        0,
        still_live,
    );
    drop(live);
    consumer.destroy()?;
    exec.destroy()
}

/// Launches the graph that fills the allocation and does not free it.
fn fill<'rt>(
    bench: &Bench<'_, 'rt>,
    notebook: &mut Notebook<'_>,
    exec: &GraphExec<'rt>,
    address: DeviceAddress,
) -> Result<Vec<LiveAllocation<'rt>>> {
    let launched = notebook.launch(
        "launch the graph that fills it",
        (2, address),
        exec,
        &bench.stream,
    )?;
    Ok(launched.live)
}

/// Launches a graph, and counts the values in the output that equal the input after
/// `times` runs of the kernel.
fn launch_and_count<'rt>(
    bench: &Bench<'_, 'rt>,
    notebook: &mut Notebook<'_>,
    exec: &GraphExec<'rt>,
    index: usize,
    label: &str,
    times: u32,
) -> Result<usize> {
    bench.clear_output()?;
    let _ = notebook
        .step(label, Action::Launch)
        .graph(index)
        .stream(0)
        .spin_time(Duration::ZERO)
        .done(|| exec.launch(&bench.stream))?;
    bench.right_after(times, &bench.output)
}
