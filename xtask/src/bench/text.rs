//! A bench run as text: a table a figure, and the bars under it.

use std::fmt::Write as _;

use super::results::{Bar, BenchResult, Figure, Machine, Quantity, Row, Side, Value, Verdict};
use super::stats::Spread;

/// Where and with what the run was made.
pub fn machine(machine: &Machine) -> String {
    let version = |version: Option<u64>| {
        version.map_or("unknown".to_owned(), |v| {
            format!("{}.{}", v / 1000, v % 1000 / 10)
        })
    };
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}, driver for CUDA {}, runtime {}",
        machine.device,
        version(machine.driver_version),
        version(machine.runtime_version),
    );
    let _ = writeln!(
        text,
        "{}, {} processors, {}",
        machine.host_cpu, machine.host_cpus, machine.host_os
    );
    let cpp = match (&machine.cpp_compiler, &machine.no_cpp) {
        (Some(compiler), _) => format!("C++ by {compiler}"),
        (None, Some(why)) => format!("no C++ side: {why}"),
        (None, None) => "no C++ side".to_owned(),
    };
    let _ = writeln!(text, "{cpp}");
    text
}

/// One figure.
pub fn figure(figure: &Figure) -> String {
    let mut text = format!(
        "\n{}  {}  ({:.1} s)\n",
        figure.name, figure.title, figure.took_s
    );
    text += &match figure.columns {
        Some(key) => by_key(&figure.rows, key),
        None => by_side(&figure.rows),
    };
    for note in &figure.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    for skipped in &figure.skipped {
        let _ = writeln!(text, "  skipped: {skipped}");
    }
    for bar in &figure.bars {
        let _ = writeln!(text, "  {}", bar_line(bar));
    }
    if let Some(error) = &figure.error {
        let _ = writeln!(text, "  FAIL  broke off: {error}");
    }
    text
}

/// A column a side, with the quartiles.
fn by_side(rows: &[Row]) -> String {
    let sides: Vec<Side> = [
        Side::Ours,
        Side::Cpp,
        Side::Sample,
        Side::OursToCpp,
        Side::Alone,
        Side::Watched,
        Side::WatchedMinusAlone,
    ]
    .into_iter()
    .filter(|side| rows.iter().any(|row| row.side == *side))
    .collect();
    let head = sides.iter().map(ToString::to_string).collect();
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let name = name_of(row);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let lines = names.into_iter().map(|name| {
        let cell = |side: &Side| {
            let row = rows
                .iter()
                .find(|row| row.side == *side && name_of(row) == name);
            row.map_or(String::new(), |row| value(&row.value))
        };
        let cells = sides.iter().map(cell).collect();
        (name, cells)
    });
    table(head, lines.collect())
}

/// A column for each value of what a figure is about, medians alone.
fn by_key(rows: &[Row], key: &str) -> String {
    let of = |row: &Row| row.at.get(key).copied();
    let mut columns: Vec<u64> = rows.iter().filter_map(of).collect();
    columns.sort_unstable();
    columns.dedup();
    let head = columns.iter().map(|number| place(key, *number)).collect();
    let mut names: Vec<(&str, Side)> = Vec::new();
    for row in rows {
        if !names.contains(&(row.what.as_str(), row.side)) {
            names.push((&row.what, row.side));
        }
    }
    let lines = names.into_iter().map(|(what, side)| {
        let cell = |column: &u64| {
            let row = rows
                .iter()
                .find(|row| (row.what.as_str(), row.side, of(row)) == (what, side, Some(*column)));
            row.map_or(String::new(), |row| median(&row.value))
        };
        (
            format!("{what}, {side}"),
            columns.iter().map(cell).collect(),
        )
    });
    table(head, lines.collect())
}

/// Columns as wide as their widest cell, numbers to the right.
fn table(head: Vec<String>, lines: Vec<(String, Vec<String>)>) -> String {
    let length = |text: &String| text.chars().count();
    let first = lines
        .iter()
        .map(|(name, _)| length(name))
        .max()
        .unwrap_or(0);
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = lines.iter().filter_map(|(_, cells)| cells.get(column));
            cells.chain(head.get(column)).map(length).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for (name, cells) in [(String::new(), head)].into_iter().chain(lines) {
        let mut line = format!("  {name:<first$}");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "  {cell:>width$}");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// How the bars came out.
pub fn summary(result: &BenchResult) -> String {
    let bars = || result.figures.iter().flat_map(|figure| &figure.bars);
    let count = |verdict| bars().filter(|bar| bar.verdict == verdict).count();
    format!(
        "\n{} bars met, {} missed, {} not judged; {:.0} s\n",
        count(Verdict::Pass),
        count(Verdict::Fail),
        count(Verdict::NotJudged),
        result
            .figures
            .iter()
            .map(|figure| figure.took_s)
            .sum::<f64>(),
    )
}

fn name_of(row: &Row) -> String {
    let mut name = row.what.clone();
    for (key, number) in &row.at {
        let _ = write!(name, ", {}", place(key, *number));
    }
    name
}

/// A number of a row's place, with its unit.
fn place(key: &str, number: u64) -> String {
    match key {
        "bytes" => bytes(number),
        other => format!("{number} {other}"),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::Us(spread) => spread_text(spread, time),
        Value::Bytes(_) => median(value),
        Value::Ratio(spread) => spread_text(spread, ratio),
    }
}

fn median(value: &Value) -> String {
    match value {
        Value::Us(spread) => time(spread.median),
        Value::Bytes(number) => bytes(*number),
        Value::Ratio(spread) => ratio(spread.median),
    }
}

fn ratio(ratio: f64) -> String {
    format!("{ratio:.3}")
}

fn spread_text(spread: &Spread, text: impl Fn(f64) -> String) -> String {
    if spread.samples == 1 {
        return text(spread.median);
    }
    format!(
        "{} ({} .. {})",
        text(spread.median),
        text(spread.lower_quartile),
        text(spread.upper_quartile),
    )
}

fn bar_line(bar: &Bar) -> String {
    let Bar {
        claim,
        at_most,
        measured,
        ..
    } = bar;
    let comparison = format!(
        "{claim}: {} (at most {})",
        quantity(measured),
        quantity(at_most)
    );
    match (bar.verdict, &bar.reason) {
        (Verdict::Pass, _) => format!("PASS  {comparison}"),
        (Verdict::Fail, _) => format!("FAIL  {comparison}"),
        (Verdict::NotJudged, None) => format!("----  {comparison}"),
        (Verdict::NotJudged, Some(why)) => format!("----  {comparison}; not judged: {why}"),
    }
}

fn quantity(quantity: &Quantity) -> String {
    match quantity {
        Quantity::Ms(ms) => format!("{ms:.1} ms"),
        Quantity::Us(us) => format!("{us:.3} us"),
        Quantity::Ratio(ratio) => format!("{ratio:.3}"),
        Quantity::Count(count) => format!("{count}"),
    }
}

/// Microseconds, with the digits that matter.
fn time(us: f64) -> String {
    match us.abs() {
        us_ if us_ >= 1e6 => format!("{:.3} s", us / 1e6),
        us_ if us_ >= 1e4 => format!("{:.1} ms", us / 1e3),
        us_ if us_ >= 1e3 => format!("{:.2} ms", us / 1e3),
        us_ if us_ >= 10.0 => format!("{us:.1} us"),
        _ => format!("{us:.3} us"),
    }
}

fn bytes(number: u64) -> String {
    match number {
        n if n >= 1 << 30 && n.is_multiple_of(1 << 30) => format!("{} GiB", n >> 30),
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n >= 10 << 20 => format!("{:.1} MiB", n as f64 / f64::from(1 << 20)),
        n if n >= 10 << 10 => format!("{:.1} KiB", n as f64 / 1024.0),
        n => format!("{n} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_reads_as_a_table_with_its_bars_below() {
        let mut taken = Figure::new("launch", "Launches");
        taken.took_s = 1.25;
        taken.times(
            "launch",
            Side::Ours,
            &[("bytes", 64 << 20)],
            &[2.9, 2.9, 3.1, 2.7],
        );
        taken.times("launch", Side::Cpp, &[("bytes", 64 << 20)], &[2.9]);
        taken.notes.push("a note".to_owned());
        taken.skipped.push("the rest: no time".to_owned());
        taken.bar(
            "ours / C++",
            Quantity::Ratio(1.02),
            Quantity::Ratio(1.004),
            None,
        );
        taken.bar(
            "above",
            Quantity::Ms(13.0),
            Quantity::Ms(20.0),
            Some("a model"),
        );
        assert_eq!(
            figure(&taken),
            "\nlaunch  Launches  (1.2 s)\n\
             \x20                                            ours       C++\n\
             \x20 launch, 64 MiB  2.900 us (2.850 us .. 2.950 us)  2.900 us\n\
             \x20 note: a note\n\
             \x20 skipped: the rest: no time\n\
             \x20 PASS  ours / C++: 1.004 (at most 1.020)\n\
             \x20 ----  above: 20.0 ms (at most 13.0 ms); not judged: a model\n"
        );
    }

    #[test]
    fn what_a_figure_is_about_can_be_its_columns() {
        let mut taken = Figure::new("mapping", "Mapping");
        taken.columns = Some("bytes");
        for (side, mib, us) in [
            (Side::Ours, 64, 2.0),
            (Side::Ours, 2, 1.0),
            (Side::Cpp, 64, 3.0),
        ] {
            taken.times("launch", side, &[("bytes", mib << 20)], &[us]);
        }
        assert_eq!(
            figure(&taken),
            "\nmapping  Mapping  (0.0 s)\n\
             \x20                  2 MiB    64 MiB\n\
             \x20 launch, ours  1.000 us  2.000 us\n\
             \x20 launch, C++             3.000 us\n"
        );
    }

    #[test]
    fn sizes_and_times_have_the_digits_that_matter() {
        assert_eq!(bytes(16 << 30), "16 GiB");
        assert_eq!(bytes(2 << 20), "2 MiB");
        assert_eq!(bytes(5_650_712), "5518.3 KiB");
        assert_eq!(bytes(900), "900 B");
        assert_eq!(time(0.0102), "0.010 us");
        assert_eq!(time(303_000.0), "303.0 ms");
        assert_eq!(time(2_000_050.0), "2.000 s");
        assert_eq!(time(-1.5), "-1.500 us");
    }
}
