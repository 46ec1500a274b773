//! The ids of objects: which object a handle stands for, and of which kind it is.
//!
//! This file does not depend on the objects themselves, so that a stream can refer to an
//! exec, and the exec's memory to the stream.

use core::fmt;
use core::marker::PhantomData;

/// A kind of object. The tag is part of the handle, so that a handle of another kind is
/// recognised.
pub trait Kind {
    /// A number from 1 to 15, different for each kind.
    const TAG: u64;
}

/// Defines the kinds of objects, and a type name for the [`Id`] of each.
macro_rules! kinds {
    ($($tag:literal $kind:ident $id:ident $what:literal;)*) => {
        /// The kinds of objects.
        pub mod kind {
            $(
                #[doc = concat!($what, ".")]
                #[derive(Debug)]
                pub enum $kind {}

                impl super::Kind for $kind {
                    const TAG: u64 = $tag;
                }
            )*
        }

        $(
            #[doc = concat!("Names ", $what, ".")]
            pub type $id = Id<kind::$kind>;
        )*
    };
}

kinds! {
    1 Graph GraphId "a graph";
    2 Node NodeId "a node of a graph";
    3 Exec ExecId "an instantiated graph";
    4 Stream StreamId "a stream";
    5 Event EventId "an event";
    6 Library LibraryId "a loaded library of kernels";
    7 Kernel KernelId "a kernel of a library";
    8 Context ContextId "a context";
    9 Memory MemoryId "the memory of a graph";
    10 Module ModuleId "a module of the driver's";
    11 DriverFunction DriverFunctionId "a function of a module";
    12 Physical PhysicalId "physical memory that the program maps";
}

/// The number of bits of a handle that count the objects in the same place.
pub(super) const GENERATION_BITS: u32 = 28;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;
const TAG_SHIFT: u32 = 60;

/// Identifies one object of a [`Slab`](super::slab::Slab). The id is never used for a later
/// object in the same place.
pub struct Id<K> {
    pub(super) index: u32,
    pub(super) generation: u32,
    kind: PhantomData<fn() -> K>,
}

impl<K> Id<K> {
    pub(super) fn new(index: u32, generation: u32) -> Self {
        Self {
            index,
            generation,
            kind: PhantomData,
        }
    }
}

impl<K: Kind> Id<K> {
    /// The handle for the program: never 0, and not an address.
    #[must_use]
    pub fn to_handle(self) -> u64 {
        K::TAG << TAG_SHIFT | u64::from(self.generation) << 32 | (u64::from(self.index) + 1)
    }

    /// The id in a handle that a program gave; `None` if it does not have the form of
    /// this kind.
    #[must_use]
    pub fn from_handle(handle: u64) -> Option<Self> {
        if handle >> TAG_SHIFT != K::TAG {
            return None;
        }
        let index = u32::try_from(handle & 0xffff_ffff).ok()?.checked_sub(1)?;
        let generation = u32::try_from(handle >> 32).ok()? & GENERATION_MASK;
        Some(Self::new(index, generation))
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        (self.index, self.generation) == (other.index, other.generation)
    }
}
impl<K> Eq for Id<K> {}
impl<K> core::hash::Hash for Id<K> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        (self.index, self.generation).hash(state);
    }
}
impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}.{}", self.index, self.generation)
    }
}
