//! What a fake workspace holds, and what it tells about its changes.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// The longest message: what is longer is cut by the real one.
pub(super) const TEXT_CHARS_MAX: usize = 40_000;
/// The longest text of a block.
const SECTION_CHARS_MAX: usize = 3000;
/// Rows of one page of a list.
const PAGE_LEN_MAX: usize = 1000;
/// Requests that are kept.
const REQUESTS_MAX: usize = 2000;
/// Blocks of one message.
const BLOCKS_MAX: usize = 50;

/// What is to go wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It is refused with this error, as Slack refuses.
    Refuse(String),
    /// The same, with the scope that is missing.
    Lacks(String),
    /// 429, and how long to wait.
    Limited(u64),
    /// Something else answers.
    Answer { status: u16, body: String },
    /// It is done, and the connection breaks after so many bytes of the answer.
    CutAt(usize),
    /// The connection breaks before it is read.
    Unheard,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub name: String,
    pub media_type: String,
    pub content: Vec<u8>,
}

/// Something that was told and not acknowledged yet.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub envelope_id: String,
    pub kind: String,
    pub payload: Value,
    /// The socket that it was said by.
    pub by: Option<u64>,
    pub tries: u32,
}

pub(super) struct State {
    pub team: String,
    pub bot_token: String,
    pub app_token: String,
    pub bot_user: String,
    /// Other workspaces that the app is in: their bots' tokens, their names, their bots.
    pub installs: BTreeMap<String, (String, String)>,
    pub bot_id: String,
    pub scopes: Vec<String>,
    pub is_revoked: bool,
    pub users: BTreeMap<String, Value>,
    /// Channels, with who is in them.
    pub channels: BTreeMap<String, Vec<String>>,
    /// Messages by channel and moment, in order.
    pub messages: BTreeMap<(String, String), Value>,
    /// The same, as they were made.
    pub order: Vec<(String, String)>,
    pub files: HashMap<String, Stored>,
    pub statuses: Vec<(String, String, String)>,
    pub responses: Vec<Value>,
    pub requests: Vec<(String, Value)>,
    pub troubles: Vec<(String, Trouble)>,
    /// What every socket of the app shares.
    pub waiting: VecDeque<Waiting>,
    pub told: Vec<Waiting>,
    pub acknowledged: Vec<String>,
    /// Open sockets, by number: what each is to be said besides.
    pub lines: BTreeMap<u64, VecDeque<Out>>,
    pub tickets: Vec<String>,
    /// Messages can't be shown while they are written.
    pub lacks_streams: bool,
    /// The longest page of a list.
    pub page_len: usize,
    pub hides_scopes: bool,
    pub is_deaf: bool,
    pub cut_at: Option<usize>,
    /// Sockets are opened, and nobody says hello.
    pub is_mute: bool,
    pub next_id: u64,
    pub now_micros: i64,
}

/// What goes out by a socket besides events.
#[derive(Debug, Clone)]
pub(super) enum Out {
    Text(String),
    /// The connection ends.
    End,
}

impl State {
    pub fn new(team: &str, tokens: (&str, &str), scopes: &[&str]) -> Self {
        let mut state = Self {
            team: team.to_owned(),
            bot_token: tokens.0.to_owned(),
            app_token: tokens.1.to_owned(),
            bot_user: "U0BOT".to_owned(),
            installs: BTreeMap::new(),
            bot_id: "B0BOT".to_owned(),
            scopes: scopes.iter().map(|it| (*it).to_owned()).collect(),
            is_revoked: false,
            users: BTreeMap::new(),
            channels: BTreeMap::new(),
            messages: BTreeMap::new(),
            order: vec![],
            files: HashMap::new(),
            statuses: vec![],
            responses: vec![],
            requests: vec![],
            troubles: vec![],
            waiting: VecDeque::new(),
            told: vec![],
            acknowledged: vec![],
            lines: BTreeMap::new(),
            tickets: vec![],
            lacks_streams: false,
            page_len: PAGE_LEN_MAX,
            hides_scopes: false,
            is_deaf: false,
            cut_at: None,
            is_mute: false,
            next_id: 0,
            now_micros: 0,
        };
        let bot = json!({"id": "U0BOT", "name": "ada", "real_name": "Ada", "is_bot": true, "profile": {"display_name": ""}});
        state.users.insert("U0BOT".to_owned(), bot);
        state
    }

    /// Keeps what was asked, the last of it.
    pub fn note_request(&mut self, method: &str, about: &Value) {
        if self.requests.len() >= REQUESTS_MAX {
            self.requests.drain(..REQUESTS_MAX / 2);
        }
        self.requests.push((method.to_owned(), about.clone()));
    }

    /// An id as Slack makes them.
    pub fn fresh(&mut self, kind: &str) -> String {
        self.next_id += 1;
        format!("{kind}{:08X}", self.next_id)
    }

    /// A moment that nothing else has, as messages are named.
    pub fn tick(&mut self, now_millis: i64) -> String {
        self.now_micros = (now_millis * 1000).max(self.now_micros + 1);
        format!("{}.{:06}", self.now_micros / 1_000_000, self.now_micros % 1_000_000)
    }

    fn channel_type(channel: &str) -> &'static str {
        match channel.chars().next() {
            Some('D') => "im",
            Some('G') => "mpim",
            _ => "channel",
        }
    }

    /// Something said by anybody, with what is told about it.
    pub fn say(&mut self, now: i64, fields: &Value) -> String {
        let ts = self.tick(now);
        let mut message = json!({ "type": "message", "ts": ts, "team": self.team });
        extend(&mut message, fields);
        let channel = message["channel"].as_str().unwrap_or_default().to_owned();
        let place = (channel.clone(), ts.clone());
        self.messages.insert(place.clone(), message.clone());
        self.order.push(place);
        let mut event = message.clone();
        event["event_ts"] = json!(ts);
        event["channel_type"] = json!(Self::channel_type(&channel));
        let text = event["text"].as_str().unwrap_or_default();
        let mentions = text.contains(&format!("<@{}>", self.bot_user));
        self.tell_event(&event);
        if mentions && !channel.starts_with('D') {
            // The same once more, as the real one does for apps that subscribe to both.
            event["type"] = json!("app_mention");
            if let Some(event) = event.as_object_mut() {
                event.remove("channel_type");
                event.remove("subtype");
            }
            self.tell_event(&event);
        }
        ts
    }

    /// Tells the app of an event, wrapped as it is.
    pub fn tell_event(&mut self, event: &Value) {
        let payload = self.callback(event);
        self.tell("events_api", payload);
    }

    pub fn callback(&mut self, event: &Value) -> Value {
        let event_id = self.fresh("Ev");
        json!({
            "token": "deprecated", "team_id": self.team, "api_app_id": "A0APP", "event": event,
            "type": "event_callback", "event_id": event_id,
            "event_time": self.now_micros / 1_000_000,
            "authorizations": [{
                "enterprise_id": null, "team_id": self.team, "user_id": self.bot_user,
                "is_bot": true, "is_enterprise_install": false,
            }],
            "is_ext_shared_channel": false, "event_context": "4-x",
        })
    }

    pub fn tell(&mut self, kind: &str, payload: Value) {
        let envelope_id = self.fresh("env-");
        let waiting = Waiting { envelope_id, kind: kind.to_owned(), payload, by: None, tries: 0 };
        self.told.push(waiting.clone());
        self.waiting.push_back(waiting);
    }

    /// Changes a message, and tells of it.
    pub fn edit(&mut self, now: i64, (channel, ts): (&str, &str), fields: &Value, is_edit: bool) {
        let at = self.tick(now);
        let place = (channel.to_owned(), ts.to_owned());
        let Some(message) = self.messages.get_mut(&place) else { return };
        let before = message.clone();
        extend(message, fields);
        if is_edit {
            let user = message["user"].clone();
            message["edited"] = json!({ "user": user, "ts": at });
        }
        let message = message.clone();
        self.tell_event(&json!({
            "type": "message", "subtype": "message_changed", "hidden": true, "channel": channel,
            "message": message, "previous_message": before, "ts": at, "event_ts": at,
            "channel_type": Self::channel_type(channel),
        }));
    }

    pub fn delete(&mut self, now: i64, (channel, ts): (&str, &str)) {
        let at = self.tick(now);
        let place = (channel.to_owned(), ts.to_owned());
        let Some(before) = self.messages.remove(&place) else { return };
        self.tell_event(&json!({
            "type": "message", "subtype": "message_deleted", "hidden": true, "channel": channel,
            "deleted_ts": ts, "previous_message": before, "ts": at, "event_ts": at,
            "channel_type": Self::channel_type(channel),
        }));
    }

    /// What is next for a socket: what it is told alone, or what waits for any of them.
    pub fn next_for(&mut self, line: u64) -> Option<Out> {
        if let Some(out) = self.lines.get_mut(&line)?.pop_front() {
            return Some(out);
        }
        // What another socket was told is not overtaken by this one.
        let waiting = self.waiting.iter_mut().find(|it| it.by != Some(line))?;
        if waiting.by.is_some() {
            return None;
        }
        waiting.by = Some(line);
        waiting.tries += 1;
        let mut frame = json!({
            "envelope_id": waiting.envelope_id, "type": waiting.kind, "payload": waiting.payload,
            "accepts_response_payload": waiting.kind != "events_api",
        });
        if waiting.kind == "events_api" {
            frame["retry_attempt"] = json!(waiting.tries - 1);
            frame["retry_reason"] = json!(if waiting.tries > 1 { "timeout" } else { "" });
        }
        Some(Out::Text(frame.to_string()))
    }

    pub fn acknowledge(&mut self, envelope_id: &str) {
        self.waiting.retain(|it| it.envelope_id != envelope_id);
        self.acknowledged.push(envelope_id.to_owned());
    }

    /// A socket is gone: what it did not acknowledge waits for another.
    pub fn leave(&mut self, line: u64) {
        self.lines.remove(&line);
        for waiting in self.waiting.iter_mut().filter(|it| it.by == Some(line)) {
            waiting.by = None;
        }
    }

    /// What the real one would say of blocks.
    pub fn judge_blocks(blocks: &Value) -> Result<(), &'static str> {
        let Some(blocks) = blocks.as_array() else { return Err("invalid_blocks_format") };
        let is_good = |block: &Value| {
            let text = block["text"]["text"].as_str().unwrap_or_default();
            match block["type"].as_str() {
                Some("section") => (1..=SECTION_CHARS_MAX).contains(&text.chars().count()),
                Some("actions") => {
                    let elements = block["elements"].as_array().map_or(&[][..], Vec::as_slice);
                    let fits = |it: &Value| {
                        let len =
                            |at: &str| it.pointer(at).and_then(Value::as_str).map_or(0, str::len);
                        len("/value") <= 2000
                            && len("/text/text") <= 300
                            && len("/action_id") <= 255
                    };
                    (1..=25).contains(&elements.len()) && elements.iter().all(fits)
                }
                _ => true,
            }
        };
        if blocks.len() > BLOCKS_MAX {
            return Err("msg_blocks_too_long");
        }
        if blocks.iter().all(is_good) { Ok(()) } else { Err("invalid_blocks") }
    }
}

pub(super) fn extend(value: &mut Value, fields: &Value) {
    if let (Some(value), Some(fields)) = (value.as_object_mut(), fields.as_object()) {
        value.extend(fields.clone().into_iter().collect::<Map<_, _>>());
    }
}
