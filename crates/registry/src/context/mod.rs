//! The agent context: the object that *is* an agent at run time.
//!
//! Immutable. A change makes a new one with a higher generation; whoever holds the old one
//! keeps it to the end of their turn.

mod audit;
mod crowd;
mod hooks;
mod job;
mod kept_address;
mod link;
mod mcp;
mod memory;
mod models;
mod narrowed;
mod terms;

pub use audit::AuditLog;
pub use hooks::AgentHooks;
pub use job::{CardClaim, JobTurn};
pub use link::{LinkTurn, linked_from};
pub use mcp::{Mcp, PROMPTS, is_shown, resources_tool};
pub use memory::{EmbeddingRest, EmbeddingSource, Embeddings, Memory, Whereabouts};
pub use models::ModelChain;
pub use terms::{AllowedCall, Desk, GrantedBy, Offers, TermApprovals, Terms, is_plain};

use crate::providers::OwnProviders;
use crate::secrets::{GrantedSecrets, SecretBook};
use crate::toolbox::Toolbox;
use crate::whole::Whole;
use crate::workspace::Workspace;
use insula_config::agent::{
    AccessPolicy, AgentConfig, AttachmentsKept, Instructions, People, Soul,
};
use insula_config::images::ImagesConfig;
use insula_config::job::Job;
use insula_config::model::ModelRef;
use insula_config::programs::Programs;
use insula_config::settings::Setting;
use insula_config::voice::VoiceConfig;
use insula_config::web::SearchConfig;
use insula_domain::disk::Floor;
use insula_domain::{
    AccountId, Address, Admins, AgentId, Boundary, Metadata, Narrowing, Platform, Principal,
    RoleId, ScopeRule, SearchReach, SessionKey, SessionRule, Standing, ToolTable, UserId, Zones,
};
use insula_schedule::ActiveHours;
use insula_store::AgentLease;
use insula_tools::workspace::Users;
use insula_tools::{RememberDaily, SessionSearchAll, Tool};
use insula_world::World;
use memory::limits;
use narrowed::Narrowed;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A place as text, for whoever keeps one.
pub fn keep_place(address: &Address) -> String {
    kept_address::write(address, kept_address::Held::default())
}

/// The place that was kept; `None` for what no version of ours wrote.
pub fn kept_place(text: &str) -> Option<Address> {
    kept_address::read(text).map(|kept| kept.address)
}

/// What names of conversations begin with that have no other.
pub const ONE_OFF: &str = "once-";

/// Which version of an agent this is: higher whenever anything about it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Generation(pub u64);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An agent at run time.
pub struct AgentContext(Whole<Parts>);

impl Deref for AgentContext {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// What an agent consists of.
pub struct Parts {
    pub id: AgentId,
    /// Which version this is.
    pub generation: Generation,
    pub identity: Arc<AgentIdentity>,
    /// The settings this generation was built from.
    pub config: Arc<ConfigView>,
    /// What it may do; its tool table is the one the model is shown and the gate runs.
    pub boundary: Arc<Boundary>,
    /// The tools that only this agent has, and what its model is shown of all it has.
    pub toolbox: Arc<Toolbox>,
    /// Its MCP servers, and what is known of their tools.
    pub mcp: Arc<Mcp>,
    /// How its programs are confined, and what they are given.
    pub programs: Programs,
    /// The search of the web that it asks.
    pub search: Option<SearchConfig>,
    /// Who makes its pictures.
    pub images: Option<ImagesConfig>,
    /// Who hears what is said to it, and who speaks for it.
    pub voice: Arc<VoiceConfig>,
    /// How it remembers; `None` for agents that do not.
    pub memory: Option<Memory>,
    /// What was ever remembered: its operator may see and erase that also where memory is off.
    remembered: insula_memory::Memory,
    /// Where its files are.
    pub workspace: Workspace,
    pub skills: Arc<SkillShelf>,
    /// What it runs on.
    pub models: ModelChain,
    /// Providers of its own, which its children ask too.
    pub providers: Arc<OwnProviders>,
    /// What is asked and told before and after it does something.
    pub hooks: Arc<AgentHooks>,
    /// How its traffic is cut into conversations and scopes.
    pub conversations: Conversations,
    pub secrets: GrantedSecrets,
    /// Its durable state.
    pub store: AgentLease,
    /// Its audit trail.
    pub audit: AuditLog,
    /// Who may approve and change it, besides tokens and the local command line.
    pub admins: Admins,
    /// Who may talk to it on platforms, and how it behaves there.
    pub access: Arc<AccessPolicy>,
    /// What it does by the clock, by its configuration.
    pub jobs: Arc<[Arc<Job>]>,
    /// How long its logs are kept.
    pub logs_keep: Duration,
    /// How long a conversation is kept in which nothing happens; `None` for ever.
    pub sessions_keep: Option<Duration>,
    /// How long its audit records are kept; `None` for ever.
    pub audit_keep: Option<Duration>,
    /// What of that which came with messages is kept.
    pub attachments_kept: AttachmentsKept,
    /// When its home chat hears nothing.
    pub quiet_hours: Option<ActiveHours>,
    /// The context this one was derived from, where it is a child's or was narrowed.
    origin: Option<Arc<AgentContext>>,
    is_child: bool,
    /// The ways in that it was narrowed by.
    ways: Arc<[Arc<Narrowing>]>,
    /// What ways in leave of it.
    narrowed: Narrowed,
    one_off: Arc<AtomicU64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentIdentity {
    /// What people see it called.
    pub name: Box<str>,
    pub description: Option<Box<str>>,
    /// Who it is, in its own words, and where they stand.
    pub soul: Soul,
    /// What its operator tells it, in a file that no agent can write.
    pub instructions: Option<Instructions>,
}

/// The settings a generation was built from, each with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigView {
    /// What was written for this agent, its inherited settings included.
    pub settings: Box<[Setting]>,
    /// Tells two configurations apart.
    pub digest: [u8; 32],
    /// Values for hooks and expressions.
    pub metadata: Metadata,
}

/// The skills of an agent.
pub use insula_config::skills::SkillSet as SkillShelf;

/// How an agent's traffic is cut into conversations and scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversations {
    /// Who shares a session.
    pub sessions: SessionRule,
    /// Which of them it may look through.
    pub search: SearchReach,
    /// Which scope a message belongs to.
    pub scope: ScopeRule,
    /// People with several identities.
    pub people: People,
    /// By whose clocks it is told the time, and when its days begin.
    pub zones: Arc<Zones>,
}

impl Conversations {
    /// The same for a child, which looks through no more than where its parent speaks.
    fn of_child(&self) -> Self {
        Self { search: SearchReach::Here, ..self.clone() }
    }
}

/// What all contexts of a daemon have in common, none of it any agent's.
pub struct Surroundings<'s> {
    pub world: &'s World,
    /// The home folder.
    pub home: &'s Path,
    /// What `~` stands for; `None` where the process was started without a home.
    pub user_home: Option<&'s str>,
    /// The vault, and what keeps secrets out of records.
    pub(crate) secrets: &'s Arc<SecretBook>,
}

impl Surroundings<'_> {
    /// A path of the configuration, with `~` replaced.
    fn full(&self, path: &str) -> PathBuf {
        crate::workspace::full(path, self.user_home)
    }
}

impl AgentContext {
    /// Whether a turn of its parent's began it.
    pub fn is_child(&self) -> bool {
        self.0.is_child
    }

    /// Builds the context of one generation.
    pub fn build(
        config: AgentConfig,
        generation: Generation,
        store: AgentLease,
        around: &Surroundings<'_>,
    ) -> Self {
        let audit = AuditLog {
            agent: config.id.clone(),
            generation,
            store: store.clone(),
            clock: around.world.clock.clone(),
            secrets: around.secrets.clone(),
        };
        let mut boundary = config.boundary;
        for shared in &mut boundary.files.shared {
            shared.path = around.full(&shared.path).to_string_lossy().into();
        }
        let vault = &around.secrets.vault;
        let mcp = Arc::new(Mcp::new(config.mcp_servers, config.mcp_pins.as_deref()));
        let users = if config.workspace_is_shared { Users::Others } else { Users::Agent };
        let workspace = Workspace::new(
            around.home,
            around.user_home,
            Path::new("agents").join(config.id.as_str()),
            (config.workspace_path.as_deref().map(|path| around.full(path)), users),
            &boundary.files,
        )
        .leaving(Floor::new(config.programs.disk.free_space));
        let remembered = insula_memory::Memory::new(
            store.clone(),
            around.home.join("agents").join(config.id.as_str()),
            config.memory.as_ref().map(limits).unwrap_or_default(),
            generation.0,
            around.world.clone(),
        )
        .in_zone(config.zones.own.clone());
        // Who may more has another form of the tool that does it.
        let keeps_days = config.memory.as_ref().is_some_and(|memory| memory.daily);
        let daily = keeps_days.then(|| Arc::new(RememberDaily) as Arc<dyn Tool>);
        let searches_all = config.search_reach == SearchReach::Agent;
        let search = searches_all.then(|| Arc::new(SessionSearchAll) as Arc<dyn Tool>);
        let forms = daily.into_iter().chain(search);
        Self(Whole::new(Parts {
            secrets: GrantedSecrets::new(vault.agent(&config.id), boundary.secrets.clone()),
            generation,
            identity: Arc::new(AgentIdentity {
                name: config.name,
                description: config.description,
                soul: config.soul,
                instructions: config.instructions,
            }),
            config: Arc::new(ConfigView {
                settings: config.settings,
                digest: config.digest,
                metadata: config.metadata,
            }),
            toolbox: Arc::new(Toolbox::under(
                &boundary.rules,
                &boundary.tools,
                mcp.tools().chain(forms),
            )),
            mcp,
            boundary: Arc::new(boundary),
            programs: config.programs,
            search: config.search,
            images: config.images,
            voice: Arc::new(config.voice),
            memory: config
                .memory
                .map(|memory| Memory::new(memory, &remembered, |path| around.full(path))),
            remembered,
            workspace,
            skills: config.skills,
            models: ModelChain {
                models: config.models,
                choices: config.model_choices,
                children: config.child_model,
                sees_images: config.sees_images,
            },
            providers: Arc::new(OwnProviders::new(config.providers)),
            hooks: Arc::new(AgentHooks::new(config.hooks)),
            conversations: Conversations {
                sessions: config.sessions,
                search: config.search_reach,
                scope: config.scope,
                people: config.people,
                zones: config.zones,
            },
            store,
            audit,
            admins: config.admins,
            access: Arc::new(config.access),
            jobs: config.jobs,
            logs_keep: config.logs_keep,
            sessions_keep: config.sessions_keep,
            audit_keep: config.audit_keep,
            attachments_kept: config.attachments_kept,
            quiet_hours: config.quiet_hours,
            origin: None,
            is_child: false,
            ways: Arc::default(),
            narrowed: Narrowed::default(),
            one_off: Arc::default(),
            id: config.id,
        }))
    }

    /// The context of a child, under the same generation: a boundary that its parent's gave
    /// out ([`Boundary::child`]), who it is and what it runs on. It remembers nothing, and
    /// there is nothing else in which it could differ from its parent.
    pub fn child(self: &Arc<Self>, boundary: Boundary, soul: Soul, models: Vec<ModelRef>) -> Self {
        Self(Whole::new(Parts {
            id: self.id.clone(),
            generation: self.generation,
            identity: Arc::new(AgentIdentity {
                name: self.identity.name.clone(),
                description: None,
                soul,
                instructions: self.identity.instructions.clone(),
            }),
            config: self.config.clone(),
            workspace: self.workspace.for_child(&boundary.files),
            secrets: self.secrets.less(&boundary.secrets),
            toolbox: Arc::new(self.toolbox.narrowed(&boundary.tools)),
            mcp: self.mcp.clone(),
            boundary: Arc::new(boundary),
            programs: self.programs.clone(),
            search: self.search.clone(),
            images: self.images.clone(),
            voice: self.voice.clone(),
            memory: None,
            remembered: self.remembered.clone(),
            skills: self.skills.clone(),
            models: ModelChain { models, choices: Vec::new(), ..self.models.clone() },
            providers: self.providers.clone(),
            hooks: self.hooks.clone(),
            conversations: self.conversations.of_child(),
            store: self.store.clone(),
            audit: self.audit.clone(),
            admins: self.admins.clone(),
            access: self.access.clone(),
            jobs: self.jobs.clone(),
            logs_keep: self.logs_keep,
            sessions_keep: self.sessions_keep,
            audit_keep: self.audit_keep,
            attachments_kept: self.attachments_kept,
            quiet_hours: self.quiet_hours,
            origin: Some(self.clone()),
            is_child: true,
            ways: self.ways.clone(),
            narrowed: Narrowed::default(),
            one_off: Arc::default(),
        }))
    }

    /// What was ever remembered, for the operator alone: also where memory is off.
    pub fn remembered(&self) -> &insula_memory::Memory {
        &self.remembered
    }

    /// Goes on with files and memory where an earlier generation of the same agent still works.
    pub(crate) fn succeed(&mut self, before: &Self) {
        let parts = &mut *self.0;
        parts.workspace.succeed(&before.workspace);
        parts.remembered.succeed(&before.remembered);
        if let Some(memory) = &mut parts.memory {
            memory.keeper.succeed(&before.remembered);
        }
    }

    /// The context as the registry made it, of which this one was derived.
    pub fn root(&self) -> &Self {
        let mut root = self;
        while let Some(origin) = &root.origin {
            root = origin;
        }
        root
    }

    /// Whether a turn that runs under another generation of this agent may still use a model of
    /// that generation.
    pub fn leaves(&self, other: &Self, model: &ModelRef) -> bool {
        let ModelChain { models, choices, children, .. } = &self.models;
        let in_children = || {
            children.as_ref() == Some(model)
                || self.boundary.spawn.models.contains(&*model.to_string())
        };
        let is_own = models.contains(model) || choices.contains(model) && !other.is_child;
        is_own || other.is_child && in_children()
    }

    /// The tools the model is shown, which are those the gate will run.
    pub fn tools(&self) -> &ToolTable {
        &self.boundary.tools
    }

    /// Whether this version runs a tool that a table exposes: some names are known before there
    /// is anything behind them.
    pub fn runs(&self, tool: &str) -> bool {
        // The search for tools is there when there is something to search.
        tool == "tool_search"
            || insula_tools::find(tool).is_some()
            || self.toolbox.find(tool).is_some()
    }

    /// A name for a conversation that has no other. Counted within this agent: what others do
    /// does not show in it.
    pub fn one_off_name(&self, world: &World) -> String {
        let number = self.one_off.fetch_add(1, Ordering::Relaxed).to_string();
        let at = world.clock.now().as_millis().to_string();
        let purpose = ["one-off", self.id.as_str(), &self.generation.to_string(), &at, &number];
        format!("{}{}", ONE_OFF, world.random.stream(&purpose).id())
    }

    /// Somebody on a platform, as this agent sees them now.
    pub fn principal(
        &self,
        (platform, account): (Platform, AccountId),
        user: UserId,
        roles: Vec<RoleId>,
    ) -> Principal {
        let person = self.conversations.people.person(platform, &user).cloned();
        let standing = self.standing((platform, &user), &roles);
        Principal { platform, account, user, person, roles, standing }
    }

    /// What somebody on a platform may do to this agent now.
    pub(crate) fn standing(
        &self,
        (platform, user): (Platform, &UserId),
        roles: &[RoleId],
    ) -> Standing {
        let person = self.conversations.people.person(platform, user);
        self.admins.standing((platform, user), person, roles)
    }

    /// The conversation a message at `address` belongs to.
    pub fn session_key(&self, address: &Address) -> SessionKey {
        SessionKey::of(&self.id, address, self.conversations.sessions)
    }

    /// What the scope of a message at `address` depends on, whether or not memory is on. The
    /// scope itself is decided by the daemon, when it is needed.
    pub fn scope(&self, address: &Address) -> Whereabouts {
        let user = address.user.as_ref();
        let person = user.and_then(|user| self.conversations.people.person(address.platform, user));
        let (address, person) = (address.clone(), person.cloned());
        Whereabouts { address, person, job: None, link: None, terms: None }
    }
}
