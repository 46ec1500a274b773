//! Kernels that the simulated runtime can run: PTX with integers, floating-point numbers,
//! global, shared and local memory, atomics, barriers, votes and shuffles, calls of functions
//! of its own, `printf` and `cudaGraphSetConditional`.
//!
//! The threads of a warp run in step, the warps of a block in turn until all wait at a
//! barrier, and blocks one after the other. An entry with any other instruction has no
//! [`Program`]: it takes its time and writes nothing.

mod floats;
mod lanes;
mod operation;
mod printf;
mod read;
#[cfg(test)]
mod tests;
mod unit;
mod warp;

pub use unit::{Unit, Variable};

use operation::{Instruction, Operation, Reg};
use warp::{Block, State, Votes, Warp};

/// Where shared memory begins in generic addresses: no other memory is there. Local memory
/// follows, and both repeat at multiples of [`WINDOW_BYTES`].
const SHARED_WINDOW: u64 = 1 << 60;
const LOCAL_WINDOW: u64 = 2 << 60;
const WINDOW_BYTES: u64 = 1 << 60;

/// A kernel's instructions, and what its threads need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    instructions: Vec<Instruction>,
    /// Registers of a thread.
    registers: usize,
    /// Registers that hold a number, and those that hold a special register.
    numbers: Vec<(Reg, u64)>,
    specials: Vec<(Reg, Special)>,
    /// Shared memory of a block, without the dynamic part.
    shared_bytes: usize,
    /// Local memory of a thread.
    local_bytes: usize,
}

/// Memory and the device, as kernels see them.
pub trait Memory {
    /// The `bytes` (1, 2, 4 or 8) at an address, as a number.
    fn load(&mut self, address: u64, bytes: usize) -> u64;
    /// Writes the low `bytes` of a number. Returns how many instructions that counts as,
    /// beside the store itself: a store that makes the host's memory grow counts more.
    fn store(&mut self, address: u64, bytes: usize, value: u64) -> u64;
    /// `cudaGraphSetConditional`: sets the value that a conditional node looks at.
    fn set_condition(&mut self, handle: u64, value: u32);
    /// `printf`: takes the text that a thread writes.
    fn print(&mut self, text: &[u8]);
}

/// The values of a kernel's arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The bytes of each argument, filled up to a multiple of 8.
    words: Vec<u64>,
    /// Where each argument begins in `words`.
    starts: Vec<usize>,
}

impl Arguments {
    /// Adds an argument of so many bytes, and returns room for them.
    pub fn add(&mut self, bytes: usize) -> &mut [u64] {
        let start = self.words.len();
        self.starts.push(start);
        self.words.resize(start + bytes.div_ceil(8).max(1), 0);
        self.words.get_mut(start..).unwrap_or_default()
    }

    /// The first 8 bytes of an argument.
    #[must_use]
    pub fn first(&self, index: usize) -> Option<u64> {
        self.words.get(*self.starts.get(index)?).copied()
    }

    /// All arguments, each from a multiple of 8 bytes on.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Where each argument begins in [`words`](Self::words).
    #[must_use]
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Bytes of an argument, as a number; 0 outside of it.
    fn load(&self, index: usize, offset: usize, bytes: usize) -> u64 {
        let Some(&start) = self.starts.get(index) else {
            return 0;
        };
        let end = self
            .starts
            .get(index + 1)
            .copied()
            .unwrap_or(self.words.len());
        let byte = |at: usize| {
            let word = start + at / 8;
            let word = if word < end {
                self.words.get(word)
            } else {
                None
            };
            word.map_or(0, |word| word >> (8 * (at % 8)) & 0xff)
        };
        (0..bytes)
            .rev()
            .fold(0, |value, at| value << 8 | byte(offset + at))
    }
}

impl FromIterator<u64> for Arguments {
    /// Arguments of 8 bytes each.
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let words: Vec<u64> = values.into_iter().collect();
        let starts = (0..words.len()).collect();
        Self { words, starts }
    }
}

/// A launch of a kernel.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The arguments.
    pub arguments: &'a Arguments,
}

/// A program that did not end within what it was allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// A register that the hardware sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Special {
    /// The thread in its block, by dimension; the block; threads of a block; blocks.
    Thread(usize),
    Block(usize),
    Threads(usize),
    Blocks(usize),
    /// The thread in its warp, the warp in its block, warps of a block.
    Lane,
    Warp,
    Warps,
    /// Threads of the warp that are equal, below, or above in number.
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Shared memory of a block: dynamic.
    DynamicShared,
}

impl Special {
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('%')?;
        if let Some((name, dimension)) = text.split_once('.') {
            let dimension = ["x", "y", "z"].iter().position(|&d| d == dimension)?;
            return Some(match name {
                "tid" => Self::Thread(dimension),
                "ctaid" => Self::Block(dimension),
                "ntid" => Self::Threads(dimension),
                "nctaid" => Self::Blocks(dimension),
                _ => return None,
            });
        }
        Some(match text {
            "laneid" => Self::Lane,
            "warpid" => Self::Warp,
            "nwarpid" => Self::Warps,
            "lanemask_eq" => Self::Equal,
            "lanemask_lt" => Self::Less,
            "lanemask_le" => Self::LessOrEqual,
            "lanemask_gt" => Self::Greater,
            "lanemask_ge" => Self::GreaterOrEqual,
            "dynamic_smem_size" => Self::DynamicShared,
            _ => return None,
        })
    }

    /// Its value in a thread, which is counted in its block.
    fn value(self, launch: &Launch<'_>, block: [u32; 3], thread: u32) -> u64 {
        let [x, y, _] = launch.block;
        let place = [thread % x, thread / x % y, thread / x / y];
        let lane = thread % 32;
        let bit = 1_u32 << lane;
        let of = |extents: [u32; 3], dimension: usize| extents.get(dimension).copied().unwrap_or(0);
        u64::from(match self {
            Self::Thread(dimension) => of(place, dimension),
            Self::Block(dimension) => of(block, dimension),
            Self::Threads(dimension) => of(launch.block, dimension),
            Self::Blocks(dimension) => of(launch.grid, dimension),
            Self::Lane => lane,
            Self::Warp => thread / 32,
            Self::Warps => launch.block.iter().product::<u32>().div_ceil(32),
            Self::Equal => bit,
            Self::Less => bit - 1,
            Self::LessOrEqual => (bit - 1) | bit,
            Self::Greater => !((bit - 1) | bit),
            Self::GreaterOrEqual => !(bit - 1),
            Self::DynamicShared => launch.shared_bytes,
        })
    }
}

impl Program {
    /// Shared memory of a block, without the dynamic part.
    #[must_use]
    pub fn shared_bytes(&self) -> u32 {
        u32::try_from(self.shared_bytes).unwrap_or(u32::MAX)
    }

    /// Local memory of a thread.
    #[must_use]
    pub fn local_bytes(&self) -> u32 {
        u32::try_from(self.local_bytes).unwrap_or(u32::MAX)
    }

    /// Whether it can change memory or a condition, or writes text. One that cannot need not
    /// be run.
    #[must_use]
    pub fn stores(&self) -> bool {
        self.instructions.iter().any(|instruction| {
            matches!(
                instruction.what,
                Operation::Store { .. }
                    | Operation::Atomic { .. }
                    | Operation::SetCondition { .. }
                    | Operation::Print { .. }
            )
        })
    }

    /// Runs all threads of a launch, whose extents are those that a device takes; `budget`
    /// is how many instructions they may take, that is for each thread, and is what is left
    /// of them afterwards. Starting a thread counts as one as well.
    ///
    /// # Errors
    ///
    /// When the budget is used up.
    pub fn run(
        &self,
        launch: Launch<'_>,
        memory: &mut impl Memory,
        budget: &mut u64,
    ) -> Result<(), TooLong> {
        // A kernel of one thread, as those that set conditions are, needs no other lanes.
        if launch.block == [1, 1, 1] {
            self.run_in_warps::<1>(launch, memory, budget)
        } else {
            self.run_in_warps::<32>(launch, memory, budget)
        }
    }

    fn run_in_warps<const N: usize>(
        &self,
        launch: Launch<'_>,
        memory: &mut impl Memory,
        budget: &mut u64,
    ) -> Result<(), TooLong> {
        let threads: u32 = launch.block.iter().product();
        let mut warps: Vec<Warp<N>> = (0..threads.div_ceil(N as u32))
            .map(|_| Warp::new(self))
            .collect();
        let shared_bytes = self.shared_bytes + launch.shared_bytes as usize;
        let mut block = Block {
            launch,
            block: [0; 3],
            shared: vec![0; shared_bytes],
            votes: Votes::default(),
            memory,
            budget: *budget,
        };
        let mut result = Ok(());
        for place in each(launch.grid) {
            block.block = place;
            block.shared.fill(0);
            result = self.run_block(&mut warps, &mut block, threads);
            if result.is_err() {
                break;
            }
        }
        *budget = block.budget;
        result
    }

    fn run_block<const N: usize, M: Memory>(
        &self,
        warps: &mut [Warp<N>],
        block: &mut Block<'_, M>,
        threads: u32,
    ) -> Result<(), TooLong> {
        block.budget = block.budget.checked_sub(threads.into()).ok_or(TooLong)?;
        for (number, warp) in warps.iter_mut().enumerate() {
            warp.start(self, &block.launch, block.block, (number * N) as u32);
        }
        loop {
            let (mut running, mut waiting) = (false, false);
            for warp in &mut *warps {
                match warp.run(self, block)? {
                    State::Running => running = true,
                    State::Waiting => waiting = true,
                    State::Ended => {}
                }
            }
            if running {
                continue;
            }
            if !waiting {
                return Ok(());
            }
            let votes = std::mem::take(&mut block.votes);
            for warp in &mut *warps {
                warp.pass_barrier(&votes);
            }
        }
    }
}

/// Every place of a grid of these extents.
fn each([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}
