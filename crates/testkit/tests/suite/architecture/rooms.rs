//! Dependencies point down only.

use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// The rooms from top to bottom. A crate may use what stands below it.
const ROOMS: [&str; 26] = [
    "gauntlet",
    "bench",
    "cli",
    "http",
    "adapters",
    "gateway",
    "api",
    "owner",
    "turns",
    "capabilities",
    "registry",
    "tools",
    "mcp",
    "models",
    "import",
    "archive",
    "memory",
    "sandbox",
    "store",
    "channel",
    "vault",
    "config",
    "schedule",
    "wire",
    "world",
    "domain",
];

/// Only ever a dev-dependency, of any room but the gauntlet; may itself use the two lowest.
const TESTKIT: &str = "testkit";

/// A daemon in a test's own process: only ever a dev-dependency, of rooms above what it opens.
const TESTDAEMON: &str = "testdaemon";

/// Attacks from outside and ships nowhere: it stands on the testkit as a test does.
const GAUNTLET: &str = "gauntlet";

/// Measures from outside and ships nowhere, so it may use what tests use.
const BENCH: &str = "bench";

/// For tests alone: outside the testkit only as dev-dependencies.
const FOR_TESTS_ONLY: [&str; 7] =
    ["insula-testdaemon", "insula-testkit", "insta", "proptest", "rcgen", "tempfile", "trybuild"];

/// One dependency as cargo describes it.
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Normal,
    Dev,
}

/// What is wrong with a dependency between crates of the workspace, if anything.
fn fault(edge: &Edge<'_>) -> Option<String> {
    let Edge { from, to, kind } = *edge;
    let place = |room: &str| ROOMS.iter().position(|&known| known == room);
    let complaint = |why: &str| Some(format!("`{from}` must not depend on `{to}`: {why}"));
    if to == TESTKIT {
        return match kind {
            Kind::Dev => None,
            Kind::Normal if [GAUNTLET, TESTDAEMON].contains(&from) => None,
            Kind::Normal => complaint("the testkit is a dev-dependency only"),
        };
    }
    if to == TESTDAEMON {
        let is_dev = kind == Kind::Dev;
        return if is_dev { None } else { complaint("it is a dev-dependency only") };
    }
    let Some(below) = place(to) else { return complaint("it is no known room") };
    if from == TESTDAEMON {
        let opened = Some(below) >= place("turns");
        return if opened { None } else { complaint("it opens turns and what is below") };
    }
    if from == TESTKIT {
        let lowest = ["world", "domain"].contains(&to);
        return if lowest { None } else { complaint("the testkit knows world and domain only") };
    }
    match place(from) {
        None => complaint("the one that depends is no known room"),
        Some(above) if above < below => None,
        Some(_) => complaint("dependencies point down only"),
    }
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[test]
fn every_crate_is_a_known_room_with_the_name_of_its_folder() {
    let metadata = metadata();
    let mut seen = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let manifest = text(package, "manifest_path");
        let folder = manifest.strip_suffix("/Cargo.toml").unwrap().rsplit('/').next().unwrap();
        assert!(manifest.contains("/crates/"), "{manifest} is not under crates/");
        assert!(
            ROOMS.contains(&folder) || [TESTKIT, TESTDAEMON].contains(&folder),
            "crates/{folder} is no known room: add it to ROOMS at its height, and to ARCHITECTURE.md"
        );
        assert_eq!(text(package, "name"), format!("insula-{folder}"));
        seen.insert(folder);
    }
    assert!(seen.contains("domain") && seen.contains(TESTKIT), "{seen:?}");
}

/// What tests build must be what ships, so there is nothing to turn on.
#[test]
fn no_crate_has_a_feature() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        let features = package["features"].as_object().unwrap();
        assert!(features.is_empty(), "{} has features: {features:?}", text(package, "name"));
    }
}

#[test]
fn dependencies_point_down_only() {
    let metadata = metadata();
    let mut faults = vec![];
    for package in metadata["packages"].as_array().unwrap() {
        let from = text(package, "name").trim_start_matches("insula-");
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = text(dependency, "name");
            // Build dependencies count as normal ones: they decide what is built.
            let kind = if text(dependency, "kind") == "dev" { Kind::Dev } else { Kind::Normal };
            if let Some(to) = name.strip_prefix("insula-") {
                faults.extend(fault(&Edge { from, to, kind }));
            } else if FOR_TESTS_ONLY.contains(&name)
                && kind == Kind::Normal
                && ![TESTKIT, BENCH, GAUNTLET].contains(&from)
            {
                faults.push(format!("`{from}` must not depend on `{name}` outside its tests"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_check_itself_knows_up_from_down() {
    let held = |from, to, kind| fault(&Edge { from, to, kind }).is_none();
    assert!(held("registry", "store", Kind::Normal));
    assert!(!held("store", "registry", Kind::Normal));
    assert!(!held("store", "registry", Kind::Dev));
    assert!(!held("store", "store", Kind::Normal));
    assert!(held("store", "testkit", Kind::Dev));
    assert!(!held("store", "testkit", Kind::Normal));
    assert!(held("gauntlet", "testkit", Kind::Normal));
    assert!(held("testkit", "world", Kind::Normal));
    assert!(!held("testkit", "store", Kind::Normal));
    assert!(!held("domain", "world", Kind::Normal));
    assert!(!held("cli", "attic", Kind::Normal));
}
