//! The grounds of section C: bots on a platform, and the door for tokens, webhooks and pages.

use crate::beside;
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::stage::Stage;
use anyhow::Result;
use insula_testkit::telegram::{User, Where};
use serde_json::Value;
use std::time::Duration;

/// The bot that most chats have.
pub const ADA: &str = "7:ada-token";
/// Another bot of the same agents.
pub const BOB: &str = "8:bob-token";
/// A bot of an agent that lets nobody in unless they pair.
pub const CARL: &str = "9:carl-token";
/// A bot of another such agent.
pub const DORA: &str = "10:dora-token";
/// A bot of a third.
pub const EMIL: &str = "11:emil-token";
/// The bot that is agent `a`'s alone, in every chat.
pub const FAYE: &str = "12:faye-token";

/// The chats, and who is bound to them.
pub mod chats {
    /// Bound by a number to `number`.
    pub const NUMBER: i64 = -500;
    /// Bound by a text to `string`.
    pub const STRING: i64 = -501;
    /// Bound by another spelling to `other`.
    pub const OTHER: i64 = -502;
    /// Bound to an agent that does not exist.
    pub const MISSING: i64 = -600;
    /// Bound to an agent that failed.
    pub const FAILED: i64 = -601;
    /// Bound to an agent that is paused.
    pub const PAUSED: i64 = -602;
    /// Bound to `b`, who lets nobody in.
    pub const CLOSED: i64 = -700;
    /// Bound to `a`, who lets everybody in.
    pub const OPEN: i64 = -701;
    /// Bound to `careful`, who reads what somebody named.
    pub const CAREFUL: i64 = -702;
}

/// What webhooks are signed with.
pub const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Somebody who may talk.
pub fn ann() -> User {
    User::new(42, "Ann")
}

/// The admin.
pub fn root() -> User {
    User::new(1, "Root")
}

/// Bots, chats and agents on a platform.
pub fn platform(stage: &Stage) -> Result<Ground> {
    let everyone = "access: {allow: ['telegram:*'], admins: ['telegram:1']}, group: {respond: all}";
    let pairs = "access: {admins: ['telegram:1']}";
    let plan = Plan::new()
        .top("approvals: {mode: manual, timeout: 10m}\nstore: {durability: process}")
        .agent("main", "default: true, access: {allow: ['telegram:*', 'web:*']}, group: {respond: all}, memory: true")
        .agent("number", everyone)
        .agent("string", everyone)
        .agent("other", everyone)
        .agent("sleeper", everyone)
        .agent("a", &format!("tools: coding, {everyone}"))
        .agent("b", "tools: coding, group: {respond: all}")
        .agent(
            "careful",
            &format!("tools: {{allow: [read_file], rules: {{read_file: {{path: {{said: true}}}}}}}}, {everyone}"),
        )
        .file("agents/careful/workspace/evil.txt", "what only who names it may read")
        .agent("p", pairs)
        .agent("q", pairs)
        .agent("r", "access: {admins: ['telegram:1', 'web:nobody']}")
        .binding("agent: number, telegram: -500")
        .binding("agent: string, telegram: '-501'")
        .binding("agent: other, match: {platform: telegram, chat_id: -502}")
        .binding("agent: ghost, telegram: -600")
        .binding("agent: broken, telegram: -601")
        .binding("agent: sleeper, telegram: -602")
        .binding("agent: b, telegram: -700")
        .binding("agent: a, telegram: -701")
        .binding("agent: careful, telegram: -702")
        .binding("agent: p, telegram: {account: carl_bot}")
        .binding("agent: q, telegram: {account: dora_bot}")
        .binding("agent: r, telegram: {account: emil_bot}")
        .binding("agent: r, web: '*'")
        .binding("agent: a, telegram: {account: faye_bot}")
        .file("agents/broken/agent.yaml", "tolls: 1\n")
        .channel("web: {accounts: {site: {}}}")
        .bot(ADA, "ada_bot")
        .bot(BOB, "bob_bot")
        .bot(CARL, "carl_bot")
        .bot(DORA, "dora_bot")
        .bot(EMIL, "emil_bot")
        .bot(FAYE, "faye_bot");
    let ground = Ground::raise(stage, plan)?;
    for chat in [
        chats::NUMBER,
        chats::STRING,
        chats::OTHER,
        chats::MISSING,
        chats::FAILED,
        chats::PAUSED,
        chats::CLOSED,
        chats::OPEN,
        chats::CAREFUL,
    ] {
        ground.telegram()?.group(chat, "A group", &[ADA, BOB]);
        ground.telegram()?.permit(BOB, false, true);
    }
    let paused = ground.admin("POST", "/api/agents/sleeper/pause", &Value::Null)?;
    anyhow::ensure!(paused.status == 200, "{paused:?}");
    Ok(ground)
}

/// Tokens, webhooks and pages.
pub fn door(stage: &Stage) -> Result<Ground> {
    let plan = Plan::new()
        .top("approvals: {mode: manual, timeout: 10m}\nstore: {durability: process}")
        .agent("a", "tools: coding, memory: true, access: {allow: ['web:*', 'webhook:ci']}")
        .agent("b", "tools: coding, memory: true, access: {allow: ['web:*', 'webhook:other']}")
        .agent("gone", "tools: minimal")
        .binding("agent: a, web: {account: site}")
        .binding("agent: b, web: {chat: secrets}")
        .binding("agent: a, webhook: {account: ci}")
        .binding("agent: b, webhook: {account: other}")
        .channel("web: {accounts: {site: {origins: ['https://www.example.org']}}}")
        .channel(&format!("webhook: {{accounts: {{ci: {{secret: {SECRET}, template: '{{{{ word }}}}', chat: '{{{{ chat }}}}'}}, other: {{secret: another-{SECRET}, template: '{{{{ word }}}}'}}}}}}"));
    let ground = Ground::raise(stage, plan)?;
    machine::eventually("every account is connected", || {
        let status = ground.admin("GET", "/api/status", &Value::Null)?.json();
        let accounts = status["accounts"].as_array().cloned().unwrap_or_default();
        let all = accounts.iter().all(|account| account["state"] == "connected");
        Ok((all && accounts.len() == 3).then_some(()))
    })?;
    Ok(ground)
}

/// Waits until every bot has heard all that was said to it, and a turn that began later is over:
/// what was to come of it has come.
pub fn settled(ground: &Ground) -> Result<()> {
    let telegram = ground.telegram()?;
    machine::eventually("all was heard", || {
        let waits: usize =
            [ADA, BOB, CARL, DORA, EMIL].iter().map(|bot| telegram.pending(bot)).sum();
        Ok((waits == 0).then_some(()))
    })?;
    let script = crate::puppet::Script::say("settled");
    ground.tell(Where::Chat(chats::NUMBER), &ann(), "settle", script)?;
    Ok(())
}

/// Whether a text comes to any model within a moment.
pub fn reaches_a_model(ground: &Ground, words: &str) -> Option<String> {
    let heard = || ground.puppets.model_that_heard(words);
    beside::within(Duration::from_millis(50), heard)
}

/// How many messages from platforms had this outcome.
pub fn inbound(ground: &Ground, outcome: &str) -> Result<u64> {
    let metrics = ground.admin("GET", "/metrics", &serde_json::Value::Null)?.body;
    let name = format!("insula_inbound_total{{outcome=\"{outcome}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
    Ok(line.and_then(|count| count.trim().parse().ok()).unwrap_or(0))
}
