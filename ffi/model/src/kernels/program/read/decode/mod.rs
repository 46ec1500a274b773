//! Decodes one statement into an [`Operation`].

mod memory;

use super::{Reader, call, number};
use crate::kernels::program::operation::{
    Address, Direction, Logic, Mode, Operation, Order, Predicate, Reg, Round, Shuffle, Space, Test,
    Type, Vote,
};
use crate::kernels::program::{LOCAL_WINDOW, SHARED_WINDOW};
use memory::atomic_named;

impl<'t> Reader<'t> {
    pub(super) fn operation(&mut self, scope: usize, line: &'t str) -> Option<Operation> {
        if let Some((results, name, given)) = call(line) {
            return self.system_call(scope, &results, name, &given);
        }
        let (opcode, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let operands = split(operands);
        let words: Vec<&str> = opcode.split('.').filter(|word| !word.is_empty()).collect();
        let (&name, words) = words.split_first()?;
        let mut place = Place {
            reader: self,
            scope,
            operands: &operands,
        };
        match name {
            "ld" | "st" | "ldu" => place.access(name, words),
            "atom" | "red" => place.atomic(name, words),
            "mov" | "cvta" | "cvt" | "isspacep" => place.moves(name, words),
            "setp" | "selp" => place.predicates(name, words),
            "bar" | "barrier" | "shfl" | "vote" | "redux" | "activemask" => {
                place.together(name, words)
            }
            "membar" | "fence" | "prefetch" | "prefetchu" | "nanosleep" | "griddepcontrol" => {
                Some(Operation::Nothing)
            }
            "bra" => {
                let [label] = operands[..] else {
                    return None;
                };
                Some(Operation::Jump {
                    to: self.label(scope, label)?,
                })
            }
            "ret" => self.end_of(scope),
            "exit" => Some(Operation::Return),
            _ => {
                let last = words.last()?;
                if matches!(*last, "f32" | "f64") {
                    place.float(name, words)
                } else {
                    place.integer(name, words)
                }
            }
        }
    }

    /// A call of a function that the GPU provides.
    fn system_call(
        &mut self,
        scope: usize,
        results: &[&str],
        name: &str,
        given: &[&str],
    ) -> Option<Operation> {
        match (name, given) {
            ("cudaGraphSetConditional", [handle, value]) => Some(Operation::SetCondition {
                handle: self.passed(scope, handle, 0)?,
                value: self.passed(scope, value, 0)?,
            }),
            ("vprintf", [format, arguments]) => Some(Operation::Print {
                to: match results {
                    [to] => Some(self.passed(scope, to, 0)?),
                    _ => None,
                },
                format: self.passed(scope, format, 0)?,
                arguments: self.passed(scope, arguments, 0)?,
            }),
            _ => None,
        }
    }
}

/// The operands, which are separated by commas outside of braces.
fn split(operands: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in operands.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(operands.get(start..at).map(str::trim));
                start = at + 1;
            }
            _ => {}
        }
    }
    found.extend(
        operands
            .get(start..)
            .map(str::trim)
            .filter(|rest| !rest.is_empty()),
    );
    found
}

/// An instruction that is being decoded.
pub(super) struct Place<'r, 't> {
    pub(super) reader: &'r mut Reader<'t>,
    scope: usize,
    pub(super) operands: &'r [&'t str],
}

impl Place<'_, '_> {
    /// The register of a source operand.
    pub(super) fn source(&mut self, index: usize) -> Option<Reg> {
        let text = self.operands.get(index)?;
        self.reader.operand(self.scope, text)
    }

    /// The register of a destination operand.
    pub(super) fn target(&mut self, index: usize) -> Option<Reg> {
        let text = self.operands.get(index)?;
        self.target_named(text)
    }

    /// `_` is a register that is never read.
    fn target_named(&mut self, name: &str) -> Option<Reg> {
        if name == "_" {
            return Some(self.reader.fresh());
        }
        self.reader.register(self.scope, name)
    }

    fn predicate(&mut self, index: usize) -> Option<Predicate> {
        let text = self.operands.get(index)?;
        let (name, negated) = match text.strip_prefix('!') {
            Some(name) => (name.trim(), true),
            None => (*text, false),
        };
        let register = self.reader.operand(self.scope, name)?;
        Some(Predicate { register, negated })
    }

    /// Whether there are `count` operands.
    pub(super) fn has(&self, count: usize) -> Option<()> {
        (self.operands.len() == count).then_some(())
    }

    /// `{%r1, %r2}`, or one name.
    fn list(&self, index: usize) -> Option<Vec<&str>> {
        let text = self.operands.get(index)?;
        Some(match text.strip_prefix('{') {
            Some(inside) => inside
                .strip_suffix('}')?
                .split(',')
                .map(str::trim)
                .collect(),
            None => vec![*text],
        })
    }

    /// `[%rd1+4]`, `[name]`, `[name+4]`: the name and the offset.
    fn bracketed(&self, index: usize) -> Option<(&str, u64)> {
        let inner = self
            .operands
            .get(index)?
            .strip_prefix('[')?
            .strip_suffix(']')?;
        match inner.split_once('+') {
            None => Some((inner.trim(), 0)),
            Some((name, offset)) => Some((name.trim(), number(offset.trim())?)),
        }
    }

    fn address(&mut self, index: usize, space: Space) -> Option<Address> {
        let (name, offset) = self.bracketed(index)?;
        let name = name.to_owned();
        let base = self.reader.operand(self.scope, &name)?;
        Some(Address {
            space,
            base,
            offset,
        })
    }

    /// Moves and conversions.
    fn moves(&mut self, name: &str, words: &[&str]) -> Option<Operation> {
        self.has(2)?;
        let same = |to, from, of| Operation::Convert {
            to,
            from,
            source: of,
            target: of,
            saturate: false,
        };
        match (name, words) {
            ("mov", [kind]) => {
                let of = Type::parse(kind)?;
                let (to, from) = (self.list(0)?, self.list(1)?);
                let (to_list, from_list) = (to.len(), from.len());
                let names = |list: Vec<&str>| -> Vec<String> {
                    list.into_iter().map(str::to_owned).collect()
                };
                let (to, from) = (names(to), names(from));
                if from_list > 1 {
                    let parts = from
                        .iter()
                        .map(|name| self.reader.operand(self.scope, name))
                        .collect::<Option<Vec<_>>>()?;
                    return Some(Operation::Pack {
                        to: self.target(0)?,
                        parts,
                        bits: of.bits / u32::try_from(from_list).ok()?,
                    });
                }
                if to_list > 1 {
                    let to = to
                        .iter()
                        .map(|name| self.target_named(name))
                        .collect::<Option<Vec<_>>>()?;
                    return Some(Operation::Unpack {
                        to,
                        from: self.source(1)?,
                        bits: of.bits / u32::try_from(to_list).ok()?,
                    });
                }
                Some(same(self.target(0)?, self.source(1)?, of))
            }
            ("cvta", ["to", space, kind]) => {
                let by = window(space)?.wrapping_neg();
                let (to, from) = (self.target(0)?, self.source(1)?);
                Type::parse(kind)?;
                Some(Operation::Offset { to, from, by })
            }
            ("cvta", [space, kind]) => {
                let by = window(space)?;
                let (to, from) = (self.target(0)?, self.source(1)?);
                Type::parse(kind)?;
                Some(Operation::Offset { to, from, by })
            }
            // An older form of `cvta` to a generic address.
            ("cvta", [kind]) => Some(same(self.target(0)?, self.source(1)?, Type::parse(kind)?)),
            ("isspacep", [space]) => Some(Operation::IsSpace {
                to: self.target(0)?,
                space: match *space {
                    "global" | "const" => Space::Global,
                    "shared" | "shared::cta" => Space::Shared,
                    "local" => Space::Local,
                    _ => return None,
                },
                a: self.source(1)?,
            }),
            ("cvt", [between @ .., to, from]) => self.convert(between, to, from),
            _ => None,
        }
    }

    fn convert(&mut self, between: &[&str], to: &str, from: &str) -> Option<Operation> {
        let mut mode = Mode::default();
        let mut whole = None;
        let mut direction = None;
        for word in between {
            match *word {
                "ftz" => mode.flush = true,
                "sat" => mode.saturate = true,
                "rni" => whole = Some(Round::Nearest),
                "rzi" => whole = Some(Round::Zero),
                "rmi" => whole = Some(Round::Down),
                "rpi" => whole = Some(Round::Up),
                "rn" => direction = Some(Direction::Nearest),
                _ => return None,
            }
        }
        let double = |kind: &str| match kind {
            "f32" => Some(Some(false)),
            "f64" => Some(Some(true)),
            kind if kind.starts_with(['f', 'b', 'e', 't']) => None,
            _ => Some(None),
        };
        let (to_type, from_type) = (double(to)?, double(from)?);
        let (target, register) = (self.target(0)?, self.source(1)?);
        Some(match (to_type, from_type) {
            (None, None) => Operation::Convert {
                to: target,
                from: register,
                source: Type::parse(from)?,
                target: Type::parse(to)?,
                saturate: mode.saturate,
            },
            (None, Some(double)) => Operation::ToInteger {
                to: target,
                from: register,
                double,
                round: whole?,
                target: Type::parse(to)?,
            },
            (Some(double), None) => {
                direction?;
                Operation::FromInteger {
                    to: target,
                    from: register,
                    source: Type::parse(from)?,
                    double,
                }
            }
            (Some(to_double), Some(from_double)) => Operation::FloatToFloat {
                to: target,
                from: register,
                from_double,
                to_double,
                round: whole,
                mode,
            },
        })
    }

    /// `setp` and `selp`.
    fn predicates(&mut self, name: &str, words: &[&str]) -> Option<Operation> {
        if let ("selp", [kind]) = (name, words) {
            self.has(4)?;
            return Some(Operation::Select {
                to: self.target(0)?,
                of: Type::parse(kind)?,
                a: self.source(1)?,
                b: self.source(2)?,
                by: self.predicate(3)?,
            });
        }
        let (&kind, words) = words.split_last()?;
        let (&order, between) = words.split_first()?;
        let mut logic = None;
        for word in between {
            match *word {
                "and" => logic = Some(Logic::And),
                "or" => logic = Some(Logic::Or),
                "xor" => logic = Some(Logic::Xor),
                // In no recorded program did flushing subnormal numbers
                // change a comparison with zero.
                "ftz" => {}
                _ => return None,
            }
        }
        if name != "setp" {
            return None;
        }
        let test = match kind {
            "f32" | "f64" => {
                let double = kind == "f64";
                match order {
                    "num" => Test::Numbers {
                        negated: false,
                        double,
                    },
                    "nan" => Test::Numbers {
                        negated: true,
                        double,
                    },
                    order => {
                        let (order, unordered) = match order.strip_suffix('u') {
                            Some(order) => (order, true),
                            None => (order, false),
                        };
                        Test::Float {
                            order: order_named(order)?,
                            unordered,
                            double,
                        }
                    }
                }
            }
            kind => Test::Integer(order_named(order)?, integer_type(kind)?),
        };
        self.has(if logic.is_some() { 4 } else { 3 })?;
        let results = self.operands.first()?;
        let (to, other) = match results.split_once('|') {
            Some((to, other)) => (to.trim(), Some(other.trim())),
            None => (*results, None),
        };
        Some(Operation::Compare {
            to: self.target_named(to)?,
            other: match other {
                Some(other) => Some(self.target_named(other)?),
                None => None,
            },
            test,
            a: self.source(1)?,
            b: self.source(2)?,
            with: match logic {
                Some(logic) => Some((logic, self.predicate(3)?)),
                None => None,
            },
        })
    }

    /// Barriers, votes and shuffles, in which threads act together.
    fn together(&mut self, name: &str, words: &[&str]) -> Option<Operation> {
        match (name, words) {
            ("activemask", ["b32"]) => {
                self.has(1)?;
                Some(Operation::ActiveMask {
                    to: self.target(0)?,
                })
            }
            // The threads of a warp run in lockstep.
            ("bar" | "barrier", ["warp", "sync"]) => Some(Operation::Nothing),
            ("bar", ["sync"])
            | ("bar", ["cta", "sync"])
            | (
                "barrier",
                ["sync"] | ["sync", "aligned"] | ["cta", "sync"] | ["cta", "sync", "aligned"],
            ) => {
                // With a number of threads, the barrier would be for a part
                // of the block only.
                self.has(1)?;
                Some(Operation::Barrier { gives: None })
            }
            ("bar" | "barrier", ["red", rest @ ..] | ["cta", "red", rest @ ..]) => {
                self.has(3)?;
                let vote = match rest {
                    ["popc", "u32"] | ["popc", "aligned", "u32"] => Vote::Count,
                    ["and", "pred"] | ["and", "aligned", "pred"] => Vote::All,
                    ["or", "pred"] | ["or", "aligned", "pred"] => Vote::Any,
                    _ => return None,
                };
                Some(Operation::Barrier {
                    gives: Some((self.target(0)?, vote, self.predicate(2)?)),
                })
            }
            ("shfl", ["sync", how, "b32"]) => {
                self.has(5)?;
                let how = match *how {
                    "up" => Shuffle::Up,
                    "down" => Shuffle::Down,
                    "bfly" => Shuffle::Butterfly,
                    "idx" => Shuffle::Index,
                    _ => return None,
                };
                let results = self.operands.first()?;
                let (to, valid) = match results.split_once('|') {
                    Some((to, valid)) => (to.trim(), Some(valid.trim())),
                    None => (*results, None),
                };
                Some(Operation::Shuffle {
                    to: self.target_named(to)?,
                    valid: match valid {
                        Some(valid) => Some(self.target_named(valid)?),
                        None => None,
                    },
                    how,
                    a: self.source(1)?,
                    b: self.source(2)?,
                    c: self.source(3)?,
                })
            }
            ("vote", ["sync", how, kind]) => {
                self.has(3)?;
                let how = match (*how, *kind) {
                    ("all", "pred") => Vote::All,
                    ("any", "pred") => Vote::Any,
                    ("uni", "pred") => Vote::Same,
                    ("ballot", "b32") => Vote::Ballot,
                    _ => return None,
                };
                Some(Operation::Vote {
                    to: self.target(0)?,
                    how,
                    of: self.predicate(1)?,
                })
            }
            ("redux", ["sync", how, kind]) => {
                self.has(3)?;
                let of = Type::parse(kind).filter(|of| of.bits == 32 && !kind.starts_with('f'))?;
                let how = atomic_named(how)?;
                let (to, a, members) = (self.target(0)?, self.source(1)?, self.source(2)?);
                Some(Operation::Reduce {
                    to,
                    how,
                    of,
                    a,
                    members,
                })
            }
            _ => None,
        }
    }
}

/// The type of integer arithmetic.
pub(super) fn integer_type(kind: &str) -> Option<Type> {
    Type::parse(kind).filter(|_| !kind.starts_with('f'))
}

/// The constant that is added to an address of a space to make it generic.
fn window(space: &str) -> Option<u64> {
    match space {
        "global" | "const" => Some(0),
        "shared" | "shared::cta" => Some(SHARED_WINDOW),
        "local" => Some(LOCAL_WINDOW),
        _ => None,
    }
}

fn order_named(word: &str) -> Option<Order> {
    Some(match word {
        "lt" | "lo" => Order::Less,
        "le" | "ls" => Order::LessOrEqual,
        "gt" | "hi" => Order::Greater,
        "ge" | "hs" => Order::GreaterOrEqual,
        "eq" => Order::Equal,
        "ne" => Order::NotEqual,
        _ => return None,
    })
}
