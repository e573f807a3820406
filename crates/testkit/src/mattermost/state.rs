//! What a fake server holds, and what it tells about its changes.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use tokio::sync::mpsc;

/// Events that a connection is kept, as by the real one.
const KEPT: usize = 128;
/// How long a key is recognised.
const KEY_LASTS_MS: i64 = 30_000;
/// The longest message.
pub const TEXT_CHARS_MAX: usize = 16_383;

/// What is to go wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It is refused with this.
    Refuse { status: u16, id: String, reset: Option<u64> },
    /// Something else answers.
    Answer { status: u16, body: String },
    /// It is done, and the connection breaks after so many bytes of the answer.
    CutAt(usize),
    /// The connection breaks before it is read.
    Unheard,
}

/// A connection of somebody's, also while nobody is there.
pub(super) struct Line {
    pub user: String,
    pub next: u64,
    pub kept: VecDeque<(u64, String)>,
    pub live: Option<mpsc::UnboundedSender<String>>,
}

#[derive(Default)]
pub(super) struct State {
    pub users: BTreeMap<String, Value>,
    /// Whose a token is.
    pub tokens: HashMap<String, String>,
    pub channels: BTreeMap<String, Value>,
    pub members: BTreeMap<String, Vec<String>>,
    pub posts: BTreeMap<String, Value>,
    /// Posts in the order they were made.
    pub order: Vec<String>,
    pub files: HashMap<String, (String, String, Vec<u8>)>,
    pub lines: HashMap<String, Line>,
    /// Keys, with their messages and when they were made.
    pub keys: HashMap<String, (String, i64)>,
    pub troubles: Vec<(String, Trouble)>,
    pub requests: Vec<(String, Value)>,
    /// Who is shown typing where.
    pub typing: Vec<(String, String)>,
    pub next_id: u64,
    pub now: i64,
    /// Sockets are open, and nothing goes by them.
    pub is_deaf: bool,
    /// The next event is cut after so many bytes, and its connection with it.
    pub cut_at: Option<usize>,
}

/// What the real one calls a refusal.
pub(super) struct Refusal {
    pub status: u16,
    pub id: &'static str,
    pub message: &'static str,
}

pub(super) fn refusal(status: u16, id: &'static str, message: &'static str) -> Refusal {
    Refusal { status, id, message }
}

impl State {
    /// An id as the server makes them: 26 letters and digits.
    pub fn fresh(&mut self, kind: char) -> String {
        self.next_id += 1;
        format!("{kind}{:025}", self.next_id)
    }

    /// A moment that no other change had.
    pub fn tick(&mut self, now: i64) -> i64 {
        self.now = now.max(self.now + 1);
        self.now
    }

    pub fn is_member(&self, channel: &str, user: &str) -> bool {
        self.members.get(channel).is_some_and(|members| members.iter().any(|it| it == user))
    }

    /// A post as clients get it: without what integrations alone know.
    pub fn shown(&self, id: &str) -> Value {
        let mut post = self.posts.get(id).cloned().unwrap_or_default();
        let cards = post.pointer_mut("/props/attachments").and_then(Value::as_array_mut);
        for card in cards.into_iter().flatten() {
            let actions = card.get_mut("actions").and_then(Value::as_array_mut);
            for action in actions.into_iter().flatten() {
                action.as_object_mut().map(|action| action.remove("integration"));
            }
        }
        post
    }

    /// Tells everybody in a channel, or one person, that something happened.
    pub fn tell(&mut self, event: &str, channel: &str, only: Option<&str>, data: &Value) {
        let broadcast = json!({
            "omit_users": null, "user_id": only.unwrap_or_default(), "channel_id": channel,
            "team_id": "", "connection_id": "",
        });
        let members = self.members.get(channel).cloned().unwrap_or_default();
        let is_for = |user: &str| match only {
            Some(only) => only == user,
            None => members.iter().any(|member| member == user),
        };
        for line in self.lines.values_mut().filter(|line| is_for(&line.user)) {
            line.put(
                |seq| json!({ "event": event, "data": data, "broadcast": broadcast, "seq": seq }),
            );
        }
    }

    /// Makes a post of these fields, and tells of it.
    pub fn post(&mut self, now: i64, fields: &Value) -> String {
        let id = self.fresh('p');
        let at = self.tick(now);
        let mut post = json!({
            "id": id, "create_at": at, "update_at": at, "edit_at": 0, "delete_at": 0,
            "is_pinned": false, "root_id": "", "original_id": "", "message": "", "type": "",
            "props": {}, "hashtags": "", "file_ids": [], "pending_post_id": "",
            "metadata": {},
        });
        merge(&mut post, fields);
        let ids = post["file_ids"].as_array().cloned().unwrap_or_default();
        let infos: Vec<Value> = ids.iter().filter_map(|id| self.info(id.as_str()?)).collect();
        if !infos.is_empty() {
            post["metadata"] = json!({ "files": infos });
        }
        let channel = post["channel_id"].as_str().unwrap_or_default().to_owned();
        let author = post["user_id"].as_str().unwrap_or_default().to_owned();
        self.posts.insert(id.clone(), post);
        self.order.push(id.clone());
        if let Some(channel) = self.channels.get_mut(&channel) {
            channel["last_post_at"] = at.into();
        }
        let shown = self.shown(&id);
        let name = self.users.get(&author).map(|user| user["username"].clone()).unwrap_or_default();
        let about = self.channels.get(&channel).cloned().unwrap_or_default();
        let data = json!({
            "channel_display_name": about["display_name"], "channel_name": about["name"],
            "channel_type": about["type"], "team_id": about["team_id"], "set_online": true,
            "sender_name": format!("@{}", name.as_str().unwrap_or_default()),
            "post": shown.to_string(), "mentions": "[]",
        });
        self.tell("posted", &channel, None, &data);
        id
    }

    pub fn info(&self, id: &str) -> Option<Value> {
        let (name, mime, content) = self.files.get(id)?;
        Some(json!({
            "id": id, "name": name, "extension": "bin", "size": content.len(), "mime_type": mime,
        }))
    }

    /// Changes a post, and tells of it.
    pub fn change(&mut self, now: i64, id: &str, fields: &Value) {
        let at = self.tick(now);
        let Some(post) = self.posts.get_mut(id) else { return };
        merge(post, fields);
        post["update_at"] = at.into();
        post["edit_at"] = at.into();
        let channel = post["channel_id"].as_str().unwrap_or_default().to_owned();
        let data = json!({ "post": self.shown(id).to_string() });
        self.tell("post_edited", &channel, None, &data);
    }

    pub fn delete(&mut self, now: i64, id: &str) {
        let at = self.tick(now);
        let Some(post) = self.posts.get_mut(id) else { return };
        let channel = post["channel_id"].as_str().unwrap_or_default().to_owned();
        let data = json!({ "post": post.to_string(), "delete_by": post["user_id"] });
        post["delete_at"] = at.into();
        post["update_at"] = at.into();
        self.tell("post_deleted", &channel, None, &data);
    }

    pub fn react(&mut self, now: i64, (user, post, name): (&str, &str, &str), on: bool) -> Value {
        let at = self.tick(now);
        let channel = self.posts.get(post).map(|post| post["channel_id"].clone());
        let channel = channel.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        let made = {
            let all = self.posts.get_mut(post).map(|post| &mut post["metadata"]["reactions"]);
            let mut before = None;
            if let Some(all) = all {
                let is_it = |it: &Value| it["user_id"] == user && it["emoji_name"] == name;
                let list = all.as_array().cloned().unwrap_or_default();
                before = list.iter().find(|it| is_it(it)).cloned();
                let mut list: Vec<Value> = list.into_iter().filter(|it| !is_it(it)).collect();
                let made = before.clone().unwrap_or_else(|| {
                    json!({
                        "user_id": user, "post_id": post, "emoji_name": name, "create_at": at,
                        "update_at": at, "delete_at": 0, "channel_id": channel,
                    })
                });
                if on {
                    list.push(made.clone());
                }
                *all = list.into();
                before = Some(made);
            }
            before.unwrap_or_default()
        };
        let event = if on { "reaction_added" } else { "reaction_removed" };
        self.tell(event, &channel, None, &json!({ "reaction": made.to_string() }));
        made
    }

    /// The message of a key that is still recognised.
    pub fn known_key(&self, key: &str, now: i64) -> Option<String> {
        let (id, at) = self.keys.get(key)?;
        (now - at < KEY_LASTS_MS).then(|| id.clone())
    }
}

impl Line {
    /// Puts an event into the line, under its number.
    pub fn put(&mut self, event: impl FnOnce(u64) -> Value) {
        let text = event(self.next).to_string();
        self.kept.push_back((self.next, text.clone()));
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
        self.next += 1;
        if let Some(live) = &self.live
            && live.send(text).is_err()
        {
            self.live = None;
        }
    }
}

/// Puts fields over others.
pub(super) fn merge(into: &mut Value, fields: &Value) {
    let none = Map::new();
    for (key, value) in fields.as_object().unwrap_or(&none) {
        into[key] = value.clone();
    }
}
