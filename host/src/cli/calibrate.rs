//! The options of `calibrate`.

use std::path::PathBuf;

use clap::Args;

use super::BackendArgs;

/// Options of `calibrate`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub struct CalibrateArgs {
    /// The profile to write; `-` is standard output.
    #[arg(long, default_value = "-", value_name = "FILE.toml")]
    pub output: PathBuf,

    /// The GPU to measure.
    #[command(flatten)]
    pub on: BackendArgs,
}

const HELP: &str = "\
A table of the values goes to standard error. Give the file to --model-profile to simulate
this GPU or to plan for it. Run it while nothing else uses the GPU: memory that others use
is part of in_use_at_start_bytes, and their work changes the costs.

Exit codes:
  0   the profile was written, and its sizes and addresses were measured
  1   a call failed
  2   there is no GPU, or it has no memory pools
  3   the profile was written, but a size or an address could not be measured; it was
      taken from the built-in profile, and the table says why
  64  wrong usage";
