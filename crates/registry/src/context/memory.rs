//! How an agent remembers, and where a message was said, which decides what it may remember there.

use super::AgentContext;
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
    /// The whereabouts of the messages of a conversation, by its key and who spoke: all that
    /// is left of a message that a crash interrupted.
    pub fn of_session(agent: &AgentContext, key: &SessionKey, who: &Actor) -> Self {
        let spoken = || UserId::new(who.user_id()?).ok();
        let user = key.user.clone().or_else(spoken);
        agent.scope(&Address {
            platform: key.platform,
            account: key.account.clone(),
            chat: key.chat.clone(),
            chat_type: key.kind,
            topic: key.topic.clone(),
            parent: None,
            community: None,
            user,
            roles: Vec::new(),
        })
    }

    /// The scope of what is journalled where no other can be had: the conversation's own.
    pub fn fallback(&self, session: &SessionKey) -> Scope {
        MemoryScope::Auto.resolve(&session.place(&self.address), None)
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
    let daily = config.daily.then_some(config.daily_chars);
    ListLimits { memory: config.memory_chars, user: config.user_chars, daily }
}
