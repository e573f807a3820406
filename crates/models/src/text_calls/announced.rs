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
    yourself|paste|recite|reproduce|transcribe|cite|retype|illustrated|documentation of|\
    nicht|kein|keine|nie|erkläre|zeige|pas|jamais|nunca|non|mai|niet|не|никогда";

/// What may lead to that in the same sentence: "To list them I'll …", "Based on your request, I …".
const FOR_WHAT: &str = "to|based on your|according to your|as requested|as you|per your|\
    following your|for this|for that|since you|um";

/// A call as a thing that is spoken of.
const SPOKEN_OF: &str = "json|the call|a call|this call|that call|calls|call that|tool call|\
    function call|s call|invocation|payload|snippet|der aufruf|den aufruf|aufruf|aufrufs|l appel|\
    la llamada|la chiamata|a chamada|de aanroep|вызов";

/// What is done with it by who makes it; `save the JSON` and `a JSON file` are about files.
const DONE_WITH: &str = "make|making|made the|run|running|execute|executing|issue|issuing|use|using|\
    invoke|perform|send the|call the|call this|call a|calling|do|save|create|read|open|load|parse|\
    fetch|validate|format|convert|json file|json files|json data|json config|json document|mache|\
    führe|starte|fais|hago|faccio|faço";

/// How a sentence of few words begins that announces by what is being done: "Calling `todo`:".
const DOING: &str = "calling|reading|writing|creating|running|using|listing|searching|checking|opening|\
    executing|invoking|fetching|looking|saving|adding|deleting|removing|updating|loading";

/// What such a sentence has that says something of it instead.
const SAYS: &str = "is|are|was|were|works|work|would|looks|look|like|can|could|should|requires|needs|\
    means|has|have|takes|returns|gives|says|i|you|we|one|found|this way|so|as|how|example|examples|\
    docs|manual|page|syntax|format|json|call|calls";

/// Its longest, in words.
const DOING_WORDS_MAX: usize = 6;

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
    if has(&last, NOT) || has(&last, SPOKEN_OF) && !has(&last, DONE_WITH) {
        return false;
    }
    let begins = BEGINS_UNSPACED.split('|').any(|it| last.trim_start().starts_with(it));
    let said = without_leads(&last);
    begins || is_begun(said) || is_doing(said)
}

fn is_begun(sentence: &str) -> bool {
    let has_reason = FOR_WHAT.split('|').any(|it| sentence.starts_with(&format!("{it} ")));
    let rest = match has_reason {
        true => BEGINS
            .split('|')
            .find_map(|it| sentence.find(&format!(" {it} ")).map(|at| &sentence[at + 1..])),
        false => Some(sentence),
    };
    rest.is_some_and(|rest| BEGINS.split('|').any(|it| rest.starts_with(&format!("{it} "))))
}

fn is_doing(sentence: &str) -> bool {
    DOING.split('|').any(|it| sentence.starts_with(&format!("{it} ")))
        && sentence.split_whitespace().count() <= DOING_WORDS_MAX
        && !has(&format!(" {sentence}"), SAYS)
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
