//! What can be typed: help, wrong use, homes, JSON everywhere, completions.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Home, run_bare};
use serde_json::{Value, json};

/// Every command there is.
pub const COMMANDS: [&str; 144] = [
    "",
    "up",
    "stop",
    "restart",
    "service",
    "service install",
    "service status",
    "service logs",
    "service uninstall",
    "channels",
    "channels add",
    "channels list",
    "channels test",
    "backup",
    "restore",
    "check",
    "init",
    "route",
    "route explain",
    "agents",
    "agents list",
    "agents show",
    "agents add",
    "agents set",
    "agents pause",
    "agents resume",
    "agents reload",
    "agents restart",
    "agents home",
    "agents archive",
    "agents clone",
    "agents rename",
    "agents export",
    "agents import",
    "agents delete",
    "context",
    "context show",
    "tools",
    "explain",
    "mcp",
    "mcp list",
    "mcp test",
    "mcp restart",
    "mcp approve",
    "model",
    "model try",
    "status",
    "open",
    "reload",
    "doctor",
    "audit",
    "audit tail",
    "audit verify",
    "audit export",
    "audit key",
    "logs",
    "chat",
    "run",
    "acp",
    "sessions",
    "sessions list",
    "sessions show",
    "sessions search",
    "sessions forget",
    "turns",
    "turns list",
    "turns show",
    "turns follow",
    "memory",
    "memory list",
    "memory contexts",
    "memory show",
    "memory search",
    "memory share",
    "memory forget",
    "memory export",
    "memory verify",
    "approvals",
    "approvals list",
    "approvals approve",
    "approvals deny",
    "approvals grants",
    "approvals revoke",
    "files",
    "files foreign",
    "files trust",
    "deliveries",
    "deliveries list",
    "deliveries resend",
    "deliveries drop",
    "board",
    "board create",
    "board list",
    "board show",
    "board add",
    "board move",
    "board comment",
    "board claim",
    "board assign",
    "board block",
    "board done",
    "board watch",
    "cron",
    "cron list",
    "cron add",
    "cron show",
    "cron run",
    "cron pause",
    "cron resume",
    "cron remove",
    "cron history",
    "pairing",
    "pairing list",
    "pairing approve",
    "pairing revoke",
    "mcp serve",
    "token",
    "token create",
    "token list",
    "token revoke",
    "secret",
    "secret set",
    "secret list",
    "secret remove",
    "policies",
    "policies install",
    "policies list",
    "policies show",
    "policies verify",
    "policies remove",
    "skills",
    "skills list",
    "skills show",
    "skills install",
    "skills remove",
    "skills verify",
    "usage",
    "import",
    "import hermes",
    "import openclaw",
    "config",
    "config schema",
    "completions",
    "manual",
];

pub fn words(command: &str) -> Vec<&str> {
    command.split(' ').filter(|word| !word.is_empty()).collect()
}

#[test]
fn every_command_has_help() {
    let mut all = String::new();
    for command in COMMANDS {
        let args: Vec<&str> = words(command).into_iter().chain(["--help"]).collect();
        let output = run_bare(INSULA, &[], &args);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{command}: {output:?}");
        all += &format!("$ insula {}\n{}\n", args.join(" "), output.stdout);
        let short = run_bare(INSULA, &[], &[&words(command)[..], &["-h"]].concat());
        assert_eq!(short.code, Some(0), "{command}");
    }
    assert_text("help", &Home::empty().unwrap(), &all);
}

#[test]
fn the_list_of_commands_here_is_complete() {
    let commands_of = |command: &str| -> Vec<String> {
        let args: Vec<&str> = words(command).into_iter().chain(["--help"]).collect();
        let help = run_bare(INSULA, &[], &args).ok().stdout;
        let Some((_, listed)) = help.split_once("Commands:\n") else { return vec![] };
        let listed = listed.lines().take_while(|line| !line.is_empty());
        let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("    "));
        names
            .map(|line| line.split_whitespace().next().unwrap().to_owned())
            .filter(|name| name != "help")
            .collect()
    };
    for command in COMMANDS {
        for name in commands_of(command) {
            let full = format!("{command} {name}");
            assert!(COMMANDS.contains(&full.trim()), "`{full}` is not tested");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Home::empty().unwrap();
    // Of a fresh account, that has none yet.
    let missing = folder.path().join("share/man/man1");
    run_bare(INSULA, &[], &["manual", missing.to_str().unwrap()]).ok();
    for command in COMMANDS {
        let page = [&["insula"], &words(command)[..]].concat().join("-") + ".1";
        let page = format!("share/man/man1/{page}");
        let text = folder.read(&page).unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(text.contains(".TH ") && text.contains("insula"), "{page}");
    }
    let nowhere = run_bare(INSULA, &[], &["manual", "/dev/null/at/all"]);
    assert_eq!(nowhere.code, Some(1));
    assert!(nowhere.stderr.contains("/dev/null/at/all"), "{}", nowhere.stderr);
}

#[test]
fn wrong_use_exits_with_2_and_says_how_it_is_used() {
    let home = Home::empty().unwrap();
    for args in [
        &[][..],
        &["nonsense"],
        &["agents"],
        &["agents", "lits"],
        &["agents", "show"],
        &["agents", "add"],
        &["route", "explain"],
        &["route", "explain", "--platform", "telegram"],
        &["tools"],
        &["explain", "main"],
        &["audit"],
        &["audit", "tail", "--lines", "many"],
        &["up", "--listen", "here"],
        &["check", "--nonsense"],
        &["completions", "nonsense"],
        &["agents", "list", "extra"],
    ] {
        let output = insula(&home, args);
        assert_eq!(output.code, Some(2), "{args:?}: {output:?}");
        assert!(
            output.stderr.contains("Usage:") || output.stderr.contains("--help"),
            "{args:?}: {output:?}"
        );
        assert_eq!(output.stdout, "", "{args:?}");
    }
    assert!(!home.has("insula.db"));
}

#[test]
fn the_version_is_told() {
    for args in [&["--version"][..], &["-V"], &["agents", "--version"]] {
        let output = run_bare(INSULA, &[], args).ok();
        assert!(output.stdout.contains(env!("CARGO_PKG_VERSION")), "{args:?}: {output:?}");
    }
}

#[test]
fn the_home_may_be_named_before_after_and_by_the_environment() {
    let home = configured("agents: {here: {}}\n");
    let elsewhere = configured("agents: {elsewhere: {}}\n");
    let (path, other) = (home.path().to_str().unwrap(), elsewhere.path().to_str().unwrap());
    let ids = |variables: &[(&str, &str)], args: &[&str]| -> Value {
        let rows = run_bare(INSULA, variables, args).ok().json();
        rows.as_array().unwrap().iter().map(|row| row["id"].clone()).collect()
    };
    let here = json!(["here"]);
    assert_eq!(ids(&[], &["--home", path, "agents", "list", "--json"]), here);
    assert_eq!(ids(&[], &["agents", "--home", path, "list", "--json"]), here);
    assert_eq!(ids(&[], &["agents", "list", "--json", "--home", path]), here);
    assert_eq!(ids(&[], &["--json", "agents", "list", &format!("--home={path}")]), here);
    assert_eq!(ids(&[("INSULA_HOME", path)], &["agents", "list", "--json"]), here);
    // What is typed beats what is set.
    assert_eq!(ids(&[("INSULA_HOME", other)], &["agents", "list", "--json", "--home", path]), here);
}

#[test]
fn without_a_name_the_home_is_a_folder_of_the_users() {
    let user = home([(".insula/config.yaml", "agents: {mine: {}}\n")]);
    let path = user.path().to_str().unwrap();
    let rows = run_bare(INSULA, &[("HOME", path)], &["agents", "list", "--json"]).ok().json();
    assert_eq!(rows[0]["id"], "mine");
    let empty = run_bare(INSULA, &[("HOME", path)], &["--home", "", "agents", "list"]);
    assert_eq!(empty.code, Some(2), "{empty:?}");
}

#[test]
fn every_listing_has_json_with_and_without_a_daemon() {
    let home = configured("agents: {main: {default: true}, broken: {tolls: 1}}\n");
    let listings: [(&str, &[&str]); 16] = [
        ("agents list", &[]),
        (
            "agents show main",
            &["id", "state", "reason", "generation", "model", "memory", "isolation"],
        ),
        (
            "agents show broken",
            &["id", "state", "reason", "generation", "model", "memory", "isolation"],
        ),
        (
            "context show main",
            &[
                "id",
                "generation",
                "identity",
                "boundary",
                "tools",
                "memory",
                "workspace",
                "skills",
                "models",
                "isolation",
            ],
        ),
        ("tools main", &[]),
        (
            "explain main call terminal",
            &["agent", "verb", "what", "as", "allowed", "rule", "places", "change", "notes"],
        ),
        ("turns list main", &[]),
        ("status", &["version", "pid", "listen", "ready", "agents", "accounts"]),
        ("reload", &["added", "changed", "removed", "failed", "report"]),
        ("doctor", &[]),
        ("audit tail", &[]),
        ("audit tail main", &[]),
        ("audit verify", &["ok", "records", "broken_at"]),
        ("audit verify main", &["ok", "records", "broken_at"]),
        ("check", &["ok", "errors"]),
        (
            "route explain --platform telegram --chat 1",
            &["agent", "refused", "tier", "session_key", "scope", "considered"],
        ),
    ];
    for _daemon in [None, Some(start_still(&home))] {
        for (command, keys) in listings {
            let output = insula(&home, &[&words(command)[..], &["--json"]].concat());
            let answer = output.json();
            for key in keys {
                assert!(answer.get(key).is_some(), "{command} has no `{key}`: {answer:#}");
            }
            assert!(answer.is_object() || answer.is_array(), "{command}");
            assert!(!output.stdout.contains('\u{1b}'), "{command}");
        }
    }
}

#[test]
fn the_rows_have_the_shapes_that_programs_read() {
    let home = configured(
        "agents: {main: {default: true}}\nchannels: {telegram: {accounts: {bot: {token: \"${secret:T}\"}}}}\n",
    );
    let daemon = start_still(&home);
    let status = json(&home, &["status"]);
    assert_eq!(status["pid"], daemon.pid());
    assert_eq!(status["listen"], daemon.listen().to_string());
    assert_eq!(status["ready"], true);
    assert_eq!(
        status["agents"],
        json!({ "total": 1, "ready": 1, "failed": 0, "paused": 0, "archived": 0 })
    );
    let account = &status["accounts"][0];
    assert_eq!(
        (&account["platform"], &account["account"], &account["state"]),
        (&json!("telegram"), &json!("bot"), &json!("off"))
    );
    let tools = json(&home, &["tools", "main"]);
    let is_it = |row: &&Value| row["name"] == "cronjob";
    let cron = tools.as_array().unwrap().iter().find(is_it).unwrap();
    assert_eq!(&cron["exposed"], &json!(true));
    let tool = &tools[0];
    for key in ["name", "exposed", "rule"] {
        assert!(tool.get(key).is_some(), "{tool}");
    }
}

#[test]
fn the_status_says_whether_a_daemon_runs() {
    let home = configured("agents: {main: {}}\n");
    let output = insula(&home, &["status", "--json"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    let status = output.json();
    assert_eq!(
        (&status["ready"], &status["pid"], &status["listen"]),
        (&json!(false), &Value::Null, &Value::Null)
    );
    let _daemon = start_still(&home);
    insula(&home, &["status"]).ok();
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run_bare(INSULA, &[], &["completions", shell]).ok().stdout;
        for name in ["insula", "agents", "route", "explain", "archive", "completions", "doctor"] {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
}

#[test]
fn the_doctor_tells_what_is_open_to_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = configured("agents: {main: {}}\n");
    insula(&home, &["agents", "list"]).ok();
    let finding = |name: &str| -> Value {
        let output = insula(&home, &["doctor", "--json"]).json();
        let found = output.as_array().unwrap().iter().find(|found| found["name"] == name).cloned();
        found.unwrap_or_else(|| panic!("nothing about {name}: {output:#}"))
    };
    let mode = |bits| {
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(bits)).unwrap()
    };
    mode(0o755);
    assert_eq!(finding("home")["status"], "bad");
    mode(0o700);
    assert_eq!(finding("home")["status"], "good");
}

#[test]
fn a_home_where_all_programs_read_is_refused_and_nothing_is_made() {
    let path = std::path::Path::new("/usr/share/insula-of-a-test");
    let shown = path.display().to_string();
    let up = ["--home", &shown, "up", "--listen", "127.0.0.1:0"];
    let output = run_bare(INSULA, &[], &up);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("programs of every agent"), "{output:?}");
    assert!(!path.exists());
    // The same where only the keys are there.
    let home = configured("agents: {main: {}}\n");
    insula(&home, &["agents", "list"]).ok();
    std::fs::rename(home.path().join("vault"), home.path().join("before")).unwrap();
    std::os::unix::fs::symlink("/usr/share", home.path().join("vault")).unwrap();
    let output = insula(&home, &["up", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("programs of every agent"), "{output:?}");
    let checked = insula(&home, &["check"]);
    assert!(checked.stdout.contains("`insula up` refuses this home"), "{checked:?}");
}

#[test]
fn a_home_of_a_later_version_is_left_alone() {
    let home = home([("config.yaml", "{}"), ("format", "999\n")]);
    for command in [&["up", "--listen", "127.0.0.1:0"][..], &["agents", "list"]] {
        let output = insula(&home, command);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(output.stderr.contains("run the newer version"), "{output:?}");
    }
    assert!(!home.has("insula.db"));
}

#[test]
fn an_agent_whose_database_is_of_a_later_version_fails_alone_and_says_so() {
    let home = configured("agents: {a: {default: true}, b: {}}\n");
    let daemon = start_still(&home);
    insula(&home, &["chat", "--agent", "a", "-m", "hello"]).ok();
    drop(daemon);
    let database = home.path().join("agents/a/agent.db");
    let mut bytes = std::fs::read(&database).unwrap();
    // Where SQLite keeps the number that says which format a file has.
    let good = bytes.clone();
    bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    std::fs::write(&database, bytes).unwrap();
    let daemon = start_still(&home);
    assert_eq!((state(&home, "a"), state(&home, "b")), ("failed".to_owned(), "ready".to_owned()));
    let why = agent(&home, "a")["reason"].as_str().unwrap().to_owned();
    assert!(why.contains("run the newer version"), "{why}");
    let output = insula(&home, &["doctor"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains("run the newer version"), "{output:?}");
    std::fs::write(&database, good).unwrap();
    insula(&home, &["reload"]).ok();
    assert_eq!(state(&home, "a"), "ready");
    drop(daemon);
}

#[test]
fn text_from_a_configuration_cannot_steer_the_terminal() {
    let home = configured("agents: {main: {name: \"\\e[31mred\\e[0m\", description: \"a\\rb\"}}\n");
    for command in ["agents show main", "agents list", "context show main"] {
        let output = insula(&home, &words(command)).ok();
        assert!(
            !output.stdout.contains('\u{1b}') && !output.stdout.contains('\r'),
            "{command}: {output:?}"
        );
    }
}
