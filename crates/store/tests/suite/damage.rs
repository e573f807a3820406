//! Damaged, foreign and unreachable files: each gives a typed error that names the file.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test damages files itself")]

use crate::common::{agent, agent_db, audit, open, options};
use insula_store::{AuditRecord, Store, StoreError};
use insula_world::World;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

/// A home with one closed agent database of `records` records.
const PAGE: usize = 4_096;

async fn home_with(records: usize) -> (tempfile::TempDir, Store, Vec<AuditRecord>) {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    for n in 0..records {
        a.commit(vec![audit(&format!("kind.{n}"))]).await.unwrap();
    }
    let records = a.audit_tail(1_000).await.unwrap();
    store.close_idle(Duration::ZERO).await;
    assert_eq!(store.open_count(), 0);
    (home, store, records)
}

/// What opening an agent's database answers when `spoil` was at its file.
async fn spoiled(spoil: impl FnOnce(&Path)) -> StoreError {
    let (home, store, _) = home_with(3).await;
    let path = agent_db(home.path(), "a");
    spoil(&path);
    let error = store.agent(&agent("a")).audit_tail(9).await.unwrap_err();
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    error
}

#[tokio::test]
async fn a_file_that_is_no_database_is_damaged() {
    let error =
        spoiled(|path| fs::write(path, "this is not a database, it is text").unwrap()).await;
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    let error = spoiled(|path| fs::write(path, [0; 10_000]).unwrap()).await;
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}

#[tokio::test]
async fn a_link_in_place_of_a_database_is_not_followed() {
    let error = spoiled(|path| {
        let elsewhere = path.with_file_name("elsewhere.db");
        fs::rename(path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, path).unwrap();
    });
    assert!(matches!(error.await, StoreError::NotAllowed { .. }));
}

#[tokio::test]
async fn a_truncated_file_is_damaged() {
    for keep in [100, 4_096, 8_192] {
        let error = spoiled(|path| {
            fs::File::options().write(true).open(path).unwrap().set_len(keep).unwrap();
        });
        assert!(matches!(error.await, StoreError::Damaged { .. }), "{keep}");
    }
}

#[tokio::test]
async fn an_emptied_or_removed_file_shows_in_the_chain() {
    let (home, store, _) = home_with(3).await;
    for spoil in
        [|path: &Path| fs::write(path, "").unwrap(), |path: &Path| fs::remove_file(path).unwrap()]
    {
        spoil(&agent_db(home.path(), "a"));
        let report = store.agent(&agent("a")).audit_verify().await.unwrap();
        assert_eq!((report.ok, report.broken_at), (false, Some(1)), "{report:?}");
        store.close_idle(Duration::ZERO).await;
    }
    // A chain that begins again can't grow over its anchor.
    let owner = store.claim("test").await.unwrap();
    for _ in 0..5 {
        owner.agent(&agent("a")).commit(vec![audit("new")]).await.unwrap();
    }
    let report = store.agent(&agent("a")).audit_verify().await.unwrap();
    assert_eq!((report.ok, report.broken_at), (false, Some(3)), "{report:?}");
}

#[tokio::test]
async fn a_folder_or_another_database_in_its_place_is_refused() {
    let error = spoiled(|path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    });
    assert!(matches!(error.await, StoreError::NotAllowed { .. }));
    for header in ["application_id = 5", "user_version = 0", "user_version = 1"] {
        let error = spoiled(|path| {
            fs::remove_file(path).unwrap();
            let other = rusqlite::Connection::open(path).unwrap();
            other.execute_batch(&format!("CREATE TABLE theirs (x); PRAGMA {header}")).unwrap();
        });
        assert!(matches!(error.await, StoreError::Damaged { .. }), "{header}");
    }
}

#[tokio::test]
async fn an_unreadable_or_read_only_file_is_not_allowed() {
    let probe = tempfile::NamedTempFile::new().unwrap();
    fs::set_permissions(probe.path(), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(probe.path()).is_ok() {
        return; // To an all-powerful user nothing is unreadable, and this can't be tried.
    }
    for mode in [0o000, 0o400] {
        let error =
            spoiled(|path| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap());
        assert!(matches!(error.await, StoreError::NotAllowed { .. }), "{mode:o}");
    }
}

#[tokio::test]
async fn a_newer_file_is_refused_and_not_touched() {
    let (home, store, _) = home_with(3).await;
    let path = agent_db(home.path(), "a");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch("PRAGMA user_version = 99").unwrap();
    raw.close().unwrap();
    let before = fs::read(&path).unwrap();
    let error = store.agent(&agent("a")).audit_tail(9).await.unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);

    store.shutdown().await;
    let path = home.path().join("insula.db");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch("PRAGMA user_version = 99").unwrap();
    raw.close().unwrap();
    let Err(error) = Store::open(options(home.path()), World::real().unwrap()).await else {
        panic!("a newer insula.db was opened");
    };
    assert!(matches!(error, StoreError::Newer { .. }));
}

#[tokio::test]
async fn a_flipped_bit_of_the_file_is_an_error_or_found_or_harmless() {
    let (home, store, records) = home_with(12).await;
    let path = agent_db(home.path(), "a");
    let original = fs::read(&path).unwrap();
    let kind = b"kind.11";
    let recorded = original.windows(kind.len()).position(|it| it == kind).unwrap() / PAGE * PAGE;
    let a = store.agent(&agent("a"));
    let mut random = World::real().unwrap().random.stream(&["flips"]);
    let (mut errors, mut found, mut harmless) = (0, 0, 0);
    for n in 0..600 {
        // Every third one in the first page, where the header and the schema are, and every third
        // in the page of the records: chance alone may miss so small a part of the file.
        let drawn = usize::try_from(u32::from_le_bytes(random.bytes())).unwrap();
        let place = match n % 3 {
            0 => drawn % PAGE,
            1 => recorded + drawn % PAGE,
            _ => drawn % original.len(),
        };
        let mut bytes = original.clone();
        bytes[place] ^= 1 << (n % 8);
        fs::write(&path, &bytes).unwrap();
        match a.audit_verify().await {
            Err(error) => {
                assert!(error.to_string().contains("agent.db"), "{error}");
                errors += 1;
            }
            Ok(report) if !report.ok => found += 1,
            Ok(_) => {
                assert_eq!(a.audit_tail(1_000).await.unwrap(), records, "byte {place}");
                harmless += 1;
            }
        }
        store.close_idle(Duration::ZERO).await;
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{suffix}", path.display()));
        }
    }
    assert!(errors > 0 && found > 0 && harmless > 0, "{errors} {found} {harmless}");
    fs::write(&path, &original).unwrap();
    assert!(a.audit_verify().await.unwrap().ok);
}

#[tokio::test]
async fn a_damaged_agent_leaves_the_others_serving() {
    let (home, store, _) = home_with(1).await;
    fs::write(agent_db(home.path(), "a"), "garbage that is long enough to be read").unwrap();
    let owner = store.claim("test").await.unwrap();
    assert!(owner.agent(&agent("a")).commit(vec![audit("x")]).await.is_err());
    owner.agent(&agent("b")).commit(vec![audit("x")]).await.unwrap();
    assert_eq!(store.open_count(), 1);
}
