//! Agents as one file from outside: packed, added elsewhere, made again beside themselves.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::acts_model::ActsModel;
use crate::support::*;
use crate::web::{page, site};
use insula_testkit::{Home, Output, run_with_input};
use serde_json::json;
use std::path::Path;

const PASSPHRASE: &str = "four words of mine";

const CONFIG: &str = "\
agents:
  main: {default: true, model: rehearsal/practice}
  coder:
    model: rehearsal/practice
    tools: {profile: coding, deny: [terminal]}
    memory: true
    network: [docs.rs]
    env: {LANG: C}
";

fn furnished() -> Home {
    home([
        ("config.yaml", CONFIG),
        ("agents/coder/SOUL.md", "You are the coder.\n"),
        (
            "agents/coder/skills/tidy/SKILL.md",
            "---\nname: tidy\ndescription: Tidies.\n---\nTidy up.\n",
        ),
        ("agents/coder/memories/MEMORY.md", "The cat is called Tomkin.\n"),
        ("agents/coder/workspace/notes.txt", "a note\n"),
    ])
}

fn path(folder: &Home, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn sealed(home: &Home, args: &[&str]) -> Output {
    run_with_input(INSULA, home.path(), args, PASSPHRASE)
}

/// What an agent may use, by name.
fn tools(home: &Home, id: &str) -> Vec<String> {
    let rows = json(home, &["tools", id]);
    let rows = rows.as_array().unwrap().iter().filter(|row| row["exposed"] == true);
    rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_agent_is_packed_without_what_is_private_and_works_elsewhere() {
    let home = furnished();
    let folder = Home::empty().unwrap();
    let file = path(&folder, "coder.insula");
    let packed = json(&home, &["agents", "export", "coder", &file]);
    assert_eq!((&packed["sealed"], &packed["files"]), (&json!(false), &json!(3)), "{packed}");

    let other = configured("agents:\n  main: {default: true, model: rehearsal/practice}\n");
    let daemon = start_still(&other);
    let tried = json(&other, &["agents", "import", &file, "--dry-run"]);
    assert!(tried["changes"].to_string().contains("docs.rs"), "{tried}");
    assert!(!other.has("agents/coder"));
    json(&other, &["agents", "import", &file]);
    assert_eq!(state(&other, "coder"), "ready");
    assert_eq!(tools(&other, "coder"), tools(&home, "coder"));
    assert_eq!(other.read("agents/coder/SOUL.md").unwrap(), "You are the coder.\n");
    assert!(other.has("agents/coder/skills/tidy/SKILL.md"));
    assert!(!other.has("agents/coder/memories/MEMORY.md"));
    assert!(!other.has("agents/coder/workspace/notes.txt"));

    let again = insula(&other, &["agents", "import", &file]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("--as"), "{}", again.stderr);
    json(&other, &["agents", "import", &file, "--as", "second"]);
    assert_eq!(state(&other, "second"), "ready");
    drop(daemon);
}

#[test]
fn a_home_that_is_not_there_is_named_before_an_agent_in_it() {
    let home = furnished();
    let folder = Home::empty().unwrap();
    let file = path(&folder, "main.insula");
    json(&home, &["agents", "export", "main", &file]);
    let nowhere = folder.path().join("h9");
    for args in [vec![], vec!["--as", "foo"], vec!["--dry-run"]] {
        let args = [vec!["agents", "import", &*file], args].concat();
        let refused = run_with_input(INSULA, &nowhere, &args, "");
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("there is no home at"), "{refused:?}");
        assert!(!nowhere.exists());
    }
}

#[test]
fn what_is_private_goes_along_sealed_and_only_when_asked() {
    let home = furnished();
    let secret = "s3cr3t-of-the-coder-0123";
    run_with_input(INSULA, home.path(), &["secret", "set", "coder", "KEY"], secret).ok();
    let folder = Home::empty().unwrap();
    let file = path(&folder, "coder.insula");
    let args = ["agents", "export", "coder", &file, "--memory", "--files", "--secrets"];
    sealed(&home, &args).ok();
    let bytes = std::fs::read(&file).unwrap();
    for private in [secret, "Tomkin", "a note"] {
        assert!(!bytes.windows(private.len()).any(|it| it == private.as_bytes()), "{private}");
    }
    let other = configured("agents:\n  main: {default: true, model: rehearsal/practice}\n");
    let wrong = run_with_input(INSULA, other.path(), &["agents", "import", &file], "another one");
    assert!(wrong.stderr.contains("does not open"), "{}", wrong.stderr);
    assert!(!other.has("agents/coder"));
    sealed(&other, &["agents", "import", &file]).ok();
    assert_eq!(other.read("agents/coder/workspace/notes.txt").unwrap(), "a note\n");
    assert!(json(&other, &["memory", "list", "coder"]).to_string().contains("Tomkin"));
    assert!(json(&other, &["secret", "list", "coder"]).to_string().contains("KEY"));
    assert!(!other.has("agents/coder/secrets.json"));
    assert!(holders(&other, secret).is_empty());
}

#[test]
fn a_clone_is_another_agent() {
    let home = furnished();
    let daemon = start_still(&home);
    json(&home, &["agents", "clone", "coder", "second", "--files"]);
    assert_eq!(state(&home, "second"), "ready");
    assert_eq!(tools(&home, "second"), tools(&home, "coder"));
    assert_eq!(home.read("agents/second/SOUL.md").unwrap(), "You are the coder.\n");
    assert_eq!(home.read("agents/second/workspace/notes.txt").unwrap(), "a note\n");
    assert!(!home.has("agents/second/memories/MEMORY.md"));
    // The one who answers by default stays the one.
    json(&home, &["agents", "clone", "main", "third"]);
    assert_eq!(state(&home, "third"), "ready");
    let taken = insula(&home, &["agents", "clone", "coder", "main"]);
    assert_eq!(taken.code, Some(1), "{taken:?}");
    let nobody = insula(&home, &["agents", "clone", "nobody", "fourth"]);
    assert!(nobody.stderr.contains("no agent `nobody`"), "{}", nobody.stderr);
    assert!(!home.has("agents/fourth"));
    drop(daemon);
}

/// A bundle with these files, made as anybody could make one.
fn forged(file: &Path, files: &[(&str, &str)]) {
    let target = std::fs::File::create(file).unwrap();
    let mut child = std::process::Command::new("tar");
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    child.arg("-C").arg(folder.path()).args(["-cz", "insula.json"]);
    child.args(files.iter().map(|(name, _)| *name).filter(|name| *name != "insula.json"));
    assert!(child.stdout(target).status().unwrap().success());
}

#[test]
fn what_has_no_place_in_an_agent_is_refused() {
    let home = furnished();
    let folder = Home::empty().unwrap();
    let about = r#"{"form":1,"kind":"bundle of an agent","program":"x","made":"x","about":{"agent":"evil"}}"#;
    for (files, said) in [
        (vec![("insula.json", about), ("agent.db", "x")], "no part of an agent"),
        (
            vec![("insula.json", about), ("agent.yaml", "model: rehearsal/practice\n")],
            "end is missing",
        ),
        (vec![("insula.json", about), ("agents/main/SOUL.md", "x")], "no part of an agent"),
        (vec![("insula.json", &about.replace("bundle of an agent", "backup"))], "but a backup"),
    ] {
        let file = folder.path().join("evil");
        forged(&file, &files);
        let output = insula(&home, &["agents", "import", file.to_str().unwrap()]);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(output.stderr.contains(said), "{said}: {}", output.stderr);
        assert!(!home.has("agents/evil"));
    }
    // Programs of hooks run as the daemon: they are taken over only on a word.
    home.write("agents/coder/hooks/guard.sh", "#!/bin/sh\n").unwrap();
    let file = path(&folder, "coder.insula");
    json(&home, &["agents", "export", "coder", &file]);
    let refused = insula(&home, &["agents", "import", &file, "--as", "second"]);
    assert!(refused.stderr.contains("--hooks"), "{}", refused.stderr);
    json(&home, &["agents", "import", &file, "--as", "second", "--hooks"]);
    assert!(home.has("agents/second/hooks/guard.sh"));

    // A credential in the configuration is a secret.
    home.write(
        "agents/leaky/agent.yaml",
        "model: rehearsal/practice\nenv: {API_KEY: sk-live-0123456789abcdef}\n",
    )
    .unwrap();
    let leaky = insula(&home, &["agents", "export", "leaky", &path(&folder, "leaky")]);
    assert_eq!(leaky.code, Some(1), "{leaky:?}");
    assert!(leaky.stderr.contains("may be a credential"), "{}", leaky.stderr);
}

#[test]
fn conversations_come_along_when_asked_for_and_go_on() {
    let home = furnished();
    let folder = Home::empty().unwrap();
    let daemon = start_still(&home);
    insula(&home, &["chat", "--agent", "coder", "-m", "the kettle is blue"]).ok();
    insula(&home, &["chat", "--agent", "coder", "-m", "the spoon is green"]).ok();
    drop(daemon);
    let found = |home: &Home, id: &str, words: &str| {
        let found = json(home, &["sessions", "search", id, words]);
        found.as_array().unwrap().len()
    };
    let file = path(&folder, "talked.insula");
    sealed(&home, &["agents", "export", "coder", &file, "--sessions"]).ok();
    let other = configured("agents: {main: {default: true}}\n");
    let done = sealed(&other, &["agents", "import", &file, "--as", "second", "--json"]).ok().json();
    assert_eq!(done["sessions"], 1, "{done:#}");
    assert!(found(&other, "second", "kettle") > 0 && found(&other, "second", "spoon") > 0);
    let before = json(&home, &["sessions", "list", "coder"]);
    let after = json(&other, &["sessions", "list", "second"]);
    assert!(after[0]["key"].as_str().unwrap().starts_with("agent:second:"), "{after:#}");
    for field in ["messages", "scope", "started", "ended"] {
        assert_eq!(after[0][field], before[0][field], "{field}");
    }
    // It goes on where it was.
    let daemon = start_still(&other);
    insula(&other, &["chat", "--agent", "second", "-m", "and now?"]).ok();
    drop(daemon);
    assert_eq!(json(&other, &["sessions", "list", "second"]).as_array().unwrap().len(), 1);
    assert_chains_hold(&other);
    insula(&home, &["agents", "clone", "coder", "third", "--sessions"]).ok();
    assert!(found(&home, "third", "kettle") > 0);
    // Only when asked for, and only where nobody works with them.
    insula(&home, &["agents", "clone", "coder", "fourth"]).ok();
    assert_eq!(found(&home, "fourth", "kettle"), 0);
    let daemon = start_still(&home);
    let refused = insula(&home, &["agents", "clone", "coder", "fifth", "--sessions"]);
    assert!(refused.stderr.contains("while no daemon runs"), "{refused:?}");
    assert!(!home.path().join("agents/fifth").exists());
    drop(daemon);
}

#[test]
fn what_a_turn_remembered_stays_what_it_was_elsewhere() {
    let model = ActsModel::start();
    let home = configured(&format!(
        "
model: acts/model
providers: {{acts: {{kind: openai, base_url: '{}'}}}}
agents: {{clerk: {{default: true, memory: true, tools: [memory]}}}}
",
        model.url()
    ));
    let daemon = start_still(&home);
    let fact = json!({ "action": "add", "target": "memory", "content": "the kettle is blue" });
    let acts = json!([{ "call": "memory", "arguments": fact }, { "say": "kept" }]);
    insula(&home, &["chat", "-m", &acts.to_string()]).ok();
    let refused = insula(&home, &["agents", "clone", "clerk", "second", "--memory"]);
    assert!(refused.stderr.contains("while no daemon runs"), "{refused:?}");
    assert!(!home.path().join("agents/second").exists());
    drop(daemon);
    insula(&home, &["agents", "clone", "clerk", "second", "--memory"]).ok();
    let remembered = |id: &str| {
        let all = json(&home, &["memory", "list", id]);
        let [one] = all.as_array().unwrap().as_slice() else { panic!("{all:#}") };
        let from = &one["provenance"];
        (one["scope"].clone(), one["text"].clone(), from["audience"].clone())
    };
    assert!(remembered("clerk").2.is_string());
    assert_eq!(remembered("second"), remembered("clerk"));
    assert_chains_hold(&home);
    // Whoever made one by hand can't say of it what nobody could read.
    let folder = Home::empty().unwrap();
    let file = folder.path().join("evil");
    let about = r#"{"form":1,"kind":"bundle of an agent","program":"x","made":"x","about":{"agent":"evil"}}"#;
    let line = r#"{"scope":"global","list":"memory","text":"t","label":"everybody, I promise"}"#;
    forged(&file, &[("insula.json", about), ("memory.jsonl", line)]);
    let output = insula(&home, &["agents", "import", file.to_str().unwrap()]);
    assert!(output.stderr.contains("line 1 of its memory"), "{output:?}");
}

#[test]
fn a_file_with_words_of_others_is_marked_elsewhere_too() {
    let model = ActsModel::start();
    let (address, _) = site(|_| page("text/plain", "what it said"));
    let home = configured(&format!(
        "
model: acts/model
approvals: {{mode: off}}
providers: {{acts: {{kind: openai, base_url: '{}'}}}}
agents: {{clerk: {{default: true, tools: [web_extract, write_file], network: ['{address}']}}}}
",
        model.url()
    ));
    let daemon = start_still(&home);
    let acts = json!([
        { "call": "web_extract", "arguments": { "urls": [format!("http://{address}/")] } },
        { "call": "write_file", "arguments": { "path": "said.txt", "content": "what it said" } },
        { "say": "written" },
    ]);
    insula(&home, &["chat", "-m", &acts.to_string()]).ok();
    drop(daemon);
    let marks = |id: &str| {
        let all = json(&home, &["files", "foreign", id]);
        let [one] = all.as_array().unwrap().as_slice() else { panic!("{all:#}") };
        let path = one["path"].as_str().unwrap().strip_prefix(&format!("agents/{id}/"));
        (path.unwrap().to_owned(), one["integrity"].clone())
    };
    assert_eq!(marks("clerk").0, "workspace/said.txt");
    insula(&home, &["agents", "clone", "clerk", "second", "--files"]).ok();
    assert_eq!(home.read("agents/second/workspace/said.txt").unwrap(), "what it said");
    assert_eq!(marks("second"), marks("clerk"));
}
