//! Names and titles: every list has them beside its ids, and every command takes either. The
//! tables here have every command there is, so that a new one can't forget it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

use crate::commands::{COMMANDS, words};
use crate::standin::{Asked, Reply, StandIn};
use crate::support::*;
use insula_testkit::run_bare;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Places of commands where an id may stand, or what it is called.
const IDS: [&str; 13] = [
    "AGENT", "SESSION", "PERSON", "CARD", "BOARD", "JOB", "APPROVAL", "GRANT", "TOKEN", "DELIVERY",
    "SKILL", "SERVER", "POLICY",
];

/// Places where something else stands.
const OTHERS: &str = "ACCOUNT ADDR BEFORE BODY CALL CARDS CHAT CODE COMMAND CONVERSATION DELIVER \
    DESCRIPTION DIR DUE FILE FOLDER FRAGMENT GUILD HASH JITTER KEY KIND LABEL LIMIT LINES MAY \
    MESSAGE MISSED MODEL N NAME NEW NOTE OFF OPTIONS OVERLAP PARENT PASSPHRASE PATH PERSONALITY \
    PLATFORM PRIORITY PROMPT REASON RESULT ROLE RUN SCHEDULE SCOPE SCRIPT SECONDS SEQ SHELL SOURCE \
    START STATUS TASK TEAM TEMPLATE TEXT TIME TIMEOUT TIMEZONE TITLE TOKENS TOOL TOOLS TOPIC TURN \
    UNTIL URL USD USER VALUE VARIABLE VERB WAY WHAT WHEN WHO WHY WORDS WORK YAML BY SINCE COUNT BUDGET REPLACE";

/// A command that says what something is called, and the request by which it reaches what is meant.
const BY_NAME: &[(&str, &[&str], &str)] = &[
    ("AGENT", &["agents", "show", "Ada"], "GET /api/agents/coder"),
    ("AGENT", &["agents", "pause", "Ada"], "POST /api/agents/coder/pause"),
    ("AGENT", &["audit", "tail", "Ada"], "GET /api/agents/coder/audit?limit=20"),
    ("AGENT", &["audit", "verify", "Ada"], "GET /api/agents/coder/audit/verify"),
    (
        "AGENT",
        &["board", "list", "house", "--assignee", "Ada"],
        "GET /api/boards/house/cards?assignee=coder",
    ),
    (
        "SESSION",
        &["sessions", "show", "coder", "garden Plans"],
        "GET /api/agents/coder/sessions/3?limit=50",
    ),
    (
        "SESSION",
        &["sessions", "show", "Ada", "Garden plans"],
        "GET /api/agents/coder/sessions/3?limit=50",
    ),
    (
        "SESSION",
        &["sessions", "forget", "Ada", "Garden plans", "--yes"],
        "DELETE /api/agents/coder/sessions/3",
    ),
    (
        "SESSION",
        &["audit", "tail", "Ada", "--session", "Garden plans"],
        "GET /api/agents/coder/audit?limit=20&session=3",
    ),
    (
        "PERSON",
        &["audit", "tail", "Ada", "--user", "maria"],
        "GET /api/agents/coder/audit?limit=20&user=telegram%3A5",
    ),
    (
        "PERSON",
        &["pairing", "revoke", "Ada", "Ned"],
        "DELETE /api/agents/coder/pairing/telegram%3A6",
    ),
    ("CARD", &["board", "show", "house", "mow the lawn"], "GET /api/boards/house/cards/7"),
    (
        "CARD",
        &["board", "comment", "house", "mow the lawn", "soon"],
        "POST /api/boards/house/cards/7",
    ),
    ("APPROVAL", &["approvals", "approve", "terminal"], "POST /api/agents/coder/approvals/ap1"),
    ("APPROVAL", &["approvals", "deny", "terminal"], "POST /api/agents/coder/approvals/ap1"),
    ("GRANT", &["approvals", "revoke", "Ada", "write_file"], "DELETE /api/agents/coder/grants/g1"),
    ("TOKEN", &["token", "revoke", "for the build"], "DELETE /api/tokens/t1"),
    ("DELIVERY", &["deliveries", "drop", "Ada", "-100"], "DELETE /api/agents/coder/deliveries/9"),
];

/// Commands with a slip, and what was meant.
const SLIPS: &[(&[&str], &str)] = &[
    (&["agents", "show", "Adda"], "did you mean `Ada`?"),
    (&["sessions", "show", "coder", "Gardn plans"], "did you mean `3` (Garden plans)?"),
    (&["cron", "show", "coder", "tidi"], "did you mean `tidy`?"),
    (&["board", "show", "house", "mow a lawn"], "did you mean `7` (Mow the lawn)?"),
    (&["board", "show", "huose", "7"], "did you mean `house`?"),
    (&["approvals", "approve", "terminl"], "did you mean `ap1` (terminal)?"),
    (&["approvals", "revoke", "coder", "write_fil"], "did you mean `g1` (write_file)?"),
    (&["token", "revoke", "for the bild"], "did you mean `t1` (for the build)?"),
    (&["skills", "show", "coder", "gardenin"], "did you mean `gardening`?"),
    (&["skills", "show", "coder", "zzz"], "`insula skills list coder` has them all"),
    (&["mcp", "restart", "coder", "githb"], "did you mean `github`?"),
    (&["pairing", "revoke", "coder", "Nedd"], "did you mean `telegram:6` (Ned)?"),
];

/// Commands with a table, and what stands in it beside ids.
const LISTS: &[(&[&str], &[&str])] = &[
    (&["agents", "list"], &["coder", "Ada"]),
    (&["sessions", "list", "coder"], &["Garden plans", "How do I plant"]),
    (&["sessions", "show", "coder", "3"], &["telegram:5 (maria)"]),
    (&["sessions", "search", "coder", "words"], &["3 (Garden plans)"]),
    (&["sessions", "search", "--all", "words"], &["coder (Ada)", "3 (Garden plans)"]),
    (
        &["turns", "list", "coder"],
        &["3 (Garden plans)", "telegram:5 (maria)", "link from family (Kin)"],
    ),
    (&["turns", "show", "coder", "11"], &["3 (Garden plans)", "telegram:5 (maria)"]),
    (&["memory", "list", "coder", "--provenance"], &["3 (Garden plans)", "telegram:5 (maria)"]),
    (&["memory", "show", "coder", "1"], &["3 (Garden plans)", "telegram:5 (maria)"]),
    (&["memory", "search", "coder", "words"], &["words"]),
    (&["approvals", "list"], &["coder (Ada)", "telegram:5 (maria)", "terminal"]),
    (&["approvals", "grants", "coder"], &["session 3 (Garden plans)", "telegram:5 (maria)"]),
    (&["cron", "list"], &["coder (Ada)", "telegram:5 (maria)"]),
    (&["cron", "show", "coder", "tidy"], &["coder (Ada)", "telegram:5 (maria)"]),
    (&["board", "list"], &["coder (Ada)"]),
    (&["board", "list", "house"], &["coder (Ada)", "Mow the lawn"]),
    (&["board", "show", "house", "7"], &["coder (Ada)", "Mow the lawn", "6 (done: Buy a mower)"]),
    (&["pairing", "list"], &["coder (Ada)", "telegram:6", "Ned"]),
    (&["usage"], &["coder (Ada)"]),
    (&["usage", "coder"], &["coder (Ada)", "telegram:5 (maria)"]),
    (&["usage", "--by", "key"], &["coder (Ada)"]),
    (&["audit", "tail", "coder"], &["telegram:5 (maria)"]),
    (&["audit", "verify"], &["coder (Ada)"]),
    (&["token", "list"], &["coder (Ada)", "for the build"]),
    (&["secret", "list"], &["coder (Ada)"]),
    (&["status"], &["coder (Ada)"]),
    (&["route", "explain", "--platform", "telegram", "--chat", "5"], &["coder (Ada)"]),
    (&["deliveries", "list", "coder"], &["-100"]),
];

/// Commands whose answer is no list of what may be called something, by words that begin it.
const NO_LIST: &str = "up|stop|restart|service|channels|backup|restore|check|init|route|agents show|\
    agents add|agents set|agents pause|agents resume|agents reload|agents restart|agents home|\
    agents archive|agents clone|agents rename|agents export|agents import|agents delete|context|\
    tools|explain|mcp|model|open|reload|doctor|audit export|audit key|logs|chat|run|acp|\
    sessions forget|turns follow|memory contexts|memory share|memory forget|memory export|\
    memory verify|approvals approve|approvals deny|approvals revoke|files|deliveries resend|\
    deliveries drop|board create|board add|board move|board comment|board claim|board assign|\
    board block|board done|board watch|cron add|cron run|cron pause|cron resume|cron remove|\
    cron history|pairing approve|pairing revoke|token create|token revoke|secret set|\
    secret remove|policies|skills|import|config|completions|manual";

/// A home where everything is called something.
fn named() -> StandIn {
    StandIn::with_agents(said, [("coder", "Ada"), ("family", "Kin")])
}

fn said(asked: &Asked, reply: Reply) {
    let (status, value) = world(asked);
    reply.json(status, &value);
}

fn world(asked: &Asked) -> (u16, Value) {
    let (method, whole) = asked.line.split_once(' ').unwrap();
    let path = whole.split('?').next().unwrap().trim_start_matches("/api/");
    let parts: Vec<&str> = path.split('/').collect();
    let no = |code: &str| {
        (404, json!({ "error": { "code": code, "message": format!("there is no such {code}") } }))
    };
    if let ["agents", id, ..] = parts.as_slice()
        && !["coder", "family"].contains(id)
    {
        let message = format!("no agent `{id}` here");
        return (404, json!({ "error": { "code": "no_such_agent", "message": message } }));
    }
    let at = "2026-11-18T09:00:00Z";
    let session = json!({ "id": 3, "title": "Garden plans", "begins": "x", "scope": "global",
        "messages": 1, "used": at, "started": at, "ended": false });
    let other = json!({ "id": 4, "title": null, "begins": "How do I plant a tree?", "scope": "global",
        "messages": 1, "used": at, "ended": false });
    let turn = json!({ "id": 11, "session": 3, "principal": "telegram:5", "status": "replied",
        "began": { "kind": "link", "agent": "family" }, "accepted": at });
    let from = json!({ "source": "said", "principal": "telegram:5", "session": 3, "at": at });
    let fragment = json!({ "id": 1, "scope": "global", "target": "memory", "text": "words", "provenance": from });
    let job = json!({ "agent": "coder", "name": "tidy", "state": "active", "schedule": "@daily",
        "owner": "telegram:5", "next": [at] });
    let card = json!({ "id": 7, "board": "house", "title": "Mow the lawn", "status": "ready",
        "assignee": "coder", "priority": 0, "needs": [{ "id": 6, "status": "done", "title": "Buy a mower" }] });
    let sums = json!({ "turns": 1, "input_tokens": 1, "cached_tokens": 0, "output_tokens": 1, "usd": 0.0 });
    let with = |mut sums: Value, key: &str, value: Value| {
        sums[key] = value;
        sums
    };
    let key = json!({ "provider": "p", "source": "s", "agent": "coder", "calls": 1 });
    let message =
        json!({ "seq": 1, "role": "user", "principal": "telegram:5", "at": at, "text": "hello" });
    let found = json!({ "agent": "coder", "session": 3, "seq": 1, "at": at, "role": "user", "text": "words" });
    let is_get = method == "GET";
    let value = match parts.as_slice() {
        ["sessions"] => json!([session, other]),
        ["sessions", "search"] => json!([found]),
        ["agents", _, "sessions"] => json!([session, with(other, "begins", Value::Null)]),
        ["agents", _, "sessions", "search"] => json!([with(found, "agent", Value::Null)]),
        ["agents", _, "sessions", "3"] => json!({ "session": session, "messages": [message] }),
        ["agents", _, "turns"] => json!([turn]),
        ["agents", _, "turns", _] => json!({ "turn": turn, "messages": [message] }),
        ["agents", _, "memory", "troubles"] => json!([]),
        ["agents", _, "memory", "1"] => json!({ "fragment": fragment, "provenance": [from] }),
        ["agents", _, "memory", ..] => json!([fragment]),
        ["approvals"] => {
            json!([{ "id": "ap1", "agent": "coder", "asked_by": "telegram:5", "tool": "terminal", "what": "ls" }])
        }
        ["agents", "coder", "approvals", "ap1"] => json!({ "scope": "once" }),
        ["agents", _, "grants"] => {
            json!([{ "id": "g1", "session": 3, "tool": "write_file", "granted_by": "telegram:5", "what": "x" }])
        }
        ["agents", _, "grants", "g1"] => Value::Null,
        ["jobs"] | ["agents", _, "jobs"] => json!([job]),
        ["agents", _, "jobs", "tidy"] => job,
        ["boards"] => {
            json!([{ "name": "house", "cards": { "ready": 1 }, "agents": { "coder": "work" }, "description": null }])
        }
        ["boards", "house", "cards"] => json!([card]),
        ["boards", "house", "cards", "7"] => card,
        ["pairing"] | ["agents", "coder", "pairing"] => {
            json!([{ "agent": "coder", "state": "paired", "who": "telegram:6", "account": "main", "name": "Ned", "at": at, "by": "cli:local" }])
        }
        ["agents", _, "pairing"] => json!([]),
        ["agents", "coder", "pairing", "telegram%3A6"] => Value::Null,
        ["agents", "coder", "context"] => {
            json!({ "settings": [{ "setting": "access.people.maria", "value": ["telegram:5"] }] })
        }
        ["agents", _, "context"] => json!({ "settings": [] }),
        ["usage"] if whole.contains("by=key") => json!({ "keys": [key] }),
        ["usage"] => {
            json!({ "agents": [with(sums.clone(), "agent", "coder".into())], "total": sums })
        }
        ["agents", _, "usage"] => {
            let people = json!([with(sums.clone(), "name", "telegram:5".into())]);
            with(with(sums, "agent", "coder".into()), "principals", people)
        }
        ["agents", _, "audit"] => {
            json!([{ "seq": 1, "at": at, "actor": "telegram:5", "scope": "global", "kind": "tool.call", "content": {} }])
        }
        ["audit", "chains"] => json!(["coder"]),
        ["audit", "verify"] | ["agents", _, "audit", "verify"] => {
            json!({ "ok": true, "records": 1, "broken_at": null })
        }
        ["tokens"] => {
            json!([{ "id": "t1", "agents": ["coder"], "verbs": ["chat"], "created": at, "less": [], "note": "for the build" }])
        }
        ["tokens", "t1"] => Value::Null,
        ["secrets"] => json!([{ "agent": "coder", "name": "KEY", "set": at }]),
        ["status"] => {
            json!({ "pid": 1, "agents": { "total": 2 }, "next_runs": [{ "agent": "coder", "at": at }] })
        }
        ["agents", _, "deliveries"] => {
            json!([{ "id": 9, "state": "failed", "platform": "telegram", "account": "main", "chat": "-100", "topic": null, "queued_at": at, "why": "x" }])
        }
        ["agents", _, "deliveries", "9"] => Value::Null,
        ["agents", _, "skills"] => json!([{ "name": "gardening" }]),
        ["agents", _, "mcp"] => json!([{ "name": "github" }]),
        ["agents", _, "pause"] if !is_get => json!({ "id": "coder", "state": "paused" }),
        ["boards", "house", ..] => return no("no_such_card"),
        _ => return no("not_found"),
    };
    (200, value)
}

#[test]
fn what_is_called_something_is_taken_by_that_and_by_its_id() {
    for (_, command, request) in BY_NAME {
        let daemon = named();
        let output = insula(&daemon.home, command);
        assert_eq!(output.code, Some(0), "{command:?}: {output:?}");
        // What the stand-in knows by itself is not told of.
        if *request != "GET /api/agents/coder" {
            assert_eq!(daemon.asked(request).line.split('?').next(), request.split('?').next());
        }
    }
    let daemon = named();
    for (command, told) in SLIPS {
        let output = insula(&daemon.home, command);
        assert_eq!(output.code, Some(1), "{command:?}: {output:?}");
        assert!(output.stderr.contains(told), "{command:?}: {output:?}");
    }
}

#[test]
fn an_agent_without_a_word_is_asked_for_and_where_to_look_is_said_once() {
    let home = configured("agents: {coder: {}}\n");
    let _daemon = start_still(&home);
    for command in
        [&["agents", "show", ""][..], &["tools", ""], &["chat", "--agent", "", "-m", "x"]]
    {
        let output = insula(&home, command);
        assert_eq!(output.code, Some(2), "{command:?}: {output:?}");
        assert!(output.stderr.contains("say which agent"), "{command:?}: {output:?}");
    }
    let missing = insula(&home, &["sessions", "show", "coder", "7"]).stderr;
    assert!(missing.contains("there is no session 7; `insula sessions list coder`"), "{missing}");
    assert_eq!(missing.matches("sessions list").count(), 1, "{missing}");
}

#[test]
fn two_that_are_called_alike_are_told_apart_by_their_ids() {
    let daemon = StandIn::with_agents(
        |asked, reply| match asked.line.as_str() {
            "GET /api/sessions?agent=coder&limit=200" => reply.json(
                200,
                &json!([{ "id": 4, "title": "twin it" }, { "id": 5, "title": "Twin it" }]),
            ),
            _ => reply.json(404, &json!({ "error": { "code": "not_found", "message": "no" } })),
        },
        [("coder", "Ada"), ("family", "Kin")],
    );
    let several = insula(&daemon.home, &["sessions", "show", "coder", "twin it"]);
    assert_eq!(several.code, Some(2), "{several:?}");
    assert!(several.stderr.contains("say the id: 4, 5"), "{several:?}");
}

#[test]
fn every_list_has_names_beside_ids_and_programs_read_ids() {
    let daemon = named();
    for (command, needles) in LISTS {
        let shown = insula(&daemon.home, command);
        assert_eq!(shown.code, Some(0), "{command:?}: {shown:?}");
        for needle in *needles {
            assert!(shown.stdout.contains(needle), "{command:?} lacks {needle}: {}", shown.stdout);
        }
        let read = insula(&daemon.home, &[*command, &["--json"]].concat()).ok().stdout;
        for name in ["(Ada)", "(maria)", "(Garden plans)"] {
            assert!(!read.contains(name), "{command:?}: {read}");
        }
    }
}

#[test]
fn every_command_says_whether_it_lists_and_what_it_takes() {
    let listed = |command: &str| {
        LISTS.iter().any(|(args, _)| words(command).iter().zip(*args).all(|(one, it)| one == it))
            || NO_LIST.split('|').any(|it| command == it || command.starts_with(&format!("{it} ")))
    };
    let known: BTreeSet<&str> = OTHERS.split_whitespace().chain(IDS).collect();
    let mut unknown = Vec::new();
    for command in COMMANDS {
        let help = run_bare(INSULA, &[], &[&words(command)[..], &["--help"]].concat()).ok().stdout;
        assert!(
            help.contains("\nCommands:\n") || listed(command),
            "`insula {command}`: say in `LISTS` or `NO_LIST` whether it lists what has names"
        );
        let places = places(&help).into_iter().filter(|it| !known.contains(it.as_str()));
        unknown.extend(places.map(|place| format!("`insula {command}`: {place}")));
    }
    assert!(unknown.is_empty(), "say in `IDS` or `OTHERS` whether these are ids: {unknown:#?}");
    // A name is one only as an id of its own kind is: jobs, boards, skills and servers have no other.
    for kind in ["AGENT", "SESSION", "PERSON", "CARD", "APPROVAL", "GRANT", "TOKEN", "DELIVERY"] {
        assert!(BY_NAME.iter().any(|(of, ..)| *of == kind), "{kind} is not tried by name");
    }
}

/// What may stand in a command, by how its help writes it.
fn places(help: &str) -> BTreeSet<String> {
    let all = help.split(['<', '[']).skip(1).filter_map(|it| it.split(['>', ']']).next());
    let all = all.flat_map(|it| it.split(['|', '=', ' '])).map(|it| it.trim_end_matches('.'));
    let is_place = |it: &&str| !it.is_empty() && it.chars().all(|c| c.is_ascii_uppercase());
    all.filter(is_place).map(str::to_owned).collect()
}

#[test]
fn agents_are_called_by_name_where_files_alone_are_read() {
    let home = configured("agents: {}\n");
    home.write("agents/coder/agent.yaml", "name: Ada Lovelace\n").unwrap();
    insula(&home, &["agents", "set", "ada lovelace", "description", "writes programs"]).ok();
    assert!(home.read("agents/coder/agent.yaml").unwrap().contains("writes programs"));
    let slip = insula(&home, &["agents", "set", "codr", "description", "x"]);
    assert!(slip.stderr.contains("did you mean `coder`?"), "{slip:?}");
    insula(&home, &["agents", "rename", "Ada Lovelace", "author"]).ok();
    insula(&home, &["logs", "Ada Lovelace"]).ok();
    insula(&home, &["agents", "clone", "Ada Lovelace", "other"]).ok();
    assert!(home.has("agents/other/agent.yaml"));
    let several = insula(&home, &["agents", "clone", "Ada Lovelace", "third"]);
    assert!(several.stderr.contains("say the id: author, other"), "{several:?}");
}
