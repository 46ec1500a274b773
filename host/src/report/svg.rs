//! The charts alone, each an SVG file that follows the reader's colour scheme.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Reporter;
use super::charts::{self, Chart, STYLE};
use super::markup::element;
use crate::exit::Stop;
use crate::results::RunResult;

/// Writes the files when the result is whole.
pub(super) struct Svg {
    folder: PathBuf,
}

impl Svg {
    /// Makes the directory if it is missing.
    pub(super) fn new(folder: &Path) -> Result<Self, Stop> {
        fs::create_dir_all(folder).map_err(|error| {
            Stop::usage(
                format!("cannot write to {}: {error}", folder.display()),
                "give a directory that can be written",
            )
        })?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    fn write(&self, name: &str, chart: Chart) -> io::Result<()> {
        let style = element("style").text(STYLE);
        let svg = chart.wide.child(style);
        // A result that was read may name its experiments as it likes.
        let name = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
        let path = self.folder.join(format!("{name}-{}.svg", chart.slug));
        fs::write(path, format!("{svg}\n"))
    }
}

impl Reporter for Svg {
    fn end(&mut self, result: &RunResult) -> io::Result<()> {
        for section in &result.devices {
            let on = match result.devices.len() {
                1 => String::new(),
                _ => format!("device-{}-", section.ordinal),
            };
            for experiment in &section.experiments {
                for chart in charts::of_experiment(result, experiment) {
                    self.write(&format!("{on}{}", experiment.name), chart)?;
                }
            }
            for chart in section.repeat.iter().filter_map(charts::of_repeat) {
                self.write(&format!("{on}repeat"), chart)?;
            }
        }
        Ok(())
    }
}
