//! The program between the daemon and a confined process: `insula-confine` where it is beside
//! the daemon's, else the daemon's own, started again.
//!
//! A process can't leave its namespaces for others while it has threads, and code between a
//! fork and an exec may not allocate. So the daemon starts a helper with one thread.
//! The *outer* helper leaves the host's namespaces. It starts the *inner* helper, which is
//! the first process of the new ones: it builds the private root, takes off every right, puts
//! the rules on and starts the program. When the inner helper ends, the kernel ends all that
//! is left beside it.
//!
//! It reads no environment and no files but those of its plan, and knows nothing of agents.

mod account;
mod inner;
mod memory;
mod mount;
mod network;
mod outer;
mod proc;
mod root;
mod rules;
mod start;
mod view;

pub(crate) use proc::facts;
pub use root::{seen_by_all, shows};

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// The hidden command of the outer helper.
pub(crate) const OUTER: &str = "__confine";

/// The hidden command of the inner helper.
pub(crate) const INNER: &str = "__confine-inner";

/// The hidden command of the process that makes a user namespace.
pub(crate) const MAKER: &str = "__confine-account";

/// The hidden command that succeeds if the number after it is this build's.
pub(crate) const SAME: &str = "__confine-same";

/// Tells builds apart whose helpers and daemons would not understand each other: a sum over the
/// sources of everything a helper does.
pub(crate) const BUILD: u64 = {
    let sources: [&str; 18] = [
        include_str!("mod.rs"),
        include_str!("account.rs"),
        include_str!("inner.rs"),
        include_str!("mount.rs"),
        include_str!("network.rs"),
        include_str!("outer.rs"),
        include_str!("proc.rs"),
        include_str!("root.rs"),
        include_str!("rules.rs"),
        include_str!("start.rs"),
        include_str!("view.rs"),
        include_str!("../channel.rs"),
        include_str!("../devices.rs"),
        include_str!("../mounts.rs"),
        include_str!("../plan.rs"),
        include_str!("../quota.rs"),
        include_str!("../seccomp/mod.rs"),
        include_str!("../seccomp/calls.rs"),
    ];
    let mut sum = 0xcbf2_9ce4_8422_2325;
    let mut index = 0;
    while index < sources.len() {
        sum = sum_over(sum, sources[index].as_bytes());
        index += 1;
    }
    sum
};

/// FNV-1a, which a constant can be computed with.
const fn sum_over(mut sum: u64, bytes: &[u8]) -> u64 {
    let mut index = 0;
    while index < bytes.len() {
        sum = (sum ^ bytes[index] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        index += 1;
    }
    sum
}

/// Runs as the helper if that is what the arguments (after the program's name) say. To be
/// called first thing in `main`, before any thread starts.
///
/// `None` means that the program is to go on as usual.
pub fn helper_main(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter();
    let first = arguments.next()?;
    if first == OsStr::new(OUTER) {
        Some(outer::run())
    } else if first == OsStr::new(INNER) {
        Some(inner::run())
    } else if first == OsStr::new(MAKER) {
        Some(account::make())
    } else if first == OsStr::new(SAME) {
        let same = arguments.next().is_some_and(|build| build == *BUILD.to_string());
        Some(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    } else {
        None
    }
}
