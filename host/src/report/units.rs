//! Formats numbers for people.

use cudart_ffi::cudaError_t;

pub(crate) use graph_memory_plan::units::{bytes, count};

use crate::results::{Growth, MemoryKind, Quantity, Trend};
use cuda_graphs::DeviceInfo;

/// `1.980 GHz` from kHz.
pub(crate) fn clock_rate(khz: i32) -> String {
    format!("{:.3} GHz", f64::from(khz) / 1e6)
}

/// `3 us`, `0.09 ms`, `12 ms`, `1.2 s`.
pub(crate) fn time(ms: f64) -> String {
    match ms {
        ms if ms >= 1000.0 => format!("{:.1} s", ms / 1000.0),
        ms if ms >= 10.0 => format!("{ms:.0} ms"),
        ms if ms >= 1.0 => format!("{ms:.1} ms"),
        ms if ms >= 0.01 => format!("{ms:.2} ms"),
        ms => format!("{:.0} us", ms * 1000.0),
    }
}

/// Name, compute capability and size of a device.
pub(crate) fn device(device: &DeviceInfo) -> String {
    let (major, minor) = device.compute_capability;
    format!(
        "{}, compute capability {major}.{minor}, {} multiprocessors at {}",
        device.name,
        device.multiprocessors,
        clock_rate(device.clock_rate_khz),
    )
}

/// The memory that `--repeat` measures.
pub(crate) fn memory_kind(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::HostResident => "host, resident",
        MemoryKind::DeviceInUse => "device, in use",
        MemoryKind::GraphUsed => "graph, used",
        MemoryKind::GraphReserved => "graph, reserved",
    }
}

/// `flat, below 2 KiB per run`, `grows by 12 KiB per run`.
pub(crate) fn trend(trend: &Trend) -> String {
    // Whole bytes per run, rounded up so that growth is never shown as 0.
    let whole = |value: f64| bytes(value.abs().ceil() as u64);
    match trend.growth {
        Growth::Grows => format!("grows by {} per run", whole(trend.bytes_per_cycle)),
        Growth::Flat if trend.resolution_bytes_per_cycle > 0.0 => format!(
            "flat, below {} per run",
            whole(trend.resolution_bytes_per_cycle)
        ),
        Growth::Flat => "flat, exactly".to_owned(),
        Growth::Unknown => "unknown".to_owned(),
    }
}

/// A checked value, short enough for a column.
pub(crate) fn quantity(quantity: &Quantity) -> String {
    match quantity {
        Quantity::Bytes(value) => bytes(*value),
        Quantity::BytesAtLeast(value) => format!(">= {}", bytes(*value)),
        Quantity::BytesAtMost(value) => format!("<= {}", bytes(*value)),
        Quantity::BytesEach(values) => series(values),
        Quantity::Count(value) => value.to_string(),
        Quantity::Address(value) => format!("{value:#x}"),
        Quantity::Code(value) => match cudaError_t(*value).known_name() {
            Some(name) => format!("{value} {name}"),
            None => value.to_string(),
        },
        Quantity::Milliseconds(value) => time(*value),
        Quantity::MillisecondsBelow(value) => format!("< {}", time(*value)),
    }
}

/// `64 MiB .. 512 MiB` where they grow evenly; else each, with how often it
/// comes in a row: `64 MiB, 8 x 128 MiB`.
fn series(values: &[u64]) -> String {
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return "none".to_owned();
    };
    let mut steps = values.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
    let step = steps.next().flatten().filter(|&step| step > 0);
    if step.is_some() && values.len() > 2 && steps.all(|other| other == step) {
        return format!("{} .. {}", bytes(*first), bytes(*last));
    }
    let runs = values.chunk_by(|a, b| a == b).map(|run| match run {
        [] => String::new(),
        [value] => bytes(*value),
        [value, ..] => format!("{} x {}", run.len(), bytes(*value)),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn sizes_are_exact_where_they_are_round() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(64 * MIB), "64 MiB");
        assert_eq!(bytes(1536 * MIB), "1.5 GiB");
    }

    #[test]
    fn a_series_is_shortened_only_where_nothing_is_lost() {
        assert_eq!(series(&[64 * MIB; 9]), "9 x 64 MiB");
        assert_eq!(
            series(&[64 * MIB, 128 * MIB, 192 * MIB]),
            "64 MiB .. 192 MiB"
        );
        assert_eq!(
            series(&[64 * MIB, 128 * MIB, 128 * MIB]),
            "64 MiB, 2 x 128 MiB"
        );
        assert_eq!(series(&[128 * MIB, 64 * MIB]), "128 MiB, 64 MiB");
        assert_eq!(series(&[]), "none");
    }

    #[test]
    fn times_have_the_digits_that_matter() {
        assert_eq!(time(0.003), "3 us");
        assert_eq!(time(0.094), "0.09 ms");
        assert_eq!(time(2.04), "2.0 ms");
        assert_eq!(time(1500.0), "1.5 s");
    }
}
