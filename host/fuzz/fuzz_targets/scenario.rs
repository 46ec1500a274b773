//! Any text as a scenario: read it and, where it is small, run it on the model.

#![no_main]

use cudart_model::Profile;
use graph_memory_plan::{SpinKernel, replay, scenario};
use libfuzzer_sys::fuzz_target;

const SPIN: SpinKernel<'static> = SpinKernel {
    ptx: include_str!("../../../kernels-rs/ptx/clock_block.ptx"),
    name: "clock_block",
};

fuzz_target!(|text: &str| {
    let scenario = match scenario::read(text, "fuzz") {
        Ok(scenario) => scenario,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "one line: {error}");
            return;
        }
    };
    let nodes: usize = scenario.instances.iter().map(|instance| instance.graph.nodes.len()).sum();
    if nodes > 200 || scenario.instances.len() > 50 || scenario.steps.len() > 100 || scenario.streams > 50 {
        return;
    }
    let replayed = replay::simulated(&scenario, &Profile::default(), SPIN);
    let replayed = replayed.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(replayed.steps.len(), scenario.steps.len());
    for step in &replayed.steps {
        assert!(step.memory.used_bytes <= step.memory.reserved_bytes, "R50: {step:?}");
    }
});
