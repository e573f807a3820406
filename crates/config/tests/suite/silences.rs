//! What is not wrong and does nothing: said where it stands, with what would do it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what it knows")]

use crate::common::load_text;

/// The warnings of a text, with what they advise.
fn warned(text: &str) -> Vec<(String, String, u32)> {
    let (report, loaded) = load_text(text);
    assert_eq!(report.errors().count(), 0, "{:?}", report.diagnostics);
    assert!(loaded.is_some(), "a warning keeps nobody from serving");
    let told = report.warnings();
    let told =
        told.map(|it| (it.message.clone(), it.help.clone().unwrap_or_default(), it.span.line));
    told.collect()
}

#[test]
fn what_has_no_effect_is_told_where_it_stands() {
    for (text, what, help) in [
        ("agents: {a: {}}\nlisten: 0.0.0.0:7717\n", "open to every network", "127.0.0.1"),
        ("agents: {a: {}}\nlisten: '[::]:7717'\n", "open to every network", "127.0.0.1"),
        (
            "agents:\n  a: {access: {allow: ['telegram:@ann']}}\n",
            "`telegram:@ann` is nobody",
            "/whoami",
        ),
        (
            "agents:\n  a: {access: {admins: ['telegram:@ann']}}\n",
            "`telegram:@ann` is nobody",
            "/whoami",
        ),
        (
            "agents: {a: {access: {allow: ['telegram:1']}}}\nbindings: [{agent: a, telegram: {user: '@ann'}}]\n",
            "binding 1 is for `@ann`",
            "/whoami",
        ),
        (
            "agents: {b: {}, a: {links: [{to: b}]}}\n",
            "agent `a` has a link `as: ask` and does not have `message_agent`",
            "also_allow: [message_agent]",
        ),
        (
            "agents: {a: {tools: coding}}\nboards: {work: {agents: {a: work}}}\n",
            "agent `a` may work on cards of board `work` and does not have `kanban_complete` and `kanban_block`, by which a card ends",
            "also_allow: [\"group:boards\"]",
        ),
        (
            "agents: {a: {tools: coding}}\nboards: {work: {agents: {a: review}}}\n",
            "agent `a` may review cards of board `work`",
            "group:boards",
        ),
        (
            "agents: {a: {tools: {deny: [kanban_block]}}}\nboards: {work: {agents: [a]}}\n",
            "does not have `kanban_block`",
            "take `kanban_block` out of its `tools.deny`",
        ),
        (
            "agents:\n  a: {tools: minimal, mcp_servers: {x: {command: python3}}}\n",
            "none of its tools is in the profile of agent `a`",
            "mcp__x__*",
        ),
        (
            "agents:\n  a: {tools: {also_allow: [send_message]}, send: {to: ['telegram:main:-100']}}\n",
            "only what was said there",
            "flows",
        ),
    ] {
        let told = warned(text);
        let found = told.iter().find(|(message, ..)| message.contains(what));
        let (_, advice, _) = found.unwrap_or_else(|| panic!("{text}: {told:#?}"));
        assert!(advice.contains(help), "{text}: {advice}");
    }
}

#[test]
fn what_has_an_effect_is_not_told() {
    for text in [
        "agents: {a: {tools: {profile: coding, also_allow: ['group:boards']}}}\nboards: {work: {agents: [a]}}\n",
        "agents: {a: {tools: coding}}\nboards: {work: {agents: {a: add}}}\n",
        "agents: {a: {}}\nlisten: 127.0.0.1:7717\n",
        "agents: {a: {access: {allow: ['telegram:12', 'matrix:@ann:example.org']}}}\n",
        "agents:\n  a: {tools: {also_allow: ['mcp__x__*']}, mcp_servers: {x: {command: python3}}}\n",
        "agents:\n  a: {tools: {also_allow: ['mcp__x__who']}, mcp_servers: {x: {command: python3}}}\n",
        "agents:\n  a: {tools: {deny: ['mcp__x__*']}, mcp_servers: {x: {command: python3}}}\n",
        "agents:\n  a: {tools: {also_allow: [send_message]}, send: {to: ['telegram:main:-100'], flows: [{from: '*', to: 'telegram:main:-100'}]}}\n",
    ] {
        let told = warned(text);
        let quiet = [
            "open to every",
            "is nobody",
            "no effect",
            "none of its tools",
            "no flow leads",
            "by which a card ends",
        ];
        let loud = told.iter().find(|(it, ..)| quiet.iter().any(|what| it.contains(what)));
        assert_eq!(loud, None, "{text}");
    }
}
