//! The store of the state machine: each thing it keeps under a name of its own, each change whole.
//!
//! | name | what |
//! | --- | --- |
//! | `account`, `identity` | our device's keys, our cross-signing keys |
//! | `olm/<their key>/<session>` | sessions with other devices |
//! | `room-key/<room>/<session>` | keys that were given to us; `of/<their key>/<session>` names them |
//! | `backed-up/<room>/<session>` | in which version of the server's backup such a key is |
//! | `own-key/<room>` | the key we write with |
//! | `device/<user>/<device>`, `person/<user>`, `tracked/<user>` | what we know of others |
//! | `seen/<their key>/<hash>` | messages between devices that were taken |
//! | the rest | as the methods say |

use super::backup::Unsaved;
use super::kept::{Kept, joined};
use async_trait::async_trait;
use matrix_sdk_common::cross_process_lock::{
    CrossProcessLockGeneration, FIRST_CROSS_PROCESS_LOCK_GENERATION,
};
use matrix_sdk_crypto::olm::{
    Curve25519PublicKey, InboundGroupSession, OlmMessageHash, OutboundGroupSession, PickledAccount,
    PickledInboundGroupSession, PickledSession, PrivateCrossSigningIdentity, SenderDataType,
};
use matrix_sdk_crypto::store::CryptoStore;
use matrix_sdk_crypto::store::types::{
    BackupKeys, Changes, DehydratedDeviceKey, PendingChanges, RoomKeyCounts, RoomKeyWithheldEntry,
    RoomPendingKeyBundleDetails, RoomSettings, StoredRoomKeyBundleData, TrackedUser,
};
use matrix_sdk_crypto::{
    Account, CryptoStoreError, DeviceData, GossipRequest, SecretInfo, Session, UserIdentityData,
};
use ruma::events::secret::request::SecretName;
use ruma::{DeviceId, OwnedDeviceId, OwnedUserId, RoomId, TransactionId, UserId};
use serde::de::IgnoredAny;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use zeroize::Zeroizing;

type Result<T, E = CryptoStoreError> = std::result::Result<T, E>;

/// The keys of one device of ours.
#[derive(Debug)]
pub(super) struct KeyStore {
    pub(super) kept: Arc<Kept>,
    user: OwnedUserId,
    device: OwnedDeviceId,
    unsaved: Arc<Unsaved>,
}

impl KeyStore {
    pub(super) fn new(
        kept: Arc<Kept>,
        (user, device): (OwnedUserId, OwnedDeviceId),
        unsaved: Arc<Unsaved>,
    ) -> Self {
        Self { kept, user, device, unsaved }
    }

    async fn room_keys(&self, parts: &[&str]) -> Result<Vec<InboundGroupSession>> {
        let pickles: Vec<PickledInboundGroupSession> = self.kept.all(parts).await?;
        pickles.into_iter().map(|it| Ok(InboundGroupSession::from_pickle(it)?)).collect()
    }

    /// Finds out which keys are not in this version of the backup.
    async fn find_unsaved(&self, version: &str) -> Result<()> {
        let saved: Vec<(Box<str>, String)> = self.kept.names(&["backed-up"]).await?;
        let saved = saved.into_iter().filter(|(_, it)| it == version).map(|(name, _)| name);
        let saved: HashSet<Box<str>> = saved.collect();
        let all: Vec<(Box<str>, IgnoredAny)> = self.kept.names(&["room-key"]).await?;
        self.unsaved.found(all.into_iter().map(|(name, _)| name).filter(|it| !saved.contains(it)));
        Ok(())
    }

    /// Notes keys that were kept.
    fn note(&self, keys: impl Iterator<Item = (Box<str>, bool)>) {
        for (name, is_saved) in keys {
            if is_saved { self.unsaved.done(&name) } else { self.unsaved.came(name) }
        }
    }

    async fn asked(&self) -> Result<Vec<GossipRequest>> {
        self.kept.all(&["asked"]).await
    }
}

#[async_trait]
impl CryptoStore for KeyStore {
    type Error = CryptoStoreError;

    async fn load_account(&self) -> Result<Option<Account>> {
        let pickle: Option<PickledAccount> = self.kept.get(&["account"]).await?;
        pickle.map(|pickle| Ok(Account::from_pickle(pickle)?)).transpose()
    }

    async fn load_identity(&self) -> Result<Option<PrivateCrossSigningIdentity>> {
        let pickle = self.kept.get(&["identity"]).await?;
        let open = |pickle| {
            let opened = PrivateCrossSigningIdentity::from_pickle(pickle);
            opened.map_err(|_| CryptoStoreError::UnpicklingError)
        };
        pickle.map(open).transpose()
    }

    async fn save_changes(&self, changes: Changes) -> Result<()> {
        let keys = changes.inbound_group_sessions.iter();
        let keys: Vec<_> = keys.map(|key| (name_of(key), key.backed_up())).collect();
        let _turn = match keys.is_empty() {
            true => None,
            false => Some(self.unsaved.writing.lock().await),
        };
        let mut batch = self.kept.batch();
        super::changes::put(&mut batch, changes).await?;
        batch.write().await?;
        self.note(keys.into_iter());
        Ok(())
    }

    async fn save_pending_changes(&self, changes: PendingChanges) -> Result<()> {
        let Some(account) = changes.account else { return Ok(()) };
        let mut batch = self.kept.batch();
        batch.put(&["account"], &account.pickle())?;
        batch.write().await
    }

    async fn save_inbound_group_sessions(
        &self,
        sessions: Vec<InboundGroupSession>,
        backed_up_to_version: Option<&str>,
    ) -> Result<()> {
        let _turn = self.unsaved.writing.lock().await;
        let mut batch = self.kept.batch();
        for session in &sessions {
            super::changes::put_room_key(&mut batch, session).await?;
            if let Some(version) = backed_up_to_version {
                let parts = ["backed-up", session.room_id().as_str(), session.session_id()];
                batch.put(&parts, version)?;
            }
        }
        batch.write().await?;
        let is_saved = backed_up_to_version.is_some();
        self.note(sessions.iter().map(|key| (name_of(key), is_saved)));
        Ok(())
    }

    async fn get_sessions(&self, sender_key: &str) -> Result<Option<Vec<Session>>> {
        let pickles: Vec<PickledSession> = self.kept.all(&["olm", sender_key]).await?;
        if pickles.is_empty() {
            return Ok(None);
        }
        let ours = self.get_own_device().await?.as_device_keys().clone();
        let open = |pickle| {
            let opened = Session::from_pickle(ours.clone(), pickle);
            opened.map_err(|_| CryptoStoreError::UnpicklingError)
        };
        pickles.into_iter().map(open).collect::<Result<_>>().map(Some)
    }

    async fn get_inbound_group_session(
        &self,
        room_id: &RoomId,
        session_id: &str,
    ) -> Result<Option<InboundGroupSession>> {
        let pickle = self.kept.get(&["room-key", room_id.as_str(), session_id]).await?;
        pickle.map(|pickle| Ok(InboundGroupSession::from_pickle(pickle)?)).transpose()
    }

    async fn get_withheld_info(
        &self,
        room_id: &RoomId,
        session_id: &str,
    ) -> Result<Option<RoomKeyWithheldEntry>> {
        self.kept.get(&["withheld", room_id.as_str(), session_id]).await
    }

    async fn get_withheld_sessions_by_room_id(
        &self,
        room_id: &RoomId,
    ) -> Result<Vec<RoomKeyWithheldEntry>> {
        self.kept.all(&["withheld", room_id.as_str()]).await
    }

    async fn get_inbound_group_sessions(&self) -> Result<Vec<InboundGroupSession>> {
        self.room_keys(&["room-key"]).await
    }

    async fn inbound_group_session_counts(
        &self,
        backup_version: Option<&str>,
    ) -> Result<RoomKeyCounts> {
        let total = self.get_inbound_group_sessions().await?.len();
        let versions: Vec<String> = self.kept.all(&["backed-up"]).await?;
        let is_there = |it: &&String| Some(it.as_str()) == backup_version;
        Ok(RoomKeyCounts { total, backed_up: versions.iter().filter(is_there).count() })
    }

    async fn get_inbound_group_sessions_by_room_id(
        &self,
        room_id: &RoomId,
    ) -> Result<Vec<InboundGroupSession>> {
        self.room_keys(&["room-key", room_id.as_str()]).await
    }

    async fn get_inbound_group_sessions_for_device_batch(
        &self,
        curve_key: Curve25519PublicKey,
        sender_data_type: SenderDataType,
        after_session_id: Option<String>,
        limit: usize,
    ) -> Result<Vec<InboundGroupSession>> {
        // Each stands for one key, by its room and its session: those of a device are few.
        let named: Vec<(String, String)> = self.kept.all(&["of", &curve_key.to_base64()]).await?;
        let mut named: Vec<_> =
            named.into_iter().filter(|(_, id)| after_session_id.as_ref() < Some(id)).collect();
        named.sort_by(|one, other| one.1.cmp(&other.1));
        let mut keys = vec![];
        for (room, session) in named {
            let pickle = self.kept.get(&["room-key", &room, &session]).await?;
            let Some(pickle) = pickle else { continue };
            let key = InboundGroupSession::from_pickle(pickle)?;
            if keys.len() < limit && key.sender_data_type() == sender_data_type {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    async fn inbound_group_sessions_for_backup(
        &self,
        backup_version: &str,
        limit: usize,
    ) -> Result<Vec<InboundGroupSession>> {
        if self.unsaved.begins(backup_version) {
            let found = self.find_unsaved(backup_version).await;
            found.inspect_err(|_| self.unsaved.forget())?;
        }
        let mut left = vec![];
        for name in self.unsaved.some(limit) {
            match self.kept.below(&["room-key"], &name).await? {
                Some(pickle) => left.push(InboundGroupSession::from_pickle(pickle)?),
                None => self.unsaved.done(&name),
            }
        }
        Ok(left)
    }

    async fn mark_inbound_group_sessions_as_backed_up(
        &self,
        backup_version: &str,
        room_and_session_ids: &[(&RoomId, &str)],
    ) -> Result<()> {
        // What came in between must not be put back to what it was.
        let _turn = self.unsaved.writing.lock().await;
        let mut batch = self.kept.batch();
        for (room, session) in room_and_session_ids {
            let Some(key) = self.get_inbound_group_session(room, session).await? else { continue };
            key.mark_as_backed_up();
            super::changes::put_room_key(&mut batch, &key).await?;
            batch.put(&["backed-up", room.as_str(), session], backup_version)?;
        }
        batch.write().await?;
        for (room, session) in room_and_session_ids {
            self.unsaved.done(&joined(&[room.as_str(), session]));
        }
        Ok(())
    }

    /// Nothing to do: which backup a key is in is kept with it.
    async fn reset_backup_state(&self) -> Result<()> {
        Ok(())
    }

    async fn load_backup_keys(&self) -> Result<BackupKeys> {
        Ok(BackupKeys {
            decryption_key: self.kept.get(&["backup-key"]).await?,
            backup_version: self.kept.get(&["backup-version"]).await?,
        })
    }

    async fn load_dehydrated_device_pickle_key(&self) -> Result<Option<DehydratedDeviceKey>> {
        self.kept.get(&["dehydrated"]).await
    }

    async fn delete_dehydrated_device_pickle_key(&self) -> Result<()> {
        let mut batch = self.kept.batch();
        batch.drop(&["dehydrated"]);
        batch.write().await
    }

    async fn get_outbound_group_session(
        &self,
        room_id: &RoomId,
    ) -> Result<Option<OutboundGroupSession>> {
        let Some(pickle) = self.kept.get(&["own-key", room_id.as_str()]).await? else {
            return Ok(None);
        };
        let account = self.load_account().await?.ok_or(CryptoStoreError::AccountUnset)?;
        let keys = Arc::new(account.identity_keys());
        OutboundGroupSession::from_pickle(self.device.clone(), keys, pickle)
            .map(Some)
            .map_err(Into::into)
    }

    async fn load_tracked_users(&self) -> Result<Vec<TrackedUser>> {
        self.kept.all(&["tracked"]).await
    }

    async fn save_tracked_users(&self, users: &[(&UserId, bool)]) -> Result<()> {
        let mut batch = self.kept.batch();
        for (user, dirty) in users {
            let tracked = TrackedUser { user_id: (*user).to_owned(), dirty: *dirty };
            batch.put(&["tracked", user.as_str()], &tracked)?;
        }
        batch.write().await
    }

    async fn get_device(&self, user: &UserId, device: &DeviceId) -> Result<Option<DeviceData>> {
        self.kept.get(&["device", user.as_str(), device.as_str()]).await
    }

    async fn get_user_devices(&self, user: &UserId) -> Result<HashMap<OwnedDeviceId, DeviceData>> {
        let devices: Vec<DeviceData> = self.kept.all(&["device", user.as_str()]).await?;
        Ok(devices.into_iter().map(|device| (device.device_id().to_owned(), device)).collect())
    }

    async fn get_own_device(&self) -> Result<DeviceData> {
        let ours = self.get_device(&self.user, &self.device).await?;
        ours.ok_or(CryptoStoreError::AccountUnset)
    }

    async fn get_user_identity(&self, user: &UserId) -> Result<Option<UserIdentityData>> {
        self.kept.get(&["person", user.as_str()]).await
    }

    async fn is_message_known(&self, hash: &OlmMessageHash) -> Result<bool> {
        self.kept.has(&["seen", &hash.sender_key, &hash.hash]).await
    }

    async fn get_outgoing_secret_requests(
        &self,
        request_id: &TransactionId,
    ) -> Result<Option<GossipRequest>> {
        self.kept.get(&["asked", request_id.as_str()]).await
    }

    async fn get_secret_request_by_info(
        &self,
        secret_info: &SecretInfo,
    ) -> Result<Option<GossipRequest>> {
        Ok(self.asked().await?.into_iter().find(|it| it.info == *secret_info))
    }

    async fn get_unsent_secret_requests(&self) -> Result<Vec<GossipRequest>> {
        Ok(self.asked().await?.into_iter().filter(|it| !it.sent_out).collect())
    }

    async fn delete_outgoing_secret_requests(&self, request_id: &TransactionId) -> Result<()> {
        let mut batch = self.kept.batch();
        batch.drop(&["asked", request_id.as_str()]);
        batch.write().await
    }

    async fn get_secrets_from_inbox(&self, name: &SecretName) -> Result<Vec<Zeroizing<String>>> {
        let secrets: Vec<String> = self.kept.all(&["secret", name.as_str()]).await?;
        Ok(secrets.into_iter().map(Zeroizing::new).collect())
    }

    async fn delete_secrets_from_inbox(&self, name: &SecretName) -> Result<()> {
        let named: Vec<(_, String)> = self.kept.named(&["secret", name.as_str()]).await?;
        let mut batch = self.kept.batch();
        named.into_iter().for_each(|(name, _)| batch.drop_named(name));
        batch.write().await
    }

    async fn get_room_settings(&self, room_id: &RoomId) -> Result<Option<RoomSettings>> {
        self.kept.get(&["settings", room_id.as_str()]).await
    }

    async fn get_received_room_key_bundle_data(
        &self,
        room_id: &RoomId,
        user_id: &UserId,
    ) -> Result<Option<StoredRoomKeyBundleData>> {
        self.kept.get(&["bundle", room_id.as_str(), user_id.as_str()]).await
    }

    async fn get_pending_key_bundle_details_for_room(
        &self,
        room_id: &RoomId,
    ) -> Result<Option<RoomPendingKeyBundleDetails>> {
        self.kept.get(&["joining", room_id.as_str()]).await
    }

    async fn get_all_rooms_pending_key_bundles(&self) -> Result<Vec<RoomPendingKeyBundleDetails>> {
        self.kept.all(&["joining"]).await
    }

    async fn has_downloaded_all_room_keys(&self, room_id: &RoomId) -> Result<bool> {
        self.kept.has(&["downloaded", room_id.as_str()]).await
    }

    async fn get_custom_value(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.kept.get(&["custom", key]).await
    }

    async fn set_custom_value(&self, key: &str, value: Vec<u8>) -> Result<()> {
        let mut batch = self.kept.batch();
        batch.put(&["custom", key], &value)?;
        batch.write().await
    }

    async fn remove_custom_value(&self, key: &str) -> Result<()> {
        let mut batch = self.kept.batch();
        batch.drop(&["custom", key]);
        batch.write().await
    }

    /// The account has one owner at a time: its lease sees to that.
    async fn try_take_leased_lock(
        &self,
        _: u32,
        _: &str,
        _: &str,
    ) -> Result<Option<CrossProcessLockGeneration>> {
        Ok(Some(FIRST_CROSS_PROCESS_LOCK_GENERATION))
    }

    async fn next_batch_token(&self) -> Result<Option<String>> {
        self.kept.get(&["next"]).await
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }

    async fn reopen(&self) -> Result<()> {
        Ok(())
    }

    async fn get_size(&self) -> Result<Option<usize>> {
        Ok(None)
    }
}

/// Under which name a key of a room is kept, below those of all of them.
fn name_of(key: &InboundGroupSession) -> Box<str> {
    joined(&[key.room_id().as_str(), key.session_id()]).into()
}
