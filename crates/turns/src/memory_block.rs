//! What a session is shown of memory.

use insula_models::{CacheHint, SystemBlock};
use insula_store::AgentCommand;
use std::sync::{Arc, Mutex, PoisonError};

/// What a session is shown of memory, and what is still to be written about that.
#[derive(Default)]
pub(crate) struct MemoryBlock {
    pub(super) text: Option<Arc<str>>,
    /// Where what it says came from.
    pub(super) label: Option<Box<str>>,
    /// For whom it was read: the scopes, and how often the store had erased something by then.
    pub(super) read: Option<(Box<str>, u64)>,
    pub(super) due: Mutex<Option<AgentCommand>>,
}

impl MemoryBlock {
    /// As a part of the prompt.
    pub(super) fn shown(&self) -> Option<SystemBlock> {
        let text = self.text.clone()?;
        Some(SystemBlock { text, cache: CacheHint::Breakpoint })
    }

    /// How much of memory it takes up, roughly.
    pub(crate) fn weight(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len())
    }

    /// What the next commit has to bring: once, and free of a flush of its own.
    pub(super) fn due(&self) -> Option<AgentCommand> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
