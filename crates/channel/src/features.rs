//! What a platform can do, as adapters declare it.

use std::time::Duration;

/// What a platform can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// How long a message may be.
    pub text: TextLimit,
    /// Whether a sent message can be changed, and how often at most.
    pub can_edit: Option<Duration>,
    /// For how long the platform recognises the idempotency key of a message it already has.
    pub idempotency: Idempotency,
    /// Whether messages can have buttons.
    pub has_buttons: bool,
    /// Whether we can react to messages.
    pub can_react: bool,
    /// How long the sign of writing stays.
    pub typing: Option<Duration>,
    /// How long a healthy connection may be silent before it is taken for dead. Silent is one by
    /// which nothing was heard, however open it is.
    pub silence_max: Duration,
}

/// For how long a platform recognises the idempotency key of a message it already has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotency {
    /// It knows no keys.
    Never,
    /// For this long after the first request with it. A repetition later may be said twice.
    For(Duration),
    /// For longer than anything is tried.
    Always,
}

impl Idempotency {
    /// Whether it knows keys at all.
    pub fn knows_keys(self) -> bool {
        self != Self::Never
    }

    /// Whether a repetition is recognised, so long after the first request was made. Of what a
    /// platform promises a quarter is left for the way there, and for clocks that differ.
    pub fn covers(self, since_first: Duration) -> bool {
        match self {
            Self::Never => false,
            Self::For(span) => since_first < span - span / 4,
            Self::Always => true,
        }
    }
}

/// How long a text may be, as a platform counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextLimit {
    /// In units of UTF-16.
    Utf16(usize),
    /// In characters (code points).
    Chars(usize),
    /// In bytes of UTF-8.
    Bytes(usize),
}

impl TextLimit {
    /// The number in it.
    pub fn most(self) -> usize {
        match self {
            Self::Utf16(most) | Self::Chars(most) | Self::Bytes(most) => most,
        }
    }

    /// The length of a text as it is counted here.
    pub fn len_of(self, text: &str) -> usize {
        match self {
            Self::Utf16(_) => text.encode_utf16().count(),
            Self::Chars(_) => text.chars().count(),
            Self::Bytes(_) => text.len(),
        }
    }

    /// The length of a character.
    pub fn len_of_char(self, character: char) -> usize {
        match self {
            Self::Utf16(_) => character.len_utf16(),
            Self::Chars(_) => 1,
            Self::Bytes(_) => character.len_utf8(),
        }
    }

    /// Whether a text is within the limit.
    pub fn takes(self, text: &str) -> bool {
        self.len_of(text) <= self.most()
    }

    /// The same way to count, with another number.
    #[must_use]
    pub fn of(self, most: usize) -> Self {
        match self {
            Self::Utf16(_) => Self::Utf16(most),
            Self::Chars(_) => Self::Chars(most),
            Self::Bytes(_) => Self::Bytes(most),
        }
    }

    /// What is left of it beside a text.
    #[must_use]
    pub fn beside(self, text: &str) -> Self {
        self.of(self.most().saturating_sub(self.len_of(text)))
    }

    /// The beginning of a text that is within the limit.
    pub fn beginning(self, text: &str) -> &str {
        let mut used = 0;
        let end = text.char_indices().find(|(_, character)| {
            used += self.len_of_char(*character);
            used > self.most()
        });
        end.map_or(text, |(at, _)| &text[..at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_long_as_its_platform_counts() {
        let text = "aé€😀";
        for (limit, expected) in
            [(TextLimit::Utf16(9), 5), (TextLimit::Chars(9), 4), (TextLimit::Bytes(9), 10)]
        {
            assert_eq!(limit.len_of(text), expected);
            assert_eq!(text.chars().map(|it| limit.len_of_char(it)).sum::<usize>(), expected);
            assert_eq!(limit.takes(text), expected <= 9);
            assert_eq!(limit.beside(text), limit.of(9_usize.saturating_sub(expected)));
        }
        assert_eq!(TextLimit::Bytes(5).beginning(text), "aé");
        assert_eq!(TextLimit::Bytes(6).beginning(text), "aé€");
        assert_eq!(TextLimit::Utf16(4).beginning(text), "aé€");
        assert_eq!(TextLimit::Chars(4).beginning(text), text);
        assert_eq!(TextLimit::Chars(0).beginning(text), "");
    }

    #[test]
    fn a_key_counts_for_less_long_than_its_platform_promises() {
        let at = Duration::from_secs;
        let half_minute = Idempotency::For(at(30));
        assert!(half_minute.covers(at(22)) && !half_minute.covers(at(23)));
        assert!(Idempotency::Always.covers(at(u64::MAX)) && !Idempotency::Never.covers(at(0)));
        assert!(half_minute.knows_keys() && !Idempotency::Never.knows_keys());
    }
}
