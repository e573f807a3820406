//! What becomes of homes, by the texts in them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use insula_import::{Fate, ImportError, PartPlan, Plan, Voice, hermes, openclaw};
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
    assert_eq!(plan.messages(&agent.sessions[0]).unwrap().len(), 2);
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
    let dropped = plan.rows.iter().find(|row| row.fate == Fate::Trouble).unwrap();
    assert_eq!((dropped.what.as_str(), dropped.from.line), ("binding", Some(4)));
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
