//! From the options of `watch` to its reports.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use graph_memory_record::{ReadError, Recording};
use safe_io::{Output, Outputs};

use super::result::{End, WatchResult};
use super::{analysis, launcher, text, trace};
use crate::cli::WatchArgs;
use crate::cli::exit::Stop;
use crate::cli::output;
use crate::report::{json, watch_page};

/// Runs the command and reports what its graphs hold. The exit code is the command's.
///
/// # Errors
///
/// A file that cannot be written, or no watch library, before the command is started; a
/// recording that cannot be read after it.
pub fn run(args: &WatchArgs) -> Result<ExitCode, Stop> {
    // Opened before the command runs, so that a bad path fails early.
    let files = Files::open(args)?;
    let library = launcher::library(args)?;
    let recording = Folder::create(args)?;
    let status = match launcher::run(args, &library, recording.path()) {
        Ok(status) => status,
        Err(not_started) => {
            output::say(&not_started.stop);
            return Ok(ExitCode::from(not_started.code));
        }
    };
    // The command has ended: what goes wrong from here on must not change how.
    if let Err(stop) = report(args, recording.path(), status, files) {
        output::say(&stop);
    }
    drop(recording);
    Ok(ExitCode::from(launcher::end_like(status)))
}

fn report(
    args: &WatchArgs,
    recording: &Path,
    status: ExitStatus,
    files: Files,
) -> Result<(), Stop> {
    let recording = match Recording::read(recording) {
        Ok(recording) => recording,
        Err(ReadError::Empty { .. }) => Recording {
            folder: recording.to_owned(),
            processes: Vec::new(),
            unreadable: Vec::new(),
        },
        Err(error) => {
            return Err(Stop::error(
                error.to_string(),
                "look whether the disk is full",
            ));
        }
    };
    let mut result = analysis::analyse(&recording);
    result.command = launcher::shown(&args.command);
    result.end = match (status.code(), status.signal()) {
        (Some(code), _) => Some(End::Code(code)),
        (None, Some(signal)) => Some(End::Signal(signal)),
        (None, None) => None,
    };
    files.write(&result, args)
}

/// The files that the options name.
struct Files {
    outputs: Outputs,
    text: Option<Output>,
    json: Option<Output>,
    page: Option<Output>,
    trace: Option<Output>,
}

impl Files {
    fn open(args: &WatchArgs) -> Result<Self, Stop> {
        // What the command's words name it will read, and the command itself may be there.
        let words = args.command.iter().map(Path::new);
        let named = words
            .chain(args.library.as_deref())
            .filter(|path| path.is_file());
        let outputs = Outputs::new(named);
        let open = |path: &Option<PathBuf>| {
            let path = path.as_deref();
            path.map(|path| output::page(&outputs, path)).transpose()
        };
        let files = Self {
            text: open(&args.text)?,
            json: open(&args.output)?,
            page: open(&args.report)?,
            trace: open(&args.trace)?,
            outputs: outputs.clone(),
        };
        if let Some(folder) = &args.dot {
            outputs.check_folder(folder)?;
        }
        Ok(files)
    }

    fn write(self, result: &WatchResult, args: &WatchArgs) -> Result<(), Stop> {
        match self.text {
            Some(file) => {
                let mut file = output::styled(file);
                text::write(result, args.rows, &mut file)?;
                file.flush()?;
            }
            None => {
                let mut out = anstream::stderr().lock();
                // The command may have closed what this program shares with it.
                let _ = text::write(result, args.rows, &mut out).and_then(|()| out.flush());
            }
        }
        if let Some(mut file) = self.json {
            json::write(&mut file, result)?;
        }
        if let Some(mut file) = self.page {
            watch_page::write(result, &mut file)?;
        }
        if let Some(mut file) = self.trace {
            trace::write(result, &mut file)?;
        }
        if let Some(folder) = &args.dot {
            for (name, dot) in &result.dots {
                let mut file = self.outputs.open_in(folder, name)?;
                file.write_all(dot.as_bytes())?;
            }
        }
        output::commit(self.outputs)
    }
}

/// The folder of the recording: the one that is to be kept, or a temporary one.
enum Folder {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Folder {
    fn create(args: &WatchArgs) -> Result<Self, Stop> {
        let Some(folder) = &args.record else {
            let created = tempfile::Builder::new()
                .prefix("graph-memory-watch-")
                .tempdir();
            return created.map(Self::Temporary).map_err(|error| {
                Stop::error(
                    format!("cannot create a folder for the recording: {error}"),
                    "set TMPDIR to a folder that can be written, or name one with --record",
                )
            });
        };
        std::fs::create_dir(folder)
            .and_then(|()| folder.canonicalize())
            .map(Self::Kept)
            .map_err(|error| {
                Stop::usage(
                    format!("cannot create {}: {error}", folder.display()),
                    "name a folder that does not exist yet, in one that can be written",
                )
            })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }
}
