//! A reading of a device's memory.

use serde::{Deserialize, Serialize};

/// The memory of a device at one moment. A value is absent if it could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Free memory of the device in bytes (`cuMemGetInfo`), which all processes share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// The graph memory of this process on the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphMemory>,
    /// The stream-ordered pools on the device that this process has used so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolMemory>,
}

/// The four graph memory attributes of a device (`cuDeviceGetGraphMemAttribute`),
/// in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphMemory {
    /// `CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT`: memory that graphs use.
    pub used_bytes: u64,
    /// `CU_GRAPH_MEM_ATTR_USED_MEM_HIGH`: the highest value of `used_bytes`.
    pub used_high_bytes: u64,
    /// `CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT`: physical memory of the device's graph
    /// memory pool, used or not.
    pub reserved_bytes: u64,
    /// `CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH`: the highest value of `reserved_bytes`.
    pub reserved_high_bytes: u64,
}

/// A stream-ordered memory pool (`cuMemPoolGetAttribute`), in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolMemory {
    /// The pool. 0 is the device's default pool; others count from 1 in the order
    /// in which this process first used them.
    pub pool: u64,
    /// `CU_MEMPOOL_ATTR_USED_MEM_CURRENT`: memory of live allocations.
    pub used_bytes: u64,
    /// `CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT`: physical memory of the pool, used or
    /// not.
    pub reserved_bytes: u64,
}
