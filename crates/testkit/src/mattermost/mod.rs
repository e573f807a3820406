//! A Mattermost server, as far as bots see it: the API v4 and its socket, on loopback or in memory.
//!
//! It numbers events, keeps the last of each connection for whoever comes back, recognises keys for
//! half a minute, filters what integrations alone may see, and calls the addresses of buttons. It
//! knows nothing of adapters; `scripts/platforms/mattermost` has Mattermost's own client talk to it.

mod answers;
mod routes;
mod serve;
mod state;

pub use state::Trouble;

use crate::world::locked;
use insula_world::World;
use serde_json::{Value, json};
use state::State;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// A running server. It ends with the runtime it runs on.
pub struct Mattermost {
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

impl Mattermost {
    /// Starts one on loopback of `world`.
    pub async fn start(world: &World) -> io::Result<Self> {
        let listener = world.network.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let (state, changed) = (Mutex::default(), watch::channel(0).0);
        let shared = Arc::new(Shared { world: world.clone(), state, changed });
        tokio::spawn(serve::accept(listener, shared.clone()));
        Ok(Self { address, shared })
    }

    /// Its base URL.
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

    fn user(&self, token: &str, username: &str, name: &str, is_bot: bool) -> String {
        self.with(|state, _| {
            let id = state.fresh('u');
            let (first, last) = name.split_once(' ').unwrap_or((name, ""));
            let user = json!({
                "id": id, "username": username, "first_name": first, "last_name": last,
                "nickname": "", "is_bot": is_bot, "delete_at": 0, "roles": "system_user",
            });
            state.users.insert(id.clone(), user);
            state.tokens.insert(token.to_owned(), id.clone());
            id
        })
    }

    /// A bot with this token; its id.
    pub fn bot(&self, token: &str, username: &str) -> String {
        self.user(token, username, "", true)
    }

    /// A person, whose token is their name; their id.
    pub fn person(&self, username: &str, name: &str) -> String {
        self.user(username, username, name, false)
    }

    /// A direct channel of two.
    pub fn direct(&self, one: &str, other: &str) -> String {
        self.channel_of("D", "", &[one, other])
    }

    /// An open (`O`) or private (`P`) channel, or a group (`G`), with these in it.
    pub fn channel(&self, kind: &str, members: &[&str]) -> String {
        let team = if kind == "G" { "" } else { "t0000000000000000000000001" };
        self.channel_of(kind, team, members)
    }

    fn channel_of(&self, kind: &str, team: &str, members: &[&str]) -> String {
        self.with(|state, now| {
            let id = state.fresh('c');
            let at = state.tick(now);
            let channel = json!({
                "id": id, "type": kind, "team_id": team, "display_name": "A channel",
                "name": format!("channel-{id}"), "create_at": at, "last_post_at": 0,
                "delete_at": 0,
            });
            state.channels.insert(id.clone(), channel);
            state.members.insert(id.clone(), members.iter().map(|it| (*it).to_owned()).collect());
            id
        })
    }

    /// Somebody says something; its id.
    pub fn say(&self, channel: &str, user: &str, text: &str) -> String {
        self.post(&json!({ "channel_id": channel, "user_id": user, "message": text }))
    }

    /// The same in a thread.
    pub fn say_in(&self, channel: &str, root: &str, user: &str, text: &str) -> String {
        self.post(&json!({
            "channel_id": channel, "root_id": root, "user_id": user, "message": text,
        }))
    }

    /// A post of these fields.
    pub fn post(&self, fields: &Value) -> String {
        self.with(|state, now| state.post(now, fields))
    }

    /// Somebody is brought into a channel, with what the server says about it.
    pub fn add(&self, channel: &str, user: &str, by: &str) -> String {
        self.with(|state, now| {
            state.members.entry(channel.to_owned()).or_default().push(user.to_owned());
            let data = json!({ "user_id": user, "team_id": "" });
            state.tell("user_added", channel, None, &data);
            state.post(
                now,
                &json!({
                    "channel_id": channel, "user_id": by, "type": "system_add_to_channel",
                    "message": "somebody added to the channel by somebody.",
                    "props": { "addedUserId": user, "userId": by },
                }),
            )
        })
    }

    /// Somebody is taken out of a channel.
    pub fn remove(&self, channel: &str, user: &str, by: &str) {
        self.with(|state, _| {
            let data = json!({ "user_id": user, "remover_id": by });
            if let Some(members) = state.members.get_mut(channel) {
                members.retain(|it| it != user);
            }
            state.tell("user_removed", channel, None, &data);
            let data = json!({ "channel_id": channel, "remover_id": by });
            state.tell("user_removed", "", Some(user), &data);
        });
    }

    pub fn edit(&self, post: &str, text: &str) {
        self.with(|state, now| state.change(now, post, &json!({ "message": text })));
    }

    pub fn delete(&self, post: &str) {
        self.with(|state, now| state.delete(now, post));
    }

    pub fn react(&self, user: &str, post: &str, name: &str, on: bool) {
        self.with(|state, now| state.react(now, (user, post, name), on));
    }

    /// A file that can go along with a post, in its `file_ids`.
    pub fn file(&self, name: &str, mime: &str, content: &[u8]) -> String {
        self.with(|state, _| {
            let id = state.fresh('f');
            state.files.insert(id.clone(), (name.to_owned(), mime.to_owned(), content.to_vec()));
            id
        })
    }

    /// An event as it stands, to everybody in a channel.
    pub fn event(&self, event: &str, channel: &str, data: &Value) {
        self.with(|state, _| state.tell(event, channel, None, data));
    }

    /// Whatever this is, as a frame to everybody.
    pub fn frame(&self, frame: &Value) {
        self.raw(&frame.to_string());
    }

    /// The same for what need be no JSON.
    pub fn raw(&self, text: &str) {
        self.with(|state, _| {
            for line in state.lines.values_mut() {
                if let Some(live) = &line.live {
                    let _ = live.send(text.to_owned());
                }
            }
        });
    }

    /// What somebody posted and did not delete, in order.
    pub fn posts_of(&self, user: &str) -> Vec<Value> {
        let state = locked(&self.shared.state);
        let posts = state.order.iter().filter_map(|id| state.posts.get(id));
        posts.filter(|it| it["user_id"] == user && it["delete_at"] == 0).cloned().collect()
    }

    /// A post, as integrations see it.
    pub fn get(&self, post: &str) -> Value {
        locked(&self.shared.state).posts.get(post).cloned().unwrap_or_default()
    }

    /// A file that somebody gave it.
    pub fn content(&self, file: &str) -> Option<(String, String, Vec<u8>)> {
        locked(&self.shared.state).files.get(file).cloned()
    }

    /// Every request so far: its method and path, and its body.
    pub fn requests(&self) -> Vec<(String, Value)> {
        locked(&self.shared.state).requests.clone()
    }

    /// Who was shown typing, and where.
    pub fn typing(&self) -> Vec<(String, String)> {
        locked(&self.shared.state).typing.clone()
    }

    /// What is to become of the next request whose method and path begin so.
    pub fn trouble(&self, request: &str, trouble: Trouble) {
        self.with(|state, _| state.troubles.push((request.to_owned(), trouble)));
    }

    /// A token is good no more.
    pub fn revoke(&self, token: &str) {
        self.with(|state, _| state.tokens.remove(token));
    }

    /// Every socket breaks, without a goodbye.
    pub fn break_sockets(&self) {
        self.with(|state, _| {
            for line in state.lines.values_mut() {
                line.live = None;
            }
        });
    }

    /// The server starts anew: it knows no connection any more.
    pub fn forget_connections(&self) {
        self.with(|state, _| state.lines.clear());
    }

    /// Sockets stay open, and nothing goes by them, or goes again.
    pub fn deafen(&self, is_deaf: bool) {
        self.with(|state, _| state.is_deaf = is_deaf);
    }

    /// The next event is cut after so many bytes of its frame, and the connection with it.
    pub fn cut_next_event(&self, len: usize) {
        self.with(|state, _| state.cut_at = Some(len));
    }

    /// How many sockets are open.
    pub fn sockets(&self) -> usize {
        let state = locked(&self.shared.state);
        state
            .lines
            .values()
            .filter(|line| line.live.as_ref().is_some_and(|it| !it.is_closed()))
            .count()
    }

    /// Waits until the server looks like this.
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

    /// Somebody presses a button of a post: the server calls its address. The answer's status and
    /// body.
    pub async fn press(&self, user: &str, post: &str, action: &str) -> io::Result<(u16, Value)> {
        routes::press(&self.shared, user, post, action).await
    }
}
