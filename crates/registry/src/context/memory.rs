//! How an agent remembers, and where a message was said, which decides what it may remember there.

use super::{AgentContext, kept_address};
use insula_config::agent::{GlobalWrites, MemoryConfig};
use insula_domain::expr::Expression;
use insula_domain::{Actor, Address, MemoryScope, PersonId, Scope, SessionKey, UserId};
use insula_memory::{ListLimits, Memory as Keeper};

/// Where a message was said, as far as its scope depends on that. What the scope is may
/// depend on more, and is asked when it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whereabouts {
    /// The place.
    pub address: Address,
    /// The person its sender is linked to.
    pub person: Option<PersonId>,
}

impl Whereabouts {
    /// The whereabouts of a message that a crash interrupted: as they were kept, or by the key
    /// of its conversation and who spoke, where that says all. What was kept and can't be read
    /// is an error: nobody may come in by a wider way than they did.
    pub fn of_session(
        agent: &AgentContext,
        (key, who): (&SessionKey, &Actor),
        kept: Option<&str>,
    ) -> Option<Self> {
        match kept {
            Some(kept) => Some(agent.scope(&kept_address::read(kept)?)),
            None => Some(agent.scope(&address_of(key, who))),
        }
    }

    /// What to keep of it beside the key of its conversation and who spoke; `None` where those
    /// say all.
    pub fn to_keep(&self, key: &SessionKey, who: &Actor) -> Option<String> {
        (self.address != address_of(key, who)).then(|| kept_address::write(&self.address))
    }

    /// The scope of what is journalled where no other can be had: the conversation's own.
    pub fn fallback(&self, session: &SessionKey) -> Scope {
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
}

impl Memory {
    pub fn new(config: MemoryConfig, keeper: &Keeper) -> Self {
        let MemoryConfig { also_read, global_writes, .. } = config;
        Self { also_read, global_writes, keeper: keeper.clone() }
    }
}

/// How much an agent's lists may hold.
pub fn limits(config: &MemoryConfig) -> ListLimits {
    ListLimits { memory: config.memory_chars, user: config.user_chars }
}
