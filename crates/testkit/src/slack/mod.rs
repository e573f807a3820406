//! A Slack workspace, as one app sees it: the Web API and Socket Mode, on loopback or in memory.
//!
//! It keeps what is said, tells of it by whichever socket is open and again until it is acknowledged,
//! shows it to who asks, tells a mention twice, ends sockets as told, and calls the app with signed requests' bodies. It
//! knows nothing of adapters; `scripts/slack-clients` has Slack's own SDKs talk to it.

mod history;
mod methods;
mod serve;
mod state;

pub use state::{Stored, Trouble};

use crate::world::locked;
use insula_world::World;
use serde_json::{Value, json};
use state::{Out, State};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// What the app may, unless a test takes some of it away.
pub const SCOPES: [&str; 16] = [
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "mpim:history",
    "mpim:read",
    "reactions:read",
    "reactions:write",
    "users:read",
];
/// The workspace.
pub const TEAM: &str = "T0TEAM";
/// The app's bot.
pub const BOT: &str = "U0BOT";

/// A running workspace. It ends with the runtime it runs on.
pub struct Slack {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    world: World,
    address: SocketAddr,
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

impl Slack {
    /// Starts one on loopback of `world`, for an app with these tokens.
    pub async fn start(world: &World, bot_token: &str, app_token: &str) -> io::Result<Self> {
        let listener = world.network.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let state = State::new(TEAM, (bot_token, app_token), &SCOPES);
        let (state, changed) = (Mutex::new(state), watch::channel(0).0);
        let shared = Arc::new(Shared { world: world.clone(), address, state, changed });
        tokio::spawn(serve::accept(listener, shared.clone()));
        Ok(Self { shared })
    }

    /// What to give as `base_url`.
    pub fn url(&self) -> String {
        format!("http://{}/api", self.shared.address)
    }

    /// Does something with what it holds, and lets everybody who waits look again.
    fn with<T>(&self, work: impl FnOnce(&mut State, i64) -> T) -> T {
        let now = self.shared.now();
        let done = work(&mut locked(&self.shared.state), now);
        self.shared.change();
        done
    }

    /// Somebody; their id.
    pub fn person(&self, name: &str) -> String {
        self.user(name, false)
    }

    /// Another app's bot; its id.
    pub fn bot(&self, name: &str) -> String {
        self.user(name, true)
    }

    fn user(&self, name: &str, is_bot: bool) -> String {
        self.with(|state, _| {
            let id = state.fresh("U");
            let user = json!({
                "id": id, "name": name.to_lowercase(), "real_name": name, "is_bot": is_bot,
                "profile": { "display_name": "" },
            });
            state.users.insert(id.clone(), user);
            id
        })
    }

    /// A channel (`C`), a direct one (`D`) or one of several (`G`), with these in it.
    pub fn channel(&self, kind: &str, members: &[&str]) -> String {
        self.with(|state, _| {
            let id = state.fresh(kind);
            let members = members.iter().map(|it| (*it).to_owned()).collect();
            state.channels.insert(id.clone(), members);
            id
        })
    }

    /// Somebody is taken out of a channel, and nothing said of it.
    pub fn leave(&self, channel: &str, user: &str) {
        self.with(|state, _| {
            if let Some(members) = state.channels.get_mut(channel) {
                members.retain(|it| it != user);
            }
        });
    }

    /// Somebody says something; its name.
    pub fn say(&self, channel: &str, user: &str, text: &str) -> String {
        self.post(&json!({ "channel": channel, "user": user, "text": text }))
    }

    /// The same in a thread.
    pub fn say_in(&self, channel: &str, thread: &str, user: &str, text: &str) -> String {
        self.post(&json!({ "channel": channel, "user": user, "text": text, "thread_ts": thread }))
    }

    /// A message of these fields.
    pub fn post(&self, fields: &Value) -> String {
        self.with(|state, now| state.say(now, fields))
    }

    pub fn edit(&self, channel: &str, ts: &str, text: &str) {
        let fields = json!({ "text": text });
        self.with(|state, now| state.edit(now, (channel, ts), &fields, true));
    }

    /// A preview of a link is put below a message.
    pub fn unfurl(&self, channel: &str, ts: &str) {
        let fields = json!({ "attachments": [{ "title": "a page", "from_url": "https://e.org" }] });
        self.with(|state, now| state.edit(now, (channel, ts), &fields, false));
    }

    pub fn delete(&self, channel: &str, ts: &str) {
        self.with(|state, now| state.delete(now, (channel, ts)));
    }

    pub fn react(&self, user: &str, channel: &str, ts: &str, name: &str, on: bool) {
        // One that is there already is refused, and nothing is told.
        let _ = self.with(|state, now| methods::sign(state, now, (user, channel, ts), name, on));
    }

    /// A file that can go along with a message, in its `files`.
    pub fn file(&self, name: &str, media_type: &str, content: &[u8]) -> Value {
        let host = self.shared.address.to_string();
        self.with(|state, _| {
            let id = state.fresh("F");
            let (name, media_type) = (name.to_owned(), media_type.to_owned());
            let stored = Stored { name, media_type, content: content.to_vec() };
            state.files.insert(id.clone(), stored);
            methods::file(state, &host, &id)
        })
    }

    /// A file that somebody gave it.
    pub fn stored(&self, id: &str) -> Option<Stored> {
        locked(&self.shared.state).files.get(id).cloned()
    }

    /// An event as it stands.
    pub fn event(&self, event: &Value) {
        self.with(|state, _| state.tell_event(event));
    }

    /// An envelope of any type and payload.
    pub fn tell(&self, kind: &str, payload: Value) {
        self.with(|state, _| state.tell(kind, payload));
    }

    /// The app is in another workspace too, by this token of its bot; nobody says anything there but
    /// by [`Self::elsewhere`].
    pub fn install(&self, token: &str, team: &str, bot: &str) {
        let (team, bot) = (team.to_owned(), bot.to_owned());
        self.with(|state, _| state.installs.insert(token.to_owned(), (team, bot)));
    }

    /// Somebody says something in another workspace; the app is told.
    pub fn elsewhere(&self, team: &str, user: &str, text: &str) {
        self.with(|state, now| {
            let ts = state.tick(now);
            let event = json!({
                "type": "message", "user": user, "channel": "D0ELSE", "channel_type": "im",
                "text": text, "ts": ts, "event_ts": ts,
            });
            let mut payload = state.callback(&event);
            payload["team_id"] = json!(team);
            payload["authorizations"] = json!([{ "team_id": team, "user_id": "U0OTHERBOT" }]);
            state.tell("events_api", payload);
        });
    }

    /// What an event stands in when it comes by HTTP.
    pub fn callback(&self, event: &Value) -> Value {
        self.with(|state, _| state.callback(event))
    }

    /// Somebody presses a button of a message; the payload that tells of it.
    pub fn press(&self, user: &str, channel: &str, ts: &str, button: usize) -> Value {
        let host = self.shared.address;
        self.with(|state, now| {
            let at = state.tick(now);
            let message = state.messages.get(&(channel.to_owned(), ts.to_owned())).cloned();
            let message = message.unwrap_or_default();
            let rows = message["blocks"].as_array().into_iter().flatten();
            let buttons = rows.filter_map(|block| block["elements"].as_array());
            let mut action = buttons.flatten().nth(button).cloned().unwrap_or_default();
            action["action_ts"] = json!(at);
            action["block_id"] = json!("b1");
            json!({
                "type": "block_actions", "user": { "id": user, "team_id": state.team },
                "team": { "id": state.team, "domain": "fake" }, "api_app_id": "A0APP",
                "container": { "type": "message", "message_ts": ts, "channel_id": channel },
                "trigger_id": format!("trigger.{at}"), "channel": { "id": channel },
                "message": message, "actions": [action],
                "response_url": format!("http://{host}/response/{at}"),
            })
        })
    }

    /// What was told so far, as it came by HTTP: payloads by their types.
    pub fn told(&self) -> Vec<(String, Value)> {
        let state = locked(&self.shared.state);
        state.told.iter().map(|it| (it.kind.clone(), it.payload.clone())).collect()
    }

    /// What was not acknowledged was told often enough: it is not told again.
    pub fn give_up(&self) {
        self.with(|state, _| state.waiting.clear());
    }

    /// Somebody says something that is told in vain; its name.
    pub fn miss(&self, channel: &str, user: &str, text: &str) -> String {
        let fields = json!({ "channel": channel, "user": user, "text": text });
        self.with(|state, now| {
            let ts = state.say(now, &fields);
            state.waiting.clear();
            ts
        })
    }

    /// Pages of lists have so many rows at most.
    pub fn page_len(&self, len: usize) {
        self.with(|state, _| state.page_len = len);
    }

    /// Answers do not tell what the app may.
    pub fn hide_scopes(&self) {
        self.with(|state, _| state.hides_scopes = true);
    }

    /// All that was told is told again.
    pub fn redeliver(&self) {
        self.with(|state, _| {
            let told = state.told.iter().cloned();
            state.waiting = told.map(|it| state::Waiting { by: None, ..it }).collect();
        });
    }

    /// Whatever this is, by every socket.
    pub fn raw(&self, text: &str) {
        self.with(|state, _| {
            for line in state.lines.values_mut() {
                line.push_back(Out::Text(text.to_owned()));
            }
        });
    }

    /// Slack says that the sockets will end. It is for those to go that are told.
    pub fn disconnect(&self, reason: &str) {
        let frame =
            json!({ "type": "disconnect", "reason": reason, "debug_info": { "host": "fake" } });
        self.raw(&frame.to_string());
    }

    /// Ends the oldest socket, without a goodbye.
    pub fn end_oldest(&self) {
        self.with(|state, _| {
            if let Some(mut line) = state.lines.first_entry() {
                line.get_mut().push_back(Out::End);
            }
        });
    }

    /// Every socket breaks, without a goodbye.
    pub fn break_sockets(&self) {
        self.with(|state, _| {
            for line in state.lines.values_mut() {
                line.push_front(Out::End);
            }
        });
    }

    /// Sockets stay open, and nothing goes by them, or goes again.
    pub fn deafen(&self, is_deaf: bool) {
        self.with(|state, _| state.is_deaf = is_deaf);
    }

    /// Sockets are opened, and nobody says hello.
    pub fn mute(&self, is_mute: bool) {
        self.with(|state, _| state.is_mute = is_mute);
    }

    /// The next thing said is cut after so many bytes of its frame, and the connection with it.
    pub fn cut_next(&self, len: usize) {
        self.with(|state, _| state.cut_at = Some(len));
    }

    /// How many sockets are open.
    pub fn sockets(&self) -> usize {
        locked(&self.shared.state).lines.len()
    }

    /// How much waits to be acknowledged.
    pub fn waiting(&self) -> usize {
        locked(&self.shared.state).waiting.len()
    }

    /// How much was acknowledged, repetitions included.
    pub fn acknowledged(&self) -> usize {
        locked(&self.shared.state).acknowledged.len()
    }

    /// What is to become of the next request for this method.
    pub fn trouble(&self, method: &str, trouble: Trouble) {
        self.with(|state, _| state.troubles.push((method.to_owned(), trouble)));
    }

    /// The workspace lets no messages be shown while they are written.
    pub fn take_streams(&self) {
        self.with(|state, _| state.lacks_streams = true);
    }

    /// Our tokens are good no more.
    pub fn revoke(&self) {
        self.with(|state, _| state.is_revoked = true);
    }

    /// The app may no longer do this.
    pub fn take_scope(&self, scope: &str) {
        self.with(|state, _| state.scopes.retain(|it| it != scope));
    }

    /// What the bot said, in order, as it reads now.
    pub fn said(&self) -> Vec<Value> {
        let state = locked(&self.shared.state);
        let messages = state.order.iter().filter_map(|place| state.messages.get(place));
        messages.filter(|it| it["user"] == *state.bot_user).cloned().collect()
    }

    /// A message.
    pub fn get(&self, channel: &str, ts: &str) -> Value {
        let place = (channel.to_owned(), ts.to_owned());
        locked(&self.shared.state).messages.get(&place).cloned().unwrap_or_default()
    }

    /// Every request so far: its method and arguments.
    pub fn requests(&self) -> Vec<(String, Value)> {
        locked(&self.shared.state).requests.clone()
    }

    /// What assistants' threads were shown: channel, thread, status.
    pub fn statuses(&self) -> Vec<(String, String, String)> {
        locked(&self.shared.state).statuses.clone()
    }

    /// What was said to whoever pressed something.
    pub fn responses(&self) -> Vec<Value> {
        locked(&self.shared.state).responses.clone()
    }

    /// Waits until the workspace looks like this.
    pub async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let mut changed = self.shared.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if holds(self) {
                return;
            }
            // It can't be dropped: `self` holds it.
            let _ = changed.changed().await;
        }
    }
}
