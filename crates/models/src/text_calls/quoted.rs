//! Whether words beside a call say that it is not meant: an example, a quotation, a proposal.
//! And whether its arguments do: a place that somebody else has to fill in.

use super::lenient::{AtEnd, Kind, Node, prefix};
use super::prose::{last_sentence, plain};

/// Of these, one in the paragraph beside a call says that it is shown and not made. In lower case,
/// without marks between words; divided by bars.
const SHOWN: &str = "for example|for instance|e g|as an example|an example of|example of a|\
    example of how|example call|example calls|example usage|example request|example tool call|\
    here is an example|here s an example|just an example|only an example|this example|\
    following example|example below|sample call|suppose|imagine|hypothetical|hypothetically|\
    to illustrate|quoting|quoted|verbatim|prompt injection|injected instruction|\
    injected instructions|is malicious|looks suspicious|would look like|could look like|\
    looks like this|look like this|looks as follows|in this format|following format|call format|\
    call syntax|syntax for|syntax is|template for|\
    zum beispiel|beispielsweise|z b|ein beispiel|als beispiel|beispielaufruf|angenommen|\
    sieht so aus|sähe so aus|\
    par exemple|un exemple|voici un exemple|por ejemplo|un ejemplo|per esempio|ad esempio|\
    un esempio|por exemplo|um exemplo|bijvoorbeeld|een voorbeeld|na przykład|przykład|\
    till exempel|ett exempel|например|пример|наприклад|приклад";

/// The same in scripts that put no blanks between words.
const SHOWN_UNSPACED: &str =
    "例如|例子|示例|比如|範例|范例|例えば|サンプル|引用します|예시|예를 들";

/// Of these, one in the sentence right beside a call says that somebody else wants it, that it is
/// not to be made, or that it is proposed.
const TOLD: &str = "wants me to|tells me to|asks me to|instructs me to|tries to make me|\
    trying to make me|trying to get me|tries to get me|\
    i will not|i won t|not going to|refuse to|refusing to|will not be|\
    do not run|don t run|do not call|don t call|do not execute|don t execute|do not use|\
    don t use|do not do|don t do|never run|never call|never execute|cannot run|can t run|\
    cannot call|can t call|cannot execute|can t execute|should not run|shouldn t run|\
    should not call|shouldn t call|must not run|must not call|without running|without calling|\
    instead of calling|instead of running|\
    i could|we could|you could|one could|i might|you might|you would|one would|i would call|\
    i would use|i would run|we would|if you want|if you like|if you agree|if you d like|\
    if you need|should i|shall i|may i|let me know|either|alternatively|option 1|option 2|\
    option 3|option a|option b|option c|\
    ich könnte|du könntest|sie könnten|man könnte|ich würde|man würde|soll ich|falls sie|\
    wenn du willst|wenn sie wollen|nicht ausführen|nicht aufrufen|führe ich nicht";

/// A sentence before a call that ends in one of these tells what somebody else says.
const TELLING: &str = "says|said|reads|wrote|writes|contains|contained|states|stated|claims|shows|\
    says this|said this|reads as follows|contains this|contains the following|this text|\
    following text|these instructions|this instruction|following instruction|\
    following instructions|following message|this message|quote|quotation|example|examples|\
    schema|syntax|following schema|has this form|or|oder|\
    sagt|schreibt|steht|enthält|beispiel|zitat|exemple|ejemplo|esempio|exemplo|voorbeeld";

/// What may stand behind a call and says nothing: marks of the end of an answer, and of a call
/// whose beginning was not marked, or whose end was marked before.
const ENDS: &[&str] = &[
    "</tool_call>",
    "</tool_calls>",
    "</function_call>",
    "</function>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|endoftext|>",
    "</s>",
    "<end_of_turn>",
];

/// A paragraph that is looked at is at most this long, in bytes: what stands further away says
/// nothing of a call.
const PARAGRAPH_BYTES_MAX: usize = 600;

/// Whether words say nothing at all.
pub fn is_blank(words: &str) -> bool {
    let mut rest = words.trim_matches(is_separator);
    while let Some(before) = ENDS.iter().find_map(|end| rest.strip_suffix(end)) {
        rest = before.trim_matches(is_separator);
    }
    rest.is_empty()
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | ';')
}

/// Whether words beside a call say that it is not meant.
pub fn disowns(words: &str) -> bool {
    let words = words.trim();
    let paragraph = paragraph(words);
    let sentence = last_sentence(paragraph);
    // Who asks has not decided.
    let asks = sentence.trim_end_matches(is_decoration).ends_with(['?', '？', '؟']);
    let (paragraph_plain, sentence_plain) = (plain(paragraph), plain(sentence));
    let has = |text: &str, phrases: &str| {
        phrases.split('|').any(|phrase| text.contains(&format!(" {phrase} ")))
    };
    let tells = || {
        TELLING.split('|').any(|phrase| sentence_plain.ends_with(&format!(" {phrase} ")))
            || is_enclosed(words)
    };
    asks || has(&paragraph_plain, SHOWN)
        || SHOWN_UNSPACED.split('|').any(|word| paragraph.contains(word))
        || has(&sentence_plain, TOLD)
        || tells()
}

/// What may stand around a sentence: quotes, and the marks of Markdown.
fn is_decoration(c: char) -> bool {
    c.is_whitespace() || matches!(c, '*' | '_' | '"' | '”' | '`' | ')' | ':')
}

/// The paragraph before a call.
fn paragraph(words: &str) -> &str {
    let last = words.rsplit("\n\n").next().unwrap_or(words);
    // A line that ends in a colon goes with what is above it.
    let goes_on = last.len() < words.len() && last.ends_with([':', '：']);
    let last = if goes_on { words } else { last };
    let mut from = last.len().saturating_sub(PARAGRAPH_BYTES_MAX);
    while !last.is_char_boundary(from) {
        from += 1;
    }
    &last[from..]
}

/// Whether the last line opens something that what follows stands in.
fn is_enclosed(words: &str) -> bool {
    let line = words.lines().next_back().unwrap_or_default().trim();
    let tag = line.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
    tag.is_some_and(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!'))
}

/// Whether an argument is a place for somebody to fill in, of those that `counts`.
pub fn has_placeholder(arguments: &str, counts: impl Fn(&str) -> bool) -> bool {
    let Ok(document) = prefix(arguments, AtEnd::Closed) else { return false };
    match &document.node.kind {
        Kind::Fields(fields) => {
            fields.iter().any(|(name, node)| counts(name) && holds_placeholder(node))
        }
        _ => holds_placeholder(&document.node),
    }
}

fn holds_placeholder(node: &Node) -> bool {
    match &node.kind {
        Kind::Text(text) => is_placeholder(text),
        Kind::List(items) => items.iter().any(holds_placeholder),
        Kind::Fields(fields) => fields.iter().any(|(_, node)| holds_placeholder(node)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => false,
    }
}

/// Whether a text is a place for somebody to fill in.
pub fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    const FILLED_IN: &str = "path|file|filename|name|your|here|command|content|contents|text|\
        value|query|url|id|string|message|goal|code|pattern";
    if matches!(text, "..." | "…" | "[...]" | "<...>") {
        return true;
    }
    let inside = |open: &str, close: &str| text.strip_prefix(open)?.strip_suffix(close);
    let angles = inside("<", ">").filter(|it| !it.contains(['<', '>', '/', '=']));
    if let Some(inner) = angles.or_else(|| inside("{{", "}}")).or_else(|| inside("${", "}")) {
        let is_word = |word: &str| FILLED_IN.split('|').any(|it| it.eq_ignore_ascii_case(word));
        return inner.split(|c: char| !c.is_ascii_alphanumeric()).any(is_word);
    }
    let lower = text.to_ascii_lowercase();
    lower.starts_with("path/to/") || lower.starts_with("/path/to/") || lower.starts_with("your_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_show_tell_or_propose_a_call_disown_it() {
        for words in [
            "For example:",
            "A call looks like this:",
            "Here is an example of how to use it.\n\nThe call:",
            "The page says:",
            "It contains the following instructions:",
            "Should I run this?",
            "Do you want me to run this? **Yes or no?**",
            "I will not do this:",
            "You could try:",
            "Zum Beispiel so:",
            "Auf der Seite steht:",
            "Par exemple :",
            "Например:",
            "例如：",
            "<example>",
            "Its arguments have this schema:",
        ] {
            assert!(disowns(words), "{words}");
        }
    }

    #[test]
    fn words_that_announce_a_call_do_not() {
        for words in [
            "I'll read it now:",
            "I don't see the file yet. Let me look for it:",
            "The page says nothing of that. I search for it now:",
            "Sure! I will create the file.",
            "Here is the tool call:",
            "First, write the file:",
            "I'll write example.txt, which contains a greeting:",
            "You asked me to list the files, so I list them:",
            "The path was wrong. Let me try again:",
            "To list the files I call `terminal`:",
            "Ich lege die Datei an:",
            "1. Write it\n2. Read it\n\nStep 1:",
            "Let me call the function with its parameters.",
            "Let me look at the page:",
        ] {
            assert!(!disowns(words), "{words}");
        }
    }

    #[test]
    fn marks_of_the_end_say_nothing() {
        for words in ["", " \n ", "<|im_end|>", "\n</s>\n", ",", ";\n", "<|eom_id|><|eot_id|>"] {
            assert!(is_blank(words), "{words}");
        }
        assert!(!is_blank("a <|im_end|>") && !is_blank("."));
    }

    #[test]
    fn a_place_to_fill_in_is_told_from_text_that_looks_a_little_like_it() {
        for arguments in [
            r#"{"path": "..."}"#,
            r#"{"path": "<path>"}"#,
            r#"{"path": "<your file here>"}"#,
            r#"{"path": "path/to/file.txt"}"#,
            r#"{"path": "/path/to/file"}"#,
            r#"{"todos": [{"content": "{{text}}"}]}"#,
            r#"{"command": "${COMMAND}"}"#,
            r#"{"url": "YOUR_URL"}"#,
        ] {
            assert!(has_placeholder(arguments, |_| true), "{arguments}");
        }
        for arguments in [
            r#"{"pattern": "<div>"}"#,
            r#"{"content": "wait..."}"#,
            r#"{"content": "<p>name</p>"}"#,
            r#"{"command": "echo ${HOME}"}"#,
            r#"{"path": "src/path/to/x"}"#,
            r#"{"limit": 3}"#,
            "{",
        ] {
            assert!(!has_placeholder(arguments, |_| true), "{arguments}");
        }
    }
}
