//! Who our accounts turned out to be. Platforms know somebody by several names, so two accounts of
//! the configuration may be one there, and would answer everything twice.

use insula_channel::{AccountSettings, BotIdentity};
use insula_domain::{AccountId, Platform};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Somebody on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Who {
    platform: Platform,
    /// Where the platform has several servers, which one: a copy of one knows the same people.
    server: Box<str>,
    id: Box<str>,
}

impl Who {
    pub(super) fn new(settings: &AccountSettings, identity: &BotIdentity) -> Self {
        let server = settings.get("base_url").or_else(|| settings.get("homeserver"));
        let server = server.unwrap_or_default().trim_end_matches('/').to_ascii_lowercase();
        Self { platform: settings.platform, server: server.into(), id: identity.id.clone() }
    }
}

/// The account that is somebody.
struct Claim {
    account: AccountId,
    /// Cancelled once its connection has ended: the claim is nobody's from then on.
    ended: CancellationToken,
    /// Cancelled when another account has it.
    lost: CancellationToken,
}

/// Another account is the same on the platform.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) by: AccountId,
    /// Cancelled once that one has ended.
    pub(super) ended: CancellationToken,
}

/// Which account is who.
#[derive(Default)]
pub(super) struct Claims(Mutex<HashMap<Who, Claim>>);

impl Claims {
    /// Says who an account is, until its connection has ended. Of two that are the same, the one
    /// whose name comes first has it, whichever asked first, so that each start ends alike. What is
    /// given is cancelled when that other one comes.
    pub(super) fn claim(
        &self,
        who: Who,
        account: &AccountId,
        ended: &CancellationToken,
    ) -> Result<CancellationToken, Taken> {
        let mut claims = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        claims.retain(|_, claim| !claim.ended.is_cancelled());
        if let Some(claim) = claims.get(&who) {
            if claim.account < *account {
                return Err(Taken { by: claim.account.clone(), ended: claim.ended.clone() });
            }
            claim.lost.cancel();
        }
        let lost = CancellationToken::new();
        let (account, ended) = (account.clone(), ended.clone());
        claims.insert(who, Claim { account, ended, lost: lost.clone() });
        Ok(lost)
    }
}
