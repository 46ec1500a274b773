//! Every call of every experiment fails once, with each of several codes: the run
//! never panics, says which call failed and how, keeps what it has found, and
//! closes what it opened.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};

use clap::Parser;
use cudart_ffi::cudaError_t;
use cudart_model::{Fault, FunctionId, Isolated, LiveObjects};
use graph_memory_footprint::cli::exit::{self, Stop};
use graph_memory_footprint::cli::{Cli, run};
use graph_memory_footprint::experiments::EXPERIMENTS;
use graph_memory_footprint::results::{Quantity, RunResult, Verdict};

/// An invalid argument, no memory, an old driver, a busy device, a bad device, two
/// that corrupt the context, the unknown error, and a code that no header has.
const CODES: [i32; 9] = [1, 2, 35, 46, 101, 700, 719, 999, 123_456];

/// How a run in this process ended.
struct Ended {
    stop: Option<Stop>,
    result: Option<RunResult>,
    live: LiveObjects,
    calls: u64,
    hit: Option<FunctionId>,
}

/// Runs one experiment on a model of this thread's own, with few graphs so that
/// every call can fail in turn.
fn run_one(experiment: &str, output: &Path, fault: Option<(u64, i32)>) -> Ended {
    let model = Isolated::deterministic();
    model.inject(fault.map(|(call, code)| Fault {
        function: None,
        call,
        code: cudaError_t(code),
    }));
    let _ = std::fs::remove_file(output);
    let output_text = output.display().to_string();
    let arguments = [
        "graph-memory-footprint",
        "--backend=model",
        "--graphs=2",
        "--format=json",
        "--experiment",
        experiment,
        "--output",
        &output_text,
    ];
    let cli = Cli::try_parse_from(arguments).expect("valid arguments");
    let stop = run(&cli).err();
    let text = std::fs::read_to_string(output).unwrap_or_default();
    let result = (!text.is_empty()).then(|| serde_json::from_str(&text).expect("whole JSON"));
    Ended {
        stop,
        result,
        live: model.live_objects(),
        calls: model.calls(),
        hit: model.faults_hit().first().copied(),
    }
}

fn corrupts(code: i32) -> bool {
    matches!(code, 700 | 719)
}

/// Whether a call that fails leaves one object, as it must: what it was to close, or
/// the captured graph that it was to hand out.
fn closes(function: FunctionId) -> bool {
    let name = function.name();
    name == "cudaStreamEndCapture"
        || name.ends_with("Destroy")
        || name.starts_with("cudaFree")
        || name == "cudaLibraryUnload"
}

fn makes_calls_to_be_refused(result: &RunResult) -> bool {
    let experiments = result.devices.iter().flat_map(|device| &device.experiments);
    let mut checks = experiments.flat_map(|experiment| &experiment.checks);
    checks.any(|check| matches!(check.measured, Quantity::Code(_)))
}

fn expects(result: &RunResult, code: i32) -> bool {
    let experiments = result.devices.iter().flat_map(|device| &device.experiments);
    let mut checks = experiments.flat_map(|experiment| &experiment.checks);
    checks.any(|check| check.expected == Quantity::Code(code))
}

fn check(experiment: &str, refuses: bool, call: u64, code: i32, ended: &Ended) {
    let place = format!("{experiment}, call {call}, code {code}");
    let Some(function) = ended.hit else {
        panic!("{place}: the run has fewer calls");
    };
    let name = function.name();
    // What the message says, wherever it ended up.
    let mut said = String::new();
    if let Some(stop) = &ended.stop {
        let waived_rightly = code == 35 && name == "cudaGetDeviceCount";
        let expected = if waived_rightly {
            exit::WAIVED
        } else {
            exit::FAIL
        };
        assert_eq!(stop.code(), expected, "{place}: {stop}");
        assert!(!stop.remedy.is_empty(), "{place}");
        said += &stop.what;
    }
    if let Some(result) = &ended.result {
        if refuses && result.verdict == Verdict::Pass && expects(result, code) {
            // The call was to be refused with this very code, and was.
            return;
        }
        assert_eq!(
            result.verdict,
            Verdict::Fail,
            "{place}: {name} failed unseen"
        );
        for device in &result.devices {
            said.extend(device.stopped.iter().map(|stopped| stopped.what.clone()));
            let checks = device.experiments.iter().flat_map(|e| &e.checks);
            // A call that was made to be refused is measured, and its step names it.
            let refused_otherwise = checks
                .filter(|check| check.verdict == Verdict::Fail)
                .any(|check| check.measured == Quantity::Code(code));
            if refused_otherwise {
                said += &format!("{name} failed: {code} ");
            }
            for error in device.experiments.iter().filter_map(|e| e.error.as_ref()) {
                assert!(!error.advice.is_empty(), "{place}");
                said += &format!("{} failed: {} ", error.call, error.code);
            }
        }
    }
    // A call that was made to be refused does not report; a corrupted context then
    // shows at the call after it, as on a GPU.
    let named = if corrupts(code) && refuses {
        said.contains(&format!("failed: {code} "))
    } else {
        said.contains(&format!("{name} failed: {code} "))
    };
    assert!(named, "{place}: {name} is not named in {said:?}");
    if !corrupts(code) {
        let live = ended.live;
        let left = live.graphs
            + live.execs
            + live.streams
            + live.events
            + live.allocations
            + live.libraries;
        let most = u64::from(closes(function));
        assert!(left <= most, "{place}: {name} left {live:?}");
    }
}

#[test]
fn a_failure_at_every_call_is_named_and_leaves_nothing() {
    // In memory where the system has such a folder: thousands of results are written, and
    // each is flushed to the disk.
    let in_memory = Path::new("/dev/shm");
    let folder = tempfile::tempdir_in(in_memory).or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a temporary directory");
    // Each thread has a simulated GPU of its own and takes the next experiment.
    let next = AtomicUsize::new(0);
    let tried = AtomicU32::new(0);
    let worker = || {
        while let Some(experiment) = EXPERIMENTS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let output = folder.path().join(format!("{}.json", experiment.name));
            let failures = fail_every_call(experiment.name, &output);
            assert!(failures > 0, "{}", experiment.name);
            tried.fetch_add(failures, Ordering::Relaxed);
        }
    };
    let workers = available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(worker);
        }
    });
    println!("{} failures tried", tried.into_inner());
}

/// Runs an experiment once for each of its calls and each of three codes. Returns the
/// number of failures that were tried.
fn fail_every_call(experiment: &str, output: &Path) -> u32 {
    let whole = run_one(experiment, output, None);
    let verdict = whole.result.as_ref().map(|result| result.verdict);
    assert_eq!(verdict, Some(Verdict::Pass), "{experiment}");
    assert_eq!(whole.live, LiveObjects::default(), "{experiment}");
    let refuses = whole.result.as_ref().is_some_and(makes_calls_to_be_refused);
    let mut tried = 0;
    for call in 1..=whole.calls {
        // Calls of one kind are many, so three of the codes are tried at each call, in turn.
        for turn in 0..3 {
            let code = CODES[(call as usize * 3 + turn) % CODES.len()];
            let run = || run_one(experiment, output, Some((call, code)));
            let ended = catch_unwind(AssertUnwindSafe(run))
                .unwrap_or_else(|_| panic!("{experiment}: call {call}, {code}"));
            check(experiment, refuses, call, code, &ended);
            tried += 1;
        }
    }
    tried
}
