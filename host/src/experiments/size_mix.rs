//! Graphs of different sizes: in one stream the footprint is that of the largest, on
//! several streams the sum.

use std::time::Duration;

use super::graphs::alloc_spin_free_of;
use super::overlap::{Queried, until_proven};
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{DeviceAddress, GraphExec, Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "size-mix",
    title: "Graphs of different sizes",
    shows: "Three graphs of one, two and four times the size. In one stream the footprint is that \
            of the largest graph so far, in any order. On three streams at the same time it is the \
            sum.",
    teaches: "In one stream, a large graph after small ones takes no more memory than the large \
              graph alone, because the mapped memory is extended. The footprint stays at the \
              largest size until a trim, so one large graph that runs rarely determines it. On \
              several streams the sizes add up.",
    rules: &["R31", "R34", "R35", "R36", "R42", "R43", "M18"],
    run,
};

/// The graphs' sizes as multiples of the footprint of one launch, ascending.
const MULTIPLES: [u64; 3] = [1, 2, 4];

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    notebook.baseline()?;

    let graphs = instantiate(lab, notebook, Duration::ZERO)?;
    let stream = Stream::new(lab.runtime)?;
    for (order, claim) in [
        (
            [0, 1, 2],
            "in one stream, smallest first: the largest so far",
        ),
        (
            [2, 1, 0],
            "in one stream, largest first: the largest so far",
        ),
        ([1, 2, 0], "in one stream, mixed: the largest so far"),
    ] {
        let before = notebook.used_after(Action::Launch).len();
        for graph in order {
            launch(notebook, &graphs, graph, (&stream, 0), Duration::ZERO)?;
        }
        let expected = largest_so_far(order).map(|multiple| multiple * one_launch);
        let measured = notebook.used_after(Action::Launch).split_off(before);
        notebook.check_series("R35", claim, expected.to_vec(), measured);
        notebook.synchronize(&stream)?;
        notebook.trim()?;
    }
    for (exec, _) in graphs {
        exec.destroy()?;
    }

    let mut at_once = Vec::new();
    let proof = until_proven(lab, notebook, MULTIPLES.len(), |notebook, spin_time| {
        let before = notebook.used_after(Action::Launch).len();
        let queried = on_streams(lab, notebook, spin_time)?;
        at_once = notebook.used_after(Action::Launch).split_off(before);
        Ok(queried)
    })?;
    let first_check = notebook.check_count_so_far();
    notebook.check_series(
        "R36",
        "on three streams at the same time: the sum",
        sums().map(|multiple| multiple * one_launch).to_vec(),
        at_once,
    );
    notebook.conclude_overlap(proof, first_check);

    notebook.trim_to_nothing("R42", "a trim returns everything")
}

/// A graph of each size.
fn instantiate<'rt>(
    lab: &Lab<'rt>,
    notebook: &mut Notebook<'_>,
    spin_time: Duration,
) -> Result<Vec<(GraphExec<'rt>, DeviceAddress)>> {
    let bytes = MULTIPLES.map(|multiple| multiple.saturating_mul(lab.launch_footprint_bytes()));
    let graphs = notebook
        .step(
            "instantiate graphs of 1, 2 and 4 times the size",
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
    let ((exec, address), multiple) = (&graphs[graph], MULTIPLES[graph]);
    let _ = notebook
        .step(
            format!("launch the {multiple}x graph on stream {stream_index}"),
            Action::Launch,
        )
        .graph(graph)
        .stream(stream_index)
        .address(*address)
        .spin_time(spin_time)
        .done(|| exec.launch(stream))?;
    Ok(())
}

/// One attempt to run all three at the same time.
fn on_streams(lab: &Lab<'_>, notebook: &mut Notebook<'_>, spin_time: Duration) -> Result<Queried> {
    let graphs = instantiate(lab, notebook, spin_time)?;
    let streams = MULTIPLES
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

/// The largest size up to each place of an order, as multiples.
fn largest_so_far(order: [usize; 3]) -> [u64; 3] {
    let mut largest = 0;
    order.map(|graph| {
        largest = MULTIPLES[graph].max(largest);
        largest
    })
}

/// The sum of the sizes up to each, as multiples.
fn sums() -> [u64; 3] {
    let mut sum = 0;
    MULTIPLES.map(|multiple| {
        sum += multiple;
        sum
    })
}
