//! The homeserver's backup of keys: ours go into it as they come, and a key that nobody gave us is
//! asked for there.
//!
//! It is used where the account has a recovery key. That key is never kept here: it is read from
//! the settings at each connection and proved against the backup, so that nothing is left of it
//! when the setting goes. Keys are encrypted to what the recovery key opens, and to no other key
//! that the server may name.
//!
//! **Who is believed.** Whoever runs the homeserver can put a key of their making into the backup,
//! as they can claim a device for anybody; a key that stands there under another's name is refused.

mod asking;
mod finding;
mod unsaved;

pub(in crate::matrix) use finding::{Found, find};
pub(super) use unsaved::Unsaved;

use super::{Crypto, Snag};
use crate::bounded::Bounded;
use crate::matrix::api::{Homeserver, Trouble, segment};
use finding::{Fresh, Opened};
use insula_wire::Method;
use matrix_sdk_crypto::store::types::BackupDecryptionKey;
use ruma::UInt;
use ruma::api::client::backup::add_backup_keys::v3::Response as AddedKeys;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::sync::Arc;

/// Keys that were asked for and are not asked for again while the connection lasts. More than may
/// wait, so that only who makes up thousands of names has one asked for twice.
const ASKED_MAX: usize = 4096;

/// How we stand to the backup.
#[derive(Clone)]
pub(in crate::matrix) enum Standing {
    /// There is no recovery key: nothing is done.
    Unused,
    /// It is yet to be looked for. What was in the way last, if anything was.
    Sought { why: Option<Box<str>> },
    /// It is used.
    Used(Arc<InUse>),
    /// It can't be used while this connection lasts.
    Refused { why: Box<str> },
}

/// The backup that is used.
pub(in crate::matrix) struct InUse {
    key: BackupDecryptionKey,
    pub(in crate::matrix) version: Box<str>,
}

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::matrix) enum Step {
    /// Something was done, and there may be more.
    Did,
    /// There is nothing to do.
    Idle,
    /// The backup is no longer what it was: it has to be looked for anew.
    Lost,
}

/// What is remembered of the backup while we listen.
pub(super) struct Backup {
    pub(super) standing: Standing,
    /// Why keys did not go there the last time, if they did not.
    trouble: Option<Box<str>>,
    /// Keys that were asked for: how often that failed, or that there is an answer.
    asked: Bounded<(Box<str>, Box<str>), asking::Asked>,
    /// The room whose key was asked for last: the next is another's, where others wait.
    last_room: Box<str>,
}

impl Default for Backup {
    fn default() -> Self {
        Self {
            standing: Standing::Unused,
            trouble: None,
            asked: Bounded::new(ASKED_MAX),
            last_room: Box::default(),
        }
    }
}

impl Crypto {
    pub(in crate::matrix) fn backup_standing(&self) -> Standing {
        self.state().backup.standing.clone()
    }

    pub(in crate::matrix) fn set_backup_standing(&self, standing: Standing) {
        self.state().backup.standing = standing;
    }

    /// How many keys are known not to be in the backup, and what is in the way, if anything is.
    pub(in crate::matrix) fn unsaved(&self) -> (usize, Option<Box<str>>) {
        (self.unsaved.count(), self.state().backup.trouble.clone())
    }

    /// Notes what keeps keys from going to the backup.
    pub(in crate::matrix) fn set_backup_trouble(&self, why: Option<Box<str>>) {
        self.state().backup.trouble = why;
    }

    /// Returns when there may be keys that are not in the backup.
    pub(in crate::matrix) async fn keys_came(&self) {
        self.unsaved.news.notified().await;
    }

    /// Looks for the backup that the recovery key opens, and makes one where there is none.
    pub(in crate::matrix) async fn open_backup(
        &self,
        server: &Homeserver,
        recovery_key: &SecretString,
    ) -> Result<Step, Snag> {
        let user = self.machine.user_id().as_str();
        let opened = match find(server, user, recovery_key).await? {
            Found::Ours(opened) => opened,
            Found::None(fresh) => match self.make_backup(server, fresh).await {
                Err(Snag::Server(Trouble::No { why, .. })) => {
                    let why = format!("the homeserver makes no backup of keys: {why}").into();
                    self.set_backup_standing(Standing::Refused { why });
                    return Ok(Step::Idle);
                }
                made => made?,
            },
            Found::Unusable { why } => {
                self.set_backup_standing(Standing::Refused { why });
                return Ok(Step::Idle);
            }
        };
        let machine = self.machine.backup_machine();
        // What was about to be sent was for the version before.
        machine.disable_backup().await?;
        let public = opened.key.megolm_v1_public_key();
        public.set_version(opened.version.to_string());
        machine.enable_backup_v1(public).await?;
        let Opened { key, version, .. } = opened;
        self.set_backup_standing(Standing::Used(Arc::new(InUse { key, version })));
        Ok(Step::Did)
    }

    async fn make_backup(&self, server: &Homeserver, fresh: Fresh) -> Result<Opened, Snag> {
        // Where people look for it first: a backup whose key is nowhere is none.
        fresh.store(server, self.machine.user_id().as_str()).await?;
        let mut info = fresh.key.to_backup_info();
        let signed = self.machine.backup_machine().sign_backup(&mut info).await;
        signed.map_err(|_| Snag::keys("the backup can't be signed"))?;
        let path = "/client/v3/room_keys/version";
        let reply = server.send(Method::POST, path, &json!(info)).await?;
        let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let version = answer.get("version").and_then(Value::as_str);
        let version = version.ok_or_else(|| Trouble::garbage("a backup without a version"))?.into();
        tracing::info!(
            device = self.device(),
            version,
            "a backup of keys was made on the homeserver"
        );
        Ok(Opened { key: fresh.key, version, count: None })
    }

    /// Puts a batch of keys that are not in the backup into it.
    pub(in crate::matrix) async fn back_up(&self, server: &Homeserver) -> Result<Step, Snag> {
        let Some((id, batch)) = self.machine.backup_machine().backup().await? else {
            return Ok(Step::Idle);
        };
        let path = format!("/client/v3/room_keys/keys?version={}", segment(&batch.version));
        let body = json!({ "rooms": batch.rooms });
        match server.send(Method::PUT, &path, &body).await {
            // It was removed, or there is a newer one.
            Err(Trouble::No { status: 403 | 404, code, .. })
                if code == "M_WRONG_ROOM_KEYS_VERSION" || code == "M_NOT_FOUND" =>
            {
                return Ok(Step::Lost);
            }
            reply => drop(reply?),
        }
        // What the answer counts is of no use here.
        let added = AddedKeys::new(String::new(), UInt::MIN);
        self.machine.mark_request_as_sent(&id, &added).await?;
        Ok(Step::Did)
    }
}
