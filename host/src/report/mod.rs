//! Reports of a run: one file per output format, each with a `Reporter`. `units` and
//! `sharing` are used by several of them.

mod charts;
mod csv;
mod html;
pub(crate) mod json;
mod markup;
pub mod plan_page;
pub(crate) mod planned;
mod sharing;
mod shown;
pub(crate) mod style;
mod svg;
pub(crate) mod table;
mod text;
pub(crate) mod units;
pub mod watch_page;

use std::io;

use safe_io::Outputs;
use shown::Shown;
pub(crate) use shown::shown;

use crate::cli::exit::Stop;
use crate::cli::output;
use crate::cli::{Format, OutputArgs};
use crate::results::{DeviceResult, ExperimentResult, RunResult};

/// Writes the result of a run, piece by piece or at the end. A format implements the
/// methods that it needs.
trait Reporter {
    /// The run starts: everything but the devices is known.
    fn begin(&mut self, _result: &RunResult) -> io::Result<()> {
        Ok(())
    }

    /// A device starts: everything but its experiments is known.
    fn device(&mut self, _result: &RunResult, _section: &DeviceResult) -> io::Result<()> {
        Ok(())
    }

    /// An experiment has ended; `number` is its position on the device, from 1.
    fn experiment(&mut self, _number: usize, _experiment: &ExperimentResult) -> io::Result<()> {
        Ok(())
    }

    /// A device has ended.
    fn device_end(&mut self, _section: &DeviceResult) -> io::Result<()> {
        Ok(())
    }

    /// The run has ended.
    fn end(&mut self, result: &RunResult) -> io::Result<()>;
}

/// All requested reports.
pub struct Reports {
    reporters: Vec<Box<dyn Reporter>>,
    outputs: Outputs,
}

impl Reports {
    /// The run starts: everything but the devices is known.
    ///
    /// # Errors
    ///
    /// Errors of writing the output.
    pub fn begin(&mut self, result: &RunResult) -> io::Result<()> {
        self.each(|reporter| reporter.begin(result))
    }

    /// The last device of the result starts: everything but its experiments is known.
    ///
    /// # Errors
    ///
    /// Errors of writing the output.
    pub fn device(&mut self, result: &RunResult) -> io::Result<()> {
        match result.devices.last() {
            Some(section) => self.each(|reporter| reporter.device(result, section)),
            None => Ok(()),
        }
    }

    /// The last experiment of the last device has ended.
    ///
    /// # Errors
    ///
    /// Errors of writing the output.
    pub fn experiment(&mut self, result: &RunResult) -> io::Result<()> {
        let experiments = result.devices.last().map(|section| &section.experiments);
        match experiments.and_then(|all| all.last().map(|last| (all.len(), last))) {
            Some((number, last)) => self.each(|reporter| reporter.experiment(number, last)),
            None => Ok(()),
        }
    }

    /// The last device of the result has ended.
    ///
    /// # Errors
    ///
    /// Errors of writing the output.
    pub fn device_end(&mut self, result: &RunResult) -> io::Result<()> {
        match result.devices.last() {
            Some(section) => self.each(|reporter| reporter.device_end(section)),
            None => Ok(()),
        }
    }

    /// Whether the reader of standard output has closed it and nothing else is written.
    #[must_use]
    pub fn nobody_reads(&self) -> bool {
        self.outputs.nobody_reads()
    }

    /// The run is over: every output is put in its place.
    ///
    /// # Errors
    ///
    /// Errors of writing the output.
    pub fn end(&mut self, result: &RunResult) -> Result<(), Stop> {
        self.each(|reporter| reporter.end(result))?;
        self.commit()
    }

    /// Writes a complete result.
    ///
    /// # Errors
    ///
    /// Errors of writing the output.
    pub fn show(&mut self, result: &RunResult) -> Result<(), Stop> {
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
        })?;
        self.commit()
    }

    fn commit(&self) -> Result<(), Stop> {
        output::commit(self.outputs.clone())
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

/// Opens every output before anything runs, so that a wrong path fails early.
///
/// # Errors
///
/// An output that cannot be written.
pub fn open(args: &OutputArgs, outputs: Outputs) -> Result<Reports, Stop> {
    if args.quiet && args.format != Format::Text {
        return Err(Stop::usage(
            "--quiet applies to --format text only",
            "omit --quiet or --format",
        ));
    }
    let out = outputs.open(&args.output)?;
    let columns = columns(out.is_stdout());
    let main: Box<dyn Reporter> = match args.format {
        Format::Text if args.quiet => Box::new(Shown(text::Verdicts::new(output::styled(out)))),
        Format::Text => Box::new(Shown(text::Text::new(output::styled(out), columns))),
        Format::Json => Box::new(json::Json::new(Box::new(out))),
        Format::Csv => Box::new(csv::Csv::new(Box::new(out))),
    };
    let mut reporters = vec![main];
    if let Some(path) = &args.report {
        let out = output::page(&outputs, path)?;
        reporters.push(Box::new(html::Html::new(Box::new(out))));
    }
    if let Some(folder) = &args.svg {
        outputs.check_folder(folder)?;
        reporters.push(Box::new(svg::Svg::new(folder, outputs.clone())));
    }
    Ok(Reports { reporters, outputs })
}

/// The terminal's width, if the text is written to one.
fn columns(to_stdout: bool) -> Option<usize> {
    let (width, _) = to_stdout.then(|| terminal_size::terminal_size_of(io::stdout()))??;
    Some(usize::from(width.0))
}
