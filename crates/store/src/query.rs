//! What a query asks for: the terms of it that say something, and what each counts. A question
//! in whole sentences and the words it is about come to nearly the same. Knows no database.

use crate::language::{Language, Stems};
use crate::search::TERMS_PER_QUERY_MAX;
use crate::terms::{self, Flow, is_han, is_hiragana, is_piece};
use std::ops::Range;

/// What another form counts beside the form that was asked for.
const FORM_WEIGHT: f64 = 0.7;
/// What a longer word counts that begins with the one that was asked for.
const LONGER_WEIGHT: f64 = 0.4;
/// What a Han character counts that is part of a longer run: mostly half a word.
const PART_WEIGHT: f64 = 0.35;
/// What two neighbours of hiragana count: mostly an ending or a particle.
const ENDING_WEIGHT: f64 = 0.35;

/// How much of a word two neighbours of a dense script are at least: a long run is several words,
/// and nobody knows where they end.
const PAIR_SHARE_MIN: f64 = 0.4;

/// Shortest word that has other forms, in letters: short ones are too often another word. Arabic
/// has words of three that take an ending or an article.
const LETTERS_MIN: usize = 4;
const ARABIC_LETTERS_MIN: usize = 3;
/// Shortest beginning that the forms of a word are looked for by, in letters.
const BEGINNING_MIN: usize = 3;
/// Shortest word that longer ones are looked for by: shorter ones begin too many others.
const LONGER_MIN: usize = 5;

/// How many words are more than one: pieces of a dense script are parts of words.
const SEVERAL_WORDS_MIN: f64 = 1.5;
/// How many words that say nothing make a sentence of a query, and not an article before a word.
const IDLE_WORDS_MIN: usize = 2;

/// Terms of a query that are looked at before the best of them are taken.
const TERMS_READ_MAX: usize = 512;

/// Han characters that carry a sentence, as stop words do elsewhere.
const HAN_STOP: &str = "的了是我你您他她它们在有和与就都也很还再吗呢吧啊这那什么怎哪谁几个要会能不没把被给对从到何於之說嗎這個們麼誰幾為为";

/// How somebody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// For one word, with no more around it than an article.
    Word,
    /// For several.
    Words,
    /// In a whole sentence.
    Sentence,
}

/// What a query asks for.
pub(crate) struct Query {
    /// The terms, each once.
    pub(crate) wanted: Vec<Wanted>,
    kind: Kind,
    stems: Stems,
}

/// A term that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) term: Box<str>,
    /// What a match counts beside that of another term as rare.
    pub(crate) weight: f64,
    /// How much of a word of the query it is.
    pub(crate) share: f64,
    /// What its forms have in common; `None` where it has none.
    pub(crate) stem: Option<Box<str>>,
}

impl Wanted {
    /// What its forms begin with as it does; `None` where nothing but the term itself is meant.
    fn beginning(&self) -> Option<&str> {
        let stem = self.stem.as_deref()?;
        let both = self.term.char_indices().zip(stem.chars());
        let end = both.take_while(|((_, one), other)| one == other).last();
        let end = end.map_or(0, |((at, letter), _)| at + letter.len_utf8());
        // A stem that ends so may stand for either: city, cities.
        let same = self.term.get(..end)?.trim_end_matches(['i', 'y']);
        Some(same).filter(|same| same.chars().count() >= BEGINNING_MIN)
    }
}

impl Query {
    /// What a text asks for.
    pub(crate) fn read(text: &str) -> Self {
        let mut said: Vec<(Box<str>, Range<usize>)> = Vec::new();
        terms::each(text, |term, at| {
            said.push((term.into(), at));
            if said.len() < TERMS_READ_MAX { Flow::Go } else { Flow::Stop }
        });
        let language = Language::of(text, said.iter().map(|(term, _)| &**term));
        let stems = language.stems();
        let weight = |place: usize, term: &str| match is_piece(term) {
            false if language.is_stop_word(term) => 0.0,
            false => 1.0,
            true => piece_weight(&said, place, term),
        };
        let shares = shares(&said);
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut add = |term: &str, weight: f64, share: f64| {
            let stem = has_forms(term).then(|| stems.of(term));
            let known = wanted.iter_mut().find(|known| {
                *known.term == *term || stem.is_some() && known.stem.as_deref() == stem.as_deref()
            });
            match known {
                Some(known) => {
                    known.weight = known.weight.max(weight);
                    known.share = known.share.max(share);
                }
                None => wanted.push(Wanted {
                    term: term.into(),
                    weight,
                    share,
                    stem: stem.map(|stem| stem.into()),
                }),
            }
        };
        for (place, ((term, _), share)) in said.iter().zip(shares).enumerate() {
            let weight = weight(place, term);
            if weight > 0.0 {
                add(term, weight, if weight < 1.0 { 0.0 } else { share });
            }
        }
        let idle = said.iter().enumerate().filter(|(place, (term, _))| weight(*place, term) <= 0.0);
        let is_sentence = idle.count() >= IDLE_WORDS_MIN;
        let words: f64 = wanted.iter().map(|wanted| wanted.share).sum();
        let kind = match is_sentence {
            true => Kind::Sentence,
            false if words < SEVERAL_WORDS_MIN => Kind::Word,
            false => Kind::Words,
        };
        if wanted.is_empty() {
            // Nothing but such words: then they are what is asked for.
            let mut add = |term: &str| {
                if !wanted.iter().any(|known| *known.term == *term) {
                    let (term, weight, share) = (term.into(), 1.0, 1.0);
                    wanted.push(Wanted { term, weight, share, stem: None });
                }
            };
            said.iter().for_each(|(term, _)| add(term));
        }
        // Of too many, those that count most, and of those the first.
        wanted.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        wanted.truncate(TERMS_PER_QUERY_MAX);
        Self { wanted, kind, stems }
    }

    /// How many words of the query must stand beside a document that has none of them, by which
    /// terms are there at all. Whoever asks for one word wants to see it, and several are named
    /// to be found together, as far as anybody said them. A question has other words than what
    /// it asks for: its answer stands beside one of them.
    pub(crate) fn silent_words_min(&self, is_there: impl Fn(usize) -> bool) -> f64 {
        let there = self.wanted.iter().enumerate().filter(|(term, _)| is_there(*term));
        let there: f64 = there.map(|(_, wanted)| wanted.share).sum();
        match self.kind {
            Kind::Word => SEVERAL_WORDS_MIN,
            _ if there <= 0.0 => SEVERAL_WORDS_MIN,
            Kind::Words => there.min(SEVERAL_WORDS_MIN),
            Kind::Sentence => there.min(1.0),
        }
    }

    /// What the forms of a term that is asked for begin with; nothing where it has none.
    pub(crate) fn beginnings(&self, wanted: &Wanted) -> Vec<Box<str>> {
        let own = wanted.beginning().map(Box::from);
        let stem = wanted.stem.as_deref().filter(|stem| stem.chars().count() >= BEGINNING_MIN);
        let joined = |stem| self.stems.before().iter().map(move |it| format!("{it}{stem}").into());
        let bare = stem.filter(|_| !self.stems.before().is_empty()).map(Box::from);
        own.into_iter().chain(bare).chain(stem.into_iter().flat_map(joined)).collect()
    }

    /// What a term of the index counts for one that is asked for, where they begin alike; 0 for
    /// another word.
    pub(crate) fn likeness(&self, wanted: &Wanted, term: &str) -> f64 {
        if *wanted.term == *term {
            return 1.0;
        }
        let Some(stem) = wanted.stem.as_deref() else { return 0.0 };
        let longer = if stem.len() < wanted.term.len() { stem } else { &*wanted.term };
        if has_forms(term) && self.stems.of(term) == *stem {
            FORM_WEIGHT
        } else if longer.chars().count() >= LONGER_MIN && term.starts_with(longer) {
            LONGER_WEIGHT
        } else {
            0.0
        }
    }
}

/// Whether a term is a word that is written in several forms.
fn has_forms(term: &str) -> bool {
    let is_arabic = term.starts_with(|it| matches!(it, '\u{0600}'..='\u{06ff}'));
    let letters_min = if is_arabic { ARABIC_LETTERS_MIN } else { LETTERS_MIN };
    term.chars().count() >= letters_min && term.chars().all(char::is_alphabetic) && !is_piece(term)
}

/// How much of a word each term is: all of it, or what the pairs of a run come to.
fn shares(said: &[(Box<str>, Range<usize>)]) -> Vec<f64> {
    // Terms of one run lie over each other; those of others do not touch.
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut of: Vec<usize> = Vec::with_capacity(said.len());
    for (term, at) in said {
        if !is_piece(term) || runs.last().is_none_or(|(end, _)| at.start >= *end) {
            runs.push((0, 0));
        }
        if let Some((end, pairs)) = runs.last_mut() {
            *end = at.end.max(*end);
            *pairs += usize::from(term.chars().nth(1).is_some());
        }
        of.push(runs.len() - 1);
    }
    let share = |(term, run): (&(Box<str>, Range<usize>), usize)| match runs.get(run) {
        Some((_, pairs)) if is_piece(&term.0) && *pairs > 0 => {
            (1.0 / f64::from(u32::try_from(*pairs).unwrap_or(u32::MAX))).max(PAIR_SHARE_MIN)
        }
        _ => 1.0,
    };
    said.iter().zip(of).map(share).collect()
}

/// What a term of a dense script counts, by what it is made of and whether another has it whole.
fn piece_weight(said: &[(Box<str>, Range<usize>)], place: usize, term: &str) -> f64 {
    let is_stop = |character: char| HAN_STOP.contains(character);
    if term.chars().all(is_stop) {
        return 0.0;
    }
    if term.chars().all(is_hiragana) {
        return ENDING_WEIGHT;
    }
    let mut characters = term.chars();
    let is_one = characters.next().is_some_and(is_han) && characters.next().is_none();
    let range = |place: Option<usize>| place.and_then(|place| said.get(place)).map(|(_, at)| at);
    let own = range(Some(place));
    // The pair that it begins comes after it, the one that it ends before.
    let begins = range(place.checked_add(1)).map(|at| at.start) == own.map(|at| at.start);
    let ends = range(place.checked_sub(1)).map(|at| at.end) == own.map(|at| at.end);
    if is_one && (begins || ends) { PART_WEIGHT } else { 1.0 }
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
