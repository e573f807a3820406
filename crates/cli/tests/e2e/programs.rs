//! Programs that agents run, through the real daemon: what they can do, what they are given,
//! where their walls are, and when they end. A3, A5, A7, A12 and part E of the gauntlet, for
//! `terminal`, `process` and `execute_code`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home, run_with_input};
use serde_json::{Value, json as value};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

/// The answer to one tool call, by the practice model.
fn tool(home: &Home, agent: &str, session: &str, name: &str, arguments: &Value) -> String {
    let message = format!("call {name} {arguments}");
    insula(home, &["chat", "--agent", agent, "--session", session, "-m", &message]).ok().stdout
}

/// What a command gives back.
fn sh(home: &Home, agent: &str, command: &str) -> String {
    tool(home, agent, "one", "terminal", &value!({ "command": command }))
}

/// Without approvals: these tests are about the walls behind them.
fn configured(config: &str) -> Home {
    crate::support::configured(&format!("approvals: {{mode: off}}\n{config}"))
}

/// Two agents that run programs.
const TWO: &str =
    "agents:\n  a: {default: true, tools: coding, approvals: {mode: off}}\n  b: {tools: coding}\n";

/// Whether a process of the machine has these words among its arguments.
pub fn runs(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).any(
        |entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").trim() == words
        },
    )
}

pub fn gone(words: &str) {
    eventually(&format!("the end of `{words}`"), || (!runs(words)).then_some(()));
}

#[test]
fn a_newcomer_runs_a_command() {
    let home = configured("agents: {main: {tools: coding}}\n");
    let _daemon = start_still(&home);
    let said = insula(&home, &["chat", "-m", "run echo hi"]).ok().stdout;
    assert!(said.contains("gave back:\n\nhi\n"), "{said}");
}

/// A program that was installed without its small helper, or was updated without it, is its own.
#[test]
fn a_daemon_needs_no_helper_beside_it_and_trusts_no_other_builds() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("insula");
    // A link costs nothing; where the temporary folder is on another disk it takes a copy.
    if std::fs::hard_link(INSULA, &alone).is_err() {
        std::fs::copy(INSULA, &alone).unwrap();
    }
    let runs_commands = || {
        let home = configured("agents: {main: {tools: coding}}\n");
        let _daemon = Daemon::start(&alone, home.path()).unwrap();
        let said = insula(&home, &["chat", "-m", "run echo hi"]).ok().stdout;
        assert!(said.contains("gave back:\n\nhi\n"), "{said}");
    };
    runs_commands();
    let beside = folder.path().join("insula-confine");
    std::fs::write(&beside, "#!/bin/sh\necho \"$1\" >> \"$0.asked\"; exit 1\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&beside, executable).unwrap();
    runs_commands();
    let asked = std::fs::read_to_string(folder.path().join("insula-confine.asked")).unwrap();
    assert_eq!(asked, "__confine-same\n", "it was asked who it is, and for nothing else");
}

#[test]
fn the_working_directory_the_status_and_the_files_are_kept() {
    let home = configured(TWO);
    let _daemon = start_still(&home);
    let said = sh(&home, "a", "mkdir -p deep/er && cd deep/er && echo words > file && pwd");
    let place = home.path().canonicalize().unwrap().join("agents/a/workspace/deep/er");
    assert!(said.contains(&format!("the working directory is now {}", place.display())), "{said}");
    let said = sh(&home, "a", "pwd; cat file; exit 3");
    assert!(said.contains(&format!("{}\nwords\n[exit status 3]", place.display())), "{said}");
    // A conversation has its own place, and a place that is gone is no obstacle.
    let other = tool(&home, "a", "two", "terminal", &value!({"command": "basename $PWD"}));
    assert!(other.contains("\nworkspace\n"), "{other}");
    sh(&home, "a", "rm -r ../../deep");
    let said = sh(&home, "a", "basename $PWD");
    assert!(said.contains("is gone") && said.contains("\nworkspace\n"), "{said}");
    // Another place for once; quotes, here-documents and a function are a shell's affair.
    let once = value!({"command": "pwd; f() { cat <<'X'\nit's \"quoted\" $HOME\nX\n}; f", "workdir": "/usr"});
    let said = tool(&home, "a", "one", "terminal", &once);
    assert!(said.contains("/usr\nit's \"quoted\" $HOME\n"), "{said}");
    assert!(sh(&home, "a", "basename $PWD").contains("\nworkspace\n"));
    // What the file tools make a program can change, and the other way round.
    let write = value!({"path": "sub/made", "content": "one\n"});
    tool(&home, "a", "one", "write_file", &write);
    let said = sh(&home, "a", "echo two >> sub/made && echo own > sub/mine && cat sub/made");
    assert!(said.contains("one\ntwo\n"), "{said}");
    let patch = value!({"mode": "replace", "path": "sub/mine", "old_string": "own", "new_string": "patched"});
    tool(&home, "a", "one", "read_file", &value!({"path": "sub/mine"}));
    tool(&home, "a", "one", "patch", &patch);
    assert!(sh(&home, "a", "echo more >> sub/mine; cat sub/mine").contains("patched\nmore\n"));
    let python = value!({"code": "import os\nprint(6 * 7, sorted(os.listdir('sub')))"});
    let said = tool(&home, "a", "one", "execute_code", &python);
    assert!(said.contains("42 ['made', 'mine']"), "{said}");
}

#[test]
fn a_program_starts_with_nothing_but_what_was_granted() {
    let config = "agents:\n  a: {default: true, tools: coding, secrets: [KEY], env: {PLAIN: value, TOKEN: \"${secret:KEY}\"}}\n  b: {tools: coding}\n  c: {tools: coding, env: {TOKEN: \"${secret:KEY}\"}}\n";
    let home = configured(config);
    let secret = "hidden-4a8a08f09d37b73795649038";
    let args = ["secret", "set", "a", "KEY"];
    run_with_input(INSULA, home.path(), &args, format!("{secret}\n")).ok();
    let daemon = start_still(&home);
    sh(&home, "a", "env | sort > all; printf %s \"$TOKEN\" > token");
    assert_eq!(home.read("agents/a/workspace/token").unwrap(), secret);
    let all = home.read("agents/a/workspace/all").unwrap();
    let names: Vec<&str> = all.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let git =
        "GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_KEY_1 GIT_CONFIG_VALUE_0 GIT_CONFIG_VALUE_1";
    let expected = format!("{git} HOME LANG PATH PLAIN PWD SHLVL TERM TOKEN _");
    assert_eq!(names.join(" "), expected);
    // Shown to nobody, though it was printed.
    let said = sh(&home, "a", "echo $TOKEN");
    assert!(!said.contains(secret) && said.contains("[secret]"), "{said}");
    assert!(sh(&home, "b", "env; cat /proc/*/environ").lines().all(|line| !line.contains("TOKEN")));
    let refused = sh(&home, "c", "echo $TOKEN");
    assert!(refused.contains("was not granted secret `KEY`"), "{refused}");
    let held = sh(&home, "b", "ls /proc/self/fd | wc -l; tr '\\0' '\\n' < /proc/1/environ");
    assert!(!held.contains("INSULA"), "{held}");
    daemon.kill9().unwrap();
}

#[test]
fn another_agent_and_the_machine_are_out_of_reach() {
    let config = format!("{TWO}  off: {{tools: coding, sandbox: off}}\n");
    let config = format!("approvals: {{mode: off}}\n{config}");
    let home = home([("config.yaml", config.as_str()), ("agents/b/workspace/secret", "canary-b")]);
    let _daemon = start_still(&home);
    sh(&home, "b", "echo canary-b > more");
    let root = home.path().canonicalize().unwrap();
    let theirs = root.join("agents/b/workspace");
    for attempt in [
        format!("cat {}/secret", theirs.display()),
        "cat ../../b/workspace/secret".to_owned(),
        format!("ln -s {} link; cat link/secret", theirs.display()),
        format!("ln {}/secret hard; cat hard", theirs.display()),
        format!("cat /proc/1/root{}/secret", theirs.display()),
        format!(
            "cat {}/config.yaml {}/insula.db {}/run/admin.token",
            root.display(),
            root.display(),
            root.display()
        ),
        "cat /etc/shadow".to_owned(),
        "ls /root /home/*".to_owned(),
        "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep INSULA".to_owned(),
        "grep -r canary /tmp /dev/shm /var".to_owned(),
        // In a file: the gate never lets the command itself through.
        "echo 'kill -9 -1; kill -9 $PPID; false' > k.sh; sh k.sh".to_owned(),
        "touch /usr/was-here".to_owned(),
        "mount -t tmpfs none /mnt".to_owned(),
        "unshare -Ur true".to_owned(),
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 1))'".to_owned(),
        "echo x > /dev/tcp/127.0.0.1/1".to_owned(),
    ] {
        let said = sh(&home, "a", &attempt);
        assert!(!said.contains("canary-b"), "{attempt}: {said}");
        let ends = ["[exit status", "[ended", "refused: "];
        assert!(ends.iter().any(|end| said.contains(end)), "{attempt}: {said}");
    }
    assert_eq!(home.read("agents/b/workspace/secret").unwrap(), "canary-b");
    // The names of others in any argument mean nothing.
    let there = value!({"command": "pwd", "workdir": theirs.display().to_string()});
    let said = tool(&home, "a", "one", "terminal", &there);
    assert!(said.contains("refused: ") && said.contains("can't begin there"), "{said}");
    // Walls that are down show in the doctor and on every record of a call.
    assert!(sh(&home, "off", "cat ../../b/workspace/secret").contains("canary-b"));
    let findings = insula(&home, &["doctor", "--json"]).json();
    let of =
        |name: &str| findings.as_array().unwrap().iter().find(|it| it["name"] == name).cloned();
    assert!(of("sandbox: off").unwrap()["detail"].as_str().unwrap().contains("for off:"));
    assert_eq!(of("sandbox: landlock").unwrap()["detail"], "enforced", "{findings:#}");
    assert_eq!(of("sandbox: attempts to get out").unwrap()["status"], "good", "{findings:#}");
    let calls = |agent: &str| {
        let records = json(&home, &["audit", "tail", agent, "-n", "100"]);
        let calls = records.as_array().unwrap().iter().filter(|it| it["kind"] == "tool.call");
        calls.map(Value::to_string).collect::<Vec<_>>()
    };
    let marked = |call: &String| call.contains("sandbox") && call.contains("off");
    assert!(!calls("off").is_empty() && calls("off").iter().all(marked), "{:?}", calls("off"));
    assert!(!calls("a").iter().any(|call| call.contains("\"sandbox")), "{:?}", calls("a"));
}

/// A server on loopback that says `pong` to everybody.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 2048];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\npong\n",
            );
        }
    });
    port
}

#[test]
fn a_granted_host_is_reached_through_the_proxy_and_nothing_else_is() {
    let (granted, other) = (server(), server());
    let home = configured(&format!(
        "agents:\n  a: {{default: true, integrity: off, tools: coding, network: {{allow: [\"127.0.0.1:{granted}\"]}}}}\n  b: {{tools: coding}}\n"
    ));
    let daemon = start_still(&home);
    let said = sh(&home, "a", &format!("curl -sS http://127.0.0.1:{granted}/"));
    assert!(said.contains("pong"), "{said}");
    let said = sh(
        &home,
        "a",
        &format!(
            "curl -sSf http://127.0.0.1:{other}/ && exit 0; curl -s http://127.0.0.1:{other}/; exit 1"
        ),
    );
    assert!(!said.contains("pong") && said.contains("`network.allow`"), "{said}");
    let direct = format!("curl -sS --noproxy '*' http://127.0.0.1:{granted}/");
    let said = sh(&home, "a", &direct);
    assert!(!said.contains("pong"), "{said}");
    let admin = format!("curl -sS http://{}/api/health; exit 1", daemon.listen());
    assert!(sh(&home, "a", &admin).contains("is refused"));
    let said = sh(&home, "b", &format!("curl -sS http://127.0.0.1:{granted}/"));
    assert!(
        !said.contains("pong") && said.contains("grants hosts under `network.allow`"),
        "{said}"
    );
    // Each decision is on record, with what went over it.
    let records = json(&home, &["audit", "tail", "a", "-n", "100"]);
    let of = |kind: &str, port: u16| -> Vec<String> {
        let all = records.as_array().unwrap().iter().filter(|it| it["kind"] == kind);
        all.map(Value::to_string).filter(|it| it.contains(&port.to_string())).collect()
    };
    assert!(of("egress", granted)[0].contains("allowed"), "{records:#}");
    assert!(of("egress.ended", granted)[0].contains("bytes_down"), "{records:#}");
    assert!(of("egress", other)[0].contains("refused"), "{records:#}");
}

#[test]
fn long_output_is_shortened_and_kept_for_its_own_conversation() {
    let home = configured(TWO);
    let daemon = start_still(&home);
    let said = sh(&home, "a", "seq 1 30000");
    assert!(said.contains("\n1\n2\n3\n"), "{said}");
    let kept = everything_below(&home.path().join("agents/a/output"));
    let kept = kept.iter().find(|path| path.extension().is_some_and(|it| it == "txt")).unwrap();
    assert!(std::fs::read_to_string(kept).unwrap().ends_with("\n29999\n30000\n"));
    let path = kept.strip_prefix(home.path()).unwrap();
    let path = home.path().join(path).display().to_string();
    let read = value!({"path": path, "offset": 29_999, "limit": 5});
    let own = tool(&home, "a", "one", "read_file", &read);
    assert!(own.contains("29999|29999") || own.contains("|30000"), "{own}");
    for (agent, session) in [("a", "two"), ("b", "one")] {
        let said = tool(&home, agent, session, "read_file", &read);
        assert!(said.contains("refused: ") && !said.contains("30000\n"), "{said}");
    }
    // It goes with what was said.
    let sessions = call(&daemon, &home, "GET", "/api/agents/a/sessions", "").json();
    let list = sessions.as_array().or(sessions["sessions"].as_array()).unwrap().clone();
    for session in list {
        let id = &session["id"];
        call(&daemon, &home, "DELETE", &format!("/api/agents/a/sessions/{id}"), "");
    }
    assert!(!Path::new(&path).exists());
}

#[test]
fn a_command_ends_with_its_time_with_its_turn_and_with_all_it_started() {
    let home = configured(TWO);
    let daemon = start_still(&home);
    let late = value!({"command": "sleep 86123 & setsid sleep 86123 & sleep 86123", "timeout": 1});
    let said = tool(&home, "a", "one", "terminal", &late);
    assert!(said.contains("ran longer than 1 s"), "{said}");
    gone("sleep 86123");
    // A grandchild that let go of everything ends with the command that started it.
    sh(&home, "a", "(setsid sleep 86124 >/dev/null 2>&1 </dev/null &) ; echo done");
    gone("sleep 86124");
    let path = home.path().to_owned();
    let asked = std::thread::spawn(move || {
        let message = "call terminal {\"command\":\"sleep 86125\"}";
        let args = ["chat", "--agent", "a", "--session", "one", "-m", message];
        insula_testkit::run(INSULA, &path, &args)
    });
    eventually("a sleeper", || runs("sleep 86125").then_some(()));
    let stopped = call(&daemon, &home, "POST", "/api/agents/a/stop", "{\"session\":\"one\"}");
    assert_eq!(stopped.json()["stopped"], 1, "{stopped:?}");
    gone("sleep 86125");
    asked.join().unwrap();
    // The conversation goes on, where it was.
    assert!(sh(&home, "a", "echo still here").contains("still here"));
    // A daemon that is killed leaves nothing behind.
    tool(&home, "a", "one", "terminal", &value!({"command": "sleep 86126", "background": true}));
    eventually("a sleeper", || runs("sleep 86126").then_some(()));
    daemon.kill9().unwrap();
    gone("sleep 86126");
}

#[test]
fn a_process_in_the_background_belongs_to_its_conversation_alone() {
    let home = configured(TWO);
    let daemon = start_still(&home);
    let process = |agent: &str, session: &str, arguments: Value| {
        tool(&home, agent, session, "process", &arguments)
    };
    let start = |session: &str, command: &str| {
        let wish = value!({"command": command, "background": true});
        tool(&home, "a", session, "terminal", &wish)
    };
    assert!(start("one", "cat; echo over").contains("started process p1"));
    for (agent, session) in [("a", "two"), ("b", "one")] {
        assert!(process(agent, session, value!({"action": "list"})).contains("no processes"));
        for action in ["poll", "log", "wait", "kill", "submit", "close"] {
            let wish = value!({"action": action, "session_id": "p1", "data": "x", "timeout": 1});
            let foreign = process(agent, session, wish.clone());
            let absent = value!({"action": action, "session_id": "p9", "data": "x", "timeout": 1});
            assert!(foreign.contains("there is no process `p1`"), "{foreign}");
            assert_eq!(foreign.replace("p1", "p9"), process(agent, session, absent));
        }
    }
    process("a", "one", value!({"action": "submit", "session_id": "p1", "data": "first"}));
    process("a", "one", value!({"action": "close", "session_id": "p1"}));
    let said = process("a", "one", value!({"action": "wait", "session_id": "p1"}));
    assert!(said.contains("first\nover\n"), "{said}");
    let said = process("a", "one", value!({"action": "list"}));
    assert!(said.contains("p1: exit status 0"), "{said}");
    // It ends when asked, with its conversation, and with its agent.
    start("one", "sleep 87231");
    eventually("a sleeper", || runs("sleep 87231").then_some(()));
    assert!(process("a", "one", value!({"action": "kill", "session_id": "p2"})).contains("ended"));
    gone("sleep 87231");
    start("one", "sleep 87232");
    eventually("a sleeper", || runs("sleep 87232").then_some(()));
    call(&daemon, &home, "POST", "/api/agents/a/new", "{\"session\":\"one\"}");
    gone("sleep 87232");
    assert!(process("a", "one", value!({"action": "list"})).contains("no processes"));
    start("one", "sleep 87233");
    eventually("a sleeper", || runs("sleep 87233").then_some(()));
    insula(&home, &["agents", "pause", "a"]).ok();
    gone("sleep 87233");
    insula(&home, &["agents", "resume", "a"]).ok();
    // What its agent may has changed: nothing keeps what was taken away.
    start("one", "sleep 87234");
    eventually("a sleeper", || runs("sleep 87234").then_some(()));
    let narrower = TWO.replace("a: {", "a: {sandbox: {processes: 20}, ");
    home.write("config.yaml", narrower).unwrap();
    insula(&home, &["reload"]).ok();
    gone("sleep 87234");
    // There are only so many.
    for number in 0..8 {
        assert!(start("many", "sleep 87235").contains("started"), "{number}");
    }
    assert!(start("many", "sleep 87235").contains("refused: 8 processes run"));
}

#[test]
fn a_program_gone_wild_is_ended_and_nobody_else_notices() {
    let home = configured(
        "agents:\n  a: {default: true, tools: coding, approvals: {mode: off}, sandbox: {memory: 200MB, processes: 40, file_size: 10MB, output: 100KB, wall_clock: 20s, cpu_time: 5s}}\n  b: {tools: coding}\n",
    );
    let _daemon = start_still(&home);
    let wild = [
        ("python3 -c 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'", ""),
        ("python3 -c 'x = bytearray(10**9)'", "MemoryError"),
        (
            "python3 -c 'import os\nfor _ in range(8):\n  os.fork()\nx = bytearray(10**8)\nimport time; time.sleep(30)'; exit 1",
            "",
        ),
        ("yes | head -c 50000000", ""),
        ("head -c 50000000 /dev/zero > big", "10 MB"),
        ("trap '' TERM INT HUP; sleep 86991", "ran longer than 2 s"),
        ("python3 -c 'while True: pass'", ""),
    ];
    let path = home.path().to_owned();
    let noise = std::thread::spawn(move || {
        let answers = wild.map(|(command, expected)| {
            let wish = value!({"command": command, "timeout": 2});
            let message = format!("call terminal {wish}");
            let args = ["chat", "--agent", "a", "--session", "one", "-m", &message];
            (command, expected, insula_testkit::run(INSULA, &path, &args))
        });
        for (command, expected, answer) in answers {
            let said = answer.ok().stdout;
            assert!(said.contains(expected), "{command}: {said}");
        }
    });
    let mut turns = 0;
    while !noise.is_finished() {
        assert!(sh(&home, "b", "echo calm").contains("calm"));
        turns += 1;
    }
    noise.join().unwrap();
    assert!(turns > 0);
    gone("sleep 86991");
    assert!(
        std::fs::metadata(home.path().join("agents/a/workspace/big")).unwrap().len() <= 10_000_000
    );
    assert!(sh(&home, "a", "echo again").contains("again"));
}

#[test]
fn a_repository_is_cloned_and_a_crate_built_with_the_right_grants() {
    let shared = tempfile::tempdir().unwrap();
    let origin = shared.path().canonicalize().unwrap().join("origin");
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        let name = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        assert!(command.args(name).args(args).output().unwrap().status.success(), "{args:?}");
    };
    let place = origin.to_str().unwrap();
    git(&["init", "-q", place]);
    std::fs::create_dir(origin.join("src")).unwrap();
    let manifest =
        "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    std::fs::write(origin.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(origin.join("src/main.rs"), "fn main() { println!(\"built\") }").unwrap();
    git(&["-C", place, "add", "."]);
    git(&["-C", place, "commit", "-qm", "first"]);
    let Ok(cargo) = Path::new(env!("CARGO")).canonicalize() else {
        eprintln!("NOT RUN: the toolchain is out of this user's reach");
        return;
    };
    let toolchain = cargo.parent().unwrap().parent().unwrap().to_owned();
    let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", toolchain.display());
    let work = format!(
        "export HOME=/tmp; git config --global --add safe.directory '*'; git clone -q {place} clone && cd clone && cargo run -q --offline"
    );
    let home = configured(&format!(
        "agents:\n  a: {{default: true, tools: coding, env: {{PATH: \"{path}\", CARGO_HOME: /tmp/cargo}}, files: {{shared: [{}, {place}]}}}}\n  b: {{tools: coding}}\n",
        toolchain.display()
    ));
    let _daemon = start_still(&home);
    let said = tool(&home, "a", "one", "terminal", &value!({"command": work, "timeout": 300}));
    assert!(said.contains("\nbuilt\n"), "{said}");
    let said = sh(&home, "b", &work);
    assert!(said.contains("`files.shared`") && !said.contains("built"), "{said}");
    // What was granted to read stays as it is.
    let said = sh(&home, "a", &format!("touch {place}/mine"));
    assert!(said.contains("[exit status 1]"), "{said}");
}

#[test]
fn each_agent_has_a_user_of_its_own_where_the_daemon_is_root() {
    let root = std::fs::metadata("/proc/self").map(|it| {
        use std::os::unix::fs::MetadataExt as _;
        it.uid() == 0
    });
    let home = configured(TWO);
    let daemon: Daemon = start_still(&home);
    let user = |agent: &str| {
        sh(&home, agent, "id -u > user");
        home.read(&format!("agents/{agent}/workspace/user")).unwrap().trim().parse::<u32>().unwrap()
    };
    let (a, b) = (user("a"), user("b"));
    if !root.unwrap() {
        assert_eq!(a, b);
        return;
    }
    assert!(a != 0 && b != 0 && a != b, "{a} {b}");
    daemon.kill9().unwrap();
    let _daemon = start_still(&home);
    assert_eq!((user("a"), user("b")), (a, b));
    // One that is deleted and made again is another.
    insula(&home, &["agents", "add", "c", "--tools", "coding"]).ok();
    let c = user("c");
    insula(&home, &["agents", "delete", "c", "--yes"]).ok();
    insula(&home, &["agents", "add", "c", "--tools", "coding"]).ok();
    assert!(![a, b, c].contains(&user("c")));
}

/// Where the daemon is root, the folder belongs to the agent's user after a command in a sandbox,
/// and programs without one have no more rights over it than anybody.
#[test]
fn a_folder_can_be_written_whether_the_sandbox_is_on_or_off() {
    let walled = "agents: {a: {tools: coding, integrity: off}}\n";
    let open = "agents: {a: {tools: coding, sandbox: off, integrity: off}}\n";
    let home = configured(walled);
    let _daemon = start_still(&home);
    for (number, config) in [walled, open, walled, open].into_iter().enumerate() {
        let config = format!("approvals: {{mode: off}}\n{config}");
        home.write("config.yaml", &config).unwrap();
        insula(&home, &["reload"]).ok();
        let said = sh(&home, "a", &format!("echo x >> all && touch made-{number} && wc -l < all"));
        assert!(said.contains(&format!("\n{}\n", number + 1)), "{config}: {said}");
    }
}

#[test]
fn programs_without_a_sandbox_end_with_a_daemon_that_is_killed() {
    let home = configured("agents: {a: {tools: coding, sandbox: off}}\n");
    let daemon = start_still(&home);
    let slept = format!("sleep 4{}", std::process::id());
    let command = value!({ "command": format!("(exec {slept}) & {slept}"), "background": true });
    tool(&home, "a", "one", "terminal", &command);
    eventually("both run", || runs(&slept).then_some(()));
    daemon.kill9().unwrap();
    gone(&slept);
}
