//! Texts that look like calls and are none, and calls that look like little: `adversarial.txt`.

use super::found::ToolNames;
use super::hearing::{Ended, Heard, Hearing, Natively};
use super::scan::Looking;
use super::shown::Shown;
use crate::request::{CacheHint, Message, Part, SystemBlock};
use serde_json::Value;
use std::sync::Arc;

const CASES: &str = include_str!("adversarial.txt");

#[derive(Default)]
struct Case<'c> {
    title: &'c str,
    shown: Shown,
    text: String,
    calls: Option<Vec<(&'c str, String)>>,
    words: Option<String>,
}

impl Case<'_> {
    fn show(&mut self, message: Message) {
        self.shown.messages.push(Arc::new(message));
    }
}

fn cases() -> Vec<Case<'static>> {
    let cases = CASES.split("\n== ").skip(1);
    cases
        .map(|case| {
            let (title, sections) = case.split_once('\n').unwrap();
            let mut read = Case { title, ..Case::default() };
            let sections = sections.strip_prefix("-- ").unwrap().trim_end_matches('\n');
            for section in sections.split("\n-- ") {
                let (kind, body) = section.split_once('\n').unwrap_or((section, ""));
                match kind {
                    "user" => read.show(Message::user(body)),
                    "result" => read.show(Message::tool_result("c", body)),
                    "answer" => read.show(Message::assistant(vec![Part::Text(body.into())])),
                    "made" => {
                        let (name, arguments) = body.split_once(' ').unwrap();
                        let call = Part::ToolCall {
                            id: "c".into(),
                            name: name.into(),
                            arguments: arguments.into(),
                        };
                        read.show(Message::assistant(vec![call]));
                    }
                    "prompt" => {
                        let block = SystemBlock { text: body.into(), cache: CacheHint::None };
                        read.shown.system.push(block);
                    }
                    "text" => read.text = body.to_owned(),
                    "none" => {}
                    "calls" => {
                        let calls = body.lines().map(|line| {
                            let (name, arguments) = line.split_once(' ').unwrap();
                            (name, arguments.replace('⏎', "\n"))
                        });
                        read.calls = Some(calls.collect());
                    }
                    "words" => read.words = Some(body.to_owned()),
                    other => panic!("{other} in {title}"),
                }
            }
            read
        })
        .collect()
}

/// What the person is shown of an answer that comes in these pieces, and the calls it makes.
fn heard<'p>(
    pieces: impl IntoIterator<Item = &'p str>,
    shown: &Shown,
) -> (String, Vec<(String, String)>) {
    let tools =
        ["read_file", "write_file", "terminal", "memory", "todo", "web_extract", "mcp__git__log"];
    let mut hearing = Hearing::new(ToolNames::new(tools), Looking::Calls);
    let mut all: Vec<Heard> = pieces.into_iter().flat_map(|piece| hearing.push(piece)).collect();
    let Ended { heard, calls } = hearing.finish(Natively::Silent, shown);
    all.extend(heard);
    let mut words = String::new();
    for heard in all {
        match heard {
            Heard::Words(more) => words += &more,
            Heard::Thought(_) => {}
            Heard::ThoughtSoFar => words.clear(),
        }
    }
    let calls = calls.unwrap_or_default().into_iter();
    (words, calls.map(|(call, _)| (call.name, call.arguments)).collect())
}

/// Arguments to be compared: as values where they are JSON.
fn meant(arguments: &str) -> Result<Value, &str> {
    serde_json::from_str(arguments).map_err(|_| arguments)
}

#[test]
fn every_text_is_what_it_is_meant_to_be() {
    let mut wrong = vec![];
    for case in cases() {
        let chars: Vec<String> = case.text.chars().map(String::from).collect();
        let (words, calls) = heard([case.text.as_str()], &case.shown);
        let in_chars = heard(chars.iter().map(String::as_str), &case.shown);
        if in_chars != (words.clone(), calls.clone()) {
            wrong.push(format!("{}: in single characters: {in_chars:?}", case.title));
        }
        let expected = case.calls.clone().unwrap_or_default();
        let is_same = calls.len() == expected.len()
            && calls.iter().zip(&expected).all(|((name, arguments), (wanted, with))| {
                name == wanted && meant(arguments) == meant(with)
            });
        if !is_same {
            wrong.push(format!("{}: {calls:?} instead of {expected:?}", case.title));
        }
        let is_shown = match (&case.words, &case.calls) {
            (Some(expected), _) => words.trim_end() == *expected,
            (None, None) => words == case.text,
            (None, Some(_)) => !words.contains(['{', '<', '[', '`']) || words.contains("```python"),
        };
        if !is_shown {
            wrong.push(format!("{}: the person sees {words:?}", case.title));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn there_are_enough_of_them() {
    let cases = cases();
    let (calls, none): (Vec<&Case<'_>>, Vec<&Case<'_>>) =
        cases.iter().partition(|case| case.calls.is_some());
    assert!(none.len() >= 200 && calls.len() >= 50, "{} and {}", none.len(), calls.len());
}
