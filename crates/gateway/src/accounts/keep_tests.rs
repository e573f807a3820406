//! What accounts keep, in a real daemon's store.

use super::keep::AccountKeep;
use insula_channel::{Keep, KeepChange};
use insula_domain::{AccountId, Platform};
use insula_registry::Front;
use insula_testdaemon::TestDaemon;
use insula_testkit::world;
use zeroize::Zeroizing;

fn keep_of(front: &Front, name: &str) -> AccountKeep {
    let (platform, account) = (Platform::new("matrix").unwrap(), AccountId::new(name).unwrap());
    AccountKeep::new(front.account(platform, &account), front.account_seal(platform, &account))
}

fn put(name: &str, what: &[u8]) -> KeepChange {
    KeepChange::Put(name.into(), Zeroizing::new(what.to_vec()))
}

#[tokio::test]
async fn rule_12_what_an_account_keeps_is_sealed_its_own_and_there_again() {
    let (world, _handles) = world(7);
    let files = insula_testkit::Home::with([("config.yaml", "")]).unwrap();
    let daemon = TestDaemon::open(&files, &world).await;
    let front = daemon.front();
    let (home, work) = (keep_of(&front, "home"), keep_of(&front, "work"));
    let secret = b"a-pickle-that-nobody-may-read".as_slice();
    home.write(vec![put("a/1", secret), put("a/2", b"two"), put("b", b"bee")]).await.unwrap();
    work.write(vec![put("a/1", b"theirs")]).await.unwrap();
    home.write(vec![KeepChange::Drop("b".into()), put("a/2", b"x"), put("a/2", b"2")])
        .await
        .unwrap();
    let again = keep_of(&front, "home");
    assert_eq!(again.get("a/1").await.unwrap().unwrap().as_slice(), secret);
    assert_eq!(again.get("b").await.unwrap(), None);
    let below: Vec<(String, Vec<u8>)> =
        again.list("a/").await.unwrap().into_iter().map(|(name, it)| (name, it.to_vec())).collect();
    assert_eq!(below, [("a/1".to_owned(), secret.to_vec()), ("a/2".to_owned(), b"2".to_vec())]);

    // What is kept elsewhere opens for this account alone.
    let sealed = home.seal(secret).await.unwrap();
    assert!(!sealed.contains("pickle"));
    assert_eq!(again.unseal(&sealed).await.unwrap().as_slice(), secret);
    let refused = work.unseal(&sealed).await.unwrap_err();
    assert!(!refused.to_string().contains("pickle"), "{refused}");
    // Nor does what is kept under one name open under another.
    let text = front.account(Platform::new("matrix").unwrap(), &AccountId::new("home").unwrap());
    let text = text.kept("a/1").await.unwrap().unwrap();
    assert!(!text.contains("pickle"));
    assert!(home.unseal(&text).await.is_err());
}
