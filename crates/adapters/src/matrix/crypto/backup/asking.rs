//! Asking the backup for a key that something waits for: each once, one room after the other, so
//! that who makes up names of keys neither floods the server nor keeps others' waiting.

use super::{InUse, Standing, Step};
use crate::matrix::api::{Homeserver, Trouble, segment};
use crate::matrix::crypto::{Crypto, Snag, State};
use insula_wire::Reply;
use insula_world::Timestamp;
use matrix_sdk_crypto::olm::{BackedUpRoomKey, ExportedRoomKey};
use matrix_sdk_crypto::types::EventEncryptionAlgorithm;
use matrix_sdk_crypto::vodozemac::megolm::{InboundGroupSession, SessionConfig};
use ruma::RoomId;
use ruma::api::client::backup::KeyBackupData;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often a question about one key may fail before we go on without its answer: else one that
/// the server can't serve would keep all others waiting.
const FAILURES_MAX: u8 = 3;
/// How much longer a room is not told that a key is missing while the backup is yet to be asked
/// for one of its keys.
const HOPE: u32 = 10;

/// What is known of a key that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// There is an answer.
    Answered,
    /// So often there was none.
    Failed(u8),
}

impl State {
    fn is_to_be_asked(&self, name: &(Box<str>, Box<str>)) -> bool {
        !matches!(
            self.backup.asked.get(name),
            Some(Asked::Answered | Asked::Failed(FAILURES_MAX..))
        )
    }

    /// The keys that are waited for and were not asked for.
    fn to_ask(&self) -> BTreeSet<(Box<str>, Box<str>)> {
        let names = self.waiting.keys();
        names.filter(|name| self.is_to_be_asked(name)).collect()
    }

    /// Rooms in which something could not be read for so long, nobody was told, and the backup
    /// does not have the key either.
    pub(in crate::matrix::crypto) fn rooms_to_tell(
        &self,
        now: Timestamp,
        late: Duration,
    ) -> Vec<Box<str>> {
        let mut rooms = self.waiting.rooms_to_tell(now, late);
        if matches!(self.backup.standing, Standing::Sought { .. } | Standing::Used(_)) {
            let hopeful: BTreeSet<Box<str>> =
                self.to_ask().into_iter().map(|(room, _)| room).collect();
            let hopeless = self.waiting.rooms_to_tell(now, late * HOPE);
            rooms.retain(|room| !hopeful.contains(room) || hopeless.contains(room));
        }
        rooms
    }
}

impl Crypto {
    /// Returns when something may wait for a key that was not asked for.
    pub(in crate::matrix) async fn something_waits(&self) {
        self.waits.notified().await;
    }

    /// Says that something may wait for a key, and is kept.
    pub(in crate::matrix) fn look_what_waits(&self) {
        self.waits.notify_one();
    }

    /// The next key to ask for: of the room that comes after the last one's.
    pub(in crate::matrix) fn next_to_ask(&self) -> Option<(Box<str>, Box<str>)> {
        let mut state = self.state();
        let names = state.to_ask();
        let next = names.iter().find(|(room, _)| *room > state.backup.last_room);
        let next = next.or_else(|| names.first())?.clone();
        state.backup.last_room = next.0.clone();
        Some(next)
    }

    /// Asks the backup for a key. It is there when something was done.
    pub(in crate::matrix) async fn ask_backup(
        &self,
        server: &Homeserver,
        name: &(Box<str>, Box<str>),
    ) -> Result<Step, Snag> {
        let Standing::Used(backup) = self.backup_standing() else { return Ok(Step::Idle) };
        let (room, session) = name;
        let path = format!(
            "/client/v3/room_keys/keys/{}/{}?version={}",
            segment(room),
            segment(session),
            segment(&backup.version)
        );
        let asked = match server.get(&path, &CancellationToken::new()).await {
            Err(trouble) if trouble.is_no() => None,
            Err(trouble) => {
                self.note_failure(name, &trouble);
                return Err(trouble.into());
            }
            Ok(reply) => opened(&backup, name, &reply),
        };
        let is_there = asked.is_some();
        if let Some(key) = asked {
            let (store, version) = (self.machine.store(), Some(&*backup.version));
            store.import_room_keys(vec![key], version, |_, _| {}).await?;
        }
        self.state().backup.asked.insert(name.clone(), Asked::Answered);
        let device = self.device();
        tracing::info!(device, room = &**room, is_there, "the backup was asked for a key");
        Ok(if is_there { Step::Did } else { Step::Idle })
    }

    /// A server that is gone, or that wants us to wait, says nothing about the key.
    fn note_failure(&self, name: &(Box<str>, Box<str>), trouble: &Trouble) {
        let counts = matches!(trouble, Trouble::Ill { .. })
            || matches!(trouble, Trouble::Wire(fault) if fault.may_have_arrived());
        if counts {
            let mut state = self.state();
            let failures = match state.backup.asked.get(name) {
                Some(Asked::Failed(failures)) => failures.saturating_add(1),
                _ => 1,
            };
            state.backup.asked.insert(name.clone(), Asked::Failed(failures));
        }
    }
}

/// The key in an answer. Nothing when it can't be opened, or is another than was asked for: it
/// would stand in the way of the right one.
fn opened(
    backup: &InUse,
    (room, session): &(Box<str>, Box<str>),
    reply: &Reply,
) -> Option<ExportedRoomKey> {
    let sealed: KeyBackupData = serde_json::from_slice(&reply.body).ok()?;
    let key: BackedUpRoomKey = backup.key.decrypt_session_data(sealed.session_data).ok()?;
    if key.algorithm != EventEncryptionAlgorithm::MegolmV1AesSha2 {
        return None;
    }
    let named = InboundGroupSession::import(&key.session_key, SessionConfig::version_1());
    if named.session_id() != **session {
        return None;
    }
    let room = RoomId::parse(room).ok()?;
    Some(ExportedRoomKey::from_backed_up_room_key(room, session.to_string(), key))
}
