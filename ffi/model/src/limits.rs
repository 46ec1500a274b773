//! What the simulated runtime does not show, and why.
//!
//! Rules that no call of the function table can express:
//!
//! - R6: that addresses need not differ requires nothing, so nothing can break it.
//! - R12: ordering by a kernel's own waiting. Kernels here are durations.
//! - R53: access that a captured allocation takes over from its pool.
//! - R21 beyond the flags: device graphs are refused with memory nodes, and are
//!   not launched from a device.
//! - R26 beyond the refusal: `cudaGraphAddNode` adds conditional, empty and kernel nodes
//!   only, so a child graph cannot be moved.
//! - R27: updates of execs. A whole graph without memory nodes can be updated; one with
//!   memory nodes is refused, since no document says what happens. Kernel, memset, copy
//!   (of one row), host and child graph nodes can be updated each, and the first three
//!   disabled; the exec's duration stays what it was.
//! - R51, R52: access descriptors are checked and kept, but nothing accesses.
//! - M17: compute-sanitizer cannot look into the simulated runtime.
//!
//! Rules that the simulated runtime keeps in a simpler form:
//!
//! - R10, R11: memory holds what copies, memsets and kernels wrote, by physical
//!   block, and changes when the call is made, in the order of the calls: races between
//!   streams are not shown. Kernels run from PTX, up to 2^30 instructions a launch, and
//!   standard error says where one is ended. Their blocks run one after the other. Kernels
//!   with floating-point numbers of 16 bits, textures, tensor cores or machine code alone
//!   take their time and write nothing; of those that nvcc compiled into the program,
//!   standard error names each once. A stray write has no effect.
//! - Registers of kernels are not known: attributes say 32, and occupancy leaves them out. A
//!   cooperative launch runs, but its blocks cannot wait for each other.
//! - Copies of several rows are refused (801) in a capture, unless nothing lies between them.
//! - `printf` in kernels: the text is kept without a limit until it is written; a GPU keeps
//!   1 MiB and drops what is older. `%hhd` and `%zu` are written as C does; the `printf`
//!   of a GPU knows neither.
//! - R11: memory that nothing was written to reads as bytes of 0xcd. A copy of more than
//!   1 GiB to the host leaves the host's memory as it is there, so that a large sparse
//!   buffer stays sparse.
//! - R26: a graph has at most 2^20 nodes in child graphs, in at most 256 levels. With a GPU
//!   the host's memory is the limit.
//! - R56: bodies of conditional nodes are carried out as often as their kernels ask for,
//!   up to 2^20 rounds of a WHILE. In time each conditional node counts as one round.
//! - R44: the stream-ordered pool counts bytes, in units of 32 MiB (assumed). Each of its
//!   allocations has new addresses until all addresses of the pool have been used once.
//!   There is the default pool of each device only.
//! - R31: the driver may remap at any time from instantiation on. Here memory is mapped
//!   at launch and upload only, as in every measurement so far.
//! - R40: the driver may delay a launch to keep live allocations apart. Here such a launch
//!   gets other memory.
//! - R42: on the H200 a trim while another graph runs sometimes returned no memory, in a
//!   few microseconds where others took a hundred. Two recorded programs went either way
//!   from run to run and were left out; six more of over fifty have such a trim. Here
//!   trims always work.
//! - Segments of addresses that destroyed graphs have returned are used again in the order
//!   in which they were returned; on the H200 the order is another one, which is not
//!   explained. Which addresses they are agrees.
//! - M13: a refused launch takes all that the device had left. In one recording (two
//!   segments in one graph) it took one block less.
//! - Kernels of independent branches and of different streams overlap without
//!   slowing each other down, and so do kernels of one stream's graphs only in
//!   the order of their launches.
//! - R55: calls from several threads are safe here. The real library promises
//!   that for graphs only when the program keeps threads apart.
//! - A forked child of a process that has used CUDA gets what an H200 answered
//!   (`library/tests/library/fork.h200`). Where the H200's pool allocates in the child from memory
//!   that it holds, this one does too.
//!
//! Adding a memory node takes time in the number of branches that its node is ordered
//! after. In a graph whose nodes depend on random others that is most of the graph: at
//! 10,000 pairs of alloc and free nodes a node takes some 10 times what it takes at 1,000.
//!
//! Of the driver API:
//!
//! - Contexts of a device share its memory, streams, graphs and modules; destroying or
//!   resetting one takes nothing away.
//! - Edges have no data. Copies have one row; arrays, textures, peers and external memory
//!   are not there.
//! - The numbers that dumps give to graphs count the graphs that were made, copies for
//!   child graphs included. Whether the driver counts anything else is not known.
//! - In a dump, memory of the host is pageable. Of copies with a side on the host the form
//!   of the runtime's call is inferred from that of the driver's.
