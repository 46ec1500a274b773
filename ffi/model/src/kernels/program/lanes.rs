//! Integer arithmetic, for all threads of a warp at once.
//!
//! A register has 64 bits. An instruction reads as many of them as its type has, so the
//! higher bits do not matter.

use std::array::from_fn;

use super::floats::float;
use super::operation::{Atomic, Binary, Carry, Float, Mode, Order, Ternary, Test, Type, Unary};

/// A register of each thread of a warp.
pub(super) type Lanes<const N: usize> = [u64; N];

/// A number type of PTX.
pub(super) trait Number: Copy {
    fn get(bits: u64) -> Self;
    fn put(self) -> u64;
    /// Whether the number is negative. Used only for signed integers.
    fn is_negative(self) -> bool;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn get(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn put(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn is_negative(self) -> bool {
                // Converted to a type that contains all numbers, so that the
                // comparison is also valid for unsigned ones.
                i128::from(self) < 0
            }
        }
    )*};
}
numbers!(u8 u16 u32 u64 i8 i16 i32 i64);

impl Number for f32 {
    #[inline(always)]
    fn get(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }
    #[inline(always)]
    fn put(self) -> u64 {
        u64::from(self.to_bits())
    }
    #[inline(always)]
    fn is_negative(self) -> bool {
        self < 0.0
    }
}

impl Number for f64 {
    #[inline(always)]
    fn get(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    #[inline(always)]
    fn put(self) -> u64 {
        self.to_bits()
    }
    #[inline(always)]
    fn is_negative(self) -> bool {
        self < 0.0
    }
}

#[inline(always)]
fn map<T: Number, R: Number, const N: usize>(a: &Lanes<N>, f: impl Fn(T) -> R) -> Lanes<N> {
    from_fn(|i| f(T::get(a[i])).put())
}

#[inline(always)]
pub(super) fn zip<T: Number, R: Number, const N: usize>(
    a: &Lanes<N>,
    b: &Lanes<N>,
    f: impl Fn(T, T) -> R,
) -> Lanes<N> {
    from_fn(|i| f(T::get(a[i]), T::get(b[i])).put())
}

#[inline(always)]
fn zip3<T: Number, R: Number, const N: usize>(
    [a, b, c]: [&Lanes<N>; 3],
    f: impl Fn(T, T, T) -> R,
) -> Lanes<N> {
    from_fn(|i| f(T::get(a[i]), T::get(b[i]), T::get(c[i])).put())
}

/// Evaluates an expression for each integer type. A predicate is treated as a byte.
macro_rules! for_type {
    ($of:expr, $T:ident, $Wide:ident => $body:expr) => {
        match ($of.bits, $of.signed) {
            (16, false) => {
                type $T = u16;
                type $Wide = u32;
                $body
            }
            (16, true) => {
                type $T = i16;
                type $Wide = i32;
                $body
            }
            (32, false) => {
                type $T = u32;
                type $Wide = u64;
                $body
            }
            (32, true) => {
                type $T = i32;
                type $Wide = i64;
                $body
            }
            (64, false) => {
                type $T = u64;
                type $Wide = u128;
                $body
            }
            (64, true) => {
                type $T = i64;
                type $Wide = i128;
                $body
            }
            (_, false) => {
                type $T = u8;
                type $Wide = u16;
                $body
            }
            (_, true) => {
                type $T = i8;
                type $Wide = i16;
                $body
            }
        }
    };
}

/// The numbers of one type, converted to 64 bits.
pub(super) fn converted<const N: usize>(
    from: &Lanes<N>,
    source: Type,
    target: Type,
    saturate: bool,
) -> Lanes<N> {
    if !saturate {
        // A predicate has one bit.
        let sized = |lanes: &Lanes<N>, of: Type| match of.bits {
            1 => lanes.map(|value| value & 1),
            64 => *lanes,
            _ => for_type!(of, T, _W => map(lanes, |value: T| value)),
        };
        let values = sized(from, source);
        return if target == source {
            values
        } else {
            sized(&values, target)
        };
    }
    from_fn(|i| {
        let value = source.of(from[i]);
        let value = if source.signed {
            i128::from(value as i64)
        } else {
            i128::from(value)
        };
        let (least, most) = match (target.signed, target.bits) {
            (true, bits) => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
            (false, bits) => (0, (1_i128 << bits) - 1),
        };
        value.clamp(least, most) as u64
    })
}

pub(super) fn unary<const N: usize>(how: Unary, of: Type, a: &Lanes<N>) -> Lanes<N> {
    if of.bits == 1 {
        // `not.pred` is the only such instruction.
        return from_fn(|i| u64::from(a[i] & 1 == 0));
    }
    for_type!(of, T, _W => match how {
        Unary::Negate => map(a, |a: T| (0 as T).wrapping_sub(a)),
        Unary::Not => map(a, |a: T| !a),
        Unary::Absolute => map(a, |a: T| if a.is_negative() { (0 as T).wrapping_sub(a) } else { a }),
        Unary::Ones => map(a, |a: T| a.count_ones()),
        Unary::LeadingZeros => map(a, |a: T| a.leading_zeros()),
        Unary::Reverse => map(a, |a: T| a.reverse_bits()),
        Unary::Highest | Unary::HighestShift => map(a, |a: T| {
            let bits = if a.is_negative() { !a } else { a };
            let zeros = bits.leading_zeros();
            if bits == 0 {
                u32::MAX
            } else if how == Unary::Highest {
                T::BITS - 1 - zeros
            } else {
                zeros
            }
        }),
    })
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the cast is needed for the other types"
)]
pub(super) fn binary<const N: usize>(
    how: Binary,
    of: Type,
    a: &Lanes<N>,
    b: &Lanes<N>,
) -> Lanes<N> {
    match how {
        Binary::And => return from_fn(|i| a[i] & b[i]),
        Binary::Or => return from_fn(|i| a[i] | b[i]),
        Binary::Xor => return from_fn(|i| a[i] ^ b[i]),
        _ => {}
    }
    for_type!(of, T, W => match how {
        Binary::Add => zip(a, b, T::wrapping_add),
        Binary::Subtract => zip(a, b, T::wrapping_sub),
        Binary::Multiply => zip(a, b, T::wrapping_mul),
        Binary::MultiplyHigh => zip(a, b, |a: T, b: T| ((a as W * b as W) >> T::BITS) as T),
        Binary::MultiplyWide => zip(a, b, |a: T, b: T| (a as W).wrapping_mul(b as W) as u64),
        // The result of a division by zero was measured on a GPU; it is not
        // documented.
        Binary::Divide => zip(a, b, |a: T, b: T| if b == 0 { !0 } else { a.wrapping_div(b) }),
        Binary::Remainder => zip(a, b, |a: T, b: T| if b == 0 { a } else { a.wrapping_rem(b) }),
        Binary::Least => zip(a, b, |a: T, b: T| a.min(b)),
        Binary::Most => zip(a, b, |a: T, b: T| a.max(b)),
        // After a shift by at least the width, only the sign remains.
        Binary::ShiftLeft => from_fn(|i| {
            T::get(a[i]).checked_shl(b[i] as u32).unwrap_or(0).put()
        }),
        Binary::ShiftRight => from_fn(|i| {
            let by = (b[i] as u32).min(T::BITS);
            let value = T::get(a[i]);
            let sign = if value.is_negative() { !0 } else { 0 };
            value.checked_shr(by).unwrap_or(sign).put()
        }),
        Binary::And | Binary::Or | Binary::Xor => *a,
    })
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the cast is needed for the other types"
)]
pub(super) fn ternary<const N: usize>(how: Ternary, of: Type, all: [&Lanes<N>; 3]) -> Lanes<N> {
    let [a, b, c] = all;
    match how {
        Ternary::MultiplyAdd => for_type!(of, T, _W => zip3(all, |a: T, b: T, c: T| {
            a.wrapping_mul(b).wrapping_add(c)
        })),
        Ternary::MultiplyAddHigh => for_type!(of, T, W => zip3(all, |a: T, b: T, c: T| {
            (((a as W * b as W) >> T::BITS) as T).wrapping_add(c)
        })),
        Ternary::MultiplyAddWide => for_type!(of, T, W => from_fn(|i| {
            let product = (T::get(a[i]) as W).wrapping_mul(T::get(b[i]) as W) as u64;
            product.wrapping_add(c[i])
        })),
        Ternary::Extract => from_fn(|i| {
            let (start, length) = (b[i] & 0xff, c[i] & 0xff);
            let value = of.of(a[i]);
            let width = u64::from(of.bits);
            let shifted = if of.signed {
                ((value as i64) >> start.min(63)) as u64
            } else {
                value.checked_shr(start as u32).unwrap_or(0)
            };
            if length == 0 {
                return 0;
            }
            let bits = length.min(if of.signed { width } else { 64 }) as u32;
            // Bits of a field beyond the highest bit are filled with the sign.
            let field = Type {
                bits,
                signed: of.signed,
            };
            of.of(field.of(shifted))
        }),
        Ternary::Differences => for_type!(of, T, _W => zip3(all, |a: T, b: T, c: T| {
            c.wrapping_add(if a > b { a.wrapping_sub(b) } else { b.wrapping_sub(a) })
        })),
        Ternary::Logic(table) => from_fn(|i| {
            let mut result = 0;
            for row in 0..8 {
                if table >> row & 1 == 1 {
                    let pick = |bit: u32, value: u64| {
                        if row >> bit & 1 == 1 { value } else { !value }
                    };
                    result |= pick(2, a[i]) & pick(1, b[i]) & pick(0, c[i]);
                }
            }
            result & 0xffff_ffff
        }),
        Ternary::Permute => from_fn(|i| {
            let bytes = (b[i] << 32) | (a[i] & 0xffff_ffff);
            (0..4).fold(0, |word, place| {
                let selector = c[i] >> (4 * place) & 0xf;
                let byte = bytes >> (8 * (selector & 7)) & 0xff;
                let byte = match selector & 8 {
                    0 => byte,
                    _ if byte & 0x80 != 0 => 0xff,
                    _ => 0,
                };
                word | byte << (8 * place)
            })
        }),
        Ternary::Funnel { left, wraps } => from_fn(|i| {
            let both = (b[i] << 32) | (a[i] & 0xffff_ffff);
            let by = if wraps {
                c[i] & 31
            } else {
                (c[i] & 0xffff_ffff).min(32)
            };
            if left {
                both << by >> 32
            } else {
                both >> by & 0xffff_ffff
            }
        }),
    }
}

/// `bfi`.
pub(super) fn insert<const N: usize>(of: Type, [a, b, start, length]: [&Lanes<N>; 4]) -> Lanes<N> {
    from_fn(|i| {
        let (start, length) = ((start[i] & 0xff) as u32, (length[i] & 0xff) as u32);
        let ones = match length {
            0 => 0,
            1..64 => (1_u64 << length) - 1,
            _ => u64::MAX,
        };
        let mask = ones.checked_shl(start).unwrap_or(0);
        let field = a[i].checked_shl(start).unwrap_or(0);
        of.of((b[i] & !mask) | (field & mask))
    })
}

/// The result, and the carry for the next instruction.
pub(super) fn with_carry<const N: usize>(
    how: Carry,
    of: Type,
    [a, b, c]: [&Lanes<N>; 3],
    carry: Option<&Lanes<N>>,
) -> (Lanes<N>, Lanes<N>) {
    let unsigned = Type {
        signed: false,
        ..of
    };
    let mut flags = [0; N];
    let results = from_fn(|i| {
        let wide = |value: u64| u128::from(unsigned.of(value));
        let taken = carry.map_or(0, |carry| u128::from(carry[i] & 1));
        let whole = 1_u128 << of.bits;
        let (sum, flag) = match how {
            Carry::Add => {
                let sum = wide(a[i]) + wide(b[i]) + taken;
                (sum, sum >= whole)
            }
            Carry::Subtract => {
                let less = wide(b[i]) + taken;
                (wide(a[i]).wrapping_sub(less), wide(a[i]) < less)
            }
            Carry::MultiplyAddLow | Carry::MultiplyAddHigh => {
                let product = if of.signed {
                    (i128::from(of.of(a[i]) as i64) * i128::from(of.of(b[i]) as i64)) as u128
                } else {
                    wide(a[i]) * wide(b[i])
                };
                let part = match how {
                    Carry::MultiplyAddLow => product,
                    _ => product >> of.bits,
                };
                let sum = part % whole + wide(c[i]) + taken;
                (sum, sum >= whole)
            }
        };
        flags[i] = u64::from(flag);
        unsigned.of(sum as u64)
    });
    (results, flags)
}

pub(super) fn compare<const N: usize>(test: Test, a: &Lanes<N>, b: &Lanes<N>) -> Lanes<N> {
    match test {
        Test::Integer(order, of) => for_type!(of, T, _W => match order {
            Order::Less => zip(a, b, |a: T, b: T| u8::from(a < b)),
            Order::LessOrEqual => zip(a, b, |a: T, b: T| u8::from(a <= b)),
            Order::Greater => zip(a, b, |a: T, b: T| u8::from(a > b)),
            Order::GreaterOrEqual => zip(a, b, |a: T, b: T| u8::from(a >= b)),
            Order::Equal => zip(a, b, |a: T, b: T| u8::from(a == b)),
            Order::NotEqual => zip(a, b, |a: T, b: T| u8::from(a != b)),
        }),
        Test::Float {
            order,
            unordered,
            double,
        } => from_fn(|i| {
            let compared = if double {
                f64::get(a[i]).partial_cmp(&f64::get(b[i]))
            } else {
                f32::get(a[i]).partial_cmp(&f32::get(b[i]))
            };
            u64::from(compared.map_or(unordered, |compared| match order {
                Order::Less => compared.is_lt(),
                Order::LessOrEqual => compared.is_le(),
                Order::Greater => compared.is_gt(),
                Order::GreaterOrEqual => compared.is_ge(),
                Order::Equal => compared.is_eq(),
                Order::NotEqual => compared.is_ne(),
            }))
        }),
        Test::Numbers { negated, double } => from_fn(|i| {
            let is_nan = |bits: u64| {
                if double {
                    f64::get(bits).is_nan()
                } else {
                    f32::get(bits).is_nan()
                }
            };
            u64::from((is_nan(a[i]) || is_nan(b[i])) == negated)
        }),
    }
}

/// The new value in memory after an atomic operation.
pub(super) fn atomic(how: Atomic, of: Type, old: u64, b: u64, c: u64) -> u64 {
    let one = |value: u64| [value];
    let [result] = match how {
        Atomic::Add => binary(Binary::Add, of, &one(old), &one(b)),
        Atomic::AddFloat => {
            let double = of.bits == 64;
            float(
                Float::Add,
                double,
                Mode::default(),
                [&one(old), &one(b), &one(0)],
            )
        }
        Atomic::Least => binary(Binary::Least, of, &one(old), &one(b)),
        Atomic::Most => binary(Binary::Most, of, &one(old), &one(b)),
        Atomic::And => one(old & b),
        Atomic::Or => one(old | b),
        Atomic::Xor => one(old ^ b),
        Atomic::Exchange => one(b),
        Atomic::CompareAndSwap => one(if of.of(old) == of.of(b) { c } else { old }),
        Atomic::Increment => one(if of.of(old) >= of.of(b) { 0 } else { old + 1 }),
        Atomic::Decrement => {
            let (old, most) = (of.of(old), of.of(b));
            one(if old == 0 || old > most {
                most
            } else {
                old - 1
            })
        }
    };
    result
}
