//! Who is in the daemon, as files: the agent that is watched, in a file of its own that is the same
//! in every run, and the others.

use super::pages::{ACCOUNT, COMMON, den};
use super::trace::Other;
use std::fmt::Write as _;

/// The agent that is watched.
pub const WATCHED: &str = "b";

/// The board that all others share.
pub const SHARED_BOARD: &str = "commons";

/// An agent that is there in every run and never does anything: the one that is watched may tell it
/// things, so that what links it has can be seen in what it is refused.
const QUIET: &str = "quiet";

/// The version of an agent whose file is wrong.
const FAILS: u8 = 7;

/// What holds where nothing is said about strangers.
const BALANCED: &str = "balanced";

/// Where the model, hooks, search and MCP server of everybody are. The paths tell who asks.
pub const SERVER: &str = "127.0.0.1:8000";

/// How the keys of the daemon at its providers begin; each provider has its own. Nobody could
/// guess them, so they are taken out of everybody's words.
const DAEMON_KEY: &str = "sk-Wn5vT8zQ2kXr7LmB4cJ9hYd6Pf";

/// `config.yaml` with these others in it. `host` has the common room, if anybody has.
pub fn shared_file(others: &[&Other], host: Option<&str>) -> String {
    let mut text = String::from("store: {durability: process}\nproviders:\n");
    // In no particular order, so that the one that is watched is not always the first.
    let mut ids: Vec<&str> = others.iter().map(|other| other.id.as_str()).collect();
    ids.push(WATCHED);
    ids.sort_unstable();
    for id in &ids {
        let _ = writeln!(
            text,
            "  p-{id}: {{kind: openai, base_url: 'http://{SERVER}/{id}/v1', api_key: '{DAEMON_KEY}-{id}'}}"
        );
    }
    text.push_str("channels:\n  telegram:\n    accounts:\n");
    for id in &ids {
        let _ = writeln!(text, "      {id}bot: {{token: x, base_url: 'http://127.0.0.1:9'}}");
    }
    let _ = writeln!(text, "  web:\n    accounts: {{{ACCOUNT}: {{}}}}");
    text.push_str("bindings:\n");
    for id in &ids {
        let _ = writeln!(text, "  - {{agent: {id}, telegram: {{account: {id}bot}}}}");
        let _ = writeln!(text, "  - {{agent: {id}, web: {}}}", den(id));
    }
    if let Some(host) = host.filter(|host| ids.contains(host)) {
        let _ = writeln!(text, "  - {{agent: {host}, web: {COMMON}}}");
    }
    text.push_str("boards:\n");
    for id in &ids {
        let _ = writeln!(text, "  {}: {{agents: {{{id}: manage}}, attempts: 1}}", board(id));
    }
    let known: Vec<&str> = others.iter().map(|other| other.id.as_str()).collect();
    if !known.is_empty() {
        let all: Vec<String> = known.iter().map(|id| format!("{id}: manage")).collect();
        let _ = writeln!(text, "  {SHARED_BOARD}: {{agents: {{{}}}}}", all.join(", "));
    }
    let _ = writeln!(text, "agents:\n  {QUIET}: {{model: p-{WATCHED}/gpt-4o, tools: [todo]}}");
    for other in others.iter().filter(|other| other.is_in_shared_file) {
        let _ = writeln!(text, "  {}:", other.id);
        for line in agent_file(&other.id, other.version).lines() {
            let _ = writeln!(text, "    {line}");
        }
        // One that fails has nothing that links could be added to.
        let to = known.iter().filter(|id| **id != other.id && other.version != FAILS);
        let links: Vec<String> = to
            .flat_map(|id| ["ask", "notify"].map(|kind| format!("{{to: {id}, as: {kind}}}")))
            .collect();
        if !links.is_empty() {
            let _ = writeln!(text, "    links: [{}]", links.join(", "));
        }
    }
    text
}

/// The board that an agent has to itself.
pub fn board(id: &str) -> String {
    format!("plot-{id}")
}

/// What an agent does by the clock. Moved by its jitter, so that nothing else happens in the same
/// moment.
fn jobs(id: &str, version: u8) -> String {
    let acts = r#"[{"call":"memory_search","arguments":{"query":"tea"}},{"tell":true}]"#;
    match version {
        0 | 3 | 8 => format!(
            "cron: {{tick: {{schedule: every 5m, jitter: 4m, prompt: '{acts}', deliver: 'telegram:{id}bot:-1'}}}}"
        ),
        1 | 6 => format!("heartbeat: {{every: 7m, prompt: '{acts}', scope: global}}"),
        5 => format!("boot: '{acts}'"),
        _ => "cron: {}".to_owned(),
    }
}

/// `agent.yaml` of an agent, in one of ten versions.
pub fn agent_file(id: &str, version: u8) -> String {
    let is_watched = id == WATCHED;
    if version == FAILS && !is_watched {
        // It fails, alone.
        return "tolls: [todo]\n".to_owned();
    }
    let tools = match version {
        1 => "tools: [todo, memory, memory_search, session_search, read_file, write_file]",
        2 => {
            "tools: {also_allow: [send_message, message_agent, notify, cronjob, 'group:kanban'], deny: [web_search], rules: {write_file: {path: {path: ['*.md', '*.txt']}}}}"
        }
        // As many as in version 2, and others.
        8 => {
            "tools: {also_allow: [send_message, message_agent, notify, cronjob, 'group:kanban'], deny: [web_extract]}"
        }
        _ => "tools: {also_allow: [send_message, message_agent, notify, cronjob, 'group:kanban']}",
    };
    let memory = match version {
        2 => "memory: {scope: chat}",
        3 => "memory: {scope: user, limits: {memory: 160, user: 120}}",
        4 => "memory: {global_writes: allow}",
        5 => "memory: {scope: \"'team/' + agent_id\"}",
        6 if !is_watched => "memory: false",
        9 => "memory: {limits: {memory: 300, user: 200}}",
        _ => "memory: true",
    };
    let hooks = match version {
        3 => format!("hooks: {{pre_tool_call: [{{http: 'http://{SERVER}/{id}/hook', matcher: 'todo|write_file'}}], pre_llm_call: [{{expr: \"'it is ' + agent_id\"}}]}}"),
        4 => "hooks: {transform_tool_result: [{expr: \"text + ' (seen)'\"}], pre_verify: [{expr: \"!text.contains('sparrow')\"}]}".to_owned(),
        5 => format!("hooks: {{pre_llm_call: [{{http: 'http://{SERVER}/{id}/hook'}}], memory:write: [{{expr: \"!text.contains('violet')\"}}], post_llm_call: [{{http: 'http://{SERVER}/{id}/hook'}}]}}"),
        _ => "hooks: {}".to_owned(),
    };
    let budget = match (version, is_watched) {
        (4, _) => "budget: {turns_per_minute: 4, per_user: {turns_per_minute: 3}}",
        (9, _) => "budget: {turns_per_minute: 1000, per_user: {turns_per_minute: 5}}",
        (6, false) => "budget: {turns_per_minute: 1, tokens_per_day: 100}",
        _ => "budget: {turns_per_minute: 1000, tokens_per_day: 50000000}",
    };
    let model = match version {
        5 => format!("model: [p-{id}/broken, p-{id}/gpt-4o]"),
        _ => format!("model: p-{id}/gpt-4o"),
    };
    // Children that an agent has at the same time race each other, in an order that nobody promised
    // and that shows in its records: the one that is watched has one at a time.
    let children = if is_watched { 1 } else { 2 };
    // Every other version knows the server: what nobody has looked at is seldom let through.
    let integrity = match version % 2 {
        1 => "{trusted: ['mcp:desk']}",
        _ => BALANCED,
    };
    let mut jobs = jobs(id, version);
    if is_watched {
        let _ = write!(jobs, "\nlinks: [{{to: {QUIET}, as: notify}}]");
    }
    let default = if is_watched || version != 2 { "default: false" } else { "default: true" };
    format!(
        "name: The {id}
description: keeps the garden of {id}
{default}
{model}
personality: You are {id}, version {version}.
{tools}
{memory}
{hooks}
{budget}
{jobs}
network: ['site.test', '{SERVER}']
web: {{search: {{provider: searxng, base_url: 'http://{SERVER}/{id}/searx/'}}}}
secrets: [KEY]
mcp_servers: {{desk: {{url: 'http://{SERVER}/{id}/mcp', headers: {{x-key: '${{secret:KEY}}'}}}}}}
access: {{allow: ['telegram:*', 'web:*'], admins: ['telegram:9']}}
group: {{respond: all}}
send: {{to: ['telegram:{id}bot:-1']}}
approvals: {{timeout: 30s}}
subagents: {{max_children: {children}, timeout: 2m}}
metadata: {{team: {id}}}
integrity: {integrity}
"
    )
}

/// The same agent where strangers speak: questions that nobody answers don't hold a trace up, and a
/// small window makes summaries.
pub fn steered(file: &str, seed: u64) -> String {
    let questions =
        if seed.is_multiple_of(2) { "{timeout: 1s}" } else { "{timeout: 1s, mode: off}" };
    // Children get away with a stranger's words only where they may.
    let children =
        if seed.is_multiple_of(4) { "{tainted: {delegate_task: allow}}" } else { BALANCED };
    let file = file.split("integrity: ").next().unwrap_or_default();
    let file = format!("{file}integrity: {children}\n");
    file.replace("approvals: {timeout: 30s}", &format!("approvals: {questions}"))
        .replace("/gpt-4o", "/small")
        // Where nobody speaks: to answer people in their own chat asks nobody.
        .replace("send: {to: ['telegram:bbot:-1']}", "send: {to: ['telegram:bbot:-5']}")
}

/// A skill that everybody has under the same name.
pub fn skill(id: &str) -> String {
    format!("---\nname: gardening\ndescription: How {id} keeps a garden.\n---\nWater it, {id}.\n")
}

/// The value of an agent's secret: words that can be guessed, and some that can't.
pub fn secret(id: &str, version: u8) -> Option<String> {
    match (version, id == WATCHED) {
        (0, _) => None,
        (1, true) => Some("key-of-b-0123456789abcdef".to_owned()),
        (2, true) => Some("key-of-b-fedcba9876543210".to_owned()),
        (_, true) => Some("lantern5".to_owned()),
        // What the one that is watched says too, short and long: only words of the agent whose
        // it is may change by it.
        (1, false) => Some("weather".to_owned()),
        (2, false) => Some("garden weather".to_owned()),
        (3, false) => Some("plan.txt".chars().take(7).collect()),
        (_, false) => Some(format!("key-of-{id}-00112233445566778899")),
    }
}
