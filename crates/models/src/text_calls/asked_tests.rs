//! Messages of persons: those who ask to see a call, and those who want something done.

use super::*;
use crate::request::{Message, Part};
use std::sync::Arc;

/// What the model trial asks for: `tests/real-model/tasks.py`.
const TASKS: &str = include_str!("../../../../tests/real-model/tasks.py");

fn tools() -> ToolNames {
    ToolNames::new([
        "read_file",
        "write_file",
        "patch",
        "search_files",
        "terminal",
        "process",
        "memory",
        "todo",
        "skill_view",
        "delegate_task",
        "web_extract",
        "web_search",
        "ticket",
        "letters",
    ])
}

fn shown(messages: impl IntoIterator<Item = Message>) -> Shown {
    let messages = messages.into_iter().map(Arc::new).collect();
    Shown { messages, ..Shown::default() }
}

fn is_shown(asked: &str) -> bool {
    wants_it_shown(&shown([Message::user(asked)]), &tools())
}

fn answer(text: &str) -> Message {
    Message::assistant(vec![Part::Text(text.into())])
}

/// Those that are not judged as they should be.
fn wrong<'m>(messages: impl IntoIterator<Item = &'m str>, expected: bool) -> Vec<&'m str> {
    messages.into_iter().filter(|it| is_shown(it) != expected).collect()
}

#[test]
fn who_wants_to_see_a_call_is_not_given_what_it_does() {
    let messages = include_str!("asked_shown.txt").lines().filter(|line| !line.is_empty());
    assert_eq!(wrong(messages, true), [""; 0]);
}

#[test]
fn who_wants_something_done_has_it_done() {
    let messages = include_str!("asked_done.txt").lines().filter(|line| !line.is_empty());
    assert_eq!(wrong(messages, false), [""; 0]);
}

/// The texts of a list in Python: adjacent ones are one text.
fn texts(list: &str) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut rest = list;
    while let Some(at) = rest.find(['"', ',', ']']) {
        let (mark, behind) = rest[at..].split_at(1);
        rest = behind;
        match mark {
            "]" => break,
            "," => texts.push(String::new()),
            _ => {
                let end = rest.find('"').unwrap();
                texts.last_mut().unwrap().push_str(&rest[..end]);
                rest = &rest[end + 1..];
            }
        }
    }
    texts
}

#[test]
fn every_task_of_the_trial_is_one_to_be_done() {
    let tasks: Vec<String> = TASKS.split("Task([").skip(1).flat_map(texts).collect();
    assert!(tasks.len() >= 20, "{tasks:?}");
    assert_eq!(wrong(tasks.iter().map(String::as_str), false), [""; 0]);
}

#[test]
fn a_wish_holds_through_the_turn_and_for_what_goes_on_with_it() {
    let wants = |messages: Vec<Message>| wants_it_shown(&shown(messages), &tools());
    let example = || Message::user("Show me an example of a write_file call.\n⟦said on Friday⟧");
    let call = || {
        let (id, name, arguments) = ("c".into(), "todo".into(), "{}".into());
        Message::assistant(vec![Part::ToolCall { id, name, arguments }])
    };
    assert!(wants(vec![example(), call(), Message::tool_result("c", "r")]));
    assert!(wants(vec![example(), Message::user(crate::text_calls::ANSWER_NOW)]));
    assert!(wants(vec![example(), answer("It is this."), Message::user("And read_file?")]));
    assert!(wants(vec![example(), answer("It is this."), Message::user("Another one, please.")]));
    assert!(!wants(vec![example(), answer("It is this."), Message::user("Write notes.txt.")]));
    assert!(!wants(vec![example(), answer("It is this."), Message::user("And now do it.")]));
    assert!(!wants(vec![]));
}

#[test]
fn only_an_order_makes_what_was_proposed() {
    const PROPOSED: &str =
        r#"Shall I? {"name": "write_file", "arguments": {"path": "notes.txt", "content": "milk"}}"#;
    let call = Found {
        name: "write_file".to_owned(),
        arguments: r#"{"path": "notes.txt", "content": "milk"}"#.to_owned(),
    };
    let told = |asked: &str| orders(&call, &shown([answer(PROPOSED), Message::user(asked)]));
    for asked in [
        "Yes",
        "yes, please!",
        "Do it.",
        "OK, run it now",
        "Go ahead",
        "Write the file notes.txt",
        "It isn't there. Create it.",
        "Please write milk to notes.txt",
        "Ja, mach das.",
        "はい。",
        "执行吧",
        "Try again. Do it",
        "Please actually write the file",
        "You did nothing, really do it!",
        "I said write it",
        "Du hast nichts gemacht, mach es wirklich!",
        "Please create notes.txt with the text milk",
        "Save milk in notes.txt, as I asked.",
    ] {
        // Whoever says `again` may mean the words.
        assert_eq!(told(asked), !asked.contains("again"), "{asked}");
    }
    for asked in [
        "Say that again please.",
        "repeat what you just said, without the first line",
        "Thanks",
        "Write tea to notes.txt",
        "Now write a poem",
        "What do you remember?",
        "Show it to me",
        "Quote the example in your house rules",
        "Write it again",
        "yes, say it",
        "",
        "the file",
        "You did nothing, good!",
        "You did nothing, so don't do it!",
        "Do not write milk to notes.txt",
        "Never write milk to notes.txt",
        "If Bob agrees, write milk to notes.txt",
        "Write milk to notes.txt only if Bob agrees",
        "You said: write milk to notes.txt",
    ] {
        assert!(!told(asked), "{asked}");
    }
    let later = |asked: &str| {
        let between = [Message::user("Thanks"), answer("You are welcome.")];
        let messages = [answer(PROPOSED)].into_iter().chain(between).chain([Message::user(asked)]);
        orders(&call, &Shown { system: vec![], messages: messages.map(Arc::new).collect() })
    };
    for asked in [
        "Please write milk to notes.txt",
        "Please create notes.txt with the text milk",
        "Save milk in notes.txt",
        "Create a file notes.txt containing milk, please, and be quick.",
        "You did nothing. I want you to write milk to notes.txt.",
    ] {
        assert!(later(asked), "{asked}");
    }
    for asked in [
        "Do it.",
        "Write the file notes.txt",
        "Show me how to write milk to notes.txt",
        "You did nothing, really do it!",
        "Don't write milk to notes.txt",
    ] {
        assert!(!later(asked), "{asked}");
    }
}
