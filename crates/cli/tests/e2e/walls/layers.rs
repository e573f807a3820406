//! Machines that do not give what the walls are made of: refusal with the reason, and what an
//! operator who accepts that is told.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use super::arena::{HostSetup, Level, Stage, open};
use super::at_both_levels;
use serde_json::{Value, json};

/// Starts what follows as on a machine without a layer.
const WITHOUT: &str = include_str!("without.py");

const NAMESPACES: &str = "user_namespace, pid_namespace, mount_namespace, network_namespace";

/// A daemon on a machine without one layer. `strict` knows nothing of that, `lenient` accepts
/// it, and `open` has no walls anyway.
fn machine_without(level: Level, layer: &str) -> Stage {
    // An ordinary user gets the other namespaces only inside one of users.
    let accepted = match (level, layer) {
        (Level::Ordinary, "user_namespace") => NAMESPACES,
        _ => layer,
    };
    let config = format!(
        "approvals: {{mode: off}}\ndefaults: {{integrity: off}}\nagents:\n  strict: {{default: true, tools: coding}}\n  lenient: {{tools: coding, sandbox: {{optional: [{accepted}]}}}}\n  open: {{tools: coding, sandbox: off}}\n"
    );
    let before = format!(
        "if [ -z \"$WITHOUT\" ]; then export WITHOUT=1; exec python3 -I \"$(dirname \"$0\")/without.py\" {layer} \"$0\" \"$@\"; fi"
    );
    let host = HostSetup::around(level, &config, &before);
    std::fs::write(host.folder().join("without.py"), WITHOUT).unwrap();
    Stage::open(host, &["strict", "lenient", "open"])
}

fn calls_on_record(stage: &Stage, agent: &str) -> Vec<Value> {
    let records = stage.host.json(&["audit", "tail", agent, "-n", "100"]);
    let calls = records.as_array().unwrap().iter().filter(|it| it["kind"] == "tool.call");
    calls.cloned().collect()
}

fn a_machine_without(level: Level, layer: &str) {
    let stage = machine_without(level, layer);
    // Refused, whichever tool asks, with the reason and with what to do.
    for (tool, arguments) in [
        ("terminal", json!({ "command": "echo ran" })),
        ("terminal", json!({ "command": "echo ran", "background": true })),
        ("execute_code", json!({ "code": "print('ran')" })),
    ] {
        let said = stage.call("strict", "s", tool, arguments);
        let begins =
            format!("refused: the sandbox needs {layer}, which this machine does not give: ");
        assert!(said.starts_with(&begins), "{layer}: {said}");
        assert!(said.contains("`sandbox.optional`"), "{layer}: {said}");
    }
    // The rest of its work goes on.
    let write = json!({ "path": "note", "content": "x" });
    let said = stage.call("strict", "s", "write_file", write);
    assert!(said.contains("made note"), "{said}");
    // Who accepts it gets the other walls.
    if (level, layer) == (Level::Root, "mount_namespace") {
        // Programs are not root, and without a private root they walk from the host's.
        let said = stage.sh("lenient", "s", "echo ran");
        assert!(said.starts_with("refused: ") && said.contains("`chmod o+x`"), "{said}");
        for path in ["", "agents", "agents/lenient"] {
            open(&stage.host.root().join(path), 0o711);
        }
    }
    let said = stage.sh("lenient", "s", "echo ran; cat /etc/shadow");
    assert!(said.starts_with("ran\n") && said.contains("[exit status 1]"), "{layer}: {said}");
    let said =
        stage.sh("lenient", "s", &format!("cat {}/config.yaml", stage.host.root().display()));
    assert!(said.contains("[exit status 1]"), "{layer}: {said}");
    assert_eq!(stage.sh("open", "s", "echo ran"), "ran\n");
    // The doctor tells it all.
    let findings = stage.host.cli(&["doctor", "--json"]).json();
    let of = |name: &str| {
        let found = findings.as_array().unwrap().iter().find(|it| it["name"] == name);
        found.unwrap_or_else(|| panic!("{layer}: no {name}: {findings:#}")).clone()
    };
    let missing = of(&format!("sandbox: {layer}"));
    let detail = missing["detail"].as_str().unwrap();
    assert_eq!(missing["status"], "bad", "{missing:#}");
    assert!(detail.contains("programs of strict are refused"), "{detail}");
    let optional = of("sandbox: optional");
    assert!(optional["detail"].as_str().unwrap().contains("lenient ("), "{optional:#}");
    assert!(of("sandbox: off")["detail"].as_str().unwrap().contains("for open:"));
    // And so does every record.
    let strict = calls_on_record(&stage, "strict");
    let refused = strict.iter().filter(|it| it.to_string().contains("refused")).count();
    assert_eq!((strict.len(), refused), (4, 3), "{strict:#?}");
    assert!(!strict.iter().any(|it| it.to_string().contains("sandbox")), "{strict:#?}");
    for (agent, mark) in [("lenient", layer), ("open", "off")] {
        let calls = calls_on_record(&stage, agent);
        assert!(!calls.is_empty());
        for call in calls {
            let text = call.to_string();
            assert!(text.contains("sandbox") && text.contains(mark), "{agent}: {text}");
        }
    }
}

fn user_namespace(level: Level) {
    a_machine_without(level, "user_namespace");
}

fn pid_namespace(level: Level) {
    a_machine_without(level, "pid_namespace");
}

fn mount_namespace(level: Level) {
    a_machine_without(level, "mount_namespace");
}

fn network_namespace(level: Level) {
    a_machine_without(level, "network_namespace");
}

fn landlock(level: Level) {
    a_machine_without(level, "landlock");
}

fn seccomp(level: Level) {
    a_machine_without(level, "seccomp");
}

at_both_levels!(
    user_namespace,
    pid_namespace,
    mount_namespace,
    network_namespace,
    landlock,
    seccomp,
);
