//! Which list of an agent's memory is meant.

use insula_domain::{Day, Scope, ScopeName};
use insula_store::MemoryList;
use std::borrow::Cow;

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
    pub(crate) fn name(&self) -> Cow<'static, str> {
        match self.target {
            MemoryList::Memory => "MEMORY.md".into(),
            MemoryList::User => "USER.md".into(),
            MemoryList::Day(day) => format!("{day}.md").into(),
        }
    }

    /// The day whose note a file of this name is.
    pub(crate) fn day_of(file: &str) -> Option<MemoryList> {
        Day::parse(file.strip_suffix(".md")?).map(MemoryList::Day)
    }
}
