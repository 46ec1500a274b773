//! What graph memory is for: data, however the graph came about and whoever frees it.
//!
//! The kernel writes the negated square of each number, so numbers that went through
//! graph memory are known by their values.

use std::time::Duration;

use super::{Experiment, Lab, Notebook};
use crate::kernel::ptx::{NEGATED_SQUARES, NEGATED_SQUARES_PTX};
use crate::results::Action;
use cuda_graphs::{
    BLOCK_THREADS, Buffer, DeviceAddress, GraphExec, Kernel, KernelLaunch, LiveAllocation, Result,
    Stream,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "data-survives",
    title: "Data in graph memory",
    shows: "Numbers go through graph memory by a kernel that squares and negates them: in a \
            graph built by hand, in a captured one, and in an allocation that outlives its \
            graph and is freed in the stream, by cudaFree, and by another graph. All arrive.",
    teaches: "Between its alloc node and its free, graph memory is memory like any other: \
              kernels of the graph use it, and where the graph does not free it, so do kernels \
              and copies after it, at the address that was known before the graph ever ran. \
              Two allocations at one address do not get in each other's way, since the order \
              that allowed the sharing keeps them apart.",
    rules: &[
        "R1", "R2", "R3", "R8", "R9", "R11", "R14", "R17", "R31", "R42",
    ],
    run,
};

/// How many numbers: not a multiple of a block's threads, so that the last block has
/// threads without work.
const NUMBERS: usize = 1000;

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let bench = Bench::new(lab)?;
    notebook.baseline()?;
    built_by_hand(&bench, notebook)?;
    captured(&bench, notebook)?;
    outliving_its_graph(&bench, notebook)?;
    notebook.trim_to_nothing("R42", "trim gives everything back")
}

/// What every way has in common: the kernel, the numbers, and where they come out.
struct Bench<'l, 'rt> {
    lab: &'l Lab<'rt>,
    kernel: Kernel<'rt>,
    stream: Stream<'rt>,
    input: Buffer<'rt>,
    output: Buffer<'rt>,
    numbers: Vec<i32>,
}

impl<'l, 'rt> Bench<'l, 'rt> {
    fn new(lab: &'l Lab<'rt>) -> Result<Self> {
        let bytes = (NUMBERS * size_of::<i32>()) as u64;
        let stream = Stream::new(lab.runtime)?;
        let input = Buffer::new(lab.runtime, bytes)?;
        let output = Buffer::new(lab.runtime, bytes)?;
        let numbers: Vec<i32> = (-9..=9).cycle().take(NUMBERS).collect();
        stream.write(input.address(), &numbers)?;
        Ok(Self {
            lab,
            kernel: lab
                .kernel
                .load_beside(NEGATED_SQUARES_PTX, NEGATED_SQUARES, 3)?,
            stream,
            input,
            output,
            numbers,
        })
    }

    /// The size that graphs allocate: room for the numbers, and what was asked for.
    fn bytes(&self) -> u64 {
        self.lab.choices.allocation_bytes.max(self.input.bytes())
    }

    /// A launch of the kernel on all numbers.
    fn squares(from: DeviceAddress, to: DeviceAddress) -> [u64; 3] {
        [from.0, to.0, NUMBERS as u64]
    }

    fn launch(arguments: &[u64; 3]) -> KernelLaunch<'_> {
        let blocks = NUMBERS.div_ceil(BLOCK_THREADS as usize);
        KernelLaunch {
            blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
            arguments,
        }
    }

    /// How many numbers in memory are what `times` runs of the kernel make of the input.
    fn right_after(&self, times: u32, at: DeviceAddress) -> Result<usize> {
        let found = self.stream.read(at, NUMBERS)?;
        let expected = self
            .numbers
            .iter()
            .map(|&number| (0..times).fold(number, |n, _| n.wrapping_mul(n).wrapping_neg()));
        Ok(expected.zip(found).filter(|(a, b)| a == b).count())
    }

    /// Makes sure that what comes out next is new.
    fn clear_output(&self) -> Result<()> {
        self.stream.write(self.output.address(), &[0; NUMBERS])
    }
}

/// Two allocations, one after the other at one address, each filled and read.
fn built_by_hand(bench: &Bench<'_, '_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let lab = bench.lab;
    let (input, output) = (bench.input.address(), bench.output.address());
    let graph = lab.graph()?;
    let x = graph.add_alloc(&[], bench.bytes())?;
    let into = Bench::squares(input, x.address);
    let into = graph.add_launch(&[x.node], &bench.kernel, Bench::launch(&into))?;
    let out = Bench::squares(x.address, output);
    let out = graph.add_launch(&[into], &bench.kernel, Bench::launch(&out))?;
    let free = graph.add_free(&[out], x.address)?;
    let y = graph.add_alloc(&[free], bench.bytes())?;
    let into = Bench::squares(output, y.address);
    let into = graph.add_launch(&[y.node], &bench.kernel, Bench::launch(&into))?;
    let out = Bench::squares(y.address, output);
    let out = graph.add_launch(&[into], &bench.kernel, Bench::launch(&out))?;
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
        "by hand: numbers that went through both",
        NUMBERS,
        right,
    );
    exec.destroy()
}

/// The same calls in a captured stream.
fn captured(bench: &Bench<'_, '_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let (input, output) = (bench.input.address(), bench.output.address());
    let (exec, address) = notebook
        .step("capture the same in a stream", Action::Instantiate)
        .graph(1)
        .done(|| {
            let mut capture = bench.stream.capture(bench.lab.device.ordinal())?;
            let x = capture.allocate(bench.bytes())?;
            capture.launch(&bench.kernel, Bench::launch(&Bench::squares(input, x)))?;
            capture.launch(&bench.kernel, Bench::launch(&Bench::squares(x, output)))?;
            capture.free(x)?;
            Ok((capture.end()?.instantiate()?, x))
        })?;
    notebook.allocation("x", 1, address, bench.bytes());
    let right = launch_and_count(bench, notebook, &exec, 1, "launch the captured graph", 2)?;
    notebook.check_count("R8 R17", "captured: numbers that arrive", NUMBERS, right);
    exec.destroy()
}

/// An allocation that its graph fills and leaves, used and freed in three ways.
fn outliving_its_graph(bench: &Bench<'_, '_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let lab = bench.lab;
    let stream = &bench.stream;
    let (input, output) = (bench.input.address(), bench.output.address());
    let graph = lab.graph()?;
    let x = graph.add_alloc(&[], bench.bytes())?;
    let into = Bench::squares(input, x.address);
    graph.add_launch(&[x.node], &bench.kernel, Bench::launch(&into))?;
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
    let out = Bench::squares(address, output);

    let live = fill(bench, notebook, &exec, address)?;
    bench.clear_output()?;
    notebook
        .step("use and free it in the stream", Action::Free)
        .stream(0)
        .address(address)
        .done(|| {
            bench.kernel.launch(stream, Bench::launch(&out))?;
            live.into_iter()
                .try_for_each(|live| live.free_async(stream))
        })?;
    let right = bench.right_after(2, output)?;
    notebook.check_count(
        "R9 R14",
        "freed in the stream: numbers that arrive",
        NUMBERS,
        right,
    );

    let live = fill(bench, notebook, &exec, address)?;
    let right = bench.right_after(1, address)?;
    notebook.check_count(
        "R2 R14",
        "copied from the graph's address: numbers that arrive",
        NUMBERS,
        right,
    );
    notebook
        .step("cudaFree", Action::Free)
        .address(address)
        .done(|| live.into_iter().try_for_each(LiveAllocation::free))?;

    let consumer = lab.graph()?;
    let used = consumer.add_launch(&[], &bench.kernel, Bench::launch(&out))?;
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
        "freed by another graph: numbers that arrive",
        NUMBERS,
        right,
    );
    let alive = live.iter().filter(|live| live.is_alive()).count();
    notebook.check_count(
        "R14",
        "and the allocation is that graph's to free",
        0,
        alive,
    );
    drop(live);
    consumer.destroy()?;
    exec.destroy()
}

/// Launches the graph that fills the allocation and leaves it.
fn fill<'rt>(
    bench: &Bench<'_, 'rt>,
    notebook: &mut Notebook<'_>,
    exec: &GraphExec<'rt>,
    address: DeviceAddress,
) -> Result<Vec<LiveAllocation<'rt>>> {
    let launched = notebook
        .step("launch the graph that fills it", Action::Launch)
        .graph(2)
        .stream(0)
        .address(address)
        .spin_time(Duration::ZERO)
        .done(|| exec.launch(&bench.stream))?;
    Ok(launched.live)
}

/// Launches a graph, and counts the numbers in the output that are what `times` runs of
/// the kernel make.
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
    bench.right_after(times, bench.output.address())
}
