//! Differences between releases that the project handles, each with the way it is
//! handled. A listed difference that is no longer found is reported as a difference.

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
const OF_DEVICE_PROP: &str = "not in the table as a struct: the call gets a zeroed buffer that is larger than the struct of any release, and only the name at its start is read";

/// The known differences.
pub const KNOWN: &[Known] = &[
    before(
        Release::new(12, 0),
        "cudaGraphInstantiate",
        &[Aspect::Prototype],
        "not in the table, because it has five arguments before 12.0 and three since; the table binds cudaGraphInstantiateWithFlags, which is the same in all releases",
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
        "not read: the clock rate comes from cudaDeviceGetAttribute",
    ),
    from(
        Release::new(13, 0),
        "cudaDeviceProp.multiProcessorCount",
        &[Aspect::Offset],
        "not read: the count comes from cudaDeviceGetAttribute",
    ),
    Known {
        subject: "cudaGetDeviceProperties",
        aspects: &[Aspect::Renamed],
        from: Release::new(12, 0),
        until: Some(Release::new(13, 0)),
        reason: "C programs of 12.x call cudaGetDeviceProperties_v2, which is an optional function of the table and is called if it is exported",
    },
    from(
        Release::new(13, 0),
        "cudaGetDeviceProperties_v2",
        &[Aspect::Prototype, Aspect::Symbol],
        "removed in 13.0, where the name without _v2 has the new layout: optional in the table",
    ),
    from(
        Release::new(13, 0),
        "cudaGraphAddNode_v2",
        &[Aspect::Prototype],
        "removed in 13.0, where the name without _v2 has its prototype: only the simulated runtime exports both",
    ),
    from(
        Release::new(12, 0),
        "cuGraphAddKernelNode",
        &[Aspect::Renamed],
        "C programs call _v2 with 72 bytes of parameters; the table binds the name without _v2, which every driver exports and which takes 56 bytes",
    ),
    from(
        Release::new(12, 0),
        "cudaFuncAttributes",
        &[Aspect::Size],
        "newer releases have more fields at its end: the simulated runtime writes those of 11.4",
    ),
    from(
        Release::new(13, 0),
        "cudaPointerAttributes",
        &[Aspect::Size],
        "newer releases have reserved fields at its end: the simulated runtime writes those of 11.4",
    ),
    Known {
        subject: "cudaMemPoolProps.reserved",
        aspects: &[Aspect::Offset, Aspect::FieldSize],
        from: Release::new(12, 2),
        until: None,
        reason: "newer releases have more fields at its start: the whole struct is zeroed, which every release treats as unset",
    },
    Known {
        subject: "CUmemPoolProps.reserved",
        aspects: &[Aspect::Offset, Aspect::FieldSize],
        from: Release::new(12, 2),
        until: None,
        reason: "newer releases have more fields at its start: the whole struct is zeroed, which every release treats as unset",
    },
    before(
        Release::new(12, 0),
        "cudaGraphInstantiateFlagDeviceLaunch",
        &[Aspect::Value],
        "a flag since 12.0; older libraries refuse it as invalid",
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
const OF_LIBRARIES: &str = "used by the cudaLibrary functions, which are optional; before 12.8 the driver loads the kernel, with the same values";
