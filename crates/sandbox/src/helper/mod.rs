//! The program between the daemon and a confined process: the same binary, started again.
//!
//! A process can't leave its namespaces for others while it has threads, and code between a
//! fork and an exec may not allocate. So the daemon starts itself as a helper with one thread.
//! The *outer* helper leaves the host's namespaces. It starts the *inner* helper, which is
//! the first process of the new ones: it builds the private root, takes off every right, puts
//! the rules on and starts the program. When the inner helper ends, the kernel ends all that
//! is left beside it.
//!
//! It reads no environment and no files but those of its plan, and knows nothing of agents.

mod inner;
mod network;
mod outer;
mod root;
mod rules;
mod start;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// The hidden command of the outer helper.
pub(crate) const OUTER: &str = "__confine";

/// The hidden command of the inner helper.
pub(crate) const INNER: &str = "__confine-inner";

/// Runs as the helper if that is what the arguments (after the program's name) say. To be
/// called first thing in `main`, before any thread starts.
///
/// `None` means that the program is to go on as usual.
pub fn helper_main(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let first = arguments.into_iter().next()?;
    if first == OsStr::new(OUTER) {
        Some(outer::run())
    } else if first == OsStr::new(INNER) {
        Some(inner::run())
    } else {
        None
    }
}
