//! One agent against another, by programs, processes and approvals: A5, A7 and A8 of the
//! gauntlet, and the ways of A3 that need a shell.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use super::arena::{Arena, CANARY, HostSetup, Level, Stage, process, several};
use super::at_both_levels;
use crate::support::*;
use serde_json::{Value, json};

/// Ways to another's folder in the words of a shell. `THEIRS` is the folder, `SHARED` one that
/// was granted, `DAEMON` the daemon's process.
const WAYS: [(&str, &str); 22] = [
    ("by its path", "cat THEIRS/secret.txt"),
    ("by a way up", "cat ../../b/workspace/secret.txt"),
    ("by a long way up", "cat ../../../../../../../../../..THEIRS/secret.txt"),
    ("listed", "ls THEIRS"),
    ("entered", "cd THEIRS && ls"),
    ("found", "find / -name secret.txt 2>/dev/null | grep ."),
    ("by a symbolic link", "ln -sf THEIRS/secret.txt link; cat link"),
    ("by a symbolic link to the folder", "ln -sfn THEIRS folder; cat folder/secret.txt"),
    ("by a chain of links", "ln -sfn ../../b one; ln -sfn one/workspace two; cat two/secret.txt"),
    ("by a hard link", "ln THEIRS/secret.txt hard; cat hard"),
    ("by renaming it here", "mv THEIRS/secret.txt mine; cat mine"),
    ("by renaming the folder here", "mv THEIRS mine; cat mine/secret.txt"),
    ("by the root of its process", "cat /proc/self/root/THEIRS/secret.txt"),
    ("by the root of the first process", "cat /proc/1/root/THEIRS/secret.txt"),
    ("by the root of the daemon", "cat /proc/DAEMON/root/THEIRS/secret.txt"),
    ("by the working directory of its process", "cat /proc/self/cwd/../../b/workspace/secret.txt"),
    ("through the shared folder", "cat SHARED/../..THEIRS/secret.txt"),
    ("through a link in the shared folder", "cat SHARED/escape"),
    ("through a link to the folder in the shared one", "cat SHARED/escape-folder/secret.txt"),
    ("overwritten", "echo mine > THEIRS/secret.txt"),
    ("planted", "touch THEIRS/planted"),
    ("removed", "rm -f THEIRS/secret.txt; [ ! -e THEIRS/secret.txt ] && echo gone"),
];

/// Those of them that leave everything as it is and get there where there are no walls.
const OPEN_WAYS: [&str; 9] = [
    "by its path",
    "by a way up",
    "listed",
    "entered",
    "by a symbolic link",
    "by a chain of links",
    "by the root of its process",
    "by the working directory of its process",
    "through a link in the shared folder",
];

/// Whether a command was kept from what it wanted: it says so by its status, or by its words.
fn failed(said: &str) -> bool {
    let words = ["[exit status", "[ended", "refused: "];
    words.iter().any(|word| said.contains(word))
}

fn a3_no_command_reaches_the_folder_of_another(level: Level) {
    let arena = Arena::new(level);
    let theirs = arena.variable("OTHER").to_owned();
    let daemon = arena.stage.daemon.pid().to_string();
    let answers = several(&WAYS, |(name, command)| {
        let command = command.replace("THEIRS", &theirs).replace("DAEMON", &daemon);
        let command = command.replace("SHARED", &arena.shared.display().to_string());
        // `rm -f` of nothing is a success, as it should be.
        let command = command.replace("echo gone", "exit 1");
        // Each in a folder of its own, so that one's links are not another's.
        let place = name.replace(' ', "-");
        let said = arena.stage.sh("a", &place, &format!("mkdir {place} && cd {place}; {command}"));
        let same = arena.stage.sh("a", &format!("{place}-here"), &command);
        (said, same)
    });
    let mut failures = Vec::new();
    for ((name, _), (said, same)) in WAYS.iter().zip(answers) {
        for said in [said, same] {
            println!("{name}: {}", said.lines().next().unwrap_or_default());
            if said.contains(CANARY) || !failed(&said) {
                failures.push(format!("{name}: {said}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    arena.assert_undisturbed();
    // Whose walls are down gets there by the same words.
    for (name, command) in WAYS.iter().filter(|(name, _)| OPEN_WAYS.contains(name)) {
        let command = command.replace("THEIRS", &theirs);
        let command = command.replace("SHARED", &arena.shared.display().to_string());
        let said = arena.stage.sh("open", name, &command);
        assert!(!failed(&said), "{name} shows nothing: {said}");
    }
}

/// Ways to the environment of others.
const ENVIRONMENTS: [(&str, &str, &str); 10] = [
    ("its own", "terminal", "env"),
    ("of its shell", "terminal", "set; export -p"),
    ("of all processes", "terminal", "cat /proc/[0-9]*/environ | tr '\\0' '\\n'"),
    ("of the first process", "terminal", "tr '\\0' '\\n' < /proc/1/environ; true"),
    ("of its parent", "terminal", "tr '\\0' '\\n' < /proc/$PPID/environ; true"),
    ("of the daemon", "terminal", "tr '\\0' '\\n' < /proc/DAEMON/environ"),
    ("of another's process", "terminal", "tr '\\0' '\\n' < /proc/VICTIM/environ"),
    ("as ps shows it", "terminal", "ps axeww"),
    ("as python has it", "execute_code", "import os; print(os.environ)"),
    ("as its memory has it", "execute_code", "print(open('/proc/self/environ').read())"),
];

fn a5_no_environment_but_its_own(level: Level) {
    let arena = Arena::new(level);
    let daemon = arena.stage.daemon.pid().to_string();
    for (name, tool, code) in ENVIRONMENTS {
        let code = code.replace("DAEMON", &daemon).replace("VICTIM", &arena.victim.to_string());
        let arguments = match tool {
            "terminal" => json!({ "command": code }),
            _ => json!({ "code": code }),
        };
        let said = arena.stage.call("a", name, tool, arguments);
        println!("{name}: {said}");
        for word in [CANARY, "OF_THE_DAEMON", "SECRET=", "TOKEN=", "INSULA"] {
            assert!(!said.contains(word), "{name}: {said}");
        }
    }
    // The owner has what it was given, and the daemon what it was started with.
    let said = arena.stage.sh("b", "own", "printenv SECRET");
    assert!(said.starts_with(CANARY), "{said}");
    let daemons = std::fs::read(format!("/proc/{daemon}/environ")).unwrap();
    assert!(String::from_utf8_lossy(&daemons).contains("OF_THE_DAEMON"));
    arena.assert_undisturbed();
}

fn a7_the_process_of_another_does_not_exist(level: Level) {
    let arena = Arena::new(level);
    let stage = &arena.stage;
    let actions = ["poll", "log", "wait", "kill", "write", "submit", "close"];
    let wish = |action: &str, id: &str| json!({ "action": action, "session_id": id, "data": "x", "timeout": 1 });
    // In a conversation of the same name, too.
    for session in ["own", "another"] {
        assert_eq!(
            stage.call("a", session, "process", json!({ "action": "list" })),
            "no processes\n"
        );
        for action in actions {
            let said = stage.call("a", session, "process", wish(action, "p1"));
            assert!(said.contains("there is no process `p1`"), "{action}: {said}");
            let absent = stage.call("a", session, "process", wish(action, "p7"));
            assert_eq!(said.replace("p1", "p7"), absent, "{action}");
        }
    }
    for id in
        ["b/p1", "b:p1", "own/p1", "../b/p1", "1", "p01", "P1", "p1 ", &arena.victim.to_string()]
    {
        for action in actions {
            let said = stage.call("a", "own", "process", wish(action, id));
            assert!(said.contains("there is no process"), "{id} {action}: {said}");
        }
    }
    let (victim, port) = (arena.victim, stage.host.puppet.port);
    for command in [
        format!("kill -9 {victim}"),
        format!("kill -0 {victim}"),
        format!("kill -STOP {victim}"),
        "pkill -x sleep".to_owned(),
        "pgrep -x sleep".to_owned(),
        format!("cat /proc/{victim}/cmdline"),
        format!("ls -l /proc/{victim}/fd"),
        format!("cat /proc/{victim}/{door}/tmp/own", door = "root"),
        "grep -r CANARY- /tmp && echo found; false".to_owned(),
    ] {
        let said = stage.sh("a", "own", &command);
        println!("{command}: {said}");
        assert!(failed(&said) && !said.contains(CANARY), "{command}: {said}");
    }
    // Its owner can, and nobody disturbed it.
    arena.assert_undisturbed();
    let said = stage.call("b", "own", "process", wish("kill", "p1"));
    assert!(said.contains("ended"), "{said}");
    assert_eq!(process(&format!("sleep 1{port}")), None);
}

/// What waits for an answer at an agent.
fn waiting(stage: &Stage, agent: &str) -> Option<String> {
    let all = stage.host.json(&["approvals", "list", agent]);
    Some(all[0]["id"].as_str()?.to_owned())
}

/// A call that has to wait, and the answer it is given; what came of it.
fn answered(stage: &Stage, whose: (&str, &str), call: &Value, answer: &[&str]) -> String {
    answered_of(stage, whose, ("terminal", call), answer)
}

/// The same of any tool.
fn answered_of(
    stage: &Stage,
    (agent, session): (&str, &str),
    (tool, call): (&str, &Value),
    answer: &[&str],
) -> String {
    std::thread::scope(|threads| {
        let asked = threads.spawn(|| stage.call(agent, session, tool, call.clone()));
        let id = eventually("a call that waits", || {
            assert!(!asked.is_finished(), "{agent} in {session} did not have to ask");
            waiting(stage, agent)
        });
        let args: Vec<&str> =
            ["approvals", answer[0], &id].into_iter().chain(answer[1..].iter().copied()).collect();
        stage.host.cli(&args).ok();
        asked.join().unwrap()
    })
}

fn a8_a_grant_of_one_is_none_of_another(level: Level) {
    let config = "approvals: {mode: manual, timeout: 10m}\nagents:\n  a: {default: true, tools: coding}\n  b: {tools: coding}\n";
    let stage = Stage::open(HostSetup::new(level, config), &["a", "b"]);
    for agent in ["a", "b"] {
        stage.sh(agent, "s", "mkdir -p build");
    }
    let remove = json!({ "command": "rm -r build; mkdir build" });
    for (session, scope) in [("s", None), ("s", Some("--session")), ("u", Some("--always"))] {
        let answer: Vec<&str> = ["approve"].into_iter().chain(scope).collect();
        let said = answered(&stage, ("a", session), &remove, &answer);
        assert!(!said.contains("refused"), "{scope:?}: {said}");
        if scope.is_none() {
            let said = answered(&stage, ("a", session), &remove, &["deny"]);
            assert!(said.contains("an admin denied it"), "{said}");
        } else {
            let said = stage.call("a", session, "terminal", remove.clone());
            assert!(!said.contains("refused"), "{scope:?}: {said}");
        }
        // For the other it is as it was: in a session of the same name, and in another.
        for session in ["s", "u", "t"] {
            let said = answered(&stage, ("b", session), &remove, &["deny"]);
            assert!(said.contains("an admin denied it"), "{scope:?}: {said}");
        }
    }
    // What `always` means: every conversation of the one it was given to, also after a restart.
    let Stage { host, daemon, .. } = stage;
    daemon.terminate().unwrap();
    let stage = Stage::open(host, &["a", "b"]);
    let said = stage.call("a", "t", "terminal", remove.clone());
    assert!(!said.contains("refused"), "{said}");
    let said = answered(&stage, ("b", "s"), &remove, &["deny"]);
    assert!(said.contains("an admin denied it"), "{said}");
    // And to the letter: more of the same is not the same.
    let more = json!({ "command": "rm -r build; mkdir build; rm -r ." });
    let said = answered(&stage, ("a", "t"), &more, &["deny"]);
    assert!(said.contains("an admin denied it"), "{said}");
}

/// The same words do something else in another folder, so a yes holds in the one it was given for.
fn a_grant_holds_in_its_folder(level: Level) {
    let config = "approvals: {mode: manual, timeout: 10m}\nagents: {a: {tools: coding}}\n";
    let stage = Stage::open(HostSetup::new(level, config), &["a"]);
    let (whose, remove) = (("a", "s"), json!({ "command": "rm -r build; mkdir build" }));
    stage.sh("a", "s", "mkdir -p build p2/build");
    let said = answered(&stage, whose, &remove, &["approve", "--session"]);
    assert!(!said.contains("refused"), "{said}");
    stage.sh("a", "s", "cd p2");
    let said = answered(&stage, whose, &remove, &["deny"]);
    assert!(said.contains("an admin denied it"), "{said}");
    stage.sh("a", "s", "cd ..");
    // A folder of the system is that, however a command comes to begin there.
    let write = json!({ "command": "echo x > hosts" });
    let there = json!({ "command": "echo x > hosts", "workdir": "/etc" });
    assert!(!stage.call("a", "s", "terminal", write.clone()).contains("refused"));
    let said = answered(&stage, whose, &there, &["deny"]);
    assert!(said.contains("an admin denied it"), "{said}");
    stage.sh("a", "s", "cd /etc");
    let said = answered(&stage, whose, &write, &["deny"]);
    assert!(said.contains("an admin denied it"), "{said}");
}

/// What is not a whole line yet means whatever is written behind it.
fn pieces_of_a_line_are_asked_about(level: Level) {
    let config =
        "approvals: {mode: manual, timeout: 10m, opaque: ask}\nagents: {a: {tools: coding}}\n";
    let stage = Stage::open(HostSetup::new(level, config), &["a"]);
    let shell = json!({ "command": "sh", "background": true });
    let started = stage.call("a", "s", "terminal", shell);
    assert!(started.contains("p1"), "{started}");
    let write =
        |action: &str, data: &str| json!({ "action": action, "session_id": "p1", "data": data });
    let whole = stage.call("a", "s", "process", write("submit", "mkdir build"));
    assert!(!whole.contains("refused"), "{whole}");
    for piece in ["rm", "rm \\\n"] {
        let piece = write("write", piece);
        let said = answered_of(&stage, ("a", "s"), ("process", &piece), &["deny"]);
        assert!(said.contains("an admin denied it"), "{said}");
    }
}

at_both_levels!(
    a_grant_holds_in_its_folder,
    pieces_of_a_line_are_asked_about,
    a3_no_command_reaches_the_folder_of_another,
    a5_no_environment_but_its_own,
    a7_the_process_of_another_does_not_exist,
    a8_a_grant_of_one_is_none_of_another,
);
