//! Whether words before a call announce it: the model says that it does this now. Whatever else
//! stands there, an explanation, a quotation, a heading, may be about a call as well as lead to it.

use super::prose::{has, last_sentence, plain};

/// How somebody begins to say what they do now, in lower case without marks; divided by bars.
const BEGINS: &str = "i ll|i will|i m going to|i am going to|i m now|i am now|i now|let me|let s|\
    i need to|i have to|i want to|i should first|i start|i begin|i write|i read|i create|i make|\
    i list|i search|i look|i call|i use|i run|i check|i open|i save|i add|i fetch|i get|i note|\
    i remember|i remove|i delete|i change|i edit|i ask|\
    ich werde|ich lege|ich lese|ich schreibe|ich suche|ich rufe|ich sehe|ich schaue|ich prüfe|\
    ich starte|ich führe|ich hole|ich öffne|ich merke|lass mich|\
    je vais|laisse moi|laissez moi|voy a|déjame|déjeme|vado a|ora|lascia|vou|deixe me|ik ga|\
    ik zal|laat me|pozwól|sprawdzę|jag ska|låt mig|сейчас я|я сейчас|я проверю|давайте";

/// The same in scripts that put no blanks between words.
const BEGINS_UNSPACED: &str = "我来|我將|我将|我会|我會|让我|讓我|我先|我现在|我需要|まず|それでは";

/// What may stand before that in the same sentence.
const LEADS: &str = "sure|okay|ok|alright|of course|certainly|great|good|thanks|thank you|yes|\
    first|next|now|then|so|and|also|finally|to begin|to start|gut|klar|gerne|zuerst|jetzt|dann|\
    bien sûr|d abord|claro|primero|ahora|certo|prima|хорошо|конечно";

/// Words after which it is not done, or not now, or by somebody else.
const NOT: &str = "not|never|no|don t|won t|can t|cannot|couldn t|didn t|shouldn t|wouldn t|nothing|\
    only|instead|explain|describe|demonstrate|illustrate|walk you|tell you|show you|remind|warn|refuse|avoid|\
    pretend|imagine|say|quote|repeat|print|show|assume|they|he|she|attacker|\
    nicht|kein|keine|nie|erkläre|zeige|pas|jamais|nunca|non|mai|niet|не|никогда";

/// Longest announcement, in bytes: who says more explains.
const BYTES_MAX: usize = 400;

/// Whether all that is said before a call is that it is made now: one short paragraph of which the
/// last sentence begins in the first person.
pub fn announces(words: &str) -> bool {
    let words = words.trim();
    if words.len() > BYTES_MAX || words.contains("\n\n") {
        return false;
    }
    let last = plain(last_sentence(words));
    if has(&last, NOT) {
        return false;
    }
    let begins = BEGINS_UNSPACED.split('|').any(|it| last.trim_start().starts_with(it));
    begins || is_begun(without_leads(&last))
}

fn is_begun(sentence: &str) -> bool {
    // "To list them I'll …": what for may stand in front.
    let rest = match sentence.starts_with("to ") {
        true => BEGINS
            .split('|')
            .find_map(|it| sentence.find(&format!(" {it} ")).map(|at| &sentence[at + 1..])),
        false => Some(sentence),
    };
    rest.is_some_and(|rest| BEGINS.split('|').any(|it| rest.starts_with(&format!("{it} "))))
}

fn without_leads(sentence: &str) -> &str {
    let mut rest = sentence.trim_start();
    while let Some(after) =
        LEADS.split('|').find_map(|lead| rest.strip_prefix(lead)?.strip_prefix(' '))
    {
        rest = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "Let's say you want a file:",
            "I'll do it.\n\nThe page said:",
            "",
        ] {
            assert!(!announces(words), "{words}");
        }
    }
}
