//! The gauntlet: the last scoreboard that this build was made with, and a run of its quick sections
//! where the program lies beside this one. It attacks daemons of its own in fresh homes and is no
//! part of this daemon: a process with an empty environment, as nobody where that can be had, in a
//! room of processes that ends with it.

use crate::Server;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use insula_api::{ApiError, Caller, Endless, ErrorBody};
use insula_world::{ProcessSpec, World};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

/// The scoreboard that `scripts/gauntlet-record` wrote.
const RECORDED: &str = include_str!("../gauntlet/scoreboard.json");

/// Sections that take a few minutes together. The others measure noise and kernels for long.
const QUICK: [&str; 7] = ["A", "B", "C", "D", "H", "I", "M"];

/// How long one section may take.
const SECTION_TIME_MAX: Duration = Duration::from_secs(15 * 60);

/// The longest scoreboard of a section that is read.
const SCOREBOARD_LEN_MAX: usize = 4 * 1024 * 1024;

/// The end of what a program said that is shown where it failed.
const SAID_LEN_MAX: usize = 2_000;

/// Nobody in particular.
const NOBODY: &str = "65534";

/// What makes a room of processes that ends with its first one, and what takes rights away.
const UNSHARE: &str = "/usr/bin/unshare";
const SETPRIV: &str = "/usr/bin/setpriv";

/// The programs of a run.
#[derive(Debug, Clone)]
pub struct Programs {
    /// This one, which is attacked.
    pub insula: PathBuf,
    /// The one that attacks.
    pub gauntlet: PathBuf,
    /// Whether this process is root, whose rights no run needs.
    pub is_root: bool,
}

/// What starts runs, one at a time. Cheap to clone.
#[derive(Clone)]
pub struct Gauntlet {
    /// None where there is no daemon.
    pub programs: Option<Programs>,
    run: Arc<watch::Sender<Run>>,
}

impl Default for Gauntlet {
    fn default() -> Self {
        Self { programs: None, run: Arc::new(watch::Sender::new(Run::default())) }
    }
}

/// A run of this daemon.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct Run {
    /// `none`, `running`, `done` or `stopped`.
    state: RunState,
    by: Option<String>,
    started: Option<String>,
    ended: Option<String>,
    sections: Vec<SectionRun>,
    #[serde(skip)]
    #[schema(ignore)]
    stop: CancellationToken,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum RunState {
    #[default]
    None,
    Running,
    Done,
    Stopped,
}

/// A section of a run.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct SectionRun {
    id: String,
    /// `waiting`, `running`, `held`, `lost`, `failed` or `stopped`.
    state: &'static str,
    /// Why it could not be told.
    why: Option<String>,
    /// Its part of the scoreboard.
    #[schema(value_type = Object)]
    board: Option<Value>,
}

/// The gauntlet, as far as this daemon knows of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct GauntletView {
    /// The last scoreboard of this build: commit, date, totals, sections with their attempts.
    #[schema(value_type = Object)]
    recorded: Value,
    /// Sections that a run may have.
    quick: Vec<&'static str>,
    /// Why none can be started here; null where one can.
    missing: Option<String>,
    run: Run,
}

/// Which sections are wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRun {
    sections: Vec<String>,
}

impl Server {
    /// The programs of a run, or why there is none.
    fn gauntlet_programs(&self) -> Result<&Programs, String> {
        let Some(programs) = &self.gauntlet.programs else {
            return Err("no daemon runs; `insula up` starts one".to_owned());
        };
        if !self.home.is_file(&programs.gauntlet) {
            return Err(format!(
                "insula-gauntlet does not lie beside the program ({}); build it from the sources with `cargo build -p insula-gauntlet` and put it there, or run `scripts/gauntlet` by hand",
                programs.gauntlet.display()
            ));
        }
        let mut needed = [UNSHARE].into_iter().chain(programs.is_root.then_some(SETPRIV));
        let missing = needed.find(|it| !self.home.is_file(it.as_ref()));
        if let Some(tool) = missing {
            return Err(format!("{tool} is needed to keep a run apart, and is not there"));
        }
        Ok(programs)
    }

    fn gauntlet_view(&self) -> GauntletView {
        GauntletView {
            recorded: serde_json::from_str(RECORDED).unwrap_or_default(),
            quick: QUICK.to_vec(),
            missing: self.gauntlet_programs().err(),
            run: self.gauntlet.run.borrow().clone(),
        }
    }
}

/// The last scoreboard of this build, and the run of this daemon if there is one.
#[utoipa::path(get, path = "/api/gauntlet", responses((status = 200, body = GauntletView)), security(("token" = [])))]
pub async fn show(State(server): State<Server>) -> Json<GauntletView> {
    Json(server.gauntlet_view())
}

/// Runs sections against fresh homes, beside this daemon.
#[utoipa::path(post, path = "/api/gauntlet", request_body = StartRun,
    responses((status = 202, body = GauntletView), (status = 400, body = ErrorBody), (status = 409, body = ErrorBody)),
    security(("token" = [])))]
pub async fn start(
    State(server): State<Server>,
    caller: Caller,
    body: Result<Json<StartRun>, JsonRejection>,
) -> Result<(StatusCode, Json<GauntletView>), ApiError> {
    let Json(StartRun { sections }) = body?;
    let chosen: Vec<&str> =
        QUICK.into_iter().filter(|id| sections.iter().any(|it| it == id)).collect();
    if chosen.is_empty() || chosen.len() != sections.len() {
        let message = format!("name some of the sections {}, each once", QUICK.join(", "));
        return Err(ApiError::invalid(message));
    }
    let refused = |why: String| ApiError::new(StatusCode::CONFLICT, "not_here", why);
    let programs = server.gauntlet_programs().map_err(refused)?.clone();
    let stop = CancellationToken::new();
    let waiting =
        |id: &&str| SectionRun { id: (*id).to_owned(), state: "waiting", ..SectionRun::default() };
    let run = Run {
        state: RunState::Running,
        by: Some(caller.actor().to_string()),
        started: Some(server.world.clock.now().to_string()),
        ended: None,
        sections: chosen.iter().map(waiting).collect(),
        stop: stop.clone(),
    };
    let begun = server.gauntlet.run.send_if_modified(|now| {
        let is_free = now.state != RunState::Running;
        if is_free {
            *now = run;
        }
        is_free
    });
    if !begun {
        return Err(ApiError::new(StatusCode::CONFLICT, "under_way", "a run is under way already"));
    }
    let (world, state) = (server.world.clone(), server.gauntlet.run.clone());
    tracing::info!(actor = %caller.actor(), "gauntlet begun");
    tokio::spawn(async move { go(&world, &programs, &state, &stop).await });
    Ok((StatusCode::ACCEPTED, Json(server.gauntlet_view())))
}

/// Ends the run that is under way, with all it started.
#[utoipa::path(delete, path = "/api/gauntlet", responses((status = 200, body = GauntletView)), security(("token" = [])))]
pub async fn stop(State(server): State<Server>) -> Json<GauntletView> {
    server.gauntlet.run.borrow().stop.cancel();
    Json(server.gauntlet_view())
}

/// How the run goes, until it ends.
#[utoipa::path(get, path = "/api/gauntlet/events", responses((status = 200, body = String, content_type = "text/event-stream")), security(("token" = [])))]
pub async fn follow(State(server): State<Server>) -> Response {
    let heard = server.gauntlet.run.subscribe();
    let frames = stream::unfold(Some((heard, true)), |state| async move {
        let (mut heard, is_first) = state?;
        if !is_first && heard.changed().await.is_err() {
            return None;
        }
        let run = heard.borrow_and_update().clone();
        let frame = format!("event: run\ndata: {}\n\n", json!(run));
        let goes_on = run.state == RunState::Running;
        Some((Ok::<_, Infallible>(frame), goes_on.then_some((heard, false))))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    let mut answer = (headers, Body::from_stream(frames)).into_response();
    answer.extensions_mut().insert(Endless);
    answer
}

/// Carries a run out, a section after the other.
async fn go(
    world: &World,
    programs: &Programs,
    state: &watch::Sender<Run>,
    stop: &CancellationToken,
) {
    let count = state.borrow().sections.len();
    for at in 0..count {
        let Some(id) = state.borrow().sections.get(at).map(|it| it.id.clone()) else { break };
        change(state, at, |it| it.state = "running");
        let made = tokio::select! {
            () = stop.cancelled() => None,
            () = world.clock.sleep(SECTION_TIME_MAX) => {
                let minutes = SECTION_TIME_MAX.as_secs() / 60;
                Some(Err(format!("it took longer than {minutes} minutes and was ended")))
            }
            made = section(world, programs, &id) => Some(made),
        };
        let Some(made) = made else { break };
        change(state, at, |it| match made {
            Ok(board) => {
                let is_lost = ["broken", "failed"].iter().any(|key| board["totals"][key] != 0);
                (it.state, it.board) = (if is_lost { "lost" } else { "held" }, Some(board));
            }
            Err(why) => (it.state, it.why) = ("failed", Some(why)),
        });
    }
    let ended = world.clock.now().to_string();
    state.send_modify(|run| {
        let is_stopped = run.stop.is_cancelled();
        run.state = if is_stopped { RunState::Stopped } else { RunState::Done };
        run.ended = Some(ended);
        for section in
            run.sections.iter_mut().filter(|it| ["waiting", "running"].contains(&it.state))
        {
            section.state = "stopped";
        }
    });
}

fn change(state: &watch::Sender<Run>, at: usize, how: impl FnOnce(&mut SectionRun)) {
    state.send_modify(|run| {
        if let Some(section) = run.sections.get_mut(at) {
            how(section);
        }
    });
}

/// Runs one section; its part of the scoreboard, or why there is none.
async fn section(world: &World, programs: &Programs, id: &str) -> Result<Value, String> {
    let process = world.processes.launch(command(programs, id)).await;
    let process = process.map_err(|error| format!("it could not be started: {error}"))?;
    let finished = process.finish().await.map_err(|error| error.to_string())?;
    if finished.stdout.len() > SCOREBOARD_LEN_MAX {
        return Err("its scoreboard is too long".to_owned());
    }
    let board: Option<Value> = serde_json::from_slice(&finished.stdout).ok();
    let board = board.and_then(|it| it["sections"].get(0).cloned());
    board.ok_or_else(|| {
        let said = String::from_utf8_lossy(&finished.stderr);
        let from = said.floor_char_boundary(said.len().saturating_sub(SAID_LEN_MAX));
        let code = finished.code.map_or_else(|| "a signal".to_owned(), |it| it.to_string());
        format!("it ended with {code} and no scoreboard: {}", said[from..].trim())
    })
}

/// What is started: nothing of this daemon's environment goes along, no right of root's, and all
/// that a run starts ends with it, whatever becomes of this daemon.
fn command(programs: &Programs, id: &str) -> ProcessSpec {
    let mut args: Vec<String> = match programs.is_root {
        true => Vec::new(),
        false => ["--user", "--map-current-user"].map(str::to_owned).to_vec(),
    };
    args.extend(["--pid", "--fork", "--kill-child", "--mount-proc", "--"].map(str::to_owned));
    if programs.is_root {
        let nobody = [SETPRIV, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"];
        args.extend(nobody.map(str::to_owned));
    }
    let mut args: Vec<std::ffi::OsString> = args.into_iter().map(Into::into).collect();
    args.push(programs.gauntlet.clone().into());
    args.push("--insula".into());
    args.push(programs.insula.clone().into());
    args.extend(["--section", id, "--json"].map(Into::into));
    let env = [("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8")];
    ProcessSpec {
        program: UNSHARE.into(),
        args,
        env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        cwd: "/".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_nothing_of_this_daemons_and_no_right_of_roots() {
        let programs =
            Programs { insula: "/x/insula".into(), gauntlet: "/x/g".into(), is_root: true };
        let spec = command(&programs, "A");
        assert_eq!(spec.program, PathBuf::from(UNSHARE));
        let args: Vec<&str> = spec.args.iter().map(|it| it.to_str().unwrap()).collect();
        let text = args.join(" ");
        assert!(text.contains("--kill-child") && text.contains("--reuid 65534"), "{text}");
        assert!(text.ends_with("/x/g --insula /x/insula --section A --json"), "{text}");
        let names: Vec<&str> = spec.env.keys().map(|it| it.to_str().unwrap()).collect();
        assert_eq!(names, ["LANG", "PATH"]);
        let ordinary = command(&Programs { is_root: false, ..programs }, "A");
        assert!(ordinary.args.iter().all(|it| it != SETPRIV));
    }

    #[test]
    fn the_recorded_scoreboard_is_one_and_counts_what_it_lists() {
        let board: Value = serde_json::from_str(RECORDED).unwrap();
        for key in ["commit", "date", "version"] {
            assert!(board[key].as_str().is_some_and(|it| !it.is_empty()), "{key}");
        }
        let sections = board["sections"].as_array().unwrap();
        let attempts = sections.iter().map(|it| it["attempts"].as_array().unwrap().len());
        assert_eq!(attempts.sum::<usize>() as u64, board["totals"]["attempts"].as_u64().unwrap());
        let ids: Vec<&str> = sections.iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert!(QUICK.iter().all(|it| ids.contains(it)), "{ids:?}");
    }
}
