//! Confinement of child processes by the kernel, and the only way they have to the network.
//!
//! A [`Sandbox`] takes a plain [`Spec`] and gives a [`Child`]: a process that sees a root with
//! only what was granted, no network or one proxy, no process but its own, and ends within its
//! limits together with all it started. A layer that is required and that this machine does
//! not give refuses, with the reason.
//!
//! It knows nothing of agents: what a spec should say is decided above.

mod accounts;
mod cgroup;
mod channel;
mod child;
mod conversation;
mod devices;
pub mod disk;
pub mod egress;
mod error;
mod examine;
mod helper;
pub mod holdings;
mod launcher;
mod listener;
mod mounts;
mod output;
mod ownership;
mod plan;
mod prepare;
mod probe;
mod quota;
mod sandbox;
mod seccomp;
mod spec;

pub use child::{Child, Exit, ExitOutcome, Finished, Limit};
pub use error::Error;
pub use examine::{Accounts, Attempt, AttemptVerdict, Examination, LayerReport};
pub use helper::{helper_main, seen_by_all, shows};
pub use launcher::{Helper, is_there, shell};
pub use output::{Capture, Captured, Pace};
pub use ownership::give_to;
pub use prepare::never_granted;
pub use probe::{Availability, Machine};
pub use sandbox::Sandbox;
pub use spec::{
    Begins, ChildLimits, Hidden, HostUser, Layer, Network, Output, Priority, QuotaAccount, Spec,
    Stdin, Tmp, Walls,
};
