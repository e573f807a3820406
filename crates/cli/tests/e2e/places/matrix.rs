//! A Matrix homeserver, just enough of one: rooms of one person and us, without encryption.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use super::{Place, runtime};
use insula_testkit::upstream::{Seen, Step, Upstream, answer};
use insula_world::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

const TOKEN: &str = "matrix-token";
const US: &str = "@bot:localhost";

#[derive(Default)]
struct State {
    /// What was said, in order: the room, and the event.
    events: Vec<(String, Value)>,
    rooms: usize,
    /// Our messages, by room.
    ours: BTreeMap<String, Vec<String>>,
    /// What was sent under which key.
    keys: Vec<String>,
    /// Who waits for something to be said.
    waiting: Vec<Arc<Notify>>,
}

impl State {
    /// What is said next behind a position, or what to wait for.
    fn sync(&self, from: usize) -> Value {
        let mut rooms: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for (room, event) in &self.events[from.min(self.events.len())..] {
            rooms.entry(room).or_default().push(event);
        }
        let joined: BTreeMap<&str, Value> = rooms
            .into_iter()
            .map(|(room, events)| (room, json!({ "timeline": { "events": events } })))
            .collect();
        json!({ "next_batch": format!("s{}", self.events.len()), "rooms": { "join": joined } })
    }

    fn send(&mut self, room: &str, key: &str, content: &Value) {
        if self.keys.iter().any(|known| known == key) {
            return;
        }
        self.keys.push(key.to_owned());
        let edited = content.pointer("/m.new_content/body").and_then(Value::as_str);
        let said = self.ours.entry(room.to_owned()).or_default();
        match (edited, content["body"].as_str()) {
            (Some(text), _) => {
                said.pop();
                said.push(text.to_owned());
            }
            (None, Some(text)) => said.push(text.to_owned()),
            (None, None) => {}
        }
    }
}

pub struct Matrix {
    server: Upstream,
    state: Arc<Mutex<State>>,
    _runtime: Runtime,
}

fn ok(value: &Value) -> Vec<Step> {
    vec![answer(200, &[("content-type", "application/json")], &value.to_string())]
}

fn respond(state: &Mutex<State>, seen: &Seen) -> Vec<Step> {
    let (method, target) = seen.line.split_once(' ').unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let mut state = state.lock().unwrap();
    match (method, parts.as_slice()) {
        ("GET", [.., "whoami"]) => ok(&json!({ "user_id": US, "device_id": "D" })),
        ("GET", [.., "displayname"]) => ok(&json!({ "displayname": "Bot" })),
        ("GET", [.., "capabilities"]) => ok(&json!({ "capabilities": {} })),
        ("GET", [.., "joined_members"]) => {
            ok(&json!({ "joined": { US: {}, "@ann:localhost": {} } }))
        }
        ("GET", [.., "sync"]) => {
            let since = query.split('&').find_map(|part| part.strip_prefix("since=s"));
            let from = since.and_then(|at| at.parse().ok()).unwrap_or(state.events.len());
            if since.is_some() && from == state.events.len() {
                let more = Arc::new(Notify::new());
                state.waiting.push(more.clone());
                let nothing = json!({ "next_batch": format!("s{from}") });
                return [vec![Step::Wait(more)], ok(&nothing)].concat();
            }
            ok(&state.sync(from))
        }
        ("PUT", [.., "rooms", room, "send", "m.room.message", key]) => {
            let room = room.replace("%21", "!").replace("%3A", ":");
            state.send(&room, key, &seen.json());
            ok(&json!({ "event_id": format!("$ours{}", state.keys.len()) }))
        }
        ("PUT", [.., "typing", _]) | ("POST", [.., "receipt", _, _]) => ok(&json!({})),
        _ => vec![answer(404, &[], r#"{"errcode":"M_NOT_FOUND","error":"no"}"#)],
    }
}

impl Matrix {
    pub fn start() -> Self {
        let (runtime, world) = (runtime(), World::real().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let serving = state.clone();
        let script = move |seen: &Seen, _: usize| respond(&serving, seen);
        let server = runtime.block_on(Upstream::start(&world, script)).unwrap();
        Self { server, state, _runtime: runtime }
    }
}

impl Place for Matrix {
    fn name(&self) -> &'static str {
        "matrix"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["/send/m.room.message/"]
    }

    fn url(&self) -> String {
        self.server.url("").trim_end_matches('/').to_owned()
    }

    fn account(&self, url: &str) -> String {
        format!("{{homeserver: '{url}', user: '{US}', token: '{TOKEN}'}}")
    }

    fn chat(&self) -> String {
        let mut state = self.state.lock().unwrap();
        state.rooms += 1;
        format!("!r{}:localhost", state.rooms)
    }

    fn say(&self, chat: &str, text: &str) {
        let mut state = self.state.lock().unwrap();
        let event = json!({
            "type": "m.room.message", "event_id": format!("${}", state.events.len()),
            "sender": "@ann:localhost", "origin_server_ts": 1,
            "content": { "msgtype": "m.text", "body": text },
        });
        state.events.push((chat.to_owned(), event));
        state.waiting.drain(..).for_each(|waiting| waiting.notify_one());
    }

    fn texts(&self, chat: &str) -> Vec<String> {
        self.state.lock().unwrap().ours.get(chat).cloned().unwrap_or_default()
    }
}
