//! Graphs of different sizes: the largest counts in one stream, the sum on several.

use std::time::Duration;

use super::graphs::alloc_spin_free_of;
use super::overlap::{Queried, until_proven};
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{DeviceAddress, GraphExec, Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "size-mix",
    title: "Graphs of different sizes",
    shows: "Graphs of one, two and four units. In one stream the footprint is that of the \
            largest so far, in whatever order they come; on a stream each it is the sum.",
    teaches: "In one stream a large graph costs nothing more because small ones ran before it: \
              what these have mapped is extended, not left behind. The footprint then stays at \
              the largest need until a trim, so one rare large graph decides it for all. \
              Spread over streams, every graph adds its own size.",
    rules: &["R31", "R34", "R35", "R36", "R42", "R43", "M18"],
    run,
};

/// The graphs' sizes in units, ascending.
const UNITS: [u64; 3] = [1, 2, 4];

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    let memory = lab.device.graph_memory();
    notebook.baseline()?;

    let graphs = instantiate(lab, notebook, Duration::ZERO)?;
    let stream = Stream::new(lab.runtime)?;
    for (order, claim) in [
        ([0, 1, 2], "in one stream, smallest first"),
        ([2, 1, 0], "in one stream, largest first"),
        ([1, 2, 0], "in one stream, mixed"),
    ] {
        let before = notebook.used_after(Action::Launch).len();
        for graph in order {
            launch(notebook, &graphs, graph, (&stream, 0), Duration::ZERO)?;
        }
        let expected = largest_so_far(order).map(|units| units * one_launch);
        let measured = notebook.used_after(Action::Launch).split_off(before);
        notebook.check_series("R35", claim, expected.to_vec(), measured);
        notebook
            .step("synchronize", Action::Synchronize)
            .stream(0)
            .done(|| stream.synchronize())?;
        notebook.step("trim", Action::Trim).done(|| memory.trim())?;
    }
    for (exec, _) in graphs {
        exec.destroy()?;
    }

    let mut at_once = Vec::new();
    let proof = until_proven(lab, notebook, UNITS.len(), |notebook, spin_time| {
        let before = notebook.used_after(Action::Launch).len();
        let queried = on_streams(lab, notebook, spin_time)?;
        at_once = notebook.used_after(Action::Launch).split_off(before);
        Ok(queried)
    })?;
    let first_check = notebook.check_count_so_far();
    notebook.check_series(
        "R36",
        "on three streams at once: the sum",
        sums().map(|units| units * one_launch).to_vec(),
        at_once,
    );
    notebook.conclude_overlap(proof, first_check);

    notebook.trim_to_nothing("R42", "trim gives everything back")
}

/// A graph of each size.
fn instantiate<'rt>(
    lab: &Lab<'rt>,
    notebook: &mut Notebook<'_>,
    spin_time: Duration,
) -> Result<Vec<(GraphExec<'rt>, DeviceAddress)>> {
    let bytes = UNITS.map(|units| units.saturating_mul(lab.launch_footprint_bytes()));
    let graphs = notebook
        .step(
            "instantiate graphs of 1, 2 and 4 units",
            Action::Instantiate,
        )
        .done(|| {
            bytes
                .iter()
                .map(|&bytes| alloc_spin_free_of(lab, bytes, spin_time))
                .collect::<Result<Vec<_>>>()
        })?;
    for (graph, (&bytes, (_, address))) in bytes.iter().zip(&graphs).enumerate() {
        notebook.allocation("x", graph, *address, bytes);
    }
    Ok(graphs)
}

fn launch<'rt>(
    notebook: &mut Notebook<'_>,
    graphs: &[(GraphExec<'rt>, DeviceAddress)],
    graph: usize,
    (stream, stream_index): (&Stream<'rt>, usize),
    spin_time: Duration,
) -> Result<()> {
    let (Some((exec, address)), Some(units)) = (graphs.get(graph), UNITS.get(graph)) else {
        return Ok(());
    };
    let plural = if *units == 1 { "" } else { "s" };
    let _ = notebook
        .step(
            format!("launch {units} unit{plural} on stream {stream_index}"),
            Action::Launch,
        )
        .graph(graph)
        .stream(stream_index)
        .address(*address)
        .spin_time(spin_time)
        .done(|| exec.launch(stream))?;
    Ok(())
}

/// One attempt to have all three run at once.
fn on_streams(lab: &Lab<'_>, notebook: &mut Notebook<'_>, spin_time: Duration) -> Result<Queried> {
    let graphs = instantiate(lab, notebook, spin_time)?;
    let streams = UNITS
        .iter()
        .map(|_| Stream::new(lab.runtime))
        .collect::<Result<Vec<_>>>()?;
    for (index, stream) in streams.iter().enumerate() {
        launch(notebook, &graphs, index, (stream, index), spin_time)?;
    }
    let queried = Queried::now(notebook, &streams)?;
    notebook
        .step("synchronize all streams", Action::Synchronize)
        .done(|| streams.iter().try_for_each(Stream::synchronize))?;
    for (exec, _) in graphs {
        exec.destroy()?;
    }
    Ok(queried)
}

/// The largest size up to each place of an order, in units.
fn largest_so_far(order: [usize; 3]) -> [u64; 3] {
    let mut largest = 0;
    order.map(|graph| {
        largest = UNITS.get(graph).copied().unwrap_or(0).max(largest);
        largest
    })
}

/// The sum of the sizes up to each, in units.
fn sums() -> [u64; 3] {
    let mut sum = 0;
    UNITS.map(|units| {
        sum += units;
        sum
    })
}
