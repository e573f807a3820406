//! Which descriptions say nearly the same, so that a model can't tell which skill is meant.

use super::skill::Skill;

/// Of all the words of two descriptions, how many percent they have in common.
const ALIKE_PERCENT: usize = 80;
/// Fewer words than this say too little to compare.
const WORDS_MIN: usize = 4;
/// Skills that are compared with each other; the time grows with the square.
const COMPARED_MAX: usize = 400;

/// Words that say nothing of what a skill is for.
const FILLERS: [&str; 26] = [
    "and", "any", "are", "can", "for", "from", "how", "into", "its", "that", "the", "them", "then",
    "these", "this", "use", "used", "uses", "using", "via", "when", "which", "while", "will",
    "with", "your",
];

/// Groups of skills whose descriptions are near-duplicates: each of a group is nearly the same
/// as another of it. By the first of each.
pub(super) fn near_duplicates(skills: &[Skill]) -> Vec<Vec<&Skill>> {
    let words: Vec<Vec<String>> =
        skills.iter().take(COMPARED_MAX).map(|skill| words(&skill.description)).collect();
    // The group of each, by the first in it.
    let mut group: Vec<usize> = (0..words.len()).collect();
    for (at, one) in words.iter().enumerate() {
        for (other_at, other) in words.iter().enumerate().skip(at + 1) {
            let (first, second) = (group[at].min(group[other_at]), group[at].max(group[other_at]));
            if first != second && are_alike(one, other) {
                group.iter_mut().filter(|it| **it == second).for_each(|it| *it = first);
            }
        }
    }
    let members = |first: usize| -> Vec<&Skill> {
        let of = group.iter().enumerate().filter(|(_, it)| **it == first);
        of.map(|(at, _)| &skills[at]).collect()
    };
    (0..words.len()).map(members).filter(|members| members.len() > 1).collect()
}

/// The words of a text in a form that they share with their inflections, each once, sorted.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 2)
        .map(str::to_lowercase)
        .filter(|word| !FILLERS.contains(&word.as_str()))
        .map(|word| stem(&word).to_owned())
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// A word without its ending: `reviews`, `reviewed` and `reviewing` are `review`. Only good for
/// comparing; other languages are left nearly as they are.
fn stem(word: &str) -> &str {
    const SHORTEST: usize = 3;
    let endings = ["ing", "ed", "es", "s", "e"];
    let cut = endings.iter().find_map(|ending| {
        word.strip_suffix(ending).filter(|rest| rest.len() >= SHORTEST && !rest.ends_with('s'))
    });
    let rest = cut.unwrap_or(word);
    // `formatting` has a letter that `format` has not.
    let mut back = rest.char_indices().rev();
    match (back.next(), back.next()) {
        (Some((at, last)), Some((_, before))) if last == before && at >= SHORTEST => &rest[..at],
        _ => rest,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(one: &str, other: &str) -> bool {
        are_alike(&words(one), &words(other))
    }

    #[test]
    fn what_says_the_same_in_other_forms_is_alike() {
        for (one, other) in [
            ("Formats Python code with black.", "Formats Python code using black."),
            (
                "Reviews pull requests on GitHub and writes comments.",
                "Review pull requests on GitHub and write comments.",
            ),
            ("Formatting and fixing of Rust code", "Formats and fixes Rust code"),
        ] {
            assert!(alike(one, other), "{:?} {:?}", words(one), words(other));
        }
        for (one, other) in [
            ("Formats Python code with black.", "Formats Rust code with rustfmt."),
            ("Deploys the service to staging.", "Deploys the service to production and tells ops."),
            ("Writes release notes from the log.", "Reads the log and finds errors."),
        ] {
            assert!(!alike(one, other), "{:?} {:?}", words(one), words(other));
        }
    }
}
