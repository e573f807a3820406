//! Ways in and policies from outside: what the command line shows, installs and locks, and what
//! the bearer of a token is left with.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use std::fs;
use std::path::PathBuf;

const CONFIG: &str = "agents:\n  a: {default: true, tools: minimal, access: {allow: ['telegram:*']}}\nbindings:\n  - {agent: a, telegram: '-1', tools: [clarify], group: {respond: never}, budget: {usd_per_day: 1.5}}\n";

fn example(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/policies")).join(name)
}

#[test]
fn the_command_line_shows_what_a_way_takes_and_leaves() {
    let home = configured(CONFIG);
    let explain = |chat: &str| {
        json(&home, &["route", "explain", "--platform", "telegram", "--chat", chat, "--user", "5"])
    };
    let narrow = explain("-1");
    assert_eq!(narrow["ways"][0]["name"], "binding telegram chat=-1");
    let takes = narrow["ways"][0]["takes"].to_string();
    for what in ["only clarify", "usd_per_day 1.5", "respond never"] {
        assert!(takes.contains(what), "{takes}");
    }
    assert_eq!(narrow["left"]["tools"], serde_json::json!(["clarify"]));
    assert!(explain("-2")["ways"].is_null());
    let text = insula(&home, &["route", "explain", "--platform", "telegram", "--chat", "-1"]);
    assert!(
        text.stdout.contains("tools left") && text.stdout.contains("clarify"),
        "{}",
        text.stdout
    );
    let exposed = |args: &[&str]| {
        let tools = json(&home, args);
        let all = tools.as_array().unwrap().iter().filter(|it| it["exposed"] == true);
        all.map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(exposed(&["tools", "a", "--via", "1"]), ["clarify"]);
    assert!(exposed(&["tools", "a"]).len() > 1);
    // By the numbers that `check` tells, also behind a rule that names several roles.
    let roles = CONFIG.replace(
        "bindings:\n",
        "bindings:\n  - {agent: a, match: {channel: discord, guildId: '9', roles: [x, y, z]}, tools: [todo]}\n",
    );
    let behind = configured(&roles);
    let tools = json(&behind, &["tools", "a", "--via", "2"]);
    let left = tools.as_array().unwrap().iter().filter(|it| it["exposed"] == true);
    assert_eq!(left.map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>(), ["clarify"]);
    let explained = json(
        &behind,
        &["route", "explain", "--platform", "telegram", "--chat", "-1", "--user", "5"],
    );
    let considered = explained["considered"].as_array().unwrap();
    let won = considered.iter().find(|it| it["matched"] == true).unwrap();
    assert_eq!(won["binding"], 2, "{explained:#}");
    for (via, why) in
        [("2", "there are 1 (telegram chat=-1)"), ("t1", "no token"), ("x:y", "no account")]
    {
        let refused = insula(&home, &["tools", "a", "--via", via]);
        assert!(refused.code != Some(0) && refused.stderr.contains(why), "{}", refused.stderr);
    }
}

#[test]
fn the_bearer_of_a_token_has_what_it_leaves() {
    let home = configured(CONFIG);
    let daemon = start(&home);
    let create = |more: &[&str]| {
        let mut args = vec!["token", "create", "--agent", "a", "--verb", "chat", "--verb", "read"];
        args.extend(more);
        insula(&home, &[&args[..], &["--json"]].concat())
    };
    let made = create(&["--tool", "todo", "--budget", "turns_per_minute=1"]);
    let made: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
    let (id, text) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    let bearer = format!("Authorization: Bearer {text}");
    let ask = |method: &str, path: &str, body: &str| {
        let headers = [bearer.as_str(), "content-type: application/json"];
        send(daemon.listen(), method, path, &headers, body)
    };
    let tools = ask("GET", "/api/agents/a/tools", "").json();
    let exposed = tools.as_array().unwrap().iter().filter(|it| it["exposed"] == true);
    assert_eq!(exposed.map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>(), ["todo"]);
    // Whatever others are left with is the operator's to see.
    assert_eq!(ask("GET", "/api/agents/a/tools?via=1", "").status, 400);
    let say = r#"{"model": "a", "messages": [{"role": "user", "content": "hello"}]}"#;
    assert_eq!(ask("POST", "/v1/chat/completions", say).status, 200);
    let refused = ask("POST", "/v1/chat/completions", say);
    assert_eq!(refused.status, 429, "{}", refused.body);
    let listed = json(&home, &["token", "list"]);
    let less = listed[0]["less"].to_string();
    assert!(less.contains("only todo") && less.contains("turns_per_minute 1"), "{less}");
    let usage = json(&home, &["usage", "a"]);
    assert_eq!(usage["ways"][0]["name"], format!("token {id}"));
    for (args, why) in [
        (["--tool", "tdoo"], "tdoo"),
        (["--budget", "usd_per_day"], "LIMIT=NUMBER"),
        (["--budget", "wishes=1"], "wishes"),
        (["--model", "openai/none"], "does not have model"),
        (["--rules", "{todo: 1}"], "rule"),
    ] {
        let refused = create(&args);
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(refused.code != Some(0) && said.contains(why), "{args:?}: {said}");
    }
}

#[test]
fn a_policy_is_shown_installed_locked_and_removed() {
    let home = configured("agents:\n  a: {tools: coding}\n");
    let guests = example("read-only-guests");
    let guests = guests.to_str().unwrap();
    let asked = insula(&home, &["policies", "install", guests]);
    assert!(asked.code != Some(0) && asked.stderr.contains("--yes"), "{}", asked.stderr);
    assert!(asked.stdout.contains("calls of `write_file`"), "{}", asked.stdout);
    assert!(json(&home, &["policies", "list"]).as_array().unwrap().is_empty());
    let done = json(&home, &["policies", "install", guests, "--yes"]);
    assert_eq!((&done["name"], &done["replaced"]), (&"read-only-guests".into(), &false.into()));
    let set = insula(&home, &["agents", "set", "a", "policies", "[read-only-guests]"]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    let resolved = insula(&home, &["check", "--resolved"]);
    assert_eq!(resolved.code, Some(0), "{}{}", resolved.stdout, resolved.stderr);
    let listed = json(&home, &["policies", "list"]);
    assert_eq!(listed[0]["agents"], serde_json::json!(["a"]));
    let removed = insula(&home, &["policies", "remove", "read-only-guests"]);
    assert!(
        removed.code != Some(0) && removed.stderr.contains("take it out"),
        "{}",
        removed.stderr
    );

    let daemon = start(&home);
    assert_eq!(state(&home, "a"), "ready");
    // Changed behind the lock's back: the agent stops serving, whoever changed it.
    let file = home.path().join("policies/read-only-guests/policy.yaml");
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, whole.replace("turn.admin", "true")).unwrap();
    eventually("the change is noticed", || (state(&home, "a") != "ready").then_some(()));
    let verified = insula(&home, &["policies", "verify"]);
    assert_eq!(verified.code, Some(1));
    assert!(verified.stdout.contains("`policy.yaml` was changed"), "{}", verified.stdout);
    let check = insula(&home, &["check"]);
    let said = format!("{}{}", check.stdout, check.stderr);
    assert!(check.code != Some(0) && said.contains("not as it was installed"), "{said}");
    let again = insula(&home, &["policies", "install", guests, "--yes"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    eventually("it serves again", || (state(&home, "a") == "ready").then_some(()));
    assert_eq!(insula(&home, &["policies", "verify", "read-only-guests"]).code, Some(0));
    drop(daemon);
}

#[test]
fn what_is_no_policy_is_not_installed() {
    let home = configured("agents:\n  a: {}\n");
    let folder = home.path().join("x");
    fs::create_dir_all(&folder).unwrap();
    let install = || insula(&home, &["policies", "install", folder.to_str().unwrap(), "--yes"]);
    assert!(install().stderr.contains("no `policy.yaml`"));
    for (text, why) in [
        ("tools: {allow: [terminal]}", "allow"),
        ("secrets: [KEY]", "secrets"),
        ("network: public", "network"),
        ("hooks: {no_such: []}", "no_such"),
        ("tools: {rules: {terminal: {expr: '1 +'}}}", ""),
        ("- a", ""),
        ("\u{0}", ""),
    ] {
        fs::write(folder.join("policy.yaml"), text).unwrap();
        let refused = install();
        let said = refused.stderr.clone();
        assert!(refused.code != Some(0) && said.contains(why), "{text}: {said}");
    }
    assert!(!home.path().join("policies").exists() && !home.path().join("policies.lock").exists());
}
