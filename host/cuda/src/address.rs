//! Virtual addresses on a device.

use std::ffi::c_void;
use std::fmt;

/// A virtual address on a device. It is a number and not a pointer: no function of this
/// crate reads or writes memory because of an address alone. A [`Region`](crate::Region)
/// is for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceAddress(pub u64);

impl fmt::Display for DeviceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl DeviceAddress {
    pub(crate) fn as_ptr(self) -> *mut c_void {
        // An address of the device's space, which the host never dereferences.
        std::ptr::without_provenance_mut(usize::try_from(self.0).unwrap_or(usize::MAX))
    }

    pub(crate) fn of(pointer: *mut c_void) -> Self {
        Self(pointer.addr() as u64)
    }
}
