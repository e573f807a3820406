//! Traces: what happens to one agent, step by step, and what happens to others meanwhile. Plain
//! values, so that a trace can be printed, shrunk and run again.

use serde_json::Value;
use std::fmt;

/// Where something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chat {
    /// A conversation over the API.
    Api(u8),
    /// A direct message of a user of a platform.
    Direct(u8),
    /// A group, and the user who speaks there.
    Group(u8, u8),
    /// A room of the web chat: the agent's own, or the one that agents are given in turn.
    Room(Room),
}

/// A room of the web chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// One that is always the agent's.
    Own,
    /// One that is given to one agent after the other.
    Common,
}

/// What a message does to a turn under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joining {
    /// Waits.
    Queue,
    /// Joins it.
    Steer,
    /// Stops it.
    Interrupt,
}

/// How a question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Yes, this once.
    Once,
    /// Yes, in this session.
    Session,
    /// Yes, always.
    Always,
    /// No.
    Deny,
}

/// What happens to one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Somebody says something; `acts` is what its model does about it, in order.
    Say {
        chat: Chat,
        /// What it does to a turn under way.
        joining: Joining,
        /// What the model does.
        acts: Vec<Value>,
    },
    /// Somebody uses a command of the gateway.
    Command {
        chat: Chat,
        /// The command.
        text: String,
    },
    /// Models that hold back their answers go on.
    Release,
    /// The turns of a conversation are stopped.
    Stop(Chat),
    /// The oldest question is answered.
    Answer(Verdict),
    /// A conversation begins anew.
    Anew(Chat),
    /// A conversation is erased.
    Forget(Chat),
    /// The last message is said again.
    Retry(Chat),
    /// A person writes into the file of a conversation's memory.
    EditMemory(Chat, String),
    /// A person puts a file into the workspace.
    EditFile(String, String),
    /// The agent gets this version of its configuration.
    Configure(u8),
    /// Its secret gets another value; none for 0.
    Secret(u8),
    /// Whoever has its token looks at everything there is to see.
    Look,
    /// A page comes into a room, or comes again.
    Enter(Room),
    /// A page leaves a room.
    Leave(Room),
    /// The common room is given to it, or taken from it.
    Claim(bool),
    /// Its token is revoked, and another made.
    Revoke,
    /// It is paused.
    Pause,
    /// It serves again.
    Resume,
    /// It is deleted, and written anew.
    Recreate,
    /// Time passes.
    Wait(u64),
    /// The daemon is killed and started again.
    Crash,
    /// The daemon is stopped in order and started again.
    Restart,
}

impl fmt::Display for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api(number) => write!(f, "talk {number} of the API"),
            Self::Direct(user) => write!(f, "the chat with {user}"),
            Self::Group(group, user) => write!(f, "group {group}, where {user} speaks"),
            Self::Room(Room::Own) => f.write_str("its room"),
            Self::Room(Room::Common) => f.write_str("the common room"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Say { chat, joining, acts } => {
                let how = match joining {
                    Joining::Queue => "",
                    Joining::Steer => ", joining the turn",
                    Joining::Interrupt => ", stopping the turn",
                };
                write!(f, "said in {chat}{how}; its model:")?;
                acts.iter().try_for_each(|act| match act["call"].as_str() {
                    Some(tool) => write!(f, " {tool}{}", act["arguments"]),
                    None => write!(f, " {act}"),
                })
            }
            Self::Command { chat, text } => write!(f, "`{text}` in {chat}"),
            Self::Release => f.write_str("models that hold back go on"),
            Self::Stop(chat) => write!(f, "stopped in {chat}"),
            Self::Answer(verdict) => write!(f, "the oldest question is answered: {verdict:?}"),
            Self::Anew(chat) => write!(f, "begun anew: {chat}"),
            Self::Forget(chat) => write!(f, "erased: {chat}"),
            Self::Retry(chat) => write!(f, "said again in {chat}"),
            Self::EditMemory(chat, text) => write!(f, "{text:?} put into the memory of {chat}"),
            Self::EditFile(path, text) => write!(f, "{text:?} put into {path}"),
            Self::Configure(version) => write!(f, "configured as version {version}"),
            Self::Secret(0) => f.write_str("its secret is removed"),
            Self::Secret(version) => write!(f, "its secret gets value {version}"),
            Self::Look => f.write_str("its token looks at everything"),
            Self::Enter(room) => write!(f, "a page comes into {}", Chat::Room(*room)),
            Self::Leave(room) => write!(f, "a page leaves {}", Chat::Room(*room)),
            Self::Claim(true) => f.write_str("the common room is given to it"),
            Self::Claim(false) => f.write_str("the common room is taken from it"),
            Self::Revoke => f.write_str("its token is revoked, and another made"),
            Self::Pause => f.write_str("paused"),
            Self::Resume => f.write_str("resumed"),
            Self::Recreate => f.write_str("deleted, and made again"),
            Self::Wait(ms) => write!(f, "{ms} ms pass"),
            Self::Crash => f.write_str("the daemon is killed and started again"),
            Self::Restart => f.write_str("the daemon is stopped and started again"),
        }
    }
}

/// The trace of the agent that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The seed of the world, and of nothing else: its steps are written here.
    pub seed: u64,
    /// Its first configuration.
    pub version: u8,
    /// What happens to it.
    pub steps: Vec<Step>,
    /// Whether strangers speak to its model, which does what they say.
    pub is_steered: bool,
}

/// Another agent of the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    pub id: String,
    /// Its first configuration.
    pub version: u8,
    /// Whether it stands in `config.yaml`; otherwise it has a file of its own.
    pub is_in_shared_file: bool,
    /// Whether it is there from the beginning; otherwise somebody adds it.
    pub is_there: bool,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.is_in_shared_file { "config.yaml" } else { "its own file" };
        let since = if self.is_there { "" } else { ", added later" };
        write!(f, "`{}` (version {}, in {place}{since})", self.id, self.version)
    }
}

/// Something that happens to another agent, beside a step of the one that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// Begun before the step of this number.
    pub before: usize,
    /// Which of the others.
    pub who: usize,
    pub step: Step,
    /// How often everybody else goes on before whatever comes next begins.
    pub yields: u8,
    /// Whoever asked for it leaves after it was polled so often.
    pub cut_after: Option<u16>,
}

/// All that differs between two runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Variation {
    pub others: Vec<Other>,
    /// What happens to them.
    pub asides: Vec<Aside>,
}

impl Variation {
    /// How many steps a run with it has besides those of the agent that is watched.
    pub fn len(&self) -> usize {
        self.asides.len()
    }

    /// Whether there is nothing besides the agent that is watched.
    pub fn is_empty(&self) -> bool {
        self.others.is_empty()
    }
}
