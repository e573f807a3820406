//! Reading a board.

use super::super::sql::{actor, agent_id, bad_text};
use crate::board::{
    BOARD_ROWS_MAX, CARD_PARTS_MAX, CardComment, CardEvent, CardFile, CardFilter, CardGlance,
    CardNotice, CardRow, CardRun, CardWhole,
};
use crate::id::TurnId;
use insula_domain::{AgentId, BlockKind, CardId, CardStatus};
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Params, Row};

const CARD: &str = "id, version, title, body, label, author, author_agent, place, status, block, \
                    why, assignee, reviewer, priority, due_at, start_at, tags, split_from, depth, \
                    worker, run, lease_until, failures, reworks, result, result_label, result_by, \
                    tokens, usd_micros, made_at, changed_at, done_at, request";

fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
}

fn agent(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<AgentId>> {
    match row.get::<_, Option<String>>(column)? {
        Some(text) => AgentId::new(&text).map(Some).map_err(|_| bad_text(column)),
        None => Ok(None),
    }
}

fn status(row: &Row<'_>, column: usize) -> rusqlite::Result<CardStatus> {
    CardStatus::parse(row.get_ref(column)?.as_str()?).ok_or_else(|| bad_text(column))
}

fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Box<str>> {
    Ok(row.get::<_, String>(column)?.into())
}

fn maybe(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Box<str>>> {
    Ok(row.get::<_, Option<String>>(column)?.map(Into::into))
}

fn card_row(row: &Row<'_>) -> rusqlite::Result<CardRow> {
    let block = match row.get::<_, Option<String>>(9)? {
        Some(text) => Some(BlockKind::parse(&text).ok_or_else(|| bad_text(9))?),
        None => None,
    };
    let tags: Vec<Box<str>> =
        serde_json::from_str(&row.get::<_, String>(16)?).map_err(|_| bad_text(16))?;
    Ok(CardRow {
        id: CardId(row.get(0)?),
        version: row.get(1)?,
        title: row.get(2)?,
        body: row.get(3)?,
        label: text(row, 4)?,
        author: actor(row, 5)?,
        author_agent: agent(row, 6)?,
        place: row.get(7)?,
        status: status(row, 8)?,
        block,
        why: row.get(10)?,
        assignee: maybe(row, 11)?,
        reviewer: maybe(row, 12)?,
        priority: row.get(13)?,
        due_at: moment(row, 14)?,
        start_at: moment(row, 15)?,
        tags,
        split_from: row.get::<_, Option<i64>>(17)?.map(CardId),
        depth: row.get(18)?,
        worker: maybe(row, 19)?,
        run: row.get(20)?,
        lease_until: moment(row, 21)?,
        failures: row.get(22)?,
        reworks: row.get(23)?,
        result: row.get(24)?,
        result_label: maybe(row, 25)?,
        result_by: maybe(row, 26)?,
        tokens: row.get::<_, i64>(27)?.cast_unsigned(),
        usd_micros: row.get::<_, i64>(28)?.cast_unsigned(),
        made_at: Timestamp::from_millis(row.get(29)?),
        changed_at: Timestamp::from_millis(row.get(30)?),
        done_at: moment(row, 31)?,
        request: maybe(row, 32)?,
    })
}

fn rows(
    sql: &Connection,
    condition: &str,
    params: impl Params,
    limit: u32,
) -> rusqlite::Result<Vec<CardRow>> {
    let query = format!("SELECT {CARD} FROM card WHERE {condition} LIMIT {limit}");
    sql.prepare_cached(&query)?.query_map(params, card_row)?.collect()
}

/// Cards by their numbers.
pub(super) fn cards(
    sql: &Connection,
    filter: &CardFilter,
    limit: u32,
) -> rusqlite::Result<Vec<CardRow>> {
    // Bound as one text, so that a statement stays prepared whatever is asked.
    let wanted: Vec<&str> = match filter.status.is_empty() {
        true => CardStatus::ALL[..8].iter().map(|status| status.as_str()).collect(),
        false => filter.status.iter().map(|status| status.as_str()).collect(),
    };
    let wanted = format!(",{},", wanted.join(","));
    if let Some(before) = filter.before {
        return rows(
            sql,
            "id < ?1 AND instr(?2, ',' || status || ',') > 0 AND (?3 IS NULL OR assignee = ?3)
             ORDER BY id DESC",
            (before.0, wanted, &filter.assignee),
            limit,
        );
    }
    let after = filter.after.map_or(0, |card| card.0);
    rows(
        sql,
        "id > ?1 AND instr(?2, ',' || status || ',') > 0 AND (?3 IS NULL OR assignee = ?3)
         ORDER BY id",
        (after, wanted, &filter.assignee),
        limit,
    )
}

/// How many cards have each status.
pub(super) fn counts(sql: &Connection) -> rusqlite::Result<Vec<(CardStatus, u64)>> {
    sql.prepare_cached("SELECT status, count(*) FROM card GROUP BY status")?
        .query_map([], |row| Ok((status(row, 0)?, row.get::<_, i64>(1)?.max(0).cast_unsigned())))?
        .collect()
}

/// The number of the newest event; 0 where nothing has happened.
pub(super) fn last_event(sql: &Connection) -> rusqlite::Result<i64> {
    sql.prepare_cached("SELECT coalesce(max(seq), 0) FROM event")?.query_row([], |row| row.get(0))
}

/// What these cards look like from afar, in their order.
pub(super) fn glances(sql: &Connection, cards: &[CardId]) -> rusqlite::Result<Vec<CardGlance>> {
    let mut needs = sql.prepare_cached(
        "SELECT card.id FROM need JOIN card ON card.id = need.needs
         WHERE need.card = ?1 AND card.done_at IS NULL ORDER BY card.id",
    )?;
    let mut rest = sql.prepare_cached(
        "SELECT (SELECT count(*) FROM comment WHERE card = ?1),
                (SELECT count(*) FROM file WHERE card = ?1), beat_at, note
         FROM (SELECT 1) LEFT JOIN run ON run.card = ?1 AND run.ended_at IS NULL
         ORDER BY run DESC LIMIT 1",
    )?;
    let glance = |card: &CardId| {
        let needs = needs.query_map([card.0], |row| row.get(0).map(CardId))?;
        let needs = needs.collect::<rusqlite::Result<_>>()?;
        rest.query_row([card.0], |row| {
            Ok(CardGlance {
                needs,
                comments: row.get(0)?,
                files: row.get(1)?,
                beat_at: moment(row, 2)?,
                note: row.get(3)?,
            })
        })
    };
    cards.iter().map(glance).collect()
}

/// Cards that wait, or that nothing keeps waiting, and whether that is still so.
pub(super) fn waiting(sql: &Connection) -> rusqlite::Result<Vec<CardRow>> {
    rows(
        sql,
        "status IN ('todo', 'scheduled') OR (status = 'blocked' AND block = 'dependency')
         OR (status = 'triage' AND assignee IS NOT NULL)
         OR (status = 'ready' AND EXISTS (
             SELECT 1 FROM need JOIN card AS other ON other.id = need.needs
             WHERE need.card = card.id AND other.done_at IS NULL))
         ORDER BY id",
        [],
        BOARD_ROWS_MAX,
    )
}

/// Cards that somebody has.
pub(super) fn claimed(sql: &Connection) -> rusqlite::Result<Vec<CardRow>> {
    rows(sql, "worker IS NOT NULL ORDER BY id", [], BOARD_ROWS_MAX)
}

pub(super) fn requested(sql: &Connection, request: &str) -> rusqlite::Result<Option<CardId>> {
    sql.prepare_cached("SELECT id FROM card WHERE request = ?1")?
        .query_row([request], |row| row.get(0).map(CardId))
        .optional()
}

/// A card with all that belongs to it.
pub(super) fn whole(sql: &Connection, card: CardId) -> rusqlite::Result<Option<CardWhole>> {
    let Some(row) = rows(sql, "id = ?1", [card.0], 1)?.pop() else { return Ok(None) };
    let ids = |query: &str| -> rusqlite::Result<Vec<CardId>> {
        sql.prepare_cached(query)?.query_map([card.0], |row| row.get(0).map(CardId))?.collect()
    };
    let needs = sql
        .prepare_cached(
            "SELECT card.id, card.status, card.done_at FROM need
             JOIN card ON card.id = need.needs WHERE need.card = ?1 ORDER BY card.id",
        )?
        .query_map([card.0], |row| {
            // One that was put away after it was done is done.
            let is_done = row.get::<_, Option<i64>>(2)?.is_some();
            let status = if is_done { CardStatus::Done } else { status(row, 1)? };
            Ok((CardId(row.get(0)?), status))
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(CardWhole {
        row,
        needs,
        needed_by: ids("SELECT card FROM need WHERE needs = ?1 ORDER BY card")?,
        parts: ids("SELECT id FROM card WHERE split_from = ?1 ORDER BY id")?,
        comments: comments(sql, card)?,
        files: files(sql, card)?,
        runs: runs(sql, card)?,
    }))
}

fn comments(sql: &Connection, card: CardId) -> rusqlite::Result<Vec<CardComment>> {
    sql.prepare_cached(
        "SELECT author, agent, at, label, text FROM comment WHERE card = ?1 ORDER BY id LIMIT ?2",
    )?
    .query_map((card.0, CARD_PARTS_MAX.cast_signed()), |row| {
        Ok(CardComment {
            card,
            author: actor(row, 0)?,
            agent: agent(row, 1)?,
            at: Timestamp::from_millis(row.get(2)?),
            label: text(row, 3)?,
            text: row.get(4)?,
        })
    })?
    .collect()
}

fn files(sql: &Connection, card: CardId) -> rusqlite::Result<Vec<CardFile>> {
    sql.prepare_cached(
        "SELECT hash, name, author, agent, at, label, length(bytes) FROM file
         WHERE card = ?1 ORDER BY rowid",
    )?
    .query_map([card.0], |row| {
        Ok(CardFile {
            card,
            hash: text(row, 0)?,
            name: text(row, 1)?,
            author: actor(row, 2)?,
            agent: agent(row, 3)?,
            at: Timestamp::from_millis(row.get(4)?),
            label: text(row, 5)?,
            len: row.get::<_, i64>(6)?.cast_unsigned(),
        })
    })?
    .collect()
}

fn runs(sql: &Connection, card: CardId) -> rusqlite::Result<Vec<CardRun>> {
    sql.prepare_cached(
        "SELECT run, kind, worker, began_at, beat_at, note, ended_at, outcome, why, turn FROM run
         WHERE card = ?1 ORDER BY run",
    )?
    .query_map([card.0], |row| {
        Ok(CardRun {
            card,
            run: row.get(0)?,
            kind: text(row, 1)?,
            worker: text(row, 2)?,
            began_at: Timestamp::from_millis(row.get(3)?),
            beat_at: Timestamp::from_millis(row.get(4)?),
            note: row.get(5)?,
            ended_at: moment(row, 6)?,
            outcome: maybe(row, 7)?,
            why: row.get(8)?,
            turn: row.get::<_, Option<i64>>(9)?.map(TurnId),
        })
    })?
    .collect()
}

/// What happened after a place.
pub(super) fn events(
    sql: &Connection,
    after: i64,
    card: Option<CardId>,
    limit: u32,
) -> rusqlite::Result<Vec<CardEvent>> {
    sql.prepare_cached(
        "SELECT seq, card, at, actor, kind, detail FROM event
         WHERE seq > ?1 AND (?2 IS NULL OR card = ?2) ORDER BY seq LIMIT ?3",
    )?
    .query_map((after, card.map(|card| card.0), limit), |row| {
        Ok(CardEvent {
            seq: row.get(0)?,
            card: CardId(row.get(1)?),
            at: Timestamp::from_millis(row.get(2)?),
            actor: text(row, 3)?,
            kind: text(row, 4)?,
            detail: row.get(5)?,
        })
    })?
    .collect()
}

pub(super) fn notices(sql: &Connection) -> rusqlite::Result<Vec<CardNotice>> {
    sql.prepare_cached(
        "SELECT id, card, run, agent, place, asker, label, text FROM notice ORDER BY id LIMIT 100",
    )?
    .query_map([], |row| {
        Ok(CardNotice {
            id: row.get(0)?,
            card: CardId(row.get(1)?),
            run: row.get(2)?,
            agent: agent_id(row, 3)?,
            place: row.get(4)?,
            asker: actor(row, 5)?,
            label: text(row, 6)?,
            text: row.get(7)?,
        })
    })?
    .collect()
}

pub(super) fn file(
    sql: &Connection,
    card: CardId,
    hash: &str,
) -> rusqlite::Result<Option<Vec<u8>>> {
    sql.prepare_cached("SELECT bytes FROM file WHERE card = ?1 AND hash = ?2")?
        .query_row((card.0, hash), |row| row.get(0))
        .optional()
}
