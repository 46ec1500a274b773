//! Ctrl-C: the run ends after the experiment in progress, so that what was found is
//! written and what was allocated is freed. A second one ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::{SigId, flag, low_level};

/// Whether the user has asked for an end.
pub(super) struct Interrupt {
    asked: Arc<AtomicBool>,
    listeners: Vec<SigId>,
}

impl Interrupt {
    /// Listens from now on.
    pub(super) fn on_ctrl_c() -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        // In this order: the first signal finds the flag unset, and sets it.
        let listeners = [
            flag::register_conditional_default(SIGINT, Arc::clone(&asked)),
            flag::register(SIGINT, Arc::clone(&asked)),
        ];
        let listeners = listeners.into_iter().filter_map(|listener| {
            listener
                .inspect_err(|error| log::warn!("Ctrl-C will end this at once: {error}"))
                .ok()
        });
        let listeners = listeners.collect();
        Self { asked, listeners }
    }

    /// Whether it has come.
    pub(super) fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for &listener in &self.listeners {
            low_level::unregister(listener);
        }
    }
}
