//! Text that kernels write with `printf`. It is stored until a call synchronizes with them.

use std::sync::{Arc, Mutex, PoisonError};

/// The text that kernels have written since the last [`take`](Self::take).
#[derive(Debug, Clone, Default)]
pub struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    /// Adds text.
    pub fn add(&self, text: &[u8]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(text);
    }

    /// Takes the stored text.
    #[must_use]
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
