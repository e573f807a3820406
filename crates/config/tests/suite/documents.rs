//! What is published besides the program: the reference, the schema, the starter.
//!
//! `UPDATE_DOCS=1 cargo test -p insula-config --test documents` writes the first two.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests read and write the documents they check"
)]

use crate::common::{fixtures, home, load_text};
use insula_config::{AgentOutcome, json_schema, load, reference, render, settings, starter, yaml};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn is_current(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "docs/{name} is not current: run this test with UPDATE_DOCS=1");
}

#[test]
fn the_reference_page_is_current() {
    let page = reference::reference();
    is_current("config.md", &page);
    assert!(page.lines().all(|line| !line.ends_with(' ')));
}

#[test]
fn the_schema_is_current() {
    let text = serde_json::to_string_pretty(&json_schema::schema()).unwrap();
    is_current("config.schema.json", &(text + "\n"));
}

fn json(text: &str) -> Json {
    let mut sources = insula_config::source::Sources::default();
    let id = sources.add("config.yaml", text);
    settings::to_json(&yaml::parse(id, text).unwrap())
}

#[test]
fn the_schema_takes_every_fixture_that_is_well_formed() {
    let schema = jsonschema::draft202012::new(&json_schema::schema()).unwrap();
    let mut taken = 0;
    for entry in fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path().join("config.yaml");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let well_formed = !text.contains("tolls");
        let errors: Vec<String> = schema
            .iter_errors(&json(&text))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors.is_empty(), well_formed, "{path:?} {errors:?}");
        taken += usize::from(well_formed);
    }
    assert!(taken > 15);
    assert!(schema.is_valid(&json(starter::files()[0].1)));
}

#[test]
fn the_schema_refuses_what_the_check_refuses() {
    let schema = jsonschema::draft202012::new(&json_schema::schema()).unwrap();
    for bad in [
        "agnets: {}",
        "agents: []",
        "agents: {Coder: {}}",
        "agents: {coder: {tolls: coding}}",
        "agents: {coder: {tools: codign}}",
        "agents: {coder: {tools: [terminall]}}",
        "agents: {coder: {model: gpt}}",
        "agents: {coder: {memory: {scop: chat}}}",
        "agents: {coder: {memory: null}}",
        "agents: {coder: {budget: {usd_per_day: -1}}}",
        "agents: {coder: {approvals: {timeout: 60}}}",
        "agents: {coder: {approvals: {timeout: soon}}}",
        "agents: {coder: {subagents: {max_depth: 17}}}",
        "agents: {coder: {links: [{as: ask}]}}",
        "agents: {coder: {hooks: {pre_tool: []}}}",
        "agents: {coder: {secrets: A}}",
        "bindings: [{telegram: 1}]",
        "bindings: [{agent: a, telegrm: 1}]",
        "bindings: {agent: a}",
        "channels: {telegrm: {accounts: {}}}",
        "channels: {telegram: {}}",
        "listen: 5",
        "version: 2",
        "defaults: {tolls: x}",
    ] {
        assert!(!schema.is_valid(&json(bad)), "{bad}");
        assert!(load_text(bad).0.errors().next().is_some(), "{bad}");
    }
    for good in [
        "x-anything: {a: b}",
        "agents: {main: }",
        "bindings: [{profile: a, telegram: {chat_id: -100, thread_id: 7}}]\nagents: {a: {}}",
        "agents: {a: {toolsets: [web, file]}}\ndm_scope: main",
        "agents: {a: {sandbox: off, approvals: {mode: off}}}",
        "agents: {a: {env: {PORT: 8080, ON: true}}}",
    ] {
        let report = load_text(good).0;
        let text = render::text(&report, render::Colour::Plain);
        assert_eq!(report.errors().count(), 0, "{good}\n{text}");
        assert!(schema.is_valid(&json(good)), "{good}");
    }
}

#[test]
fn the_starter_loads_without_a_word_and_gives_what_it_says() {
    let (report, loaded) = load(&home(starter::files()), &BTreeMap::new());
    assert_eq!(render::text(&report, render::Colour::Plain), "");
    let loaded = loaded.unwrap();
    let mut seen = Vec::new();
    for (id, outcome) in &loaded.agents {
        let AgentOutcome::Ready(config) = outcome else { panic!("{id}") };
        assert_eq!(&*config.soul.origin, format!("agents/{id}/SOUL.md"));
        let tools: Vec<&str> = config.boundary.tools.exposed().collect();
        seen.push((id.to_string(), config.memory.is_some(), tools.join(" ")));
    }
    insta::assert_debug_snapshot!("starter", seen);
    assert_eq!(loaded.router.defaults().everywhere.as_ref().unwrap().as_str(), "main");
}

/// What stands behind `#` in the starter is meant to be used.
#[test]
fn every_commented_example_of_the_starter_works() {
    let mut text = String::new();
    for line in starter::files()[0].1.lines() {
        let inner = line.trim_start().strip_prefix("# ");
        let is_example = inner.is_some_and(|inner| {
            let key = inner.trim_start().trim_start_matches("- ").split(':').next().unwrap();
            let keys = [
                "model",
                "providers",
                "local",
                "workspace",
                "files",
                "network",
                "web",
                "access",
                "channels",
                "telegram",
                "accounts",
                "main",
                "bindings",
                "{agent",
            ];
            keys.contains(&key) && inner.contains(':')
        });
        // Of the models, one is enough.
        if is_example && !(text.contains("\nmodel:") && line.starts_with("# model:")) {
            let indent = line.len() - line.trim_start().len();
            text += &format!("{}{}\n", &line[..indent], inner.unwrap());
        } else {
            text += line;
            text.push('\n');
        }
    }
    let (report, loaded) = load_text(&text);
    assert_eq!(
        report.errors().count(),
        0,
        "{text}\n{}",
        render::text(&report, render::Colour::Plain)
    );
    let loaded = loaded.unwrap();
    assert_eq!(loaded.router.bindings().len(), 3);
    assert_eq!(loaded.daemon.accounts.len(), 1);
    let AgentOutcome::Ready(coder) = &loaded.agents["coder"] else { panic!() };
    assert_eq!(coder.boundary.files.shared.len(), 1);
    assert_eq!(coder.boundary.network.lists()[0].len(), 2);
}

#[test]
fn every_recipe_is_a_configuration_that_works_as_it_stands() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let page = fs::read_to_string(&path).unwrap();
        for block in page.split("```yaml\n").skip(1) {
            let yaml = block.split("```").next().unwrap();
            let (report, loaded) = load_text(yaml);
            // Its token is a secret, which somebody sets once.
            let mut found = report.diagnostics.iter().filter(|it| it.unless_set.is_none());
            assert!(found.next().is_none(), "{path:?}: {:?}", report.diagnostics);
            let loaded = loaded.unwrap();
            let is_ready = |it: &AgentOutcome| matches!(it, AgentOutcome::Ready(_));
            assert!(loaded.agents.values().all(is_ready), "{path:?}");
            count += 1;
        }
    }
    assert!(count >= 5, "{count} recipes");
}
