//! What is wrong with a configuration, where it says so, and whom it stops.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what it knows")]

mod common;

use common::{home, load_text};
use insula_config::{Outcome, Severity, load, render};
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

const CASES: &[Case] = &[
    // Keys.
    Case("agnets: {}", "1:1", "unknown key `agnets` in config.yaml", All),
    Case("nothing_like_it: 1", "1:1", "unknown key `nothing_like_it` in config.yaml", All),
    Case(
        "agents: {main: {}, coder: {tolls: coding}}",
        "1:28",
        "unknown key `tolls` in agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {memory: {scop: chat}}}",
        "1:37",
        "unknown key `scop` in `memory` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {mcp_servers: {github: {comand: x}}}}",
        "1:51",
        "unknown key `comand` in `mcp_servers.github` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}}\nbindings: [{agent: main, telegram: 1, channel: x}]",
        "2:39",
        "unknown key `channel` in binding 1",
        All,
    ),
    Case(
        "agents: {main: {}}\nlogging: {levle: info}",
        "2:11",
        "unknown key `levle` in `logging` of config.yaml",
        All,
    ),
    Case(
        "defaults: {tolls: coding}\nagents: {main: {}}",
        "1:12",
        "unknown key `tolls` in `defaults` of config.yaml",
        All,
    ),
    Case(
        "defaults: {default: true}\nagents: {main: {}}",
        "1:12",
        "`default` can't be the same for every agent",
        All,
    ),
    // Said twice.
    Case("model: openai/a\nmodel: openai/b", "2:1", "`model` stands twice in config.yaml", All),
    Case(
        "agents: {main: {}, coder: {name: a, name: b}}",
        "1:37",
        "`name` stands twice in agent `coder`",
        CODER,
    ),
    Case(
        "agents:\n  main: {}\n  coder: {}\n  coder: {}",
        "4:3",
        "agent `coder` stands twice",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {tools: coding, toolsets: [web]}}",
        "1:43",
        "`tools` and `toolsets` are the same setting in agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {sessions: {dm: shared}, dm_scope: main}}",
        "1:52",
        "`dm_scope` and `sessions.dm` are the same setting",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {sessions: x, dm_scope: main}}",
        "1:38",
        "expected a map, found `x` in `sessions` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}}\nbindings: [{agent: main, telegram: 1, chat: 2}]",
        "2:36",
        "`chat` is given twice in binding 1",
        All,
    ),
    Case(
        "agents: {main: {}}\nbindings: [{agent: main, telegram: 1, whatsapp: 2}]",
        "2:49",
        "binding 1 names its platform twice",
        All,
    ),
    // Types.
    Case("agents: []", "1:9", "expected a map, found a list in `agents` of config.yaml", All),
    Case("agents: main", "1:9", "expected a map, found `main` in `agents` of config.yaml", All),
    Case("just text", "1:1", "expected a map, found `just text` in config.yaml", All),
    Case("- a\n- b", "1:1", "expected a map, found a list in config.yaml", All),
    Case(
        "agents: {main: {}}\nbindings: {agent: main}",
        "2:11",
        "expected a list, found a map in `bindings` of config.yaml",
        All,
    ),
    Case(
        "agents: {main: {}}\nbindings: [main]",
        "2:12",
        "expected a map, found `main` in binding 1",
        All,
    ),
    Case(
        "agents: {main: {}, coder: yes}",
        "1:27",
        "expected a map, found `yes` in agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: [a]}",
        "1:27",
        "expected a map, found a list in agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {default: yes}}",
        "1:37",
        "expected `true` or `false`, found `yes` in `default` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {memory: 'true'}}",
        "1:36",
        "expected `true` or `false`, found `true` in `memory` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {model: {a: b}}}",
        "1:35",
        "expected a model such as `anthropic/claude-sonnet-4-5`, or a list, found a map in `model` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {model: gpt}}",
        "1:35",
        "`gpt` is not a model in `model` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {model: []}}",
        "1:35",
        "agent `coder` has an empty list of models",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {subagents: {max_depth: two}}}",
        "1:51",
        "expected a whole number, found `two` in `subagents.max_depth` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {subagents: {max_depth: 17}}}",
        "1:51",
        "17 is out of range in `subagents.max_depth` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {budget: {usd_per_day: -1}}}",
        "1:50",
        "-1 is negative in `budget.usd_per_day` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {budget: {usd_per_day: a lot}}}",
        "1:50",
        "expected a number, found `a lot` in `budget.usd_per_day` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {isolation: strong}}",
        "1:39",
        "expected one of `context`, `process`, `container`, found `strong` in `isolation` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {secrets: TOKEN}}",
        "1:37",
        "expected a list, found `TOKEN` in `secrets` of agent `coder`",
        CODER,
    ),
    Case("version: 2", "1:10", "2 is out of range in `version` of config.yaml", All),
    // No value.
    Case(
        "agents: {main: {}, coder: {isolation: }}",
        "1:37",
        "`isolation` of agent `coder` has no value",
        CODER,
    ),
    Case(
        "agents:\n  main: {}\n  coder:\n    tools:\n    memory: true",
        "4:10",
        "`tools` of agent `coder` has no value",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {memory: null}}",
        "1:36",
        "`memory` of agent `coder` has no value",
        CODER,
    ),
    Case("listen:\nagents: {main: {}}", "1:7", "`listen` of config.yaml has no value", All),
    Case(
        "channels: {telegram: }",
        "1:20",
        "`channels.telegram` of config.yaml needs `accounts`",
        All,
    ),
    // Texts with rules.
    Case(
        "agents: {main: {}, coder: {approvals: {timeout: 60}}}",
        "1:49",
        "`60` is not a duration in `approvals.timeout` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {sandbox: {memory: lots}}}",
        "1:46",
        "`lots` is not a size in `sandbox.memory` of agent `coder`",
        CODER,
    ),
    Case("agents: {main: {}, coder: {network: ['https://a.org/']}}", "1:38", "", CODER),
    Case("agents: {main: {}, coder: {network: ['a.org:70000', '*']}}", "1:38", "", CODER),
    // Credentials for hosts.
    Case(
        "agents: {main: {}, coder: {secrets: [K], network: {allow: [a.org], credentials: [{host: b.org, header: X, value: '${secret:K}'}]}}}",
        "1:89",
        "agent `coder` has a credential for `b.org`, which it does not reach",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {secrets: [K], network: {allow: ['a.org:8443'], credentials: [{host: a.org, header: X, value: '${secret:K}'}]}}}",
        "1:96",
        "agent `coder` has a credential for `a.org`, which it does not reach",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {network: {allow: [a.org], credentials: [{host: a.org, header: X, value: '${secret:K}'}]}}}",
        "1:100",
        "a credential of agent `coder` needs secret `K`, which it was not granted",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {network: {allow: [a.org], credentials: [{host: a.org, header: X, value: plain}]}}}",
        "1:100",
        "the credential of agent `coder` for `a.org` names no secret",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {secrets: [K], network: {allow: [a.org], credentials: [{host: a.org, header: Content-Length, value: '${secret:K}'}]}}}",
        "1:104",
        "",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {access: {admins: ['telegram:*']}}}",
        "1:46",
        "`telegram:*` would make admins of whoever happens to be there",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {files: {shared: [src]}}}",
        "1:45",
        "`src` is not a full path in `files.shared` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {access: {allow: [ann]}}}",
        "1:45",
        "`ann` names nobody in `access.allow` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {env: {A-B: x}}}",
        "1:34",
        "`A-B` is not an identifier in `env` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {sessions: {reset: {daily: '25:00'}}}}",
        "1:54",
        "`25:00` is not a time of day in `sessions.reset.daily` of agent `coder`",
        CODER,
    ),
    Case(
        "listen: localhost",
        "1:9",
        "`localhost` is not an address in `listen` of config.yaml",
        All,
    ),
    Case(
        "providers: {local: {kind: openai, base_url: 'ftp://x'}}",
        "1:45",
        "`ftp://x` is not an http or https address in `providers.local.base_url` of config.yaml",
        All,
    ),
    // Names of things that are not there.
    Case(
        "agents: {main: {}, coder: {tools: codign}}",
        "1:35",
        "expected one of `minimal`, `messaging`, `coding`, `full`, found `codign` in `tools` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {tools: [terminall]}}",
        "1:36",
        "unknown tool `terminall` in `tools` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {toolsets: [hermes-cli]}}",
        "1:39",
        "unknown tool `hermes-cli` in `toolsets` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {model: antropic/claude}}",
        "1:35",
        "no provider `antropic` for model `antropic/claude`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {model: qwen/qwen3}}",
        "1:35",
        "no provider `qwen` for model `qwen/qwen3`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {links: [{to: mian}]}}",
        "1:41",
        "agent `coder` is linked to `mian`, which does not exist",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {links: [{to: coder}]}}",
        "1:41",
        "agent `coder` is linked to itself",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {links: [{as: ask}]}}",
        "1:36",
        "`links` of agent `coder` needs `to`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {hooks: {pre_tool: [{expr: a}]}}}",
        "1:36",
        "unknown event `pre_tool` in `hooks` of agent `coder`",
        CODER,
    ),
    Case(
        "default_provider: antropic",
        "1:19",
        "`default_provider` names `antropic`, which does not exist",
        All,
    ),
    Case(
        "channels: {telegrm: {accounts: {}}}",
        "1:12",
        "unknown platform `telegrm` in `channels` of config.yaml",
        All,
    ),
    Case(
        "agents: {main: {}}\nbindings: [{agent: main, telegrm: 1}]",
        "2:26",
        "unknown key `telegrm` in binding 1",
        All,
    ),
    Case(
        "agents: {main: {}}\nbindings: [{agent: main, platform: telegrm}]",
        "2:36",
        "unknown platform `telegrm` in `platform` of binding 1",
        All,
    ),
    Case(
        "agents: {main: {}}\nbindings: [{agent: main}]",
        "2:12",
        "binding 1 names no platform",
        All,
    ),
    Case("agents: {main: {}}\nbindings: [{telegram: 1}]", "2:12", "binding 1 needs `agent`", All),
    Case(
        "agents: {main: {}}\nbindings: [{agent: mian, telegram: 1}]",
        "2:20",
        "binding 1 names agent `mian`, which does not exist",
        NOBODY,
    ),
    Case(
        "agents: {main: {}}\nbindings: [{agent: main, telegram: {peer: '*'}}]",
        "2:43",
        "`peer: \"*\"` in binding 1 names nobody; leave `peer` out to match all",
        All,
    ),
    Case(
        "agents: {main: {}}\nboards: {plans: {agents: [main, mian]}}",
        "2:33",
        "board `plans` names agent `mian`, which does not exist",
        All,
    ),
    Case(
        "agents: {main: {}}\nbindings: [{agent: Main, telegram: 1}]",
        "2:20",
        "binding 1: agent id `Main` is not valid: it starts with a-z or 0-9 and continues with a-z, 0-9, `_` or `-`",
        NOBODY,
    ),
    Case(
        "agents: {main: {model: openai/a}}\nbindings: [{agent: main, telegram: 1, model: openai/b}]",
        "2:46",
        "binding 1 names model `openai/b`, which agent `main` does not have",
        NOBODY,
    ),
    // Ids of agents.
    Case(
        "agents: {main: {}, Coder: {}}",
        "1:20",
        "agent id `Coder` is not valid: it starts with a-z or 0-9 and continues with a-z, 0-9, `_` or `-`",
        NOBODY,
    ),
    Case("agents: {main: {}, '': {}}", "1:20", "agent id is empty", NOBODY),
    Case("agents: {main: {}, ../etc: {}}", "1:20", "", NOBODY),
    Case("agents: {Coder: {}}", "1:10", "", NOBODY),
    // Rules against each other.
    Case(
        "agents: {a: {}, b: {}}\nbindings:\n  - {agent: a, telegram: -100}\n  - {agent: b, telegram: {chat: '-100'}}",
        "4:5",
        "bindings 1 and 2 match the same messages",
        All,
    ),
    Case(
        "agents: {a: {}, b: {}}\nbindings:\n  - {agent: a, discord: {guild: 9, role: x}}\n  - {agent: b, discord: {guild: 9, role: y}}",
        "4:5",
        "bindings 1 and 2 differ only in the role, and a sender can hold both",
        All,
    ),
    Case(
        "agents: {a: {}}\nbindings: [{agent: a, discord: {guild: 9, team: 8}}]",
        "2:12",
        "binding 1 names both a guild and a team",
        All,
    ),
    Case(
        "agents: {a: {}}\nbindings: [{agent: a, telegram: {peer: 1, user: 2}}]",
        "2:12",
        "`peer` of binding 1 already means a user in a direct message",
        All,
    ),
    // Settings against each other.
    Case(
        "agents: {main: {default: true}, coder: {default: true}, other: {}}",
        "1:26",
        "agent `main` is not the only one with `default: true`",
        Agents(&["coder", "main"]),
    ),
    Case(
        "agents: {main: {}, coder: {tools: [memory], memory: false}}",
        "1:53",
        "agent `coder` lists the tool `memory` and turns memory off",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {mcp_servers: {a: {command: x, url: 'http://y'}}}}",
        "1:63",
        "MCP server `a` has both `command` and `url`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {mcp_servers: {a: {}}}}",
        "1:42",
        "MCP server `a` needs `command` or `url`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {mcp_servers: {a__b: {command: x}}}}",
        "1:42",
        "`a__b` can't be the name of an MCP server",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {access: {people: {ann: ['telegram:1'], bob: ['telegram:1']}}}}",
        "1:73",
        "`telegram:1` is linked to both `ann` and `bob`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {hooks: {pre_tool_call: [{expr: a, command: b}]}}}",
        "1:52",
        "a hook of `pre_tool_call` answers in more than one way",
        CODER,
    ),
    Case("store: {kind: postgres}", "1:15", "PostgreSQL is not available in this version", All),
    Case(
        "hooks: {pre_tool_call: [{}]}\nagents: {main: {}}",
        "1:25",
        "a hook of `pre_tool_call` needs `expr`, `command` or `http`",
        All,
    ),
    Case(
        "prices: {up/one: {input: 3}}",
        "1:18",
        "`prices.up/one` of config.yaml needs `output`",
        All,
    ),
    Case(
        "budget: {per_context: {usd_per_day: 1}}",
        "1:10",
        "unknown key `per_context` in `budget` of config.yaml",
        All,
    ),
    Case(
        "defaults: {isolation: process}\nagents: {main: {isolation: context}, coder: {}}",
        "1:23",
        "`isolation` restricts agent `coder` and this version does not enforce it",
        CODER,
    ),
    // References.
    Case(
        "agents: {main: {}, coder: {env: {A: '${env:HOME}'}}}",
        "1:37",
        "agent `coder` may not read the daemon's environment",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {env: {A: '${HOME}'}}}",
        "1:37",
        "`${HOME}` is neither `${secret:NAME}` nor `${env:NAME}`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {env: {A: '${secret:A'}}}",
        "1:37",
        "`${secret:A` has a `${` without a `}`",
        CODER,
    ),
    Case(
        "providers: {a: {kind: openai, api_key: '${A}'}}",
        "1:40",
        "`${A}` is neither `${secret:NAME}` nor `${env:NAME}`",
        All,
    ),
    Case(
        "defaults: {env: {A: '${env:HOME}'}}\nagents: {main: {}, coder: {env: {A: b}}}",
        "1:21",
        "`${env:…}` in `defaults` would reach every agent",
        Agents(&["main"]),
    ),
    // Not YAML.
    Case("agents:\n\tmain: {}", "2:2", "", All),
    Case("agents: {main: {name: \"unclosed}}", "1:23", "", All),
    Case("agents: {main: {}", "1:9", "", All),
    Case("agents: [a, b", "1:9", "", All),
    Case("agents:\n  main: {}\n coder: {}", "3:2", "", All),
    Case("agents: *nobody", "1:9", "", All),
    Case("a: &a [*a]", "1:8", "", All),
    Case(
        "agents: {}\n---\nagents: {}",
        "3:1",
        "a second document starts here; one file holds one",
        All,
    ),
    Case("? [a, b]\n: c", "1:3", "a key must be plain text", All),
    Case("x: {<<: 5}", "1:9", "`<<` takes a map to merge in", All),
    Case("%YAML 3.0\n---\nagents: {}", "1:1", "", All),
];

#[test]
fn every_mistake_is_placed_worded_and_contained() {
    let mut shown = String::new();
    let mut wrong = Vec::new();
    for Case(yaml, place, message, stops) in CASES {
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
            let failed = loaded.agents.iter().filter(|(_, it)| matches!(it, Outcome::Failed(_)));
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
        assert_eq!(matches!(outcome, Outcome::Ready(_)), id.as_str() == "main", "{id}");
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
