//! The options of the commands, and how their values are read. `plan` and `watch` have
//! theirs in their own modules.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::experiments::{EXPERIMENTS, Experiment};
use crate::results::ModelClock;
use cuda_graphs::RouteChoice;

/// Options of a run of experiments.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The experiment to run, or all of them; may be given more than once.
    ///
    /// Without it, the four experiments of NVIDIA's sample run.
    #[arg(long = "experiment", value_name = "NAME|all", value_parser = experiment_parser())]
    pub experiments: Vec<&'static [Experiment]>,

    /// List the experiments and run nothing.
    #[arg(long)]
    pub list: bool,

    /// Size of each allocation, such as 64MiB or 1GB.
    #[arg(
        long,
        default_value = "64MiB",
        value_name = "SIZE",
        value_parser = parse_bytes,
        allow_hyphen_values = true
    )]
    pub bytes: ByteSize,

    /// Number of graphs per experiment.
    #[arg(long, default_value = "8", value_name = "N", value_parser = parse_graphs)]
    pub graphs: usize,

    /// Spin time of each graph's kernel, such as 2ms; by default long enough that graphs
    /// overlap.
    #[arg(long, value_name = "TIME", value_parser = parse_spin_time)]
    pub spin_time: Option<Duration>,

    /// Free memory that the out-of-memory experiment leaves to other programs.
    #[arg(long, default_value = "2GiB", value_name = "SIZE", value_parser = parse_bytes)]
    pub leave: ByteSize,

    /// Allow the out-of-memory experiment to take all free GPU memory.
    #[arg(long)]
    pub yes: bool,

    /// Run the experiments N times in one process and report memory growth per run.
    #[arg(long, default_value = "1", value_name = "N", value_parser = parse_repeat)]
    pub repeat: usize,

    /// Where to run, and with which kernel.
    #[command(flatten)]
    pub on: BackendArgs,

    /// What to write.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Where to run, and with which kernel.
#[derive(Debug, Clone, Args)]
pub struct BackendArgs {
    /// Run on a GPU, on the simulated GPU, or on a GPU if there is one.
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    pub backend: BackendChoice,

    /// The number of the device, or all in turn; by default the device with the most
    /// multiprocessors times clock rate.
    #[arg(long, value_name = "N|all", allow_negative_numbers = true, value_parser = parse_device)]
    pub device: Option<DeviceChoice>,

    /// The CUDA runtime to load, a file or a directory; no other library is tried.
    #[arg(long, value_name = "PATH")]
    pub cudart: Option<PathBuf>,

    /// The GPU to simulate: the name of a built-in profile, or a TOML file.
    #[arg(long, value_name = "NAME|FILE")]
    pub model_profile: Option<String>,

    /// The clock of the simulated GPU.
    #[arg(long, value_enum, value_name = "CLOCK")]
    pub model_clock: Option<ModelClock>,

    /// A PTX file with the kernel `clock_block`, instead of the embedded one.
    #[arg(long, value_name = "FILE")]
    pub ptx: Option<PathBuf>,

    /// Load the kernel through the runtime (12.8 and later) or the driver.
    #[arg(long, value_enum, default_value_t, value_name = "ROUTE")]
    pub kernel_route: KernelRouteChoice,
}

impl BackendArgs {
    /// The files that these options, and the environment in their place, have read.
    pub fn files_read(&self) -> impl Iterator<Item = PathBuf> {
        let profile = self.model_profile.clone().map(OsString::from);
        let profile = profile.or_else(|| cudart_ffi::environment::variable("CUDART_MODEL_PROFILE"));
        [
            self.ptx.clone(),
            self.cudart.clone(),
            profile.map(PathBuf::from),
        ]
        .into_iter()
        .flatten()
    }
}

/// What to write of a result.
#[derive(Debug, Clone, Args)]
pub struct OutputArgs {
    /// The format of the output.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    /// The file to write to; `-` is standard output.
    #[arg(long, default_value = "-", value_name = "FILE")]
    pub output: PathBuf,

    /// Write only the verdicts of the experiments, and a last line if the GPU was simulated.
    #[arg(short, long)]
    pub quiet: bool,

    /// Also write the result as one HTML page with charts.
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Also write each chart as an SVG file in this directory.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
}

/// Options of `explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// The name of an experiment, or the number of a rule such as R35.
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// Options of `show`.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// A JSON result; `-` is standard input.
    #[arg(value_name = "RESULT.json")]
    pub result: PathBuf,

    /// What to write.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// A JSON result, or a log of NVIDIA's sample graphMemoryFootprint.
    #[arg(value_name = "A")]
    pub left: PathBuf,

    /// The result or log to compare with.
    #[arg(value_name = "B")]
    pub right: PathBuf,

    /// Write only the steps that differ and the verdict.
    #[arg(short, long)]
    pub quiet: bool,
}

/// Options of `completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Options of `manual`.
#[derive(Debug, Clone, Args)]
pub struct ManualArgs {
    /// The subcommand; without it, the program's own page.
    #[arg(value_name = "NAME")]
    pub subcommand: Option<String>,
}

/// The devices to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The device with this ordinal.
    Ordinal(i32),
    /// All devices, one after another.
    All,
}

/// Where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum BackendChoice {
    /// A GPU if there is a usable one, otherwise the simulated GPU.
    #[default]
    Auto,
    /// A GPU; without one the program ends with exit code 2.
    Cuda,
    /// The simulated GPU.
    #[value(name = "simulated", alias = "model")]
    Model,
}

/// How the kernel is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum KernelRouteChoice {
    /// Through the runtime if it can load kernels, otherwise through the driver.
    #[default]
    Auto,
    /// With `cudaLibraryLoadData`.
    Runtime,
    /// With `cuModuleLoadDataEx`.
    Driver,
}

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Tables to read.
    #[default]
    Text,
    /// The complete result, for programs.
    Json,
    /// One row per step, for spreadsheets.
    Csv,
}

impl From<KernelRouteChoice> for RouteChoice {
    fn from(choice: KernelRouteChoice) -> Self {
        match choice {
            KernelRouteChoice::Auto => Self::Auto,
            KernelRouteChoice::Runtime => Self::Runtime,
            KernelRouteChoice::Driver => Self::Driver,
        }
    }
}

/// The value that selects every experiment.
const ALL: &str = "all";

fn experiment_parser() -> impl TypedValueParser<Value = &'static [Experiment]> {
    let names = EXPERIMENTS.iter().map(|experiment| experiment.name);
    PossibleValuesParser::new(names.chain([ALL])).map(|name| {
        let found = EXPERIMENTS
            .iter()
            .find(|experiment| experiment.name == name);
        // The parser accepts only these names, so a name that no experiment has is `all`.
        found.map_or(EXPERIMENTS, std::slice::from_ref)
    })
}

fn parse_bytes(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text
        .parse()
        .map_err(|_| "a size is a number with a unit, such as 64MiB or 1GB".to_owned())?;
    if size.as_u64() == 0 {
        Err("at least 1 byte".to_owned())
    } else {
        Ok(size)
    }
}

fn parse_graphs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1 graph".to_owned()),
        Ok(graphs) if graphs > MAX_GRAPHS => Err(format!("at most {MAX_GRAPHS} graphs")),
        Ok(graphs) => Ok(graphs),
        Err(_) => Err("a number of graphs, 1 or more".to_owned()),
    }
}

fn parse_repeat(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1 run".to_owned()),
        Ok(cycles) => Ok(cycles),
        Err(_) => Err("a number of runs, 1 or more".to_owned()),
    }
}

fn parse_device(text: &str) -> Result<DeviceChoice, String> {
    if text == "all" {
        return Ok(DeviceChoice::All);
    }
    text.parse()
        .map(DeviceChoice::Ordinal)
        .map_err(|_| "the number of a device, or all".to_owned())
}

fn parse_spin_time(text: &str) -> Result<Duration, String> {
    match parse_time(text)? {
        Duration::ZERO => Err("a time above 0".to_owned()),
        spin_time => Ok(spin_time),
    }
}

/// A time up to the longest spin time.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time <= MAX_SPIN_TIME => Ok(time),
        Ok(_) => Err("at most 60s".to_owned()),
        Err(_) => Err("a time is a number with a unit, such as 2ms or 500us".to_owned()),
    }
}

/// The largest number of graphs: more than any device can hold, and small enough that
/// the sum of their sizes fits into 64 bits.
const MAX_GRAPHS: usize = 100_000;

/// The longest spin time that is accepted.
const MAX_SPIN_TIME: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_are_refused_with_the_allowed_ones() {
        assert!(parse_bytes("0").unwrap_err().contains("at least 1"));
        assert!(parse_bytes("many").unwrap_err().contains("64MiB"));
        assert!(parse_graphs("0").unwrap_err().contains("at least 1"));
        assert!(parse_graphs("-1").unwrap_err().contains("1 or more"));
        assert!(parse_graphs("100001").unwrap_err().contains("at most"));
        assert!(parse_repeat("0").unwrap_err().contains("at least 1"));
        assert!(parse_device("first").unwrap_err().contains("all"));
        assert!(parse_spin_time("0s").unwrap_err().contains("above 0"));
        assert!(parse_spin_time("2h").unwrap_err().contains("60s"));
        assert!(parse_spin_time("soon").unwrap_err().contains("2ms"));
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_bytes("64MiB").map(|size| size.as_u64()), Ok(64 << 20));
        assert_eq!(parse_bytes("1").map(|size| size.as_u64()), Ok(1));
    }
}
