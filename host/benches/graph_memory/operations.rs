//! The operations, through the safe layer. The counterpart in C++ does the same
//! calls in the same order.

use std::time::{Duration, Instant};

use cuda_graphs::{Buffer, Device, Graph, GraphExec, Result, Runtime, SpinKernel, Stream};

use crate::protocol::{Answer, Request};

/// What the operations work with.
pub struct Bench<'rt> {
    pub(crate) runtime: &'rt Runtime,
    pub(crate) device: Device<'rt>,
    pub(crate) kernel: &'rt SpinKernel<'rt>,
}

impl<'rt> Bench<'rt> {
    /// On a device that is current, with the kernel `clock_block`.
    pub fn new(runtime: &'rt Runtime, device: Device<'rt>, kernel: &'rt SpinKernel<'rt>) -> Self {
        Self {
            runtime,
            device,
            kernel,
        }
    }

    /// What this side is and runs on.
    pub fn hello(&self) -> Result<Answer> {
        let device = self.device.info()?;
        let version = |version: Option<_>| version.map(|v: cuda_graphs::Version| v.0);
        let memory = self.device.graph_memory().snapshot()?;
        Ok(Answer::new()
            .field("runtime_version", version(self.runtime.runtime_version()))
            .field("driver_version", version(self.runtime.driver_version()))
            .field(
                "runtime_path",
                self.runtime.path().map(|path| path.display().to_string()),
            )
            .field("model", self.runtime.model_description())
            .field("device", device.name)
            .field("device_free_bytes", memory.device_free_bytes))
    }

    /// Does what the request names.
    ///
    /// # Errors
    ///
    /// An unknown operation, a value that is missing, or a call that failed.
    pub fn answer(&self, request: &Request) -> anyhow::Result<Answer> {
        match request.name.as_str() {
            "relaunch" => self.relaunch(request),
            "life" => self.life(request),
            "scale" => self.scale(request),
            "limit" => self.limit(request),
            "mapping" => self.mapping(request),
            other => anyhow::bail!("no operation {other}"),
        }
    }

    fn relaunch(&self, request: &Request) -> anyhow::Result<Answer> {
        let (launches, batch) = (request.count("launches")?, request.count("batch")?);
        let stream = Stream::new(self.runtime)?;
        let exec = match request.get("bytes")? {
            0 => self.spin_alone()?,
            bytes => self.alloc_spin_free(bytes)?,
        };
        launch(&exec, &stream)?;
        stream.synchronize()?;
        let mut total = Duration::ZERO;
        let mut done = 0;
        while done < launches {
            let now = batch.min(launches - done);
            total += timed(|| (0..now).try_for_each(|_| launch(&exec, &stream)))?;
            stream.synchronize()?;
            done += now;
        }
        exec.destroy()?;
        stream.destroy()?;
        Ok(Answer::new().ns("launch_ns", total))
    }

    fn life(&self, request: &Request) -> anyhow::Result<Answer> {
        let (graphs, bytes) = (request.count("graphs")?, request.get("bytes")?);
        let total = timed(|| (0..graphs).try_for_each(|_| self.alloc_spin_free(bytes)?.destroy()))?;
        Ok(Answer::new().ns("life_ns", total))
    }

    fn scale(&self, request: &Request) -> anyhow::Result<Answer> {
        let (count, bytes) = (request.count("graphs")?, request.get("bytes")?);
        let batch = request.count("batch")?;
        let streams = (0..request.count("streams")?)
            .map(|_| Stream::new(self.runtime))
            .collect::<Result<Vec<_>>>()?;
        let memory = self.device.graph_memory();
        memory.trim()?;
        let mut graphs = Vec::with_capacity(count);
        let resident_before = resident_bytes();
        let create = timed(|| {
            for _ in 0..count {
                graphs.push(self.alloc_spin_free(bytes)?);
            }
            Ok(())
        })?;
        let launch_all = || -> Result<Duration> {
            let mut total = Duration::ZERO;
            let mut pairs = graphs.iter().zip(streams.iter().cycle());
            for first in (0..count).step_by(batch) {
                let now = pairs.by_ref().take(batch.min(count - first));
                total += timed(|| {
                    now.into_iter()
                        .try_for_each(|(exec, stream)| launch(exec, stream))
                })?;
                streams.iter().try_for_each(Stream::synchronize)?;
            }
            Ok(total)
        };
        let first = launch_all()?;
        let resident_launched = resident_bytes();
        let again = launch_all()?;
        let used = memory.snapshot()?.used_bytes;
        let destroy = timed(|| graphs.into_iter().try_for_each(GraphExec::destroy))?;
        memory.trim()?;
        streams.into_iter().try_for_each(Stream::destroy)?;
        Ok(Answer::new()
            .ns("create_ns", create)
            .ns("first_launch_ns", first)
            .ns("relaunch_ns", again)
            .ns("destroy_ns", destroy)
            .field("resident_before_bytes", resident_before)
            .field("resident_launched_bytes", resident_launched)
            .field("used_bytes", used))
    }

    /// Graphs until one is refused.
    fn limit(&self, request: &Request) -> anyhow::Result<Answer> {
        let (most, bytes) = (request.count("most")?, request.get("bytes")?);
        let mut graphs = Vec::new();
        let mut code = 0;
        while graphs.len() < most && code == 0 {
            match self.alloc_spin_free(bytes) {
                Ok(graph) => graphs.push(graph),
                Err(error) => code = error.code.0,
            }
        }
        let made = graphs.len();
        graphs.into_iter().try_for_each(GraphExec::destroy)?;
        Ok(Answer::new().field("graphs", made).field("code", code))
    }

    fn mapping(&self, request: &Request) -> anyhow::Result<Answer> {
        let bytes = request.get("bytes")?;
        let memory = self.device.graph_memory();
        memory.trim()?;
        let (one, other) = (Stream::new(self.runtime)?, Stream::new(self.runtime)?);
        let mut answer = Answer::new();

        let first = self.alloc_spin_free(bytes)?;
        answer = step(answer, "first_launch_ns", &one, || launch(&first, &one))?;
        answer = step(answer, "relaunch_ns", &one, || launch(&first, &one))?;
        answer = step(answer, "other_stream_ns", &other, || launch(&first, &other))?;
        answer = answer.ns("trim_ns", timed(|| memory.trim())?);
        answer = step(answer, "after_trim_ns", &other, || launch(&first, &other))?;
        first.destroy()?;
        memory.trim()?;

        let second = self.alloc_spin_free(bytes)?;
        answer = step(answer, "upload_ns", &one, || second.upload(&one))?;
        answer = step(answer, "after_upload_ns", &one, || launch(&second, &one))?;
        second.destroy()?;
        memory.trim()?;

        let start = Instant::now();
        let plain = Buffer::new(self.runtime, bytes)?;
        answer = answer.ns("malloc_ns", start.elapsed());
        answer = answer.ns("free_ns", timed(|| plain.free())?);

        // A pool keeps nothing over a synchronisation unless told to, so the first
        // allocation takes new memory; the second finds what was just freed.
        for name in ["malloc_async_ns", "malloc_async_again_ns"] {
            let start = Instant::now();
            let pooled = one.allocate(bytes)?;
            answer = answer.ns(name, start.elapsed());
            pooled.free_async(&one)?;
        }
        one.synchronize()?;
        one.destroy()?;
        other.destroy()?;
        Ok(answer)
    }

    /// Allocate, run a kernel that ends at once, free.
    fn alloc_spin_free(&self, bytes: u64) -> Result<GraphExec<'rt>> {
        let graph = Graph::new(self.runtime, self.device.ordinal())?;
        let alloc = graph.add_alloc(&[], bytes)?;
        let kernel = graph.add_spin(&[alloc.node], self.kernel, 0)?;
        graph.add_free(&[kernel], alloc.address)?;
        graph.instantiate()
    }

    /// A kernel that ends at once, without memory nodes.
    fn spin_alone(&self) -> Result<GraphExec<'rt>> {
        let graph = Graph::new(self.runtime, self.device.ordinal())?;
        graph.add_spin(&[], self.kernel, 0)?;
        graph.instantiate()
    }
}

/// Launches a graph that frees all it allocates.
fn launch<'rt>(exec: &GraphExec<'rt>, stream: &Stream<'rt>) -> Result<()> {
    exec.launch(stream).map(|launched| {
        debug_assert!(
            launched.live.is_empty(),
            "the graph frees what it allocates"
        );
    })
}

fn timed(action: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    action()?;
    Ok(start.elapsed())
}

/// Times the call alone; the next step begins when the stream is idle.
fn step(
    answer: Answer,
    name: &str,
    stream: &Stream<'_>,
    call: impl FnOnce() -> Result<()>,
) -> Result<Answer> {
    let answer = answer.ns(name, timed(call)?);
    stream.synchronize()?;
    Ok(answer)
}

/// Resident memory of this process; 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
