//! The rules of graph memory that the checks name, each with its source.
//!
//! `R` rules are stated in NVIDIA's documents or checked by other people's tests. `M`
//! rules are not documented; they were measured on one H200 (driver 580, CUDA 13.0).

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its number, such as `R35`.
    pub id: &'static str,
    /// The rule in one or two sentences.
    pub says: &'static str,
    /// Its source.
    pub source: Source,
}

/// The source of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The CUDA Programming Guide on graph memory nodes.
    Guide,
    /// The CUDA Runtime API reference on graph management.
    Reference,
    /// NVIDIA's sample graphMemoryFootprint.
    Sample,
    /// AMD's public hip-tests, where they state what NVIDIA's driver does.
    HipTests,
    /// Measured for this project.
    Measured,
}

impl Source {
    /// The source's title.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Guide => "CUDA Programming Guide, \"Graph Memory Nodes\"",
            Self::Reference => "CUDA Runtime API reference, \"Graph Management\"",
            Self::Sample => "NVIDIA's CUDA sample graphMemoryFootprint",
            Self::HipTests => "AMD's hip-tests, which state what NVIDIA's driver does",
            Self::Measured => "measured on an H200, driver 580, CUDA 13.0",
        }
    }
}

/// The rule with this number, in upper or lower case.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

/// The rules that a check names: their numbers, separated by spaces.
pub fn named(rule: &str) -> impl Iterator<Item = &'static Rule> {
    rule.split_whitespace().filter_map(find)
}

const fn rule(id: &'static str, source: Source, says: &'static str) -> Rule {
    Rule { id, says, source }
}

use Source::{Guide, HipTests, Measured, Reference, Sample};

/// All rules.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule("R1", Guide, "The virtual address is assigned when the alloc node is added."),
    rule("R2", Guide, "The address stays the same for the life of the node, through every instantiation and launch."),
    rule("R3", Guide, "A later alloc node of the same graph may get the address of an earlier one if it is ordered after that one's free node."),
    rule("R4", Guide, "Without such an order it gets a different address."),
    rule("R5", Guide, "Different graphs have different addresses. They share physical memory by mapping it at several addresses."),
    rule("R6", Guide, "Allocations of one graph that are never live at the same time may have the same pointer."),
    rule("R7", Guide, "Before the first launch the address range is reserved, and no memory is mapped at it."),
    rule("R8", Guide, "Each launch creates the allocation anew. It is live from the moment the GPU reaches the alloc node."),
    rule("R9", Guide, "An allocation ends at its free node, at cudaFreeAsync in stream order, or immediately at cudaFree."),
    rule("R10", Guide, "The contents are lost when the allocation is freed."),
    rule("R11", Guide, "Work that uses the memory must be ordered after the alloc node and before the free; any other access may reach another allocation's data."),
    rule("R12", Guide, "Synchronization inside kernels does not order a free."),
    rule("R13", Reference, "An allocation with a free node in its own graph is freed by that node only."),
    rule("R14", Guide, "An allocation without a free node in its graph is left allocated after the launch. The program, another graph or AutoFreeOnLaunch frees it."),
    rule("R15", Reference, "An allocation cannot have free nodes both in its own graph and in another one."),
    rule("R16", Guide, "Destroying a graph or an exec frees no live allocation."),
    rule("R17", Guide, "In a captured stream, cudaMallocAsync and cudaFreeAsync become alloc and free nodes."),
    rule("R18", Reference, "A graph with a live allocation from an earlier launch cannot be launched again: error 1."),
    rule("R19", Guide, "With AutoFreeOnLaunch, a launch first frees what the previous launch left, as cudaFreeAsync would."),
    rule("R20", Guide, "AutoFreeOnLaunch frees nothing when the exec is destroyed: the program must free the allocations of the last launch."),
    rule("R21", Reference, "AutoFreeOnLaunch cannot be combined with launches from the device."),
    rule("R22", Reference, "An exec never overlaps itself: a launch waits for the previous launch of the same exec."),
    rule("R23", Reference, "Nodes and edges of a graph with memory nodes cannot be removed: error 801."),
    rule("R24", Reference, "A graph with memory nodes cannot be cloned: error 801."),
    rule("R25", Reference, "A graph with memory nodes can have one exec at a time: error 801 for a second."),
    rule("R26", Reference, "A graph with memory nodes cannot be added as a child by copy: error 801. From CUDA 12.9 on it can be moved into the parent."),
    rule("R27", Reference, "Parameters of memory nodes cannot be updated in an exec."),
    rule("R28", HipTests, "Wrong allocation parameters are error 1, and a size larger than the device can map is error 2, both when the node is added."),
    rule("R29", Reference, "Graph allocations have no handles for other processes."),
    rule("R30", Reference, "Freeing an allocation twice in a graph, or an address that no alloc node returned, is error 1."),
    rule("R31", Guide, "Adding nodes and instantiating map no memory."),
    rule("R32", Guide, "Memory is mapped at the launch, or earlier by cudaGraphUpload."),
    rule("R33", Guide, "A launch after an upload in the same stream maps nothing more."),
    rule("R34", Guide, "A graph stays mapped after it has finished."),
    rule("R35", Guide, "Graphs launched into one stream share physical memory: the footprint is that of the largest graph."),
    rule("R36", Guide, "Graphs that may run at the same time share no memory, and nothing shares memory with an unfreed allocation."),
    rule("R37", Sample, "A launch on another stream may use the memory of a graph that has finished."),
    rule("R38", Guide, "A graph is mapped again after a launch on another stream, after a trim, and if its memory holds another graph's live allocation."),
    rule("R39", Guide, "Mapping again happens in execution order, after the graph's own previous run, and costs system calls."),
    rule("R40", Guide, "CUDA may delay a later launch to keep live allocations separate."),
    rule("R41", Guide, "Destroying execs returns no memory to the system."),
    rule("R42", Guide, "A trim returns the memory that no unfreed allocation and no queued or running graph uses."),
    rule("R43", Guide, "A trim works while execs exist; their next launch maps memory again."),
    rule("R44", Guide, "Graph memory is a separate pool: trimming a cudaMemPool does not affect it, and trimming graph memory affects no cudaMemPool."),
    rule("R45", Guide, "Graph memory is accounted per device and process."),
    rule("R46", HipTests, "An allocation without a free node takes a block of its own, beside the block that is reused."),
    rule("R47", Reference, "The attributes are: 0 used, 1 the high-water mark of used, 2 reserved, 3 the high-water mark of reserved."),
    rule("R48", Guide, "Used is the memory that at least one graph maps now; reserved is the memory that the driver holds for graphs."),
    rule("R49", Reference, "Only the high-water marks can be set, and only to 0."),
    rule("R50", HipTests, "Used is at most reserved, and a high-water mark is at least the current value."),
    rule("R51", Guide, "Access from other devices is requested at the alloc node; the allocation's own device always has access."),
    rule("R52", Guide, "Shared addresses are mapped for every device that one of their allocations needs."),
    rule("R53", Guide, "A captured allocation gets the access list that its pool has during the capture."),
    rule("R54", Guide, "Memory nodes need a driver for CUDA 11.4 or later and a device with memory pools."),
    rule("R55", Reference, "Graph objects are not thread-safe."),
    rule("R56", Reference, "The body of a conditional node, at any depth, has kernel, memset, memcpy, empty, child graph and conditional nodes only: no memory nodes."),
    rule("M1", Measured, "Physical memory is mapped in blocks of 32 MiB (the allocation granularity): the footprint of one launch is the size rounded up to whole blocks."),
    rule("M2", Measured, "The first allocation of a process is at 0x302000000."),
    rule("M3", Measured, "Allocations of 32 and 16 MiB that are live at the same time take 64 MiB; their addresses are 32 MiB apart."),
    rule("M4", Measured, "A first launch that maps 64 MiB takes 0.06 to 0.15 ms of host time, a relaunch 0.003 to 0.006 ms."),
    rule("M5", Measured, "With AutoFreeOnLaunch, relaunches take the footprint of one launch. After the exec is destroyed, cudaFree and a trim return that memory."),
    rule("M6", Measured, "An unfreed allocation stays valid after its exec is destroyed, and can be freed once."),
    rule("M7", Measured, "A relaunch with an unfreed allocation is error 1, and later calls work."),
    rule("M8", Measured, "Freeing an allocation whose graph has not been launched is error 1."),
    rule("M9", Measured, "A second exec, a clone and a child of a graph with memory nodes are error 801. After the first exec is destroyed, the graph can be instantiated again."),
    rule("M10", Measured, "An alloc node of 0 bytes is error 1, one of 1 TiB error 2. Wrong devices, types and pointers are error 1."),
    rule("M11", Measured, "A kernel node with an empty grid or too many threads per block is error 1, as is launching a null exec."),
    rule("M12", Measured, "A device that does not exist is error 101, and an attribute that does not exist is error 1."),
    rule("M13", Measured, "Out of memory is error 2 at the launch. The stream stays usable, and the exec launches once memory is free."),
    rule("M14", Measured, "A trim while a graph runs returns immediately and does not affect that graph's memory."),
    rule("M15", Measured, "A relaunch takes 2.9 us of host time, whatever the number of graphs."),
    rule("M16", Measured, "A graph maps the blocks that its allocations' addresses touch."),
    rule("M17", Measured, "compute-sanitizer reports graph allocations as leaks although cudaFree freed them."),
    rule("M18", Measured, "Each launch adds to the footprint if, and only if, every stream is still busy when the last footprint is read."),
    rule("M19", Measured, "A memory, host or event node in a conditional body, and dependencies that form a cycle, are accepted when they are added; cudaGraphInstantiate then returns 1."),
    rule("M20", Measured, "A child graph with a conditional node is error 801, cloned or moved; so are a clone and a second exec of a graph with one."),
    rule("M21", Measured, "Managed memory on a device counts like pinned memory; memory of the host, pinned or managed, is error 801 when the node is added."),
    rule("M22", Measured, "Plain allocations during a capture are not graph memory. For a GPT that PyTorch captured at five batch sizes they took 848 MiB with a memory pool for each capture, and 666 MiB with one pool for all captures."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_by_their_number_and_there_is_one_of_each() {
        for (index, rule) in RULES.iter().enumerate() {
            let number = if index < 56 { index + 1 } else { index - 55 };
            let letter = if index < 56 { 'R' } else { 'M' };
            assert_eq!(rule.id, format!("{letter}{number}"));
            assert_eq!(find(&rule.id.to_lowercase()), Some(rule));
            assert!(rule.says.ends_with('.'), "{}", rule.id);
        }
        assert_eq!(find("R57"), None);
        let ids: Vec<_> = named("R32 M1 nothing").map(|rule| rule.id).collect();
        assert_eq!(ids, ["R32", "M1"]);
    }

    #[test]
    fn every_rule_that_an_experiment_lists_is_known() {
        for experiment in crate::experiments::EXPERIMENTS {
            assert!(!experiment.rules.is_empty(), "{}", experiment.name);
            for id in experiment.rules {
                assert!(find(id).is_some(), "{}: {id}", experiment.name);
            }
        }
    }
}
