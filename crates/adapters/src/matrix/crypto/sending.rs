//! Encrypting what we say: for everybody who is in the room, under a key that all their devices
//! were given first.

use super::requests::raw_of;
use super::{Crypto, Snag};
use crate::matrix::api::{Homeserver, Trouble, segment};
use crate::matrix::wire::Members;
use insula_wire::WireFault;
use matrix_sdk_crypto::store::types::RoomSettings;
use matrix_sdk_crypto::types::EventEncryptionAlgorithm;
use matrix_sdk_crypto::types::requests::ToDeviceRequest;
use matrix_sdk_crypto::{CryptoStoreError, EncryptionSettings, OlmError, OlmMachine};
use ruma::api::client::keys::claim_keys::v3::Request as KeysClaimRequest;
use ruma::{OwnedTransactionId, OwnedUserId, RoomId, UserId};
use serde_json::Value;
use serde_json::value::to_raw_value;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// What the machine does for several people, as one future whatever list they come from.
type Doing<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

fn track<'a>(machine: &'a OlmMachine, users: &'a [OwnedUserId]) -> Doing<'a, (), CryptoStoreError> {
    Box::pin(async move { machine.update_tracked_users(users.iter().map(Deref::deref)).await })
}

fn missing<'a>(
    machine: &'a OlmMachine,
    users: &'a [OwnedUserId],
) -> Doing<'a, Option<(OwnedTransactionId, KeysClaimRequest)>, CryptoStoreError> {
    Box::pin(async move { machine.get_missing_sessions(users.iter().map(Deref::deref)).await })
}

fn share<'a>(
    machine: &'a OlmMachine,
    (room, users): (&'a RoomId, &'a [OwnedUserId]),
    how: EncryptionSettings,
) -> Doing<'a, Vec<Arc<ToDeviceRequest>>, OlmError> {
    Box::pin(async move { machine.share_room_key(room, users.iter().map(Deref::deref), how).await })
}

impl Crypto {
    /// How a room is encrypted, as it was first heard: nobody turns that off again.
    pub(in crate::matrix) async fn settings_of(
        &self,
        room: &str,
    ) -> Result<Option<RoomSettings>, Snag> {
        let Ok(room) = RoomId::parse(room) else { return Ok(None) };
        Ok(self.machine.room_settings(&room).await?)
    }

    /// Keeps how a room is encrypted, by the content of its `m.room.encryption`.
    pub(in crate::matrix) async fn learn_settings(
        &self,
        room: &str,
        content: &Value,
    ) -> Result<(), Snag> {
        let Ok(room) = RoomId::parse(room) else { return Ok(()) };
        let mut batch = self.kept.batch();
        let known: Option<RoomSettings> = self.machine.room_settings(&room).await?;
        if known.is_some() {
            return Ok(());
        }
        let number = |key: &str| content.get(key).and_then(Value::as_u64);
        let algorithm = content.get("algorithm").and_then(Value::as_str).unwrap_or_default();
        let messages = number("rotation_period_msgs").and_then(|it| usize::try_from(it).ok());
        let settings = RoomSettings {
            algorithm: EventEncryptionAlgorithm::from(algorithm),
            session_rotation_period: number("rotation_period_ms").map(Duration::from_millis),
            session_rotation_period_messages: messages,
            ..RoomSettings::default()
        };
        // Also of a kind that we don't know: then nothing is said there.
        batch.put(&["settings", room.as_str()], &settings)?;
        Ok(batch.write().await?)
    }

    /// The content of an `m.room.encrypted` that has this in it.
    pub(in crate::matrix) async fn encrypt(
        &self,
        server: &Homeserver,
        (room, settings): (&str, &RoomSettings),
        (kind, content): (&str, &Value),
    ) -> Result<Value, Snag> {
        if settings.algorithm != EventEncryptionAlgorithm::MegolmV1AesSha2 {
            return Err(Snag::Never(
                "the room is encrypted in a way that is not known here".into(),
            ));
        }
        let room_id = RoomId::parse(room).map_err(|_| Snag::Never("no id of a room".into()))?;
        let _turn = self.handing_out.lock().await;
        let members = self.members(server, room).await?;
        track(&self.machine, &members).await?;
        self.settle(server).await?;
        if let Some((id, claim)) = missing(&self.machine, &members).await? {
            self.claim(server, &id, &claim).await?;
        }
        let mut how = EncryptionSettings::default();
        if let Some(period) = settings.session_rotation_period {
            how.rotation_period = period;
        }
        if let Some(messages) = settings.session_rotation_period_messages {
            how.rotation_period_msgs = messages as u64;
        }
        for request in share(&self.machine, (&room_id, &members), how).await? {
            self.tell(server, &request).await?;
        }
        let raw = to_raw_value(content).map_err(|_| Snag::keys("a message can't be written"))?;
        let sealed = self.machine.encrypt_room_event_raw(&room_id, kind, &raw_of(raw)).await?;
        serde_json::from_str(sealed.content.json().get())
            .map_err(|_| Snag::keys("what was encrypted is no content"))
    }

    /// Who is in a room.
    async fn members(&self, server: &Homeserver, room: &str) -> Result<Arc<[OwnedUserId]>, Snag> {
        if let Some(members) = self.state().members.get(room) {
            return Ok(members.clone());
        }
        let path = format!("/client/v3/rooms/{}/joined_members", segment(room));
        let reply = match server.get_much(&path).await {
            Err(Trouble::Wire(WireFault::TooMuch { .. })) => {
                let why = "the room has more members than a message can be encrypted for";
                return Err(Snag::Never(why.into()));
            }
            reply => reply?,
        };
        let members: Members = serde_json::from_slice(&reply.body)
            .map_err(|_| Trouble::garbage("a list of members that can't be read"))?;
        let ids = members.joined.into_keys().filter_map(|user| UserId::parse(user).ok());
        let members: Arc<[OwnedUserId]> = ids.collect();
        self.state().members.insert(room.into(), members.clone());
        Ok(members)
    }
}
