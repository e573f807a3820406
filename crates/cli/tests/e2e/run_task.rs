//! `insula run`: one task, nobody to ask, gone afterwards, and a code that says how it went.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::provider::{Provider, says, whole};
use crate::support::*;
use insula_testkit::{Home, run_with_input};
use serde_json::{Value, json as value};

const CONFIG: &str = "defaults: {integrity: off}\nagents:\n  a: {default: true, tools: coding, memory: true}\n  small: {tools: minimal}\n";

fn call(tool: &str, arguments: Value) -> String {
    format!("call {tool} {arguments}")
}

/// Runs a task; its code and its result.
fn run(home: &Home, args: &[&str]) -> (Option<i32>, Value) {
    let args: Vec<&str> = ["run", "--json"].iter().chain(args).copied().collect();
    let output = insula(home, &args);
    let value = serde_json::from_str(&output.stdout);
    (output.code, value.unwrap_or_else(|error| panic!("{error}: {output:?}")))
}

fn conversations(home: &Home) -> Vec<Value> {
    json(home, &["sessions", "list", "a"]).as_array().unwrap().clone()
}

#[test]
fn a_task_is_done_with_a_daemon_and_without_and_nothing_of_it_is_left() {
    let home = configured(CONFIG);
    let write = call("write_file", value!({ "path": "left.txt", "content": "x" }));
    let plain = insula(&home, &["run", "hello"]).ok();
    assert!(plain.stdout.contains("rehearsal") && plain.stderr.is_empty(), "{plain:?}");
    let check = |home: &Home| {
        let (code, told) = run(home, &[&write]);
        assert_eq!(
            (code, &told["status"], &told["exit_code"]),
            (Some(0), &value!("replied"), &value!(0)),
            "{told}"
        );
        let changed = told["changed"][0].as_str().unwrap();
        assert!(changed.ends_with("/workspace/left.txt"), "{told}");
        assert!(!changed.contains("agents/a/workspace"), "{changed}");
        eventually("all of it is gone", || {
            let is_gone = conversations(home).is_empty() && !std::path::Path::new(changed).exists();
            is_gone.then_some(())
        });
        assert!(!home.has("agents/a/workspace/left.txt"));
    };
    check(&home);
    assert!(!home.has("run/daemon.json"));
    let daemon = start_still(&home);
    check(&home);
    let piped = run_with_input(INSULA, home.path(), &["run", "--agent", "a"], "hello");
    assert!(piped.ok().stdout.contains("rehearsal"));
    drop(daemon);
    assert_chains_hold(&home);
}

#[test]
fn nobody_is_asked_and_what_is_named_is_allowed_within_the_boundary() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    let delete = call("terminal", value!({ "command": "rm -rf build" }));
    let (code, told) = run(&home, &[&delete]);
    assert_eq!((code, &told["status"]), (Some(3), &value!("denied")), "{told}");
    assert_eq!(
        (&told["denied"][0]["tool"], &told["denied"][0]["rule"]),
        (&value!("terminal"), &value!("approval"))
    );
    assert_eq!(json(&home, &["approvals", "list"]), value!([]));
    for allow in ["terminal", "terminal:rm -rf build"] {
        assert_eq!(run(&home, &["--allow", allow, &delete]).0, Some(0));
    }
    // Another command, or one behind it, is another call.
    for other in ["rm -rf build; rm -rf src", "rm -rf src"] {
        let other = call("terminal", value!({ "command": other }));
        assert_eq!(run(&home, &["--allow", "terminal:rm -rf build", &other]).0, Some(3));
    }
    let never = call("terminal", value!({ "command": "sudo rm -rf /" }));
    let (_, told) = run(&home, &["--allow", "terminal", &never]);
    assert_eq!(told["denied"][0]["rule"], "never", "{told}");
    let approved = json(&home, &["audit", "tail", "a", "-n", "100"]).to_string();
    assert!(approved.contains("approval.approved"));
    // What the agent does not have can't be allowed to it.
    let (code, told) = run(&home, &["--agent", "small", "--allow", "terminal", "hello"]);
    assert_eq!(code, Some(2), "{told}");
    let wrong = told["error"]["message"].as_str().unwrap();
    assert!(wrong.contains("does not have the tool `terminal`"), "{wrong}");
    for wrong in ["", ":", "terminal:", "a b"] {
        assert_eq!(run(&home, &["--allow", wrong, "hello"]).0, Some(2));
    }
}

#[test]
fn each_outcome_has_its_code() {
    let home = configured(CONFIG);
    // Wrong use: nothing to do, no such agent, no such model, no home.
    let nothing = run_with_input(INSULA, home.path(), &["run"], " ");
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    assert_eq!(insula(&home, &["run", "--timeout", "soon", "x"]).code, Some(2));
    for usd in ["0", "nan", "inf", "-1"] {
        assert_eq!(
            insula(&home, &["run", &format!("--max-usd={usd}"), "x"]).code,
            Some(2),
            "{usd}"
        );
    }
    assert_eq!(insula(&home, &["run", "--model", "x/y", "x"]).code, Some(2));
    assert_eq!(insula(&home, &["run", "--agent", "nobody", "x"]).code, Some(1));
    assert_eq!(
        insula(&configured("agents: {a: {tolls: x}}\nbogus: 1\n"), &["run", "x"]).code,
        Some(2)
    );
    let sleep = call("terminal", value!({ "command": "sleep 600" }));
    let (code, told) = run(&home, &["--timeout", "1s", &sleep]);
    assert_eq!((code, &told["status"]), (Some(5), &value!("timed_out")), "{told}");
    eventually("it is gone", || conversations(&home).is_empty().then_some(()));
}

#[test]
fn a_run_spends_no_more_than_it_may_and_a_failed_model_is_a_failure() {
    let provider = Provider::start(|turn| match turn {
        0 => vec![says("done")],
        _ => vec![whole("400 Bad Request", "", "{}")],
    });
    let config = format!(
        "model: up/one\nproviders: {{up: {{kind: openai, base_url: \"{}\"}}}}\nprices: {{up/one: {{input: 1000, output: 1000}}}}\nagents: {{a: {{default: true, tools: minimal}}}}\n",
        provider.url
    );
    let home = configured(&config);
    let _daemon = start_still(&home);
    let (code, told) = run(&home, &["--max-usd", "1000", "hello"]);
    assert_eq!(code, Some(0), "{told}");
    let (code, told) = run(&home, &["--max-usd", "0.000001", "hello"]);
    assert_eq!((code, &told["status"]), (Some(4), &value!("over_budget")), "{told}");
    let why = told["error"]["message"].as_str().unwrap();
    assert_eq!(why, "`--max-usd 0.000001` leaves no room for this");
    let (code, told) = run(&home, &["--max-usd", "0.0000001", "hello"]);
    assert_eq!(code, Some(4), "{told}");
    assert!(told["error"].to_string().contains("--max-usd"), "{told}");
    let (code, told) = run(&home, &["hello"]);
    assert_eq!((code, &told["status"]), (Some(1), &value!("failed")), "{told}");
}

#[test]
fn a_folder_that_can_not_be_granted_is_refused_before_anything_is_asked() {
    let home = configured(CONFIG);
    home.write("agents/a/workspace/own.txt", "secret-own").unwrap();
    let whole = home.path().canonicalize().unwrap();
    let _daemon = start_still(&home);
    for (folder, why) in [
        (std::path::PathBuf::from("/nonexist"), "does not exist"),
        (whole.join("config.yaml"), "is not a folder"),
        (whole.clone(), "is the home of the daemon"),
        (whole.join("agents"), "is in the home of the daemon"),
        (whole.parent().unwrap().to_owned(), "has the home of the daemon in it"),
    ] {
        let output = insula(&home, &["run", "--folder", folder.to_str().unwrap(), "hello"]);
        assert!(output.code == Some(2) && output.stderr.contains(why), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
    assert_eq!(json(&home, &["turns", "list", "a"]), value!([]));
    assert!(!kinds(&home, "a").contains(&"files.granted".to_owned()));
}

#[test]
fn a_folder_is_granted_for_the_run_and_the_agents_own_is_none_of_its() {
    let home = configured(CONFIG);
    home.write("agents/a/workspace/own.txt", "secret-own").unwrap();
    let folder = Home::with([("src/a.txt", "checked out\n")]).unwrap();
    let path = folder.path().canonicalize().unwrap().join("src");
    let given = path.to_str().unwrap();
    let (_, told) =
        run(&home, &["--folder", given, &call("read_file", value!({ "path": "a.txt" }))]);
    assert!(told["text"].as_str().unwrap().contains("checked out"), "{told}");
    let write = call("write_file", value!({ "path": "b.txt", "content": "made" }));
    let (_, told) = run(&home, &["--folder", given, "--read-only", &write]);
    assert!(!folder.has("src/b.txt"), "{told}");
    let (code, told) = run(&home, &["--folder", given, &write]);
    assert_eq!((code, folder.has("src/b.txt")), (Some(0), true), "{told}");
    let own = home.path().canonicalize().unwrap().join("agents/a/workspace/own.txt");
    let (_, told) = run(&home, &["--folder", given, &call("read_file", value!({ "path": own }))]);
    assert!(!told["text"].as_str().unwrap().contains("secret-own"), "{told}");
    assert!(kinds(&home, "a").contains(&"files.granted".to_owned()));
}
