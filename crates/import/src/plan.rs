//! What becomes of another runtime's home: one form for every source. Pure data, and how to add
//! to it.

use crate::place::Place;
use crate::sqlite::Copy;
use insula_domain::{Address, AgentId, BlockKind, BoardName, CardStatus, Day, Scope};
use insula_world::Timestamp;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Whose home it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    Hermes,
    OpenClaw,
}

impl SourceKind {
    /// Its name, as it is typed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hermes => "hermes",
            Self::OpenClaw => "openclaw",
        }
    }
}

/// What becomes of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It could not be read.
    Trouble,
    /// It let more people or chats at something than is let here without being asked for.
    Closed,
    /// It comes over and means something else here.
    Changes,
    /// It has no place here.
    NoPlace,
    /// It was brought before, and somebody here changed it or took it away.
    LeftOut,
    /// It comes over.
    Comes,
}

impl Fate {
    /// Its name, in answers that programs read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trouble => "trouble",
            Self::Closed => "closed",
            Self::Changes => "changes",
            Self::NoPlace => "no place",
            Self::LeftOut => "left out",
            Self::Comes => "comes",
        }
    }
}

/// One line of the table that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub fate: Fate,
    /// The agent here that it is about; `None` for what they share.
    pub agent: Option<AgentId>,
    /// What it is. Never a secret's value.
    pub what: String,
    pub from: Place,
    /// What becomes of it, and what to do about it.
    pub note: String,
}

/// What is said about something: its name, its place, and what becomes of it.
pub struct Note<'n> {
    pub what: &'n str,
    pub from: Place,
    pub note: &'n str,
}

/// A value for the vault.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretPlan {
    /// The agent whose it is; `None` for the daemon's.
    pub agent: Option<AgentId>,
    pub name: String,
    pub value: String,
    pub from: Place,
}

impl std::fmt::Debug for SecretPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretPlan").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A connection to a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountPlan {
    pub platform: String,
    pub name: String,
    pub settings: Map<String, Value>,
    pub from: Place,
}

/// A rule that leads messages to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingPlan {
    pub agent: AgentId,
    /// As it stands in `config.yaml`, without the agent.
    pub fields: Map<String, Value>,
    pub from: Place,
}

/// Which list of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetList {
    Memory,
    User,
    Day(Day),
}

/// Entries of one list of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPlan {
    pub scope: Scope,
    pub list: TargetList,
    pub entries: Vec<String>,
    pub from: Place,
}

/// A conversation; its messages are read when they are needed.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionPlan {
    /// How it is called there, and unique there.
    pub source_id: String,
    /// Where it took place.
    pub address: Address,
    pub title: Option<String>,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    /// How many messages are told of there.
    pub count: usize,
    pub from: Place,
    /// What its messages are read from.
    pub(crate) reader: SessionReader,
}

/// Where the messages of a session are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SessionReader {
    /// Row of Hermes's database, by the number of the copy.
    Hermes { copy: usize },
    /// Rows of an OpenClaw agent's database.
    OpenClaw { copy: usize },
    /// A file of lines.
    Lines { file: PathBuf },
}

/// Whose voice a message is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    User,
    Assistant,
    Tool,
    System,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartPlan {
    Text(String),
    /// Something that was there and can't be brought along, in words.
    Beside(String),
    Reasoning(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    Result {
        call: String,
        text: String,
        is_error: bool,
    },
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePlan {
    pub voice: Voice,
    pub parts: Vec<PartPlan>,
    pub at: Timestamp,
    /// Who said it, where that is known better than by the session.
    pub sender: Option<String>,
}

/// A scheduled task, in neutral words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulePlan {
    pub source_id: String,
    pub fields: Map<String, Value>,
    pub from: Place,
}

/// Something that was said on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Who said it there; `None` for what the import says.
    pub by: Option<String>,
    pub at: Option<Timestamp>,
    pub text: String,
}

impl Remark {
    /// What the import says of a card.
    pub(crate) fn ours(text: String) -> Self {
        Self { by: None, at: None, text }
    }

    pub(crate) fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }
}

/// A card of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardPlan {
    pub source_id: String,
    pub title: String,
    pub body: String,
    /// The agent here that is to do it; while it is read, the profile there.
    pub assignee: Option<String>,
    pub priority: i32,
    pub status: CardStatus,
    pub block: Option<BlockKind>,
    pub why: Option<String>,
    pub result: Option<String>,
    /// The cards that have to be done first; each stands before it.
    pub needs: Vec<String>,
    pub remarks: Vec<Remark>,
    pub made: Timestamp,
}

/// A board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardPlan {
    pub name: BoardName,
    /// What it is called there.
    pub slug: String,
    pub description: Option<String>,
    /// Those that have cards on it.
    pub agents: Vec<AgentId>,
    pub cards: Vec<CardPlan>,
    pub from: Place,
}

/// A skill, by its folder there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillPlan {
    pub folder: PathBuf,
    pub from: Place,
}

/// One agent.
#[derive(Debug, Clone)]
pub struct AgentPlan {
    /// The id it is to have here.
    pub id: AgentId,
    /// What it is called there.
    pub origin: String,
    /// Whether it answers where no rule leads elsewhere.
    pub is_default: bool,
    /// Whether groups could talk to it there.
    pub(crate) serves_groups: bool,
    /// The keys of its `agent.yaml`.
    pub settings: Map<String, Value>,
    pub soul: Option<String>,
    /// Other texts to put into its workspace, by name.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Programs of its hooks, by name.
    pub hooks: BTreeMap<String, Vec<u8>>,
    pub skills: Vec<SkillPlan>,
    pub memory: Vec<MemoryPlan>,
    pub sessions: Vec<SessionPlan>,
    pub schedules: Vec<SchedulePlan>,
}

impl AgentPlan {
    pub(crate) fn new(id: AgentId, origin: &str) -> Self {
        Self {
            id,
            origin: origin.to_owned(),
            is_default: false,
            serves_groups: false,
            settings: Map::new(),
            soul: None,
            files: BTreeMap::new(),
            hooks: BTreeMap::new(),
            skills: Vec::new(),
            memory: Vec::new(),
            sessions: Vec::new(),
            schedules: Vec::new(),
        }
    }

    /// Sets a key, or a key inside one.
    pub(crate) fn set(&mut self, path: &[&str], value: impl Into<Value>) {
        let [first @ .., last] = path else { return };
        let mut at = &mut self.settings;
        for key in first {
            let next = at.entry((*key).to_owned()).or_insert_with(|| Value::Object(Map::new()));
            if !next.is_object() {
                *next = Value::Object(Map::new());
            }
            let Value::Object(inner) = next else { return };
            at = inner;
        }
        at.insert((*last).to_owned(), value.into());
    }

    /// Adds to a list, unless it is there.
    pub(crate) fn add(&mut self, path: &[&str], value: impl Into<Value>) {
        let value = value.into();
        let mut list = match self.get(path) {
            Some(Value::Array(items)) => items.clone(),
            _ => Vec::new(),
        };
        if !list.contains(&value) {
            list.push(value);
        }
        self.set(path, list);
    }

    /// A setting.
    pub(crate) fn get(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        let mut at = self.settings.get(*first)?;
        for key in rest {
            at = at.get(*key)?;
        }
        Some(at)
    }
}

/// What becomes of a home.
pub struct Plan {
    pub source: SourceKind,
    pub agents: Vec<AgentPlan>,
    pub accounts: Vec<AccountPlan>,
    pub bindings: Vec<BindingPlan>,
    pub secrets: Vec<SecretPlan>,
    pub boards: Vec<BoardPlan>,
    pub rows: Vec<Row>,
    /// Copies of their databases, which end with the plan.
    pub(crate) copies: Vec<Copy>,
}

impl Plan {
    pub(crate) fn new(source: SourceKind) -> Self {
        Self {
            source,
            agents: Vec::new(),
            accounts: Vec::new(),
            bindings: Vec::new(),
            secrets: Vec::new(),
            boards: Vec::new(),
            rows: Vec::new(),
            copies: Vec::new(),
        }
    }

    /// Notes what becomes of something.
    pub(crate) fn row(&mut self, fate: Fate, agent: Option<&AgentId>, note: Note<'_>) {
        let Note { what, from, note } = note;
        let (what, note) = (what.to_owned(), note.to_owned());
        self.rows.push(Row { fate, agent: agent.cloned(), what, from, note });
    }
}
