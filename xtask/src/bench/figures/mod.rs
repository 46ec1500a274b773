//! The figures, one file each. A figure measures, compares the result with its bars, and
//! reports what it skipped.

mod launch;
mod mapping;
mod process;
mod scale;
mod watch;

use std::time::Duration;

use super::bed::{Bed, Limit};
use super::results::Figure;

/// How a figure is measured.
pub type Measure = fn(&Bed, Limit, &mut Figure) -> anyhow::Result<()>;

/// One figure.
#[derive(Debug)]
pub struct Plan {
    /// The name for `--only`.
    pub name: &'static str,
    /// The title.
    pub title: &'static str,
    /// The time after which it stops, with the rounds it has measured.
    pub limit: Duration,
    /// How it is measured.
    pub measure: Measure,
}

/// The figures in the order in which they are measured.
pub const FIGURES: &[Plan] = &[
    Plan {
        name: "process",
        title: "The whole process, from start to exit",
        limit: Duration::from_secs(45),
        measure: process::measure,
    },
    Plan {
        name: "launch",
        title: "Host time of a launch, and of a graph's life",
        limit: Duration::from_secs(20),
        measure: launch::measure,
    },
    Plan {
        name: "scale",
        title: "Cost per graph, from a few graphs to many",
        limit: Duration::from_secs(40),
        measure: scale::measure,
    },
    Plan {
        name: "mapping",
        title: "What mapping memory costs, by size and moment",
        limit: Duration::from_secs(25),
        measure: mapping::measure,
    },
    Plan {
        name: "watch",
        title: "What watching adds to a launch and to a training step",
        limit: Duration::from_secs(60),
        measure: watch::measure,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_figures_together_take_little_more_than_three_minutes() {
        let total: Duration = FIGURES.iter().map(|plan| plan.limit).sum();
        assert!(total <= Duration::from_secs(190), "{total:?}");
    }
}
