//! The objects behind handles: `stream`s and events, `graph`s and `exec`s, and the
//! [`effects`] of running a node. A `slab` keeps the objects of one kind; an `id`
//! names one of them.

pub mod effects;
pub(crate) mod exec;
pub(crate) mod graph;
pub(crate) mod id;
pub(crate) mod slab;
pub(crate) mod stream;
