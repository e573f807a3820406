//! Brave Search: `/res/v1/web/search`.

use super::{Found, address, encoded, part};
use serde_json::Value;

/// Most results it gives at once.
const COUNT_MAX: usize = 20;

pub(super) fn question(query: &str, limit: usize) -> String {
    format!("res/v1/web/search?q={}&count={}", encoded(query), limit.min(COUNT_MAX))
}

pub(super) fn results(answer: &Value) -> Option<Vec<Found>> {
    let answer = answer.as_object()?;
    let Some(web) = answer.get("web") else { return Some(Vec::new()) };
    let list = web.get("results")?.as_array()?;
    let found = list.iter().map(|result| Found {
        title: part(result, "title"),
        url: address(result),
        snippet: part(result, "description"),
    });
    Some(found.collect())
}
