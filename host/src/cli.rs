//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, ValueEnum};

use crate::cuda::RouteChoice;
use crate::exit;
use crate::experiments::{EXPERIMENTS, Experiment};

/// Shows, and checks, how CUDA graph memory nodes reuse virtual addresses and
/// physical memory.
#[derive(Debug, Parser)]
#[command(version, after_help = exit::HELP, max_term_width = 100)]
pub struct Cli {
    /// Where to run: a GPU, the model of one, or a GPU if there is one.
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    pub backend: BackendChoice,

    /// Run only this experiment; may be given more than once.
    #[arg(long = "experiment", value_name = "NAME", value_parser = experiment_parser())]
    pub experiments: Vec<&'static Experiment>,

    /// Bytes that each allocation asks for, such as 64MiB or 1GB.
    #[arg(long, default_value = "64MiB", value_name = "SIZE", value_parser = parse_bytes)]
    pub bytes: ByteSize,

    /// Graphs an experiment, where it uses several.
    #[arg(long, default_value = "8", value_name = "N", value_parser = parse_graphs)]
    pub graphs: usize,

    /// The device by its number; else the fastest by multiprocessors and clock.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub device: Option<i32>,

    /// How long each graph runs, such as 2ms; else chosen so that graphs overlap.
    #[arg(long, value_name = "TIME", value_parser = parse_hold)]
    pub hold: Option<Duration>,

    /// The CUDA runtime to load, a file or a directory; nothing else is tried.
    #[arg(long, value_name = "PATH")]
    pub cudart: Option<PathBuf>,

    /// PTX with the `clock_block` kernel, instead of the embedded one.
    #[arg(long, value_name = "FILE")]
    pub ptx: Option<PathBuf>,

    /// How the kernel is loaded: by the runtime (12.8 and later) or by the driver.
    #[arg(long, value_enum, default_value_t, value_name = "ROUTE")]
    pub kernel_route: KernelRouteChoice,

    /// What to write.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    /// Where to write it; `-` is standard output.
    #[arg(long, default_value = "-", value_name = "FILE")]
    pub output: PathBuf,

    /// Log more: -v the libraries tried, -vv every CUDA call.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum BackendChoice {
    /// A usable GPU, else the model.
    #[default]
    Auto,
    /// A GPU or nothing.
    Cuda,
    /// The model runtime, which needs no GPU.
    Model,
}

/// How the kernel is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum KernelRouteChoice {
    /// By the runtime where it can, else by the driver.
    #[default]
    Auto,
    /// By `cudaLibraryLoadData`.
    Runtime,
    /// By `cuModuleLoadDataEx`.
    Driver,
}

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Tables for people.
    #[default]
    Text,
    /// Everything, for machines.
    Json,
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

/// The arguments with the samples' spelling `-device=N` made into `--device=N`.
pub fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().map(|argument| match argument.to_str() {
        Some(text) if text.starts_with("-device=") => OsString::from(format!("-{text}")),
        _ => argument,
    })
}

fn experiment_parser() -> impl TypedValueParser<Value = &'static Experiment> {
    PossibleValuesParser::new(EXPERIMENTS.iter().map(|experiment| experiment.name)).map(|name| {
        EXPERIMENTS
            .iter()
            .find(|experiment| experiment.name == name)
            .unwrap_or_else(|| unreachable!("only these names are accepted"))
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
        Ok(graphs) => Ok(graphs),
        Err(_) => Err("a number of graphs, 1 or more".to_owned()),
    }
}

fn parse_hold(text: &str) -> Result<Duration, String> {
    let hold = humantime::parse_duration(text)
        .map_err(|_| "a time is a number with a unit, such as 2ms or 500us".to_owned())?;
    match hold {
        Duration::ZERO => Err("longer than nothing".to_owned()),
        hold if hold > MAX_HOLD => Err("at most 60s".to_owned()),
        hold => Ok(hold),
    }
}

/// The longest hold that can be asked for.
const MAX_HOLD: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn values_that_make_no_sense_are_refused_with_what_is_allowed() {
        assert!(parse_bytes("0").unwrap_err().contains("at least 1"));
        assert!(parse_bytes("many").unwrap_err().contains("64MiB"));
        assert!(parse_graphs("0").unwrap_err().contains("at least 1"));
        assert!(parse_graphs("-1").unwrap_err().contains("1 or more"));
        assert!(parse_hold("0s").unwrap_err().contains("longer"));
        assert!(parse_hold("2h").unwrap_err().contains("60s"));
        assert!(parse_hold("soon").unwrap_err().contains("2ms"));
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_bytes("64MiB").map(|size| size.as_u64()), Ok(64 << 20));
        assert_eq!(parse_bytes("1").map(|size| size.as_u64()), Ok(1));
    }
}
