//! Discord, as far as bots see it: the API v10 and its gateway, on loopback or in memory.
//!
//! It numbers events, keeps them for sessions that are taken up again, recognises keys, leaves words
//! out for whoever may not hear them, counts requests, and gives three seconds to answer a press.
//! It knows nothing of adapters; `scripts/discord-clients` has discord.py and discord.js talk to it.

mod answers;
mod gateway;
mod interactions;
mod looks;
mod routes;
mod serve;
mod state;

pub use state::Trouble;

use crate::world::locked;
use insula_world::World;
use serde_json::{Value, json};
use state::{Bot, GuildState, MAY_HEAR, State};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// A running Discord. It ends with the runtime it runs on.
pub struct Discord {
    address: SocketAddr,
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    world: World,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

impl Shared {
    fn now(&self) -> i64 {
        self.world.clock.now().as_millis()
    }

    fn change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

impl Discord {
    /// Starts one on loopback of `world`.
    pub async fn start(world: &World) -> io::Result<Self> {
        let listener = world.network.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let (state, changed) = (Mutex::default(), watch::channel(0).0);
        let shared = Arc::new(Shared { world: world.clone(), state, changed });
        tokio::spawn(serve::accept(listener, shared.clone(), address));
        Ok(Self { address, shared })
    }

    /// Its base URL, without the path of the API.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Does something with what it holds, and lets everybody who waits look again.
    fn with<T>(&self, work: impl FnOnce(&mut State, i64) -> T) -> T {
        let now = self.shared.now();
        let done = work(&mut locked(&self.shared.state), now);
        self.shared.change();
        done
    }

    fn user(&self, username: &str, name: &str, is_bot: bool) -> String {
        self.with(|state, now| {
            let id = state.fresh(now);
            let user = json!({
                "id": id, "username": username, "discriminator": "0", "avatar": null,
                "global_name": if name.is_empty() { Value::Null } else { name.into() },
                "bot": is_bot, "system": false, "public_flags": 0, "flags": 0,
            });
            state.users.insert(id.clone(), user);
            id
        })
    }

    /// A bot with this token, which may hear what is said to others; its id.
    pub fn bot(&self, token: &str, username: &str) -> String {
        let id = self.user(username, "", true);
        self.with(|state, now| {
            let application = state.fresh(now);
            let bot = Bot { id: id.clone(), application, flags: MAY_HEAR, endpoint: None };
            state.tokens.insert(token.to_owned(), bot);
        });
        id
    }

    /// Whether a bot may hear what is said to others.
    pub fn may_hear(&self, token: &str, may: bool) {
        self.with(|state, _| {
            if let Some(bot) = state.tokens.get_mut(token) {
                bot.flags = if may { MAY_HEAR } else { 0 };
            }
        });
    }

    /// Interactions of a bot go to an address.
    pub fn endpoint(&self, token: &str, url: &str) {
        self.with(|state, _| {
            if let Some(bot) = state.tokens.get_mut(token) {
                bot.endpoint = Some(url.to_owned());
            }
        });
    }

    /// A person; their id.
    pub fn person(&self, username: &str, name: &str) -> String {
        self.user(username, name, false)
    }

    /// A server with these members; its id.
    pub fn guild(&self, members: &[&str]) -> String {
        self.with(|state, now| {
            let id = state.fresh(now);
            let members = members.iter().map(|it| ((*it).to_owned(), Default::default()));
            let guild = GuildState {
                id: id.clone(),
                members: members.collect(),
                roles: vec![],
                is_there: true,
            };
            state.guilds.insert(id.clone(), guild);
            id
        })
    }

    /// A role of a server; its id.
    pub fn role(&self, guild: &str) -> String {
        self.with(|state, now| {
            let id = state.fresh(now);
            if let Some(guild) = state.guilds.get_mut(guild) {
                guild.roles.push(id.clone());
            }
            id
        })
    }

    /// What somebody is called on a server, and their roles there.
    pub fn member(&self, guild: &str, user: &str, nick: &str, roles: &[&str]) {
        self.with(|state, _| {
            let roles = roles.iter().map(|it| (*it).to_owned()).collect();
            if let Some(found) = state.guilds.get_mut(guild) {
                found.members.insert(user.to_owned(), (nick.to_owned(), roles));
            }
            let told = state.member(guild, user).unwrap_or_default();
            let mut told = told;
            told["guild_id"] = guild.into();
            let sessions: Vec<String> = state
                .sessions
                .iter()
                .filter(|(_, session)| session.bot == user)
                .map(|(id, _)| id.clone())
                .collect();
            for session in sessions {
                state.tell_session(&session, "GUILD_MEMBER_UPDATE", &told);
            }
        });
    }

    /// A server is told to sessions that begin, or is not there for now.
    pub fn available(&self, guild: &str, is_there: bool) {
        self.with(|state, _| {
            if let Some(found) = state.guilds.get_mut(guild) {
                found.is_there = is_there;
            }
            let sessions: Vec<(String, String)> =
                state.sessions.iter().map(|(id, it)| (id.clone(), it.bot.clone())).collect();
            for (session, bot) in sessions.into_iter().filter(|_| is_there) {
                let told = state.guild(guild, &bot);
                state.tell_session(&session, "GUILD_CREATE", &told);
            }
        });
    }

    /// A channel of a server, of one of Discord's kinds; its id.
    pub fn channel(&self, guild: &str, kind: u64) -> String {
        self.make_channel(&json!({ "guild_id": guild, "type": kind }), "CHANNEL_CREATE")
    }

    /// A thread below a channel; its id.
    pub fn thread(&self, guild: &str, parent: &str) -> String {
        let fields = json!({
            "guild_id": guild, "parent_id": parent, "type": 11, "owner_id": "1",
            "message_count": 0, "member_count": 1, "total_message_sent": 0,
            "rate_limit_per_user": 0, "applied_tags": [], "newly_created": true,
            "thread_metadata": {
                "archived": false, "auto_archive_duration": 1440, "locked": false,
                "archive_timestamp": "2026-01-01T00:00:00+00:00",
                "create_timestamp": "2026-01-01T00:00:00+00:00",
            },
        });
        self.make_channel(&fields, "THREAD_CREATE")
    }

    fn make_channel(&self, fields: &Value, event: &str) -> String {
        self.with(|state, now| {
            let id = state.fresh(now);
            let mut channel = json!({
                "id": id, "name": "a-channel", "position": 0, "permission_overwrites": [],
                "parent_id": null, "nsfw": false, "last_message_id": null, "topic": null,
                "rate_limit_per_user": 0, "flags": 0,
            });
            state::merge(&mut channel, fields);
            state.channels.insert(id.clone(), channel.clone());
            state.tell(event, &id, &channel);
            id
        })
    }

    /// A channel or thread is taken away.
    pub fn remove_channel(&self, channel: &str) {
        self.with(|state, _| {
            let told = state.channels.get(channel).cloned().unwrap_or_default();
            let is_thread = told["type"].as_u64().is_some_and(|kind| (10..=12).contains(&kind));
            let event = if is_thread { "THREAD_DELETE" } else { "CHANNEL_DELETE" };
            state.tell(event, channel, &told);
            state.channels.remove(channel);
        });
    }

    /// A channel is no longer shown to anybody who asks, though events of it come.
    pub fn hide(&self, channel: &str, is_hidden: bool) {
        self.with(|state, _| {
            if let Some(channel) = state.channels.get_mut(channel) {
                channel["hidden"] = is_hidden.into();
            }
        });
    }

    /// The direct chat of a bot with somebody.
    pub fn direct(&self, bot: &str, user: &str) -> String {
        self.with(|state, now| state.direct(now, bot, user))
    }

    /// Somebody says something; its id.
    pub fn say(&self, channel: &str, user: &str, text: &str) -> String {
        self.post(&json!({ "channel_id": channel, "author_id": user, "content": text }))
    }

    /// The same as a reply.
    pub fn reply(&self, channel: &str, to: &str, user: &str, text: &str) -> String {
        self.post(&json!({
            "channel_id": channel, "author_id": user, "content": text,
            "message_reference": { "message_id": to },
        }))
    }

    /// A message of these fields; who says it is `author_id`.
    pub fn post(&self, fields: &Value) -> String {
        self.with(|state, now| state.say(now, fields))
    }

    /// A file as messages have it in their `attachments`.
    pub fn file(&self, channel: &str, name: &str, mime: &str, content: &[u8]) -> Value {
        let address = self.address;
        self.with(|state, now| state.file(now, address, channel, (name, mime), content))
    }

    /// Addresses that were given for files are good no more.
    pub fn expire_files(&self) {
        self.with(|state, _| state.files_expired = true);
    }

    pub fn edit(&self, message: &str, text: &str) {
        self.with(|state, now| state.change(now, message, &json!({ "content": text }), true));
    }

    /// Discord puts a preview below a message.
    pub fn preview(&self, message: &str) {
        let embeds = json!({ "embeds": [{ "type": "link", "title": "A page" }] });
        self.with(|state, now| state.change(now, message, &embeds, false));
    }

    pub fn delete(&self, message: &str) {
        self.with(|state, _| state.delete(message));
    }

    pub fn react(&self, user: &str, message: &str, sign: &str, on: bool) {
        self.with(|state, _| state.react((user, message, sign), on));
    }

    /// Somebody presses a button of a message; the interaction's id.
    pub fn press(&self, token: &str, user: &str, message: &str, custom_id: &str) -> String {
        self.with(|state, now| {
            let bot = state.tokens.get(token).cloned();
            let Some(bot) = bot else { return String::new() };
            let found = message.parse().ok().and_then(|id: u64| state.messages.get(&id)).cloned();
            let found = found.unwrap_or_default();
            let channel = found["channel_id"].as_str().unwrap_or_default().to_owned();
            let fields = json!({
                "type": 3, "message": found,
                "data": { "component_type": 2, "custom_id": custom_id, "id": 1 },
            });
            state.interact(now, (&bot.id, &bot.application), (user, &channel), &fields)
        })
    }

    /// Somebody uses a command; the interaction's id.
    pub fn command(
        &self,
        token: &str,
        user: &str,
        channel: &str,
        name: &str,
        text: &str,
    ) -> String {
        self.with(|state, now| {
            let bot = state.tokens.get(token).cloned();
            let Some(bot) = bot else { return String::new() };
            let options = match text {
                "" => json!([]),
                text => json!([{ "name": "text", "type": 3, "value": text }]),
            };
            let commands = state.commands.get(&bot.application);
            let command = commands.into_iter().flatten().find(|it| it["name"] == name);
            let id = command.map_or_else(|| json!("1"), |it| it["id"].clone());
            let data = json!({ "id": id, "name": name, "type": 1, "options": options });
            let fields = json!({ "type": 2, "data": data });
            state.interact(now, (&bot.id, &bot.application), (user, channel), &fields)
        })
    }

    /// What an interaction was answered, in order: how, and with what.
    pub fn answers(&self, interaction: &str) -> Vec<(String, Value)> {
        let state = locked(&self.shared.state);
        let of = state.answers.iter().filter(|(id, ..)| id == interaction);
        of.map(|(_, how, body)| (how.clone(), body.clone())).collect()
    }

    /// The menu of a bot.
    pub fn commands(&self, token: &str) -> Vec<Value> {
        let state = locked(&self.shared.state);
        let application = state.tokens.get(token).map(|bot| bot.application.clone());
        application.and_then(|it| state.commands.get(&it).cloned()).unwrap_or_default()
    }
}

impl State {
    fn direct(&mut self, now: i64, bot: &str, user: &str) -> String {
        let known = self
            .channels
            .iter()
            .find(|(_, it)| it["owner_bot"] == bot && it["recipients"][0]["id"] == user);
        if let Some((id, _)) = known {
            return id.clone();
        }
        let id = self.fresh(now);
        let channel = json!({
            "id": id, "type": 1, "last_message_id": null, "flags": 0, "owner_bot": bot,
            "recipients": [self.users.get(user)],
        });
        self.channels.insert(id.clone(), channel);
        id
    }

    fn file(
        &mut self,
        now: i64,
        address: SocketAddr,
        channel: &str,
        (name, mime): (&str, &str),
        content: &[u8],
    ) -> Value {
        let id = self.fresh(now);
        self.files.insert(id.clone(), (mime.to_owned(), content.to_vec()));
        let url = format!("http://{address}/attachments/{channel}/{id}/{name}?ex=1&hm=2");
        json!({
            "id": id, "filename": name, "content_type": mime, "size": content.len(), "url": url,
            "proxy_url": url,
        })
    }
}
