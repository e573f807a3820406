//! I6: the table of what is shared. That it is complete is a test of the product's own; here it
//! is only looked at whether each row says what it has to.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::{control, hold};
use std::path::Path;

/// Where the page is, when this was built.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/shared-state.md");

/// Fewer would be no inventory.
const ROWS_MIN: usize = 10;

fn every_row_says_why(_: &Ground) -> Outcome {
    let Ok(page) = machine::read(Path::new(PAGE)) else {
        return Ok(Verdict::NotRun("there is no docs/shared-state.md here".to_owned()));
    };
    let page = String::from_utf8_lossy(&page).into_owned();
    let is_rule = |line: &&str| line.starts_with('|') && !line.contains("---");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(is_rule)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    control!(rows.len() > ROWS_MIN, "only {} rows in {PAGE}", rows.len());
    for row in &rows {
        hold!(row.iter().all(|cell| !cell.is_empty()), "something is left out: {row:?}");
    }
    Ok(Verdict::Held)
}

/// I6.
pub const ATTEMPTS: &[Attempt] =
    &[Attempt { row: "I6", variant: "every row has a key and a reason", run: every_row_says_why }];
