//! The content of a graph in an event.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A graph at the moment of a successful instantiation or update.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphContent {
    /// The nodes by type, child graphs included. The bodies of conditional nodes
    /// are not included; they are in the DOT file.
    pub nodes: BTreeMap<NodeType, u64>,
    /// The memory allocation nodes, in the order in which the driver lists the nodes.
    /// Those of a child graph are at the place of its node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocations: Vec<AllocationNode>,
    /// The addresses of the memory free nodes, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frees: Vec<u64>,
    /// The file in [`GRAPHS_FOLDER`](crate::GRAPHS_FOLDER), if the graph was printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dot: Option<String>,
}

impl GraphContent {
    /// The sum of the sizes of all allocation nodes in bytes.
    pub fn requested_bytes(&self) -> u64 {
        let sizes = self.allocations.iter().map(|node| node.bytes);
        sizes.fold(0, u64::saturating_add)
    }

    /// For each allocation, in the same order: whether a free node of the same graph
    /// frees it.
    ///
    /// Two allocations of a graph can have the same address, one after the other. A
    /// free of that address then belongs to the earlier allocation.
    pub fn freed(&self) -> Vec<bool> {
        let mut frees: BTreeMap<u64, usize> = BTreeMap::new();
        for &address in &self.frees {
            *frees.entry(address).or_default() += 1;
        }
        let free = |node: &AllocationNode| match frees.get_mut(&node.address) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        };
        self.allocations.iter().map(free).collect()
    }

    /// The allocation nodes that no free node of the same graph frees: their memory is
    /// left allocated after a launch.
    pub fn unfreed(&self) -> impl Iterator<Item = &AllocationNode> {
        let freed = self.freed();
        let nodes = self.allocations.iter().zip(freed);
        nodes.filter(|(_, freed)| !freed).map(|(node, _)| node)
    }
}

/// A memory allocation node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationNode {
    /// Its size in bytes.
    pub bytes: u64,
    /// The device address of the allocation, the same in every launch (R1).
    pub address: u64,
    /// The device that the memory is on.
    pub device: i32,
}

/// The type of a node (`CUgraphNodeType`). The number of an unknown type is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeType {
    /// Runs a kernel.
    Kernel,
    /// Copies memory.
    Memcpy,
    /// Sets memory.
    Memset,
    /// Calls a function on the host.
    Host,
    /// Runs a child graph.
    ChildGraph,
    /// Does nothing.
    Empty,
    /// Waits for an event.
    WaitEvent,
    /// Records an event.
    RecordEvent,
    /// Signals an external semaphore.
    SemaphoreSignal,
    /// Waits for an external semaphore.
    SemaphoreWait,
    /// Allocates memory.
    MemAlloc,
    /// Frees memory.
    MemFree,
    /// Does a batch of memory operations.
    BatchMemOp,
    /// Runs its bodies on a condition.
    Conditional,
    /// A type that this version does not know, by its number.
    Other(u32),
}

/// The names of the types 0 to 13, in order.
const NAMES: [(NodeType, &str); 14] = [
    (NodeType::Kernel, "kernel"),
    (NodeType::Memcpy, "memcpy"),
    (NodeType::Memset, "memset"),
    (NodeType::Host, "host"),
    (NodeType::ChildGraph, "child-graph"),
    (NodeType::Empty, "empty"),
    (NodeType::WaitEvent, "wait-event"),
    (NodeType::RecordEvent, "record-event"),
    (NodeType::SemaphoreSignal, "semaphore-signal"),
    (NodeType::SemaphoreWait, "semaphore-wait"),
    (NodeType::MemAlloc, "mem-alloc"),
    (NodeType::MemFree, "mem-free"),
    (NodeType::BatchMemOp, "batch-mem-op"),
    (NodeType::Conditional, "conditional"),
];

impl From<u32> for NodeType {
    fn from(number: u32) -> Self {
        NAMES
            .get(number as usize)
            .map_or(Self::Other(number), |entry| entry.0)
    }
}

impl std::fmt::Display for NodeType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match NAMES.iter().find(|entry| entry.0 == *self) {
            Some((_, name)) => f.pad(name),
            None => match self {
                Self::Other(number) => write!(f, "type-{number}"),
                _ => f.pad("?"),
            },
        }
    }
}

impl std::str::FromStr for NodeType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((node, _)) = NAMES.iter().find(|entry| entry.1 == text) {
            return Ok(*node);
        }
        text.strip_prefix("type-")
            .and_then(|number| number.parse().ok())
            .map(Self::Other)
            .ok_or_else(|| format!("{text:?} is not a node type"))
    }
}

impl Serialize for NodeType {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for NodeType {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_types_have_the_drivers_numbers_and_unknown_ones_are_kept() {
        // CUgraphNodeType of cuda.h: the same in 11.8 to 13.5.
        assert_eq!(NodeType::from(10), NodeType::MemAlloc);
        assert_eq!(NodeType::from(11), NodeType::MemFree);
        assert_eq!(NodeType::from(13), NodeType::Conditional);
        for number in 0..20 {
            let node = NodeType::from(number);
            assert_eq!(node.to_string().parse(), Ok(node));
        }
        assert_eq!(NodeType::from(17).to_string(), "type-17");
        assert!("free".parse::<NodeType>().is_err());
    }

    #[test]
    fn an_allocation_without_a_free_node_is_unfreed() {
        let node = |bytes, address| AllocationNode {
            bytes,
            address,
            device: 0,
        };
        let content = GraphContent {
            allocations: vec![node(100, 0x1000), node(30, 0x2000)],
            frees: vec![0x1000],
            ..GraphContent::default()
        };
        assert_eq!(content.requested_bytes(), 130);
        assert_eq!(content.unfreed().map(|n| n.bytes).collect::<Vec<_>>(), [30]);
    }

    #[test]
    fn of_two_allocations_at_an_address_a_free_is_of_the_earlier() {
        let node = |bytes| AllocationNode {
            bytes,
            address: 0x1000,
            device: 0,
        };
        let content = GraphContent {
            allocations: vec![node(64), node(16)],
            frees: vec![0x1000, 0x9999],
            ..GraphContent::default()
        };
        assert_eq!(content.freed(), [true, false]);
        assert_eq!(content.unfreed().map(|n| n.bytes).collect::<Vec<_>>(), [16]);
    }
}
