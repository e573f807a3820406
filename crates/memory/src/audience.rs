//! The audiences that what is remembered came from.

use insula_domain::{Label, Scope};
use insula_store::Fragment;

/// The label of a fragment. What is global by the word of somebody with the right is for every
/// conversation of the agent; what a turn put there and nobody was asked about came from where
/// that turn had been. What no turn wrote belongs to whoever its scope names.
pub fn audience(fragment: &Fragment) -> Label {
    match (fragment.scope.scope(), &fragment.label) {
        (Scope::Global, _) if fragment.is_approved => Label::anyone(),
        (_, Some(label)) => label.parse().unwrap_or_else(|_| Label::unknown()),
        (scope, None) => Label::of_scope(scope),
    }
}

/// The label of what was made of all of these that a model may see.
pub(crate) fn audiences<'f>(fragments: impl IntoIterator<Item = &'f Fragment>) -> Label {
    let visible = fragments.into_iter().filter(|fragment| fragment.blocked.is_none());
    visible.fold(Label::anyone(), |label, fragment| label.join(&audience(fragment)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;
    use insula_store::{FragmentId, MemoryList};

    fn fragment(scope: &str, label: Option<&str>) -> Fragment {
        Fragment {
            id: FragmentId(1),
            scope: scope.parse().unwrap(),
            target: MemoryList::Memory,
            text: "x".to_owned(),
            blocked: None,
            label: label.map(Into::into),
            is_approved: false,
        }
    }

    #[test]
    fn words_keep_the_audiences_they_came_from() {
        for (scope, label, expected) in [
            ("global", Some("telegram:a:7"), "telegram:a:7"),
            ("global", None, "anyone"),
            ("chat:telegram:a:-1", None, "telegram:a:-1"),
            (
                "chat:telegram:a:-1",
                Some("telegram:a:-1,telegram:a:7"),
                "telegram:a:-1,telegram:a:7",
            ),
            ("custom:org", Some("telegram:a:7"), "telegram:a:7"),
            ("custom:org", None, "nobody"),
            ("user:telegram:a:7", None, "nobody"),
            ("chat:telegram:a:-1", Some("garbage"), "nobody;many"),
        ] {
            assert_eq!(audience(&fragment(scope, label)).to_string(), expected, "{scope}");
        }
        let approved =
            |scope| Fragment { is_approved: true, ..fragment(scope, Some("telegram:a:7")) };
        assert_eq!(audience(&approved("global")), Label::anyone());
        assert_eq!(audience(&approved("custom:org")).to_string(), "telegram:a:7");
        let one = fragment("custom:org", Some("telegram:a:7"));
        let other = fragment("custom:org", Some("telegram:a:-1"));
        assert_eq!(audiences([&one, &other]).to_string(), "telegram:a:-1,telegram:a:7");
        let blocked = Fragment { blocked: Some("x".into()), ..one };
        assert_eq!(audiences([&blocked]), Label::anyone());
    }
}
