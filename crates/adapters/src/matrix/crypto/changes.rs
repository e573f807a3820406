//! A change of the state machine, as what is to be kept of it.

use super::kept::Batch;
use blake3::hash;
use matrix_sdk_crypto::CryptoStoreError;
use matrix_sdk_crypto::olm::InboundGroupSession;
use matrix_sdk_crypto::store::types::Changes;

type Result<T, E = CryptoStoreError> = std::result::Result<T, E>;

/// Puts all of it into a batch.
pub(super) async fn put(batch: &mut Batch<'_>, changes: Changes) -> Result<()> {
    if let Some(identity) = changes.private_identity {
        batch.put(&["identity"], &identity.pickle().await)?;
    }
    for session in changes.sessions {
        let parts = ["olm", &session.sender_key().to_base64(), session.session_id()];
        batch.put(&parts, &session.pickle().await)?;
    }
    for session in &changes.inbound_group_sessions {
        put_room_key(batch, session).await?;
    }
    for session in changes.outbound_group_sessions {
        batch.put(&["own-key", session.room_id().as_str()], &session.pickle().await)?;
    }
    put_people(batch, changes.devices, changes.identities)?;
    for hash in changes.message_hashes {
        batch.put(&["seen", &hash.sender_key, &hash.hash], &())?;
    }
    for request in changes.key_requests {
        batch.put(&["asked", request.request_id.as_str()], &request)?;
    }
    for (room, sessions) in changes.withheld_session_info {
        for (session, entry) in sessions {
            batch.put(&["withheld", room.as_str(), &session], &entry)?;
        }
    }
    for (room, settings) in changes.room_settings {
        batch.put(&["settings", room.as_str()], &settings)?;
    }
    for item in changes.secrets {
        // Several may come under one name.
        let which = hash(item.secret.as_bytes()).to_hex();
        batch.put(&["secret", item.secret_name.as_str(), &which], item.secret.as_str())?;
    }
    if let Some(key) = changes.backup_decryption_key {
        batch.put(&["backup-key"], &key)?;
    }
    if let Some(version) = changes.backup_version {
        batch.put(&["backup-version"], &version)?;
    }
    if let Some(key) = changes.dehydrated_device_pickle_key {
        batch.put(&["dehydrated"], &key)?;
    }
    if let Some(next) = changes.next_batch_token {
        batch.put(&["next"], &next)?;
    }
    for bundle in changes.received_room_key_bundles {
        let parts = ["bundle", bundle.bundle_data.room_id.as_str(), bundle.sender_user.as_str()];
        batch.put(&parts, &bundle)?;
    }
    for room in changes.room_key_backups_fully_downloaded {
        batch.put(&["downloaded", room.as_str()], &())?;
    }
    for (room, details) in changes.rooms_pending_key_bundle {
        match details {
            Some(details) => batch.put(&["joining", room.as_str()], &details)?,
            None => batch.drop(&["joining", room.as_str()]),
        }
    }
    Ok(())
}

fn put_people(
    batch: &mut Batch<'_>,
    devices: matrix_sdk_crypto::store::types::DeviceChanges,
    identities: matrix_sdk_crypto::store::types::IdentityChanges,
) -> Result<()> {
    for device in devices.new.into_iter().chain(devices.changed) {
        let parts = ["device", device.user_id().as_str(), device.device_id().as_str()];
        batch.put(&parts, &device)?;
    }
    for device in devices.deleted {
        batch.drop(&["device", device.user_id().as_str(), device.device_id().as_str()]);
    }
    for person in identities.new.into_iter().chain(identities.changed) {
        batch.put(&["person", person.user_id().as_str()], &person)?;
    }
    Ok(())
}

/// Puts a key of a room, and where it is found by whose it is.
pub(super) async fn put_room_key(batch: &mut Batch<'_>, key: &InboundGroupSession) -> Result<()> {
    let (room, session) = (key.room_id().as_str(), key.session_id());
    let theirs = key.sender_key().to_base64();
    batch.put(&["of", &theirs, session], &(room, session))?;
    // What is in the backup may be a lesser part of it.
    if !key.backed_up() {
        batch.drop(&["backed-up", room, session]);
    }
    batch.put(&["room-key", room, session], &key.pickle().await)
}
