//! SearXNG: `/search?format=json`.

use super::{Found, address, encoded, part};
use serde_json::Value;

pub(super) fn question(query: &str) -> String {
    // It has no parameter for how many; the list is cut where it is read.
    format!("search?q={}&format=json", encoded(query))
}

pub(super) fn results(answer: &Value) -> Option<Vec<Found>> {
    let list = answer.get("results")?.as_array()?;
    let found = list.iter().map(|result| Found {
        title: part(result, "title"),
        url: address(result),
        snippet: part(result, "content"),
    });
    Some(found.collect())
}
