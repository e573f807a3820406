//! How an agent remembers, and where a message was said, which decides what it may remember there.

use super::kept_address::{self, KeptPlace};
use super::{AgentContext, JobTurn, Terms};
use crate::access::Access;
use insula_config::agent::{EmbeddingsConfig, GlobalWrites, MemoryConfig};
use insula_config::model::ModelRef;
use insula_domain::expr::Expression;
use insula_domain::{
    Actor, Address, AgentId, MemoryScope, Narrowing, PersonId, Scope, SessionKey, UserId,
};
use insula_memory::{ListLimits, Memory as Keeper};
use insula_store::SessionId;
use insula_tools::Files;
use insula_world::{Timestamp, World};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Where a message was said, as far as its scope depends on that. What the scope is may
/// depend on more, and is asked when it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whereabouts {
    /// The place.
    pub address: Address,
    /// The person its sender is linked to.
    pub person: Option<PersonId>,
    /// What it is held to, where nobody said it: a turn that the clock began.
    pub job: Option<Arc<JobTurn>>,
    /// What whoever said it holds the turn to.
    pub terms: Option<Arc<Terms>>,
}

impl Whereabouts {
    /// The same place, for a turn that the clock began.
    #[must_use]
    pub fn by_job(self, job: Arc<JobTurn>) -> Self {
        Self { job: Some(job), ..self }
    }

    /// The same place, for a turn that is held to terms.
    #[must_use]
    pub fn under(self, terms: Arc<Terms>) -> Self {
        Self { terms: Some(terms), ..self }
    }

    /// The files of a turn that was asked for here.
    pub fn files(
        &self,
        agent: &AgentContext,
        (key, session): (&SessionKey, SessionId),
        world: &World,
    ) -> Files {
        let (workspace, seals) = (&agent.workspace, agent.store.seals());
        match &self.terms {
            Some(terms) => terms.files(workspace, (key, session), &seals, world),
            None => workspace.files(key, session, &seals, world),
        }
    }

    /// What ways in, the job and the terms take away, as they are now.
    pub fn ways(&self, access: &Access, agent: &AgentId) -> Vec<Arc<Narrowing>> {
        let mut ways = access.ways(agent, &self.address);
        ways.extend(self.job.as_ref().map(|job| job.less.clone()));
        let terms = self.terms.as_ref().map(|terms| terms.less.clone());
        ways.extend(terms.filter(|less| !less.is_empty()));
        ways
    }

    /// The whereabouts of a message that a crash interrupted: as they were kept, or by the key
    /// of its conversation and who spoke, where that says all. What was kept and can't be read
    /// is an error: nobody may come in by a wider way than they did.
    pub fn of_session(
        agent: &AgentContext,
        (key, who): (&SessionKey, &Actor),
        kept: Option<&str>,
    ) -> Option<Self> {
        match kept {
            Some(kept) => {
                let KeptPlace { address, job, terms } = kept_address::read(kept)?;
                Some(Self { job, terms, ..agent.scope(&address) })
            }
            None => Some(agent.scope(&address_of(key, who))),
        }
    }

    /// What to keep of it beside the key of its conversation and who spoke; `None` where those
    /// say all.
    pub fn to_keep(&self, key: &SessionKey, who: &Actor) -> Option<String> {
        let is_free = self.job.is_none() && self.terms.is_none();
        let is_told = is_free && self.address == address_of(key, who);
        let (job, terms) = (self.job.as_deref(), self.terms.as_deref());
        (!is_told).then(|| kept_address::write(&self.address, job, terms))
    }

    /// The scope of what is journalled where no other can be had: the conversation's own.
    pub fn fallback(&self, session: &SessionKey) -> Scope {
        if let Some(job) = &self.job {
            return job.own_scope();
        }
        MemoryScope::Auto.resolve(&session.place(&self.address), None)
    }
}

/// The place of a message, as far as the key of its conversation and who spoke say.
fn address_of(key: &SessionKey, who: &Actor) -> Address {
    let spoken = || UserId::new(who.user_id()?).ok();
    Address {
        platform: key.platform,
        account: key.account.clone(),
        chat: key.chat.clone(),
        chat_type: key.kind,
        topic: key.topic.clone(),
        parent: None,
        community: None,
        user: key.user.clone().or_else(spoken),
        roles: Vec::new(),
    }
}

/// How an agent remembers.
#[derive(Debug, Clone)]
pub struct Memory {
    /// Expressions that name contexts it reads besides its own.
    pub also_read: Vec<Expression>,
    /// What becomes of a write that every conversation could read.
    pub global_writes: GlobalWrites,
    /// What it remembers.
    pub keeper: Keeper,
    /// By which it is searched for meaning.
    pub embeddings: Option<Embeddings>,
}

/// What makes vectors of an agent's texts, and whether it is left alone for a while.
#[derive(Debug, Clone)]
pub struct Embeddings {
    pub source: EmbeddingSource,
    pub rest: Arc<EmbeddingRest>,
}

/// What makes vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddingSource {
    /// A model of a provider.
    Model(ModelRef),
    /// A static model in this folder.
    Folder(PathBuf),
}

/// Until when a source that failed is not asked again: whoever searches does not wait for it, and
/// the log says it once.
#[derive(Debug, Default)]
pub struct EmbeddingRest {
    until_ms: AtomicI64,
}

impl EmbeddingRest {
    /// Whether it rests now.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until_ms.load(Ordering::Relaxed) > now.as_millis()
    }

    /// It failed: rests from now on. Whether that is news.
    pub fn begin(&self, now: Timestamp, for_ms: i64) -> bool {
        let until = now.as_millis().saturating_add(for_ms).max(1);
        self.until_ms.swap(until, Ordering::Relaxed) == 0
    }

    /// It works. Whether that is news.
    pub fn end(&self) -> bool {
        self.until_ms.swap(0, Ordering::Relaxed) != 0
    }
}

impl Memory {
    /// `full` makes a folder of one that was written.
    pub fn new(config: MemoryConfig, keeper: &Keeper, full: impl FnOnce(&str) -> PathBuf) -> Self {
        let MemoryConfig { also_read, global_writes, embeddings, .. } = config;
        let embeddings = embeddings.map(|it| {
            let source = match it {
                EmbeddingsConfig::Model(model) => EmbeddingSource::Model(model),
                EmbeddingsConfig::Folder(path) => EmbeddingSource::Folder(full(&path)),
            };
            Embeddings { source, rest: Arc::default() }
        });
        Self { also_read, global_writes, keeper: keeper.clone(), embeddings }
    }
}

/// How much an agent's lists may hold.
pub fn limits(config: &MemoryConfig) -> ListLimits {
    let daily = config.daily.then_some(config.daily_chars);
    ListLimits { memory: config.memory_chars, user: config.user_chars, daily }
}
