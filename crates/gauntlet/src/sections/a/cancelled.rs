//! A14: what one agent's request leaves in a shared connection reaches no other.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::puppet::{Act, Script};
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::upstream::{Step, answer, chunk, end, head};
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A14", variant: "b's request stopped half-way, then a asks", run: stopped },
    Attempt {
        row: "A14",
        variant: "an answer with another behind it on the same connection",
        run: surplus,
    },
    Attempt { row: "A14", variant: "an answer that is longer than it says", run: longer },
    Attempt { row: "A14", variant: "a connection closed in the middle of b's answer", run: closed },
    Attempt {
        row: "A14",
        variant: "b's client goes away in the middle of a stream",
        run: client_gone,
    },
];

/// What a says and is told, ten times over: never a byte of b's.
fn clean(ground: &Ground, canary: &crate::canary::Canary) -> Outcome {
    for number in 0..6 {
        let own = format!("a's own words {number}");
        let turn = ground.turn("a", &format!("clean-{number}"), Script::say(&own))?;
        hold!(turn.answer.status == 200 && turn.reply == own, "a was told: {:?}", turn.answer);
    }
    let leak = ground.leaked_to("a", std::slice::from_ref(canary))?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    Ok(Verdict::Held)
}

fn event(text: &str) -> String {
    let choice = json!({ "index": 0, "delta": { "content": text }, "finish_reason": "stop" });
    format!(
        "data: {}\n\n",
        json!({ "choices": [choice], "usage": { "prompt_tokens": 1, "completion_tokens": 1 } })
    )
}

fn stopped(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's answer, half-way");
    let token = ground.token("b")?.text.clone();
    for number in 0..3 {
        let session = format!("stopped-{number}");
        let before = ground.puppets.count();
        let stall = Script::steps(vec![Act::Stall(canary.text.clone())]);
        let (turn, stop) = machine::both(
            || ground.turn("b", &session, stall),
            || -> Result<Value> {
                ground.wait("b's model was asked", ground.puppets.until(before + 1))?;
                machine::eventually("b's turn is stopped", || {
                    let body = json!({ "session": session });
                    let stop = ground.api(&token, "POST", "/api/agents/b/stop", &body)?.json();
                    Ok((stop["stopped"] == 1).then_some(stop))
                })
            },
        )?;
        let (turn, stop) = (turn?, stop?);
        control!(stop["stopped"] == 1, "nothing was stopped: {stop}, {:?}", turn.answer);
    }
    clean(ground, &canary)
}

fn surplus(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's second answer");
    let second = event(&canary.text);
    let second = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{second}",
        second.len()
    );
    for number in 0..3 {
        let steps = vec![
            head("text/event-stream"),
            chunk(event("first")),
            chunk("data: [DONE]\n\n"),
            end(),
            Step::Write(second.clone().into_bytes()),
        ];
        let turn =
            ground.turn("b", &format!("surplus-{number}"), Script::steps(vec![Act::Raw(steps)]))?;
        control!(turn.answer.status == 200, "b's turn failed: {:?}", turn.answer);
    }
    clean(ground, &canary)
}

fn longer(ground: &Ground) -> Outcome {
    let canary = ground.canary("what follows b's answer");
    for number in 0..3 {
        let body = json!({ "choices": [{ "message": { "role": "assistant", "content": "short" }, "finish_reason": "stop" }] });
        let steps = vec![
            answer(200, &[("content-type", "application/json")], &body.to_string()),
            Step::Write(event(&canary.text).into_bytes()),
        ];
        ground.turn("b", &format!("longer-{number}"), Script::steps(vec![Act::Raw(steps)]))?;
    }
    clean(ground, &canary)
}

fn closed(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's cut answer");
    for number in 0..2 {
        let steps = vec![head("text/event-stream"), chunk(event(&canary.text)), Step::Close];
        let script =
            Script::live(move |asked| match asked.request["messages"].as_array().map(Vec::len) {
                Some(_) => Act::Raw(steps.clone()),
                None => Act::Say(String::new()),
            });
        ground.turn("b", &format!("closed-{number}"), script)?;
    }
    clean(ground, &canary)
}

fn client_gone(ground: &Ground) -> Outcome {
    use std::io::{Read as _, Write as _};
    let canary = ground.canary("b's stream");
    let token = ground.token("b")?.text.clone();
    for _ in 0..3 {
        let tag =
            ground.puppets.learn(Script::steps(vec![Act::Stall(format!("{} and ", canary.text))]));
        let body = json!({ "model": "b", "stream": true, "messages": [{ "role": "user", "content": tag }] }).to_string();
        let mut stream = machine::connect(ground.listen()?)?;
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            ground.listen()?,
            body.len()
        );
        let before = ground.puppets.count();
        stream.write_all(request.as_bytes())?;
        ground.wait("b's model was asked", ground.puppets.until(before + 1))?;
        let mut first = [0; 12];
        stream.read_exact(&mut first)?;
        drop(stream);
    }
    clean(ground, &canary)
}
