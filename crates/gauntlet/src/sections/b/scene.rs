//! The daemon that section B is tried in: one agent that many people reach in many places, and
//! some that differ from it in one setting.

use crate::ground::{Ground, Plan};
use crate::puppet::{Act, Call, Script};
use crate::stage::Stage;
use anyhow::Result;
use insula_testkit::telegram::{User, Where};
use serde_json::json;

/// The bots, by their tokens.
pub const ADA: &str = "7:ada-token";
/// The other bot of the same agent.
pub const BOB: &str = "8:bob-token";
/// Two groups.
pub const KITCHEN: i64 = -101;
/// The other one.
pub const GARDEN: i64 = -102;
/// A group whose people each have a memory of their own.
pub const TENANTS: i64 = -103;
/// A forum.
pub const FORUM: i64 = -1001;
/// A channel that everybody reads.
pub const PUBLIC: i64 = -104;

/// Somebody like everybody.
pub fn ann() -> User {
    User::new(42, "Ann")
}

/// Somebody else.
pub fn ben() -> User {
    User::new(43, "Ben")
}

/// The admin.
pub fn chief() -> User {
    User::new(1, "Chief")
}

/// One agent behind two bots in a direct message, groups and a forum.
pub fn many_chats(stage: &Stage) -> Result<Ground> {
    let common = "access: {allow: ['telegram:*'], admins: ['telegram:1']}, group: {respond: all}, approvals: {timeout: 2s}";
    let quick = "sessions: {burst: 0s}";
    let main = format!(
        "default: true, memory: true, {common}, {quick}, tools: {{also_allow: [send_message]}}, send: {{to: ['telegram:ada:{GARDEN}', 'telegram:ada:{PUBLIC}']}}"
    );
    let users = format!(
        "memory: {{enabled: true, scope: user}}, {common}, sessions: {{burst: 0s, group: per_user}}"
    );
    let flows = format!(
        "{common}, {quick}, tools: {{also_allow: [send_message]}}, send: {{to: ['telegram:ada:{GARDEN}'], flows: [{{from: '*', to: 'telegram:ada:{GARDEN}'}}]}}"
    );
    let boards = "boards: {shared: {agents: {m: work}}}\n";
    let plan = Plan::new().top(boards).agent("m", &main).agent("u", &users).agent("flows", &flows);
    let plan = plan.bot(ADA, "ada").bot(BOB, "bob");
    let plan =
        plan.binding("agent: m, telegram: '*'").binding(&format!("agent: u, telegram: {TENANTS}"));
    let plan = plan.file("agents/m/memories/MEMORY.md", "the house rule is {canary:global}\n");
    let ground = Ground::raise(stage, plan)?;
    let telegram = ground.telegram()?;
    telegram.group(KITCHEN, "Kitchen", &[ADA]);
    telegram.group(GARDEN, "Garden", &[ADA, BOB]);
    telegram.group(TENANTS, "Tenants", &[ADA]);
    telegram.channel(PUBLIC, "Public", &[ADA]);
    telegram.forum(FORUM, "Forum", &[ADA]);
    Ok(ground)
}

/// Remembers something.
pub fn remember(text: &str) -> Call {
    Call::new("memory", json!({ "action": "add", "target": "memory", "content": text }))
}

/// Looks for a word in all there is to look in.
pub fn look_for(word: &str) -> Script {
    Script::steps(vec![Act::Call(vec![
        Call::new("memory_search", json!({ "query": word })),
        Call::new("session_search", json!({ "query": word })),
        Call::new("session_search", json!({ "query": word, "sort": "newest", "limit": 50 })),
    ])])
}

/// Somebody tells the agent something in a place, which is remembered there; then somebody looks
/// for it in another. What the model was sent in the other place, and in the first again.
pub fn carried(
    ground: &Ground,
    (from, teller): (Where<'_>, &User),
    (to, asker): (Where<'_>, &User),
    word: &str,
    secret: &str,
) -> Result<(Vec<u8>, Vec<u8>)> {
    let fact = format!("{word} is {secret}");
    ground.tell(from, teller, &fact, Script::steps(vec![Act::Call(vec![remember(&fact)])]))?;
    let other = ground.tell(to, asker, &format!("what is {word}"), look_for(word))?;
    let own = ground.tell(from, teller, &format!("what is {word}"), look_for(word))?;
    Ok((other.prompts(), own.told().into_bytes()))
}
