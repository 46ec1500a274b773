//! The loop's contract, on clocks that no GPU is needed for.

use std::cell::Cell;

use super::{Clock, spin};

/// A counter that advances by `step` at every look.
struct Stepping {
    next: Cell<u64>,
    step: u64,
    looks: Cell<u64>,
}

impl Stepping {
    fn new(start: u64, step: u64) -> Self {
        Self {
            next: Cell::new(start),
            step,
            looks: Cell::new(0),
        }
    }

    /// Spins for `clock_count` and returns the clocks between the first look
    /// and the last: what the kernel waited.
    fn waited(&self, clock_count: i64) -> u64 {
        let start = self.next.get();
        spin(self, clock_count);
        self.next.get().wrapping_sub(start).wrapping_sub(self.step)
    }
}

impl Clock for Stepping {
    fn now(&self) -> u64 {
        let now = self.next.get();
        self.next.set(now.wrapping_add(self.step));
        self.looks.set(self.looks.get() + 1);
        now
    }
}

#[test]
fn it_never_returns_sooner_than_asked() {
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
                let waited = Stepping::new(start, step).waited(count);
                let count = count.cast_unsigned();
                assert!(waited >= count, "{waited} < {count} from {start} by {step}");
                assert!(
                    waited < count + step,
                    "{waited}: a look too many for {count}"
                );
            }
        }
    }
}

#[test]
fn a_wrap_of_the_counter_neither_shortens_nor_prolongs_the_wait() {
    for start in [u64::MAX - 500, u64::MAX, (1 << 63) - 500] {
        let wrapping = Stepping::new(start, 10);
        let plain = Stepping::new(0, 10);
        assert_eq!(wrapping.waited(1000), plain.waited(1000));
        assert_eq!(wrapping.looks, plain.looks);
    }
}

#[test]
fn counts_beyond_32_bits_are_waited_for_in_full() {
    let step = 1 << 30;
    let count = (1_i64 << 40) + 1;
    let waited = Stepping::new(u64::MAX - 5, step).waited(count);
    assert!(waited >= count.cast_unsigned());
}

#[test]
fn zero_and_negative_counts_look_once_and_return() {
    for count in [0, -1, -1000, i64::MIN + 1] {
        let clock = Stepping::new(u64::MAX, 5);
        clock.waited(count);
        assert_eq!(clock.looks.get(), 2, "start and one look, for {count}");
    }
}

#[test]
fn a_clock_that_jumps_ends_the_wait() {
    let clock = Stepping::new(7, 1 << 40);
    assert_eq!(clock.waited(5), 1 << 40);
    assert_eq!(clock.looks.get(), 2);
}
