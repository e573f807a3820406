//! Forgetting for good: the store first, in one step with a note that the files are due, then
//! the files. What could not be cleaned is told, and tried again whenever the list is used.

use crate::error::{FileFault, MemoryError};
use crate::files;
use crate::list::List;
use crate::memory::Memory;
use crate::mirror;
use insula_store::{Affected, AgentCommand, Fragment, MemoryOrigin};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

/// Fragments forgotten in one commit: few enough that turns get their say between two.
const FORGOTTEN_AT_ONCE: usize = 256;

/// What was forgotten, and where some of it may still be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Erased {
    pub fragments: Vec<Fragment>,
    /// Files that could not be cleaned, of this and of earlier times.
    pub remains: Vec<Remains>,
}

/// A file that may still have words that were forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The file, below the agent's folder.
    pub file: PathBuf,
    /// Why it could not be cleaned.
    pub why: FileFault,
}

impl fmt::Display for Remains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.file.display(), self.why)
    }
}

impl Memory {
    /// Erases what is affected, with its words in files and in earlier versions of them.
    pub(crate) async fn erase(
        &self,
        affected: Affected,
        origin: &MemoryOrigin,
    ) -> Result<Erased, MemoryError> {
        let _held = self.hold().await;
        for some in affected.ids.chunks(FORGOTTEN_AT_ONCE) {
            let origin = Box::new(origin.clone());
            let forget = AgentCommand::ForgetMemory { fragments: some.to_vec(), origin };
            self.commit(vec![forget]).await?;
        }
        let mut remains = Vec::new();
        for name in &affected.lists {
            remains.extend(self.finish(&List::named(name)).await?);
        }
        Ok(Erased { fragments: affected.fragments, remains })
    }

    /// Goes on with what earlier forgetting had to leave; what is left still. The lists of
    /// `but` were just tried.
    pub(crate) async fn finish_due(
        &self,
        but: &[insula_store::ListName],
    ) -> Result<Vec<Remains>, MemoryError> {
        let _held = self.hold().await;
        let mut remains = Vec::new();
        let due = self.store.memory_due().await?;
        for list in due.iter().filter(|name| !but.contains(name)).map(List::named) {
            remains.extend(self.finish(&list).await?);
        }
        Ok(remains)
    }

    /// Cleans the files of a list: its mirror says what is remembered, and of earlier versions
    /// only what is still remembered stays, since nobody can tell any more which of the rest
    /// was forgotten. The lock is held.
    pub(crate) async fn finish(&self, list: &List) -> Result<Vec<Remains>, MemoryError> {
        let mut remains = Vec::new();
        let fragments = match self.in_step(list).await {
            Ok(looked) => looked.fragments,
            Err(MemoryError::File { file, fault }) => {
                remains.push(Remains { file, why: fault });
                let unstaged = self.on_disk(self.place(list), files::unstage).await;
                remains.extend(left(unstaged)?.err());
                self.store.memory_page(&list.scope, list.target).await?.fragments
            }
            Err(error) => return Err(error),
        };
        let place = self.place(list);
        let folder = place.relative().parent().map(PathBuf::from).unwrap_or_default();
        let clean = move |place: &files::ListFile| {
            let live: BTreeSet<&str> = fragments.iter().map(|it| it.text.as_str()).collect();
            files::change_kept(place, |bytes| mirror::only(bytes, &live))
        };
        match left(self.on_disk(place, clean).await)? {
            Ok(unclean) => remains.extend(
                unclean.into_iter().map(|(name, why)| Remains { file: folder.join(name), why }),
            ),
            Err(unclean) => remains.push(unclean),
        }
        if remains.is_empty() {
            let (scope, target) = (list.scope.clone(), list.target);
            self.commit(vec![AgentCommand::MirrorErased { scope, target }]).await?;
        } else {
            for left in &remains {
                tracing::warn!(%left, "a file may still have words that were forgotten");
            }
        }
        Ok(remains)
    }
}

/// What a fault of a file leaves behind; other errors stay errors.
fn left<T>(result: Result<T, MemoryError>) -> Result<Result<T, Remains>, MemoryError> {
    match result {
        Ok(done) => Ok(Ok(done)),
        Err(MemoryError::File { file, fault }) => Ok(Err(Remains { file, why: fault })),
        Err(error) => Err(error),
    }
}
