//! Why something about keys did not work. No variant has room for a key.

use crate::matrix::api::Trouble;
use insula_channel::{ConnectFault, PostError, WaitScope};
use matrix_sdk_crypto::{CryptoStoreError, MegolmError, OlmError};

/// Why something about keys did not work.
#[derive(Debug)]
pub(in crate::matrix) enum Snag {
    /// Keys can't be read, written or used.
    Keys(String),
    /// The server did not do its part.
    Server(Trouble),
    /// It can't be done, now or later.
    Never(String),
}

impl Snag {
    pub(super) fn keys(why: &str) -> Self {
        Self::Keys(why.to_owned())
    }

    /// What it means for the connection.
    pub(in crate::matrix) fn into_fault(self) -> ConnectFault {
        match self {
            Self::Server(trouble) => trouble.into_fault(),
            Self::Keys(why) | Self::Never(why) => {
                ConnectFault::Broken { why: format!("encryption: {why}").into(), wait: None }
            }
        }
    }

    /// What it means for a message of ours. Nothing was sent yet.
    pub(in crate::matrix) fn into_post_error(self) -> PostError {
        match self {
            Self::Never(why) => PostError::Never { why: why.into() },
            Self::Keys(why) => later(format!("encryption: {why}").into()),
            Self::Server(trouble) => match trouble.into_post_error() {
                // What was refused or lost was not the message, which stays with us.
                PostError::Uncertain { why } | PostError::Never { why } => later(why),
                error => error,
            },
        }
    }
}

fn later(why: Box<str>) -> PostError {
    PostError::Later { why, wait: None, reach: WaitScope::Account }
}

impl From<Trouble> for Snag {
    fn from(trouble: Trouble) -> Self {
        Self::Server(trouble)
    }
}

impl From<CryptoStoreError> for Snag {
    fn from(error: CryptoStoreError) -> Self {
        // Some quote what they could not read.
        match error {
            CryptoStoreError::Io(error) => Self::Keys(error.to_string()),
            CryptoStoreError::MismatchedAccount { .. } => {
                Self::keys("the keys that are kept are another device's")
            }
            _ => Self::keys("the keys that are kept make no sense"),
        }
    }
}

impl From<OlmError> for Snag {
    fn from(error: OlmError) -> Self {
        match error {
            OlmError::Store(error) => error.into(),
            _ => Self::keys("the state of the keys makes no sense"),
        }
    }
}

impl From<MegolmError> for Snag {
    fn from(error: MegolmError) -> Self {
        match error {
            MegolmError::Store(error) => error.into(),
            _ => Self::keys("the message can't be encrypted"),
        }
    }
}
