//! Kernels that the simulated runtime can execute: PTX with integers, floating-point
//! numbers, global, shared and local memory, atomics, barriers, votes, shuffles, calls of
//! functions in the same PTX, `printf` and `cudaGraphSetConditional`.
//!
//! The threads of a warp run in lockstep. The warps of a block run in turn until all wait
//! at a barrier, and blocks run one after the other. A kernel with any other instruction
//! has no [`Program`]: it takes its time and writes nothing.

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

/// The generic address at which shared memory begins, far from all other memory. Local
/// memory follows. Both are repeated at multiples of [`WINDOW_BYTES`].
const SHARED_WINDOW: u64 = 1 << 60;
const LOCAL_WINDOW: u64 = 2 << 60;
const WINDOW_BYTES: u64 = 1 << 60;

/// The instructions of a kernel, and the registers and memory that its threads need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    instructions: Vec<Instruction>,
    /// The number of registers of a thread.
    registers: usize,
    /// Registers with a constant number.
    numbers: Vec<(Reg, u64)>,
    specials: Vec<(Reg, Special)>,
    /// Static shared memory of a block, in bytes.
    shared_bytes: usize,
    /// Local memory of a thread, in bytes.
    local_bytes: usize,
}

/// The memory and the functions that a kernel uses.
pub trait Memory {
    /// The `bytes` (1, 2, 4 or 8) at an address, as a number.
    fn load(&mut self, address: u64, bytes: usize) -> u64;
    /// Writes the low `bytes` bytes of a number. Returns how many instructions the
    /// store counts as, in addition to itself: a store that allocates host memory
    /// counts as more.
    fn store(&mut self, address: u64, bytes: usize, value: u64) -> u64;
    /// `cudaGraphSetConditional`: sets the value of a condition.
    fn set_condition(&mut self, handle: u64, value: u32);
    /// `printf`: receives the text that a thread writes.
    fn print(&mut self, text: &[u8]);
}

/// The values of a kernel's arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The bytes of each argument, padded to a multiple of 8.
    words: Vec<u64>,
    /// The index in `words` at which each argument begins.
    starts: Vec<usize>,
}

impl Arguments {
    /// Adds an argument of `bytes` bytes, and returns the words for its value.
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

    /// All arguments. Each begins at a multiple of 8 bytes.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The index in [`words`](Self::words) at which each argument begins.
    #[must_use]
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Bytes of an argument, as a number. Bytes outside of the argument are 0.
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
    /// The number of blocks in each dimension.
    pub grid: [u32; 3],
    /// The number of threads per block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// The arguments.
    pub arguments: &'a Arguments,
}

/// A kernel used up its budget of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// A special register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Special {
    /// By dimension: the index of the thread, the index of the block, the number of
    /// threads per block, the number of blocks.
    Thread(usize),
    Block(usize),
    Threads(usize),
    Blocks(usize),
    /// The index of the thread in its warp, the index of the warp in its block, the
    /// number of warps.
    Lane,
    Warp,
    Warps,
    /// The threads of the warp with an equal, lower or higher index, as a mask.
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// The size of dynamic shared memory.
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

    /// Its value for a thread, given by its index in the block.
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
    /// Static shared memory of a block, in bytes.
    #[must_use]
    pub fn shared_bytes(&self) -> u32 {
        u32::try_from(self.shared_bytes).unwrap_or(u32::MAX)
    }

    /// Local memory of a thread, in bytes.
    #[must_use]
    pub fn local_bytes(&self) -> u32 {
        u32::try_from(self.local_bytes).unwrap_or(u32::MAX)
    }

    /// Whether it can change memory or a condition, or write text. If not, it need not
    /// be executed.
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

    /// Runs all threads of a launch, whose dimensions must be valid for the device.
    /// `budget` is the number of instructions that they may execute, counted per
    /// thread; afterwards it is what is left. Starting a thread counts as one
    /// instruction.
    ///
    /// # Errors
    ///
    /// [`TooLong`] if the budget is used up.
    pub fn run(
        &self,
        launch: Launch<'_>,
        memory: &mut impl Memory,
        budget: &mut u64,
    ) -> Result<(), TooLong> {
        // A kernel with one thread, such as one that sets a condition, needs no
        // other lanes.
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

/// Every index in a grid with these extents.
fn each([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}
