//! All of an agent's memory as it would be after people's edits of its files were taken in,
//! without taking them in: for looking where nothing may be changed.

use crate::admin::Exported;
use crate::encode::{folder_of, scope_of};
use crate::entries::Draft;
use crate::error::MemoryError;
use crate::files;
use crate::list::List;
use crate::memory::Memory;
use crate::mirror::Due;
use crate::text::render;
use insula_domain::{Scope, ScopeName};
use insula_store::{Fragment, FragmentId, MemoryList, Provenance};
use std::collections::{BTreeMap, BTreeSet};

/// Something remembered, as a look finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "most are the large one")]
pub enum Seen {
    /// It was taken in, with the record that brought it.
    Known(Fragment, Provenance),
    /// Somebody wrote it into a file, and it was not taken in yet.
    Written {
        scope: ScopeName,
        target: MemoryList,
        /// The words.
        text: String,
        /// Why no model will get to see it.
        blocked: Option<Box<str>>,
    },
}

impl Seen {
    pub fn scope(&self) -> &ScopeName {
        match self {
            Self::Known(fragment, _) => &fragment.scope,
            Self::Written { scope, .. } => scope,
        }
    }
}

/// Lists by their name, and what is wrong with files.
type Lists = (BTreeMap<(ScopeName, MemoryList), Vec<Draft>>, Vec<MemoryError>);

impl Memory {
    /// Everything, with what people wrote into files since. Changes nothing; what is wrong
    /// with files is told beside.
    pub async fn seen(&self) -> Result<(Vec<Seen>, Vec<MemoryError>), MemoryError> {
        let (lists, faults) = self.lists_seen().await?;
        let known: BTreeMap<FragmentId, (Fragment, Provenance)> =
            self.known().await?.into_iter().map(|it| (it.0.id, it)).collect();
        let (mut old, mut new) = (BTreeMap::new(), Vec::new());
        for ((scope, target), drafts) in lists {
            for draft in drafts {
                match draft {
                    Draft::Kept(fragment) => {
                        if let Some((fragment, record)) = known.get(&fragment.id).cloned() {
                            old.insert(fragment.id, Seen::Known(fragment, record));
                        }
                    }
                    Draft::New(written) => new.push(Seen::Written {
                        scope: scope.clone(),
                        target,
                        text: written.text,
                        blocked: written.blocked,
                    }),
                }
            }
        }
        Ok((old.into_values().chain(new).collect(), faults))
    }

    /// Every list as its file has it. Changes nothing.
    pub async fn export(&self) -> Result<Vec<Exported>, MemoryError> {
        let (lists, _) = self.lists_seen().await?;
        let some = lists.into_iter().filter(|(_, drafts)| !drafts.is_empty());
        let exported = some.map(|((scope, target), drafts)| {
            let text = render(drafts.iter().map(Draft::text));
            Exported { scope, target, text }
        });
        Ok(exported.collect())
    }

    /// Whether a scope is one: something was remembered there once, or it has a folder.
    pub async fn knows(&self, scope: &Scope) -> Result<bool, MemoryError> {
        Ok(self.store.memory_knows(&scope.clone().into()).await?
            || self.folders().await?.contains(scope))
    }

    /// What is wrong with the files and folders of memory, each by its path below the agent's
    /// folder. Changes nothing.
    pub async fn troubles(&self) -> Result<Vec<String>, MemoryError> {
        let root = self.folder();
        let work = move || files::is_there(&root).then(|| files::contexts(&root));
        let Some(folders) = self.world.storage.run(work).await? else { return Ok(Vec::new()) };
        let (_, faults) = self.lists_seen().await?;
        let mut told: Vec<String> = faults
            .iter()
            .map(|fault| match fault {
                MemoryError::File { file, fault } => format!("{} {fault}", file.display()),
                other => other.to_string(),
            })
            .collect();
        // A context has one folder, whose name is made from its own: nobody would look elsewhere.
        for folder in &folders {
            let path = std::path::Path::new("memories").join(folder);
            let Some(scope) = scope_of(folder) else {
                told.push(format!("{path:?} is no context's folder, and is not read: rename it"));
                continue;
            };
            let proper = folder_of(&scope);
            if proper != *folder && folders.contains(&proper) {
                told.push(format!("{path:?} is not read, since that context has another folder: put what is in it into {:?}", std::path::Path::new("memories").join(proper)));
            }
        }
        Ok(told)
    }

    async fn lists_seen(&self) -> Result<Lists, MemoryError> {
        let mut scopes: BTreeSet<Scope> = self.folders().await?.into_iter().collect();
        for (fragment, _) in self.known().await? {
            scopes.insert(fragment.scope.scope().clone());
        }
        let _held = self.hold().await;
        let (mut lists, mut faults) = (BTreeMap::new(), Vec::new());
        for scope in scopes {
            for target in self.targets(&scope).await? {
                let list = List::of(&scope, target);
                let drafts = match self.look(&list).await {
                    Ok(looked) => match looked.due {
                        Due::TakeIn(drafts) => self.without_forgotten(&list, drafts).await?,
                        Due::Nothing | Due::Write => kept(looked.fragments),
                    },
                    Err(error @ MemoryError::File { .. }) => {
                        faults.push(error);
                        kept(self.store.memory_page(&list.scope, target).await?.fragments)
                    }
                    Err(error) => return Err(error),
                };
                lists.insert((list.scope, target), drafts);
            }
        }
        Ok((lists, faults))
    }
}

fn kept(fragments: Vec<Fragment>) -> Vec<Draft> {
    fragments.into_iter().map(Draft::Kept).collect()
}
