//! Rule 12: nothing of this crate prints a value, whatever goes wrong.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests damage the files of a temporary vault"
)]

use crate::common::{Home, name};
use insula_vault::{
    ByteStreamRedactor, Redactor, SECRET_BYTES_MAX, Secret, SecretName, StreamRedactor, Vault,
    VaultKey, resolve,
};
use std::error::Error;
use std::fmt::Debug;
use std::fs;
use std::sync::Arc;

const VALUE: &str = "CANARY-5d41402abc4b2a76";

fn shown(thing: &impl Debug) -> String {
    format!("{thing:?} {thing:#?}")
}

fn told(error: &(impl Error + 'static)) -> String {
    let mut text = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(inner) = source {
        text += &format!(" {inner} {inner:?}");
        source = inner.source();
    }
    text
}

#[tokio::test]
async fn rule_12_secrets_stay_out_of_sight() {
    let home = Home::new();
    let vault = home.vault().await;
    let agent = vault.agent(&crate::common::agent("coder"));
    let value = Secret::new(VALUE);
    agent.set(&name("A"), value.clone()).await.unwrap();
    let redaction = vault.redactor().await.unwrap();
    let mut stream = StreamRedactor::new(redaction.redactor.clone());
    stream.push(&VALUE[..9]);
    let mut bytes = ByteStreamRedactor::new(redaction.redactor.clone());
    bytes.push(&VALUE.as_bytes()[..9]);
    let resolved = resolve("Bearer ${secret:A}", &agent).await.unwrap();
    let mut seen = vec![
        format!("{value} {resolved}"),
        shown(&value),
        shown(&resolved),
        shown(&vault),
        shown(&agent),
        shown(&vault.daemon()),
        shown(&agent.names().await.unwrap()),
        shown(&agent.get(&name("A")).await.unwrap()),
        shown(&redaction),
        shown(&Redactor::new(std::slice::from_ref(&value))),
        shown(&stream),
        shown(&bytes),
        shown(&VaultKey::from_bytes(*b"CANARY-5d41402abc4b2a76-12345678")),
        told(&SecretName::new(VALUE).unwrap_err()),
        told(&SecretName::new(&VALUE.repeat(9)).unwrap_err()),
        told(&resolve(&format!("{VALUE}${{secret:{VALUE}}}"), &agent).await.unwrap_err()),
        told(&resolve("${secret:A}${secret:B}", &agent).await.unwrap_err()),
        told(
            &resolve(&format!("{}${{secret:A}}", VALUE.repeat(99_999)), &agent).await.unwrap_err(),
        ),
        told(
            &agent.set(&name("A"), Secret::new(VALUE.repeat(SECRET_BYTES_MAX))).await.unwrap_err(),
        ),
    ];
    // Plain text in place of what should be sealed is not shown either.
    let file = home.path("agents/coder/A");
    let sealed = fs::read(&file).unwrap();
    assert!(!String::from_utf8_lossy(&sealed).contains("CANARY"));
    let headed = [&sealed[..17], VALUE.repeat(9).as_bytes()].concat();
    for content in [VALUE.as_bytes(), &headed, &sealed[..50], &VALUE.repeat(9_999).into_bytes()] {
        fs::write(&file, content).unwrap();
        seen.push(told(&agent.get(&name("A")).await.unwrap_err()));
        seen.push(shown(&vault.redactor().await.unwrap()));
    }
    fs::write(home.path("key"), VALUE).unwrap();
    seen.push(told(&Vault::open(home.home(), &home.world()).await.unwrap_err()));
    vault.forget(&crate::common::agent("coder")).await.unwrap();
    seen.push(told(&agent.set(&name("A"), value).await.unwrap_err()));
    for text in seen {
        assert!(!text.is_empty() && !text.contains("CANARY"), "{text}");
        assert!(!text.contains("5d41402a"), "{text}");
    }
}

#[tokio::test]
async fn rule_12_every_text_is_redacted_of_every_namespace() {
    let home = Home::new();
    let vault = home.vault().await;
    let coder = vault.agent(&crate::common::agent("coder"));
    coder.set(&name("A"), Secret::new("first-value-of-coder")).await.unwrap();
    let family = vault.agent(&crate::common::agent("family"));
    family.set(&name("A"), Secret::new("other-value-of-family")).await.unwrap();
    vault.daemon().set(&name("BOT"), Secret::new("123456:bot-token")).await.unwrap();
    let redaction = vault.redactor().await.unwrap();
    assert!(redaction.unreadable.is_empty());
    let text = "first-value-of-coder other-value-of-family 123456:bot-token";
    assert_eq!(redaction.redactor.redact(text), "[secret] [secret] [secret]");
    // A changed secret needs a new redactor; turns under way keep the one they have.
    coder.set(&name("A"), Secret::new("second-value-of-coder")).await.unwrap();
    let later = vault.redactor().await.unwrap().redactor;
    assert_eq!(later.redact("second-value-of-coder"), "[secret]");
    assert_eq!(Arc::strong_count(&later), 1);
}

#[tokio::test]
async fn one_damaged_secret_does_not_keep_the_others_from_being_redacted() {
    let home = Home::new();
    let vault = home.vault().await;
    let agent = vault.agent(&crate::common::agent("coder"));
    agent.set(&name("BAD"), Secret::new("value-that-is-lost")).await.unwrap();
    agent.set(&name("GOOD"), Secret::new("value-that-is-kept")).await.unwrap();
    fs::write(home.path("agents/coder/BAD"), "junk").unwrap();
    let redaction = vault.redactor().await.unwrap();
    assert_eq!(redaction.redactor.redact("value-that-is-kept"), "[secret]");
    assert_eq!(redaction.unreadable.len(), 1);
    assert!(redaction.unreadable[0].to_string().contains("agents/coder/BAD"));
}
