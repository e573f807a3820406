//! Which descriptions say nearly the same, so that a model can't tell which skill is meant.

use super::Skill;

/// Of all the words of two descriptions, how many percent they have in common.
const ALIKE_PERCENT: usize = 80;
/// Fewer words than this say too little to compare.
const WORDS_MIN: usize = 4;
/// Skills that are compared with each other; the time grows with the square.
const COMPARED_MAX: usize = 400;

/// Pairs of skills whose descriptions are near-duplicates.
pub(super) fn near_duplicates(skills: &[Skill]) -> Vec<(&Skill, &Skill)> {
    let words: Vec<Vec<String>> =
        skills.iter().take(COMPARED_MAX).map(|skill| words(&skill.description)).collect();
    let mut pairs = Vec::new();
    for (at, one) in words.iter().enumerate() {
        for (other_at, other) in words.iter().enumerate().skip(at + 1) {
            if are_alike(one, other) {
                pairs.push((&skills[at], &skills[other_at]));
            }
        }
    }
    pairs
}

/// The words of a text, each once, sorted.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 2)
        .map(str::to_lowercase)
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn are_alike(one: &[String], other: &[String]) -> bool {
    if one.len() < WORDS_MIN || other.len() < WORDS_MIN {
        return one == other && !one.is_empty();
    }
    // Too different in length to reach the mark.
    let (few, many) = (one.len().min(other.len()), one.len().max(other.len()));
    if few * 100 < many * ALIKE_PERCENT {
        return false;
    }
    let common = one.iter().filter(|word| other.binary_search(word).is_ok()).count();
    let all = one.len() + other.len() - common;
    common * 100 >= all * ALIKE_PERCENT
}
