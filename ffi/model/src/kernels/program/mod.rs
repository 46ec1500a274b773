//! Kernels that the simulated runtime can run: PTX of whole and floating-point numbers,
//! loads, stores and jumps.
//!
//! It is what a compiler makes of a kernel that does arithmetic and touches global
//! memory, and no more. An entry with any other instruction has no
//! [`Program`]: it takes its time and writes nothing.

mod read;

/// How many registers are set to zero in the time of one instruction.
const REGISTERS_PER_INSTRUCTION: u64 = 32;

/// A kernel's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    instructions: Vec<Instruction>,
    registers: usize,
}

/// Where a thread's loads and stores go.
pub trait Memory {
    /// The `bytes` (1, 2, 4 or 8) at an address, as a number.
    fn load(&mut self, address: u64, bytes: usize) -> u64;
    /// Writes the low `bytes` of a number. Returns how many instructions that counts as,
    /// beside the store itself: a store that makes the host's memory grow counts more.
    fn store(&mut self, address: u64, bytes: usize, value: u64) -> u64;
    /// `cudaGraphSetConditional`: sets the value that a conditional node looks at.
    fn set_condition(&mut self, handle: u64, value: u32);
}

/// One thread of a launch, and the shape of the launch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Thread {
    /// The thread in its block.
    pub thread: [u32; 3],
    /// The block in the grid.
    pub block: [u32; 3],
    /// Threads of a block.
    pub threads: [u32; 3],
    /// Blocks of the grid.
    pub blocks: [u32; 3],
}

/// A program that did not end within what it was allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Instruction {
    /// The predicate register, and the value at which the instruction is done.
    guard: Option<(usize, bool)>,
    what: Operation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operation {
    /// `ld.param`: the parameter by its number.
    Parameter { to: usize, index: usize },
    /// `mov`, `cvta` (addresses are generic), and `cvt` from a type.
    Convert { to: usize, from: Operand, of: Type },
    /// `add`, `sub`, `mul.lo`, `and`, `or`, `xor`, `shl`, `shr`.
    Compute {
        to: usize,
        how: Binary,
        of: Type,
        a: Operand,
        b: Operand,
    },
    /// `mul.wide` and `mad.wide`; `mad.lo` with `wide` false.
    Multiply {
        to: usize,
        wide: bool,
        of: Type,
        a: Operand,
        b: Operand,
        plus: Operand,
    },
    /// `add`, `sub`, `mul`, `div`, `neg` and `fma` of floating-point numbers.
    Float {
        to: usize,
        how: Float,
        double: bool,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `setp` of floating-point numbers: false where one is not a number.
    CompareFloats {
        to: usize,
        how: Order,
        double: bool,
        a: Operand,
        b: Operand,
    },
    /// `setp`.
    Compare {
        to: usize,
        how: Order,
        of: Type,
        a: Operand,
        b: Operand,
    },
    /// `ld.global` and generic `ld`.
    Load {
        to: usize,
        of: Type,
        from: Operand,
        offset: u64,
    },
    /// `st.global` and generic `st`.
    Store {
        to: Operand,
        offset: u64,
        of: Type,
        value: Operand,
    },
    /// `call` of `cudaGraphSetConditional`, the one function that kernels may call.
    SetCondition { handle: Operand, value: Operand },
    /// `selp`: one of two values, by a predicate.
    Select {
        to: usize,
        of: Type,
        a: Operand,
        b: Operand,
        predicate: usize,
    },
    /// `bra`.
    Jump { to: usize },
    /// `ret`, `exit`.
    Return,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Type {
    bits: u32,
    signed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    Register(usize),
    Number(u64),
    /// Which special register, and its dimension.
    Special(Special, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Special {
    Thread,
    Block,
    Threads,
    Blocks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binary {
    Add,
    Subtract,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

/// Arithmetic of floating-point numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Float {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `a * b + c`, rounded once.
    Fused,
    Negate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Type {
    /// `u32`, `s64`, `b8`, `pred`.
    fn parse(text: &str) -> Option<Self> {
        if text == "pred" {
            return Some(Self {
                bits: 1,
                signed: false,
            });
        }
        let signed = text.starts_with('s');
        // Loads, stores and moves take floating-point numbers as bits.
        let bits = text.strip_prefix(['u', 's', 'b', 'f'])?.parse().ok()?;
        matches!(bits, 8 | 16 | 32 | 64).then_some(Self { bits, signed })
    }

    fn bytes(self) -> usize {
        self.bits as usize / 8
    }

    /// The value as this type has it, in 64 bits: cut off, its sign extended.
    fn of(self, value: u64) -> u64 {
        let unused = 64 - self.bits;
        let high = value << unused;
        if self.signed {
            ((high as i64) >> unused) as u64
        } else {
            high >> unused
        }
    }

    /// Twice as wide.
    fn wide(self) -> Self {
        Self {
            bits: (self.bits * 2).min(64),
            ..self
        }
    }
}

impl Program {
    /// Whether it can change memory or a condition. One that cannot need not be run.
    #[must_use]
    pub fn stores(&self) -> bool {
        let is_store = |instruction: &Instruction| {
            matches!(
                instruction.what,
                Operation::Store { .. } | Operation::SetCondition { .. }
            )
        };
        self.instructions.iter().any(is_store)
    }

    /// Runs one thread; `budget` is how many instructions it may take, and is what is
    /// left of them afterwards. Starting a thread counts as well, its registers with it.
    ///
    /// # Errors
    ///
    /// When the budget is used up.
    pub fn run(
        &self,
        arguments: &[u64],
        thread: Thread,
        memory: &mut impl Memory,
        budget: &mut u64,
    ) -> Result<(), TooLong> {
        let start = 1 + self.registers as u64 / REGISTERS_PER_INSTRUCTION;
        *budget = budget.checked_sub(start).ok_or(TooLong)?;
        let mut registers = vec![0; self.registers];
        let mut next = 0;
        while let Some(instruction) = self.instructions.get(next) {
            *budget = budget.checked_sub(1).ok_or(TooLong)?;
            next += 1;
            let read = |register: usize| registers.get(register).copied().unwrap_or(0);
            if let Some((guard, wanted)) = instruction.guard
                && (read(guard) != 0) != wanted
            {
                continue;
            }
            let value = |operand: &Operand| match *operand {
                Operand::Register(register) => read(register),
                Operand::Number(number) => number,
                Operand::Special(special, dimension) => thread.special(special, dimension),
            };
            let (to, result) = match &instruction.what {
                Operation::Parameter { to, index } => {
                    (*to, arguments.get(*index).copied().unwrap_or(0))
                }
                Operation::Convert { to, from, of } => (*to, of.of(value(from))),
                Operation::Compute { to, how, of, a, b } => (*to, how.of(*of, value(a), value(b))),
                Operation::Multiply {
                    to,
                    wide,
                    of,
                    a,
                    b,
                    plus,
                } => {
                    let product = of.of(value(a)).wrapping_mul(of.of(value(b)));
                    let to_type = if *wide { of.wide() } else { *of };
                    (*to, to_type.of(product.wrapping_add(value(plus))))
                }
                Operation::Float {
                    to,
                    how,
                    double,
                    a,
                    b,
                    c,
                } => (*to, how.of(*double, value(a), value(b), value(c))),
                Operation::CompareFloats {
                    to,
                    how,
                    double,
                    a,
                    b,
                } => {
                    let holds = how.holds_of_floats(*double, value(a), value(b));
                    (*to, u64::from(holds))
                }
                Operation::Compare { to, how, of, a, b } => {
                    (*to, u64::from(how.holds(*of, value(a), value(b))))
                }
                Operation::Load {
                    to,
                    of,
                    from,
                    offset,
                } => {
                    let address = value(from).wrapping_add(*offset);
                    (*to, of.of(memory.load(address, of.bytes())))
                }
                Operation::Store {
                    to,
                    offset,
                    of,
                    value: stored,
                } => {
                    let address = value(to).wrapping_add(*offset);
                    let cost = memory.store(address, of.bytes(), value(stored));
                    *budget = budget.checked_sub(cost).ok_or(TooLong)?;
                    continue;
                }
                Operation::SetCondition {
                    handle,
                    value: wanted,
                } => {
                    memory.set_condition(value(handle), value(wanted) as u32);
                    continue;
                }
                Operation::Select {
                    to,
                    of,
                    a,
                    b,
                    predicate,
                } => {
                    let chosen = if read(*predicate) != 0 { a } else { b };
                    (*to, of.of(value(chosen)))
                }
                Operation::Jump { to } => {
                    next = *to;
                    continue;
                }
                Operation::Return => return Ok(()),
            };
            if let Some(register) = registers.get_mut(to) {
                *register = result;
            }
        }
        Ok(())
    }
}

impl Thread {
    fn special(self, which: Special, dimension: usize) -> u64 {
        let extents = match which {
            Special::Thread => self.thread,
            Special::Block => self.block,
            Special::Threads => self.threads,
            Special::Blocks => self.blocks,
        };
        extents
            .get(dimension)
            .map_or(0, |&extent| u64::from(extent))
    }
}

impl Binary {
    fn of(self, of: Type, a: u64, b: u64) -> u64 {
        // A shift by the width or more leaves nothing but the sign.
        let shift = b.min(u64::from(of.bits)) as u32;
        of.of(match self {
            Self::Add => a.wrapping_add(b),
            Self::Subtract => a.wrapping_sub(b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::ShiftLeft => a.checked_shl(shift).unwrap_or(0),
            Self::ShiftRight if of.signed => ((of.of(a) as i64) >> shift.min(63)) as u64,
            Self::ShiftRight => of.of(a).checked_shr(shift).unwrap_or(0),
        })
    }
}

impl Float {
    fn of(self, double: bool, a: u64, b: u64, c: u64) -> u64 {
        if double {
            let [a, b, c] = [a, b, c].map(f64::from_bits);
            match self {
                Self::Add => a + b,
                Self::Subtract => a - b,
                Self::Multiply => a * b,
                Self::Divide => a / b,
                Self::Fused => a.mul_add(b, c),
                Self::Negate => -a,
            }
            .to_bits()
        } else {
            let [a, b, c] = [a, b, c].map(single);
            let result = match self {
                Self::Add => a + b,
                Self::Subtract => a - b,
                Self::Multiply => a * b,
                Self::Divide => a / b,
                Self::Fused => a.mul_add(b, c),
                Self::Negate => -a,
            };
            u64::from(result.to_bits())
        }
    }
}

/// The number whose bits are the low 32.
fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

impl Order {
    fn holds_of_floats(self, double: bool, a: u64, b: u64) -> bool {
        let order = if double {
            f64::from_bits(a).partial_cmp(&f64::from_bits(b))
        } else {
            single(a).partial_cmp(&single(b))
        };
        match self {
            Self::Less => order.is_some_and(|o| o.is_lt()),
            Self::LessOrEqual => order.is_some_and(|o| o.is_le()),
            Self::Greater => order.is_some_and(|o| o.is_gt()),
            Self::GreaterOrEqual => order.is_some_and(|o| o.is_ge()),
            Self::Equal => order.is_some_and(|o| o.is_eq()),
            Self::NotEqual => order.is_some_and(|o| o.is_ne()),
        }
    }

    fn holds(self, of: Type, a: u64, b: u64) -> bool {
        let (a, b) = (of.of(a), of.of(b));
        let order = if of.signed {
            (a as i64).cmp(&(b as i64))
        } else {
            a.cmp(&b)
        };
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Numbers of four bytes, by address.
    #[derive(Default)]
    struct Words(HashMap<u64, u32>);

    impl Memory for Words {
        fn load(&mut self, address: u64, bytes: usize) -> u64 {
            assert_eq!(bytes, 4);
            u64::from(self.0.get(&address).copied().unwrap_or(0))
        }

        fn store(&mut self, address: u64, bytes: usize, value: u64) -> u64 {
            assert_eq!(bytes, 4);
            self.0.insert(address, value as u32);
            0
        }

        fn set_condition(&mut self, handle: u64, value: u32) {
            self.0.insert(handle, value);
        }
    }

    fn run(body: &str, parameters: &[&str], arguments: &[u64], memory: &mut Words) {
        let program = Program::parse(body, parameters).expect("it can be run");
        for thread in 0..4 {
            let thread = Thread {
                thread: [thread, 0, 0],
                block: [1, 0, 0],
                threads: [4, 1, 1],
                blocks: [2, 1, 1],
            };
            let outcome = program.run(arguments, thread, memory, &mut 1000);
            assert_eq!(outcome, Ok(()));
        }
    }

    #[test]
    fn threads_address_their_own_numbers_and_stop_at_the_count() {
        let body = "{
            .reg .pred %p<2>; .reg .b32 %r<7>; .reg .b64 %rd<12>;
            ld.param.b64 %rd3, [out]; ld.param.b64 %rd7, [count];
            cvta.to.global.u64 %rd5, %rd3;
            mov.u32 %r1, %ctaid.x;
            mov.u32 %r2, %ntid.x;
            mov.u32 %r3, %tid.x;
            mad.lo.s32 %r4, %r1, %r2, %r3;
            cvt.u64.u32 %rd9, %r4;
            setp.ge.u64 %p1, %rd9, %rd7;
            @%p1 bra $DONE;
            shl.b64 %rd10, %rd9, 2;
            add.s64 %rd11, %rd5, %rd10;
            neg.s32 %r5, %r4;
            st.global.u32 [%rd11+8], %r5;
            $DONE: ret;
        }";
        let mut memory = Words::default();
        run(body, &["out", "count"], &[0x1000, 7], &mut memory);
        let mut written: Vec<_> = memory.0.into_iter().collect();
        written.sort_unstable();
        let expected = [4, 5, 6].map(|n: i32| (0x1008 + 4 * n as u64, (-n).cast_unsigned()));
        assert_eq!(written, expected);
    }

    #[test]
    fn signs_widths_and_shifts_are_those_of_the_type() {
        let s32 = Type {
            bits: 32,
            signed: true,
        };
        let u32_ = Type {
            bits: 32,
            signed: false,
        };
        assert_eq!(s32.of(0xffff_ffff), u64::MAX);
        assert_eq!(u32_.of(u64::MAX), 0xffff_ffff);
        assert!(Order::Less.holds(s32, 0xffff_ffff, 0));
        assert!(Order::Greater.holds(u32_, 0xffff_ffff, 0));
        assert_eq!(Binary::ShiftRight.of(s32, 0x8000_0000, 31), u64::MAX);
        assert_eq!(Binary::ShiftRight.of(u32_, 0x8000_0000, 31), 1);
        assert_eq!(Binary::ShiftLeft.of(u32_, 1, 40), 0);
    }

    /// The numbers are those of IEEE 754, as the host computes them.
    #[test]
    fn floating_point_numbers_are_computed_with_as_the_host_does() {
        let body = "{
            .reg .f32 %f<8>; .reg .pred %p<2>; .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [at];
            ld.global.f32 %f1, [%rd1];
            mul.f32 %f2, %f1, 0f40400000;
            fma.rn.f32 %f3, %f1, %f2, 0fBF800000;
            sub.f32 %f4, %f3, %f1;
            div.rn.f32 %f5, %f4, %f2;
            neg.f32 %f6, %f5;
            st.global.f32 [%rd1+4], %f6;
            setp.gt.f32 %p1, %f6, 0f00000000;
            @%p1 ret;
            st.global.f32 [%rd1+8], %f3;
            ret;
        }";
        let x = 0.1_f32;
        let mut memory = Words::default();
        memory.0.insert(0x1000, x.to_bits());
        run(body, &["at"], &[0x1000], &mut memory);
        let fused = x.mul_add(x * 3.0, -1.0);
        let expected = -((fused - x) / (x * 3.0));
        assert_eq!(memory.0[&0x1004], expected.to_bits());
        assert_eq!(memory.0.get(&0x1008), None, "{expected} is greater than 0");
    }

    #[test]
    fn what_cannot_be_run_has_no_program() {
        for line in [
            "mov.u64 %rd1, %clock64",
            "bar.sync 0",
            "ld.shared.u32 %r1, [%rd1]",
            "sin.approx.f32 %f1, %f2",
            "cvt.rn.f32.s32 %f1, %r1",
            "cvt.f64.f32 %f1, %f2",
            "bra $NOWHERE",
            "ld.param.u64 %rd1, [other]",
        ] {
            assert_eq!(
                Program::parse(
                    &format!(
                        "{{ .reg .b64 %rd<3>; .reg .f32 %f<4>; .reg .b32 %r1; {line}; ret; }}"
                    ),
                    &["p"]
                ),
                None,
                "{line}"
            );
        }
    }

    #[test]
    fn a_loop_that_does_not_end_is_ended() {
        let program = Program::parse("{ $L: bra.uni $L; }", &[]).expect("it can be run");
        let ended = program.run(&[], Thread::default(), &mut Words::default(), &mut 100);
        assert_eq!(ended, Err(TooLong));
    }
}
