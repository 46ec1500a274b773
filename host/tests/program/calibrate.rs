//! `calibrate` measures what a profile contains: on a simulated GPU, the profile that is
//! simulated.

use std::fs;

use crate::support::bare;
use cudart_model::Profile;

const H200: &str = include_str!("../../../ffi/model/src/profile/h200.toml");

/// A GPU that differs from the built-in profile in every value that can be measured, so
/// that one which was taken over, or measured as another, is found.
const OTHER: &str = r#"
device_name = "Made up (simulated)"
devices = 1
driver_version = 12060
runtime_version = 12060
memory_pools_supported = true
compute_capability = [8, 9]
multiprocessors = 46
clock_rate_khz = 2_475_000
max_threads_per_multiprocessor = 1536
max_blocks_per_multiprocessor = 24

[memory]
total_bytes = 12_000_000_000
in_use_at_start_bytes = 400_000_000
block_mib = 2
address_step = 256
first_graph_address = 0xa00000000

[costs_us]
call = 0.7
graph_create = 4.0
add_node = 1.5
instantiate = 31.0
launch = 7.0
map_block = 11.0
unmap_block = 5.0
malloc = 140.0
free = 55.0
free_async = 2.5
load_library = 350.0
graph_on_device = 9.0
kernel_on_device = 3.5
"#;

/// Sizes that no other profile has, little memory, and calls that cost next to nothing.
const TINY: &str = r#"
device_name = "Tiny (simulated)"
devices = 1
driver_version = 11080
runtime_version = 11080
memory_pools_supported = true
compute_capability = [6, 0]
multiprocessors = 2
clock_rate_khz = 900_000
max_threads_per_multiprocessor = 1024
max_blocks_per_multiprocessor = 16

[memory]
total_bytes = 1_073_741_824
in_use_at_start_bytes = 0
block_mib = 64
address_step = 4096
first_graph_address = 0x40000000

[costs_us]
call = 0.05
graph_create = 0.5
add_node = 0.4
instantiate = 2.0
launch = 1.0
map_block = 90.0
unmap_block = 80.0
malloc = 3.0
free = 2.0
free_async = 0.3
load_library = 10.0
graph_on_device = 1.0
kernel_on_device = 0.5
"#;

/// Measures a simulated GPU, and reads what was written.
fn calibrated(profile: &str) -> (Profile, String) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (input, output) = (
        folder.path().join("in.toml"),
        folder.path().join("out.toml"),
    );
    fs::write(&input, profile).expect("a file");
    let ended = bare()
        .args(&["calibrate", "--backend", "simulated", "--model-profile"])
        .arg(&input)
        .args(&["--output"])
        .arg(&output)
        .ends();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = fs::read_to_string(&output).expect("the profile");
    let read = Profile::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    (read, ended.stderr)
}

/// Every cost with its name.
fn costs(profile: &Profile) -> Vec<(String, f64)> {
    let debug = format!("{:#?}", profile.costs_us);
    let fields = debug
        .lines()
        .filter_map(|line| line.trim().split_once(": "));
    fields
        .map(|(name, value)| {
            let us = value.trim_end_matches(',').parse().expect("a number");
            (name.to_owned(), us)
        })
        .collect()
}

#[test]
fn what_is_measured_on_a_simulated_gpu_is_its_profile() {
    for text in [H200, OTHER, TINY] {
        let simulated = Profile::from_toml(text).expect("a profile");
        let (measured, table) = calibrated(text);
        let rest = |profile: &Profile| Profile {
            costs_us: simulated.costs_us.clone(),
            ..profile.clone()
        };
        assert_eq!(rest(&measured), rest(&simulated), "{table}");
        let expected = costs(&simulated);
        assert_eq!(expected.len(), 13);
        for ((name, expected), (_, measured)) in expected.iter().zip(costs(&measured)) {
            // Some measurements contain a few calls that only look something up, and
            // events have a resolution of their own.
            let tolerance = expected * 0.05 + simulated.costs_us.call + 0.1;
            assert!(
                (measured - expected).abs() <= tolerance,
                "{}, {name}: {measured} us instead of {expected} us\n{table}",
                simulated.device_name
            );
        }
    }
}

#[test]
fn the_h200_that_was_measured_is_the_built_in_profile() {
    // Calls take host time: one host was about half as fast as the other.
    for recorded in [
        include_str!("../recordings/calibrate-h200-driver-580-cuda-13.0-fast-host.toml"),
        include_str!("../recordings/calibrate-h200-driver-580-cuda-13.0-slow-host.toml"),
    ] {
        let recorded = Profile::from_toml(recorded).expect("a profile");
        let built_in = Profile::from_toml(H200).expect("a profile");
        // Sizes, addresses and the device's properties: exactly.
        let rest = |profile: &Profile| Profile {
            costs_us: built_in.costs_us.clone(),
            ..profile.clone()
        };
        assert_eq!(rest(&recorded), rest(&built_in));
        for ((name, built_in), (_, recorded)) in costs(&built_in).iter().zip(costs(&recorded)) {
            let ratio = recorded / built_in;
            assert!(
                (0.5..=2.0).contains(&ratio),
                "{name}: {recorded} us, {built_in} us"
            );
        }
    }
}

#[test]
fn a_program_runs_on_the_measured_profile_as_on_the_original() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (original, measured) = (folder.path().join("a.toml"), folder.path().join("b.toml"));
    fs::write(&original, OTHER).expect("a file");
    let written = bare()
        .args(&["calibrate", "--backend", "simulated", "--model-profile"])
        .arg(&original)
        .ends();
    assert_eq!(written.code, 0, "{}", written.stderr);
    // Without --output the profile is all of standard output.
    fs::write(&measured, &written.stdout).expect("a file");
    let plans = [&original, &measured].map(|profile| {
        let plan = bare()
            .args(&["plan", "scenarios/forked-branches.toml", "--model-profile"])
            .arg(profile)
            .in_folder(std::path::Path::new(env!("CARGO_MANIFEST_DIR")))
            .ends();
        assert_eq!(plan.code, 0, "{}", plan.stderr);
        plan.stdout
    });
    assert!(plans[0].contains("blocks of 2 MiB"), "{}", plans[0]);
    assert_eq!(plans[0], plans[1]);
}

#[test]
fn every_value_says_whether_it_was_measured() {
    let written = bare().args(&["calibrate", "--backend", "simulated"]).ends();
    assert_eq!(written.code, 0, "{}", written.stderr);
    let values: Vec<&str> = written
        .stdout
        .lines()
        .filter(|line| line.contains(" = "))
        .collect();
    assert_eq!(values.len(), 28, "{}", written.stdout);
    for line in values {
        let (setting, origin) = line.split_once(" # ").expect(line);
        let taken_over = setting.starts_with("devices ");
        let expected = if taken_over {
            "taken over: "
        } else {
            "measured"
        };
        assert!(origin.starts_with(expected), "{line}");
    }
}

#[test]
fn a_device_without_memory_pools_is_waived_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let output = folder.path().join("gpu.toml");
    let ended = bare()
        .args(&["calibrate", "--backend", "simulated"])
        .args(&["--model-profile", "no-memory-pools", "--output"])
        .arg(&output)
        .ends();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("try: "), "{}", ended.stderr);
    assert!(!output.exists());
}
