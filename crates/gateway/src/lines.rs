//! The connections to platforms, as the rest of the gateway sees them.

use crate::adapter::Adapter;
use insula_domain::{AccountId, Platform};
use std::sync::Arc;

/// The adapters that are there now.
pub trait Lines: Send + Sync {
    /// The adapter of an account, while there is one.
    fn adapter(&self, platform: Platform, account: &AccountId) -> Option<Arc<dyn Adapter>>;

    /// What to do about a message of this account's that may have arrived, where the platform
    /// can't tell.
    fn on_uncertain(&self, platform: Platform, account: &AccountId) -> OnUncertain {
        let (_, _) = (platform, account);
        OnUncertain::default()
    }
}

/// What to do about a message that may have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnUncertain {
    /// Send it again, with a word that it may be a repetition.
    #[default]
    Resend,
    /// Leave it to an operator.
    Hold,
}

impl OnUncertain {
    /// Finds one by the name it has in the configuration.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "resend" => Some(Self::Resend),
            "hold" => Some(Self::Hold),
            _ => None,
        }
    }
}
