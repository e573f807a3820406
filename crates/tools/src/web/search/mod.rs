//! How searches are asked and what they answer, one file a provider.
//!
//! A provider is two pure functions: the path of a question, and what its answer says. Where
//! it is and with which key it is asked is known to whoever made the hand.

mod brave;
mod searxng;

use super::html::plain;
use super::text::{beginning, is_seen};
use super::{Page, SearchKind};
use serde_json::Value;

/// Longest part of one result, in characters: what helps to choose, not what is chosen.
const PART_CHARS_MAX: usize = 500;

/// One result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) snippet: String,
}

/// What a provider is asked for, behind its address.
pub(crate) fn question(kind: SearchKind, query: &str, limit: usize) -> String {
    match kind {
        SearchKind::Searxng => searxng::question(query),
        SearchKind::Brave => brave::question(query, limit),
    }
}

/// What it answered; the error is for the model.
pub(crate) fn results(kind: SearchKind, page: &Page, limit: usize) -> Result<Vec<Found>, String> {
    if !(200..300).contains(&page.status) {
        let hint = match (page.status, kind) {
            (401 | 403, SearchKind::Searxng) => {
                "; the operator has to enable `json` under `search.formats` of SearXNG, or set a key"
            }
            (401 | 403, _) => "; the operator has to check its key",
            (429, _) => "; it is asked too often, try again later",
            _ => "",
        };
        return Err(format!("the search answered with status {}{hint}", page.status));
    }
    let value: Value = serde_json::from_slice(&page.body)
        .map_err(|_| "the search answered with something that is not JSON".to_owned())?;
    let list = match kind {
        SearchKind::Searxng => searxng::results(&value),
        SearchKind::Brave => brave::results(&value),
    };
    let list = list.ok_or_else(|| "the search answered in an unknown form".to_owned())?;
    Ok(list.into_iter().filter(|it| is_address(&it.url)).take(limit).collect())
}

fn is_address(url: &str) -> bool {
    url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// A text of an answer: plain, on one line, not too long.
fn part(result: &Value, key: &str) -> String {
    let html = result.get(key).and_then(Value::as_str).unwrap_or_default();
    let text: String = plain(html).chars().filter(|it| is_seen(*it)).collect();
    beginning(&text, PART_CHARS_MAX, usize::MAX).to_owned()
}

/// An address of an answer, as it stands.
fn address(result: &Value) -> String {
    let url = result.get("url").and_then(Value::as_str).unwrap_or_default();
    url.chars().filter(|it| is_seen(*it) && !it.is_whitespace()).take(2_000).collect()
}

/// A query as part of an address.
fn encoded(query: &str) -> String {
    url::form_urlencoded::byte_serialize(query.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(status: u16, body: &str) -> Page {
        Page { status, body: body.as_bytes().to_vec(), ..Page::default() }
    }

    #[test]
    fn each_provider_is_asked_in_its_own_words() {
        let ask = |kind| question(kind, "a&b é", 7);
        assert_eq!(ask(SearchKind::Searxng), "search?q=a%26b+%C3%A9&format=json");
        assert_eq!(ask(SearchKind::Brave), "res/v1/web/search?q=a%26b+%C3%A9&count=7");
        assert!(question(SearchKind::Brave, "x", 50).ends_with("count=20"));
    }

    #[test]
    fn answers_become_plain_results() {
        let searxng = r#"{"query":"x","results":[
            {"url":"https://a.org/1","title":"One &amp; two","content":"the <b>best</b>\n of","engine":"e"},
            {"url":"javascript:x","title":"no","content":""},
            {"title":"no address"},
            {"url":"https://a.org/2","title":null}]}"#;
        let brave = r#"{"type":"search","web":{"results":[
            {"url":"https://a.org/1","title":"One &amp; two","description":"the <strong>best</strong> of"},
            {"url":"https://a.org/2","title":""}]}}"#;
        for (kind, body) in [(SearchKind::Searxng, searxng), (SearchKind::Brave, brave)] {
            let found = results(kind, &page(200, body), 10).unwrap();
            let first = Found {
                title: "One & two".to_owned(),
                url: "https://a.org/1".to_owned(),
                snippet: "the best of".to_owned(),
            };
            assert_eq!((found.len(), &found[0]), (2, &first));
            assert_eq!(results(kind, &page(200, body), 1).unwrap().len(), 1);
        }
        // Brave leaves `web` out when it found nothing.
        assert_eq!(results(SearchKind::Brave, &page(200, "{\"type\":\"search\"}"), 5), Ok(vec![]));
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let failed = |kind, status, body| results(kind, &page(status, body), 5).unwrap_err();
        assert!(failed(SearchKind::Searxng, 403, "no").contains("search.formats"));
        assert!(failed(SearchKind::Brave, 401, "{}").contains("key"));
        assert!(failed(SearchKind::Brave, 429, "{}").contains("later"));
        assert!(failed(SearchKind::Brave, 200, "<html>").contains("not JSON"));
        assert!(failed(SearchKind::Searxng, 200, "[]").contains("unknown form"));
    }
}
