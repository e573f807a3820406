//! C10: webhooks, and connections that cost nothing to open.

use super::scene::SECRET;
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::Ground;
use crate::machine::{self, Answer};
use crate::puppet::Script;
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};
use std::time::Duration;

/// Connections that say nothing.
const SILENT: usize = 10_000;

/// The headers of a request that is signed with this secret at this moment.
fn signed(secret: &str, moment: u64, body: &str) -> [String; 2] {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
    let tag = ring::hmac::sign(&key, format!("{moment}.{body}").as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    [format!("X-Insula-Timestamp: {moment}"), format!("X-Insula-Signature: sha256={hex}")]
}

fn hook(ground: &Ground, account: &str, headers: &[String], body: &str) -> Result<Answer> {
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    machine::request(ground.listen()?, "POST", &format!("/hooks/{account}"), &headers, body)
}

fn body_of(ground: &Ground, words: &str) -> String {
    let tag = ground.puppets.learn(Script::say("heard"));
    json!({ "word": format!("{words} {tag}"), "chat": "builds" }).to_string()
}

/// The model of `a` has heard these words.
fn heard(ground: &Ground, words: &str) -> bool {
    ground.prompts_of("a").iter().any(|body| String::from_utf8_lossy(body).contains(words))
}

fn bad_signatures(ground: &Ground) -> Outcome {
    let now = beside::now_seconds();
    let before = ground.puppets.count();
    let body = body_of(ground, "forged");
    let good = signed(SECRET, now, &body);
    let wrong =
        hook(ground, "webhook/ci", &signed("not-the-secret-not-the-secret", now, &body), &body)?;
    hold!(wrong.status == 401, "{wrong:?}");
    let mut truncated = good.clone();
    truncated[1].truncate(40);
    let moved = [format!("X-Insula-Timestamp: {}", now - 1), good[1].clone()];
    let other = signed(&format!("another-{SECRET}"), now, &body);
    let empty = ["X-Insula-Timestamp: 0".to_owned(), "X-Insula-Signature: sha256=".to_owned()];
    for (what, headers, text) in [
        ("none", &[][..], body.as_str()),
        ("a part of one", &truncated, &body),
        ("one of another moment", &moved, &body),
        ("one of another account", &other, &body),
        ("an empty one", &empty, &body),
        ("one of another body", &good, "{\"word\": \"other\"}"),
    ] {
        let answer = hook(ground, "webhook/ci", headers, text)?;
        // Whether there is such an account can't be told, either.
        hold!((answer.status, &answer.body) == (401, &wrong.body), "{what}: {answer:?}");
    }
    for account in ["webhook/nobody", "telegram/x", "matrix/x", "cli/local", "api/x", "webhook/CI"]
    {
        let answer = hook(ground, account, &good, &body)?;
        hold!((answer.status, &answer.body) == (401, &wrong.body), "{account}: {answer:?}");
    }
    hold!(ground.puppets.count() == before, "a model was asked");
    // Its own signature is taken.
    let taken = hook(ground, "webhook/ci", &good, &body)?;
    control!(taken.status == 202, "{taken:?}");
    machine::eventually("it is heard", || Ok(heard(ground, "forged").then_some(())))?;
    Ok(Verdict::Held)
}

/// How many turns of `a` began with these words, in a chat of their own.
fn turns_with(ground: &Ground, words: &str) -> usize {
    let prompts = ground.prompts_of("a").into_iter();
    prompts.filter(|body| String::from_utf8_lossy(body).contains(words)).count()
}

/// How many messages are kept of a chat that webhooks speak in.
fn said_in(ground: &Ground, chat: &str) -> Result<u64> {
    let all = ground.cli_json(&["sessions", "list", "a"])?;
    let is_it = |it: &&Value| it["key"].as_str().is_some_and(|key| key.ends_with(chat));
    let found = all.as_array().and_then(|all| all.iter().find(is_it));
    Ok(found.and_then(|it| it["messages"].as_u64()).unwrap_or(0))
}

/// A signed request in a chat of its own: its headers and its body.
fn event(ground: &Ground, words: &str) -> ([String; 2], String) {
    let tag = ground.puppets.learn(Script::say("heard"));
    let body = json!({ "word": format!("{words} {tag}"), "chat": words }).to_string();
    (signed(SECRET, beside::now_seconds(), &body), body)
}

fn replayed(ground: &Ground) -> Outcome {
    let (good, body) = event(ground, "replayed");
    let taken = hook(ground, "webhook/ci", &good, &body)?;
    control!(taken.status == 202, "{taken:?}");
    // A turn that a crash cuts off is begun anew, and asks its model twice without any replay.
    machine::eventually(
        "it is answered",
        || Ok((said_in(ground, "replayed")? == 2).then_some(())),
    )?;
    for _ in 0..3 {
        let again = hook(ground, "webhook/ci", &good, &body)?;
        hold!(again.status == 409, "{again:?}");
    }
    // Also by a daemon that was started anew, which may thank for it and must not act on it.
    ground.crash()?;
    ground.start_again()?;
    machine::eventually("the account is connected", || {
        let status = ground.admin("GET", "/api/status", &Value::Null)?.json();
        let accounts = status["accounts"].as_array().cloned().unwrap_or_default();
        Ok(accounts.iter().all(|it| it["state"] == "connected").then_some(()))
    })?;
    let again = hook(ground, "webhook/ci", &good, &body)?;
    hold!([202, 409].contains(&again.status), "after a restart: {again:?}");
    let (good, body) = event(ground, "something-new");
    let taken = hook(ground, "webhook/ci", &good, &body)?;
    control!(taken.status == 202, "{taken:?}");
    machine::eventually("it is heard", || Ok(heard(ground, "something-new").then_some(())))?;
    let turns = turns_with(ground, "replayed");
    hold!(turns == 1, "it was acted on {turns} times");
    let said = said_in(ground, "replayed")?;
    hold!(said == 2, "{said} messages are kept of one and its answer");
    Ok(Verdict::Held)
}

fn at_another_time(ground: &Ground) -> Outcome {
    let now = beside::now_seconds();
    let before = ground.puppets.count();
    for moment in [now - 301, now - 100_000, now + 301, now + 100_000, 0, u64::MAX / 2] {
        let body = body_of(ground, "late");
        let answer = hook(ground, "webhook/ci", &signed(SECRET, moment, &body), &body)?;
        hold!([400, 401, 409].contains(&answer.status), "{moment}: {answer:?}");
    }
    hold!(ground.puppets.count() == before, "a model was asked");
    Ok(Verdict::Held)
}

fn too_long(ground: &Ground) -> Outcome {
    let to = ground.listen()?;
    // Not a byte of the body is sent: the answer does not wait for it.
    for path in ["/hooks/webhook/ci", "/v1/chat/completions", "/api/tokens"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\nContent-Length: 999999999999\r\n\r\n"
        );
        let (answer, took) = machine::timed(|| machine::raw_request(to, head.as_bytes()));
        let answer = answer?;
        hold!([401, 413].contains(&answer.status), "{path}: {answer:?}");
        hold!(took < Duration::from_secs(5), "{path}: it waited for {took:?}");
    }
    let headers =
        format!("GET /healthz HTTP/1.1\r\nHost: {to}\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    let answer = machine::raw_request(to, headers.as_bytes())?;
    hold!([0, 400, 431].contains(&answer.status), "{answer:?}");
    let fine = machine::request(to, "GET", "/healthz", &[], "")?;
    control!(fine.status == 200, "{fine:?}");
    Ok(Verdict::Held)
}

fn ten_thousand_that_say_nothing(ground: &Ground) -> Outcome {
    let can = beside::open_files_max().saturating_sub(200);
    let count = SILENT.min(usize::try_from(can).unwrap_or(SILENT));
    let to = ground.listen()?;
    let pid = ground.pid()?;
    let before = beside::memory_kb(pid).unwrap_or(0);
    // A connection that talks is there before, and stays.
    let token = ground.mint("a", &["read"])?;
    let mut stream = beside::Reading::open(to, &token.text, "GET", "/api/agents/a/events", "")?;
    let opened = beside::silent(to, count);
    let after = beside::memory_kb(pid).unwrap_or(0);
    hold!(after < before + 100_000, "{} connections took {} KB", opened.len(), after - before);
    // What is refused is refused at once, with words.
    let (answer, took) = machine::timed(|| machine::request(to, "GET", "/healthz", &[], ""));
    hold!(took < Duration::from_secs(10), "an answer took {took:?}");
    let status = answer.map(|it| it.status).unwrap_or(0);
    hold!([0, 200, 503].contains(&status), "{status}");
    let number = opened.len();
    drop(opened);
    machine::eventually("it serves again", || {
        let answer = machine::request(to, "GET", "/healthz", &[], "");
        Ok(answer.is_ok_and(|it| it.status == 200).then_some(()))
    })?;
    let turn = ground.turn("a", "after-the-flood", Script::say("still here"))?;
    hold!(turn.reply == "still here", "it does not serve any more: {:?}", turn.answer);
    hold!(stream.until("still here").is_ok(), "a stream that was there before was cut");
    if number < SILENT {
        return Ok(Verdict::NotRun(format!(
            "only {number} of {SILENT} connections can be opened here; they held"
        )));
    }
    Ok(Verdict::Held)
}

fn hostile_chats_in_a_payload(ground: &Ground) -> Outcome {
    let mut taken = 0;
    let long = "x".repeat(5_000);
    for chat in ["x", "x:user:7", "x%3Auser%3A7", "../b", "secrets", "x\u{0}y", "x\ny", "", &long] {
        let tag = ground.puppets.learn(Script::say("heard"));
        let body = json!({ "word": format!("hostile {taken} {tag}"), "chat": chat }).to_string();
        let answer =
            hook(ground, "webhook/ci", &signed(SECRET, beside::now_seconds(), &body), &body)?;
        hold!([202, 400].contains(&answer.status), "{chat:?}: {answer:?}");
        taken += usize::from(answer.status == 202);
    }
    control!(taken >= 5, "only {taken} were taken");
    let sessions = machine::eventually("each has its session", || {
        let all = ground.cli_json(&["sessions", "list", "a"])?;
        let all = all.as_array().cloned().unwrap_or_default();
        let of_hooks: Vec<String> = all
            .iter()
            .filter(|it| it.to_string().contains(":webhook:ci:"))
            .map(|it| it["key"].to_string())
            .collect();
        Ok((of_hooks.len() >= taken).then_some(of_hooks))
    })?;
    let mut distinct = sessions.clone();
    distinct.sort();
    distinct.dedup();
    hold!(distinct.len() == sessions.len(), "two chats have one session: {sessions:?}");
    let theirs = ground.cli_json(&["sessions", "list", "b"])?.to_string();
    hold!(!theirs.contains("webhook:ci"), "it reached b: {theirs}");
    Ok(Verdict::Held)
}

/// C10, and C4 by a payload. The last ones start the daemon anew.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "C10", variant: "bad signatures", run: bad_signatures },
    Attempt { row: "C10", variant: "signed at another time", run: at_another_time },
    Attempt { row: "C10", variant: "bodies and heads over the limit", run: too_long },
    Attempt {
        row: "C4",
        variant: "chats in the payload of a webhook",
        run: hostile_chats_in_a_payload,
    },
    Attempt {
        row: "C10",
        variant: "10,000 connections that send nothing",
        run: ten_thousand_that_say_nothing,
    },
    Attempt { row: "C10", variant: "replayed, also after a crash", run: replayed },
];
