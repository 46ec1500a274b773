//! Ctrl-C: the run ends after the experiment in progress, so that what was found is
//! written and what was allocated is freed. A second one ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// Whether the user has asked for an end.
pub(super) struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens from now on.
    pub(super) fn on_ctrl_c() -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        // In this order: the first signal finds the flag unset, and sets it.
        let listening = flag::register_conditional_default(SIGINT, Arc::clone(&asked))
            .and_then(|_| flag::register(SIGINT, Arc::clone(&asked)));
        if let Err(error) = listening {
            log::warn!("Ctrl-C will end this at once: {error}");
        }
        Self { asked }
    }

    /// Whether it has come.
    pub(super) fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}
