//! The fake platform's bots, chats and files, and what people do there.

use super::draft::{Draft, User, entities};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use tokio::sync::Notify;

/// The user whose name anonymous admins go by, in every chat of the platform.
const ANONYMOUS_BOT: i64 = 1_087_968_824;

/// Where something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where<'a> {
    /// Between a user and the bot of this token.
    Dm(&'a str),
    /// In a group, a channel, or the General topic of a forum.
    Chat(i64),
    /// In a topic of a forum.
    Topic(i64, i64),
}

/// Something that goes wrong, once.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// It is done when somebody says so.
    Wait(Arc<Notify>),
    /// The connection closes before anything is done.
    Unheard,
    /// It is done, and the connection closes after this many bytes of the answer.
    CutAt(usize),
    /// It is done, and there is no answer.
    Silence,
    /// It is not done: an error of the API.
    Refuse {
        /// The status.
        code: u16,
        /// The words.
        description: String,
        /// Seconds to wait.
        retry_after: Option<u64>,
    },
    /// It is not done: something else answers.
    Answer { status: u16, body: String },
}

/// A message of a bot, as it reads now.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// The bot's name.
    pub bot: String,
    pub method: String,
    /// The chat; in a direct message, the user.
    pub chat: i64,
    pub topic: Option<i64>,
    /// Its id.
    pub message: i64,
    /// What people see.
    pub text: String,
    /// The arguments, files left out; of the last change if it was changed.
    pub arguments: Map<String, Value>,
    /// The message it replies to.
    pub reply_to: Option<i64>,
    /// Labels and data of the buttons.
    pub buttons: Vec<(String, String)>,
    /// Name and content of the file.
    pub file: Option<(String, Vec<u8>)>,
    /// How often it was changed.
    pub edits: usize,
}

pub(super) struct Webhook {
    pub(super) url: String,
    pub(super) secret: String,
}

pub(super) struct Bot {
    pub(super) id: i64,
    pub(super) username: String,
    pub(super) is_revoked: bool,
    pub(super) reads_all: bool,
    pub(super) can_join: bool,
    pub(super) pending: VecDeque<(i64, String)>,
    pub(super) past: Vec<(i64, String)>,
    /// What is to come again and was not given since: a question that was on its way when that
    /// was decided does not acknowledge it.
    pub(super) again: BTreeSet<i64>,
    pub(super) next_update: i64,
    pub(super) webhook: Option<Webhook>,
    /// Changes with every setting of the webhook.
    pub(super) webhook_generation: u64,
    /// Changes with every question for updates.
    pub(super) poll: u64,
    pub(super) commands: Value,
    /// The method, the chat if only requests about one go wrong, and what happens.
    pub(super) troubles: VecDeque<(String, Option<i64>, Trouble)>,
}

impl Bot {
    fn push(&mut self, kind: &str, body: &Value) {
        let id = self.next_update;
        self.next_update += 1;
        self.pending.push_back((id, json!({"update_id": id, kind: body}).to_string()));
    }
}

/// A direct message is a chat between one bot and one user; its id is the user's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChatKey {
    Private { token: String, user: i64 },
    Shared(i64),
}

pub(super) struct Chat {
    pub(super) id: i64,
    pub(super) kind: &'static str,
    pub(super) title: String,
    pub(super) is_forum: bool,
    pub(super) topics: BTreeSet<i64>,
    pub(super) bots: BTreeSet<String>,
    pub(super) next_message: i64,
    /// Everything there, by id.
    pub(super) messages: BTreeMap<i64, Value>,
    /// The chat this one became.
    pub(super) moved_to: Option<i64>,
}

impl Chat {
    fn new(id: i64, kind: &'static str, title: &str) -> Self {
        Self {
            id,
            kind,
            title: title.to_owned(),
            is_forum: false,
            topics: BTreeSet::new(),
            bots: BTreeSet::new(),
            next_message: 1,
            messages: BTreeMap::new(),
            moved_to: None,
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut chat = json!({"id": self.id, "type": self.kind});
        if self.kind != "private" {
            chat["title"] = json!(self.title);
        }
        if self.is_forum {
            chat["is_forum"] = json!(true);
        }
        chat
    }

    pub(super) fn next_id(&mut self) -> i64 {
        self.next_message += 1;
        self.next_message - 1
    }
}

#[derive(Default)]
pub(super) struct State {
    pub(super) bots: BTreeMap<String, Bot>,
    pub(super) chats: BTreeMap<ChatKey, Chat>,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) sent: Vec<Sent>,
    /// Bot, method, arguments.
    pub(super) requests: Vec<(String, String, Map<String, Value>)>,
    /// Seconds since the epoch.
    pub(super) now: i64,
    next_callback: u64,
}

impl State {
    pub(super) fn add_bot(&mut self, token: &str, username: &str) {
        let id = token.split(':').next().and_then(|id| id.parse().ok()).unwrap_or(1);
        let bot = Bot {
            id,
            username: username.to_owned(),
            is_revoked: false,
            reads_all: true,
            can_join: true,
            pending: VecDeque::new(),
            past: vec![],
            again: BTreeSet::new(),
            next_update: 1000,
            webhook: None,
            webhook_generation: 0,
            poll: 0,
            commands: Value::Null,
            troubles: VecDeque::new(),
        };
        self.bots.insert(token.to_owned(), bot);
    }

    pub(super) fn add_chat(&mut self, id: i64, kind: &'static str, title: &str) -> &mut Chat {
        self.chats.entry(ChatKey::Shared(id)).or_insert_with(|| Chat::new(id, kind, title))
    }

    /// The chat, which for a direct message begins to exist now.
    fn chat(&mut self, place: Where<'_>, user: i64) -> Option<&mut Chat> {
        match place {
            Where::Dm(token) => {
                let key = ChatKey::Private { token: token.to_owned(), user };
                let chat = self.chats.entry(key).or_insert_with(|| Chat::new(user, "private", ""));
                chat.bots.insert(token.to_owned());
                Some(chat)
            }
            Where::Chat(id) | Where::Topic(id, _) => self.chats.get_mut(&ChatKey::Shared(id)),
        }
    }

    pub(super) fn say(&mut self, place: Where<'_>, draft: &Draft) -> Option<i64> {
        let mut message = draft.fields.clone();
        if let Some((field, media_type, name, content)) = &draft.file {
            let handle = format!("file-{}", self.files.len() + 1);
            let file = json!({
                "file_id": handle, "file_unique_id": handle, "file_size": content.len(),
                "mime_type": media_type, "file_name": name, "width": 90, "height": 90,
            });
            self.files.insert(handle, content.clone());
            let file = if *field == "photo" { json!([file]) } else { file };
            message.insert((*field).to_owned(), file);
        }
        let (text, marks) = match draft.file {
            Some(_) => ("caption", "caption_entities"),
            None => ("text", "entities"),
        };
        let found = entities(&draft.text);
        if !draft.text.is_empty() {
            message.insert(text.into(), json!(draft.text));
        }
        if !found.is_empty() && !message.contains_key(marks) {
            message.insert(marks.into(), json!(found));
        }
        let now = self.now;
        let chat = self.chat(place, draft.from.id)?;
        let id = chat.next_id();
        message.insert("message_id".into(), json!(id));
        message.insert("date".into(), json!(now));
        message.insert("chat".into(), chat.json());
        match (chat.kind, draft.is_anonymous) {
            ("channel", _) => {
                message.insert("sender_chat".into(), chat.json());
            }
            (_, true) => {
                let bot = json!({"id": ANONYMOUS_BOT, "is_bot": true, "first_name": "Group"});
                message.insert("from".into(), bot);
                message.insert("sender_chat".into(), chat.json());
            }
            _ => {
                message.insert("from".into(), draft.from.json());
            }
        }
        if let Where::Topic(_, topic) = place {
            message.insert("message_thread_id".into(), json!(topic));
            message.insert("is_topic_message".into(), json!(true));
        }
        if let Some(earlier) = draft.reply_to.and_then(|id| chat.messages.get(&id)) {
            let mut earlier = earlier.clone();
            if let Some(fields) = earlier.as_object_mut() {
                fields.remove("reply_to_message");
            }
            message.insert("reply_to_message".into(), earlier);
        }
        let message = Value::Object(message);
        chat.messages.insert(id, message.clone());
        let kind = if chat.kind == "channel" { "channel_post" } else { "message" };
        let bots = chat.bots.clone();
        self.tell(&bots, kind, &message);
        Some(id)
    }

    /// Puts an update into the queue of these bots, as far as their privacy lets them hear it.
    pub(super) fn tell(&mut self, bots: &BTreeSet<String>, kind: &str, body: &Value) {
        for token in bots {
            let Some(bot) = self.bots.get_mut(token) else { continue };
            let text = body["text"].as_str().or(body["caption"].as_str()).unwrap_or_default();
            let is_group =
                body["chat"]["type"].as_str().is_some_and(|kind| kind.ends_with("group"));
            let concerns = text.starts_with('/')
                || text.to_lowercase().contains(&format!("@{}", bot.username.to_lowercase()))
                || body["reply_to_message"]["from"]["id"] == json!(bot.id);
            let is_heard = bot.reads_all || !is_group || concerns || !kind.ends_with("message");
            if is_heard {
                bot.push(kind, body);
            }
        }
    }

    pub(super) fn edit(&mut self, place: Where<'_>, user: &User, id: i64, text: &str) -> bool {
        let now = self.now;
        let Some(chat) = self.chat(place, user.id) else { return false };
        let kind = if chat.kind == "channel" { "edited_channel_post" } else { "edited_message" };
        let Some(message) = chat.messages.get_mut(&id) else { return false };
        message["text"] = json!(text);
        message["entities"] = json!(entities(text));
        message["edit_date"] = json!(now);
        let (message, bots) = (message.clone(), chat.bots.clone());
        self.tell(&bots, kind, &message);
        true
    }

    /// Bots are not told.
    pub(super) fn delete(&mut self, place: Where<'_>, user: &User, id: i64) -> bool {
        self.chat(place, user.id).is_some_and(|chat| chat.messages.remove(&id).is_some())
    }

    pub(super) fn press(
        &mut self,
        place: Where<'_>,
        user: &User,
        message: i64,
        data: &str,
    ) -> Option<String> {
        self.next_callback += 1;
        let handle = format!("press-{}", self.next_callback);
        let chat = self.chat(place, user.id)?;
        let message = chat.messages.get(&message)?.clone();
        // Only the bot whose message it is hears of it.
        let owner = message["from"]["id"].as_i64();
        let query = json!({
            "id": handle, "from": user.json(), "message": message, "chat_instance": "1",
            "data": data,
        });
        let bot = self.bots.values_mut().find(|bot| Some(bot.id) == owner)?;
        bot.push("callback_query", &query);
        Some(handle)
    }

    pub(super) fn topic(&mut self, chat: i64, name: &str) -> Option<i64> {
        let now = self.now;
        let chat = self.chats.get_mut(&ChatKey::Shared(chat))?;
        let id = chat.next_id();
        chat.topics.insert(id);
        let message = json!({
            "message_id": id, "date": now, "chat": chat.json(), "message_thread_id": id,
            "is_topic_message": true, "forum_topic_created": {"name": name, "icon_color": 1},
        });
        chat.messages.insert(id, message.clone());
        let bots = chat.bots.clone();
        self.tell(&bots, "message", &message);
        Some(id)
    }

    /// A bot comes into a chat or leaves it, by somebody's hand.
    pub(super) fn membership(&mut self, token: &str, chat: i64, by: &User, is_there: bool) {
        let now = self.now;
        let Some(chat) = self.chats.get_mut(&ChatKey::Shared(chat)) else { return };
        let about = chat.json();
        if is_there {
            chat.bots.insert(token.to_owned());
        } else {
            chat.bots.remove(token);
        }
        let Some(bot) = self.bots.get_mut(token) else { return };
        let itself = json!({"id": bot.id, "is_bot": true, "first_name": bot.username});
        let (old, new) = if is_there { ("left", "member") } else { ("member", "kicked") };
        let change = json!({
            "chat": about, "from": by.json(), "date": now,
            "old_chat_member": {"user": itself, "status": old},
            "new_chat_member": {"user": itself, "status": new},
        });
        bot.push("my_chat_member", &change);
    }

    /// Somebody leaves a chat.
    pub(super) fn leave(&mut self, chat: i64, user: &User) {
        let gone = Draft::new(user, "").with("left_chat_member", user.json());
        self.say(Where::Chat(chat), &gone);
    }

    /// A group becomes a supergroup: another id, and the old one refuses.
    pub(super) fn migrate(&mut self, chat: i64) -> Option<i64> {
        let new = -1_000_000_000_000 + chat;
        let somebody = User::new(777_000, "Telegram");
        let moving = Draft::new(&somebody, "").with("migrate_to_chat_id", json!(new));
        self.say(Where::Chat(chat), &moving)?;
        let old = self.chats.get_mut(&ChatKey::Shared(chat))?;
        old.moved_to = Some(new);
        let (title, bots) = (old.title.clone(), old.bots.clone());
        self.add_chat(new, "supergroup", &title).bots = bots;
        let arrived = Draft::new(&somebody, "").with("migrate_from_chat_id", json!(chat));
        self.say(Where::Chat(new), &arrived);
        Some(new)
    }
}
