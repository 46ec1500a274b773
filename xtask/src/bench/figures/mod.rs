//! The figures: one file each. A figure measures, holds what it measured to its
//! bars, and says what it left out.

mod build;
mod kernel;
mod launch;
mod mapping;
mod model;
mod observe;
mod process;
mod scale;
mod spin;

use std::time::Duration;

use super::bed::{Bed, Limit};
use super::results::Figure;

/// How a figure is measured.
pub type Measure = fn(&Bed, Limit, &mut Figure) -> anyhow::Result<()>;

/// One figure.
#[derive(Debug)]
pub struct Plan {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// How long it may take before it stops with the rounds that it has.
    pub limit: Duration,
    /// Whether it is taken without being asked for.
    pub by_default: bool,
    /// How it is measured.
    pub measure: Measure,
}

/// The figures, in the order in which they are taken.
pub const FIGURES: &[Plan] = &[
    Plan {
        name: "process",
        title: "The whole process, from start to exit",
        limit: Duration::from_secs(45),
        by_default: true,
        measure: process::measure,
    },
    Plan {
        name: "launch",
        title: "Host time of a launch, and of a graph's life",
        limit: Duration::from_secs(20),
        by_default: true,
        measure: launch::measure,
    },
    Plan {
        name: "scale",
        title: "Cost per graph, from a few graphs to many",
        limit: Duration::from_secs(40),
        by_default: true,
        measure: scale::measure,
    },
    Plan {
        name: "observe",
        title: "What it costs to look at graph memory, and to trim it",
        limit: Duration::from_secs(10),
        by_default: true,
        measure: observe::measure,
    },
    Plan {
        name: "spin",
        title: "How exactly the kernel spins",
        limit: Duration::from_secs(20),
        by_default: true,
        measure: spin::measure,
    },
    Plan {
        name: "mapping",
        title: "What mapping memory costs, by size and moment",
        limit: Duration::from_secs(25),
        by_default: true,
        measure: mapping::measure,
    },
    Plan {
        name: "kernel",
        title: "Instructions of the kernel, Rust's against nvcc's",
        limit: Duration::from_secs(120),
        by_default: true,
        measure: kernel::measure,
    },
    Plan {
        name: "model",
        title: "The model runtime, and the size of the program",
        limit: Duration::from_secs(15),
        by_default: true,
        measure: model::measure,
    },
    Plan {
        name: "build",
        title: "Building from nothing",
        limit: Duration::from_secs(900),
        by_default: false,
        measure: build::measure,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_gpu_end_within_the_time_that_is_lent_for_them() {
        let on_a_gpu = FIGURES
            .iter()
            .filter(|plan| plan.by_default && !["kernel", "model"].contains(&plan.name));
        let total: Duration = on_a_gpu.map(|plan| plan.limit).sum();
        assert!(total <= Duration::from_secs(165), "{total:?}");
    }
}
