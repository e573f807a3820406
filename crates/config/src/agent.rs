//! One agent's configuration, resolved: every layer applied, every reference followed.

use crate::hook::Hook;
use crate::images::ImagesConfig;
use crate::job_words::Job;
use crate::mcp::McpServer;
use crate::model::{ModelRef, Provider};
use crate::programs::Programs;
use crate::settings::Setting;
use crate::skills::SkillSet;
use crate::voice::VoiceConfig;
use crate::web::SearchConfig;
use insula_domain::expr::Expression;
use insula_domain::{
    Admins, AgentId, AllowList, BoardName, BoardRights, Boundary, GroupRule, Metadata, PersonId,
    Platform, Possible, Reset, ScopeRule, SearchReach, SessionRule, ToolPolicy, Unknown, UserId,
    Zones,
};
use insula_schedule::ActiveHours;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What an agent is built from.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    pub id: AgentId,
    /// Whether it answers where no binding matches.
    pub answers_by_default: bool,
    /// What people see it called.
    pub name: Box<str>,
    pub description: Option<Box<str>>,
    pub soul: Soul,
    /// What its operator tells it, where there is a file for that.
    pub instructions: Option<Instructions>,
    /// The models it runs on, tried in order; never empty.
    pub models: Vec<ModelRef>,
    /// Of which models the operator says whether they can be shown pictures.
    pub sees_images: Vec<(ModelRef, bool)>,
    /// Providers of its own, with keys of its own, by name.
    pub providers: BTreeMap<Box<str>, Provider>,
    /// What people may have answer instead, in their conversation.
    pub model_choices: Vec<ModelRef>,
    /// What its children run on, unless a call says otherwise; absent is what it runs on.
    pub child_model: Option<ModelRef>,
    /// Which tools it may use.
    pub tools: ToolPolicy,
    /// Which tools its other settings make possible.
    pub possible: Possible,
    /// Its skills: its own folder's and those of bundles.
    pub skills: Arc<SkillSet>,
    /// How it remembers; `None` when it does not.
    pub memory: Option<MemoryConfig>,
    /// Which scope a message belongs to, also where memory is off.
    pub scope: ScopeRule,
    /// What it may do.
    pub boundary: Boundary,
    /// How its programs are confined, and what they are given.
    pub programs: Programs,
    /// The search of the web that it asks; `None` where none is named.
    pub search: Option<SearchConfig>,
    /// Who makes its pictures; `None` where nobody is named.
    pub images: Option<ImagesConfig>,
    /// Who hears what is said to it, and who speaks for it.
    pub voice: VoiceConfig,
    /// Another folder than the usual one for its files.
    pub workspace_path: Option<Box<str>>,
    /// Whether other agents can write there too.
    pub workspace_is_shared: bool,
    pub mcp_servers: Vec<McpServer>,
    /// What is known of their tools: the text of its `mcp.json`, where there is one.
    pub mcp_pins: Option<Arc<str>>,
    /// The boards it may use.
    pub boards: Vec<(BoardName, BoardRights)>,
    /// How its conversations are kept apart.
    pub sessions: SessionRule,
    /// Which of its conversations it may look through.
    pub search_reach: SearchReach,
    /// People with several identities.
    pub people: People,
    /// By whose clocks it is told the time, and when its days begin.
    pub zones: Arc<Zones>,
    /// Who may approve and change it.
    pub admins: Admins,
    /// Who may talk to it, and how it behaves among people.
    pub access: AccessPolicy,
    /// What it does by the clock.
    pub jobs: Arc<[Arc<Job>]>,
    /// How long the files of its log are kept.
    pub logs_keep: Duration,
    /// How long a conversation is kept in which nothing happens; `None` for ever.
    pub sessions_keep: Option<Duration>,
    /// How long its audit records are kept; `None` for ever.
    pub audit_keep: Option<Duration>,
    /// What of that which came with messages is kept.
    pub attachments_kept: AttachmentsKept,
    /// When its home chat hears nothing.
    pub quiet_hours: Option<ActiveHours>,
    /// What is asked and told, in order.
    pub hooks: Vec<Hook>,
    /// Values for hooks and expressions.
    pub metadata: Metadata,
    /// Everything that was written, with its origin.
    pub settings: Box<[Setting]>,
    /// Changes when anything above changes in meaning.
    pub digest: [u8; 32],
}

impl AgentConfig {
    /// The same agent with what is known of its servers' tools, which are a part of what it
    /// is: when they change, it does.
    pub(crate) fn with_pins(mut self, pins: &Arc<str>) -> Self {
        if !self.mcp_servers.is_empty() {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&self.digest);
            hasher.update(pins.as_bytes());
            self.digest = *hasher.finalize().as_bytes();
            self.mcp_pins = Some(pins.clone());
        }
        self
    }
}

impl AgentConfig {
    /// The same agent, with others that can write to its workspace. It is another one without.
    pub(crate) fn share_workspace(&mut self) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.digest);
        hasher.update(b"shared workspace");
        self.digest = *hasher.finalize().as_bytes();
        self.workspace_is_shared = true;
    }
}

/// Who may talk to an agent on platforms, and how it behaves there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessPolicy {
    /// Whom it lets in.
    pub allow: AllowList,
    /// What becomes of others.
    pub unknown: Unknown,
    /// How it behaves among several people.
    pub group: GroupRule,
    /// How long a message that seems to go on waits for the rest of it.
    pub burst: Duration,
    /// How long an answer waits for more of what somebody says in one breath.
    pub quiet: Duration,
    /// What a message does that comes while a turn of the same person runs.
    pub busy: Busy,
    /// Whether it is told of reactions, as context for what it says next.
    pub reactions: bool,
    /// When its conversations start afresh by themselves.
    pub reset: Reset,
    /// Largest attachment that is taken in, in bytes.
    pub attachment_bytes: u64,
    /// Whether its replies quote what they answer.
    pub quote: Quote,
}

impl Default for AccessPolicy {
    fn default() -> Self {
        Self {
            allow: AllowList::default(),
            unknown: Unknown::default(),
            group: GroupRule::default(),
            burst: Duration::from_millis(400),
            quiet: Duration::from_millis(300),
            busy: Busy::default(),
            reactions: false,
            reset: Reset::default(),
            attachment_bytes: 20_000_000,
            quote: Quote::default(),
        }
    }
}

/// How long what came with messages is kept, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttachmentsKept {
    /// `None` as long as the conversation it came in.
    pub keep: Option<Duration>,
    /// `None` for all of it.
    pub bytes: Option<u64>,
}

/// Whether a reply quotes what it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quote {
    #[default]
    Always,
    /// Where several people write.
    Groups,
    Never,
}

/// What a message in a chat does that comes while a turn of the same person runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Busy {
    /// Waits for a turn of its own.
    #[default]
    Queue,
    /// Joins the turn.
    Steer,
    /// Stops the turn and gets the next.
    Interrupt,
}

/// Who an agent is, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Soul {
    pub text: Arc<str>,
    /// Where it comes from, for people: a file, `personality`, or `built-in`.
    pub origin: Arc<str>,
}

/// What an operator tells an agent, in a file that no agent can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    pub text: Arc<str>,
    /// The file, for people.
    pub origin: Arc<str>,
}

/// How an agent remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Expressions that name contexts it reads besides.
    pub also_read: Vec<Expression>,
    /// What becomes of a write that every conversation could read.
    pub global_writes: GlobalWrites,
    /// Characters of `MEMORY.md` in one context.
    pub memory_chars: usize,
    /// Characters of `USER.md` in one context.
    pub user_chars: usize,
    /// Whether it keeps a note for every day.
    pub daily: bool,
    /// Characters of one day's note in one context.
    pub daily_chars: usize,
    /// By which it is searched for meaning; `None` for words alone.
    pub embeddings: Option<EmbeddingsConfig>,
}

/// What makes vectors of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddingsConfig {
    /// A model of a provider.
    Model(ModelRef),
    /// A static model in a folder, as it was written.
    Folder(Box<str>),
}

/// What becomes of a write that every conversation could read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GlobalWrites {
    /// Refused.
    Deny,
    /// An admin confirms.
    #[default]
    Approve,
    /// Done.
    Allow,
}

impl GlobalWrites {
    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Approve => "approve",
            Self::Allow => "allow",
        }
    }
}

/// People with several identities, as the operator linked them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct People {
    links: Vec<(Box<str>, PersonId)>,
}

impl People {
    /// Links an identity such as `telegram:1` to a person; gives back whom it was linked
    /// to before.
    pub fn link(&mut self, identity: &str, person: PersonId) -> Option<PersonId> {
        match self.links.binary_search_by(|(known, _)| (**known).cmp(identity)) {
            Ok(at) => Some(self.links[at].1.clone()),
            Err(at) => {
                self.links.insert(at, (identity.into(), person));
                None
            }
        }
    }

    /// Whom an identity such as `telegram:1` is linked to.
    pub fn linked(&self, identity: &str) -> Option<&PersonId> {
        let at = self.links.binary_search_by(|(known, _)| (**known).cmp(identity)).ok()?;
        Some(&self.links[at].1)
    }

    /// The identities of somebody.
    pub fn of<'p>(&'p self, person: &'p PersonId) -> impl Iterator<Item = &'p str> {
        self.links.iter().filter(move |(_, of)| of == person).map(|(identity, _)| &**identity)
    }

    /// Whom a user is linked to. An identity holds for every account of its platform: it is
    /// the platform that says who somebody is.
    pub fn person(&self, platform: Platform, user: &UserId) -> Option<&PersonId> {
        self.linked(&format!("{platform}:{user}"))
    }
}
