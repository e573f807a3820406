//! Turns that fail: each is found again with the true reason, in the journal, beside it, in the
//! audit and in the figures; and a chat is told what it can do.

use crate::turns::support::{Fixture, calls, end, says, scripted};
use insula_capabilities::failures::cause;
use insula_domain::FailureCause::{self, *};
use insula_store::TurnId;
use insula_testkit::upstream::{Seen, Step, answer, event_stream};
use insula_turns::TurnEnd;
use serde_json::{Value, json};

/// What a provider says that must stand in no record and no log.
const WORDS: &str = "words of the provider";

fn refused(status: u16, kind: &str) -> Vec<Step> {
    let body =
        json!({ "error": { "message": format!("{WORDS} {kind}"), "type": kind, "code": kind } });
    // Longer than anybody waits, so that nothing is asked again.
    let headers = [("content-type", "application/json"), ("retry-after", "36000")];
    vec![answer(status, &headers, &body.to_string())]
}

/// What a provider does that is told a kind of failure.
fn broken(kind: &str) -> Vec<Step> {
    match kind {
        "key" => refused(401, "invalid_api_key"),
        "credit" => refused(402, "insufficient_quota"),
        "rate" => refused(429, "rate_limit_exceeded"),
        "busy" => refused(503, "overloaded"),
        "model" => refused(404, "model_not_found"),
        "request" => refused(400, "invalid_request"),
        "long" => refused(400, "context_length_exceeded"),
        "garbage" => vec![answer(200, &[("content-type", "text/event-stream")], "data: {{{\n\n")],
        "half" => {
            let delta =
                json!({ "choices": [{ "index": 0, "delta": { "content": "some of it" } }] });
            event_stream([&*delta.to_string()])
        }
        "nothing" => event_stream([
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ]),
        "circles" => calls("c", "todo", r#"{"todos": [{"id": "1", "content": "again"}]}"#),
        _ => says("fine"),
    }
}

/// The kinds, and what each is a failure by.
const KINDS: [(&str, FailureCause, &str); 11] = [
    ("key", KeyRefused, "refused the key (401)"),
    ("credit", Unpaid, "used up (402)"),
    ("rate", RateLimited, "limits the rate"),
    ("busy", Overloaded, "overloaded or broken (503)"),
    ("model", NoSuchModel, "no such model or address (404)"),
    ("request", RequestRefused, "refused the request (400)"),
    ("long", TooLong, "too long for this model"),
    ("garbage", Unreadable, "unreadable"),
    ("half", CutOff, "broke off"),
    ("nothing", SaidNothing, "model `fake/model` gave no answer, twice over"),
    ("circles", InCircles, "again and again"),
];

fn script(seen: &Seen, _: usize) -> Vec<Step> {
    let body = seen.json()["messages"].to_string();
    let kind = KINDS.iter().find(|(kind, ..)| body.contains(&format!("fail by {kind}.")));
    broken(kind.map_or("", |(kind, ..)| kind))
}

async fn failed(fixture: &Fixture, chat: &str, kind: &str) -> (TurnId, String) {
    let handle = fixture.submit(chat, &format!("fail by {kind}.")).await;
    let turn = handle.turn;
    match end(handle).await {
        TurnEnd::Failed { error } => (turn, error),
        other => panic!("{kind}: {other:?}"),
    }
}

#[tokio::test]
async fn twenty_two_turns_of_eleven_kinds_fail_and_each_is_found_with_the_true_reason() {
    let fixture = scripted(script).await;
    let agent = fixture.daemon.agent("a");
    let mut turns = Vec::new();
    for round in 0..2 {
        for (kind, cause, said) in KINDS {
            let (turn, error) = failed(&fixture, &format!("{kind}-{round}"), kind).await;
            assert!(error.contains(said), "{kind}: {error}");
            turns.push((turn, cause, said));
        }
    }
    let records = agent.store.audit_tail(1_000).await.unwrap();
    for (turn, why, said) in &turns {
        let known = agent.store.turn(*turn).await.unwrap().unwrap();
        assert!(known.error.as_deref().unwrap().contains(said), "{why:?}: {:?}", known.error);
        assert_eq!(cause(&agent, *turn).await.unwrap(), Some(*why));
        let is_it = |content: &Value| content["turn"] == json!(turn.0);
        let record = records.iter().filter(|it| &*it.kind == "turn.failed").find_map(|it| {
            let content: Value = serde_json::from_str(it.content.as_deref()?).ok()?;
            is_it(&content).then_some(content)
        });
        let record = record.unwrap_or_else(|| panic!("{why:?} has no record"));
        assert_eq!(record["cause"], why.as_str());
        if *why != InCircles {
            assert_eq!(record["asked"][0]["model"], "fake/model", "{record}");
            assert!(record["tries"].as_u64() > Some(0), "{record}");
        }
        assert!(!record.to_string().contains(WORDS), "{record}");
        let notes = agent.store.turn_notes(*turn).await.unwrap();
        assert!(notes.iter().all(|it| !it.note.contains(WORDS) && !it.note.contains("fail by")));
    }
    let counts: Vec<_> = fixture.engine.failures().all().filter(|(_, count)| *count > 0).collect();
    assert_eq!(counts.len(), KINDS.len());
    assert!(counts.iter().all(|(_, count)| *count == 2), "{counts:?}");
}

#[tokio::test]
async fn the_course_of_a_turn_tells_models_calls_and_stages() {
    let fixture = scripted(|_, number| match number {
        0 => calls("c", "todo", r#"{"todos": [{"id": "1", "content": "once"}]}"#),
        _ => says("done"),
    })
    .await;
    let handle = fixture.submit("one", "go").await;
    let turn = handle.turn;
    end(handle).await;
    let agent = fixture.daemon.agent("a");
    let notes = agent.store.turn_notes(turn).await.unwrap();
    let notes: Vec<Value> =
        notes.iter().map(|it| serde_json::from_str(&it.note).unwrap()).collect();
    let kinds: Vec<&str> = notes.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["began", "model", "call", "model"]);
    assert_eq!(notes[1]["tries"], 1, "{}", notes[1]);
    assert_eq!(notes[1]["model"], "fake/model");
    assert!(notes[1]["prompt_bytes"].as_u64().unwrap() > 100);
    assert!(notes[1]["first_ms"].as_u64() <= notes[1]["ms"].as_u64());
    let stages: Vec<&str> =
        notes[2]["gate"].as_array().unwrap().iter().map(|it| it[0].as_str().unwrap()).collect();
    let all = ["exposure", "policy", "hooks", "boundary", "integrity", "classifier", "approval"];
    assert_eq!(stages[..7], all);
    assert_eq!((&notes[2]["tool"], &notes[2]["verdict"]), (&json!("todo"), &json!("done")));
}
