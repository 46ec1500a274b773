//! Numbers as people read them.

use bytesize::ByteSize;

/// `64 MiB`, `1.5 GiB`, `0 B`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    ByteSize::b(bytes)
        .display()
        .iec()
        .to_string()
        .replace(".0 ", " ")
}

/// `1 allocation`, `3 allocations`.
#[must_use]
pub fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// Text from a file as one line that a terminal shows and nothing more: control
/// characters become spaces.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
