//! The conversations of a profile, which its `state.db` has.

use super::Profile;
use crate::names;
use crate::place::Place;
use crate::plan::{
    AgentPlan, Fate, MessagePlan, Note, PartPlan, Plan, SessionPlan, SessionReader, Voice,
};
use crate::sqlite::Copy;
use insula_domain::{AccountId, Address, ChatId, ChatType, Platform, TopicId, UserId};
use insula_world::Timestamp;
use rusqlite::Row;
use serde_json::Value;
use std::path::Path;

/// The newest version of their database that is known.
const SCHEMA_VERSION: i64 = 22;

/// What stands before content that is a list of parts and no text.
const PARTS_MARK: &str = "\0json:";

/// The chat of the terminal that conversations without a place are put into: the one that
/// `insula chat` begins with, so that they are found there.
pub(crate) const TERMINAL_CHAT: &str = "terminal";

/// The conversations of a profile.
pub(super) fn sessions(
    plan: &mut Plan,
    agent: &mut AgentPlan,
    profile: &Profile<'_>,
    scratch: (&Path, &str),
) {
    let file = profile.path("state.db");
    let from = Place::file(&file);
    let read =
        Copy::of(profile.home, &file, scratch, &["sessions", "messages"]).and_then(
            |copy| match copy {
                None => Ok(None),
                Some(copy) => {
                    heads(&copy, profile, plan.copies.len()).map(|found| Some((copy, found)))
                }
            },
        );
    match read {
        Ok(None) => {}
        Err(why) => {
            plan.row(Fate::Trouble, Some(&profile.id), Note { what: "sessions", from, note: &why })
        }
        Ok(Some((copy, Heads { sessions, troubles }))) => {
            plan.copies.push(copy);
            let count: usize = sessions.iter().map(|it| it.count).sum();
            if !sessions.is_empty() {
                let note = format!(
                    "{} with {count} messages, found by search where they were held",
                    sessions.len()
                );
                plan.row(
                    Fate::Comes,
                    Some(&profile.id),
                    Note { what: "sessions", from: from.clone(), note: &note },
                );
            }
            for note in troubles {
                plan.row(
                    Fate::Trouble,
                    Some(&profile.id),
                    Note { what: "session", from: from.clone(), note: &note },
                );
            }
            agent.sessions = sessions;
        }
    }
}

struct Heads {
    sessions: Vec<SessionPlan>,
    troubles: Vec<String>,
}

fn heads(copy: &Copy, profile: &Profile<'_>, number: usize) -> Result<Heads, String> {
    let text = |error: rusqlite::Error| error.to_string();
    let columns = copy.columns("sessions");
    if columns.is_empty() || copy.columns("messages").is_empty() {
        return Err("it has no sessions in a form that is known".to_owned());
    }
    let version: i64 = copy
        .sql
        .query_row("SELECT max(version) FROM schema_version", [], |row| row.get(0))
        .unwrap_or_default();
    if version > SCHEMA_VERSION {
        return Err(format!(
            "it was written by a newer version ({version}; {SCHEMA_VERSION} is known); use a newer insula"
        ));
    }
    // Older versions lack some of them.
    let column = |name: &str| match columns.contains(name) {
        true => format!("s.{name}"),
        false => "NULL".to_owned(),
    };
    let wanted =
        ["user_id", "session_key", "chat_id", "chat_type", "thread_id", "title", "ended_at"];
    let wanted: Vec<String> = wanted.iter().map(|name| column(name)).collect();
    let standing = standing(copy);
    let query = format!(
        "SELECT s.id, s.source, s.started_at, {}, (SELECT count(*) FROM messages m WHERE m.session_id = s.id{standing}),
         (SELECT min(timestamp) FROM messages m WHERE m.session_id = s.id)
         FROM sessions s ORDER BY s.started_at, s.id",
        wanted.join(", ")
    );
    let mut statement = copy.sql.prepare(&query).map_err(text)?;
    let rows = statement.query_map([], |row| Ok(head(row, profile, number))).map_err(text)?;
    let mut found = Heads { sessions: Vec::new(), troubles: Vec::new() };
    for row in rows {
        match row.map_err(text)? {
            Ok(Some(session)) => found.sessions.push(session),
            Ok(None) => {}
            Err(why) => found.troubles.push(why),
        }
    }
    Ok(found)
}

/// Leaves out what somebody took back; what was only made shorter for a model stays.
fn standing(copy: &Copy) -> &'static str {
    let columns = copy.columns("messages");
    match (columns.contains("active"), columns.contains("compacted")) {
        (true, true) => " AND (m.active = 1 OR m.compacted = 1)",
        (true, false) => " AND m.active = 1",
        _ => "",
    }
}

fn head(row: &Row<'_>, profile: &Profile<'_>, copy: usize) -> Result<Option<SessionPlan>, String> {
    let broken = |error: rusqlite::Error| format!("a session can't be read: {error}");
    let source_id: String = row.get(0).map_err(broken)?;
    let text = |index: usize| {
        row.get::<_, Option<String>>(index).ok().flatten().filter(|it| !it.is_empty())
    };
    let count: usize =
        row.get::<_, i64>(10).ok().and_then(|it| it.try_into().ok()).unwrap_or_default();
    if count == 0 {
        return Ok(None);
    }
    let started: f64 = row.get(2).map_err(broken)?;
    // A session can be made long after what was said in it.
    let first = row.get::<_, Option<f64>>(11).ok().flatten().unwrap_or(started);
    let source = text(1).unwrap_or_default();
    let address = address(
        profile,
        &source,
        &Peer { user: text(3), chat: text(5), kind: text(6), thread: text(7) },
    )
    .map_err(|why| format!("session {source_id}: {why}"))?;
    Ok(Some(SessionPlan {
        from: Place::file(profile.path("state.db")),
        address,
        title: text(8),
        started: millis(started.min(first)),
        ended: row.get::<_, Option<f64>>(9).ok().flatten().map(millis),
        count,
        // Profiles of one gateway share a database; the key says whose a session is.
        source_id: match text(4)
            .as_deref()
            .and_then(|key| key.strip_prefix("agent:")?.split(':').next().map(str::to_owned))
        {
            Some(owner) if profile.is_root && owner != "main" => format!("{owner}/{source_id}"),
            _ => source_id,
        },
        reader: SessionReader::Hermes { copy },
    }))
}

/// Who a conversation was with.
struct Peer {
    user: Option<String>,
    chat: Option<String>,
    kind: Option<String>,
    thread: Option<String>,
}

fn address(profile: &Profile<'_>, source: &str, peer: &Peer) -> Result<Address, String> {
    let wrong = |error: insula_domain::IdError| error.to_string();
    let (Some(platform), Some(chat)) = (
        names::platform(source).filter(|it| *it != Platform::CLI),
        peer.chat.as_deref().or(peer.user.as_deref()),
    ) else {
        return terminal();
    };
    let chat_type = match peer.kind.as_deref() {
        None | Some("dm" | "private" | "direct") => ChatType::Dm,
        Some("channel") => ChatType::Channel,
        Some("thread") => ChatType::Thread,
        Some(_) => ChatType::Group,
    };
    Ok(Address {
        platform,
        account: AccountId::new(profile.account.clone()).map_err(wrong)?,
        chat: ChatId::new(chat).map_err(wrong)?,
        chat_type,
        topic: peer.thread.as_deref().map(TopicId::new).transpose().map_err(wrong)?,
        parent: None,
        community: None,
        user: peer.user.as_deref().map(UserId::new).transpose().map_err(wrong)?,
        roles: Vec::new(),
    })
}

/// The terminal of whoever runs the daemon.
pub(crate) fn terminal() -> Result<Address, String> {
    let wrong = |error: insula_domain::IdError| error.to_string();
    Ok(Address {
        platform: Platform::CLI,
        account: AccountId::new("local").map_err(wrong)?,
        chat: ChatId::new(TERMINAL_CHAT).map_err(wrong)?,
        chat_type: ChatType::Dm,
        topic: None,
        parent: None,
        community: None,
        user: Some(UserId::new("local").map_err(wrong)?),
        roles: Vec::new(),
    })
}

/// A time that is counted in seconds.
fn millis(seconds: f64) -> Timestamp {
    // Times beyond what can be counted are damage, and become the nearest that can.
    Timestamp::from_millis((seconds * 1000.0).clamp(0.0, 253_402_300_799_000.0) as i64)
}

/// Gives each profile the conversations that another's database has of it.
pub(super) fn hand_over(plan: &mut Plan) {
    let Some((root, others)) = plan.agents.split_first_mut() else { return };
    let mut kept = Vec::new();
    for mut session in std::mem::take(&mut root.sessions) {
        let owner =
            session.source_id.split_once('/').map(|(owner, id)| (owner.to_owned(), id.to_owned()));
        let of = owner.and_then(|(owner, id)| {
            let agent = others.iter_mut().find(|it| it.origin == owner)?;
            Some((agent, id))
        });
        match of {
            Some((agent, id)) => {
                session.source_id = id;
                agent.sessions.push(session);
            }
            None => kept.push(session),
        }
    }
    root.sessions = kept;
}

/// The messages of one conversation.
pub(crate) fn messages(copy: &Copy, session: &SessionPlan) -> Result<Vec<MessagePlan>, String> {
    let text = |error: rusqlite::Error| error.to_string();
    let columns = copy.columns("messages");
    let column = |name: &str| match columns.contains(name) {
        true => format!("m.{name}"),
        false => "NULL".to_owned(),
    };
    let id = session.source_id.rsplit('/').next().unwrap_or(&session.source_id);
    let query = format!(
        "SELECT m.role, m.content, m.timestamp, {}, {}, {}, {} FROM messages m
         WHERE m.session_id = ?1{} ORDER BY m.id",
        column("tool_calls"),
        column("tool_call_id"),
        column("reasoning"),
        column("observed"),
        standing(copy),
    );
    let mut statement = copy.sql.prepare(&query).map_err(text)?;
    let rows = statement.query_map([id], |row| Ok(message(row))).map_err(text)?;
    let mut found = Vec::new();
    for row in rows {
        found.push(row.map_err(text)?.map_err(text)?);
    }
    Ok(found)
}

fn message(row: &Row<'_>) -> rusqlite::Result<MessagePlan> {
    let role: String = row.get(0)?;
    let content: Option<String> = row.get(1).ok().flatten();
    let text = |index: usize| {
        row.get::<_, Option<String>>(index).ok().flatten().filter(|it| !it.is_empty())
    };
    let voice = match role.as_str() {
        "user" => Voice::User,
        "assistant" => Voice::Assistant,
        "tool" => Voice::Tool,
        _ => Voice::System,
    };
    let mut parts = Vec::new();
    parts.extend(text(5).map(PartPlan::Reasoning));
    let said = content.map(|content| said(&content)).unwrap_or_default();
    match voice {
        Voice::Tool => parts.push(PartPlan::Result {
            call: text(4).unwrap_or_default(),
            text: said.iter().map(part_text).collect::<Vec<_>>().join("\n"),
            is_error: false,
        }),
        _ => parts.extend(said),
    }
    parts.extend(text(3).map(|calls| calls_of(&calls)).unwrap_or_default());
    let at = millis(row.get::<_, f64>(2).unwrap_or_default());
    Ok(MessagePlan { voice, parts, at, sender: None })
}

fn part_text(part: &PartPlan) -> &str {
    match part {
        PartPlan::Text(text) | PartPlan::Beside(text) => text,
        _ => "",
    }
}

/// What was said, in its parts.
fn said(content: &str) -> Vec<PartPlan> {
    let Some(list) = content.strip_prefix(PARTS_MARK) else {
        return match content.is_empty() {
            true => Vec::new(),
            false => vec![PartPlan::Text(content.to_owned())],
        };
    };
    let Ok(Value::Array(items)) = serde_json::from_str(list) else {
        return vec![PartPlan::Text(list.to_owned())];
    };
    items.iter().map(crate::content::part).collect()
}

/// The calls that a message asks for.
fn calls_of(text: &str) -> Vec<PartPlan> {
    let Ok(Value::Array(calls)) = serde_json::from_str(text) else { return Vec::new() };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let one = |call: &Value| PartPlan::Call {
        id: text(&call["id"]),
        name: text(&call["function"]["name"]),
        arguments: text(&call["function"]["arguments"]),
    };
    calls.iter().map(one).collect()
}
