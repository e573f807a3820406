//! Whose words are in files, in whole turns: what was written after a page was read makes whoever
//! reads it ask before they act.

use crate::turns::support::{Fixture, calls, end, says, shown, with_tools};
use insula_domain::{AgentId, Integrity, Label, SourceKind};
use insula_registry::Actor;
use insula_registry::events::AgentEvent;
use insula_store::AgentCommand;
use insula_testkit::Home;
use insula_testkit::upstream::{Seen, Step, Upstream};
use insula_turns::approvals::ApprovalAnswer;
use insula_turns::gate::Tools;
use insula_turns::{TurnEnd, TurnEvent, TurnHandle};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

const SITE: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
pub const GROUP: &str = "telegram:main:-100";

/// A model that does what each word says, with what follows the colon.
pub fn script(seen: &Seen, _: usize) -> Vec<Step> {
    if String::from_utf8_lossy(&seen.body).contains("You write the notes") {
        return says("the notes");
    }
    let said = shown(seen);
    let from = said.iter().rposition(|(role, _)| role == "user").unwrap_or(0);
    let done = said[from..].iter().filter(|(role, _)| role == "assistant").count();
    let id = format!("c{}-{done}", said.len());
    let call = |tool: &str, arguments: serde_json::Value| calls(&id, tool, &arguments.to_string());
    let words: Vec<&str> = said[from].1.split_whitespace().collect();
    let Some(word) = words.get(done) else { return says(&said[said.len() - 1].1) };
    let (word, path) = word.split_once(':').unwrap_or((word, ""));
    match word {
        "page" => call("web_extract", json!({ "urls": ["http://site.test/"] })),
        "write" => call("write_file", json!({ "path": path, "content": "some words\n" })),
        "patch" => {
            let patch = format!(
                "*** Begin Patch\n*** Update File: {path}\n*** Move to: {path}.moved\n@@\n-some words\n+some other words\n*** End Patch"
            );
            call("patch", json!({ "mode": "patch", "patch": patch }))
        }
        "many" => {
            let add = |number| format!("*** Add File: many/{number}\n+words\n");
            let files: String = (0..300).map(add).collect();
            let patch = format!("*** Begin Patch\n{files}*** End Patch");
            call("patch", json!({ "mode": "patch", "patch": patch }))
        }
        "open" => call("read_file", json!({ "path": path })),
        "find" => call("search_files", json!({ "pattern": "words", "path": path })),
        "run" => call("terminal", json!({ "command": path.replace(',', " ") })),
        "past" => call("session_search", json!({ "query": path })),
        "note" => call("memory", json!({ "action": "add", "target": "memory", "content": path })),
        "drop" => {
            call("memory", json!({ "action": "remove", "target": "memory", "old_text": path }))
        }
        "child" => {
            let tools: Vec<&str> = path.split(',').filter(|it| !it.is_empty()).collect();
            let task = json!({ "goal": "look" });
            let task =
                if tools.is_empty() { task } else { json!({ "goal": "look", "tools": tools }) };
            call("delegate_task", json!({ "tasks": [task] }))
        }
        "call" => call(&format!("mcp__x__{path}"), json!({})),
        "send" => call("send_message", json!({ "target": GROUP, "message": "it is done" })),
        "long" => says("ok"),
        _ => says(&said[said.len() - 1].1),
    }
}

fn config(shared: &Path) -> String {
    let shared = shared.display();
    format!(
        "
channels: {{telegram: {{accounts: {{main: {{token: x, base_url: 'http://127.0.0.1:9'}}}}}}}}
agents:
  a: &a
    network: [site.test]
    tools: {{also_allow: [send_message, web_extract]}}
    send: {{to: ['telegram:main:-100'], flows: [{{from: '*', to: 'telegram:main:-100'}}]}}
    files: {{stale_writes: warn, shared: [{{path: '{shared}', mode: ro}}]}}
    integrity: balanced
  trusting: {{<<: *a, integrity: {{profile: balanced, trusted: ['folder:{shared}']}}}}
"
    )
}

/// A daemon with these answers of the model, and the site.
async fn begin(
    files: Option<Home>,
    shared: &Path,
    script: fn(&Seen, usize) -> Vec<Step>,
) -> (Fixture, Upstream) {
    begin_as(files, &config(shared), insula_tools::BUILT_IN, script).await
}

/// The same with agents and tools of one's own.
pub async fn begin_as(
    files: Option<Home>,
    config: &str,
    tools: Tools,
    script: fn(&Seen, usize) -> Vec<Step>,
) -> (Fixture, Upstream) {
    let fixture = with_tools(files, config, tools, script).await;
    let network = &fixture.handles.as_ref().unwrap().network;
    network.name("site.test", [IpAddr::from(SITE)]);
    let page = |_: &Seen, _: usize| {
        let page = "HTTP/1.1 200 x\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nread";
        vec![Step::Write(page.into())]
    };
    let site = Upstream::listen(fixture.daemon.world(), (SITE, 80).into(), page).await.unwrap();
    (fixture, site)
}

async fn open(shared: &Path) -> (Fixture, Upstream) {
    begin(None, shared, script).await
}

/// What a turn with this message asks; what it says where it asks nothing.
pub async fn asks(
    fixture: &Fixture,
    agent: &str,
    chat: &str,
    text: &str,
) -> Result<String, String> {
    asks_for(fixture, (agent, chat), Actor::CommandLine, text).await
}

/// The same of what somebody else says.
pub async fn asks_for(
    fixture: &Fixture,
    (agent, chat): (&str, &str),
    who: Actor,
    text: &str,
) -> Result<String, String> {
    let (turn, id, what) = waits_for(fixture, (agent, chat), who, text).await?;
    let owner = fixture.daemon.agent(agent);
    let approvals = fixture.engine.approvals();
    let no = ApprovalAnswer::Deny(None);
    approvals.answer(&owner, &id, no, &Actor::CommandLine).await.unwrap();
    end(turn).await;
    Ok(what)
}

/// A turn that waits for an answer, and what it asks; what it says where it asks nothing.
async fn waits_for(
    fixture: &Fixture,
    (agent, chat): (&str, &str),
    who: Actor,
    text: &str,
) -> Result<(TurnHandle, String, String), String> {
    let (mut inbound, _) = fixture.inbound(agent, chat, text);
    inbound.principal = who;
    let mut turn = fixture.engine.submit(inbound).await.unwrap();
    loop {
        match turn.events.recv().await.expect("a turn ends") {
            TurnEvent::Approval { id, what, rule, .. } => {
                assert_eq!(rule, "integrity");
                return Ok((turn, id, what));
            }
            TurnEvent::Ended(TurnEnd::Replied { text, .. }) => return Err(text),
            TurnEvent::Ended(other) => panic!("{other:?}"),
            _ => {}
        }
    }
}

pub async fn noted(fixture: &Fixture, agent: &str) -> Vec<(String, Integrity)> {
    let store = fixture.daemon.store_of(&AgentId::new(agent).unwrap());
    let files = store.foreign_files().await.unwrap();
    files.into_iter().map(|it| (it.path.into_string(), it.integrity)).collect()
}

#[tokio::test]
async fn what_was_written_after_a_page_taints_whoever_reads_it() {
    let shared = tempfile::tempdir().unwrap();
    let (fixture, _site) = open(shared.path()).await;
    asks(&fixture, "a", "one", "write:clean.md").await.unwrap_err();
    assert_eq!(noted(&fixture, "a").await, []);
    asks(&fixture, "a", "one", "page write:notes/page.md").await.unwrap_err();
    let files = noted(&fixture, "a").await;
    let names: Vec<&str> = files.iter().map(|(path, _)| &**path).collect();
    assert_eq!(names, ["agents/a/workspace/notes/page.md"]);
    assert!(files[0].1.sources().all(|it| it.kind == SourceKind::Web), "{files:?}");

    // In another conversation, which has read nothing of it yet.
    asks(&fixture, "a", "two", "open:clean.md send").await.unwrap_err();
    for (chat, text) in [
        ("three", "open:notes/page.md send"),
        ("four", "find:. send"),
        ("five", "open:notes/../notes/page.md send"),
        // Where it was moved to by somebody who has not read it.
        ("seven", "open:notes/page.md.moved send"),
    ] {
        if chat == "seven" {
            asks(&fixture, "a", "six", "patch:notes/page.md send").await.unwrap_err();
        }
        let what = asks(&fixture, "a", chat, text).await;
        assert!(what.as_ref().is_ok_and(|it| it.contains("web site.test")), "{text}: {what:?}");
    }
    assert_eq!(noted(&fixture, "trusting").await, [], "another agent's files are its own");
}

#[tokio::test]
async fn what_stands_in_a_shared_folder_is_others_words_unless_it_is_trusted() {
    let shared = tempfile::tempdir().unwrap();
    std::fs::write(shared.path().join("plan.md"), "some words\n").unwrap();
    let (fixture, _site) = open(shared.path()).await;
    let path = shared.path().canonicalize().unwrap().display().to_string();
    for text in [format!("open:{path}/plan.md send"), format!("find:{path} send")] {
        let what = asks(&fixture, "a", &text, &text).await.unwrap();
        assert!(what.contains(&format!("file {path}")), "{what}");
        asks(&fixture, "trusting", &text, &text).await.unwrap_err();
    }
}

#[tokio::test]
async fn notes_on_a_tainted_conversation_are_as_tainted() {
    let shared = tempfile::tempdir().unwrap();
    let (fixture, _site) = open(shared.path()).await;
    asks(&fixture, "a", "one", "page").await.unwrap_err();
    for number in 0..12 {
        let long = format!("long {number} {}", "lorem ipsum dolor ".repeat(900));
        asks(&fixture, "a", "one", &long).await.unwrap_err();
    }
    let (_, key) = fixture.inbound("a", "one", "");
    let messages = fixture.messages(&key).await;
    let notes = messages.iter().find(|it| it.principal == Actor::Summary).expect("notes");
    let label: Label = notes.label.parse().unwrap();
    assert!(!label.integrity().is_own(), "{}", notes.label);
    let what = asks(&fixture, "a", "one", "send").await.unwrap();
    assert!(what.contains("web site.test"), "{what}");
}

#[test]
fn what_was_read_before_a_crash_was_read_after_it() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let shared = tempfile::tempdir().unwrap();
    let first = runtime();
    let files = first.block_on(async {
        let hangs = |seen: &Seen, number: usize| match number {
            0 => script(seen, number),
            _ => vec![Step::Hang],
        };
        let (fixture, _site) = begin(None, shared.path(), hangs).await;
        let (mut inbound, _) = fixture.inbound("a", "one", "page send");
        inbound.principal = Actor::CommandLine;
        let _turn = fixture.engine.submit(inbound).await.unwrap();
        fixture.upstream().requests(2).await;
        let Fixture { files, .. } = fixture;
        files
    });
    first.shutdown_timeout(Duration::from_secs(30));
    runtime().block_on(async {
        let (fixture, _site) = begin(Some(files), shared.path(), script).await;
        let mut events = fixture.daemon.hub().listen(&AgentId::new("a").unwrap());
        fixture.engine.resume().await.unwrap();
        loop {
            let event = events.recv().await.unwrap();
            match &*event {
                AgentEvent::Turn { event: TurnEvent::Approval { rule, what, .. }, .. } => {
                    assert_eq!(rule, "integrity");
                    assert!(what.contains("web site.test"), "{what}");
                    break;
                }
                AgentEvent::Turn { event: TurnEvent::Ended(end), .. } => panic!("{end:?}"),
                _ => {}
            }
        }
    });
}

#[tokio::test]
async fn more_files_than_are_noted_one_by_one_are_noted_as_their_folder() {
    let shared = tempfile::tempdir().unwrap();
    let (fixture, _site) = open(shared.path()).await;
    asks(&fixture, "a", "one", "page many").await.unwrap_err();
    let files = noted(&fixture, "a").await;
    let names: Vec<&str> = files.iter().map(|(path, _)| &**path).collect();
    assert_eq!(names, ["agents/a/workspace"]);
    asks(&fixture, "a", "two", "open:many/7 send").await.unwrap();
}

#[tokio::test]
async fn a_file_is_known_however_many_others_are() {
    let shared = tempfile::tempdir().unwrap();
    let (fixture, _site) = open(shared.path()).await;
    asks(&fixture, "a", "one", "write:last.md").await.unwrap_err();
    let agent = fixture.daemon.agent("a");
    let many = Integrity::many();
    let mut names: Vec<String> =
        (0..1_100).map(|it| format!("agents/a/conversations/{it:05}/workspace")).collect();
    names.push("agents/a/workspace/last.md".to_owned());
    for some in names.chunks(200) {
        let note = |name: &String| AgentCommand::NoteForeign {
            path: name.as_str().into(),
            integrity: many.clone(),
        };
        agent.store.commit(some.iter().map(note).collect()).await.unwrap();
    }
    asks(&fixture, "a", "two", "open:last.md send").await.unwrap();
    asks(&fixture, "a", "three", "find:. send").await.unwrap();
    asks(&fixture, "a", "four", "write:first.md open:first.md send").await.unwrap_err();

    // However many there are, all can be taken for the agent's own.
    let how = (fixture.daemon.access(), &fixture.daemon.opened().parts.trail);
    let trusted = insula_turns::foreign::trust(how, &agent, None, &Actor::CommandLine).await;
    assert_eq!(trusted.unwrap().len(), names.len());
    asks(&fixture, "a", "five", "open:last.md send").await.unwrap_err();
}

#[tokio::test]
async fn a_name_that_an_error_tells_is_as_foreign_as_its_file() {
    let shared = tempfile::tempdir().unwrap();
    let (fixture, _site) = open(shared.path()).await;
    asks(&fixture, "a", "one", "page write:notes/pay-mallory-700.md").await.unwrap_err();
    for (chat, text) in [("two", "notes/pay-mallory-70.md"), ("three", "note")] {
        let what = asks(&fixture, "a", chat, &format!("open:{text} send")).await;
        assert!(what.as_ref().is_ok_and(|it| it.contains("web site.test")), "{text}: {what:?}");
    }
    // Where nothing of it is told, nothing of it was read.
    for (chat, text) in [("four", "notes/zzz"), ("five", "pay-mallory-700.md")] {
        asks(&fixture, "a", chat, &format!("open:{text} send")).await.unwrap_err();
    }
}

#[tokio::test]
async fn what_a_program_will_do_does_not_change_while_somebody_is_asked_about_it() {
    let shared = tempfile::tempdir().unwrap();
    let (fixture, _site) = begin(None, shared.path(), script).await;
    let admin = || Actor::CommandLine;
    asks_for(&fixture, ("a", "other"), admin(), "page write:Makefile").await.unwrap_err();
    let waits = waits_for(&fixture, ("a", "one"), admin(), "page run:make").await;
    let (turn, id, _) = waits.map_err(|text| panic!("{text}")).unwrap();
    let asked = asks_for(&fixture, ("a", "two"), admin(), "page write:Makefile").await;
    assert!(asked.unwrap().contains("run a program that can reach the network"));
    let owner = fixture.daemon.agent("a");
    let no = ApprovalAnswer::Deny(None);
    fixture.engine.approvals().answer(&owner, &id, no, &admin()).await.unwrap();
    end(turn).await;
    asks_for(&fixture, ("a", "three"), admin(), "page write:Makefile").await.unwrap_err();
}
