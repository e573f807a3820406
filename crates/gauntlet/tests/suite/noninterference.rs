//! A short run of section G: whatever others do, nothing of an agent changes by a byte.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use insula_gauntlet::noninterference::command::{Arguments, on_several};
use insula_gauntlet::noninterference::{Ground, generate, play};
use std::sync::Arc;

fn short(seed: u64, pairs: u64) -> Arguments {
    Arguments { pairs, seed, steps: 20, at_once: 2, no_shrink: false, show: false }
}

#[test]
fn g_what_others_do_changes_no_byte_of_an_agent() {
    let outcome = on_several(&short(1, 160)).unwrap();
    if let Some(found) = &outcome.found {
        panic!("after {} pairs\n{found}", found.pairs_before);
    }
    assert!(outcome.pairs >= 160, "{}", outcome.pairs);
    // What nothing was seen of is not compared.
    for kind in [
        "file", "health", "heard", "hook", "look", "mcp", "metrics", "model", "page", "post",
        "rows", "search", "site", "step", "token", "turn",
    ] {
        assert!(outcome.counts.get(kind).is_some_and(|count| *count > 20), "{kind}: {outcome:?}");
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
