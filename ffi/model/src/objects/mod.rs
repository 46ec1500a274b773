//! The objects behind handles: [`stream`]s and events, [`graph`]s and [`exec`]s, with
//! the [`effects`] of running a node, each in its [`slab`].

pub mod effects;
pub mod exec;
pub mod graph;
pub mod slab;
pub mod stream;
