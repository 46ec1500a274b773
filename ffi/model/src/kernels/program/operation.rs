//! The decoded instructions.

/// The index of a register. Constant numbers and special registers also have an index; they
/// are set when a warp starts.
pub(super) type Reg = u32;

/// An instruction, which is executed by the threads whose guard has the given value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Instruction {
    /// The predicate register, and the value for which the instruction is executed.
    pub guard: Option<(Reg, bool)>,
    pub what: Operation,
}

/// The type of an instruction's numbers. A predicate has one bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Type {
    pub bits: u32,
    pub signed: bool,
}

/// A predicate, and whether it is negated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Predicate {
    pub register: Reg,
    pub negated: bool,
}

/// The state space of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    /// Global memory, including constants.
    Global,
    Shared,
    Local,
    /// The address determines the space.
    Generic,
}

/// An address: a register and an offset in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address {
    pub space: Space,
    pub base: Reg,
    pub offset: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    /// An instruction without effect here, such as a fence, because work is done in
    /// order.
    Nothing,
    /// `ld.param` of the kernel: the index of a parameter, and the offset in it in
    /// bytes.
    Parameter {
        to: Reg,
        index: usize,
        offset: usize,
        of: Type,
    },
    /// `mov`, and conversions between integers.
    Convert {
        to: Reg,
        from: Reg,
        source: Type,
        target: Type,
        saturate: bool,
    },
    /// Adds a constant to an address (`cvta.shared`, `cvta.to.shared`).
    Offset {
        to: Reg,
        from: Reg,
        by: u64,
    },
    /// `mov.b64 %rd, {%r1, %r2}`.
    Pack {
        to: Reg,
        parts: Vec<Reg>,
        bits: u32,
    },
    /// `mov.b64 {%r1, %r2}, %rd`.
    Unpack {
        to: Vec<Reg>,
        from: Reg,
        bits: u32,
    },
    Unary {
        to: Reg,
        how: Unary,
        of: Type,
        a: Reg,
    },
    Binary {
        to: Reg,
        how: Binary,
        of: Type,
        a: Reg,
        b: Reg,
    },
    Ternary {
        to: Reg,
        how: Ternary,
        of: Type,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// `bfi`.
    Insert {
        to: Reg,
        of: Type,
        a: Reg,
        b: Reg,
        start: Reg,
        length: Reg,
    },
    /// `add.cc`, `madc.hi` and similar: with an incoming carry and an outgoing one.
    Carry {
        to: Reg,
        how: Carry,
        of: Type,
        a: Reg,
        b: Reg,
        c: Reg,
        takes: bool,
        gives: bool,
        flag: Reg,
    },
    Float {
        to: Reg,
        how: Float,
        double: bool,
        mode: Mode,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// `cvt` from a floating-point number to an integer.
    ToInteger {
        to: Reg,
        from: Reg,
        double: bool,
        round: Round,
        target: Type,
    },
    /// `cvt` from an integer to a floating-point number.
    FromInteger {
        to: Reg,
        from: Reg,
        source: Type,
        double: bool,
    },
    /// `cvt` between floating-point numbers, with or without rounding to an integer.
    FloatToFloat {
        to: Reg,
        from: Reg,
        from_double: bool,
        to_double: bool,
        round: Option<Round>,
        mode: Mode,
    },
    /// `setp`, with or without another predicate as operand, and with or without a
    /// second result.
    Compare {
        to: Reg,
        other: Option<Reg>,
        test: Test,
        a: Reg,
        b: Reg,
        with: Option<(Logic, Predicate)>,
    },
    /// `selp`: selects one of two values by a predicate.
    Select {
        to: Reg,
        of: Type,
        a: Reg,
        b: Reg,
        by: Predicate,
    },
    Load {
        to: Vec<Reg>,
        of: Type,
        from: Address,
    },
    Store {
        from: Vec<Reg>,
        of: Type,
        to: Address,
    },
    /// `atom`, and `red`, which has no result.
    Atomic {
        to: Option<Reg>,
        how: Atomic,
        of: Type,
        at: Address,
        b: Reg,
        c: Reg,
    },
    Shuffle {
        to: Reg,
        valid: Option<Reg>,
        how: Shuffle,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    Vote {
        to: Reg,
        how: Vote,
        of: Predicate,
    },
    Reduce {
        to: Reg,
        how: Atomic,
        of: Type,
        a: Reg,
        members: Reg,
    },
    ActiveMask {
        to: Reg,
    },
    /// `isspacep`.
    IsSpace {
        to: Reg,
        space: Space,
        a: Reg,
    },
    /// `bar.sync`, and `bar.red` with its result.
    Barrier {
        gives: Option<(Reg, Vote, Predicate)>,
    },
    Jump {
        to: usize,
    },
    /// `ret` of the kernel, and `exit`.
    Return,
    /// `call` of `cudaGraphSetConditional`.
    SetCondition {
        handle: Reg,
        value: Reg,
    },
    /// `call` of `vprintf`.
    Print {
        to: Option<Reg>,
        format: Reg,
        arguments: Reg,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Negate,
    Not,
    Absolute,
    Ones,
    LeadingZeros,
    Reverse,
    /// `bfind`: the position of the highest bit that differs from the sign.
    Highest,
    /// `bfind.shiftamt`: the distance of that bit from the highest position.
    HighestShift,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    MultiplyHigh,
    MultiplyWide,
    Divide,
    Remainder,
    Least,
    Most,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ternary {
    /// `mad.lo`.
    MultiplyAdd,
    MultiplyAddHigh,
    MultiplyAddWide,
    /// `bfe`.
    Extract,
    /// `sad`.
    Differences,
    /// `lop3`, with its table.
    Logic(u8),
    /// `prmt` without a mode.
    Permute,
    /// `shf`: the direction, and whether the distance wraps.
    Funnel {
        left: bool,
        wraps: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carry {
    Add,
    Subtract,
    MultiplyAddLow,
    MultiplyAddHigh,
}

/// Arithmetic of floating-point numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Float {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `a * b + c`, rounded once.
    Fused,
    Negate,
    Absolute,
    Least,
    Most,
    SquareRoot,
    Reciprocal,
    ReciprocalRoot,
    Sine,
    Cosine,
    /// `ex2`.
    Power,
    /// `lg2`.
    Logarithm,
    HyperbolicTangent,
    CopySign,
}

/// The modifiers of a floating-point result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mode {
    pub round: Direction,
    /// Subnormal numbers are replaced by zero (`.ftz`).
    pub flush: bool,
    /// The result is clamped to the range from 0 to 1 (`.sat`).
    pub saturate: bool,
    /// `.approx` of doubles: the low half of the result is zero.
    pub half: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Direction {
    #[default]
    Nearest,
    Zero,
    Down,
    Up,
}

/// Rounding to an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    Nearest,
    Zero,
    Down,
    Up,
}

/// The comparison of `setp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Integer(Order, Type),
    /// The comparison of floating-point numbers, and whether it is true if one of them
    /// is NaN.
    Float {
        order: Order,
        unordered: bool,
        double: bool,
    },
    /// `num` and, negated, `nan`: whether neither operand is NaN.
    Numbers {
        negated: bool,
        double: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Atomic {
    Add,
    AddFloat,
    Least,
    Most,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Increment,
    Decrement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vote {
    All,
    Any,
    /// Whether the predicate is the same in all threads.
    Same,
    /// One bit for each thread.
    Ballot,
    /// The number of threads for which it is true.
    Count,
}

impl Type {
    pub const PREDICATE: Self = Self {
        bits: 1,
        signed: false,
    };

    /// `u32`, `s64`, `b8`, `f32` (as bits), `pred`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "pred" {
            return Some(Self::PREDICATE);
        }
        let signed = text.starts_with('s');
        let bits = text.strip_prefix(['u', 's', 'b', 'f'])?.parse().ok()?;
        matches!(bits, 8 | 16 | 32 | 64).then_some(Self { bits, signed })
    }

    pub fn bytes(self) -> usize {
        self.bits as usize / 8
    }

    /// The value as a number of this type, in 64 bits: truncated, with its sign
    /// extended.
    #[inline]
    pub fn of(self, value: u64) -> u64 {
        let unused = 64 - self.bits;
        let high = value << unused;
        if self.signed {
            ((high as i64) >> unused) as u64
        } else {
            high >> unused
        }
    }
}
