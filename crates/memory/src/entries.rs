//! What the operations of one call make of a list. Pure: all of them apply, or none does.

use crate::error::MemoryError;
use crate::objections::{objection, together};
use crate::text::{is_one_entry, length};
use insula_store::{Fragment, FragmentId, MemoryEntry, MemoryList, NewFragment};
use std::collections::BTreeMap;

/// How many characters the lists of one scope may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListLimits {
    /// `MEMORY.md`.
    pub memory: usize,
    /// `USER.md`.
    pub user: usize,
    /// One day's note; `None` where there are none.
    pub daily: Option<usize>,
}

impl Default for ListLimits {
    fn default() -> Self {
        Self { memory: 2_200, user: 1_375, daily: None }
    }
}

impl ListLimits {
    /// The limit of a list.
    pub fn of(&self, target: MemoryList) -> usize {
        match target {
            MemoryList::Memory => self.memory,
            MemoryList::User => self.user,
            MemoryList::Day(_) => self.daily.unwrap_or_default(),
        }
    }
}

/// What to do with a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Add an entry.
    Add {
        /// Its words.
        content: String,
    },
    /// Put other words in place of the one entry that has these.
    Replace {
        /// Words that only it has.
        old_text: String,
        /// Its new words.
        content: String,
    },
    /// Remove the one entry that has these words.
    Remove {
        /// Words that only it has.
        old_text: String,
    },
}

/// An operation and its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryChange {
    pub target: MemoryList,
    /// What to do.
    pub operation: Operation,
}

/// An entry while operations apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Draft {
    Kept(Fragment),
    New(NewFragment),
}

impl Draft {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Kept(fragment) => &fragment.text,
            Self::New(new) => &new.text,
        }
    }

    pub(crate) fn is_blocked(&self) -> bool {
        match self {
            Self::Kept(fragment) => fragment.blocked.is_some(),
            Self::New(new) => new.blocked.is_some(),
        }
    }

    fn id(&self) -> Option<FragmentId> {
        match self {
            Self::Kept(fragment) => Some(fragment.id),
            Self::New(_) => None,
        }
    }

    pub(crate) fn entry(self) -> MemoryEntry {
        match self {
            Self::Kept(fragment) => MemoryEntry::Keep(fragment.id),
            Self::New(new) => MemoryEntry::New(new),
        }
    }
}

/// A list while operations apply.
pub(crate) type Drafts = BTreeMap<MemoryList, Vec<Draft>>;

/// A new entry with these words.
pub(crate) fn draft(text: &str, parents: Vec<FragmentId>) -> NewFragment {
    NewFragment { text: text.to_owned(), blocked: objection(text), parents }
}

/// Whether whoever makes a change may read the list that is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// They may: errors show what there is.
    Open,
    /// They may not: nothing that is said depends on what there is.
    Closed,
}

/// Most characters of a list that a message shows: more than a list of the usual size has.
const SHOWN_CHARS_MAX: usize = 8_000;
/// Most characters of one entry of it: enough to tell it from others.
const ENTRY_CHARS_MAX: usize = 600;

/// Entries as lines of a message, each after `mark`: scanned again, alone and together, and
/// bounded.
fn lines(entries: &[&str], mark: impl Fn(usize) -> String) -> String {
    let (mut shown, mut chars, mut left) = (Vec::new(), 0, 0);
    for entry in entries {
        let length = entry.chars().count().min(ENTRY_CHARS_MAX);
        if chars + length > SHOWN_CHARS_MAX {
            left += 1;
        } else if objection(entry).is_none() {
            chars += length;
            shown.push(*entry);
        }
    }
    let mut text = String::new();
    for (index, entry) in together(&shown).into_iter().map(|at| shown[at]).enumerate() {
        let cut: String = entry.chars().take(ENTRY_CHARS_MAX).collect();
        let more = if cut.len() < entry.len() { "…" } else { "" };
        // Lines of one entry stay apart from the next.
        let cut = cut.replace('\n', "\n   ");
        text.push_str(&format!("\n{}{cut}{more}", mark(index)));
    }
    if left > 0 {
        text.push_str(&format!("\n[{left} more are not shown; `memory_search` finds them]"));
    }
    text
}

/// The entries that a model may know of, numbered, and how full the list is.
pub(crate) fn shown(drafts: &[Draft], target: MemoryList, limits: &ListLimits) -> String {
    let visible: Vec<&str> = drafts.iter().filter(|it| !it.is_blocked()).map(Draft::text).collect();
    if visible.is_empty() {
        return format!("`{}` is empty.", target.as_str());
    }
    let used = length(visible.iter().copied());
    let (name, limit) = (target.as_str(), limits.of(target));
    let entries = lines(&visible, |index| format!("{}. ", index + 1));
    format!("`{name}` now has {used} of {limit} characters:{entries}")
}

/// Applies changes in order. What they take out is the parent of what they bring.
pub(crate) fn apply(
    lists: &mut Drafts,
    changes: &[EntryChange],
    limits: &ListLimits,
    sight: Sight,
) -> Result<(), MemoryError> {
    // What is there could be found out by asking for it to be replaced.
    let adds_only = changes.iter().all(|it| matches!(it.operation, Operation::Add { .. }));
    if sight == Sight::Closed && !adds_only {
        return Err(MemoryError::Unseen);
    }
    let before = lists.clone();
    let now = |target: MemoryList| {
        let drafts = before.get(&target).map(Vec::as_slice).unwrap_or_default();
        shown(drafts, target, limits)
    };
    let mut removed: Vec<FragmentId> = Vec::new();
    for EntryChange { target, operation } in changes {
        let list = lists.entry(*target).or_default();
        match operation {
            Operation::Add { content } => {
                let content = one_entry(content)?;
                if !list.iter().any(|draft| draft.text() == content) {
                    list.push(Draft::New(draft(content, Vec::new())));
                }
            }
            Operation::Replace { old_text, content } => {
                let at = find(list, *target, old_text, &now)?;
                let content = one_entry(content)?;
                removed.extend(list[at].id());
                list[at] = Draft::New(draft(content, Vec::new()));
            }
            Operation::Remove { old_text } => {
                let at = find(list, *target, old_text, &now)?;
                removed.extend(list.remove(at).id());
            }
        }
    }
    for (target, list) in lists.iter_mut() {
        let limit = limits.of(*target);
        let visible = list.iter().filter(|draft| !draft.is_blocked()).map(Draft::text);
        let would = length(visible);
        let had = before.get(target).map(Vec::as_slice).unwrap_or_default();
        let was = length(had.iter().filter(|draft| !draft.is_blocked()).map(Draft::text));
        // A list that people made longer may be shortened step by step.
        if would > limit && would >= was && *list != had {
            if sight == Sight::Closed {
                return Err(MemoryError::NoRoom);
            }
            return Err(MemoryError::Full { target: *target, would, limit, now: now(*target) });
        }
        let all = length(list.iter().map(Draft::text));
        if all > limit.saturating_mul(3) && all > length(had.iter().map(Draft::text)) {
            return Err(match sight {
                Sight::Open => MemoryError::TooManyBlocked { target: *target },
                Sight::Closed => MemoryError::NoRoom,
            });
        }
        for draft in list.iter_mut() {
            if let Draft::New(new) = draft {
                new.parents.clone_from(&removed);
            }
        }
    }
    Ok(())
}

fn one_entry(content: &str) -> Result<&str, MemoryError> {
    let content = content.trim();
    if content.is_empty() {
        return Err(MemoryError::Wrong("`content` is empty; say what to remember".to_owned()));
    }
    if !is_one_entry(content) {
        let what = "`content` has a line that is only `§`, which separates entries; add each as an entry of its own";
        return Err(MemoryError::Wrong(what.to_owned()));
    }
    Ok(content)
}

/// The one entry with these words, among those a model may know of.
fn find(
    list: &[Draft],
    target: MemoryList,
    needle: &str,
    now: &dyn Fn(MemoryList) -> String,
) -> Result<usize, MemoryError> {
    let needle = needle.trim();
    if needle.is_empty() {
        return Err(MemoryError::Wrong("`old_text` is empty; give words of the entry".to_owned()));
    }
    let matches: Vec<usize> = (0..list.len())
        .filter(|at| !list[*at].is_blocked() && list[*at].text().contains(needle))
        .collect();
    match matches.as_slice() {
        [at] => Ok(*at),
        [] => Err(MemoryError::NoMatch { target, needle: needle.to_owned(), now: now(target) }),
        // An entry that is exactly this is meant, even where others contain it.
        many => match many.iter().find(|at| list[**at].text() == needle) {
            Some(at) => Ok(*at),
            None => Err(MemoryError::Ambiguous {
                target,
                needle: needle.to_owned(),
                count: many.len(),
                matches: {
                    let texts: Vec<&str> = many.iter().map(|at| list[*at].text()).collect();
                    lines(&texts, |_| "- ".to_owned())
                },
            }),
        },
    }
}

#[cfg(test)]
#[path = "entries_tests.rs"]
mod tests;
