//! Approvals in whole turns: who is asked, who may answer, what an answer allows, and that
//! nothing runs without one.

use crate::turns::support::{Fixture, calls, end, says, shown, with_tools};
use async_trait::async_trait;
use insula_domain::{AccountId, AgentId, Platform, RoleId, UserId};
use insula_registry::Access;
use insula_registry::tokens::Verb;
use insula_registry::trail::Trail;
use insula_registry::{Actor, AgentContext};
use insula_tools::{Cleared, Hands, Output, Risk, Tool, ToolError};
use insula_turns::approvals::{AnswerError, ApprovalAnswer, ApprovalDuration, grants};
use insula_turns::{ApprovalOutcome, TurnEnd, TurnEvent, TurnHandle};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A shell that runs nothing.
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
        r#"{"type":"object","properties":{"command":{"type":"string"}}}"#
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        Risk::Command(Cow::Borrowed(arguments["command"].as_str().unwrap_or_default()))
    }

    async fn run(&self, _: &Hands<'_>, arguments: &Cleared) -> Result<Output, ToolError> {
        Ok(Output::Text(format!("ran {}", arguments["command"])))
    }
}

const TOOLS: insula_turns::gate::Tools = &[&Shell];

/// A daemon whose agents call the shell with what they are told, and then say what came back.
pub async fn open_fixture(agents: &str) -> Fixture {
    with_tools(None, agents, TOOLS, script).await
}

fn script(seen: &insula_testkit::upstream::Seen, _: usize) -> Vec<insula_testkit::upstream::Step> {
    let said = shown(seen);
    match said.last() {
        Some((role, text)) if role == "tool" => says(text),
        Some((_, text)) if text.starts_with('{') => says("approve"),
        Some((_, text)) => calls("c1", "terminal", &json!({ "command": text }).to_string()),
        None => says("nothing"),
    }
}

const MANUAL: &str = "agents:\n  a: {tools: [terminal]}\n  b: {tools: [terminal]}\n";

fn agent(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

/// What people are shown of the call.
const SHOWN: &str = "where its programs begin\ncommand:\n| rm -r build";

/// Waits until a turn waits; the id of what it waits for.
async fn asked(turn: &mut TurnHandle) -> String {
    let (id, what, rule) = question(turn).await;
    assert_eq!((&*what, &*rule), (SHOWN, "delete"));
    id
}

/// Waits until a turn waits: the id, the words and the rule of the question.
pub async fn question(turn: &mut TurnHandle) -> (String, String, String) {
    loop {
        match turn.events.recv().await.expect("a turn ends") {
            TurnEvent::Approval { id, tool, what, rule, .. } => {
                assert_eq!(tool, "terminal");
                return (id, what, rule);
            }
            TurnEvent::Ended(end) => panic!("nobody was asked: {end:?}"),
            _ => {}
        }
    }
}

pub async fn replied(turn: TurnHandle) -> String {
    match end(turn).await {
        TurnEnd::Replied { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

impl Fixture {
    pub async fn answer(
        &self,
        id: &str,
        answer: ApprovalAnswer,
        actor: &Actor,
    ) -> Result<(), AnswerError> {
        self.engine.approvals().answer(&self.context("a"), id, answer, actor).await.map(drop)
    }

    fn context(&self, name: &str) -> Arc<AgentContext> {
        self.daemon.agent(name)
    }

    async fn kinds(&self, name: &str) -> Vec<String> {
        let records = self.daemon.store_of(&agent(name)).audit_tail(100).await.unwrap();
        let kinds = records.iter().map(|record| record.kind.to_string());
        kinds.filter(|kind| kind.starts_with("approval.")).collect()
    }

    async fn token(&self, agents: &[&str], verb: Verb) -> Actor {
        let agents: BTreeSet<AgentId> = agents.iter().map(|id| agent(id)).collect();
        let made = self.daemon.create_token(agents, [verb].into(), None, &Actor::CommandLine).await;
        Actor::token(&made.unwrap().0.id)
    }
}

pub const ONCE: ApprovalAnswer = ApprovalAnswer::Approve(ApprovalDuration::Once);

/// What grants are taken back by.
fn rights(fixture: &Fixture) -> (&Access, &Trail) {
    let parts = &fixture.daemon.opened().parts;
    (&parts.access, &parts.trail)
}

#[tokio::test]
async fn a_dangerous_call_runs_after_somebody_said_yes_and_only_that_one() {
    let daemon = open_fixture(MANUAL).await;
    let mut turn = daemon.submit("one", "rm -r build").await;
    let id = asked(&mut turn).await;
    let snapshot = daemon.daemon.snapshot();
    let context = snapshot.agents[&agent("a")].state.context().unwrap();
    let waiting = daemon.engine.approvals().list(context).await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!((&*waiting[0].id, waiting[0].principal.as_str()), (&*id, "api:ann"));
    daemon.answer(&id, ONCE, &Actor::CommandLine).await.unwrap();
    assert_eq!(replied(turn).await, "ran \"rm -r build\"");
    assert!(daemon.engine.approvals().list(context).await.unwrap().is_empty());
    assert_eq!(daemon.kinds("a").await, ["approval.asked", "approval.approved"]);
    // Once is once.
    let mut again = daemon.submit("one", "rm -r build").await;
    let second = asked(&mut again).await;
    let spent = daemon.answer(&id, ONCE, &Actor::CommandLine).await;
    assert!(matches!(spent, Err(AnswerError::NotWaiting(_))), "{spent:?}");
    daemon.answer(&second, ApprovalAnswer::Deny(None), &Actor::CommandLine).await.unwrap();
    end(again).await;
}

#[tokio::test]
async fn harmless_calls_are_not_asked_about() {
    let fixture = open_fixture(MANUAL).await;
    assert_eq!(replied(fixture.submit("one", "ls -la").await).await, "ran \"ls -la\"");
    assert!(fixture.kinds("a").await.is_empty());
}

#[tokio::test]
async fn a_no_is_told_with_its_reason_and_what_to_do_instead() {
    let fixture = open_fixture(MANUAL).await;
    let mut turn = fixture.submit("one", "rm -r build").await;
    let id = asked(&mut turn).await;
    let no = ApprovalAnswer::Deny(Some("we need it".to_owned()));
    fixture.answer(&id, no, &Actor::CommandLine).await.unwrap();
    let said = replied(turn).await;
    for part in ["rm -r build", "`delete`", "an admin denied it: we need it", "instead"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(fixture.kinds("a").await, ["approval.asked", "approval.denied"]);
}

#[tokio::test]
async fn silence_is_a_no() {
    let fixture =
        open_fixture("agents:\n  a: {tools: [terminal], approvals: {timeout: 5m}}\n").await;
    let mut turn = fixture.submit("one", "rm -r build").await;
    let id = asked(&mut turn).await;
    let clock = &fixture.handles.as_ref().unwrap().clock;
    while clock.sleeper_count() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(299)).await;
    assert_eq!(fixture.kinds("a").await, ["approval.asked"]);
    clock.advance(Duration::from_secs(2)).await;
    let mut outcome = None;
    let said = loop {
        match turn.events.recv().await.unwrap() {
            TurnEvent::ApprovalDone { outcome: done, .. } => outcome = Some(done),
            TurnEvent::Ended(TurnEnd::Replied { text, .. }) => break text,
            TurnEvent::Ended(other) => panic!("{other:?}"),
            _ => {}
        }
    };
    assert_eq!(outcome, Some(ApprovalOutcome::TimedOut));
    assert!(said.contains("no admin of this agent answered in time"), "{said}");
    assert_eq!(fixture.kinds("a").await, ["approval.asked", "approval.timed_out"]);
    let late = fixture.answer(&id, ONCE, &Actor::CommandLine).await;
    assert!(matches!(late, Err(AnswerError::NotWaiting(_))));
}

#[tokio::test]
async fn only_admins_of_the_agent_answer() {
    let fixture = open_fixture(MANUAL).await;
    let mut turn = fixture.submit("one", "rm -r build").await;
    let id = asked(&mut turn).await;
    let chat = fixture.token(&["a"], Verb::Chat).await;
    let foreign = fixture.token(&["b"], Verb::Approve).await;
    let nobody = Actor::token("nobody");
    for actor in [&chat, &foreign, &nobody, &Actor::Daemon, &Actor::Signal] {
        let refused = fixture.answer(&id, ONCE, actor).await;
        assert!(matches!(refused, Err(AnswerError::NotAdmin(_))), "{actor}: {refused:?}");
    }
    let approver = fixture.token(&["a"], Verb::Approve).await;
    fixture.answer(&id, ONCE, &approver).await.unwrap();
    assert_eq!(replied(turn).await, "ran \"rm -r build\"");
}

#[tokio::test]
async fn an_approval_is_answered_at_its_own_agent_only() {
    let daemon = open_fixture(MANUAL).await;
    let mut turn = daemon.submit("one", "rm -r build").await;
    let id = asked(&mut turn).await;
    let snapshot = daemon.daemon.snapshot();
    let other = snapshot.agents[&agent("b")].state.context().unwrap();
    let refused = daemon.engine.approvals().answer(other, &id, ONCE, &Actor::CommandLine).await;
    assert!(matches!(refused, Err(AnswerError::NotWaiting(_))));
    assert!(daemon.engine.approvals().list(other).await.unwrap().is_empty());
    daemon.answer(&id, ApprovalAnswer::Deny(None), &Actor::CommandLine).await.unwrap();
    end(turn).await;
}

#[tokio::test]
async fn with_separation_who_asks_does_not_approve() {
    let agents = "agents:\n  a: {tools: [terminal], approvals: {separation: true}}\n  b: {tools: [terminal]}\n";
    let fixture = open_fixture(agents).await;
    let asker = fixture.token(&["a"], Verb::Admin).await;
    let (mut inbound, _) = fixture.inbound("a", "one", "rm -r build");
    inbound.principal = asker.to_string().into();
    let mut turn = fixture.engine.submit(inbound).await.unwrap();
    let id = asked(&mut turn).await;
    let refused = fixture.answer(&id, ONCE, &asker).await;
    assert!(matches!(refused, Err(AnswerError::Separation)), "{refused:?}");
    let other = fixture.token(&["a"], Verb::Approve).await;
    fixture.answer(&id, ONCE, &other).await.unwrap();
    assert_eq!(replied(turn).await, "ran \"rm -r build\"");
}

#[tokio::test]
async fn a_grant_holds_for_its_session_or_its_agent_and_the_exact_invocation() {
    let fixture = open_fixture(MANUAL).await;
    let mut turn = fixture.submit("one", "rm -r build").await;
    let id = asked(&mut turn).await;
    fixture
        .answer(&id, ApprovalAnswer::Approve(ApprovalDuration::Session), &Actor::CommandLine)
        .await
        .unwrap();
    assert_eq!(replied(turn).await, "ran \"rm -r build\"");
    // The same in the same session: nobody is asked.
    assert_eq!(replied(fixture.submit("one", "rm -r build").await).await, "ran \"rm -r build\"");
    assert_eq!(fixture.kinds("a").await, ["approval.asked", "approval.approved", "approval.used"]);
    // In another session somebody is, and now it holds everywhere.
    let mut turn = fixture.submit("two", "rm -r build").await;
    let id = asked(&mut turn).await;
    fixture
        .answer(&id, ApprovalAnswer::Approve(ApprovalDuration::Always), &Actor::CommandLine)
        .await
        .unwrap();
    assert_eq!(replied(turn).await, "ran \"rm -r build\"");
    assert_eq!(replied(fixture.submit("three", "rm -r build").await).await, "ran \"rm -r build\"");
    // Not for anything else, and not for another agent.
    let mut other = fixture.submit("three", "rm -r build2").await;
    let waits = async |turn: &mut TurnHandle| loop {
        match turn.events.recv().await.unwrap() {
            TurnEvent::Approval { .. } => return,
            TurnEvent::Ended(end) => panic!("{end:?}"),
            _ => {}
        }
    };
    waits(&mut other).await;
    let (inbound, key) = fixture.inbound("b", "one", "rm -r build");
    let mut foreign = fixture.engine.submit(inbound).await.unwrap();
    waits(&mut foreign).await;
    fixture.engine.stop(&key);
    assert_eq!(end(foreign).await, TurnEnd::Stopped);
}

#[tokio::test]
async fn a_grant_that_was_revoked_asks_again() {
    let daemon = open_fixture(MANUAL).await;
    let mut turn = daemon.submit("one", "rm -r build").await;
    let id = asked(&mut turn).await;
    daemon
        .answer(&id, ApprovalAnswer::Approve(ApprovalDuration::Always), &Actor::CommandLine)
        .await
        .unwrap();
    replied(turn).await;
    let context = daemon.context("a");
    let all = grants::list(&context).await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((&*all[0].id, &*all[0].what, all[0].by.as_str()), (&*id, SHOWN, "cli:local"));
    // Not by whoever likes, not at another agent, and not twice.
    let chat = daemon.token(&["a"], Verb::Chat).await;
    let refused = grants::revoke(rights(&daemon), &context, &id, &chat).await;
    assert!(matches!(refused, Err(AnswerError::NotAdmin(_))), "{refused:?}");
    let elsewhere =
        grants::revoke(rights(&daemon), &daemon.context("b"), &id, &Actor::CommandLine).await;
    assert!(matches!(elsewhere, Err(AnswerError::NoGrant(_))), "{elsewhere:?}");
    assert_eq!(grants::list(&context).await.unwrap(), all);
    grants::revoke(rights(&daemon), &context, &id, &Actor::CommandLine).await.unwrap();
    let again = grants::revoke(rights(&daemon), &context, &id, &Actor::CommandLine).await;
    assert!(matches!(again, Err(AnswerError::NoGrant(_))), "{again:?}");
    assert_eq!(daemon.kinds("a").await.last().unwrap(), "approval.revoked");
    let mut turn = daemon.submit("one", "rm -r build").await;
    let id = asked(&mut turn).await;
    daemon.answer(&id, ApprovalAnswer::Deny(None), &Actor::CommandLine).await.unwrap();
    end(turn).await;
}

#[tokio::test]
async fn an_admin_on_a_platform_answers_and_nobody_else_there_does() {
    let agents = "agents:
  a:
    tools: [terminal]
    access: {allow: ['telegram:*'], admins: ['telegram:1', 'discord:role:staff'], people: {ann: ['telegram:1', 'matrix:@ann:x']}}
  b: {tools: [terminal], access: {admins: ['telegram:2']}}
";
    let fixture = open_fixture(agents).await;
    let somebody = |of: &str, platform: &str, user: &str, roles: &[&str]| {
        let platform = Platform::new(platform).unwrap();
        let roles = roles.iter().map(|role| RoleId::new(*role).unwrap()).collect();
        let account = AccountId::new("main").unwrap();
        let who =
            fixture.context(of).principal((platform, account), UserId::new(user).unwrap(), roles);
        Actor::from(&who)
    };
    let (mut inbound, _) = fixture.inbound("a", "one", "rm -r build");
    inbound.principal = "telegram:7".into();
    let mut turn = fixture.engine.submit(inbound).await.unwrap();
    let id = asked(&mut turn).await;
    for nobody in [
        // Who asked, somebody else who may talk, the admin of another agent as that agent
        // sees them, the same id on another platform, and a role of another platform.
        somebody("a", "telegram", "7", &[]),
        somebody("a", "telegram", "3", &[]),
        somebody("b", "telegram", "2", &[]),
        somebody("a", "discord", "1", &[]),
        somebody("a", "slack", "9", &["staff"]),
        somebody("a", "api", "1", &[]),
    ] {
        let refused = fixture.answer(&id, ONCE, &nobody).await;
        assert!(matches!(refused, Err(AnswerError::NotAdmin(_))), "{nobody}: {refused:?}");
    }
    fixture.answer(&id, ONCE, &somebody("a", "matrix", "@ann:x", &[])).await.unwrap();
    assert_eq!(replied(turn).await, "ran \"rm -r build\"");
    for yes in [somebody("a", "telegram", "1", &[]), somebody("a", "discord", "9", &["staff"])] {
        let mut turn = fixture.submit("one", "rm -r build").await;
        let id = asked(&mut turn).await;
        fixture.answer(&id, ONCE, &yes).await.unwrap();
        replied(turn).await;
    }
}

#[tokio::test]
async fn separation_knows_a_person_by_all_their_identities() {
    let agents = "agents:
  a:
    tools: [terminal]
    approvals: {separation: true}
    access: {admins: ['telegram:1'], people: {ann: ['telegram:1', 'matrix:@ann:x']}}
";
    let fixture = open_fixture(agents).await;
    let (mut inbound, _) = fixture.inbound("a", "one", "rm -r build");
    inbound.principal = "telegram:1".into();
    let mut turn = fixture.engine.submit(inbound).await.unwrap();
    let id = asked(&mut turn).await;
    let account = AccountId::new("main").unwrap();
    let matrix = Platform::new("matrix").unwrap();
    let user = UserId::new("@ann:x").unwrap();
    let ann = Actor::from(&fixture.context("a").principal((matrix, account), user, vec![]));
    let refused = fixture.answer(&id, ONCE, &ann).await;
    assert!(matches!(refused, Err(AnswerError::Separation)), "{refused:?}");
    fixture.answer(&id, ApprovalAnswer::Deny(None), &ann).await.unwrap();
    end(turn).await;
}

#[tokio::test]
async fn a_turn_that_waits_can_be_stopped() {
    let fixture = open_fixture(MANUAL).await;
    let (inbound, key) = fixture.inbound("a", "one", "rm -r build");
    let mut turn = fixture.engine.submit(inbound).await.unwrap();
    let id = asked(&mut turn).await;
    fixture.engine.stop(&key);
    assert_eq!(end(turn).await, TurnEnd::Stopped);
    assert_eq!(fixture.kinds("a").await, ["approval.asked", "approval.stopped"]);
    let late = fixture.answer(&id, ONCE, &Actor::CommandLine).await;
    assert!(matches!(late, Err(AnswerError::NotWaiting(_))));
    assert!(fixture.daemon.store_of(&agent("a")).approvals().await.unwrap().is_empty());
}

#[tokio::test]
async fn off_asks_nobody_and_still_refuses_what_nobody_may_allow() {
    let fixture = open_fixture("agents:\n  a: {tools: [terminal], approvals: {mode: off}}\n").await;
    assert_eq!(replied(fixture.submit("one", "rm -r build").await).await, "ran \"rm -r build\"");
    let said = replied(fixture.submit("one", "sudo rm -rf /").await).await;
    assert!(said.contains("`wipe_system`") && said.contains("nobody can allow that"), "{said}");
    assert!(fixture.kinds("a").await.is_empty());
}

const CODE: &str = "python3 x.py";

/// The answer to a turn that has to wait for somebody to agree to code nobody looked at.
async fn asked_about_code(fixture: &Fixture, mut turn: TurnHandle) {
    let (id, what, rule) = question(&mut turn).await;
    assert_eq!(rule, "opaque");
    assert!(what.contains("not looked at: the script or code that it runs"), "{what}");
    fixture.answer(&id, ApprovalAnswer::Deny(None), &Actor::CommandLine).await.unwrap();
    let said = replied(turn).await;
    assert!(said.contains("not looked at: the script or code that it runs"), "{said}");
}

#[tokio::test]
async fn what_cant_be_looked_through_runs_by_the_word_of_admins_alone() {
    let fixture = open_fixture("agents:\n  a: {tools: [terminal]}\n").await;
    let ran = format!("ran \"{CODE}\"");
    assert_eq!(replied(fixture.submit_locally("one", CODE).await).await, ran);
    assert!(fixture.kinds("a").await.is_empty());
    asked_about_code(&fixture, fixture.submit("two", CODE).await).await;
    // Somebody else's words stand in the conversation by now.
    asked_about_code(&fixture, fixture.submit_locally("two", CODE).await).await;
}

#[tokio::test]
async fn what_cant_be_looked_through_is_asked_about_without_walls_or_as_the_operator_says() {
    let agents =
        |more: &str| format!("agents:\n  a: {{integrity: off, tools: [terminal], {more}}}\n");
    for more in ["sandbox: off", "approvals: {opaque: ask}", "approvals: {separation: true}"] {
        let fixture = open_fixture(&agents(more)).await;
        asked_about_code(&fixture, fixture.submit_locally("one", CODE).await).await;
    }
    let open = open_fixture(&agents("approvals: {opaque: allow}, sandbox: off")).await;
    assert_eq!(replied(open.submit("one", CODE).await).await, format!("ran \"{CODE}\""));
    let closed = open_fixture(&agents("approvals: {opaque: deny, mode: off}")).await;
    for line in [CODE, "rm -r $(cat list)"] {
        let said = replied(closed.submit_locally("one", line).await).await;
        assert!(said.contains("`approvals.opaque` of this agent is `deny`"), "{said}");
    }
    assert_eq!(replied(closed.submit("one", "rm -r x").await).await, "ran \"rm -r x\"");
    let off = open_fixture(&agents("approvals: {mode: off}")).await;
    assert_eq!(replied(off.submit("one", CODE).await).await, format!("ran \"{CODE}\""));
    for fixture in [open, closed, off] {
        assert!(fixture.kinds("a").await.is_empty());
    }
}

#[tokio::test]
async fn what_nobody_may_allow_is_not_asked_about() {
    let fixture = open_fixture(MANUAL).await;
    let said = replied(fixture.submit("one", "reboot").await).await;
    assert!(said.contains("`host_power`"), "{said}");
    assert!(fixture.kinds("a").await.is_empty());
}

#[tokio::test]
async fn smart_takes_a_clear_yes_of_a_model_and_nothing_else() {
    for (answer, runs) in [("approve", true), ("deny", false), ("sure, approve", false)] {
        let agents = "agents:\n  a: {tools: [terminal], approvals: {mode: smart}}\n";
        let fixture = with_tools(None, agents, TOOLS, move |seen, number| {
            let is_question = shown(seen).last().is_some_and(|(_, text)| text.starts_with('{'));
            if is_question { says(answer) } else { script(seen, number) }
        })
        .await;
        let said = replied(fixture.submit("one", "rm -r build").await).await;
        assert_eq!(said == "ran \"rm -r build\"", runs, "{answer}: {said}");
        let kind = if runs { "approval.approved" } else { "approval.denied" };
        assert_eq!(fixture.kinds("a").await, [kind]);
    }
}

#[tokio::test]
async fn audit_names_who_and_what_by_hash_and_no_arguments() {
    let daemon = open_fixture(MANUAL).await;
    let mut turn = daemon.submit("one", "rm -r build").await;
    let id = asked(&mut turn).await;
    daemon.answer(&id, ONCE, &Actor::CommandLine).await.unwrap();
    end(turn).await;
    let records = daemon.daemon.store_of(&agent("a")).audit_tail(100).await.unwrap();
    let record = records.iter().find(|it| &*it.kind == "approval.approved").unwrap();
    assert_eq!(record.actor.as_str(), "cli:local");
    let content: Value = serde_json::from_str(record.content.as_deref().unwrap()).unwrap();
    assert_eq!(content["scope"], "once");
    assert_eq!(content["asked_by"], "api:ann");
    assert_eq!(content["invocation"].as_str().unwrap().len(), 64);
    let all: String = records.iter().filter_map(|it| it.content.clone()).collect();
    assert!(!all.contains("rm -r build"));
}

#[test]
fn after_a_crash_the_question_is_asked_again_and_nothing_ran() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let first = runtime();
    let (files, id) = first.block_on(async {
        let daemon = open_fixture(MANUAL).await;
        let mut turn = daemon.submit_locally("one", "rm -r build").await;
        let id = asked(&mut turn).await;
        let Fixture { files, .. } = daemon;
        (files, id)
    });
    first.shutdown_timeout(Duration::from_secs(30));
    let second = runtime();
    second.block_on(async {
        let daemon = with_tools(Some(files), MANUAL, TOOLS, script).await;
        let mut events = daemon.daemon.hub().listen(&agent("a"));
        daemon.engine.resume().await.unwrap();
        let again = loop {
            let event = events.recv().await.unwrap();
            if let insula_registry::events::AgentEvent::Turn { event, .. } = &*event
                && let TurnEvent::Approval { id, .. } = event
            {
                break id.clone();
            }
        };
        assert_eq!(again, id);
        daemon.answer(&again, ApprovalAnswer::Deny(None), &Actor::CommandLine).await.unwrap();
        let ended = loop {
            let event: Arc<_> = events.recv().await.unwrap();
            if let insula_registry::events::AgentEvent::Turn { event, .. } = &*event
                && let TurnEvent::Ended(end) = event
            {
                break end.clone();
            }
        };
        let TurnEnd::Replied { text, .. } = ended else { panic!("{ended:?}") };
        assert!(text.contains("an admin denied it"), "{text}");
    });
}
