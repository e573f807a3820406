//! Answers that break off, and answers that end before their end.

use crate::turns::support::{Fixture, build, end, says, scripted};
use insula_store::{Cut, TurnId};
use insula_testkit::upstream::{Seen, Step, Upstream, answer, event_stream};
use insula_testkit::world;
use insula_turns::{TurnEnd, TurnEvent};
use serde_json::json;

/// A stream that ends in the middle of a tool call.
fn half_a_call() -> Vec<Step> {
    let function = json!({ "name": "todo", "arguments": "{\"todos\": [" });
    let call = json!({ "index": 0, "id": "c", "type": "function", "function": function });
    let delta = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] });
    event_stream([&*delta.to_string()])
}

/// A stream that ends after some words.
fn half_a_reply() -> Vec<Step> {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": "some words of it" } }] });
    event_stream([&*delta.to_string()])
}

fn ends_with(text: &str, reason: &str) -> Vec<Step> {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let stop = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    event_stream([&*delta.to_string(), &stop.to_string(), "[DONE]"])
}

/// A daemon whose agents ask `first`, then `second`, each by a path of its own.
async fn chained(script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static) -> Fixture {
    let (world, _handles) = world(7);
    let upstream = Upstream::start(&world, script).await.unwrap();
    let (first, second) = (upstream.url("/first"), upstream.url("/second"));
    let config = format!(
        "model: [first/one, second/two]\nproviders:\n  first: {{kind: openai, base_url: \"{first}\"}}\n  second: {{kind: openai, base_url: \"{second}\"}}\nagents:\n  a: {{tools: minimal}}\n"
    );
    build(world, config, Some(upstream)).await
}

fn models(fixture: &Fixture) -> Vec<String> {
    let seen = fixture.upstream().seen();
    seen.iter().map(|seen| seen.json()["model"].as_str().unwrap().to_owned()).collect()
}

async fn usage(fixture: &Fixture, turn: TurnId) -> insula_store::Usage {
    let agent = insula_domain::AgentId::new("a").unwrap();
    fixture.daemon.store_of(&agent).turn(turn).await.unwrap().unwrap().usage
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_off_unseen_is_asked_for_again_and_both_are_paid() {
    let fixture =
        scripted(|_, number| if number == 0 { half_a_call() } else { says("done") }).await;
    let handle = fixture.submit("c", "hello").await;
    let turn = handle.turn;
    let TurnEnd::Replied { text, usage: told, cut, .. } = end(handle).await else {
        panic!("no reply")
    };
    assert_eq!((text.as_str(), cut), ("done", None));
    assert_eq!(models(&fixture), ["model", "model"]);
    let kept = usage(&fixture, turn).await;
    assert_eq!((kept.input, kept.output), (told.input, told.output));
    let once = scripted(|_, _| says("done")).await;
    let handle = once.submit("c", "hello").await;
    let turn = handle.turn;
    end(handle).await;
    assert!(kept.input >= 2 * usage(&once, turn).await.input, "{kept:?}");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_breaks_off_twice_leaves_the_word_to_the_next() {
    let fixture = chained(|seen, _| match seen.line.contains("first") {
        true => half_a_call(),
        false => says("from the second"),
    })
    .await;
    assert_eq!(fixture.say("a", "c", "hello").await, "from the second");
    assert_eq!(models(&fixture), ["one", "one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn when_every_answer_breaks_off_the_turn_fails_and_the_next_one_is_clean() {
    let fixture = chained(|_, number| if number < 4 { half_a_call() } else { says("well") }).await;
    let ended = end(fixture.submit("c", "hello").await).await;
    let TurnEnd::Failed { error } = ended else { panic!("{ended:?}") };
    assert!(error.contains("broke off"), "{error}");
    assert_eq!(models(&fixture), ["one", "one", "two", "two"]);
    assert_eq!(fixture.say("a", "c", "again").await, "well");
}

#[tokio::test(start_paused = true)]
async fn words_that_can_be_taken_back_are_and_the_answer_is_asked_for_again() {
    let words = r#"{"choices":[{"index":0,"delta":{"content":"some words of it"}}]}"#;
    let dropped = [half_a_reply()[..2].to_vec(), vec![Step::Close]].concat();
    let error = event_stream([words, r#"{"error":{"message":"the backend went away"}}"#]);
    for first in [half_a_reply(), dropped, error] {
        let fixture = scripted(move |_, number| match number {
            0 => first.clone(),
            _ => says("done"),
        })
        .await;
        let mut handle = fixture.submit("c", "hello").await;
        let mut heard = vec![];
        let ended = loop {
            match handle.events.recv().await.unwrap() {
                TurnEvent::Ended(end) => break end,
                event @ (TurnEvent::Text(_) | TurnEvent::Void) => heard.push(event),
                _ => {}
            }
        };
        let TurnEnd::Replied { text, .. } = ended else { panic!("{ended:?}") };
        assert_eq!((text.as_str(), models(&fixture).len()), ("done", 2));
        let void = heard.iter().position(|event| *event == TurnEvent::Void).unwrap();
        let said = |events: &[TurnEvent]| -> String {
            let texts = events.iter().filter_map(|event| match event {
                TurnEvent::Text(text) => Some(text.as_str()),
                _ => None,
            });
            texts.collect()
        };
        assert!("some words of it".starts_with(&said(&heard[..void])), "{heard:?}");
        assert_eq!(said(&heard[void..]), "done");
    }
}

#[tokio::test(start_paused = true)]
async fn words_that_were_seen_are_not_said_twice_and_are_paid() {
    let fixture = chained(|_, _| half_a_reply()).await;
    let mut handle = fixture.submit("c", "hello").await;
    handle.words_are_final();
    let turn = handle.turn;
    let mut heard = String::new();
    let ended = loop {
        match handle.events.recv().await.unwrap() {
            TurnEvent::Text(text) => heard += &text,
            TurnEvent::Ended(end) => break end,
            _ => {}
        }
    };
    assert!(matches!(ended, TurnEnd::Failed { .. }), "{ended:?}");
    assert!("some words of it".starts_with(&heard), "{heard}");
    assert_eq!(models(&fixture), ["one"]);
    let usage = usage(&fixture, turn).await;
    assert!(usage.input > 0 && usage.output > 0, "{usage:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_one_model_refuses_is_offered_to_the_next() {
    for (status, body) in [
        (400, json!({ "error": { "message": "no pictures" } })),
        (302, json!({})),
        (400, json!({ "error": { "code": "context_length_exceeded", "message": "x" } })),
        (413, json!({})),
    ] {
        let fixture = chained(move |seen, _| match seen.line.contains("first") {
            true => vec![answer(status, &[], &body.to_string())],
            false => says("from the second"),
        })
        .await;
        assert_eq!(fixture.say("a", "c", "hello").await, "from the second", "{status}");
        assert_eq!(models(&fixture), ["one", "two"], "{status}");
    }
}

#[tokio::test]
async fn a_reply_that_ends_before_its_end_says_why_then_and_later() {
    for (reason, cut) in [
        ("length", Some(Cut::Length)),
        ("content_filter", Some(Cut::Filtered)),
        ("stop", None),
        ("something_new", None),
    ] {
        let fixture = scripted(move |_, _| ends_with("as far as this", reason)).await;
        let handle = fixture.submit("c", "hello").await;
        let turn = handle.turn;
        let first = end(handle).await;
        let TurnEnd::Replied { text, cut: told, .. } = &first else { panic!("{first:?}") };
        assert_eq!((text.as_str(), *told), ("as far as this", cut), "{reason}");
        let (inbound, _) = fixture.inbound("a", "c", "");
        let again = fixture.engine.ended(&inbound.agent, turn).await.unwrap().unwrap();
        assert_eq!(end(again).await, first, "{reason}");
    }
}

#[tokio::test]
async fn a_reply_that_was_cut_off_for_its_circles_says_so() {
    let fixture = scripted(|_, _| says(&"and again. ".repeat(500))).await;
    let handle = fixture.submit("c", "hello").await;
    let turn = handle.turn;
    let told = end(handle).await;
    assert!(matches!(told, TurnEnd::Replied { cut: Some(Cut::Repeating), .. }), "{told:?}");
    let agent = insula_domain::AgentId::new("a").unwrap();
    let kept = fixture.daemon.store_of(&agent).turn(turn).await.unwrap().unwrap();
    assert_eq!(kept.cut, Some(Cut::Repeating));
}
