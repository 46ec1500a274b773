//! Executes one instruction for the threads that are at it.

use std::array::from_fn;

use super::memory::space_of;
use super::{Block, Warp, lanes_of};
use crate::kernels::program::lanes::{self, Lanes};
use crate::kernels::program::operation::{
    Address, Logic, Operation, Reg, Shuffle, Space, Type, Vote,
};
use crate::kernels::program::{Memory, TooLong, floats, printf};

impl<const N: usize> Warp<N> {
    /// Executes one instruction for the threads of a mask.
    pub(super) fn step<M: Memory>(
        &mut self,
        what: &Operation,
        mask: u32,
        block: &mut Block<'_, M>,
    ) -> Result<(), TooLong> {
        let (to, values) = match *what {
            Operation::Parameter {
                to,
                index,
                offset,
                of,
            } => {
                let value = block.launch.arguments.load(index, offset, of.bytes());
                (to, [of.of(value); N])
            }
            Operation::Convert {
                to,
                from,
                source,
                target,
                saturate,
            } => (
                to,
                lanes::converted(self.get(from), source, target, saturate),
            ),
            Operation::Offset { to, from, by } => {
                (to, self.get(from).map(|address| address.wrapping_add(by)))
            }
            Operation::Pack {
                to,
                ref parts,
                bits,
            } => {
                let part = Type {
                    bits,
                    signed: false,
                };
                let packed = from_fn(|lane| {
                    parts.iter().rev().fold(0_u64, |word, &register| {
                        word.checked_shl(bits).unwrap_or(0) | part.of(self.get(register)[lane])
                    })
                });
                (to, packed)
            }
            Operation::Unpack { ref to, from, bits } => {
                let word = *self.get(from);
                let part = Type {
                    bits,
                    signed: false,
                };
                for (place, &register) in to.iter().enumerate() {
                    let values = word.map(|word| part.of(word >> (bits * place as u32)));
                    self.put(register, &values, mask);
                }
                return Ok(());
            }
            Operation::Unary { to, how, of, a } => (to, lanes::unary(how, of, self.get(a))),
            Operation::Binary { to, how, of, a, b } => {
                (to, lanes::binary(how, of, self.get(a), self.get(b)))
            }
            Operation::Ternary {
                to,
                how,
                of,
                a,
                b,
                c,
            } => (to, lanes::ternary(how, of, [a, b, c].map(|r| self.get(r)))),
            Operation::Insert {
                to,
                of,
                a,
                b,
                start,
                length,
            } => (
                to,
                lanes::insert(of, [a, b, start, length].map(|r| self.get(r))),
            ),
            Operation::Carry {
                to,
                how,
                of,
                a,
                b,
                c,
                takes,
                gives,
                flag,
            } => {
                let carry = takes.then(|| self.get(flag));
                let operands = [a, b, c].map(|r| self.get(r));
                let (result, carry) = lanes::with_carry(how, of, operands, carry);
                if gives {
                    self.put(flag, &carry, mask);
                }
                (to, result)
            }
            Operation::Float {
                to,
                how,
                double,
                mode,
                a,
                b,
                c,
            } => (
                to,
                floats::float(how, double, mode, [a, b, c].map(|r| self.get(r))),
            ),
            Operation::ToInteger {
                to,
                from,
                double,
                round,
                target,
            } => (
                to,
                floats::to_integer(self.get(from), double, round, target),
            ),
            Operation::FromInteger {
                to,
                from,
                source,
                double,
            } => (to, floats::from_integer(self.get(from), source, double)),
            Operation::FloatToFloat {
                to,
                from,
                from_double,
                to_double,
                round,
                mode,
            } => {
                let doubles = [from_double, to_double];
                (
                    to,
                    floats::float_to_float(self.get(from), doubles, round, mode),
                )
            }
            Operation::Compare {
                to,
                other,
                test,
                a,
                b,
                with,
            } => {
                let holds = lanes::compare(test, self.get(a), self.get(b));
                let opposite = holds.map(|holds| holds ^ 1);
                let combined = |holds: Lanes<N>| match with {
                    None => holds,
                    Some((logic, by)) => {
                        let by = self.get(by.register).map(|p| p & 1 ^ u64::from(by.negated));
                        from_fn(|lane| match logic {
                            Logic::And => holds[lane] & by[lane],
                            Logic::Or => holds[lane] | by[lane],
                            Logic::Xor => holds[lane] ^ by[lane],
                        })
                    }
                };
                let (holds, opposite) = (combined(holds), combined(opposite));
                if let Some(other) = other {
                    self.put(other, &opposite, mask);
                }
                (to, holds)
            }
            Operation::Select { to, of, a, b, by } => {
                let chosen = self.holds(by);
                let (a, b) = (self.get(a), self.get(b));
                (
                    to,
                    from_fn(|lane| {
                        of.of(if chosen >> lane & 1 == 1 {
                            a[lane]
                        } else {
                            b[lane]
                        })
                    }),
                )
            }
            Operation::Load { ref to, of, from } => {
                let addresses = self.addresses(from);
                let bytes = of.bytes();
                for (place, &register) in to.iter().enumerate() {
                    let mut values = [0; N];
                    for lane in lanes_of(mask) {
                        let address = addresses[lane].wrapping_add((place * bytes) as u64);
                        let value = self.load(from.space, lane, address, bytes, block);
                        values[lane] = of.of(value);
                    }
                    self.put(register, &values, mask);
                }
                return Ok(());
            }
            Operation::Store { ref from, of, to } => {
                let addresses = self.addresses(to);
                let bytes = of.bytes();
                for (place, &register) in from.iter().enumerate() {
                    for lane in lanes_of(mask) {
                        let address = addresses[lane].wrapping_add((place * bytes) as u64);
                        let value = self.get(register)[lane];
                        self.store(to.space, lane, address, bytes, value, block)?;
                    }
                }
                return Ok(());
            }
            Operation::Atomic {
                to,
                how,
                of,
                at,
                b,
                c,
            } => {
                let addresses = self.addresses(at);
                let bytes = of.bytes();
                let mut found = [0; N];
                for lane in lanes_of(mask) {
                    let old = self.load(at.space, lane, addresses[lane], bytes, block);
                    let (b, c) = (self.get(b)[lane], self.get(c)[lane]);
                    let new = lanes::atomic(how, of, old, b, c);
                    self.store(at.space, lane, addresses[lane], bytes, new, block)?;
                    found[lane] = of.of(old);
                }
                match to {
                    Some(to) => (to, found),
                    None => return Ok(()),
                }
            }
            Operation::Shuffle {
                to,
                valid,
                how,
                a,
                b,
                c,
            } => {
                let (values, is_valid) = self.shuffle(how, [a, b, c]);
                if let Some(valid) = valid {
                    self.put(valid, &is_valid, mask);
                }
                (to, values)
            }
            Operation::Vote { to, how, of } => {
                let yes = self.holds(of) & mask;
                let result = match how {
                    Vote::All => u64::from(yes == mask),
                    Vote::Any => u64::from(yes != 0),
                    Vote::Same => u64::from(yes == mask || yes == 0),
                    Vote::Ballot => u64::from(yes),
                    Vote::Count => u64::from(yes.count_ones()),
                };
                (to, [result; N])
            }
            Operation::Reduce {
                to,
                how,
                of,
                a,
                members,
            } => {
                let values = self.get(a);
                let members = self.get(members);
                let mut all = [0; N];
                for lane in lanes_of(mask) {
                    let mut of_members = lanes_of(mask & members[lane] as u32);
                    let first = of_members.next().map_or(0, |first| values[first]);
                    all[lane] = of_members.fold(first, |sum, other| {
                        lanes::atomic(how, of, sum, values[other], 0)
                    });
                }
                (to, all)
            }
            Operation::ActiveMask { to } => (to, [u64::from(mask); N]),
            Operation::IsSpace { to, space, a } => (
                to,
                self.get(a)
                    .map(|address| u64::from(space_of(address) == space)),
            ),
            Operation::SetCondition { handle, value } => {
                for lane in lanes_of(mask) {
                    let (handle, value) = (self.get(handle)[lane], self.get(value)[lane]);
                    block.memory.set_condition(handle, value as u32);
                }
                return Ok(());
            }
            Operation::Print {
                to,
                format,
                arguments,
            } => {
                let mut counts = [0; N];
                for lane in lanes_of(mask) {
                    let (format, arguments) = (self.get(format)[lane], self.get(arguments)[lane]);
                    let mut load =
                        |address, bytes| self.load(Space::Generic, lane, address, bytes, block);
                    let (text, count) = printf::write(format, arguments, &mut load);
                    // Each byte of text counts as an instruction.
                    block.budget = block.budget.checked_sub(text.len() as u64).ok_or(TooLong)?;
                    block.memory.print(&text);
                    counts[lane] = count;
                }
                match to {
                    Some(to) => (to, counts),
                    None => return Ok(()),
                }
            }
            Operation::Nothing
            | Operation::Jump { .. }
            | Operation::Return
            | Operation::Barrier { .. } => return Ok(()),
        };
        self.put(to, &values, mask);
        Ok(())
    }

    fn addresses(&self, address: Address) -> Lanes<N> {
        self.get(address.base)
            .map(|base| base.wrapping_add(address.offset))
    }

    /// `shfl.sync`, as the PTX ISA defines it.
    fn shuffle(&self, how: Shuffle, [a, b, c]: [Reg; 3]) -> (Lanes<N>, Lanes<N>) {
        let (a, b, c) = (self.get(a), self.get(b), self.get(c));
        let mut valid = [0; N];
        let values = from_fn(|lane| {
            let own = lane as u64;
            let (by, clamp, segment) = (b[lane] & 31, c[lane] & 31, c[lane] >> 8 & 31);
            let most = own & segment | clamp & !segment;
            let least = own & segment;
            let (other, is_valid) = match how {
                Shuffle::Up => (own.wrapping_sub(by), own as i64 - by as i64 >= most as i64),
                Shuffle::Down => (own + by, own + by <= most),
                Shuffle::Butterfly => (own ^ by, own ^ by <= most),
                Shuffle::Index => {
                    let other = least | by & !segment & 31;
                    (other, other <= most)
                }
            };
            valid[lane] = u64::from(is_valid);
            let from = if is_valid { other } else { own };
            a.get(from as usize).copied().unwrap_or(a[lane])
        });
        (values, valid)
    }
}
