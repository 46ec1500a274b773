//! The clocks of the simulation: the host's time, or a time that only the program's calls
//! advance.

use std::time::{Duration, Instant};

/// A point in simulated time, in nanoseconds since the start.
pub type Nanos = u64;

/// The kind of clock that gives the simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockKind {
    /// The host's monotonic clock: work ends when its simulated duration has passed,
    /// and calls take their real time.
    #[default]
    Real,
    /// Each call advances the time by its assumed duration, and waiting advances it to
    /// the end of the wait. Every run of the same program has exactly the same times.
    Virtual,
}

/// A running clock.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// Host time since this instant.
    Real(Instant),
    /// The time so far.
    Virtual(Nanos),
}

impl Clock {
    /// Starts a clock at 0.
    #[must_use]
    pub fn start(kind: ClockKind) -> Self {
        match kind {
            ClockKind::Real => Self::Real(Instant::now()),
            ClockKind::Virtual => Self::Virtual(0),
        }
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Nanos {
        match self {
            Self::Real(start) => u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
            Self::Virtual(now) => *now,
        }
    }

    /// Advances a virtual clock by the duration of a call. A real clock needs no
    /// addition.
    pub fn charge(&mut self, cost: Nanos) {
        if let Self::Virtual(now) = self {
            *now = now.saturating_add(cost);
        }
    }

    /// The time that is left until `time`, which the host must sleep; `None` if there
    /// is none. A virtual clock is set to `time` at once.
    pub fn wait_until(&mut self, time: Nanos) -> Option<Duration> {
        match self {
            Self::Real(_) => time
                .checked_sub(self.now())
                .filter(|&left| left > 0)
                .map(Duration::from_nanos),
            Self::Virtual(now) => {
                *now = (*now).max(time);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_clock_advances_only_by_calls_and_never_goes_back() {
        let mut clock = Clock::start(ClockKind::Virtual);
        assert_eq!(clock.now(), 0);
        clock.charge(5);
        assert_eq!(clock.wait_until(20), None);
        assert_eq!(clock.wait_until(10), None);
        assert_eq!(clock.now(), 20);
    }

    #[test]
    fn a_real_clock_returns_the_time_to_sleep() {
        let mut clock = Clock::start(ClockKind::Real);
        clock.charge(u64::MAX);
        assert_eq!(clock.wait_until(0), None);
        let left = clock.wait_until(clock.now() + 1_000_000_000_000).unwrap();
        assert!(left > Duration::from_secs(500));
    }
}
