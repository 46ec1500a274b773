//! Tests of the loop with simulated clocks, which need no GPU.

use std::cell::Cell;

use super::{Clock, spin};

/// A counter that advances by a fixed step at each read. Each test's thread has its own.
enum Stepping {}

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(0) };
    static STEP: Cell<u64> = const { Cell::new(1) };
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

impl Clock for Stepping {
    fn now() -> u64 {
        let now = NEXT.get();
        NEXT.set(now.wrapping_add(STEP.get()));
        LOOKS.set(LOOKS.get() + 1);
        now
    }
}

/// Spins for `count` on a counter that starts at `start`. Returns the clock cycles between
/// the first read and the last, which is the time that the kernel waited, and the number of
/// reads.
fn waited(start: u64, step: u64, count: i64) -> (u64, u64) {
    NEXT.set(start);
    STEP.set(step);
    LOOKS.set(0);
    spin::<Stepping>(count);
    let last = NEXT.get().wrapping_sub(step);
    (last.wrapping_sub(start), LOOKS.get())
}

#[test]
fn it_never_returns_sooner_than_requested() {
    for start in [
        0,
        1,
        u64::MAX,
        u64::MAX - 3,
        1 << 63,
        (1 << 63) - 1,
        u64::from(u32::MAX),
    ] {
        for step in [1, 2, 3, 7, 40] {
            for count in [1, 2, 10, 99, 1000] {
                let waited = waited(start, step, count).0;
                let count = count.cast_unsigned();
                assert!(waited >= count, "{waited} < {count} from {start} by {step}");
                assert!(
                    waited < count + step,
                    "{waited}: one read too many for {count}"
                );
            }
        }
    }
}

#[test]
fn a_counter_that_wraps_around_does_not_change_the_wait() {
    for start in [u64::MAX - 500, u64::MAX, (1 << 63) - 500] {
        assert_eq!(waited(start, 10, 1000), waited(0, 10, 1000));
    }
}

#[test]
fn counts_above_32_bits_are_waited_for_completely() {
    let count = (1_i64 << 40) + 1;
    let (clocks, _) = waited(u64::MAX - 5, 1 << 30, count);
    assert!(clocks >= count.cast_unsigned());
}

#[test]
fn zero_and_negative_counts_return_after_one_read() {
    for count in [0, -1, -1000, i64::MIN + 1] {
        let (_, looks) = waited(u64::MAX, 5, count);
        assert_eq!(looks, 2, "two reads, the start and one more, for {count}");
    }
}

#[test]
fn a_clock_that_jumps_ends_the_wait() {
    assert_eq!(waited(7, 1 << 40, 5), (1 << 40, 2));
}
