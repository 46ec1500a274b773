//! The environment variables through which the launcher configures the library.
//!
//! The launcher sets them together with `LD_PRELOAD`; the library reads them once,
//! when the program starts, and never changes them, so children inherit them.

/// The folder of the recording, an absolute path; the launcher creates it. Without
/// this variable the library does nothing but pass calls on.
pub const DIRECTORY: &str = "GRAPH_MEMORY_WATCH_DIR";

/// Which graphs are printed as DOT files: [`DOT_MEMORY`] (the default),
/// [`DOT_ALL`] or [`DOT_NONE`].
pub const DOT: &str = "GRAPH_MEMORY_WATCH_DOT";

/// Value of [`DOT`]: graphs with memory nodes, and graphs with conditional nodes,
/// whose bodies can have memory nodes; none of more than [`DOT_NODES`] nodes, since
/// printing takes the driver some microseconds a node.
pub const DOT_MEMORY: &str = "memory";

/// The most nodes of a graph that is printed with [`DOT_MEMORY`].
pub const DOT_NODES: u64 = 100_000;

/// Value of [`DOT`]: all graphs.
pub const DOT_ALL: &str = "all";

/// Value of [`DOT`]: no graph.
pub const DOT_NONE: &str = "none";

/// The most bytes that one process writes as DOT files, a decimal number
/// (default [`DOT_LIMIT_DEFAULT`]). Graphs after that have no DOT file, and a
/// [`Note`](crate::Note) says so.
pub const DOT_LIMIT: &str = "GRAPH_MEMORY_WATCH_DOT_LIMIT";

/// The default of [`DOT_LIMIT`]: 1 GiB.
pub const DOT_LIMIT_DEFAULT: u64 = 1 << 30;

/// The driver's own variable: a library that `cuInit` loads and whose
/// `InitializeInjection` it calls. The launcher points it at the preloaded library,
/// as a witness that CUDA started, unless it is set already.
pub const INJECTION: &str = "CUDA_INJECTION64_PATH";
