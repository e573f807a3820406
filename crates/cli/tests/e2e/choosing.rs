//! What a person does in a conversation at the terminal besides saying something: which model
//! answers, what was said taken back, notes of it, and which conversation goes on.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests start processes and fail by panicking"
)]

use crate::support::*;
use crate::terminal::Person;
use insula_testkit::{Home, Upstream, upstream};
use insula_world::World;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// A model that says which one it is and how many messages it was shown, and makes notes.
fn model() -> (Upstream, Runtime) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let world = World::real().unwrap();
    let script = |seen: &upstream::Seen, _: usize| {
        let asked = seen.json();
        let told = match asked["messages"][0]["content"].to_string().contains("You write the notes")
        {
            true => "Notes: a story was told.".to_owned(),
            false => {
                let count = asked["messages"].as_array().map_or(0, Vec::len);
                format!("I am {}, shown {count}", asked["model"].as_str().unwrap_or_default())
            }
        };
        let delta = json!({ "choices": [{ "index": 0, "delta": { "content": told }, "finish_reason": "stop" }] });
        upstream::event_stream([delta.to_string().as_str(), "[DONE]"])
    };
    let upstream = runtime.block_on(Upstream::start(&world, script)).unwrap();
    (upstream, runtime)
}

fn home_with(upstream: &Upstream) -> Home {
    configured(&format!(
        "providers: {{p: {{kind: openai, base_url: '{}'}}}}\nagents: {{a: {{name: Ada, default: true, model: p/one, model_choices: [p/two]}}}}\n",
        upstream.url("/v1")
    ))
}

#[test]
fn a_person_chooses_at_the_terminal_as_in_chats() {
    let (upstream, _runtime) = model();
    let home = home_with(&upstream);
    let _daemon = start_still(&home);
    let mut person = Person::runs(&home, &[], &["chat"]);
    person.waits_for_prompt("a");
    let mut says = |typed: &str, seen: &str| {
        person.types(&format!("{typed}\r"));
        person.waits_for_text(seen);
        person.waits_for_prompt("a");
        person.types("\x0c");
        person.waits_for("a clear screen", |seen| seen.trim() == "a ›");
    };
    says("/who", "nobody spoke here yet");
    says("hello", "I am one");
    says("/compress", "too little here");
    says("/model", "1. p/one");
    says("/model two", "p/two answers here from your next message on");
    says("hello again", "I am two");
    says("/model zzz", "`zzz` is none that you can choose");
    says("/model default", "p/one answers here");
    says("/who", "a (Ada) answers; in this conversation speak cli:local");
    says("/undo", "taken back");
    says("/retry", "I am one");
    says("/new", "a new conversation begins");
    says("another thing", "I am one");
    says("/sessions", "hello");
    says("/sessions helo", "did you mean");
    says("/sessions hello", "we go on where we were, in `terminal`: hello");
    says("/sessions hello", "that is this one");
    says("/session garden", "from here on in conversation `garden`");
    says("/undo", "nothing of yours to take back");
    says("/sessions hello", "we go on where we were, in `terminal`: hello");
    let listed = json(&home, &["chat", "-m", "/sessions"]);
    let current: Vec<&Value> =
        listed.as_array().unwrap().iter().filter(|it| it["ended"] == false).collect();
    assert_eq!((current.len(), &current[0]["title"]), (1, &json!("hello")), "{listed:#}");
    let asked = json(&home, &["chat", "-m", "/model"]);
    assert_eq!((&asked["models"], &asked["choices"][1]), (&json!(["p/one"]), &json!("p/two")));
}

#[test]
fn notes_that_were_asked_for_are_made_after_a_restart_too() {
    let (upstream, _runtime) = model();
    let home = home_with(&upstream);
    let daemon = start_still(&home);
    let story = "a long story of many words that nobody wants to send again ".repeat(20);
    for at in 1..=4 {
        insula(&home, &["chat", "-m", &format!("{at} {story}")]).ok();
    }
    assert_eq!(json(&home, &["chat", "-m", "/compress"])["done"], true);
    daemon.kill9().unwrap();
    let _daemon = start_still(&home);
    let before = upstream.seen().len();
    let shown = insula(&home, &["chat", "-m", "five"]).ok().stdout;
    assert_eq!(upstream.seen().len(), before + 2, "one call for the notes, one for the answer");
    let asked = upstream.seen()[before + 1].json().to_string();
    assert!(asked.contains("a story was told") && !asked.contains("4 a long story"), "{shown}");
    insula(&home, &["chat", "-m", "six"]).ok();
    assert_eq!(upstream.seen().len(), before + 3, "it was asked for once");
}
