//! What is wrong with a configuration, where it says so, and whom it stops.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what it knows")]

mod form;
mod meaning;

use crate::common::{home, load_text};
use form::FORM;
use insula_config::{AgentOutcome, Severity, load, render};
use meaning::MEANING;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Whom a mistake stops.
enum Stops {
    /// Everything: nothing is applied.
    All,
    /// These agents and no other.
    Agents(&'static [&'static str]),
}
use Stops::{Agents, All};

/// A mistake: what was written, the place and the message of its first error, whom it stops.
struct Case(&'static str, &'static str, &'static str, Stops);

const CODER: Stops = Agents(&["coder"]);
const NOBODY: Stops = Agents(&[]);

#[test]
fn every_mistake_is_placed_worded_and_contained() {
    let mut shown = String::new();
    let mut wrong = Vec::new();
    for Case(yaml, place, message, stops) in FORM.iter().chain(MEANING) {
        let (report, loaded) = load_text(yaml);
        let text = render::text(&report, render::Colour::Plain);
        let _ = writeln!(shown, "{}\n{yaml}\n\n{text}\n", "=".repeat(78));
        let first = report.errors().next();
        let is = first.map(|found| {
            let file = &report.sources.get(found.span.source).name;
            (format!("{}:{}", found.span.line, found.span.column), found.message.clone(), &**file)
        });
        let fits = is.as_ref().is_some_and(|(at, said, file)| {
            at == place && (said == message || message.is_empty()) && *file == "config.yaml"
        });
        if !fits {
            wrong.push(format!("{yaml}\n  is     {is:?}\n  wanted {place} {message}"));
        }
        let failed: Option<Vec<String>> = loaded.map(|loaded| {
            let failed =
                loaded.agents.iter().filter(|(_, it)| matches!(it, AgentOutcome::Failed(_)));
            failed.map(|(id, _)| id.to_string()).collect()
        });
        let stopped = match (stops, &failed) {
            (All, None) => true,
            (Agents(these), Some(failed)) => failed == these,
            _ => false,
        };
        if !stopped {
            wrong.push(format!("{yaml}\n  failed {failed:?}"));
        }
    }
    insta::assert_snapshot!("messages", shown);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_error_is_reported_not_the_first() {
    let (report, _) = load_text(
        "agents:\n  a: {tolls: x, memory: 5, isolation: y}\n  b: {nam: z}\nlisten: q\nx: 1\n",
    );
    assert_eq!(report.errors().count(), 6);
    let lines: Vec<u32> = report.errors().map(|found| found.span.line).collect();
    assert!(lines.is_sorted());
}

#[test]
fn an_error_in_an_agents_own_file_names_that_file() {
    let home = home(&[
        ("config.yaml", "agents: {main: {}}"),
        ("agents/coder/agent.yaml", "tools: coding\nmemory: [\n"),
        ("agents/Bad Name/agent.yaml", "tools: coding\n"),
        ("agents/other/agent.yaml", "- a list\n"),
    ]);
    let (report, loaded) = load(&home, &BTreeMap::new());
    let loaded = loaded.unwrap();
    insta::assert_snapshot!("own-files", render::text(&report, render::Colour::Plain));
    for (id, outcome) in &loaded.agents {
        assert_eq!(matches!(outcome, AgentOutcome::Ready(_)), id.as_str() == "main", "{id}");
    }
    assert_eq!(loaded.agents.len(), 3);
}

#[test]
fn nothing_that_is_only_missing_is_an_error() {
    let yaml = "
agents:
  main:
    default: true
    tools: {also_allow: [image_generate, 'mcp__gone__*']}
    secrets: [A]
    mcp_servers: {m: {command: x, env: {B: '${secret:B}'}}}
bindings: [{agent: main, telegram: {account: gone}, priority: 3}]
providers: {p: {kind: openai, api_key: literal}}
channels: {slack: {accounts: {a: {token: literal, app_token: '${env:NOT_SET}'}}}}
";
    let (report, loaded) = load_text(yaml);
    assert!(loaded.is_some());
    assert!(report.diagnostics.iter().all(|found| found.severity == Severity::Warning));
    insta::assert_snapshot!("warnings", render::text(&report, render::Colour::Plain));
}
