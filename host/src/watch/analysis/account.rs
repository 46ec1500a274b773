//! Where each device's memory went, as a sum that adds up.
//!
//! Free memory is read before and after each call that may take memory. What a call
//! changed is booked on it; what changed between two calls is booked as unexplained.
//! Graph memory and stream-ordered pools have counters of their own, so what they
//! reserve is taken out of the difference first, whichever call it was.

use std::collections::BTreeMap;

use graph_memory_record::{Call, Category, Device, Event, Line, Reading};

use crate::watch::result::{Account, DeviceResult, Entry, GraphMemory, Sample, Use};

/// The accounts of all devices of a process.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    devices: BTreeMap<i32, DeviceAccount>,
    /// Taken by plain allocations while a stream captured: by capture, then by library.
    in_captures: BTreeMap<u64, BTreeMap<String, i64>>,
    /// For each live plain allocation where its memory is booked, so that its free is
    /// booked there too.
    booked: BTreeMap<(i32, u64), Option<u64>>,
}

#[derive(Debug, Default)]
struct DeviceAccount {
    about: Option<Device>,
    first_free: Option<u64>,
    last: Last,
    entries: BTreeMap<Use, BTreeMap<String, i64>>,
    graph_memory: Option<GraphMemory>,
    peak: u64,
    trims: u64,
    trimmed: u64,
    timeline: Vec<Sample>,
}

/// What was read last.
#[derive(Debug, Default, Clone, Copy)]
struct Last {
    free: Option<u64>,
    graph_used: Option<u64>,
    graph_reserved: u64,
    pools_reserved: u64,
}

/// A reading is of a moment before or after a call.
struct Moment<'a> {
    time_ns: u64,
    call: &'a str,
    exec: Option<u64>,
}

/// Where a difference is booked.
struct Booking<'a> {
    what: Use,
    library: Option<&'a str>,
}

impl Accounts {
    pub(super) fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// Books what an event says of a device's memory.
    pub(super) fn note(&mut self, line: &Line) {
        let at = |call, exec| Moment {
            time_ns: line.time_ns,
            call,
            exec,
        };
        let (device, before, after, moment) = match &line.event {
            Event::Device(device) => {
                let about = &mut self.devices.entry(device.device).or_default().about;
                *about = Some(device.clone());
                return;
            }
            Event::Context(context) => {
                let account = self.devices.entry(context.device).or_default();
                let context_use = Booking {
                    what: Use::Context,
                    library: None,
                };
                account.book(&context.reading, &context_use);
                account.sample(at(&context.call, None));
                return;
            }
            Event::CaptureBegin(begin) => {
                let account = self.devices.entry(begin.device).or_default();
                account.book(&begin.reading, &UNEXPLAINED);
                account.sample(at(&begin.call, None));
                return;
            }
            Event::Call(call) => {
                self.call(line, call);
                return;
            }
            Event::Exit(exit) => {
                for (device, reading) in &exit.last {
                    let account = self.devices.entry(*device).or_default();
                    account.book(reading, &UNEXPLAINED);
                    account.sample(at("exit", None));
                }
                return;
            }
            Event::Instantiate(e) => (e.device, &e.before, &e.after, at(&e.call, e.exec)),
            Event::Launch(e) => (
                e.device,
                &e.before,
                &e.after,
                at("cuGraphLaunch", Some(e.exec)),
            ),
            Event::Upload(e) => (
                e.device,
                &e.before,
                &e.after,
                at("cuGraphUpload", Some(e.exec)),
            ),
            Event::Update(e) => (
                e.device,
                &e.before,
                &e.after,
                at("cuGraphExecUpdate", Some(e.exec)),
            ),
            Event::ExecDestroy(e) => (
                e.device,
                &e.before,
                &e.after,
                at("cuGraphExecDestroy", Some(e.exec)),
            ),
            _ => return,
        };
        let account = self.devices.entry(device).or_default();
        account.book(before, &UNEXPLAINED);
        let exec = Booking {
            what: Use::GraphExecs,
            library: None,
        };
        account.book(after, &exec);
        account.sample(moment);
    }

    fn call(&mut self, line: &Line, call: &Call) {
        let account = self.devices.entry(call.device).or_default();
        account.book(&call.before, &UNEXPLAINED);
        let reserved_before = account.last.graph_reserved;
        let is_free = call.call.contains("Free") || call.call.contains("Release");
        let key = call.address.map(|address| (call.device, address));
        let capture = match (call.category, is_free) {
            (Category::Plain | Category::Virtual, true) => {
                key.and_then(|key| self.booked.remove(&key)).flatten()
            }
            (Category::Plain | Category::Virtual, false) => {
                if let Some(key) = key {
                    self.booked.insert(key, call.capture);
                }
                call.capture
            }
            // A pool that grows for an allocation outside of the capture's own stream.
            (Category::StreamOrdered, false) => call.capture,
            _ => None,
        };
        let what = match call.category {
            Category::Context => Use::Context,
            Category::Plain | Category::Virtual if capture.is_some() => Use::PlainInCapture,
            Category::Plain | Category::Virtual => Use::Plain,
            Category::Array => Use::Arrays,
            Category::StreamOrdered => Use::StreamOrderedPools,
            Category::Stream => Use::Streams,
            Category::Module => Use::Modules,
            Category::Kernel => Use::Kernels,
            Category::Host => Use::Host,
            Category::Graph => Use::GraphMemory,
            Category::Other => Use::Other,
        };
        let booking = Booking {
            what,
            library: call.origin.as_ref().map(|origin| origin.library.as_str()),
        };
        let booked = account.book(&call.after, &booking);
        if call.call.contains("GraphMemTrim") {
            account.trims += 1;
            account.trimmed += reserved_before.saturating_sub(account.last.graph_reserved);
        }
        account.sample(Moment {
            time_ns: line.time_ns,
            call: &call.call,
            exec: None,
        });
        if let (Some(capture), Use::PlainInCapture) = (capture, what) {
            let library = booking.library.unwrap_or("unknown").to_owned();
            let by_library = self.in_captures.entry(capture).or_default();
            *by_library.entry(library).or_default() += booked;
        }
    }

    /// What plain allocations took while each capture was going on, by library.
    pub(super) fn taken_in_captures(&self) -> BTreeMap<u64, BTreeMap<String, i64>> {
        self.in_captures.clone()
    }

    /// The devices with their accounts.
    pub(super) fn finish(self) -> Vec<DeviceResult> {
        let devices = self.devices.into_iter();
        devices
            .map(|(device, account)| account.finish(device))
            .collect()
    }
}

const UNEXPLAINED: Booking<'static> = Booking {
    what: Use::Unexplained,
    library: None,
};

impl DeviceAccount {
    /// Books what has changed since the last reading; gives the bytes that were booked as
    /// `to` says, beside graph memory and pools.
    fn book(&mut self, reading: &Reading, to: &Booking<'_>) -> i64 {
        if let Some(graph) = reading.graph {
            self.graph_memory = Some(GraphMemory {
                used_bytes: graph.used_bytes,
                used_high_bytes: graph.used_high_bytes,
                reserved_bytes: graph.reserved_bytes,
                reserved_high_bytes: graph.reserved_high_bytes,
            });
            self.peak = self.peak.max(graph.reserved_bytes);
        }
        let now = Last {
            free: reading.free_bytes.or(self.last.free),
            graph_used: reading
                .graph
                .map_or(self.last.graph_used, |graph| Some(graph.used_bytes)),
            graph_reserved: reading
                .graph
                .map_or(self.last.graph_reserved, |graph| graph.reserved_bytes),
            pools_reserved: match reading.pools.is_empty() {
                true => self.last.pools_reserved,
                false => reading.pools.iter().map(|pool| pool.reserved_bytes).sum(),
            },
        };
        let before = std::mem::replace(&mut self.last, now);
        let (Some(free_before), Some(free_now)) = (before.free, reading.free_bytes) else {
            // The first reading: what is in use already is the context's.
            if self.first_free.is_none() {
                self.first_free = reading.free_bytes;
            }
            if reading.free_bytes.is_none() {
                // What is not read now is booked with the next reading.
                self.last.graph_reserved = before.graph_reserved;
                self.last.pools_reserved = before.pools_reserved;
            }
            return 0;
        };
        let taken = difference(free_before, free_now);
        let graph = difference(now.graph_reserved, before.graph_reserved);
        let pools = difference(now.pools_reserved, before.pools_reserved);
        self.add(Use::GraphMemory, None, graph);
        let pools_library = (to.what == Use::StreamOrderedPools).then_some(to.library);
        self.add(Use::StreamOrderedPools, pools_library.flatten(), pools);
        let rest = taken - graph - pools;
        let what = match to.what {
            // These are counted by what they reserve; what else the call changed is not
            // theirs.
            Use::GraphMemory | Use::StreamOrderedPools => Use::Other,
            what => what,
        };
        self.add(what, to.library, rest);
        rest
    }

    fn add(&mut self, what: Use, library: Option<&str>, bytes: i64) {
        if bytes != 0 {
            let entry = self.entries.entry(what).or_default();
            *entry.entry(library.unwrap_or("").to_owned()).or_default() += bytes;
        }
    }

    fn sample(&mut self, moment: Moment<'_>) {
        let sample = Sample {
            time_ns: moment.time_ns,
            call: moment.call.to_owned(),
            exec: moment.exec,
            free_bytes: self.last.free,
            graph_used_bytes: self.last.graph_used,
            graph_reserved_bytes: self.graph_memory.map(|_| self.last.graph_reserved),
            pools_reserved_bytes: self.last.pools_reserved,
        };
        let same = |last: &Sample| {
            last.free_bytes == sample.free_bytes
                && last.graph_used_bytes == sample.graph_used_bytes
                && last.graph_reserved_bytes == sample.graph_reserved_bytes
                && last.pools_reserved_bytes == sample.pools_reserved_bytes
        };
        if !self.timeline.last().is_some_and(same) {
            self.timeline.push(sample);
        }
    }

    fn finish(mut self, device: i32) -> DeviceResult {
        let total = self.about.as_ref().and_then(|about| about.total_bytes);
        let lost = match (total, self.last.free) {
            (Some(total), Some(free)) => difference(total, free),
            _ => 0,
        };
        if let (Some(total), Some(first)) = (total, self.first_free) {
            self.add(Use::Context, None, difference(total, first));
        }
        let entries = self.entries.iter().map(|(&what, by_library)| Entry {
            what,
            bytes: by_library.values().sum(),
            by_library: match by_library.keys().all(String::is_empty) {
                true => Vec::new(),
                false => largest_first(by_library),
            },
        });
        DeviceResult {
            device,
            name: self.about.as_ref().and_then(|about| about.name.clone()),
            uuid: self.about.as_ref().and_then(|about| about.uuid.clone()),
            total_bytes: total,
            account: Account {
                lost_bytes: lost,
                entries: entries.filter(|entry| entry.bytes != 0).collect(),
            },
            graph_memory: self.graph_memory,
            graph_reserved_peak_bytes: self.peak,
            trims: self.trims,
            trimmed_bytes: self.trimmed,
            timeline: self.timeline,
        }
    }
}

/// `a - b` as a signed number. No device has 2^63 bytes, and a record may say anything.
fn difference(a: u64, b: u64) -> i64 {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    signed(a) - signed(b)
}

/// Libraries by what they took, the largest first.
pub(super) fn largest_first(by_library: &BTreeMap<String, i64>) -> Vec<(String, i64)> {
    let mut libraries: Vec<(String, i64)> = by_library
        .iter()
        .map(|(library, bytes)| {
            let library = match library.as_str() {
                "" => "unknown",
                library => library,
            };
            (library.to_owned(), *bytes)
        })
        .collect();
    libraries.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    libraries
}
