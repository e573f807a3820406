//! Our accounts on platforms, as an agent's owner sees them. The front has them.

use crate::adapter::Outbound;
use crate::pacing::Pacing;
use crate::tenant::Tenant;
use insula_domain::{AccountId, Platform};
use std::collections::HashSet;
use std::sync::Arc;

/// What owners ask of the accounts.
pub trait Accounts: Send + Sync {
    /// An account, while it can be asked for anything.
    fn outbound(&self, platform: Platform, account: &AccountId) -> Option<Arc<dyn Outbound>>;

    /// How fast each may send.
    fn pacing(&self) -> &Arc<Pacing>;

    /// What to do about a message of this account's that may have arrived, where the platform
    /// can't tell.
    fn on_uncertain(&self, platform: Platform, account: &AccountId) -> OnUncertain {
        let (_, _) = (platform, account);
        OnUncertain::default()
    }

    /// How an account's chats see that something is being worked on; `None` where nothing is said
    /// about that.
    fn shows_work(&self, platform: Platform, account: &AccountId) -> Option<ShowsWork> {
        let (_, _) = (platform, account);
        None
    }

    /// Has every account let go of what it keeps of conversations of anybody else than these.
    fn keep_only(&self, tenants: &HashSet<Tenant>) {
        let _ = tenants;
    }
}

/// How chats see that something is being worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShowsWork {
    /// By the sign of writing.
    pub by_typing: bool,
    /// By a reaction to what was said.
    pub by_reaction: bool,
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
