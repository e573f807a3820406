//! Which language a query is in, which of its words say nothing, and which words are forms of
//! one. Only queries are looked at in this way: the index has words as they were said, so that
//! a wrong guess costs some hits of one query and nothing else.

use crate::{arabic, stop_words};
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;

/// A language whose words are known to some degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Swedish,
    Danish,
    Norwegian,
    Finnish,
    Turkish,
    Polish,
    Russian,
    Greek,
    Arabic,
}

/// Those in Latin letters. Of two that are as likely the earlier one is taken.
const LATIN: [Language; 13] = [
    Language::English,
    Language::German,
    Language::French,
    Language::Spanish,
    Language::Italian,
    Language::Portuguese,
    Language::Dutch,
    Language::Swedish,
    Language::Danish,
    Language::Norwegian,
    Language::Finnish,
    Language::Turkish,
    Language::Polish,
];

/// Small words of other languages that mean something in English: alone they show nothing.
const ALSO_ENGLISH: [&str; 49] = [
    "ale", "ben", "bin", "car", "chi", "come", "con", "contra", "cos", "dig", "door", "dove",
    "end", "era", "fur", "ham", "hat", "hay", "hem", "hun", "ins", "kin", "man", "mange", "met",
    "mine", "mod", "nun", "one", "par", "pas", "per", "plus", "pod", "pour", "sea", "sin", "sit",
    "son", "sue", "tan", "ten", "till", "ton", "tot", "van", "vile", "want", "war",
];

impl Language {
    /// The language that a text is most likely in, by its script, by the small words among its
    /// terms, and by letters that few languages have.
    pub(crate) fn of<'t>(text: &str, terms: impl Iterator<Item = &'t str> + Clone) -> Self {
        for letter in text.chars().filter(|letter| !letter.is_ascii()) {
            match letter {
                '\u{0370}'..='\u{03ff}' => return Self::Greek,
                '\u{0400}'..='\u{04ff}' => return Self::Russian,
                '\u{0600}'..='\u{06ff}' => return Self::Arabic,
                _ => {}
            }
        }
        let votes = |language: Self| {
            let small = terms.clone().filter(|term| language.is_stop_word(term));
            let is_unsure = |term: &&str| language != Self::English && ALSO_ENGLISH.contains(term);
            let (unsure, sure): (Vec<&str>, Vec<&str>) = small.partition(is_unsure);
            let letters = text.chars().filter(|letter| language.letters().contains(*letter));
            match sure.len() + letters.count() {
                0 => 0,
                some => some + unsure.len(),
            }
        };
        let (mut best, mut most) = (Self::English, 0);
        for language in LATIN {
            let votes = votes(language);
            if votes > most {
                (best, most) = (language, votes);
            }
        }
        best
    }

    /// Letters that show it, in small and capital.
    fn letters(self) -> &'static str {
        match self {
            Self::German => "äöüßÄÖÜ",
            Self::French => "àâçèéêëîïôùûœÀÂÇÈÉÊÎÔŒ",
            Self::Spanish => "ñáéíóú¿¡ÑÁÉÍÓÚ",
            Self::Italian => "àèéìòùÀÈÉÌÒÙ",
            Self::Portuguese => "ãõçáâêéíóôúÃÕÇÁÂÊÉÍÓÔÚ",
            Self::Swedish => "åäöÅÄÖ",
            Self::Danish | Self::Norwegian => "æøåÆØÅ",
            Self::Finnish => "äöÄÖ",
            Self::Turkish => "çğıöşüÇĞİÖŞÜ",
            Self::Polish => "ąćęłńóśźżĄĆĘŁŃÓŚŹŻ",
            Self::English | Self::Dutch | Self::Russian | Self::Greek | Self::Arabic => "",
        }
    }

    fn stop_words(self) -> &'static [&'static str] {
        match self {
            Self::English => stop_words::ENGLISH,
            Self::German => stop_words::GERMAN,
            Self::French => stop_words::FRENCH,
            Self::Spanish => stop_words::SPANISH,
            Self::Italian => stop_words::ITALIAN,
            Self::Portuguese => stop_words::PORTUGUESE,
            Self::Dutch => stop_words::DUTCH,
            Self::Swedish => stop_words::SWEDISH,
            Self::Danish => stop_words::DANISH,
            Self::Norwegian => stop_words::NORWEGIAN,
            Self::Finnish => stop_words::FINNISH,
            Self::Turkish => stop_words::TURKISH,
            Self::Polish => stop_words::POLISH,
            Self::Russian => stop_words::RUSSIAN,
            Self::Arabic => stop_words::ARABIC,
            Self::Greek => &[],
        }
    }

    /// Whether a term is a word of this language that says nothing of what a text is about.
    pub(crate) fn is_stop_word(self, term: &str) -> bool {
        self.stop_words().binary_search(&term).is_ok()
    }

    /// What reads the forms of a word in this language.
    pub(crate) fn stems(self) -> Stems {
        let algorithm = match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Italian => Algorithm::Italian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Dutch => Algorithm::Dutch,
            Self::Swedish => Algorithm::Swedish,
            Self::Danish => Algorithm::Danish,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Finnish => Algorithm::Finnish,
            Self::Turkish => Algorithm::Turkish,
            Self::Russian => Algorithm::Russian,
            Self::Greek => Algorithm::Greek,
            Self::Arabic => return Stems::Arabic,
            Self::Polish => return Stems::Unknown,
        };
        Stems::Known(Stemmer::create(algorithm))
    }
}

/// Reads what the forms of a word have in common.
pub(crate) enum Stems {
    Known(Stemmer),
    Arabic,
    /// The forms of its words are not known.
    Unknown,
}

impl Stems {
    /// The stem of a term; the term itself where the forms of its language are not known.
    pub(crate) fn of<'t>(&self, term: &'t str) -> Cow<'t, str> {
        match self {
            Self::Known(stemmer) => stemmer.stem(term),
            Self::Arabic => Cow::Borrowed(arabic::stem(term)),
            Self::Unknown => Cow::Borrowed(term),
        }
    }

    /// What may stand before a stem in one word with it: articles and the like.
    pub(crate) fn before(&self) -> &'static [&'static str] {
        match self {
            Self::Arabic => &arabic::BEFORE,
            Self::Known(_) | Self::Unknown => &[],
        }
    }
}

#[cfg(test)]
#[path = "language_tests.rs"]
mod tests;
