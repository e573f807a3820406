//! The logs of agents: what happened to each, one file a day in its folder, for its operator.
//!
//! Lines wait in a queue of their agent's own, which is bounded: one that logs much loses lines of
//! its own and of nobody else. A disk that is full costs lines, and never a turn.

pub mod files;

use crate::home::Home;
use crate::registry::{AgentState, Registry};
use insula_domain::AgentId;
use insula_world::{Timestamp, World};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Lines of one agent that may wait to be written.
const WAITING_MAX: usize = 512;
/// Longest line, in bytes; one that is longer is left out.
const LINE_BYTES_MAX: usize = 16 * 1024;
/// How often files are looked for that are too old.
const PRUNE_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long files of an agent are kept whose configuration can't be read.
pub const KEEP_DEFAULT: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Takes lines, and writes them when there is time.
pub struct AgentLogs {
    home: Home,
    world: World,
    registry: Arc<Registry>,
    waiting: Mutex<BTreeMap<AgentId, Waiting>>,
    wake: Notify,
    /// Whether it is known that something can't be written: told once.
    is_troubled: AtomicBool,
}

/// What waits for one agent's file.
#[derive(Default)]
struct Waiting {
    /// When each was said, and what.
    lines: Vec<(Timestamp, String)>,
    /// How many more there were.
    left_out: u64,
}

impl AgentLogs {
    pub(crate) fn new(home: &Home, world: &World, registry: &Arc<Registry>) -> Arc<Self> {
        Arc::new(Self {
            home: home.clone(),
            world: world.clone(),
            registry: registry.clone(),
            waiting: Mutex::default(),
            wake: Notify::new(),
            is_troubled: AtomicBool::new(false),
        })
    }

    /// Takes a line about an agent, a whole JSON object. Waits for nothing.
    pub fn push(&self, agent: AgentId, at: Timestamp, line: String) {
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let own = waiting.entry(agent).or_default();
            if own.lines.len() >= WAITING_MAX || line.len() > LINE_BYTES_MAX {
                own.left_out += 1;
                return;
            }
            own.lines.push((at, line));
        }
        self.wake.notify_one();
    }

    /// Writes what comes, and removes what is too old, until told to stop.
    pub async fn run(&self, stop: CancellationToken) {
        let mut prune_at = self.world.clock.elapsed();
        loop {
            if self.world.clock.elapsed() >= prune_at {
                self.prune().await;
                prune_at = self.world.clock.elapsed() + PRUNE_EVERY;
            }
            let pause = prune_at.saturating_sub(self.world.clock.elapsed());
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.wake.notified() => self.flush().await,
                () = self.world.clock.sleep(pause) => {}
            }
        }
    }

    /// Writes what waits.
    pub async fn flush(&self) {
        let waiting =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if waiting.is_empty() {
            return;
        }
        let home = self.home.clone();
        let written = self.world.storage.run(move || {
            let mut trouble = None;
            for (agent, own) in waiting {
                if let Err(error) = write(&home, &agent, own) {
                    trouble = Some((agent, error));
                }
            }
            trouble
        });
        let trouble = written.await.ok().flatten();
        let was_troubled = self.is_troubled.swap(trouble.is_some(), Ordering::Relaxed);
        if let (Some((of, error)), false) = (trouble, was_troubled) {
            // Without the name of an agent in its field: this line would be one of the same file.
            tracing::warn!(%of, %error, "a log can't be written; what happens meanwhile is in the daemon's own alone");
        }
    }

    /// Removes files that are older than their agents keep them.
    async fn prune(&self) {
        let snapshot = self.registry.snapshot();
        let agents: Vec<(AgentId, Duration)> = snapshot
            .agents
            .iter()
            .filter(|(_, entry)| !matches!(entry.state, AgentState::Deleted))
            .map(|(id, entry)| {
                let keep = entry.state.context().map_or(KEEP_DEFAULT, |agent| agent.logs_keep);
                (id.clone(), keep)
            })
            .collect();
        let (home, now) = (self.home.clone(), self.world.clock.now());
        let pruned = self.world.storage.run(move || {
            for (agent, keep) in agents {
                let oldest = day(earlier(now, keep));
                for old in files::days(&home.agent(&agent)).into_iter().filter(|it| *it < oldest) {
                    // Tried again tomorrow.
                    let _ = files::remove(&home.agent(&agent), &old);
                }
            }
        });
        let _ = pruned.await;
    }
}

/// Appends what waits for an agent to the files of the days it was said on.
fn write(
    home: &Home,
    agent: &AgentId,
    Waiting { lines, left_out }: Waiting,
) -> std::io::Result<()> {
    let folder = home.agent(agent);
    let mut days: BTreeMap<String, String> = BTreeMap::new();
    for (at, line) in &lines {
        let text = days.entry(day(*at)).or_default();
        text.push_str(line);
        text.push('\n');
    }
    if left_out > 0
        && let Some((at, _)) = lines.last()
    {
        let note = serde_json::json!({
            "at": at.to_string(),
            "level": "WARN",
            "message": format!("{left_out} lines are left out: more came than could be written"),
        });
        days.entry(day(*at)).or_default().push_str(&format!("{note}\n"));
    }
    for (day, text) in days {
        files::append(&folder, &day, text.as_bytes())?;
    }
    Ok(())
}

/// The day of a moment in UTC, as files are called.
pub fn day(at: Timestamp) -> String {
    at.to_string().chars().take("2026-11-18".len()).collect()
}

/// So long before a moment.
pub fn earlier(at: Timestamp, time: Duration) -> Timestamp {
    let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(at.as_millis().saturating_sub(time))
}

#[cfg(test)]
#[path = "../agent_logs_tests.rs"]
mod tests;
