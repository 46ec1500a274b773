//! Ctrl-C: the run ends after the experiment in progress, so that results are written
//! and memory is freed. A second Ctrl-C ends it immediately.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::{SigId, flag, low_level};

/// Whether the user has pressed Ctrl-C.
pub(super) struct Interrupt {
    requested: Arc<AtomicBool>,
    listeners: Vec<SigId>,
}

impl Interrupt {
    /// Starts to listen for Ctrl-C.
    pub(super) fn on_ctrl_c() -> Self {
        let requested = Arc::new(AtomicBool::new(false));
        // In this order: the first signal finds the flag unset, and sets it.
        let listeners = [
            flag::register_conditional_default(SIGINT, Arc::clone(&requested)),
            flag::register(SIGINT, Arc::clone(&requested)),
        ];
        let listeners = listeners.into_iter().filter_map(|listener| {
            listener
                .inspect_err(|error| {
                    log::warn!("Ctrl-C will end the run immediately, without a result: {error}")
                })
                .ok()
        });
        let listeners = listeners.collect();
        Self {
            requested,
            listeners,
        }
    }

    /// Whether Ctrl-C was pressed.
    pub(super) fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for &listener in &self.listeners {
            low_level::unregister(listener);
        }
    }
}
