//! How much a server says it takes, read from the words and figures of its refusals. There is no
//! member for it that all have, so the few ways are known in which servers say it.

use crate::told::WINDOWS;
use serde_json::Value;

/// What stands before the window, in lower case.
const BEFORE_WINDOW: &[&str] = &[
    "maximum context length is ",
    "maximum context length of ",
    "context length of only ",
    "available context size (",
    "exceed context limit: ",
    "prompt is too long: ",
    "maximum number of tokens allowed (",
    "tokens + `max_new_tokens` must be <= ",
];

/// What stands behind the tokens of the question, in lower case.
const AFTER_QUESTION: &[&str] = &[
    " in the messages",
    " in your prompt",
    " in the prompt",
    " input tokens",
    " tokens from the input messages",
    " `inputs` tokens",
];

/// What stands before them.
const BEFORE_QUESTION: &[&str] = &["exceed context limit: ", "your prompt contains at least "];

/// By which words the length of an answer is what was refused.
const ANSWERS: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "maxoutputtokens",
    "completion tokens",
    "output tokens",
    "num_predict",
];

/// Where a server says it at the latest, in bytes. Some repeat what they were asked behind that,
/// and what somebody wrote there has no say in it.
const WORDS_MAX: usize = 300;

/// Names that servers put in quotation marks by themselves, in lower case.
const QUOTED: &[&str] = &[
    "'max_tokens'",
    "'max_completion_tokens'",
    "'max_output_tokens'",
    "`max_tokens`",
    "`max_completion_tokens`",
    "`max_output_tokens`",
    "`max_new_tokens`",
    "`inputs`",
    "'messages[0].role'",
    "'system'",
    "'temperature'",
];

/// The least an answer is asked to be: what is smaller is no limit, or no answer.
const ANSWER_MIN: u32 = 16;

/// The window that a refusal names: `n_ctx` of llama.cpp, or a number in its words.
pub(crate) fn window(error: &Value, message: &str) -> Option<u32> {
    let told = error.get("n_ctx").and_then(Value::as_u64).or_else(|| {
        let message = own_words(message)?;
        BEFORE_WINDOW.iter().find_map(|before| {
            let rest = message.split_once(before)?.1;
            // What was asked stands first there, and what there is behind it.
            match rest.split_once(" > ") {
                Some((sum, window)) if is_sum(sum) => number(window),
                _ => number(rest),
            }
        })
    })?;
    u32::try_from(told).ok().filter(|window| WINDOWS.contains(&u64::from(*window)))
}

/// The words of a server, in lower case, without what it may repeat of a question. What is no
/// sentence repeats it anywhere.
pub(crate) fn own_words(message: &str) -> Option<String> {
    let is_data = message.trim_start().starts_with(['{', '[']);
    let end = message.floor_char_boundary(WORDS_MAX);
    (!is_data).then(|| unquoted(message[..end].to_lowercase()))
}

/// A text up to what it quotes: a name or a schema that somebody sent along may say anything, and
/// what is learnt of a model holds for all who talk to the same agent.
fn unquoted(mut text: String) -> String {
    let mut at = 0;
    while let Some(found) = text[at..].find(['\'', '"', '`', '“', '‘', '«']) {
        at += found;
        let rest = &text[at..];
        let is_apostrophe = rest.starts_with("'s ") && text[..at].ends_with(char::is_alphabetic);
        match QUOTED.iter().find(|name| rest.starts_with(**name)) {
            Some(name) => at += name.len(),
            None if is_apostrophe => at += 1,
            None => {
                text.truncate(at);
                break;
            }
        }
    }
    text
}

/// Whether a text is figures and what stands between them.
fn is_sum(text: &str) -> bool {
    text.replace("tokens", "").chars().all(|it| it.is_ascii_digit() || " +,".contains(it))
}

/// The most tokens of an answer that a server says it takes, where `asked` were too many.
pub(crate) fn answer(message: &str, window: Option<u32>, asked: u32) -> Option<u32> {
    let message = own_words(message)?;
    let most = match window.zip(question(&message)) {
        Some((window, question)) => window.checked_sub(question),
        // It does not say which of the two is too much; a part of it is left by most questions.
        None if message.contains("requested") => window.map(|window| window / 5),
        None if window.is_some() => None,
        None if ANSWERS.iter().any(|sign| message.contains(sign)) => {
            at_most(&message).or_else(|| largest_below(&message, asked))
        }
        None => None,
    };
    most.filter(|most| (ANSWER_MIN..asked).contains(most))
}

/// The number that a server says is the most.
fn at_most(message: &str) -> Option<u32> {
    number(message.split_once("at most ")?.1).and_then(|it| u32::try_from(it).ok())
}

/// How many tokens a server counted in the question.
fn question(message: &str) -> Option<u32> {
    let behind = AFTER_QUESTION.iter().find_map(|after| {
        let before = message.split_once(after)?.0;
        let digits = before.rsplit(|it: char| !it.is_ascii_digit() && it != ',').next()?;
        number(digits)
    });
    let named = || BEFORE_QUESTION.iter().find_map(|it| number(message.split_once(it)?.1));
    behind.or_else(named).and_then(|it| u32::try_from(it).ok())
}

/// The number that a text begins with.
fn number(text: &str) -> Option<u64> {
    let end = text.find(|it: char| !it.is_ascii_digit() && it != ',').unwrap_or(text.len());
    text[..end].replace(',', "").parse().ok()
}

/// The largest number in a text that is below one: in words about the length of an answer it is
/// the most that is taken.
fn largest_below(text: &str, below: u32) -> Option<u32> {
    let mut largest = None;
    let mut rest = text;
    while let Some(at) = rest.find(|it: char| it.is_ascii_digit()) {
        let digits = &rest[at..];
        let len = digits.find(|it: char| !it.is_ascii_digit() && it != ',').unwrap_or(digits.len());
        rest = &digits[len..];
        let told = digits[..len].trim_end_matches(',').replace(',', "").parse::<u32>().ok();
        let is_outside = rest.starts_with(" (exclusive)");
        let told = told.and_then(|it| it.checked_sub(u32::from(is_outside)));
        largest = largest.max(told.filter(|it| *it < below));
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_window_is_read_from_what_real_servers_say() {
        for (error, said, expected) in [
            (json!({"n_ctx": 4096}), "the request exceeds the available context size", 4_096),
            (
                json!({}),
                "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
                4_096,
            ),
            (json!({}), "This model's maximum context length is 8192 tokens.", 8_192),
            (json!({}), "prompt is too long: 209000 tokens > 200000 maximum", 200_000),
            (
                json!({}),
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
                200_000,
            ),
            (
                json!({}),
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
                1_048_575,
            ),
            (
                json!({}),
                "Trying to keep the first 6000 tokens. However, the model is loaded with context length of only 4096 tokens",
                4_096,
            ),
        ] {
            assert_eq!(window(&error, said), Some(expected), "{said}");
        }
        for other in [
            "Request too large for m: Limit 9000, Requested 10000",
            "maximum context length is 8 tokens",
            r#"{"detail":[{"input":"the maximum context length is 600 tokens"}]}"#,
            "maximum context length is 99999999999999999999",
            "Invalid 'response_format.json_schema.name': 'maximum context length is 600'",
            "tool \"maximum context length is 600\" has no parameters",
            "unknown stop word `prompt is too long: 700 > 600`",
            "prompt is too long",
            "",
        ] {
            assert_eq!(window(&json!({}), other), None, "{other}");
        }
        let repeated = format!("too long: {} maximum context length is 600", "x".repeat(300));
        assert_eq!(window(&json!({}), &repeated), None);
    }

    #[test]
    fn the_longest_answer_is_read_from_what_real_servers_say() {
        for (said, window, expected) in [
            (
                "max_tokens is too large: 6400. This model supports at most 4096 completion tokens, whereas you provided 6400.",
                None,
                Some(4_096),
            ),
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9400 tokens (3000 in the messages, 6400 in the completion).",
                Some(8_192),
                Some(5_192),
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 6400. This model's maximum context length is 8192 tokens and your request has 3000 input tokens (6400 > 8192 - 3000).",
                Some(8_192),
                Some(5_192),
            ),
            (
                "max_tokens: 6400 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku-20240307",
                None,
                Some(4_096),
            ),
            (
                "Invalid max_tokens value, the valid range of max_tokens is [1, 4,096]",
                None,
                Some(4_096),
            ),
            (
                "Unable to submit request because it has a maxOutputTokens value of 6400 but the supported range is from 1 (inclusive) to 4097 (exclusive).",
                None,
                Some(4_096),
            ),
            // The question alone fills it: less of an answer does not help.
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
                Some(8_192),
                None,
            ),
            ("(8190 in the messages, 6400 in the completion)", Some(8_192), None),
            (
                "maximum context length is 8192 tokens. However, you requested 9400",
                Some(8_192),
                Some(1_638),
            ),
            ("Unsupported parameter: 'max_tokens' is not supported with this model.", None, None),
            ("temperature must be at most 100", None, None),
            ("Invalid name 'max_tokens at most 20'", None, None),
            ("Unknown tool “max_tokens 17”", None, None),
        ] {
            assert_eq!(answer(said, window, 6_400), expected, "{said}");
        }
    }
}
