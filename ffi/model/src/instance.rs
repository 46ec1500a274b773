//! Selects the simulated runtime for a call: that of the process, or one that a test
//! created for its thread.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use cudart_ffi::{cudaError_t, cudaStreamCaptureMode};

use crate::clock::{ClockKind, Nanos};
use crate::faults::{Fault, parse_list};
use crate::functions::FunctionId;
use crate::profile::Profile;
use crate::runtime::{LiveObjects, Runtime};

/// The settings with which a simulated runtime is started.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// The GPU to simulate.
    pub profile: Profile,
    /// The kind of clock.
    pub clock: ClockKind,
    /// Calls that are made to fail.
    pub faults: Vec<Fault>,
}

impl Config {
    /// The configuration in the environment variables that [`configure`] lists.
    ///
    /// # Errors
    ///
    /// A variable with an invalid value. The message contains its name.
    pub fn from_environment() -> Result<Self, String> {
        config_from(cudart_ffi::environment::variable)
    }
}

/// The largest size of a profile file in bytes. Without a limit, reading a device such as
/// `/dev/zero` would not end.
const MAX_PROFILE_BYTES: u64 = 1 << 20;

/// A profile, by the name of a built-in one or from a TOML file. A name with a dot or a
/// slash is that of a file.
///
/// # Errors
///
/// A name that no built-in profile has, or a file that is not a profile.
pub fn profile_named(name: &str) -> Result<Profile, String> {
    let built_in = Profile::BUILT_IN.iter().any(|(known, _)| *known == name);
    let looks_like_a_file = name.contains(['/', '\\', '.']);
    if built_in || !looks_like_a_file {
        return Profile::built_in(name).map_err(|error| error.to_string());
    }
    let mut text = String::new();
    File::open(name)
        .and_then(|file| file.take(MAX_PROFILE_BYTES).read_to_string(&mut text))
        .map_err(|error| format!("{name:?}: {error}"))?;
    Profile::from_toml(&text).map_err(|error| format!("{name:?}: {error}"))
}

/// The simulated runtime of the process was already started, by [`configure`] or by a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the simulated runtime was already started; configure it before the first call")]
pub struct AlreadyStarted;

/// Starts the simulated runtime of the process. Otherwise the first call starts it, with
/// the settings of the environment: `CUDART_MODEL_PROFILE` (a built-in name or a TOML
/// file), `CUDART_MODEL_CLOCK` (`real` or `virtual`), `CUDART_MODEL_FAULT` (a list of
/// [`Fault`]s).
///
/// # Errors
///
/// [`AlreadyStarted`] if it was started before.
pub fn configure(config: Config) -> Result<(), AlreadyStarted> {
    let mut config = Some(config);
    process(|| Instance::new(config.take().unwrap_or_default()));
    match config {
        None => Ok(()),
        Some(_) => Err(AlreadyStarted),
    }
}

static PROCESS: OnceLock<Arc<Instance>> = OnceLock::new();
/// Locked while [`PROCESS`] is created, so that a fork can wait for that.
static START: Mutex<()> = Mutex::new(());

/// The simulated runtime of the process. If there is none, `make` creates it.
fn process(make: impl FnOnce() -> Instance) -> &'static Arc<Instance> {
    if let Some(started) = PROCESS.get() {
        return started;
    }
    let _start = lock_start();
    PROCESS.get_or_init(|| {
        #[cfg(unix)]
        crate::c_api::prepare_for_forks();
        Arc::new(make())
    })
}

/// Prevents other threads from starting the simulated runtime of the process.
pub(crate) fn lock_start() -> MutexGuard<'static, ()> {
    START.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The simulated runtime of the process, if a call has started it.
#[cfg(unix)]
pub(crate) fn process_if_started() -> Option<&'static Instance> {
    PROCESS.get().map(|instance| &**instance)
}

/// One simulated runtime, with its counters.
#[derive(Debug)]
pub(crate) struct Instance {
    state: Mutex<State>,
    /// Signalled when a thread that worked on memory has stopped.
    pub(crate) work_done: Condvar,
}

/// The data that the lock protects.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) runtime: Runtime,
    pub(crate) faults: Vec<Fault>,
    /// The number of calls so far that return a code.
    pub(crate) calls: u64,
    pub(crate) calls_of: [u64; FunctionId::COUNT],
    /// The code that every call returns after the context was corrupted.
    pub(crate) corrupted: Option<cudaError_t>,
    /// The functions whose calls failed because of faults, in order.
    pub(crate) faults_hit: Vec<FunctionId>,
    /// Whether the environment contains an invalid setting.
    pub(crate) misconfigured: bool,
    /// Whether the process is a forked child whose parent had used CUDA.
    pub(crate) forked: bool,
}

#[cfg(unix)]
impl State {
    /// Called in the child after a fork, for the child's copy of the state.
    pub(crate) fn note_fork(&mut self) {
        self.forked |= self.calls > 0 || self.runtime.driver_is_initialized();
        self.runtime.note_fork(self.forked);
    }
}

impl Instance {
    fn new(config: Config) -> Self {
        Self {
            state: Mutex::new(State {
                runtime: Runtime::new(config.profile, config.clock),
                faults: config.faults,
                calls: 0,
                calls_of: [0; FunctionId::COUNT],
                corrupted: None,
                faults_hit: Vec::new(),
                misconfigured: false,
                forked: false,
            }),
            work_done: Condvar::new(),
        }
    }

    /// An instance with the settings of the environment. An invalid setting is reported
    /// once on standard error, and every call that needs a driver then returns 3.
    fn from_environment() -> Self {
        match Config::from_environment() {
            Ok(config) => Self::new(config),
            Err(problem) => {
                // Standard error may be closed or full; the program must not
                // end because of that.
                let problem = safe_io::visible::indented(&problem.to_string());
                let _ = writeln!(std::io::stderr(), "cudart_model: {problem}");
                let instance = Self::new(Config::default());
                instance.lock().misconfigured = true;
                instance
            }
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a configuration from environment variables.
pub(crate) fn config_from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Config, String> {
    let variable = |name: &str| match variable(name).map(OsString::into_string) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(value)) => Err(format!("{name}: {value:?} is not UTF-8")),
    };
    let mut config = Config::default();
    if let Some(name) = variable("CUDART_MODEL_PROFILE")?.filter(|name| !name.is_empty()) {
        config.profile =
            profile_named(&name).map_err(|error| format!("CUDART_MODEL_PROFILE: {error}"))?;
    }
    config.clock = match variable("CUDART_MODEL_CLOCK")?.as_deref() {
        None | Some("" | "real") => ClockKind::Real,
        Some("virtual") => ClockKind::Virtual,
        Some(other) => {
            return Err(format!(
                "CUDART_MODEL_CLOCK: {other:?} is neither real nor virtual"
            ));
        }
    };
    if let Some(faults) = variable("CUDART_MODEL_FAULT")? {
        config.faults =
            parse_list(&faults).map_err(|error| format!("CUDART_MODEL_FAULT: {error}"))?;
    }
    Ok(config)
}

/// The state that CUDA keeps for each host thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadState {
    pub(crate) device: i32,
    pub(crate) last_error: cudaError_t,
    /// A number that is different for each thread; 0 before its first call.
    pub(crate) number: u64,
    /// The mode that `cudaThreadExchangeStreamCaptureMode` set last.
    pub(crate) capture_mode: cudaStreamCaptureMode,
    /// Whether a context is current.
    pub(crate) has_context: bool,
    /// Whether the null stream is the thread's own default stream in the current call.
    pub(crate) per_thread_default: bool,
}

impl ThreadState {
    const FRESH: Self = Self {
        device: 0,
        last_error: cudaError_t::SUCCESS,
        number: 0,
        capture_mode: cudaStreamCaptureMode::GLOBAL,
        has_context: false,
        per_thread_default: false,
    };
}

thread_local! {
    static PER_THREAD_DEFAULT: Cell<bool> = const { Cell::new(false) };
}

/// Makes a call in which the null stream is the thread's own default stream.
pub(crate) fn with_per_thread_default<T>(call: impl FnOnce() -> T) -> T {
    let before = PER_THREAD_DEFAULT.replace(true);
    let result = call();
    PER_THREAD_DEFAULT.set(before);
    result
}

/// Sets the thread's last error in the simulated runtime that its calls use.
pub(crate) fn set_last_error(error: cudaError_t) {
    let (_, mut state) = current();
    state.last_error = error;
    keep(state);
}

struct Thread {
    process: ThreadState,
    isolated: Vec<(Arc<Instance>, ThreadState)>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        if self.process.number != 0
            && let Some(process) = PROCESS.get()
        {
            process.lock().runtime.thread_ended(self.process.number);
        }
    }
}

thread_local! {
    static THREAD: RefCell<Thread> = const {
        RefCell::new(Thread { process: ThreadState::FRESH, isolated: Vec::new() })
    };
}

static THREADS: AtomicU64 = AtomicU64::new(0);

/// The simulated runtime that this thread's calls use, and the thread's state in it.
pub(crate) fn current() -> (Arc<Instance>, ThreadState) {
    let here = THREAD.try_with(|thread| {
        let thread = thread.borrow();
        match thread.isolated.last() {
            Some((instance, state)) => (Some(Arc::clone(instance)), *state),
            None => (None, thread.process),
        }
    });
    // While a thread ends, its storage may already be destroyed. The process's runtime
    // is then used.
    let (instance, mut state) = here.unwrap_or((None, ThreadState::FRESH));
    if state.number == 0 {
        state.number = THREADS.fetch_add(1, Ordering::Relaxed) + 1;
    }
    state.per_thread_default = PER_THREAD_DEFAULT.get();
    let instance = instance.unwrap_or_else(|| Arc::clone(process(Instance::from_environment)));
    (instance, state)
}

/// Stores the thread's state in the simulated runtime that [`current`] returned.
pub(crate) fn keep(state: ThreadState) {
    // While the thread ends, its storage may already be destroyed; the state is then
    // dropped.
    let _ = THREAD.try_with(|thread| {
        let mut thread = thread.borrow_mut();
        match thread.isolated.last_mut() {
            Some((_, kept)) => *kept = state,
            None => thread.process = state,
        }
    });
}

/// A simulated runtime for one thread. As long as this value exists, the calls of the
/// thread that created it use this runtime instead of that of the process. For tests.
/// Nested ones must be dropped in reverse order.
#[derive(Debug)]
pub struct Isolated {
    instance: Arc<Instance>,
    /// It cannot be sent to another thread.
    not_send: PhantomData<*const ()>,
}

impl Isolated {
    /// Starts a simulated runtime for the calls of this thread.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let instance = Arc::new(Instance::new(config));
        THREAD.with_borrow_mut(|thread| {
            thread
                .isolated
                .push((Arc::clone(&instance), ThreadState::FRESH));
        });
        Self {
            instance,
            not_send: PhantomData,
        }
    }

    /// A simulated H200 with the virtual clock, which most tests use.
    #[must_use]
    pub fn deterministic() -> Self {
        Self::new(Config {
            clock: ClockKind::Virtual,
            ..Config::default()
        })
    }

    /// Objects that the program has not destroyed or freed.
    #[must_use]
    pub fn live_objects(&self) -> LiveObjects {
        self.instance.lock().runtime.live_objects()
    }

    /// The number of calls so far that returned a code.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.instance.lock().calls
    }

    /// The number of calls of one function.
    #[must_use]
    pub fn calls_of(&self, function: FunctionId) -> u64 {
        self.instance
            .lock()
            .calls_of
            .get(function as usize)
            .copied()
            .unwrap_or(0)
    }

    /// The simulated time, in nanoseconds since the start.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.instance.lock().runtime.now()
    }

    /// Advances a virtual clock without a call. A real clock does not change.
    pub fn advance(&self, nanoseconds: Nanos) {
        self.instance.lock().runtime.clock_mut().charge(nanoseconds);
    }

    /// The functions whose calls failed because of faults, in order.
    #[must_use]
    pub fn faults_hit(&self) -> Vec<FunctionId> {
        self.instance.lock().faults_hit.clone()
    }

    /// Adds calls that are made to fail.
    pub fn inject(&self, faults: impl IntoIterator<Item = Fault>) {
        self.instance.lock().faults.extend(faults);
    }
}

impl Drop for Isolated {
    fn drop(&mut self) {
        let _ = THREAD.try_with(|thread| {
            thread
                .borrow_mut()
                .isolated
                .retain(|(instance, _)| !Arc::ptr_eq(instance, &self.instance));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)]) -> Result<Config, String> {
        config_from(|name| {
            pairs
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn the_environment_selects_profile_clock_and_faults() {
        let config = from(&[
            ("CUDART_MODEL_PROFILE", "two-devices"),
            ("CUDART_MODEL_CLOCK", "virtual"),
            ("CUDART_MODEL_FAULT", "17=700"),
        ])
        .unwrap();
        assert_eq!(config.profile.devices, 2);
        assert_eq!(config.clock, ClockKind::Virtual);
        assert_eq!(config.faults.len(), 1);
        assert_eq!(from(&[]).unwrap(), Config::default());
    }

    #[test]
    fn an_invalid_setting_of_the_environment_is_reported_with_its_variable() {
        for (name, value) in [
            ("CUDART_MODEL_PROFILE", "h100"),
            ("CUDART_MODEL_PROFILE", "no/such/file.toml"),
            ("CUDART_MODEL_CLOCK", "sundial"),
            ("CUDART_MODEL_FAULT", "soon"),
        ] {
            let problem = from(&[(name, value)]).unwrap_err();
            assert!(problem.contains(name), "{problem}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_value_that_is_not_utf8_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        for wrong in [
            "CUDART_MODEL_PROFILE",
            "CUDART_MODEL_CLOCK",
            "CUDART_MODEL_FAULT",
        ] {
            let value = |name: &str| (name == wrong).then(|| OsString::from_vec(vec![b'h', 0xff]));
            let problem = config_from(value).unwrap_err();
            assert!(
                problem.contains(wrong) && problem.contains("UTF-8"),
                "{problem}"
            );
        }
    }
}
