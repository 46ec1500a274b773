//! What the model does not show, and why.
//!
//! Rules that no call of the function table can express:
//!
//! - R6: that addresses need not differ asks for nothing, so nothing can break it.
//! - R12: ordering by a kernel's own waiting. Kernels here are durations.
//! - R53: access that a captured allocation takes over from its pool.
//! - R21 beyond the flags: device graphs are refused with memory nodes, and are
//!   not launched from a device.
//! - R26 beyond the refusal: moving a child graph needs `cudaGraphAddNode`, whose
//!   prototype changed from version to version; the table leaves it out.
//! - R27: updates of execs. A whole graph without memory nodes can be updated; one with
//!   memory nodes is refused, since no document says what happens. Updates of single
//!   nodes are not simulated.
//! - R51, R52: access descriptors are checked and kept, but nothing accesses.
//! - M17: compute-sanitizer cannot look into the model.
//!
//! Rules that the model keeps in a simpler form:
//!
//! - R10, R11: memory holds what copies, memsets and kernels wrote, by physical
//!   block, and changes when the call is made: races between streams are not shown.
//!   Of kernels the model runs those of whole numbers, loads, stores and jumps
//!   ([`program`](crate::kernels::program)); others take their time and write nothing. A stray
//!   write goes nowhere.
//! - R44: the stream-ordered pool counts bytes, in units of 32 MiB (assumed); each of
//!   its allocations has new addresses. There is the default pool of each device only.
//! - R31: the driver may remap at any time from instantiation on. The model maps
//!   at launch and upload only, as every measurement so far showed.
//! - R40: the driver may hold a launch back to keep live allocations apart. The
//!   model gives such a launch other memory.
//! - R42: on the H200 a trim while another graph runs gave nothing back now and then,
//!   returning in a few microseconds where others took a hundred. Two recorded
//!   programs went either way from run to run and were left out; six more of over
//!   fifty have such a trim. The model's trims always work.
//! - Segments of addresses that destroyed graphs gave back are handed out again in
//!   the order in which they came back; on the H200 the order is another one, which
//!   is not explained. Which addresses they are agrees.
//! - M13: a refused launch takes all that the device had left. In one recording (two
//!   segments in one graph) it took one block less.
//! - Kernels of independent branches and of different streams overlap without
//!   slowing each other down, and so do kernels of one stream's graphs only in
//!   the order of their launches.
//! - R55: calls from several threads are safe here. The real library promises
//!   that for graphs only when the program keeps threads apart.
//!
//! Of the driver API:
//!
//! - Contexts of a device share its memory, streams, graphs and modules; destroying or
//!   resetting one takes nothing away.
//! - Edges have no data. Copies have one row; arrays, textures, peers and external memory
//!   are not there.
//! - The numbers that dumps give to graphs count the graphs that were made, copies for
//!   child graphs included. Whether the driver counts anything else is not known.
//! - Of a dump's flags, 0, 1 and those for handles and memory nodes were recorded. What
//!   the others add is inferred from the verbose form.
