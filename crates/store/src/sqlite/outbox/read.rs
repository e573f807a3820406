//! Reading deliveries, where replies go, and buttons.

use crate::id::{MessageSeq, SessionId, TurnId};
use crate::outbox::{
    Button, Content, DELIVERIES_MAX, Delivery, DeliveryDestination, DeliveryId, DeliveryState,
    Lane, NewButton, Provisional, SentPart, TurnOrigin,
};
use crate::sqlite::sql::bad_value;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

/// What stands for no session.
pub(crate) const NO_SESSION: i64 = 0;

/// The codes of [`Provisional`]. Never changed.
pub(crate) mod provisional {
    pub(crate) const NONE: i64 = 0;
    pub(crate) const BEGUN: i64 = 1;
    pub(crate) const SHOWN: i64 = 2;
}

const COLUMNS: &str = "id, session, turn, message, text, key, provisional, shown, name, state,
    attempts, doubts, next_at, why, queued_at, changed_at, platform, account, chat, chat_type,
    topic, reply_to, tried_at";

fn capped(limit: usize) -> i64 {
    i64::try_from(limit.min(DELIVERIES_MAX)).unwrap_or(i64::MAX)
}

pub(crate) fn one(sql: &Connection, id: DeliveryId) -> rusqlite::Result<Option<Delivery>> {
    let found = sql
        .prepare_cached(&format!("SELECT {COLUMNS} FROM delivery WHERE id = ?1"))?
        .query_row([id.0], delivery)
        .optional()?;
    found.map(|found| with_parts(sql, found)).transpose()
}

pub(crate) fn named(sql: &Connection, name: &str) -> rusqlite::Result<Option<Delivery>> {
    let found = sql
        .prepare_cached(&format!("SELECT {COLUMNS} FROM delivery WHERE name = ?1"))?
        .query_row([name], delivery)
        .optional()?;
    found.map(|found| with_parts(sql, found)).transpose()
}

pub(crate) fn named_like(sql: &Connection, begin: &str) -> rusqlite::Result<Vec<Delivery>> {
    // Every name that begins so comes before this one.
    let end = format!("{begin}{}", char::MAX);
    let found = sql
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM delivery WHERE name >= ?1 AND name < ?2 ORDER BY id LIMIT ?3"
        ))?
        .query_map((begin, end, capped(DELIVERIES_MAX)), delivery)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    found.into_iter().map(|found| with_parts(sql, found)).collect()
}

pub(crate) fn head(sql: &Connection, lane: &Lane) -> rusqlite::Result<Option<Delivery>> {
    let found = sql
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM delivery WHERE state < 3
             AND platform = ?1 AND account = ?2 AND chat = ?3 ORDER BY id LIMIT 1"
        ))?
        .query_row((&lane.platform, &lane.account, &lane.chat), delivery)
        .optional()?;
    found.map(|found| with_parts(sql, found)).transpose()
}

/// The heads of the chats, one seek each.
pub(crate) fn heads(
    sql: &Connection,
    mut after: Option<Lane>,
    limit: usize,
) -> rusqlite::Result<Vec<Delivery>> {
    let mut found = Vec::new();
    while found.len() < limit.min(DELIVERIES_MAX) {
        let next = match &after {
            None => sql
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM delivery WHERE state < 3
                     ORDER BY platform, account, chat, id LIMIT 1"
                ))?
                .query_row([], delivery)
                .optional()?,
            Some(lane) => sql
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM delivery WHERE state < 3
                     AND (platform, account, chat) > (?1, ?2, ?3)
                     ORDER BY platform, account, chat, id LIMIT 1"
                ))?
                .query_row((&lane.platform, &lane.account, &lane.chat), delivery)
                .optional()?,
        };
        let Some(next) = next else { break };
        after = Some(next.to.lane.clone());
        found.push(with_parts(sql, next)?);
    }
    Ok(found)
}

pub(crate) fn unsent(
    sql: &Connection,
    before: Option<DeliveryId>,
    limit: usize,
) -> rusqlite::Result<Vec<Delivery>> {
    let found: Vec<Delivery> = sql
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM delivery WHERE state <> 3 AND id < ?1
             ORDER BY id DESC LIMIT ?2"
        ))?
        .query_map((before.map_or(i64::MAX, |id| id.0), capped(limit)), delivery)?
        .collect::<rusqlite::Result<_>>()?;
    found.into_iter().map(|found| with_parts(sql, found)).collect()
}

pub(crate) fn of_turn(
    sql: &Connection,
    session: SessionId,
    turn: TurnId,
) -> rusqlite::Result<Vec<Delivery>> {
    sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM delivery WHERE session = ?1 AND turn = ?2 ORDER BY id LIMIT ?3"
    ))?
    .query_map((session.0, turn.0, capped(DELIVERIES_MAX)), delivery)?
    .collect()
}

pub(crate) fn next(sql: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let at: Option<i64> = sql
        .prepare_cached("SELECT min(next_at) FROM delivery WHERE state < 3")?
        .query_row([], |row| row.get(0))?;
    Ok(at.map(Timestamp::from_millis))
}

/// Whether something is not delivered yet.
pub(crate) fn any_open(sql: &Connection) -> rusqlite::Result<bool> {
    sql.prepare_cached("SELECT 1 FROM delivery WHERE state < 3 LIMIT 1")?.exists([])
}

pub(crate) fn origins(
    sql: &Connection,
    after: TurnId,
    limit: usize,
) -> rusqlite::Result<Vec<TurnOrigin>> {
    sql.prepare_cached(
        "SELECT origin.turn, origin.session, session.key, platform, account, chat, chat_type,
             topic, reply_to, origin.key, provisional, shown, origin.tried_at
         FROM origin JOIN session ON session.id = origin.session
         WHERE origin.turn > ?1 ORDER BY origin.turn LIMIT ?2",
    )?
    .query_map((after.0, capped(limit)), |row| {
        Ok(TurnOrigin {
            turn: TurnId(row.get(0)?),
            session: SessionId(row.get(1)?),
            key: row.get(2)?,
            to: destination(row, 3)?,
            delivery_key: row.get(9)?,
            provisional: shown(row, 10)?,
            tried_at: row.get::<_, Option<i64>>(12)?.map(Timestamp::from_millis),
        })
    })?
    .collect()
}

pub(crate) fn button(sql: &Connection, data: &str) -> rusqlite::Result<Option<Button>> {
    sql.prepare_cached(
        "SELECT data, label, meaning, delivery, session, turn FROM button
         JOIN delivery ON delivery.id = button.delivery WHERE data = ?1",
    )?
    .query_row([data], |row| {
        Ok(Button {
            button: new_button(row)?,
            delivery: DeliveryId(row.get(3)?),
            session: session(row.get(4)?),
            turn: row.get::<_, Option<i64>>(5)?.map(TurnId),
        })
    })
    .optional()
}

pub(crate) fn buttons_of(sql: &Connection, id: DeliveryId) -> rusqlite::Result<Vec<NewButton>> {
    sql.prepare_cached(
        "SELECT data, label, meaning FROM button WHERE delivery = ?1 ORDER BY number",
    )?
    .query_map([id.0], new_button)?
    .collect()
}

fn new_button(row: &Row<'_>) -> rusqlite::Result<NewButton> {
    Ok(NewButton { data: row.get(0)?, label: row.get(1)?, meaning: row.get(2)? })
}

fn session(id: i64) -> Option<SessionId> {
    (id != NO_SESSION).then_some(SessionId(id))
}

/// A destination in the columns from `first` on.
pub(crate) fn destination(row: &Row<'_>, first: usize) -> rusqlite::Result<DeliveryDestination> {
    Ok(DeliveryDestination {
        lane: Lane {
            platform: row.get(first)?,
            account: row.get(first + 1)?,
            chat: row.get(first + 2)?,
        },
        chat_type: row.get(first + 3)?,
        topic: row.get(first + 4)?,
        reply_to: row.get(first + 5)?,
    })
}

/// What was shown before, in the two columns from `first` on.
fn shown(row: &Row<'_>, first: usize) -> rusqlite::Result<Provisional> {
    match row.get(first)? {
        provisional::NONE => Ok(Provisional::None),
        provisional::BEGUN => Ok(Provisional::Begun),
        provisional::SHOWN => row.get(first + 1).map(Provisional::Shown),
        _ => Err(bad_value(first)),
    }
}

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let content = match (row.get::<_, Option<i64>>(3)?, row.get(4)?) {
        (Some(seq), _) => Content::Message(MessageSeq(seq.cast_unsigned())),
        (None, Some(text)) => Content::Text(text),
        (None, None) => Content::TurnEnd,
    };
    let time = |column| row.get(column).map(Timestamp::from_millis);
    Ok(Delivery {
        id: DeliveryId(row.get(0)?),
        session: session(row.get(1)?),
        turn: row.get::<_, Option<i64>>(2)?.map(TurnId),
        content,
        key: row.get(5)?,
        provisional: shown(row, 6)?,
        name: row.get(8)?,
        state: DeliveryState::from_code(row.get(9)?).ok_or_else(|| bad_value(9))?,
        attempts: row.get(10)?,
        doubts: row.get(11)?,
        tried_at: row.get::<_, Option<i64>>(22)?.map(Timestamp::from_millis),
        next_at: time(12)?,
        why: row.get(13)?,
        queued_at: time(14)?,
        changed_at: time(15)?,
        to: destination(row, 16)?,
        sent: Vec::new(),
    })
}

fn with_parts(sql: &Connection, mut delivery: Delivery) -> rusqlite::Result<Delivery> {
    delivery.sent = sql
        .prepare_cached(
            "SELECT message, upto FROM delivery_part WHERE delivery = ?1 ORDER BY number",
        )?
        .query_map([delivery.id.0], |row| {
            Ok(SentPart { message: row.get(0)?, upto: row.get::<_, i64>(1)?.cast_unsigned() })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(delivery)
}
