//! Threads that run in step: a warp, or the one thread of a block that has no more.
//!
//! Threads at the same instruction do it together. Where they part, those that are behind
//! run first, so that they meet again where their ways join. From time to time those that
//! are ahead are run instead, in case the others wait for them.

use std::array::from_fn;

use super::floats;
use super::lanes::{self, Lanes};
use super::operation::{
    Address, Instruction, Logic, Operation, Predicate, Reg, Shuffle, Space, Type, Vote,
};
use super::{LOCAL_WINDOW, Launch, Memory, Program, SHARED_WINDOW, TooLong, WINDOW_BYTES, printf};

/// Instructions after which other threads of the warp, and other warps, have their turn.
const TURN: u32 = 1 << 14;
/// What memory reads as where there is none.
const NOTHING: u64 = 0xcdcd_cdcd_cdcd_cdcd;

/// Threads at the same instruction.
#[derive(Debug, Clone, Copy)]
struct Group {
    next: usize,
    mask: u32,
}

/// Threads that wait at a barrier, and what it gives them.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    group: Group,
    gives: Option<(Reg, Vote)>,
}

/// What the threads of a block that have come to a barrier said there.
#[derive(Debug, Default)]
pub(super) struct Votes {
    yes: u64,
    all: u64,
}

/// The memory of a block that its threads share, and the launch that it belongs to.
pub(super) struct Block<'a, M> {
    pub launch: Launch<'a>,
    pub block: [u32; 3],
    pub shared: Vec<u8>,
    pub votes: Votes,
    pub memory: &'a mut M,
    /// Instructions that the launch may still take.
    pub budget: u64,
}

pub(super) struct Warp<const N: usize> {
    registers: Vec<Lanes<N>>,
    local: Vec<u8>,
    local_bytes: usize,
    groups: Vec<Group>,
    waiting: Vec<Waiting>,
    /// Those that are ahead run in this turn.
    ahead: bool,
}

/// Whether a warp can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// All its threads wait at a barrier.
    Waiting,
    Ended,
}

impl<const N: usize> Warp<N> {
    /// A warp for a program, whose threads have not started.
    pub fn new(program: &Program) -> Self {
        let mut warp = Self {
            registers: vec![[0; N]; program.registers],
            local: vec![0; program.local_bytes * N],
            local_bytes: program.local_bytes,
            groups: Vec::new(),
            waiting: Vec::new(),
            ahead: false,
        };
        for &(register, number) in &program.numbers {
            warp.set(register, [number; N]);
        }
        warp
    }

    /// Starts the threads of the block from this one on.
    pub fn start(&mut self, program: &Program, launch: &Launch<'_>, block: [u32; 3], first: u32) {
        let threads: u32 = launch.block.iter().product();
        let lanes = (threads - first).min(N as u32);
        for &(register, special) in &program.specials {
            let values = from_fn(|lane| special.value(launch, block, first + lane as u32));
            self.set(register, values);
        }
        self.groups.clear();
        self.waiting.clear();
        let mask = if lanes == 32 {
            u32::MAX
        } else {
            (1 << lanes) - 1
        };
        self.groups.push(Group { next: 0, mask });
    }

    #[inline(always)]
    fn get(&self, register: Reg) -> &Lanes<N> {
        &self.registers[register as usize]
    }

    fn set(&mut self, register: Reg, values: Lanes<N>) {
        self.registers[register as usize] = values;
    }

    #[inline(always)]
    fn put(&mut self, register: Reg, values: &Lanes<N>, mask: u32) {
        let register = &mut self.registers[register as usize];
        if N == 1 || mask == u32::MAX {
            *register = *values;
            return;
        }
        for (lane, (to, from)) in register.iter_mut().zip(values).enumerate() {
            if mask >> lane & 1 == 1 {
                *to = *from;
            }
        }
    }

    /// The threads for which a predicate holds, of all.
    fn holds(&self, predicate: Predicate) -> u32 {
        let mut mask = 0;
        for (lane, value) in self.get(predicate.register).iter().enumerate() {
            mask |= ((value & 1) as u32 ^ u32::from(predicate.negated)) << lane;
        }
        mask
    }

    /// The group whose turn it is.
    fn pick(&mut self) -> Option<Group> {
        let groups = self.groups.iter().enumerate();
        let chosen = if self.ahead {
            groups.max_by_key(|(_, group)| group.next)
        } else {
            groups.min_by_key(|(_, group)| group.next)
        };
        let (index, _) = chosen?;
        Some(self.groups.swap_remove(index))
    }

    fn add(&mut self, group: Group) {
        if group.mask == 0 {
            return;
        }
        match self
            .groups
            .iter_mut()
            .find(|other| other.next == group.next)
        {
            Some(other) => other.mask |= group.mask,
            None => self.groups.push(group),
        }
    }

    /// Runs until all threads have ended or wait, or others have their turn.
    ///
    /// # Errors
    ///
    /// When the budget is used up.
    pub fn run<M: Memory>(
        &mut self,
        program: &Program,
        block: &mut Block<'_, M>,
    ) -> Result<State, TooLong> {
        let mut left = TURN;
        while let Some(group) = self.pick() {
            // Where the next group is: this one goes no further by itself.
            let meets = match self.ahead {
                true => usize::MAX,
                false => self
                    .groups
                    .iter()
                    .map(|group| group.next)
                    .min()
                    .unwrap_or(usize::MAX),
            };
            self.run_group(program, block, group, meets, &mut left)?;
            if left == 0 {
                self.ahead = !self.ahead;
                return Ok(State::Running);
            }
        }
        Ok(if self.waiting.is_empty() {
            State::Ended
        } else {
            State::Waiting
        })
    }

    /// Threads go on from a barrier that all of the block have come to.
    pub fn pass_barrier(&mut self, votes: &Votes) {
        for waiting in std::mem::take(&mut self.waiting) {
            if let Some((register, vote)) = waiting.gives {
                let result = match vote {
                    Vote::Count => votes.yes,
                    Vote::Any => u64::from(votes.yes > 0),
                    Vote::All | Vote::Same | Vote::Ballot => u64::from(votes.yes == votes.all),
                };
                self.put(register, &[result; N], waiting.group.mask);
            }
            self.add(waiting.group);
        }
    }

    fn run_group<M: Memory>(
        &mut self,
        program: &Program,
        block: &mut Block<'_, M>,
        group: Group,
        meets: usize,
        left: &mut u32,
    ) -> Result<(), TooLong> {
        let Group { mut next, mask } = group;
        let threads = u64::from(mask.count_ones());
        while let Some(instruction) = program.instructions.get(next) {
            if *left == 0 {
                break;
            }
            *left -= 1;
            block.budget = block.budget.checked_sub(threads).ok_or(TooLong)?;
            let Instruction { guard, what } = instruction;
            let done = match *guard {
                None => mask,
                Some((register, wanted)) => {
                    mask & self.holds(Predicate {
                        register,
                        negated: !wanted,
                    })
                }
            };
            match what {
                Operation::Jump { to } => {
                    if done == mask {
                        next = *to;
                    } else {
                        next += 1;
                        if done != 0 {
                            self.add(Group {
                                next: *to,
                                mask: done,
                            });
                            self.add(Group {
                                next,
                                mask: mask & !done,
                            });
                            return Ok(());
                        }
                    }
                }
                Operation::Return => {
                    next += 1;
                    if done == mask {
                        return Ok(());
                    }
                    if done != 0 {
                        self.add(Group {
                            next,
                            mask: mask & !done,
                        });
                        return Ok(());
                    }
                }
                Operation::Barrier { gives } => {
                    next += 1;
                    if done != 0 {
                        block.votes.all += u64::from(done.count_ones());
                        let gives = gives.map(|(register, vote, of)| {
                            block.votes.yes += u64::from((self.holds(of) & done).count_ones());
                            (register, vote)
                        });
                        self.waiting.push(Waiting {
                            group: Group { next, mask: done },
                            gives,
                        });
                        self.add(Group {
                            next,
                            mask: mask & !done,
                        });
                        return Ok(());
                    }
                }
                what => {
                    next += 1;
                    if done != 0 {
                        self.step(what, done, block)?;
                    }
                }
            }
            if next >= meets {
                break;
            }
        }
        if next < program.instructions.len() {
            self.add(Group { next, mask });
        }
        Ok(())
    }

    /// Does one instruction for the threads of a mask.
    fn step<M: Memory>(
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
                    // A byte counts as an instruction.
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

    fn load<M: Memory>(
        &self,
        space: Space,
        lane: usize,
        address: u64,
        bytes: usize,
        block: &mut Block<'_, M>,
    ) -> u64 {
        let space = if space == Space::Generic {
            space_of(address)
        } else {
            space
        };
        let read = |memory: &[u8]| {
            let at = (address % WINDOW_BYTES) as usize;
            let Some(found) = at.checked_add(bytes).and_then(|end| memory.get(at..end)) else {
                return NOTHING;
            };
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(found);
            u64::from_le_bytes(value)
        };
        match space {
            Space::Global | Space::Generic => block.memory.load(address, bytes),
            Space::Shared => read(&block.shared),
            Space::Local => {
                let own = lane * self.local_bytes;
                read(&self.local[own..own + self.local_bytes])
            }
        }
    }

    fn store<M: Memory>(
        &mut self,
        space: Space,
        lane: usize,
        address: u64,
        bytes: usize,
        value: u64,
        block: &mut Block<'_, M>,
    ) -> Result<(), TooLong> {
        let space = if space == Space::Generic {
            space_of(address)
        } else {
            space
        };
        let write = |memory: &mut [u8]| {
            let at = (address % WINDOW_BYTES) as usize;
            if let Some(room) = at
                .checked_add(bytes)
                .and_then(|end| memory.get_mut(at..end))
            {
                room.copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        };
        match space {
            Space::Global | Space::Generic => {
                let cost = block.memory.store(address, bytes, value);
                block.budget = block.budget.checked_sub(cost).ok_or(TooLong)?;
            }
            Space::Shared => write(&mut block.shared),
            Space::Local => {
                let own = lane * self.local_bytes;
                write(&mut self.local[own..own + self.local_bytes]);
            }
        }
        Ok(())
    }
}

/// The space that a generic address is in.
fn space_of(address: u64) -> Space {
    match address / WINDOW_BYTES * WINDOW_BYTES {
        SHARED_WINDOW => Space::Shared,
        LOCAL_WINDOW => Space::Local,
        _ => Space::Global,
    }
}

/// The threads of a mask.
fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        (left != 0).then(|| {
            let lane = left.trailing_zeros();
            left &= left - 1;
            lane as usize
        })
    })
}
