//! Conditional nodes: the rounds of a WHILE use memory of the graph around it.

use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{
    Buffer, DeviceAddress, GraphExec, NegatedSquares, NextRound, Region, Result, Stream,
    cudaError_t,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "conditional",
    title: "Conditional nodes",
    shows: "The body of a WHILE node uses an allocation of the graph around it. The footprint is \
            that of the allocation, whatever the number of rounds. An allocation after the node \
            reuses what was freed before it. A graph with an allocation in a body cannot be \
            instantiated.",
    teaches: "Allocate before the conditional node and free after it: its bodies can use the \
              memory, and no number of rounds takes more. A body cannot allocate or free: the \
              nodes are added without an error, and cudaGraphInstantiate then returns 1. Order \
              passes through a conditional node like through any other node.",
    rules: &["R3", "R31", "R42", "R48", "R56", "M19"],
    run,
};

/// Rounds of the loop, for each launch.
const ROUNDS: [u32; 3] = [2, 10, 30];

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    if !lab.runtime.has_conditional_nodes() {
        notebook.not_supported(
            "R56",
            "conditional nodes can be checked",
            "this CUDA runtime has no conditional nodes: 12.3 and later have",
        );
        return Ok(());
    }
    let bench = Bench::new(lab)?;
    notebook.baseline()?;
    for (index, rounds) in ROUNDS.into_iter().enumerate() {
        loop_of(&bench, notebook, index, rounds)?;
    }
    order_passes_through(&bench, notebook)?;
    memory_in_a_body(&bench, notebook)?;
    notebook.trim_to_nothing("R42", "a trim returns everything")
}

/// What all parts use: the kernels, and one number that goes in and one that comes out.
struct Bench<'l, 'rt> {
    lab: &'l Lab<'rt>,
    negated_squares: NegatedSquares<'rt>,
    next_round: NextRound<'rt>,
    stream: Stream<'rt>,
    zero: Region<'rt>,
    output: Region<'rt>,
}

impl<'l, 'rt> Bench<'l, 'rt> {
    fn new(lab: &'l Lab<'rt>) -> Result<Self> {
        let bytes = size_of::<i32>() as u64;
        let route = lab.kernel.route().into();
        let stream = Stream::new(lab.runtime)?;
        let zero = Buffer::new(lab.runtime, bytes)?.region();
        stream.write(&zero, &[0])?;
        Ok(Self {
            lab,
            negated_squares: NegatedSquares::load(lab.runtime, route)?,
            next_round: NextRound::load(lab.runtime, route)?,
            stream,
            zero,
            output: Buffer::new(lab.runtime, bytes)?.region(),
        })
    }

    /// The size of each allocation: the requested size, or more if a number needs it.
    fn bytes(&self) -> u64 {
        self.lab.choices.allocation_bytes.max(self.zero.bytes())
    }
}

/// Alloc, a kernel that clears the counter there, WHILE with the kernel that counts, a
/// kernel that squares the count into the output, free.
fn loop_of(
    bench: &Bench<'_, '_>,
    notebook: &mut Notebook<'_>,
    index: usize,
    rounds: u32,
) -> Result<()> {
    let one_launch = bench.lab.launch_footprint_bytes();
    let (exec, address) = notebook
        .step(
            format!("build a WHILE node of {rounds} rounds"),
            Action::Instantiate,
        )
        .graph(index)
        .done(|| build(bench, rounds))?;
    notebook.allocation("x", index, address, bench.bytes());
    bench.stream.write(&bench.output, &[0])?;
    for (launch, label) in ["launch it", "launch it again"].into_iter().enumerate() {
        let _ = notebook.launch(label, (index, address), &exec, &bench.stream)?;
        bench.stream.synchronize()?;
        let times = if launch == 0 { "" } else { ", relaunched" };
        notebook.check_used(
            "R31 R48",
            &format!("{rounds} rounds{times}: the footprint of one launch"),
            one_launch,
        );
    }
    let found: Vec<i32> = bench.stream.read(&bench.output, 1)?;
    let squared = rounds.saturating_mul(rounds) as usize;
    let counted = found.first().map_or(0, |&number| number.unsigned_abs());
    notebook.check_count(
        "R56",
        &format!("{rounds} rounds: the memory holds the number of rounds, squared"),
        squared,
        counted as usize,
    );
    exec.destroy()
}

fn build<'rt>(bench: &Bench<'_, 'rt>, rounds: u32) -> Result<(GraphExec<'rt>, DeviceAddress)> {
    let squares = &bench.negated_squares;
    let graph = bench.lab.graph()?;
    let x = graph.add_alloc(&[], bench.bytes())?;
    let memory = x.region();
    let cleared = graph.add_negated_squares(&[x.node], squares, (&bench.zero, &memory), 1)?;
    let repeated = graph.add_while(&[cleared])?;
    repeated
        .body
        .add_next_round(&[], &bench.next_round, &memory, rounds)?;
    let squared =
        graph.add_negated_squares(&[repeated.node], squares, (&memory, &bench.output), 1)?;
    graph.add_free(&[squared], x.address)?;
    Ok((graph.instantiate()?, x.address))
}

/// An allocation after a WHILE node, with one freed before it.
fn order_passes_through(bench: &Bench<'_, '_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let index = ROUNDS.len();
    let graph = bench.lab.graph()?;
    let x = graph.add_alloc(&[], bench.bytes())?;
    let freed = graph.add_free(&[x.node], x.address)?;
    let repeated = graph.add_while(&[freed])?;
    // The counter is in the output buffer, as nothing else is allocated then.
    bench.stream.write(&bench.output, &[0])?;
    repeated
        .body
        .add_next_round(&[], &bench.next_round, &bench.output, 2)?;
    let y = graph.add_alloc(&[repeated.node], bench.bytes())?;
    graph.add_free(&[y.node], y.address)?;
    notebook.allocation("x", index, x.address, bench.bytes());
    notebook.allocation("y", index, y.address, bench.bytes());
    notebook.check_address(
        "R3",
        "an allocation after the node has the address of one freed before it",
        x.address,
        y.address,
    );
    let exec = notebook
        .step("build alloc, free, WHILE, alloc, free", Action::Instantiate)
        .graph(index)
        .address(x.address)
        .done(|| graph.instantiate())?;
    let _ = notebook.launch("launch it", (index, x.address), &exec, &bench.stream)?;
    bench.stream.synchronize()?;
    notebook.check_used(
        "R3 R48",
        "both allocations together have the footprint of one",
        bench.lab.launch_footprint_bytes(),
    );
    exec.destroy()
}

/// An allocation and its free in the body.
fn memory_in_a_body(bench: &Bench<'_, '_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let graph = bench.lab.graph()?;
    let repeated = graph.add_while(&[])?;
    let added = repeated.body.add_alloc(&[], bench.bytes());
    notebook.check_code(
        "M19",
        "an alloc node is added to a body without an error",
        cudaError_t::SUCCESS,
        &added,
    );
    let x = added?;
    let added = repeated.body.add_free(&[x.node], x.address);
    notebook.check_code(
        "M19",
        "and so is its free node",
        cudaError_t::SUCCESS,
        &added,
    );
    let refused = notebook
        .step(
            "instantiate a graph that allocates in a body",
            Action::Refuse,
        )
        .graph(ROUNDS.len() + 1)
        .done(|| Ok(graph.instantiate()))?;
    notebook.check_code(
        "R56 M19",
        "the graph is refused when it is instantiated",
        cudaError_t::INVALID_VALUE,
        &refused,
    );
    Ok(())
}
