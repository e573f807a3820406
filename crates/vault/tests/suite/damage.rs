//! Files that are not what was written: each is a typed error that names the file, none is
//! waited for, and none is taken for another's.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests damage the files of a temporary vault"
)]

use crate::common::{Home, agent, name};
use insula_vault::{AgentSecrets, KeyExposure, Secret, Vault, VaultError};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

async fn with_secret(home: &Home) -> (AgentSecrets, Vec<u8>) {
    let secrets = home.vault().await.agent(&agent("coder"));
    secrets.set(&name("A"), Secret::new("a value of coder")).await.unwrap();
    (secrets, fs::read(home.path("agents/coder/A")).unwrap())
}

async fn refusal(secrets: &AgentSecrets, file: &Path) -> VaultError {
    let error = secrets.get(&name("A")).await.unwrap_err();
    assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
    error
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_changed_byte_anywhere_is_noticed() {
    let home = Home::new();
    let (secrets, sealed) = with_secret(&home).await;
    let file = home.path("agents/coder/A");
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 0x41;
        fs::write(&file, changed).unwrap();
        let error = refusal(&secrets, &file).await;
        let fits = match at {
            8 => matches!(error, VaultError::Newer { found: 0x40, known: 1, .. }),
            9..17 => matches!(error, VaultError::WrongKey { .. }),
            _ => matches!(error, VaultError::Damaged { .. }),
        };
        assert!(fits, "{at}: {error}");
    }
    for len in 0..sealed.len() {
        fs::write(&file, &sealed[..len]).unwrap();
        let error = refusal(&secrets, &file).await;
        assert!(matches!(error, VaultError::Damaged { .. }), "{len}: {error}");
    }
    for more in [1, 70_000] {
        fs::write(&file, [&sealed[..], &vec![0; more]].concat()).unwrap();
        assert!(matches!(refusal(&secrets, &file).await, VaultError::Damaged { .. }));
    }
    // Far larger than memory, on paper: no more of it is read than a secret can have.
    fs::File::options().write(true).open(&file).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(refusal(&secrets, &file).await, VaultError::Damaged { .. }));
    secrets.set(&name("A"), Secret::new("again")).await.unwrap();
    assert_eq!(secrets.get(&name("A")).await.unwrap(), Some(Secret::new("again")));
}

#[tokio::test]
async fn a_file_moved_to_another_agent_or_name_does_not_open() {
    let home = Home::new();
    let (secrets, sealed) = with_secret(&home).await;
    let vault = home.vault().await;
    let other = vault.agent(&agent("other"));
    other.set(&name("A"), Secret::new("a value of other")).await.unwrap();
    vault.daemon().set(&name("A"), Secret::new("a value of the daemon")).await.unwrap();
    fs::write(home.path("agents/other/A"), &sealed).unwrap();
    assert!(matches!(
        refusal(&other, &home.path("agents/other/A")).await,
        VaultError::Damaged { .. }
    ));
    fs::write(home.path("agents/coder/B"), &sealed).unwrap();
    assert!(matches!(secrets.get(&name("B")).await, Err(VaultError::Damaged { .. })));
    fs::write(home.path("daemon/A"), &sealed).unwrap();
    assert!(matches!(vault.daemon().get(&name("A")).await, Err(VaultError::Damaged { .. })));
    assert!(secrets.get(&name("A")).await.unwrap().is_some());
}

#[tokio::test]
async fn what_is_no_regular_file_is_refused_at_once() {
    let home = Home::new();
    let (secrets, sealed) = with_secret(&home).await;
    let (file, aside) = (home.path("agents/coder/A"), home.path("aside"));
    fs::write(&aside, sealed).unwrap();
    for put in [
        &(|| mknodat(CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap())
            as &dyn Fn(),
        &|| symlink(&aside, &file).unwrap(),
        &|| symlink("/dev/zero", &file).unwrap(),
        &|| fs::create_dir(&file).unwrap(),
    ] {
        let _ = fs::remove_file(&file);
        put();
        let error = refusal(&secrets, &file).await;
        assert!(matches!(error, VaultError::NotAllowed { .. }), "{error}");
        assert_eq!(secrets.names().await.unwrap(), []);
    }
    fs::remove_dir(&file).unwrap();
    mknodat(CWD, &file, FileType::Fifo, Mode::RUSR, 0).unwrap();
    secrets.set(&name("A"), Secret::new("in its place")).await.unwrap();
    assert_eq!(secrets.get(&name("A")).await.unwrap(), Some(Secret::new("in its place")));
    // The key is read as carefully.
    fs::remove_file(home.path("key")).unwrap();
    mknodat(CWD, home.path("key"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let error = Vault::open(home.home(), &home.world()).await.unwrap_err();
    assert!(matches!(error, VaultError::NotAllowed { .. }), "{error}");
}

#[tokio::test]
async fn a_wrong_lost_or_broken_key_is_told_apart_and_never_replaced() {
    let home = Home::new();
    let (_, _) = with_secret(&home).await;
    let key = home.path("key");
    let true_key = fs::read(&key).unwrap();
    assert_eq!(true_key.len(), 32);
    fs::write(&key, [7; 32]).unwrap();
    let secrets = home.vault().await.agent(&agent("coder"));
    let error = refusal(&secrets, &home.path("agents/coder/A")).await;
    assert!(matches!(error, VaultError::WrongKey { .. }), "{error}");
    for len in [0, 31, 33, 4_096] {
        fs::write(&key, vec![7; len]).unwrap();
        let error = Vault::open(home.home(), &home.world()).await.unwrap_err();
        assert!(matches!(error, VaultError::KeyDamaged { .. }), "{error}");
        assert!(error.to_string().contains("vault/key"), "{error}");
        assert_eq!(fs::read(&key).unwrap(), vec![7; len]);
    }
    fs::remove_file(&key).unwrap();
    let error = Vault::open(home.home(), &home.world()).await.unwrap_err();
    assert!(matches!(error, VaultError::KeyMissing { .. }), "{error}");
    assert!(!key.exists());
    fs::write(&key, true_key).unwrap();
    let secrets = home.vault().await.agent(&agent("coder"));
    assert!(secrets.get(&name("A")).await.unwrap().is_some());
}

#[tokio::test]
async fn everything_is_for_its_owner_only_and_an_open_key_is_reported() {
    let home = Home::new();
    assert_eq!(home.vault().await.exposure(), KeyExposure::Private);
    assert!(!home.path("").exists(), "opening creates nothing");
    with_secret(&home).await;
    for folder in ["", "new", "agents", "agents/coder"] {
        assert_eq!(mode(&home.path(folder)), 0o700, "{folder}");
    }
    for file in ["key", "agents/coder/A"] {
        assert_eq!(mode(&home.path(file)), 0o600, "{file}");
    }
    assert_eq!(home.vault().await.exposure(), KeyExposure::Private);
    for open in [0o640, 0o604, 0o622] {
        fs::set_permissions(home.path("key"), Permissions::from_mode(open)).unwrap();
        assert_eq!(home.vault().await.exposure(), KeyExposure::Exposed { mode: open });
    }
}
