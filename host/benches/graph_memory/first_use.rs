//! What is done for the first time in a process, until it is finished.

use clap::ValueEnum;
use cuda_graphs::{Buffer, Graph, Result, Stream};

use crate::operations::Bench;

/// Bytes of what is allocated.
const BYTES: u64 = 64 << 20;

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FirstUse {
    /// A stream, created and destroyed.
    Stream,
    /// Plain memory, allocated and freed.
    Malloc,
    /// A kernel, launched into a stream.
    Kernel,
    /// A graph of a kernel.
    KernelGraph,
    /// A graph that allocates and frees.
    MemoryGraph,
}

impl FirstUse {
    /// The name of its time in the answer.
    pub fn answer_name(self) -> &'static str {
        match self {
            Self::Stream => "stream_ns",
            Self::Malloc => "malloc_ns",
            Self::Kernel => "kernel_ns",
            Self::KernelGraph => "kernel_graph_ns",
            Self::MemoryGraph => "memory_graph_ns",
        }
    }
}

impl<'rt> Bench<'rt> {
    /// Does it once and waits for its end.
    ///
    /// # Errors
    ///
    /// Those of the calls.
    pub fn first_use(&self, kind: FirstUse) -> Result<()> {
        let stream = Stream::new(self.runtime)?;
        let run = |graph: &Graph<'rt>| -> Result<()> {
            let exec = graph.instantiate()?;
            let launched = exec.launch(&stream)?;
            debug_assert!(
                launched.live.is_empty(),
                "the graph frees what it allocates"
            );
            stream.synchronize()?;
            exec.destroy()
        };
        match kind {
            FirstUse::Stream => {}
            FirstUse::Malloc => Buffer::new(self.runtime, BYTES)?.free()?,
            FirstUse::Kernel => {
                self.kernel.launch(&stream, 0)?;
                stream.synchronize()?;
            }
            FirstUse::KernelGraph => {
                let graph = Graph::new(self.runtime, self.device.ordinal())?;
                graph.add_spin(&[], self.kernel, 0)?;
                run(&graph)?;
            }
            FirstUse::MemoryGraph => {
                let graph = Graph::new(self.runtime, self.device.ordinal())?;
                let alloc = graph.add_alloc(&[], BYTES)?;
                graph.add_free(&[alloc.node], alloc.address)?;
                run(&graph)?;
            }
        }
        stream.destroy()
    }
}
