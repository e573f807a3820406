//! What a fake Discord holds, and what it tells about its changes.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use tokio::sync::mpsc;

/// When Discord's ids begin to count, in milliseconds since the epoch.
const EPOCH_MS: i64 = 1_420_070_400_000;
/// How long a key is recognised.
const NONCE_LASTS_MS: i64 = 180_000;
/// What is said on servers, beside that it was.
pub const CONTENT: u64 = 1 << 15;
/// What says that an application may hear that.
pub const MAY_HEAR: u64 = 1 << 19;

/// What is to go wrong with a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// It is refused with this, and with how many seconds to wait.
    Refuse { status: u16, code: i64, wait: Option<f64>, global: bool },
    /// Something else answers.
    Answer { status: u16, body: String },
    /// It is done, and the connection breaks after so many bytes of the answer.
    CutAt(usize),
    /// The connection breaks before it is read.
    Unheard,
}

/// A bot.
#[derive(Debug, Clone)]
pub(super) struct Bot {
    pub id: String,
    pub application: String,
    pub flags: u64,
    pub endpoint: Option<String>,
}

pub(super) struct GuildState {
    pub id: String,
    /// Nick and roles, by user.
    pub members: BTreeMap<String, (String, Vec<String>)>,
    pub roles: Vec<String>,
    /// Whether it is told when a session begins.
    pub is_there: bool,
}

/// A session of the gateway, also while nobody is there.
pub(super) struct SessionState {
    pub bot: String,
    pub intents: u64,
    pub next: u64,
    pub kept: Vec<(u64, String)>,
    pub live: Option<mpsc::UnboundedSender<Said>>,
}

/// What a socket is to do.
#[derive(Debug, Clone)]
pub(super) enum Said {
    Text(String),
    Close(u16),
}

/// A press or a use of a command.
#[derive(Debug, Clone)]
pub(super) struct InteractionState {
    pub id: String,
    pub at: i64,
    pub is_answered: bool,
}

#[derive(Default)]
pub(super) struct State {
    pub users: BTreeMap<String, Value>,
    pub tokens: HashMap<String, Bot>,
    pub guilds: BTreeMap<String, GuildState>,
    pub channels: BTreeMap<String, Value>,
    pub messages: BTreeMap<u64, Value>,
    pub files: HashMap<String, (String, Vec<u8>)>,
    pub sessions: BTreeMap<String, SessionState>,
    /// Keys, by author, with their messages and when they were made.
    pub nonces: HashMap<(String, String), (u64, i64)>,
    /// Interactions by their tokens.
    pub interactions: HashMap<String, InteractionState>,
    /// What interactions were answered: by id, what kind of request, and what it said.
    pub answers: Vec<(String, String, Value)>,
    pub commands: HashMap<String, Vec<Value>>,
    pub troubles: Vec<(String, Trouble)>,
    pub requests: Vec<(String, Value)>,
    pub typing: Vec<(String, String)>,
    /// What sessions began with, and were taken up with.
    pub begun: Vec<Value>,
    /// How many of a kind of request a channel takes, in how many seconds.
    pub bucket: Option<(u64, f64)>,
    /// Requests in the bucket of a route, and when it began.
    pub buckets: HashMap<String, (u64, i64)>,
    pub last_id: u64,
    /// Sockets are open, and nothing goes by them.
    pub is_deaf: bool,
    /// The next event is cut after so many bytes, and its connection with it.
    pub cut_at: Option<usize>,
    /// How often clients are to speak, in milliseconds; as Discord wants it where nothing is set.
    pub heartbeat_ms: Option<u64>,
    /// Addresses of files are no longer good.
    pub files_expired: bool,
    /// Sockets that are open at this moment, and the most there were at once.
    pub open: (usize, usize),
    /// With which codes clients left.
    pub goodbyes: Vec<Option<u16>>,
    /// Heartbeats that came.
    pub beats: usize,
    /// How many sessions may begin today.
    pub starts_left: Option<u64>,
}

impl State {
    /// An id as Discord makes them: later ones are larger.
    pub fn fresh(&mut self, now: i64) -> String {
        let at = u64::try_from(now - EPOCH_MS).unwrap_or(0) << 22;
        self.last_id = at.max(self.last_id + 1);
        self.last_id.to_string()
    }

    /// Everybody who sees a channel.
    pub(super) fn sees(&self, channel: &str, user: &str) -> bool {
        let Some(found) = self.channels.get(channel) else { return false };
        match found["guild_id"].as_str() {
            Some(guild) => {
                self.guilds.get(guild).is_some_and(|guild| guild.members.contains_key(user))
            }
            None => {
                let all = found["recipients"].as_array();
                all.into_iter().flatten().any(|it| it["id"] == user) || found["owner_bot"] == user
            }
        }
    }

    /// Tells every session of a bot that sees this channel.
    pub fn tell(&mut self, event: &str, channel: &str, data: &Value) {
        let who: Vec<String> = self.sessions.keys().cloned().collect();
        for id in who {
            let Some(bot) = self.sessions.get(&id).map(|it| it.bot.clone()) else { continue };
            if self.sees(channel, &bot) {
                self.tell_session(&id, event, data);
            }
        }
    }

    /// Tells one session, as far as it wants to hear.
    pub fn tell_session(&mut self, session: &str, event: &str, data: &Value) {
        let Some(found) = self.sessions.get_mut(session) else { return };
        let mut data = data.clone();
        if matches!(event, "MESSAGE_CREATE" | "MESSAGE_UPDATE") && found.intents & CONTENT == 0 {
            let is_direct = data["guild_id"].is_null();
            let mentioned = data["mentions"].as_array().cloned().unwrap_or_default();
            let is_mentioned = mentioned.iter().any(|it| it["id"] == found.bot);
            if !is_direct && !is_mentioned && data["author"]["id"] != found.bot {
                data["content"] = "".into();
                for key in ["embeds", "attachments", "components"] {
                    data[key] = json!([]);
                }
            }
        }
        let number = found.next;
        found.next += 1;
        let text = json!({ "op": 0, "s": number, "t": event, "d": data }).to_string();
        found.kept.push((number, text.clone()));
        if let Some(live) = &found.live
            && live.send(Said::Text(text)).is_err()
        {
            found.live = None;
        }
    }

    /// A server as it is told when a session begins.
    pub fn guild(&self, id: &str, bot: &str) -> Value {
        let Some(guild) = self.guilds.get(id) else { return Value::Null };
        let here = |kinds: &[u64]| -> Vec<Value> {
            let all = self.channels.values().filter(|it| it["guild_id"] == *id);
            all.filter(|it| kinds.contains(&it["type"].as_u64().unwrap_or(0)))
                .map(|it| {
                    let mut shown = it.clone();
                    // The real one leaves it out there.
                    shown.as_object_mut().map(|it| it.remove("guild_id"));
                    shown
                })
                .collect()
        };
        let role = |id: &String, name: &str, position: u64| {
            json!({
                "id": id, "name": name, "color": 0, "hoist": false, "position": position,
                "colors": { "primary_color": 0, "secondary_color": null, "tertiary_color": null },
                "permissions": "2248473465835073", "managed": false, "mentionable": true,
                "flags": 0, "icon": null, "unicode_emoji": null,
            })
        };
        let mut roles = vec![role(&guild.id, "@everyone", 0)];
        roles.extend(guild.roles.iter().zip(1..).map(|(id, at)| role(id, "role", at)));
        // Discord tells a few of the members, and always ourselves.
        let members = self.member(id, bot);
        let mut told = json!({
            "id": id, "name": "A server", "icon": null, "owner_id": "1", "unavailable": false,
            "joined_at": "2026-01-01T00:00:00.000000+00:00", "large": false,
            "member_count": guild.members.len(), "voice_states": [], "presences": [],
            "members": [members], "roles": roles, "emojis": [], "stickers": [], "features": [],
            "channels": here(&[0, 2, 5, 13, 15]), "threads": here(&[10, 11, 12]),
        });
        merge(
            &mut told,
            &json!({
                "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": [],
                "afk_timeout": 300, "system_channel_flags": 0, "verification_level": 0,
                "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0,
                "premium_tier": 0, "premium_subscription_count": 0, "preferred_locale": "en-US",
                "nsfw_level": 0, "nsfw": false, "premium_progress_bar_enabled": false,
            }),
        );
        told
    }

    pub fn member(&self, guild: &str, user: &str) -> Option<Value> {
        let (nick, roles) = self.guilds.get(guild)?.members.get(user)?;
        let nick = if nick.is_empty() { Value::Null } else { nick.as_str().into() };
        Some(json!({
            "user": self.users.get(user), "nick": nick, "roles": roles, "avatar": null,
            "joined_at": "2026-01-01T00:00:00.000000+00:00", "deaf": false, "mute": false,
            "flags": 0, "pending": false, "premium_since": null,
            "communication_disabled_until": null,
        }))
    }

    /// The same beside an event that names the user itself.
    fn member_beside(&self, guild: &str, user: &str) -> Option<Value> {
        let mut member = self.member(guild, user)?;
        member.as_object_mut()?.remove("user");
        Some(member)
    }

    /// Makes a message of these fields, and tells of it.
    pub fn say(&mut self, now: i64, fields: &Value) -> String {
        let id = self.fresh(now);
        let channel = fields["channel_id"].as_str().unwrap_or_default().to_owned();
        let author = fields["author_id"].as_str().unwrap_or_default().to_owned();
        let about = self.channels.get(&channel).cloned().unwrap_or_default();
        let content = fields["content"].as_str().unwrap_or_default();
        let is_named = |id: &str| {
            content.contains(&format!("<@{id}>")) || content.contains(&format!("<@!{id}>"))
        };
        let mentions: Vec<Value> = self
            .users
            .iter()
            .filter(|(id, _)| is_named(id))
            .map(|(_, user)| user.clone())
            .collect();
        let guild = about["guild_id"].as_str().unwrap_or_default().to_owned();
        let roles = self.guilds.get(&guild).map(|it| it.roles.clone()).unwrap_or_default();
        let roles: Vec<String> =
            roles.into_iter().filter(|id| content.contains(&format!("<@&{id}>"))).collect();
        let mut message = json!({
            "id": id, "channel_id": channel, "type": 0, "content": "",
            "author": self.users.get(&author), "timestamp": moment(now),
            "edited_timestamp": null, "tts": false, "pinned": false, "flags": 0,
            "mention_everyone": content.contains("@everyone"), "mentions": mentions,
            "mention_roles": roles, "attachments": [], "embeds": [], "components": [],
            "reactions": [],
        });
        merge(&mut message, fields);
        message.as_object_mut().map(|it| it.remove("author_id"));
        if let Some(earlier) = message["message_reference"]["message_id"].as_str() {
            let earlier = earlier.parse().ok().and_then(|id: u64| self.messages.get(&id)).cloned();
            if message["message_reference"]["type"].as_u64().unwrap_or(0) == 0 {
                message["type"] = 19.into();
                message["message_reference"]["channel_id"] =
                    earlier.as_ref().map_or_else(|| json!(channel), |it| it["channel_id"].clone());
                message["referenced_message"] = earlier.unwrap_or_default();
            }
        }
        if let Some(channel) = self.channels.get_mut(&channel) {
            channel["last_message_id"] = id.clone().into();
        }
        if let Ok(number) = id.parse() {
            self.messages.insert(number, message.clone());
        }
        self.tell("MESSAGE_CREATE", &channel, &self.told(&message));
        id
    }

    /// A message as events tell it: with who its author is on the server.
    fn told(&self, message: &Value) -> Value {
        let mut told = message.clone();
        let channel = message["channel_id"].as_str().unwrap_or_default();
        if let Some(guild) = self.channels.get(channel).and_then(|it| it["guild_id"].as_str()) {
            told["guild_id"] = guild.into();
            let author = message["author"]["id"].as_str().unwrap_or_default();
            if message["webhook_id"].is_null()
                && let Some(member) = self.member_beside(guild, author)
            {
                told["member"] = member;
            }
        }
        told
    }

    /// Changes a message, and tells of it.
    pub fn change(&mut self, now: i64, id: &str, fields: &Value, is_edit: bool) -> Option<Value> {
        let message = self.messages.get_mut(&id.parse().ok()?)?;
        merge(message, fields);
        if is_edit {
            message["edited_timestamp"] = moment(now).into();
        }
        let message = message.clone();
        let channel = message["channel_id"].as_str().unwrap_or_default().to_owned();
        self.tell("MESSAGE_UPDATE", &channel, &self.told(&message));
        Some(message)
    }

    pub fn delete(&mut self, id: &str) {
        let gone = id.parse().ok().and_then(|id: u64| self.messages.remove(&id));
        let Some(message) = gone else { return };
        let channel = message["channel_id"].as_str().unwrap_or_default().to_owned();
        let guild = self.channels.get(&channel).map(|it| it["guild_id"].clone());
        let data = json!({ "id": id, "channel_id": channel, "guild_id": guild });
        self.tell("MESSAGE_DELETE", &channel, &data);
    }

    pub fn react(&mut self, (user, message, sign): (&str, &str, &str), on: bool) {
        let Some(id) = message.parse::<u64>().ok() else { return };
        let Some(found) = self.messages.get_mut(&id) else { return };
        let mut all = found["reactions"].as_array().cloned().unwrap_or_default();
        let known = all.iter().position(|it| it["emoji"]["name"] == sign);
        let mut by: Vec<Value> =
            known.and_then(|at| all.remove(at)["by"].as_array().cloned()).unwrap_or_default();
        by.retain(|it| it != user);
        if on {
            by.push(user.into());
        }
        if !by.is_empty() {
            all.push(json!({
                "emoji": { "id": null, "name": sign }, "by": by, "count": by.len(), "me": false,
                "me_burst": false, "burst_colors": [],
                "count_details": { "burst": 0, "normal": by.len() },
            }));
        }
        found["reactions"] = all.into();
        let (channel, author) = (found["channel_id"].clone(), found["author"]["id"].clone());
        let channel = channel.as_str().unwrap_or_default().to_owned();
        let guild = self.channels.get(&channel).and_then(|it| it["guild_id"].as_str());
        let mut data = json!({
            "user_id": user, "channel_id": channel, "message_id": message, "guild_id": guild,
            "emoji": { "id": null, "name": sign }, "burst": false, "type": 0,
        });
        if on {
            data["message_author_id"] = author;
            if let Some(member) = guild.and_then(|guild| self.member(guild, user)) {
                data["member"] = member;
            }
        }
        let event = if on { "MESSAGE_REACTION_ADD" } else { "MESSAGE_REACTION_REMOVE" };
        self.tell(event, &channel, &data);
    }

    /// The message of a key that is still recognised.
    pub fn known_nonce(&self, author: &str, nonce: &str, now: i64) -> Option<Value> {
        let (id, at) = self.nonces.get(&(author.to_owned(), nonce.to_owned()))?;
        (now - at < NONCE_LASTS_MS).then(|| self.messages.get(id).cloned()).flatten()
    }
}

/// A moment as Discord writes it.
fn moment(now: i64) -> String {
    let text = insula_world::Timestamp::from_millis(now).to_string();
    text.replace('Z', "000+00:00")
}

/// Puts fields over others.
pub(super) fn merge(into: &mut Value, fields: &Value) {
    let none = Map::new();
    for (key, value) in fields.as_object().unwrap_or(&none) {
        into[key] = value.clone();
    }
}
