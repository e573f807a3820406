//! An agent's memory at run time: which scopes an operation may touch, decided before every
//! operation, and what people and operators may ask of it.

mod hooked;
mod people;
mod scopes;

pub use hooked::Act;
pub use people::{AskError, Asking, Forgot, Remembered};
pub use scopes::{Resolved, Whereabouts};

use insula_config::agent::{GlobalWrites, MemoryConfig};
use insula_domain::expr::Expression;
use insula_memory::{Limits, Memory as Keeper};

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
    pub(crate) fn new(config: MemoryConfig, keeper: &Keeper) -> Self {
        let MemoryConfig { also_read, global_writes, .. } = config;
        Self { also_read, global_writes, keeper: keeper.clone() }
    }
}

/// How much an agent's lists may hold.
pub(crate) fn limits(config: &MemoryConfig) -> Limits {
    Limits { memory: config.memory_chars, user: config.user_chars }
}
