//! A turn that is followed while it runs: the puppet makes calls in phases, and somebody answers
//! the questions of each phase as it deserves.

use super::boundary::full_name;
use super::data::{Made, Task};
use super::replay::agent_of;
use super::server::AgentLogs;
use crate::beside::Reading;
use crate::ground::Ground;
use crate::puppet::{Act, Call, Script};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Above every number that a task, a state or an attacker has: the tag of a script stands in the
/// sender's message, and must not pass for something that they said.
const TAGS_ABOVE: usize = 7_000_000;

/// The rule of questions that are asked because of whose words a turn has read.
const RULE: &str = "integrity";

/// Calls that are made together, and what an admin says when asked about one of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phase<'p> {
    pub(super) calls: &'p [Made],
    pub(super) admin: Admin,
}

/// What an admin says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admin {
    Agrees,
    Refuses,
}

/// What came of a phase.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Came {
    /// What was executed.
    pub(super) made: Vec<Made>,
    /// How often somebody was asked.
    pub(super) questions: usize,
}

/// One turn in a new conversation; what came of each phase. `shown` has to stand in what the model
/// is first asked.
pub(super) fn follow(
    (ground, logs): (&Ground, &Arc<AgentLogs>),
    task: &Task,
    session: &str,
    phases: &[Phase<'_>],
    shown: Option<&str>,
) -> Result<Vec<Came>> {
    let agent = agent_of(task);
    let is_empty = |it: &&(usize, &Phase<'_>)| !it.1.calls.is_empty();
    let played: Vec<(usize, Vec<Call>)> = phases
        .iter()
        .enumerate()
        .filter(|it| is_empty(&it))
        .map(|(at, phase)| (at, phase.calls.iter().map(call).collect()))
        .collect();
    let order: Vec<usize> = played.iter().map(|(at, _)| *at).collect();
    let step = Arc::new(AtomicUsize::new(0));
    let begun = Arc::new(Mutex::new(BTreeMap::new()));
    let script = {
        let (step, begun, logs, agent) = (step.clone(), begun.clone(), logs.clone(), agent.clone());
        Script::live(move |asked| {
            let Some((_, calls)) = played.get(asked.step) else {
                return Act::Say("done".to_owned());
            };
            let so_far = logs.made(&agent).len();
            let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
            begun.entry(asked.step).or_insert(so_far);
            step.store(asked.step, Ordering::SeqCst);
            Act::Call(calls.clone())
        })
    };
    let tag = ground.puppets.learn_above(TAGS_ABOVE, script);
    let text = format!("{} {tag}", task.words);
    let body = json!({ "session": session, "text": text }).to_string();
    let token = &ground.token(&agent)?.text;
    let path = format!("/api/agents/{agent}/messages");
    let mut stream = Reading::open(ground.listen()?, token, "POST", &path, &body)?;
    let mut came = vec![Came::default(); phases.len()];
    let end = loop {
        let (name, data) = stream.event()?.context("the stream ended before the turn")?;
        match name.as_str() {
            "approval.asked" => {
                ensure!(data["rule"] == RULE, "somebody was asked for another reason: {data}");
                let at = order.get(step.load(Ordering::SeqCst)).copied().unwrap_or_default();
                came[at].questions += 1;
                answer(ground, &agent, &data, phases[at].admin)?;
            }
            "turn.ended" => break data,
            _ => {}
        }
    };
    // A turn that is ended because it repeats what was refused has been judged too.
    let is_cut_short = end.to_string().contains("again and again");
    ensure!(end["status"] == "replied" || is_cut_short, "the turn failed: {end}");
    if let Some(shown) = shown {
        let first = ground.puppets.with_tag(&tag).first().map(described).unwrap_or_default();
        ensure!(first.contains(shown), "the model was not shown `{shown}`");
    }
    let begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
    let mut made = logs.made(&agent);
    for (step, from) in begun.iter().rev() {
        came[order[*step]].made = made.split_off((*from).min(made.len()));
    }
    Ok(came)
}

fn call(made: &Made) -> Call {
    Call::new(&full_name(&made.tool), made.arguments.clone())
}

fn answer(ground: &Ground, agent: &str, asked: &Value, admin: Admin) -> Result<()> {
    let id = asked["id"].as_str().context("a question without an id")?;
    let decision = match admin {
        Admin::Agrees => "approve",
        Admin::Refuses => "deny",
    };
    let path = format!("/api/agents/{agent}/approvals/{id}");
    let answer = ground.admin("POST", &path, &json!({ "decision": decision }))?;
    ensure!(answer.status == 200, "the answer does not count: {answer:?}");
    Ok(())
}

/// How the tools describe themselves in a request.
fn described(request: &Value) -> String {
    let tools = request["tools"].as_array().into_iter().flatten();
    let texts = tools.filter_map(|it| it["function"]["description"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}
