//! Mistakes in what is meant: names of nothing, rules against each other, references, and
//! what is no YAML at all.

use super::Stops::{Agents, All};
use super::{CODER, Case, NOBODY};

/// The mistakes.
pub const MEANING: &[Case] = &[
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
        "agents: {main: {}, coder: {integrity: {tainted: {sends: ask}}}}",
        "1:50",
        "`sends` is neither an act nor a tool in `integrity.tainted` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {integrity: {tainted: {mcp__mail: ask}}}}",
        "1:50",
        "`mcp__mail` is not a pattern of MCP tools in `integrity.tainted` of agent `coder`",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {integrity: {tainted: {'get_*': ask}}}}",
        "1:50",
        "`get_*` is neither an act nor a tool in `integrity.tainted` of agent `coder`",
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
        NOBODY,
    ),
    Case(
        "agents: {a: {}, b: {}}\nbindings:\n  - {agent: a, discord: {guild: 9, role: x}}\n  - {agent: b, discord: {guild: 9, role: y}}",
        "4:5",
        "bindings 1 and 2 differ only in the role, and a sender can hold both",
        NOBODY,
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
        "providers: {a: {kind: openai, models: {m: {temperature: 2.5}}}}",
        "1:57",
        "2.5 is out of range in `temperature` of a provider",
        All,
    ),
    Case(
        "providers: {a: {kind: openai, extra_body: {messages: []}}}",
        "1:54",
        "`messages` can't be set in `extra_body`",
        All,
    ),
    Case(
        "providers: {a: {kind: openai, extra_body: {key: '${env:KEY}'}}}",
        "1:43",
        "a secret or a variable can't stand in `extra_body`",
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
