//! How exactly a kernel spins for as long as it is told to.
//!
//! A hold is asked for in time and told to the kernel in clocks, by the nominal
//! clock rate. What events measure around it has the launch's own time in it, which
//! a kernel that ends at once shows under the same conditions; that is taken off.

use crate::bench::bed::{Bed, Limit};
use crate::bench::results::{Figure, Quantity, Side, Value};
use crate::bench::side;
use crate::bench::stats::Spread;

/// Microseconds asked for, and how often.
const REQUESTS: [(u64, u64); 18] = [
    (1, 15),
    (2, 15),
    (5, 15),
    (10, 15),
    (20, 15),
    (50, 15),
    (100, 15),
    (200, 15),
    (500, 15),
    (1_000, 15),
    (2_000, 9),
    (5_000, 9),
    (10_000, 7),
    (50_000, 3),
    (100_000, 3),
    (500_000, 1),
    (1_000_000, 1),
    (2_000_000, 1),
];

/// Requests that are made again after the device idled, and for how long it did.
const AFTER_IDLING: [u64; 3] = [20, 100, 1_000];
const IDLE_MS: u64 = 250;
const IDLE_COUNT: u64 = 6;

/// From here on the spin is held to the bar.
const LEAST_JUDGED_US: u64 = 20;

/// The slack: this part of what was asked for, or this long, whichever is more.
const SLACK_PART: f64 = 0.02;
const SLACK_US: f64 = 2.0;

/// How long the device is kept busy before each spin, so that everything is queued
/// when it begins: the host takes some ten microseconds for that, and more when it
/// has just woken up.
const GATE_US: u64 = 200;

/// The two requests whose difference shows the clock rate.
const SHORT_US: u64 = 1_000;
const LONG_US: u64 = 50_000;

/// A clock rate that differs from the nominal one by more than this is said, and
/// everything is measured again by the one that was found.
const CLOCK_TOLERANCE: f64 = 0.005;

pub fn measure(bed: &Bed, limit: Limit, figure: &mut Figure) -> anyhow::Result<()> {
    let mut ours = bed.ours()?;
    let nominal_khz = ours.hello.number("clock_rate_khz")?;
    let mut asker = Asker {
        side: &mut ours,
        gate_clocks: clocks(GATE_US, nominal_khz),
        limit,
    };
    asker.spin(0, 3, 0)?;
    let empty = asker.spin(0, bed.repeat(40) as u64, 0)?;
    let empty_us = Spread::of(empty.iter().copied()).map_or(0.0, |spread| spread.median);
    figure.times("a kernel that ends at once", Side::Ours, &[], &empty);

    let short = asker.typical(clocks(SHORT_US, nominal_khz), 5)?;
    let long = asker.typical(clocks(LONG_US, nominal_khz), 2)?;
    let measured_khz = nominal_khz * (LONG_US - SHORT_US) as f64 / (long - short);
    // Rates are whole numbers of kHz.
    figure.row(
        "nominal clock rate, kHz",
        Side::Ours,
        &[],
        Value::Count(nominal_khz as u64),
    );
    figure.row(
        "clock rate while spinning, kHz",
        Side::Ours,
        &[],
        Value::Count(measured_khz as u64),
    );
    let off = measured_khz / nominal_khz - 1.0;
    let khz = if off.abs() > CLOCK_TOLERANCE {
        figure.notes.push(format!(
            "the device ran at {:.0} MHz, {:+.1} % from its nominal {:.0}; holds are asked for \
             by the rate that was measured",
            measured_khz / 1e3,
            off * 100.0,
            nominal_khz / 1e3,
        ));
        measured_khz
    } else {
        nominal_khz
    };

    let mut worst = Worst::default();
    for (request_us, count) in REQUESTS {
        if limit.is_over() {
            figure
                .skipped
                .push(format!("{request_us} us and longer: the time was over"));
            break;
        }
        if bed.quick && request_us > LONG_US {
            continue;
        }
        let times = asker.spin(clocks(request_us, khz), count, 0)?;
        note(figure, &mut worst, "spin", request_us, empty_us, &times);
    }
    // A launch may take longer on a device that idled, so it is measured as well.
    let empty = asker.spin(0, 2 * IDLE_COUNT, IDLE_MS)?;
    let empty_us = Spread::of(empty.iter().copied()).map_or(0.0, |spread| spread.median);
    figure.times(
        "a kernel that ends at once, after idling",
        Side::Ours,
        &[],
        &empty,
    );
    let idled = if bed.quick {
        &AFTER_IDLING[..1]
    } else {
        &AFTER_IDLING
    };
    for &request_us in idled {
        let times = asker.spin(clocks(request_us, khz), IDLE_COUNT, IDLE_MS)?;
        note(
            figure,
            &mut worst,
            "spin after idling",
            request_us,
            empty_us,
            &times,
        );
    }
    figure.bar(
        format!(
            "error from {LEAST_JUDGED_US} us up, in units of the slack (2 % or 2 us); worst at {}",
            worst.place
        ),
        Quantity::Ratio(1.0),
        Quantity::Ratio(worst.error),
        bed.not_judged(),
    );
    Ok(())
}

/// Notes what a request came to, without the launch's own time.
fn note(
    figure: &mut Figure,
    worst: &mut Worst,
    what: &str,
    request_us: u64,
    empty_us: f64,
    times: &[f64],
) {
    let net: Vec<f64> = times.iter().map(|us| us - empty_us).collect();
    figure.times(what, Side::Ours, &[("asked_us", request_us)], &net);
    if let Some(spread) = Spread::of(net)
        && request_us >= LEAST_JUDGED_US
    {
        worst.consider(error_in_slack(request_us, spread.median), what, request_us);
    }
}

/// How far off, as a multiple of what is allowed.
fn error_in_slack(request_us: u64, measured_us: f64) -> f64 {
    let request = request_us as f64;
    (measured_us - request).abs() / (request * SLACK_PART).max(SLACK_US)
}

#[derive(Debug, Default)]
struct Worst {
    error: f64,
    place: String,
}

impl Worst {
    fn consider(&mut self, error: f64, what: &str, request_us: u64) {
        if self.place.is_empty() || error > self.error {
            self.error = error;
            self.place = format!("{what} {request_us} us");
        }
    }
}

/// Clocks of a time.
fn clocks(us: u64, khz: f64) -> u64 {
    // A float to integer cast saturates.
    (us as f64 * khz / 1e3).round() as u64
}

struct Asker<'s> {
    side: &'s mut side::Side,
    gate_clocks: u64,
    limit: Limit,
}

impl Asker<'_> {
    /// Elapsed microseconds of each of several spins.
    fn spin(&mut self, clocks: u64, count: u64, idle_ms: u64) -> anyhow::Result<Vec<f64>> {
        let request = format!(
            "spin clocks={clocks} count={count} idle_ms={idle_ms} gate_clocks={}",
            self.gate_clocks
        );
        let limit = self.limit.left() + std::time::Duration::from_secs(10);
        self.side.ask(&request, limit)?.numbers("elapsed_us")
    }

    /// The median of a few.
    fn typical(&mut self, clocks: u64, count: u64) -> anyhow::Result<f64> {
        let times = self.spin(clocks, count, 0)?;
        let spread = Spread::of(times);
        spread
            .map(|spread| spread.median)
            .ok_or_else(|| anyhow::anyhow!("nothing was measured"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_spins_have_two_microseconds_and_long_ones_two_percent() {
        assert!((error_in_slack(20, 22.0) - 1.0).abs() < 1e-9);
        assert!((error_in_slack(100, 98.0) - 1.0).abs() < 1e-9);
        assert!((error_in_slack(10_000, 10_100.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_time_is_told_in_clocks_by_the_rate() {
        assert_eq!(clocks(1, 1_980_000.0), 1_980);
        assert_eq!(clocks(2_000_000, 1_980_000.0), 3_960_000_000);
    }

    #[test]
    fn the_worst_error_names_its_place() {
        let mut worst = Worst::default();
        worst.consider(0.0, "spin", 20);
        worst.consider(0.5, "spin", 50);
        worst.consider(0.1, "spin", 100);
        assert_eq!((worst.error, worst.place.as_str()), (0.5, "spin 50 us"));
    }
}
