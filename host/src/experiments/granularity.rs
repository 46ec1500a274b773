//! Physical memory is mapped in blocks of the allocation granularity.

use std::collections::BTreeSet;

use super::graphs::alloc_free;
use super::{Experiment, Lab, Notebook};
use crate::results::Action;
use cuda_graphs::{Result, Stream};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "granularity",
    title: "What a byte costs",
    shows: "The footprint of a graph with one allocation, for sizes from 1 byte to 1 GiB. Physical \
            memory is mapped in blocks of the allocation granularity, which depends on the device \
            and driver and is measured here.",
    teaches: "One byte in a graph takes one block. A size just above a multiple of the block size \
              wastes almost a block. Small allocations of one graph share a block. Allocations of \
              different graphs share a block only if the graphs cannot run at the same time, so \
              many small graphs on many streams take one block each.",
    rules: &["R31", "R42", "M1", "M16"],
    run,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Sizes that are tried for every block size.
const SIZES: [u64; 9] = [
    1,
    512,
    64 * KIB,
    MIB,
    2 * MIB,
    16 * MIB,
    100 * MIB,
    256 * MIB,
    GIB,
];

/// Sizes above one nth of the free memory are left out.
const PART_OF_FREE: u64 = 4;

fn run(lab: &Lab<'_>, notebook: &mut Notebook<'_>) -> Result<()> {
    notebook.baseline()?;
    let most = notebook.last().device_free_bytes / PART_OF_FREE;

    // The block size is what one byte takes; the other sizes test it.
    let block = lab.block_bytes()?;
    let around = [1, 2, 3].map(|blocks| blocks * block);
    let sizes: BTreeSet<u64> = SIZES
        .into_iter()
        .chain(
            around
                .into_iter()
                .flat_map(|size| [size - 1, size, size + 1]),
        )
        .filter(|&size| size > 0 && size <= most)
        .collect();

    let stream = Stream::new(lab.runtime)?;
    let mut measured = Vec::with_capacity(sizes.len());
    for &bytes in &sizes {
        measured.push(footprint(lab, notebook, &stream, bytes)?);
    }
    let footprint_of = |bytes: u64| {
        let place = sizes.iter().position(|&size| size == bytes);
        place.and_then(|place| measured.get(place)).copied()
    };
    for (claim, bytes, expected) in [
        ("one byte takes one block", 1, block),
        ("a whole block takes one block", block, block),
        ("a block and one byte take two blocks", block + 1, 2 * block),
    ] {
        if let Some(measured) = footprint_of(bytes) {
            notebook.check_bytes("M1", claim, expected, measured);
        }
    }
    let expected = sizes
        .iter()
        .map(|&bytes| bytes.next_multiple_of(block))
        .collect();
    notebook.check_series(
        "M1 M16",
        "every size takes the blocks that it touches",
        expected,
        measured,
    );
    notebook.trim_to_nothing("R42", "a trim returns everything")
}

/// The footprint of a graph with one allocation of this size, after a trim.
fn footprint<'rt>(
    lab: &Lab<'rt>,
    notebook: &mut Notebook<'_>,
    stream: &Stream<'rt>,
    bytes: u64,
) -> Result<u64> {
    lab.device.graph_memory().trim()?;
    let (exec, address) = alloc_free(lab.runtime, lab.device, bytes)?;
    let _ = notebook
        .step(format!("launch a graph of {}", size(bytes)), Action::Launch)
        .stream(0)
        .address(address)
        .done(|| exec.launch(stream))?;
    let used = notebook.last().used_bytes;
    stream.synchronize()?;
    exec.destroy()?;
    Ok(used)
}

/// `32 MiB`, and next to it `32 MiB + 1 B` and `32 MiB - 1 B`.
fn size(bytes: u64) -> String {
    let exact = |bytes: u64| match bytes {
        bytes if bytes % GIB == 0 => Some(format!("{} GiB", bytes / GIB)),
        bytes if bytes % MIB == 0 => Some(format!("{} MiB", bytes / MIB)),
        bytes if bytes % KIB == 0 => Some(format!("{} KiB", bytes / KIB)),
        _ => None,
    };
    let beside = |bytes: u64, sign: &str| {
        (bytes > KIB)
            .then(|| exact(bytes))
            .flatten()
            .map(|size| format!("{size} {sign} 1 B"))
    };
    exact(bytes)
        .or_else(|| beside(bytes - 1, "+"))
        .or_else(|| beside(bytes + 1, "-"))
        .unwrap_or_else(|| format!("{bytes} B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_named_so_that_a_byte_more_or_less_is_seen() {
        assert_eq!(size(1), "1 B");
        assert_eq!(size(512), "512 B");
        assert_eq!(size(64 * KIB), "64 KiB");
        assert_eq!(size(32 * MIB - 1), "32 MiB - 1 B");
        assert_eq!(size(32 * MIB + 1), "32 MiB + 1 B");
        assert_eq!(size(GIB), "1 GiB");
    }
}
