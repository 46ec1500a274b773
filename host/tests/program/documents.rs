//! Numbers in the documents are those of the recordings from the H200.
//!
//! An item of a list or a row of a table that names one experiment in backticks is about
//! that experiment: each size, time and count in it has to be in the recorded result.

use std::fs;
use std::path::Path;

use crate::support::bare;
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const ALL: &str = include_str!("../recordings/h200-driver-580-cuda-13.0-all.json");
/// The experiment that came later.
const CONDITIONAL: &str = include_str!("../recordings/h200-driver-580-cuda-13.0-conditional.json");
const RECORDED: &str = "host/tests/recordings/h200-driver-580-cuda-13.0.json";

fn page(name: &str) -> String {
    let path = Path::new(ROOT).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What one experiment came to.
#[derive(Default)]
struct Recorded {
    /// Sizes in bytes.
    bytes: Vec<f64>,
    /// Times in milliseconds.
    ms: Vec<f64>,
    /// Counts, codes, and how many of something there are.
    counts: Vec<f64>,
}

impl Recorded {
    fn of(name: &str) -> Self {
        let results = [ALL, CONDITIONAL].map(|text| serde_json::from_str(text).expect("a result"));
        let (result, experiment): (&Value, &Value) = results
            .iter()
            .find_map(|result: &Value| {
                let experiments = result["devices"][0]["experiments"].as_array()?;
                let experiment = experiments.iter().find(|one| one["name"] == name)?;
                Some((result, experiment))
            })
            .unwrap_or_else(|| panic!("{name} is not recorded"));
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut recorded = Self::default();
        let granularity = &result["devices"][0]["launch_footprint_bytes"];
        recorded.bytes.extend(granularity.as_f64());
        let mut codes = 0_u32;
        for check in list(&experiment["checks"]) {
            for side in ["expected", "measured"] {
                for (kind, value) in check[side].as_object().into_iter().flatten() {
                    let values = match value {
                        Value::Array(values) => values.clone(),
                        one => vec![one.clone()],
                    };
                    let numbers: Vec<f64> = values.iter().filter_map(Value::as_f64).collect();
                    match kind.as_str() {
                        "bytes_each" => {
                            recorded.counts.push(numbers.len() as f64);
                            recorded.bytes.extend(numbers);
                        }
                        bytes if bytes.starts_with("bytes") => recorded.bytes.extend(numbers),
                        ms if ms.starts_with("milliseconds") => recorded.ms.extend(numbers),
                        "count" => recorded.counts.extend(numbers),
                        "code" => {
                            codes += u32::from(side == "measured");
                            recorded.counts.extend(numbers);
                        }
                        _ => {}
                    }
                }
            }
        }
        recorded.counts.push(codes.into());
        for allocation in list(&experiment["allocations"]) {
            recorded.bytes.extend(allocation["bytes"].as_f64());
        }
        for step in list(&experiment["steps"]) {
            // What was requested, where the step names it.
            for (number, unit) in numbers(step["label"].as_str().unwrap_or_default()) {
                let size = unit.as_deref().and_then(size_of);
                let number: f64 = number.parse().expect("a number");
                recorded.bytes.extend(size.map(|size| number * size));
            }
            for memory in ["used_bytes", "reserved_bytes"] {
                recorded.bytes.extend(step["memory"][memory].as_f64());
            }
        }
        recorded
    }

    /// Whether a number of the page is one of these, to the digits that the page shows.
    fn has(&self, number: &str, unit: Option<&str>) -> bool {
        let digits = number.split_once('.').map_or(0, |(_, behind)| behind.len());
        let shown: f64 = number.parse().expect("a number");
        let near = |values: &[f64], size: f64| {
            let half = 0.5 * 10_f64.powi(-i32::try_from(digits).expect("few digits"));
            values
                .iter()
                .any(|value| (value / size - shown).abs() <= half * 1.0001)
        };
        match unit {
            Some("us") => near(&self.ms, 1e-3),
            Some("ms") => near(&self.ms, 1.0),
            // A size needs no more than the unit that it has, so it is exact there.
            Some(unit) => near(&self.bytes, size_of(unit).expect("a unit")),
            // A size whose unit stands before it, or a count.
            None => {
                let exact = |values: &[f64], size: f64| values.contains(&(shown * size));
                exact(&self.counts, 1.0)
                    || exact(&self.bytes, f64::from(1 << 20))
                    || near(&self.ms, 1e-3)
            }
        }
    }
}

fn size_of(unit: &str) -> Option<f64> {
    let power = ["B", "KiB", "MiB", "GiB"]
        .iter()
        .position(|one| *one == unit)?;
    Some(1024_f64.powi(i32::try_from(power).ok()?))
}

/// The numbers of a text with their units, without what stands in backticks.
fn numbers(text: &str) -> Vec<(String, Option<String>)> {
    let outside: Vec<&str> = text.split('`').step_by(2).collect();
    let outside = outside.join(" ");
    let words: Vec<&str> = outside
        .split(|c: char| c.is_whitespace() || "|,;:()?".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let number = word.trim_end_matches('.').trim_start_matches("**");
        if number.parse::<f64>().is_err() {
            continue;
        }
        let unit = words.get(at + 1).map(|word| word.trim_end_matches('.'));
        let unit = unit.filter(|unit| ["us", "ms"].contains(unit) || size_of(unit).is_some());
        found.push((number.to_owned(), unit.map(str::to_owned)));
    }
    found
}

/// The items and rows that are about one experiment.
fn claims(text: &str) -> Vec<(String, String)> {
    let listed = bare().args(&["--list"]).ends().stdout;
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let mut claims = Vec::new();
    for line in text.lines() {
        if !line.starts_with("- ") && !line.starts_with("| ") {
            continue;
        }
        let named: Vec<&str> = line
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|word| names.contains(word))
            .collect();
        if let [name] = named[..] {
            claims.push((name.to_owned(), line.to_owned()));
        }
    }
    claims
}

#[test]
fn numbers_of_an_experiment_are_those_of_its_recording() {
    for (name, least) in [("README.md", 12), ("docs/experiments.md", 12)] {
        let mut checked = 0;
        let text = page(name);
        let claims = claims(&text);
        assert!(claims.len() >= least, "{name}: {} claims", claims.len());
        for (experiment, line) in claims {
            let recorded = Recorded::of(&experiment);
            for (number, unit) in numbers(&line) {
                assert!(
                    recorded.has(&number, unit.as_deref()),
                    "{name}: {number} {} is not in the recording of {experiment}: {line}",
                    unit.unwrap_or_default()
                );
                checked += 1;
            }
        }
        assert!(checked >= 8, "{name}: {checked} numbers");
    }
}

/// A wrong number is found: what the check rests on.
#[test]
fn a_number_that_was_not_measured_is_found() {
    let upload = Recorded::of("upload");
    assert!(upload.has("67", Some("us")) && upload.has("1.9", Some("us")));
    assert!(!upload.has("61", Some("us")) && !upload.has("65", Some("MiB")));
    let memory = Recorded::of("out-of-memory");
    assert!(memory.has("17.1", Some("GiB")) && memory.has("8", None));
    assert!(!memory.has("17.2", Some("GiB")) && !memory.has("7", None));
    let words = numbers("`3` fits: 64 MiB, 1.9 instead of 67 us. `x-2`");
    let words: Vec<_> = words
        .iter()
        .map(|(n, unit)| (n.as_str(), unit.as_deref()))
        .collect();
    assert_eq!(
        words,
        [("64", Some("MiB")), ("1.9", None), ("67", Some("us"))]
    );
}

/// Output from the H200 that a page shows is that of a recording: every line of a text
/// block that begins as an experiment's section does.
#[test]
fn output_that_is_shown_is_that_of_a_recording() {
    let recorded = Path::new(ROOT).join(RECORDED);
    let shown = bare().args(&["show"]).arg(&recorded).ends().stdout;
    // A bar is as long as the terminal is wide.
    let plain = |line: &str| {
        line.trim_end_matches(['█', '▒', '░', ' '])
            .trim()
            .to_owned()
    };
    let shown: Vec<String> = shown.lines().map(plain).collect();
    let mut checked = 0;
    for name in ["README.md", "docs/experiments.md"] {
        let text = page(name);
        for block in text.split("```text\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            let is_section = block.starts_with(|c: char| c.is_ascii_digit());
            let is_run = block.starts_with("backend");
            for line in block.lines().filter(|_| is_section || is_run) {
                let line = plain(line);
                if !line.is_empty() && line != "..." {
                    assert!(shown.contains(&line), "{name}: not in {RECORDED}: {line}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked >= 10, "{checked} lines");
}
