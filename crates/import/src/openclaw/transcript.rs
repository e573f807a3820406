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
        match json.or_else(|| unpacked(&packed?)).map(|json| event(&json, at)) {
            Some(Ok(found)) => events.extend(found),
            Some(Err(_)) | None => lost += 1,
        }
    }
    Ok(with_lost(standing(&events), lost))
}

/// Says beside the messages how many are not among them: where somebody reads it, since the words
/// themselves can't be.
fn with_lost(mut found: Vec<MessagePlan>, lost: usize) -> Vec<MessagePlan> {
    if lost == 0 {
        return found;
    }
    let which = if lost == 1 { "1 event" } else { &format!("{lost} events") };
    let note = format!(
        "[{which} could not be read as the other program kept them, and did not come over]"
    );
    let at = found.last().map_or_else(|| Timestamp::from_millis(0), |it| it.at);
    let parts = vec![PartPlan::Beside(note)];
    found.push(MessagePlan { voice: Voice::System, parts, at, sender: None });
    found
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
    let Lines { events, lost } = lines(&lines_of(file)?);
    Ok(with_lost(standing(&events), lost.len()))
}

/// What a file of lines has.
pub(crate) struct Counted {
    pub(crate) messages: usize,
    /// When the first was.
    pub(crate) first: Option<Timestamp>,
    /// The lines that can't be read, counted from one: the last is half a line where the other
    /// program was ended while it wrote.
    pub(crate) lost: Vec<usize>,
}

pub(crate) fn count_of_lines(file: &Path) -> Result<Counted, String> {
    let Lines { events, lost } = lines(&lines_of(file)?);
    let found = with_lost(standing(&events), lost.len());
    Ok(Counted { messages: found.len(), first: found.first().map(|it| it.at), lost })
}

struct Lines {
    events: Vec<Event>,
    lost: Vec<usize>,
}

fn lines(text: &str) -> Lines {
    let mut found = Lines { events: Vec::new(), lost: Vec::new() };
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match event(line, 0) {
            Ok(event) => found.events.extend(event),
            Err(_) => found.lost.push(at + 1),
        }
    }
    found
}

/// One event.
struct Event {
    id: Option<String>,
    parent: Option<String>,
    message: Option<MessagePlan>,
}

/// `None` for the head of a session, which is no link of the chain.
fn event(json: &str, created: i64) -> serde_json::Result<Option<Event>> {
    let value: Value = serde_json::from_str(json)?;
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    if value["type"] == "session" {
        return Ok(None);
    }
    let message = message(&value, created);
    Ok(Some(Event { id: text("id"), parent: text("parentId"), message }))
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
    use serde_json::json;

    fn line(id: &str, parent: Option<&str>, text: &str) -> Event {
        let value = json!({"type": "message", "id": id, "parentId": parent,
            "timestamp": "2026-11-18T06:30:21.121Z", "message": {"role": "user", "content": text}});
        event(&value.to_string(), 0).unwrap().unwrap()
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
    fn half_a_line_is_counted_and_said() {
        let whole =
            json!({"type": "message", "id": "a", "message": {"role": "user", "content": "one"}});
        let Lines { events, lost } = lines(&format!("{whole}\n\n{{\"type\": \"mess"));
        assert_eq!(lost, [3]);
        let found = with_lost(standing(&events), lost.len());
        assert_eq!(content::words(&found[0].parts), "one");
        let PartPlan::Beside(note) = &found[1].parts[0] else { panic!("{:?}", found[1]) };
        assert!(note.starts_with("[1 event could not be read"), "{note}");
    }

    #[test]
    fn times_are_read() {
        assert_eq!(parse_time("1970-01-02T00:00:01.500Z"), Some(86_401_500));
        assert_eq!(parse_time("yesterday"), None);
        assert_eq!(standing(&[line("a", None, "x")])[0].at.as_millis(), 1_794_983_421_121);
    }
}
