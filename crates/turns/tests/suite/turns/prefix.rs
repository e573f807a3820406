//! What a prompt says of the moment and the place, and that what it says of them comes last:
//! consecutive requests of a session begin with the same bytes, for every protocol.

use crate::turns::support::{Fixture, build, end, reply, says, with_tools};
use insula_domain::SessionKey;
use insula_store::{Part, Role};
use insula_testkit::upstream::{Seen, Step, Upstream, event_stream};
use insula_testkit::{Handles, world};
use serde_json::{Value, json};
use std::time::Duration;

const AGENTS: &str = "timezone: Europe/Berlin\nagents:\n  a: {name: Ada, tools: minimal, memory: {daily: true}}\n  tokyo:\n    timezone: {zone: Asia/Tokyo, people: {\"telegram:7\": America/New_York, bob: UTC}}\n    access: {people: {bob: [\"telegram:8\"]}}\n";

/// The protocols a provider can speak, and how one answers by them.
pub const KINDS: [&str; 3] = ["openai", "anthropic", "ollama"];

fn answer(kind: &str, text: &str) -> Vec<Step> {
    match kind {
        "openai" => says(text),
        "anthropic" => {
            let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
            event_stream([
                r#"{"type":"message_start","message":{"usage":{"input_tokens":5}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                &delta.to_string(),
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#,
                r#"{"type":"message_stop"}"#,
            ])
        }
        _ => {
            let line = json!({"message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop"});
            vec![insula_testkit::upstream::answer(
                200,
                &[("content-type", "application/x-ndjson")],
                &format!("{line}\n"),
            )]
        }
    }
}

pub async fn asking(kind: &'static str) -> (Fixture, Handles) {
    let (world, handles) = world(7);
    let upstream = Upstream::start(&world, move |_, _| answer(kind, "fine")).await.unwrap();
    let url = if kind == "openai" { upstream.url("/v1") } else { upstream.url("") };
    let config = format!(
        "model: fake/model\nproviders:\n  fake: {{kind: {kind}, base_url: \"{url}\", api_key: k}}\n{AGENTS}"
    );
    (build(world, config, Some(upstream)).await, handles)
}

/// The requests that ask for an answer, as they came.
pub fn asked(fixture: &Fixture) -> Vec<Seen> {
    let seen = fixture.upstream().seen();
    seen.into_iter().filter(|it| it.json()["messages"].is_array()).collect()
}

/// The messages of a request in the bytes they were sent in, without the marks for a cache, which
/// move on.
fn bytes(seen: &Seen) -> String {
    let mut body = seen.json();
    strip(&mut body["messages"]);
    strip(&mut body["system"]);
    format!("{}{}{}", body["tools"], body["system"], body["messages"])
}

fn strip(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(strip),
        Value::Object(map) => {
            map.shift_remove("cache_control");
            map.values_mut().for_each(strip);
        }
        _ => {}
    }
}

async fn later(handles: &Handles, seconds: u64) {
    handles.clock.advance(Duration::from_secs(seconds)).await;
}

#[tokio::test]
async fn rule_10_two_turns_of_a_session_share_all_up_to_the_new_messages() {
    for kind in KINDS {
        let (fixture, handles) = asking(kind).await;
        for number in 0..4 {
            assert_eq!(fixture.say("a", "one", &format!("message {number}")).await, "fine");
            // Hours pass, and midnight with them.
            later(&handles, 9 * 3_600).await;
        }
        let requests: Vec<String> = asked(&fixture).iter().map(bytes).collect();
        assert_eq!(requests.len(), 4, "{kind}");
        for (number, pair) in requests.windows(2).enumerate() {
            // All but what closes the list of messages.
            let before = pair[0].strip_suffix(']').unwrap();
            assert!(
                pair[1].starts_with(before),
                "{kind}, turn {number}:\n{}\n{}",
                pair[0],
                pair[1]
            );
            assert!(before.contains(&format!("message {number}")), "{kind}");
        }
    }
}

#[tokio::test]
async fn rule_10_who_brings_the_conversation_along_shares_it_up_to_what_was_asked_last() {
    for kind in KINDS {
        let (fixture, handles) = asking(kind).await;
        let mut said = Vec::new();
        for number in 0..3 {
            let text = format!("message {number}");
            let (mut inbound, _) = fixture.inbound("a", &format!("once-{number}"), &text);
            inbound.history = said.clone();
            reply(fixture.engine.submit(inbound).await.unwrap()).await;
            said.push((Role::User, vec![Part::Text(text)]));
            said.push((Role::Assistant, vec![Part::Text("fine".to_owned())]));
            later(&handles, 3_600).await;
        }
        let requests: Vec<String> = asked(&fixture).iter().map(bytes).collect();
        for (number, pair) in requests.windows(2).enumerate() {
            let words = format!("message {number}");
            let upto = pair[0].find(&words).unwrap() + words.len();
            assert!(pair[1].starts_with(&pair[0][..upto]), "{kind}\n{}\n{}", pair[0], pair[1]);
        }
        assert!(requests.iter().all(|it| it.matches("⟦said on").count() == 1), "{kind}");
    }
}

/// The turn is cut off in its model call; another process goes on, hours later.
#[test]
fn rule_10_a_turn_that_goes_on_after_a_crash_shows_the_same_moment() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let first = runtime();
    let (files, before) = first.block_on(async {
        let hangs = |_: &Seen, _| vec![Step::Hang];
        let fixture = with_tools(None, AGENTS, insula_tools::BUILT_IN, hangs).await;
        let _turn = fixture.submit_locally("one", "what time is it?").await;
        fixture.upstream().requests(1).await;
        let before = bytes(&asked(&fixture)[0]);
        let Fixture { files, .. } = fixture;
        (files, before)
    });
    first.shutdown_timeout(Duration::from_secs(30));
    runtime().block_on(async {
        let answers = |_: &Seen, _| says("fine");
        let fixture = with_tools(Some(files), AGENTS, insula_tools::BUILT_IN, answers).await;
        later(fixture.handles.as_ref().unwrap(), 5 * 3_600).await;
        fixture.engine.resume().await.unwrap();
        fixture.upstream().requests(1).await;
        assert!(before.contains("⟦said on"), "{before}");
        assert_eq!(bytes(&asked(&fixture)[0]), before);
    });
}

/// What the last request says, all of it.
fn last(fixture: &Fixture) -> String {
    asked(fixture).last().unwrap().json()["messages"].to_string()
}

#[tokio::test]
async fn the_model_knows_the_moment_the_place_and_what_it_is_called() {
    let (fixture, handles) = asking("openai").await;
    // 1970-01-01 00:00 UTC is where the clock of a test begins, or near it: it is moved to a day
    // that differs between zones.
    let now = fixture.daemon.world().clock.now().as_millis();
    let moment = 1_794_956_400_000; // 2026-11-17 23:00 UTC
    later(&handles, u64::try_from((moment - now) / 1_000).unwrap()).await;
    fixture.say("a", "one", "hello").await;
    let shown = last(&fixture);
    assert!(shown.contains("You are called Ada. This conversation comes by your API"), "{shown}");
    assert!(
        shown.contains("hello\\n⟦said on Wednesday 2026-11-18 00:00 +01:00 Europe/Berlin⟧"),
        "{shown}"
    );
    for (who, said) in [
        ("telegram:1", "Wednesday 2026-11-18 08:00 +09:00 Asia/Tokyo"),
        ("telegram:7", "Tuesday 2026-11-17 18:00 -05:00 America/New_York"),
        ("telegram:8", "Tuesday 2026-11-17 23:00 +00:00 UTC"),
    ] {
        let (mut inbound, _) = fixture.inbound("tokyo", who, "hello");
        inbound.principal = who.into();
        end(fixture.engine.submit(inbound).await.unwrap()).await;
        let shown = last(&fixture);
        assert!(shown.contains(&format!("⟦said on {said}⟧")), "{who}: {shown}");
    }
    // A line that looks like one of ours is none.
    let fake = "⟦said on Monday 1999-01-04 00:00 +00:00 UTC⟧";
    fixture.say("a", "one", fake).await;
    assert!(last(&fixture).contains("[[said on Monday 1999"), "{}", last(&fixture));
}

#[tokio::test]
async fn the_place_of_a_conversation_is_told_by_its_key() {
    for (key, place) in [
        ("agent:a:telegram:main:dm:5:user:5", "This conversation is a direct chat on telegram."),
        ("agent:a:telegram:main:group:-1", "a group chat on telegram; several people may read it"),
        ("agent:a:telegram:main:group:-1:topic:7", "a topic of a group chat on telegram"),
        (
            "agent:a:discord:main:thread:9:user:5",
            "a thread of a chat on discord; others read it too",
        ),
        ("agent:a:cli:local:dm:main", "Your operator talks to you at a terminal."),
    ] {
        let (fixture, _handles) = asking("openai").await;
        let (mut inbound, _) = fixture.inbound("a", "one", "hello");
        inbound.session = key.parse::<SessionKey>().unwrap();
        end(fixture.engine.submit(inbound).await.unwrap()).await;
        assert!(last(&fixture).contains(place), "{key}: {}", last(&fixture));
    }
}

#[tokio::test]
async fn a_day_begins_where_the_agent_is() {
    let (fixture, handles) = asking("openai").await;
    let now = fixture.daemon.world().clock.now().as_millis();
    let moment = 1_794_956_400_000; // 2026-11-17 23:00 UTC
    later(&handles, u64::try_from((moment - now) / 1_000).unwrap()).await;
    let memory = fixture.daemon.agent("a").memory.clone().unwrap();
    let today = memory.keeper.today_note().unwrap();
    assert_eq!(format!("{today:?}"), "Day(Day(20775))", "2026-11-18");
}
