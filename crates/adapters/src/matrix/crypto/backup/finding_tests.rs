//! What is done about a backup, by what the recovery key opens.

use super::*;

fn current_of(key: &BackupDecryptionKey) -> Option<Current> {
    let (version, info) = ("1".into(), Some(key.to_backup_info()));
    Some(Current { version, count: Some(3), info })
}

/// What was found, and which of these keys it is with.
fn said(found: Found, keys: &[&BackupDecryptionKey]) -> String {
    let which = |key: &BackupDecryptionKey| {
        let at = keys.iter().position(|it| it.as_bytes() == key.as_bytes());
        at.map_or("a new one".to_owned(), |at| format!("key {at}"))
    };
    match found {
        Found::Ours(it) => format!("ours, {}", which(&it.key)),
        Found::None(it) => format!("none, {}, stored: {}", which(&it.key), it.storage.is_some()),
        Found::Unusable { why } => why.into(),
    }
}

#[test]
fn which_backup_is_used_follows_from_what_the_recovery_key_opens() {
    let (own, stored, other) =
        (BackupDecryptionKey::new(), BackupDecryptionKey::new(), BackupDecryptionKey::new());
    let keys = [&own, &stored, &other];
    let open = |key: Option<&BackupDecryptionKey>| {
        Storage::Open(Box::new(SecretStorageKey::new()), key.cloned())
    };
    let unknown = || Some(Current { version: "1".into(), count: None, info: None });
    let not_ours = "the homeserver's backup of keys is not one that `recovery_key` opens";
    let cases = [
        (None, Storage::None, "none, key 0, stored: false"),
        (None, open(Some(&stored)), "none, key 1, stored: false"),
        (None, open(None), "none, a new one, stored: true"),
        (None, Storage::Closed, "`recovery_key` does not open the account's secret storage"),
        (current_of(&own), Storage::None, "ours, key 0"),
        (current_of(&own), Storage::Closed, "ours, key 0"),
        (current_of(&own), open(Some(&stored)), "ours, key 0"),
        (current_of(&stored), open(Some(&stored)), "ours, key 1"),
        (current_of(&stored), open(None), not_ours),
        (current_of(&stored), Storage::Closed, not_ours),
        (current_of(&other), open(Some(&stored)), not_ours),
        (current_of(&other), Storage::None, not_ours),
        (
            unknown(),
            Storage::None,
            "the homeserver's backup of keys is of a kind that is not known here",
        ),
    ];
    for (at, (current, storage, expected)) in cases.into_iter().enumerate() {
        assert_eq!(said(decide(current, storage, own.clone()), &keys), expected, "case {at}");
    }
}
