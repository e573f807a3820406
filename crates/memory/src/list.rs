//! Which list of an agent's memory is meant.

use crate::encode::folder_of;
use insula_domain::{Day, Scope, ScopeName};
use insula_store::MemoryList;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The file of a scope's list, below the agent's folder.
pub fn file_of(scope: &Scope, target: MemoryList) -> PathBuf {
    let list = List::of(scope, target);
    list.folder().join(&*list.name())
}

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

    /// Where its file is, below the agent's folder.
    pub(crate) fn folder(&self) -> PathBuf {
        Path::new("memories").join(folder_of(self.scope.scope()))
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
