//! `insula run`: one task, nobody to ask, and an exit code that says how it went.
//!
//! The task is a turn under terms: in a conversation of its own that is gone afterwards, where
//! what needs an approval is refused unless it was named. The daemon decides all of that.

use crate::arguments::Run;
use crate::chat::{Frames, default_agent, standard_input, terminal};
use crate::daemon::{self, Follow, Guest, Options};
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::process::absolute;
use crate::reach::{Occupied, Reach, occupied, part};
use crate::setting::{Answer, Setting};
use insula_registry::daemon::Purpose;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How a run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Replied,
    Failed,
    /// It replied, and something was refused that needed an approval.
    Denied,
    OverBudget,
    TimedOut,
    Interrupted,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Replied => "replied",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::OverBudget => "over_budget",
            Self::TimedOut => "timed_out",
            Self::Interrupted => "interrupted",
        }
    }

    /// As the help says.
    fn code(self) -> u8 {
        match self {
            Self::Replied => 0,
            Self::Failed => FAILED,
            Self::Denied => 3,
            Self::OverBudget => 4,
            Self::TimedOut => 5,
            Self::Interrupted => 130,
        }
    }
}

/// What a run has come to.
#[derive(Default)]
struct Course {
    turn: Value,
    session: Value,
    tools: Vec<Value>,
    denied: Vec<Value>,
    changed: Vec<Value>,
    end: Value,
}

/// Rules whose refusals an approval would have lifted.
const NEEDS_APPROVAL: [&str; 3] = ["approval", "integrity", "global_writes"];

/// Runs the task with the daemon of the home, or with one of its own.
pub async fn run(setting: &Setting, wish: Run) -> Result<u8, Failure> {
    let task = task(&wish)?;
    match occupied(&setting.home, &setting.world).await? {
        Occupied::Daemon(_) => {
            let reach = Reach::open(setting, Purpose::Look).await?;
            work(setting, &reach, &wish, &task).await
        }
        Occupied::Free(lock) => {
            drop(lock);
            alone(setting, &wish, &task).await
        }
    }
}

/// What to do: what was typed, and what was piped in behind it.
fn task(wish: &Run) -> Result<String, Failure> {
    let typed = wish.task.as_deref().map(str::trim_end).unwrap_or_default();
    let piped = if terminal::is_fed() { standard_input()? } else { String::new() };
    let task = match (typed.trim().is_empty(), piped.trim().is_empty()) {
        (true, true) => {
            let what = "there is nothing to do: give a task, or pipe one in";
            return Err(Failure::WrongUse(what.to_owned()));
        }
        (false, true) => typed.to_owned(),
        (true, false) => piped,
        (false, false) => format!("{typed}\n\n{}", piped.trim_end()),
    };
    Ok(task)
}

/// Stands before the limit in what is said of a budget that came with the task.
const WAYS_LIMIT: &str = "the way in's budget leaves no room for this: `usd_per_day` is ";

/// With a daemon that lives as long as the task.
async fn alone(setting: &Setting, wish: &Run, task: &str) -> Result<u8, Failure> {
    let (tell, ready) = oneshot::channel();
    let stop = CancellationToken::new();
    let listen = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let guest = Some(Guest { ready: tell, stop: stop.clone() });
    let serving = daemon::run(setting, Options { listen, follow: Follow::Requests, guest });
    let working = async {
        let _stop = stop.drop_guard();
        // It says itself why it did not get so far.
        if ready.await.is_err() {
            return None;
        }
        let reach = match Reach::open(setting, Purpose::Look).await {
            Ok(reach) => reach,
            Err(failure) => return Some(Err(failure)),
        };
        Some(work(setting, &reach, wish, task).await)
    };
    let (served, worked) = tokio::join!(serving, working);
    match (worked, served) {
        (Some(worked), _) => worked,
        (None, Err(failure)) => Err(failure),
        (None, Ok(_)) => Err(Failure::Failed("the daemon of this run was stopped".to_owned())),
    }
}

async fn work(setting: &Setting, reach: &Reach, wish: &Run, task: &str) -> Result<u8, Failure> {
    reach.require_configuration()?;
    let agent = match &wish.agent {
        Some(agent) => {
            let found = reach.get(&format!("/api/agents/{}", part(agent))).await?;
            found["id"].as_str().unwrap_or(agent).to_owned()
        }
        None => default_agent(reach).await?,
    };
    let folder = wish.folder.as_deref().map(absolute).transpose()?;
    let folder = folder.map(|path| {
        let share = if wish.read_only { "ro" } else { "rw" };
        json!({ "path": path.components().collect::<std::path::PathBuf>(), "share": share })
    });
    let body = json!({ "text": task, "terms": {
        "once": true,
        "approvals": "deny",
        "allow": wish.allow,
        "usd": wish.max_usd,
        "model": wish.model,
        "folder": folder,
        "editor": {},
    } });
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let clock = &setting.world.clock;
    let late = async {
        match wish.timeout {
            Some(timeout) => clock.sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let mut course = Course::default();
    // Whoever goes away from such a turn takes it along.
    let outcome = tokio::select! {
        biased;
        _ = interrupt.recv() => Outcome::Interrupted,
        _ = terminate.recv() => Outcome::Interrupted,
        outcome = follow(reach, &agent, &body, &mut course) => outcome?,
        () = late => Outcome::TimedOut,
    };
    let told = told(&agent, outcome, &course, wish);
    setting.answer.give(&told, |told| say(told, outcome));
    if setting.answer == Answer::Text && !matches!(outcome, Outcome::Replied | Outcome::Denied) {
        let why = told["error"]["message"].as_str().unwrap_or("the task was not done");
        output::notice(&format!("error: {why}"));
    }
    Ok(outcome.code())
}

/// Follows the turn to its end.
async fn follow(
    reach: &Reach,
    agent: &str,
    body: &Value,
    course: &mut Course,
) -> Result<Outcome, Failure> {
    let path = format!("/api/agents/{}/messages", part(agent));
    let mut answer = match reach.stream(&path, None, body).await {
        Err(Failure::Refused { code, message, .. }) if code == "budget_exceeded" => {
            course.end = json!({ "error": message });
            return Ok(Outcome::OverBudget);
        }
        answer => answer?,
    };
    let broken = || Failure::Failed("the daemon went away in the middle of the task".to_owned());
    let mut frames = Frames::default();
    while let Ok(Some(piece)) = answer.piece().await {
        for frame in frames.push(&piece).map_err(|_| broken())? {
            let data: Value = serde_json::from_str(&frame.data).unwrap_or_default();
            match frame.event.as_str() {
                "turn.accepted" => {
                    (course.turn, course.session) = (data["turn"].clone(), data["session"].clone());
                }
                "editor.done" => course.note(&data),
                "turn.ended" => {
                    let outcome = match (data["status"].as_str(), data["code"].as_str()) {
                        (Some("replied"), _) if course.is_denied() => Outcome::Denied,
                        (Some("replied"), _) => Outcome::Replied,
                        (_, Some("budget_exceeded")) => Outcome::OverBudget,
                        _ => Outcome::Failed,
                    };
                    course.end = data;
                    return Ok(outcome);
                }
                _ => {}
            }
        }
    }
    Err(broken())
}

impl Course {
    /// Notes what came of a call.
    fn note(&mut self, done: &Value) {
        self.tools.push(json!({ "name": done["name"], "is_error": done["is_error"] }));
        let changes = done["changes"].as_array().into_iter().flatten();
        for path in changes.map(|change| change["path"].clone()) {
            if !self.changed.contains(&path) {
                self.changed.push(path);
            }
        }
        if !done["refused"].is_null() {
            let why = &done["text"];
            self.denied.push(json!({ "tool": done["name"], "rule": done["refused"], "why": why }));
        }
    }

    /// Whether something was refused that an approval would have let through.
    fn is_denied(&self) -> bool {
        let rules = self.denied.iter().filter_map(|it| it["rule"].as_str());
        rules.into_iter().any(|rule| NEEDS_APPROVAL.contains(&rule))
    }
}

/// A refusal as it is said, and where it is by the limit of this run, by the name that has here.
fn by_its_name(said: &str, max_usd: Option<f64>) -> String {
    let limit = said.split_once(WAYS_LIMIT).map(|(_, rest)| rest);
    let number = |rest: &str| rest.split(';').next().unwrap_or_default().trim().parse().ok();
    let limit: Option<f64> = limit.and_then(number);
    match (limit, max_usd) {
        // It is counted in millionths, of which there is at least one.
        (Some(limit), Some(most)) if ((most * 1e6).round().max(1.0) / 1e6 - limit).abs() < 1e-9 => {
            format!("`--max-usd {most}` leaves no room for this")
        }
        _ => said.to_owned(),
    }
}

/// The result for programs.
fn told(agent: &str, outcome: Outcome, course: &Course, wish: &Run) -> Value {
    let end = &course.end;
    let why = match outcome {
        Outcome::TimedOut => {
            let seconds = wish.timeout.map_or(0, |timeout| timeout.as_secs());
            Some(format!("it took longer than its {seconds} seconds"))
        }
        Outcome::Interrupted => Some("it was stopped by a signal".to_owned()),
        Outcome::Replied | Outcome::Denied => None,
        Outcome::Failed | Outcome::OverBudget => {
            let said = end["error"].as_str().or_else(|| end["error"]["message"].as_str());
            Some(by_its_name(said.unwrap_or("the turn was stopped"), wish.max_usd))
        }
    };
    json!({
        "agent": agent,
        "status": outcome.as_str(),
        "exit_code": outcome.code(),
        "text": end["text"],
        "cut": end["cut"],
        "error": why.map(|message| json!({ "message": message })),
        "turn": course.turn,
        "session": course.session,
        "tools": course.tools,
        "denied": course.denied,
        "changed": course.changed,
        "usage": end["usage"],
    })
}

/// The result for people: the reply, and beside it what was refused.
fn say(told: &Value, outcome: Outcome) {
    if let Some(text) = told["text"].as_str() {
        output::line(text);
    }
    if outcome == Outcome::Denied {
        for denied in told["denied"].as_array().into_iter().flatten() {
            let tool = denied["tool"].as_str().unwrap_or_default();
            let why = denied["why"].as_str().unwrap_or_default();
            output::notice(&format!("refused: {tool}: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_a_code_of_its_own() {
        let all = [
            Outcome::Replied,
            Outcome::Failed,
            Outcome::Denied,
            Outcome::OverBudget,
            Outcome::TimedOut,
            Outcome::Interrupted,
        ];
        let mut codes: Vec<u8> = all.iter().map(|it| it.code()).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 3, 4, 5, 130]);
    }

    #[test]
    fn what_only_a_boundary_refuses_is_no_missing_approval() {
        let mut course = Course::default();
        let done = |rule: Value| json!({ "name": "terminal", "is_error": true, "refused": rule, "text": "no", "changes": [] });
        course.note(&done(Value::Null));
        course.note(&done("boundary".into()));
        assert!(!course.is_denied());
        assert_eq!((course.tools.len(), course.denied.len()), (2, 1));
        course.note(&done("approval".into()));
        assert!(course.is_denied());
    }
}
