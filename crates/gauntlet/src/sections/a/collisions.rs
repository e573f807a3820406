//! A15: names that two agents both use are two things.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::puppet::Script;
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::telegram::{Draft, User, Where};
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A15", variant: "a file of the same name", run: files },
    Attempt { row: "A15", variant: "a session of the same name", run: sessions },
    Attempt { row: "A15", variant: "an idempotency key of the same name", run: idempotency },
    Attempt { row: "A15", variant: "a response id of the other's", run: responses },
    Attempt { row: "A15", variant: "a skill of the same name", run: skills },
    Attempt { row: "A15", variant: "a secret of the same name", run: secrets },
];

/// The same on a platform.
pub const ATTACHMENTS: &[Attempt] = &[Attempt {
    row: "A15",
    variant: "an attachment of the same name and content",
    run: attachments,
}];

fn files(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's report");
    let write = |text: &str| json!({ "path": "report.txt", "content": text });
    ground.call("b", "collide", "write_file", write(&canary.text))?;
    ground.call("a", "collide", "write_file", write("a's report"))?;
    let (a, b) = (
        ground.text("agents/a/workspace/report.txt"),
        ground.text("agents/b/workspace/report.txt"),
    );
    hold!(a == "a's report" && b == canary.text, "a has {a}, b has {b}");
    let leak = ground.leaked_to("a", &[canary])?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    Ok(Verdict::Held)
}

fn sessions(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's session");
    ground.turn_saying("b", "the-same-name", &canary.text, Script::say("noted"))?;
    let turn = ground.turn("a", "the-same-name", Script::say("what was said"))?;
    hold!(canary.found_in(&turn.prompts()).is_none(), "a's prompt has b's words");
    // Both through one token, which may use both.
    let body = json!({ "agents": ["a", "b"], "verbs": ["chat"] });
    let both = ground.admin("POST", "/api/tokens", &body)?.json();
    let both = both["token"].as_str().unwrap_or_default().to_owned();
    ground.turn_with(&both, "b", "one-token", &canary.text, Script::say("noted"))?;
    let own = ground.turn_with(&both, "b", "one-token", "again", Script::say("x"))?;
    control!(canary.found_in(&own.prompts()).is_some(), "b's session does not go on");
    let turn = ground.turn_with(&both, "a", "one-token", "again", Script::say("x"))?;
    hold!(canary.found_in(&turn.prompts()).is_none(), "a's prompt has b's words");
    Ok(Verdict::Held)
}

fn keyed(ground: &Ground, agent: &str, session: &str, words: &str, text: &str) -> Result<String> {
    let tag = ground.puppets.learn(Script::say(words));
    let token = ground.token(agent)?.text.clone();
    let headers = [
        format!("Authorization: Bearer {token}"),
        format!("X-Insula-Session: {session}"),
        "Idempotency-Key: the-same-key".to_owned(),
        "Content-Type: application/json".to_owned(),
    ];
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let body = json!({ "model": agent, "messages": [{ "role": "user", "content": format!("{text} {tag}") }] });
    let answer = machine::request(
        ground.listen()?,
        "POST",
        "/v1/chat/completions",
        &headers,
        &body.to_string(),
    )?;
    Ok(answer.body)
}

fn idempotency(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's keyed reply");
    let first = keyed(ground, "b", "keyed", &canary.text, "x")?;
    control!(first.contains(&canary.text), "b was not answered: {first}");
    let told = keyed(ground, "a", "keyed", "a's own", "x")?;
    hold!(told.contains("a's own") && !told.contains(&canary.text), "a was told: {told}");
    Ok(Verdict::Held)
}

fn responses(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's response");
    let ask = |agent: &str, token: &str, words: &str, previous: Option<&str>| {
        let tag = ground.puppets.learn(Script::say(words));
        let mut body = json!({ "model": agent, "input": format!("go on {tag}"), "store": true });
        if let Some(previous) = previous {
            body["previous_response_id"] = json!(previous);
        }
        ground.api(token, "POST", "/v1/responses", &body)
    };
    let (a, b) = (ground.token("a")?.text.clone(), ground.token("b")?.text.clone());
    let first = ask("b", &b, &canary.text, None)?;
    let id = first.json()["id"].as_str().unwrap_or_default().to_owned();
    control!(first.body.contains(&canary.text) && !id.is_empty(), "b was not answered: {first:?}");
    let told = ask("a", &a, "a's own", Some(&id))?;
    hold!(!told.body.contains(&canary.text), "a was told: {told:?}");
    hold!(told.status != 200, "b's response was continued by a: {told:?}");
    let seen = ground.api(&a, "GET", &format!("/v1/responses/{id}"), &Value::Null)?;
    let nobodys = ground.api(
        &a,
        "GET",
        &format!("/v1/responses/{}", id.replace(|c: char| c.is_ascii_digit(), "7")),
        &Value::Null,
    )?;
    hold!(seen.status == 404 && nobodys.status == 404, "a sees b's: {seen:?}, {nobodys:?}");
    let leak = ground.leaked_to("a", &[canary])?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    Ok(Verdict::Held)
}

fn skills(ground: &Ground) -> Outcome {
    let view =
        |agent: &str| ground.call(agent, "same-skill", "skill_view", json!({ "name": "both" }));
    let (a, b) = (view("a")?, view("b")?);
    let (of_a, of_b) = (ground.planted("a-both"), ground.planted("b-both"));
    control!(a.contains(&of_a.text) && b.contains(&of_b.text), "not shown: {a}, {b}");
    hold!(!a.contains(&of_b.text) && !b.contains(&of_a.text), "each other's: {a}, {b}");
    Ok(Verdict::Held)
}

fn secrets(ground: &Ground) -> Outcome {
    for agent in ["a", "b"] {
        ground.shell(agent, "same-secret", "printf %s \"$TOKEN\" > token")?;
        let kept = ground.text(&format!("agents/{agent}/workspace/token"));
        let own = ground.planted(&format!("{agent}-secret")).text;
        hold!(kept == own, "{agent} was given {kept}");
    }
    // One removed is not the other removed.
    let names = ground.admin("GET", "/api/agents/b/secrets", &Value::Null)?.body;
    control!(names.contains("KEY"), "b has no secret: {names}");
    Ok(Verdict::Held)
}

fn attachments(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's attachment");
    let telegram = ground.telegram()?;
    let ann = User::new(42, "Ann");
    for (bot, content) in
        [("7:a", "of a"), ("8:b", canary.text.as_str()), ("7:a", canary.text.as_str())]
    {
        // The last has the content of b's under a's name: even then nothing is one store.
        let tag = ground.puppets.learn(Script::say("looked"));
        let before = telegram.sent().len();
        let draft = Draft::new(&ann, &format!("look {tag}")).document(
            "report.txt",
            "text/plain",
            content.as_bytes(),
        );
        telegram.say(Where::Dm(bot), &draft);
        ground.wait("it is answered", telegram.until_sent(before + 1))?;
    }
    let find = |agent: &str| -> Result<Vec<String>> {
        let files = machine::files_below(&ground.path(&format!("agents/{agent}"))?).into_iter();
        let holds = files
            .filter(|path| machine::read(path).is_ok_and(|bytes| bytes == canary.text.as_bytes()));
        Ok(holds.map(|path| path.display().to_string()).collect())
    };
    let (a, b) = (find("a")?, find("b")?);
    control!(!a.is_empty() && !b.is_empty(), "they were not kept: {a:?}, {b:?}");
    hold!(a.iter().all(|path| !b.contains(path)), "one store: {a:?}, {b:?}");
    // a's path to b's copy is no path.
    let told = ground.call("a", "looking", "read_file", json!({ "path": b[0] }))?;
    hold!(!told.contains(&canary.text), "a reads b's: {told}");
    Ok(Verdict::Held)
}
