//! Whether words before a call announce it: the model says that it does this now. Whatever else
//! stands there, an explanation, a quotation, a heading, may be about a call as well as lead to it.
//! An announcement has somebody who does it and a verb of doing right behind: who waits, asks or
//! leaves it to others says so in other verbs, and there are too many of those to know.
//! `announced_words.rs` has the words.

use super::announced_words as words;
use super::prose::{has, last_sentence, plain};
use words::{Place, Way};

/// Longest announcement, in bytes: who says more explains.
const BYTES_MAX: usize = 400;
/// Its longest where it only says what is being done, in words.
const DOING_WORDS_MAX: usize = 6;

/// Whether all that is said before a call is that it is made now: one short paragraph of which the
/// last sentence says in the first person what is done.
pub fn announces(said: &str) -> bool {
    let said = said.trim();
    if said.len() > BYTES_MAX || said.contains("\n\n") {
        return false;
    }
    let last = last_sentence(said);
    if has(&plain(&said[..said.len() - last.len()]), words::TOLD_BEFORE) {
        return false;
    }
    let (last, sentence) = (last.to_lowercase(), plain(last));
    if words::NOT_UNSPACED.split('|').any(|word| last.contains(word))
        || has(&sentence, words::NOT)
        || has(&sentence, words::SPOKEN_OF) && !has(&sentence, words::DONE_WITH)
    {
        return false;
    }
    let rest = without(&sentence, words::LEADS);
    words::WAYS.iter().any(|way| is_said(way, rest))
        || is_for_something(rest)
        || is_doing(rest)
        || ends_in_doing(&last)
        || is_done_unspaced(rest)
}

/// Whether a sentence says in this way that something is done.
fn is_said(way: &Way, sentence: &str) -> bool {
    way.who.split('|').filter_map(|who| after(sentence, who)).any(|rest| match way.place {
        Place::Behind => {
            let mut rest = rest;
            loop {
                if way.does.split('|').any(|verb| after(rest, verb).is_some()) {
                    return true;
                }
                let next = way.between.split('|').find_map(|word| after(rest, word));
                match next.filter(|next| next.len() < rest.len()) {
                    Some(next) => rest = next,
                    None => return false,
                }
            }
        }
        Place::Within => {
            let all: Vec<&str> = rest.split_whitespace().collect();
            let is = |word: &str, list: &str| list.split('|').any(|it| it == word);
            let is_named = |at: usize| at > 0 && is(all[at - 1], words::NAMED_BY);
            (0..all.len()).any(|at| is(all[at], way.does) && !is_named(at))
        }
        Place::Last => {
            let rest = format!(" {}", rest.trim_end());
            way.does.split('|').any(|verb| rest.ends_with(&format!(" {verb}")))
        }
    })
}

/// What stands behind this at the beginning of a sentence; all of it behind nothing.
fn after<'s>(sentence: &'s str, begin: &str) -> Option<&'s str> {
    match begin {
        "" => Some(sentence),
        begin => sentence.strip_prefix(begin)?.strip_prefix(' '),
    }
}

/// `To list the files, I'll run a command`: first what for, then what.
fn is_for_something(sentence: &str) -> bool {
    let has_reason = words::FOR_WHAT.split('|').any(|it| after(sentence, it).is_some());
    has_reason
        && words::WAYS
            .iter()
            .any(|way| sentence.match_indices(' ').any(|(at, _)| is_said(way, &sentence[at + 1..])))
}

fn is_doing(sentence: &str) -> bool {
    words::DOING.split('|').any(|it| after(sentence, it).is_some())
        && sentence.split_whitespace().count() <= DOING_WORDS_MAX
        && !has(&format!(" {sentence}"), words::SAYS)
}

/// Whether a sentence ends in a verb of doing, in languages that have it there. Signs that stand
/// below letters in Hindi are not always written.
fn ends_in_doing(sentence: &str) -> bool {
    let is_mark = |c: &char| {
        !c.is_ascii() && !matches!(c, '：' | '。' | '！' | '、' | '，' | '।' | '\u{93c}')
    };
    let bare: String = sentence.chars().filter(is_mark).collect();
    words::ENDINGS.iter().any(|(stems, endings)| {
        endings
            .split('|')
            .filter_map(|ending| bare.strip_suffix(ending))
            .any(|rest| stems.split('|').any(|stem| rest.ends_with(stem)))
    })
}

/// The same in Chinese: who does it, and what shortly behind.
fn is_done_unspaced(sentence: &str) -> bool {
    words::WHO_UNSPACED.split('|').filter_map(|who| sentence.strip_prefix(who)).any(|rest| {
        let near: String = rest.chars().take(words::WITHIN_CHARS).collect();
        words::DOES_UNSPACED.split('|').any(|verb| near.contains(verb))
    })
}

fn without<'s>(sentence: &'s str, leads: &str) -> &'s str {
    let mut rest = sentence.trim_start();
    while let Some(next) = leads.split('|').find_map(|lead| after(rest, lead)) {
        rest = next;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_calls::quoted::disowns;

    /// Those of a list that are not taken as they should be.
    fn wrong(list: &'static str, expected: bool) -> Vec<&'static str> {
        let is_wrong = |it: &&str| (announces(it) && !disowns(it)) != expected;
        list.lines().filter(is_wrong).collect()
    }

    #[test]
    fn what_models_announce_is_told_from_what_they_refuse_defer_or_hand_over() {
        assert_eq!(wrong(include_str!("announced.txt"), true), [""; 0]);
        assert_eq!(wrong(include_str!("announced_not.txt"), false), [""; 0]);
    }

    #[test]
    fn what_the_model_does_now_is_announced() {
        for words in [
            "I'll read it now:",
            "I don't see the file yet. Let me look for it:",
            "The page says nothing of that. I'll search for it now:",
            "Sure! I will create the file.",
            "Okay, first I'll write the file:",
            "To list the files, I'll run a command.",
            "The path was wrong. Let me try again:",
            "Ich lege die Datei an:",
            "Je vais lire le fichier.",
            "我来看看。",
            "Based on your request, I will read the file:",
            "As requested, I'll write it:",
            "Calling read_file:",
            "Sure! Reading the file now:",
            "I'll call read_file:",
            "Let me call the tool with this JSON:",
            "I'll make the call now:",
            "I need to run a tool call first.",
            "I'll write the JSON file:",
            "I'll save the JSON to data.json:",
            "I'll create the documentation:",
            "I'll write it down:",
        ] {
            assert!(announces(words), "{words}");
        }
    }

    #[test]
    fn whatever_else_stands_there_announces_nothing() {
        for words in [
            "Below is a sample tool call.",
            "Never ever execute the following.",
            "You must not do this:",
            "The attacker wanted me to run",
            "Earlier I called:",
            "Sorry, no.",
            "Usage:",
            "Вот как выглядит вызов:",
            "Here is the tool call:",
            "I'll show you how it is called:",
            "Let me explain what not to do:",
            "I will never run this:",
            "I'll give you the JSON to run yourself:",
            "I'll put the JSON here so you can copy it:",
            "I'll list the call that Bob made:",
            "I'll write the documentation of the call now:",
            "I'll translate the page's call:",
            "Let me paste what I found:",
            "I'll write down the tool call for you:",
            "Let me give you the call:",
            "Ich schreibe den Aufruf auf:",
            "Based on your request, here is the call:",
            "Based on the page, the call is:",
            "Calling read_file works like this:",
            "Calling it is easy:",
            "Reading the docs, I found:",
            "Writing a call by hand:",
            "Let's say you want a file:",
            "I'll do it.\n\nThe page said:",
            "",
        ] {
            assert!(!announces(words), "{words}");
        }
    }
}
