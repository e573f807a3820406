//! The rules of the practice model, as a table.

use super::*;
use crate::answer::{Answer, Gathering};
use crate::request::Message;
use crate::request::{SystemBlock, ToolSchema};
use serde_json::{Value, json};

const TOOLS: [&str; 7] =
    ["memory", "read_file", "terminal", "delegate_task", "session_search", "todo", "clarify"];

fn ask(messages: Vec<Message>, tools: &[&str]) -> Answer {
    let mut request = Request::new(NAME, messages);
    request.tools = tools
        .iter()
        .map(|name| ToolSchema::new(*name, format!("Does {name}. More words."), "{}").unwrap())
        .collect();
    gather(&request)
}

fn gather(request: &Request) -> Answer {
    let mut gathering = Gathering::default();
    events(request, &answer(request)).into_iter().for_each(|event| gathering.add(event));
    gathering.finish()
}

fn calls(answer: &Answer) -> Vec<(String, Value)> {
    let calls = answer.message.parts.iter().filter_map(|part| match part {
        Part::ToolCall { name, arguments, .. } => {
            Some((name.to_string(), serde_json::from_str(arguments).unwrap()))
        }
        _ => None,
    });
    calls.collect()
}

#[test]
fn instructions_become_tool_calls() {
    let memory = |fact: &str| json!({"action": "add", "target": "memory", "content": fact});
    for (text, tool, arguments) in [
        ("remember that the cat is Tom", "memory", memory("the cat is Tom")),
        ("Please remember: Tea at Five", "memory", memory("Tea at Five")),
        ("⟦from telegram:1⟧\nremember that it rains", "memory", memory("it rains")),
        ("read notes.md", "read_file", json!({"path": "notes.md"})),
        ("show `my notes.md`", "read_file", json!({"path": "my notes.md"})),
        ("Could you read the file /etc/passwd?", "read_file", json!({"path": "/etc/passwd"})),
        ("run ls -l | wc", "terminal", json!({"command": "ls -l | wc"})),
        ("$ echo \"Hi\"", "terminal", json!({"command": "echo \"Hi\""})),
        ("run `date`", "terminal", json!({"command": "date"})),
        ("delegate count the files", "delegate_task", json!({"goal": "count the files"})),
        ("ask a helper to read a.txt", "delegate_task", json!({"goal": "read a.txt"})),
        ("search for the blue door", "session_search", json!({"query": "the blue door"})),
        (
            "todo buy milk; Call Ann",
            "todo",
            json!({"merge": true, "todos": [
                {"id": "buy-milk", "content": "buy milk", "status": "pending"},
                {"id": "call-ann", "content": "Call Ann", "status": "pending"}]}),
        ),
        ("ask me which colour I want", "clarify", json!({"question": "which colour I want"})),
        ("call todo {\"merge\": false}", "todo", json!({"merge": false})),
    ] {
        let answer = ask(vec![Message::user(text)], &TOOLS);
        assert_eq!(calls(&answer), [(tool.to_owned(), arguments)], "{text}");
        assert_eq!(answer.stop, StopReason::ToolCalls);
        assert!(answer.malformed.is_empty());
        assert!(answer.text().contains(tool), "{}", answer.text());
        // The same without the tool: nothing is done, and that is said.
        let answer = ask(vec![Message::user(text)], &["other"]);
        assert!(calls(&answer).is_empty(), "{text}");
        assert!(answer.text().contains("nothing was done"), "{}", answer.text());
        assert_eq!(answer.stop, StopReason::Finished);
    }
}

#[test]
fn everything_else_is_answered_in_words() {
    for (text, expected) in [
        ("Hello!", "I am rehearsal, the built-in practice model"),
        ("who are you?", "I follow a few fixed rules"),
        ("help", "remember that FACT"),
        ("which tools do you have?", "- `terminal`: Does terminal\n"),
        ("ping", "pong"),
        ("say \"Guten Tag\"", "Guten Tag"),
        ("⟦from telegram:1, who goes by \"Ann\"⟧\nsay hi in here", "hi in here"),
        ("thanks!", "welcome"),
        ("", "no text"),
        ("write me a poem about rain", "None of my rules fits"),
        ("show me how this works", "None of my rules fits"),
        ("remember ", "None of my rules fits"),
        ("call todo [1]", "None of my rules fits"),
        ("what do you know about dragons?", "Nothing in what I was given here mentions"),
    ] {
        let answer = ask(vec![Message::user(text)], &TOOLS);
        assert!(answer.text().contains(expected), "{text}: {}", answer.text());
        assert!(calls(&answer).is_empty(), "{text}");
        assert!(answer.usage.output > 0 && answer.usage.input > 0);
    }
}

#[test]
fn a_result_is_reported_faithfully_and_once() {
    let asked = ask(vec![Message::user("run date\nread a.txt")], &TOOLS);
    assert_eq!(calls(&asked).len(), 2);
    let mut failed = Message::tool_result("rehearsal_1", "no such file");
    if let Part::ToolResult { is_error, .. } = &mut failed.parts[0] {
        *is_error = true;
    }
    let conversation = vec![
        Message::user("run date\nread a.txt"),
        asked.message,
        Message::tool_result("rehearsal_0", "Thursday\n"),
        failed,
    ];
    let told = ask(conversation.clone(), &TOOLS);
    assert_eq!(
        told.text(),
        "`terminal` with {\"command\":\"date\"} gave back:\n\nThursday\n\n\
         `read_file` with {\"path\":\"a.txt\"} failed:\n\nno such file"
    );
    assert!(calls(&told).is_empty());
    // The next instruction gets ids of its own.
    let mut conversation = conversation;
    conversation.extend([told.message, Message::user("run date")]);
    let again = ask(conversation, &TOOLS);
    let Some(Part::ToolCall { id, .. }) = again.message.parts.last() else { panic!() };
    assert_eq!(&**id, "rehearsal_2");
}

#[test]
fn it_recalls_only_what_it_was_given() {
    let mut request = Request::new(NAME, vec![Message::user("What do you know about the cat?")]);
    let text = "Memory:\n- The cat is called Tom\n- Tea at five".into();
    request.system = vec![SystemBlock { text, cache: crate::request::CacheHint::None }];
    assert_eq!(
        gather(&request).text(),
        "In what I was given here, this mentions it:\n> - The cat is called Tom"
    );
}

#[test]
fn it_streams_in_pieces_and_the_same_request_gets_the_same_events() {
    let request = Request::new(NAME, vec![Message::user("help")]);
    let once = events(&request, &answer(&request));
    assert_eq!(once, events(&request, &answer(&request)));
    assert!(once.iter().filter(|event| matches!(event, Event::TextDelta(_))).count() > 5);
    assert!(matches!(once.last(), Some(Event::Done(StopReason::Finished))));
}

#[test]
fn tools_that_must_not_be_called_are_not() {
    let mut request = Request::new(NAME, vec![Message::user("run date")]);
    request.tools = [ToolSchema::new("terminal", "Runs.", "{}").unwrap()].into();
    request.tool_choice = ToolChoice::None;
    assert!(calls(&gather(&request)).is_empty());
}
