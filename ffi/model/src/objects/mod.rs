//! The objects that handles stand for: `stream`s and events, `graph`s and `exec`s, and the
//! [`effects`] of a node. A `slab` stores the objects of one kind, and an `id` identifies
//! one of them.

pub mod effects;
pub(crate) mod exec;
pub(crate) mod graph;
pub(crate) mod id;
pub(crate) mod slab;
pub(crate) mod stream;
