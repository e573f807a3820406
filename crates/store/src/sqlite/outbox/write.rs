//! What each command does to the outbox, and what turns and sessions do to it.

use super::read::{NO_SESSION, provisional};
use crate::agent::CommandOutcome;
use crate::chain::Chain;
use crate::error::StoreError;
use crate::id::{MessageSeq, SessionId, TurnId};
use crate::outbox::{
    DeliveryDestination, DeliveryId, DeliveryState, Doubt, Enqueue, NewButton, OutboxCommand, Rest,
    Tried,
};
use crate::sqlite::sql::CommandFault;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};

/// Applies a command.
pub(crate) fn apply(
    sql: &Connection,
    chain: &Chain,
    command: &OutboxCommand,
) -> Result<CommandOutcome, CommandFault> {
    match command {
        OutboxCommand::Enqueue(new) => {
            return Ok(CommandOutcome::Enqueued(enqueue(sql, chain, new)?));
        }
        OutboxCommand::Begun { id, at } => begun(sql, *id, *at)?,
        OutboxCommand::Sent { id, part, rest, at } => {
            if let Some(part) = part
                && is_there(sql, *id)?
            {
                sql.prepare_cached(
                    "INSERT INTO delivery_part SELECT ?1, 1 + count(*), ?2, ?3
                     FROM delivery_part WHERE delivery = ?1",
                )?
                .execute((id.0, &part.message, part.upto.cast_signed()))?;
            }
            let state = match rest {
                Rest::More => DeliveryState::Waiting,
                Rest::Nothing => DeliveryState::Sent,
            };
            sql.prepare_cached(
                "UPDATE delivery SET state = ?2, changed_at = ?3, attempts = 0, doubts = 0,
                     tried_at = NULL, why = NULL WHERE id = ?1",
            )?
            .execute((id.0, state.code(), at.as_millis()))?;
        }
        OutboxCommand::Waits { id, why, at } => {
            sql.prepare_cached(
                "UPDATE delivery SET why = ?2, changed_at = ?3 WHERE id = ?1 AND state < 3",
            )?
            .execute((id.0, why, at.as_millis()))?;
        }
        OutboxCommand::PutOff { id, until, why, tried, at } => {
            let (stays, before) = match tried {
                Tried::Now => (true, None),
                Tried::AsBefore(before) => (false, before.map(Timestamp::as_millis)),
            };
            sql.prepare_cached(
                "UPDATE delivery SET state = iif(doubts > 0, 2, 0), next_at = ?2, why = ?3,
                     changed_at = ?4, attempts = attempts + 1,
                     tried_at = iif(?5, tried_at, ?6) WHERE id = ?1 AND state < 3",
            )?
            .execute((id.0, until.as_millis(), why, at.as_millis(), stays, before))?;
        }
        OutboxCommand::InDoubt { id, then, why, at } => {
            let state = match then {
                Doubt::Resend => DeliveryState::Uncertain,
                Doubt::Hold => DeliveryState::Held,
            };
            sql.prepare_cached(
                "UPDATE delivery SET state = ?2, doubts = doubts + 1, next_at = ?4, why = ?3,
                     tried_at = NULL, changed_at = ?4 WHERE id = ?1 AND state < 3",
            )?
            .execute((id.0, state.code(), why, at.as_millis()))?;
        }
        OutboxCommand::Failed { id, why, at } => {
            let failed = DeliveryState::Failed.code();
            sql.prepare_cached(
                "UPDATE delivery SET state = ?2, why = ?3, changed_at = ?4, attempts = attempts + 1
                 WHERE id = ?1 AND state < 3",
            )?
            .execute((id.0, failed, why, at.as_millis()))?;
        }
        OutboxCommand::Resend { id, at } => {
            let changed = sql
                .prepare_cached(
                    "UPDATE delivery SET state = iif(state = 1, 1, iif(doubts > 0, 2, 0)),
                         attempts = 0, next_at = ?2, changed_at = ?2 WHERE id = ?1 AND state <> 3",
                )?
                .execute((id.0, at.as_millis()))?;
            some(changed, *id)?;
        }
        OutboxCommand::Drop { id, instead, at } => {
            let found = sql
                .prepare_cached("SELECT 1 FROM delivery WHERE id = ?1 AND state <> 3")?
                .exists([id.0])?;
            some(usize::from(found), *id)?;
            let left = match instead {
                None => 0,
                // Whoever drops these words too is rid of them.
                Some(text) => sql
                    .prepare_cached(
                        "UPDATE delivery SET message = NULL, text = ?2, state = 0, attempts = 0,
                             doubts = 0, tried_at = NULL, why = NULL, next_at = ?3,
                             changed_at = ?3
                         WHERE id = ?1 AND provisional = ?4 AND text IS NULL",
                    )?
                    .execute((id.0, text, at.as_millis(), provisional::SHOWN))?,
            };
            if left == 0 {
                remove(sql, *id)?;
            }
        }
        OutboxCommand::ProvisionalBegun { turn, at } => {
            let changed = sql
                .prepare_cached(
                    "UPDATE origin SET provisional = ?2, tried_at = coalesce(tried_at, ?3)
                     WHERE turn = ?1",
                )?
                .execute((turn.0, provisional::BEGUN, at.as_millis()))?;
            some(changed, DeliveryId(0))?;
        }
        OutboxCommand::ProvisionalShown { turn, message } => {
            shown(sql, *turn, message.as_deref())?;
        }
        OutboxCommand::ProvisionalLost { id } => {
            sql.prepare_cached("UPDATE delivery SET provisional = ?2, shown = NULL WHERE id = ?1")?
                .execute((id.0, provisional::NONE))?;
        }
        OutboxCommand::Buttons { id, buttons } => {
            let has =
                sql.prepare_cached("SELECT 1 FROM button WHERE delivery = ?1")?.exists([id.0])?;
            if !has && is_there(sql, *id)? {
                put_buttons(sql, *id, buttons)?;
            }
        }
        OutboxCommand::Prune { before } => prune(sql, *before)?,
    }
    Ok(CommandOutcome::Done)
}

fn some(changed: usize, id: DeliveryId) -> Result<(), CommandFault> {
    if changed == 0 { Err(StoreError::NoDelivery { delivery: id }.into()) } else { Ok(()) }
}

fn is_there(sql: &Connection, id: DeliveryId) -> rusqlite::Result<bool> {
    sql.prepare_cached("SELECT 1 FROM delivery WHERE id = ?1")?.exists([id.0])
}

fn begun(sql: &Connection, id: DeliveryId, at: Timestamp) -> Result<(), CommandFault> {
    let changed = sql
        .prepare_cached(
            "UPDATE delivery SET state = ?2, changed_at = ?3, tried_at = coalesce(tried_at, ?3)
             WHERE id = ?1 AND state < 3",
        )?
        .execute((id.0, DeliveryState::Sending.code(), at.as_millis()))?;
    some(changed, id)
}

/// A key that no other delivery has, of this agent or another.
fn fresh_key(chain: &Chain, of: &str, id: i64, at: Timestamp) -> [u8; 16] {
    let bytes = [id.to_le_bytes(), at.as_millis().to_le_bytes()].concat();
    let tag = chain.tag(of, &bytes);
    let mut key = [0; 16];
    key.copy_from_slice(&tag[..16]);
    key
}

fn enqueue(sql: &Connection, chain: &Chain, new: &Enqueue) -> Result<DeliveryId, CommandFault> {
    if let Some(name) = &new.name {
        let known = sql
            .prepare_cached("SELECT id FROM delivery WHERE name = ?1")?
            .query_row([name], |row| row.get(0))
            .optional()?;
        if let Some(id) = known {
            return Ok(DeliveryId(id));
        }
    }
    let DeliveryDestination { lane, chat_type, topic, reply_to } = &new.to;
    let id = sql
        .prepare_cached(
            "INSERT INTO delivery (session, turn, text, key, platform, account, chat, chat_type,
                 topic, reply_to, name, next_at, queued_at, changed_at)
             VALUES (?1, ?2, ?3, x'', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?11)",
        )?
        .insert((
            new.session.map_or(NO_SESSION, |session| session.0),
            new.turn.map(|turn| turn.0),
            &new.text,
            &lane.platform,
            &lane.account,
            &lane.chat,
            chat_type,
            topic,
            reply_to,
            &new.name,
            new.at.as_millis(),
        ))?;
    sql.prepare_cached("UPDATE delivery SET key = ?2 WHERE id = ?1")?
        .execute((id, fresh_key(chain, "delivery", id, new.at)))?;
    put_buttons(sql, DeliveryId(id), &new.buttons)?;
    Ok(DeliveryId(id))
}

fn put_buttons(sql: &Connection, id: DeliveryId, buttons: &[NewButton]) -> rusqlite::Result<()> {
    for (number, NewButton { data, label, meaning }) in buttons.iter().enumerate() {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        sql.prepare_cached("INSERT INTO button VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute((data, id.0, number, label, meaning))?;
    }
    Ok(())
}

/// Keeps where the reply of a turn goes.
pub(crate) fn begin_turn(
    sql: &Connection,
    chain: &Chain,
    (turn, session): (TurnId, SessionId),
    to: &DeliveryDestination,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let DeliveryDestination { lane, chat_type, topic, reply_to } = to;
    sql.prepare_cached(
        "INSERT INTO origin (turn, session, key, platform, account, chat, chat_type, topic,
             reply_to) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute((
        turn.0,
        session.0,
        fresh_key(chain, "turn", turn.0, at),
        &lane.platform,
        &lane.account,
        &lane.chat,
        chat_type,
        topic,
        reply_to,
    ))
    .map(drop)
}

/// Makes a delivery of the end of a turn, if that goes anywhere.
pub(crate) fn end_turn(
    sql: &Connection,
    turn: TurnId,
    reply: Option<MessageSeq>,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let moved = sql
        .prepare_cached(
            "INSERT INTO delivery (session, turn, message, key, platform, account, chat,
                 chat_type, topic, reply_to, provisional, shown, tried_at, next_at, queued_at,
                 changed_at)
             SELECT session, turn, ?2, key, platform, account, chat, chat_type, topic, reply_to,
                 provisional, shown, tried_at, ?3, ?3, ?3 FROM origin WHERE turn = ?1",
        )?
        .execute((turn.0, reply.map(|seq| seq.0.cast_signed()), at.as_millis()))?;
    if moved > 0 {
        sql.prepare_cached("DELETE FROM origin WHERE turn = ?1")?.execute([turn.0])?;
    }
    Ok(())
}

/// Notes what was shown of a turn's reply, whether the turn is over or not.
fn shown(sql: &Connection, turn: TurnId, message: Option<&str>) -> rusqlite::Result<()> {
    let code = if message.is_some() { provisional::SHOWN } else { provisional::NONE };
    sql.prepare_cached(
        "UPDATE origin SET provisional = ?2, shown = ?3, tried_at = NULL WHERE turn = ?1",
    )?
    .execute((turn.0, code, message))?;
    sql.prepare_cached(
        "UPDATE delivery SET provisional = ?2, shown = ?3, tried_at = NULL
             WHERE turn = ?1 AND name IS NULL
             AND session = (SELECT session FROM turn WHERE id = ?1) AND provisional = ?4",
    )?
    .execute((turn.0, code, message, provisional::BEGUN))
    .map(drop)
}

fn remove(sql: &Connection, id: DeliveryId) -> rusqlite::Result<()> {
    for statement in [
        "DELETE FROM button WHERE delivery = ?1",
        "DELETE FROM delivery_part WHERE delivery = ?1",
        "DELETE FROM delivery WHERE id = ?1",
    ] {
        sql.prepare_cached(statement)?.execute([id.0])?;
    }
    Ok(())
}

fn prune(sql: &Connection, before: Timestamp) -> rusqlite::Result<()> {
    // Those that were sent or failed; what is held waits for somebody.
    let old: Vec<i64> = sql
        .prepare_cached(
            "SELECT id FROM delivery WHERE state IN (3, 5) AND changed_at < ?1 LIMIT 1000",
        )?
        .query_map([before.as_millis()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    old.into_iter().try_for_each(|id| remove(sql, DeliveryId(id)))
}

/// Erases what a session has in the outbox: it is not sent any more.
pub(crate) fn forget(sql: &Connection, session: SessionId) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM origin WHERE session = ?1")?.execute([session.0])?;
    let all: Vec<i64> = sql
        .prepare_cached("SELECT id FROM delivery WHERE session = ?1")?
        .query_map([session.0], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    all.into_iter().try_for_each(|id| remove(sql, DeliveryId(id)))
}
