//! Random programs in the suite's language, from a seed. The same seed gives the same
//! programs on every machine.
//!
//! A trace must not depend on the speed of a machine. The generator therefore keeps, for
//! each stream, the interval of time in which its work will end. If it cannot tell whether
//! a stream is still busy, it synchronizes with it before the next call. It does not know
//! the results of calls.

use core::fmt::Write as _;

/// What a program tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A few small graphs, which are launched, uploaded, trimmed and freed in many
    /// orders on several streams.
    Schedule,
    /// One graph with many memory nodes: addresses, used and reserved memory.
    Shape,
}

impl Kind {
    /// The name of the kind in a program's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Shape => "shape",
        }
    }
}

/// The text of the `index`-th program of a seed.
#[must_use]
pub fn program(kind: Kind, seed: u64, index: u64) -> String {
    // Seeds and indices are small, so they are spread, and the kinds get different
    // values.
    let mixed = (seed << 33) ^ (index << 1) ^ u64::from(kind == Kind::Shape);
    let random = Random(mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    match kind {
        Kind::Schedule => Schedule::new(random).text(),
        Kind::Shape => shape(random),
    }
}

/// SplitMix64, which is small and gives the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is at least 1.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(from.len());
        from.get(index)
    }

    /// A size in the syntax of the language, often close to a block of 32 MiB or 2 MiB.
    fn size(&mut self) -> String {
        const COMMON: &[&str] = &[
            "1", "512", "513", "1MiB", "2MiB", "2097153", "16MiB", "31MiB", "32MiB", "33554433",
            "33MiB", "48MiB", "64MiB", "64MiB", "65MiB", "96MiB", "100MiB", "128MiB", "160MiB",
        ];
        match self.below(10) {
            0 | 1 => format!("{}", 512 * (1 + self.below(4096))),
            2 => format!("{}MiB", 1 + self.below(100)),
            _ => self.pick(COMMON).copied().unwrap_or("64MiB").to_owned(),
        }
    }
}

/// An interval of host time in milliseconds, in which an event happens.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    earliest: f64,
    latest: f64,
}

impl Moment {
    fn max(self, other: Self) -> Self {
        Self {
            earliest: self.earliest.max(other.earliest),
            latest: self.latest.max(other.latest),
        }
    }

    fn plus(self, least: f64, most: f64) -> Self {
        Self {
            earliest: self.earliest + least,
            latest: self.latest + most,
        }
    }
}

/// The longest duration of a call in milliseconds, with a wide margin. A launch that maps
/// 64 MiB takes about 0.1 ms (M4).
const CALL_MS: f64 = 0.2;
const LAUNCH_MS: f64 = 1.0;
/// The time in milliseconds before its end from which a stream no longer counts as
/// certainly busy.
const MARGIN_MS: f64 = 6.0;

/// The state of a stream, as far as the generator knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    Idle,
    Busy,
    Unknown,
}

struct Graph {
    /// The spin time of its kernel in milliseconds; 0 for no kernel.
    spin_ms: u32,
    /// Names of allocations that the graph does not free.
    orphans: Vec<String>,
    auto_free: bool,
    has_exec: bool,
    destroyed: bool,
    /// Whether unfreed allocations of the last launch are live.
    live: bool,
    last_stream: usize,
    end: Moment,
}

struct Schedule {
    random: Random,
    text: String,
    lines: usize,
    now: Moment,
    streams: Vec<Moment>,
    graphs: Vec<Graph>,
    events: usize,
}

/// The number of lines of a program. The last phase may exceed it slightly.
const LINES: usize = 38;

impl Schedule {
    fn new(random: Random) -> Self {
        Self {
            random,
            text: String::new(),
            lines: 0,
            now: Moment::default(),
            streams: Vec::new(),
            graphs: Vec::new(),
            events: 0,
        }
    }

    fn text(mut self) -> String {
        let streams = 1 + self.random.below(3);
        for stream in 0..streams {
            self.line(&format!("stream s{stream}"));
            self.streams.push(Moment::default());
        }
        let graphs = 2 + self.random.below(3);
        for _ in 0..graphs {
            self.graph();
        }
        while self.lines < LINES {
            self.settle();
            self.step();
        }
        self.text
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
        self.lines += 1;
        let most = if line.starts_with("launch") {
            LAUNCH_MS
        } else {
            CALL_MS
        };
        self.now = self.now.plus(0.0, most);
    }

    /// Creates and instantiates one more graph.
    fn graph(&mut self) {
        let g = self.graphs.len();
        self.line(&format!("graph g{g}"));
        let spin_ms = [0, 0, 20, 20, 60][self.random.below(5)];
        let (a, b) = (format!("a{g}"), format!("b{g}"));
        let size = self.random.size();
        self.line(&format!("alloc {a} in g{g} {size}"));
        let mut last = a.clone();
        let mut orphans = Vec::new();
        let second = self.random.below(10);
        if second < 3 {
            // A second allocation that is live at the same time as the first,
            // sometimes without an order.
            let after = if second == 0 {
                String::new()
            } else {
                format!(" after {a}")
            };
            let size = self.random.size();
            self.line(&format!("alloc {b} in g{g} {size}{after}"));
            last = if second == 0 {
                format!("{a},{b}")
            } else {
                b.clone()
            };
        }
        if spin_ms > 0 {
            self.line(&format!(
                "kernel k{g} in g{g} after {last} hold {spin_ms}ms"
            ));
            last = format!("k{g}");
        }
        let frees_first = self.random.percent(65);
        if frees_first {
            self.line(&format!("free fa{g} of {a} in g{g} after {last}"));
        } else {
            orphans.push(a.clone());
        }
        if second < 3 {
            if self.random.percent(65) {
                self.line(&format!("free fb{g} of {b} in g{g} after {last}"));
            } else {
                orphans.push(b);
            }
        } else if second < 5 && frees_first {
            // A second allocation that may get the first one's address.
            let size = self.random.size();
            self.line(&format!("alloc {b} in g{g} {size} after fa{g}"));
            if self.random.percent(65) {
                self.line(&format!("free fb{g} of {b} in g{g} after {b}"));
            } else {
                orphans.push(b);
            }
        }
        self.graphs.push(Graph {
            spin_ms,
            auto_free: !orphans.is_empty() && self.random.percent(30),
            orphans,
            has_exec: false,
            destroyed: false,
            live: false,
            last_stream: 0,
            end: Moment::default(),
        });
        self.instantiate(g);
    }

    fn instantiate(&mut self, g: usize) {
        let Some(graph) = self.graphs.get_mut(g) else {
            return;
        };
        graph.has_exec = true;
        let flag = if graph.auto_free { " auto-free" } else { "" };
        self.line(&format!("instantiate x{g} of g{g}{flag}"));
    }

    fn activity(&self, end: Moment) -> Activity {
        if end.latest <= self.now.earliest {
            Activity::Idle
        } else if end.earliest > self.now.latest + MARGIN_MS {
            Activity::Busy
        } else {
            Activity::Unknown
        }
    }

    /// Waits for every stream of which the generator cannot tell whether it is busy.
    fn settle(&mut self) {
        while let Some(stream) = (0..self.streams.len())
            .find(|&stream| self.activity(self.streams[stream]) == Activity::Unknown)
        {
            self.sync(stream);
        }
    }

    fn sync(&mut self, stream: usize) {
        self.line(&format!("sync s{stream}"));
        self.now = self.now.max(self.streams[stream]);
        self.streams[stream] = Moment::default();
        self.restart_account();
    }

    /// When no work is running, the earlier intervals are discarded.
    fn restart_account(&mut self) {
        if self
            .streams
            .iter()
            .all(|&end| self.activity(end) == Activity::Idle)
        {
            self.now = Moment::default();
            self.streams.fill(Moment::default());
            for graph in &mut self.graphs {
                graph.end = Moment::default();
            }
        }
    }

    fn device_sync(&mut self) {
        self.line("device-sync");
        for stream in &mut self.streams {
            self.now = self.now.max(*stream);
            *stream = Moment::default();
        }
        self.restart_account();
    }

    fn any_busy(&self) -> bool {
        self.streams
            .iter()
            .any(|&end| self.activity(end) != Activity::Idle)
    }

    /// A graph that satisfies `wanted`.
    fn some_graph(&mut self, wanted: impl Fn(&Graph) -> bool) -> Option<usize> {
        let fitting: Vec<usize> = (0..self.graphs.len())
            .filter(|&g| wanted(&self.graphs[g]))
            .collect();
        self.random.pick(&fitting).copied()
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..45 => self.launch_some(),
            45..53 => {
                if let Some(g) = self.some_graph(|graph| graph.has_exec) {
                    let stream = self.random.below(self.streams.len());
                    self.line(&format!("upload x{g} on s{stream}"));
                    self.occupy(g, stream, 0);
                }
            }
            53..63 => self.line("trim"),
            63..71 => self.free_some(false),
            71..77 => self.free_some(true),
            77..81 => {
                if let Some(g) = self.some_graph(|graph| graph.has_exec) {
                    self.line(&format!("destroy-exec x{g}"));
                    self.graphs[g].has_exec = false;
                }
            }
            81..87 => {
                if let Some(g) = self.some_graph(|graph| !graph.has_exec && !graph.destroyed) {
                    self.instantiate(g);
                }
            }
            87..90 => {
                let stream = self.random.below(self.streams.len());
                self.sync(stream);
            }
            90..93 => self.device_sync(),
            93..96 => self.order_streams(),
            96..98 => {
                let mark = if self.random.percent(50) {
                    "used"
                } else {
                    "reserved"
                };
                self.line(&format!("reset-high {mark}"));
            }
            98 => {
                let stream = self.random.below(self.streams.len());
                self.line(&format!("query s{stream}"));
            }
            _ => {
                if let Some(g) = self.some_graph(|graph| !graph.destroyed) {
                    self.line(&format!("destroy-graph g{g}"));
                    self.graphs[g].destroyed = true;
                }
            }
        }
    }

    fn launch_some(&mut self) {
        let Some(g) = self.some_graph(|graph| graph.has_exec) else {
            return;
        };
        let mut stream = self.random.below(self.streams.len());
        let graph = &self.graphs[g];
        // Frees, and launches of an exec that is busy in another stream, are
        // ordered, so that it is always certain which launch an allocation belongs
        // to.
        if !graph.orphans.is_empty() && self.activity(graph.end) != Activity::Idle {
            stream = graph.last_stream;
        }
        let refused = graph.live && !graph.auto_free;
        if refused && self.random.percent(60) {
            return;
        }
        let (spin_ms, orphans) = (graph.spin_ms, !graph.orphans.is_empty());
        self.line(&format!("launch x{g} on s{stream}"));
        if refused {
            // The launch may have been accepted; the intervals must allow for
            // that.
            self.occupy(g, stream, 0);
            self.device_sync();
            self.now = self.now.plus(0.0, f64::from(spin_ms));
        } else {
            self.occupy(g, stream, spin_ms);
            self.graphs[g].live = orphans;
        }
    }

    /// Records a run of graph `g`'s exec in a stream.
    fn occupy(&mut self, g: usize, stream: usize, spin_ms: u32) {
        let spin = f64::from(spin_ms);
        let start = self.now.max(self.streams[stream]).max(self.graphs[g].end);
        // The clock rate may be lower than the nominal rate.
        let end = start.plus(spin, spin * 1.2 + LAUNCH_MS);
        self.streams[stream] = end;
        self.graphs[g].end = end;
        self.graphs[g].last_stream = stream;
    }

    fn free_some(&mut self, in_stream: bool) {
        let Some(g) = self.some_graph(|graph| graph.live) else {
            return;
        };
        let orphans = self.graphs[g].orphans.clone();
        if in_stream {
            let mut stream = self.random.below(self.streams.len());
            if self.activity(self.graphs[g].end) != Activity::Idle {
                stream = self.graphs[g].last_stream;
            }
            for orphan in &orphans {
                self.line(&format!("freeasync {orphan} on s{stream}"));
                let start = self.now.max(self.streams[stream]);
                self.streams[stream] = start.plus(0.0, CALL_MS);
                self.settle();
            }
        } else {
            for orphan in &orphans {
                self.line(&format!("cudafree {orphan}"));
                // The generator does not know whether the call waits for the
                // device.
                if self.any_busy() {
                    self.device_sync();
                }
            }
        }
        self.graphs[g].live = false;
    }

    /// Makes one stream wait for another stream's work through an event.
    fn order_streams(&mut self) {
        if self.streams.len() < 2 {
            return;
        }
        let from = self.random.below(self.streams.len());
        let to = (from + 1) % self.streams.len();
        let e = self.events;
        self.events += 1;
        self.line(&format!("event e{e}"));
        self.line(&format!("record e{e} on s{from}"));
        self.line(&format!("wait s{to} for e{e}"));
        self.streams[to] = self.streams[to].max(self.streams[from]);
    }
}

/// One graph with many memory nodes, and then its launches, frees and trims.
fn shape(mut random: Random) -> String {
    let mut text = String::from("stream s\ngraph g\n");
    let mode = random.below(4);
    let count = 4 + random.below(15);
    let mut nodes: Vec<String> = Vec::new();
    let mut live: Vec<String> = Vec::new();
    for n in 0..count {
        let mut after = dependencies(&mut random, mode, &nodes);
        let free = !live.is_empty() && random.percent(45);
        let name = if free {
            let pointer = live.swap_remove(random.below(live.len()));
            if !after.contains(&pointer) {
                after.push(pointer.clone());
            }
            let name = format!("f{n}");
            let _ = write!(text, "free {name} of {pointer} in g");
            name
        } else {
            let name = format!("a{n}");
            let _ = write!(text, "alloc {name} in g {}", random.size());
            live.push(name.clone());
            name
        };
        if !after.is_empty() {
            let _ = write!(text, " after {}", after.join(","));
        }
        text.push('\n');
        nodes.push(name);
    }
    // Usually few allocations are left unfreed, as in real graphs.
    while live.len() > 2 || (!live.is_empty() && random.percent(50)) {
        let pointer = live.swap_remove(random.below(live.len()));
        let last = nodes.last().cloned().unwrap_or_else(|| pointer.clone());
        let name = format!("f{}", nodes.len());
        let _ = write!(text, "free {name} of {pointer} in g after {pointer}");
        if last != pointer {
            let _ = write!(text, ",{last}");
        }
        text.push('\n');
        nodes.push(name);
    }
    text += "instantiate x of g\n";
    if random.percent(25) {
        text += "upload x on s\nsync s\n";
    }
    text += "launch x on s\nsync s\nlaunch x on s\nsync s\ntrim\n";
    for pointer in &live {
        let _ = writeln!(text, "cudafree {pointer}");
    }
    text += "launch x on s\nsync s\n";
    for pointer in &live {
        let _ = writeln!(text, "freeasync {pointer} on s");
    }
    text += "sync s\ntrim\n";
    text
}

/// Dependencies on earlier nodes. Mode 0: a chain; 1: one random node; 2: the chain and one
/// more; 3: none to two.
fn dependencies(random: &mut Random, mode: usize, nodes: &[String]) -> Vec<String> {
    let mut after: Vec<String> = Vec::new();
    if mode == 0 || mode == 2 {
        after.extend(nodes.last().cloned());
    }
    let more = match mode {
        0 => 0,
        1 | 2 => 1,
        _ => random.below(3),
    };
    for _ in 0..more {
        if let Some(node) = random.pick(nodes)
            && !after.contains(node)
        {
            after.push(node.clone());
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::super::program::Program;
    use super::*;

    #[test]
    fn random_programs_are_valid_and_the_same_for_the_same_seed() {
        for kind in [Kind::Schedule, Kind::Shape] {
            for index in 0..200 {
                let text = program(kind, 7, index);
                let parsed = Program::parse("random", &text);
                assert!(parsed.is_ok(), "{:?}\n{text}", parsed.err());
                assert_eq!(text, program(kind, 7, index));
            }
            assert_ne!(program(kind, 7, 0), program(kind, 8, 0));
            assert_ne!(program(kind, 7, 0), program(kind, 7, 1));
        }
    }
}
