//! Reading what came encrypted: the event that is in it, or what is missing for it.

use super::requests::raw_of;
use super::{Crypto, Snag, TRUST};
use crate::matrix::wire::Event;
use matrix_sdk_common::deserialized_responses::{VerificationLevel, VerificationState};
use matrix_sdk_crypto::MegolmError;
use matrix_sdk_crypto::vodozemac::megolm::{DecryptionError, MegolmMessage};
use ruma::RoomId;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

/// What may be said encrypted. What a server has to judge, as taking something back, is none of it.
const KINDS: [&str; 3] = ["m.room.message", "m.sticker", "m.reaction"];

/// What became of an event.
#[derive(Debug)]
pub(in crate::matrix) enum Opened {
    /// What is in it.
    Event(Box<Event>),
    /// Its key, of this name, is not there yet.
    Waits { key: String },
    /// It can't be read, now or later.
    No { why: &'static str },
}

impl Crypto {
    /// Reads an event of a room.
    pub(in crate::matrix) async fn read(&self, room: &str, event: &Event) -> Result<Opened, Snag> {
        let Ok(room_id) = RoomId::parse(room) else {
            return Ok(Opened::No { why: "its room has no id" });
        };
        let raw = to_raw_value(&sent(event));
        let raw = raw.map_err(|_| Snag::keys("an event can't be written down"))?;
        let read = self.machine.decrypt_room_event(&raw_of(raw), &room_id, &TRUST).await;
        let decrypted = match read {
            Ok(decrypted) => decrypted,
            Err(MegolmError::Store(error)) => return Err(error.into()),
            Err(
                MegolmError::MissingRoomKey(_)
                | MegolmError::Decryption(DecryptionError::UnknownMessageIndex(..)),
            ) => {
                return Ok(match event.text("session_id") {
                    Some(key) => Opened::Waits { key: key.to_owned() },
                    None => Opened::No { why: "it names no key" },
                });
            }
            Err(_) => return Ok(Opened::No { why: "it is damaged, or of an unknown kind" }),
        };
        let state = &decrypted.encryption_info.verification_state;
        if *state == VerificationState::Unverified(VerificationLevel::MismatchedSender) {
            return Ok(Opened::No { why: "its key is another's than who is said to have sent it" });
        }
        if !self.is_first(event) {
            return Ok(Opened::No { why: "it was sent before as another event" });
        }
        let mut inner: Value = serde_json::from_str(decrypted.event.json().get())
            .map_err(|_| Snag::keys("what was read is no event"))?;
        let kind = inner["type"].as_str().unwrap_or_default().to_owned();
        let mut content = inner["content"].take();
        if !KINDS.contains(&&*kind) || !content.is_object() {
            return Ok(Opened::No { why: "it is nothing that is said" });
        }
        self.seal_file(&mut content).await?;
        if let Some(new) = content.get_mut("m.new_content") {
            self.seal_file(new).await?;
        }
        // Who sent it and when is the server's word, as with every event.
        Ok(Opened::Event(Box::new(Event { kind, content, ..event.clone() })))
    }

    /// Whether this is the first event with this message: what was encrypted once is sent once.
    fn is_first(&self, event: &Event) -> bool {
        let (Some(id), Some(key)) = (&event.id, event.text("session_id")) else { return false };
        let message = event.text("ciphertext").and_then(|it| MegolmMessage::from_base64(it).ok());
        let Some(message) = message else { return false };
        let place = (Box::from(key), message.message_index());
        let mut state = self.state();
        if let Some(first) = state.read.get(&place) {
            return **first == **id;
        }
        state.read.insert(place, id.as_str().into());
        true
    }
}

/// An event as it was sent.
pub(super) fn sent(event: &Event) -> Value {
    json!({
        "type": event.kind,
        "event_id": event.id,
        "sender": event.sender,
        "origin_server_ts": event.at.map_or(0, |at| at.as_millis()),
        "content": event.content,
    })
}
