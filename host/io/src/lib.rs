//! What every command of this workspace does the same way: writing files, and showing
//! text that comes from outside.
//!
//! - `Outputs` (with the feature `files`) are the files that one command writes. Each is checked before anything
//!   runs, written beside its place, and put there when the command has succeeded, so
//!   that a command that is refused or fails leaves the old files as they were.
//! - [`visible`] makes text from files, the environment, drivers and the command line
//!   safe to show: control characters and bidirectional controls appear as escapes such
//!   as `\u{1b}`.

#[cfg(feature = "files")]
mod identity;
#[cfg(feature = "files")]
mod output;
#[cfg(feature = "files")]
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "not_unix.rs")]
mod system;
pub mod visible;

#[cfg(feature = "files")]
pub use output::{Output, OutputError, Outputs, is_closed_pipe, write};
pub use visible::Shown;
