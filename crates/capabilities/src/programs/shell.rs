//! The hand by which one conversation runs programs.

use super::background::Running;
use super::begun::Begun;
use super::ending::{end_of, note};
use super::hint::{hints, tells_of_walls};
use super::live::{Alive, LiveProgram};
use super::outfit::{Outfit, outfit, wall_clock};
use super::rights::Rights;
use super::skills::give_skills;
use super::start::{Principal, spawn};
use super::watchdog::{Over, Watchdog};
use super::{
    Chat, Ground, PER_AGENT_MAX, PER_CHAT_MAX, PER_PRINCIPAL_MAX, ProcessShareKey, Reader, TooMany,
};
use crate::Capabilities;
use async_trait::async_trait;
use insula_domain::Actor;
use insula_domain::{Address, AgentId};
use insula_registry::context::AgentContext;
use insula_sandbox::{Child, Finished, Output, Spec, Stdin};
use insula_store::SessionId;
use insula_tools::shell::{Code, End, Input, Job, Printed, Process, Ran};
use insula_tools::{Files, HandError, Shell, ToolError};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::DropGuard;

/// How long a command may run, unless its caller says otherwise.
const TIMEOUT: Duration = Duration::from_secs(180);
/// How long a process may take to read what is written to it.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);

/// Runs a command, where the sandbox put it. Both streams come out as one, so that they stay in
/// order; what was the error stream then tells where the shell ended, which no output of a
/// command can be mistaken for. The first argument is a folder that is gone, where one is.
const KEPT: &str = r#"exec 3>&2 2>&1
[ -z "$1" ] || echo "[$1 is gone; this begins in $PWD]"
trap 'printf "%s\0" "$(pwd -P 2>/dev/null)" >&3' EXIT
eval "set --
$2""#;
/// The same without telling.
const ONCE: &str = r#"exec 2>&1
[ -z "$1" ] || echo "[$1 is gone; this begins in $PWD]"
eval "set --
$2""#;
/// The same for Python.
const PYTHON: &str = r#"exec 2>&1
[ -z "$1" ] || echo "[$1 is gone; this begins in $PWD]"
exec python3 -u -c "$2""#;

/// The programs of one conversation.
pub struct SessionShell<'c> {
    caps: &'c Capabilities,
    agent: &'c AgentContext,
    principal: &'c Actor,
    files: &'c Files,
    key: (AgentId, SessionId),
    chat: Chat,
    /// Where they were asked for.
    address: &'c Address,
    /// Secrets that programs get as variables besides.
    variables: BTreeSet<Box<str>>,
    /// The skills that were viewed.
    viewed: BTreeSet<String>,
    /// Whether the conversation was told what programs see.
    knows_walls: bool,
    /// Where programs begin, if not where they begin anyway.
    ground: Option<Ground>,
    /// The process that what is written was judged for.
    reader: Option<Reader>,
}

impl<'c> SessionShell<'c> {
    /// The hand for one call of a turn.
    pub fn new(
        caps: &'c Capabilities,
        agent: &'c AgentContext,
        session: SessionId,
        (chat, address): (Chat, &'c Address),
        principal: &'c Actor,
        files: &'c Files,
    ) -> Self {
        let key = (agent.id.clone(), session);
        Self {
            caps,
            agent,
            principal,
            files,
            key,
            chat,
            address,
            variables: BTreeSet::new(),
            viewed: BTreeSet::new(),
            knows_walls: false,
            ground: None,
            reader: None,
        }
    }

    /// Says what programs see only where the conversation was not told yet.
    pub fn knowing_walls(mut self, knows_walls: bool) -> Self {
        self.knows_walls = knows_walls;
        self
    }

    /// Has programs find these skills, where a hook is asked about each.
    pub fn with_viewed(mut self, viewed: BTreeSet<String>) -> Self {
        self.viewed = viewed;
        self
    }

    /// Gives programs these secrets of the agent's as variables, those that are set.
    pub fn with_variables(mut self, variables: BTreeSet<Box<str>>) -> Self {
        self.variables = variables;
        self
    }

    /// Has programs begin in the folder that their call was judged for, and in no other.
    pub fn at(mut self, ground: Option<Ground>) -> Self {
        self.ground = ground;
        self
    }

    /// Has what is written read by the process that it was judged for, and by no other.
    pub fn read_by(mut self, reader: Option<Reader>) -> Self {
        self.reader = reader;
        self
    }

    /// What the sandbox is asked for, for one job.
    async fn prepare(&self, job: &Job<'_>) -> Result<Outfit, ToolError> {
        let mut outfit = outfit(self.caps, self.agent, self.files).await?;
        for name in &self.variables {
            // What the operator wrote under `env` goes before.
            let (key, reference) = (name.to_string(), format!("${{secret:{name}}}"));
            if let Ok(value) = self.agent.secrets.resolve(&reference).await {
                outfit.spec.env.entry(key.into()).or_insert_with(|| value.reveal().into());
            }
        }
        let withheld = give_skills(self.caps, self.agent, &self.viewed, &mut outfit.spec).await;
        // Who asks for none of them need not hear of it.
        let code = words_of(job.code);
        outfit.withheld.extend(
            withheld
                .into_iter()
                .filter(|(path, _)| code.contains(path))
                .map(|(path, why)| format!("`{path}` is not given to programs: {why}")),
        );
        let begins = self.ground.as_ref().map(Ground::begins).transpose();
        outfit.spec.begins = begins.map_err(|why| ToolError::Hand(HandError(why)))?;
        let gone = self.caps.programs.gone(&self.key).unwrap_or_default();
        let (script, code) = match job.code {
            Code::Shell(code) if job.workdir.is_none() => (KEPT, code),
            Code::Shell(code) | Code::Script(code) => (ONCE, code),
            Code::Python(code) => (PYTHON, code),
        };
        let args = ["-c", script, "sh", gone.as_str(), code];
        outfit.spec.args = args.into_iter().map(Into::into).collect();
        Ok(outfit)
    }

    /// Starts a process with its way to the network.
    async fn spawn(&self, spec: Spec) -> Result<(Child, Option<DropGuard>), ToolError> {
        let principal = Principal::Person { name: self.principal, session: self.key.1 };
        let is_away = spec.begins.is_some();
        let spawned = spawn(self.caps, self.agent, &principal, spec).await;
        if spawned.is_err() && is_away {
            // Where nothing can begin, the next command does not either.
            self.caps.programs.lose_place(&self.key);
        }
        spawned
    }

    /// Counts a program that is about to start among those that run.
    fn enter(&self, spec: &Spec) -> Alive {
        self.caps.programs.enter(&self.key.0, LiveProgram::of(self.agent, spec))
    }

    /// Who looks after the disks of a program that is about to start.
    async fn watchdog(&self, spec: &Spec) -> Watchdog {
        watchdog(self.caps, self.agent, spec).await
    }

    /// Records that a program was ended for what it did to a disk.
    async fn note(&self, over: Over) {
        note(&(self.agent.audit.clone(), self.principal.clone(), self.key.1), over).await;
    }

    /// Notes where a command ended; where, if that is somewhere else.
    fn moved(&self, told: &[u8], spec: &Spec) -> Option<String> {
        let granted: Vec<PathBuf> = spec.writes.iter().chain(&spec.reads).cloned().collect();
        let before = spec.begins.as_ref().map_or(&spec.cwd, |begins| &begins.path);
        self.caps.programs.moved(&self.key, told, before, &granted)
    }
}

#[async_trait]
impl Shell for SessionShell<'_> {
    async fn run(&self, job: Job<'_>) -> Result<Ran, ToolError> {
        let Outfit { mut spec, withheld, .. } = self.prepare(&job).await?;
        let most = wall_clock(&self.agent.programs);
        spec.limits.wall_clock = Some(job.timeout.unwrap_or(TIMEOUT).min(most));
        let watchdog = self.watchdog(&spec).await;
        let alive = self.enter(&spec);
        let (mut child, proxy) = self.spawn(spec.clone()).await?;
        let id = child.id();
        let over = tokio::select! {
            biased;
            _ = child.wait() => None,
            over = watchdog.barks(id) => {
                self.note(over).await;
                // How it ended is known below.
                let _ = child.kill().await;
                Some(over)
            }
        };
        let finished = child.finish().await;
        drop((proxy, alive));
        let Finished { exit, stdout, stderr } =
            finished.map_err(|error| ToolError::Hand(HandError(error.to_string())))?;
        let printed = Printed { head: stdout.head, tail: stdout.tail, total: stdout.total };
        let (mut end, mut notes) = end_of(Ok(exit), &spec.limits);
        if let Some(over) = over {
            end = End::Limited(over.words());
        }
        if end != End::Exited(0) {
            let has_network = !self.agent.boundary.network.is_none();
            let mut hints = hints(&printed, words_of(job.code), &spec, has_network, withheld);
            hints.retain(|hint| !self.knows_walls || !tells_of_walls(hint));
            notes.extend(hints);
        }
        let moved_to = match (job.code, job.workdir) {
            (Code::Shell(_), None) => self.moved(&stderr.bytes(), &spec),
            _ => None,
        };
        Ok(Ran { end, printed, moved_to, notes })
    }

    async fn start(&self, job: Job<'_>) -> Result<String, ToolError> {
        let full = |why: TooMany| {
            ToolError::Refused(match why {
                TooMany::InChat => format!(
                    "{PER_CHAT_MAX} processes run in the background of this chat already, the most one chat may have; end one with the process tool, or wait until one ends"
                ),
                TooMany::OfPrincipal => format!(
                    "{PER_PRINCIPAL_MAX} processes run in the background for whoever asks here, in all chats, the most for one; wait until one ends, or end one where it was started"
                ),
                TooMany::InAgent => format!(
                    "{PER_AGENT_MAX} processes of yours run already, in all conversations; wait until one ends"
                ),
            })
        };
        let children = &self.caps.programs;
        let holder = ProcessShareKey { chat: self.chat.clone(), principal: self.principal.clone() };
        children.room(&self.key, &holder).map_err(full)?;
        let once = match job.code {
            Code::Shell(code) => Job { code: Code::Script(code), ..job },
            _ => job,
        };
        // Before it is given anything: what changes from here on ends it.
        let begun = Begun::now(&self.caps.access, self.agent, self.address, &self.variables).await;
        let Outfit { mut spec, .. } = self.prepare(&once).await?;
        // It may outlive the call by far; what the operator wrote holds all the same.
        spec.limits.wall_clock = match (self.agent.programs.limits.wall_clock, job.timeout) {
            (Some(most), asked) => Some(asked.map_or(most, |asked| asked.min(most))),
            (None, asked) => asked,
        };
        spec.stdin = Stdin::Pipe;
        spec.output = Output::Stream;
        let limits = spec.limits;
        let watchdog = self.watchdog(&spec).await;
        let alive = self.enter(&spec);
        let (child, proxy) = self.spawn(spec).await?;
        // With its lines: joined they would be another command, and judged as that.
        let command = words_of(job.code).to_owned();
        let ground = self.ground.clone();
        let audit = (self.agent.audit.clone(), self.principal.clone(), self.key.1);
        let rights = Rights::of(self.agent);
        let running = Running {
            child,
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
        };
        let id = children.keep(&self.key, running).map_err(full)?;
        // The agent may have been paused or changed while it started, and who asked be gone.
        children.keep_only(&self.caps.registry.snapshot());
        if let Some(process) = children.process(&self.key, &id) {
            super::background::end_if_lost(&self.caps.access, &self.key.0, &process).await;
        }
        Ok(id)
    }

    fn processes(&self) -> Vec<Process> {
        let all = self.caps.programs.processes(&self.key);
        all.iter().map(|(id, process)| process.brief(id)).collect()
    }

    fn process(&self, id: &str) -> Option<Process> {
        Some(self.caps.programs.process(&self.key, id)?.whole(id))
    }

    async fn wait(&self, id: &str, patience: Duration) -> Option<Process> {
        let process = self.caps.programs.process(&self.key, id)?;
        tokio::select! {
            () = process.ended() => {}
            () = self.caps.world.clock.sleep(patience) => {}
        }
        Some(process.whole(id))
    }

    async fn kill(&self, id: &str) -> Option<Process> {
        let process = self.caps.programs.process(&self.key, id)?;
        process.end();
        process.ended().await;
        Some(process.brief(id))
    }

    async fn write(&self, id: &str, data: &[u8], after: Input) -> Result<(), ToolError> {
        let failed = |what: &str| ToolError::Hand(HandError(format!("process `{id}` {what}")));
        let process = self.caps.programs.process(&self.key, id);
        let process = process.ok_or_else(|| failed("is not there"))?;
        let is_judged = self.reader.as_ref().is_some_and(|it| it.mark == process.reader.mark);
        if !data.is_empty() && !is_judged {
            return Err(failed("is another one by now"));
        }
        let mut input = process.input.lock().await;
        if after == Input::Closed {
            *input = None;
            return Ok(());
        }
        let writer = input.as_mut().ok_or_else(|| failed("has no input any more"))?;
        tokio::select! {
            written = writer.write_all(data) => {
                written.map_err(|_| failed("reads no input any more"))
            }
            () = self.caps.world.clock.sleep(WRITE_PATIENCE) => {
                Err(failed("does not read its input; some of it was written"))
            }
        }
    }
}

/// Who looks after the disks of a program of an agent that is about to start.
pub(crate) async fn watchdog(caps: &Capabilities, agent: &AgentContext, spec: &Spec) -> Watchdog {
    let owner = spec.owner.map(|owner| owner.uid);
    let takers = &caps.programs.takers;
    Watchdog::new(&caps.world, takers, &spec.writes, owner, agent.programs.disk).await
}

/// What is run, in its own words.
fn words_of(code: Code<'_>) -> &str {
    match code {
        Code::Shell(code) | Code::Script(code) | Code::Python(code) => code,
    }
}
