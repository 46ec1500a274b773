//! The rules of graph memory that checks name, each in a sentence, with its source.
//!
//! `R` are rules that the documents state or that others' programs rely on; `M` are
//! measurements on one H200 (driver 580, CUDA 13.0), for what the documents leave
//! open.

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its number, such as `R35`.
    pub id: &'static str,
    /// What it says.
    pub says: &'static str,
    /// Where it is from.
    pub source: Source,
}

/// Where a rule is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The CUDA Programming Guide on graph memory nodes.
    Guide,
    /// The CUDA Runtime API reference on graph management.
    Reference,
    /// NVIDIA's sample graphMemoryFootprint.
    Sample,
    /// AMD's public hip-tests, where they say what NVIDIA's driver does.
    HipTests,
    /// Measured for this project.
    Measured,
}

impl Source {
    /// As a person would look for it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Guide => "CUDA Programming Guide, \"Graph Memory Nodes\"",
            Self::Reference => "CUDA Runtime API reference, \"Graph Management\"",
            Self::Sample => "NVIDIA's CUDA sample graphMemoryFootprint",
            Self::HipTests => "AMD's hip-tests, expectations for NVIDIA's driver",
            Self::Measured => "measured on an H200, driver 580, CUDA 13.0",
        }
    }
}

/// The rule of this number.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

/// The rules that a check's `rule` names: numbers with spaces between.
pub fn named(rule: &str) -> impl Iterator<Item = &'static Rule> {
    rule.split_whitespace().filter_map(find)
}

const fn rule(id: &'static str, source: Source, says: &'static str) -> Rule {
    Rule { id, says, source }
}

use Source::{Guide, HipTests, Measured, Reference, Sample};

/// All of them.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule("R1", Guide, "The virtual address is fixed when the alloc node is added."),
    rule("R2", Guide, "It stays the same for the node's life, through every instantiation and launch."),
    rule("R3", Guide, "A later alloc node of the graph may get an earlier one's address if it is ordered after that one's free node."),
    rule("R4", Guide, "Without such an order it gets another address."),
    rule("R5", Guide, "Different graphs have different addresses; they share by mapping one physical block at several."),
    rule("R6", Guide, "Allocations of one graph that are never alive together may have the same pointer."),
    rule("R7", Guide, "Before the first launch the address is reserved and nothing is behind it."),
    rule("R8", Guide, "Each launch makes the allocation anew, alive from when the GPU reaches the alloc node."),
    rule("R9", Guide, "It ends at its free node, at cudaFreeAsync in stream order, or at once at cudaFree."),
    rule("R10", Guide, "Contents do not survive the free."),
    rule("R11", Guide, "Users must be ordered after the alloc and before the free; a stray access may hit another's data."),
    rule("R12", Guide, "Synchronisation inside kernels does not order a free."),
    rule("R13", Reference, "What is freed in its own graph is freed once, and nowhere else."),
    rule("R14", Guide, "What its graph does not free outlives the launch; the program, another graph or AutoFreeOnLaunch frees it."),
    rule("R15", Reference, "One allocation cannot have free nodes both in its own and in another graph."),
    rule("R16", Guide, "Destroying a graph or exec frees no live allocation."),
    rule("R17", Guide, "cudaMallocAsync and cudaFreeAsync in a captured stream become alloc and free nodes."),
    rule("R18", Reference, "A graph whose allocations are still alive cannot be launched again: error 1."),
    rule("R19", Guide, "With AutoFreeOnLaunch a launch first frees what the last one left, as cudaFreeAsync would."),
    rule("R20", Guide, "That flag frees nothing when the exec is destroyed: the last launch's allocations are the program's."),
    rule("R21", Reference, "AutoFreeOnLaunch excludes launching from the device."),
    rule("R22", Reference, "An exec never overlaps itself: a launch waits for its previous one."),
    rule("R23", Reference, "Nodes and edges of a graph with memory nodes cannot be removed: error 801."),
    rule("R24", Reference, "Such a graph cannot be cloned: error 801."),
    rule("R25", Reference, "Such a graph has one exec at a time: error 801 for a second."),
    rule("R26", Reference, "Such a graph cannot be a child by copy: error 801; moving it in works since CUDA 12.9."),
    rule("R27", Reference, "Parameters of memory nodes cannot be updated in an exec."),
    rule("R28", HipTests, "Wrong allocation parameters are error 1, an absurd size is error 2, when the node is added."),
    rule("R29", Reference, "Graph allocations have no handles for other processes."),
    rule("R30", Reference, "Freeing twice in a graph, or what no alloc node returned, is error 1."),
    rule("R31", Guide, "Adding nodes and instantiating map nothing."),
    rule("R32", Guide, "Memory is mapped at the launch, or before it by cudaGraphUpload."),
    rule("R33", Guide, "A launch after an upload in the same stream maps nothing more."),
    rule("R34", Guide, "A graph keeps its mapping when it has finished."),
    rule("R35", Guide, "Graphs launched into one stream share physical memory: the footprint is the largest need."),
    rule("R36", Guide, "Graphs that may run at once share nothing, nor does anything share with an unfreed allocation."),
    rule("R37", Sample, "Memory of a graph that has finished may be reused by a launch on another stream."),
    rule("R38", Guide, "Another stream, a trim, or another's live allocation on its pages make a graph be mapped anew."),
    rule("R39", Guide, "A remap happens in execution order, after the graph's own earlier run, and costs system calls."),
    rule("R40", Guide, "CUDA may hold a later launch back to keep live allocations apart."),
    rule("R41", Guide, "Destroying execs returns nothing to the system."),
    rule("R42", Guide, "Trim gives back what no unfreed allocation and no queued or running graph uses."),
    rule("R43", Guide, "Trim works while execs are alive; their next launch maps again."),
    rule("R44", Guide, "Graph memory is a pool of its own: a cudaMemPool trim does not see it, nor the reverse."),
    rule("R45", Guide, "It is accounted for each device and process."),
    rule("R46", HipTests, "An allocation without a free node holds a block of its own beside the one that is reused."),
    rule("R47", Reference, "The attributes: 0 used, 1 its high mark, 2 reserved, 3 its high mark."),
    rule("R48", Guide, "Used is what at least one graph maps now; reserved is what the driver holds for graphs."),
    rule("R49", Reference, "Only the high marks can be set, and only to 0."),
    rule("R50", HipTests, "Used is at most reserved, and a high mark at least the current value."),
    rule("R51", Guide, "Access for other devices is asked for at the alloc node; the own device has it."),
    rule("R52", Guide, "Shared addresses are mapped for all devices that any of their allocations needs."),
    rule("R53", Guide, "A captured allocation takes its pool's access list as it is at the capture."),
    rule("R54", Guide, "Needs a driver for CUDA 11.4 or later and a device with memory pools."),
    rule("R55", Reference, "Graph objects are not thread-safe."),
    rule("M1", Measured, "Physical memory comes in blocks of 32 MiB there: a unit is the size rounded up to blocks."),
    rule("M2", Measured, "The first allocation of a process is at 0x302000000."),
    rule("M3", Measured, "Allocations of 32 and 16 MiB alive together take 64 MiB, 32 MiB apart."),
    rule("M4", Measured, "A first launch of 64 MiB costs 0.06 to 0.15 ms of host time, a relaunch 0.003 to 0.006 ms."),
    rule("M5", Measured, "AutoFreeOnLaunch holds one unit over relaunches; after the exec is destroyed, cudaFree and a trim end it."),
    rule("M6", Measured, "An unfreed allocation stays valid after its exec is destroyed, and can be freed once."),
    rule("M7", Measured, "A relaunch with an unfreed allocation is error 1, and what follows works."),
    rule("M8", Measured, "Freeing an allocation whose graph never ran is error 1."),
    rule("M9", Measured, "A second exec, a clone and a child of a graph with memory nodes are error 801; after the first exec is destroyed another can be made."),
    rule("M10", Measured, "An alloc node of 0 bytes is error 1, of 1 TiB error 2; so are wrong devices, types and pointers error 1."),
    rule("M11", Measured, "A kernel node with an empty grid or too large a block is error 1, as is a launch of no exec."),
    rule("M12", Measured, "A device that is not there is error 101, an attribute that is not, error 1."),
    rule("M13", Measured, "Out of memory shows at the launch as error 2; the stream stays usable, and the exec launches once memory is free."),
    rule("M14", Measured, "A trim while a graph runs returns at once and leaves that graph's memory."),
    rule("M15", Measured, "A launch in the steady state costs 2.9 us of host time, whatever the number of graphs."),
    rule("M16", Measured, "What a graph maps is the blocks that its allocations' addresses touch."),
    rule("M17", Measured, "compute-sanitizer reports graph allocations that cudaFree freed as leaks."),
    rule("M18", Measured, "Every stream busy when the last footprint was read: then, and only then, every launch had grown it."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_by_their_number_and_there_is_one_of_each() {
        for (index, rule) in RULES.iter().enumerate() {
            let number = if index < 55 { index + 1 } else { index - 54 };
            let letter = if index < 55 { 'R' } else { 'M' };
            assert_eq!(rule.id, format!("{letter}{number}"));
            assert_eq!(find(&rule.id.to_lowercase()), Some(rule));
            assert!(rule.says.ends_with('.'), "{}", rule.id);
        }
        assert_eq!(find("R56"), None);
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
