//! Floating-point arithmetic and conversions, for all threads of a warp at once.

use std::array::from_fn;

use super::lanes::{Lanes, Number, zip};
use super::operation::{Direction, Float, Mode, Round, Type};

pub(super) fn float<const N: usize>(
    how: Float,
    double: bool,
    mode: Mode,
    all: [&Lanes<N>; 3],
) -> Lanes<N> {
    if double {
        return from_fn(|i| {
            let [a, b, c] = all.map(|lanes| f64::get(lanes[i]));
            let of_numbers = !(a.is_nan() || b.is_nan() || c.is_nan());
            let result = match how {
                Float::Add => a + b,
                Float::Subtract => a - b,
                Float::Multiply => a * b,
                Float::Divide => a / b,
                Float::Fused => a.mul_add(b, c),
                Float::Negate => return (-a).put(),
                Float::Absolute => return a.abs().put(),
                Float::CopySign => return b.copysign(a).put(),
                Float::Least => a.min(b),
                Float::Most => a.max(b),
                Float::SquareRoot => a.sqrt(),
                Float::Reciprocal => 1.0 / a,
                Float::ReciprocalRoot => 1.0 / a.sqrt(),
                Float::Sine => a.sin(),
                Float::Cosine => a.cos(),
                Float::Power => a.exp2(),
                Float::Logarithm => a.log2(),
                Float::HyperbolicTangent => a.tanh(),
            };
            // If the operands are numbers and the result is NaN, the NaN has no
            // sign on a GPU.
            let result = match result.is_nan() && of_numbers {
                true => f64::NAN.abs(),
                false => result,
            };
            finish_double(result, mode)
        });
    }
    // A separate loop for the default mode, which most kernels use.
    if mode == Mode::default() {
        let [a, b, _] = all;
        match how {
            Float::Add => return zip(a, b, |a: f32, b: f32| canonical(a + b)),
            Float::Subtract => return zip(a, b, |a: f32, b: f32| canonical(a - b)),
            Float::Multiply => return zip(a, b, |a: f32, b: f32| canonical(a * b)),
            _ => {}
        }
    }
    from_fn(|i| {
        let [a, b, c] = all.map(|lanes| {
            let number = f32::get(lanes[i]);
            if mode.flush { flushed(number) } else { number }
        });
        if mode.round != Direction::Nearest {
            return finish(directed(how, mode.round, [a, b, c]), mode);
        }
        finish(
            match how {
                Float::Add => a + b,
                Float::Subtract => a - b,
                Float::Multiply => a * b,
                Float::Divide => a / b,
                Float::Fused => a.mul_add(b, c),
                Float::Negate => return (-a).put(),
                Float::Absolute => return a.abs().put(),
                Float::CopySign => return b.copysign(a).put(),
                Float::Least => a.min(b),
                Float::Most => a.max(b),
                Float::SquareRoot => a.sqrt(),
                Float::Reciprocal => 1.0 / a,
                // Computed with more digits than the result has.
                Float::ReciprocalRoot => (1.0 / f64::from(a).sqrt()) as f32,
                Float::Sine => f64::from(a).sin() as f32,
                Float::Cosine => f64::from(a).cos() as f32,
                Float::Power => f64::from(a).exp2() as f32,
                Float::Logarithm => f64::from(a).log2() as f32,
                Float::HyperbolicTangent => f64::from(a).tanh() as f32,
            },
            mode,
        )
    })
}

fn finish(number: f32, mode: Mode) -> u64 {
    let number = if mode.flush { flushed(number) } else { number };
    let number = match mode.saturate {
        true if number.is_nan() => 0.0,
        true => number.clamp(0.0, 1.0),
        false => number,
    };
    canonical(number).put()
}

fn finish_double(number: f64, mode: Mode) -> u64 {
    let bits = number.put();
    if mode.half { bits & !0xffff_ffff } else { bits }
}

/// A GPU has only one NaN as result.
#[inline(always)]
fn canonical(number: f32) -> f32 {
    if number.is_nan() {
        f32::from_bits(0x7fff_ffff)
    } else {
        number
    }
}

fn flushed(number: f32) -> f32 {
    if number.is_subnormal() {
        0.0_f32.copysign(number)
    } else {
        number
    }
}

/// A result that is not rounded to the nearest. The exact result is given as a double and a
/// remainder.
fn directed(how: Float, round: Direction, [a, b, c]: [f32; 3]) -> f32 {
    let [a, b, c] = [a, b, c].map(f64::from);
    let (left, right) = match how {
        Float::Add => (a, b),
        Float::Subtract => (a, -b),
        Float::Multiply => (a * b, 0.0),
        _ => (a * b, c),
    };
    let sum = left + right;
    let back = sum - left;
    let missing = (left - (sum - back)) + (right - back);
    let nearest = sum as f32;
    let off = match f64::from(nearest).partial_cmp(&sum) {
        Some(std::cmp::Ordering::Greater) => 1.0,
        Some(std::cmp::Ordering::Less) => -1.0,
        Some(std::cmp::Ordering::Equal) => -missing,
        None => 0.0,
    };
    let down = match round {
        Direction::Nearest => return nearest,
        Direction::Down => true,
        Direction::Up => false,
        Direction::Zero => sum > 0.0,
    };
    if nearest.is_infinite() && !sum.is_infinite() || nearest.is_finite() {
        if down && off > 0.0 {
            return nearest.next_down();
        }
        if !down && off < 0.0 {
            return nearest.next_up();
        }
    }
    nearest
}

fn whole(number: f64, round: Round) -> f64 {
    match round {
        Round::Nearest => number.round_ties_even(),
        Round::Zero => number.trunc(),
        Round::Down => number.floor(),
        Round::Up => number.ceil(),
    }
}

pub(super) fn to_integer<const N: usize>(
    from: &Lanes<N>,
    double: bool,
    round: Round,
    target: Type,
) -> Lanes<N> {
    from_fn(|i| {
        let number = if double {
            f64::get(from[i])
        } else {
            f64::from(f32::get(from[i]))
        };
        if number.is_nan() {
            return if double || target.bits == 64 {
                1 << (target.bits - 1)
            } else {
                0
            };
        }
        let number = whole(number, round);
        // `as` saturates to the range of the type.
        match (target.bits, target.signed) {
            (8, true) => (number as i8).put(),
            (16, true) => (number as i16).put(),
            (32, true) => (number as i32).put(),
            (64, true) => (number as i64).put(),
            (8, false) => (number as u8).put(),
            (16, false) => (number as u16).put(),
            (32, false) => (number as u32).put(),
            _ => (number as u64).put(),
        }
    })
}

pub(super) fn from_integer<const N: usize>(
    from: &Lanes<N>,
    source: Type,
    double: bool,
) -> Lanes<N> {
    from_fn(|i| {
        let value = source.of(from[i]);
        match (double, source.signed) {
            (true, true) => (value as i64 as f64).put(),
            (true, false) => (value as f64).put(),
            (false, true) => (value as i64 as f32).put(),
            (false, false) => (value as f32).put(),
        }
    })
}

pub(super) fn float_to_float<const N: usize>(
    from: &Lanes<N>,
    [from_double, to_double]: [bool; 2],
    round: Option<Round>,
    mode: Mode,
) -> Lanes<N> {
    from_fn(|i| {
        let number = if from_double {
            f64::get(from[i])
        } else {
            let single = f32::get(from[i]);
            f64::from(if mode.flush { flushed(single) } else { single })
        };
        let number = round.map_or(number, |round| whole(number, round));
        if to_double {
            finish_double(number, mode)
        } else {
            finish(number as f32, mode)
        }
    })
}
