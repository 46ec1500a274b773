//! What the simulated runtime does not simulate, and why.
//!
//! Rules that cannot be shown with the functions of the table:
//!
//! - R6: it only says that addresses may be equal, so no program can violate it.
//! - R12: synchronization inside kernels. It cannot order work here, because kernels do not
//!   run at the same time.
//! - R53: a captured allocation takes the access list of its pool.
//! - R21, except for the flags: device graphs with memory nodes are refused, and a graph
//!   cannot be launched from a device.
//! - R26, except for the refusal: `cudaGraphAddNode` adds only conditional, empty and
//!   kernel nodes, so a child graph cannot be moved.
//! - R27: updates of execs. A whole graph without memory nodes can be updated. One with
//!   memory nodes is refused, because CUDA's behaviour is not documented. Single kernel,
//!   memset, copy (of one row), host and child graph nodes can be updated, and the first
//!   three can be disabled. The duration of the exec does not change.
//! - R51, R52: access descriptors are checked and stored, but have no effect.
//! - M17: compute-sanitizer does not work with the simulated runtime.
//!
//! Rules that are simulated in a simpler form:
//!
//! - R10, R11: memory contains what copies, memsets and kernels wrote, per physical block.
//!   It changes when the call is made, in the order of the calls, so races between streams
//!   are not simulated. Kernels run from PTX, up to 2^30 instructions per launch; if one is
//!   stopped, a message on standard error says so. The blocks of a kernel run one after the
//!   other. Kernels that use 16-bit floating-point numbers, textures or tensor cores, and
//!   kernels without PTX, take their time and write nothing. If nvcc compiled such a kernel
//!   into the program, a message on standard error names it once. A stray write has no
//!   effect.
//! - The number of registers of a kernel is not known: its attribute is 32, and the
//!   occupancy calculation ignores registers. A cooperative launch runs, but its blocks
//!   cannot wait for each other.
//! - In a capture, copies of several rows are refused (801) if there are gaps between the
//!   rows.
//! - `printf` in kernels: text is stored without a limit until it is written; a GPU stores
//!   1 MiB and drops older text. `%hhd` and `%zu` are written as in C; the `printf` of a
//!   GPU supports neither.
//! - R11: bytes that were never written read as 0xcd. A copy of more than 1 GiB to the host
//!   skips such bytes, so that a large sparse buffer stays sparse.
//! - R26: a graph can have at most 2^20 nodes in child graphs, in at most 256 levels. With
//!   a GPU, the host's memory is the limit.
//! - R56: bodies of conditional nodes run as often as their kernels require, up to 2^20
//!   rounds of a WHILE. For the simulated time, each conditional node counts as one round.
//! - R44: the stream-ordered pool only counts bytes, in multiples of 32 MiB (assumed). Each
//!   allocation gets new addresses until all addresses of the pool have been used once. The
//!   only pools are the default pools of the devices.
//! - R31: the driver may remap memory at any time from instantiation on. Here, memory is
//!   mapped only at launch and upload, as in every measurement so far.
//! - R40: the driver may delay a launch to keep live allocations apart. Here, such a launch
//!   gets other memory.
//! - R42: on the H200, a trim while another graph runs sometimes returned no memory; it
//!   then took a few microseconds instead of a hundred. In two recorded programs, this
//!   differed from run to run, so they were left out. Six more of over fifty contain such a
//!   trim. Here, a trim always returns memory.
//! - Address segments that destroyed graphs have returned are used again in the order in
//!   which they were returned. On the H200 the order is different, and it is not explained.
//!   The set of addresses is the same.
//! - M13: a refused launch takes all memory that the device had left. In one recording (two
//!   segments in one graph) it took one block less.
//! - Kernels of independent branches and of different streams overlap without slowing each
//!   other down. Graphs that are launched in one stream run one after the other.
//! - R55: calls from several threads are safe here. The real library guarantees that for
//!   graphs only if the program synchronizes its threads.
//! - In a forked child of a process that has used CUDA, calls return what they returned on
//!   an H200 (`library/tests/library/fork.h200`). On the H200, the pool can allocate in the
//!   child from memory that it has already reserved; here too.
//!
//! The time to add a memory node is proportional to the number of branches that the node is
//! ordered after. If nodes depend on random other nodes, these are most of the branches of
//! the graph: with 10,000 pairs of alloc and free nodes, a node takes about 10 times as
//! long as with 1,000.
//!
//! Limits of the driver API:
//!
//! - The contexts of a device share its memory, streams, graphs and modules. Destroying or
//!   resetting a context frees nothing.
//! - Edges have no data. Copies have one row. Arrays, textures, peer access and external
//!   memory are not simulated.
//! - The numbers of graphs in dumps count all graphs that were created, including copies
//!   for child graphs. Whether the driver counts anything else is not known.
//! - In a dump, host memory is always pageable. For copies with a host side, the output of
//!   the runtime's function is inferred from that of the driver's.
