//! The program as a person runs it, as far as that takes no daemon. `scripts/gauntlet` runs the
//! rest.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests start processes and fail by panicking"
)]

use insula_testkit::run_bare;

const GAUNTLET: &str = env!("CARGO_BIN_EXE_insula-gauntlet");

#[test]
fn it_lists_what_there_is_to_try() {
    let all = run_bare(GAUNTLET, &[], &["--list"]).ok().stdout;
    assert!(all.lines().count() >= 150, "{} attempts", all.lines().count());
    let some = run_bare(GAUNTLET, &[], &["--list", "--only", "A3"]).ok().stdout;
    assert!(some.lines().count() > 5 && some.lines().all(|line| line.starts_with("A3 ")), "{some}");
    let section = run_bare(GAUNTLET, &[], &["--list", "--section", "b"]).ok().stdout;
    assert!(section.lines().all(|line| line.starts_with('B')), "{section}");
}

#[test]
fn without_a_daemon_it_says_so_and_ends_with_2() {
    let output = run_bare(GAUNTLET, &[], &["--insula", "/nonexistent/insula"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("there is no daemon at /nonexistent/insula"), "{output:?}");
}
