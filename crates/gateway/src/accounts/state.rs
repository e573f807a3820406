//! How an account stands, for people and programs.

use insula_domain::{AccountId, Platform};
use insula_world::{Clock, Timestamp};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether an account is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Connection {
    /// It is being tried.
    Connecting,
    /// The platform was heard.
    Connected,
    /// It failed and is tried again soon.
    BackingOff,
    /// The platform refused it; it is tried rarely until its settings change.
    Refused,
    /// Nothing is tried: turned off, wrong settings, or a secret is missing.
    Off,
}

impl Connection {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Connecting, Self::Connected, Self::BackingOff, Self::Refused, Self::Off];

    /// The state as words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::BackingOff => "backing off",
            Self::Refused => "refused",
            Self::Off => "off",
        }
    }
}

/// How an account stands at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountState {
    pub platform: Platform,
    pub account: AccountId,
    /// Whether it is connected.
    pub state: Connection,
    /// Why not, or what it lacks although it is.
    pub reason: Option<String>,
    pub since: Timestamp,
    /// Events it has heard since the daemon started.
    pub events: u64,
    /// How often it failed since the daemon started.
    pub errors: u64,
}

/// Counts that outlive a change of an account's settings.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) events: AtomicU64,
    pub(super) errors: AtomicU64,
}

/// The state of an account as its task writes it.
pub(super) struct Health {
    clock: Arc<dyn Clock>,
    pub(super) counts: Arc<Counts>,
    now: Mutex<Now>,
    /// When the peer was last heard, in milliseconds of [`Clock::elapsed`].
    heard_ms: AtomicU64,
    /// How many hand over events now: while ours is slow, the peer is not silent.
    taking: AtomicUsize,
}

struct Now {
    state: Connection,
    reason: Option<String>,
    since: Timestamp,
    since_elapsed: Duration,
    /// What the account lacks although it is connected.
    lacks: Option<String>,
}

impl Health {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        counts: Arc<Counts>,
        state: Connection,
        reason: Option<String>,
    ) -> Self {
        let (since, since_elapsed) = (clock.now(), clock.elapsed());
        let now = Mutex::new(Now { state, reason, since, since_elapsed, lacks: None });
        Self { clock, counts, now, heard_ms: AtomicU64::new(0), taking: AtomicUsize::new(0) }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        // Nothing below runs foreign code, so a poisoned lock guards nothing broken.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes over to a state.
    pub(super) fn set(&self, state: Connection, reason: Option<String>) {
        let (since, since_elapsed) = (self.clock.now(), self.clock.elapsed());
        let mut now = self.now();
        if now.state != state {
            (now.since, now.since_elapsed) = (since, since_elapsed);
        }
        (now.state, now.reason) = (state, reason);
    }

    /// Says what the account will lack once it is connected.
    pub(super) fn lacks(&self, what: Option<String>) {
        self.now().lacks = what;
    }

    /// The peer was heard: the account is connected. Whether it was not before.
    pub(super) fn hear(&self) -> bool {
        self.heard_ms.store(millis(self.clock.elapsed()), Ordering::Relaxed);
        let mut now = self.now();
        if now.state == Connection::Connected {
            return false;
        }
        now.state = Connection::Connected;
        now.reason = now.lacks.clone();
        (now.since, now.since_elapsed) = (self.clock.now(), self.clock.elapsed());
        true
    }

    /// Begins to wait for the peer.
    pub(super) fn begin(&self) {
        self.heard_ms.store(millis(self.clock.elapsed()), Ordering::Relaxed);
    }

    /// How long the peer has been silent, while nothing of its is being handed over.
    pub(super) fn silence(&self) -> Duration {
        if self.taking.load(Ordering::Relaxed) > 0 {
            return Duration::ZERO;
        }
        let heard = Duration::from_millis(self.heard_ms.load(Ordering::Relaxed));
        self.clock.elapsed().saturating_sub(heard)
    }

    /// How long the account has been connected, if it is.
    pub(super) fn connected_for(&self) -> Option<Duration> {
        let now = self.now();
        let connected = now.state == Connection::Connected;
        connected.then(|| self.clock.elapsed().saturating_sub(now.since_elapsed))
    }

    /// Says that events are being handed over, until the mark is dropped.
    pub(super) fn taking(&self) -> Taking<'_> {
        self.taking.fetch_add(1, Ordering::Relaxed);
        Taking(self)
    }

    pub(super) fn state(&self, platform: Platform, account: &AccountId) -> AccountState {
        let now = self.now();
        AccountState {
            platform,
            account: account.clone(),
            state: now.state,
            reason: now.reason.clone(),
            since: now.since,
            events: self.counts.events.load(Ordering::Relaxed),
            errors: self.counts.errors.load(Ordering::Relaxed),
        }
    }
}

/// Events are being handed over.
pub(super) struct Taking<'h>(&'h Health);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        // From here on the peer may be silent again.
        self.0.begin();
        self.0.taking.fetch_sub(1, Ordering::Relaxed);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
