//! Which list of an agent's memory is meant.

use insula_domain::{Scope, ScopeName};
use insula_store::MemoryList;

/// One list: a scope and a target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct List {
    pub(crate) scope: ScopeName,
    pub(crate) target: MemoryList,
}

impl List {
    /// One of a scope's lists.
    pub(crate) fn of(scope: &Scope, target: MemoryList) -> Self {
        Self { scope: scope.clone().into(), target }
    }

    /// The list that the store calls so.
    pub(crate) fn named((scope, target): &insula_store::ListName) -> Self {
        Self { scope: scope.clone(), target: *target }
    }

    /// What its file is called.
    pub(crate) fn name(&self) -> &'static str {
        match self.target {
            MemoryList::Memory => "MEMORY.md",
            MemoryList::User => "USER.md",
        }
    }
}
