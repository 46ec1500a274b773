//! Reports: what a run found, for people or for machines. One file a form, each a
//! `Reporter`; what several of them need is in `units` and `sharing`.

mod charts;
mod csv;
mod html;
mod json;
mod markup;
pub mod plan_page;
mod sharing;
mod svg;
mod text;
pub(crate) mod units;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anstream::AutoStream;

use crate::cli::{Format, OutputArgs};
use crate::exit::Stop;
use crate::results::{DeviceResult, ExperimentResult, RunResult};

/// Writes a run's result, as it comes or when it is whole. What a form has no use
/// for it leaves out.
trait Reporter {
    /// The run's head is known: everything but the devices.
    fn begin(&mut self, _result: &RunResult) -> io::Result<()> {
        Ok(())
    }

    /// A device's section begins: everything but the experiments is known.
    fn device(&mut self, _result: &RunResult, _section: &DeviceResult) -> io::Result<()> {
        Ok(())
    }

    /// An experiment has ended; the number is its place in the device's section, from 1.
    fn experiment(&mut self, _number: usize, _experiment: &ExperimentResult) -> io::Result<()> {
        Ok(())
    }

    /// A device's section is whole.
    fn device_end(&mut self, _section: &DeviceResult) -> io::Result<()> {
        Ok(())
    }

    /// The run is over.
    fn end(&mut self, result: &RunResult) -> io::Result<()>;
}

/// Every report that was asked for.
pub struct Reports {
    reporters: Vec<Box<dyn Reporter>>,
}

impl Reports {
    /// The run's head is known: everything but the devices.
    ///
    /// # Errors
    ///
    /// Those of writing, here and below.
    pub fn begin(&mut self, result: &RunResult) -> io::Result<()> {
        self.each(|reporter| reporter.begin(result))
    }

    /// The result's last device is known but for its experiments.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn device(&mut self, result: &RunResult) -> io::Result<()> {
        match result.devices.last() {
            Some(section) => self.each(|reporter| reporter.device(result, section)),
            None => Ok(()),
        }
    }

    /// The last experiment of the result's last device has just ended.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn experiment(&mut self, result: &RunResult) -> io::Result<()> {
        let experiments = result.devices.last().map(|section| &section.experiments);
        match experiments.and_then(|all| all.last().map(|last| (all.len(), last))) {
            Some((number, last)) => self.each(|reporter| reporter.experiment(number, last)),
            None => Ok(()),
        }
    }

    /// The result's last device is whole.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn device_end(&mut self, result: &RunResult) -> io::Result<()> {
        match result.devices.last() {
            Some(section) => self.each(|reporter| reporter.device_end(section)),
            None => Ok(()),
        }
    }

    /// The run is over.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn end(&mut self, result: &RunResult) -> io::Result<()> {
        self.each(|reporter| reporter.end(result))
    }

    /// Writes a result that is whole already.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn show(&mut self, result: &RunResult) -> io::Result<()> {
        self.each(|reporter| {
            reporter.begin(result)?;
            for section in &result.devices {
                reporter.device(result, section)?;
                for (index, experiment) in section.experiments.iter().enumerate() {
                    reporter.experiment(index + 1, experiment)?;
                }
                reporter.device_end(section)?;
            }
            reporter.end(result)
        })
    }

    fn each(
        &mut self,
        mut call: impl FnMut(&mut dyn Reporter) -> io::Result<()>,
    ) -> io::Result<()> {
        self.reporters
            .iter_mut()
            .try_for_each(|reporter| call(&mut **reporter))
    }
}

/// Opens every output, before anything runs, so that a bad path fails early.
///
/// # Errors
///
/// An output that cannot be written.
pub fn open(args: &OutputArgs) -> Result<Reports, Stop> {
    if args.quiet && args.format != Format::Text {
        return Err(Stop::usage(
            "--quiet is for the text; other formats are written whole or not at all",
            "leave one of --quiet and --format out",
        ));
    }
    let to_terminal = args.output == Path::new("-");
    let out = open_output(&args.output)?;
    let main: Box<dyn Reporter> = match args.format {
        Format::Text if args.quiet => Box::new(text::Verdicts::new(out)),
        Format::Text => Box::new(text::Text::new(out, columns(to_terminal))),
        Format::Json => Box::new(json::Json::new(out)),
        Format::Csv => Box::new(csv::Csv::new(out)),
    };
    let mut reporters = vec![main];
    if let Some(path) = &args.report {
        if is_one_file(path, &args.output) {
            return Err(Stop::usage(
                format!("--report and --output both name {}", path.display()),
                "give each a file of its own",
            ));
        }
        let out = Box::new(create(path)?);
        reporters.push(Box::new(html::Html::new(out)));
    }
    if let Some(folder) = &args.svg {
        reporters.push(Box::new(svg::Svg::new(folder)?));
    }
    Ok(Reports { reporters })
}

/// Whether both paths lead to one file that is there. A device, such as the null
/// device, takes what two write.
fn is_one_file(a: &Path, b: &Path) -> bool {
    let file = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
    file(a).is_some_and(|a| file(b) == Some(a))
}

/// The terminal's width, where the text goes to one.
fn columns(to_stdout: bool) -> Option<usize> {
    let (width, _) = to_stdout.then(|| terminal_size::terminal_size_of(io::stdout()))??;
    Some(usize::from(width.0))
}

fn open_output(path: &Path) -> Result<Box<dyn Write>, Stop> {
    if path == Path::new("-") {
        return Ok(Box::new(anstream::stdout()));
    }
    Ok(Box::new(AutoStream::auto(create(path)?)))
}

/// Creates a file of output, which standard output cannot take the place of.
///
/// # Errors
///
/// `-`, or a file that cannot be written.
pub(crate) fn create(path: &Path) -> Result<File, Stop> {
    if path == Path::new("-") {
        return Err(Stop::usage(
            "a report is not written to standard output",
            "name a file for it",
        ));
    }
    File::create(path).map_err(|error| {
        Stop::usage(
            format!("cannot write {}: {error}", path.display()),
            "give a file that can be written",
        )
    })
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        let remedy = match error.kind() {
            io::ErrorKind::BrokenPipe => "read it to its end, or write it to a file with --output",
            _ => "make room for it, or name another place with --output",
        };
        Self::error(format!("cannot write the report: {error}"), remedy)
    }
}
