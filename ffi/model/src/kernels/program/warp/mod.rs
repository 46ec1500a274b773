//! Threads that run in lockstep: a warp, or the only thread of a block.
//!
//! Threads at the same instruction execute it together. After a divergence, the threads
//! that are behind run first, so that all meet again where their paths join. From time to
//! time the threads that are ahead run instead, in case the others wait for them.

mod memory;
mod step;

use std::array::from_fn;

use super::lanes::Lanes;
use super::operation::{Instruction, Operation, Predicate, Reg, Vote};
use super::{Launch, Memory, Program, TooLong};

/// The number of instructions after which other threads of the warp, and other warps, run.
const TURN: u32 = 1 << 14;

/// Threads at the same instruction.
#[derive(Debug, Clone, Copy)]
struct Group {
    next: usize,
    mask: u32,
}

/// Threads that wait at a barrier, and the result of the barrier.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    group: Group,
    gives: Option<(Reg, Vote)>,
}

/// The values that the threads of a block passed to a barrier.
#[derive(Debug, Default)]
pub(super) struct Votes {
    yes: u64,
    all: u64,
}

/// The memory that the threads of a block share, and the launch to which the block belongs.
pub(super) struct Block<'a, M> {
    pub launch: Launch<'a>,
    pub block: [u32; 3],
    pub shared: Vec<u8>,
    pub votes: Votes,
    pub memory: &'a mut M,
    /// The number of instructions that the launch may still execute.
    pub budget: u64,
}

pub(super) struct Warp<const N: usize> {
    registers: Vec<Lanes<N>>,
    local: Vec<u8>,
    local_bytes: usize,
    groups: Vec<Group>,
    waiting: Vec<Waiting>,
    /// Whether the threads that are ahead run in this turn.
    ahead: bool,
}

/// Whether a warp can continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// All its threads wait at a barrier.
    Waiting,
    Ended,
}

impl<const N: usize> Warp<N> {
    /// A warp for a program. Its threads have not started.
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

    /// Starts the threads of the block, from number `first` on.
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

    /// The threads for which a predicate is true, as a mask.
    fn holds(&self, predicate: Predicate) -> u32 {
        let mut mask = 0;
        for (lane, value) in self.get(predicate.register).iter().enumerate() {
            mask |= ((value & 1) as u32 ^ u32::from(predicate.negated)) << lane;
        }
        mask
    }

    /// The group of threads that runs next.
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

    /// Runs until all threads have ended or wait, or until other warps must run.
    ///
    /// # Errors
    ///
    /// [`TooLong`] if the budget is used up.
    pub fn run<M: Memory>(
        &mut self,
        program: &Program,
        block: &mut Block<'_, M>,
    ) -> Result<State, TooLong> {
        let mut left = TURN;
        while let Some(group) = self.pick() {
            // The position of the next group. This group does not run beyond it
            // alone.
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

    /// Continues the threads that waited at a barrier which all threads of the block
    /// have reached.
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
}

/// The indices of the threads in a mask.
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
