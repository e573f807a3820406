//! Why a request did not do what it was to, and what that means for a message and for a connection:
//! one table for platforms whose refusals are of the same kinds. What a platform's answer is among
//! these, its own code reads.

use insula_channel::{ConnectFault, PostError, WaitScope};
use insula_wire::WireFault;
use std::time::Duration;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The server does not take our token.
    Token { why: String },
    /// We ask too often: what has to wait, and how long.
    Limited { wait: Option<Duration>, reach: WaitScope },
    /// The server understood and said no: asking again changes nothing.
    No { status: u16, why: String },
    /// The server says that it is in trouble, and did not do it.
    Ill { why: String, wait: Option<Duration> },
    /// Something else answers, and it is not known for what.
    Foreign { status: u16, why: String },
    /// The exchange failed below.
    Wire(WireFault),
}

impl Trouble {
    /// Our own request can't be made.
    pub(crate) fn no_address() -> Self {
        Self::No { status: 0, why: "an id that no address can hold".to_owned() }
    }

    /// Whether the server has no such thing, or does not show it to us.
    pub(crate) fn is_no(&self) -> bool {
        matches!(self, Self::No { .. })
    }

    /// Whether more came than may be taken.
    pub(crate) fn is_too_much(&self) -> bool {
        matches!(self, Self::Wire(WireFault::TooMuch { .. }))
    }

    fn words(&self) -> String {
        match self {
            Self::Token { why } | Self::Ill { why, .. } => why.clone(),
            Self::Limited { .. } => "the server is asked too often".to_owned(),
            Self::No { status: 0, why } => why.clone(),
            Self::No { status, why } => format!("the server refuses ({status}): {why}"),
            Self::Foreign { status, why } => format!("something answers {status}: {why}"),
            Self::Wire(fault) => fault.to_string(),
        }
    }

    /// What it means for the connection.
    pub(crate) fn into_fault(self) -> ConnectFault {
        let why = self.words().into();
        match self {
            Self::Token { .. } => ConnectFault::Refused(why),
            Self::Limited { wait, .. } | Self::Ill { wait, .. } => {
                ConnectFault::Broken { why, wait }
            }
            Self::No { .. } | Self::Foreign { .. } | Self::Wire(_) => {
                ConnectFault::Broken { why, wait: None }
            }
        }
    }

    /// What it means for a message.
    pub(crate) fn into_post_error(self) -> PostError {
        let why: Box<str> = self.words().into();
        let later = |why, wait| PostError::Later { why, wait, reach: WaitScope::Account };
        match self {
            Self::Token { .. } => PostError::Account { why },
            Self::Limited { wait, reach } => {
                PostError::Later { why, wait: wait.or(Some(Duration::from_secs(1))), reach }
            }
            Self::Ill { wait, .. } => later(why, wait),
            Self::No { .. } => PostError::Never { why },
            Self::Foreign { .. } => PostError::Uncertain { why },
            Self::Wire(fault) if fault.may_have_arrived() => PostError::Uncertain { why },
            Self::Wire(_) => later(why, None),
        }
    }

    /// The same for what can be repeated without harm.
    pub(crate) fn into_harmless(self) -> PostError {
        match self.into_post_error() {
            PostError::Uncertain { why } => {
                PostError::Later { why, wait: None, reach: WaitScope::Account }
            }
            other => other,
        }
    }
}
