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

/// `1 allocation`, `3 allocations`, `8 launches`, `2 dependencies`.
#[must_use]
pub fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number if what.ends_with("cy") => format!("{number} {}ies", &what[..what.len() - 1]),
        number if what.ends_with("ch") || what.ends_with('s') => format!("{number} {what}es"),
        number => format!("{number} {what}s"),
    }
}
