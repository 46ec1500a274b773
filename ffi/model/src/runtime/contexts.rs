//! Contexts of the driver API: one primary context for each device, which the runtime API
//! uses, and those that a program creates. All of them share the device's memory, streams
//! and graphs: CUDA's separation by context is not simulated.

use std::collections::HashMap;

use cudart_ffi::cudaError_t;

use super::{Outcome, Runtime};
use crate::objects::id::{ContextId, Id, kind};
use crate::objects::slab::Slab;

/// `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
const CONTEXT_IS_DESTROYED: cudaError_t = cudaError_t(709);
/// `CUDA_ERROR_INVALID_CONTEXT`.
const INVALID_CONTEXT: cudaError_t = cudaError_t(201);

/// `CU_CTX_MAP_HOST`, which is set in every context (H200, driver 580).
const MAP_HOST: u32 = 8;

/// A context.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    device: i32,
    flags: u32,
    primary: bool,
}

/// The state of a device's primary context.
#[derive(Debug, Clone, Copy, Default)]
struct Primary {
    id: Option<ContextId>,
    /// The number of times that it was retained and not released.
    retained: u32,
    /// Whether the runtime API uses it.
    used_by_runtime: bool,
    flags: u32,
}

/// All contexts, and the current ones.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    initialized: bool,
    all: Slab<kind::Context, Context>,
    primary: HashMap<i32, Primary>,
    /// The context stack of each thread. The last one is current.
    stacks: HashMap<u64, Vec<ContextId>>,
}

impl Runtime {
    /// `cuInit`.
    ///
    /// # Errors
    ///
    /// 1 for flags other than 0, 100 without a device.
    pub fn driver_init(&mut self, flags: u32) -> Outcome {
        if flags != 0 {
            return Err(cudaError_t::INVALID_VALUE);
        }
        if self.devices.is_empty() {
            return Err(cudaError_t::NO_DEVICE);
        }
        self.contexts.initialized = true;
        Ok(())
    }

    /// Whether `cuInit` was called, by the program or by the runtime API.
    #[must_use]
    pub fn driver_is_initialized(&self) -> bool {
        self.contexts.initialized
    }

    /// Called when the runtime API works on a device in a thread: the primary context
    /// becomes current, unless another context of that device is.
    pub(crate) fn use_device(&mut self, thread: u64, device: i32) {
        self.contexts.initialized = true;
        if self.current_device(thread).ok() == Some(device) {
            return;
        }
        let Ok(id) = self.primary_id(device) else {
            return;
        };
        if let Some(primary) = self.contexts.primary.get_mut(&device) {
            primary.used_by_runtime = true;
        }
        self.set_top(thread, Some(id));
    }

    fn primary_id(&mut self, device: i32) -> Outcome<ContextId> {
        self.check_device(device)?;
        let contexts = &mut self.contexts;
        let primary = contexts.primary.entry(device).or_default();
        if let Some(id) = primary.id {
            return Ok(id);
        }
        let id = contexts
            .all
            .insert(Context {
                device,
                flags: primary.flags,
                primary: true,
            })
            .ok_or(cudaError_t::MEMORY_ALLOCATION)?;
        primary.id = Some(id);
        Ok(id)
    }

    /// The handle of a device's primary context.
    pub(super) fn primary_handle(&mut self, device: i32) -> Outcome<u64> {
        self.primary_id(device).map(Id::to_handle)
    }

    /// `cuDevicePrimaryCtxRetain`.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist.
    pub fn primary_retain(&mut self, device: i32) -> Outcome<u64> {
        let id = self.primary_id(device)?;
        if let Some(primary) = self.contexts.primary.get_mut(&device) {
            primary.retained += 1;
        }
        Ok(id.to_handle())
    }

    /// `cuDevicePrimaryCtxRelease`. Simplification: the context's memory stays
    /// allocated.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist, 201 for a context that is not retained.
    pub fn primary_release(&mut self, device: i32) -> Outcome {
        self.check_device(device)?;
        let primary = self.contexts.primary.entry(device).or_default();
        primary.retained = primary.retained.checked_sub(1).ok_or(INVALID_CONTEXT)?;
        Ok(())
    }

    /// `cuDevicePrimaryCtxSetFlags`.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist.
    pub fn primary_set_flags(&mut self, device: i32, flags: u32) -> Outcome {
        let id = self.primary_id(device)?;
        if let Some(primary) = self.contexts.primary.get_mut(&device) {
            primary.flags = flags;
        }
        if let Some(context) = self.contexts.all.get_mut(id) {
            context.flags = flags;
        }
        Ok(())
    }

    /// `cuDevicePrimaryCtxGetState`: the flags, and whether the context is active.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist.
    pub fn primary_state(&self, device: i32) -> Outcome<(u32, bool)> {
        self.check_device(device)?;
        let primary = self.contexts.primary.get(&device);
        let primary = primary.copied().unwrap_or_default();
        Ok((
            primary.flags,
            primary.retained > 0 || primary.used_by_runtime,
        ))
    }

    /// `cuDevicePrimaryCtxReset`: the context is destroyed, and calls return 709 in a
    /// thread in which it is current. Simplification: the context's memory stays
    /// allocated.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist.
    pub fn primary_reset(&mut self, device: i32) -> Outcome {
        self.check_device(device)?;
        let contexts = &mut self.contexts;
        if let Some(primary) = contexts.primary.get_mut(&device)
            && let Some(id) = primary.id.take()
        {
            *primary = Primary::default();
            contexts.all.remove(id);
        }
        Ok(())
    }

    /// `cuCtxCreate`: the new context becomes current.
    ///
    /// # Errors
    ///
    /// 101 for a device that does not exist.
    pub fn context_create(&mut self, thread: u64, flags: u32, device: i32) -> Outcome<u64> {
        self.check_device(device)?;
        let id = self
            .contexts
            .all
            .insert(Context {
                device,
                flags,
                primary: false,
            })
            .ok_or(cudaError_t::MEMORY_ALLOCATION)?;
        self.contexts.stacks.entry(thread).or_default().push(id);
        Ok(id.to_handle())
    }

    /// `cuCtxDestroy`. Simplification: objects that were created in the context stay
    /// valid.
    ///
    /// # Errors
    ///
    /// 201 for a handle that is not a context, and for a primary context.
    pub fn context_destroy(&mut self, thread: u64, handle: u64) -> Outcome {
        let id = self.context_id(handle)?;
        if self.contexts.all.get(id).is_none_or(|found| found.primary) {
            return Err(INVALID_CONTEXT);
        }
        self.contexts.all.remove(id);
        // If it is current in another thread, it stays there as a destroyed one.
        if self.top(thread) == Some(id) {
            self.pop(thread);
        }
        Ok(())
    }

    /// `cuCtxPushCurrent`.
    ///
    /// # Errors
    ///
    /// 201 for a handle that is not a context.
    pub fn context_push(&mut self, thread: u64, handle: u64) -> Outcome {
        let id = self.context_id(handle)?;
        self.contexts.stacks.entry(thread).or_default().push(id);
        Ok(())
    }

    /// `cuCtxPopCurrent`: returns the context that was current.
    ///
    /// # Errors
    ///
    /// 201 if no context is current.
    pub fn context_pop(&mut self, thread: u64) -> Outcome<u64> {
        self.pop(thread).map(Id::to_handle).ok_or(INVALID_CONTEXT)
    }

    /// `cuCtxSetCurrent`. With null, no context is current afterwards.
    ///
    /// # Errors
    ///
    /// 201 for a handle that is not a context.
    pub fn context_set(&mut self, thread: u64, handle: u64) -> Outcome {
        let id = match handle {
            0 => None,
            handle => Some(self.context_id(handle)?),
        };
        self.set_top(thread, id);
        Ok(())
    }

    /// `cuCtxGetCurrent`: 0 if no context is current.
    #[must_use]
    pub fn context_current(&self, thread: u64) -> u64 {
        self.top(thread).map_or(0, Id::to_handle)
    }

    /// The device of the current context.
    ///
    /// # Errors
    ///
    /// 201 if no context is current, 709 for a destroyed one.
    pub fn current_device(&self, thread: u64) -> Outcome<i32> {
        let id = self.top(thread).ok_or(INVALID_CONTEXT)?;
        let context = self.contexts.all.get(id).ok_or(CONTEXT_IS_DESTROYED)?;
        Ok(context.device)
    }

    /// `cuCtxGetFlags`.
    ///
    /// # Errors
    ///
    /// The same as for [`current_device`](Self::current_device).
    pub fn current_flags(&self, thread: u64) -> Outcome<u32> {
        let id = self.top(thread).ok_or(INVALID_CONTEXT)?;
        let context = self.contexts.all.get(id).ok_or(CONTEXT_IS_DESTROYED)?;
        Ok(context.flags | MAP_HOST)
    }

    /// Checks that a handle is a context.
    ///
    /// # Errors
    ///
    /// 201 for a handle that is not a context.
    pub fn check_context(&self, handle: u64) -> Outcome {
        self.context_id(handle).map(|_| ())
    }

    /// Called when a thread has ended: its data is removed.
    pub(crate) fn thread_ended(&mut self, thread: u64) {
        self.contexts.stacks.remove(&thread);
        self.drop_thread_streams(thread);
    }

    fn context_id(&self, handle: u64) -> Outcome<ContextId> {
        Id::from_handle(handle)
            .filter(|&id| self.contexts.all.get(id).is_some())
            .ok_or(INVALID_CONTEXT)
    }

    fn top(&self, thread: u64) -> Option<ContextId> {
        self.contexts.stacks.get(&thread)?.last().copied()
    }

    fn pop(&mut self, thread: u64) -> Option<ContextId> {
        let stack = self.contexts.stacks.get_mut(&thread)?;
        let top = stack.pop();
        if stack.is_empty() {
            self.contexts.stacks.remove(&thread);
        }
        top
    }

    fn set_top(&mut self, thread: u64, id: Option<ContextId>) {
        self.pop(thread);
        if let Some(id) = id {
            self.contexts.stacks.entry(thread).or_default().push(id);
        }
    }
}
