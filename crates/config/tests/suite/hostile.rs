//! Files that nobody should write: half of one, a pipe, a bomb.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests write the files they read"
)]

use crate::common::{fixtures, load_text};
use insula_config::files::SOUL_BYTES_MAX;
use insula_config::{AgentOutcome, FilesSnapshot, LoadReport, load, render};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

fn read(home: &Path) -> (LoadReport, Option<insula_config::Loaded>) {
    load(&FilesSnapshot::read(home).unwrap(), &BTreeMap::new())
}

fn only_error(report: &LoadReport) -> String {
    let errors: Vec<_> = report.errors().collect();
    assert_eq!(errors.len(), 1, "{}", render::text(report, render::Colour::Plain));
    errors[0].message.clone()
}

#[test]
fn a_file_cut_off_anywhere_is_read_or_refused() {
    let whole = fs::read_to_string(fixtures().join("design-whole/config.yaml")).unwrap();
    for end in (0..=whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        let (report, loaded) = load_text(&whole[..end]);
        assert!(loaded.is_some() || report.errors().next().is_some(), "{end}");
        render::text(&report, render::Colour::Plain);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_edit_of_a_file_breaks_the_reader(
        at in 0_usize..2_400,
        cut in 0_usize..40,
        insert in "[a-z:{}\\[\\]\"'&*!|>%@`#,\\- \n\t\r\u{0}\u{1f600}<?]{0,12}",
    ) {
        let whole = fs::read_to_string(fixtures().join("design-whole/config.yaml")).unwrap();
        let from = whole.floor_char_boundary(at);
        let to = whole.floor_char_boundary(at + cut);
        let edited = format!("{}{insert}{}", &whole[..from], &whole[to..]);
        let (report, loaded) = load_text(&edited);
        prop_assert!(loaded.is_some() || report.errors().next().is_some());
        render::text(&report, render::Colour::Plain);
        render::json(&report);
    }

    #[test]
    fn no_text_breaks_the_reader(text in "(\\PC|[\n\t :{}\\[\\],&*<-]){0,200}") {
        let (report, loaded) = load_text(&text);
        prop_assert!(loaded.is_some() || report.errors().next().is_some());
        render::text(&report, render::Colour::Plain);
    }
}

#[test]
fn texts_that_double_themselves_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x]\n");
    for n in 1..40 {
        let _ = writeln!(bomb, "a{n}: &a{n} [*a{0}, *a{0}]", n - 1);
    }
    let started = Instant::now();
    let (report, loaded) = load_text(&bomb);
    assert!(loaded.is_none());
    assert_eq!(only_error(&report), "more than 4000000 values in one file");
    assert!(started.elapsed().as_secs() < 20);
}

#[test]
fn depth_is_bounded_also_through_aliases() {
    for deep in ["[".repeat(200_000), "{a: ".repeat(200_000), "- ".repeat(100_000)] {
        let (report, loaded) = load_text(&deep);
        assert!(loaded.is_none());
        assert_eq!(report.errors().count(), 1);
    }
    let mut chain = format!("a0: &a0 {}x{}\n", "[".repeat(40), "]".repeat(40));
    for n in 1..5_000 {
        let nest = ("[".repeat(40), "]".repeat(40));
        let _ = writeln!(chain, "a{n}: &a{n} {}*a{}{}", nest.0, n - 1, nest.1);
    }
    let (report, loaded) = load_text(&chain);
    assert!(loaded.is_none());
    assert_eq!(only_error(&report), "nested more than 64 levels deep");
}

#[test]
fn thousands_of_mistakes_are_reported_in_little_time() {
    let started = Instant::now();
    let mut yaml = String::from("agents:\n");
    for n in 0..3_000 {
        let _ = writeln!(yaml, "  agent-{n}: {{tolls: x, links: [{{to: nobody-{n}}}]}}");
    }
    yaml.push_str("bindings:\n");
    for n in 0..3_000 {
        let _ = writeln!(yaml, "  - {{agent: missing-{n}, telegram: {n}}}");
    }
    for _ in 0..20_000 {
        yaml.push_str("model: openai/a\n");
    }
    let (report, loaded) = load_text(&yaml);
    assert!(loaded.is_none());
    assert!(report.errors().count() > 25_000);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn what_is_not_a_text_file_is_refused_without_waiting() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.yaml");
    let fifo = |path: &Path| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    };

    fifo(&config);
    let (report, loaded) = read(home.path());
    assert!(loaded.is_none());
    assert_eq!(only_error(&report), "config.yaml is not a regular file");

    fs::remove_file(&config).unwrap();
    fs::create_dir(&config).unwrap();
    let (report, loaded) = read(home.path());
    assert!(loaded.is_none());
    assert_eq!(only_error(&report), "config.yaml is not a regular file");

    fs::remove_dir(&config).unwrap();
    fs::write(&config, b"agents: {main: {name: \"\xff\"}}").unwrap();
    let (report, loaded) = read(home.path());
    assert!(loaded.is_none());
    assert_eq!(only_error(&report), "config.yaml is not UTF-8 text, as line 1 shows");

    fs::write(&config, b"\xef\xbb\xbfagents: {main: {default: true}}\r\n").unwrap();
    let (report, loaded) = read(home.path());
    assert!(loaded.is_some(), "{}", render::text(&report, render::Colour::Plain));
}

#[test]
fn what_is_wrong_with_one_agents_files_stops_that_agent() {
    let home = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    write("config.yaml", b"agents: {main: {}, long: {}, broken: {}}");
    write("agents/long/SOUL.md", &vec![b'x'; SOUL_BYTES_MAX as usize + 1]);
    write("agents/broken/SOUL.md", b"\xff\xfe");
    fs::create_dir_all(home.path().join("agents/folder/agent.yaml")).unwrap();
    fs::create_dir_all(home.path().join("agents/pipe")).unwrap();
    let pipe = home.path().join("agents/pipe/agent.yaml");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    write("agents/not-a-folder", b"");

    let (report, loaded) = read(home.path());
    let states: Vec<(String, bool)> = loaded
        .unwrap()
        .agents
        .iter()
        .map(|(id, it)| (id.to_string(), matches!(it, AgentOutcome::Ready(_))))
        .collect();
    let ready = |id: &str| (id.to_owned(), id == "main");
    assert_eq!(states, ["broken", "folder", "long", "main", "pipe"].map(ready));
    insta::assert_snapshot!("odd-files", render::text(&report, render::Colour::Plain));

    write("SOUL.md", b"\xff");
    let (_, loaded) = read(home.path());
    assert!(loaded.is_none(), "the home's soul is everybody's");
}

#[test]
fn instructions_are_a_file_of_their_own_and_what_is_odd_in_them_is_told() {
    let home = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("config.yaml", "agents: {plain: {}, odd: {}, soft: {}, hard: {}, none: {}}");
    write("agents/plain/AGENTS.md", "Tabs.");
    write("agents/odd/AGENTS.md", "Tabs.\u{200b}\u{202e}");
    // Where an agent writes.
    write("agents/soft/workspace/AGENTS.md", "Spaces.");
    write("agents/hard/workspace/AGENTS.md", "Spaces.");
    let place = |path: &str| home.path().join(path);
    std::os::unix::fs::symlink("workspace/AGENTS.md", place("agents/soft/AGENTS.md")).unwrap();
    fs::hard_link(place("agents/hard/workspace/AGENTS.md"), place("agents/hard/AGENTS.md"))
        .unwrap();
    let (report, loaded) = read(home.path());
    let agents = loaded.unwrap().agents;
    let told = |id: &str| match &agents[&insula_domain::AgentId::new(id).unwrap()] {
        AgentOutcome::Ready(config) => {
            Ok(config.instructions.as_ref().map(|it| it.text.to_string()))
        }
        AgentOutcome::Failed(why) => Err(why.to_string()),
    };
    assert_eq!(told("plain"), Ok(Some("Tabs.".to_owned())));
    assert_eq!(told("none"), Ok(None));
    assert!(told("odd").unwrap().is_some(), "the operator's word holds");
    for id in ["soft", "hard"] {
        assert!(told(id).unwrap_err().contains("is a link"), "{id}");
    }
    let text = render::text(&report, render::Colour::Plain);
    assert!(text.contains("agents/odd/AGENTS.md has something"), "{text}");
    assert!(!text.contains("agents/plain/AGENTS.md"), "{text}");
}

#[test]
fn an_edit_that_was_interrupted_is_not_taken_for_a_choice() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path();
    // A new home may say nothing: the built-in agent answers.
    for text in ["", "# soon\n", "---\n"] {
        std::fs::write(path.join("config.yaml"), text).unwrap();
        assert!(read(path).1.is_some(), "{text:?}");
    }
    // One that was configured may not, unless it says so.
    std::fs::create_dir(path.join("run")).unwrap();
    std::fs::write(path.join(insula_config::files::CONFIGURED), "").unwrap();
    for text in ["", "# agents:\n", "\n\n"] {
        std::fs::write(path.join("config.yaml"), text).unwrap();
        let (report, loaded) = read(path);
        assert!(loaded.is_none(), "{text:?}");
        assert!(only_error(&report).contains("says nothing, as after an interrupted edit"));
    }
    std::fs::remove_file(path.join("config.yaml")).unwrap();
    assert!(only_error(&read(path).0).contains("is gone, as after an interrupted edit"));
    std::fs::write(path.join("config.yaml"), "{}").unwrap();
    assert!(read(path).1.is_some());
}

#[test]
fn an_emptied_agent_file_fails_its_agent_and_widens_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path();
    std::fs::write(path.join("config.yaml"), "agents: {main: {}}").unwrap();
    std::fs::create_dir_all(path.join("agents/w")).unwrap();
    std::fs::write(path.join("agents/w/agent.yaml"), "\n").unwrap();
    let (report, loaded) = read(path);
    assert!(only_error(&report).contains("agents/w/agent.yaml says nothing"));
    let states: Vec<bool> =
        loaded.unwrap().agents.values().map(|it| matches!(it, AgentOutcome::Ready(_))).collect();
    assert_eq!(states, [true, false], "main serves, w does not");
}
