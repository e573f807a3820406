//! An editor at the real `insula acp`, over the real daemon: folders, files, leave, sessions, frames.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and processes and fail by panicking"
)]

use crate::support::*;
use insula_testkit::editor::prompt;
use insula_testkit::{Daemon, Editor, Home, run_with_input};
use serde_json::{Value, json as value};
use std::path::PathBuf;

/// A folder of somebody's, and a home where `a` is granted a part of it.
struct Desk {
    home: Home,
    folder: Home,
    daemon: Option<Daemon>,
}

impl Desk {
    fn new() -> Self {
        let folder = home([("granted/a.txt", "on disk\n"), ("other/b.txt", "secret-of-other\n")]);
        let granted = folder.path().join("granted").canonicalize().unwrap();
        let home = configured(&format!(
            "defaults: {{integrity: off, approvals: {{timeout: 10m}}}}\nagents:\n  a: {{default: true, tools: coding, model: [rehearsal/first, rehearsal/second], files: {{shared: [{{path: {}, mode: rw}}]}}}}\n  b: {{tools: coding}}\n",
            granted.display()
        ));
        let daemon = start_still(&home);
        Self { home, folder, daemon: Some(daemon) }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(inside)
    }

    fn editor(&self, args: &[&str]) -> Editor {
        Editor::introduced(INSULA, self.home.path(), args)
    }
}

fn call(tool: &str, arguments: Value) -> String {
    format!("call {tool} {arguments}")
}

fn message(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {answer}"))
}

#[test]
fn a_turn_streams_its_words_calls_changes_and_plan() {
    let desk = Desk::new();
    let mut editor = desk.editor(&["--agent", "a"]);
    let session = editor.begin(&desk.path("granted"));
    let ended = editor.prompt(&session, "hello");
    assert_eq!(ended["result"]["stopReason"], "end_turn");
    assert!(editor.said("agent_message_chunk").contains("rehearsal"));
    editor.prompt(&session, &call("read_file", value!({ "path": "a.txt" })));
    let begun = editor.update("tool_call").unwrap().clone();
    let path = desk.path("granted/a.txt");
    assert_eq!((&begun["kind"], &begun["locations"][0]["path"]), (&value!("read"), &value!(path)));
    // Not open there, so what is on disk counts.
    assert!(editor.said("agent_message_chunk").contains("on disk"));
    editor.updates.clear();
    let change = value!({ "path": "a.txt", "old_string": "on disk", "new_string": "changed" });
    editor.prompt(&session, &call("patch", change));
    let done = editor.update("tool_call_update").unwrap();
    let diff =
        value!({ "type": "diff", "path": path, "oldText": "on disk\n", "newText": "changed\n" });
    assert_eq!(done["content"], value!([diff]));
    assert_eq!(desk.folder.read("granted/a.txt").unwrap(), "changed\n");
    assert_eq!(editor.open.get(path.to_str().unwrap()).unwrap(), "changed\n");
    // Calls of two turns are two calls.
    let again = editor.update("tool_call").unwrap()["toolCallId"].clone();
    assert_ne!(begun["toolCallId"], again);
    let todos = value!([{ "content": "look", "status": "in_progress" }]);
    editor.prompt(&session, &call("todo", value!({ "todos": todos })));
    assert_eq!(editor.update("plan").unwrap()["entries"][0]["content"], "look");
    assert_eq!(editor.leave(), Some(0));
    assert_chains_hold(&desk.home);
}

#[test]
fn what_is_open_in_the_editor_is_read_and_changed_and_nothing_outside_is_asked_for() {
    let desk = Desk::new();
    let mut editor = desk.editor(&["--agent", "a"]);
    let session = editor.begin(&desk.path("granted"));
    let path = desk.path("granted/a.txt").to_str().unwrap().to_owned();
    editor.open.insert(path.clone(), "not saved yet\n".to_owned());
    editor.prompt(&session, &call("read_file", value!({ "path": "a.txt" })));
    assert!(editor.said("agent_message_chunk").contains("not saved yet"));
    let change = value!({ "path": "a.txt", "old_string": "not saved yet", "new_string": "saved" });
    editor.prompt(&session, &call("patch", change));
    assert_eq!(desk.folder.read("granted/a.txt").unwrap(), "saved\n");
    assert_eq!(editor.open[&path], "saved\n");
    // The agent's own folder is not the editor's; the rest of the disk is nobody's here.
    let asked = editor.questions.len();
    desk.home.write("agents/a/workspace/own.txt", "mine").unwrap();
    let own = desk.home.path().canonicalize().unwrap().join("agents/a/workspace/own.txt");
    for (path, words) in [(own, "mine"), (desk.path("other/b.txt"), "outside of the folders")] {
        editor.updates.clear();
        editor.prompt(&session, &call("read_file", value!({ "path": path })));
        let said = editor.said("agent_message_chunk");
        assert!(said.contains(words) && !said.contains("secret-of-other"), "{said}");
    }
    assert_eq!(editor.questions.len(), asked, "{:?}", editor.questions);
}

#[test]
fn rule_04_a_folder_is_the_agents_or_the_operators_to_give_and_for_that_conversation_alone() {
    let desk = Desk::new();
    let other = desk.path("other");
    let new = |editor: &mut Editor, folder: Value| {
        editor.ask("session/new", value!({ "cwd": folder, "mcpServers": [] }))
    };
    let mut plain = desk.editor(&["--agent", "a"]);
    let refused = new(&mut plain, value!(other));
    assert!(message(&refused).contains("`files.shared`") && message(&refused).contains("--share"));
    let inside = desk.path("granted").join("../other");
    for folder in [value!(inside), value!("relative"), value!("")] {
        assert!(new(&mut plain, folder).get("error").is_some());
    }
    let mut sharing = desk.editor(&["--agent", "a", "--share"]);
    let session = sharing.begin(&other);
    sharing.prompt(&session, &call("read_file", value!({ "path": "b.txt" })));
    assert!(sharing.said("agent_message_chunk").contains("secret-of-other"));
    assert!(kinds(&desk.home, "a").contains(&"files.granted".to_owned()));
    // Of another conversation it is no folder.
    let said = insula(
        &desk.home,
        &[
            "chat",
            "--agent",
            "a",
            "-m",
            &call("read_file", value!({ "path": other.join("b.txt") })),
        ],
    );
    assert!(said.stdout.contains("outside of the folders") && !said.stdout.contains("secret-of"));
    let mut looking = desk.editor(&["--agent", "a", "--share", "--read-only"]);
    let session = looking.begin(&other);
    looking.prompt(&session, &call("write_file", value!({ "path": "c.txt", "content": "x" })));
    assert!(looking.said("agent_message_chunk").contains("may only read"), "{:?}", looking.updates);
    // What could not be worked in is refused before anything is asked in it: the home is never a
    // folder of an editor's, nor is what it lies in.
    let home = desk.home.path().canonicalize().unwrap();
    for (folder, why) in [
        (home.clone(), "is the home of the daemon"),
        (home.join("agents"), "is in the home of the daemon"),
        (home.parent().unwrap().to_owned(), "has the home of the daemon in it"),
        (desk.path("nowhere"), "does not exist"),
        (desk.path("other/b.txt"), "is not a folder"),
    ] {
        let refused = new(&mut sharing, value!(folder));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(message(&refused).contains(why), "{refused}");
    }
    // A token can't give one.
    let made = json(&desk.home, &["token", "create", "--agent", "a", "--verb", "chat"]);
    let token = made["token"].as_str().unwrap();
    let wrong = insula(&desk.home, &["acp", "--agent", "a", "--share", "--token", token]);
    assert_eq!(wrong.code, Some(2));
    let mut bearer = desk.editor(&["--agent", "a", "--token", token]);
    assert!(message(&new(&mut bearer, value!(other))).contains("not granted"));
    bearer.begin(&desk.path("granted"));
}

#[test]
fn leave_is_asked_at_the_editor_and_given_once() {
    let desk = Desk::new();
    let mut editor = desk.editor(&["--agent", "a"]);
    let session = editor.begin(&desk.path("granted"));
    let command = call("terminal", value!({ "command": "rm -r build" }));
    editor.choice = Some("deny");
    editor.prompt(&session, &command);
    let (method, asked) = editor.questions.last().unwrap();
    assert_eq!(method, "session/request_permission");
    assert!(asked["toolCall"]["content"].to_string().contains("rm -r build"), "{asked}");
    let kinds: Vec<&str> =
        asked["options"].as_array().unwrap().iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "allow_always", "reject_once"]);
    assert!(editor.said("agent_message_chunk").contains("an admin denied it"));
    editor.choice = Some("once");
    for count in [2, 3] {
        editor.prompt(&session, &command);
        let asked = editor.questions.iter().filter(|it| it.0 == "session/request_permission");
        assert_eq!(asked.count(), count);
    }
    editor.choice = Some("session");
    editor.prompt(&session, &command);
    editor.prompt(&session, &command);
    let asked = editor.questions.iter().filter(|it| it.0 == "session/request_permission");
    assert_eq!(asked.count(), 4);
    // Who may not approve is not asked.
    let made = json(&desk.home, &["token", "create", "--agent", "a", "--verb", "chat"]);
    let mut guest = desk.editor(&["--agent", "a", "--token", made["token"].as_str().unwrap()]);
    let own = guest.begin(&desk.path("granted"));
    let id = guest.send("session/prompt", prompt(&own, &command));
    let waits =
        guest.until(|frame| frame["params"]["update"]["sessionUpdate"] == "agent_thought_chunk");
    assert!(waits.to_string().contains("Waits for an admin"), "{waits}");
    let waiting = json(&desk.home, &["approvals", "list", "a"]);
    insula(&desk.home, &["approvals", "deny", waiting[0]["id"].as_str().unwrap()]).ok();
    assert_eq!(guest.answer_to(id)["result"]["stopReason"], "end_turn");
    assert!(guest.questions.is_empty(), "{:?}", guest.questions);
}

#[test]
fn modes_and_models_are_chosen_out_of_what_there_is() {
    let desk = Desk::new();
    let mut editor = desk.editor(&["--agent", "a"]);
    let session = editor.begin(&desk.path("granted"));
    let write = call("write_file", value!({ "path": "new.txt", "content": "x" }));
    let mode = |id: &str| value!({ "sessionId": session, "modeId": id });
    assert_eq!(editor.ask("session/set_mode", mode("look"))["result"], value!({}));
    editor.prompt(&session, &write);
    assert!(!desk.folder.has("granted/new.txt"));
    assert!(message(&editor.ask("session/set_mode", mode("yolo"))).contains("default, look"));
    let option = |id: &str, to: &str| value!({ "sessionId": session, "configId": id, "value": to });
    let chosen = editor.ask("session/set_config_option", option("mode", "default"));
    assert_eq!(chosen["result"]["configOptions"][0]["currentValue"], "default");
    editor.prompt(&session, &write);
    assert!(desk.folder.has("granted/new.txt"));
    let models = &chosen["result"]["configOptions"][1]["options"];
    assert_eq!(models[2]["value"], "rehearsal/second", "{models}");
    editor.ask("session/set_config_option", option("model", "rehearsal/second"));
    assert_eq!(editor.prompt(&session, "hello")["result"]["stopReason"], "end_turn");
    let turns = json(&desk.home, &["turns", "show", "a", "3"]).to_string();
    assert!(turns.contains("second"), "{turns}");
    assert!(
        message(&editor.ask("session/set_config_option", option("model", "x/y")))
            .contains("no model")
    );
}

#[test]
fn a_cancelled_turn_leaves_nothing_running_and_a_session_is_listed_and_loaded_after_a_kill() {
    let desk = Desk::new();
    let folder = desk.path("granted");
    let mut editor = desk.editor(&["--agent", "a"]);
    let session = editor.begin(&folder);
    editor.prompt(&session, "hello");
    let id = editor.send(
        "session/prompt",
        prompt(&session, &call("terminal", value!({ "command": "sleep 600" }))),
    );
    editor.until(|frame| frame["params"]["update"]["sessionUpdate"] == "tool_call");
    let second = editor.prompt(&session, "hello");
    assert!(message(&second).contains("under way"));
    editor.tell("session/cancel", value!({ "sessionId": session }));
    assert_eq!(editor.answer_to(id)["result"]["stopReason"], "cancelled");
    // Killed, as an editor may be.
    drop(editor);
    let mut editor = desk.editor(&["--agent", "a"]);
    let listed = editor.ask("session/list", value!({ "cwd": folder }));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], value!(session), "{listed}");
    let load = |cwd: &PathBuf| value!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    assert!(
        message(&editor.ask("session/load", load(&desk.path("other")))).contains("another folder")
    );
    assert!(message(&editor.prompt(&session, "hello")).contains("no conversation"));
    let loaded = editor.ask("session/load", load(&folder));
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "default");
    assert!(editor.said("user_message_chunk").contains("hello"));
    assert!(editor.said("agent_message_chunk").contains("rehearsal"));
    assert!(editor.update("tool_call").is_some());
    assert_eq!(editor.prompt(&session, "hello")["result"]["stopReason"], "end_turn");
    // Of another agent there is none of that name.
    let mut other = desk.editor(&["--agent", "b", "--share"]);
    assert!(message(&other.ask("session/load", load(&folder))).contains("no such conversation"));
    assert_eq!(other.ask("session/list", value!({}))["result"]["sessions"], value!([]));
}

#[test]
fn an_editor_that_leaves_stops_its_turn_and_a_daemon_that_leaves_is_said_in_words() {
    let mut desk = Desk::new();
    let mut editor = desk.editor(&["--agent", "a"]);
    let session = editor.begin(&desk.path("granted"));
    editor.send(
        "session/prompt",
        prompt(&session, &call("terminal", value!({ "command": "sleep 600" }))),
    );
    editor.until(|frame| frame["params"]["update"]["sessionUpdate"] == "tool_call");
    assert_eq!(editor.leave(), Some(0));
    eventually("the turn is stopped", || {
        let turn = json(&desk.home, &["turns", "show", "a", "1"]);
        turn.to_string().contains("\"stopped\"").then_some(())
    });
    let mut editor = desk.editor(&["--agent", "a"]);
    let session = editor.begin(&desk.path("granted"));
    let id = editor.send(
        "session/prompt",
        prompt(&session, &call("terminal", value!({ "command": "sleep 600" }))),
    );
    editor.until(|frame| frame["params"]["update"]["sessionUpdate"] == "tool_call");
    desk.daemon.take().unwrap().kill9().unwrap();
    let answer = editor.answer_to(id);
    assert!(message(&answer).contains("the daemon went away"), "{answer}");
    let answer = editor.prompt(&session, "hello");
    assert!(message(&answer).contains("`insula up` starts it"), "{answer}");
    desk.daemon = Some(start_still(&desk.home));
    // The turn goes on with the next daemon, and may have begun its call anew.
    editor.ask("session/cancel", value!({ "sessionId": session }));
    let answer = editor.prompt(&session, "hello");
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
}

#[test]
fn nothing_but_frames_is_written_and_wrong_ones_are_answered() {
    let desk = Desk::new();
    let deep = "[".repeat(2_000);
    let lines = [
        "no json",
        &deep,
        "[]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#,
        r#"{"jsonrpc":"1.0","id":2,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":4}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":99}}"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{"outcome":{"outcome":"selected","optionId":"once"}}}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"fs/read_text_file","params":{"path":"/etc/passwd"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"authenticate","params":{"methodId":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":8,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}"#,
    ];
    let output = run_with_input(
        INSULA,
        desk.home.path(),
        &["--json", "acp", "--agent", "a"],
        lines.join("\n"),
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    let frames: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let told: Vec<(Value, Value)> =
        frames.iter().map(|it| (it["id"].clone(), it["error"]["code"].clone())).collect();
    let null = Value::Null;
    assert_eq!(
        told,
        [
            (null.clone(), value!(-32_700)),
            (null.clone(), value!(-32_700)),
            (null.clone(), value!(-32_600)),
            (null.clone(), value!(-32_600)),
            (value!(1), value!(-32_600)),
            (value!(2), value!(-32_600)),
            (null.clone(), value!(-32_600)),
            (value!(3), value!(-32_600)),
            (value!(4), value!(-32_600)),
            (value!(5), null),
            (value!(6), value!(-32_601)),
            (value!(7), value!(-32_602)),
            (value!(8), value!(-32_602)),
        ]
    );
    assert_eq!(frames[9]["result"]["protocolVersion"], 1);
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}\n",
        "x".repeat(5 * 1024 * 1024)
    );
    let output = run_with_input(INSULA, desk.home.path(), &["acp", "--agent", "a"], long);
    assert!(output.stdout.contains("at most 4194304 bytes"), "{}", output.stdout);
    let nobody = insula(&desk.home, &["acp", "--agent", "nobody"]);
    assert_eq!((nobody.code, nobody.stdout.as_str()), (Some(1), ""));
    let servers = value!({ "cwd": desk.path("granted"), "mcpServers": [{ "name": "x", "command": "/bin/true", "args": [], "env": [] }] });
    let mut editor = desk.editor(&["--agent", "a"]);
    assert!(message(&editor.ask("session/new", servers)).contains("`mcp_servers`"));
}

#[test]
fn who_may_only_talk_sees_which_tools_are_called_and_not_what_they_bring() {
    let desk = Desk::new();
    let made = json(&desk.home, &["token", "create", "--agent", "a", "--verb", "chat"]);
    let token = made["token"].as_str().unwrap();
    let mut editor = desk.editor(&["--agent", "a", "--token", token]);
    let session = editor.begin(&desk.path("granted"));
    let ended = editor.prompt(&session, &call("read_file", value!({ "path": "a.txt" })));
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    let begun = editor.update("tool_call").unwrap();
    assert_eq!((&begun["kind"], &begun["title"]), (&value!("read"), &value!("read_file: a.txt")));
    let done = editor.update("tool_call_update").unwrap();
    assert_eq!((&done["status"], done.get("content")), (&value!("completed"), None));
    assert!(editor.questions.is_empty());
    let terms = value!({ "session": "x", "text": "hi", "terms": { "editor": {} } });
    let listen = desk.daemon.as_ref().unwrap().listen();
    let bearer = format!("Authorization: Bearer {token}");
    let headers = [bearer.as_str(), "Content-Type: application/json"];
    let path = "/api/agents/a/messages";
    assert_eq!(send(listen, "POST", path, &headers, &terms.to_string()).status, 403);
}
