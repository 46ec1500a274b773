//! Streams, events and synchronization.

use cudart_ffi::{cudaError_t, event_flags, stream_flags};

use super::{Outcome, Runtime};
use crate::clock::Nanos;
use crate::objects::id::{EventId, Id, StreamId};
use crate::objects::stream::{Event, Stream, StreamKind};

/// `cudaStreamLegacy`: another name of the default stream.
const LEGACY: u64 = 1;
/// `cudaStreamPerThread`.
const PER_THREAD: u64 = 2;
/// `cudaEventRecordExternal` and `cudaEventWaitExternal`.
const EXTERNAL: u32 = 1;
/// `cudaEventInterprocess`, which is accepted only with `cudaEventDisableTiming`.
const EVENT_INTERPROCESS: u32 = 4;
/// `cudaEventBlockingSync`.
const EVENT_BLOCKING_SYNC: u32 = 1;

/// The lowest and the highest priority of a stream, as on the H200.
pub const STREAM_PRIORITIES: [i32; 2] = [0, -5];

impl Runtime {
    /// The stream of a handle, for a call that cannot be captured. Null is the default
    /// stream of the current device.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 900 for a capturing stream.
    pub fn stream(&mut self, handle: u64, current: i32) -> Outcome<StreamId> {
        let id = self.any_stream(handle, current)?;
        self.refuse_beside_legacy(id)?;
        self.not_capturing(id)
    }

    /// The stream of a handle, for work that can be captured.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 906 for the legacy default stream while a
    /// blocking stream captures.
    pub fn working_stream(&mut self, handle: u64, current: i32) -> Outcome<StreamId> {
        let id = self.any_stream(handle, current)?;
        self.refuse_beside_legacy(id)?;
        Ok(id)
    }

    /// The stream of a handle, whether it is capturing or not.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream.
    pub fn any_stream(&mut self, handle: u64, current: i32) -> Outcome<StreamId> {
        if handle == PER_THREAD || handle == 0 && self.caller.per_thread_default {
            return self.per_thread_stream(current);
        }
        if matches!(handle, 0 | LEGACY) {
            return Ok(self.device(current)?.1.default_stream);
        }
        Id::from_handle(handle)
            .filter(|&id| self.streams.get(id).is_some())
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)
    }

    /// The default stream of the calling thread, which is a blocking stream.
    fn per_thread_stream(&mut self, current: i32) -> Outcome<StreamId> {
        let (device, _) = self.device(current)?;
        let key = (self.caller.thread, device);
        if let Some(&id) = self.per_thread.get(&key) {
            return Ok(id);
        }
        let id = self.new_stream(device, StreamKind::Blocking, 0)?;
        self.per_thread.insert(key, id);
        Ok(id)
    }

    fn new_stream(&mut self, device: usize, kind: StreamKind, priority: i32) -> Outcome<StreamId> {
        let [least, greatest] = STREAM_PRIORITIES;
        self.streams
            .insert(Stream {
                device,
                kind,
                priority: priority.clamp(greatest, least),
                end: 0,
                graphs: [None; 2],
            })
            .ok_or(cudaError_t::MEMORY_ALLOCATION)
    }

    /// `cudaStreamCreateWithFlags`.
    ///
    /// # Errors
    ///
    /// 1 for an unknown flag.
    pub fn stream_create(&mut self, flags: u32, current: i32) -> Outcome<u64> {
        self.stream_create_with_priority(flags, 0, current)
    }

    /// `cudaStreamCreateWithPriority`. A priority outside the range is replaced by the
    /// nearest valid one.
    ///
    /// # Errors
    ///
    /// 1 for an unknown flag.
    pub fn stream_create_with_priority(
        &mut self,
        flags: u32,
        priority: i32,
        current: i32,
    ) -> Outcome<u64> {
        let kind = match flags {
            stream_flags::DEFAULT => StreamKind::Blocking,
            stream_flags::NON_BLOCKING => StreamKind::NonBlocking,
            _ => return Err(cudaError_t::INVALID_VALUE),
        };
        let (device, _) = self.device(current)?;
        self.new_stream(device, kind, priority).map(Id::to_handle)
    }

    /// Called when a thread has ended: its default streams are removed, but work in
    /// them continues.
    pub(super) fn drop_thread_streams(&mut self, thread: u64) {
        let gone: Vec<_> = self
            .per_thread
            .extract_if(|(owner, _), _| *owner == thread)
            .collect();
        for (_, stream) in gone {
            self.streams.remove(stream);
            self.capture_lost_stream(stream);
        }
    }

    /// `cudaStreamGetPriority`.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream.
    pub fn stream_priority(&mut self, handle: u64, current: i32) -> Outcome<i32> {
        let id = self.any_stream(handle, current)?;
        let stream = self.streams.get(id);
        stream
            .map(|stream| stream.priority)
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)
    }

    /// `cuStreamGetCtx`: the current context if the stream is on its device, otherwise
    /// the primary one. Simplification: the context in which a stream was created is
    /// not stored.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream.
    pub fn stream_context(&mut self, handle: u64, thread: u64, current: i32) -> Outcome<u64> {
        let id = self.any_stream(handle, current)?;
        let device = self.streams.get(id).map_or(0, |stream| stream.device);
        let device = i32::try_from(device).unwrap_or(i32::MAX);
        if self.current_device(thread) == Ok(device) {
            return Ok(self.context_current(thread));
        }
        self.primary_handle(device)
    }

    /// `cudaStreamDestroy`. Work in the stream continues.
    ///
    /// # Errors
    ///
    /// 400 for the default stream and for a handle that is not a stream.
    pub fn stream_destroy(&mut self, handle: u64) -> Outcome {
        let id = Id::from_handle(handle)
            .filter(|id| !self.devices.iter().any(|d| d.default_stream == *id))
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)?;
        self.streams
            .remove(id)
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)?;
        self.capture_lost_stream(id);
        Ok(())
    }

    /// `cudaStreamGetFlags`.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 900 for a capturing stream, which also
    /// invalidates the capture, as on the H200.
    pub fn stream_flags(&mut self, handle: u64, current: i32) -> Outcome<u32> {
        let id = self.any_stream(handle, current)?;
        self.not_capturing(id)?;
        let kind = self.streams.get(id).map(|stream| stream.kind);
        Ok(match kind {
            Some(StreamKind::NonBlocking) => stream_flags::NON_BLOCKING,
            _ => stream_flags::DEFAULT,
        })
    }

    /// The time at which all work in the stream so far ends. `cudaStreamSynchronize`
    /// waits for it, and `cudaStreamQuery` compares it with the current time.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream.
    pub fn stream_end(&mut self, handle: u64, current: i32) -> Outcome<Nanos> {
        let id = self.stream(handle, current)?;
        self.refuse_unsafe()?;
        let stream = self
            .streams
            .get(id)
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)?;
        Ok(self.start_in(*stream, 0))
    }

    /// `cudaStreamWaitEvent`: later work in the stream runs after the event. An event
    /// that was never recorded counts as reached.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream or an event, 1 for an unknown flag, 401
    /// for the flag of external events.
    pub fn stream_wait_event(
        &mut self,
        stream: u64,
        event: u64,
        flags: u32,
        current: i32,
    ) -> Outcome {
        let id = self.any_stream(stream, current)?;
        let handle = event;
        let (event, was) = self.event(handle)?;
        if !matches!(flags, 0 | EXTERNAL) {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.refuse_dead_event(id, event)?;
        match flags {
            0 if self.capture_wait(id, event, was.reached.is_some())? => return Ok(()),
            0 => {}
            _ if self.is_capturing(id) => return self.capture_event_node(id, handle, true),
            _ => return Err(cudaError_t::ILLEGAL_STATE),
        }
        self.refuse_beside_legacy(id)?;
        let reached = was.reached.unwrap_or(0);
        if reached > self.now() {
            self.advance(id, reached);
        }
        Ok(())
    }

    /// `cudaEventCreateWithFlags`.
    ///
    /// # Errors
    ///
    /// 1 for an unknown flag, and for an event for several processes with timing.
    pub fn event_create(&mut self, flags: u32) -> Outcome<u64> {
        let known = event_flags::DISABLE_TIMING | EVENT_BLOCKING_SYNC | EVENT_INTERPROCESS;
        let timed = flags & event_flags::DISABLE_TIMING == 0;
        if flags & !known != 0 || timed && flags & EVENT_INTERPROCESS != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        self.events
            .insert(Event {
                timed,
                reached: None,
            })
            .map(Id::to_handle)
            .ok_or(cudaError_t::MEMORY_ALLOCATION)
    }

    /// `cudaEventDestroy`.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not an event.
    pub fn event_destroy(&mut self, handle: u64) -> Outcome {
        let (id, _) = self.event(handle)?;
        self.events.remove(id);
        self.forget_captured_event(id);
        Ok(())
    }

    /// `cudaEventRecord`. In a capturing stream, the event becomes part of the capture.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream or an event.
    pub fn event_record(&mut self, event: u64, stream: u64, current: i32) -> Outcome {
        let (event, _) = self.event(event)?;
        let id = self.working_stream(stream, current)?;
        if self.is_capturing(id) {
            return self.capture_record(id, event);
        }
        let reached = self.enqueue(id, 0, 0);
        self.recorded(event, reached);
        Ok(())
    }

    /// Records that the event belongs to work outside of captures, which ends at
    /// `reached`.
    pub(super) fn recorded(&mut self, event: EventId, reached: Nanos) {
        self.forget_captured_event(event);
        if let Some(event) = self.events.get_mut(event) {
            event.reached = Some(reached);
        }
    }

    /// `cudaEventRecordWithFlags`.
    ///
    /// # Errors
    ///
    /// The same as for [`event_record`](Self::event_record), and 1 for an unknown flag.
    pub fn event_record_with_flags(
        &mut self,
        event: u64,
        stream: u64,
        flags: u32,
        current: i32,
    ) -> Outcome {
        match flags {
            0 => self.event_record(event, stream, current),
            EXTERNAL => {
                self.event(event)?;
                let id = self.working_stream(stream, current)?;
                if !self.is_capturing(id) {
                    return Err(cudaError_t::ILLEGAL_STATE);
                }
                self.capture_event_node(id, event, false)
            }
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// The time at which `cudaEventSynchronize` returns, and with which
    /// `cudaEventQuery` compares the current time. It is in the past for an event that
    /// was never recorded.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not an event, 907 or 1 for an event that was recorded
    /// in a capture.
    pub fn event_end(&mut self, event: u64) -> Outcome<Nanos> {
        let (id, event) = self.event(event)?;
        self.not_captured(id, true)?;
        self.refuse_unsafe()?;
        Ok(event.reached.unwrap_or(0))
    }

    /// `cudaEventElapsedTime`, in milliseconds.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not an event, and for an event that was created without
    /// timing or never recorded; 907 or 1 for an event that was recorded in a capture;
    /// 600 if an event is not reached yet.
    pub fn event_elapsed(&mut self, start: u64, end: u64) -> Outcome<f32> {
        let (start, end) = (self.event(start)?, self.event(end)?);
        self.not_captured(start.0, false)?;
        self.not_captured(end.0, false)?;
        let both = [start.1, end.1];
        if both.iter().any(|event| !event.timed) {
            return Err(cudaError_t::INVALID_RESOURCE_HANDLE);
        }
        let [Some(from), Some(to)] = both.map(|event| event.reached) else {
            return Err(cudaError_t::INVALID_RESOURCE_HANDLE);
        };
        if from.max(to) > self.now() {
            return Err(cudaError_t::NOT_READY);
        }
        // Differences are far below 2^52 ns, so no precision is lost before the
        // conversion to the f32 that the call returns.
        let difference = to as f64 - from as f64;
        Ok((difference / 1e6) as f32)
    }

    fn event(&self, handle: u64) -> Outcome<(EventId, Event)> {
        Id::from_handle(handle)
            .and_then(|id| Some((id, *self.events.get(id)?)))
            .ok_or(cudaError_t::INVALID_RESOURCE_HANDLE)
    }

    /// Submits work to a stream. It starts after the work in the stream, after the work
    /// that the stream waits for, and not before `not_before`. Returns the time at
    /// which it ends.
    pub(super) fn enqueue(&mut self, id: StreamId, duration: Nanos, not_before: Nanos) -> Nanos {
        let now = self.now();
        let start = match self.streams.get(id) {
            Some(stream) => self.start_in(*stream, now.max(not_before)),
            None => now.max(not_before),
        };
        let end = start.saturating_add(duration);
        self.advance(id, end);
        end
    }

    /// The time at which work submitted to the stream could start. The legacy default
    /// stream and the blocking streams wait for each other.
    fn start_in(&self, stream: Stream, not_before: Nanos) -> Nanos {
        let own = stream.end.max(not_before);
        let Some(device) = self.devices.get(stream.device) else {
            return own;
        };
        match stream.kind {
            StreamKind::Default => own.max(device.blocking_end),
            StreamKind::Blocking => {
                let default = self.streams.get(device.default_stream);
                own.max(default.map_or(0, |default| default.end))
            }
            StreamKind::NonBlocking => own,
        }
    }

    fn advance(&mut self, id: StreamId, end: Nanos) {
        let Some(stream) = self.streams.get_mut(id) else {
            return;
        };
        stream.end = stream.end.max(end);
        let Stream { device, kind, .. } = *stream;
        if let Some(device) = self.devices.get_mut(device) {
            device.end = device.end.max(end);
            if kind == StreamKind::Blocking {
                device.blocking_end = device.blocking_end.max(end);
            }
        }
    }
}
