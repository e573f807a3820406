//! How long a large configuration takes to load:
//! `cargo run --release -p insula-config --example load_bench [AGENTS] [BINDINGS]`.
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock and its arguments")]

use insula_config::files::{FileState, FilesSnapshot};
use insula_config::{AgentOutcome, Applied, diff, load};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

fn main() {
    let mut counts = std::env::args().skip(1).filter_map(|text| text.parse().ok());
    let agents: usize = counts.next().unwrap_or(10_000);
    let bindings: usize = counts.next().unwrap_or(agents);
    let text = generate(agents, bindings);
    let bytes = text.len();
    let snapshot =
        FilesSnapshot { config: FileState::Text(text.into()), ..FilesSnapshot::default() };

    let mut fastest = f64::INFINITY;
    for _ in 0..5 {
        let started = Instant::now();
        let (report, loaded) = load(&snapshot, &BTreeMap::new());
        fastest = fastest.min(started.elapsed().as_secs_f64() * 1e3);
        let Some(loaded) = loaded else {
            println!("refused: {} errors", report.errors().count());
            return;
        };
        let ready =
            loaded.agents.values().filter(|it| matches!(it, AgentOutcome::Ready(_))).count();
        assert_eq!((ready, loaded.router.bindings().len()), (agents, bindings));
    }
    println!("{agents} agents, {bindings} bindings, {bytes} bytes: loaded in {fastest:.0} ms");

    let (_, loaded) = load(&snapshot, &BTreeMap::new());
    let Some(loaded) = loaded else { return };
    let started = Instant::now();
    let applied = Applied::of(&loaded);
    let text = applied.to_json();
    let read = Applied::from_json(&text).unwrap_or_default();
    let changes = diff(&read, &applied).len();
    let took = started.elapsed().as_secs_f64() * 1e3;
    println!("kept as {} bytes, read back, {changes} changes: {took:.0} ms", text.len());
}

fn generate(agents: usize, bindings: usize) -> String {
    let mut text = String::from(
        "model: anthropic/claude-sonnet-4-5\n\
         defaults: {tools: {deny: [cronjob]}, sessions: {group: per_user}, metadata: {org: acme}}\n\
         channels: {telegram: {accounts: {main: {}}}}\n\
         agents:\n",
    );
    for n in 0..agents {
        let _ = match n % 3 {
            0 => writeln!(
                text,
                "  agent-{n}: {{memory: true, access: {{allow: [\"telegram:{n}\"]}}}}"
            ),
            1 => writeln!(
                text,
                "  agent-{n}:\n    personality: You are number {n}.\n    tools: {{profile: coding, deny: [terminal]}}\n    memory: {{scope: chat}}\n    access: {{allow: [\"telegram:{n}\"], admins: [\"telegram:1\"]}}"
            ),
            _ => writeln!(
                text,
                "  agent-{n}:\n    model: [openai/gpt-5, ollama/qwen3]\n    tools: [web_search, web_extract, clarify, todo]\n    env: {{LANG: C}}\n    access: {{allow: [\"telegram:{n}\"]}}"
            ),
        };
    }
    if bindings > 0 {
        text.push_str("bindings:\n");
    }
    for n in 0..bindings {
        let agent = n % agents.max(1);
        let _ = match n % 2 {
            0 => writeln!(text, "  - {{agent: agent-{agent}, telegram: -100{n}}}"),
            _ => writeln!(
                text,
                "  - {{agent: agent-{agent}, telegram: {{chat: -100{n}, topic: 7}}}}"
            ),
        };
    }
    text
}
