//! Every answer is read strictly: JSON that says a key twice means one thing to one reader and
//! another to the next.

use crate::scene::Scene;
use insula_testkit::world;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;

/// What an answer says; nothing where it is no JSON. It fails where a key stands twice.
pub fn parsed(call: &str, bytes: &[u8]) -> Value {
    let Ok(value) = serde_json::from_slice(bytes) else { return Value::Null };
    let strict = serde_json::from_slice::<Strict>(bytes);
    assert!(strict.is_ok(), "{call}: {}", strict.unwrap_err());
    value
}

/// JSON in which no object has a key twice.
#[derive(Debug)]
struct Strict;

impl<'de> serde::Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Strict;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_str<E>(self, _: &str) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Strict, A::Error> {
        while all.next_element::<Strict>()?.is_some() {}
        Ok(Strict)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Strict, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = all.next_key::<String>()? {
            all.next_value::<Strict>()?;
            if keys.contains(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands there twice")));
            }
            keys.insert(key);
        }
        Ok(Strict)
    }
}

#[test]
fn a_key_that_stands_twice_is_found_at_any_depth() {
    for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":[],"a":null}}]"#] {
        assert!(serde_json::from_str::<Strict>(text).is_err(), "{text}");
    }
    assert!(serde_json::from_str::<Strict>(r#"{"a":{"a":[1,-1,0.5,"x",true,null]}}"#).is_ok());
}

#[tokio::test]
async fn no_answer_of_any_route_says_a_key_twice() {
    let (world, _handles) = world(7);
    let config = "agents:\n  a: {tools: [todo], memory: true}\n  b: {tools: []}\nboards:\n  work: {agents: {a: work}}\n";
    let scene = Scene::new(&world, config, |_| {}).await;
    let said = json!({ "session": "s", "text": "hello" });
    let heard = scene.answer(&scene.admin_token(), "POST /api/agents/a/messages", &said).await;
    axum::body::to_bytes(heard.into_body(), usize::MAX).await.unwrap();
    scene.done("POST /api/boards/work/cards", json!({ "title": "one" })).await;
    let described = scene.done("GET /api/openapi.json", Value::Null).await;
    let paths = described["paths"].as_object().unwrap();
    let places =
        [("{id}", "a"), ("{turn}", "1"), ("{session}", "1"), ("{board}", "work"), ("{card}", "1")];
    let chat = scene.token("a", &["chat"]).await;
    let read = scene.token("a", &["read"]).await;
    let mut answered = 0;
    for (path, verbs) in paths {
        let is_stream =
            verbs["get"]["responses"]["200"]["content"]["text/event-stream"].is_object();
        if verbs.get("get").is_none() || is_stream {
            continue;
        }
        let path = places.iter().fold(path.clone(), |path, (name, is)| path.replace(name, is));
        let call = format!("GET {path}");
        for token in [&scene.admin_token(), &chat, &read] {
            let (status, said) = scene.ask(token, &call, Value::Null).await;
            answered += usize::from(status.is_success() && !said.is_null());
        }
    }
    assert!(answered > 60, "{answered} answers were looked at");
    // What an agent remembers is told by one key, to whoever may only talk as well.
    for token in [&chat, &read] {
        let (_, me) = scene.ask(token, "GET /api/me", Value::Null).await;
        assert_eq!(me["agents"][0]["memory"], json!(true), "{me}");
    }
    scene.daemon.close().await.unwrap();
}
