//! Exit codes, and errors that end the program without a result.

use std::fmt;
use std::process::ExitCode;

use safe_io::visible;

use crate::results::{RunResult, Verdict};
use cuda_graphs::{CudaError, KernelError};

/// Exit code of a run in which every check passed.
pub const PASS: u8 = 0;
/// Exit code of a failed check or an error.
pub const FAIL: u8 = 1;
/// Exit code on a machine that cannot run this, the same as in NVIDIA's samples.
pub const WAIVED: u8 = 2;
/// Exit code of a run in which graphs did not overlap, so that claims about overlapping
/// graphs could not be checked.
pub const INCONCLUSIVE: u8 = 3;
/// Exit code of a run that Ctrl-C ended: 128 plus the number of SIGINT, as in shells.
pub const INTERRUPTED: u8 = 130;
/// Exit code of a run whose reader has closed standard output, as shells have it for
/// SIGPIPE.
pub const CLOSED_PIPE: u8 = 141;
/// Exit code of wrong usage (`EX_USAGE`).
pub const USAGE: u8 = 64;

/// The exit codes, for `--help`.
pub const HELP: &str = "\
Exit codes:
  0    every check passed
  1    a check failed, or an error occurred
  2    waived: this machine cannot run the experiments (driver, device or memory pools)
  3    inconclusive: the condition of a claim was not met (graphs did not overlap, or
       there was too little free memory)
  64   wrong usage
  130  interrupted with Ctrl-C; results of finished experiments were written
  141 standard output was closed by its reader before the run had ended";

/// Why the program ends without a result: what happened, and what to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The kind of error.
    pub kind: StopKind,
    /// What happened, one line.
    pub what: String,
    /// What to try, one line.
    pub remedy: String,
}

/// The kinds of errors, which determine the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopKind {
    /// A call or an operation failed.
    Error,
    /// This machine cannot run the experiments.
    Waived,
    /// The arguments are wrong.
    Usage,
    /// The reader of standard output has closed it, and nothing else is written.
    ClosedPipe,
}

impl Stop {
    /// An error.
    pub fn error(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            kind: StopKind::Error,
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// A machine that cannot run the experiments.
    pub fn waived(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            kind: StopKind::Waived,
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// Wrong arguments.
    pub fn usage(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            kind: StopKind::Usage,
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// Standard output was closed by its reader.
    #[must_use]
    pub fn closed_pipe() -> Self {
        Self {
            kind: StopKind::ClosedPipe,
            what: "standard output was closed".to_owned(),
            remedy: "read it to its end, or write it to a file with --output".to_owned(),
        }
    }

    /// The exit code.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self.kind {
            StopKind::Error => FAIL,
            StopKind::Waived => WAIVED,
            StopKind::Usage => USAGE,
            StopKind::ClosedPipe => CLOSED_PIPE,
        }
    }
}

impl From<CudaError> for Stop {
    fn from(error: CudaError) -> Self {
        Self::error(error.to_string(), error.advice())
    }
}

impl From<KernelError> for Stop {
    fn from(error: KernelError) -> Self {
        let remedy = match &error {
            KernelError::Cuda { error, .. } => error.advice(),
            KernelError::NoRoute(_) => {
                "use a CUDA runtime of 12.8 or later, or omit --kernel-route"
            }
            KernelError::Unsuitable { .. } => {
                "--ptx takes a kernel that spins for as many clocks as its one argument says"
            }
            _ => "--ptx takes a file that `cargo xtask kernel` wrote",
        };
        Self::error(format!("the kernel cannot be loaded: {error}"), remedy)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            StopKind::Error | StopKind::Usage | StopKind::ClosedPipe => "error",
            StopKind::Waived => "waived",
        };
        // Either may name files or quote a library.
        let shown = visible::indented;
        write!(
            f,
            "{kind}: {}\n  try: {}",
            shown(&self.what),
            shown(&self.remedy)
        )
    }
}

impl std::error::Error for Stop {}

/// The exit code of a finished run.
#[must_use]
pub fn code_of(result: &RunResult) -> ExitCode {
    ExitCode::from(match result.verdict {
        _ if result.interrupted => INTERRUPTED,
        Verdict::Pass => PASS,
        Verdict::Fail => FAIL,
        Verdict::Inconclusive => INCONCLUSIVE,
    })
}
