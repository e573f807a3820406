//! What each command does to a board.

use super::super::sql::CommandFault;
use crate::board::{
    BoardCommand, CARD_PARTS_MAX, CARDS_MAX, CardComment, CardEvent, CardFile, CardNotice, CardRow,
    CardRun, LAST_ADDED,
};
use crate::error::StoreError;
use insula_domain::{AgentId, CardId};
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, named_params};

/// Applies a batch, in order; the numbers of the cards that it added.
pub(super) fn batch(sql: &Connection, batch: &[BoardCommand]) -> Result<Vec<CardId>, CommandFault> {
    let mut added = Vec::new();
    for command in batch {
        let last = added.last().copied();
        let named = |card: CardId| -> Result<i64, CommandFault> {
            match (card, last) {
                (LAST_ADDED, Some(CardId(last))) => Ok(last),
                (LAST_ADDED, None) => Err(StoreError::NoCard { card }.into()),
                (CardId(number), _) => Ok(number),
            }
        };
        match command {
            BoardCommand::Add(row) => added.push(add(sql, row)?),
            BoardCommand::Put(row) => put(sql, row)?,
            BoardCommand::Need { card, needs } => need(sql, named(*card)?, named(*needs)?)?,
            BoardCommand::Comment(it) => comment(sql, named(it.card)?, it)?,
            BoardCommand::Attach(file, bytes) => attach(sql, named(file.card)?, file, bytes)?,
            BoardCommand::Run(it) => run(sql, named(it.card)?, it)?,
            BoardCommand::Event(it) => event(sql, named(it.card)?, it)?,
            BoardCommand::Notice(it) => notice(sql, named(it.card)?, it)?,
            BoardCommand::Told { notice } => {
                sql.prepare_cached("DELETE FROM notice WHERE id = ?1")?.execute([notice])?;
            }
        }
    }
    Ok(added)
}

fn millis(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_millis)
}

fn id(agent: Option<&AgentId>) -> Option<&str> {
    agent.map(AgentId::as_str)
}

fn count(sql: &Connection, statement: &str, card: i64) -> rusqlite::Result<u64> {
    let count: i64 = sql.prepare_cached(statement)?.query_row([card], |row| row.get(0))?;
    Ok(count.cast_unsigned())
}

fn room(what: &'static str, len: u64, max: u64) -> Result<(), CommandFault> {
    if len < max {
        return Ok(());
    }
    let whole = |number| usize::try_from(number).unwrap_or(usize::MAX);
    Err(StoreError::TooLong { what, len: whole(len + 1), max: whole(max) }.into())
}

/// Binds what a card says, under the names of its columns.
fn bind(
    sql: &Connection,
    statement: &str,
    (row, version): (&CardRow, i64),
) -> rusqlite::Result<usize> {
    let tags = serde_json::to_string(&row.tags).unwrap_or_else(|_| "[]".to_owned());
    sql.prepare_cached(statement)?.execute(named_params! {
        ":id": (row.id != LAST_ADDED).then_some(row.id.0),
        ":version": version,
        ":title": row.title,
        ":body": row.body,
        ":label": row.label,
        ":author": row.author.as_str(),
        ":author_agent": id(row.author_agent.as_ref()),
        ":place": row.place,
        ":status": row.status.as_str(),
        ":block": row.block.map(|kind| kind.as_str()),
        ":why": row.why,
        ":assignee": row.assignee,
        ":reviewer": row.reviewer,
        ":priority": row.priority,
        ":due_at": millis(row.due_at),
        ":start_at": millis(row.start_at),
        ":tags": tags,
        ":split_from": row.split_from.map(|card| card.0),
        ":depth": row.depth,
        ":worker": row.worker,
        ":run": row.run,
        ":lease_until": millis(row.lease_until),
        ":failures": row.failures,
        ":reworks": row.reworks,
        ":result": row.result,
        ":result_label": row.result_label,
        ":result_by": row.result_by,
        ":tokens": row.tokens.cast_signed(),
        ":usd_micros": row.usd_micros.cast_signed(),
        ":made_at": row.made_at.as_millis(),
        ":changed_at": row.changed_at.as_millis(),
        ":done_at": millis(row.done_at),
        ":request": row.request,
    })
}

fn add(sql: &Connection, row: &CardRow) -> Result<CardId, CommandFault> {
    if let Some(request) = &row.request {
        let known = "SELECT 1 FROM card WHERE request = ?1";
        let known = sql.prepare_cached(known)?.query_row([request], |_| Ok(())).optional()?;
        if known.is_some() {
            return Err(StoreError::OtherRequest.into());
        }
    }
    let cards = sql
        .prepare_cached("SELECT count(*) FROM card")?
        .query_row([], |row| row.get::<_, i64>(0))?;
    room("a board's list of cards", cards.cast_unsigned(), CARDS_MAX)?;
    let row = CardRow { id: LAST_ADDED, ..row.clone() };
    bind(
        sql,
        "INSERT INTO card VALUES (:id, :version, :title, :body, :label, :author, :author_agent,
             :place, :status, :block, :why, :assignee, :reviewer, :priority, :due_at, :start_at,
             :tags, :split_from, :depth, :worker, :run, :lease_until, :failures, :reworks, :result,
             :result_label, :result_by, :tokens, :usd_micros, :made_at, :changed_at, :done_at,
             :request)",
        (&row, 1),
    )?;
    Ok(CardId(sql.last_insert_rowid()))
}

fn put(sql: &Connection, row: &CardRow) -> Result<(), CommandFault> {
    // All of it is bound, so all of it is named; who made it and when never changes.
    let changed = bind(
        sql,
        "UPDATE card SET version = :version, title = :title, body = :body, label = :label,
             status = :status, block = :block, why = :why, assignee = :assignee,
             reviewer = :reviewer, priority = :priority, due_at = :due_at, start_at = :start_at,
             tags = :tags, worker = :worker, run = :run, lease_until = :lease_until,
             failures = :failures, reworks = :reworks, result = :result,
             result_label = :result_label, result_by = :result_by, tokens = :tokens,
             usd_micros = :usd_micros, changed_at = :changed_at, done_at = :done_at
         WHERE id = :id AND version = :version - 1
             AND author = :author AND author_agent IS :author_agent AND place IS :place
             AND split_from IS :split_from AND depth = :depth AND made_at = :made_at
             AND request IS :request",
        (row, row.version + 1),
    )?;
    match changed {
        1 => Ok(()),
        _ => Err(StoreError::CardChanged { card: row.id }.into()),
    }
}

fn need(sql: &Connection, card: i64, needs: i64) -> Result<(), CommandFault> {
    let known = "SELECT count(*) FROM need WHERE card = ?1";
    room("what a card waits for", count(sql, known, card)?, CARD_PARTS_MAX)?;
    sql.prepare_cached("INSERT OR IGNORE INTO need VALUES (?1, ?2)")?.execute((card, needs))?;
    Ok(())
}

fn comment(sql: &Connection, card: i64, it: &CardComment) -> Result<(), CommandFault> {
    let known = "SELECT count(*) FROM comment WHERE card = ?1";
    room("a card's list of comments", count(sql, known, card)?, CARD_PARTS_MAX)?;
    sql.prepare_cached(
        "INSERT INTO comment (card, author, agent, at, label, text)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        card,
        it.author.as_str(),
        id(it.agent.as_ref()),
        it.at.as_millis(),
        &it.label,
        &it.text,
    ))?;
    Ok(())
}

fn attach(sql: &Connection, card: i64, file: &CardFile, bytes: &[u8]) -> Result<(), CommandFault> {
    let known = "SELECT count(*) FROM file WHERE card = ?1";
    room("a card's list of files", count(sql, known, card)?, CARD_PARTS_MAX)?;
    sql.prepare_cached("INSERT OR IGNORE INTO file VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
        .execute((
            card,
            &file.hash,
            &file.name,
            file.author.as_str(),
            id(file.agent.as_ref()),
            file.at.as_millis(),
            &file.label,
            bytes,
        ))?;
    Ok(())
}

fn run(sql: &Connection, card: i64, run: &CardRun) -> Result<(), CommandFault> {
    sql.prepare_cached(
        "INSERT OR REPLACE INTO run VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute((
        card,
        run.run,
        &run.kind,
        &run.worker,
        run.began_at.as_millis(),
        run.beat_at.as_millis(),
        &run.note,
        millis(run.ended_at),
        &run.outcome,
        &run.why,
        run.turn.map(|turn| turn.0),
    ))?;
    Ok(())
}

fn event(sql: &Connection, card: i64, it: &CardEvent) -> Result<(), CommandFault> {
    sql.prepare_cached(
        "INSERT INTO event (card, at, actor, kind, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((card, it.at.as_millis(), &it.actor, &it.kind, &it.detail))?;
    Ok(())
}

fn notice(sql: &Connection, card: i64, it: &CardNotice) -> Result<(), CommandFault> {
    sql.prepare_cached(
        "INSERT INTO notice (card, run, agent, place, asker, label, text)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute((
        card,
        it.run,
        it.agent.as_str(),
        &it.place,
        it.asker.as_str(),
        &it.label,
        &it.text,
    ))?;
    Ok(())
}
