//! Aligned columns, the first to the left, the others to the right.

use std::io::{self, Write};

use super::DIM;

/// A table under construction.
pub(super) struct Table<const N: usize> {
    head: [&'static str; N],
    rows: Vec<[String; N]>,
    /// What stands after each row, not aligned.
    tails: Vec<String>,
    left: [bool; N],
}

impl<const N: usize> Table<N> {
    pub(super) fn new(head: [&'static str; N]) -> Self {
        let mut left = [false; N];
        if let Some(first) = left.first_mut() {
            *first = true;
        }
        Self {
            head,
            rows: Vec::new(),
            tails: Vec::new(),
            left,
        }
    }

    /// Aligns this column to the left as well.
    pub(super) fn left(mut self, column: usize) -> Self {
        if let Some(left) = self.left.get_mut(column) {
            *left = true;
        }
        self
    }

    pub(super) fn row(&mut self, cells: [String; N]) {
        self.row_with_tail(cells, String::new());
    }

    pub(super) fn row_with_tail(&mut self, cells: [String; N], tail: String) {
        self.rows.push(cells);
        self.tails.push(tail);
    }

    /// Writes the rows; those that the cut left out are counted where they were.
    pub(super) fn write(&self, cut: &Cut, out: &mut dyn Write) -> io::Result<()> {
        let mut widths = self.head.map(|text| text.chars().count());
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let line = |cells: [&str; N], tail: &str| {
            let mut text = String::from("  ");
            for ((cell, width), left) in cells.iter().zip(widths).zip(self.left) {
                // A format's width ends at 65,535, and names come from files.
                let space = " ".repeat(width - cell.chars().count());
                text += &if left {
                    format!(" {cell}{space} ")
                } else {
                    format!(" {space}{cell} ")
                };
            }
            text += tail;
            text.trim_end().to_owned()
        };
        writeln!(out, "{DIM}{}{DIM:#}", line(self.head, ""))?;
        for (at, (row, tail)) in self.rows.iter().zip(&self.tails).enumerate() {
            if at == cut.first && cut.left_out() > 0 {
                writeln!(out, "   {DIM}... {} more ...{DIM:#}", cut.left_out())?;
            }
            writeln!(out, "{}", line(row.each_ref().map(String::as_str), tail))?;
        }
        Ok(())
    }
}

/// Which rows of a long table are shown: the first and the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    first: usize,
    last: usize,
    rows: usize,
}

impl Cut {
    /// At most `most` of so many rows, but at least 2.
    pub(super) fn new(rows: usize, most: usize) -> Self {
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
    pub(super) fn of<'a, T>(&self, list: &'a [T]) -> impl Iterator<Item = &'a T> + use<'a, T> {
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
        assert_eq!(lines.get(1).map(String::as_str), Some("   n0        7 !"));
        assert_eq!(lines.get(2).map(String::as_str), Some("   n1       77 !"));
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
}
