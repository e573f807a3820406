//! The events of an OpenClaw session, in a database or in a file of lines.

use crate::content;
use crate::plan::{MessagePlan, PartPlan, SessionPlan, Voice};
use crate::source_home::lines_of;
use crate::sqlite::Copy;
use insula_world::Timestamp;
use ruzstd::decoding::StreamingDecoder;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

/// The messages of a session of an agent's database.
pub(crate) fn messages(copy: &Copy, session: &SessionPlan) -> Result<Vec<MessagePlan>, String> {
    let text = |error: rusqlite::Error| error.to_string();
    // Older versions pack nothing.
    let packed = match copy.columns("transcript_events").contains("event_zstd") {
        true => "event_zstd",
        false => "NULL",
    };
    let query = format!(
        "SELECT event_json, created_at, {packed} FROM transcript_events WHERE session_id = ?1 ORDER BY seq"
    );
    let mut statement = copy.sql.prepare(&query).map_err(text)?;
    let rows = statement.query_map([&session.source_id], |row| {
        let packed = row.get::<_, Option<Vec<u8>>>(2)?;
        Ok((row.get::<_, Option<String>>(0)?, row.get::<_, i64>(1)?, packed))
    });
    let mut events = Vec::new();
    let mut lost = 0;
    for row in rows.map_err(text)? {
        let (json, at, packed) = row.map_err(text)?;
        match json.or_else(|| unpacked(&packed?)) {
            Some(json) => events.extend(event(&json, at)),
            None => lost += 1,
        }
    }
    let mut found = standing(&events);
    if lost > 0 {
        // Told where somebody reads it, since the words themselves can't be.
        let note = format!(
            "[{lost} messages could not be unpacked from how the other program kept them, and were not imported]"
        );
        let at = found.last().map_or_else(|| Timestamp::from_millis(0), |it| it.at);
        found.push(MessagePlan {
            voice: Voice::System,
            parts: vec![PartPlan::Beside(note)],
            at,
            sender: None,
        });
    }
    Ok(found)
}

/// Largest event that the other program packs, in bytes.
const EVENT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The text of an event that was packed, which long ones are.
fn unpacked(packed: &[u8]) -> Option<String> {
    let mut text = Vec::new();
    let unpack = StreamingDecoder::new(packed).ok()?;
    unpack.take(EVENT_BYTES_MAX + 1).read_to_end(&mut text).ok()?;
    let is_whole = text.len() as u64 <= EVENT_BYTES_MAX;
    String::from_utf8(text).ok().filter(|_| is_whole)
}

/// The messages of a file of lines.
pub(crate) fn messages_of_lines(file: &Path) -> Result<Vec<MessagePlan>, String> {
    let text = lines_of(file)?;
    let events: Vec<Event> = text.lines().filter_map(|line| event(line, 0)).collect();
    Ok(standing(&events))
}

/// How many messages a file of lines has, and when the first was.
pub(crate) fn count_of_lines(file: &Path) -> Result<(usize, Option<Timestamp>), String> {
    let found = messages_of_lines(file)?;
    Ok((found.len(), found.first().map(|it| it.at)))
}

/// One event.
struct Event {
    id: Option<String>,
    parent: Option<String>,
    message: Option<MessagePlan>,
}

fn event(json: &str, created: i64) -> Option<Event> {
    let value: Value = serde_json::from_str(json).ok()?;
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    // The head of a session is no link of the chain.
    if value["type"] == "session" {
        return None;
    }
    Some(Event { id: text("id"), parent: text("parentId"), message: message(&value, created) })
}

fn message(event: &Value, created: i64) -> Option<MessagePlan> {
    if event["type"] == "compaction" {
        let summary = event["summary"].as_str()?.to_owned();
        let parts = vec![PartPlan::Beside(summary)];
        return Some(MessagePlan {
            voice: Voice::System,
            parts,
            at: time(event, created),
            sender: None,
        });
    }
    if event["type"] != "message" {
        return None;
    }
    let message = &event["message"];
    let mut parts = content::parts(&message["content"]);
    let voice = match message["role"].as_str()? {
        "user" => Voice::User,
        "assistant" => Voice::Assistant,
        "toolResult" | "tool" => Voice::Tool,
        _ => Voice::System,
    };
    if voice == Voice::Tool {
        parts = vec![PartPlan::Result {
            call: message["toolCallId"].as_str().unwrap_or_default().to_owned(),
            text: content::words(&parts),
            is_error: message["isError"] == true,
        }];
    }
    let at = match message["timestamp"].as_i64() {
        Some(at) => Timestamp::from_millis(at),
        None => time(event, created),
    };
    let sender = message["__openclaw"]["senderId"].as_str().map(str::to_owned);
    (!parts.is_empty()).then_some(MessagePlan { voice, parts, at, sender })
}

/// When an event was, by its own words or by the row it stands in.
fn time(event: &Value, created: i64) -> Timestamp {
    let written = event["timestamp"].as_str().and_then(parse_time);
    Timestamp::from_millis(event["timestamp"].as_i64().or(written).unwrap_or(created))
}

/// `2026-11-18T06:30:21.121Z` in milliseconds.
fn parse_time(text: &str) -> Option<i64> {
    let (day, rest) = text.split_once('T')?;
    let day = insula_domain::Day::parse(day)?.number();
    let mut parts = rest.trim_end_matches('Z').splitn(3, ':');
    let mut next = || parts.next()?.parse::<f64>().ok();
    let (hours, minutes, seconds) = (next()?, next()?, next()?);
    let within = (hours * 3600.0 + minutes * 60.0 + seconds) * 1000.0;
    Some(day * 86_400_000 + within as i64)
}

/// The messages that stand: those on the way from the last event back to the first. What was
/// taken back hangs beside that way. Where the way has a gap, all of them stand.
fn standing(events: &[Event]) -> Vec<MessagePlan> {
    let by_id: BTreeMap<&str, &Event> =
        events.iter().filter_map(|it| Some((it.id.as_deref()?, it))).collect();
    let mut way: BTreeSet<&str> = BTreeSet::new();
    let mut at = events.last();
    let mut is_whole = !by_id.is_empty();
    while let Some(event) = at {
        let Some(id) = event.id.as_deref() else {
            is_whole = false;
            break;
        };
        if !way.insert(id) {
            is_whole = false;
            break;
        }
        at = match event.parent.as_deref() {
            None => None,
            Some(parent) => match by_id.get(parent) {
                Some(parent) => Some(*parent),
                None => {
                    is_whole = false;
                    None
                }
            },
        };
    }
    let stands = |it: &&Event| !is_whole || it.id.as_deref().is_some_and(|id| way.contains(id));
    events.iter().filter(stands).filter_map(|it| it.message.clone()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;

    fn line(id: &str, parent: Option<&str>, text: &str) -> Event {
        let value = serde_json::json!({"type": "message", "id": id, "parentId": parent,
            "timestamp": "2026-11-18T06:30:21.121Z", "message": {"role": "user", "content": text}});
        event(&value.to_string(), 0).unwrap()
    }

    fn texts(events: &[Event]) -> Vec<String> {
        standing(events).iter().map(|it| content::words(&it.parts)).collect()
    }

    #[test]
    fn what_was_taken_back_does_not_stand() {
        let events = [
            line("a", None, "one"),
            line("b", Some("a"), "wrong"),
            line("c", Some("a"), "two"),
            line("d", Some("c"), "three"),
        ];
        assert_eq!(texts(&events), ["one", "two", "three"]);
    }

    #[test]
    fn where_the_way_has_a_gap_all_stands() {
        let events = [line("a", None, "one"), line("b", Some("gone"), "two")];
        assert_eq!(texts(&events), ["one", "two"]);
        let round = [line("a", Some("b"), "one"), line("b", Some("a"), "two")];
        assert_eq!(texts(&round), ["one", "two"]);
    }

    #[test]
    fn times_are_read() {
        assert_eq!(parse_time("1970-01-02T00:00:01.500Z"), Some(86_401_500));
        assert_eq!(parse_time("yesterday"), None);
        assert_eq!(standing(&[line("a", None, "x")])[0].at.as_millis(), 1_794_983_421_121);
    }
}
