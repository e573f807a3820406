//! Scopes as folder names: safe, and the way back.
//!
//! The text of a context has `:` between its parts and, inside them, only letters, digits,
//! `_.~-` and `%XX`; one may begin with `@`. A `:` becomes `=`, which is in none. A name that
//! is too long for a file system is cut into several folders, of which each but the last ends
//! in `+` and each but the first begins with one: no piece can be `.` or `..`.
//!
//! People and importers may call a folder by the text of its context as it is, with `:`. It counts
//! as that context's while there is no other, and gets its proper name with the first write.

use insula_domain::Scope;
use std::path::{Path, PathBuf};

/// Longest name of one folder, in bytes; file systems take 255.
const NAME_BYTES_MAX: usize = 200;

/// Where a scope's lists are, below the agent's folder for memory.
pub fn folder_of(scope: &Scope) -> PathBuf {
    let Scope::Context(context) = scope else { return PathBuf::new() };
    let name = context.to_string().replace(':', "=");
    let mut folder = PathBuf::from("contexts");
    let mut rest = name.as_str();
    // All of it is ASCII, so that every place is one to cut at.
    let mut mark = "";
    while rest.len() > NAME_BYTES_MAX {
        let (part, after) = rest.split_at(NAME_BYTES_MAX);
        folder.push(format!("{mark}{part}+"));
        (rest, mark) = (after, "+");
    }
    folder.push(format!("{mark}{rest}"));
    folder
}

/// The scope whose lists are in this folder, if it is one.
pub fn scope_of(folder: &Path) -> Option<Scope> {
    let mut parts = folder.iter().map(|part| part.to_str());
    let Some(first) = parts.next() else { return Some(Scope::Global) };
    if first? != "contexts" {
        return None;
    }
    let mut name = String::new();
    for part in parts {
        let part = part?;
        let part = part.strip_prefix('+').unwrap_or(part);
        name.push_str(part.strip_suffix('+').unwrap_or(part));
    }
    let context = name.replace('=', ":").parse().ok()?;
    let scope = Scope::Context(context);
    (folder_of(&scope) == folder || by_hand(&scope).as_deref() == Some(folder)).then_some(scope)
}

/// Where somebody may have put a scope's lists by hand: the text of its context, as it is.
pub fn by_hand(scope: &Scope) -> Option<PathBuf> {
    let Scope::Context(context) = scope else { return None };
    let name = context.to_string();
    (name.len() <= NAME_BYTES_MAX).then(|| Path::new("contexts").join(name))
}

/// The other name of a piece of a folder's path, where it has one.
pub(crate) fn other_name(piece: &str) -> Option<String> {
    let is_whole = !piece.starts_with('+') && !piece.ends_with('+');
    (is_whole && piece.contains('=')).then(|| piece.replace('=', ":"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;
    use insula_domain::{ContextId, CustomId};
    use proptest::prelude::*;

    #[test]
    fn folders_are_readable_and_lead_back() {
        let scope: Scope = "topic:telegram:main:-100123:7".parse().unwrap();
        assert_eq!(folder_of(&scope), Path::new("contexts/topic=telegram=main=-100123=7"));
        assert_eq!(folder_of(&Scope::Global), Path::new(""));
        for text in ["global", "user:@ann", "user:api:1:2", "custom:..%2F..", "custom:a%3Ab"] {
            let scope: Scope = text.parse().unwrap();
            assert_eq!(scope_of(&folder_of(&scope)), Some(scope));
        }
        for folder in ["contexts", "other", "contexts/../x", "contexts/chat", "contexts/a=b"] {
            assert_eq!(scope_of(Path::new(folder)), None, "{folder}");
        }
    }

    #[test]
    fn a_folder_may_be_called_by_the_text_of_its_context_and_by_nothing_else() {
        for text in ["chat:telegram:main:-100123", "user:@ann", "custom:org%3Aacme"] {
            let scope: Scope = text.parse().unwrap();
            let folder = by_hand(&scope).unwrap();
            assert_eq!(folder, Path::new("contexts").join(text));
            assert_eq!(scope_of(&folder), Some(scope.clone()));
            let proper = folder_of(&scope);
            let piece = proper.file_name().unwrap().to_str().unwrap();
            assert_eq!(other_name(piece).as_deref(), Some(text));
        }
        assert_eq!(by_hand(&Scope::Global), None);
        // Half of one form and half of the other, and letters that are not encoded.
        for folder in ["contexts/chat:telegram=main:-1", "contexts/custom:org:acme", "contexts/x:y"]
        {
            assert_eq!(scope_of(Path::new(folder)), None, "{folder}");
        }
        assert_eq!(other_name("+rest"), None);
        assert_eq!(other_name("memories"), None);
    }

    #[test]
    fn no_piece_of_a_long_name_leads_elsewhere() {
        for step in [".", ".."] {
            // `custom=` and the letters fill the first folder, so that the rest is dots alone.
            let text = format!("{}{}", "x".repeat(NAME_BYTES_MAX - "custom=".len()), step);
            let scope = Scope::Context(ContextId::Custom(CustomId::new(&text).unwrap()));
            let folder = folder_of(&scope);
            assert_eq!(folder.iter().count(), 3, "{folder:?}");
            assert!(folder.ends_with(format!("+{step}")), "{folder:?}");
            assert_eq!(scope_of(&folder), Some(scope));
        }
    }

    proptest! {
        #[test]
        fn every_answer_of_a_hook_has_a_folder_of_its_own(text in "\\PC{1,160}|[./]{1,200}") {
            let custom = CustomId::new(&text).unwrap();
            let scope = Scope::Context(ContextId::Custom(custom));
            let folder = folder_of(&scope);
            for part in &folder {
                let part = part.to_str().unwrap();
                prop_assert!(part.len() <= NAME_BYTES_MAX + 2);
                prop_assert!(part != "." && part != ".." && !part.contains('/'));
            }
            prop_assert_eq!(scope_of(&folder), Some(scope));
        }
    }
}
