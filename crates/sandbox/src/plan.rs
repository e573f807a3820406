//! What the daemon tells its helper, and what the helper answers. Only these types cross
//! between the two processes, and only over the channel the daemon made.

use crate::quota::Share;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// Which layers to put on. All of them, unless the operator allows one to be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layers {
    pub(crate) user: bool,
    pub(crate) pid: bool,
    pub(crate) mount: bool,
    pub(crate) network: bool,
    pub(crate) ipc: bool,
    pub(crate) uts: bool,
    pub(crate) landlock: bool,
    pub(crate) seccomp: bool,
}

/// For the outer helper: what to leave behind. Nothing in it is of one child, so a helper can
/// follow it before there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OuterPlan {
    pub(crate) layers: Layers,
    /// The process that must still be the parent once the death signal is set.
    pub(crate) parent: u32,
    /// Whether the parent writes the id maps, as only root can for another id.
    pub(crate) maps_from_parent: bool,
    /// The user who pays for the user namespace, where that is not the daemon's.
    pub(crate) owner: Option<(u32, u32)>,
    /// Which account it is inside of, where those are namespaces. A descriptor of it comes with
    /// the plan.
    pub(crate) account: Option<u64>,
    /// What all children of the account may have.
    pub(crate) share: Share,
    /// Try this and answer, instead of starting anything.
    pub(crate) attempt: Option<Attempt>,
}

/// For the outer helper once it has left: the child it is for. Standard output and error come
/// with it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// Files to write itself into, so that all that is started is counted.
    pub(crate) join: Vec<OsString>,
}

/// A layer to try alone, so that a report can name the one that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Attempt {
    Unshare,
    View,
    Landlock,
    Seccomp,
    /// Make the namespace of an account, and send it.
    Account,
}

/// What every child is told of the machine: what of it never changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// What `/proc/cpuinfo` says of each processor alike.
    pub(crate) processor: String,
    /// How many processors there are.
    pub(crate) processors: usize,
    /// When the machine started, in seconds since 1970.
    pub(crate) booted: u64,
}

/// For the inner helper: everything else.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InnerPlan {
    pub(crate) layers: Layers,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: OsString,
    /// Where it goes from there, and what that has to be.
    pub(crate) begins: Option<(OsString, Option<(u64, u64)>)>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) executes: Vec<OsString>,
    pub(crate) tmp_bytes: u64,
    pub(crate) tmp_files: u64,
    pub(crate) proxy_port: Option<u16>,
    pub(crate) memory_bytes: u64,
    pub(crate) processes: u64,
    pub(crate) file_bytes: u64,
    pub(crate) descriptors: u64,
    pub(crate) cpu_seconds: u64,
    pub(crate) idle: bool,
    /// Whether the inner helper counts the tree's memory, for want of a cgroup.
    pub(crate) watch_memory: bool,
    /// The ids to become, when they are not the daemon's.
    pub(crate) become_ids: Option<(u32, u32)>,
    /// The ids the process has inside, for its `/etc/passwd`.
    pub(crate) ids: (u32, u32),
    /// Whether a descriptor for standard input comes with the plan.
    pub(crate) stdin: bool,
    /// Whether a `/dev` comes with the plan.
    pub(crate) devices: bool,
    /// Of these only what is granted is shown.
    pub(crate) hidden_around: Vec<OsString>,
    /// Of these nothing is shown.
    pub(crate) hidden_whole: Vec<OsString>,
    /// What is told of the machine.
    pub(crate) facts: Facts,
}

/// A path to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    pub(crate) path: OsString,
    pub(crate) write: bool,
}

/// What the helper answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The outer helper has left the host's namespaces; its maps may be written.
    Unshared,
    /// The inner helper has tied its life to the outer one and waits for its plan. With it
    /// comes a descriptor of that process, except where it is not the init of a namespace.
    Ready,
    /// The process is the inner helper's; with the message comes a descriptor of it.
    Inner,
    /// With it comes the listener of the proxy's port.
    Listener,
    /// The program runs.
    Started,
    /// With it comes the namespace of an account.
    Account {
        /// Whether it keeps the bounds it was given.
        bounded: bool,
    },
    /// An attempt succeeded.
    Held,
    /// A step failed.
    Failed(Failure),
    /// The program ended.
    Ended { code: Option<i32>, signal: Option<i32>, memory: bool },
}

/// A step that failed, and where the blame lies.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) step: String,
    pub(crate) reason: String,
    pub(crate) errno: Option<i32>,
}

/// Where the blame for a failure lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FailureKind {
    /// The machine.
    Setup,
    /// A path that was to be given.
    Grant(OsString),
    /// The program.
    Execute,
}

impl Failure {
    /// A step of the set-up, with what the kernel answered.
    pub(crate) fn setup(step: impl Into<String>, error: impl Into<std::io::Error>) -> Self {
        let error = error.into();
        Self {
            kind: FailureKind::Setup,
            step: step.into(),
            reason: error.to_string(),
            errno: error.raw_os_error(),
        }
    }

    /// A path that can't be given.
    pub(crate) fn grant(path: &std::ffi::OsStr, reason: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Grant(path.to_owned()),
            step: String::new(),
            reason: reason.into(),
            errno: None,
        }
    }
}
