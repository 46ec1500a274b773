//! The protocol between `cargo xtask bench` and the two programs, line by line.
//!
//! A request is `name key=value …`, all values non-negative integers; an answer is
//! one JSON object whose numbers have their unit in the name: `_ns` nanoseconds of
//! host time for all repetitions together, `_bytes` bytes. An error is
//! `{"error": "…"}`; the next request is answered again. The first line, before any
//! request, describes the program.
//!
//! | request | what is timed |
//! | --- | --- |
//! | `relaunch bytes launches batch` | launches of one graph that has run; after each batch the stream is waited for, outside the time; `bytes=0`: a graph without memory nodes (Rust side only) |
//! | `life bytes graphs` | create a graph (allocate, kernel, free), instantiate, destroy both |
//! | `scale graphs streams bytes batch` | the life's stages of many graphs at once, and the process's resident memory between them |
//! | `limit bytes most` | nothing: how many graphs there can be, and the code of the first that cannot (Rust side only) |
//! | `mapping bytes` | the calls that map one graph's memory, beside plain and stream-ordered allocations |

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Context;
use serde_json::{Map, Value};

/// One line from the driver.
#[derive(Debug)]
pub struct Request {
    /// The operation.
    pub name: String,
    values: BTreeMap<String, u64>,
}

impl Request {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// A word that is not `key=number`, or no word at all.
    pub fn parse(line: &str) -> anyhow::Result<Self> {
        let mut words = line.split_whitespace();
        let name = words.next().context("an empty request")?.to_owned();
        let values = words
            .map(|word| {
                let (key, value) = word
                    .split_once('=')
                    .with_context(|| format!("not key=value: {word}"))?;
                let value = value
                    .parse()
                    .with_context(|| format!("no number: {word}"))?;
                Ok((key.to_owned(), value))
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { name, values })
    }

    /// A value that the operation needs.
    ///
    /// # Errors
    ///
    /// When the request lacks it.
    pub fn get(&self, key: &str) -> anyhow::Result<u64> {
        let value = self.values.get(key).copied();
        value.with_context(|| format!("{} needs {key}", self.name))
    }

    /// A value that counts something in this process.
    ///
    /// # Errors
    ///
    /// As [`Request::get`], or an error for a text that is not a count.
    pub fn count(&self, key: &str) -> anyhow::Result<usize> {
        usize::try_from(self.get(key)?).with_context(|| format!("{key} is too large"))
    }
}

/// One line to the driver.
#[derive(Debug, Default)]
pub struct Answer(Map<String, Value>);

impl Answer {
    /// An answer without fields yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What went wrong, instead of an answer.
    pub fn error(error: &anyhow::Error) -> Self {
        Self::new().field("error", format!("{error:#}"))
    }

    /// Adds a field.
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a number of nanoseconds.
    pub fn ns(self, name: &str, time: std::time::Duration) -> Self {
        self.field(name, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        serde_json::to_string(&self.0)
            .map_err(|_| fmt::Error)
            .and_then(|text| f.write_str(&text))
    }
}
