//! Arithmetic instructions as [`Operation`]s.

use super::decode::{Place, integer_type};
use super::number;
use crate::kernels::program::operation::{
    Binary, Carry, Direction, Float, Mode, Operation, Ternary, Type, Unary,
};

impl Place<'_, '_> {
    pub(super) fn integer(&mut self, name: &str, words: &[&str]) -> Option<Operation> {
        let (&kind, between) = words.split_last()?;
        let of = integer_type(kind)?;
        let unary = match (name, between) {
            ("neg", []) => Some(Unary::Negate),
            ("not", []) => Some(Unary::Not),
            ("abs", []) => Some(Unary::Absolute),
            ("popc", []) => Some(Unary::Ones),
            ("clz", []) => Some(Unary::LeadingZeros),
            ("brev", []) => Some(Unary::Reverse),
            ("bfind", []) => Some(Unary::Highest),
            ("bfind", ["shiftamt"]) => Some(Unary::HighestShift),
            _ => None,
        };
        if let Some(how) = unary {
            self.has(2)?;
            return Some(Operation::Unary {
                to: self.target(0)?,
                how,
                of,
                a: self.source(1)?,
            });
        }
        let binary = match (name, between) {
            ("add", []) => Some(Binary::Add),
            ("sub", []) => Some(Binary::Subtract),
            ("mul", ["lo"]) => Some(Binary::Multiply),
            ("mul", ["hi"]) => Some(Binary::MultiplyHigh),
            ("mul", ["wide"]) => Some(Binary::MultiplyWide),
            ("div", []) => Some(Binary::Divide),
            ("rem", []) => Some(Binary::Remainder),
            ("min", []) => Some(Binary::Least),
            ("max", []) => Some(Binary::Most),
            ("and", []) => Some(Binary::And),
            ("or", []) => Some(Binary::Or),
            ("xor", []) => Some(Binary::Xor),
            ("shl", []) => Some(Binary::ShiftLeft),
            ("shr", []) => Some(Binary::ShiftRight),
            _ => None,
        };
        if let Some(how) = binary {
            self.has(3)?;
            let (to, a, b) = (self.target(0)?, self.source(1)?, self.source(2)?);
            return Some(Operation::Binary { to, how, of, a, b });
        }
        let ternary = match (name, between) {
            ("mad", ["lo"]) => Some(Ternary::MultiplyAdd),
            ("mad", ["hi"]) => Some(Ternary::MultiplyAddHigh),
            ("mad", ["wide"]) => Some(Ternary::MultiplyAddWide),
            ("bfe", []) => Some(Ternary::Extract),
            ("sad", []) => Some(Ternary::Differences),
            ("prmt", []) => Some(Ternary::Permute),
            ("shf", [side @ ("l" | "r"), end @ ("wrap" | "clamp")]) => Some(Ternary::Funnel {
                left: *side == "l",
                wraps: *end == "wrap",
            }),
            _ => None,
        };
        if let Some(how) = ternary {
            self.has(4)?;
            let (to, a, b, c) = (
                self.target(0)?,
                self.source(1)?,
                self.source(2)?,
                self.source(3)?,
            );
            return Some(Operation::Ternary {
                to,
                how,
                of,
                a,
                b,
                c,
            });
        }
        match (name, between) {
            ("lop3", []) => {
                self.has(5)?;
                let table = number(self.operands.get(4)?)? as u8;
                let (to, a, b, c) = (
                    self.target(0)?,
                    self.source(1)?,
                    self.source(2)?,
                    self.source(3)?,
                );
                Some(Operation::Ternary {
                    to,
                    how: Ternary::Logic(table),
                    of,
                    a,
                    b,
                    c,
                })
            }
            ("bfi", []) => {
                self.has(5)?;
                Some(Operation::Insert {
                    to: self.target(0)?,
                    of,
                    a: self.source(1)?,
                    b: self.source(2)?,
                    start: self.source(3)?,
                    length: self.source(4)?,
                })
            }
            ("add" | "addc" | "sub" | "subc" | "mad" | "madc", _) => self.carry(name, between, of),
            _ => None,
        }
    }

    fn carry(&mut self, name: &str, between: &[&str], of: Type) -> Option<Operation> {
        let takes = name.ends_with('c');
        let (how, gives) = match (name, between) {
            ("add" | "addc", rest) => (Carry::Add, rest),
            ("sub" | "subc", rest) => (Carry::Subtract, rest),
            (_, ["lo", rest @ ..]) => (Carry::MultiplyAddLow, rest),
            (_, ["hi", rest @ ..]) => (Carry::MultiplyAddHigh, rest),
            _ => return None,
        };
        let gives = match gives {
            [] => false,
            ["cc"] => true,
            _ => return None,
        };
        let three = matches!(how, Carry::MultiplyAddLow | Carry::MultiplyAddHigh);
        self.has(if three { 4 } else { 3 })?;
        let (to, a, b) = (self.target(0)?, self.source(1)?, self.source(2)?);
        let c = if three {
            self.source(3)?
        } else {
            self.reader.number(0)
        };
        // Each thread has its own carry flag.
        let flag = self.reader.named(0, "carry".to_owned());
        Some(Operation::Carry {
            to,
            how,
            of,
            a,
            b,
            c,
            takes,
            gives,
            flag,
        })
    }

    /// Floating-point arithmetic. Operations that are approximations on a GPU are
    /// computed with more digits.
    pub(super) fn float(&mut self, name: &str, words: &[&str]) -> Option<Operation> {
        let (&kind, between) = words.split_last()?;
        let double = kind == "f64";
        let mut mode = Mode::default();
        let mut approximates = false;
        for word in between {
            match *word {
                "rn" => {}
                "rz" => mode.round = Direction::Zero,
                "rm" => mode.round = Direction::Down,
                "rp" => mode.round = Direction::Up,
                "ftz" => mode.flush = true,
                "sat" => mode.saturate = true,
                "approx" | "full" => approximates = true,
                _ => return None,
            }
        }
        let (how, count) = match name {
            "add" => (Float::Add, 2),
            "sub" => (Float::Subtract, 2),
            "mul" => (Float::Multiply, 2),
            "fma" | "mad" => (Float::Fused, 3),
            "div" => (Float::Divide, 2),
            "neg" => (Float::Negate, 1),
            "abs" => (Float::Absolute, 1),
            "min" => (Float::Least, 2),
            "max" => (Float::Most, 2),
            "copysign" => (Float::CopySign, 2),
            "sqrt" => (Float::SquareRoot, 1),
            "rcp" => (Float::Reciprocal, 1),
            "rsqrt" if approximates => (Float::ReciprocalRoot, 1),
            "sin" if approximates => (Float::Sine, 1),
            "cos" if approximates => (Float::Cosine, 1),
            "ex2" if approximates => (Float::Power, 1),
            "lg2" if approximates => (Float::Logarithm, 1),
            "tanh" if approximates => (Float::HyperbolicTangent, 1),
            _ => return None,
        };
        let directed = mode.round != Direction::Nearest;
        let exact = matches!(
            how,
            Float::Add | Float::Subtract | Float::Multiply | Float::Fused
        );
        if directed && (double || !exact) || double && mode.saturate {
            return None;
        }
        mode.half = double && approximates;
        // These operations change only the sign bit.
        if matches!(how, Float::Negate | Float::Absolute | Float::CopySign) && mode.saturate {
            return None;
        }
        self.has(count + 1)?;
        let to = self.target(0)?;
        let mut given = [self.reader.number(0); 3];
        for (index, place) in given.iter_mut().take(count).enumerate() {
            *place = self.source(index + 1)?;
        }
        let [a, b, c] = given;
        Some(Operation::Float {
            to,
            how,
            double,
            mode,
            a,
            b,
            c,
        })
    }
}
