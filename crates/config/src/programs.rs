//! How an agent's programs are confined, and what they are given besides.

use insula_domain::Switch;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What an agent's settings say about the programs it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// Whether the walls stand. Off only where the operator wrote it.
    pub sandbox: Switch,
    /// Layers that may be missing on this machine, by name.
    pub optional: BTreeSet<Box<str>>,
    /// What bounds one program and all it starts; absent ones have a default.
    pub limits: ProgramLimits,
    /// What bounds what it writes.
    pub disk: DiskLimits,
    /// Its environment: plain values, and references to secrets.
    pub env: BTreeMap<Box<str>, Box<str>>,
}

impl Default for Programs {
    fn default() -> Self {
        Self {
            sandbox: Switch::On,
            optional: BTreeSet::new(),
            limits: ProgramLimits::default(),
            disk: DiskLimits::default(),
            env: BTreeMap::new(),
        }
    }
}

/// What bounds a program, as far as somebody wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProgramLimits {
    /// Bytes of memory of it and all it starts.
    pub memory: Option<u64>,
    /// Processes at once.
    pub processes: Option<u64>,
    /// Bytes of the largest file it may write.
    pub file_size: Option<u64>,
    /// Open files of each process.
    pub descriptors: Option<u64>,
    /// Processor time of each process.
    pub cpu_time: Option<Duration>,
    /// How long it may run.
    pub wall_clock: Option<Duration>,
    /// Bytes kept of what it prints.
    pub output: Option<u64>,
}

/// What bounds a program on the disks it writes to, as far as somebody wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskLimits {
    /// Bytes that stay free.
    pub free_space: Option<u64>,
    /// Bytes one program may take.
    pub growth: Option<u64>,
    /// Files one program may make.
    pub new_files: Option<u64>,
}
