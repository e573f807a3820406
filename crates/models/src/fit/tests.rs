//! Conversations that went wrong, and what becomes of them.

use super::*;
use crate::request::{Image, Part, Role, SystemBlock};
use std::sync::Arc;

const FREE: Fit = Fit {
    pictures: Pictures::Shown(Taken::Anywhere),
    tool_pictures: ToolPictures::After,
    calls: Calls::Together,
    turns: Turns::Free,
    ids: Ids::Kept,
    system: System::Apart,
};
const STRICT: Fit = Fit { calls: Calls::Single, turns: Turns::Alternating, ids: Ids::Nine, ..FREE };

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

fn says(words: &str) -> Message {
    Message::assistant(vec![text(words)])
}

fn answer(parts: Vec<Part>) -> Message {
    Message::assistant(parts)
}

/// Each message in a line: who, and what.
fn told(messages: Vec<Message>, fit: Fit) -> Vec<String> {
    let request = Request::new("m", messages);
    fitted(&request, &fit).iter().map(|message| line(message)).collect()
}

fn line(message: &Message) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => text.to_string(),
        Part::Image(_) => "<picture>".to_owned(),
        Part::ToolCall { id, name, arguments } => format!("{name}#{id}{arguments}"),
        Part::ToolResult { call_id, content, is_error } => {
            let mark = if *is_error { "!" } else { "" };
            format!("#{call_id}{mark}={}", crate::request::text_of(content))
        }
        Part::Reasoning { text, .. } => format!("({text})"),
    };
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "model",
        Role::Tool => "tool",
    };
    format!("{role}: {}", message.parts.iter().map(part).collect::<Vec<_>>().join("|"))
}

#[test]
fn what_is_in_order_is_not_touched() {
    let request = Request::new("m", vec![Message::user("a"), says("b"), Message::user("c")]);
    let fitted = fitted(&request, &FREE);
    assert!(fitted.iter().all(|message| matches!(message, Cow::Borrowed(_))));
}

#[test]
fn every_call_has_its_result_and_every_result_its_call() {
    let result = |id: &str, words: &str| Message::tool_result(id, words);
    let messages = vec![
        result("lost", "nobody asked"),
        Message::user("go"),
        answer(vec![call("a", "x", "{}"), call("b", "y", "{}")]),
        Message::user("and?"),
        result("b", "late"),
        result("b", "twice"),
        says("so"),
        result("a", "too late"),
        Message::user("next"),
        answer(vec![call("a", "x", "{}")]),
    ];
    assert_eq!(
        told(messages, FREE),
        [
            "user: go",
            "model: x#a{}|y#b{}",
            "tool: #a!=this call was stopped and its outcome is unknown|#b=late",
            "user: and?",
            "model: so",
            "user: next",
            "model: x#a_3{}",
            "tool: #a_3!=this call was stopped and its outcome is unknown",
        ]
    );
}

#[test]
fn arguments_that_are_no_object_go_back_empty_beside_their_refusal() {
    let refused = "the arguments are not a JSON object";
    for arguments in ["{\"a\":", "[1]", "null", "\"x\"", "{\"a\":\"\\ud800\"}", "{} {}"] {
        let messages = vec![
            Message::user("go"),
            answer(vec![call("a", "look at this!", arguments)]),
            Message::tool_result("a", refused),
        ];
        let expected = [
            "user: go".to_owned(),
            "model: look_at_this_#a{}".to_owned(),
            format!("tool: #a={refused}"),
        ];
        assert_eq!(told(messages, FREE), expected, "{arguments}");
    }
}

#[test]
fn ids_and_names_are_such_as_every_server_takes() {
    let long = "x".repeat(100);
    let mut messages = vec![Message::user("go")];
    for (id, name) in [("", ""), ("a b", "ä"), ("a_b", "t"), (&*long, &*long), (&*long, "t")] {
        messages.push(answer(vec![call(id, name, "{}")]));
        messages.push(Message::tool_result(id, "ok"));
    }
    let request = Request::new("m", messages);
    for fit in [FREE, STRICT] {
        let mut ids = std::collections::HashSet::new();
        for message in fitted(&request, &fit) {
            for part in &message.parts {
                let Part::ToolCall { id, name, .. } = part else { continue };
                let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                assert!(!id.is_empty() && id.len() <= 40 && id.chars().all(is_plain), "{id}");
                assert!(!name.is_empty() && name.len() <= 64 && name.chars().all(is_plain));
                assert!(ids.insert(id.clone()), "{id} twice");
                assert!(fit.ids == Ids::Kept || id.len() == 9, "{id}");
            }
        }
        assert_eq!(ids.len(), 5);
    }
}

#[test]
fn person_and_model_take_turns_where_a_template_wants_it() {
    let messages = vec![
        says("before all"),
        Message::user("a"),
        Message::user("b"),
        answer(vec![text("let me look"), call("1", "x", "{}"), call("2", "y", "{}")]),
        Message::tool_result("1", "one"),
        Message::tool_result("2", "two"),
        Message::user("stop"),
        answer(vec![Part::Reasoning { text: "hm".into(), signature: None }]),
        Message::user(" "),
        says("c"),
        says("d"),
    ];
    assert_eq!(
        told(messages, STRICT),
        [
            "user: [the conversation began earlier]",
            "model: before all",
            "user: a|\n\n|b",
            "model: let me look|x#call00001{}",
            "tool: #call00001=one",
            "model: y#call00002{}",
            "tool: #call00002=two",
            "model: [no answer was given]",
            "user: stop|\n\n|[an empty message]",
            "model: c|\n\n|d",
            "user: [go on]",
        ]
    );
}

#[test]
fn an_answer_is_missed_only_where_one_was_to_be_given() {
    let picture = || Part::Image(Image::from_url("data:image/png;base64,AAAA"));
    let shown = |id: &str| Part::ToolResult {
        call_id: id.into(),
        content: vec![text("done"), picture()],
        is_error: false,
    };
    let messages = vec![
        Message::user("a"),
        answer(vec![call("1", "x", "{}")]),
        Message::new(Role::Tool, vec![shown("1")]),
        says("nice"),
        Message::user("b"),
        answer(vec![call("2", "y", "{}")]),
        Message::user("c"),
    ];
    let sees = Fit { tool_pictures: ToolPictures::After, ..STRICT };
    assert_eq!(
        told(messages, sees),
        [
            "user: a",
            "model: x#call00001{}",
            "tool: #call00001=done",
            "model: [pictures follow]",
            "user: Images from the tool results above:|<picture>",
            "model: nice",
            "user: b",
            "model: y#call00002{}",
            "tool: #call00002!=this call was stopped and its outcome is unknown",
            "model: [the call was not finished]",
            "user: c",
        ]
    );
}

#[test]
fn pictures_are_words_where_they_cannot_be_seen() {
    let picture = |url: &str| Part::Image(Image::from_url(url));
    let png = || picture("data:image/png;base64,AAAA");
    let with =
        |part: Part| Part::ToolResult { call_id: "1".into(), content: vec![part], is_error: false };
    let messages = || {
        vec![
            Message::new(Role::User, vec![png(), picture("http://x.test/a.png")]),
            answer(vec![png(), call("1", "x", "{}")]),
            Message::new(Role::Tool, vec![with(png())]),
        ]
    };
    let blind = Fit { pictures: Pictures::InWords, ..FREE };
    let inline = "[a picture, image/png, 1 KB; this model can't be shown it]";
    let away = "[a picture at http://x.test/a.png; this model can't be shown it]";
    assert_eq!(
        told(messages(), blind),
        [
            format!("user: {inline}|{away}"),
            "model: [an image]|x#1{}".to_owned(),
            "tool: #1=[no output]".to_owned(),
            format!("user: Images from the tool results above:|{inline}"),
        ]
    );
    let https = Fit { pictures: Pictures::Shown(Taken::Https), ..FREE };
    let https = Fit { tool_pictures: ToolPictures::Inside, ..https };
    assert_eq!(told(messages(), https)[0], format!("user: <picture>|{away}"));
    let odd = vec![Message::new(Role::User, vec![picture("data:image/svg+xml;base64,AAAA")])];
    assert!(told(odd, FREE)[0].contains("image/svg+xml"), "a kind that nobody takes");
}

#[test]
fn where_nothing_but_words_is_known_all_is_in_words() {
    let mut request = Request::new(
        "m",
        vec![
            Message::user("go"),
            answer(vec![call("1", "x", "{\"a\":1}")]),
            Message::tool_result("1", "one"),
            Message::user("and?"),
        ],
    );
    request.system =
        vec![SystemBlock { text: "be kind".into(), cache: crate::request::CacheHint::None }];
    let tool = crate::request::ToolSchema::new("x", "does x", "{}").unwrap();
    request.tools = Arc::new([tool]);
    let flat = Fit { calls: Calls::InWords, ..STRICT };
    let lines: Vec<String> = fitted(&request, &flat).iter().map(|it| line(it)).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("user: be kind") && lines[0].ends_with("|go"), "{}", lines[0]);
    assert!(lines[0].contains("does x"), "{}", lines[0]);
    assert!(lines[1].starts_with("model: <tool_call>") && lines[1].contains("\"a\":1"));
    assert!(lines[2].contains("<tool_response>") && lines[2].ends_with("and?"), "{}", lines[2]);
}
