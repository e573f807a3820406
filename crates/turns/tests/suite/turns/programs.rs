//! What programs find in files, and what they leave there: whose words that is, in whole turns.

use crate::turns::provenance::{GROUP, asks, begin_as, noted, script};
use crate::turns::support::Fixture;
use async_trait::async_trait;
use insula_capabilities::programs::{Alive, LiveProgram, ProgramReach};
use insula_config::mcp::{McpSends, McpServer, McpWay, OnChange};
use insula_domain::{AgentId, Integrity, Source, SourceKind};
use insula_store::AgentCommand;
use insula_testkit::Home;
use insula_testkit::upstream::Upstream;
use insula_tools::{BUILT_IN, Cleared, Hands, Output, Risk, Tool, ToolError};
use insula_turns::gate::Tools;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A shell that copies files, in the folder where programs begin.
struct Shell;

#[async_trait]
impl Tool for Shell {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn description(&self) -> &'static str {
        "Runs a command."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object"}"#
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        Risk::Command(Cow::Borrowed(arguments["command"].as_str().unwrap_or_default()))
    }

    async fn run(&self, hands: &Hands<'_>, arguments: &Cleared) -> Result<Output, ToolError> {
        let folders = hands.files.unwrap().folders().await?;
        let words: Vec<&str> = arguments["command"].as_str().unwrap().split(' ').collect();
        if let ["cp", from, to] = words[..] {
            std::fs::copy(from, folders[0].real.join(to)).unwrap();
        }
        Ok(Output::Text("done".to_owned()))
    }
}

fn tools() -> Tools {
    let others = BUILT_IN.iter().copied().filter(|tool| tool.name() != "terminal");
    Vec::leak(others.chain([&Shell as &dyn Tool]).collect())
}

/// Agents that differ in what their programs see and reach.
fn config(root: &Path) -> String {
    let (root, shared) = (root.display(), root.join("shared"));
    let shared = shared.display();
    format!(
        "
channels: {{telegram: {{accounts: {{main: {{token: x, base_url: 'http://127.0.0.1:9'}}}}}}}}
agents:
  net: &net
    network: [site.test]
    tools: {{also_allow: [send_message, web_extract, terminal, process, 'mcp__x__*']}}
    send: {{to: ['{GROUP}'], flows: [{{from: '*', to: '{GROUP}'}}]}}
    files: {{stale_writes: warn}}
    approvals: {{opaque: allow}}
    integrity: balanced
  trusting: {{<<: *net, integrity: {{profile: balanced, trusted: ['web:site.test', 'folder:{shared}', 'mcp:x']}}}}
  allowing: {{<<: *net, integrity: {{profile: balanced, tainted: {{program: allow}}}}}}
  stern: {{<<: *net, integrity: {{profile: balanced, tainted: {{program: deny}}}}}}
  chatty: {{<<: *net, workspace: {{scope: chat}}}}
  strict: {{<<: *net, integrity: strict}}
  inside: &inside {{<<: *net, network: []}}
  strict_inside: {{<<: *inside, integrity: strict}}
  reader: &reader {{<<: *inside, files: {{stale_writes: warn, shared: [{{path: '{shared}', mode: ro}}]}}}}
  writer: {{<<: *inside, files: {{stale_writes: warn, shared: [{{path: '{shared}', mode: rw}}]}}}}
  trusting_reader: {{<<: *reader, integrity: {{profile: balanced, trusted: ['folder:{shared}']}}}}
  open: {{<<: *inside, sandbox: off}}
  served: &served {{<<: *inside, mcp_servers: {{x: {{command: /nowhere/server}}}}}}
  trusting_served: {{<<: *served, integrity: {{profile: balanced, trusted: ['mcp:x']}}}}
  nested: {{<<: *net, workspace: {{path: '{root}/nest'}}, files: {{shared: [{{path: '{root}/nest/sub', mode: ro}}]}}}}
  one: &one {{<<: *net, workspace: {{path: '{root}/common'}}}}
  other: {{<<: *one}}
  trusting_other: {{<<: *one, integrity: {{profile: balanced, trusted: ['folder:{root}/common']}}}}
"
    )
}

/// A daemon with these agents, the site, and a folder that they have in common.
struct Stage {
    fixture: Fixture,
    _site: Upstream,
    folder: tempfile::TempDir,
}

impl Stage {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for place in ["shared", "common", "nest/sub"] {
            std::fs::create_dir_all(root.join(place)).unwrap();
            std::fs::write(root.join(place).join("plan.md"), "some words\n").unwrap();
        }
        let files = Home::with([
            ("agents/served/mcp.json", &*pins()),
            ("agents/trusting_served/mcp.json", &*pins()),
        ]);
        let (fixture, site) = begin_as(Some(files.unwrap()), &config(&root), tools(), script).await;
        Self { fixture, _site: site, folder }
    }

    async fn asks(&self, agent: &str, chat: &str, text: &str) -> Result<String, String> {
        asks(&self.fixture, agent, chat, text).await
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn shared(&self) -> PathBuf {
        self.root().join("shared")
    }

    fn workspace(&self, agent: &str) -> PathBuf {
        let path = self.fixture.files.path().join(format!("agents/{agent}/workspace"));
        path.canonicalize().unwrap_or(path)
    }

    /// What is noted of an agent's files, by path.
    async fn noted(&self, agent: &str) -> Vec<(String, String)> {
        let noted = noted(&self.fixture, agent).await;
        noted.into_iter().map(|(path, of)| (path, of.in_words())).collect()
    }

    /// Has a file of an agent hold words of a host.
    async fn taint(&self, agent: &str, file: &str) {
        let path = format!("agents/{agent}/workspace/{file}").into();
        let integrity = Integrity::of(Source::new(SourceKind::Web, "evil.test"));
        let note = AgentCommand::NoteForeign { path, integrity };
        self.fixture.daemon.agent(agent).store.commit(vec![note]).await.unwrap();
    }

    /// Lets an agent have a program in its workspace.
    fn live(&self, agent: &str, reach: ProgramReach) -> Alive {
        let folders = vec![self.workspace(agent)];
        let program = LiveProgram::new(folders.clone(), folders, reach);
        let programs = &self.fixture.engine.capabilities().programs;
        programs.enter(&AgentId::new(agent).unwrap(), program)
    }
}

/// What is known of the tools of a server that runs here.
fn pins() -> String {
    let way = McpWay::Program {
        command: "/nowhere/server".into(),
        args: Vec::new(),
        env: BTreeMap::new(),
    };
    let server = McpServer {
        name: "x".into(),
        way,
        timeout: Duration::ZERO,
        connect_timeout: Duration::ZERO,
        idle: Duration::ZERO,
        include: None,
        exclude: Vec::new(),
        sends: McpSends::Yes,
        on_change: OnChange::Approve,
    };
    let tool = |only_reads: bool| {
        json!({
            "description": "Does it.", "parameters": "{\"type\":\"object\"}",
            "only_reads": only_reads, "standing": "shown", "looked_at": true, "offered": true,
        })
    };
    json!({ "version": 1, "servers": { "x": {
        "identity": server.identity(),
        "tools": { "save": tool(false), "get": tool(true) },
    } } })
    .to_string()
}

#[tokio::test]
async fn a_program_that_reaches_out_is_judged_by_what_it_would_find() {
    let stage = Stage::open().await;
    for agent in ["net", "strict"] {
        stage.asks(agent, "zero", "run:make").await.unwrap_err();
        stage.asks(agent, "one", "page write:Makefile").await.unwrap_err();
        let what = stage.asks(agent, "two", "run:make").await.unwrap();
        assert!(what.contains("A program would find words of others"), "{agent}: {what}");
        assert!(what.contains("site.test") && !what.contains("has read"), "{agent}: {what}");
        // What reads, writes or sends without a program goes by what the turn has read.
        stage.asks(agent, "three", "write:notes.md send").await.unwrap_err();
    }
    let refused = stage.asks("stern", "one", "run:make").await.unwrap_err();
    assert_eq!(refused, "done");
    stage.taint("stern", "Makefile").await;
    let refused = stage.asks("stern", "two", "run:make").await.unwrap_err();
    assert!(refused.contains("evil.test"), "{refused}");
}

#[tokio::test]
async fn a_program_that_reaches_nobody_asks_nobody() {
    let stage = Stage::open().await;
    for agent in ["inside", "strict_inside", "allowing", "trusting", "net"] {
        if agent == "trusting" {
            stage.asks(agent, "one", "page write:Makefile").await.unwrap_err();
        } else if agent != "net" {
            stage.taint(agent, "Makefile").await;
        }
        stage.asks(agent, "two", "run:make").await.unwrap_err();
    }
    // One chat's folder is no other chat's.
    stage.asks("chatty", "one", "page write:Makefile").await.unwrap_err();
    stage.asks("chatty", "two", "run:make").await.unwrap_err();
    assert_eq!(stage.noted("chatty").await.len(), 1);
}

#[tokio::test]
async fn what_a_program_may_have_copied_from_a_shared_folder_is_others_words() {
    let stage = Stage::open().await;
    let shared = stage.shared();
    let copy = format!("run:cp,{}/plan.md,copy.md", shared.display());
    for agent in ["reader", "writer", "trusting_reader"] {
        let asked = stage.asks(agent, "one", &copy).await;
        // It can write where others read, and would run what others wrote.
        assert_eq!(asked.is_ok(), agent == "writer", "{agent}: {asked:?}");
    }
    let what = stage.asks("reader", "two", "open:copy.md send").await.unwrap();
    assert!(what.contains(&format!("file {}", shared.display())), "{what}");
    stage.asks("trusting_reader", "two", "open:copy.md send").await.unwrap_err();
    assert_eq!(stage.noted("trusting_reader").await, []);
}

#[tokio::test]
async fn what_a_program_without_a_sandbox_leaves_may_be_anybodys() {
    let stage = Stage::open().await;
    stage.asks("open", "zero", "write:found.md").await.unwrap_err();
    assert_eq!(stage.noted("open").await, []);
    stage.asks("open", "one", "run:curl").await.unwrap_err();
    let what = stage.asks("open", "two", "open:found.md send").await.unwrap();
    assert!(what.contains("program terminal"), "{what}");
    stage.asks("open", "three", "run:sh").await.unwrap();
}

#[tokio::test]
async fn what_a_server_that_runs_here_may_have_saved_is_its_words() {
    let stage = Stage::open().await;
    stage.asks("served", "one", "call:get").await.unwrap_err();
    assert_eq!(stage.noted("served").await, []);
    stage.asks("served", "two", "call:save").await.unwrap_err();
    let expected = ("agents/served/workspace".to_owned(), "mcp x/save".to_owned());
    assert_eq!(stage.noted("served").await, [expected]);
    stage.asks("served", "three", "write:notes.md open:notes.md send").await.unwrap();
    stage.asks("trusting_served", "two", "call:save").await.unwrap_err();
    assert_eq!(stage.noted("trusting_served").await, []);
}

#[tokio::test]
async fn what_is_written_where_a_program_looks_may_be_anywhere_it_writes() {
    let stage = Stage::open().await;
    stage.asks("inside", "zero", "write:clean.md write:foreign.md").await.unwrap_err();
    stage.taint("inside", "foreign.md").await;
    let alive = stage.live("inside", ProgramReach::Inside);
    stage.asks("inside", "one", "write:again.md").await.unwrap_err();
    assert_eq!(stage.noted("inside").await.len(), 1, "what is clean is not noted");
    // Nobody is told of it, so nobody is asked.
    stage.asks("inside", "two", "open:foreign.md write:notes.md").await.unwrap_err();
    let noted = stage.noted("inside").await;
    assert_eq!(noted[0], ("agents/inside/workspace".to_owned(), "web evil.test".to_owned()));
    stage.asks("inside", "three", "open:clean.md send").await.unwrap();
    drop(alive);

    // Of a program that sees something else nothing is feared.
    stage.asks("net", "zero", "write:clean.md").await.unwrap_err();
    let folders = vec![stage.shared()];
    let elsewhere = LiveProgram::new(folders.clone(), folders, ProgramReach::Outside);
    let programs = &stage.fixture.engine.capabilities().programs;
    let _alive = programs.enter(&AgentId::new("net").unwrap(), elsewhere);
    stage.asks("net", "one", "page write:notes.md").await.unwrap_err();
    stage.asks("net", "two", "open:clean.md send").await.unwrap_err();
}

#[tokio::test]
async fn writing_where_a_program_looks_that_reaches_out_is_asked_for() {
    let stage = Stage::open().await;
    stage.asks("net", "zero", "write:clean.md").await.unwrap_err();
    let alive = stage.live("net", ProgramReach::Outside);
    stage.asks("net", "one", "write:notes.md").await.unwrap_err();
    let what = stage.asks("net", "two", "page write:Makefile").await.unwrap();
    assert!(what.contains("run a program that can reach the network"), "{what}");
    assert_eq!(stage.noted("net").await, [], "what nobody agreed to was not written");
    let what = stage.asks("net", "three", "page open:clean.md").await;
    assert!(what.is_err(), "reading asks nobody: {what:?}");
    drop(alive);
    stage.asks("net", "four", "page write:Makefile").await.unwrap_err();
    // Another agent's programs are not its own.
    let _other = stage.live("inside", ProgramReach::Outside);
    stage.asks("net", "five", "page write:notes.md").await.unwrap_err();
}

#[tokio::test]
async fn a_workspace_of_two_agents_holds_words_of_others_unless_it_is_trusted() {
    let stage = Stage::open().await;
    stage.asks("one", "one", "page write:found.md").await.unwrap();
    stage.asks("one", "two", "write:clean.md").await.unwrap_err();
    let common = stage.root().join("common");
    for (agent, asks) in [("other", true), ("one", true), ("trusting_other", false)] {
        let what = stage.asks(agent, "three", "open:clean.md send").await;
        let told = format!("file {}", common.display());
        assert_eq!(what.as_ref().is_ok_and(|it| it.contains(&told)), asks, "{agent}: {what:?}");
    }
}

#[tokio::test]
async fn what_is_found_in_a_shared_folder_below_is_others_words() {
    let stage = Stage::open().await;
    stage.asks("nested", "zero", "write:clean.md open:clean.md send").await.unwrap_err();
    let told = format!("file {}", stage.root().join("nest/sub").display());
    for (chat, text) in [("one", "find:. send"), ("two", "open:sub/plan.md send")] {
        let what = stage.asks("nested", chat, text).await;
        assert!(what.as_ref().is_ok_and(|it| it.contains(&told)), "{text}: {what:?}");
    }
}
