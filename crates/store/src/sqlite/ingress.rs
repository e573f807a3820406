//! What stands before an agent's conversations, in SQLite.

use crate::agent::CommandOutcome;
use crate::ingress::{
    CONTEXT_ROWS_MAX, EventName, INGRESS_ROWS_MAX, InboxRow, IngressCommand, JoinedChat, NewInbox,
    Pairing, PairingAsked, PairingRequest, PlatformUser, Tries,
};
use crate::sqlite::sql::actor;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

/// Does what a command says.
pub(crate) fn apply(
    sql: &Connection,
    command: &IngressCommand,
) -> rusqlite::Result<CommandOutcome> {
    match command {
        IngressCommand::AskPairing { request, last_before, waiting_max } => {
            return ask(sql, request, *last_before, *waiting_max).map(CommandOutcome::Asked);
        }
        IngressCommand::Pair(new) => {
            let PlatformUser { platform, account, user } = &new.who;
            sql.prepare_cached(
                "UPDATE pairing_request SET expires_at = min(expires_at, asked_at)
                 WHERE platform = ?1 AND account = ?2 AND user = ?3",
            )?
            .execute((platform, account, user))?;
            sql.prepare_cached("INSERT OR REPLACE INTO pairing VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                .execute((platform, account, user, &new.name, new.by.as_str(), new.at.as_millis()))?;
        }
        IngressCommand::Unpair { platform, user } => {
            sql.prepare_cached("DELETE FROM pairing WHERE platform = ?1 AND user = ?2")?
                .execute((platform, user))?;
            sql.prepare_cached(
                "UPDATE pairing_request SET expires_at = min(expires_at, asked_at)
                 WHERE platform = ?1 AND user = ?2",
            )?
            .execute((platform, user))?;
        }
        IngressCommand::PrunePairings { before } => {
            sql.prepare_cached("DELETE FROM pairing_request WHERE expires_at < ?1")?
                .execute([before.as_millis()])?;
        }
        IngressCommand::PutTries { platform, tries } => {
            sql.prepare_cached("INSERT OR REPLACE INTO pairing_tries VALUES (?1, ?2, ?3)")?
                .execute((platform, tries.wrong, tries.until.as_millis()))?;
        }
        IngressCommand::Join(new) => {
            sql.prepare_cached("INSERT OR IGNORE INTO joined_chat VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute((
                    &new.platform,
                    &new.account,
                    &new.chat,
                    new.by.as_str(),
                    new.at.as_millis(),
                ))?;
        }
        IngressCommand::Leave { platform, account, chat } => {
            sql.prepare_cached(
                "DELETE FROM joined_chat WHERE platform = ?1 AND account = ?2 AND chat = ?3",
            )?
            .execute((platform, account, chat))?;
        }
        IngressCommand::Keep(new) => return keep(sql, new).map(CommandOutcome::Kept),
        IngressCommand::Drop(ids) => {
            let mut delete = sql.prepare_cached("DELETE FROM inbox WHERE id = ?1")?;
            for id in ids {
                delete.execute([id])?;
            }
        }
        IngressCommand::Edit { chat, message, sender, content } => {
            sql.prepare_cached(
                "UPDATE inbox SET content = ?4 WHERE chat = ?1 AND message = ?2 AND sender = ?3",
            )?
            .execute((chat, message, sender.as_str(), content))?;
        }
        IngressCommand::Amend { row, was, content } => {
            sql.prepare_cached("UPDATE inbox SET content = ?3 WHERE id = ?1 AND content = ?2")?
                .execute((row, was, content))?;
        }
        IngressCommand::Withdraw { chat, message } => {
            sql.prepare_cached("DELETE FROM inbox WHERE chat = ?1 AND message = ?2")?
                .execute((chat, message))?;
        }
        IngressCommand::Note { event, at } => note(sql, event, *at).map(drop)?,
        IngressCommand::PruneEvents { before } => {
            sql.prepare_cached("DELETE FROM event_taken WHERE at < ?1")?
                .execute([before.as_millis()])?;
        }
    }
    Ok(CommandOutcome::Done)
}

/// Notes a request to be let in, if it is not too soon and there is a place.
fn ask(
    sql: &Connection,
    new: &PairingRequest,
    last_before: Timestamp,
    waiting_max: u32,
) -> rusqlite::Result<PairingAsked> {
    let PlatformUser { platform, account, user } = &new.who;
    let asked: Option<i64> = sql
        .prepare_cached(
            "SELECT asked_at FROM pairing_request
             WHERE platform = ?1 AND account = ?2 AND user = ?3",
        )?
        .query_row((platform, account, user), |row| row.get(0))
        .optional()?;
    if asked.is_some_and(|asked| asked > last_before.as_millis()) {
        return Ok(PairingAsked::TooSoon);
    }
    let others: u32 = sql
        .prepare_cached(
            "SELECT count(*) FROM pairing_request
             WHERE platform = ?1 AND account = ?2 AND user <> ?3 AND expires_at > ?4",
        )?
        .query_row((platform, account, user, new.asked_at.as_millis()), |row| row.get(0))?;
    if others >= waiting_max {
        return Ok(PairingAsked::Full);
    }
    sql.prepare_cached(
        "INSERT OR REPLACE INTO pairing_request VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute((
        platform,
        account,
        user,
        &new.name,
        &new.place,
        &new.salt,
        &new.code,
        new.asked_at.as_millis(),
        new.expires_at.as_millis(),
    ))?;
    Ok(PairingAsked::Noted)
}

/// Notes an event; whether it was new.
fn note(sql: &Connection, event: &EventName, at: Timestamp) -> rusqlite::Result<bool> {
    let noted = sql
        .prepare_cached("INSERT OR IGNORE INTO event_taken VALUES (?1, ?2, ?3)")?
        .execute((&event.who, &event.key, at.as_millis()))?;
    Ok(noted > 0)
}

fn keep(sql: &Connection, new: &NewInbox) -> rusqlite::Result<Option<i64>> {
    if is_journalled(sql, &new.event)? || !note(sql, &new.event, new.at)? {
        return Ok(None);
    }
    let id = sql
        .prepare_cached(
            "INSERT INTO inbox (session, chat, message, sender, waits, at, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .insert((
            &new.session,
            &new.chat,
            &new.message,
            new.sender.as_str(),
            new.waits,
            new.at.as_millis(),
            &new.content,
        ))?;
    if !new.waits {
        sql.prepare_cached(
            "DELETE FROM inbox WHERE session = ?1 AND waits = 0 AND id <= (
                 SELECT id FROM inbox WHERE session = ?1 AND waits = 0
                 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute((&new.session, CONTEXT_ROWS_MAX))?;
    }
    Ok(Some(id))
}

/// Whether an event is a message of a turn.
fn is_journalled(sql: &Connection, event: &EventName) -> rusqlite::Result<bool> {
    sql.prepare_cached("SELECT 1 FROM idempotency WHERE who = ?1 AND key = ?2")?
        .exists((&event.who, &event.key))
}

/// Whether an event was dealt with.
pub(crate) fn has_event(sql: &Connection, event: &EventName) -> rusqlite::Result<bool> {
    let mut noted = sql.prepare_cached("SELECT 1 FROM event_taken WHERE who = ?1 AND key = ?2")?;
    Ok(noted.exists((&event.who, &event.key))? || is_journalled(sql, event)?)
}

/// Whether a message waits for a turn.
pub(crate) fn any_waiting(sql: &Connection) -> rusqlite::Result<bool> {
    sql.prepare_cached("SELECT 1 FROM inbox WHERE waits = 1 LIMIT 1")?.exists([])
}

/// Drops what was said in a conversation and is in no turn.
pub(crate) fn forget(sql: &Connection, session: &str) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM inbox WHERE session = ?1")?.execute([session]).map(drop)
}

fn platform_user(row: &Row<'_>) -> rusqlite::Result<PlatformUser> {
    Ok(PlatformUser { platform: row.get(0)?, account: row.get(1)?, user: row.get(2)? })
}

pub(crate) fn requests(sql: &Connection) -> rusqlite::Result<Vec<PairingRequest>> {
    sql.prepare_cached("SELECT * FROM pairing_request ORDER BY asked_at, user LIMIT ?1")?
        .query_map([INGRESS_ROWS_MAX], |row| {
            Ok(PairingRequest {
                who: platform_user(row)?,
                name: row.get(3)?,
                place: row.get(4)?,
                salt: row.get(5)?,
                code: row.get(6)?,
                asked_at: Timestamp::from_millis(row.get(7)?),
                expires_at: Timestamp::from_millis(row.get(8)?),
            })
        })?
        .collect()
}

pub(crate) fn pairings(sql: &Connection) -> rusqlite::Result<Vec<Pairing>> {
    sql.prepare_cached("SELECT * FROM pairing ORDER BY platform, user, account LIMIT ?1")?
        .query_map([INGRESS_ROWS_MAX], |row| {
            Ok(Pairing {
                who: platform_user(row)?,
                name: row.get(3)?,
                by: actor(row, 4)?,
                at: Timestamp::from_millis(row.get(5)?),
            })
        })?
        .collect()
}

pub(crate) fn tries(sql: &Connection, platform: &str) -> rusqlite::Result<Option<Tries>> {
    sql.prepare_cached("SELECT wrong, until FROM pairing_tries WHERE platform = ?1")?
        .query_row([platform], |row| {
            Ok(Tries { wrong: row.get(0)?, until: Timestamp::from_millis(row.get(1)?) })
        })
        .optional()
}

pub(crate) fn joined(sql: &Connection) -> rusqlite::Result<Vec<JoinedChat>> {
    sql.prepare_cached("SELECT * FROM joined_chat ORDER BY platform, account, chat LIMIT ?1")?
        .query_map([INGRESS_ROWS_MAX], |row| {
            Ok(JoinedChat {
                platform: row.get(0)?,
                account: row.get(1)?,
                chat: row.get(2)?,
                by: actor(row, 3)?,
                at: Timestamp::from_millis(row.get(4)?),
            })
        })?
        .collect()
}

const INBOX: &str = "SELECT id, session, sender, waits, at, content FROM inbox";

fn inbox(row: &Row<'_>) -> rusqlite::Result<InboxRow> {
    Ok(InboxRow {
        id: row.get(0)?,
        session: row.get(1)?,
        sender: actor(row, 2)?,
        waits: row.get(3)?,
        at: Timestamp::from_millis(row.get(4)?),
        content: row.get(5)?,
    })
}

pub(crate) fn waiting(sql: &Connection) -> rusqlite::Result<Vec<InboxRow>> {
    sql.prepare_cached(&format!("{INBOX} WHERE waits = 1 ORDER BY id LIMIT ?1"))?
        .query_map([INGRESS_ROWS_MAX], inbox)?
        .collect()
}

pub(crate) fn context(
    sql: &Connection,
    session: &str,
    limit: usize,
) -> rusqlite::Result<Vec<InboxRow>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows: Vec<InboxRow> = sql
        .prepare_cached(&format!(
            "{INBOX} WHERE session = ?1 AND waits = 0 ORDER BY id DESC LIMIT ?2"
        ))?
        .query_map((session, limit), inbox)?
        .collect::<rusqlite::Result<_>>()?;
    rows.reverse();
    Ok(rows)
}
