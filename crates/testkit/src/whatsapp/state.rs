//! The fake's numbers, files and messages.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The longest text that is taken, and the longest beside buttons.
const TEXT_MAX: usize = 4096;
const BESIDE_MAX: usize = 1024;

/// Something that goes wrong, once.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// The connection closes before anything is done.
    Unheard,
    /// It is done, and the connection closes after this many bytes of the answer.
    CutAt(usize),
    /// It is not done: an error of the API.
    Refuse { status: u16, code: i64, retry_after: Option<u64> },
    /// It is not done: something else answers.
    Answer { status: u16, body: String },
}

/// A message of a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub id: String,
    /// The number's id.
    pub number: String,
    pub to: String,
    pub kind: String,
    /// What people see of it.
    pub text: String,
    /// The mark that comes back in statuses.
    pub mark: Option<String>,
    /// All of it.
    pub message: Value,
}

pub(super) struct Number {
    pub(super) display: String,
    pub(super) token: String,
    pub(super) hook: Option<String>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) numbers: BTreeMap<String, Number>,
    pub(super) revoked: BTreeSet<String>,
    /// Whom free text is refused to, and whether at once.
    pub(super) closed: BTreeMap<String, bool>,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) file_url: Option<String>,
    pub(super) troubles: VecDeque<(String, Trouble)>,
    pub(super) sent: Vec<Sent>,
    pub(super) told: Vec<Value>,
    last_id: u64,
}

/// An error of the API: HTTP status, code, words.
pub(super) struct Refusal(pub(super) u16, pub(super) i64, pub(super) &'static str);

impl State {
    pub(super) fn add_number(&mut self, id: &str, display: &str, token: &str) {
        let (display, token) = (display.to_owned(), token.to_owned());
        self.numbers.insert(id.to_owned(), Number { display, token, hook: None });
    }

    pub(super) fn add_file(&mut self, content: &[u8]) -> String {
        self.last_id += 1;
        let id = format!("90{}", self.last_id);
        self.files.insert(id.clone(), content.to_vec());
        id
    }

    /// The number that a token may use, which the path names.
    pub(super) fn may(&self, id: &str, token: &str) -> Result<(), Refusal> {
        let is_good = self.numbers.values().any(|it| it.token == token);
        if !is_good || self.revoked.contains(token) {
            return Err(Refusal(401, 190, "Error validating access token"));
        }
        match self.numbers.get(id) {
            Some(number) if number.token == token => Ok(()),
            _ => Err(Refusal(400, 100, "Object with ID does not exist")),
        }
    }

    pub(super) fn post(&mut self, number: &str, message: &Value) -> Result<Value, Refusal> {
        let bad = |words| Err(Refusal(400, 131_009, words));
        let text = |at: &str| message.pointer(at).and_then(Value::as_str).unwrap_or_default();
        if text("/messaging_product") != "whatsapp" {
            return Err(Refusal(400, 100, "messaging_product"));
        }
        self.told.push(message.clone());
        if text("/status") == "read" {
            return match text("/message_id").is_empty() {
                true => bad("message_id"),
                false => Ok(json!({ "success": true })),
            };
        }
        let to = if text("/to").is_empty() { text("/recipient") } else { text("/to") };
        let kind = text("/type");
        let units = |text: &str| text.encode_utf16().count();
        let seen = match kind {
            "text" => text("/text/body").to_owned(),
            "interactive" => text("/interactive/body/text").to_owned(),
            "template" => text("/template/components/0/parameters/0/text").to_owned(),
            "reaction" => text("/reaction/emoji").to_owned(),
            "image" | "video" | "audio" | "document" => {
                let id = text(&format!("/{kind}/id"));
                if !self.files.contains_key(id) {
                    return Err(Refusal(400, 131_052, "media"));
                }
                text(&format!("/{kind}/caption")).to_owned()
            }
            _ => return Err(Refusal(400, 131_051, "type")),
        };
        let is_button = text("/interactive/type") == "button";
        let beside = if is_button { BESIDE_MAX } else { TEXT_MAX };
        let is_worded = matches!(kind, "text" | "interactive" | "template");
        if to.is_empty() || units(&seen) > beside || (is_worded && seen.trim().is_empty()) {
            return bad("parameter value is not valid");
        }
        if !are_choices(message) || (kind == "template" && seen.contains(['\n', '\t'])) {
            return bad("parameter value is not valid");
        }
        let is_free = !matches!(kind, "template");
        if is_free && self.closed.get(to) == Some(&true) {
            return Err(Refusal(400, 131_047, "Re-engagement message"));
        }
        self.last_id += 1;
        let id = format!("wamid.{}", self.last_id);
        let mark = message.get("biz_opaque_callback_data").and_then(Value::as_str);
        self.sent.push(Sent {
            id: id.clone(),
            number: number.to_owned(),
            to: to.to_owned(),
            kind: kind.to_owned(),
            text: seen,
            mark: mark.map(str::to_owned),
            message: message.clone(),
        });
        Ok(json!({"messaging_product": "whatsapp", "contacts": [{"input": to, "wa_id": to}],
            "messages": [{ "id": id }]}))
    }
}

/// Whether buttons and rows are as many and as short as the platform takes.
fn are_choices(message: &Value) -> bool {
    let list = |at: &str| message.pointer(at).and_then(Value::as_array).cloned();
    let short = |it: &Value, at: &str, most: usize| {
        let said = it.pointer(at).and_then(Value::as_str).unwrap_or_default();
        (1..=most).contains(&said.chars().count())
    };
    if let Some(buttons) = list("/interactive/action/buttons") {
        return (1..=3).contains(&buttons.len())
            && buttons
                .iter()
                .all(|it| short(it, "/reply/title", 20) && short(it, "/reply/id", 256));
    }
    if let Some(rows) = list("/interactive/action/sections/0/rows") {
        return (1..=10).contains(&rows.len())
            && rows.iter().all(|it| short(it, "/title", 24) && short(it, "/id", 200));
    }
    true
}
