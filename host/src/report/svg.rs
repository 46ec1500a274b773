//! Writes each chart as an SVG file that follows the reader's color scheme.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use safe_io::Outputs;

use super::Reporter;
use super::charts::{self, Chart, STYLE};
use super::markup::element;
use crate::results::RunResult;

/// Writes the files when the run has ended.
pub(super) struct Svg {
    folder: PathBuf,
    outputs: Outputs,
    /// The number of files per name, because an experiment may be run twice.
    names: BTreeMap<String, usize>,
}

/// The characters of an experiment's name that are kept in a file name.
const LONGEST_NAME: usize = 100;

impl Svg {
    /// A writer into a folder, which is created if it is missing.
    pub(super) fn new(folder: &Path, outputs: Outputs) -> Self {
        Self {
            folder: folder.to_owned(),
            outputs,
            names: BTreeMap::new(),
        }
    }

    fn write(&mut self, name: &str, chart: Chart) -> io::Result<()> {
        let style = element("style").text(STYLE);
        let svg = chart.wide.child(style);
        // A result that was read may name its experiments as it likes.
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = name.chars().take(LONGEST_NAME).map(plain).collect();
        let name = format!("{name}-{}", chart.slug);
        let count = self.names.entry(name.clone()).or_insert(0);
        *count += 1;
        let file = match count {
            1 => format!("{name}.svg"),
            number => format!("{name}-{number}.svg"),
        };
        let out = self.outputs.open_in(&self.folder, &file);
        writeln!(out.map_err(io::Error::other)?, "{svg}")
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
