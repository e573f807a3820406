//! C8: streams whose token is taken away while they run.

use super::socket::Socket;
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside::Reading;
use crate::ground::{Ground, Token};
use crate::puppet::{Act, Script};
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};
use std::time::Duration;

/// How soon a stream has to end. Only a stream that goes on takes that long.
const AT_ONCE: Duration = Duration::from_secs(10);

fn revoke(ground: &Ground, token: &Token) -> Result<()> {
    let answer = ground.admin("DELETE", &format!("/api/tokens/{}", token.id), &Value::Null)?;
    anyhow::ensure!((200..300).contains(&answer.status), "{answer:?}");
    Ok(())
}

/// A reply that has begun, by one of the two endpoints.
fn begun(ground: &Ground, token: &Token, agent: &str, path: &str) -> Result<Reading> {
    let tag = ground.puppets.learn(Script::steps(vec![Act::Stall("half a ".to_owned())]));
    let text = format!("begin {tag}");
    let body = match path {
        "/v1/responses" => json!({ "model": agent, "input": text, "stream": true }),
        _ => {
            json!({ "model": agent, "messages": [{ "role": "user", "content": text }], "stream": true })
        }
    };
    let mut reading =
        Reading::open(ground.listen()?, &token.text, "POST", path, &body.to_string())?;
    reading.until("half a ")?;
    Ok(reading)
}

fn reply(ground: &Ground, path: &str) -> Outcome {
    let token = ground.mint("a", &["chat"])?;
    let reading = begun(ground, &token, "a", path)?;
    let kept = begun(ground, ground.token("a")?, "a", path)?;
    revoke(ground, &token)?;
    let Some(rest) = reading.rest(AT_ONCE) else {
        return Ok(Verdict::Broken("the stream goes on after its token is gone".to_owned()));
    };
    hold!(!rest.contains("[DONE]") && !rest.contains("response.completed"), "{rest}");
    hold!(rest.contains("token_revoked"), "it does not say why: {rest}");
    // Another token's stream of the same agent stays.
    control!(kept.rest(Duration::from_millis(300)).is_none(), "every stream was cut");
    let refused = ground.api(&token.text, "GET", "/v1/models", &Value::Null)?;
    hold!(refused.status == 401, "the token is still good: {refused:?}");
    Ok(Verdict::Held)
}

fn a_completion(ground: &Ground) -> Outcome {
    reply(ground, "/v1/chat/completions")
}

fn a_response(ground: &Ground) -> Outcome {
    reply(ground, "/v1/responses")
}

fn events(ground: &Ground) -> Outcome {
    let token = ground.mint("a", &["read"])?;
    let stream = Reading::open(ground.listen()?, &token.text, "GET", "/api/agents/a/events", "")?;
    let turn = ground.turn("a", "events-of-c8", Script::say("still heard"))?;
    control!(turn.reply == "still heard", "{turn:?}");
    let mut stream = stream;
    stream.until("still heard")?;
    revoke(ground, &token)?;
    ground.turn("a", "events-of-c8", Script::say("no longer heard"))?;
    match stream.rest(AT_ONCE) {
        None => Ok(Verdict::Broken("the stream stays open".to_owned())),
        Some(rest) if rest.contains("no longer heard") => Ok(Verdict::Broken(rest)),
        Some(_) => Ok(Verdict::Held),
    }
}

fn a_websocket(ground: &Ground) -> Outcome {
    let (token, kept) = (ground.mint("a", &["chat"])?, ground.mint("a", &["chat"])?);
    let mut cut = Socket::open(ground.listen()?, &token.text)?;
    let mut stays = Socket::open(ground.listen()?, &kept.text)?;
    revoke(ground, &token)?;
    let code = cut.closed()?;
    hold!(code == Some(1008), "it was closed with {code:?}");
    stays.say(&json!({ "type": "join" }))?;
    control!(stays.wait_for("joined").is_ok(), "every socket was cut");
    Ok(Verdict::Held)
}

fn of_an_agent_that_is_deleted(ground: &Ground) -> Outcome {
    let body = json!({ "agents": ["gone", "a"], "verbs": ["chat"] });
    let made = ground.admin("POST", "/api/tokens", &body)?.json();
    let text = |key: &str| made[key].as_str().unwrap_or_default().to_owned();
    let token = Token { id: text("id"), text: text("token") };
    let reading = begun(ground, &token, "gone", "/v1/chat/completions")?;
    let told = ground.cli(&["agents", "delete", "gone", "--yes"]);
    control!(told.code == Some(0), "it can't be deleted: {told:?}");
    let rest = reading.rest(AT_ONCE);
    hold!(
        rest.is_some_and(|rest| !rest.contains("[DONE]")),
        "the stream of a deleted agent goes on"
    );
    // That token now has one agent less.
    let refused = ground.api(
        &token.text,
        "POST",
        "/v1/chat/completions",
        &json!({ "model": "gone", "messages": [{ "role": "user", "content": "hi" }] }),
    )?;
    hold!(refused.status == 404, "{refused:?}");
    let own = ground.turn_with(&token.text, "a", "narrowed", "", Script::say("still mine"))?;
    control!(own.reply == "still mine", "its other agent is gone too: {:?}", own.answer);
    Ok(Verdict::Held)
}

/// C8. A token can't be narrowed but by the end of one of its agents.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "C8", variant: "revoked, on a streamed completion", run: a_completion },
    Attempt { row: "C8", variant: "revoked, on a streamed response", run: a_response },
    Attempt { row: "C8", variant: "revoked, on the stream of events", run: events },
    Attempt { row: "C8", variant: "revoked, on a websocket", run: a_websocket },
    Attempt {
        row: "C8",
        variant: "narrowed by the end of an agent",
        run: of_an_agent_that_is_deleted,
    },
];
