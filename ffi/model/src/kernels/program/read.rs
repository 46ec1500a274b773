//! Reading a PTX body into a [`Program`].

use std::collections::HashMap;

use super::{Binary, Float, Instruction, Operand, Operation, Order, Program, Special, Type};

impl Program {
    /// Reads an entry's body, without comments; `parameters` are its names in order.
    /// `None` where it holds anything else than [the module](crate::kernels::program) says.
    #[must_use]
    pub fn parse(body: &str, parameters: &[&str]) -> Option<Self> {
        let mut reader = Reader {
            parameters,
            declared: Vec::new(),
            passed: Vec::new(),
            registers: HashMap::new(),
            labels: HashMap::new(),
        };
        let mut lines = Vec::new();
        let inner = body.trim().strip_prefix('{')?.strip_suffix('}')?;
        for statement in inner.split(';') {
            // A call stands in a block of its own, with the parameters that it passes.
            let mut statement = statement.trim_start_matches(BLOCK).trim();
            while let Some((label, rest)) = statement.split_once(':') {
                reader.labels.insert(label.trim(), lines.len());
                statement = rest.trim_start_matches(BLOCK).trim();
            }
            if let Some(declared) = statement.strip_prefix(".reg") {
                reader.declare(declared);
            } else if let Some(passed) = statement.strip_prefix(".param") {
                reader.passed.extend(passed.split_whitespace().last());
            } else if !statement.is_empty() {
                lines.push(statement);
            }
        }
        let instructions = lines
            .into_iter()
            .map(|line| reader.instruction(line))
            .collect::<Option<Vec<_>>>()?;
        Some(Self {
            instructions,
            registers: reader.registers.len(),
        })
    }
}

/// What encloses and separates statements.
const BLOCK: [char; 5] = ['{', '}', ' ', '\t', '\n'];

/// Turns lines into instructions.
struct Reader<'t> {
    parameters: &'t [&'t str],
    /// Names of registers, without the number where there are several.
    declared: Vec<&'t str>,
    /// Names of the parameters that calls pass. Each counts as a register.
    passed: Vec<&'t str>,
    registers: HashMap<&'t str, usize>,
    labels: HashMap<&'t str, usize>,
}

impl<'t> Reader<'t> {
    fn instruction(&mut self, line: &'t str) -> Option<Instruction> {
        let (guard, line) = match line.strip_prefix('@') {
            None => (None, line),
            Some(guarded) => {
                let (predicate, rest) = guarded.split_once(char::is_whitespace)?;
                let (name, wanted) = match predicate.strip_prefix('!') {
                    Some(name) => (name, false),
                    None => (predicate, true),
                };
                (Some((self.register(name)?, wanted)), rest.trim())
            }
        };
        let (opcode, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
        let words: Vec<&str> = opcode.split('.').collect();
        let what = self.operation(&words, &operands)?;
        Some(Instruction { guard, what })
    }

    fn operation(&mut self, words: &[&str], operands: &[&'t str]) -> Option<Operation> {
        let last_type = || Type::parse(words.last()?);
        let is_of_floats = words
            .iter()
            .any(|word| matches!(*word, "f16" | "f32" | "f64"));
        let moves = matches!(words.first(), Some(&("ld" | "st" | "mov" | "selp")));
        if is_of_floats && !moves && is_float(words).is_none() {
            return None;
        }
        if let Some(double) = is_float(words) {
            return self.float(words, operands, double);
        }
        Some(match (words, operands) {
            (["ld", "param", _], [to, from]) => {
                let (name, 0) = address(from)? else {
                    return None;
                };
                let index = self.parameters.iter().position(|&p| p == name)?;
                Operation::Parameter {
                    to: self.register(to)?,
                    index,
                }
            }
            (["st", "param", _], [to, from]) => {
                let (name, 0) = address(to)? else {
                    return None;
                };
                Operation::Convert {
                    to: self.parameter(name)?,
                    from: self.operand(from)?,
                    of: last_type()?,
                }
            }
            (["call"] | ["call", "uni"], ["cudaGraphSetConditional", handle, value]) => {
                let handle = handle.strip_prefix('(')?.trim();
                let value = value.strip_suffix(')')?.trim();
                Operation::SetCondition {
                    handle: Operand::Register(self.parameter(handle)?),
                    value: Operand::Register(self.parameter(value)?),
                }
            }
            (["selp", _], [to, a, b, predicate]) => Operation::Select {
                to: self.register(to)?,
                of: last_type()?,
                a: self.operand(a)?,
                b: self.operand(b)?,
                predicate: self.register(predicate)?,
            },
            (["ld", .., _], [to, from]) if is_global(words) => {
                let (name, offset) = address(from)?;
                let from = self.operand(name)?;
                Operation::Load {
                    to: self.register(to)?,
                    of: last_type()?,
                    from,
                    offset,
                }
            }
            (["st", .., _], [to, value]) if is_global(words) => {
                let (name, offset) = address(to)?;
                let (to, value) = (self.operand(name)?, self.operand(value)?);
                Operation::Store {
                    to,
                    offset,
                    of: last_type()?,
                    value,
                }
            }
            (
                ["mov", _] | ["cvta", _] | ["cvta", "to", "global", _] | ["cvt", _, _],
                [to, from],
            ) => {
                // For `cvt` the last type is what the value is read as.
                Operation::Convert {
                    to: self.register(to)?,
                    from: self.operand(from)?,
                    of: last_type()?,
                }
            }
            (["neg", _], [to, a]) => self.compute(Binary::Subtract, last_type()?, to, "0", a)?,
            (
                [
                    name @ ("add" | "sub" | "and" | "or" | "xor" | "shl" | "shr"),
                    _,
                ],
                [to, a, b],
            ) => {
                let how = match *name {
                    "add" => Binary::Add,
                    "sub" => Binary::Subtract,
                    "and" => Binary::And,
                    "or" => Binary::Or,
                    "xor" => Binary::Xor,
                    "shl" => Binary::ShiftLeft,
                    _ => Binary::ShiftRight,
                };
                self.compute(how, last_type()?, to, a, b)?
            }
            (["mul", width @ ("lo" | "wide"), _], [to, a, b]) => {
                self.multiply(*width == "wide", last_type()?, to, [a, b, "0"])?
            }
            (["mad", width @ ("lo" | "wide"), _], [to, a, b, plus]) => {
                self.multiply(*width == "wide", last_type()?, to, [a, b, plus])?
            }
            (["setp", order, _], [to, a, b]) => {
                let how = match *order {
                    "lt" | "lo" => Order::Less,
                    "le" | "ls" => Order::LessOrEqual,
                    "gt" | "hi" => Order::Greater,
                    "ge" | "hs" => Order::GreaterOrEqual,
                    "eq" => Order::Equal,
                    "ne" => Order::NotEqual,
                    _ => return None,
                };
                Operation::Compare {
                    to: self.register(to)?,
                    how,
                    of: last_type()?,
                    a: self.operand(a)?,
                    b: self.operand(b)?,
                }
            }
            (["bra"] | ["bra", "uni"], [label]) => Operation::Jump {
                to: *self.labels.get(label)?,
            },
            (["ret" | "exit"], [""]) => Operation::Return,
            _ => return None,
        })
    }

    /// Arithmetic of floating-point numbers, rounded to nearest.
    fn float(&mut self, words: &[&str], operands: &[&'t str], double: bool) -> Option<Operation> {
        let zero = Operand::Number(0);
        if let (["setp", order, _], [to, a, b]) = (words, operands) {
            let how = match *order {
                "lt" => Order::Less,
                "le" => Order::LessOrEqual,
                "gt" => Order::Greater,
                "ge" => Order::GreaterOrEqual,
                "eq" => Order::Equal,
                "ne" => Order::NotEqual,
                _ => return None,
            };
            return Some(Operation::CompareFloats {
                to: self.register(to)?,
                how,
                double,
                a: self.operand(a)?,
                b: self.operand(b)?,
            });
        }
        let how = match words.first()? {
            &"add" => Float::Add,
            &"sub" => Float::Subtract,
            &"mul" => Float::Multiply,
            &"div" => Float::Divide,
            &"fma" | &"mad" => Float::Fused,
            &"neg" => Float::Negate,
            _ => return None,
        };
        let (to, rest) = operands.split_first()?;
        let wanted = match how {
            Float::Negate => 1,
            Float::Fused => 3,
            _ => 2,
        };
        if rest.len() != wanted {
            return None;
        }
        let to = self.register(to)?;
        let mut given = [zero; 3];
        for (place, text) in given.iter_mut().zip(rest) {
            *place = self.operand(text)?;
        }
        let [a, b, c] = given;
        Some(Operation::Float {
            to,
            how,
            double,
            a,
            b,
            c,
        })
    }

    fn compute(
        &mut self,
        how: Binary,
        of: Type,
        to: &'t str,
        a: &'t str,
        b: &'t str,
    ) -> Option<Operation> {
        Some(Operation::Compute {
            to: self.register(to)?,
            how,
            of,
            a: self.operand(a)?,
            b: self.operand(b)?,
        })
    }

    fn multiply(
        &mut self,
        wide: bool,
        of: Type,
        to: &'t str,
        [a, b, plus]: [&'t str; 3],
    ) -> Option<Operation> {
        Some(Operation::Multiply {
            to: self.register(to)?,
            wide,
            of,
            a: self.operand(a)?,
            b: self.operand(b)?,
            plus: self.operand(plus)?,
        })
    }

    fn operand(&mut self, text: &'t str) -> Option<Operand> {
        if let Some(special) = special(text) {
            return Some(special);
        }
        if text.starts_with('%') {
            return self.register(text).map(Operand::Register);
        }
        number(text).map(Operand::Number)
    }

    /// ` .b64 %rd<12>`, ` .b32 %r1, %r2`.
    fn declare(&mut self, declaration: &'t str) {
        let Some((_, names)) = declaration.trim().split_once(char::is_whitespace) else {
            return;
        };
        for name in names.split(',').map(str::trim) {
            self.declared
                .push(name.split_once('<').map_or(name, |(name, _)| name));
        }
    }

    /// The register that stands for a parameter of a call.
    fn parameter(&mut self, name: &'t str) -> Option<usize> {
        if !self.passed.contains(&name) {
            return None;
        }
        let next = self.registers.len();
        Some(*self.registers.entry(name).or_insert(next))
    }

    /// A declared register by its name; a number of its own for each. All others are
    /// special ones, of which only those of [`special`] are known.
    fn register(&mut self, name: &'t str) -> Option<usize> {
        let family = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if !self.declared.iter().any(|&d| d == name || d == family) {
            return None;
        }
        let next = self.registers.len();
        Some(*self.registers.entry(name).or_insert(next))
    }
}

/// Whether an instruction computes with floating-point numbers, rounded to nearest, and
/// whether those have 64 bits. Loads, stores, moves and selections take them as bits;
/// conversions are not among them.
fn is_float(words: &[&str]) -> Option<bool> {
    let (name, rest) = words.split_first()?;
    let computes = matches!(
        *name,
        "add" | "sub" | "mul" | "div" | "fma" | "mad" | "neg" | "setp"
    );
    let (kind, between) = rest.split_last()?;
    let rounds = *name == "setp" || between.iter().all(|word| *word == "rn");
    match *kind {
        "f32" if computes && rounds => Some(false),
        "f64" if computes && rounds => Some(true),
        _ => None,
    }
}

/// `ld.u32`, `st.global.u8`: a plain access to global memory.
fn is_global(words: &[&str]) -> bool {
    matches!(words, [_, _] | [_, "global", _])
}

/// `[%rd1+4]` and `[name]`.
fn address(text: &str) -> Option<(&str, u64)> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    match inner.split_once('+') {
        None => Some((inner.trim(), 0)),
        Some((name, offset)) => Some((name.trim(), number(offset.trim())?)),
    }
}

fn number(text: &str) -> Option<u64> {
    // The bits of a floating-point number.
    if let Some(bits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0d")) {
        return u64::from_str_radix(bits, 16).ok();
    }
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse::<i64>().map(i64::cast_unsigned).ok(),
    }
}

fn special(text: &str) -> Option<Operand> {
    let (name, dimension) = text.split_once('.')?;
    let which = match name {
        "%tid" => Special::Thread,
        "%ctaid" => Special::Block,
        "%ntid" => Special::Threads,
        "%nctaid" => Special::Blocks,
        _ => return None,
    };
    let dimension = ["x", "y", "z"].iter().position(|&d| d == dimension)?;
    Some(Operand::Special(which, dimension))
}
