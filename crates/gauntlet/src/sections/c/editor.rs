//! C22: an editor at `insula acp`, and whoever pretends to be one.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::puppet::{Script, obey, results};
use crate::stage::Stage;
use crate::{control, hold, machine};
use anyhow::Result;
use insula_testkit::editor::prompt;
use insula_testkit::{Editor, run_with_input};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What only lies outside of the editor's folder.
const OUTSIDE: &str = "canary-outside-of-the-desk";

/// Two agents of which `a` is granted a folder.
pub fn desk(stage: &Stage) -> Result<Ground> {
    let shared = "tools: coding, files: {shared: [{path: '{outside}/shared', mode: rw}]}";
    let plan = Plan::new()
        .top("approvals: {mode: manual, timeout: 10m}\nstore: {durability: process}")
        .agent("a", shared)
        .agent("b", shared);
    let ground = Ground::raise(stage, plan)?;
    ground.outside.write("shared/inside.txt", "words of the desk")?;
    ground.outside.write("elsewhere/secret.txt", OUTSIDE)?;
    Ok(ground)
}

fn outside(ground: &Ground, path: &str) -> Result<PathBuf> {
    Ok(machine::real(ground.outside.path())?.join(path))
}

fn editor(ground: &Ground, args: &[&str]) -> Editor {
    Editor::introduced(&ground.stage().insula, ground.home().path(), args)
}

/// Has the agent make a call in a conversation of an editor's; what it came to.
fn call(
    ground: &Ground,
    editor: &mut Editor,
    session: &str,
    tool: &str,
    arguments: Value,
) -> Result<String> {
    let tag = ground.puppets.learn(obey::one(tool, arguments));
    editor.prompt(session, &tag);
    let requests = ground.puppets.with_tag(&tag);
    Ok(requests.last().map(results).unwrap_or_default().join("\n"))
}

fn is_refused(answer: &Value) -> bool {
    answer["error"]["code"].is_number() && answer.get("result").is_none()
}

fn begun(ground: &Ground, args: &[&str]) -> Result<(Editor, String)> {
    let mut editor = editor(ground, args);
    let session = editor.begin(&outside(ground, "shared")?);
    let script = ground.puppets.learn(Script::say("begun"));
    let answer = editor.prompt(&session, &script);
    control!(answer["result"]["stopReason"] == "end_turn", "no turn: {answer}");
    Ok((editor, session))
}

fn load(ground: &Ground, editor: &mut Editor, session: &str) -> Result<Value> {
    let cwd = outside(ground, "shared")?;
    let wish = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    Ok(editor.ask("session/load", wish))
}

fn a_session_of_another_agent(ground: &Ground) -> Outcome {
    let (mut own, session) = begun(ground, &["--agent", "a"])?;
    let loaded = load(ground, &mut own, &session)?;
    control!(loaded.get("result").is_some(), "its own can't be loaded: {loaded}");
    let mut other = editor(ground, &["--agent", "b"]);
    let loaded = load(ground, &mut other, &session)?;
    hold!(is_refused(&loaded), "loaded: {loaded}");
    let missing = load(ground, &mut other, &session.replace("editor.", "editor.0"))?;
    hold!(loaded["error"] == missing["error"], "it shows: {loaded} {missing}");
    let listed = other.ask("session/list", json!({}));
    hold!(!listed.to_string().contains(&session), "listed: {listed}");
    Ok(Verdict::Held)
}

fn a_session_of_another_token(ground: &Ground) -> Outcome {
    let verbs = ["chat", "read"];
    let (one, two) = (ground.mint("a", &verbs)?, ground.mint("a", &verbs)?);
    let (_own, session) = begun(ground, &["--agent", "a", "--token", &one.text])?;
    let mut other = editor(ground, &["--agent", "a", "--token", &two.text]);
    let loaded = load(ground, &mut other, &session)?;
    hold!(is_refused(&loaded), "loaded: {loaded}");
    let prompted = other.prompt(&session, "hello");
    hold!(is_refused(&prompted), "prompted: {prompted}");
    Ok(Verdict::Held)
}

fn a_path_outside(ground: &Ground) -> Outcome {
    let (mut editor, session) = begun(ground, &["--agent", "a"])?;
    let inside = call(ground, &mut editor, &session, "read_file", json!({ "path": "inside.txt" }))?;
    control!(inside.contains("words of the desk"), "nothing can be read: {inside}");
    let secret = outside(ground, "elsewhere/secret.txt")?;
    let asked = editor.questions.len();
    for path in [json!(secret), json!("../elsewhere/secret.txt")] {
        let got = call(ground, &mut editor, &session, "read_file", json!({ "path": path }))?;
        hold!(!got.contains(OUTSIDE), "{path}: {got}");
    }
    hold!(editor.questions.len() == asked, "the editor was asked: {:?}", editor.questions);
    Ok(Verdict::Held)
}

fn a_link_outside(ground: &Ground) -> Outcome {
    let (mut editor, session) = begun(ground, &["--agent", "a"])?;
    let link = outside(ground, "shared/way-out")?;
    if !machine::is_there(&link) {
        machine::link(&outside(ground, "elsewhere")?, &link)?;
    }
    // An editor that follows it has the file open: it is not asked for it.
    let path = link.join("secret.txt").display().to_string();
    editor.open.insert(path.clone(), OUTSIDE.to_owned());
    let secret = outside(ground, "elsewhere/secret.txt")?.display().to_string();
    editor.open.insert(secret, OUTSIDE.to_owned());
    for path in ["way-out/secret.txt", &path] {
        let got = call(ground, &mut editor, &session, "read_file", json!({ "path": path }))?;
        hold!(!got.contains(OUTSIDE), "{path}: {got}");
    }
    let words = json!({ "path": "way-out/new.txt", "content": "x" });
    call(ground, &mut editor, &session, "write_file", words)?;
    hold!(!machine::is_there(&outside(ground, "elsewhere/new.txt")?), "it was written");
    Ok(Verdict::Held)
}

fn folders_nobody_granted(ground: &Ground) -> Outcome {
    let mut plain = editor(ground, &["--agent", "a"]);
    let shared = outside(ground, "shared")?;
    for folder in [
        outside(ground, "elsewhere")?,
        shared.join("../elsewhere"),
        shared.join("way-out"),
        PathBuf::from("/"),
        PathBuf::from("relative"),
    ] {
        let wish = json!({ "cwd": folder, "mcpServers": [] });
        let answer = plain.ask("session/new", wish);
        let Some(session) = answer["result"]["sessionId"].as_str().map(str::to_owned) else {
            continue;
        };
        // One that goes by a link may be begun and opens nothing.
        let got = call(ground, &mut plain, &session, "read_file", json!({ "path": "secret.txt" }))?;
        hold!(!got.contains(OUTSIDE), "{}: {got}", folder.display());
    }
    Ok(Verdict::Held)
}

fn the_home_as_a_folder(ground: &Ground) -> Outcome {
    let mut sharing = editor(ground, &["--agent", "a", "--share"]);
    let home = machine::real(ground.home().path())?;
    ground.home().write("agents/b/workspace/own.txt", OUTSIDE)?;
    for folder in [home.clone(), home.join("agents/b/workspace"), home.join("vault")] {
        let wish = json!({ "cwd": folder, "mcpServers": [] });
        let answer = sharing.ask("session/new", wish);
        let Some(session) = answer["result"]["sessionId"].as_str().map(str::to_owned) else {
            continue;
        };
        for path in ["own.txt", "agents/b/workspace/own.txt", "run/admin.token"] {
            let got = call(ground, &mut sharing, &session, "read_file", json!({ "path": path }))?;
            let token = ground.home().read("run/admin.token")?;
            hold!(!got.contains(OUTSIDE) && !got.contains(token.trim()), "{path}: {got}");
        }
    }
    Ok(Verdict::Held)
}

fn a_token_that_gives_a_folder(ground: &Ground) -> Outcome {
    let token = ground.mint("a", &["chat", "read", "approve", "manage"])?;
    let folder = json!({ "path": outside(ground, "elsewhere")?, "share": "rw" });
    let wish = json!({ "folder": folder });
    let offered = ground.api(&token.text, "POST", "/api/agents/a/editor", &wish)?;
    hold!(offered.status == 403, "{offered:?}");
    let tag = ground.puppets.learn(obey::one("read_file", json!({ "path": "secret.txt" })));
    let body = json!({ "session": "x", "text": tag, "terms": { "folder": folder } });
    let said = ground.api(&token.text, "POST", "/api/agents/a/messages", &body)?;
    hold!(said.status == 403 && !said.body.contains(OUTSIDE), "{said:?}");
    Ok(Verdict::Held)
}

/// A turn of an editor's that waits for leave.
fn waits(ground: &Ground) -> Result<(Editor, u64, String)> {
    let (mut editor, session) = begun(ground, &["--agent", "a"])?;
    editor.choice = None;
    let command = json!({ "command": "rm -rf build" });
    let tag = ground.puppets.learn(obey::one("terminal", command));
    let id = editor.send("session/prompt", prompt(&session, &tag));
    let asked = editor.until(|frame| frame["method"] == "session/request_permission");
    Ok((editor, id, asked["id"].to_string()))
}

fn leave_given_by_another_connection(ground: &Ground) -> Outcome {
    let (mut editor, id, _) = waits(ground)?;
    let (mut other, _) = begun(ground, &["--agent", "a"])?;
    let yes = json!({ "outcome": { "outcome": "selected", "optionId": "always" } });
    for guess in 0..64 {
        other.write(&json!({ "jsonrpc": "2.0", "id": guess, "result": yes }).to_string());
    }
    // What is answered after them was read after them.
    other.ask("session/list", json!({}));
    let waiting = ground.cli_json(&["approvals", "list", "a"])?;
    hold!(waiting.as_array().is_some_and(|all| all.len() == 1), "it was answered: {waiting}");
    editor.tell("session/cancel", json!({ "sessionId": "" }));
    let approval = waiting[0]["id"].as_str().unwrap_or_default().to_owned();
    ground.cli(&["approvals", "deny", &approval]);
    editor.answer_to(id);
    hold!(ground.audited("a", "approval.approved", "")? == 0, "somebody approved");
    Ok(Verdict::Held)
}

fn leave_given_by_a_guest(ground: &Ground) -> Outcome {
    let (mut editor, id, _) = waits(ground)?;
    let waiting = ground.cli_json(&["approvals", "list", "a"])?;
    let approval = waiting[0]["id"].as_str().unwrap_or_default().to_owned();
    let guest = ground.mint("a", &["chat", "read"])?;
    let path = format!("/api/agents/a/approvals/{approval}");
    let yes = json!({ "decision": "approve", "scope": "always" });
    let answer = ground.api(&guest.text, "POST", &path, &yes)?;
    hold!(answer.status == 403, "{answer:?}");
    // Nor beforehand, for a turn of their own.
    let tag = ground.puppets.learn(obey::one("terminal", json!({ "command": "rm -rf build" })));
    let terms = json!({ "approvals": "deny", "allow": ["terminal"] });
    let body = json!({ "session": "x", "text": tag, "terms": terms });
    let said = ground.api(&guest.text, "POST", "/api/agents/a/messages", &body)?;
    hold!(said.status == 403, "{said:?}");
    ground.cli(&["approvals", "deny", &approval]);
    editor.answer_to(id);
    Ok(Verdict::Held)
}

fn a_file_answered_by_another(ground: &Ground) -> Outcome {
    let (mut editor, session) = begun(ground, &["--agent", "a"])?;
    let other = ground.mint("a", &["chat"])?;
    let foreign = ground.mint("b", &["chat"])?;
    for request in 0..8 {
        let answer = json!({ "session": session, "request": request.to_string(), "text": OUTSIDE });
        for (token, agent, status) in
            [(&other, "a", 404), (&foreign, "a", 404), (&foreign, "b", 404)]
        {
            let path = format!("/api/agents/{agent}/editor/answer");
            let got = ground.api(&token.text, "POST", &path, &answer)?;
            hold!(got.status == status, "{agent}: {got:?}");
        }
    }
    let path = outside(ground, "shared/inside.txt")?.display().to_string();
    editor.open.insert(path, "words of the editor".to_owned());
    let got = call(ground, &mut editor, &session, "read_file", json!({ "path": "inside.txt" }))?;
    hold!(got.contains("words of the editor") && !got.contains(OUTSIDE), "{got}");
    Ok(Verdict::Held)
}

/// What the command writes to these lines.
fn frames(ground: &Ground, lines: &str) -> Result<Vec<Value>> {
    let output = run_with_input(
        &ground.stage().insula,
        ground.home().path(),
        &["acp", "--agent", "a", "--share"],
        lines,
    );
    let frames = output.stdout.lines().map(serde_json::from_str);
    Ok(frames.collect::<Result<_, _>>()?)
}

fn before_initialize(ground: &Ground) -> Outcome {
    let cwd = outside(ground, "shared")?;
    let wish = |id, method: &str| {
        let params = json!({ "cwd": cwd, "mcpServers": [], "sessionId": "editor.1./" });
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let methods = ["session/new", "session/load", "session/list", "session/prompt"];
    let lines: Vec<String> = (1..).zip(methods).map(|(id, method)| wish(id, method)).collect();
    let told = frames(ground, &(lines.join("\n") + "\n"))?;
    hold!(told.len() == methods.len() && told.iter().all(is_refused), "{told:?}");
    Ok(Verdict::Held)
}

fn a_batch(ground: &Ground) -> Outcome {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    let told = frames(ground, &format!("{}\n[]\n", json!([hello, hello])))?;
    hold!(told.len() == 2 && told.iter().all(is_refused), "{told:?}");
    Ok(Verdict::Held)
}

fn an_oversized_frame(ground: &Ground) -> Outcome {
    let long = "x".repeat(6 * 1024 * 1024);
    let hello =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "x": long } });
    let told = frames(ground, &format!("{hello}\n"))?;
    hold!(told.len() == 1 && is_refused(&told[0]), "{} frames", told.len());
    let (_, session) = begun(ground, &["--agent", "a"])?;
    control!(!session.is_empty(), "the daemon does not serve any more");
    Ok(Verdict::Held)
}

fn a_session_by_the_name_of_one_turns(ground: &Ground) -> Outcome {
    let token = ground.token("a")?.text.clone();
    for body in [
        json!({ "session": "once-1", "text": "hello", "terms": {} }),
        json!({ "session": "x", "text": "hello", "terms": { "once": true } }),
    ] {
        let said = ground.api(&token, "POST", "/api/agents/a/messages", &body)?;
        hold!(said.status == 400, "{said:?}");
    }
    Ok(Verdict::Held)
}

/// C22.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "C22", variant: "a session of another agent", run: a_session_of_another_agent },
    Attempt { row: "C22", variant: "a session of another token", run: a_session_of_another_token },
    Attempt { row: "C22", variant: "a path outside of the folder", run: a_path_outside },
    Attempt { row: "C22", variant: "a link out of the folder", run: a_link_outside },
    Attempt { row: "C22", variant: "folders that nobody granted", run: folders_nobody_granted },
    Attempt { row: "C22", variant: "the home as a folder", run: the_home_as_a_folder },
    Attempt { row: "C22", variant: "a token gives a folder", run: a_token_that_gives_a_folder },
    Attempt {
        row: "C22",
        variant: "leave by another connection",
        run: leave_given_by_another_connection,
    },
    Attempt { row: "C22", variant: "leave by a guest", run: leave_given_by_a_guest },
    Attempt { row: "C22", variant: "a file answered by another", run: a_file_answered_by_another },
    Attempt { row: "C22", variant: "frames before initialize", run: before_initialize },
    Attempt { row: "C22", variant: "a batch", run: a_batch },
    Attempt { row: "C22", variant: "an oversized frame", run: an_oversized_frame },
    Attempt {
        row: "C22",
        variant: "the name of a conversation of one turn",
        run: a_session_by_the_name_of_one_turns,
    },
];
