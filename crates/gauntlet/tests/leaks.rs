//! The tester is tested: planted leaks are noticed, and none is awake unless a test wakes it.
#![cfg(feature = "seeded-leaks")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use insula_domain::leak::{self, Class, Leak};
use insula_gauntlet::noninterference::leaks::{Arguments, run_all};
use std::collections::BTreeSet;

#[test]
fn there_are_leaks_of_every_kind_in_every_room() {
    assert!(Leak::ALL.len() >= 40, "{}", Leak::ALL.len());
    let names: BTreeSet<&str> = Leak::ALL.iter().map(|leak| leak.name()).collect();
    assert_eq!(names.len(), Leak::ALL.len());
    let rooms: BTreeSet<&str> = Leak::ALL.iter().map(|leak| leak.room()).collect();
    let wanted = [
        "config", "domain", "gateway", "http", "mcp", "memory", "models", "runtime", "store",
        "tools",
    ];
    assert_eq!(rooms, BTreeSet::from(wanted));
    let classes: BTreeSet<Class> = Leak::ALL.iter().map(|leak| leak.class()).collect();
    assert_eq!(classes.len(), 11, "{classes:?}");
    assert!(Leak::ALL.iter().all(|leak| !leak::is(*leak)), "all are asleep");
}

/// Those that few pairs show; `insula-gauntlet leaks` looks for all of them.
const QUICK: [&str; 10] = [
    "digest-of-the-house",
    "events-by-name",
    "found-before",
    "hits-crowded-out",
    "keys-by-chat",
    "metadata-left-over",
    "one-fails-all",
    "scope-numbers-by-name",
    "turns-in-one-sequence",
    "usage-left-over",
];

#[test]
fn g_planted_leaks_are_caught() {
    let only = QUICK.map(str::to_owned).to_vec();
    let arguments = Arguments { only, pairs: 8, seed: 1000, steps: 20, show: false, report: None };
    let all = run_all(&arguments, |caught| println!("{}", caught.line())).unwrap();
    let missed: Vec<&str> = all
        .iter()
        .filter(|caught| caught.outcome.found.is_none())
        .map(|caught| caught.leak.name())
        .collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

/// `scripts/seeded-leaks` writes it.
#[test]
fn the_report_has_every_leak() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/seeded-leaks.md");
    let report = std::fs::read_to_string(path).unwrap();
    let rows: Vec<&str> = report.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), Leak::ALL.len());
    for (leak, row) in Leak::ALL.iter().zip(rows) {
        let (name, class) = (leak.name(), leak.class().as_str());
        let begin = format!("| `{name}` | {} | {class} | {} | ", leak.room(), leak.what());
        assert!(row.starts_with(&begin), "{row}");
    }
}
