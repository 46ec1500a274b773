//! AutoFreeOnLaunch frees what the previous launch left, and nothing else.

use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{Result, Stream, cudaError_t};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "auto-free",
    title: "What AutoFreeOnLaunch frees",
    shows: "A graph that frees nothing is launched several times with AutoFreeOnLaunch, in the \
            footprint of one launch. The last launch's allocation stays: neither destroying the \
            exec nor a trim frees it.",
    teaches: "With this flag each launch first frees what the previous launch left, as \
              cudaFreeAsync in its stream would. Nothing frees the allocation of the last launch: \
              the program must call cudaFree or cudaFreeAsync for it, which also works after the \
              exec is destroyed. Otherwise the memory stays allocated until the process ends.",
    rules: &["R16", "R18", "R19", "R20", "R31", "R42", "M5", "M6"],
    run,
};

/// Launches of the one exec.
const LAUNCHES: usize = 3;

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    let one_launch = lab.launch_footprint_bytes();
    let memory = lab.device.graph_memory();
    notebook.baseline()?;

    let graph = lab.graph()?;
    let address = graph.add_alloc(&[], lab.choices.allocation_bytes)?.address;
    notebook.allocation("x", 0, address, lab.choices.allocation_bytes);
    let exec = notebook
        .step("instantiate with AutoFreeOnLaunch", Action::Instantiate)
        .graph(0)
        .address(address)
        .done(|| graph.instantiate_auto_free())?;

    let stream = Stream::new(lab.runtime)?;
    let mut live = Vec::new();
    for launch in 1..=LAUNCHES {
        let launched = notebook.launch(
            format!("launch {launch} of {LAUNCHES}"),
            (0, address),
            &exec,
            &stream,
        )?;
        live.extend(launched.live);
    }
    notebook.check_launches(
        "R19 M5",
        "every launch succeeds, in the footprint of one launch",
        vec![one_launch; LAUNCHES],
    );
    notebook.synchronize(&stream)?;

    notebook
        .step("destroy the exec", Action::Destroy)
        .graph(0)
        .done(|| exec.destroy())?;
    notebook.check_used("R16 R20", "destroying the exec frees nothing", one_launch);
    notebook
        .step("trim after the exec is destroyed", Action::Trim)
        .done(|| memory.trim())?;
    notebook.check_used("R42 M5", "a trim returns nothing either", one_launch);

    // All launches allocate at one address, so cudaFree gets the same argument for each:
    // the number of frees that succeed is the number of live allocations.
    let freed = notebook
        .step("cudaFree", Action::Free)
        .address(address)
        .done(|| Ok(lab.runtime.try_free(address)))?;
    notebook.check_code(
        "R20 M5",
        "cudaFree frees the last launch's allocation",
        cudaError_t::SUCCESS,
        &freed,
    );
    let again = notebook
        .step("cudaFree again", Action::Refuse)
        .address(address)
        .done(|| Ok(lab.runtime.try_free(address)))?;
    notebook.check_code(
        "R19 M6",
        "no allocation of an earlier launch is left",
        cudaError_t::INVALID_VALUE,
        &again,
    );
    live.clear();
    notebook.trim_to_nothing("R42 M5", "a trim then returns everything")
}
