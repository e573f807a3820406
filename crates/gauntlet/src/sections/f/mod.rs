//! F: noise. One agent floods, another goes on with its work: how much slower is it? Measured and
//! reported; a slow or busy machine never fails a run.

use crate::attempt::{Attempt, Outcome, Row, Scene, Section, Verdict};
use crate::beside;
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::{Act, Script};
use crate::stage::Stage;
use anyhow::Result;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Noise of one agent, as another hears it.
pub const SECTION: Section = Section {
    id: "F",
    title: "Noise (measured, never fatal)",
    is_fatal: false,
    rows: &[Row { id: "F1", what: "a quiet agent beside one that floods" }],
    scenes: &[Scene { name: "a quiet agent and a loud one", raise, attempts: &[ATTEMPTS] }],
};

/// Turns of the quiet one in each figure, on a machine that has time for them.
const TURNS: usize = 100;
/// And where it has none.
const TURNS_MIN: usize = 10;
/// How long one figure may take.
const FIGURE_TIME: Duration = Duration::from_secs(5);

/// What the quiet agent's turns took, alone.
#[derive(Default)]
struct Alone(Mutex<Option<Duration>>);

fn raise(stage: &Stage) -> Result<Ground> {
    let plan = Plan::new()
        .top("approvals: {mode: off}\nstore: {durability: process}")
        .agent("loud", "tools: coding, sandbox: {memory: 1500MB, processes: 60, wall_clock: 30s}")
        .agent("quiet", "tools: minimal");
    Ok(Ground::raise(stage, plan)?.with(Alone::default()))
}

/// The middle and the slowest of a hundred turns, and how many went wrong.
fn measured(ground: &Ground, session: &str) -> Result<(Duration, Duration, usize)> {
    let mut took = vec![];
    let mut wrong = 0;
    let mut spent = Duration::ZERO;
    while took.len() < TURNS_MIN || (took.len() < TURNS && spent < FIGURE_TIME) {
        let (turn, time) = machine::timed(|| ground.turn("quiet", session, Script::say("calm")));
        wrong += usize::from(turn?.reply != "calm");
        spent += time;
        took.push(time);
    }
    took.sort();
    let at = |share: usize| took.get((took.len() * share / 100).min(took.len() - 1)).copied();
    Ok((at(50).unwrap_or_default(), at(99).unwrap_or_default(), wrong))
}

fn alone(ground: &Ground) -> Result<Duration> {
    let state: &Alone = ground.own()?;
    let known = *state.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = known {
        return Ok(known);
    }
    measured(ground, "warm")?;
    let (middle, slow, _) = measured(ground, "alone")?;
    eprintln!("          F1 alone: p50 {middle:?}, p99 {slow:?}");
    *state.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(slow);
    Ok(slow)
}

/// The quiet one's turns while `noise` goes on, which is told when it is over.
fn beside_noise(
    ground: &Ground,
    name: &str,
    noise: impl Fn(&AtomicBool) -> Result<String> + Sync + Send,
) -> Outcome {
    let alone = alone(ground)?;
    let over = AtomicBool::new(false);
    let (loud, quiet) = machine::both(
        || noise(&over),
        || {
            let quiet = measured(ground, name);
            over.store(true, Ordering::Relaxed);
            quiet
        },
    )?;
    let (middle, slow, wrong) = quiet?;
    let loud = loud?;
    let may = alone.mul_f64(1.5).max(alone + Duration::from_millis(5));
    eprintln!(
        "          F1 {name}: p50 {middle:?}, p99 {slow:?}, alone {alone:?}, may {may:?}; {loud}"
    );
    if wrong > 0 {
        return Ok(Verdict::Broken(format!("{wrong} turns went wrong beside it ({loud})")));
    }
    match slow <= may {
        true => Ok(Verdict::Held),
        false => Ok(Verdict::Missed(format!(
            "p99 {slow:?} beside it and {alone:?} alone, where {may:?} was the aim ({loud})"
        ))),
    }
}

fn messages(ground: &Ground) -> Outcome {
    beside_noise(ground, "a flood of messages", |over| {
        let (sent, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let token = ground.token("loud")?.text.clone();
        let tag = ground.puppets.learn(Script::say("heard"));
        machine::on_threads(8, || {
            let number = sent.fetch_add(1, Ordering::Relaxed);
            let body = json!({ "text": format!("message {number} {tag}"), "session": format!("s{}", number % 50) });
            let answer = ground.api(&token, "POST", "/api/agents/loud/messages", &body);
            if !answer.is_ok_and(|it| it.status < 300) {
                refused.fetch_add(1, Ordering::Relaxed);
            }
            !over.load(Ordering::Relaxed)
        });
        Ok(format!("{} messages, {} of them refused", sent.into_inner(), refused.into_inner()))
    })
}

/// A program of the loud one's, again and again.
fn programs(ground: &Ground, name: &str, command: &str, seconds: u64) -> Outcome {
    beside_noise(ground, name, |over| {
        let mut runs = 0;
        while !over.load(Ordering::Relaxed) {
            let wish = json!({ "command": command, "timeout": seconds });
            ground.call("loud", &format!("{name}-{runs}").replace(' ', "-"), "terminal", wish)?;
            runs += 1;
        }
        Ok(format!("{runs} runs"))
    })
}

fn forks(ground: &Ground) -> Outcome {
    let bomb = "echo 'import os\nwhile True:\n    try: os.fork()\n    except OSError: pass' > bomb.py; python3 bomb.py";
    programs(ground, "a fork bomb", bomb, 3)
}

fn memory(ground: &Ground) -> Outcome {
    programs(
        ground,
        "1 GB of memory writes",
        "python3 -c 'x = bytearray(10 ** 9)\nfor at in range(0, len(x), 4096): x[at] = 1'",
        20,
    )
}

fn output(ground: &Ground) -> Outcome {
    programs(ground, "100 MB of tool output", "head -c 100000000 /dev/zero | tr '\\0' x", 20)
}

fn silence(ground: &Ground) -> Outcome {
    beside_noise(ground, "a provider that never answers", |over| {
        let token = ground.token("loud")?.text.clone();
        let mut open = vec![];
        for number in 0..20 {
            let tag = ground.puppets.learn(Script::steps(vec![Act::Stall("I".to_owned())]));
            let body = json!({ "model": "loud", "stream": true, "messages": [{ "role": "user", "content": format!("{number} {tag}") }] });
            open.push(beside::Reading::open(
                ground.listen()?,
                &token,
                "POST",
                "/v1/chat/completions",
                &body.to_string(),
            )?);
        }
        while !over.load(Ordering::Relaxed) {
            beside::within(Duration::from_millis(20), || None::<()>);
        }
        let count = open.len();
        drop(open);
        ground.admin("POST", "/api/agents/loud/pause", &Value::Null)?;
        Ok(format!("{count} turns that never end"))
    })
}

/// F. The last one pauses the loud agent.
const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "F1", variant: "a flood of messages", run: messages },
    Attempt { row: "F1", variant: "a fork bomb", run: forks },
    Attempt { row: "F1", variant: "1 GB of memory writes", run: memory },
    Attempt { row: "F1", variant: "100 MB of tool output", run: output },
    Attempt { row: "F1", variant: "a provider that never answers", run: silence },
];
