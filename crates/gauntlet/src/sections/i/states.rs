//! I5, rights that are taken away while they are used: every probe of [`granted`](super::granted)
//! in every state that work can be in. One edit takes all of them away at once.

use super::derive;
use super::granted::{PROBES, Probe, Taking, fetch};
use super::keys::{KEYS, TOP, known};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside::{self, Reading};
use crate::ground::{Ground, Plan, Token};
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

pub(super) const ADA: &str = "7:ada-token";
const SERVER: &str = include_str!("../../../assets/mcp_server.py");
const SKILL: &str = "---\nname: knot\ndescription: A knot.\n---\nIt goes over and under.\n";

/// How long something may take that must not happen.
pub(super) const SOON: Duration = Duration::from_millis(400);
/// How long a turn may take to its end.
const TO_ITS_END: Duration = Duration::from_secs(6);

/// What work is doing when the right is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Queued,
    Running,
    Waiting,
    InChild,
    Foreground,
    Background,
}

/// What this scene keeps: the configuration with all rights, and tags of turns by mark.
pub(super) struct SceneState {
    pub(super) config: String,
    tags: Mutex<BTreeMap<String, Vec<String>>>,
}

/// One agent for each right, and for what ends an agent one for each state too.
pub fn raise(stage: &Stage) -> Result<Ground> {
    let mut plan = Plan::new()
        .top("approvals: {mode: manual, timeout: 10m, opaque: allow}\nstore: {durability: process}")
        .file("skills/kit/knot/SKILL.md", SKILL)
        .bot(ADA, "ada");
    for probe in PROBES {
        for agent in agents(probe) {
            plan = plan.agent(&agent, probe.with).secret(&agent, "KEY", "tellable-0123456789");
            plan = plan.file(&format!("agents/{agent}/workspace/server.py"), SERVER);
        }
    }
    let people = "tools: coding, access: {allow: ['telegram:42'], admins: ['telegram:1']}";
    plan = plan.agent("door", people).binding("agent: door, telegram: {account: ada}");
    plan = plan.agent("next", people);
    let ground = Ground::raise(stage, plan)?;
    let shared = ground.outside.path().join("shared");
    beside::set_mode(&shared, 0o777)?;
    beside::set_mode(ground.outside.path(), 0o755)?;
    let private = ground.outside.path().join("private");
    machine::write(&private, b"private words")?;
    beside::set_mode(&private, 0o644)?;
    ground.telegram()?.group(-1, "A group", &[ADA]);
    let config = ground.text("config.yaml");
    Ok(ground.with(SceneState { config, tags: Mutex::default() }))
}

/// The agents of a probe: who is ended is not there for the next state.
fn agents(probe: &Probe) -> Vec<String> {
    match probe.taking {
        Taking::Edit(_) | Taking::Revoke => vec![probe.name.to_owned()],
        Taking::Request(..) => (0..6).map(|number| format!("{}{number}", probe.name)).collect(),
    }
}

fn agent_of(probe: &Probe, state: State) -> String {
    match probe.taking {
        Taking::Edit(_) | Taking::Revoke => probe.name.to_owned(),
        Taking::Request(..) => format!("{}{}", probe.name, state as u8),
    }
}

/// All that models were asked in turns of this mark, as text.
pub fn requests(ground: &Ground, mark: &str) -> Vec<String> {
    let Ok(kept) = ground.own::<SceneState>() else { return vec![] };
    let tags = kept.tags.lock().unwrap_or_else(PoisonError::into_inner);
    let tags = tags.get(mark).cloned().unwrap_or_default();
    tags.iter().flat_map(|tag| ground.puppets.with_tag(tag)).map(|it| it.to_string()).collect()
}

fn learn(ground: &Ground, mark: &str, acts: Vec<Act>) -> Result<String> {
    let tag = ground.puppets.learn(Script::steps(acts));
    let kept: &SceneState = ground.own()?;
    let mut tags = kept.tags.lock().unwrap_or_else(PoisonError::into_inner);
    tags.entry(mark.to_owned()).or_default().push(tag.clone());
    Ok(tag)
}

pub(super) fn reload(ground: &Ground, config: &str) -> Result<()> {
    ground.home().write("config.yaml", config)?;
    let answer = ground.admin("POST", "/api/reload", &Value::Null)?;
    anyhow::ensure!(answer.status == 200, "{answer:?}");
    Ok(())
}

fn say(ground: &Ground, token: &Token, agent: &str, session: &str, text: &str) -> Result<Reading> {
    let body = json!({ "session": session, "text": text }).to_string();
    let path = format!("/api/agents/{agent}/messages");
    Reading::open(ground.listen()?, &token.text, "POST", &path, &body)
}

/// Work of one probe that has begun.
struct Work {
    probe: &'static Probe,
    agent: String,
    mark: String,
    token: Token,
    go: Arc<Notify>,
    open: Vec<Reading>,
    /// What a program waits for, in its folder.
    waits_for: Option<String>,
}

/// A program that says that it is there, waits for a file, and then uses the right.
fn waiting_program(ground: &Ground, use_it: &str, mark: &str) -> String {
    let web = ground.web.url("");
    let outside = machine::real(ground.outside.path()).unwrap_or_default();
    let use_it = use_it
        .replace("{web}", web.trim_end_matches('/'))
        .replace("{outside}", &outside.display().to_string())
        .replace("MARK", mark);
    format!("touch on-{mark}; while [ ! -e go-{mark} ]; do sleep 0.05; done; {use_it}")
}

/// Where the programs of an agent begin.
fn workspace_of(ground: &Ground, probe: &Probe, agent: &str) -> Result<std::path::PathBuf> {
    match probe.name {
        "workspace" => Ok(machine::real(&ground.outside.path().join("shared"))?),
        _ => ground.path(&format!("agents/{agent}/workspace")),
    }
}

/// Brings the work of a probe into a state; `None` where the two do not go together.
fn begin(ground: &Ground, probe: &'static Probe, state: State, run: &str) -> Result<Option<Work>> {
    let agent = agent_of(probe, state);
    let mark = format!("{run}{}{}", state as u8, probe.name);
    let token = ground.mint(&agent, &["chat"])?;
    let go = Arc::new(Notify::new());
    let session = format!("s-{mark}");
    let held = |act: Act| Act::Hold(go.clone(), Box::new(act));
    let use_it = || Act::Call(vec![(probe.call)(ground, &mark)]);
    // What others wrote decides only in a turn that has read it.
    let reads = || Act::Call(vec![fetch(ground, &format!("read-{mark}"))]);
    let steps = |acts: Vec<Act>| -> Vec<Act> {
        let first = (probe.name == "integrity").then(reads);
        first.into_iter().chain(acts).collect()
    };
    let (mut open, mut waits_for) = (vec![], None);
    let until_asked = |tag: &str| {
        machine::eventually("the model is asked", || {
            Ok((!ground.puppets.with_tag(tag).is_empty()).then_some(()))
        })
    };
    match state {
        State::Queued => {
            let first = ground.puppets.learn(Script::steps(vec![held(Act::Say("first".into()))]));
            open.push(say(ground, &token, &agent, &session, &format!("first {first}"))?);
            until_asked(&first)?;
            let second = learn(ground, &mark, steps(vec![use_it()]))?;
            let mut queued = say(ground, &token, &agent, &session, &format!("second {second}"))?;
            queued.until("turn.accepted")?;
            open.push(queued);
        }
        State::Running => {
            let tag = learn(ground, &mark, steps(vec![held(use_it())]))?;
            open.push(say(ground, &token, &agent, &session, &format!("go {tag}"))?);
            until_asked(&tag)?;
        }
        State::Waiting => {
            if probe.name == "approvals" {
                return Ok(None);
            }
            let command = format!("mkdir w-{mark}; rm -r w-{mark}; touch ran-{mark}");
            let asks = Act::Call(vec![Call::new("terminal", json!({ "command": command }))]);
            let tag = learn(ground, &mark, steps(vec![asks, use_it()]))?;
            let mut turn = say(ground, &token, &agent, &session, &format!("go {tag}"))?;
            turn.until("approval.asked")?;
            open.push(turn);
        }
        State::InChild => {
            if probe.name == "subagents" || probe.name == "budget" {
                return Ok(None);
            }
            let child = learn(ground, &mark, steps(vec![held(use_it())]))?;
            let goal = json!({ "tasks": [{ "goal": format!("do it {child}") }] });
            let delegates = Act::Call(vec![Call::new("delegate_task", goal)]);
            let tag = learn(ground, &mark, vec![delegates])?;
            open.push(say(ground, &token, &agent, &session, &format!("go {tag}"))?);
            until_asked(&child)?;
        }
        State::Foreground | State::Background => {
            let Some(program) = probe.program else { return Ok(None) };
            let command = waiting_program(ground, program, &mark);
            let wish = match state {
                State::Background => json!({ "command": command, "background": true }),
                _ => json!({ "command": command, "timeout": 60 }),
            };
            let tag = learn(ground, &mark, vec![Act::Call(vec![Call::new("terminal", wish)])])?;
            let turn = say(ground, &token, &agent, &session, &format!("go {tag}"))?;
            open.push(turn);
            let on = workspace_of(ground, probe, &agent)?.join(format!("on-{mark}"));
            let is_on = || Ok(machine::is_there(&on).then_some(()));
            machine::eventually("the program runs", is_on).with_context(|| {
                let asked = requests(ground, &mark).pop().unwrap_or_default();
                format!("{}: {}", probe.name, asked.chars().take(800).collect::<String>())
            })?;
            waits_for = Some(format!("go-{mark}"));
        }
    }
    Ok(Some(Work { probe, agent, mark, token, go, open, waits_for }))
}

/// Takes every right away.
fn take_away(ground: &Ground, works: &[Work]) -> Result<()> {
    let kept: &SceneState = ground.own()?;
    let mut config = kept.config.clone();
    let places = |text: &str| -> Result<String> {
        let outside = machine::real(ground.outside.path())?.display().to_string();
        let web = ground.web.url("");
        let web = web.trim_end_matches('/');
        let address = web.trim_start_matches("http://");
        Ok(text
            .replace("{outside}", &outside)
            .replace("{web_address}", address)
            .replace("{web}", web))
    };
    for work in works {
        if let Taking::Edit(without) = work.probe.taking {
            let agent = &work.agent;
            let line = |settings: &str| -> Result<String> {
                Ok(format!("  {agent}: {{model: puppet/{agent}, {}}}\n", places(settings)?))
            };
            let (old, new) = (line(work.probe.with)?, line(without)?);
            anyhow::ensure!(config.contains(&old), "no line `{old}` in {config}");
            config = config.replace(&old, &new);
        }
    }
    reload(ground, &config)?;
    for work in works {
        let answer = match work.probe.taking {
            Taking::Edit(_) => continue,
            Taking::Request(method, path) => {
                ground.admin(method, &format!("/api/agents/{}{path}", work.agent), &Value::Null)?
            }
            Taking::Revoke => {
                ground.admin("DELETE", &format!("/api/tokens/{}", work.token.id), &Value::Null)?
            }
        };
        anyhow::ensure!((200..300).contains(&answer.status), "{}: {answer:?}", work.probe.name);
    }
    Ok(())
}

/// Lets all work go on, and waits until it is over.
fn let_go(ground: &Ground, works: &mut [Work], state: State) -> Result<()> {
    if state == State::Waiting {
        for work in works.iter() {
            let list = format!("/api/agents/{}/approvals", work.agent);
            let waiting = ground.admin("GET", &list, &Value::Null)?.json();
            for id in waiting.as_array().into_iter().flatten().filter_map(|it| it["id"].as_str()) {
                // Gone meanwhile is as good as refused.
                ground.admin("POST", &format!("{list}/{id}"), &json!({ "decision": "approve" }))?;
            }
        }
    }
    for work in works.iter_mut() {
        work.go.notify_one();
        if let Some(name) = &work.waits_for {
            let folder = workspace_of(ground, work.probe, &work.agent)?;
            // The folder of a deleted agent is gone.
            if machine::is_there(&folder) {
                machine::write(&folder.join(name), b"go")?;
            }
        }
    }
    for work in works.iter_mut() {
        for open in work.open.drain(..) {
            open.rest(TO_ITS_END);
        }
    }
    Ok(())
}

/// Whether something of this work took effect.
fn took_effect(ground: &Ground, work: &Work, state: State) -> Result<bool> {
    if (work.probe.shows)(ground, &work.agent, &work.mark)? {
        return Ok(true);
    }
    let ends_programs = ["tools", "paused", "archived", "deleted"].contains(&work.probe.name);
    // What was approved only after the right was gone.
    let ran = format!("agents/{}/workspace/ran-{}", work.agent, work.mark);
    Ok(state == State::Waiting && ends_programs && ground.has(&ran))
}

/// All probes in one state; which took effect, and how many were tried.
fn pass(ground: &Ground, state: State, takes: bool) -> Result<(Vec<String>, usize)> {
    let kept: &SceneState = ground.own()?;
    reload(ground, &kept.config)?;
    let mut works = vec![];
    let run = if takes { "taken" } else { "kept" };
    for probe in PROBES {
        if let Some(work) = begin(ground, probe, state, run).with_context(|| probe.name)? {
            works.push(work);
        }
    }
    if takes {
        take_away(ground, &works)?;
    }
    let_go(ground, &mut works, state)?;
    let mut told = vec![];
    for work in &works {
        let shows = || took_effect(ground, work, state).ok().filter(|it| *it);
        if beside::within(SOON / u32::try_from(works.len()).unwrap_or(1), shows).is_some() {
            told.push(work.probe.name.to_owned());
        }
    }
    // Programs in the background have their own time.
    if matches!(state, State::Background | State::Foreground) {
        let late = || {
            let works = works.iter().filter(|it| !told.contains(&it.probe.name.to_owned()));
            let more: Vec<String> = works
                .filter(|it| took_effect(ground, it, state).unwrap_or(false))
                .map(|it| it.probe.name.to_owned())
                .collect();
            (!more.is_empty()).then_some(more)
        };
        told.extend(beside::within(SOON, late).unwrap_or_default());
    }
    let alive = works.iter().filter(|it| it.waits_for.is_some() && takes);
    for work in alive {
        let mark = format!("on-{}", work.mark);
        let is_gone = || machine::processes_with(&mark).is_empty().then_some(());
        if beside::within(SOON * 5, is_gone).is_none() {
            told.push(format!("{} (its program still runs)", work.probe.name));
        }
    }
    Ok((told, works.len()))
}

/// Without anything taken away every probe shows, or nothing here would prove anything.
fn controls(ground: &Ground) -> Outcome {
    let schema = ground.cli(&["config", "schema"]);
    let schema: Value = serde_json::from_str(&schema.stdout).context("no schema")?;
    let unknown: Vec<String> = derive::settings(&schema)
        .into_iter()
        .filter(|key| known(KEYS, key).is_none())
        .chain(derive::top(&schema).into_iter().filter(|key| known(TOP, key).is_none()))
        .collect();
    control!(unknown.is_empty(), "settings that nothing here knows: {unknown:?}");
    let (told, count) = pass(ground, State::Running, false)?;
    let silent: Vec<&str> =
        PROBES.iter().map(|it| it.name).filter(|name| !told.iter().any(|it| it == name)).collect();
    control!(silent.is_empty(), "of {count} probes these show nothing: {silent:?}");
    Ok(Verdict::Held)
}

fn in_state(ground: &Ground, state: State) -> Outcome {
    let (told, count) = pass(ground, state, true)?;
    control!(count > 5, "only {count} probes were tried");
    hold!(
        told.is_empty(),
        "{} of {count} took effect all the same: {}",
        told.len(),
        told.join(", ")
    );
    Ok(Verdict::Held)
}

fn queued(ground: &Ground) -> Outcome {
    in_state(ground, State::Queued)
}

fn running(ground: &Ground) -> Outcome {
    in_state(ground, State::Running)
}

fn waiting(ground: &Ground) -> Outcome {
    in_state(ground, State::Waiting)
}

fn in_child(ground: &Ground) -> Outcome {
    in_state(ground, State::InChild)
}

fn in_foreground(ground: &Ground) -> Outcome {
    in_state(ground, State::Foreground)
}

fn in_background(ground: &Ground) -> Outcome {
    in_state(ground, State::Background)
}

/// I5. Open streams of a token or agent that is gone are C8 and I2.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "I5", variant: "every setting is known, and every right works", run: controls },
    Attempt { row: "I5", variant: "taken away while a turn is queued", run: queued },
    Attempt { row: "I5", variant: "taken away while a model is asked", run: running },
    Attempt { row: "I5", variant: "taken away while a call waits for approval", run: waiting },
    Attempt { row: "I5", variant: "taken away while a child works", run: in_child },
    Attempt { row: "I5", variant: "taken away while a program runs", run: in_foreground },
    Attempt {
        row: "I5",
        variant: "taken away while a program runs in the background",
        run: in_background,
    },
];
