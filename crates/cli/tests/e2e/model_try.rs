//! `insula model try`, with played Ollamas and llama.cpps as processes of their own, over their
//! real protocols.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests start processes and fail by panicking"
)]

use crate::support::*;
use crate::terminal::Person;
use insula_testkit::{Home, run_bare};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const PLAYED: &str = include_str!("local_models.py");
const CONFIG: &str = "# mine\n\n# the agents\nagents:\n  a: {default: true}   # the one\n";

/// A folder with programs, a home, and ports that nobody else has.
struct Machine {
    home: Home,
    programs: tempfile::TempDir,
    ollama: u16,
    llama: u16,
    /// What the played Ollama has.
    models: String,
    llama_state: &'static str,
    started: Vec<u32>,
}

/// A port that was free a moment ago.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Machine {
    fn new(programs: &[&str], models: &str) -> Self {
        let machine = Self {
            home: configured(CONFIG),
            programs: tempfile::tempdir().unwrap(),
            ollama: port(),
            llama: port(),
            models: models.to_owned(),
            llama_state: "",
            started: Vec::new(),
        };
        programs.iter().for_each(|name| drop(machine.install(name)));
        machine
    }

    fn install(&self, name: &str) -> PathBuf {
        let path = self.programs.path().join(name);
        std::fs::write(&path, PLAYED).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        // A program finds its interpreter by the same path.
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.programs.path().display());
        vec![
            ("PATH", path),
            ("HOME", self.home.path().display().to_string()),
            ("OLLAMA_HOST", format!("127.0.0.1:{}", self.ollama)),
            ("LLAMA_ARG_PORT", self.llama.to_string()),
            ("OLLAMA_PLAYED", self.models.clone()),
            ("LLAMA_PLAYED", self.llama_state.to_owned()),
        ]
    }

    /// Runs `insula model try …`. What it started is ended with the machine.
    fn tries(&mut self, args: &[&str]) -> insula_testkit::Output {
        let home = self.home.path().display().to_string();
        let args = [&["--home", &home, "model", "try"][..], args].concat();
        let variables = self.variables();
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let output = run_bare(INSULA, &variables, &args);
        let told = output.stderr.split("(process ").skip(1);
        self.started.extend(told.filter_map(|it| it.split(')').next()?.parse::<u32>().ok()));
        output
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.home.path().join("config.yaml")).unwrap()
    }

    /// Lets a server run that nobody but the test started.
    fn serves(&self, name: &str) -> Served {
        let path = self.install(name);
        let mut command = Command::new(path);
        command.env_clear().envs(self.variables()).stdout(Stdio::piped());
        let port = self.llama.to_string();
        match name {
            "ollama" => command.arg("serve"),
            _ => command.args(["-hf", "x", "--host", "127.0.0.1", "--port", &port, "--jinja"]),
        };
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().starts_with("listening "));
        std::thread::spawn(move || lines.for_each(drop));
        Served(child)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for id in &self.started {
            let _ = Command::new("kill").arg(id.to_string()).status();
        }
    }
}

/// A server of a test's own, ended with it.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn where_nothing_is_installed_it_says_what_to_install_and_changes_nothing() {
    let mut machine = Machine::new(&[], "");
    let output = machine.tries(&[]).ok();
    for words in ["nothing is installed", "practice model stays", "ollama.com", "llama.cpp"] {
        assert!(output.stdout.contains(words), "{words}: {output:?}");
    }
    let told = machine.tries(&["--json"]).ok().json();
    assert_eq!(told["plan"], json!({ "action": "install" }));
    assert_eq!((&told["changed"], &told["servers"]), (&json!(false), &json!([])));
    assert_eq!(machine.tries(&["--yes"]).code, Some(1), "what was asked for can't be done");
    assert_eq!(machine.config(), CONFIG);
}

#[test]
fn without_a_yes_it_explains_and_changes_nothing() {
    let mut machine = Machine::new(&["ollama"], "");
    let output = machine.tries(&[]).ok();
    for words in ["is installed", "start `ollama serve`", "fetch qwen2.5:1.5b", "write into config"]
    {
        assert!(output.stdout.contains(words), "{words}: {output:?}");
    }
    assert!(output.stderr.contains("nothing was changed; `--yes` does it"), "{output:?}");
    let told = machine.tries(&["--json"]).ok().json();
    assert_eq!(told["plan"]["action"], "start");
    assert_eq!(told["programs"][0]["name"], "ollama");
    assert_eq!(machine.config(), CONFIG);
    assert!(machine.started.is_empty());
}

#[test]
fn an_ollama_that_runs_fetches_a_model_and_agents_use_it() {
    let mut machine = Machine::new(&[], "");
    let _ollama = machine.serves("ollama");
    let output = machine.tries(&["--yes"]).ok();
    assert!(output.stderr.contains("fetching qwen2.5:1.5b: 50 % of 1 MB"), "{output:?}");
    assert!(output.stdout.contains("has no model yet"), "{output:?}");
    assert!(output.stdout.contains("A terminal is a window for typing commands."), "{output:?}");
    assert!(output.stdout.contains("it called a tool as it should, in "), "{output:?}");
    let url = format!("http://127.0.0.1:{}", machine.ollama);
    assert_eq!(
        machine.config(),
        format!(
            "# mine\n\nmodel: ollama/qwen2.5:1.5b\nproviders:\n  ollama: {{kind: ollama, base_url: \"{url}\"}}\n\n# the agents\nagents:\n  a: {{default: true}}   # the one\n"
        )
    );
    // The tour goes on with it.
    let daemon = start(&machine.home);
    let said = daemon.cli(&["chat", "-m", "what is a terminal?"]).ok().stdout;
    assert!(said.contains("window for typing commands"), "{said}");
    assert_eq!(agent(&machine.home, "a")["model"], "ollama/qwen2.5:1.5b");
}

#[test]
fn a_model_that_is_there_is_used_and_a_daemon_that_runs_takes_it_up() {
    let mut machine = Machine::new(&[], "big:70b,printing:1b");
    let _ollama = machine.serves("ollama");
    let daemon = start(&machine.home);
    assert_eq!(agent(&machine.home, "a")["model"], "rehearsal/rehearsal");
    let output = machine.tries(&["--yes", "--model", "printing:1b"]).ok();
    assert!(output.stdout.contains("as text, which is understood"), "{output:?}");
    assert!(!output.stderr.contains("fetching"), "{output:?}");
    eventually("the daemon takes it up", || {
        (agent(&machine.home, "a")["model"] == "ollama/printing:1b").then_some(())
    });
    // What stood there stays, as a comment.
    machine.tries(&["--yes", "--model", "big:70b"]).ok();
    let config = machine.config();
    assert!(config.contains("model: ollama/big:70b\n# model: ollama/printing:1b\n"), "{config}");
    assert_eq!(config.matches("kind: ollama").count(), 1, "{config}");
    drop(daemon);
}

#[test]
fn a_model_that_does_not_act_is_told_and_one_that_says_nothing_is_not_written() {
    let mut machine = Machine::new(&[], "talking:1b,mute:1b");
    let _ollama = machine.serves("ollama");
    let output = machine.tries(&["--yes", "--model", "mute:1b"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("gave no answer, so nothing was written"), "{output:?}");
    assert_eq!(machine.config(), CONFIG);
    let output = machine.tries(&["--yes", "--model", "talking:1b"]).ok();
    assert!(output.stdout.contains("it called no tool"), "{output:?}");
    assert!(machine.config().contains("model: ollama/talking:1b"), "{}", machine.config());
    let output = machine.tries(&["--yes", "--model", "missing:1b"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("can't be fetched") && output.stderr.contains("does not exist"));
}

#[test]
fn an_ollama_that_is_only_installed_is_started() {
    let mut machine = Machine::new(&["ollama"], "");
    let told = machine.tries(&["--yes", "--json"]).ok().json();
    assert_eq!(told["plan"]["action"], "start");
    assert_eq!((&told["changed"], &told["model"]), (&json!(true), &json!("ollama/qwen2.5:1.5b")));
    assert_eq!(told["trial"]["tool_call"]["called"], "native");
    let ms = |value: &Value| value.as_u64().unwrap();
    let question = &told["trial"]["question"];
    assert!(ms(&question["first_word_ms"]) <= ms(&question["ms"]), "{told}");
    assert_eq!(machine.started.len(), 1, "it says which process it is");
    let log = machine.home.path().join("run/ollama.log");
    assert!(std::fs::read_to_string(log).unwrap().contains("POST /api/pull"));
}

#[test]
fn llama_server_is_started_or_told_of_when_it_ends() {
    let mut machine = Machine::new(&["llama-server"], "");
    let output = machine.tries(&["--yes"]).ok();
    assert!(output.stdout.contains("start `llama-server`"), "{output:?}");
    let url = format!("http://127.0.0.1:{}/v1", machine.llama);
    let config = machine.config();
    assert!(config.contains("model: local/qwen2.5-1.5b-q4\n"), "{config}");
    assert!(config.contains(&format!("local: {{kind: openai, base_url: \"{url}\"}}")), "{config}");
    let mut broken = Machine::new(&["llama-server"], "");
    broken.llama_state = "broken";
    let output = broken.tries(&["--yes"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("llama-server ended"), "{output:?}");
    assert_eq!(broken.config(), CONFIG);
}

#[test]
fn one_server_can_be_named_and_a_home_need_not_be_there() {
    let mut machine = Machine::new(&["ollama"], "");
    let _llama = machine.serves("llama-server");
    let url = format!("http://127.0.0.1:{}", machine.llama);
    let empty = Home::empty().unwrap();
    let new = empty.path().join("new").display().to_string();
    let args = ["--home", &new, "model", "try", "--yes", "--url", &url];
    let variables = machine.variables();
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let output = run_bare(INSULA, &variables, &args).ok();
    assert!(output.stdout.contains("llama.cpp at "), "{output:?}");
    let written = std::fs::read_to_string(empty.path().join("new/config.yaml")).unwrap();
    assert!(written.contains("model: local/qwen2.5-1.5b-q4\n"), "{written}");
    assert!(written.contains("  family:"), "what a first start writes is there: {written}");
    let nobody = format!("http://127.0.0.1:{}", port());
    let output = machine.tries(&["--url", &nobody]).ok();
    assert!(output.stdout.contains("nobody who serves models answers"), "{output:?}");
    let output = machine.tries(&["--url", &url, "--model", "other"]).ok();
    assert!(output.stdout.contains("none of them has `other`"), "{output:?}");
}

#[test]
fn a_file_that_is_written_in_another_way_is_left_to_the_person() {
    let mut machine = Machine::new(&[], "small:1b");
    let _ollama = machine.serves("ollama");
    let config = "{agents: {a: {default: true}}}\n";
    machine.home.write("config.yaml", config).unwrap();
    let output = machine.tries(&["--yes"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("model: ollama/small:1b"), "it says what to write: {output:?}");
    assert_eq!(machine.config(), config);
}

#[test]
fn agents_that_name_a_model_themselves_are_told_of() {
    let mut machine = Machine::new(&[], "small:1b");
    let _ollama = machine.serves("ollama");
    let config = "agents:\n  a: {default: true, model: rehearsal/rehearsal}\n  b: {}\n";
    machine.home.write("config.yaml", config).unwrap();
    let output = machine.tries(&["--yes"]).ok();
    let told = "agent `a` names its own model, rehearsal/rehearsal, and keeps it: change or remove `model` at config.yaml:";
    assert!(output.stdout.contains(told), "{output:?}");
    assert!(!output.stdout.contains("`insula chat` talks to it"), "{output:?}");
    assert!(!output.stdout.contains("agent `b`"), "{output:?}");
    // Where it is another agent's, the one that answers is the new model.
    let config = "agents:\n  a: {default: true}\n  b: {model: rehearsal/rehearsal}\n";
    machine.home.write("config.yaml", config).unwrap();
    let told = machine.tries(&["--yes", "--json"]).ok().json();
    assert_eq!(told["others"][0]["agent"], "b", "{told}");
    assert_eq!(told["others"].as_array().map(Vec::len), Some(1), "{told}");
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    for (typed, is_written) in [("no\r", false), ("yes\r", true)] {
        let machine = Machine::new(&[], "small:1b");
        let _ollama = machine.serves("ollama");
        let variables = machine.variables();
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut person = Person::runs(&machine.home, &variables, &["model", "try"]);
        person.waits_for_text("Type yes to go on:");
        person.types(typed);
        let (code, screen) = person.leaves();
        assert_eq!(code, Some(0), "{screen}");
        assert_eq!(screen.contains("nothing was changed"), !is_written, "{screen}");
        assert_eq!(machine.config().contains("model: ollama/small:1b"), is_written);
    }
}
