//! Secrets kept and read back: round trips, names, references, and agents that go away.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at the files of a temporary vault"
)]

use crate::common::{Home, agent, name};
use insula_vault::{
    KeyExposure, KeySource, Result, SECRET_BYTES_MAX, SECRETS_MAX, Secret, Vault, VaultError,
    VaultKey, resolve,
};
use insula_world::{Random, World};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn a_secret_comes_back_as_it_was_also_after_a_restart() {
    let home = Home::new();
    let long = "é".repeat(SECRET_BYTES_MAX / 2);
    for (key, value) in [("A", "x"), ("B", "two\nlines\0"), ("C", long.as_str())] {
        let coder = home.vault().await.agent(&agent("coder"));
        assert_eq!(coder.get(&name(key)).await.unwrap(), None);
        coder.set(&name(key), Secret::new(value)).await.unwrap();
        let again = home.vault().await.agent(&agent("coder"));
        assert_eq!(again.get(&name(key)).await.unwrap().unwrap().reveal(), value);
    }
    let daemon = home.vault().await.daemon();
    assert_eq!(daemon.get(&name("A")).await.unwrap(), None);
    daemon.set(&name("A"), Secret::new("of the daemon")).await.unwrap();
    daemon.set(&name("A"), Secret::new("of the daemon, later")).await.unwrap();
    assert_eq!(daemon.get(&name("A")).await.unwrap(), Some(Secret::new("of the daemon, later")));
    assert!(daemon.remove(&name("A")).await.unwrap());
    assert!(!daemon.remove(&name("A")).await.unwrap());
    assert_eq!(daemon.get(&name("A")).await.unwrap(), None);
}

#[tokio::test]
async fn one_agent_never_gets_anothers_secret() {
    let home = Home::new();
    let vault = home.vault().await;
    let (coder, family) = (vault.agent(&agent("coder")), vault.agent(&agent("family")));
    coder.set(&name("TOKEN"), Secret::new("of coder")).await.unwrap();
    assert_eq!(family.get(&name("TOKEN")).await.unwrap(), None);
    assert_eq!(vault.daemon().get(&name("TOKEN")).await.unwrap(), None);
    assert_eq!(family.names().await.unwrap(), []);
    let missing = resolve("${secret:TOKEN}", &family).await.unwrap_err();
    assert_eq!(
        missing.to_string(),
        "secret `TOKEN` of agent `family` is not set: set it with `insula secret set family TOKEN`"
    );
    let missing = resolve("${secret:TOKEN}", &vault.daemon()).await.unwrap_err();
    assert_eq!(
        missing.to_string(),
        "secret `TOKEN` of the daemon is not set: set it with `insula secret set --daemon TOKEN`"
    );
}

#[tokio::test]
async fn references_are_replaced_once_and_all_else_stays() {
    let home = Home::new();
    let coder = home.vault().await.agent(&agent("coder"));
    coder.set(&name("A"), Secret::new("${secret:B}")).await.unwrap();
    coder.set(&name("B"), Secret::new("b")).await.unwrap();
    for (text, out) in [
        ("", ""),
        ("plain ${env:A} $5", "plain ${env:A} $5"),
        ("Bearer ${secret:B}", "Bearer b"),
        ("${secret:A}${secret:B}é", "${secret:B}bé"),
    ] {
        assert_eq!(resolve(text, &coder).await.unwrap().reveal(), out);
    }
    let bad = resolve("x ${secret:B", &coder).await.unwrap_err();
    assert!(matches!(bad, VaultError::Reference { at: 2 }), "{bad}");
    coder.set(&name("BIG"), Secret::new("x".repeat(SECRET_BYTES_MAX))).await.unwrap();
    let bad = resolve(&"${secret:BIG}".repeat(1_000), &coder).await.unwrap_err();
    assert!(matches!(bad, VaultError::TooLong { .. }), "{bad}");
}

#[tokio::test]
async fn a_listing_has_names_and_times_and_opens_nothing() {
    let home = Home::new();
    let vault = home.vault().await;
    let coder = vault.agent(&agent("coder"));
    for key in ["B", "A", "C"] {
        coder.set(&name(key), Secret::new("value")).await.unwrap();
    }
    // Neither readable nor sealed, and no key: a listing does not care.
    let folder = home.path("agents/coder");
    fs::write(folder.join("B"), "junk").unwrap();
    fs::set_permissions(folder.join("C"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::write(folder.join(".hidden"), "").unwrap();
    fs::write(folder.join("no-name"), "").unwrap();
    fs::create_dir(folder.join("FOLDER")).unwrap();
    fs::remove_file(home.path("key")).unwrap();
    let entries = coder.names().await.unwrap();
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["A", "B", "C"]);
    let now = home.world().clock.now().as_millis();
    assert!(entries.iter().all(|entry| (now - entry.modified.as_millis()).abs() < 600_000));
}

#[tokio::test]
async fn empty_and_too_large_values_and_too_many_are_refused() {
    let home = Home::new();
    let coder = home.vault().await.agent(&agent("coder"));
    let empty = coder.set(&name("A"), Secret::new("")).await.unwrap_err();
    assert!(matches!(empty, VaultError::Empty { .. }), "{empty}");
    let large = Secret::new("x".repeat(SECRET_BYTES_MAX + 1));
    let large = coder.set(&name("A"), large).await.unwrap_err();
    assert!(matches!(large, VaultError::TooLong { len: 65_537, max: 65_536, .. }), "{large}");
    assert!(!home.path("").exists(), "a refused value leaves nothing");
    coder.set(&name("FIRST"), Secret::new("x")).await.unwrap();
    for index in 1..SECRETS_MAX {
        fs::write(home.path("agents/coder").join(format!("N{index}")), "").unwrap();
    }
    let many = coder.set(&name("A"), Secret::new("x")).await.unwrap_err();
    assert!(matches!(many, VaultError::TooMany { max: SECRETS_MAX, .. }), "{many}");
    coder.set(&name("FIRST"), Secret::new("y")).await.unwrap();
}

#[tokio::test]
async fn a_forgotten_agent_leaves_nothing_and_its_handles_end() {
    let home = Home::new();
    let vault = home.vault().await;
    let (old, other) = (vault.agent(&agent("coder")), vault.agent(&agent("other")));
    old.set(&name("A"), Secret::new("old")).await.unwrap();
    other.set(&name("A"), Secret::new("kept")).await.unwrap();
    vault.forget(&agent("coder")).await.unwrap();
    vault.forget(&agent("coder")).await.unwrap();
    assert!(!home.path("agents/coder").exists());
    assert_eq!(other.get(&name("A")).await.unwrap(), Some(Secret::new("kept")));
    // The namesake's secrets are not for what still runs for the deleted one.
    let new = vault.agent(&agent("coder"));
    assert_eq!(new.get(&name("A")).await.unwrap(), None);
    new.set(&name("A"), Secret::new("new")).await.unwrap();
    for error in [
        old.get(&name("A")).await.unwrap_err(),
        old.set(&name("A"), Secret::new("back")).await.unwrap_err(),
        old.remove(&name("A")).await.unwrap_err(),
        old.names().await.unwrap_err(),
        resolve("${secret:A}", &old).await.unwrap_err(),
    ] {
        assert!(matches!(error, VaultError::Forgotten { .. }), "{error}");
    }
    assert_eq!(new.get(&name("A")).await.unwrap(), Some(Secret::new("new")));
}

#[tokio::test]
async fn no_two_values_share_a_nonce_even_in_worlds_with_one_seed() {
    let home = Home::new();
    let mut nonces = vec![];
    for value in ["one", "two", "two", "three"] {
        let world = World { random: Random::from_seed([7; 32]), ..home.world() };
        let vault = Vault::open(home.home(), &world).await.unwrap();
        for key in ["A", "B"] {
            vault.daemon().set(&name(key), Secret::new(value)).await.unwrap();
            nonces.push(fs::read(home.path("daemon").join(key)).unwrap()[17..41].to_vec());
        }
    }
    // The same value at the same place seals to the same bytes, and tells nothing by it.
    assert_eq!((&nonces[2], &nonces[3]), (&nonces[4], &nonces[5]));
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), 6);
}

/// A key kept outside the home, as a keyring would.
#[derive(Default)]
struct Keyring(Mutex<Option<VaultKey>>);

impl KeySource for Keyring {
    fn load(&self) -> Result<Option<(VaultKey, KeyExposure)>> {
        Ok(self.0.lock().unwrap().clone().map(|key| (key, KeyExposure::Private)))
    }
    fn keep(&self, fresh: VaultKey) -> Result<VaultKey> {
        Ok(self.0.lock().unwrap().get_or_insert(fresh).clone())
    }
    fn place(&self) -> PathBuf {
        "the keyring".into()
    }
}

#[tokio::test]
async fn the_key_may_be_kept_elsewhere() {
    let home = Home::new();
    let keyring = Arc::new(Keyring::default());
    for _ in 0..2 {
        let vault = Vault::open_with(home.home(), &home.world(), keyring.clone()).await.unwrap();
        vault.daemon().set(&name("A"), Secret::new("a")).await.unwrap();
        assert_eq!(vault.daemon().get(&name("A")).await.unwrap(), Some(Secret::new("a")));
    }
    assert!(!home.path("key").exists());
}
