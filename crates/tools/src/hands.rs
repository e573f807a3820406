//! What a tool may touch: handles, each bound to one agent, session and scope when it is
//! made. No method takes an agent, a session key or a scope.

pub use crate::output::HandError;

use crate::agents::Agents;
use crate::boards::Boards;
use crate::delegate::Delegate;
use crate::files::Files;
use crate::memory::Memory;
use crate::outbox::Outbox;
use crate::pictures::Pictures;
use crate::reader::Reader;
use crate::schedules::Schedules;
use crate::servers::Servers;
use crate::shell::Shell;
use crate::skills::Skills;
use crate::web::Web;
use async_trait::async_trait;

/// What whoever looks further than they may is told.
pub const NOT_GRANTED: &str = "only what was said here can be searched: the operator of this agent has not granted it other conversations (`sessions.search: agent`)";

/// The handles of one call.
pub struct Hands<'h> {
    /// What was said before, as far as this turn's scope reaches.
    pub history: &'h dyn History,
    /// What the same tool last gave back in this session, for tools that go on from there.
    pub previous: Option<&'h str>,
    /// The files of this conversation, where the agent has any.
    pub files: Option<&'h Files>,
    /// Programs in this conversation, where the agent may run any.
    pub shell: Option<&'h dyn Shell>,
    /// The web, as far as the agent's network goes.
    pub web: Option<&'h dyn Web>,
    /// The agent's skills.
    pub skills: Option<&'h dyn Skills>,
    /// The MCP servers of the agent, where it has any.
    pub servers: Option<&'h dyn Servers>,
    /// Children of this turn, where it may have any.
    pub delegate: Option<&'h dyn Delegate>,
    /// What is remembered, where the agent remembers.
    pub memory: Option<&'h dyn Memory>,
    /// Messages to other conversations, where the agent may send any.
    pub outbox: Option<&'h dyn Outbox>,
    /// Other agents, where links lead to any.
    pub agents: Option<&'h dyn Agents>,
    /// What the agent does by the clock.
    pub schedules: Option<&'h dyn Schedules>,
    /// The boards of the agent.
    pub boards: Option<&'h dyn Boards>,
    /// Who reads in quarantine.
    pub reader: Option<&'h dyn Reader>,
    /// Who makes pictures.
    pub pictures: Option<&'h dyn Pictures>,
}

impl<'h> Hands<'h> {
    /// Nothing but what was said before.
    pub fn bare(history: &'h dyn History) -> Self {
        Self {
            history,
            previous: None,
            files: None,
            shell: None,
            web: None,
            skills: None,
            servers: None,
            delegate: None,
            memory: None,
            outbox: None,
            agents: None,
            schedules: None,
            boards: None,
            reader: None,
            pictures: None,
        }
    }
}

impl Hands<'_> {
    /// The files, or why there are none.
    pub(crate) fn files(&self) -> Result<&Files, HandError> {
        self.files.ok_or_else(|| HandError("there are no files here".to_owned()))
    }

    /// The skills, or why there are none.
    pub(crate) fn skills(&self) -> Result<&dyn Skills, HandError> {
        self.skills.ok_or_else(|| HandError("there are no skills here".to_owned()))
    }

    /// What is remembered, or why nothing is.
    pub(crate) fn memory(&self) -> Result<&dyn Memory, HandError> {
        self.memory.ok_or_else(|| HandError("nothing is remembered here".to_owned()))
    }

    /// The shell, or why there is none.
    pub(crate) fn shell(&self) -> Result<&dyn Shell, HandError> {
        self.shell.ok_or_else(|| HandError("no programs are run here".to_owned()))
    }

    /// The web, or why there is none.
    pub(crate) fn web(&self) -> Result<&dyn Web, HandError> {
        self.web.ok_or_else(|| HandError("there is no network here".to_owned()))
    }

    /// The servers, or why there are none.
    pub(crate) fn servers(&self) -> Result<&dyn Servers, HandError> {
        self.servers.ok_or_else(|| HandError("there are no MCP servers here".to_owned()))
    }

    /// The outbox, or why there is none.
    pub(crate) fn outbox(&self) -> Result<&dyn Outbox, HandError> {
        self.outbox.ok_or_else(|| HandError("nothing is sent from here".to_owned()))
    }

    /// Other agents, or why there are none.
    pub(crate) fn agents(&self) -> Result<&dyn Agents, HandError> {
        self.agents.ok_or_else(|| HandError("no other agent is reached from here".to_owned()))
    }

    /// The jobs, or why there are none.
    pub(crate) fn schedules(&self) -> Result<&dyn Schedules, HandError> {
        self.schedules.ok_or_else(|| HandError("nothing is done by the clock here".to_owned()))
    }

    /// The boards, or why there are none.
    pub(crate) fn boards(&self) -> Result<&dyn Boards, HandError> {
        self.boards.ok_or_else(|| HandError("there are no boards here".to_owned()))
    }

    /// Who reads in quarantine, or why nobody does.
    pub(crate) fn reader(&self) -> Result<&dyn Reader, HandError> {
        self.reader.ok_or_else(|| HandError("nobody reads in quarantine here".to_owned()))
    }

    /// Who makes pictures, or why nobody does.
    pub(crate) fn pictures(&self) -> Result<&dyn Pictures, HandError> {
        self.pictures.ok_or_else(|| HandError("nobody makes pictures here".to_owned()))
    }

    /// The way to children, or why there is none.
    pub(crate) fn delegate(&self) -> Result<&dyn Delegate, HandError> {
        self.delegate.ok_or_else(|| HandError("there are no children here".to_owned()))
    }
}

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search<'q> {
    /// Words.
    pub query: &'q str,
    /// How many hits at the most.
    pub limit: usize,
    /// Newest first instead of best first.
    pub order: Order,
}

/// In which order hits come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Best first.
    Relevance,
    /// Newest first.
    Newest,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The session, by a name that tells nothing of other sessions.
    pub session: String,
    pub message: i64,
    pub at: String,
    /// Who: `user`, `assistant` or `tool`.
    pub role: String,
    /// The words.
    pub text: String,
}

/// What was said before.
#[async_trait]
pub trait History: Send + Sync {
    /// Looks for words.
    async fn search(&self, search: Search<'_>) -> Result<Vec<Hit>, HandError>;

    /// The messages around one; nothing when there is no such message here.
    async fn around(
        &self,
        session: &str,
        message: i64,
        window: usize,
    ) -> Result<Vec<Hit>, HandError>;

    /// The same over every conversation of the agent, where its operator granted that.
    fn everywhere(&self) -> Result<Box<dyn History + '_>, HandError> {
        Err(HandError(NOT_GRANTED.to_owned()))
    }
}
