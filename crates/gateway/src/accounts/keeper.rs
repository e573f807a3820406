//! The task of one account: connect, listen, notice silence, wait, try again. Whatever goes
//! wrong in it, a panic included, is this account's alone.

use super::AccountConnection;
use super::claims::{Taken, Who};
use super::inbox::{AccountInbox, Takes};
use super::pause::pause;
use super::state::Connection;
use futures_util::FutureExt as _;
use insula_channel::{AccountSettings, Adapter, AdapterFactory, BotIdentity, ConnectFault};
use insula_world::World;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a platform may take to say who we are.
const IDENTIFY_MAX: Duration = Duration::from_secs(30);

/// How long an adapter may take to end when told to. Then it is dropped.
const FAREWELL: Duration = Duration::from_secs(2);

/// How long a connection must have stood for its next failure to count as the first.
const STEADY: Duration = Duration::from_secs(60);

/// How often silence is looked for, at the least: an adapter may set no limit.
const LOOK_AGAIN: Duration = Duration::from_secs(24 * 60 * 60);

/// Why an attempt ended.
enum Ended {
    /// We were told to stop.
    Stopped,
    /// It failed.
    Failed(ConnectFault),
    /// Another account is the same on the platform.
    Twice(Taken, BotIdentity),
    /// Another account that is the same came, and goes before.
    Displaced,
}

/// Keeps one account connected until it is told to stop.
pub(super) async fn keep(
    connection: Arc<AccountConnection>,
    settings: AccountSettings,
    factory: Arc<dyn AdapterFactory>,
    sink: Arc<dyn Takes>,
    world: World,
) {
    let mut failures = 0_u32;
    let mut attempts = 0_u64;
    loop {
        connection.health.set(Connection::Connecting, None);
        let ended = attempt(&connection, &settings, &*factory, &sink, &world).await;
        let (fault, other_ended) = match ended {
            Ended::Stopped => break,
            Ended::Displaced => continue,
            Ended::Failed(fault) => (fault, CancellationToken::new()),
            Ended::Twice(taken, us) => (twice(&connection, &taken, &us), taken.ended),
        };
        let was_steady = connection.health.connected_for().is_some_and(|time| time >= STEADY);
        failures = if was_steady { 1 } else { failures.saturating_add(1) };
        attempts += 1;
        let (platform, name) = (connection.platform.as_str(), connection.name.as_str());
        let purpose = ["account", platform, name, &attempts.to_string()];
        let wait = pause(&fault, failures, &mut world.random.stream(&purpose));
        connection.failed(&fault, wait);
        tokio::select! {
            () = connection.stop.cancelled() => break,
            () = other_ended.cancelled() => {}
            () = world.clock.sleep(wait) => {}
        }
    }
    connection.health.set(Connection::Off, Some("stopped".to_owned()));
}

async fn attempt(
    connection: &Arc<AccountConnection>,
    settings: &AccountSettings,
    factory: &dyn AdapterFactory,
    sink: &Arc<dyn Takes>,
    world: &World,
) -> Ended {
    let adapter = match connection.adapter() {
        Some(adapter) => adapter,
        None => match make(factory, settings) {
            Ok(adapter) => {
                connection.adapter.store(Some(Arc::new(adapter.clone())));
                adapter
            }
            Err(fault) => return Ended::Failed(fault),
        },
    };
    let identity = tokio::select! {
        () = connection.stop.cancelled() => return Ended::Stopped,
        identity = identify(&*adapter, world) => identity,
    };
    let identity = match identity {
        Ok(identity) => identity,
        Err(fault) => return Ended::Failed(fault),
    };
    let who = Who::new(settings, &identity);
    let displaced = match connection.claims.claim(who, &connection.name, &connection.ended) {
        Ok(displaced) => displaced,
        Err(taken) => return Ended::Twice(taken, identity),
    };
    connection.notes.identify(&identity.id);
    let lacks = identity.missing.join("; ");
    connection.health.lacks((!lacks.is_empty()).then_some(lacks));
    offer_commands(connection, adapter.clone());
    let inbox = AccountInbox::new(connection.clone(), sink.clone(), connection.lanes.clone());
    listen(connection, (&*adapter, &inbox), &displaced, world).await
}

fn twice(connection: &AccountConnection, taken: &Taken, us: &BotIdentity) -> ConnectFault {
    let (platform, other) = (connection.platform, &taken.by);
    let why =
        format!("it is {} ({}), as `{platform}.{other}` is; keep one of them", us.name, us.id);
    ConnectFault::Refused(why.into())
}

/// Tells people who type which commands there are. Nobody waits for that, and a menu that is
/// missing takes nothing away from the commands.
fn offer_commands(connection: &Arc<AccountConnection>, adapter: Arc<dyn Adapter>) {
    let connection = connection.clone();
    tokio::spawn(async move {
        let offered = tokio::select! {
            () = connection.stop.cancelled() => return,
            offered = adapter.offer_commands(connection.commands) => offered,
        };
        if let Err(error) = offered {
            let (platform, account) = (connection.platform, &connection.name);
            tracing::info!(%platform, %account, %error, "the menu of commands was not taken");
        }
    });
}

/// Makes an adapter; one that panics while it is made is a fault like any other.
pub(super) fn make(
    factory: &dyn AdapterFactory,
    settings: &AccountSettings,
) -> Result<Arc<dyn Adapter>, ConnectFault> {
    catch_unwind(AssertUnwindSafe(|| factory.make(settings)))
        .unwrap_or_else(|_| Err(broken("making the connection panicked")))
}

/// Asks the platform who we are, for as long as that is worth waiting for.
pub(super) async fn identify(
    adapter: &dyn Adapter,
    world: &World,
) -> Result<BotIdentity, ConnectFault> {
    let asked = AssertUnwindSafe(adapter.identify()).catch_unwind();
    tokio::select! {
        answer = asked => answer.unwrap_or_else(|_| Err(broken("asking who we are panicked"))),
        () = world.clock.sleep(IDENTIFY_MAX) => {
            Err(broken(&format!("no answer within {} s", IDENTIFY_MAX.as_secs())))
        }
    }
}

async fn listen(
    connection: &Arc<AccountConnection>,
    (adapter, inbox): (&dyn Adapter, &AccountInbox),
    displaced: &CancellationToken,
    world: &World,
) -> Ended {
    let silence_max = adapter.features().silence_max;
    let stop = CancellationToken::new();
    connection.health.begin();
    let mut listening = pin!(AssertUnwindSafe(adapter.listen(inbox, &stop)).catch_unwind());
    let ended = loop {
        let left = silence_max.saturating_sub(connection.health.silence()).min(LOOK_AGAIN);
        tokio::select! {
            biased;
            () = connection.stop.cancelled() => break Ended::Stopped,
            () = displaced.cancelled() => break Ended::Displaced,
            done = &mut listening => {
                return Ended::Failed(match done {
                    Ok(Ok(())) => broken("the connection ended"),
                    Ok(Err(fault)) => fault,
                    Err(_) => broken("the connection panicked"),
                });
            }
            () = world.clock.sleep(left) => {}
        }
        if connection.health.silence() >= silence_max {
            let why = format!("nothing was heard for {} s", silence_max.as_secs());
            break Ended::Failed(broken(&why));
        }
    };
    stop.cancel();
    tokio::select! {
        _ = listening => {}
        () = world.clock.sleep(FAREWELL) => {}
    }
    ended
}

pub(super) fn broken(why: &str) -> ConnectFault {
    ConnectFault::Broken { why: why.into(), wait: None }
}

impl AccountConnection {
    /// Writes a failure down.
    fn failed(&self, fault: &ConnectFault, wait: Duration) {
        self.health.counts.errors.fetch_add(1, Ordering::Relaxed);
        let state = match fault {
            ConnectFault::Refused(_) => Connection::Refused,
            ConnectFault::Broken { .. } => Connection::BackingOff,
        };
        let reason = self.told(&fault.to_string());
        let (platform, account) = (self.platform, &self.name);
        let again_s = wait.as_secs();
        // An account that goes on failing says so once, and then quietly.
        self.health.set(state, Some(reason.clone()));
        if self.tell_failure() {
            tracing::warn!(%platform, %account, reason, again_s, "account {}", state.as_str());
            self.front.account_became((platform, account), Err(&reason));
        } else {
            tracing::debug!(%platform, %account, reason, again_s, "account {}", state.as_str());
        }
    }
}
