//! Recordings: the result of each line of a program, as text and for comparison.
//!
//! `<line> -> <code> <used> <used high> <reserved> <reserved high> [@<address>] [=<value>] [#
//! note]`
//!
//! Sizes are decimal, addresses hexadecimal. A note (host time, free memory) is never
//! compared. Lines in brackets are the cleanup steps of the runner.

use core::fmt;

/// The result of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceLine {
    /// The program's line, or a cleanup step in brackets.
    pub op: String,
    /// The call's result code.
    pub code: i32,
    /// Used, used high, reserved, reserved high, in bytes, after the call.
    pub attributes: [u64; 4],
    /// The address that the call returned, if it returns one.
    pub address: Option<u64>,
    /// Another value that the call returned: a size in bytes or a count.
    pub value: Option<u64>,
    /// A note, which is not compared.
    pub note: Option<String>,
}

/// The results of a whole program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// `# key: value` lines: the device, driver and runtime of the recording.
    pub header: Vec<(String, String)>,
    /// The lines, in order.
    pub lines: Vec<TraceLine>,
    /// How the process ended, if it ended before the program did. The result of the
    /// last line is then unknown.
    pub broken_off: Option<String>,
}

/// The first difference between two traces of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The index of the line, counted from 0.
    pub line: usize,
    /// A description of the difference.
    pub what: String,
    /// A few lines before, then the expected and the actual line.
    pub context: String,
    /// The number of lines that differ.
    pub differing: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {} ({} in all): {}\n{}",
            self.line + 1,
            self.differing,
            self.what,
            self.context
        )
    }
}

impl fmt::Display for TraceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [used, used_high, reserved, reserved_high] = self.attributes;
        write!(
            f,
            "{} -> {} {used} {used_high} {reserved} {reserved_high}",
            self.op, self.code
        )?;
        if let Some(address) = self.address {
            write!(f, " @{address:#x}")?;
        }
        if let Some(value) = self.value {
            write!(f, " ={value}")?;
        }
        match &self.note {
            Some(note) => write!(f, " # {note}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.header {
            writeln!(f, "# {key}: {value}")?;
        }
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        match &self.broken_off {
            Some(reason) => writeln!(f, "{BROKEN_OFF} {reason}"),
            None => Ok(()),
        }
    }
}

const BROKEN_OFF: &str = "!broken-off";
/// The header with which a trace starts.
pub const PROGRAM: &str = "program";
/// The line that a worker prints after a trace.
pub const DONE: &str = "!done";

impl TraceLine {
    fn parse(text: &str) -> Option<Self> {
        let (text, note) = match text.split_once(" # ") {
            Some((text, note)) => (text, Some(note.trim().to_owned())),
            None => (text, None),
        };
        let (op, result) = text.split_once(" -> ")?;
        let mut words = result.split_whitespace();
        let code = words.next()?.parse().ok()?;
        let mut attributes = [0; 4];
        for attribute in &mut attributes {
            *attribute = words.next()?.parse().ok()?;
        }
        let mut line = Self {
            op: op.to_owned(),
            code,
            attributes,
            address: None,
            value: None,
            note,
        };
        for word in words {
            if let Some(address) = word.strip_prefix("@0x") {
                line.address = Some(u64::from_str_radix(address, 16).ok()?);
            } else {
                line.value = Some(word.strip_prefix('=')?.parse().ok()?);
            }
        }
        Some(line)
    }
}

impl Trace {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// The first line that is not a trace line, with its number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut trace = Self::default();
        for (index, line) in text.lines().enumerate() {
            if let Some(header) = line.strip_prefix("# ") {
                let (key, value) = header.split_once(": ").unwrap_or((header, ""));
                trace.header.push((key.to_owned(), value.to_owned()));
            } else if let Some(reason) = line.strip_prefix(BROKEN_OFF) {
                trace.broken_off = Some(reason.trim().to_owned());
            } else if !line.trim().is_empty() {
                let parsed = TraceLine::parse(line)
                    .ok_or_else(|| format!("line {}: '{line}' is not a trace line", index + 1))?;
                trace.lines.push(parsed);
            }
        }
        Ok(trace)
    }

    /// Reads a file of traces, by program. Each trace starts with its `# program:`
    /// line.
    ///
    /// # Errors
    ///
    /// The first line that is not a trace line, and its program.
    pub fn parse_all(text: &str) -> Result<Vec<(String, Self)>, String> {
        let start = format!("# {PROGRAM}: ");
        let mut parts: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix(&start) {
                parts.push((name.to_owned(), String::new()));
            }
            if let Some((_, part)) = parts.last_mut() {
                *part += line;
                part.push('\n');
            }
        }
        let parse = |(name, part): (String, String)| match Self::parse(&part) {
            Ok(trace) => Ok((name, trace)),
            Err(error) => Err(format!("{name}: {error}")),
        };
        parts.into_iter().map(parse).collect()
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, key: &str) -> Option<&str> {
        self.header
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// The first address of the trace. Other addresses are compared relative to it.
    #[must_use]
    pub fn first_address(&self) -> Option<u64> {
        self.lines.iter().find_map(|line| line.address)
    }

    /// Compares a trace with its recording: lines, codes, the four attributes, values,
    /// and addresses relative to the first. `None` if they are equal.
    ///
    /// If the process ended during the recording, the comparison ends there.
    #[must_use]
    pub fn difference(recorded: &Self, actual: &Self) -> Option<Difference> {
        let (recorded_base, actual_base) = (recorded.first_address(), actual.first_address());
        let length = if recorded.broken_off.is_some() {
            recorded.lines.len()
        } else {
            recorded.lines.len().max(actual.lines.len())
        };
        let mut first = None;
        let mut differing = 0;
        for index in 0..length {
            let pair = (recorded.lines.get(index), actual.lines.get(index));
            if let Some(what) = line_difference(pair, (recorded_base, actual_base)) {
                differing += 1;
                first.get_or_insert((index, what));
            }
        }
        first.map(|(line, what)| Difference {
            line,
            what,
            context: context(recorded, actual, line),
            differing,
        })
    }
}

fn line_difference(
    (recorded, actual): (Option<&TraceLine>, Option<&TraceLine>),
    bases: (Option<u64>, Option<u64>),
) -> Option<String> {
    let (Some(recorded), Some(actual)) = (recorded, actual) else {
        return Some("one trace has no such line".to_owned());
    };
    let mut what = Vec::new();
    if recorded.op != actual.op {
        what.push("the line itself; record the program again".to_owned());
    }
    if recorded.code != actual.code {
        what.push(format!("code {} became {}", recorded.code, actual.code));
    }
    let names = ["used", "used high", "reserved", "reserved high"];
    for (name, (recorded, actual)) in names
        .iter()
        .zip(recorded.attributes.iter().zip(actual.attributes))
    {
        if *recorded != actual {
            what.push(format!("{name} {} became {}", mib(*recorded), mib(actual)));
        }
    }
    let relative = |address: Option<u64>, base: Option<u64>| {
        address.map(|address| address.wrapping_sub(base.unwrap_or(0)).cast_signed())
    };
    let addresses = (
        relative(recorded.address, bases.0),
        relative(actual.address, bases.1),
    );
    if addresses.0 != addresses.1 {
        what.push(format!(
            "address {} became {}",
            offset(addresses.0),
            offset(addresses.1)
        ));
    }
    if recorded.value != actual.value {
        what.push(format!(
            "value {:?} became {:?}",
            recorded.value, actual.value
        ));
    }
    (!what.is_empty()).then(|| what.join(", "))
}

fn mib(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{bytes} B")
    }
}

fn offset(offset: Option<i64>) -> String {
    match offset {
        Some(offset) if offset < 0 => format!("first - {:#x}", offset.unsigned_abs()),
        Some(offset) => format!("first + {offset:#x}"),
        None => "none".to_owned(),
    }
}

fn context(recorded: &Trace, actual: &Trace, line: usize) -> String {
    let mut text = String::new();
    let shown = |trace: &Trace, index: usize| {
        trace
            .lines
            .get(index)
            .map_or("(no line)".to_owned(), TraceLine::to_string)
    };
    for index in line.saturating_sub(8)..line {
        text += &format!("    {}\n", shown(recorded, index));
    }
    text += &format!("  recorded  {}\n", shown(recorded, line));
    text += &format!("  actual    {}", shown(actual, line));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "# device: NVIDIA H200\n\
        graph g -> 0 0 0 0 0\n\
        alloc a in g 64MiB -> 0 0 0 0 0 @0x302000000\n\
        alloc b in g 64MiB -> 0 0 0 0 0 @0x306000000 # 3 us\n\
        (free) -> 0 67108864 67108864 67108864 67108864 =1\n";

    #[test]
    fn a_written_recording_is_read_again() {
        let trace = Trace::parse(RECORDED).unwrap();
        assert_eq!(trace.to_string(), RECORDED);
        assert_eq!(trace.header("device"), Some("NVIDIA H200"));
    }

    #[test]
    fn addresses_are_compared_relative_to_the_first_and_notes_are_ignored() {
        let recorded = Trace::parse(RECORDED).unwrap();
        let moved = RECORDED
            .replace("0x302000000", "0x502000000")
            .replace("0x306000000", "0x506000000")
            .replace("3 us", "9 us");
        let moved = Trace::parse(&moved).unwrap();
        assert_eq!(Trace::difference(&recorded, &moved), None);
    }

    #[test]
    fn the_first_difference_is_named_and_all_are_counted() {
        let recorded = Trace::parse(RECORDED).unwrap();
        let other = RECORDED
            .replace("0x306000000", "0x304000000")
            .replace("(free) -> 0 67108864", "(free) -> 0 0");
        let other = Trace::parse(&other).unwrap();
        let difference = Trace::difference(&recorded, &other).unwrap();
        assert_eq!(difference.line, 2);
        assert_eq!(difference.differing, 2);
        assert_eq!(
            difference.what,
            "address first + 0x4000000 became first + 0x2000000"
        );
        assert!(difference.context.contains("graph g"));
    }

    #[test]
    fn lines_after_the_end_of_an_incomplete_recording_are_not_compared() {
        let recorded = "graph g -> 0 0 0 0 0\n!broken-off signal 11\n";
        let recorded = Trace::parse(recorded).unwrap();
        let actual = Trace::parse("graph g -> 0 0 0 0 0\nlast-error -> 1 0 0 0 0\n").unwrap();
        assert_eq!(Trace::difference(&recorded, &actual), None);
        assert!(Trace::difference(&actual, &recorded).is_some());
    }
}
