//! cudaGraphUpload maps memory before the launch.

use std::time::{Duration, Instant};

use super::graphs::alloc_spin_free;
use super::{Experiment, Lab, Notebook, milliseconds};
use crate::results::Action;
use cuda_graphs::{GraphExec, Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "upload",
    title: "Mapping before the first launch",
    shows: "cudaGraphUpload maps a graph's memory without running the graph. The launch after it \
            maps nothing and takes a fraction of the time.",
    teaches: "The first launch of a graph, and the first one after a trim, maps memory, which \
              takes time. To avoid this, upload the exec beforehand, into the stream of the \
              launch. Uploads share memory as launches do. They do not reserve it: a trim undoes \
              an upload that no launch has followed.",
    rules: &["R31", "R32", "R33", "R35", "R42", "M4"],
    run,
};

/// Number of rounds. The fastest counts, because disturbances make times longer.
const ROUNDS: usize = 5;

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    let memory = lab.device.graph_memory();
    notebook.baseline()?;

    let stream = Stream::new(lab.runtime)?;
    let (exec, address) = notebook
        .step("instantiate", Action::Instantiate)
        .graph(0)
        .done(|| alloc_spin_free(lab, Duration::ZERO))?;
    let (other, other_address) = alloc_spin_free(lab, Duration::ZERO)?;
    notebook.allocation("x", 0, address, lab.choices.allocation_bytes);
    notebook.allocation("x", 1, other_address, lab.choices.allocation_bytes);

    notebook
        .step("upload", Action::Upload)
        .graph(0)
        .stream(0)
        .address(address)
        .done(|| exec.upload(&stream))?;
    notebook.check_used("R32", "an upload maps the graph's memory", one_launch);
    let _ = notebook.launch("launch after the upload", (0, address), &exec, &stream)?;
    notebook.check_used("R33", "the launch after it maps nothing more", one_launch);
    notebook
        .step("upload another graph", Action::Upload)
        .graph(1)
        .stream(0)
        .address(other_address)
        .done(|| other.upload(&stream))?;
    notebook.check_used("R35", "uploads into one stream share memory", one_launch);
    notebook.synchronize(&stream)?;
    notebook.trim_to_nothing("R33 R42", "a trim undoes an upload")?;

    let times = Times::measure(lab, &exec, &stream)?;
    if lab.is_measured() {
        notebook.check_shorter(
            "M4",
            "a launch after an upload takes less time than one that maps memory",
            times.mapping_ms,
            times.uploaded_ms,
        );
    }
    stream.synchronize()?;
    exec.destroy()?;
    other.destroy()?;
    memory.trim()
}

/// The shortest host time of each call, in milliseconds.
struct Times {
    /// A launch that maps memory.
    mapping_ms: f64,
    /// A launch after an upload that mapped memory.
    uploaded_ms: f64,
}

impl Times {
    fn measure<'rt>(lab: &Lab<'rt>, exec: &GraphExec<'rt>, stream: &Stream<'rt>) -> Result<Self> {
        let memory = lab.device.graph_memory();
        let launch = || {
            let start = Instant::now();
            let _ = exec.launch(stream)?;
            let took = milliseconds(start.elapsed());
            stream.synchronize()?;
            Result::Ok(took)
        };
        let mut best = Self {
            mapping_ms: f64::INFINITY,
            uploaded_ms: f64::INFINITY,
        };
        for _ in 0..ROUNDS {
            memory.trim()?;
            best.mapping_ms = best.mapping_ms.min(launch()?);
            memory.trim()?;
            exec.upload(stream)?;
            stream.synchronize()?;
            best.uploaded_ms = best.uploaded_ms.min(launch()?);
        }
        Ok(best)
    }
}
