//! Signs that are put on messages: what they are called, and what they mean.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vote {
    Yes,
    No,
}

/// What a sign means as an answer: a thumb up or down, in any colour.
pub(crate) fn vote(sign: &str) -> Option<Vote> {
    match bare(sign) {
        "\u{1f44d}" => Some(Vote::Yes),
        "\u{1f44e}" => Some(Vote::No),
        _ => None,
    }
}

/// A sign without what only colours it.
fn bare(sign: &str) -> &str {
    let colours = |c: char| matches!(c, '\u{1f3fb}'..='\u{1f3ff}' | '\u{fe0e}' | '\u{fe0f}');
    sign.trim_end_matches(colours)
}

/// A sign of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnSign {
    /// What was said is being worked on.
    Working,
}

impl OwnSign {
    /// As an emoji.
    pub fn emoji(self) -> &'static str {
        match self {
            Self::Working => "\u{1f440}",
        }
    }

    /// As platforms call it that know emojis by names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Working => "eyes",
        }
    }
}

/// Names of emojis on platforms that know them by names, as far as they mean something here.
const NAMES: [(&str, &str); 12] = [
    ("+1", "\u{1f44d}"),
    ("thumbsup", "\u{1f44d}"),
    ("-1", "\u{1f44e}"),
    ("thumbsdown", "\u{1f44e}"),
    ("eyes", "\u{1f440}"),
    ("heart", "\u{2764}"),
    ("tada", "\u{1f389}"),
    ("joy", "\u{1f602}"),
    ("white_check_mark", "\u{2705}"),
    ("x", "\u{274c}"),
    ("pray", "\u{1f64f}"),
    ("rocket", "\u{1f680}"),
];

/// The sign that a platform calls so. A tone (`::skin-tone-3`, `_dark_skin_tone`) is left out;
/// a name that means nothing here stays one, between colons.
pub fn sign_called(name: &str) -> Box<str> {
    let plain = name.split("::").next().unwrap_or_default();
    let tones = ["_light", "_medium_light", "_medium", "_medium_dark", "_dark"];
    let plain = plain.strip_suffix("_skin_tone").map_or(plain, |rest| {
        tones.iter().rev().find_map(|tone| rest.strip_suffix(tone)).unwrap_or(rest)
    });
    match NAMES.iter().find(|(known, _)| *known == plain) {
        Some((_, sign)) => (*sign).into(),
        None => format!(":{plain}:").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbs_in_any_colour_are_votes_and_nothing_else_is() {
        assert_eq!(vote("👍"), Some(Vote::Yes));
        assert_eq!(vote("👍🏽"), Some(Vote::Yes));
        assert_eq!(vote("👍\u{fe0f}"), Some(Vote::Yes));
        assert_eq!(vote("👎🏿"), Some(Vote::No));
        for other in ["", "❤", "👍👎", "👎👍", ":+1:", "👌", "🏽"] {
            assert_eq!(vote(other), None, "{other}");
        }
    }

    #[test]
    fn a_sign_is_known_by_its_name_and_whatever_tone() {
        for name in ["+1", "thumbsup", "+1::skin-tone-3", "thumbsup_dark_skin_tone"] {
            assert_eq!(&*sign_called(name), "👍", "{name}");
        }
        assert_eq!(&*sign_called("+1_medium_light_skin_tone"), "👍");
        assert_eq!(&*sign_called("-1_light_skin_tone"), "👎");
        assert_eq!(&*sign_called("party_parrot"), ":party_parrot:");
        assert_eq!(&*sign_called(""), "::");
        assert_eq!(&*sign_called(OwnSign::Working.name()), OwnSign::Working.emoji());
    }
}
