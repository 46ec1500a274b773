//! Aligned columns, and paragraphs: the layout of every text.

use std::io::{self, Write};

use clap::builder::styling::Style;

use super::style::DIM;

/// Columns of a paragraph.
const PARAGRAPH: usize = 84;

/// A table under construction: an indent, a column of marks if there are any, the cells,
/// and what stands after them. The first column is aligned to the left, the others to the
/// right unless [`Table::left`] says otherwise.
pub(crate) struct Table<const N: usize> {
    head: [&'static str; N],
    /// What stands after the head's cells.
    head_tail: &'static str,
    rows: Vec<Row<N>>,
    left: [bool; N],
}

struct Row<const N: usize> {
    mark: Option<(Style, &'static str)>,
    cells: [String; N],
    /// Not aligned; it may have styles.
    tail: String,
    /// A line of its own below the row.
    note: String,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(head: [&'static str; N]) -> Self {
        let mut left = [false; N];
        if let Some(first) = left.first_mut() {
            *first = true;
        }
        Self {
            head,
            head_tail: "",
            rows: Vec::new(),
            left,
        }
    }

    /// Aligns this column to the left as well.
    pub(crate) fn left(mut self, column: usize) -> Self {
        if let Some(left) = self.left.get_mut(column) {
            *left = true;
        }
        self
    }

    /// Says what stands after the cells.
    pub(crate) fn with_tail(mut self, head: &'static str) -> Self {
        self.head_tail = head;
        self
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.row_with_tail(cells, String::new());
    }

    pub(crate) fn row_with_tail(&mut self, cells: [String; N], tail: String) {
        self.rows.push(Row {
            mark: None,
            cells,
            tail,
            note: String::new(),
        });
    }

    /// Puts a word before the last row, such as a verdict.
    pub(crate) fn mark(&mut self, style: Style, word: &'static str) {
        if let Some(row) = self.rows.last_mut() {
            row.mark = Some((style, word));
        }
    }

    /// Puts a line below the last row.
    pub(crate) fn note(&mut self, note: &str) {
        if let Some(row) = self.rows.last_mut() {
            note.clone_into(&mut row.note);
        }
    }

    /// Puts something after each row's cells that depends on the columns which they take.
    pub(crate) fn set_tails(&mut self, tail: impl Fn(usize, usize) -> String) {
        let taken = INDENT.len()
            + self
                .widths()
                .map(|width| width + GAP.len())
                .iter()
                .sum::<usize>();
        for (at, row) in self.rows.iter_mut().enumerate() {
            row.tail = tail(at, taken);
        }
    }

    fn widths(&self) -> [usize; N] {
        let mut widths = self.head.map(|text| text.chars().count());
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(&row.cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }

    /// Writes the rows; those that the cut left out are counted where they were.
    pub(crate) fn write(&self, cut: &Cut, out: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths();
        let marks = self.rows.iter().filter_map(|row| row.mark);
        let mark_width = marks.map(|(_, word)| word.len()).max();
        let before = |mark: Option<(Style, &'static str)>| {
            let (style, word) = mark.unwrap_or_default();
            match mark_width {
                Some(width) => format!("{INDENT}{style}{word:width$}{style:#} "),
                None => INDENT.to_owned(),
            }
        };
        let line = |cells: [&str; N], tail: &str| {
            let cells = cells.iter().zip(widths).zip(self.left);
            let cells = cells.map(|((cell, width), left)| {
                // A format's width ends at 65,535, and names come from files.
                let space = " ".repeat(width - cell.chars().count());
                match left {
                    true => format!("{cell}{space}"),
                    false => format!("{space}{cell}"),
                }
            });
            let parts: Vec<String> = cells.chain([tail.to_owned()]).collect();
            parts.join(GAP).trim_end().to_owned()
        };
        let head = before(None) + &line(self.head, self.head_tail);
        writeln!(out, "{DIM}{}{DIM:#}", head.trim_end())?;
        for (at, row) in self.rows.iter().enumerate() {
            if at == cut.first && cut.left_out() > 0 {
                writeln!(out, "{INDENT}{DIM}... {} more ...{DIM:#}", cut.left_out())?;
            }
            let cells = row.cells.each_ref().map(String::as_str);
            writeln!(out, "{}{}", before(row.mark), line(cells, &row.tail))?;
            if !row.note.is_empty() {
                writeln!(out, "{}{}", before(None), row.note)?;
            }
        }
        Ok(())
    }

    /// All rows as a text.
    pub(crate) fn text(&self) -> String {
        let mut text = Vec::new();
        // Writing to memory does not fail, and everything in it is UTF-8.
        let _ = self.write(&Cut::new(self.rows.len(), usize::MAX), &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Before each line.
const INDENT: &str = "   ";

/// Between two columns.
const GAP: &str = "  ";

/// Wraps a text to lines of at most 84 columns. The first begins with `first`, the others
/// with spaces below it.
pub(crate) fn paragraph(first: &str, text: &str) -> String {
    let indent = " ".repeat(first.chars().count());
    let mut lines = vec![first.to_owned()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if *line == first => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= PARAGRAPH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines
        .iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// Which rows of a long table are shown: the first and the last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    first: usize,
    last: usize,
    rows: usize,
}

impl Cut {
    /// At most `most` of so many rows, but at least 2.
    pub(crate) fn new(rows: usize, most: usize) -> Self {
        let most = most.max(2);
        if rows <= most {
            return Self {
                first: rows,
                last: rows,
                rows,
            };
        }
        Self {
            first: most - most / 3,
            last: rows - most / 3,
            rows,
        }
    }

    /// What is shown of a list with as many entries as there are rows.
    pub(crate) fn of<'a, T>(&self, list: &'a [T]) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let first = list.get(..self.first).unwrap_or(list);
        let last = list.get(self.last..).unwrap_or(&[]);
        first.iter().chain(last)
    }

    fn left_out(&self) -> usize {
        self.rows - self.first - (self.rows - self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: usize, most: usize) -> Vec<String> {
        let mut table = Table::new(["name", "bytes"]);
        let cut = Cut::new(rows, most);
        let all: Vec<usize> = (0..rows).collect();
        for row in cut.of(&all) {
            table.row_with_tail([format!("n{row}"), "7".repeat(row % 3 + 1)], "!".to_owned());
        }
        let mut out = Vec::new();
        table.write(&cut, &mut out).expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_are_aligned() {
        let lines = written(2, 10);
        assert_eq!(lines.get(1).map(String::as_str), Some("   n0        7  !"));
        assert_eq!(lines.get(2).map(String::as_str), Some("   n1       77  !"));
    }

    #[test]
    fn long_tables_are_cut_in_the_middle_and_say_so() {
        let lines = written(100, 9);
        assert_eq!(lines.len(), 1 + 9 + 1);
        assert!(
            lines.iter().any(|line| line.contains("... 91 more ...")),
            "{lines:?}"
        );
        assert!(lines.last().is_some_and(|line| line.contains("n99")));
        assert_eq!(written(9, 9).len(), 10);
    }

    #[test]
    fn marks_have_a_column_of_their_own_and_notes_stand_below() {
        let mut table = Table::new(["check"]).with_tail("rule");
        table.row_with_tail(["one".to_owned()], "R1".to_owned());
        table.mark(Style::new(), "PASS");
        table.row_with_tail(["another".to_owned()], "R2".to_owned());
        table.mark(Style::new(), "FAIL");
        table.note("because");
        let text = anstream::adapter::strip_str(&table.text()).to_string();
        let lines: Vec<&str> = text.lines().collect();
        let expected = [
            "        check    rule",
            "   PASS one      R1",
            "   FAIL another  R2",
            "        because",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn paragraphs_are_wrapped_below_what_they_begin_with() {
        let words = "word ".repeat(30);
        let text = paragraph("R1   ", &words);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.len() <= PARAGRAPH));
        assert!(lines[0].starts_with("R1   word word") && lines[1].starts_with("     word"));
        assert_eq!(text.matches("word").count(), 30);
        let long = "x".repeat(200);
        assert_eq!(
            paragraph("", &format!("a {long} b")),
            format!("a\n{long}\nb\n")
        );
        assert_eq!(paragraph("", ""), "\n");
    }
}
