//! Answers that say nothing, conversations that a server would refuse, and what every request has
//! in common with the next.

use crate::turns::support::{
    Fixture, build, calls, end, reply, says, scripted, shown, shown_apart,
};
use insula_domain::AgentId;
use insula_store::{Part, TurnId, TurnStatus};
use insula_testkit::model::configured;
use insula_testkit::upstream::{Seen, Step, Upstream, answer, event_stream};
use insula_testkit::world;
use insula_turns::TurnEnd;
use serde_json::json;
use std::net::IpAddr;

/// An answer with nothing but a thought in it.
fn thinks(reason: &str) -> Vec<Step> {
    let thought = json!({ "choices": [{ "index": 0, "delta": { "reasoning_content": "hm" } }] });
    let stop = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": 2 } });
    event_stream([&*thought.to_string(), &stop.to_string(), &usage.to_string(), "[DONE]"])
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_says_nothing_is_asked_for_once_more_and_both_are_paid() {
    for nothing in [thinks("stop"), says(" \n"), says("")] {
        let steps = nothing.clone();
        let fixture =
            scripted(move |_, number| if number == 0 { steps.clone() } else { says("here") }).await;
        let handle = fixture.submit("c", "hello").await;
        let TurnEnd::Replied { text, .. } = end(handle).await else { panic!("no reply") };
        assert_eq!(text, "here");
        let seen = fixture.upstream().seen();
        assert_eq!(seen.len(), 2);
        let again = shown_apart(&seen[1]);
        assert!(again[0].1 == "hello" && again[1].1.contains("was empty"), "{again:?}");
        // What it was told is said once: the next turn does not see it.
        fixture.say("a", "c", "next").await;
        let next = shown_apart(fixture.upstream().seen().last().unwrap());
        assert_eq!(next[0].1, "hello", "{next:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_twice_is_said_to_and_the_conversation_goes_on() {
    let fixture = scripted(|_, number| match number {
        0 | 1 => thinks("length"),
        _ => says("now I can"),
    })
    .await;
    let TurnEnd::Failed { error } = end(fixture.submit("c", "hello").await).await else {
        panic!("no failure")
    };
    assert!(error.contains("gave no answer, twice over"), "{error}");
    assert!(error.contains("max_tokens"), "{error}");
    // It has twice the room the second time, and the usual one afterwards.
    let room = |at: usize| fixture.upstream().seen()[at].json()["max_tokens"].as_u64().unwrap();
    assert_eq!(room(1), 2 * room(0));
    assert_eq!(fixture.say("a", "c", "and now?").await, "now I can");
    let last = shown_apart(fixture.upstream().seen().last().unwrap());
    assert_eq!(room(2), room(0));
    let said = ["hello", "and now?"].map(|text| ("user".to_owned(), text.to_owned()));
    assert_eq!(last, said);
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_no_object_do_not_stay_in_the_way() {
    // As a server that parses what it is sent back.
    let is_sound = |seen: &Seen| {
        let messages = seen.json()["messages"].as_array().cloned().unwrap_or_default();
        let calls = messages.iter().flat_map(|it| it["tool_calls"].as_array().cloned()).flatten();
        calls.into_iter().all(|call| {
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments).is_ok()
        })
    };
    let fixture = scripted(move |seen, number| match number {
        _ if !is_sound(seen) => vec![answer(500, &[], "json.exception.parse_error.101")],
        0 => calls("c1", "todo", "{\"todos\": [oops"),
        _ => says("I see"),
    })
    .await;
    assert_eq!(fixture.say("b", "one", "go").await, "I see");
    let told = shown(&fixture.upstream().seen()[1]);
    assert!(told.last().unwrap().1.starts_with("refused"), "{told:?}");
    assert_eq!(fixture.say("b", "one", "and again").await, "I see");
}

async fn seeing(script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static) -> Fixture {
    let (world, _handles) = world(7);
    let upstream = Upstream::start(&world, script).await.unwrap();
    let config = configured(&upstream, "llava", "agents:\n  a: {tools: minimal}\n");
    build(world, config, Some(upstream)).await
}

#[tokio::test(start_paused = true)]
async fn a_picture_that_a_model_cannot_take_is_in_words_from_then_on() {
    let has_picture = |seen: &Seen| String::from_utf8_lossy(&seen.body).contains("image_url");
    let fixture = seeing(move |seen, _| match has_picture(seen) {
        true => vec![answer(400, &[], r#"{"error":{"message":"no image input here"}}"#)],
        false => says("all right"),
    })
    .await;
    let (mut inbound, _) = fixture.inbound("a", "one", "look");
    inbound.parts.push(Part::Image {
        source: "data:image/png;base64,AAAA".into(),
        media_type: "image/png".into(),
    });
    assert_eq!(reply(fixture.engine.submit(inbound).await.unwrap()).await, "all right");
    assert_eq!(fixture.upstream().seen().len(), 2, "shown, and then told");
    for number in 0..3 {
        assert_eq!(fixture.say("a", "one", "go on").await, "all right");
        assert_eq!(fixture.upstream().seen().len(), 3 + number, "never shown again");
    }
    let last = shown(fixture.upstream().seen().last().unwrap());
    assert!(last[0].1.contains("a picture, image/png"), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn the_key_of_a_cache_is_one_for_each_conversation_of_an_agent_and_says_nothing() {
    let (world, handles) = world(7);
    let upstream = Upstream::start(&world, |_, _| says("ok")).await.unwrap();
    let address = upstream.address();
    handles.network.name("api.openai.com", [IpAddr::from([127, 0, 0, 1])]);
    let config = format!(
        "model: p/gpt-4o\nproviders:\n  p: {{kind: openai, base_url: \"http://api.openai.com:{}/v1\", api_key: k}}\nagents:\n  a: {{tools: minimal}}\n  b: {{tools: minimal}}\n",
        address.port()
    );
    let fixture = build(world, config, Some(upstream)).await;
    for (agent, chat) in [("a", "one"), ("a", "one"), ("a", "two"), ("b", "one")] {
        fixture.say(agent, chat, "hello").await;
    }
    let keys: Vec<String> = fixture
        .upstream()
        .seen()
        .iter()
        .map(|seen| seen.json()["prompt_cache_key"].as_str().unwrap().to_owned())
        .collect();
    let [first, again, other_chat, other_agent] = &keys[..] else { panic!("{keys:?}") };
    assert_eq!(first, again, "a conversation keeps its own");
    assert!(first != other_chat && first != other_agent && other_chat != other_agent, "{keys:?}");
    for key in &keys {
        assert_eq!(key.len(), 32);
        assert!(key.chars().all(|c| c.is_ascii_hexdigit()), "{key}");
    }
}

#[tokio::test]
async fn a_question_of_the_person_that_comes_back_to_them_is_sent_back_once() {
    const BACK: &str = r#"{"question":"What is your favourite tree?","choices":["oak","willow"]}"#;
    let once = |_: &Seen, number: usize| match number {
        0 => calls("c1", "clarify", BACK),
        _ => says("The willow."),
    };
    let fixture = scripted(once).await;
    assert_eq!(fixture.say("a", "c", "Which is my favourite tree?").await, "The willow.");
    let told = shown(fixture.upstream().seen().last().unwrap());
    let told = told.last().unwrap();
    assert!(told.1.contains("that is what the user asked you"), "{told:?}");
    // Who insists is passed on, and so is a question that asks for something.
    let fixture = scripted(|_, _| calls("c1", "clarify", BACK)).await;
    let asked = fixture.say("a", "c", "Which is my favourite tree?").await;
    assert!(asked.contains("What is your favourite tree?"), "{asked}");
    assert_eq!(fixture.upstream().seen().len(), 2);
    let asked = fixture.say("a", "c", "Tell me of a tree.").await;
    assert!(asked.contains("2. willow"), "{asked}");
    assert_eq!(fixture.upstream().seen().len(), 3);
}

#[tokio::test]
async fn an_answer_too_large_to_be_kept_ends_its_turn_and_not_the_conversation() {
    // As many calls as are taken, and words beside them: one part more than a message has.
    let calls = (0..256).map(|index| {
        json!({ "index": index, "id": index.to_string(), "type": "function",
            "function": { "name": "todo", "arguments": "{}" } })
    });
    let calls: Vec<_> = calls.collect();
    let delta = json!({ "content": "I do all.", "tool_calls": calls });
    let delta = json!({ "choices": [{ "index": 0, "delta": delta }] }).to_string();
    let fixture = scripted(move |_, number| match number {
        0 => event_stream([&*delta, "[DONE]"]),
        _ => says("here"),
    })
    .await;
    let TurnEnd::Failed { error } = end(fixture.submit("c", "hello").await).await else {
        panic!("no failure")
    };
    assert!(error.contains("at most 256"), "{error}");
    // It is over: whoever starts again does not go on with it.
    let store = fixture.daemon.store_of(&AgentId::new("a").unwrap());
    let turn = store.turn(TurnId(1)).await.unwrap().unwrap();
    assert_eq!(turn.status, TurnStatus::Failed);
    assert_eq!(fixture.say("a", "c", "and now?").await, "here");
}
