//! People who speak by tokens, known to a home before it is opened.

use insula_registry::Home;
use insula_store::{AuditKey, DaemonCommand, Store, StoreOptions};
use insula_world::World;
use serde_json::json;
use std::collections::BTreeSet;

/// Who they are: whoever says something as `api:<name>`.
const NAMES: &[&str] = &["ann", "bob", "cho", "dan", "eve", "token", "u0", "u1", "u2"];
/// Agents that tests add later.
const LATER: &[&str] = &["a", "b", "c", "d"];

/// Whatever could be an agent of a configuration: every name before a colon.
fn agents(config: &str) -> BTreeSet<String> {
    let is_name =
        |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_' || it == '-';
    let before_colon = config.split(':').filter_map(|text| text.rsplit(|it| !is_name(it)).next());
    let names = before_colon.chain(LATER.iter().copied()).map(str::to_owned);
    names.filter(|name| insula_domain::AgentId::new(name.as_str()).is_ok()).collect()
}

/// Gives each of them a token with which to talk to all agents of a home that is not open yet.
pub async fn introduce(files: &insula_testkit::Home, world: &World) {
    let home = Home::new(files.path());
    home.prepare().unwrap();
    let config = files.read("config.yaml").unwrap_or_default();
    let token = json!({
        "hash": "00".repeat(32),
        "agents": agents(&config),
        "verbs": ["chat"],
        "created": "2026-01-01T00:00:00Z",
    });
    let tokens: serde_json::Map<_, _> =
        NAMES.iter().map(|name| ((*name).to_owned(), token.clone())).collect();
    let (key, _) = AuditKey::load_or_create(&home.audit_key(), &world.random).unwrap();
    let options = StoreOptions::new(home.root(), key);
    let store = Store::open(options, world.clone()).await.unwrap();
    let owner = store.claim("tests").await.unwrap();
    let value = serde_json::Value::Object(tokens).to_string();
    let put = DaemonCommand::PutValue { key: "tokens".into(), value };
    owner.daemon().commit(vec![put]).await.unwrap();
    drop(store);
}
