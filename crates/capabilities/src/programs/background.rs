//! A process that outlives the call that started it.

use super::begun::{Begun, Given};
use super::ending::{end_of, note};
use super::live::Alive;
use super::rights::Rights;
use super::watchdog::Watchdog;
use super::{Ground, ProcessShareKey};
use insula_domain::{Actor, AgentId};
use insula_registry::Access;
use insula_registry::context::AuditLog;
use insula_registry::registry::AgentState;
use insula_sandbox::{Capture, Child, ChildLimits, Pace};
use insula_store::SessionId;
use insula_tools::shell::{End, Printed, Process};
use insula_world::{Clock, World};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWrite;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How much of a command a list shows, in characters.
const COMMAND_CHARS_MAX: usize = 200;

/// A process in the background, as what is written to it is judged and asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// As it was started, all of it: by this it is judged what it does with its input.
    pub command: String,
    /// Where it began, if not where programs of its conversation begin anyway. It may have gone
    /// elsewhere since.
    pub ground: Option<Ground>,
    /// What no other process has, of whatever conversation, agent or time: names of processes
    /// are counted anew in each conversation.
    pub mark: Box<str>,
}

/// A process that was just started, and nobody watches yet. Dropping it ends it.
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) command: String,
    pub(super) ground: Option<Ground>,
    /// Whose share of the agent's places it takes.
    pub(super) holder: ProcessShareKey,
    pub(super) begun: Begun,
    pub(super) rights: Rights,
    pub(super) limits: ChildLimits,
    /// Ends its proxy.
    pub(super) proxy: Option<DropGuard>,
    /// Counts it among those that run.
    pub(super) alive: Alive,
    /// Looks after the disks it writes to.
    pub(super) watchdog: Watchdog,
    /// Where it is recorded, for whom and in which session, that the watchdog ended it.
    pub(super) audit: (AuditLog, Actor, SessionId),
}

/// A process in the background.
pub(super) struct Background {
    pub(super) reader: Reader,
    pub(super) holder: ProcessShareKey,
    pub(super) begun: Begun,
    pub(super) rights: Rights,
    printed: Capture,
    clock: Arc<dyn Clock>,
    started: Duration,
    end: watch::Receiver<Option<(End, Duration)>>,
    stop: CancellationToken,
    pub(super) input: Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>,
}

impl Running {
    /// Watches it until it ends. Nothing else has its mark.
    pub(super) fn watch(self, world: &World, mark: Box<str>) -> Background {
        let Self {
            mut child,
            command,
            ground,
            holder,
            begun,
            rights,
            limits,
            proxy,
            alive,
            watchdog,
            audit,
        } = self;
        let clock = world.clock.clone();
        let started = clock.elapsed();
        let printed = Capture::new(limits.output_bytes);
        let (stop, (tell, end)) = (CancellationToken::new(), watch::channel(None));
        let input = child.take_stdin().map(|it| Box::new(it) as Box<dyn AsyncWrite + Send + Unpin>);
        let output = child.take_stdout();
        let (capture, stopped, watching) = (printed.clone(), stop.clone(), clock.clone());
        let reads_by = clock.clone();
        tokio::spawn(async move {
            let reading = tokio::spawn(async move {
                if let Some(output) = output {
                    // What can't be read any more was not printed.
                    let _ = capture.drain(output, reads_by, Pace::OUTPUT).await;
                }
            });
            let mut over = None;
            let id = child.id();
            let exit = tokio::select! {
                biased;
                exit = child.wait() => exit,
                () = stopped.cancelled() => child.kill().await,
                found = watchdog.barks(id) => {
                    over = Some(found);
                    note(&audit, found).await;
                    child.kill().await
                }
            };
            // Every writer is gone, so the reader comes to the end.
            let _ = reading.await;
            drop((proxy, alive));
            let (end, _) = end_of(exit, &limits);
            let end = over.map_or(end, |over| End::Limited(over.words()));
            tell.send_replace(Some((end, watching.elapsed())));
        });
        let input = Mutex::new(input);
        let reader = Reader { command, ground, mark };
        Background { reader, holder, begun, rights, printed, clock, started, end, stop, input }
    }
}

impl Background {
    /// Ends it and all it started, soon.
    pub(super) fn end(&self) {
        self.stop.cancel();
    }

    pub(super) fn is_running(&self) -> bool {
        self.end.borrow().is_none()
    }

    /// Waits until it has ended.
    pub(super) async fn ended(&self) {
        let _ = self.end.clone().wait_for(Option::is_some).await;
    }

    /// As it is now, without what it printed.
    pub(super) fn brief(&self, id: &str) -> Process {
        let end = self.end.borrow().clone();
        let until = end.as_ref().map_or_else(|| self.clock.elapsed(), |(_, at)| *at);
        // On one line, as a list has it.
        let command = self.reader.command.chars().take(COMMAND_CHARS_MAX);
        Process {
            id: id.to_owned(),
            command: command.map(|it| if matches!(it, '\n' | '\r') { ' ' } else { it }).collect(),
            end: end.map(|(end, _)| end),
            seconds: until.saturating_sub(self.started).as_secs(),
            printed: Printed::default(),
        }
    }

    /// As it is now.
    pub(super) fn whole(&self, id: &str) -> Process {
        let captured = self.printed.snapshot();
        let printed = Printed { head: captured.head, tail: captured.tail, total: captured.total };
        Process { printed, ..self.brief(id) }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends a process in the background that was begun by somebody who may not talk to its agent any
/// more, in a chat that was led to another one or whose account is gone, or that was given a secret
/// which is another one by now.
pub(super) async fn end_if_lost(access: &Access, agent: &AgentId, process: &Background) {
    let snapshot = access.snapshot();
    let Some(AgentState::Ready(now)) = snapshot.agents.get(agent).map(|entry| &entry.state) else {
        return process.end();
    };
    let Begun { address, led, variables, given } = &process.begun;
    let principal = &process.holder.principal;
    let is_here = !principal.is_led() || led.still_leads(&snapshot.led(address), agent);
    let may_talk = access.may_talk(now, principal, address).await;
    if !is_here || !may_talk.unwrap_or(false) || *given != Given::now(now, variables).await {
        process.end();
    }
}
