//! WordPiece as BERT has it: words in small letters without accents, cut into the longest pieces
//! that the vocabulary has. Any other kind of tokenizer is refused, not guessed at.

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use serde::Deserialize;
use std::collections::HashMap;

#[derive(Deserialize)]
struct Document {
    normalizer: Option<Normalizer>,
    pre_tokenizer: Option<Typed>,
    model: Model,
}

#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Normalizer {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    #[serde(default)]
    lowercase: bool,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default = "prefix")]
    continuing_subword_prefix: String,
    #[serde(default = "word_chars_max")]
    max_input_chars_per_word: usize,
    vocab: Option<serde_json::Value>,
}

fn prefix() -> String {
    "##".to_owned()
}

fn word_chars_max() -> usize {
    100
}

/// A vocabulary, and how texts are cut by it.
pub(super) struct WordPiece {
    vocabulary: HashMap<String, usize>,
    prefix: String,
    word_chars_max: usize,
    lowercase: bool,
    strip_accents: bool,
    spaced_chinese: bool,
}

impl WordPiece {
    pub(super) fn read(tokenizer: &[u8]) -> Result<Self, String> {
        let document: Document = serde_json::from_slice(tokenizer)
            .map_err(|error| format!("is no tokenizer: {error}"))?;
        let Document { normalizer, pre_tokenizer, model } = document;
        if model.kind != "WordPiece" {
            return Err(format!("is of type `{}`; WordPiece is read", model.kind));
        }
        let is_berts = |kind: Option<&str>, wanted: &str| match kind {
            Some(kind) if kind == wanted => Ok(()),
            Some(kind) => Err(format!("has `{kind}`; `{wanted}` is read")),
            None => Err(format!("lacks a `{wanted}`")),
        };
        is_berts(normalizer.as_ref().map(|it| &*it.kind), "BertNormalizer")?;
        is_berts(pre_tokenizer.as_ref().map(|it| &*it.kind), "BertPreTokenizer")?;
        let vocabulary: HashMap<String, usize> = model
            .vocab
            .and_then(|it| serde_json::from_value(it).ok())
            .filter(|it: &HashMap<String, usize>| !it.is_empty())
            .ok_or("has no vocabulary")?;
        let normalizer = normalizer.ok_or("lacks a `BertNormalizer`")?;
        Ok(Self {
            vocabulary,
            prefix: model.continuing_subword_prefix,
            word_chars_max: model.max_input_chars_per_word,
            lowercase: normalizer.lowercase,
            strip_accents: normalizer.strip_accents.unwrap_or(normalizer.lowercase),
            spaced_chinese: normalizer.handle_chinese_chars,
        })
    }

    /// How many rows a table needs.
    pub(super) fn rows(&self) -> usize {
        self.vocabulary.values().max().map_or(0, |most| most.saturating_add(1))
    }

    /// The pieces of a text that the vocabulary has, in order. A word that can't be cut into such
    /// is left out.
    pub(super) fn pieces(&self, text: &str) -> Vec<usize> {
        let mut pieces = Vec::new();
        for word in self.words(text) {
            let before = pieces.len();
            if !self.cut(&word, &mut pieces) {
                pieces.truncate(before);
            }
        }
        pieces
    }

    fn cut(&self, word: &str, pieces: &mut Vec<usize>) -> bool {
        if word.chars().count() > self.word_chars_max {
            return false;
        }
        let mut rest = word;
        let mut candidate = String::new();
        while !rest.is_empty() {
            let is_first = rest.len() == word.len();
            let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8());
            let longest = ends.rev().find_map(|end| {
                candidate.clear();
                if !is_first {
                    candidate.push_str(&self.prefix);
                }
                candidate.push_str(rest.get(..end)?);
                self.vocabulary.get(&candidate).map(|piece| (*piece, end))
            });
            let Some((piece, end)) = longest else { return false };
            pieces.push(piece);
            rest = rest.get(end..).unwrap_or_default();
        }
        true
    }

    /// The words of a text, and its marks of punctuation, each for itself.
    fn words(&self, text: &str) -> Vec<String> {
        let mut clean = String::with_capacity(text.len());
        for letter in text.chars() {
            if letter == '\0' || letter == char::REPLACEMENT_CHARACTER || is_control(letter) {
                continue;
            }
            match self.spaced_chinese && is_chinese(letter) {
                true => clean.extend([' ', letter, ' ']),
                false => clean.push(letter),
            }
        }
        if self.strip_accents {
            let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&clean);
            clean = decomposed.chars().filter(|it| !is_accent(*it)).collect();
        }
        if self.lowercase {
            clean = clean.to_lowercase();
        }
        let mut words = Vec::new();
        let mut word = String::new();
        for letter in clean.chars() {
            if letter.is_whitespace() || is_punctuation(letter) {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                words.extend(is_punctuation(letter).then(|| letter.to_string()));
            } else {
                word.push(letter);
            }
        }
        words.extend((!word.is_empty()).then_some(word));
        words
    }
}

fn category(letter: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(letter)
}

fn is_control(letter: char) -> bool {
    !matches!(letter, '\t' | '\n' | '\r') && GeneralCategoryGroup::Other.contains(category(letter))
}

fn is_accent(letter: char) -> bool {
    category(letter) == GeneralCategory::NonspacingMark
}

/// As BERT has it: all of ASCII that is neither letter, digit nor blank, too.
fn is_punctuation(letter: char) -> bool {
    letter.is_ascii_punctuation() || GeneralCategoryGroup::Punctuation.contains(category(letter))
}

fn is_chinese(letter: char) -> bool {
    matches!(u32::from(letter),
        0x4e00..=0x9fff | 0x3400..=0x4dbf | 0x20000..=0x2a6df | 0x2a700..=0x2b73f
        | 0x2b740..=0x2b81f | 0x2b920..=0x2ceaf | 0xf900..=0xfaff | 0x2f800..=0x2fa1f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(vocabulary: &[&str]) -> WordPiece {
        let vocab: HashMap<&str, usize> =
            vocabulary.iter().enumerate().map(|(at, piece)| (*piece, at)).collect();
        let document = serde_json::json!({
            "normalizer": { "type": "BertNormalizer", "clean_text": true,
                "handle_chinese_chars": true, "strip_accents": null, "lowercase": true },
            "pre_tokenizer": { "type": "BertPreTokenizer" },
            "model": { "type": "WordPiece", "vocab": vocab },
        });
        WordPiece::read(document.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn words_are_cut_into_the_longest_pieces() {
        let vocabulary =
            ["un", "##aff", "##able", "##a", "aff", "hello", ",", "!", "cafe", "東", "京", "##京"];
        let pieces = read(&vocabulary);
        let cut = |text: &str| -> Vec<&str> {
            pieces.pieces(text).into_iter().map(|it| vocabulary[it]).collect()
        };
        assert_eq!(cut("unaffable"), ["un", "##aff", "##able"]);
        assert_eq!(cut("HELLO,Café!"), ["hello", ",", "cafe", "!"]);
        assert_eq!(cut("unknowable hello"), ["hello"], "what can't be cut is left out, whole");
        assert_eq!(cut("東京"), ["東", "京"], "each for itself");
        assert_eq!(cut("he\u{200b}llo \u{0}hello"), ["hello", "hello"]);
        assert_eq!(cut(&"un".repeat(60)), [""; 0], "too long for a word");
    }

    proptest! {
        #[test]
        fn pieces_put_together_are_the_words_that_were_cut(text in "[a-d ,]{0,40}") {
            let vocabulary: Vec<String> = ["a", "b", "c", "d", "ab", "abc", ","]
                .iter().flat_map(|it| [(*it).to_owned(), format!("##{it}")]).collect();
            let known: Vec<&str> = vocabulary.iter().map(String::as_str).collect();
            let pieces = read(&known).pieces(&text);
            let joined: String =
                pieces.iter().map(|it| known[*it].trim_start_matches("##")).collect();
            let without_blanks: String = text.split_whitespace().collect();
            prop_assert_eq!(joined, without_blanks);
        }

        #[test]
        fn no_text_and_no_document_breaks_it(text in any::<String>(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&["a", "##b"]).pieces(&text);
            let _ = WordPiece::read(&bytes);
        }
    }
}
