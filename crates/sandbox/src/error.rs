//! What can go wrong, by what the caller can do about it.

use crate::spec::Layer;
use std::io;
use std::path::PathBuf;

/// Why a process was not started, or can't be watched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A layer that is required is missing on this machine.
    #[error(
        "the sandbox needs {layer}, which this machine does not give: {reason}; {}, or list `{layer}` under `sandbox.optional` and accept that {}",
        .layer.remedy(),
        .layer.without()
    )]
    Missing {
        /// The layer.
        layer: Layer,
        /// What the attempt to use it answered.
        reason: String,
    },
    /// What was asked for can't be given.
    #[error("{0}")]
    Spec(String),
    /// A granted path can't be given.
    #[error("can't grant `{}` to a confined process: {reason}", .path.display())]
    Grant {
        /// The path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The program could not be executed inside the sandbox.
    #[error("can't execute `{}` inside the sandbox: {source}; grant the folder it is in", .program.display())]
    Execute {
        /// The program.
        program: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The sandbox could not be set up.
    #[error("can't set up the sandbox: {step}: {reason}")]
    Setup {
        /// What was being done.
        step: String,
        /// What the kernel answered.
        reason: String,
    },
    /// The launcher has ended; nothing can be started any more.
    #[error("the sandbox's launcher has ended")]
    Stopped,
}

impl Error {
    /// A set-up failure in the daemon's half.
    pub(crate) fn setup(step: &str, error: impl std::fmt::Display) -> Self {
        Self::Setup { step: step.to_owned(), reason: error.to_string() }
    }
}
