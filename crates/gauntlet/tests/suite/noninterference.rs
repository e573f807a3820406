//! A short run of section G: whatever others do, nothing of an agent changes by a byte.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use insula_gauntlet::noninterference::command::{Arguments, on_several};
use insula_gauntlet::noninterference::golden::Recorded;
use insula_gauntlet::noninterference::steered;
use insula_gauntlet::noninterference::{Ground, generate, play};
use std::sync::Arc;

fn short(seed: u64, pairs: u64) -> Arguments {
    Arguments {
        pairs,
        seed,
        steps: 20,
        at_once: 2,
        no_shrink: false,
        show: false,
        golden: None,
        steered: false,
        record: false,
    }
}

#[test]
fn g_what_others_do_changes_no_byte_of_an_agent() {
    let outcome = on_several(&short(1, 40)).unwrap();
    if let Some(found) = &outcome.found {
        panic!("after {} pairs\n{found}", found.pairs_before);
    }
    assert!(outcome.pairs >= 40, "{}", outcome.pairs);
    // What nothing was seen of is not compared.
    for kind in [
        "file", "health", "heard", "hook", "look", "mcp", "metrics", "model", "page", "post",
        "rows", "search", "site", "step", "token", "turn", "work",
    ] {
        assert!(outcome.counts.get(kind).is_some_and(|count| *count > 3), "{kind}: {outcome:?}");
    }
}

#[test]
fn g_the_same_seed_gives_the_same_run() {
    let ground = Arc::new(Ground::new().unwrap());
    let plan = generate::plan(7, 40);
    let other = generate::variation(7, 1, 40);
    assert_eq!(plan, generate::plan(7, 40));
    assert_ne!(plan, generate::plan(8, 40));
    let one = play(&ground, &plan, &other).unwrap();
    let two = play(&ground, &plan, &other).unwrap();
    assert_eq!(one.difference(&two), None);
    assert_ne!(one.difference(&play(&ground, &generate::plan(8, 40), &other).unwrap()), None);
}

/// The first of the recorded runs; `scripts/golden` plays all of them.
#[test]
fn g_runs_are_as_they_were_recorded() {
    let recorded = Recorded::parse(include_str!("../../golden/runs.txt")).unwrap();
    recorded.compare(&Recorded::play(1, 15, 40, 2).unwrap()).unwrap();
}

#[test]
fn g_a_run_that_differs_from_its_record_is_told() {
    let recorded = Recorded::parse("seed model turn\n1 aa bb\n2 cc -\n").unwrap();
    assert_eq!(recorded.text(), "seed model turn\n1 aa bb\n2 cc -\n");
    let now = Recorded::parse("seed model turn\n1 aa bb\n2 cc dd\n").unwrap();
    let told = recorded.compare(&now).unwrap_err().to_string();
    assert!(told.contains("turn: 1 of 2 runs, seed 2 is one"), "{told}");
    assert!(!told.contains("model"), "{told}");
    let unknown = Recorded::parse("seed model\n3 aa\n").unwrap();
    assert!(recorded.compare(&unknown).unwrap_err().to_string().contains("never recorded"));
}

/// Strangers speak to the model, which does what they say: nothing of it is done.
#[test]
fn g_no_stranger_has_anything_done() {
    let outcome = steered::run(1, 20, 60, 4).unwrap();
    if let Some(found) = &outcome.found {
        panic!("{found}");
    }
    assert!(outcome.tries > 150, "{} tries are too few to show anything", outcome.tries);
}
