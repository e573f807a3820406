//! What can go wrong between a request and the end of its answer, and how long to wait for it.

use std::time::Duration;

/// An exchange that failed before the server's own words could be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireFault {
    /// There was no connection: the request never left.
    #[error("can't be reached{}", said(why))]
    Unreachable {
        /// What the network said.
        why: String,
    },
    /// The connection broke before the answer began. The request may have arrived.
    #[error("the connection broke before an answer{}", said(why))]
    Lost {
        /// What the network said.
        why: String,
    },
    /// Nothing came for too long.
    #[error("timed out after {} s: {phase}", (waited.as_secs_f64() * 10.0).round() / 10.0)]
    TimedOut {
        /// What was waited for.
        phase: Phase,
        /// How long.
        waited: Duration,
    },
    /// What came back is not what the protocol allows.
    #[error("the answer is unreadable: {what}")]
    Garbage {
        /// What, in short.
        what: String,
    },
    /// The answer is longer than we take.
    #[error("the answer has more than {len_max} bytes")]
    TooMuch {
        /// What we take.
        len_max: usize,
    },
    /// The answer ended before its end.
    #[error("the answer broke off before its end")]
    CutOff,
    /// We stopped it.
    #[error("cancelled")]
    Cancelled,
}

/// What was waited for when time ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Phase {
    /// A connection, name resolution and TLS included.
    #[error("no connection to the server")]
    Connect,
    /// The beginning of the answer.
    #[error("the server accepted the request and did not begin to answer")]
    FirstByte,
    /// The next piece of an answer that had begun.
    #[error("the answer stalled")]
    Idle,
}

impl WireFault {
    /// Whether the server may have got the request, and may have acted on it. Only where it is
    /// certain that no byte left is this `false`.
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { phase: Phase::Connect, .. } => false,
            Self::Lost { .. }
            | Self::TimedOut { phase: Phase::FirstByte | Phase::Idle, .. }
            | Self::Garbage { .. }
            | Self::TooMuch { .. }
            | Self::CutOff
            | Self::Cancelled => true,
        }
    }
}

/// How long to wait for what. The length of a whole answer is not limited here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, name resolution and TLS included.
    pub connect: Duration,
    /// From the connection to the first byte of the answer, and on to the first of its body:
    /// a model reads the whole prompt before it says a word.
    pub first_byte: Duration,
    /// Between two pieces of an answer. Whatever the server sends counts, also a comment that
    /// only keeps the connection alive.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            // Local models read long prompts for minutes.
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
        }
    }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}
