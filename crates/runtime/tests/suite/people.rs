//! People who speak by tokens, known to a home before it is opened.

use insula_runtime::Home;
use insula_store::{AuditKey, DaemonCommand, Store, StoreOptions};
use insula_world::World;
use serde_json::json;

/// Who they are: whoever says something as `api:<name>`.
const NAMES: &[&str] = &["ann", "bob", "cho", "dan", "eve", "token", "u0", "u1", "u2"];
/// Agents of any test.
const AGENTS: &[&str] = &["a", "b", "c", "coder", "d", "g", "m", "off", "other", "p", "u", "w"];

/// Gives each of them a token with which to talk to all agents.
pub async fn introduce(home: &Home, world: &World) {
    let token = json!({
        "hash": "00".repeat(32),
        "agents": AGENTS,
        "verbs": ["chat"],
        "created": "2026-01-01T00:00:00Z",
    });
    let tokens: serde_json::Map<_, _> =
        NAMES.iter().map(|name| ((*name).to_owned(), token.clone())).collect();
    let (key, _) = AuditKey::load_or_create(&home.audit_key(), &world.random).unwrap();
    let options = StoreOptions::new(home.root(), key);
    let store = Store::open(options, world.clone()).await.unwrap();
    let fence = store.daemon().claim("tests").await.unwrap();
    let value = serde_json::Value::Object(tokens).to_string();
    let put = DaemonCommand::PutValue { key: "tokens".into(), value };
    store.daemon().commit(vec![put], &fence).await.unwrap();
    drop(store);
}
