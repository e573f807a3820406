//! Which documents of a scope match a query best: BM25 over the words of each and, with less
//! weight, of those beside it. All figures are of that scope alone.
//!
//! The words of a document and of its neighbours are added before more of the same stops
//! counting, so that a short answer has the words of its question, and two that say the same
//! thing twice do not count twice. Neighbours are weighed here, when somebody asks, and nowhere
//! written down: there is nothing of them to erase.

use super::postings::{Match, Postings};
use crate::query::{Query, Wanted};
use crate::search::HITS_MAX;
use crate::snippet::Meant;
use std::collections::BTreeMap;

/// How soon more of the same term stops counting (BM25's k1).
const SATURATION: f64 = 0.9;

/// How much the length of a document counts (BM25's b).
const LENGTH_WEIGHT: f64 = 0.4;

/// How many of the best matches are looked around, beside those that are asked for.
const SEEDS_MORE: usize = 10;

/// What the words beside a document count for it.
pub(crate) struct Beside {
    /// Those of the next one on each side, and of the one after that.
    pub(crate) weights: [f64; 2],
    /// Whether a document is found that has no term of the query itself.
    pub(crate) finds_silent: bool,
}

/// How well documents of one collection match, from the figures of that collection alone.
pub(crate) struct Bm25 {
    documents: f64,
    mean_length: f64,
}

impl Bm25 {
    /// For a collection of this many documents, with this many terms in all.
    pub(crate) fn new(documents: i64, terms: i64) -> Self {
        let documents = to_float(documents);
        Self { documents, mean_length: (to_float(terms) / documents).max(1.0) }
    }

    /// What a term says that this many documents have.
    fn rarity(&self, matches: usize) -> f64 {
        let frequency = to_float(i64::try_from(matches).unwrap_or(i64::MAX));
        (1.0 + (self.documents - frequency + 0.5).max(0.0) / (frequency + 0.5)).ln()
    }

    /// How much there is of a term in a document that has it this often and is this long.
    fn amount(&self, count: u32, length: u32) -> f64 {
        let share = f64::from(length) / self.mean_length;
        f64::from(count) / (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * share)
    }

    /// What this much of a term counts beside a little of it.
    fn saturated(amount: f64) -> f64 {
        amount * (SATURATION + 1.0) / (amount + SATURATION)
    }
}

#[expect(clippy::cast_precision_loss, reason = "statistics: more messages than fit can't be")]
fn to_float(count: i64) -> f64 {
    count as f64
}

/// How much of which term a document has.
struct Amount {
    document: i64,
    term: usize,
    amount: f64,
}

/// What was found.
#[derive(Default)]
pub(crate) struct Ranked {
    /// The best documents and their scores.
    pub(crate) best: Vec<(i64, f64)>,
    /// The terms that were meant.
    pub(crate) meant: Meant,
}

/// The best documents of a scope that has these figures.
pub(crate) fn best(
    postings: &Postings<'_>,
    (documents, terms): (i64, i64),
    query: &Query,
    limit: usize,
    beside: &Beside,
) -> rusqlite::Result<Ranked> {
    let bm25 = Bm25::new(documents, terms);
    let (mut amounts, mut rarities, mut meant) = (Vec::new(), Vec::new(), Meant::new());
    let mut is_there = Vec::with_capacity(query.wanted.len());
    for (term, wanted) in query.wanted.iter().enumerate() {
        let forms = forms(postings, query, wanted)?;
        let found = amounts_of(postings, &bm25, term, &forms)?;
        let rarity = wanted.weight * bm25.rarity(found.len());
        meant.extend(forms.into_iter().map(|(form, _)| (form, (term, rarity))));
        rarities.push(rarity);
        is_there.push(!found.is_empty());
        amounts.extend(found);
    }
    let silent_min = query.silent_words_min(|term| is_there.get(term).copied().unwrap_or(false));
    // In runs already, which a stable sort makes use of.
    amounts.sort_by_key(|amount| amount.document);
    let score = |sum: &[f64]| -> f64 {
        sum.iter().zip(&rarities).map(|(amount, rarity)| rarity * Bm25::saturated(*amount)).sum()
    };
    let limit = limit.min(HITS_MAX);
    let mut seeds = alone(&amounts, &rarities);
    order(&mut seeds, limit + SEEDS_MORE);
    let lane = postings.lane(documents)?;
    let mut scores: BTreeMap<i64, f64> = BTreeMap::new();
    let mut sum = vec![0.0; rarities.len()];
    for (seed, _) in seeds {
        let near = postings.around(seed, lane.as_deref())?;
        let words: Vec<&[Amount]> = near.iter().map(|id| of(&amounts, *id)).collect();
        let at = near.partition_point(|id| *id < seed);
        let reach = beside.weights.len();
        for place in at.saturating_sub(reach)..near.len().min(at + reach + 1) {
            let (Some(document), Some(own)) = (near.get(place), words.get(place)) else { continue };
            if scores.contains_key(document) || own.is_empty() && !beside.finds_silent {
                continue;
            }
            sum.fill(0.0);
            for (other, words) in words.iter().enumerate() {
                let weight = match other.abs_diff(place) {
                    0 => 1.0,
                    far => beside.weights.get(far - 1).copied().unwrap_or_default(),
                };
                for Amount { term, amount, .. } in *words {
                    if let Some(sum) = sum.get_mut(*term) {
                        *sum += weight * amount;
                    }
                }
            }
            let words = sum.iter().zip(&query.wanted).filter(|(amount, _)| **amount > 0.0);
            let words: f64 = words.map(|(_, wanted)| wanted.share).sum();
            if !own.is_empty() || words >= silent_min {
                scores.insert(*document, score(&sum));
            }
        }
    }
    let mut best: Vec<(i64, f64)> = scores.into_iter().collect();
    order(&mut best, limit);
    Ok(Ranked { best, meant })
}

/// The terms of the index that are meant by one of a query, and what each counts.
fn forms(
    postings: &Postings<'_>,
    query: &Query,
    wanted: &Wanted,
) -> rusqlite::Result<Vec<(Box<str>, f64)>> {
    let mut forms: Vec<(Box<str>, f64)> = vec![(wanted.term.clone(), 1.0)];
    for beginning in query.beginnings(wanted) {
        let mut add = |term: &str| {
            let likeness = query.likeness(wanted, term);
            if likeness > 0.0 && !forms.iter().any(|(known, _)| **known == *term) {
                forms.push((term.into(), likeness));
            }
        };
        add(&beginning);
        postings.terms_from(&beginning, add)?;
    }
    Ok(forms)
}

/// How much of a term each document has that has it in some form: in the form that counts most.
fn amounts_of(
    postings: &Postings<'_>,
    bm25: &Bm25,
    term: usize,
    forms: &[(Box<str>, f64)],
) -> rusqlite::Result<Vec<Amount>> {
    let mut found: Vec<Match> = Vec::new();
    let mut amounts: Vec<Amount> = Vec::new();
    for (form, likeness) in forms {
        let known = found.len();
        postings.matches(form, &mut found)?;
        amounts.extend(found.iter().skip(known).map(|Match { document, count, length }| Amount {
            document: *document,
            term,
            amount: likeness * bm25.amount(*count, *length),
        }));
    }
    if forms.len() > 1 {
        amounts.sort_by(|one, other| {
            one.document.cmp(&other.document).then(other.amount.total_cmp(&one.amount))
        });
        amounts.dedup_by_key(|amount| amount.document);
    }
    Ok(amounts)
}

/// What every document that has a term is worth by itself.
fn alone(amounts: &[Amount], rarities: &[f64]) -> Vec<(i64, f64)> {
    let mut scores: Vec<(i64, f64)> = Vec::new();
    for Amount { document, term, amount } in amounts {
        let rarity = rarities.get(*term).copied().unwrap_or_default();
        let score = rarity * Bm25::saturated(*amount);
        match scores.last_mut() {
            Some((last, sum)) if last == document => *sum += score,
            _ => scores.push((*document, score)),
        }
    }
    scores
}

/// What a document has of the terms.
fn of(amounts: &[Amount], document: i64) -> &[Amount] {
    let from = amounts.partition_point(|amount| amount.document < document);
    let rest = amounts.get(from..).unwrap_or_default();
    let to = rest.iter().take_while(|amount| amount.document == document).count();
    rest.get(..to).unwrap_or_default()
}

/// Keeps the best, the best first; of equal ones the newer.
fn order(scores: &mut Vec<(i64, f64)>, most: usize) {
    let better = |(a, x): &(i64, f64), (b, y): &(i64, f64)| y.total_cmp(x).then(b.cmp(a));
    if most < scores.len() {
        scores.select_nth_unstable_by(most, better);
        scores.truncate(most);
    }
    scores.sort_unstable_by(better);
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
