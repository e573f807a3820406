//! What an account keeps: sealed for it and its name, and for nobody else.

use crate::{Plain, Vault, VaultError};
use insula_world::World;
use zeroize::Zeroizing;

fn plain(name: &str, bytes: &[u8]) -> Plain {
    (name.into(), Zeroizing::new(bytes.to_vec()))
}

#[tokio::test]
async fn what_is_sealed_opens_for_its_account_and_name_alone() {
    let home = tempfile::tempdir().unwrap();
    let world = World::real().unwrap();
    let vault = Vault::at(home.path(), &world);
    let seal = vault.account("matrix", "home");
    let things = vec![plain("a", b"the first pickle"), plain("b", b"the second pickle")];
    let sealed = seal.seal(things.clone()).await.unwrap();
    for (_, bytes) in &sealed {
        assert!(!bytes.windows(6).any(|part| part == b"pickle"));
    }
    assert_eq!(seal.unseal(sealed.clone()).await.unwrap(), things);
    // Another process with the same key.
    let again = Vault::at(home.path(), &world).account("matrix", "home");
    assert_eq!(again.unseal(sealed.clone()).await.unwrap(), things);

    let refused = async |seal: &crate::AccountSeal, sealed| {
        matches!(seal.unseal(sealed).await, Err(VaultError::KeptDamaged { .. }))
    };
    assert!(refused(&vault.account("matrix", "work"), sealed.clone()).await);
    let mut renamed = sealed.clone();
    renamed[0].0 = "b".into();
    assert!(refused(&seal, renamed).await);
    let mut changed = sealed.clone();
    changed[1].1[40] ^= 1;
    assert!(refused(&seal, changed).await);
    let mut cut = sealed.clone();
    cut[0].1.truncate(20);
    assert!(refused(&seal, cut).await);
    // Another world's key is another.
    let other = tempfile::tempdir().unwrap();
    let other = Vault::at(other.path(), &World::real().unwrap()).account("matrix", "home");
    other.seal(vec![plain("x", b"makes a key")]).await.unwrap();
    assert!(refused(&other, sealed).await);
}

#[tokio::test]
async fn rule_12_why_something_does_not_open_has_none_of_it() {
    let home = tempfile::tempdir().unwrap();
    let seal = Vault::at(home.path(), &World::real().unwrap()).account("matrix", "home");
    let mut sealed = seal.seal(vec![plain("a", b"the pickle")]).await.unwrap();
    sealed[0].1.pop();
    let error = seal.unseal(sealed).await.unwrap_err();
    assert!(!format!("{error} {error:?} {seal:?}").contains("pickle"));
}
