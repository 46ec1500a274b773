//! The device's properties, and the sizes and addresses of its graph memory.

use cuda_graphs::{Device, Graph, Result, Runtime};

use super::settings::Settings;
use crate::experiments::launch_footprint;

const MIB: u64 = 1 << 20;

/// Allocations of one byte in one graph, from which the address step is read.
const SMALL: usize = 8;

/// Versions and properties.
pub fn device(runtime: &Runtime, device: &Device<'_>, to: &mut Settings) -> Result<()> {
    let info = device.info()?;
    let (threads, blocks) = device.multiprocessor_limits()?;
    let suffix = " (simulated)";
    let name = info.name.strip_suffix(suffix).unwrap_or(&info.name);
    to.text("", "device_name", &format!("{name}{suffix}"));
    // Others of this machine are not described: a profile has equal devices.
    to.taken_over("", "devices", "one device was measured");
    let version = |version: Option<cuda_graphs::Version>| version.map(|version| version.0);
    to.number("", "driver_version", version(runtime.driver_version()));
    to.number("", "runtime_version", version(runtime.runtime_version()));
    to.flag(
        "",
        "memory_pools_supported",
        device.supports_memory_pools()?,
    );
    to.pair("", "compute_capability", info.compute_capability);
    to.number("", "multiprocessors", Some(info.multiprocessors));
    to.number("", "clock_rate_khz", Some(info.clock_rate_khz));
    to.number("", "max_threads_per_multiprocessor", Some(threads));
    to.number("", "max_blocks_per_multiprocessor", Some(blocks));
    Ok(())
}

/// Sizes and addresses; returns the bytes that an allocation of one byte maps. Nothing in
/// this process may have allocated graph memory before.
pub fn memory(runtime: &Runtime, device: &Device<'_>, to: &mut Settings) -> Result<u64> {
    let graph_memory = device.graph_memory();
    let before = graph_memory.snapshot()?;
    to.number("memory", "total_bytes", Some(before.device_total_bytes));
    to.number(
        "memory",
        "in_use_at_start_bytes",
        before
            .device_total_bytes
            .checked_sub(before.device_free_bytes),
    );

    let graph = Graph::new(runtime, device.ordinal())?;
    let mut addresses = Vec::with_capacity(SMALL);
    for _ in 0..SMALL {
        addresses.push(graph.add_alloc(&[], 1)?.address.0);
    }
    to.address("memory", "first_graph_address", addresses.first().copied());
    // They need not ascend.
    addresses.sort_unstable();
    let steps = addresses.windows(2).filter_map(|pair| match pair {
        [low, high] => high.checked_sub(*low),
        _ => None,
    });
    let step = steps.min().filter(|&step| step > 0);
    drop(graph);

    // One byte maps one block; a block and one byte map two.
    let one = launch_footprint(runtime, *device, 1)?;
    let two = launch_footprint(runtime, *device, one.saturating_add(1))?;
    let block = (one > 0 && one.is_multiple_of(MIB) && two == one.saturating_mul(2)).then_some(one);
    match block {
        Some(block) => to.number("memory", "block_mib", Some(block / MIB)),
        None => to.taken_over(
            "memory",
            "block_mib",
            &format!("1 byte mapped {one} bytes, and {one} bytes and one mapped {two}"),
        ),
    }
    match step {
        Some(step) => to.number("memory", "address_step", Some(step)),
        None => to.taken_over("memory", "address_step", "allocations share an address"),
    }
    Ok(one)
}
