//! The memory of this process on the host.

/// Resident bytes; `None` where the system does not report it.
///
/// `smaps_rollup` counts pages; the cheaper `statm` lags behind by a few dozen.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup");
    let text = rollup
        .or_else(|_| std::fs::read_to_string("/proc/self/status"))
        .ok()?;
    resident_in(&text)
}

/// `Rss:` of smaps_rollup or `VmRSS:` of status, both in KiB.
fn resident_in(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Rss:").or(line.strip_prefix("VmRSS:")))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_size_is_read_from_either_file() {
        assert_eq!(
            resident_in("00400000-7fff ---p\nRss:    2172 kB\n"),
            Some(2172 << 10)
        );
        assert_eq!(resident_in("Name:\tx\nVmRSS:\t  512 kB\n"), Some(512 << 10));
        assert_eq!(resident_in("Name:\tx\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_that_is_touched_is_counted() {
        let before = resident_bytes().expect("Linux tells");
        let touched = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident_bytes().expect("Linux tells");
        assert!(after >= before + (60 << 20), "{before} to {after}");
        drop(touched);
    }
}
