//! Proofs as text: one JSON object a line, each in the one way it can be written.
//!
//! A line that was not written exactly so is refused, so that no two readers of it can see
//! different things: no other order, no field twice, none besides. All of it is ASCII: a terminal
//! shows it as it is, and nothing on its way has a reason to change it.

use super::{ScopeRecord, Signature, Statement, Words};
use crate::audit::AUDIT_CONTENT_BYTES_MAX;
use crate::digest::Bytes32;
use insula_world::Timestamp;
use serde_json::{Value, json};

/// The form of these texts.
const VERSION: u64 = 1;

/// Longest line: a content of which each byte is written as six, and the rest of a record.
pub const LINE_BYTES_MAX: usize = 6 * AUDIT_CONTENT_BYTES_MAX + 64 * 1024;

/// A line, as it was read.
pub(super) enum Line {
    Begin { agent: Box<str>, scope: Box<str>, first: u64, before: Bytes32 },
    Record(Box<ShownRecord>),
    LeftOut { seq: u64, body: Bytes32, link: Bytes32 },
    End { last: u64, head: Bytes32, at: Timestamp, key: Bytes32, signature: Box<Signature> },
}

/// The fields of a record.
pub(super) struct ShownRecord {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) actor: String,
    pub(super) kind: String,
    pub(super) session: Option<String>,
    pub(super) generation: u64,
    pub(super) words: Option<Words>,
    pub(super) commitment: Bytes32,
    pub(super) link: Bytes32,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes<const N: usize>(value: &Value) -> Option<[u8; N]> {
    let text = value.as_str().filter(|text| text.len() == 2 * N && text.is_ascii())?;
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// JSON in ASCII.
fn line(value: &Value) -> String {
    let mut line = String::new();
    for letter in value.to_string().chars() {
        match letter {
            ' '..='~' => line.push(letter),
            other => {
                let units = &mut [0; 2];
                let units = other.encode_utf16(units).iter();
                units.for_each(|unit| line.push_str(&format!("\\u{unit:04x}")));
            }
        }
    }
    line
}

/// The first line: whose records follow, and from where on.
pub fn begin_line(agent: &str, scope: &str, first: u64, before: &Bytes32) -> String {
    line(&json!({
        "insula_audit_proof": VERSION,
        "agent": agent,
        "scope": scope,
        "first": first,
        "before": hex(before),
    }))
}

/// A record.
pub fn record_line(of: &ScopeRecord) -> String {
    let record = &of.record;
    shown_line(&ShownRecord {
        seq: of.seq,
        at: record.at,
        actor: record.actor.to_string(),
        kind: record.kind.to_string(),
        session: record.session.as_deref().map(str::to_owned),
        generation: record.generation,
        words: of.words.clone(),
        commitment: of.commitment,
        link: of.link,
    })
}

fn shown_line(record: &ShownRecord) -> String {
    line(&json!({
        "seq": record.seq,
        "at": record.at.to_string(),
        "at_ms": record.at.as_millis(),
        "actor": record.actor,
        "kind": record.kind,
        "session": record.session,
        "generation": record.generation,
        "content": record.words.as_ref().map(|words| &words.text),
        "salt": record.words.as_ref().map(|words| hex(&words.salt)),
        "commitment": hex(&record.commitment),
        "link": hex(&record.link),
    }))
}

/// A record of the same scope that is not shown.
pub fn left_out_line(seq: u64, body: &Bytes32, link: &Bytes32) -> String {
    line(&json!({ "seq": seq, "left_out": hex(body), "link": hex(link) }))
}

/// The last line: where the records end, and who says so.
pub fn end_line(statement: &Statement, key: &Bytes32, signature: &Signature) -> String {
    line(&json!({
        "last": statement.last,
        "head": hex(&statement.head),
        "at": statement.at.to_string(),
        "at_ms": statement.at.as_millis(),
        "key": hex(key),
        "signature": hex(signature),
    }))
}

/// Reads a line; `None` for one that is none of these, or written otherwise.
pub(super) fn read(text: &str) -> Option<Line> {
    let value: Value = serde_json::from_str(text).ok()?;
    let line = parse(&value)?;
    (written(&line) == text).then_some(line)
}

fn parse(value: &Value) -> Option<Line> {
    let words = |name: &str| value[name].as_str().map(str::to_owned);
    let number = |name: &str| value[name].as_u64();
    let time = || value["at_ms"].as_i64().map(Timestamp::from_millis);
    if value.get("insula_audit_proof").is_some() {
        return Some(Line::Begin {
            agent: words("agent")?.into(),
            scope: words("scope")?.into(),
            first: number("first")?,
            before: bytes(&value["before"])?,
        });
    }
    if value.get("signature").is_some() {
        return Some(Line::End {
            last: number("last")?,
            head: bytes(&value["head"])?,
            at: time()?,
            key: bytes(&value["key"])?,
            signature: Box::new(bytes(&value["signature"])?),
        });
    }
    let (seq, link) = (number("seq")?, bytes(&value["link"])?);
    if let Some(body) = value.get("left_out") {
        return Some(Line::LeftOut { seq, body: bytes(body)?, link });
    }
    let words_of_it = match (&value["content"], &value["salt"]) {
        (Value::Null, Value::Null) => None,
        (Value::String(text), salt) => Some(Words { text: text.clone(), salt: bytes(salt)? }),
        _ => return None,
    };
    let session = match &value["session"] {
        Value::Null => None,
        session => Some(session.as_str()?.to_owned()),
    };
    Some(Line::Record(Box::new(ShownRecord {
        seq,
        at: time()?,
        actor: words("actor")?,
        kind: words("kind")?,
        session,
        generation: number("generation")?,
        words: words_of_it,
        commitment: bytes(&value["commitment"])?,
        link,
    })))
}

fn written(line: &Line) -> String {
    match line {
        Line::Begin { agent, scope, first, before } => begin_line(agent, scope, *first, before),
        Line::Record(record) => shown_line(record),
        Line::LeftOut { seq, body, link } => left_out_line(*seq, body, link),
        Line::End { last, head, at, key, signature } => {
            let (agent, scope) = Default::default();
            let (first, before) = (0, [0; 32]);
            let (last, head, at) = (*last, *head, *at);
            let statement = Statement { agent, scope, first, before, last, head, at };
            end_line(&statement, key, signature)
        }
    }
}
