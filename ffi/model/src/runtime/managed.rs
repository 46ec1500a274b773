//! Advice and prefetches for managed memory.

use cudart_ffi::{cudaError_t, cudaMemRangeAttribute, cudaMemoryAdvise};

use super::host_memory::HostAllocation;
use super::{Outcome, Runtime};

/// A place in which memory can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A device by its ordinal.
    Device(i32),
    /// The host.
    Host,
}

impl Place {
    /// The number of the place in attributes. That of the host is `cudaCpuDeviceId`.
    fn number(self) -> i32 {
        match self {
            Self::Device(device) => device,
            Self::Host => -1,
        }
    }
}

/// `cudaInvalidDeviceId`
const NOWHERE: i32 = -2;

/// The advice for an allocation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    read_mostly: bool,
    preferred: Option<Place>,
    prefetched: Option<Place>,
}

impl Runtime {
    /// The managed allocation that contains a range.
    ///
    /// # Errors
    ///
    /// 1 if there is none, and for 0 bytes.
    fn managed(&mut self, address: u64, bytes: u64) -> Outcome<&mut HostAllocation> {
        let inside = bytes != 0 && self.is_host_memory(address, bytes);
        let below = self.host.range_mut(..=address).next_back();
        below
            .map(|(_, found)| found)
            .filter(|found| inside && found.managed)
            .ok_or(cudaError_t::INVALID_VALUE)
    }

    fn is_there(&self, place: Place) -> bool {
        match place {
            Place::Device(device) => self.device(device).is_ok(),
            Place::Host => true,
        }
    }

    /// `cudaMemPrefetchAsync`: checks its arguments and moves nothing.
    ///
    /// # Errors
    ///
    /// 1 for memory that is not managed and without a place, 101 for a device that does
    /// not exist.
    pub fn prefetch(&mut self, address: u64, bytes: u64, place: Option<Place>) -> Outcome {
        let there = place.is_some_and(|place| self.is_there(place));
        let found = self.managed(address, bytes)?;
        let place = place.ok_or(cudaError_t::INVALID_VALUE)?;
        if !there {
            return Err(cudaError_t::INVALID_DEVICE);
        }
        found.said.prefetched = Some(place);
        Ok(())
    }

    /// `cudaMemAdvise`.
    ///
    /// # Errors
    ///
    /// 1 for memory that is not managed, for unknown advice, and for a place that does
    /// not exist.
    pub fn advise(
        &mut self,
        address: u64,
        bytes: u64,
        advice: cudaMemoryAdvise,
        place: Option<Place>,
    ) -> Outcome {
        let invalid = cudaError_t::INVALID_VALUE;
        let place = place.filter(|&place| self.is_there(place));
        let said = &mut self.managed(address, bytes)?.said;
        match advice {
            // For these the place is ignored.
            cudaMemoryAdvise::SET_READ_MOSTLY => said.read_mostly = true,
            cudaMemoryAdvise::UNSET_READ_MOSTLY => said.read_mostly = false,
            cudaMemoryAdvise::UNSET_PREFERRED_LOCATION => said.preferred = None,
            cudaMemoryAdvise::SET_PREFERRED_LOCATION => {
                said.preferred = Some(place.ok_or(invalid)?);
            }
            cudaMemoryAdvise::SET_ACCESSED_BY | cudaMemoryAdvise::UNSET_ACCESSED_BY => {
                place.ok_or(invalid)?;
            }
            _ => return Err(invalid),
        }
        Ok(())
    }

    /// `cudaMemRangeGetAttribute`.
    ///
    /// # Errors
    ///
    /// 1 for memory that is not managed, and for an unknown attribute.
    pub fn range_attribute(
        &mut self,
        address: u64,
        bytes: u64,
        attribute: cudaMemRangeAttribute,
    ) -> Outcome<i32> {
        let said = self.managed(address, bytes)?.said;
        let number = |place: Option<Place>| place.map_or(NOWHERE, Place::number);
        match attribute {
            cudaMemRangeAttribute::READ_MOSTLY => Ok(said.read_mostly.into()),
            cudaMemRangeAttribute::PREFERRED_LOCATION => Ok(number(said.preferred)),
            cudaMemRangeAttribute::LAST_PREFETCH_LOCATION => Ok(number(said.prefetched)),
            _ => Err(cudaError_t::INVALID_VALUE),
        }
    }

    /// Checks that a handle is a stream that accepts work now.
    ///
    /// # Errors
    ///
    /// 400 if it is not, and 900 while the stream captures.
    pub fn stream_for_work(&mut self, stream: u64, current: i32) -> Outcome {
        let stream = self.working_stream(stream, current)?;
        self.not_capturing(stream)?;
        Ok(())
    }
}
