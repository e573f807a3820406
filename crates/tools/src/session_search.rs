//! `session_search`: finds what was said before, as far as this turn's scope reaches.

use crate::hands::{Hit, Order, Search};
use crate::{Cleared, Habits, Hands, Output, Tool, ToolError, arguments};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

/// Hits unless asked for fewer or more.
const LIMIT: usize = 10;
/// Most hits: what a model can read at once.
const LIMIT_MAX: usize = 50;
/// Messages around one, on each side, unless asked for fewer or more.
const WINDOW: usize = 5;
/// Most messages around one.
const WINDOW_MAX: usize = 50;
/// Most characters shown of one message.
const SHOWN_CHARS: usize = 1_000;

/// Finds what was said before.
pub struct SessionSearch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: Option<String>,
    limit: Option<usize>,
    sort: Option<Sort>,
    /// A name; what is none of ours names nothing.
    session_id: Option<Value>,
    around_message_id: Option<i64>,
    window: Option<usize>,
    role_filter: Option<String>,
    scope: Option<Reach>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Reach {
    Here,
    All,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Sort {
    Relevance,
    Newest,
}

#[async_trait]
impl Tool for SessionSearch {
    fn name(&self) -> &'static str {
        "session_search"
    }

    fn description(&self) -> &'static str {
        "Search earlier conversations here by words, or read the messages around one that was found."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"},"sort":{"type":"string","enum":["relevance","newest"]},"session_id":{"type":"string"},"around_message_id":{"type":"integer"},"window":{"type":"integer"},"role_filter":{"type":"string","enum":["user","assistant","tool"]}},"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[("q", "query"), ("search", "query"), ("keywords", "query")],
            blank_is_nothing: &["query", "sort", "session_id", "role_filter"],
            ..Habits::default()
        }
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let asked: Arguments = arguments(value)?;
        let wider = match asked.scope {
            Some(Reach::All) => Some(hands.history.everywhere()?),
            Some(Reach::Here) | None => None,
        };
        let history = wider.as_deref().unwrap_or(hands.history);
        let mut hits = match (&asked.query, &asked.session_id, asked.around_message_id) {
            (Some(query), None, None) => {
                let order = match asked.sort.unwrap_or(Sort::Relevance) {
                    Sort::Relevance => Order::Relevance,
                    Sort::Newest => Order::Newest,
                };
                let limit = asked.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
                history.search(Search { query, limit, order }).await?
            }
            (None, Some(session), Some(message)) => {
                let window = asked.window.unwrap_or(WINDOW).min(WINDOW_MAX);
                let session = session.as_str().map_or_else(|| session.to_string(), str::to_owned);
                history.around(&session, message, window).await?
            }
            _ => {
                let what = "give `query`, or `session_id` with `around_message_id`";
                return Err(ToolError::Arguments(what.to_owned()));
            }
        };
        if let Some(role) = &asked.role_filter {
            hits.retain(|hit| hit.role == *role);
        }
        Ok(Output::Text(shown(&hits)))
    }
}

/// The same for agents whose operator lets them look through all of their conversations.
pub struct SessionSearchAll;

#[async_trait]
impl Tool for SessionSearchAll {
    fn name(&self) -> &'static str {
        "session_search"
    }

    fn description(&self) -> &'static str {
        "Search earlier conversations by words, here or with `scope` `all` in all that you had, or read the messages around one that was found. What others said elsewhere was not said to who is here: repeat of it what they need."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"query":{"type":"string"},"scope":{"type":"string","enum":["here","all"]},"limit":{"type":"integer"},"sort":{"type":"string","enum":["relevance","newest"]},"session_id":{"type":"string"},"around_message_id":{"type":"integer"},"window":{"type":"integer"},"role_filter":{"type":"string","enum":["user","assistant","tool"]}},"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits { by_the_letter: &["scope"], ..SessionSearch.habits() }
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        SessionSearch.run(hands, value).await
    }
}

fn shown(hits: &[Hit]) -> String {
    if hits.is_empty() {
        return "nothing was found".to_owned();
    }
    let lines = hits.iter().map(|hit| {
        let mut text: String = hit.text.chars().take(SHOWN_CHARS).collect();
        if text.len() < hit.text.len() {
            text.push('…');
        }
        format!("[session {} message {} {} {}] {text}", hit.session, hit.message, hit.at, hit.role)
    });
    lines.collect::<Vec<_>>().join("\n")
}
