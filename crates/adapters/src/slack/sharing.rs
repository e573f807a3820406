//! One app in several workspaces: an account each, and one connection for all of them.
//!
//! Slack gives each event to one of an app's sockets, whichever workspace it is from. So of the
//! accounts that listen with one app's token one holds the socket, and passes on what is for another;
//! it is acknowledged when that one has taken it. When the one that holds it ends, another does.
//!
//! It knows nothing of sockets, nor of what an event says besides its workspace.

use super::handling::Told;
use super::known::Us;
use insula_channel::ConnectFault;
use insula_domain::AccountId;
use insula_world::Clock;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, mpsc, oneshot, watch};

/// Events that wait for one account. What is beyond is not acknowledged, and comes again.
const PASSED_MAX: usize = 64;

/// How long what is for an account that listened a moment ago is not acknowledged: so long Slack tells
/// it again, and the account may be back.
const AWAY: Duration = Duration::from_secs(300);

/// The apps whose accounts listen here.
#[derive(Default)]
pub struct Apps(Mutex<HashMap<blake3::Hash, Weak<App>>>);

impl Apps {
    /// The app of a token, at an API.
    pub(super) fn app(&self, token: &SecretString, base: &str) -> Arc<App> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(base.as_bytes()).update(b"\0").update(token.expose_secret().as_bytes());
        let mut apps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        apps.retain(|_, app| app.strong_count() > 0);
        let app = apps.entry(hasher.finalize()).or_default();
        app.upgrade().unwrap_or_else(|| {
            let new = Arc::<App>::default();
            *app = Arc::downgrade(&new);
            new
        })
    }
}

/// What the accounts of one app share.
#[derive(Default)]
pub(super) struct App {
    /// Whoever holds this holds the socket.
    socket: Arc<tokio::sync::Mutex<()>>,
    members: Mutex<Members>,
    pulse: watch::Sender<Pulse>,
}

#[derive(Default)]
struct Members {
    all: Vec<Member>,
    /// Who listened, and when it ended.
    away: Vec<(Us, Duration)>,
    /// The number of the next one.
    next: u64,
}

/// An account that listens.
struct Member {
    number: u64,
    account: AccountId,
    us: Us,
    tell: mpsc::Sender<Passed>,
}

/// What those who do not hold the socket know of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pulse {
    /// Whether Slack is heard now.
    pub is_heard: bool,
    /// How often nothing was heard before that.
    pub breaks: u64,
    /// How often it was silent.
    pub silences: u64,
    /// How often Slack said anything.
    pub beats: u64,
}

/// Something that is for another account than the one that heard it.
pub(super) struct Passed {
    pub told: Told,
    pub payload: Value,
    done: oneshot::Sender<()>,
}

impl Passed {
    /// It is taken: it can be acknowledged.
    pub(super) fn taken(self) {
        // Whoever heard it may be gone; then it comes again, and is recognised.
        let _ = self.done.send(());
    }
}

/// For whom something is.
pub(super) enum Route {
    /// For the one that heard it, or for nobody here.
    Here,
    /// For another, who will say when it is taken; or will not.
    Passed(oneshot::Receiver<()>),
    /// For another, who is behind or away: it has to come again.
    Behind,
}

/// An account's part in its app, as long as it listens.
pub(super) struct Joined {
    app: Arc<App>,
    clock: Arc<dyn Clock>,
    number: u64,
    pub passed: mpsc::Receiver<Passed>,
    pub pulse: watch::Receiver<Pulse>,
}

/// The right to the socket.
pub(super) struct Held {
    app: Arc<App>,
    _socket: OwnedMutexGuard<()>,
}

impl App {
    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An account begins to listen.
    pub(super) fn join(
        self: &Arc<Self>,
        account: &AccountId,
        us: Us,
        clock: &Arc<dyn Clock>,
    ) -> Result<Joined, ConnectFault> {
        let mut members = self.members();
        if let Some(other) = members.all.iter().find(|it| it.us.team == us.team) {
            let why = format!(
                "account `slack.{}` hears this workspace with the same app; remove one of them",
                other.account
            );
            return Err(ConnectFault::Broken { why: why.into(), wait: None });
        }
        let (tell, passed) = mpsc::channel(PASSED_MAX);
        let number = members.next;
        members.next += 1;
        members.away.retain(|(away, _)| away.team != us.team);
        members.all.push(Member { number, account: account.clone(), us, tell });
        // Where another account holds the socket, how that is now is news.
        let mut pulse = self.pulse.subscribe();
        pulse.mark_changed();
        Ok(Joined { app: self.clone(), clock: clock.clone(), number, passed, pulse })
    }

    /// The right to the socket, when nobody else has it.
    pub(super) async fn hold(self: Arc<Self>) -> Held {
        let socket = self.socket.clone().lock_owned().await;
        Held { app: self, _socket: socket }
    }
}

impl Joined {
    /// Passes on what is for another account.
    pub(super) fn route(&self, told: Told, payload: &Value) -> Route {
        let members = self.app.members();
        let is_for = |it: &&Member| it.us.is_meant(told, payload);
        // Who is in all workspaces has those that nobody else has.
        let named = members.all.iter().filter(is_for);
        let any = members.all.iter().filter(|it| it.us.is_everywhere);
        let found = named.chain(any).next();
        let now = self.clock.elapsed();
        let is_away = |(us, since): &(Us, Duration)| {
            now.saturating_sub(*since) < AWAY && us.is_meant(told, payload)
        };
        let Some(member) = found.filter(|it| it.number != self.number) else {
            let is_lost = found.is_none() && members.away.iter().any(is_away);
            return if is_lost { Route::Behind } else { Route::Here };
        };
        let (done, taken) = oneshot::channel();
        match member.tell.try_send(Passed { told, payload: payload.clone(), done }) {
            Ok(()) => Route::Passed(taken),
            Err(_) => Route::Behind,
        }
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let now = self.clock.elapsed();
        let mut members = self.app.members();
        members.away.retain(|(_, since)| now.saturating_sub(*since) < AWAY);
        if let Some(at) = members.all.iter().position(|it| it.number == self.number) {
            let us = members.all.remove(at).us;
            members.away.push((us, now));
        }
    }
}

impl Held {
    /// Says how the socket is.
    pub(super) fn tell(&self, change: impl FnOnce(&mut Pulse)) {
        self.app.pulse.send_modify(change);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.tell(|pulse| pulse.is_heard = false);
    }
}

impl Us {
    /// Whether something is of our workspace.
    fn is_meant(&self, told: Told, payload: &Value) -> bool {
        let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str);
        let is_ours = |it: &Value| {
            it["team_id"].as_str() == Some(&*self.team)
                || it["user_id"].as_str() == Some(&*self.user)
        };
        let team = match told {
            Told::Event => match payload["authorizations"].as_array().map(Vec::as_slice) {
                Some([]) | None => text("/team_id"),
                Some(for_whom) => return for_whom.iter().any(is_ours),
            },
            Told::Interaction => text("/team/id"),
            Told::Command => text("/team_id"),
        };
        team == Some(&*self.team)
    }
}
