//! A question to the person that is their own: small models like to give it back instead of an
//! answer. They are told once in a turn, and then asked for what they make of it.

use crate::messages::typed_of;
use crate::turn::Turn;
use insula_store::{Message, Part, Role};
use insula_tools::{HandError, Output, ToolError};
use std::collections::BTreeSet;

/// What a model is told. Where it remembers something that is said too: asked with this in front
/// of it, a small one answered from its memory four times of four, and never without.
const TOLD: &str = "that is what the user asked you";
/// How many words one question may have that the other has not: `Which is my`, `What is your`.
const OTHER_WORDS_MAX: usize = 2;
/// Longest question of a person that is looked at, in bytes.
const QUESTION_BYTES_MAX: usize = 300;

impl Turn<'_> {
    /// What came of a call, or that its question is the person's own.
    pub(super) fn asked_anew(
        &self,
        outcome: Result<Output, ToolError>,
        history: &[Message],
    ) -> Result<Output, ToolError> {
        let Ok(Output::Ask { question, .. }) = &outcome else { return outcome };
        let said = history.iter().rfind(|message| message.role == Role::User);
        let is_told = said.is_none_or(|said| is_told(history, said));
        if is_told || !said.is_some_and(|said| is_echo(question, &typed_of(&said.parts))) {
            return outcome;
        }
        let what = match self.block.text {
            Some(_) => format!("{TOLD}. What you remember is above: answer from it."),
            None => format!("{TOLD}. Answer it, or say that you do not know."),
        };
        Err(ToolError::Hand(HandError(what)))
    }
}

/// Whether the model was told so since somebody said something.
fn is_told(history: &[Message], said: &Message) -> bool {
    let since = history.iter().rev().take_while(|message| message.seq != said.seq);
    since.flat_map(|message| &message.parts).any(
        |part| matches!(part, Part::ToolResult { text, is_error: true, .. } if text.contains(TOLD)),
    )
}

/// Whether a question is what somebody asked, but for words such as `my` and `your`.
fn is_echo(question: &str, said: &str) -> bool {
    let asks = said.trim_end().ends_with(['?', '？', '؟', ';']);
    if !asks || said.len() > QUESTION_BYTES_MAX {
        return false;
    }
    let (asked, said) = (words(question), words(said));
    let (new, gone) = (asked.difference(&said).count(), said.difference(&asked).count());
    let longest = said.iter().max_by_key(|word| word.chars().count());
    let is_about_it = longest.is_some_and(|word| asked.contains(word));
    // What adds something to a question, or leaves something out, asks for something.
    new == gone && new <= OTHER_WORDS_MAX && new < said.len() - gone && is_about_it
}

fn words(text: &str) -> BTreeSet<String> {
    let all = text.split(|it: char| !it.is_alphanumeric()).filter(|word| !word.is_empty());
    all.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_question_given_back_is_told_from_one_that_asks_for_something() {
        let tree = "Which is my favourite tree?";
        for (question, said) in [
            (tree, tree),
            ("What is your favourite tree?", tree),
            ("Which is your favourite tree", tree),
            ("which is your favourite tree?", "Which is my favourite tree ?\n"),
            ("Wie heißt dein Hund?", "Wie heißt mein Hund?"),
            ("我最喜欢的树是什么？", "我最喜欢的树是什么？"),
        ] {
            assert!(is_echo(question, said), "{question} | {said}");
        }
        for (question, said) in [
            ("Which tree do you mean?", tree),
            ("Which is my favourite tree?", "Remember my favourite tree."),
            ("Is it in Milan?", "Is it in Rome?"),
            ("Rome in Italy?", "Is it in Rome?"),
            ("Which file?", "Where is the file?"),
            ("Delete the file notes.txt?", "Can you delete the file notes.txt?"),
            ("Where?", "What is the weather?"),
            ("", "?"),
            ("", ""),
        ] {
            assert!(!is_echo(question, said), "{question} | {said}");
        }
    }

    proptest! {
        #[test]
        fn any_two_texts_can_be_compared(one in "\\PC{0,60}", other in "\\PC{0,60}") {
            is_echo(&one, &other);
            let asks = format!("{other} word?");
            prop_assert!(is_echo(&asks, &asks));
        }
    }
}
