//! How processes start: with exactly the environment they are given.

use async_trait::async_trait;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// A process to start. Whatever is not written here, the process does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSpec {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory.
    pub cwd: PathBuf,
}

/// What a finished process left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

/// A running process. Dropping it kills it.
#[async_trait]
pub trait Process: Send {
    /// Its id on this machine.
    fn id(&self) -> Option<u32>;

    /// Waits for its end and takes what it wrote.
    async fn finish(self: Box<Self>) -> io::Result<Finished>;
}

/// Starts processes.
#[async_trait]
pub trait ProcessLauncher: Send + Sync {
    /// Starts one, with no inherited environment and no standard input.
    async fn launch(&self, spec: ProcessSpec) -> io::Result<Box<dyn Process>>;
}
