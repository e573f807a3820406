//! What becomes of homes, by the texts in them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use insula_domain::{BlockKind, CardStatus};
use insula_import::{Fate, ImportError, PartPlan, Plan, Row, Voice, hermes, openclaw};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

struct Home {
    folder: tempfile::TempDir,
    scratch: tempfile::TempDir,
}

impl Home {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { folder, scratch: tempfile::tempdir().unwrap() }
    }

    fn hermes(&self) -> Result<Plan, ImportError> {
        hermes::read(self.folder.path(), (self.scratch.path(), "x"))
    }

    fn openclaw(&self) -> Result<Plan, ImportError> {
        openclaw::read(self.folder.path(), (self.scratch.path(), "x"))
    }
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn fate(plan: &Plan, what: &str) -> Option<Fate> {
    plan.rows.iter().find(|row| row.what == what).map(|row| row.fate)
}

fn settings(plan: &Plan, agent: &str) -> Value {
    let agent = plan.agents.iter().find(|it| it.id.as_str() == agent).unwrap();
    Value::Object(agent.settings.clone())
}

#[test]
fn every_key_of_a_hermes_configuration_comes_over_or_is_told_of() {
    let home = Home::with(&[
        (
            "config.yaml",
            "model: {provider: local, default: small}\nproviders:\n  local: {base_url: 'http://127.0.0.1:1/v1', api_key: sk-made-up-key-1}\ntoolsets: [web, file, warp]\napprovals: {mode: smart, timeout: 90}\ndelegation: {max_spawn_depth: 2, subagent_auto_approve: true}\nterminal: {cwd: /srv, backend: docker}\nhooks:\n  pre_tool_call:\n    - {matcher: 'terminal', command: '~/.hermes/agent-hooks/guard.sh --strict', timeout: 5}\n    - {matcher: 'web_.*', command: /usr/bin/true}\n  on_moon: [{command: x}]\ncommand_allowlist: ['rm -rf']\ntelegram: {require_mention: false, allowed_chats: '1'}\nsurprise: 1\n",
        ),
        ("agent-hooks/guard.sh", "exit 0\n"),
        (
            ".env",
            "WHATSAPP_HOME_CHANNEL=1\nNOTE=x\nSIGNAL_GROUP_ALLOWED_USERS=1\nMATRIX_ALLOWED_USERS=*,@ann:example.org\n",
        ),
    ]);
    let plan = home.hermes().unwrap();
    let told = [
        ("model", Fate::Comes),
        ("provider local", Fate::Comes),
        ("toolset warp", Fate::NoPlace),
        ("toolsets", Fate::Comes),
        ("approvals.mode", Fate::Comes),
        ("delegation.subagent_auto_approve", Fate::Closed),
        ("terminal.cwd", Fate::Closed),
        ("terminal.backend", Fate::NoPlace),
        ("hook pre_tool_call", Fate::Changes),
        ("hook on_moon", Fate::NoPlace),
        ("command_allowlist", Fate::Closed),
        ("telegram.require_mention", Fate::Closed),
        ("telegram.allowed_chats", Fate::Changes),
        ("surprise", Fate::NoPlace),
        ("WHATSAPP_HOME_CHANNEL", Fate::Changes),
        ("NOTE", Fate::NoPlace),
        ("SIGNAL_GROUP_ALLOWED_USERS", Fate::Closed),
    ];
    for (what, expected) in told {
        assert_eq!(fate(&plan, what), Some(expected), "{what}");
    }
    let lines = plan.rows.iter().filter(|row| row.from.file == "config.yaml");
    assert!(lines.clone().count() > 10 && lines.into_iter().all(|row| row.from.line.is_some()));
    assert_eq!(
        settings(&plan, "main"),
        json!({
            "access": {"allow": ["matrix:@ann:example.org"]},
            "providers": {"local": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "api_key": "${secret:LOCAL_API_KEY}"}},
            "model": "local/small",
            "toolsets": ["web", "file"],
            "approvals": {"mode": "smart", "timeout": "90s"},
            "subagents": {"max_depth": 2},
            "hooks": {"pre_tool_call": [
                {"command": "sh ./guard.sh --strict", "matcher": "terminal", "timeout": "5s"},
                {"command": "/usr/bin/true"},
            ]},
            "sessions": {"group": "per_user"},
            "memory": {"enabled": true},
        })
    );
    assert_eq!(plan.agents[0].hooks["guard.sh"], b"exit 0\n");
    assert_eq!(plan.secrets.len(), 1);
    assert!(!format!("{:?}{:?}", plan.rows, plan.secrets).contains("sk-made-up"));
}

#[test]
fn what_the_fixtures_say_is_read_whole() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = hermes::read(&fixture("hermes"), (scratch.path(), "h")).unwrap();
    let main = &plan.agents[0];
    let tap = main.sessions.iter().find(|it| it.title.as_deref() == Some("Leaking tap"));
    let tap = tap.unwrap_or_else(|| panic!("{:#?}", plan.rows));
    let messages = plan.messages(tap).unwrap();
    assert_eq!((messages.len(), tap.count), (5, 5));
    assert_eq!(messages[1].voice, Voice::Assistant);
    assert!(matches!(&messages[1].parts[0], PartPlan::Reasoning(text) if text.contains("washer")));
    assert!(matches!(&messages[1].parts[2], PartPlan::Call { name, .. } if name == "read_file"));
    assert!(
        matches!(&messages[2].parts[0], PartPlan::Result { call, text, .. } if call == "call_1" && text.contains("15 mm"))
    );
    assert!(matches!(&messages[4].parts[1], PartPlan::Beside(text) if text.contains("picture")));
    assert_eq!(messages[0].at.as_millis(), 1_760_000_000_000);
    assert_eq!(main.schedules.len(), 2);
    let open = openclaw::read(&fixture("openclaw"), (scratch.path(), "o")).unwrap();
    assert_eq!(open.agents.iter().map(|it| it.sessions.len()).sum::<usize>(), 3);
    for agent in &open.agents {
        for session in &agent.sessions {
            assert_eq!(open.messages(session).unwrap().len(), session.count);
        }
    }
    drop((plan, open));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "copies were left");
}

#[test]
fn an_older_openclaw_home_has_files_in_place_of_databases() {
    let line = |id: &str, parent: &str, role: &str, text: &str| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-02T03:04:05.000Z",
            "message": {"role": role, "content": [{"type": "text", "text": text}]}})
        .to_string()
    };
    let lines = [
        json!({"type": "session", "id": "s1", "timestamp": "2026-01-02T03:04:05.000Z"}).to_string(),
        line("a", "", "user", "one").replace("\"parentId\":\"\"", "\"parentId\":null"),
        line("b", "a", "assistant", "two"),
        "half a li".to_owned(),
    ];
    let home = Home::with(&[
        (
            "openclaw.json",
            "// mine\n{ $include: './more.json5', agents: { list: [ { id: 'Home Bot', default: true, workspace: '/gone/workspace', model: { primary: 'anthropic/claude', fallbacks: ['openai/gpt'] }, tools: { profile: 'coding', alsoAllow: ['web_fetch', 'teleport'], deny: ['exec'] } } ] },\n channels: { telegram: { botToken: '${BOT}', allowFrom: ['telegram:7'] }, smoke: {} },\n bindings: [ { agentId: 'home-bot', match: { channel: 'telegram', peer: { kind: 'group', id: '-1:topic:3' } } }, { agentId: 'nobody', match: { channel: 'telegram' } } ] }",
        ),
        (
            "more.json5",
            "{ session: { dmScope: 'main' }, models: { providers: { odd: { api: 'telepathy' } } } }",
        ),
        (".env", "BOT=1:made-up\nANTHROPIC_API_KEY=made-up-key-2\n"),
        ("workspace/SOUL.md", "Me."),
        ("workspace/memory/2026-01-02.md", "- a\n- b\n"),
        (
            "agents/Home Bot/sessions/sessions.json",
            "{\"agent:home-bot:telegram:direct:7\": {\"sessionId\": \"s1\"}}",
        ),
        ("agents/Home Bot/sessions/s1.jsonl", &lines.join("\n")),
        (
            "cron/jobs.json",
            "{\"jobs\": [{\"id\": \"j\", \"name\": \"J\", \"schedule\": {\"kind\": \"every\", \"everyMs\": 3600000}, \"payload\": {\"kind\": \"systemEvent\", \"text\": \"tick\"}}]}",
        ),
    ]);
    let plan = home.openclaw().unwrap();
    let agent = &plan.agents[0];
    assert_eq!((agent.id.as_str(), agent.soul.as_deref()), ("home-bot", Some("Me.")));
    assert_eq!(agent.sessions.len(), 1);
    assert_eq!(agent.sessions[0].address.chat.as_str(), "7");
    let said = plan.messages(&agent.sessions[0]).unwrap();
    assert_eq!(said.len(), 3);
    assert!(format!("{:?}", said[2].parts).contains("1 event could not be read"), "{said:#?}");
    let half = plan.rows.iter().find(|it| it.fate == Fate::Trouble && it.from.line == Some(4));
    assert!(half.is_some_and(|it| it.from.file.ends_with("s1.jsonl")), "{:#?}", plan.rows);
    assert_eq!(agent.schedules[0].fields["schedule"], "every 60m");
    let settings = settings(&plan, "home-bot");
    assert_eq!(settings["model"], json!(["anthropic/claude", "openai/gpt"]));
    assert_eq!(
        settings["tools"],
        json!({"profile": "coding", "also_allow": ["web_extract"], "deny": ["terminal"]})
    );
    assert_eq!(settings["access"], json!({"allow": ["telegram:7"]}));
    assert_eq!(settings["memory"]["daily"], true);
    assert_eq!(plan.accounts[0].settings["token"], "${secret:TELEGRAM_DEFAULT}");
    assert_eq!(plan.bindings.len(), 1);
    assert_eq!(
        Value::Object(plan.bindings[0].fields.clone()),
        json!({"match": {"platform": "telegram", "account": "default", "chat": "-1", "topic": "3"}})
    );
    for (what, expected) in [
        ("provider odd", Fate::NoPlace),
        ("channel smoke", Fate::NoPlace),
        ("session.dmScope", Fate::Closed),
        ("binding", Fate::Comes),
    ] {
        assert_eq!(fate(&plan, what), Some(expected), "{what}");
    }
    let dropped = |row: &&Row| row.fate == Fate::Trouble && row.what == "binding";
    assert_eq!(plan.rows.iter().find(dropped).unwrap().from.line, Some(4));
    let odd = plan.rows.iter().find(|row| row.what == "provider odd").unwrap();
    assert_eq!(odd.from.to_string(), "./more.json5:1");
}

#[test]
fn hostile_homes_are_refused_or_read_without_harm() {
    for (files, why) in [
        (vec![("openclaw.json", "{ a: ")], "openclaw.json:1"),
        (vec![("openclaw.json", "{ $include: '../../etc/passwd' }")], "leads out"),
        (vec![("openclaw.json", "{ $include: './openclaw.json' }")], "without end"),
    ] {
        let told = home_error(Home::with(&files).openclaw());
        assert!(told.contains(why) || told.contains("no such file"), "{told}");
    }
    let deep = format!("a: {}", "[".repeat(100_000));
    assert!(home_error(Home::with(&[("config.yaml", &deep)]).hermes()).contains("config.yaml:1"));
    let home = Home::with(&[("config.yaml", "{}"), ("SOUL.md", "x")]);
    fs::write(home.folder.path().join("memories"), "a file where a folder should be").unwrap();
    std::os::unix::fs::symlink("/nowhere", home.folder.path().join("profiles")).unwrap();
    let plan = home.hermes().unwrap();
    assert_eq!(plan.agents.len(), 1);
    assert_eq!(fate(&plan, "profiles"), Some(Fate::Trouble));
}

fn home_error(read: Result<Plan, ImportError>) -> String {
    match read {
        Ok(_) => "it was read".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn boards_of_hermes_come_over_with_what_waits_for_what() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = hermes::read(&fixture("hermes"), (scratch.path(), "x")).unwrap();
    let names: Vec<&str> = plan.boards.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["hermes", "garden"]);
    let board = &plan.boards[0];
    let agents: Vec<&str> = board.agents.iter().map(|it| it.as_str()).collect();
    // Whoever had cards; the painter is no profile.
    assert_eq!(agents, ["coder", "main"]);
    let card = |title: &str| board.cards.iter().find(|it| it.title == title).unwrap();
    let (buy, mend, wall) =
        (card("Buy a washer of 15 mm"), card("Mend the tap"), card("Paint the wall"));
    assert_eq!((buy.status, buy.priority), (CardStatus::Done, 2));
    assert_eq!(buy.result.as_deref(), Some("Bought two, one to spare."));
    assert_eq!(
        (&mend.needs, mend.assignee.as_deref()),
        (&vec![buy.source_id.clone()], Some("coder"))
    );
    assert_eq!(mend.body, "The one in the bathroom.");
    let said: Vec<(Option<&str>, &str)> =
        mend.remarks.iter().map(|it| (it.by.as_deref(), it.text.as_str())).collect();
    assert_eq!(said, [(None, "made by default"), (Some("user"), "Close the red valve first.")]);
    assert_eq!((&wall.needs, &wall.assignee), (&vec![mend.source_id.clone()], &None));
    assert!(wall.remarks.iter().any(|it| it.text.contains("`painter`")), "{wall:?}");
    let call = card("Call the plumber");
    assert_eq!((call.status, call.block), (CardStatus::Blocked, Some(BlockKind::NeedsInput)));
    assert_eq!(call.why.as_deref(), Some("Which plumber?"));
    assert_eq!(card("Think about tiles").status, CardStatus::Triage);
    assert_eq!(card("Look for the leak").status, CardStatus::Archived);
    assert_eq!(plan.boards[1].description.as_deref(), Some("What grows, and when."));
    let fates: Vec<Fate> =
        plan.rows.iter().filter(|row| row.what == "board").map(|row| row.fate).collect();
    assert!(fates.contains(&Fate::Closed) && fates.contains(&Fate::Changes), "{fates:?}");
    // Whatever was damaged there, each stands behind what it waits for.
    for board in &plan.boards {
        let mut known = Vec::new();
        for card in &board.cards {
            assert!(card.needs.iter().all(|it| known.contains(&it)), "{card:?}");
            known.push(&card.source_id);
        }
    }
}

/// An event as OpenClaw 2026.9.6 packs it: Zstandard at level 1, with its checksum.
const PACKED: &str = "28b52ffd64500b5d0500020c2520506b9b03480cc349d956faa54da49fdff0141b0ea1f1d93402147c223333c3094da3d0f810c8e66dca244fd552dc53f93584adc53136d5294f8b3bab08cbe454f99d612de431fd75b964d77205c6e337e813d05ffd2e858fbff9965a4ba37559cc0d3c46400821d081000138800e08d001250e02073a8c6654bea94af771c2e0ab2c191f1fca6824f958936c4d95d1ca30ee4606006a7382c7a2051fd580f8a31039a134e79a64c1e3121b";

#[test]
fn messages_that_openclaw_packed_are_read_and_damaged_ones_are_told_of() {
    let home = Home::with(&[(
        "openclaw.json",
        &fs::read_to_string(fixture("openclaw").join("openclaw.json")).unwrap(),
    )]);
    let agent = home.folder.path().join("agents/scribe/agent");
    fs::create_dir_all(&agent).unwrap();
    let file = agent.join("openclaw-agent.sqlite");
    fs::copy(fixture("openclaw").join("agents/scribe/agent/openclaw-agent.sqlite"), &file).unwrap();
    let packed: Vec<u8> = (0..PACKED.len() / 2)
        .map(|at| u8::from_str_radix(&PACKED[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let sql = rusqlite::Connection::open(&file).unwrap();
    let last = "(SELECT json_extract(event_json, '$.id') FROM transcript_events ORDER BY seq DESC LIMIT 1)";
    let (session, last): (String, String) = sql
        .query_row(
            &format!("SELECT session_id, {last} FROM transcript_events LIMIT 1"),
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    // It goes on from what was said last.
    sql.execute("UPDATE transcript_events SET event_json = replace(event_json, ?1, 'm1')", [&last])
        .unwrap();
    let add = "INSERT INTO transcript_events (session_id, seq, event_json, created_at, event_zstd,
               event_utf8_bytes, navigation_json) VALUES (?1, ?2, NULL, 1760000000000, ?3, 3152, ?4)";
    let about = json!({
        "version": 1, "report": { "kind": "canonical" }, "navigation": {}, "reset": {}, "model": {},
        "modelBytes": 0, "modelWithoutCheckpointBytes": 0, "withoutCustomDataBytes": 0,
    });
    let about = about.to_string();
    sql.execute(add, (&session, 6, &packed, &about)).unwrap();
    sql.execute(add, (&session, 7, &packed[..40], &about)).unwrap();
    drop(sql);
    let plan = home.openclaw().unwrap();
    let agent = plan.agents.iter().find(|it| it.id.as_str() == "scribe").unwrap();
    let said = plan.messages(&agent.sessions[0]).unwrap();
    let text = |message: &insula_import::MessagePlan| format!("{:?}", message.parts);
    assert!(said.iter().any(|it| text(it).contains("A long letter about the garden")), "{said:#?}");
    assert!(text(said.last().unwrap()).contains("1 event could not be read"), "{said:#?}");
}

#[test]
fn texts_that_openclaw_put_there_and_nobody_changed_bring_nothing() {
    // No hash of it is kept there.
    let birth = include_str!("../fixtures/openclaw-templates/BOOTSTRAP.md");
    let changed = format!("{birth}\nCall me Otto.\n");
    for (text, comes) in [(birth, false), (&*changed, true)] {
        let home = Home::with(&[("openclaw.json", "{}"), ("workspace/BOOTSTRAP.md", text)]);
        let plan = home.openclaw().unwrap();
        assert_eq!(plan.agents[0].files.contains_key("BOOTSTRAP.md"), comes);
        assert_eq!(fate(&plan, "BOOTSTRAP.md"), comes.then_some(Fate::Changes));
    }
}

#[test]
fn a_home_of_the_other_kind_is_told_by_its_own_name() {
    let home = Home::with(&[("openclaw.json", "{}"), (".env", "TOKEN=x\n")]);
    let why = home.hermes().err().unwrap().to_string();
    assert!(why.contains("use `insula import openclaw`"), "{why}");
    assert!(home.openclaw().is_ok());
}
