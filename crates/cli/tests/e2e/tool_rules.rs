//! Argument rules through the real daemon: what the operator wrote is what the model meets,
//! and what `insula tools` says.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;

const CONFIG: &str = "
agents:
  a:
    default: true
    approvals: {mode: 'off'}
    tools:
      profile: coding
      rules:
        terminal: {command: {prefix: [echo, ls]}}
        write_file: {path: {path: 'reports/**'}}
        read_file: {expr: 'args.path.startsWith(\"reports/\") || turn.chat == \"nowhere\"'}
";

#[test]
fn a_rule_bounds_what_a_model_can_do_and_is_explained() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    let call = |tool: &str, arguments: serde_json::Value| {
        let message = format!("call {tool} {arguments}");
        insula(&home, &["chat", "--agent", "a", "-m", &message]).ok().stdout
    };
    let said = call("terminal", serde_json::json!({ "command": "echo fine" }));
    assert!(said.contains("fine"), "{said}");
    let said = call("terminal", serde_json::json!({ "command": "echo x; touch made" }));
    assert!(said.contains("terminal.command.prefix"), "{said}");
    assert!(!home.has("agents/a/workspace/made"));
    let write =
        |path: &str| call("write_file", serde_json::json!({ "path": path, "content": "x" }));
    let said = write("reports/../made");
    assert!(said.contains("write_file.path.path"), "{said}");
    assert!(!home.has("agents/a/workspace/made"));
    write("reports/one.md");
    assert!(home.has("agents/a/workspace/reports/one.md"));
    let said = call("read_file", serde_json::json!({ "path": "reports/one.md" }));
    assert!(!said.contains("refused"), "{said}");
    let said = call("read_file", serde_json::json!({ "path": "/etc/passwd" }));
    assert!(said.contains("does not satisfy"), "{said}");

    let tools = json(&home, &["tools", "a"]);
    let row = |name: &str| {
        tools.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
    };
    assert_eq!(
        row("terminal")["rules"][0],
        "`command` runs only commands that begin with `echo`, `ls`"
    );
    assert_eq!(row("todo")["rules"], serde_json::json!([]));
    let shown = insula(&home, &["tools", "a"]).ok().stdout;
    assert!(shown.contains("write_file: `path` is below `reports/**`"), "{shown}");
    let context = json(&home, &["context", "show", "a"]);
    assert_eq!(context["boundary"]["rules"].as_array().unwrap().len(), 3);
}

#[test]
fn a_mistake_in_a_rule_is_an_error_with_its_place() {
    let home = configured(
        "agents:\n  a:\n    tools:\n      rules:\n        terminal: {expr: 'arg.x == 1'}\n",
    );
    let check = insula(&home, &["check", "--json"]);
    let found = check.json();
    assert_eq!(found["errors"][0]["line"], 5, "{found}");
    let message = found["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("did you mean `args`?"), "{message}");
}
