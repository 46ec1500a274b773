//! Reports: what a run found, for people or for machines. One file a form, each a
//! `Reporter`; what several of them need is in `units` and `sharing`.

mod charts;
mod csv;
mod html;
pub(crate) mod json;
mod markup;
pub mod plan_page;
mod sharing;
mod shown;
mod svg;
mod text;
pub(crate) mod units;

use std::io;

use safe_io::Outputs;
use shown::Shown;
pub(crate) use shown::shown;

use crate::cli::{Format, OutputArgs};
use crate::exit::Stop;
use crate::output;
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
    outputs: Outputs,
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

    /// Whether the reader of standard output has closed it and nothing else is written.
    #[must_use]
    pub fn nobody_reads(&self) -> bool {
        self.outputs.nobody_reads()
    }

    /// The run is over: every output is put in its place.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn end(&mut self, result: &RunResult) -> Result<(), Stop> {
        self.each(|reporter| reporter.end(result))?;
        self.commit()
    }

    /// Writes a result that is whole already.
    ///
    /// # Errors
    ///
    /// Those of writing.
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

/// Opens every output, before anything runs, so that a bad path fails early.
///
/// # Errors
///
/// An output that cannot be written.
pub fn open(args: &OutputArgs, outputs: Outputs) -> Result<Reports, Stop> {
    if args.quiet && args.format != Format::Text {
        return Err(Stop::usage(
            "--quiet is for the text; other formats are written whole or not at all",
            "leave one of --quiet and --format out",
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

/// The terminal's width, where the text goes to one.
fn columns(to_stdout: bool) -> Option<usize> {
    let (width, _) = to_stdout.then(|| terminal_size::terminal_size_of(io::stdout()))??;
    Some(usize::from(width.0))
}
