//! Encryption: the keys of our device, what comes under others' keys, and what goes out under ours.
//!
//! The state machine is the Matrix project's own (`matrix-sdk-crypto`); what it keeps is kept by
//! the account, sealed ([`insula_channel::Keep`]). It lives as long as the account listens: each
//! time it is read anew, so that what it remembers is what is kept.
//!
//! **Where it could go wrong.** Messages between devices come with `/sync` and are gone from the
//! server when the next one is asked for. What they said is kept before the answer's cursor is,
//! so a crash in between brings them again, and then each is known by its hash. An event whose
//! key is not there yet is kept as it came before its cursor is, and read when the key comes.
//!
//! **Trust.** Whoever the homeserver says a device belongs to is taken at its word, as in rooms
//! without encryption; that an event is by another than who made its key is noticed.

mod backup;
mod bootstrap;
mod changes;
mod files;
mod kept;
mod reading;
mod requests;
mod sending;
mod snag;
mod store;
mod waiting;

pub(super) use backup::{Found, Standing, Step, find};
pub(super) use bootstrap::Signed;
pub(super) use files::{SEALED, decrypt, encrypt};
pub(super) use reading::Opened;
pub(super) use snag::Snag;

use super::api::Homeserver;
use super::wire::Sync;
use crate::bounded::Bounded;
use backup::{Backup, Unsaved};
use insula_channel::Keep;
use insula_world::Timestamp;
use kept::Kept;
use matrix_sdk_crypto::store::types::RoomKeyInfo;
use matrix_sdk_crypto::{DecryptionSettings, EncryptionSyncChanges, OlmMachine, TrustRequirement};
use ruma::{DeviceId, OneTimeKeyAlgorithm, OwnedUserId, UInt, UserId};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::KeyStore;
use tokio::sync::Notify;
use waiting::Waiting;

/// Rooms whose members are remembered, for whom a message is to be encrypted.
const ROOMS_MAX: usize = 256;
/// Messages that were read, by their place under their key: none is read twice as another event.
const READ_MAX: usize = 16_384;

/// Whose device may have written what we read: anybody's, as long as it is theirs.
const TRUST: DecryptionSettings =
    DecryptionSettings { sender_device_trust_requirement: TrustRequirement::Untrusted };

/// The keys of our device, and what is done with them.
pub(super) struct Crypto {
    machine: OlmMachine,
    kept: Arc<Kept>,
    /// Held while a message is encrypted: its key is handed out before it is used.
    handing_out: tokio::sync::Mutex<()>,
    /// Whether all that was taken so far need not be recognised any more.
    is_taken: AtomicBool,
    state: Mutex<State>,
    /// What the backup lacks, as the store sees it.
    unsaved: Arc<Unsaved>,
    /// Told when something waits for a key.
    waits: Notify,
}

/// What is remembered of what is kept.
struct State {
    members: Bounded<Box<str>, Arc<[OwnedUserId]>>,
    waiting: Waiting,
    read: Bounded<(Box<str>, u32), Box<str>>,
    /// What the server said last that it has left of our keys.
    stock: Option<Stock>,
    backup: Backup,
}

/// How many keys a server has left, and of which kinds the last was not used.
type Stock = (BTreeMap<OneTimeKeyAlgorithm, UInt>, Option<Vec<OneTimeKeyAlgorithm>>);

impl Crypto {
    /// Reads the keys of a device, or makes them.
    pub(super) async fn open(keep: Arc<dyn Keep>, user: &str, device: &str) -> Result<Self, Snag> {
        let user_id: OwnedUserId =
            UserId::parse(user).map_err(|_| Snag::keys("the account's id is none"))?;
        let device_id: &DeviceId = device.into();
        let kept = Arc::new(Kept::new(keep, user, device));
        forget_own_keys(&kept).await?;
        let unsaved = Arc::new(Unsaved::default());
        let ours = (user_id.clone(), device_id.to_owned());
        let store = KeyStore::new(kept.clone(), ours, unsaved.clone());
        let machine = OlmMachine::with_store(&user_id, device_id, store, None).await?;
        let waiting = Waiting::read(&kept).await?;
        let state = State {
            members: Bounded::new(ROOMS_MAX),
            waiting,
            read: Bounded::new(READ_MAX),
            stock: None,
            backup: Backup::default(),
        };
        Ok(Self {
            machine,
            kept,
            handing_out: tokio::sync::Mutex::default(),
            is_taken: AtomicBool::new(false),
            state: Mutex::new(state),
            unsaved,
            waits: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the keys away: nothing is read or written by this any more.
    pub(super) fn close(&self) {
        self.kept.close();
    }

    /// What tells our device from others', in groups that people can compare.
    pub(super) fn fingerprint(&self) -> String {
        grouped(&self.machine.identity_keys().ed25519.to_base64())
    }

    pub(super) fn device(&self) -> &str {
        self.machine.device_id().as_str()
    }

    /// Takes what came for our device. When it returns, it is kept; gives the keys that came.
    pub(super) async fn receive(&self, answer: &Sync<'_>) -> Result<Vec<RoomKeyInfo>, Snag> {
        let counts = &answer.device_one_time_keys_count;
        let unused = answer.device_unused_fallback_key_types.as_deref();
        let has_news = !answer.to_device.events.is_empty()
            || !answer.device_lists.changed.is_empty()
            || !answer.device_lists.left.is_empty();
        let stock = Some((counts.clone(), answer.device_unused_fallback_key_types.clone()));
        if !has_news && self.state().stock == stock {
            return Ok(vec![]);
        }
        if !answer.to_device.events.is_empty() && self.is_taken.swap(false, Ordering::SeqCst) {
            self.forget_seen().await?;
        }
        let events = answer.to_device.events.iter();
        let changes = EncryptionSyncChanges {
            to_device_events: events.map(|raw| requests::raw_of((*raw).to_owned())).collect(),
            changed_devices: &answer.device_lists,
            one_time_keys_counts: counts,
            unused_fallback_keys: unused,
            next_batch_token: None,
        };
        let (_, keys) = self.machine.receive_sync_changes(changes, &TRUST).await?;
        self.state().stock = stock;
        Ok(keys)
    }

    /// Says that all that was received is behind us: the cursor after it is stored.
    pub(super) fn taken(&self) {
        self.is_taken.store(true, Ordering::SeqCst);
    }

    /// Messages that were taken before a cursor that is stored do not come again.
    async fn forget_seen(&self) -> Result<(), Snag> {
        let seen: Vec<(Box<str>, ())> = self.kept.named(&["seen"]).await?;
        let mut batch = self.kept.batch();
        seen.into_iter().for_each(|(name, ())| batch.drop_named(name));
        Ok(batch.write().await?)
    }

    /// Asks for the devices of everybody anew: nobody knows what changed.
    pub(super) async fn doubt_devices(&self) -> Result<(), Snag> {
        Ok(self.machine.mark_all_tracked_users_as_dirty().await?)
    }

    /// Rooms in which something could not be read for so long, and nobody was told.
    pub(super) fn rooms_to_tell(&self, now: Timestamp, late: Duration) -> Vec<Box<str>> {
        self.state().rooms_to_tell(now, late)
    }

    /// Notes that a room was told.
    pub(super) async fn told(&self, room: &str) -> Result<(), Snag> {
        let mut batch = self.kept.batch();
        batch.put(&["told", room], &room)?;
        batch.write().await?;
        self.state().waiting.told(room);
        Ok(())
    }

    /// Forgets who is in a room: it will be asked for.
    pub(super) fn doubt_members(&self, room: &str) {
        self.state().members.remove(room);
    }

    /// Whether our device is known to the server by other keys than ours: then nobody could
    /// write to us.
    pub(super) async fn is_ours(&self, server: &Homeserver) -> Result<bool, Snag> {
        let theirs = requests::fingerprint_of(
            server,
            self.machine.user_id().as_str(),
            self.machine.device_id().as_str(),
        );
        let ours = self.machine.identity_keys().ed25519.to_base64();
        Ok(theirs.await?.is_none_or(|theirs| theirs == ours))
    }
}

/// What we write with is made anew each time: of a home that was restored it may have been used
/// further than it is kept, and must not be used twice for different words.
async fn forget_own_keys(kept: &Kept) -> Result<(), Snag> {
    let own: Vec<(Box<str>, IgnoredAny)> = kept.named(&["own-key"]).await?;
    let mut batch = kept.batch();
    own.into_iter().for_each(|(name, _)| batch.drop_named(name));
    Ok(batch.write().await?)
}

/// A key in groups of four, as clients show it.
pub(super) fn grouped(key: &str) -> String {
    let letters: Vec<char> = key.chars().collect();
    let groups: Vec<String> = letters.chunks(4).map(|group| group.iter().collect()).collect();
    groups.join(" ")
}

pub(super) use requests::fingerprint_of;
