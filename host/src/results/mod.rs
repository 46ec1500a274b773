//! The result of a run as plain data, which the reports print.
//!
//! Sizes are in bytes and times in milliseconds, as the field names say.
//! [`SCHEMA_VERSION`] is increased by every incompatible change.
//! `schema/result-v3.schema.json` describes the JSON form, and a field that is missing
//! there fails the tests.

mod experiment;
pub mod read;
mod repeat;
pub(crate) mod trend;

use serde::{Deserialize, Serialize};

use cuda_graphs::DeviceInfo;
pub use graph_memory_plan::result::Verdict;

pub use experiment::{
    Action, Allocation, Check, ExperimentResult, FailedCall, OverlapProof, Quantity, Step,
};
pub use repeat::{Cycle, Growth, MemoryKind, Repeat, Trend};

/// The version of the JSON form of [`RunResult`].
pub const SCHEMA_VERSION: u32 = 3;

/// The result of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The [`SCHEMA_VERSION`] of the program that wrote the result.
    pub schema_version: u32,
    /// The program.
    pub tool: Tool,
    /// When the run began, as RFC 3339 in UTC.
    pub started_at: String,
    /// Where the experiments ran.
    pub backend: Backend,
    /// The kernel that keeps graphs running.
    pub kernel: KernelInfo,
    /// The settings of the run.
    pub settings: Settings,
    /// One entry per device, in the order of the run; usually there is one.
    pub devices: Vec<DeviceResult>,
    /// Whether the run was interrupted with Ctrl-C.
    pub interrupted: bool,
    /// Host time of the whole run, in milliseconds; `None` during the run.
    pub duration_ms: Option<f64>,
    /// The worst verdict of all devices.
    pub verdict: Verdict,
}

/// The result on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceResult {
    /// The device's ordinal.
    pub ordinal: i32,
    /// The device; `None` if its properties could not be read.
    pub device: Option<DeviceInfo>,
    /// The call that loaded the kernel; `None` if it was not loaded.
    pub kernel_route: Option<String>,
    /// The footprint of one launch: what one launch of a graph that allocates
    /// [`Settings::allocation_bytes`] maps, measured before the experiments; `None` if an
    /// error occurred before that.
    pub launch_footprint_bytes: Option<u64>,
    /// One result per experiment, in the order of the run. With `--repeat` these are the
    /// results of [`Repeat::kept_cycle`].
    pub experiments: Vec<ExperimentResult>,
    /// The memory after each cycle, with `--repeat`.
    pub repeat: Option<Repeat>,
    /// Why no experiment was run, or an error after the experiments.
    pub stopped: Option<Stopped>,
    /// The worst verdict of this device.
    pub verdict: Verdict,
}

impl DeviceResult {
    /// A device before anything was run on it.
    #[must_use]
    pub fn new(ordinal: i32) -> Self {
        Self {
            ordinal,
            device: None,
            kernel_route: None,
            launch_footprint_bytes: None,
            experiments: Vec::new(),
            repeat: None,
            stopped: None,
            verdict: Verdict::Pass,
        }
    }
}

/// Why no experiment was run on a device, or an error when its handles were closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// Whether the device cannot run the experiments, as opposed to an error.
    pub waived: bool,
    /// What happened.
    pub what: String,
    /// What to try.
    pub remedy: String,
}

/// The program that made a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A GPU with a CUDA runtime, or the simulated GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backend {
    /// Which of the two.
    pub kind: BackendKind,
    /// The description of the simulated runtime; `None` on a GPU.
    pub model: Option<String>,
    /// Why the simulated GPU was chosen, if `--backend` left the choice open.
    pub why: Option<String>,
    /// The file of the runtime library; `None` for the built-in simulated runtime.
    pub runtime_path: Option<String>,
    /// How the library was found.
    pub runtime_found_by: String,
    /// The runtime's version, such as `12.4`.
    pub runtime_version: Option<String>,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub driver_version: Option<String>,
}

/// Whether the numbers were measured or simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// Measured on a GPU.
    Cuda,
    /// Computed by the simulated runtime.
    Model,
}

/// The spinning kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Its name in the PTX.
    pub name: String,
    /// Where the PTX came from: `embedded`, or a file.
    pub source: String,
    /// The PTX `.version`.
    pub ptx_version: String,
    /// The PTX `.target`.
    pub ptx_target: String,
    /// The compiler that wrote it, if the PTX says.
    pub compiler: Option<String>,
    /// The provenance in the header of the PTX, as keys and values.
    #[serde(default)]
    pub provenance: Vec<(String, String)>,
}

/// The settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Number of graphs per experiment.
    pub graphs: usize,
    /// The requested size of each allocation, in bytes.
    pub allocation_bytes: u64,
    /// The spin time that the user fixed, in milliseconds.
    pub fixed_spin_time_ms: Option<f64>,
    /// The number of requested runs.
    #[serde(default = "once")]
    pub repeat: usize,
    /// The profile of the simulated GPU, a built-in name or a file, if one was given.
    #[serde(default)]
    pub model_profile: Option<String>,
    /// The clock of the simulated GPU; `None` on a GPU.
    #[serde(default)]
    pub model_clock: Option<ModelClock>,
}

fn once() -> usize {
    1
}

/// The clock of the simulated GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ModelClock {
    /// The host's clock; host times include the simulated work.
    Real,
    /// A clock that advances only by the simulated cost of each call.
    Virtual,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_outweighs_an_inconclusive_check() {
        use Verdict::{Fail, Inconclusive, Pass};
        assert_eq!(Verdict::worst([Pass, Inconclusive, Fail, Pass]), Fail);
        assert_eq!(Verdict::worst([Pass, Inconclusive]), Inconclusive);
        assert_eq!(Verdict::worst([]), Pass);
    }
}
