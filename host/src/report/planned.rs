//! Words for a plan that its text and its page have in common.

use graph_memory_plan::result::{AddressSource, MemoryPlan, Outcome, Schedule};

use super::units::bytes;

/// Where the addresses of a graph come from.
pub(crate) fn addresses(memory: &MemoryPlan) -> &'static str {
    match (memory.addresses, memory.rule_explains_dump) {
        (AddressSource::Dump, Some(true)) => "the driver's, from the dump; the rule gives the same",
        (AddressSource::Dump, Some(false)) => "the driver's, from the dump; the rule gives others",
        (AddressSource::Dump, None) => "the driver's, from the dump; computing them takes too long",
        (AddressSource::Computed, _) => "computed by the driver's rule",
    }
}

/// The node at which most is live, after the number of bytes.
pub(crate) fn peak(memory: &MemoryPlan) -> String {
    let at = memory.peak_at.as_ref();
    let at = at.map_or_else(String::new, |node| format!(", first at {node}"));
    format!("{}{at}", bytes(memory.peak_live_bytes))
}

/// How many calls of a schedule fail.
pub(crate) fn failing_calls(schedule: &Schedule) -> String {
    match schedule.failing_steps {
        0 => "no call fails".to_owned(),
        1 => "1 call fails".to_owned(),
        number => format!("{number} calls fail"),
    }
}

/// The used bytes on each GPU of a schedule.
pub(crate) fn used(outcome: &Outcome) -> String {
    let others = outcome.other_devices.iter().map(|other| other.used_bytes);
    each(bytes(outcome.used_bytes), others)
}

/// The reserved bytes on each GPU of a schedule.
pub(crate) fn reserved(outcome: &Outcome) -> String {
    let others = outcome.other_devices.iter();
    let others = others.map(|other| other.reserved_bytes);
    each(outcome.reserved_bytes.map_or("?".to_owned(), bytes), others)
}

/// A figure of each GPU of a schedule.
pub(crate) fn each(first: String, others: impl Iterator<Item = u64>) -> String {
    others.fold(first, |text, other| text + ", " + &bytes(other))
}
