//! Mistakes in how something is written: keys, types, texts with rules.

use super::Stops::All;
use super::{CODER, Case};

/// The mistakes.
pub const FORM: &[Case] = &[
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
        "agents: {main: {}, coder: {memory: {scope: \"true\"}}}",
        "1:44",
        "`true` is no scope: it answers true or false, and must answer a name",
        CODER,
    ),
    Case(
        "agents: {main: {}, coder: {memory: {also_read: [\"['a']\"]}}}",
        "1:49",
        "`['a']` is no scope: it answers a list, and must answer a name",
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
];
