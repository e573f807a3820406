//! Words of folded text, and phrases found in them: steps that follow each other with few
//! words between. Each place looks a bounded way ahead, so the time is in proportion.

use super::fold::Folded;
use super::phrases::{LISTS, PHRASES, SQUEEZED, SQUEEZED_DROPS, SQUEEZED_ORDERS};
use super::{Category, Found, Uses};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// One step of a phrase.
enum Step {
    /// One of these words. A word that ends in `*` matches whatever begins so.
    One(Vec<&'static str>),
    /// One of these words, or nothing.
    Maybe(Vec<&'static str>),
    /// Not one of these words. Takes none.
    Not(Vec<&'static str>),
    /// Up to so many words of any kind.
    Gap(usize),
}

impl Step {
    fn parse(step: &'static str) -> Self {
        let set = |words: &'static str| {
            let list = LISTS.iter().find(|(name, _)| *name == words);
            list.map_or(words, |(_, list)| list).split('|').collect()
        };
        match (step.strip_prefix('~'), step.strip_prefix('?'), step.strip_prefix('!')) {
            (Some(most), _, _) => Self::Gap(most.parse().unwrap_or(0)),
            (_, Some(words), _) => Self::Maybe(set(words)),
            (_, _, Some(words)) => Self::Not(set(words)),
            (None, None, None) => Self::One(set(step)),
        }
    }
}

/// Single letters in a row that make a spaced-out word.
const SPACED_LETTERS_MIN: usize = 6;
/// Longest piece of a word that was cut into pieces, in letters.
const PIECE_LETTERS_MAX: usize = 3;
/// How far behind a verb its object is looked for where letters were run together, in bytes.
const SQUEEZED_BYTES_MAX: usize = 48;
/// A sentence of fewer words than this does not end a phrase: `Ignore. All. Rules.` is one.
const SENTENCE_WORDS_MIN: usize = 3;

/// A word, or the end of a sentence (an empty word).
struct Word<'a> {
    text: Cow<'a, str>,
    at: usize,
}

/// The phrases, taken apart once.
struct Book {
    phrases: Vec<Vec<Step>>,
    /// Which phrases begin with a word.
    beginnings: BTreeMap<&'static str, Vec<usize>>,
}

static BOOK: LazyLock<Book> = LazyLock::new(|| {
    let steps = |phrase: &'static str| phrase.split_ascii_whitespace().map(Step::parse);
    let phrases: Vec<Vec<Step>> =
        PHRASES.iter().map(|&(.., phrase)| steps(phrase).collect()).collect();
    let mut beginnings: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, steps) in phrases.iter().enumerate() {
        if let Some(Step::One(first)) = steps.first() {
            first.iter().for_each(|word| beginnings.entry(word).or_default().push(number));
        }
    }
    Book { phrases, beginnings }
});

/// Notes the phrases in a text.
pub(super) fn look(folded: &Folded, found: &mut Found) {
    let words = words(&folded.text);
    let Book { phrases, beginnings } = &*BOOK;
    for (place, word) in words.iter().enumerate() {
        let Some(numbers) = beginnings.get(&*word.text) else { continue };
        // "Never ignore earlier rules" asks for the opposite.
        let negated = place.checked_sub(1).and_then(|before| words.get(before));
        if negated.is_some_and(|before| matches!(&*before.text, "not" | "never" | "don't" | "dont"))
        {
            continue;
        }
        for &number in numbers {
            let (category, what, uses, _) = PHRASES[number];
            if follows(&words[place..], &phrases[number]) {
                found.note(uses, category, what, folded.origin(word.at));
            }
        }
    }
    look_in_spaced_letters(&words, folded, found);
}

/// Whether the steps can be taken from the first of these words on.
fn follows(words: &[Word<'_>], steps: &[Step]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    let matches = |set: &[&str]| {
        words.first().is_some_and(|word| set.iter().any(|known| is_word(&word.text, known)))
    };
    // The end of a sentence is an empty word.
    let at_end = words.first().is_none_or(|word| word.text.is_empty());
    let after = words.get(1..).unwrap_or_default();
    match step {
        Step::One(set) => matches(set) && follows(after, rest),
        Step::Maybe(set) => (matches(set) && follows(after, rest)) || follows(words, rest),
        Step::Not(set) => !at_end && !matches(set) && follows(words, rest),
        Step::Gap(most) => (0..=*most).any(|skipped| {
            let within = words
                .get(..skipped)
                .is_some_and(|gap| gap.iter().all(|word| !word.text.is_empty()));
            within && follows(&words[skipped..], rest)
        }),
    }
}

fn is_word(word: &str, known: &str) -> bool {
    match known.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => word == known,
    }
}

/// The words, with an empty one where a sentence ends.
fn words(text: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = vec![];
    let mut in_sentence = 0;
    let mut rest = text.char_indices().peekable();
    while let Some((at, character)) = rest.next() {
        if character.is_alphanumeric() {
            // Emphasis inside a word is no boundary: `ig**nore**`.
            let part = |inner: char| inner.is_alphanumeric() || inner == '\'' || inner == '*';
            let mut end = at + character.len_utf8();
            while let Some((next, inner)) = rest.next_if(|&(_, inner)| part(inner)) {
                end = next + inner.len_utf8();
            }
            words.push(Word { text: plain(&text[at..end]), at });
            in_sentence += 1;
        } else if ends_sentence(text, at, character) {
            if in_sentence >= SENTENCE_WORDS_MIN {
                words.push(Word { text: Cow::Borrowed(""), at });
            }
            in_sentence = 0;
        }
    }
    words
}

/// A word without emphasis, quotes at its end, and digits for letters (`1gn0re`).
fn plain(word: &str) -> Cow<'_, str> {
    let word = word.trim_end_matches(['\'', '*']);
    let letters = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let digits = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_plain = !letters || !digits;
    if is_plain && !word.contains('*') {
        return Cow::Borrowed(word);
    }
    let read =
        word.chars().filter(|&character| character != '*').map(|character| match character {
            '0' => 'o',
            '1' => 'i',
            '3' => 'e',
            '4' => 'a',
            '5' => 's',
            '7' => 't',
            other => other,
        });
    Cow::Owned(read.collect())
}

fn ends_sentence(text: &str, at: usize, character: char) -> bool {
    let after = &text[at + character.len_utf8()..];
    match character {
        '.' | '!' | '?' | ';' => after.is_empty() || after.starts_with(char::is_whitespace),
        '\n' => after.trim_start_matches(' ').starts_with('\n'),
        _ => false,
    }
}

/// Looks at letters that stand apart (`i g n o r e`), and at pieces of words (`ig no re`), run
/// together. Where a sentence ends inside makes no difference.
fn look_in_spaced_letters(words: &[Word<'_>], folded: &Folded, found: &mut Found) {
    let words: Vec<&Word<'_>> = words.iter().filter(|word| !word.text.is_empty()).collect();
    for (letters_max, phrases) in [(1, SQUEEZED), (PIECE_LETTERS_MAX, &[][..])] {
        let is_piece =
            |word: &Word<'_>| word.text.chars().take(letters_max + 1).count() <= letters_max;
        for run in words.chunk_by(|one, next| is_piece(one) && is_piece(next)) {
            if run.len() < SPACED_LETTERS_MIN {
                continue;
            }
            let text: String = run.iter().map(|word| &*word.text).collect();
            let says = phrases.iter().any(|phrase| text.contains(phrase)) || drops_orders(&text);
            if says && let Some(first) = run.first() {
                let what = "letters spaced out to hide an instruction";
                let category = Category::InstructionOverride;
                found.note(Uses::ALL, category, what, folded.origin(first.at));
            }
        }
    }
}

/// Whether letters run together ask to set instructions aside.
fn drops_orders(text: &str) -> bool {
    SQUEEZED_DROPS.iter().flat_map(|drop| text.match_indices(drop)).any(|(at, _)| {
        let rest = text.get(at..).unwrap_or_default();
        let near = rest.get(..rest.floor_char_boundary(SQUEEZED_BYTES_MAX)).unwrap_or_default();
        SQUEEZED_ORDERS.iter().any(|orders| near.contains(orders))
    })
}
