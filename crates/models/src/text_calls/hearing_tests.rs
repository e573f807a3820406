//! Answers in pieces: the same in whichever they come, and nothing passed on that is not words.

use super::found::{Form, ToolNames};
use super::hearing::{Ended, Heard, Hearing, Natively};
use super::meant::NotMeant;
use super::scan::Looking;
use super::shown::Shown;
use proptest::prelude::*;

pub fn tools() -> ToolNames {
    ToolNames::new(["read_file", "write_file", "terminal", "memory", "todo", "web_extract"])
}

/// What an answer comes to: words, thoughts and calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub words: String,
    pub thoughts: String,
    pub calls: Result<Vec<(String, String, Form)>, NotMeant>,
}

/// Hears an answer in these pieces; also all that was ever passed on as words.
pub fn hear_all<'t>(
    pieces: impl IntoIterator<Item = &'t str>,
    looking: Looking,
) -> (Outcome, String) {
    let mut hearing = Hearing::new(tools(), looking);
    let (mut words, mut thoughts, mut live) = (String::new(), String::new(), String::new());
    let mut note = |heard: Vec<Heard>, is_live: bool| {
        for heard in heard {
            match heard {
                Heard::Words(more) => {
                    words += &more;
                    if is_live {
                        live += &more;
                    }
                }
                Heard::Thought(more) => thoughts += &more,
                Heard::ThoughtSoFar => thoughts += &std::mem::take(&mut words),
            }
        }
    };
    for piece in pieces {
        note(hearing.push(piece), true);
    }
    let Ended { heard, calls } = hearing.finish(Natively::Silent, &Shown::default());
    note(heard, false);
    let calls = calls.map(|calls| {
        calls.into_iter().map(|(call, form)| (call.name, call.arguments, form)).collect()
    });
    (Outcome { words, thoughts, calls }, live)
}

pub fn hear(text: &str) -> Outcome {
    hear_all([text], Looking::Calls).0
}

fn said(words: &str) -> Outcome {
    Outcome { words: words.to_owned(), thoughts: String::new(), calls: Err(NotMeant::Nothing) }
}

fn thought(thoughts: &str, words: &str) -> Outcome {
    Outcome { thoughts: thoughts.to_owned(), ..said(words) }
}

#[test]
fn thoughts_are_told_from_words_in_every_mark() {
    for (text, expected) in [
        ("<think>so</think>\n\nHello", thought("so", "Hello")),
        ("<THINKING>so</Thinking>Hello", thought("so", "Hello")),
        ("<reasoning>\nso\n</reasoning>\nHello", thought("\nso\n", "Hello")),
        ("[THINK]so[/THINK]Hello", thought("so", "Hello")),
        ("◁think▷so◁/think▷Hello", thought("so", "Hello")),
        ("<seed:think>so</seed:think>Hello", thought("so", "Hello")),
        ("<think>so", thought("so", "")),
        ("<think></think>Hello", said("Hello")),
        ("Hello\n<think>so</think>\nthere", thought("so", "Hello\nthere")),
        ("<think>a</think><think>b</think>c", thought("ab", "c")),
        ("so it is\n</think>\n\nHello", thought("so it is\n", "Hello")),
        ("</think>Hello", said("Hello")),
        ("so it is</think>Hello", thought("so it is", "Hello")),
        ("so it is.</THINK>\n\nHello", thought("so it is.", "Hello")),
        ("so\nit is. </think>\nHello", thought("so\nit is. ", "Hello")),
        ("so [/THINK]", thought("so ", "")),
        ("so it is◁/think▷Hello", thought("so it is", "Hello")),
        ("a<b</think>c</think>d", thought("a<b", "c</think>d")),
        ("<think>a</think>b</think>c", thought("a", "b</think>c")),
        ("Use `a</think>` there", said("Use `a</think>` there")),
        ("It ends with \"</think>\".", said("It ends with \"</think>\".")),
        ("It is </think> that ends it", said("It is </think> that ends it")),
        ("```\na</think>\n```", said("```\na</think>\n```")),
        ("a</thin>k", said("a</thin>k")),
        ("Use the `<think>` tag", said("Use the `<think>` tag")),
        ("a <think>b</think>", said("a <think>b</think>")),
        ("```\n<think>b</think>\n```", said("```\n<think>b</think>\n```")),
        ("<thin>b</thin>", said("<thin>b</thin>")),
        ("<think>\nso", thought("\nso", "")),
        ("<think> \nso", thought(" \nso", "")),
        ("<think> so", said("<think> so")),
        ("<think> so</think>Hello", thought(" so", "Hello")),
        ("Hello\n<think>so", said("Hello\n<think>so")),
        ("Hello:\n<think>so</think>\nthere", said("Hello:\n<think>so</think>\nthere")),
        ("<think>a</think>b\n<think>c", thought("a", "b\n<think>c")),
    ] {
        assert_eq!(hear(text), expected, "{text}");
        let (in_chars, _) = hear_all(text.split(""), Looking::Calls);
        assert_eq!(in_chars, expected, "{text}");
    }
}

#[test]
fn a_call_in_a_thought_is_none() {
    let call = r#"<tool_call>{"name": "todo", "arguments": {}}</tool_call>"#;
    for text in [
        format!("<think>{call}</think>Hello"),
        format!("<think>\n{call}\n</think>\nHello"),
        format!("{call}\n</think>\nHello"),
    ] {
        let outcome = hear(&text);
        assert_eq!((outcome.words.as_str(), outcome.calls), ("Hello", Err(NotMeant::Nothing)));
    }
}

#[test]
fn who_may_begin_in_a_thought_is_not_heard_before_that_is_clear() {
    let run = |pieces: &[&str], apart: bool| {
        let mut hearing = Hearing::new(tools(), Looking::Calls).may_begin_thinking();
        if apart {
            hearing.thinks_apart();
        }
        let mut heard: Vec<Heard> = pieces.iter().flat_map(|it| hearing.push(it)).collect();
        let live = heard.len();
        heard.extend(hearing.finish(Natively::Silent, &Shown::default()).heard);
        (heard, live)
    };
    let words = |text: &str| Heard::Words(text.to_owned());
    let pieces = ["so ", "it is\n</think>\n", "Hello"];
    assert_eq!(run(&pieces, false).0, [Heard::Thought("so it is\n".to_owned()), words("Hello")]);
    assert_eq!(run(&["no ", "mark"], false), (vec![words("no "), words("mark")], 0));
    assert_eq!(run(&["no ", "mark"], true).1, 2);
}

#[test]
fn words_pass_as_they_come_until_a_call_may_have_begun() {
    let pieces =
        ["I read", " it:\n", "```js", "on\n{\"name\": \"read", "_file\", ", "\"arguments\""];
    let mut hearing = Hearing::new(tools(), Looking::Calls);
    let live: Vec<Heard> = pieces.iter().flat_map(|piece| hearing.push(piece)).collect();
    assert_eq!(live, [Heard::Words("I read".to_owned()), Heard::Words(" it:\n".to_owned())]);
    hearing.push(": {\"path\": \"a\"}}\n```");
    let ended = hearing.finish(Natively::Silent, &Shown::default());
    assert!(ended.heard.is_empty() && ended.calls.is_ok_and(|calls| calls.len() == 1));
}

#[test]
fn what_can_be_no_call_is_not_held_back() {
    for text in [
        "{\"users\": [1",
        "{\"name\": \"Bob\", ",
        "```json\n{\"a\": 1",
        "```rust\nfn main() {",
        "[1] a foot",
        "[a](b)",
        "<div>",
        "<table>",
        "`code` and",
    ] {
        let (_, live) = hear_all([text], Looking::Calls);
        assert_eq!(live, text);
    }
}

#[test]
fn a_model_that_calls_as_it_should_prints_nothing_that_counts() {
    let mut hearing = Hearing::new(tools(), Looking::Calls);
    hearing.push(r#"{"name": "todo", "arguments": {}}"#);
    let ended = hearing.finish(Natively::Called, &Shown::default());
    assert_eq!(ended.calls, Err(NotMeant::Nothing));
    assert_eq!(ended.heard, [Heard::Words(r#"{"name": "todo", "arguments": {}}"#.to_owned())]);
}

#[test]
fn a_long_file_is_not_read_again_for_every_piece() {
    let line = "all work and no play ".repeat(10_000);
    let text = format!(
        "```json\n{{\"name\": \"write_file\", \"arguments\": {{\"path\": \"a\", \"content\": \"{line}\"}}}}\n```"
    );
    // Quadratic work would be 10 GB of text here, and take minutes.
    let pieces: Vec<&str> =
        (0..text.len()).step_by(4).map(|at| &text[at..(at + 4).min(text.len())]).collect();
    let (outcome, live) = hear_all(pieces, Looking::Calls);
    assert_eq!((live.as_str(), outcome.calls.map(|calls| calls.len())), ("", Ok(1)));
}

/// What answers are made of here: everything that begins or ends something, and other words.
fn any_answer() -> impl Strategy<Value = String> {
    let call = r#"{"name": "read_file", "arguments": {"path": "a"}}"#;
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "\n", "\n\n", " ", "    ", "```json\n", "```", "```\n", "~~~\n", "````\n", "```python\n",
            "<tool_call>", "</tool_call>", "<tools>", "</tools>", "<think>", "</think>", "<reasoning>",
            "</reasoning>", "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<function=read_file>",
            "<parameter=path>", "</parameter>", "</function>", "{", "}", "[", "]", ",", ":", "\"",
            "'", "\"name\": ", "\"read_file\"", "\"arguments\": ", "read_file", "todo.call(",
            "path='a')", "> ", "`", "For example:\n", "I read it:\n", "Done.", "...", "é", "<|im_end|>",
            "\\", "None", "1", "{\"a\": 1}",
        ]).prop_map(str::to_owned),
        2 => Just(call.to_owned()),
        1 => Just(format!("```json\n{call}\n```\n")),
        1 => Just(format!("<tool_call>\n{call}\n</tool_call>\n")),
        1 => "\\PC{0,6}",
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn has_thoughts(text: &str) -> bool {
    text.contains("think") || text.contains("reasoning")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn an_answer_is_the_same_in_whichever_pieces_it_comes(
        text in any_answer(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        looking in prop::sample::select(vec![Looking::Calls, Looking::Marks, Looking::Thoughts]),
    ) {
        let whole = hear_all([text.as_str()], looking).0;
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.retain(|cut| text.is_char_boundary(*cut));
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        prop_assert_eq!(&hear_all(pieces, looking).0, &whole);
        let chars: Vec<String> = text.chars().map(String::from).collect();
        prop_assert_eq!(&hear_all(chars.iter().map(String::as_str), looking).0, &whole);
    }

    #[test]
    fn words_that_are_heard_again_are_words_and_nothing_else(text in any_answer()) {
        // Where a thought is taken out, what stood around it comes to stand together.
        if has_thoughts(&text) {
            return Ok(());
        }
        let first = hear(&text);
        let again = hear(&first.words);
        prop_assert_eq!(&again.words, &first.words);
        prop_assert!(again.thoughts.is_empty() && again.calls.is_err(), "{:?}", again);
    }

    #[test]
    fn where_nothing_is_found_nothing_is_changed(text in any_answer()) {
        let outcome = hear(&text);
        if outcome.calls.is_err() && !has_thoughts(&text) {
            prop_assert_eq!(outcome.words, text);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), more in any_answer()) {
        hear(&text);
        hear(&(text + &more));
    }
}
