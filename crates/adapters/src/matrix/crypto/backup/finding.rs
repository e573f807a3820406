//! What a recovery key opens: the homeserver's backup itself, or the account's secret storage, in
//! which the backup's key is. Clients show people the second kind; both look the same.

use crate::matrix::api::{Homeserver, Trouble, segment};
use insula_wire::Method;
use matrix_sdk_crypto::secret_storage::{AesHmacSha2EncryptedData, SecretStorageKey};
use matrix_sdk_crypto::store::types::BackupDecryptionKey;
use matrix_sdk_crypto::types::RoomKeyBackupInfo;
use ruma::events::EventContentFromType as _;
use ruma::events::secret::request::SecretName;
use ruma::events::secret_storage::key::SecretStorageKeyEventContent;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

/// What a recovery key leads to.
pub(in crate::matrix) enum Found {
    /// The server's backup.
    Ours(Opened),
    /// The server has none; one can be made with this.
    None(Fresh),
    /// Nothing that can be used.
    Unusable { why: Box<str> },
}

/// A backup and what opens it.
pub(in crate::matrix) struct Opened {
    pub(super) key: BackupDecryptionKey,
    pub(in crate::matrix) version: Box<str>,
    /// How many keys are in it, where the server tells.
    pub(in crate::matrix) count: Option<u64>,
}

/// The key of a backup that is to be made.
pub(in crate::matrix) struct Fresh {
    pub(super) key: BackupDecryptionKey,
    /// Where it is to be put for people to find it, if they look there.
    storage: Option<Box<SecretStorageKey>>,
}

impl Fresh {
    /// Puts the key into the account's secret storage, where that is where it belongs.
    pub(super) async fn store(&self, server: &Homeserver, user: &str) -> Result<(), Trouble> {
        let Some(storage) = &self.storage else { return Ok(()) };
        let key = Zeroizing::new(self.key.to_base64());
        let sealed = storage.encrypt(key.as_bytes().to_vec(), &SecretName::RecoveryKey);
        let content = json!({ "encrypted": { storage.key_id(): sealed } });
        server.send(Method::PUT, &data_path(user, BACKUP), &content).await.map(drop)
    }
}

/// The backup that a server has now.
struct Current {
    version: Box<str>,
    count: Option<u64>,
    /// Of which kind it is and under which key; nothing when that makes no sense.
    info: Option<RoomKeyBackupInfo>,
}

/// The account's secret storage.
enum Storage {
    /// It has none.
    None,
    /// The recovery key does not open it.
    Closed,
    /// It is open; the backup's key is in it, or none is.
    Open(Box<SecretStorageKey>, Option<BackupDecryptionKey>),
}

/// The secret that is a backup's key, and the account data it is in.
const BACKUP: &str = "m.megolm_backup.v1";

/// Looks at the server's backup and at what opens it. Changes nothing.
pub(in crate::matrix) async fn find(
    server: &Homeserver,
    user: &str,
    recovery_key: &SecretString,
) -> Result<Found, Trouble> {
    let Ok(own) = BackupDecryptionKey::from_base58(recovery_key.expose_secret()) else {
        let why = "`recovery_key` is no recovery key: that is the one clients show in groups of \
                   four, not a passphrase";
        return Ok(Found::Unusable { why: why.into() });
    };
    let current = match current(server).await {
        Err(Trouble::No { why, .. }) => {
            let why = format!("the homeserver gives no backup of keys: {why}").into();
            return Ok(Found::Unusable { why });
        }
        current => current?,
    };
    let storage = storage(server, user, recovery_key).await?;
    Ok(decide(current, storage, own))
}

fn decide(current: Option<Current>, storage: Storage, own: BackupDecryptionKey) -> Found {
    let Some(Current { version, count, info }) = current else {
        return match storage {
            Storage::None => Found::None(Fresh { key: own, storage: None }),
            Storage::Open(_, Some(key)) => Found::None(Fresh { key, storage: None }),
            Storage::Open(storage, None) => {
                let key = BackupDecryptionKey::new();
                Found::None(Fresh { key, storage: Some(storage) })
            }
            // Most likely mistaken; a backup under it would be found by nobody else.
            Storage::Closed => {
                unusable("`recovery_key` does not open the account's secret storage")
            }
        };
    };
    let Some(info @ RoomKeyBackupInfo::MegolmBackupV1Curve25519AesSha2(_)) = info else {
        return unusable("the homeserver's backup of keys is of a kind that is not known here");
    };
    let stored = match storage {
        Storage::Open(_, key) => key,
        Storage::None | Storage::Closed => None,
    };
    let mut keys = stored.into_iter().chain([own]);
    match keys.find(|key| key.backup_key_matches(&info)) {
        Some(key) => Found::Ours(Opened { key, version, count }),
        None => unusable("the homeserver's backup of keys is not one that `recovery_key` opens"),
    }
}

fn unusable(why: &str) -> Found {
    Found::Unusable { why: why.into() }
}

/// The backup that the server has now, if it has one.
async fn current(server: &Homeserver) -> Result<Option<Current>, Trouble> {
    let asked = server.get("/client/v3/room_keys/version", &CancellationToken::new()).await;
    let reply = match asked {
        Err(Trouble::No { status: 404, code, .. }) if code == "M_NOT_FOUND" => return Ok(None),
        reply => reply?,
    };
    let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let version = answer.get("version").and_then(Value::as_str);
    let version = version.ok_or_else(|| Trouble::garbage("a backup without a version"))?.into();
    let count = answer.get("count").and_then(Value::as_u64);
    Ok(Some(Current { version, count, info: serde_json::from_value(answer).ok() }))
}

/// Opens the account's secret storage, and takes the backup's key out of it.
async fn storage(
    server: &Homeserver,
    user: &str,
    recovery_key: &SecretString,
) -> Result<Storage, Trouble> {
    let default = account_data(server, user, "m.secret_storage.default_key").await?;
    let id = default.as_ref().and_then(|it| it.get("key")).and_then(Value::as_str);
    let Some(id) = id else { return Ok(Storage::None) };
    let kind = format!("m.secret_storage.key.{id}");
    let Some(mut about) = account_data(server, user, &kind).await? else {
        return Ok(Storage::None);
    };
    // A passphrase is not taken: how long it is to be worked on is the server's word.
    about.as_object_mut().map(|about| about.remove("passphrase"));
    let open = || {
        let content = to_raw_value(&about).ok()?;
        let content = SecretStorageKeyEventContent::from_parts(&kind, &content).ok()?;
        let key = SecretStorageKey::from_account_data(recovery_key.expose_secret(), content);
        key.ok().map(Box::new)
    };
    let Some(key) = open() else { return Ok(Storage::Closed) };
    let secret = account_data(server, user, BACKUP).await?;
    let Some(sealed) = secret.as_ref().and_then(|it| it.get("encrypted")?.get(id)) else {
        return Ok(Storage::Open(key, None));
    };
    // A storage that does not say how its key is recognised opens here or not at all.
    Ok(match unsealed(&key, sealed) {
        Some(backup) => Storage::Open(key, Some(backup)),
        None => Storage::Closed,
    })
}

fn unsealed(storage: &SecretStorageKey, sealed: &Value) -> Option<BackupDecryptionKey> {
    let sealed: AesHmacSha2EncryptedData = serde_json::from_value(sealed.clone()).ok()?;
    let plain = Zeroizing::new(storage.decrypt(&sealed, &SecretName::RecoveryKey).ok()?);
    BackupDecryptionKey::from_base64(std::str::from_utf8(&plain).ok()?.trim()).ok()
}

fn data_path(user: &str, kind: &str) -> String {
    format!("/client/v3/user/{}/account_data/{}", segment(user), segment(kind))
}

async fn account_data(
    server: &Homeserver,
    user: &str,
    kind: &str,
) -> Result<Option<Value>, Trouble> {
    match server.get(&data_path(user, kind), &CancellationToken::new()).await {
        Ok(reply) => Ok(serde_json::from_slice(&reply.body).ok()),
        Err(trouble) if trouble.is_no() => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

#[cfg(test)]
#[path = "finding_tests.rs"]
mod tests;
