//! What the fake workspace shows to who asks: channels, what was said in them, threads; by pages.

use super::state::State;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Kinds of conversations: how their names begin here, how they are asked for, and the scopes that
/// let them be listed and read.
const KINDS: [(char, &[&str], &str, &str); 3] = [
    ('C', &["public_channel"], "channels:read", "channels:history"),
    ('G', &["private_channel", "mpim"], "mpim:read", "mpim:history"),
    ('D', &["im"], "im:read", "im:history"),
];

/// The scope that a request lacks.
pub(super) fn lacked(state: &State, method: &str, about: &Value) -> Option<&'static str> {
    let text = |key: &str| about[key].as_str().unwrap_or_default();
    let wanted: Vec<&str> = match method {
        "users.conversations" => {
            let types = types(about);
            let asked = KINDS.iter().filter(|it| it.1.iter().any(|kind| types.contains(*kind)));
            asked.map(|it| it.2).collect()
        }
        "conversations.history" | "conversations.replies" => {
            let of = KINDS.iter().filter(|it| text("channel").starts_with(it.0));
            of.map(|it| it.3).collect()
        }
        _ => vec![],
    };
    wanted.into_iter().find(|scope| state.scopes.iter().all(|it| it != scope))
}

fn types(about: &Value) -> BTreeSet<&str> {
    about["types"].as_str().unwrap_or("public_channel").split(',').map(str::trim).collect()
}

/// The conversations that the bot is in, of the kinds that are asked for.
pub(super) fn conversations(state: &State, about: &Value) -> Value {
    let types = types(about);
    let is_asked = |id: &str| {
        let kind = KINDS.iter().find(|it| id.starts_with(it.0));
        kind.is_some_and(|it| it.1.iter().any(|kind| types.contains(*kind)))
    };
    let ids = state
        .channels
        .iter()
        .filter(|(id, members)| is_asked(id) && members.contains(&state.bot_user));
    page(state, about, "channels", ids.collect(), |(id, _)| json!({ "id": id }))
}

/// What was said in a channel outside of threads.
pub(super) fn of(state: &State, channel: &str, about: &Value) -> Value {
    let in_channel = |message: &&Value| {
        let is_reply = !message["thread_ts"].is_null() && message["thread_ts"] != message["ts"];
        !is_reply || message["subtype"] == "thread_broadcast"
    };
    let mut found: Vec<&Value> = said(state, channel, about).filter(in_channel).collect();
    // As on Slack: from the oldest on where that alone is named, and a page of it the newest first.
    let is_from_oldest = about["latest"].is_null() && !about["oldest"].is_null();
    if !is_from_oldest {
        found.reverse();
    }
    let mut page = page(state, about, "messages", found, |it| row(state, channel, it));
    if let Some(rows) = page["messages"].as_array_mut().filter(|_| is_from_oldest) {
        rows.reverse();
    }
    page
}

/// A thread: its first message, and what was said in it.
pub(super) fn replies(state: &State, about: &Value) -> Result<Value, &'static str> {
    let text = |key: &str| about[key].as_str().unwrap_or_default();
    let (channel, ts) = (text("channel"), text("ts"));
    let place = (channel.to_owned(), ts.to_owned());
    let root = state.messages.get(&place).ok_or("thread_not_found")?;
    let is_in = |message: &&Value| message["thread_ts"] == ts && message["ts"] != ts;
    let mut found = vec![root];
    found.extend(said(state, channel, about).filter(is_in));
    Ok(page(state, about, "messages", found, |it| row(state, channel, it)))
}

/// The messages of a channel within the moments that are asked for, the oldest first.
fn said<'a>(
    state: &'a State,
    channel: &'a str,
    about: &'a Value,
) -> impl Iterator<Item = &'a Value> {
    let moment = |key: &str| about[key].as_str().filter(|it| !it.is_empty());
    let (oldest, latest) = (moment("oldest"), moment("latest"));
    let is_inclusive = about["inclusive"] == "true" || about["inclusive"] == true;
    let here = state.messages.iter().filter(move |((chat, _), _)| chat == channel);
    // Moments here have as many digits each, and stand in the order of their names.
    let within = move |ts: &str| {
        (oldest.is_none_or(|it| ts > it) && latest.is_none_or(|it| ts < it))
            || (is_inclusive && (oldest == Some(ts) || latest == Some(ts)))
    };
    here.filter(move |((_, ts), _)| within(ts)).map(|(_, message)| message)
}

/// A message as it is shown: where it stands is not said, and the beginning of a thread tells of it.
fn row(state: &State, channel: &str, message: &Value) -> Value {
    let mut row = message.clone();
    if let Some(row) = row.as_object_mut() {
        row.remove("channel");
        row.remove("team");
    }
    let of_thread = state.messages.iter().filter(|((chat, _), it)| {
        chat == channel && it["thread_ts"] == message["ts"] && it["ts"] != message["ts"]
    });
    let replies: Vec<&String> = of_thread.map(|((_, ts), _)| ts).collect();
    if let Some(latest) = replies.last() {
        row["thread_ts"] = message["ts"].clone();
        row["reply_count"] = json!(replies.len());
        row["latest_reply"] = json!(latest);
    }
    row
}

/// A page of what was found, and where the next begins.
fn page<T>(
    state: &State,
    about: &Value,
    key: &str,
    found: Vec<T>,
    shown: impl Fn(T) -> Value,
) -> Value {
    let number = |key: &str| about[key].as_str().and_then(|it| it.parse::<usize>().ok());
    let begin = about["cursor"].as_str().and_then(|it| it.strip_prefix("row-")?.parse().ok());
    let begin: usize = begin.unwrap_or(0);
    let len = number("limit").unwrap_or(100).min(state.page_len);
    let total = found.len();
    let rows: Vec<Value> = found.into_iter().skip(begin).take(len).map(shown).collect();
    let end = begin + rows.len();
    let next = if end < total { format!("row-{end}") } else { String::new() };
    json!({
        (key): rows, "has_more": end < total, "response_metadata": { "next_cursor": next },
    })
}
