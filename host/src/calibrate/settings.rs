//! The values of a profile, each with its origin.

use std::fmt::Write as _;
use std::io::{self, Write};

use cudart_model::Profile;
use safe_io::visible::toml_string;

use crate::report::table::{Cut, Table};

/// Where a value is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It was measured here.
    Measured,
    /// It is the built-in profile's, for this reason.
    TakenOver(String),
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The table of the TOML file: empty for the top, `memory`, or `costs_us`.
    pub section: &'static str,
    /// The name.
    pub name: &'static str,
    /// The value as TOML.
    pub value: String,
    /// The built-in profile's value as TOML.
    pub built_in: String,
    /// Where it is from.
    pub origin: Origin,
}

/// All values, in the order in which they are written.
#[derive(Debug)]
pub struct Settings {
    built_in: Profile,
    all: Vec<Setting>,
}

/// The sections, in the order of the file.
const SECTIONS: [&str; 3] = ["", "memory", "costs_us"];

impl Settings {
    /// No values yet, beside those of a built-in profile.
    pub fn new(built_in: Profile) -> Self {
        Self {
            built_in,
            all: Vec::new(),
        }
    }

    /// A measured text.
    pub fn text(&mut self, section: &'static str, name: &'static str, text: &str) {
        self.measured(section, name, toml_string(text));
    }

    /// A measured number; without one the built-in profile's is taken over.
    pub fn number(
        &mut self,
        section: &'static str,
        name: &'static str,
        number: Option<impl Into<i128>>,
    ) {
        match number {
            Some(number) => self.measured(section, name, grouped(number.into())),
            None => self.taken_over(section, name, "the runtime has no answer"),
        }
    }

    /// A measured address; without one the built-in profile's is taken over.
    pub fn address(&mut self, section: &'static str, name: &'static str, address: Option<u64>) {
        match address {
            Some(address) => self.measured(section, name, format!("{address:#x}")),
            None => self.taken_over(section, name, "no allocation was added"),
        }
    }

    /// A measured yes or no.
    pub fn flag(&mut self, section: &'static str, name: &'static str, flag: bool) {
        self.measured(section, name, flag.to_string());
    }

    /// Two measured numbers.
    pub fn pair(&mut self, section: &'static str, name: &'static str, (a, b): (i32, i32)) {
        self.measured(section, name, format!("[{a}, {b}]"));
    }

    /// A measured cost in microseconds.
    pub fn cost(&mut self, name: &'static str, us: f64) {
        self.measured("costs_us", name, format!("{us:.3}"));
    }

    /// The built-in profile's value, for this reason.
    pub fn taken_over(&mut self, section: &'static str, name: &'static str, reason: &str) {
        let value = self.of_built_in(section, name);
        self.add(section, name, value, Origin::TakenOver(reason.to_owned()));
    }

    fn measured(&mut self, section: &'static str, name: &'static str, value: String) {
        self.add(section, name, value, Origin::Measured);
    }

    fn add(&mut self, section: &'static str, name: &'static str, value: String, origin: Origin) {
        let built_in = self.of_built_in(section, name);
        self.all.push(Setting {
            section,
            name,
            value,
            built_in,
            origin,
        });
    }

    /// The values of a section.
    pub fn in_section(&self, section: &str) -> impl Iterator<Item = &Setting> {
        self.all.iter().filter(move |one| one.section == section)
    }

    fn of_built_in(&self, section: &str, name: &str) -> String {
        let (profile, memory, costs) = (
            &self.built_in,
            &self.built_in.memory,
            &self.built_in.costs_us,
        );
        let [major, minor] = profile.compute_capability;
        let us = |us: f64| format!("{us:.3}");
        match (section, name) {
            ("", "device_name") => toml_string(&profile.device_name),
            ("", "devices") => grouped(profile.devices),
            ("", "driver_version") => grouped(profile.driver_version),
            ("", "runtime_version") => grouped(profile.runtime_version),
            ("", "memory_pools_supported") => profile.memory_pools_supported.to_string(),
            ("", "compute_capability") => format!("[{major}, {minor}]"),
            ("", "multiprocessors") => grouped(profile.multiprocessors),
            ("", "clock_rate_khz") => grouped(profile.clock_rate_khz),
            ("", "max_threads_per_multiprocessor") => {
                grouped(profile.max_threads_per_multiprocessor)
            }
            ("", "max_blocks_per_multiprocessor") => grouped(profile.max_blocks_per_multiprocessor),
            ("memory", "total_bytes") => grouped(memory.total_bytes),
            ("memory", "in_use_at_start_bytes") => grouped(memory.in_use_at_start_bytes),
            ("memory", "block_mib") => grouped(memory.block_mib),
            ("memory", "address_step") => grouped(memory.address_step),
            ("memory", "first_graph_address") => format!("{:#x}", memory.first_graph_address),
            ("costs_us", "call") => us(costs.call),
            ("costs_us", "graph_create") => us(costs.graph_create),
            ("costs_us", "add_node") => us(costs.add_node),
            ("costs_us", "instantiate") => us(costs.instantiate),
            ("costs_us", "launch") => us(costs.launch),
            ("costs_us", "map_block") => us(costs.map_block),
            ("costs_us", "unmap_block") => us(costs.unmap_block),
            ("costs_us", "malloc") => us(costs.malloc),
            ("costs_us", "free") => us(costs.free),
            ("costs_us", "free_async") => us(costs.free_async),
            ("costs_us", "load_library") => us(costs.load_library),
            ("costs_us", "graph_on_device") => us(costs.graph_on_device),
            ("costs_us", "kernel_on_device") => us(costs.kernel_on_device),
            _ => unreachable!("{section}.{name} is not a value of a profile"),
        }
    }

    /// The profile as TOML, each value with its origin.
    pub fn toml(&self) -> String {
        let mut text = "\
# A profile of the simulated GPU, written by `graph-memory-footprint calibrate`.
# measured: on the device of this name. taken over: from the built-in profile h200.
"
        .to_owned();
        for section in SECTIONS {
            text.push('\n');
            if section == "costs_us" {
                text += "# Microseconds, medians.\n";
            }
            if !section.is_empty() {
                let _ = writeln!(text, "[{section}]");
            }
            for setting in self.in_section(section) {
                let origin = match &setting.origin {
                    Origin::Measured => "measured".to_owned(),
                    Origin::TakenOver(why) => format!("taken over: {why}"),
                };
                let assignment = format!("{} = {}", setting.name, setting.value);
                let _ = writeln!(text, "{assignment:<46} # {origin}");
            }
        }
        text
    }

    /// The values beside those of the built-in profile, as a table.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new(["setting", "here", "profile h200"]);
        for setting in &self.all {
            let unit = match setting.section {
                "costs_us" => " us",
                _ => "",
            };
            let shown = |value: &String| format!("{}{unit}", value.trim_matches('"'));
            let tail = match &setting.origin {
                Origin::Measured => String::new(),
                Origin::TakenOver(why) => format!("taken over: {why}"),
            };
            table.row_with_tail(
                [
                    setting.name.to_owned(),
                    shown(&setting.value),
                    shown(&setting.built_in),
                ],
                tail,
            );
        }
        table.write(&Cut::new(self.all.len(), self.all.len()), out)
    }
}

/// A whole number with groups of three digits, as people read it and TOML takes it.
fn grouped(number: impl Into<i128>) -> String {
    let number = number.into();
    let digits = number.unsigned_abs().to_string();
    if digits.len() <= 5 {
        return number.to_string();
    }
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_groups_of_three_digits() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(13000), "13000");
        assert_eq!(grouped(1_980_000), "1_980_000");
        assert_eq!(grouped(150_109_880_320_u64), "150_109_880_320");
        assert_eq!(grouped(-123_456), "-123_456");
    }
}
