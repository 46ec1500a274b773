//! Differences between releases that the project knows and handles, each with
//! how. One that is listed here and no longer found is a difference itself.

use super::probe::Aspect;
use super::runtimes::Release;

/// One known difference.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The function, constant, struct or `struct.field`.
    pub subject: &'static str,
    /// In what it differs: in each of these.
    pub aspects: &'static [Aspect],
    /// The first release that differs.
    pub from: Release,
    /// The first release that does not differ any more.
    pub until: Option<Release>,
    /// How the project handles it.
    pub reason: &'static str,
}

impl Known {
    /// Whether the difference is to be found in a release.
    pub fn covers(&self, release: Release) -> bool {
        release >= self.from && self.until.is_none_or(|until| release < until)
    }
}

/// The oldest release that the table is for.
const FIRST: Release = Release::new(11, 4);

const fn before(
    until: Release,
    subject: &'static str,
    aspects: &'static [Aspect],
    reason: &'static str,
) -> Known {
    Known {
        subject,
        aspects,
        from: FIRST,
        until: Some(until),
        reason,
    }
}

const fn from(
    from: Release,
    subject: &'static str,
    aspects: &'static [Aspect],
    reason: &'static str,
) -> Known {
    Known {
        subject,
        aspects,
        from,
        until: None,
        reason,
    }
}

/// Why the size of `cudaDeviceProp` does not matter.
const OF_DEVICE_PROP: &str = "not in the table as a struct: the call gets a zeroed buffer larger than any version's, and only the name at its start is read";

/// The known differences.
pub const KNOWN: &[Known] = &[
    before(
        Release::new(12, 0),
        "cudaGraphInstantiate",
        &[Aspect::Prototype],
        "not in the table: five arguments before 12.0 and three since; the table binds cudaGraphInstantiateWithFlags, which is the same in all",
    ),
    before(
        Release::new(12, 0),
        "cudaDeviceProp",
        &[Aspect::Size],
        OF_DEVICE_PROP,
    ),
    from(
        Release::new(13, 0),
        "cudaDeviceProp",
        &[Aspect::Size],
        OF_DEVICE_PROP,
    ),
    from(
        Release::new(13, 0),
        "cudaDeviceProp.clockRate",
        &[Aspect::Offset, Aspect::FieldSize],
        "never read: the clock rate comes from cudaDeviceGetAttribute",
    ),
    from(
        Release::new(13, 0),
        "cudaDeviceProp.multiProcessorCount",
        &[Aspect::Offset],
        "never read: the count comes from cudaDeviceGetAttribute",
    ),
    Known {
        subject: "cudaGetDeviceProperties",
        aspects: &[Aspect::Renamed],
        from: Release::new(12, 0),
        until: Some(Release::new(13, 0)),
        reason: "C programs of 12.x call cudaGetDeviceProperties_v2: the table has it as optional, to be called where it is exported",
    },
    from(
        Release::new(13, 0),
        "cudaGetDeviceProperties_v2",
        &[Aspect::Prototype, Aspect::Symbol],
        "gone with 13.0, where the plain name has the new layout: optional in the table",
    ),
    from(
        Release::new(12, 0),
        "cuGraphAddKernelNode",
        &[Aspect::Renamed],
        "C programs call _v2 with 72 bytes of parameters: the table binds the plain name, which every driver exports and which takes the 56 bytes of v1",
    ),
    Known {
        subject: "cudaMemPoolProps.reserved",
        aspects: &[Aspect::Offset, Aspect::FieldSize],
        from: Release::new(12, 2),
        until: None,
        reason: "new fields were carved out of its front: the whole struct is zeroed, which every version reads as not given",
    },
    Known {
        subject: "CUmemPoolProps.reserved",
        aspects: &[Aspect::Offset, Aspect::FieldSize],
        from: Release::new(12, 2),
        until: None,
        reason: "new fields were carved out of its front: the whole struct is zeroed, which every version reads as not given",
    },
    before(
        Release::new(12, 0),
        "cudaGraphInstantiateFlagDeviceLaunch",
        &[Aspect::Value],
        "a flag since 12.0: an older library refuses it as invalid",
    ),
    before(
        Release::new(12, 1),
        "cudaKernel_t",
        &[Aspect::Kind],
        OF_LIBRARIES,
    ),
    before(
        Release::new(12, 8),
        "cudaLibrary_t",
        &[Aspect::Kind],
        OF_LIBRARIES,
    ),
    before(
        Release::new(12, 8),
        "cudaLibraryOption",
        &[Aspect::Kind],
        OF_LIBRARIES,
    ),
    before(
        Release::new(12, 8),
        "cudaJitOption",
        &[Aspect::Kind],
        OF_LIBRARIES,
    ),
    before(
        Release::new(12, 8),
        "cudaJitErrorLogBuffer",
        &[Aspect::Value, Aspect::EnumOf],
        OF_LIBRARIES,
    ),
    before(
        Release::new(12, 8),
        "cudaJitErrorLogBufferSizeBytes",
        &[Aspect::Value, Aspect::EnumOf],
        OF_LIBRARIES,
    ),
];

/// What only the `cudaLibrary*` functions use.
const OF_LIBRARIES: &str = "of the cudaLibrary functions, which are optional: before 12.8 the driver loads the kernel, with the same values";
