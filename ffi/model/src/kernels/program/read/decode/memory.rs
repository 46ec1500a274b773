//! Loads, stores and atomic operations.

use super::Place;
use crate::kernels::program::operation::{Atomic, Operation, Space, Type};

/// Modifiers of loads, stores and atomics that have no effect here, because work is done in
/// order and there are no caches.
const ORDERS: [&str; 19] = [
    "volatile", "relaxed", "acquire", "release", "acq_rel", "weak", "cta", "cluster", "gpu", "sys",
    "ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc", "unified",
];

impl Place<'_, '_> {
    /// `ld` and `st`.
    pub(super) fn access(&mut self, name: &str, words: &[&str]) -> Option<Operation> {
        let (&last, words) = words.split_last()?;
        let of = Type::parse(last)?;
        let loads = name != "st";
        let mut space = Space::Generic;
        let mut count = 1;
        let mut of_param = false;
        for word in words {
            match *word {
                "global" | "const" => space = Space::Global,
                "shared" | "shared::cta" => space = Space::Shared,
                "local" => space = Space::Local,
                "param" => of_param = true,
                "v2" => count = 2,
                "v4" => count = 4,
                word if ORDERS.contains(&word)
                    || word.starts_with("L1::")
                    || word.starts_with("L2::") => {}
                _ => return None,
            }
        }
        self.has(2)?;
        let (address, values) = if loads { (1, 0) } else { (0, 1) };
        if of_param {
            return if count == 1 {
                self.parameter(loads, of)
            } else {
                None
            };
        }
        let names: Vec<String> = self.list(values)?.into_iter().map(str::to_owned).collect();
        if names.len() != count {
            return None;
        }
        let at = self.address(address, space)?;
        let registers = names
            .iter()
            .map(|name| {
                if loads {
                    self.target_named(name)
                } else {
                    self.reader.operand(self.scope, name)
                }
            })
            .collect::<Option<Vec<_>>>()?;
        Some(if loads {
            Operation::Load {
                to: registers,
                of,
                from: at,
            }
        } else {
            Operation::Store {
                from: registers,
                of,
                to: at,
            }
        })
    }

    /// `ld.param` and `st.param`: the kernel's parameters, and the parameters of calls.
    pub(super) fn parameter(&mut self, loads: bool, of: Type) -> Option<Operation> {
        let (name, offset) = self.bracketed(if loads { 1 } else { 0 })?;
        let name = name.to_owned();
        let convert = |to, from| Operation::Convert {
            to,
            from,
            source: of,
            target: of,
            saturate: false,
        };
        if let Some(register) = self.reader.passed(self.scope, &name, offset) {
            return Some(if loads {
                convert(self.target(0)?, register)
            } else {
                convert(register, self.source(1)?)
            });
        }
        let index = self.reader.parameters.iter().position(|&p| p == name)?;
        if !loads || self.scope != 0 {
            return None;
        }
        let offset = usize::try_from(offset).ok()?;
        Some(Operation::Parameter {
            to: self.target(0)?,
            index,
            offset,
            of,
        })
    }

    /// `atom` and `red`.
    pub(super) fn atomic(&mut self, name: &str, words: &[&str]) -> Option<Operation> {
        let (&last, words) = words.split_last()?;
        let of = Type::parse(last)?;
        let mut space = Space::Generic;
        let mut how = None;
        for word in words {
            match *word {
                "global" => space = Space::Global,
                "shared" | "shared::cta" => space = Space::Shared,
                "add" if last.starts_with('f') => how = Some(Atomic::AddFloat),
                word => match atomic_named(word) {
                    Some(named) => how = Some(named),
                    None if ORDERS.contains(&word) => {}
                    None => return None,
                },
            }
        }
        if of.bits < 32 || last.starts_with('f') && how != Some(Atomic::AddFloat) {
            return None;
        }
        let gives = name == "atom";
        let first = usize::from(gives);
        let three = how == Some(Atomic::CompareAndSwap);
        self.has(first + 2 + usize::from(three))?;
        let zero = self.reader.number(0);
        Some(Operation::Atomic {
            to: if gives { Some(self.target(0)?) } else { None },
            how: how?,
            of,
            at: self.address(first, space)?,
            b: self.source(first + 1)?,
            c: if three { self.source(first + 2)? } else { zero },
        })
    }
}

/// The operation of an atomic or a reduction.
pub(super) fn atomic_named(word: &str) -> Option<Atomic> {
    Some(match word {
        "add" => Atomic::Add,
        "min" => Atomic::Least,
        "max" => Atomic::Most,
        "and" => Atomic::And,
        "or" => Atomic::Or,
        "xor" => Atomic::Xor,
        "exch" => Atomic::Exchange,
        "cas" => Atomic::CompareAndSwap,
        "inc" => Atomic::Increment,
        "dec" => Atomic::Decrement,
        _ => return None,
    })
}
