//! Profiles: the devices, memory, versions and durations of the GPU to simulate.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::clock::Nanos;
use crate::memory::address::Granularity;

const MIB: u64 = 1 << 20;

/// A GPU to simulate. [`Profile::built_in`] returns built-in ones, and
/// [`Profile::from_toml`] reads others. The TOML files in this folder state for each value
/// whether it was measured or assumed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name that `cudaGetDeviceProperties` returns for each device.
    pub device_name: String,
    /// The number of devices. With 0, every call that needs a device returns 100
    /// (cudaErrorNoDevice).
    pub devices: i32,
    /// The newest CUDA version that the driver supports, as 1000 x major + 10 x minor;
    /// 0 for no driver.
    pub driver_version: i32,
    /// The version of the runtime to simulate, in the same form.
    pub runtime_version: i32,
    /// Device attribute 115 (R54).
    pub memory_pools_supported: bool,
    /// The compute capability: major and minor version.
    pub compute_capability: [i32; 2],
    /// Streaming multiprocessors of each device.
    pub multiprocessors: u32,
    /// The nominal clock rate of the multiprocessors, in kHz.
    pub clock_rate_khz: u32,
    /// Threads that can be resident on one multiprocessor.
    pub max_threads_per_multiprocessor: u32,
    /// Blocks that can be resident on one multiprocessor.
    pub max_blocks_per_multiprocessor: u32,
    /// Sizes and addresses.
    pub memory: MemoryProfile,
    /// Durations in microseconds.
    pub costs_us: Costs,
    /// How long kernels run, in microseconds, by their name (`saxpy`) or their mangled
    /// name.
    #[serde(default)]
    pub kernels_us: BTreeMap<String, f64>,
}

/// Bytes of virtual addresses for graphs per byte of a device's memory. The H200 refuses
/// the alloc node of the 8,948th graph that needs a block.
const ADDRESSES_PER_BYTE: u64 = 2;
/// A multiple of every unit in which memory other than that of graphs is allocated, as a
/// number of blocks of at least 1 MiB.
const LARGEST_UNIT: u64 = 32;
/// The addresses of the stream-ordered pools, which are above those of the graphs.
const POOL_ADDRESSES: Range<u64> = 0x1c00_0000_0000..0x3800_0000_0000;
/// The addresses of plain memory, which are below those of programs and of host memory.
const PLAIN_ADDRESSES: Range<u64> = 0x3800_0000_0000..0x5400_0000_0000;

/// The virtual addresses of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// The addresses for graphs.
    pub graphs: Range<u64>,
    /// The addresses for the stream-ordered pool.
    pub pool: Range<u64>,
    /// The addresses for `cudaMalloc`.
    pub plain: Range<u64>,
}

/// Sizes and addresses of a device's memory.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryProfile {
    /// The size of the device's memory in bytes.
    pub total_bytes: u64,
    /// Bytes that are in use before the program allocates anything: by the context, and
    /// by everything else on the device.
    pub in_use_at_start_bytes: u64,
    /// The granularity of the physical memory of graph allocations, in MiB (M1).
    pub block_mib: u64,
    /// Graph addresses are multiples of this, in bytes (M16).
    pub address_step: u64,
    /// The address of the first alloc node in a new process (M2).
    pub first_graph_address: u64,
}

/// The durations of calls and of work on the device, in microseconds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// A call that is not listed below.
    pub call: f64,
    /// `cudaGraphCreate`.
    pub graph_create: f64,
    /// Adding a node.
    pub add_node: f64,
    /// `cudaGraphInstantiateWithFlags`.
    pub instantiate: f64,
    /// `cudaGraphLaunch` and `cudaGraphUpload`, without the time for mapping.
    pub launch: f64,
    /// Mapping one block at an address.
    pub map_block: f64,
    /// Unmapping one block.
    pub unmap_block: f64,
    /// `cudaMalloc`.
    pub malloc: f64,
    /// `cudaFree`.
    pub free: f64,
    /// `cudaFreeAsync`.
    pub free_async: f64,
    /// `cudaLibraryLoadData`.
    pub load_library: f64,
    /// On the device: the duration of a graph in addition to that of its kernels.
    pub graph_on_device: f64,
    /// On the device: the duration of a kernel that does not wait for a number of clock
    /// cycles.
    pub kernel_on_device: f64,
}

/// Why a text is not a valid profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The TOML does not parse, or a value has the wrong type or is missing.
    #[error("not a profile of a GPU: {}", .0.message())]
    Toml(#[from] toml::de::Error),
    /// A value that no GPU can have.
    #[error("not a profile of a GPU: {0}")]
    Value(&'static str),
    /// No built-in profile has this name.
    #[error("no built-in profile is called {0:?}; there are {names}", names = Profile::BUILT_IN.map(|(name, _)| name).join(", "))]
    Unknown(String),
}

impl Profile {
    /// The duration of a kernel in microseconds, if the profile contains it. A name in
    /// the profile also applies to a C++ function of that name.
    #[must_use]
    pub fn kernel_us(&self, name: &str) -> Option<f64> {
        let exact = self.kernels_us.get(name);
        let mangled = || {
            let rest = name.strip_prefix("_Z")?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (length, rest) = rest.split_at_checked(digits)?;
            let plain = rest.get(..length.parse().ok()?)?;
            self.kernels_us.get(plain)
        };
        exact.or_else(mangled).copied()
    }

    /// The built-in profiles, by name and as TOML. The first is the default.
    pub const BUILT_IN: [(&'static str, &'static str); 5] = [
        ("h200", include_str!("h200.toml")),
        ("consumer-8gib", include_str!("consumer-8gib.toml")),
        ("no-memory-pools", include_str!("no-memory-pools.toml")),
        ("old-driver", include_str!("old-driver.toml")),
        ("two-devices", include_str!("two-devices.toml")),
    ];

    /// A built-in profile.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Unknown`], whose text lists the built-in names.
    pub fn built_in(name: &str) -> Result<Self, ProfileError> {
        let (_, text) = Self::BUILT_IN
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| ProfileError::Unknown(name.to_owned()))?;
        Self::from_toml(text)
    }

    /// Reads a profile from its TOML text. Every value must be present.
    ///
    /// # Errors
    ///
    /// A text that does not parse, or a value that no GPU can have.
    pub fn from_toml(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text)?;
        profile.check()?;
        Ok(profile)
    }

    fn check(&self) -> Result<(), ProfileError> {
        let refuse = |reason| Err(ProfileError::Value(reason));
        let memory = &self.memory;
        if !(0..=64).contains(&self.devices) {
            return refuse("devices must be 0 to 64");
        }
        if self.device_name.len() > 255 || self.device_name.contains('\0') {
            return refuse("device_name must have at most 255 bytes and no NUL");
        }
        if self.clock_rate_khz == 0 || self.multiprocessors == 0 {
            return refuse("clock_rate_khz and multiprocessors must be above 0");
        }
        if self.max_threads_per_multiprocessor == 0 || self.max_blocks_per_multiprocessor == 0 {
            return refuse("threads and blocks per multiprocessor must be above 0");
        }
        if memory.total_bytes > 1 << 44 || memory.in_use_at_start_bytes > memory.total_bytes {
            return refuse("total_bytes must be at most 16 TiB and at least in_use_at_start_bytes");
        }
        let Some(block) = memory.block_mib.checked_mul(MIB).filter(|&b| b <= 1 << 34) else {
            return refuse("block_mib must be at most 16 GiB");
        };
        if Granularity::new(memory.address_step, block).is_none() {
            return refuse("block_mib must be above 0 and a multiple of address_step");
        }
        if memory.first_graph_address == 0 || !memory.first_graph_address.is_multiple_of(block) {
            return refuse("first_graph_address must be a multiple of block_mib");
        }
        let devices = self.devices.unsigned_abs().into();
        let end = |start: u64| start.saturating_add(self.address_stride().saturating_mul(devices));
        if end(memory.first_graph_address) > POOL_ADDRESSES.start
            || end(POOL_ADDRESSES.start) > POOL_ADDRESSES.end
            || end(PLAIN_ADDRESSES.start) > PLAIN_ADDRESSES.end
        {
            return refuse(
                "the devices have more memory than there are addresses: first_graph_address and \
                 two addresses for each byte of all devices must be below 28 TiB",
            );
        }
        if !self.costs_us.all().all(|cost| (0.0..=1e9).contains(&cost)) {
            return refuse("costs must be 0 to 1e9 microseconds");
        }
        Ok(())
    }

    /// The virtual addresses of a device, for each kind of memory. They do not overlap;
    /// a profile for which they would is refused.
    #[must_use]
    pub fn addresses_of(&self, device: usize) -> Addresses {
        let device = device as u64;
        let room = self.total_bytes().saturating_mul(ADDRESSES_PER_BYTE);
        let window = |start: u64, stride: u64| {
            let start = start.saturating_add(device.saturating_mul(stride));
            start..start.saturating_add(room)
        };
        let stride = self.address_stride();
        Addresses {
            graphs: window(self.memory.first_graph_address, stride),
            pool: window(POOL_ADDRESSES.start, stride),
            plain: window(PLAIN_ADDRESSES.start, stride),
        }
    }

    /// The distance between the addresses of two devices: a multiple of the block size
    /// and of every unit in which memory is allocated.
    fn address_stride(&self) -> u64 {
        let room = self.total_bytes().saturating_mul(ADDRESSES_PER_BYTE);
        let unit = self.block_bytes().max(1).saturating_mul(LARGEST_UNIT);
        room.checked_next_multiple_of(unit)
            .unwrap_or(u64::MAX)
            .max(unit)
    }

    /// The block size of physical memory in bytes.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.memory.block_mib * MIB
    }

    /// The size of a device's memory in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.memory.total_bytes
    }

    /// Bytes that are in use before the program allocates anything.
    #[must_use]
    pub fn start_bytes(&self) -> u64 {
        self.memory.in_use_at_start_bytes
    }

    /// The step of addresses and the block size.
    #[must_use]
    pub fn granularity(&self) -> Granularity {
        Granularity::new(self.memory.address_step, self.block_bytes()).unwrap_or(Granularity::H200)
    }
}

impl Default for Profile {
    /// The H200.
    fn default() -> Self {
        // Parsing takes more than a millisecond without optimization; tests make thousands of
        // simulated runtimes.
        static H200: LazyLock<Profile> = LazyLock::new(|| {
            let (_, text) = Profile::BUILT_IN[0];
            match Profile::from_toml(text) {
                Ok(profile) => profile,
                Err(error) => unreachable!("a test reads every built-in profile: {error}"),
            }
        });
        H200.clone()
    }
}

impl Costs {
    fn all(&self) -> impl Iterator<Item = f64> {
        [
            self.call,
            self.graph_create,
            self.add_node,
            self.instantiate,
            self.launch,
            self.map_block,
            self.unmap_block,
            self.malloc,
            self.free,
            self.free_async,
            self.load_library,
            self.graph_on_device,
            self.kernel_on_device,
        ]
        .into_iter()
    }
}

/// Microseconds of a checked profile as nanoseconds.
#[must_use]
pub fn nanos(microseconds: f64) -> Nanos {
    // `Profile::check` limits costs to 0..=1e9, so the conversion neither overflows nor
    // loses precision.
    (microseconds * 1e3).round() as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_can_be_read_and_its_name_says_that_it_is_simulated() {
        for (name, _) in Profile::BUILT_IN {
            let profile = Profile::built_in(name).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(profile.device_name.contains("(simulated)"), "{name}");
        }
        assert_eq!(Profile::default(), Profile::built_in("h200").unwrap());
    }

    #[test]
    fn every_value_of_a_built_in_profile_is_marked() {
        let (_, h200) = Profile::BUILT_IN[0];
        for line in h200.lines().filter(|line| line.contains(" = ")) {
            let (setting, comment) = line.split_once('#').unwrap_or((line, ""));
            let exempt = setting.starts_with("device_name");
            let marked = ["measured", "assumed", "architecture's", "chosen"];
            assert!(
                exempt || marked.iter().any(|m| comment.contains(m)),
                "{line}"
            );
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = Profile::built_in("h100").unwrap_err().to_string();
        assert!(
            message.contains("h100") && message.contains("consumer-8gib"),
            "{message}"
        );
    }

    #[test]
    fn impossible_values_are_refused() {
        let (_, h200) = Profile::BUILT_IN[0];
        for (from, to) in [
            ("devices = 1 ", "devices = -1 "),
            ("block_mib = 32 ", "block_mib = 0 "),
            ("address_step = 512 ", "address_step = 500 "),
            ("clock_rate_khz = 1_980_000", "clock_rate_khz = 0"),
            ("launch = 2.3 ", "launch = nan "),
            (
                "in_use_at_start_bytes = 552_402_944",
                "in_use_at_start_bytes = 900_000_000_000",
            ),
            ("0x302000000", "0x302000001"),
            ("devices = 1 ", "devises = 1 "),
        ] {
            let text = h200.replace(from, to);
            assert_ne!(text, h200, "{from} is not in the profile");
            assert!(Profile::from_toml(&text).is_err(), "{to} was accepted");
        }
    }
}
