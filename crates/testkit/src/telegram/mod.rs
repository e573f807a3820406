//! A platform that speaks Telegram's Bot API over HTTP, for as many bots as wanted.
//!
//! People on it send whatever people send; bots listen by asking or by being called, and what
//! they send is kept. Updates come again until they are acknowledged, and any request can be
//! made to go wrong. It runs on the network of the world it is given, in memory or on loopback.
//! Nothing here sleeps to wait: [`Telegram::until`] waits for what is to be.

mod draft;
mod html;
mod methods;
mod serve;
mod state;

pub use draft::{Draft, User};
pub use html::visible;
pub use state::{Sent, Trouble, Where};

use crate::world::locked;
use insula_world::World;
use serde_json::{Map, Value};
use state::{ChatKey, State};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

pub(crate) struct Shared {
    world: World,
    state: Mutex<State>,
    change: watch::Sender<u64>,
}

impl Shared {
    fn changed(&self) {
        self.change.send_modify(|count| *count += 1);
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.change.subscribe()
    }

    fn now(&self) -> i64 {
        self.world.clock.now().as_millis() / 1000
    }
}

/// A request of a bot, as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The bot's token.
    pub token: String,
    pub method: String,
    /// Its arguments, files left out.
    pub arguments: Map<String, Value>,
}

/// A running platform. It ends with the runtime it runs on.
#[derive(Clone)]
pub struct Telegram {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Telegram {
    /// Starts the platform on loopback of `world`.
    pub async fn start(world: &World) -> io::Result<Self> {
        let listener = world.network.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            world: world.clone(),
            state: Mutex::default(),
            change: watch::channel(0).0,
        });
        tokio::spawn(serve::accept(listener, shared.clone()));
        Ok(Self { address, shared })
    }

    /// What to give as `base_url`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes something, and lets everyone who waits look again.
    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = {
            let mut state = locked(&self.shared.state);
            state.now = self.shared.now();
            change(&mut state)
        };
        self.shared.changed();
        result
    }

    /// There is a bot of this token (`<id>:<letters>`) and name.
    pub fn bot(&self, token: &str, username: &str) {
        self.with(|state| state.add_bot(token, username));
    }

    /// The token is no longer good.
    pub fn revoke(&self, token: &str) {
        self.with(|state| state.bots.get_mut(token).map(|bot| bot.is_revoked = true));
    }

    /// The token is good again.
    pub fn restore(&self, token: &str) {
        self.with(|state| state.bots.get_mut(token).map(|bot| bot.is_revoked = false));
    }

    /// Whether the bot hears everything in groups, and can be added to them.
    pub fn permit(&self, token: &str, reads_all: bool, can_join: bool) {
        self.with(|state| {
            if let Some(bot) = state.bots.get_mut(token) {
                (bot.reads_all, bot.can_join) = (reads_all, can_join);
            }
        });
    }

    /// There is a group with these bots in it.
    pub fn group(&self, id: i64, title: &str, bots: &[&str]) {
        self.chat(id, "group", title, bots);
    }

    /// There is a supergroup with topics, and these bots in it.
    pub fn forum(&self, id: i64, title: &str, bots: &[&str]) {
        self.chat(id, "supergroup", title, bots);
        self.with(|state| {
            if let Some(chat) = state.chats.get_mut(&ChatKey::Shared(id)) {
                chat.is_forum = true;
                // The first id is the topic General's.
                chat.next_message = 2;
            }
        });
    }

    /// There is a channel with these bots in it.
    pub fn channel(&self, id: i64, title: &str, bots: &[&str]) {
        self.chat(id, "channel", title, bots);
    }

    fn chat(&self, id: i64, kind: &'static str, title: &str, bots: &[&str]) {
        self.with(|state| {
            let bots = bots.iter().map(|&token| token.to_owned());
            state.add_chat(id, kind, title).bots.extend(bots);
        });
    }

    /// Somebody begins a topic; its id. 0 where there is no such chat.
    pub fn topic(&self, chat: i64, name: &str) -> i64 {
        self.with(|state| state.topic(chat, name)).unwrap_or_default()
    }

    /// Somebody says something; the message's id. 0 where there is no such chat.
    pub fn say(&self, place: Where<'_>, draft: &Draft) -> i64 {
        self.with(|state| state.say(place, draft)).unwrap_or_default()
    }

    /// Somebody changes what they said. Whether it was there.
    pub fn edit(&self, place: Where<'_>, user: &User, message: i64, text: &str) -> bool {
        self.with(|state| state.edit(place, user, message, text))
    }

    /// A message is deleted, and no bot is told. Whether it was there.
    pub fn delete(&self, place: Where<'_>, user: &User, message: i64) -> bool {
        self.with(|state| state.delete(place, user, message))
    }

    /// Somebody presses a button under a bot's message; the handle of the press.
    pub fn press(&self, place: Where<'_>, user: &User, message: i64, data: &str) -> Option<String> {
        self.with(|state| state.press(place, user, message, data))
    }

    /// Somebody adds a bot to a chat.
    pub fn add(&self, token: &str, chat: i64, by: &User) {
        self.with(|state| state.membership(token, chat, by, true));
    }

    /// Somebody throws a bot out of a chat.
    pub fn remove(&self, token: &str, chat: i64, by: &User) {
        self.with(|state| state.membership(token, chat, by, false));
    }

    /// Somebody leaves a chat.
    pub fn leave(&self, chat: i64, user: &User) {
        self.with(|state| state.leave(chat, user));
    }

    /// A group becomes a supergroup; its new id. 0 where there is no such group.
    pub fn migrate(&self, chat: i64) -> i64 {
        self.with(|state| state.migrate(chat)).unwrap_or_default()
    }

    /// An update as it is, whatever it is: one JSON value. The id is put in if it has none.
    pub fn update(&self, token: &str, mut update: Value) -> i64 {
        self.with(|state| {
            let Some(bot) = state.bots.get_mut(token) else { return 0 };
            let id = bot.next_update;
            bot.next_update += 1;
            if let Some(fields) = update.as_object_mut() {
                fields.entry("update_id").or_insert(id.into());
            }
            bot.pending.push_back((id, update.to_string()));
            id
        })
    }

    /// Everything that was acknowledged comes again.
    pub fn redeliver(&self, token: &str) {
        self.with(|state| {
            if let Some(bot) = state.bots.get_mut(token) {
                let again: Vec<_> = bot.past.drain(..).collect();
                for update in again.into_iter().rev() {
                    bot.pending.push_front(update);
                }
                bot.again.extend(bot.pending.iter().map(|(id, _)| *id));
            }
        });
    }

    /// What waits for a bot is dropped, and never comes again.
    pub fn forget(&self, token: &str) {
        self.with(|state| state.bots.get_mut(token).map(|bot| bot.pending.clear()));
    }

    /// What waits for a bot comes in another order, with ids in the new order.
    pub fn reorder(&self, token: &str) {
        self.with(|state| {
            if let Some(bot) = state.bots.get_mut(token) {
                bot.pending.make_contiguous().reverse();
            }
        });
    }

    /// The next request of this bot with this method goes wrong. Several queue up.
    pub fn trouble(&self, token: &str, method: &str, trouble: Trouble) {
        self.with(|state| {
            if let Some(bot) = state.bots.get_mut(token) {
                bot.troubles.push_back((method.to_owned(), None, trouble));
            }
        });
    }

    /// The same of requests about one chat.
    pub fn trouble_in(&self, token: &str, chat: i64, method: &str, trouble: Trouble) {
        self.with(|state| {
            if let Some(bot) = state.bots.get_mut(token) {
                bot.troubles.push_back((method.to_owned(), Some(chat), trouble));
            }
        });
    }

    /// Whatever was to go wrong for this bot and has not, will not.
    pub fn calm(&self, token: &str) {
        self.with(|state| state.bots.get_mut(token).map(|bot| bot.troubles.clear()));
    }

    /// What bots have sent so far, in order.
    pub fn sent(&self) -> Vec<Sent> {
        locked(&self.shared.state).sent.clone()
    }

    /// The last message of a bot's that is like this.
    pub fn find_sent(&self, is_it: impl Fn(&Sent) -> bool) -> Option<Sent> {
        locked(&self.shared.state).sent.iter().rev().find(|sent| is_it(sent)).cloned()
    }

    /// What bots have sent to one chat and topic.
    pub fn sent_to(&self, chat: i64, topic: Option<i64>) -> Vec<Sent> {
        let is_there = |sent: &Sent| sent.chat == chat && sent.topic == topic;
        self.sent().into_iter().filter(is_there).collect()
    }

    /// Every request so far; that for a file is the method `file`, with its path.
    pub fn asked(&self) -> Vec<Asked> {
        let state = locked(&self.shared.state);
        let all = state.requests.iter().cloned();
        all.map(|(token, method, arguments)| Asked { token, method, arguments }).collect()
    }

    /// The arguments of the requests with one method.
    pub fn asked_for(&self, method: &str) -> Vec<Map<String, Value>> {
        let all = self.asked().into_iter();
        all.filter(|asked| asked.method == method).map(|asked| asked.arguments).collect()
    }

    /// How many updates a bot has not acknowledged.
    pub fn pending(&self, token: &str) -> usize {
        locked(&self.shared.state).bots.get(token).map_or(0, |bot| bot.pending.len())
    }

    /// The menu of a bot.
    pub fn commands(&self, token: &str) -> Value {
        let state = locked(&self.shared.state);
        state.bots.get(token).map_or(Value::Null, |bot| bot.commands.clone())
    }

    /// Waits until `found` finds something.
    pub async fn until<T>(&self, mut found: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changes = self.shared.changes();
        loop {
            changes.mark_unchanged();
            if let Some(found) = found(self) {
                return found;
            }
            // It can't be dropped: `self` holds it.
            let _ = changes.changed().await;
        }
    }

    /// Waits until bots have sent `count` messages in all, and gives them.
    pub async fn until_sent(&self, count: usize) -> Vec<Sent> {
        self.until(|platform| Some(platform.sent()).filter(|sent| sent.len() >= count)).await
    }
}
