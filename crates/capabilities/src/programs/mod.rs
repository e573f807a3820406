//! The programs that agents run: one sandbox for the caps, and what each agent's boundary
//! makes of it.
//!
//! A program belongs to one conversation of one agent and ends with it. Nothing here decides
//! what an agent may: it turns what its boundary says into what the sandbox is asked for.

mod background;
mod begun;
mod convert;
pub(crate) mod egress;
mod ending;
mod granted;
mod ground;
mod here;
mod hint;
mod hook;
mod live;
pub(crate) mod network;
mod outfit;
mod owners;
mod rights;
mod shell;
mod skills;
mod start;
mod watchdog;

pub use background::Reader;
pub use begun::Given;
pub(crate) use convert::convert;
pub use granted::void_here;
pub use ground::{Ground, real};
pub use here::refused_here;
pub(crate) use here::starts_programs;
pub(crate) use hint::hints;
pub use hint::tells_of_walls;
pub(crate) use hook::{ANSWER_BYTES_MAX, HookProgram, Prints, post};
pub use live::{Alive, LiveProgram, ProgramReach};
pub(crate) use outfit::{PATH, outfit};
pub use rights::Rights;
pub use shell::SessionShell;
pub(crate) use shell::watchdog;
pub(crate) use skills::skill_folder;
pub(crate) use start::{Principal, spawn};

use crate::Capabilities;
use crate::mcp::Connections;
use crate::skills::shelf::Shelves;
use async_trait::async_trait;
use background::{Background, Running};
use insula_domain::Actor;
use insula_domain::{AccountId, AgentId, ChatId, Platform, SessionKey};
use insula_registry::error::RuntimeError;
use insula_registry::home::Home;
use insula_registry::registry::{AgentState, Snapshot};
use insula_registry::workspace::output_name;
use insula_registry::{Access, Acting};
use insula_sandbox::egress::{Lookups, Tls, TlsError};
use insula_sandbox::{Availability, Error, Examination, Helper, Hidden, Layer, Sandbox};
use insula_store::{DaemonLease, SessionId};
use insula_world::World;
use live::LivePrograms;
use owners::Owners;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use watchdog::Takers;

/// Places in the background of one agent, for all of its conversations.
const PER_AGENT_MAX: usize = 24;
/// Those that one chat may take, all its topics, people and sub-agents together: a third, so
/// that no chat leaves another without.
const PER_CHAT_MAX: usize = PER_AGENT_MAX / 3;
/// Those that one person or token may take, in however many chats they talk.
const PER_PRINCIPAL_MAX: usize = PER_AGENT_MAX / 2;
/// Ended processes of a conversation that can still be looked at.
const ENDED_MAX: usize = 16;
/// Conversations of one agent whose working directory is remembered.
const SESSIONS_MAX: usize = 1_000;

/// The programs of the agents of a home.
pub struct Host {
    world: World,
    /// What no program is shown.
    hidden: Hidden,
    /// Opened by the first agent that runs something: a daemon of talkers pays nothing.
    sandbox: Mutex<Option<Sandbox>>,
    tls: Mutex<Option<Tls>>,
    owners: Owners,
    /// Folders that were given to their agent's user since the start.
    given: Mutex<BTreeSet<(PathBuf, u32)>>,
    sessions: Mutex<BTreeMap<(AgentId, SessionId), Session>>,
    /// The programs that conversations run now.
    live: Arc<LivePrograms>,
    /// What every program took of every disk.
    takers: Arc<Takers>,
    /// What each agent may have looked up at once.
    lookups: Mutex<BTreeMap<AgentId, Lookups>>,
    /// The MCP servers that run, or are talked to.
    pub(crate) servers: Connections,
    /// The skills that programs are shown.
    pub(crate) shelves: Arc<Shelves>,
}

/// What one conversation has of programs.
#[derive(Default)]
struct Session {
    /// Where its next command begins; nothing while it is where commands begin anyway.
    place: Option<Ground>,
    /// Where it would have begun, had that folder not gone since; told once.
    gone: Option<String>,
    processes: BTreeMap<u64, Arc<Background>>,
    started: u64,
}

/// Whose share of the agent's places a process in the background takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessShareKey {
    /// Where it was asked for, without topic and person.
    pub(crate) chat: Chat,
    /// Who asked for it.
    pub(crate) principal: Actor,
}

/// One chat, whatever conversations it is cut into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chat(Platform, AccountId, ChatId);

impl Chat {
    /// The chat that a conversation takes place in.
    pub fn of(key: &SessionKey) -> Self {
        Self(key.platform, key.account.clone(), key.chat.clone())
    }
}

/// Why a process was not kept.
#[derive(Debug, PartialEq, Eq)]
enum TooMany {
    InChat,
    OfPrincipal,
    InAgent,
}

/// Whether one more process may take a place, by who holds those that are taken.
fn admit<'h>(
    one_more: &ProcessShareKey,
    taken: impl Iterator<Item = &'h ProcessShareKey>,
) -> Result<(), TooMany> {
    let (mut all, mut in_chat, mut of_principal) = (0, 0, 0);
    for holder in taken {
        all += 1;
        in_chat += usize::from(holder.chat == one_more.chat);
        of_principal += usize::from(holder.principal == one_more.principal);
    }
    match () {
        () if in_chat >= PER_CHAT_MAX => Err(TooMany::InChat),
        () if of_principal >= PER_PRINCIPAL_MAX => Err(TooMany::OfPrincipal),
        () if all >= PER_AGENT_MAX => Err(TooMany::InAgent),
        () => Ok(()),
    }
}

impl Host {
    pub fn new(world: &World, home: &Home) -> Self {
        Self {
            world: world.clone(),
            hidden: home.hidden(),
            sandbox: Mutex::default(),
            tls: Mutex::default(),
            owners: Owners::default(),
            given: Mutex::default(),
            sessions: Mutex::default(),
            live: Arc::default(),
            takers: Arc::default(),
            lookups: Mutex::default(),
            servers: Connections::default(),
            shelves: Arc::new(Shelves::new(home)),
        }
    }

    /// Tries what confinement really holds on this machine.
    pub async fn examine(&self, agents: usize) -> Result<Examination, Error> {
        Ok(self.sandbox()?.examine(agents).await)
    }

    /// Whether this machine gives every one of these layers.
    pub async fn has_all(&self, layers: &BTreeSet<Box<str>>) -> bool {
        if layers.is_empty() {
            return true;
        }
        let Ok(sandbox) = self.sandbox() else { return false };
        let machine = sandbox.machine().await;
        let mut layers = layers.iter().filter_map(|name| Layer::from_name(name));
        layers.all(|layer| matches!(machine.availability(layer), Availability::Enforced))
    }

    /// The sandbox, opened on first use.
    pub(crate) fn sandbox(&self) -> Result<Sandbox, Error> {
        let mut sandbox = self.sandbox.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*sandbox {
            return Ok(open.clone());
        }
        let clock = self.world.clock.clone();
        let open = Sandbox::new(clock, Helper::found(), self.hidden.clone())?;
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

    /// The look-ups of an agent, by whichever way it goes out.
    pub(crate) fn lookups(&self, agent: &AgentId) -> Lookups {
        let mut all = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(agent.clone()).or_default().clone()
    }

    /// Ends what a conversation has running, and forgets it.
    pub fn end_session(&self, agent: &AgentId, session: SessionId) {
        self.servers.end_session(agent, session);
        let ended = self.sessions().remove(&(agent.clone(), session));
        ended.into_iter().flat_map(|session| session.processes).for_each(|(_, it)| it.end());
    }

    /// Ends the processes and servers of every agent that serves no more, or whose programs would
    /// be given something else by now.
    pub(crate) fn keep_only(&self, now: &Snapshot) {
        self.servers.keep_only(now);
        self.sessions().retain(|(agent, _), session| {
            let AgentState::Ready(context) = (match now.agents.get(agent) {
                Some(entry) => &entry.state,
                None => &AgentState::Deleted,
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

    /// Takes skills that agents have no more from programs that run.
    fn withdraw_skills(&self, now: &Snapshot) -> impl Future<Output = ()> + Send + 'static {
        let known = self.shelves.with_skills(now);
        let (shelves, storage) = (self.shelves.clone(), self.world.storage.clone());
        async move {
            if known.is_empty() {
                return;
            }
            let withdraw = move || {
                for (agent, skills) in &known {
                    shelves.withdraw(agent, skills.as_deref());
                }
            };
            // What is left of them is not shown to the next program.
            let _ = storage.run(withdraw).await;
        }
    }

    /// Counts a program among those that an agent's conversations run, for as long as what is
    /// returned is kept.
    pub fn enter(&self, agent: &AgentId, program: LiveProgram) -> Alive {
        self.live.enter(agent, program)
    }

    /// The programs that conversations of an agent run now, in the background or not.
    pub fn live(&self, agent: &AgentId) -> Vec<LiveProgram> {
        self.live.of(agent)
    }

    /// Every process that runs in the background, and whose it is.
    fn running(&self) -> Vec<(AgentId, Arc<Background>)> {
        let sessions = self.sessions();
        let all = sessions.iter().flat_map(|((agent, _), session)| {
            session.processes.values().map(move |process| (agent.clone(), process.clone()))
        });
        all.filter(|(_, process)| process.is_running()).collect()
    }

    /// Ends everything.
    fn end_every_program(&self) {
        self.servers.close_all();
        let sessions = std::mem::take(&mut *self.sessions());
        for process in sessions.into_values().flat_map(|session| session.processes.into_values()) {
            process.end();
        }
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<(AgentId, SessionId), Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a conversation may start one more process.
    fn room(&self, key: &(AgentId, SessionId), holder: &ProcessShareKey) -> Result<(), TooMany> {
        is_room(&self.sessions(), key, holder)
    }

    /// Keeps a process that was started; its id. One too many is ended by being dropped.
    fn keep(&self, key: &(AgentId, SessionId), process: Running) -> Result<String, TooMany> {
        let mut sessions = self.sessions();
        is_room(&sessions, key, &process.holder)?;
        let session = sessions.entry(key.clone()).or_default();
        session.started += 1;
        let number = session.started;
        let mark = self.mark(key, number);
        session.processes.insert(number, Arc::new(process.watch(&self.world, mark)));
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

    /// What a process is known by. The seed is new at each start of the daemon, and a number of
    /// a conversation comes again only later.
    fn mark(&self, (agent, session): &(AgentId, SessionId), number: u64) -> Box<str> {
        let at = self.world.clock.elapsed().as_nanos().to_string();
        let (session, number) = (session.to_string(), number.to_string());
        let purpose = ["process", agent.as_str(), &session, &number, &at];
        self.world.random.stream(&purpose).id().into()
    }

    fn process(&self, key: &(AgentId, SessionId), id: &str) -> Option<Arc<Background>> {
        let number: u64 = id.strip_prefix('p')?.parse().ok()?;
        self.sessions().get(key)?.processes.get(&number).cloned()
    }

    /// A process that a conversation has in the background, as its input is judged.
    pub fn reader(&self, key: &(AgentId, SessionId), id: &str) -> Option<Reader> {
        Some(self.process(key, id)?.reader.clone())
    }

    fn processes(&self, key: &(AgentId, SessionId)) -> Vec<(String, Arc<Background>)> {
        let sessions = self.sessions();
        let Some(session) = sessions.get(key) else { return Vec::new() };
        let named =
            |(number, process): (&u64, &Arc<Background>)| (format!("p{number}"), process.clone());
        session.processes.iter().map(named).collect()
    }
}

/// Whether an agent has a place for one more process of this holder.
fn is_room(
    sessions: &BTreeMap<(AgentId, SessionId), Session>,
    (agent, _): &(AgentId, SessionId),
    holder: &ProcessShareKey,
) -> Result<(), TooMany> {
    let of_agent = sessions.iter().filter(|((owner, _), _)| owner == agent);
    let processes = of_agent.flat_map(|(_, session)| session.processes.values());
    let running = processes.filter(|process| process.is_running());
    admit(holder, running.map(|process| &process.holder))
}

/// The conversation of this key among those that are remembered.
fn put_in<'s>(
    sessions: &'s mut BTreeMap<(AgentId, SessionId), Session>,
    key: &(AgentId, SessionId),
) -> &'s mut Session {
    if !sessions.contains_key(key) {
        let own = || sessions.iter().filter(|((agent, _), _)| *agent == key.0);
        // Forgetting one costs a `cd`, to nobody but the agent that has so many.
        let idle = own().find(|(_, session)| session.processes.is_empty());
        let idle = idle.map(|(key, _)| key.clone()).filter(|_| own().count() >= SESSIONS_MAX);
        if let Some(idle) = idle {
            sessions.remove(&idle);
        }
    }
    sessions.entry(key.clone()).or_default()
}

#[async_trait]
impl Acting for Host {
    fn generations_changed(&self, now: &Snapshot) {
        self.keep_only(now);
        // Where agents change one at a time nobody waits; the next program is shown what holds then.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(self.withdraw_skills(now));
        }
    }

    async fn rights_changed(&self, access: &Access) {
        let now = access.snapshot();
        self.keep_only(&now);
        self.withdraw_skills(&now).await;
        for (agent, process) in self.running() {
            background::end_if_lost(access, &agent, &process).await;
        }
    }

    fn secrets_changed(&self, agent: &AgentId) {
        self.servers.close_with_secrets(agent);
    }

    fn restarted(&self, agent: &AgentId) {
        self.servers.close_of(agent);
        self.sessions().retain(|(of, _), session| {
            if of == agent {
                session.processes.values().for_each(|process| process.end());
            }
            of != agent
        });
    }

    async fn forget(&self, lease: &DaemonLease, agent: &AgentId) -> Result<(), RuntimeError> {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner).remove(agent);
        self.shelves.forget(agent);
        // Which user its programs ran as.
        self.owners.forget(lease, agent).await
    }

    fn end_all(&self) {
        self.end_every_program();
    }
}

impl Capabilities {
    /// Ends the programs of a conversation that is forgotten, and removes what they printed.
    pub async fn forget_programs(&self, agent: &AgentId, session: SessionId) {
        self.programs.end_session(agent, session);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;

    fn holder(chat: &str, topic: Option<&str>, principal: &str) -> ProcessShareKey {
        let topic = topic.map(|topic| format!(":topic:{topic}")).unwrap_or_default();
        let key = format!("agent:a:telegram:bot:group:{chat}{topic}");
        ProcessShareKey { chat: Chat::of(&key.parse().unwrap()), principal: principal.into() }
    }

    /// How many places `one_more` gets beside those that are taken.
    fn gets(one_more: &ProcessShareKey, taken: &[ProcessShareKey]) -> (usize, TooMany) {
        let mut all = taken.to_vec();
        loop {
            match admit(one_more, all.iter()) {
                Ok(()) => all.push(one_more.clone()),
                Err(why) => return (all.len() - taken.len(), why),
            }
        }
    }

    #[test]
    fn one_chat_takes_a_third_of_the_places_however_it_is_cut_into_conversations() {
        let (own, topic) = (holder("1", None, "ann"), holder("1", Some("7"), "bob"));
        assert_eq!(gets(&own, &[]), (PER_CHAT_MAX, TooMany::InChat));
        let taken = vec![topic; PER_CHAT_MAX];
        assert_eq!(gets(&own, &taken), (0, TooMany::InChat));
        // Another chat has its own share.
        assert_eq!(gets(&holder("2", None, "bob"), &taken).0, PER_PRINCIPAL_MAX - PER_CHAT_MAX);
        assert_eq!(gets(&holder("2", None, "cid"), &taken).0, PER_CHAT_MAX);
    }

    #[test]
    fn one_person_in_many_chats_leaves_half_of_the_places_to_others() {
        let mut taken = Vec::new();
        for chat in 0..PER_AGENT_MAX {
            let own = holder(&chat.to_string(), None, "ann");
            if admit(&own, taken.iter()).is_ok() {
                taken.push(own);
            }
        }
        assert_eq!(taken.len(), PER_PRINCIPAL_MAX);
        assert_eq!(gets(&holder("99", None, "ann"), &taken), (0, TooMany::OfPrincipal));
        assert_eq!(gets(&holder("99", None, "bob"), &taken).0, PER_CHAT_MAX);
    }

    #[test]
    fn an_agent_has_so_many_places_and_no_more() {
        let other = |number: usize| holder(&number.to_string(), None, &number.to_string());
        let taken: Vec<_> = (0..PER_AGENT_MAX).map(other).collect();
        assert_eq!(gets(&holder("99", None, "ann"), &taken), (0, TooMany::InAgent));
    }
}
