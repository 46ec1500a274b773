//! The environment variables that configure the library.
//!
//! `graph-memory-footprint watch` sets them together with `LD_PRELOAD`. The library reads
//! them once, when the program starts, and never changes them, so child processes inherit
//! them.

/// The folder of the recording, as an absolute path; `watch` creates it. Without this
/// variable the library records nothing and only passes calls on.
pub const DIRECTORY: &str = "GRAPH_MEMORY_WATCH_DIR";

/// Which graphs are printed as DOT files: [`DOT_MEMORY`] (the default),
/// [`DOT_ALL`] or [`DOT_NONE`].
pub const DOT: &str = "GRAPH_MEMORY_WATCH_DOT";

/// Value of [`DOT`]: print graphs that have memory nodes, and graphs that have conditional
/// nodes, because their bodies can have memory nodes. Graphs of more than [`DOT_NODES`]
/// nodes are not printed, because the driver needs some microseconds per node.
pub const DOT_MEMORY: &str = "memory";

/// The largest number of nodes of a graph that is printed with [`DOT_MEMORY`].
pub const DOT_NODES: u64 = 100_000;

/// Value of [`DOT`]: print all graphs.
pub const DOT_ALL: &str = "all";

/// Value of [`DOT`]: print no graph.
pub const DOT_NONE: &str = "none";

/// The largest number of bytes of DOT files that one process writes, as a decimal number
/// (default [`DOT_LIMIT_DEFAULT`]). Further graphs have no DOT file, and a
/// [`Note`](crate::Note) says so.
pub const DOT_LIMIT: &str = "GRAPH_MEMORY_WATCH_DOT_LIMIT";

/// The default of [`DOT_LIMIT`]: 1 GiB.
pub const DOT_LIMIT_DEFAULT: u64 = 1 << 30;

/// A variable of the driver: it names a library that `cuInit` loads, and whose function
/// `InitializeInjection` it calls. Unless the variable is already set, `watch` sets it to
/// the preloaded library, so that the recording shows when CUDA starts.
pub const INJECTION: &str = "CUDA_INJECTION64_PATH";
