//! Two organisations behind one bot: on one Discord-like server and in one Slack-like workspace,
//! channels and roles mixed. Each has its own memory, and its own audit that verifies alone.

use crate::ingress::support::{Fixture, From, calls, group, says, shown, with};
use axum::body::{Body, to_bytes};
use axum::http::Request;
use insula_api::{Api, Caller, LocalOwner};
use insula_channel::Owner as _;
use insula_domain::{Community, GuildId};
use insula_store::proof::Checker;
use insula_testkit::upstream::{Seen, Step};

/// Conversations in all, unless `INSULA_CONVERSATIONS` says how many. The test command has little
/// time; five hundred show no other thing.
const CONVERSATIONS: usize = 120;

fn conversations() -> usize {
    let asked = std::env::var("INSULA_CONVERSATIONS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(CONVERSATIONS)
}

const ORGS: [&str; 2] = ["acme", "globex"];

/// On Discord the role says which organisation somebody is of, whatever the channel; on Slack the
/// channel does, whoever speaks there.
const CONFIG: &str = "agents:
  a:
    default: true
    tools: [memory, memory_search, session_search]
    memory: {scope: \"'org:' + metadata.org_id\", limits: {memory: 100000}}
    sessions: {group: per_user}
    group: {respond: all}
    access: {allow: ['discord:*', 'slack:*'], unknown: ignore}
bindings:
  - {agent: a, discord: {guild: g1, role: acme}, metadata: {org_id: acme}}
  - {agent: a, discord: {guild: g1, role: globex}, metadata: {org_id: globex}}
  - {agent: a, slack: {team: t1, chat: c0}, metadata: {org_id: acme}}
  - {agent: a, slack: {team: t1, chat: c1}, metadata: {org_id: globex}}
";

/// `TOOL {…}` in the last message is a call; what came of it is the reply.
fn script(seen: &Seen, _: usize) -> Vec<Step> {
    let (role, text) = shown(seen).last().cloned().unwrap_or_default();
    let said = text.rsplit('⟧').next().unwrap_or_default().trim();
    match said.split_once(" {").filter(|_| role != "tool") {
        Some((tool, rest)) => calls("c1", tool, &format!("{{{rest}")),
        None => says(&format!("heard: {said}")),
    }
}

/// Who speaks in a conversation, and of which organisation they are.
fn speaker(number: usize) -> (From, usize) {
    let org = number % 2;
    let user = format!("u{}", number / 4);
    if (number / 2).is_multiple_of(2) {
        // Channels are shared by both organisations, and so are most of the roles.
        let from = group(&format!("d{}", number % 7), &format!("{user}-{org}")).on("discord");
        let mut from = from.role("member").role(ORGS[org]);
        from.address.community = Some(Community::Guild(GuildId::new("g1").unwrap()));
        return (from, org);
    }
    // People are the same in both channels.
    let mut from = group(&format!("c{org}"), &user).on("slack");
    from.address.community = Some(Community::Team(GuildId::new("t1").unwrap()));
    (from, org)
}

fn canary(number: usize) -> String {
    format!("canary{}x{number:04}", ORGS[number % 2])
}

async fn export(fixture: &Fixture, scope: &str) -> String {
    let owner = LocalOwner::new(Api::new(fixture.daemon.opened(), None), None);
    let path = format!("/api/agents/a/audit/export?scope={scope}");
    let mut request = Request::get(path).body(Body::empty()).unwrap();
    request.extensions_mut().insert(Caller::Local);
    let response = owner.request(request).await;
    assert_eq!(response.status(), 200, "{scope}");
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn is_fine(export: &str) -> bool {
    let mut checker = Checker::default();
    export.lines().all(|line| checker.line(line).is_ok()) && checker.finish(None).is_ok()
}

#[tokio::test]
async fn rule_3_two_organisations_behind_one_bot_share_nothing() {
    let fixture = with(CONFIG, insula_tools::BUILT_IN, script).await;
    let mut asked = Vec::new();
    for number in 0..conversations() {
        let (from, org) = speaker(number);
        let before = fixture.asked();
        let word = canary(number);
        let add = format!(r#"memory {{"action": "add", "target": "memory", "content": "{word}"}}"#);
        let told = fixture.ask(&from, &add).await;
        assert!(!told.contains("error"), "{told}");
        // Some look for what the other one knows, by both ways.
        let other = canary(number ^ 1);
        if number % 5 < 2 {
            for look in ["memory_search", "session_search"] {
                fixture.ask(&from, &format!(r#"{look} {{"query": "{other}"}}"#)).await;
            }
        }
        asked.push((org, before..fixture.asked()));
    }
    let seen = fixture.upstream.seen();
    let mut own = [0, 0];
    for (number, (org, requests)) in asked.into_iter().enumerate() {
        let foreign = format!("canary{}x", ORGS[1 - org]);
        // What was looked for stands in the conversation in the words of whoever asked.
        let looked_for = canary(number ^ 1);
        for request in &seen[requests] {
            let body = String::from_utf8_lossy(&request.body).replace(&looked_for, "");
            assert!(!body.contains(&foreign), "conversation {number}: {body}");
            own[org] += usize::from(body.contains(&format!("canary{}x", ORGS[org])));
        }
    }
    // Each remembers its own, or nothing was shown at all.
    assert!(own.iter().all(|count| *count > conversations() / 2), "{own:?}");

    for (org, name) in ORGS.into_iter().enumerate() {
        let own = export(&fixture, &format!("custom:org%253A{name}")).await;
        assert!(own.lines().count() > conversations() / 2 && is_fine(&own));
        let other = ORGS[1 - org];
        assert!(own.contains(name) && !own.contains(other), "{name} hears of {other}");
        for number in 0..conversations() {
            let (from, of) = speaker(number);
            let user = from.address.user.unwrap();
            // Whoever speaks for both in one workspace is known to both.
            if of != org && user.as_str().contains('-') {
                assert!(!own.contains(&format!("discord:{user}\"")), "{name} hears of {user}");
            }
        }
        // Cut, exchanged or changed, it verifies no more.
        let lines: Vec<&str> = own.lines().collect();
        let without = [&lines[..3], &lines[4..]].concat().join("\n");
        let mut exchanged = lines.clone();
        exchanged.swap(2, 3);
        let exchanged = exchanged.join("\n");
        let changed = own.replacen("memory", "memorx", 1);
        for broken in [without, exchanged, changed, lines[..lines.len() - 1].join("\n")] {
            assert!(!is_fine(&broken));
        }
    }
}
