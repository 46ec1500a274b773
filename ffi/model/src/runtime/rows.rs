//! Copies with several rows.

use cudart_ffi::cudaError_t;

use super::{Outcome, Runtime};
use crate::clock::Nanos;
use crate::objects::effects::{CopyRequest, Effect, Side};
use crate::profile::nanos;

/// A copy of rows. On each side, the distance from one row to the next is the pitch.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// The destination of the first row.
    pub to: Side,
    /// The pitch of the destination in bytes.
    pub to_pitch: u64,
    /// The source of the first row.
    pub from: Side,
    /// The pitch of the source in bytes.
    pub from_pitch: u64,
    /// The size of a row in bytes.
    pub width: u64,
    /// The number of rows.
    pub height: u64,
}

impl Rows {
    /// The size of one side in bytes, including the gaps between the rows.
    fn extent(&self, pitch: u64) -> Option<u64> {
        pitch.checked_mul(self.height - 1)?.checked_add(self.width)
    }

    fn rows(&self) -> impl Iterator<Item = CopyRequest> {
        let Self {
            to,
            to_pitch,
            from,
            from_pitch,
            width,
            height,
        } = *self;
        let at = |side: Side, by: u64| match side {
            Side::Host(address) => Side::Host(address.wrapping_add(by)),
            Side::Device(address) => Side::Device(address.wrapping_add(by)),
        };
        (0..height).map(move |row| CopyRequest {
            to: at(to, row * to_pitch),
            from: at(from, row * from_pitch),
            bytes: width,
        })
    }

    /// The same copy as one row, if there are no gaps between the rows.
    fn as_one(&self) -> Option<CopyRequest> {
        let whole = self.width.checked_mul(self.height)?;
        let joined = self.to_pitch == self.width && self.from_pitch == self.width;
        (joined || self.height == 1).then_some(CopyRequest {
            to: self.to,
            from: self.from,
            bytes: whole,
        })
    }
}

impl Runtime {
    /// `cudaMemcpy2DAsync`. It can be captured only if there are no gaps between the
    /// rows.
    ///
    /// # Errors
    ///
    /// 400 for a handle that is not a stream, 1 for a device side that is not within a
    /// live allocation, 801 in a capture.
    pub fn copy_rows(&mut self, rows: &Rows, stream: u64, current: i32) -> Outcome<Nanos> {
        let id = self.working_stream(stream, current)?;
        if rows.width == 0 || rows.height == 0 {
            return Ok(self.now());
        }
        if let Some(copy) = rows.as_one() {
            return self.copy_async(copy, stream, current);
        }
        if self.is_capturing(id) {
            return Err(cudaError_t::NOT_SUPPORTED);
        }
        let too_long = cudaError_t::INVALID_VALUE;
        for (side, pitch) in [(rows.to, rows.to_pitch), (rows.from, rows.from_pitch)] {
            let bytes = rows.extent(pitch).ok_or(too_long)?;
            let whole = match side {
                Side::Host(address) => address != 0,
                Side::Device(address) => self.is_allocated(address, bytes),
            };
            if !whole {
                return Err(too_long);
            }
        }
        let end = self.enqueue(id, nanos(self.profile.costs_us.kernel_on_device), 0);
        let copies: Vec<Effect> = rows.rows().map(Effect::Copy).collect();
        self.apply(&copies);
        Ok(end)
    }
}
