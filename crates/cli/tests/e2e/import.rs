//! Homes of other runtimes come over: those that their own programs made, and hostile ones.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and processes, and fail by panicking"
)]

use crate::provider::{Provider, Step, says, whole};
use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const HERMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/hermes");
const OPENCLAW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/openclaw");

/// A copy of a home, which nobody may write.
struct Theirs {
    folder: tempfile::TempDir,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Theirs {
    fn of(fixture: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(Path::new(fixture), folder.path());
        let before = tree(folder.path());
        Self { folder, before }
    }

    fn path(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    fn write(&mut self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self.before = tree(self.folder.path());
    }

    fn assert_untouched(&self) {
        assert!(tree(self.folder.path()) == self.before, "their files were written");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Every file and its bytes.
fn tree(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(tree(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    found
}

/// The files of a home that people read.
fn texts(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    let all = tree(home.path()).into_iter();
    let is_text = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.ends_with(".yaml") || name.ends_with(".md") || name.ends_with("source.json")
    };
    all.filter(|(path, _)| is_text(path)).collect()
}

fn rows<'v>(answer: &'v Value, fate: &str) -> Vec<&'v Value> {
    answer["rows"].as_array().unwrap().iter().filter(|row| row["fate"] == fate).collect()
}

fn row<'v>(answer: &'v Value, what: &str) -> &'v Value {
    let found = answer["rows"].as_array().unwrap().iter().find(|row| row["what"] == what);
    found.unwrap_or_else(|| panic!("no row is about {what}: {answer:#}"))
}

fn words(home: &Home, agent: &str) -> Vec<(String, String, String)> {
    let found = json(home, &["memory", "list", agent]);
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let found = found.as_array().unwrap().iter();
    found
        .map(|it| (text(&it["scope"]), text(&it["provenance"]["source"]), text(&it["text"])))
        .collect()
}

/// How many new things an import brought.
fn news(answer: &Value) -> u64 {
    let done = answer["done"].as_object().unwrap();
    done.values().map(|it| it["new"].as_u64().unwrap()).sum()
}

#[test]
fn a_hermes_home_comes_over_and_a_second_time_changes_nothing() {
    let theirs = Theirs::of(HERMES);
    let home = Home::empty().unwrap();
    let plan = json(&home, &["import", "hermes", theirs.path(), "--dry-run"]);
    assert!(tree(home.path()).is_empty(), "a dry run wrote something");
    // Each thing has the line it came from, and no secret is shown.
    assert_eq!(
        (&row(&plan, "model")["file"], &row(&plan, "model")["line"]),
        (&json!("config.yaml"), &json!(1))
    );
    assert_eq!(row(&plan, "approvals.mode")["fate"], "closed");
    assert_eq!(row(&plan, "DISCORD_ALLOW_ALL_USERS")["fate"], "closed");
    assert_eq!(row(&plan, "shared memory")["fate"], "closed");
    assert_eq!(row(&plan, "display")["fate"], "no place");
    assert_eq!(row(&plan, "profile route dev")["line"], 27);
    assert!(!plan.to_string().contains("for-tests"), "{plan:#}");
    assert!(rows(&plan, "trouble").is_empty(), "{plan:#}");

    let done = json(&home, &["import", "hermes", theirs.path()]);
    assert_eq!(done["troubles"], json!([]), "{done:#}");
    assert_eq!(
        (&done["done"]["agents"]["new"], &done["done"]["messages"]["new"]),
        (&json!(2), &json!(11))
    );
    theirs.assert_untouched();
    let check = json(&home, &["check"]);
    assert_eq!(check["ok"], true, "{check:#}");
    assert_eq!((state(&home, "main"), state(&home, "coder")), ("ready".into(), "ready".into()));
    let context = json(&home, &["context", "show", "main"]);
    assert_eq!(context["models"][0], "anthropic/claude-sonnet-4-5", "{context:#}");
    let names = |agent: &str| -> Vec<String> {
        let all = json(&home, &["secret", "list", agent]);
        all.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("main"), ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "NOTES_NOTES_TOKEN"]);
    assert_eq!(names("--daemon"), ["TELEGRAM_MAIN"]);
    let skills = json(&home, &["skills", "list", "main"]);
    assert_eq!(skills[0]["name"], "boiler-care", "{skills:#}");
    // Everybody's memory is read in direct chats, and a fork's context by context.
    let all = words(&home, "main");
    assert_eq!(all.len(), 3);
    assert!(
        all.iter().all(|(scope, source, _)| scope == "custom:imported" && source == "import"),
        "{all:?}"
    );
    let scopes: Vec<String> = words(&home, "coder").into_iter().map(|it| it.0).collect();
    let fair = "chat:telegram:main:-100777";
    assert_eq!(scopes.iter().filter(|it| *it == fair).count(), 2, "{scopes:?}");
    assert_eq!(scopes.iter().filter(|it| *it == "custom:org%3Aacme").count(), 2, "{scopes:?}");
    // Sessions have their times, and are found in the scope of their place.
    let found = json(&home, &["sessions", "search", "main", "washer"]);
    assert_eq!(found[0]["at"].as_str().map(|it| &it[..10]), Some("2025-10-09"), "{found:#}");
    let routed = json(
        &home,
        &[
            "route",
            "explain",
            "--platform",
            "telegram",
            "--chat",
            "-100777",
            "--topic",
            "7",
            "--user",
            "12345",
        ],
    );
    assert_eq!(routed["agent"], "coder", "{routed:#}");
    let written = home.read("agents/coder/agent.yaml").unwrap();
    assert!(written.contains("telegram:12345"), "{written}");
    let kept = home.read("agents/main/imported/schedules.yaml").unwrap();
    assert!(kept.contains("schedule: \"0 7 * * *\"") && kept.contains("enabled: false"), "{kept}");
    assert_paused(&home, "Morning");
    assert_chains_hold(&home);
    // Its boards: where each card stood, what it waits for, and nothing runs.
    assert_eq!(
        (&done["done"]["boards"]["new"], &done["done"]["cards"]["new"]),
        (&json!(2), &json!(7))
    );
    let cards = json(
        &home,
        &["board", "list", "hermes", "--status", "triage,todo,ready,blocked,review,done,archived"],
    );
    let stands = |title: &str| {
        let all = cards.as_array().unwrap();
        let card = all.iter().find(|it| it["title"] == title).unwrap();
        (card["status"].as_str().unwrap().to_owned(), card["assignee"].clone())
    };
    assert_eq!(stands("Buy a washer of 15 mm"), ("done".into(), json!("main")));
    assert_eq!(stands("Mend the tap"), ("ready".into(), json!("coder")));
    assert_eq!(stands("Call the plumber"), ("blocked".into(), json!("coder")));
    assert_eq!(stands("Paint the wall"), ("triage".into(), Value::Null));
    assert_eq!(stands("Look for the leak"), ("archived".into(), json!("coder")));
    let shown = insula(&home, &["board", "show", "hermes", "Mend the tap"]).ok().stdout;
    assert!(
        shown.contains("(done: Buy a washer of 15 mm)")
            && shown.contains("Close the red valve first."),
        "{shown}"
    );
    assert!(home.read("config.yaml").unwrap().contains("max_running: 0"));
    // What is moved here afterwards stays there.
    insula(&home, &["board", "move", "hermes", "Buy a washer of 15 mm", "ready"]).ok();

    let before = texts(&home);
    let again = json(&home, &["import", "hermes", theirs.path()]);
    assert_eq!(news(&again), 0, "{:#}", again["done"]);
    let moved = json(&home, &["board", "show", "hermes", "Buy a washer of 15 mm"]);
    assert_eq!(moved["status"], "ready", "{moved:#}");
    assert!(texts(&home) == before, "a second import wrote files");
    assert_eq!(words(&home, "main").len(), 3);
    assert!(kinds(&home, "main").iter().filter(|it| *it == "agent.imported").count() == 1);
    theirs.assert_untouched();
}

/// A task became a job that does not run until somebody lets it.
fn assert_paused(home: &Home, name: &str) {
    let jobs = json(home, &["cron", "list", "main"]);
    let job = jobs.as_array().unwrap().iter().find(|it| it["name"] == name.to_lowercase());
    let job = job.unwrap_or_else(|| panic!("no job {name}: {jobs:#}"));
    assert_eq!((&job["state"], &job["deliver"]), (&json!("paused"), &json!("none")), "{job:#}");
    assert_eq!(job["next"], json!([]), "{job:#}");
}

/// A model that looks something up, and then answers.
fn searches(words: &'static str) -> Provider {
    Provider::start(move |number| {
        if number % 2 == 1 {
            return vec![says("found it")];
        }
        let arguments = json!({ "query": words }).to_string();
        let body = json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "session_search", "arguments": arguments } }] },
            "finish_reason": "tool_calls" }] });
        vec![whole("200 OK", "Content-Type: application/json\r\n", &body.to_string()) as Step]
    })
}

/// What an imported agent is shown when it is asked in the terminal, and what its search finds.
fn asked(kind: &str, fixture: &str, words: &'static str) -> (String, String) {
    let provider = searches(words);
    let theirs = Theirs::of(fixture);
    let home = configured(&format!(
        "providers: {{far: {{kind: openai, base_url: \"{}\"}}}}\n",
        provider.url
    ));
    json(&home, &["import", kind, theirs.path()]);
    let written = home.read("agents/main/agent.yaml").unwrap();
    let model = |line: &str| {
        if line.starts_with("model:") { "model: far/one\n".to_owned() } else { format!("{line}\n") }
    };
    let written: String = written.lines().map(model).collect();
    home.replace("agents/main/agent.yaml", written).unwrap();
    let daemon: Daemon = start(&home);
    let reply = insula(&home, &["chat", "--agent", "main", "-m", "What do you know?"]).ok();
    assert!(reply.stdout.contains("found it"), "{reply:?}");
    drop(daemon);
    let seen = provider.seen.lock().unwrap();
    (seen[0].to_string(), seen[1].to_string())
}

#[test]
fn an_agent_from_hermes_answers_remembers_and_searches_what_it_had() {
    let (first, second) = asked("hermes", HERMES, "washer tap");
    assert!(first.contains("You are Juno"), "{first}");
    assert!(first.contains("boiler was serviced in March"), "{first}");
    assert!(!first.contains("washer of 15 mm"), "{first}");
    assert!(second.contains("washer of 15 mm"), "{second}");
    // What was said in a group is not found from the terminal.
    assert!(!second.contains("cake"), "{second}");
}

#[test]
fn an_agent_from_openclaw_answers_remembers_and_searches_what_it_had() {
    let (first, second) = asked("openclaw", OPENCLAW, "bicycle");
    assert!(first.contains("You are Otto"), "{first}");
    assert!(first.contains("lathe needs oil"), "{first}");
    assert!(!first.contains("blue bicycle"), "{first}");
    assert!(second.contains("blue bicycle stands in the cellar"), "{second}");
    assert!(!second.contains("harbour"), "{second}");
}

#[test]
fn an_openclaw_home_comes_over_and_a_second_time_changes_nothing() {
    let theirs = Theirs::of(OPENCLAW);
    let home = Home::empty().unwrap();
    let plan = json(&home, &["import", "openclaw", theirs.path(), "--dry-run"]);
    assert!(tree(home.path()).is_empty(), "a dry run wrote something");
    assert!(!plan.to_string().contains("for-tests"), "{plan:#}");
    assert!(rows(&plan, "trouble").is_empty(), "{plan:#}");
    assert_eq!(row(&plan, "telegram groupPolicy")["fate"], "closed");
    assert_eq!(row(&plan, "discord allowFrom")["fate"], "closed");
    assert_eq!(row(&plan, "session.dmScope")["fate"], "closed");
    assert_eq!(row(&plan, "shared memory")["fate"], "closed");
    assert!(row(&plan, "model")["line"].as_u64().unwrap() > 1);

    let done = json(&home, &["import", "openclaw", theirs.path()]);
    assert_eq!(done["troubles"], json!([]), "{done:#}");
    theirs.assert_untouched();
    let check = json(&home, &["check"]);
    assert_eq!(check["ok"], true, "{check:#}");
    assert_eq!((state(&home, "main"), state(&home, "scribe")), ("ready".into(), "ready".into()));
    let all = words(&home, "main");
    let has = |words: &str| all.iter().any(|(_, source, text)| source == "import" && text == words);
    assert!(has("The lathe needs oil every Monday."), "{all:?}");
    assert!(has("Customers: The choir ordered twelve stands."), "{all:?}");
    let day = json(&home, &["memory", "list", "main"]);
    let day = day.as_array().unwrap().iter().filter(|it| it["target"] == "2026-03-04").count();
    assert_eq!(day, 2);
    let found = json(&home, &["sessions", "search", "scribe", "harbour"]);
    assert!(!found.as_array().unwrap().is_empty());
    for (topic, agent) in [("7", "scribe"), ("8", "scribe")] {
        let routed = json(
            &home,
            &[
                "route",
                "explain",
                "--platform",
                "telegram",
                "--chat",
                "-100555",
                "--topic",
                topic,
                "--user",
                "12345",
                "--account",
                "default",
            ],
        );
        assert_eq!(routed["agent"], agent, "{routed:#}");
    }
    let skills = json(&home, &["skills", "list", "main"]);
    assert_eq!(skills[0]["name"], "sharpen-tools", "{skills:#}");
    let kept = home.read("agents/main/imported/schedules.yaml").unwrap();
    assert!(kept.contains("Count the screws.") && kept.contains("enabled: false"), "{kept}");
    assert_chains_hold(&home);

    let before = texts(&home);
    let again = json(&home, &["import", "openclaw", theirs.path()]);
    assert_eq!(news(&again), 0, "{:#}", again["done"]);
    assert!(texts(&home) == before, "a second import wrote files");
    theirs.assert_untouched();
}

#[test]
fn what_was_cut_off_or_grew_is_brought_by_the_next_import() {
    let theirs = Theirs::of(HERMES);
    let home = Home::empty().unwrap();
    json(&home, &["import", "hermes", theirs.path()]);
    // As a kill in the middle leaves it: a file that was not written, and messages that were not.
    home.remove("agents/coder/SOUL.md").unwrap();
    let mut noted: Value = serde_json::from_str(&home.read("imported.json").unwrap()).unwrap();
    let brought = noted[0]["brought"].as_array_mut().unwrap();
    let noted_before = brought.len();
    brought.retain(|it| *it != json!(["file", "coder", "SOUL.md"]));
    assert_eq!(brought.len(), noted_before - 1);
    home.replace("imported.json", noted.to_string()).unwrap();
    let state = theirs.folder.path().join("state.db");
    let sql = rusqlite::Connection::open(&state).unwrap();
    sql.execute(
        "INSERT INTO messages (session_id, role, content, timestamp) SELECT session_id, 'user', 'And a marzipan hedgehog.', timestamp + 9 FROM messages WHERE content LIKE '%cake%' LIMIT 1",
        [],
    )
    .unwrap();
    drop(sql);
    let again = json(&home, &["import", "hermes", theirs.path()]);
    assert_eq!(
        (&again["done"]["messages"]["new"], &again["done"]["files"]["new"]),
        (&json!(1), &json!(1))
    );
    let found = json(&home, &["sessions", "search", "main", "marzipan"]);
    assert_eq!(found.as_array().unwrap().len(), 1, "{found:#}");
    // What was forgotten here does not come back.
    let fragment = json(&home, &["memory", "list", "main"])[0]["id"].to_string();
    insula(&home, &["memory", "forget", "main", "--fragment", &fragment, "--yes"]).ok();
    json(&home, &["import", "hermes", theirs.path()]);
    assert_eq!(words(&home, "main").len(), 2);
}

/// What an import left, as people see it.
fn left(home: &Home) -> Value {
    let sessions = |agent: &str| {
        let all = json(home, &["sessions", "list", agent]);
        let all = all.as_array().unwrap().iter();
        all.map(|it| json!([it["key"], it["messages"], it["scope"], it["state"]]))
            .collect::<Vec<_>>()
    };
    let words = |agent: &str| format!("{:?}", words(home, agent));
    let yaml = |agent: &str| home.read(&format!("agents/{agent}/agent.yaml")).unwrap();
    let secrets = json(home, &["secret", "list"]);
    let secrets =
        secrets.as_array().unwrap().iter().map(|it| it["name"].clone()).collect::<Vec<_>>();
    let of = |agent: &str| json!([sessions(agent), words(agent), yaml(agent)]);
    json!([of("main"), of("coder"), secrets, home.read("config.yaml").unwrap()])
}

#[test]
fn an_import_that_is_killed_is_simply_run_again() {
    let theirs = Theirs::of(HERMES);
    let whole = Home::empty().unwrap();
    json(&whole, &["import", "hermes", theirs.path()]);
    let expected = left(&whole);
    for moment in [
        "agents/main/agent.yaml",
        "agents/coder/imported/source.json",
        "config.yaml",
        "insula.db",
        "agents/main/agent.db",
        "agents/main/memories",
        "agents/coder/agent.db",
    ] {
        let home = Home::empty().unwrap();
        let mut running = std::process::Command::new(INSULA)
            .args(["import", "hermes", theirs.path(), "--home"])
            .arg(home.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // As soon as it got there, or when it is through.
        while !home.has(moment) && running.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        running.kill().unwrap();
        running.wait().unwrap();
        let done = json(&home, &["import", "hermes", theirs.path()]);
        assert_eq!(done["troubles"], json!([]), "{moment}: {done:#}");
        assert_eq!(left(&home), expected, "{moment}");
        assert_chains_hold(&home);
    }
    theirs.assert_untouched();
}

#[test]
fn an_agent_that_is_here_already_is_not_touched() {
    let theirs = Theirs::of(HERMES);
    let config = "# mine\nagents:\n  main: {default: true, memory: true}\n";
    let home = home([("config.yaml", config), ("agents/main/SOUL.md", "I was here first.")]);
    let done = json(&home, &["import", "hermes", theirs.path()]);
    assert_eq!(done["agents"][0]["id"], "main-hermes", "{done:#}");
    assert_eq!(home.read("agents/main/SOUL.md").unwrap(), "I was here first.");
    let now = home.read("config.yaml").unwrap();
    assert!(
        now.starts_with(config) && now.contains("{agent: main-hermes, telegram: {account: main}}"),
        "{now}"
    );
    assert_eq!(agent(&home, "main-hermes")["state"], "ready");
    let again = json(&home, &["import", "hermes", theirs.path()]);
    assert_eq!(news(&again), 0, "{:#}", again["done"]);
}

#[test]
fn bad_homes_get_a_clear_word_and_lose_nothing() {
    let mut theirs = Theirs::of(HERMES);
    let home = Home::empty().unwrap();
    // No home at all, and a home of the other kind.
    let missing = insula(&home, &["import", "hermes", "/nowhere/at/all"]);
    assert!(missing.stderr.contains("/nowhere/at/all can't be read"), "{missing:?}");
    let other = insula(&home, &["import", "openclaw", theirs.path()]);
    assert!(other.stderr.contains("is no home of OpenClaw: it has no openclaw.json"), "{other:?}");
    // A configuration that can't be read stops everything: secrets and rules hang on it.
    let good = fs::read_to_string(theirs.folder.path().join("config.yaml")).unwrap();
    theirs.write("config.yaml", "model: [unclosed\nx: 1\n");
    let broken = insula(&home, &["import", "hermes", theirs.path()]);
    assert_eq!(broken.code, Some(1));
    assert!(broken.stderr.contains("config.yaml:"), "{broken:?}");
    theirs.write("config.yaml", "_config_version: 99\n");
    let newer = insula(&home, &["import", "hermes", theirs.path()]);
    assert!(newer.stderr.contains("newer version (99; 33 is known)"), "{newer:?}");
    assert!(!home.has("agents/main"), "something was written");
    // All else is a row, and the rest comes over.
    theirs.write("config.yaml", &good);
    theirs.write("cron/jobs.json", "{\"jobs\": [{\"id\": ");
    theirs.write("profiles/-/SOUL.md", "no name");
    theirs.write("memories/contexts/../../evil.md", "x");
    fs::write(theirs.folder.path().join("memories/USER.md"), [0xff, 0xfe, 0x00]).unwrap();
    std::os::unix::fs::symlink("/etc", theirs.folder.path().join("skills/etc")).unwrap();
    fs::write(theirs.folder.path().join("profiles/coder/state.db"), "this is no database").unwrap();
    let done = insula(&home, &["import", "hermes", theirs.path(), "--json"]);
    assert_eq!(done.code, Some(1), "half of it is not all of it");
    let done = done.json();
    let troubles: Vec<String> = rows(&done, "trouble")
        .iter()
        .map(|it| format!("{} {}", it["file"].as_str().unwrap(), it["note"].as_str().unwrap()))
        .collect();
    for (file, note) in [
        ("cron/jobs.json", "the text ends in the middle of a value"),
        ("profiles/-", "can't be made into an id"),
        ("memories/USER.md", "not UTF-8"),
        ("skills/etc", "leads out of the home"),
        ("profiles/coder/state.db", "can't be read"),
    ] {
        let found = troubles.iter().any(|it| it.starts_with(file) && it.contains(note));
        assert!(found, "{file} {note}: {troubles:#?}");
    }
    assert_eq!(words(&home, "main").len(), 2);
}

#[test]
fn while_a_daemon_runs_nothing_is_imported() {
    let theirs = Theirs::of(HERMES);
    let home = configured("agents: {a: {default: true}}\n");
    let _daemon = start_still(&home);
    let refused = insula(&home, &["import", "hermes", theirs.path()]);
    assert!(refused.stderr.contains("stop it, import, and start it again"), "{refused:?}");
    assert!(!home.has("agents/main"));
    let plan = json(&home, &["import", "hermes", theirs.path(), "--dry-run"]);
    assert_eq!(plan["dry_run"], true);
}
