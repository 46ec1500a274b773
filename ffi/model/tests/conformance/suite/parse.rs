//! Reads a line of the language, word by word.

use std::collections::BTreeSet;

use super::program::{After, Alloc, HighMark, Kernel, Name, Op, Pointer};

/// The names that earlier lines created, by kind.
#[derive(Debug, Default)]
pub struct Made {
    streams: BTreeSet<String>,
    events: BTreeSet<String>,
    graphs: BTreeSet<String>,
    nodes: BTreeSet<String>,
    execs: BTreeSet<String>,
    pointers: BTreeSet<String>,
}

/// The words of a line from left to right.
struct Words<'a> {
    rest: &'a [&'a str],
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        let (first, rest) = self
            .rest
            .split_first()
            .ok_or_else(|| format!("{what} is missing"))?;
        self.rest = rest;
        Ok(first)
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        let found = self.next(&format!("'{word}'"))?;
        if found == word {
            Ok(())
        } else {
            Err(format!("'{word}' is expected, not '{found}'"))
        }
    }

    /// Takes the next word if it is this one.
    fn take(&mut self, word: &str) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == word => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// The value of an optional `key value` pair.
    fn option<T>(
        &mut self,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        if self.take(key) {
            read(self.next(key)?).map(Some)
        } else {
            Ok(None)
        }
    }

    /// A name for a new object.
    fn new_name(&mut self, known: &mut BTreeSet<String>) -> Result<Name, String> {
        let word = self.next("a name")?;
        if word == "null" {
            return Ok(Name::Null);
        }
        check_name(word)?;
        known.insert(word.to_owned());
        Ok(Name::Named(word.to_owned()))
    }

    /// A name that an earlier line created, or `null`.
    fn known_name(&mut self, kind: &str, known: &BTreeSet<String>) -> Result<Name, String> {
        known_name(self.next(kind)?, kind, known)
    }

    fn pointer(&mut self, known: &BTreeSet<String>) -> Result<Pointer, String> {
        let word = self.next("a pointer")?;
        if word == "null" {
            return Ok(Pointer::Null);
        }
        if word.starts_with("0x") {
            return integer(word).map(Pointer::Absolute);
        }
        let (name, beyond) = match word.split_once('+') {
            Some((name, beyond)) => (name, bytes(beyond)?),
            None => (word, 0),
        };
        if known.contains(name) {
            Ok(Pointer::Named(name.to_owned(), beyond))
        } else {
            Err(format!("no earlier line created the pointer '{name}'"))
        }
    }

    fn after(&mut self, nodes: &BTreeSet<String>) -> Result<After, String> {
        let mut after = After::default();
        if let Some(list) = self.option("after", |list| Ok(list.to_owned()))? {
            after.nodes = list
                .split(',')
                .map(|name| known_name(name, "node", nodes))
                .collect::<Result<_, _>>()?;
        }
        after.count_without_array = self.option("after-without-array", |count| {
            integer(count).map(|n| n as usize)
        })?;
        Ok(after)
    }

    fn end(&self) -> Result<(), String> {
        match self.rest.first() {
            Some(word) => Err(format!("'{word}' is one word too many")),
            None => Ok(()),
        }
    }
}

fn check_name(word: &str) -> Result<(), String> {
    let starts_well = word.starts_with(|c: char| c.is_ascii_alphabetic());
    if starts_well && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        Ok(())
    } else {
        Err(format!("'{word}' is not a valid name"))
    }
}

fn known_name(word: &str, kind: &str, known: &BTreeSet<String>) -> Result<Name, String> {
    if word == "null" {
        Ok(Name::Null)
    } else if known.contains(word) {
        Ok(Name::Named(word.to_owned()))
    } else {
        Err(format!("no earlier line created the {kind} '{word}'"))
    }
}

/// An integer, decimal or with `0x`.
fn integer(word: &str) -> Result<u64, String> {
    let parsed = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    parsed.map_err(|error| format!("'{word}': {error}"))
}

fn small<T: TryFrom<u64>>(word: &str) -> Result<T, String> {
    T::try_from(integer(word)?).map_err(|_| format!("'{word}' is too large here"))
}

fn device_id(word: &str) -> Result<i32, String> {
    word.parse().map_err(|error| format!("'{word}': {error}"))
}

/// A size in bytes: `512`, `64MiB`, `1GiB`, `1TiB`.
fn bytes(word: &str) -> Result<u64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
    for (unit, shift) in units {
        if let Some(number) = word.strip_suffix(unit) {
            return integer(number)?
                .checked_mul(1 << shift)
                .ok_or_else(|| format!("'{word}' is too large"));
        }
    }
    integer(word)
}

/// A duration in microseconds: `20ms` or `500us`.
fn microseconds(word: &str) -> Result<u64, String> {
    if let Some(number) = word.strip_suffix("us") {
        integer(number)
    } else if let Some(number) = word.strip_suffix("ms") {
        integer(number).map(|ms| ms.saturating_mul(1000))
    } else {
        Err(format!("'{word}' has no unit; write 20ms or 500us"))
    }
}

/// Extents: `4` or `4x1x1`.
fn extents(word: &str) -> Result<[u32; 3], String> {
    let mut extents = [1; 3];
    let parts: Vec<&str> = word.split('x').collect();
    if parts.len() > extents.len() {
        return Err(format!("'{word}' has more than three extents"));
    }
    for (extent, part) in extents.iter_mut().zip(parts) {
        *extent = small(part)?;
    }
    Ok(extents)
}

fn high_mark(word: &str) -> Result<HighMark, String> {
    match word {
        "used" => Ok(HighMark::Used),
        "reserved" => Ok(HighMark::Reserved),
        other => Err(format!(
            "'{other}' is not a high-water mark; write used or reserved"
        )),
    }
}

/// Reads the words of a line. A name that the line creates is known from then on.
///
/// # Errors
///
/// A sentence: why the line is not in the language, or which name was not created.
pub fn parse_op(line: &[&str], made: &mut Made) -> Result<Op, String> {
    let mut words = Words { rest: line };
    let verb = words.next("a verb")?;
    let op = match verb {
        "stream" => Op::Stream {
            stream: words.new_name(&mut made.streams)?,
            flags: words.option("flags", small)?.unwrap_or(1),
        },
        "event" => Op::Event {
            event: words.new_name(&mut made.events)?,
            flags: words.option("flags", small)?.unwrap_or(2),
        },
        "destroy-stream" | "sync" | "query" => {
            let stream = words.known_name("stream", &made.streams)?;
            match verb {
                "sync" => Op::Sync { stream },
                "query" => Op::Query { stream },
                _ => Op::DestroyStream { stream },
            }
        }
        "destroy-event" | "sync-event" => {
            let event = words.known_name("event", &made.events)?;
            match verb {
                "sync-event" => Op::SyncEvent { event },
                _ => Op::DestroyEvent { event },
            }
        }
        "device-sync" => Op::DeviceSync,
        "record" => {
            let event = words.known_name("event", &made.events)?;
            words.expect("on")?;
            let stream = words.known_name("stream", &made.streams)?;
            Op::Record { event, stream }
        }
        "wait" => {
            let stream = words.known_name("stream", &made.streams)?;
            words.expect("for")?;
            let event = words.known_name("event", &made.events)?;
            let flags = words.option("flags", small)?.unwrap_or(0);
            Op::Wait {
                stream,
                event,
                flags,
            }
        }
        "graph" => Op::Graph {
            graph: words.new_name(&mut made.graphs)?,
            flags: words.option("flags", small)?.unwrap_or(0),
        },
        "destroy-graph" => Op::DestroyGraph {
            graph: words.known_name("graph", &made.graphs)?,
        },
        "clone" => {
            let clone = words.new_name(&mut made.graphs)?;
            words.expect("of")?;
            let graph = words.known_name("graph", &made.graphs)?;
            Op::Clone { clone, graph }
        }
        "alloc" | "kernel" | "empty" | "free" | "child" => parse_node(verb, &mut words, made)?,
        "destroy-node" => Op::DestroyNode {
            node: words.known_name("node", &made.nodes)?,
        },
        "alloc-params" => Op::AllocParams {
            node: words.known_name("node", &made.nodes)?,
        },
        "free-params" => Op::FreeParams {
            node: words.known_name("node", &made.nodes)?,
        },
        "instantiate" => {
            let exec = words.new_name(&mut made.execs)?;
            words.expect("of")?;
            let graph = words.known_name("graph", &made.graphs)?;
            let flags = if words.take("auto-free") {
                1
            } else {
                words.option("flags", integer)?.unwrap_or(0)
            };
            Op::Instantiate { exec, graph, flags }
        }
        "destroy-exec" => Op::DestroyExec {
            exec: words.known_name("exec", &made.execs)?,
        },
        "launch" | "upload" => {
            let exec = words.known_name("exec", &made.execs)?;
            words.expect("on")?;
            let stream = words.known_name("stream", &made.streams)?;
            match verb {
                "launch" => Op::Launch { exec, stream },
                _ => Op::Upload { exec, stream },
            }
        }
        "malloc" => Op::Malloc {
            pointer: words.new_name(&mut made.pointers)?,
            size: bytes(words.next("a size")?)?,
        },
        "cudafree" => Op::CudaFree {
            pointer: words.pointer(&made.pointers)?,
        },
        "freeasync" => {
            let pointer = words.pointer(&made.pointers)?;
            words.expect("on")?;
            let stream = words.known_name("stream", &made.streams)?;
            Op::FreeAsync { pointer, stream }
        }
        "memset" => {
            let pointer = words.pointer(&made.pointers)?;
            words.expect("on")?;
            let stream = words.known_name("stream", &made.streams)?;
            let size = words.option("size", bytes)?.unwrap_or(1);
            Op::Memset {
                pointer,
                stream,
                size,
            }
        }
        "trim" => Op::Trim {
            device: words.option("device", device_id)?.unwrap_or(0),
        },
        "reset-high" => Op::SetHigh {
            mark: high_mark(words.next("used or reserved")?)?,
            to: words.option("to", bytes)?.unwrap_or(0),
        },
        "get-attribute" => Op::GetAttribute {
            index: small(words.next("an index")?)?,
            device: words.option("device", device_id)?.unwrap_or(0),
            without_value: words.take("without-value"),
        },
        "set-attribute" => {
            let index = small(words.next("an index")?)?;
            words.expect("to")?;
            Op::SetAttribute {
                index,
                to: bytes(words.next("a value")?)?,
                device: words.option("device", device_id)?.unwrap_or(0),
                without_value: words.take("without-value"),
            }
        }
        "set-device" => Op::SetDevice {
            device: device_id(words.next("a device")?)?,
        },
        "last-error" => Op::LastError,
        other => return Err(format!("'{other}' is not a known verb")),
    };
    words.end()?;
    Ok(op)
}

fn parse_node(verb: &str, words: &mut Words<'_>, made: &mut Made) -> Result<Op, String> {
    // A node may not refer to itself, so its own name is added last.
    let mut own = BTreeSet::new();
    let node = words.new_name(&mut own)?;
    let op = match verb {
        "alloc" => {
            let graph = in_graph(words, made)?;
            let size = match words.next("a size")? {
                "without-params" => None,
                size => Some(bytes(size)?),
            };
            let after = words.after(&made.nodes)?;
            let list = |word: &str| word.split(',').map(device_id).collect();
            let params = Alloc {
                size,
                device: words.option("device", device_id)?.unwrap_or(0),
                alloc_type: words.option("alloc-type", small)?.unwrap_or(1),
                handle_types: words.option("handle-types", small)?.unwrap_or(0),
                location_type: words.option("location-type", small)?.unwrap_or(1),
                access: words.option("access", list)?.unwrap_or_default(),
                access_count: words.option("access-count", small)?,
            };
            made.pointers.extend(own.iter().cloned());
            Op::Alloc {
                node,
                graph,
                after,
                params,
            }
        }
        "kernel" => {
            let graph = in_graph(words, made)?;
            let after = words.after(&made.nodes)?;
            let params = Kernel {
                spin_us: words.option("hold", microseconds)?.unwrap_or(0),
                grid: words.option("grid", extents)?.unwrap_or([1; 3]),
                block: words.option("block", extents)?.unwrap_or([1; 3]),
                shared: words.option("shared", small)?.unwrap_or(0),
                without_function: words.take("without-function"),
                without_params: words.take("without-params"),
            };
            Op::Kernel {
                node,
                graph,
                after,
                params,
            }
        }
        "empty" => {
            let graph = in_graph(words, made)?;
            let after = words.after(&made.nodes)?;
            Op::Empty { node, graph, after }
        }
        "free" => {
            words.expect("of")?;
            let pointer = words.pointer(&made.pointers)?;
            let graph = in_graph(words, made)?;
            let after = words.after(&made.nodes)?;
            Op::Free {
                node,
                pointer,
                graph,
                after,
            }
        }
        _ => {
            words.expect("of")?;
            let child = words.known_name("graph", &made.graphs)?;
            let graph = in_graph(words, made)?;
            let after = words.after(&made.nodes)?;
            Op::Child {
                node,
                child,
                graph,
                after,
            }
        }
    };
    made.nodes.append(&mut own);
    Ok(op)
}

fn in_graph(words: &mut Words<'_>, made: &Made) -> Result<Name, String> {
    words.expect("in")?;
    words.known_name("graph", &made.graphs)
}
