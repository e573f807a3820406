//! The programs that agents run: one sandbox for the house, and what each agent's boundary
//! makes of it.
//!
//! A program belongs to one conversation of one agent and ends with it. Nothing here decides
//! what an agent may: it turns what its boundary says into what the sandbox is asked for.

mod background;
pub(crate) mod egress;
mod granted;
mod here;
mod hint;
mod hook;
mod outfit;
mod owners;
mod shell;
mod start;
mod watchdog;
pub(crate) mod way_out;

pub(crate) use background::Rights;
pub use granted::void_here;
pub use here::refused_here;
pub(crate) use here::starts_programs;
pub(crate) use hint::hints;
pub(crate) use hook::{HookProgram, post};
pub(crate) use outfit::outfit;
pub(crate) use shell::SessionShell;
pub(crate) use start::{Principal, spawn};
pub(crate) use watchdog::Watchdog;

use crate::error::RuntimeError;
use crate::house::House;
use crate::mcp::Connections;
use crate::registry::{Snapshot, State};
use crate::workspace::output_name;
use background::{Background, Running};
use insula_domain::AgentId;
use insula_sandbox::egress::{Tls, TlsError};
use insula_sandbox::{Error, Examination, Helper, Sandbox};
use insula_store::SessionId;
use insula_world::World;
use owners::Owners;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Processes in the background that one conversation may have at once.
const PER_SESSION_MAX: usize = 8;
/// Those of all conversations of one agent.
const PER_AGENT_MAX: usize = 24;
/// Ended processes of a conversation that can still be looked at.
const ENDED_MAX: usize = 16;
/// Conversations whose working directory is remembered.
const SESSIONS_MAX: usize = 10_000;

/// The programs of a house.
pub struct Children {
    world: World,
    /// Opened by the first agent that runs something: a house of talkers pays nothing.
    sandbox: Mutex<Option<Sandbox>>,
    tls: Mutex<Option<Tls>>,
    owners: Owners,
    /// Folders that were given to their agent's user since the start.
    given: Mutex<BTreeSet<(PathBuf, u32)>>,
    sessions: Mutex<BTreeMap<(AgentId, SessionId), Session>>,
    /// The MCP servers that run, or are talked to.
    pub(crate) servers: Connections,
}

/// What one conversation has of programs.
#[derive(Default)]
struct Session {
    /// Where its next command begins; nothing while it is where commands begin anyway.
    place: Option<String>,
    processes: BTreeMap<u64, Arc<Background>>,
    started: u64,
}

/// Why a process was not kept.
#[derive(Debug, PartialEq, Eq)]
enum TooMany {
    InSession,
    InAgent,
}

impl Children {
    pub(crate) fn new(world: &World) -> Self {
        Self {
            world: world.clone(),
            sandbox: Mutex::default(),
            tls: Mutex::default(),
            owners: Owners::default(),
            given: Mutex::default(),
            sessions: Mutex::default(),
            servers: Connections::default(),
        }
    }

    /// Tries what confinement really holds on this machine.
    pub async fn examine(&self) -> Result<Examination, Error> {
        Ok(self.sandbox()?.examine().await)
    }

    /// The sandbox, opened on first use.
    fn sandbox(&self) -> Result<Sandbox, Error> {
        let mut sandbox = self.sandbox.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*sandbox {
            return Ok(open.clone());
        }
        let open = Sandbox::new(self.world.clock.clone(), Helper::found())?;
        Ok(sandbox.insert(open).clone())
    }

    pub(crate) fn tls(&self) -> Result<Tls, TlsError> {
        let mut tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*tls {
            return Ok(made.clone());
        }
        let made = Tls::new(self.world.clock.clone(), &[])?;
        Ok(tls.insert(made).clone())
    }

    /// Ends what a conversation has running, and forgets it.
    pub(crate) fn end_session(&self, agent: &AgentId, session: SessionId) {
        let ended = self.sessions().remove(&(agent.clone(), session));
        ended.into_iter().flat_map(|session| session.processes).for_each(|(_, it)| it.end());
    }

    /// Ends the processes and servers of every agent that serves no more, or whose programs would be given
    /// something else by now.
    pub(crate) fn keep_only(&self, now: &Snapshot) {
        self.servers.keep_only(now);
        self.sessions().retain(|(agent, _), session| {
            let State::Ready(context) = (match now.agents.get(agent) {
                Some(entry) => &entry.state,
                None => &State::Deleted,
            }) else {
                session.processes.values().for_each(|process| process.end());
                return false;
            };
            let rights = Rights::of(context);
            for process in session.processes.values() {
                if process.rights != rights {
                    process.end();
                }
            }
            true
        });
    }

    /// Forgets which user an agent's programs ran as.
    pub(crate) async fn forget(&self, house: &House, agent: &AgentId) -> Result<(), RuntimeError> {
        self.owners.forget(house, agent).await
    }

    /// Ends everything.
    pub(crate) fn end_all(&self) {
        self.servers.close_all();
        let sessions = std::mem::take(&mut *self.sessions());
        for process in sessions.into_values().flat_map(|session| session.processes.into_values()) {
            process.end();
        }
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<(AgentId, SessionId), Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the next command of a conversation begins, if not where they begin anyway.
    pub(crate) fn place(&self, key: &(AgentId, SessionId)) -> Option<String> {
        self.sessions().get(key)?.place.clone()
    }

    fn put_place(&self, key: &(AgentId, SessionId), place: String) {
        let mut sessions = self.sessions();
        if sessions.len() >= SESSIONS_MAX && !sessions.contains_key(key) {
            // Forgetting one costs its agent a `cd`.
            let idle = sessions.iter().find(|(_, session)| session.processes.is_empty());
            if let Some(idle) = idle.map(|(key, _)| key.clone()) {
                sessions.remove(&idle);
            }
        }
        sessions.entry(key.clone()).or_default().place = Some(place);
    }

    /// Whether a conversation may start one more process.
    fn room(&self, key: &(AgentId, SessionId)) -> Result<(), TooMany> {
        let sessions = self.sessions();
        let running = |session: &Session| {
            session.processes.values().filter(|process| process.is_running()).count()
        };
        if sessions.get(key).map_or(0, running) >= PER_SESSION_MAX {
            return Err(TooMany::InSession);
        }
        let of_agent = sessions.iter().filter(|((agent, _), _)| *agent == key.0);
        match of_agent.map(|(_, session)| running(session)).sum::<usize>() {
            all if all >= PER_AGENT_MAX => Err(TooMany::InAgent),
            _ => Ok(()),
        }
    }

    /// Keeps a process that was started; its id. One too many is ended by being dropped.
    fn keep(&self, key: &(AgentId, SessionId), process: Running) -> Result<String, TooMany> {
        self.room(key)?;
        let mut sessions = self.sessions();
        let session = sessions.entry(key.clone()).or_default();
        session.started += 1;
        let number = session.started;
        session.processes.insert(number, Arc::new(process.watch(&self.world)));
        let ended: Vec<u64> = session
            .processes
            .iter()
            .filter(|(_, process)| !process.is_running())
            .map(|(number, _)| *number)
            .collect();
        for old in ended.iter().take(ended.len().saturating_sub(ENDED_MAX)) {
            session.processes.remove(old);
        }
        Ok(format!("p{number}"))
    }

    fn process(&self, key: &(AgentId, SessionId), id: &str) -> Option<Arc<Background>> {
        let number: u64 = id.strip_prefix('p')?.parse().ok()?;
        self.sessions().get(key)?.processes.get(&number).cloned()
    }

    /// The command line of a process that a conversation has in the background.
    pub(crate) fn command(&self, agent: &AgentId, session: SessionId, id: &str) -> Option<String> {
        Some(self.process(&(agent.clone(), session), id)?.command.clone())
    }

    fn processes(&self, key: &(AgentId, SessionId)) -> Vec<(String, Arc<Background>)> {
        let sessions = self.sessions();
        let Some(session) = sessions.get(key) else { return Vec::new() };
        let named =
            |(number, process): (&u64, &Arc<Background>)| (format!("p{number}"), process.clone());
        session.processes.iter().map(named).collect()
    }
}

impl House {
    /// Ends the programs of a conversation that is forgotten, and removes what they printed.
    pub(crate) async fn forget_programs(&self, agent: &AgentId, session: SessionId) {
        self.children.end_session(agent, session);
        let (home, id) = (self.home.clone(), agent.clone());
        let name = output_name(&self.store.agent(agent).seals(), session);
        let removed = self.world.storage.run(move || {
            home.remove_output(&id, &name)?;
            // As it was called before.
            home.remove_output(&id, &session.to_string())
        });
        let removed = removed.await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(%agent, %error, "what programs printed could not be removed");
        }
    }
}
