//! The hooks of an agent, as its generation has them.

use super::crowd::Crowd;
use insula_config::hook::Hook;
use insula_domain::hook::HookEvent;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The hooks of one generation of one agent.
#[derive(Default)]
pub struct AgentHooks {
    hooks: Box<[Hook]>,
    /// One bit for each event that has a hook, so that those without cost nothing.
    events: u64,
    failures: AtomicU64,
    last_failure: Mutex<Option<String>>,
    /// Messages of anybody, not yet admitted, that ask programs.
    pub crowd: Crowd,
}

impl AgentHooks {
    /// The hooks of a configuration, in their order.
    pub fn new(hooks: Vec<Hook>) -> Self {
        let events = hooks.iter().fold(0, |events, hook| events | hook.event.bit());
        Self { hooks: hooks.into(), events, ..Self::default() }
    }

    /// Whether anybody is to be asked.
    pub fn has(&self, event: HookEvent) -> bool {
        self.events & event.bit() != 0
    }

    /// The hooks, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Hook> {
        self.hooks.iter()
    }

    /// How many failed since this generation began, and how the last one did.
    pub fn trouble(&self) -> Option<(u64, String)> {
        let last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some((self.failures.load(Ordering::Relaxed), last))
    }

    /// Notes that one failed.
    pub fn failed(&self, what: String) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
    }
}
