//! Three versions of a list made one: what it is now, what its mirror was made of, and what a
//! person made of the mirror. Pure.

use crate::entries::{Draft, draft};
use insula_store::{Fragment, FragmentId};
use std::collections::BTreeSet;

/// The list as it should be: the person's entries in the person's order, then what came since
/// the mirror was written and they can't have seen. What they took out goes.
pub(crate) fn merge(now: &[Fragment], base: &[FragmentId], edited: &[String]) -> Vec<Draft> {
    let base: BTreeSet<FragmentId> = base.iter().copied().collect();
    let mut left: Vec<Option<&Fragment>> = now.iter().map(Some).collect();
    let mut drafts: Vec<Draft> = Vec::with_capacity(edited.len());
    for text in edited {
        let same = |it: &Option<&Fragment>| it.is_some_and(|fragment| fragment.text == *text);
        match left.iter().position(same).and_then(|at| left[at].take()) {
            Some(fragment) => drafts.push(Draft::Kept(fragment.clone())),
            None => drafts.push(Draft::New(draft(text, Vec::new()))),
        }
    }
    let mut gone: Vec<&Fragment> = Vec::new();
    for fragment in left.into_iter().flatten() {
        match base.contains(&fragment.id) {
            true => gone.push(fragment),
            false => drafts.push(Draft::Kept(fragment.clone())),
        }
    }
    // What reads much like an entry that went is that entry, edited.
    for draft in &mut drafts {
        if let Draft::New(new) = draft {
            let alike = gone.iter().filter(|old| is_alike(&old.text, &new.text));
            new.parents = alike.map(|old| old.id).collect();
        }
    }
    drafts
}

/// Whether one text has half of the words of the other.
fn is_alike(one: &str, other: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        let split = text.split(|letter: char| !letter.is_alphanumeric());
        split.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    };
    let (one, other) = (words(one), words(other));
    let common = one.intersection(&other).count();
    common > 0 && 2 * common >= one.len().min(other.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_store::MemoryList;

    fn fragment(id: i64, text: &str) -> Fragment {
        Fragment {
            id: FragmentId(id),
            scope: "global".parse().unwrap(),
            target: MemoryList::Memory,
            text: text.to_owned(),
            blocked: None,
            label: None,
            is_approved: false,
        }
    }

    /// The merged texts, those that are new in brackets.
    fn merged(now: &[(i64, &str)], base: &[i64], edited: &[&str]) -> Vec<String> {
        let now: Vec<Fragment> = now.iter().map(|(id, text)| fragment(*id, text)).collect();
        let base: Vec<FragmentId> = base.iter().copied().map(FragmentId).collect();
        let edited: Vec<String> = edited.iter().map(|text| (*text).to_owned()).collect();
        let show = |draft: Draft| match draft {
            Draft::Kept(fragment) => fragment.text,
            Draft::New(new) => format!("[{}]", new.text),
        };
        merge(&now, &base, &edited).into_iter().map(show).collect()
    }

    #[test]
    fn what_a_person_did_and_what_came_meanwhile_both_count() {
        let now = [(1, "a"), (2, "b"), (3, "c")];
        assert_eq!(merged(&now, &[1, 2, 3], &["a", "b", "c"]), ["a", "b", "c"]);
        assert_eq!(merged(&now, &[1, 2, 3], &["c", "x", "a"]), ["c", "[x]", "a"]);
        // `c` came after the mirror was written.
        assert_eq!(merged(&now, &[1, 2], &["x", "b"]), ["[x]", "b", "c"]);
        assert_eq!(merged(&now, &[1, 2], &["b", "c"]), ["b", "c"]);
        assert_eq!(merged(&now, &[1, 2, 3], &[]), Vec::<String>::new());
        assert_eq!(merged(&[], &[], &["a", "a"]), ["[a]", "[a]"]);
        assert_eq!(merged(&[(1, "a")], &[1], &["a", "a"]), ["a", "[a]"]);
    }

    #[test]
    fn an_edited_entry_keeps_its_ancestry() {
        let now = [fragment(1, "The cat is called Tom"), fragment(2, "Tea at five")];
        let edited = ["The cat is called Kim".to_owned(), "Other things".to_owned()];
        let drafts = merge(&now, &[FragmentId(1), FragmentId(2)], &edited);
        let parents: Vec<Vec<FragmentId>> = drafts
            .into_iter()
            .map(|draft| match draft {
                Draft::New(new) => new.parents,
                Draft::Kept(_) => panic!("all are new"),
            })
            .collect();
        assert_eq!(parents, [vec![FragmentId(1)], vec![]]);
    }
}
