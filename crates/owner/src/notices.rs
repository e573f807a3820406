//! What an agent's home chat hears of it: one short line for each thing that became of it.
//!
//! A line leaves by the outbox while the agent serves, so that it waits for an account that is
//! away; one about an agent that does not is said at once or not at all.
//!
//! In an agent's quiet hours nothing is said but that an approval waits, which nobody would answer
//! later. The rest is told in one message after them, or when the daemon starts again. A crash
//! loses it; the log has it.

use crate::delivery::{ChatRef, Relay};
use async_trait::async_trait;
use insula_channel::Body;
use insula_domain::AgentId;
use insula_registry::home_chats::HomeChats;
use insula_registry::lives::{LifeEvent, LifeKind, TellsOfLife};
use insula_registry::{AgentContext, Registry};
use insula_store::{AgentCommand, Enqueue, OutboxCommand};
use insula_world::Clock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Lines that one agent's home hears in an hour: an account that comes and goes is no reason to
/// fill a chat.
const LINES_AN_HOUR_MAX: u32 = 30;
const HOUR: Duration = Duration::from_secs(60 * 60);
/// How long the same line is not said again.
const SAME_AGAIN: Duration = Duration::from_secs(15 * 60);
/// Lines that are kept of what happens in quiet hours; of more it is said how many.
const HELD_MAX: usize = 40;
/// Longest reason that a line gives, in bytes; the rest is in the log.
const WHY_BYTES_MAX: usize = 500;

/// Tells home chats.
pub(crate) struct Notices {
    registry: Arc<Registry>,
    homes: Arc<HomeChats>,
    clock: Arc<dyn Clock>,
    /// It is held by what this is held by.
    out: Weak<Relay>,
    /// How many lines each agent's home heard since when.
    heard: Mutex<HashMap<AgentId, (Duration, u32)>>,
    /// What each home heard last of a thing, and when.
    said: Mutex<HashMap<(AgentId, String), (Duration, String)>>,
    /// What each home is told when its quiet hours are over.
    held: Mutex<HashMap<AgentId, Held>>,
    /// For who waits until they are.
    own: Weak<Self>,
}

/// What happened while it was quiet.
#[derive(Default)]
struct Held {
    lines: Vec<String>,
    /// Lines for which there was no room.
    more: usize,
}

impl Held {
    fn told(self) -> String {
        let lines: String = self.lines.iter().map(|line| format!("\n- {line}")).collect();
        match self.more {
            0 => format!("While it was quiet:{lines}"),
            more => format!("While it was quiet:{lines}\n- and {more} more; the log has them"),
        }
    }
}

/// Whether one more line is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Yes,
    /// It is the last one in this hour, and says so.
    Last,
    No,
}

impl Notices {
    pub(crate) fn new(
        registry: Arc<Registry>,
        homes: Arc<HomeChats>,
        clock: Arc<dyn Clock>,
        out: Weak<Relay>,
    ) -> Arc<Self> {
        let (heard, said, held) = Default::default();
        Arc::new_cyclic(|own| Self {
            registry,
            homes,
            clock,
            out,
            heard,
            said,
            held,
            own: own.clone(),
        })
    }

    /// How long an agent's quiet hours go on; `None` outside of them.
    fn quiet_for(&self, agent: &AgentContext) -> Option<Duration> {
        let (hours, zone) = (agent.quiet_hours?, &agent.conversations.zones.own);
        let now = self.clock.now().as_millis();
        let left = u64::try_from(hours.left_ms(now, zone)).unwrap_or(0);
        hours.has(now, zone).then(|| Duration::from_millis(left.max(1)))
    }

    /// Keeps a line until the quiet hours are over.
    fn hold(&self, id: &AgentId, text: String, quiet: Duration) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !held.contains_key(id);
        let of = held.entry(id.clone()).or_default();
        match of.lines.len() < HELD_MAX {
            true => of.lines.push(text),
            false => of.more += 1,
        }
        drop(held);
        if !is_first {
            return;
        }
        let (own, clock, id) = (self.own.clone(), self.clock.clone(), id.clone());
        tokio::spawn(async move {
            let mut quiet = Some(quiet);
            while let Some(wait) = quiet {
                clock.sleep(wait).await;
                let Some(own) = own.upgrade() else { return };
                let snapshot = own.registry.snapshot();
                let agent = snapshot.agents.get(&id).and_then(|entry| entry.state.context());
                // The hours may be others by now, and so may the clock on the wall.
                quiet = agent.and_then(|agent| own.quiet_for(agent));
                if let (None, Some(agent)) = (quiet, agent) {
                    own.release(agent).await;
                }
            }
        });
    }

    /// Tells what was held.
    async fn release(&self, agent: &Arc<AgentContext>) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&agent.id);
        if let Some(held) = held {
            self.say(agent, held.told()).await;
        }
    }

    /// Says something in an agent's home chat, while that is its own.
    async fn say(&self, context: &Arc<AgentContext>, text: String) {
        let id = &context.id;
        let (Some(out), Some(home)) = (self.out.upgrade(), self.homes.of(id)) else { return };
        if !home.leads_to(&self.registry.snapshot(), id) {
            return;
        }
        let place = ChatRef::of(&home.address);
        let Some(agent) = out.serving(id) else {
            let body = Body { markdown: text, ..Body::default() };
            return out.say(context, out.tenant(context), &place, body).await;
        };
        self.put(&out, &agent, &place, text).await;
    }

    /// Puts a line into the outbox.
    async fn put(&self, out: &Relay, agent: &AgentContext, place: &ChatRef, text: String) {
        let put = Enqueue {
            session: None,
            turn: None,
            to: place.origin(None),
            text: out.engine.told(agent, text),
            name: None,
            buttons: Vec::new(),
            at: self.clock.now(),
        };
        let put = AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(put)));
        if let Err(error) = agent.store.commit(vec![put]).await {
            tracing::warn!(agent = %agent.id, %error, "a home chat was not told what became of its agent");
        }
    }

    /// Whether a home heard the same of the same thing lately, and nothing else of it since. What
    /// comes and goes is said each time; what goes on is said once.
    fn is_repeated(&self, event: &LifeEvent, text: &str) -> bool {
        let about = match (event.kind, &event.account) {
            (_, Some((platform, account))) => format!("{platform}:{account}"),
            (LifeKind::ApprovalWaits, _) => format!("approval {text}"),
            (LifeKind::BudgetLow, _) => format!("budget {text}"),
            _ => String::new(),
        };
        let now = self.clock.elapsed();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.retain(|_, (at, _)| now.saturating_sub(*at) < SAME_AGAIN);
        let key = (event.agent.id.clone(), about);
        if said.get(&key).is_some_and(|(_, before)| before == text) {
            return true;
        }
        said.insert(key, (now, text.to_owned()));
        false
    }

    fn room(&self, agent: &AgentId) -> Room {
        let now = self.clock.elapsed();
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.retain(|_, (since, _)| now.saturating_sub(*since) < HOUR);
        let (_, count) = heard.entry(agent.clone()).or_insert((now, 0));
        *count = count.saturating_add(1);
        match *count {
            count if count < LINES_AN_HOUR_MAX => Room::Yes,
            LINES_AN_HOUR_MAX => Room::Last,
            _ => Room::No,
        }
    }
}

#[async_trait]
impl TellsOfLife for Notices {
    async fn tell(&self, event: &LifeEvent) {
        let (Some(out), Some(home)) = (self.out.upgrade(), self.homes.of(&event.agent.id)) else {
            return;
        };
        let id = &event.agent.id;
        let snapshot = self.registry.snapshot();
        // A chat that is another agent's by now, or nobody's, hears nothing of this one.
        if !home.leads_to(&snapshot, id) {
            return;
        }
        let is_there = |(platform, account, chat): &(_, _, _)| {
            let at = &home.address;
            (at.platform, &at.account, &at.chat) == (*platform, account, chat)
        };
        if event.known_in.as_ref().is_some_and(is_there) {
            return;
        }
        let mut text = line(event);
        if self.is_repeated(event, &text) {
            return;
        }
        match self.room(id) {
            Room::Yes => {}
            Room::Last => text.push_str("\nMore happens than fits here; the rest is in my log."),
            Room::No => return,
        }
        let stops = event.kind == LifeKind::DaemonStopped;
        let urgent = event.kind == LifeKind::ApprovalWaits;
        if let Some(quiet) = self.quiet_for(&event.agent).filter(|_| !urgent) {
            self.hold(id, text, quiet);
            if !stops {
                return;
            }
            // Into the outbox, so that it is told after the next start.
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
            let Some(held) = held else { return };
            return self.put(&out, &event.agent, &ChatRef::of(&home.address), held.told()).await;
        }
        if !urgent {
            self.release(&event.agent).await;
        }
        let place = ChatRef::of(&home.address);
        let Some(agent) = out.serving(id).filter(|_| !stops) else {
            let body = Body { markdown: text, ..Body::default() };
            return out.say(&event.agent, out.tenant(&event.agent), &place, body).await;
        };
        self.put(&out, &agent, &place, text).await;
    }
}

/// What a home chat hears.
fn line(event: &LifeEvent) -> String {
    let name = &event.agent.identity.name;
    let account = event.account.as_ref();
    let account = account.map(|(platform, name)| format!("{platform}:{name}")).unwrap_or_default();
    let what = match event.kind {
        LifeKind::DaemonStarted => format!("{name}: the daemon has started"),
        LifeKind::DaemonStopped => format!("{name}: the daemon stops"),
        LifeKind::Created => format!("{name} was created"),
        LifeKind::Changed => format!("{name} was changed, generation {}", event.generation),
        LifeKind::Failed => format!("{name} failed and serves nobody"),
        LifeKind::Recovered => format!("{name} has recovered"),
        LifeKind::Paused => format!("{name} was paused"),
        LifeKind::Resumed => format!("{name} serves again"),
        LifeKind::Archived => format!("{name} was archived"),
        LifeKind::Restarted => format!("{name} was restarted, generation {}", event.generation),
        LifeKind::Removed => format!("{name} was removed from the configuration"),
        LifeKind::Deleted => format!("{name} was deleted"),
        LifeKind::AccountUp => format!("{name}: account {account} is connected"),
        LifeKind::AccountDown => format!("{name}: account {account} is not connected"),
        LifeKind::ApprovalWaits => format!("{name} waits for an approval"),
        LifeKind::BudgetLow => format!("{name} has nearly nothing left to spend"),
    };
    let short = |text: &str| text[..text.floor_char_boundary(WHY_BYTES_MAX)].to_owned();
    let details = [event.what.as_deref(), event.why.as_deref()];
    let details: Vec<String> = details.into_iter().flatten().map(short).collect();
    match details.is_empty() {
        true => what,
        false => format!("{what}: {}", details.join("; ")),
    }
}
