//! A daemon that speaks as signal-cli's does over HTTP, and the platform behind it.
//!
//! People on it write to accounts and in groups; what accounts send is kept. Any call can be made
//! to go wrong, and the stream of events can be cut or fall silent. It runs on the network of the
//! world it is given. Nothing here sleeps to wait: [`Signal::until`] waits for what is to be.

mod draft;
mod methods;
mod serve;
mod state;

pub use draft::{Draft, User};
pub use state::{Sent, Trouble, Where};

use crate::world::locked;
use insula_world::World;
use serde_json::{Value, json};
use state::State;
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
}

/// A call as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub method: String,
    pub params: Value,
}

/// A running daemon. It ends with the runtime it runs on.
#[derive(Clone)]
pub struct Signal {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Signal {
    /// Starts the daemon on loopback of `world`.
    pub async fn start(world: &World) -> io::Result<Self> {
        let listener = world.network.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            world: world.clone(),
            state: Mutex::new(State::new()),
            change: watch::channel(0).0,
        });
        tokio::spawn(serve::accept(listener, shared.clone()));
        Ok(Self { address, shared })
    }

    /// What to give as `base_url`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = {
            let mut state = locked(&self.shared.state);
            state.now = self.shared.world.clock.now().as_millis();
            change(&mut state)
        };
        self.shared.changed();
        result
    }

    /// The daemon numbers its events, and goes on behind the one it is told.
    pub fn number_events(&self) {
        self.with(|state| state.numbers = true);
    }

    /// What it says its version is.
    pub fn version(&self, version: &str) {
        self.with(|state| version.clone_into(&mut state.version));
    }

    /// There is an account of this user, who has a number.
    pub fn account(&self, user: &User) {
        self.with(|state| state.add_account(user));
    }

    /// The account is linked no more.
    pub fn unlink(&self, number: &str) {
        self.with(|state| state.accounts.get_mut(number).map(|it| it.is_unlinked = true));
    }

    /// There is somebody on the platform whom accounts can write to.
    pub fn person(&self, user: &User) {
        self.with(|state| state.know(user));
    }

    /// Somebody makes a group with these accounts in it from its beginning.
    pub fn group(&self, id: &str, by: &User, accounts: &[&str]) {
        self.with(|state| state.make_group(id, by, accounts));
    }

    /// Somebody invites an account to a group, which has to accept.
    pub fn invite(&self, id: &str, by: &User, account: &str) {
        self.with(|state| state.invite(id, by, account));
    }

    /// Somebody takes an account out of a group.
    pub fn remove(&self, id: &str, by: &User, account: &str) {
        self.with(|state| state.remove(id, by, account));
    }

    /// Whether an account is in a group.
    pub fn is_in(&self, id: &str, account: &str) -> bool {
        let state = locked(&self.shared.state);
        state.groups.get(id).is_some_and(|group| group.members.contains(account))
    }

    /// Somebody says something; when they did, by which it is named.
    pub fn say(&self, place: Where<'_>, draft: &Draft) -> i64 {
        self.with(|state| state.say(place, draft))
    }

    /// Somebody changes what they said.
    pub fn edit(&self, place: Where<'_>, target: i64, draft: &Draft) -> i64 {
        self.with(|state| state.edit(place, target, draft))
    }

    /// Somebody takes back what they said.
    pub fn delete(&self, place: Where<'_>, user: &User, target: i64) {
        let gone = json!({ "remoteDelete": { "timestamp": target } });
        self.with(|state| state.say(place, &Draft::new(user, "").with(gone)));
    }

    /// The account's owner says something with their phone: in a group, or to somebody.
    pub fn say_by_phone(&self, account: &str, to: Result<&str, &User>, text: &str) -> i64 {
        self.with(|state| state.say_by_phone(account, to, text))
    }

    /// An event as it is, whatever it is.
    pub fn event(&self, account: &str, event: &str) {
        self.with(|state| state.deliver(account, event.to_owned()));
    }

    /// What has been told is forgotten; what was not, comes.
    pub fn forget_events(&self, account: &str) {
        self.with(|state| {
            if let Some(account) = state.accounts.get_mut(account) {
                let told = account.delivered.saturating_sub(account.forgotten);
                account.events.drain(..told.min(account.events.len()));
                account.forgotten += told;
            }
        });
    }

    /// All events come again.
    pub fn redeliver(&self) {
        self.with(|state| state.accounts.values_mut().for_each(|it| it.delivered = it.forgotten));
    }

    /// The next call of this method goes wrong. Several queue up.
    pub fn trouble(&self, method: &str, trouble: Trouble) {
        self.with(|state| state.troubles.push_back((method.to_owned(), trouble)));
    }

    /// Streams that are open, and those that begin until [`Self::wake`], say nothing any more;
    /// all else works.
    pub fn wedge(&self) {
        self.with(|state| state.is_wedged = true);
    }

    /// New streams work again. Those that fell silent stay silent.
    pub fn wake(&self) {
        self.with(|state| state.is_wedged = false);
    }

    /// The next stream ends after this many bytes.
    pub fn cut_stream(&self, at: usize) {
        self.with(|state| state.cuts.push_back(at));
    }

    /// How many streams have begun.
    pub fn streams(&self) -> usize {
        locked(&self.shared.state).streams
    }

    /// Every call so far.
    pub fn asked(&self) -> Vec<Asked> {
        let state = locked(&self.shared.state);
        let all = state.requests.iter().cloned();
        all.map(|(method, params)| Asked { method, params }).collect()
    }

    /// The arguments of the calls of one method.
    pub fn asked_for(&self, method: &str) -> Vec<Value> {
        let all = self.asked().into_iter();
        all.filter(|asked| asked.method == method).map(|asked| asked.params).collect()
    }

    /// What accounts have sent, in order, as it reads now.
    pub fn sent(&self) -> Vec<Sent> {
        locked(&self.shared.state).sent.clone()
    }

    /// Waits until `found` finds something.
    pub async fn until<T>(&self, mut found: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changes = self.shared.change.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(found) = found(self) {
                return found;
            }
            // It can't be dropped: `self` holds it.
            let _ = changes.changed().await;
        }
    }

    /// Waits until accounts have sent `count` messages in all.
    pub async fn until_sent(&self, count: usize) -> Vec<Sent> {
        self.until(|platform| Some(platform.sent()).filter(|sent| sent.len() >= count)).await
    }
}
