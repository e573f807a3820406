//! What the fake platform does for a bot, and what it refuses as the real one does.

use super::html::visible;
use super::state::{Chat, ChatKey, Sent, State, Webhook};
use serde_json::{Map, Value, json};

const TEXT_UNITS_MAX: usize = 4096;
const CAPTION_UNITS_MAX: usize = 1024;
const BUTTON_BYTES_MAX: usize = 64;

/// A request of a bot.
pub(super) struct Request {
    pub(super) token: String,
    pub(super) method: String,
    pub(super) arguments: Map<String, Value>,
    /// Name and content.
    pub(super) file: Option<(String, Vec<u8>)>,
}

/// An error of the API.
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) description: String,
    pub(super) parameters: Value,
}

impl Refusal {
    pub(super) fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), parameters: Value::Null }
    }

    pub(super) fn body(&self) -> String {
        let mut body =
            json!({"ok": false, "error_code": self.code, "description": self.description});
        if !self.parameters.is_null() {
            body["parameters"] = self.parameters.clone();
        }
        body.to_string()
    }
}

fn bad(description: &str) -> Refusal {
    Refusal::new(400, format!("Bad Request: {description}"))
}

impl Request {
    fn number(&self, name: &str) -> Option<i64> {
        let value = self.arguments.get(name)?;
        value.as_i64().or_else(|| value.as_str()?.parse().ok())
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name)?.as_str()
    }

    /// An argument that is an object, or a text that is one, as in a form.
    fn object(&self, name: &str) -> Value {
        match self.arguments.get(name) {
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
            Some(value) => value.clone(),
            None => Value::Null,
        }
    }
}

impl State {
    /// Everything but `getUpdates`, which waits.
    pub(super) fn perform(&mut self, request: &Request) -> Result<Value, Refusal> {
        let Some(bot) = self.bots.get_mut(&request.token) else {
            return Err(Refusal::new(404, "Not Found"));
        };
        match request.method.as_str() {
            "getMe" => Ok(json!({
                "id": bot.id, "is_bot": true, "first_name": bot.username,
                "username": bot.username, "can_join_groups": bot.can_join,
                "can_read_all_group_messages": bot.reads_all,
            })),
            "getWebhookInfo" => {
                let url = bot.webhook.as_ref().map_or("", |webhook| webhook.url.as_str());
                Ok(json!({"url": url, "pending_update_count": bot.pending.len()}))
            }
            "deleteWebhook" => {
                bot.webhook = None;
                bot.webhook_generation += 1;
                Ok(json!(true))
            }
            "setWebhook" => {
                let url = request.text("url").unwrap_or_default().to_owned();
                let secret = request.text("secret_token").unwrap_or_default().to_owned();
                bot.webhook = (!url.is_empty()).then_some(Webhook { url, secret });
                bot.webhook_generation += 1;
                Ok(json!(true))
            }
            "setMyCommands" => {
                bot.commands = request.object("commands");
                Ok(json!(true))
            }
            "answerCallbackQuery" => Ok(json!(true)),
            "getFile" => self.file(request),
            "sendChatAction" => self.place(request).map(|_| json!(true)),
            "sendMessage" => self.send(request, "text", TEXT_UNITS_MAX),
            "sendVoice" if !is_voice(request) => Err(bad("wrong type of the voice message")),
            "sendPhoto" | "sendVoice" | "sendDocument" => {
                self.send(request, "caption", CAPTION_UNITS_MAX)
            }
            "editMessageText" => self.change(request, "text", TEXT_UNITS_MAX),
            "editMessageCaption" => self.change(request, "caption", CAPTION_UNITS_MAX),
            _ => Err(Refusal::new(404, "Not Found: method not found")),
        }
    }

    fn file(&self, request: &Request) -> Result<Value, Refusal> {
        let handle = request.text("file_id").unwrap_or_default();
        let content = self.files.get(handle).ok_or_else(|| bad("wrong file_id"))?;
        let path = format!("documents/{handle}");
        Ok(json!({"file_id": handle, "file_size": content.len(), "file_path": path}))
    }

    /// The chat a request is for, if the bot may speak there.
    fn place(&mut self, request: &Request) -> Result<&mut Chat, Refusal> {
        let id = request.number("chat_id").ok_or_else(|| bad("chat_id is empty"))?;
        let key = if id > 0 {
            ChatKey::Private { token: request.token.clone(), user: id }
        } else {
            ChatKey::Shared(id)
        };
        let chat = self.chats.get_mut(&key).ok_or_else(|| bad("chat not found"))?;
        if let Some(new) = chat.moved_to {
            let mut refusal = bad("group chat was upgraded to a supergroup chat");
            refusal.parameters = json!({"migrate_to_chat_id": new});
            return Err(refusal);
        }
        if !chat.bots.contains(&request.token) {
            return Err(Refusal::new(403, "Forbidden: bot was kicked from the group chat"));
        }
        let topic = request.number("message_thread_id");
        let is_typing = request.method == "sendChatAction";
        let is_there = |topic: i64| chat.topics.contains(&topic) || (is_typing && topic == 1);
        if !topic.is_none_or(is_there) {
            return Err(bad("message thread not found"));
        }
        Ok(chat)
    }

    fn send(&mut self, request: &Request, key: &str, units_max: usize) -> Result<Value, Refusal> {
        let text = words(request, key, units_max)?;
        if key == "text" && text.trim().is_empty() {
            return Err(bad("message text is empty"));
        }
        if key == "caption" && request.file.as_ref().is_none_or(|(_, content)| content.is_empty()) {
            return Err(bad("file must be non-empty"));
        }
        let buttons = buttons(request)?;
        let bot = &self.bots[&request.token];
        let (username, bot) = (
            bot.username.clone(),
            json!({"id": bot.id, "is_bot": true, "first_name": bot.username}),
        );
        let now = self.now;
        let chat = self.place(request)?;
        let reply = request.object("reply_parameters");
        let wanted = reply["message_id"].as_i64();
        let reply_to = wanted.filter(|id| chat.messages.contains_key(id));
        if wanted.is_some() && reply_to.is_none() && reply["allow_sending_without_reply"] != true {
            return Err(bad("message to be replied not found"));
        }
        let id = chat.next_id();
        let topic = request.number("message_thread_id");
        let mut message =
            json!({"message_id": id, "date": now, "chat": chat.json(), "from": bot, key: text});
        if let Some(topic) = topic {
            message["message_thread_id"] = json!(topic);
            message["is_topic_message"] = json!(true);
        }
        chat.messages.insert(id, message.clone());
        let sent = Sent {
            bot: username,
            method: request.method.clone(),
            chat: chat.id,
            topic,
            message: id,
            text,
            arguments: request.arguments.clone(),
            reply_to,
            buttons,
            file: request.file.clone(),
            edits: 0,
        };
        self.sent.push(sent);
        Ok(message)
    }

    fn change(&mut self, request: &Request, key: &str, units_max: usize) -> Result<Value, Refusal> {
        let text = words(request, key, units_max)?;
        let buttons = buttons(request)?;
        let id = request
            .number("message_id")
            .ok_or_else(|| bad("message identifier is not specified"))?;
        let username = self.bots[&request.token].username.clone();
        let chat = self.place(request)?;
        let chat_id = chat.id;
        let message = chat.messages.get_mut(&id).ok_or_else(|| bad("message to edit not found"))?;
        if message.get(key).is_none() {
            return Err(bad(&format!("there is no {key} in the message to edit")));
        }
        message[key] = json!(text);
        let message = message.clone();
        let sent = self
            .sent
            .iter_mut()
            .find(|sent| sent.bot == username && sent.chat == chat_id && sent.message == id);
        let sent = sent.ok_or_else(|| bad("message can't be edited"))?;
        if sent.text == text && sent.buttons == buttons {
            return Err(bad(
                "message is not modified: specified new message content and reply markup are \
                 exactly the same as a current content and reply markup of the message",
            ));
        }
        sent.text = text;
        sent.buttons = buttons;
        sent.arguments = request.arguments.clone();
        sent.edits += 1;
        Ok(message)
    }
}

/// The text of a request as people see it, if the platform takes it.
fn words(request: &Request, key: &str, units_max: usize) -> Result<String, Refusal> {
    let text = request.text(key).unwrap_or_default();
    let seen = match request.text("parse_mode") {
        Some("HTML") => {
            visible(text).map_err(|why| bad(&format!("can't parse entities: {why}")))?
        }
        Some(other) => return Err(bad(&format!("unsupported parse_mode {other}"))),
        None => text.to_owned(),
    };
    if seen.encode_utf16().count() > units_max {
        return Err(bad(&format!("message {key} is too long")));
    }
    Ok(seen)
}

fn buttons(request: &Request) -> Result<Vec<(String, String)>, Refusal> {
    let markup = request.object("reply_markup");
    let rows = markup["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let mut found = vec![];
    for button in rows.iter().filter_map(Value::as_array).flatten() {
        let text = |name: &str| button[name].as_str().unwrap_or_default().to_owned();
        let (label, data) = (text("text"), text("callback_data"));
        if label.is_empty() || data.is_empty() || data.len() > BUTTON_BYTES_MAX {
            return Err(bad("BUTTON_DATA_INVALID"));
        }
        found.push((label, data));
    }
    Ok(found)
}

/// Whether what is sent is what the platform shows as a voice memo: Opus in Ogg, MP3 or MPEG-4.
fn is_voice(request: &Request) -> bool {
    let content = request.file.as_ref().map(|(_, content)| content.as_slice());
    content.is_some_and(|content| {
        content.starts_with(b"OggS")
            || content.starts_with(b"ID3")
            || content.get(4..8) == Some(b"ftyp")
    })
}
