//! Turns and their steps in SQLite: taking in, going on, ending.

use super::lineage;
use super::messages;
use super::outbox::write as outbox;
use super::places::WritableSession;
use super::scopes::{self, Scope};
use super::sessions;
use super::sql::{CommandFault, bad_value};
use super::steps::{self, kind};
use super::usage::{self, Payer};
use crate::agent::CommandOutcome;
use crate::chain::Chain;
use crate::error::StoreError;
use crate::id::{MessageSeq, SessionId, TurnId};
use crate::message::{NewMessage, Role};
use crate::session::SessionRef;
use crate::sqlite::sql::actor;
use crate::turn::{
    Accept, AcceptChild, Accepted, Arrival, Conclude, Cut, IdempotencyKey, Join, NewStep,
    STEPS_PER_TURN_MAX, TurnOutcome, TurnStatus,
};
use crate::usage::Usage;
use insula_domain::Actor;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};

/// A turn that goes on.
struct Going {
    id: TurnId,
    place: WritableSession,
    principal: Actor,
    /// The ways it came in by, one a line.
    ways: Option<Box<str>>,
}

/// A turn, if it is there and goes on.
fn going(sql: &Connection, id: TurnId) -> Result<Going, CommandFault> {
    let found = sql
        .prepare_cached(
            "SELECT turn.session, scope.id, scope.name, turn.principal, turn.status,
                 session.parent NOT NULL, turn.ways FROM turn
             JOIN session ON session.id = turn.session JOIN scope ON scope.id = session.scope
             WHERE turn.id = ?1",
        )?
        .query_row([id.0], |row| {
            let status = TurnStatus::from_code(row.get(4)?).ok_or_else(|| bad_value(4))?;
            let scope = Scope { id: row.get(1)?, name: scopes::read(row, 2)? };
            let is_child = row.get(5)?;
            let place = WritableSession { session: SessionId(row.get(0)?), scope, is_child };
            Ok((Going { id, place, principal: actor(row, 3)?, ways: row.get(6)? }, status))
        })
        .optional()?;
    match found {
        None => Err(StoreError::NoTurn { turn: id }.into()),
        Some((turn, TurnStatus::Accepted)) => Ok(turn),
        Some((_, status)) => Err(StoreError::TurnOver { turn: id, status }.into()),
    }
}

/// What became of a message that came before.
fn known(sql: &Connection, key: Option<&IdempotencyKey>) -> Result<Option<Accepted>, CommandFault> {
    let Some(IdempotencyKey { who, key, request }) = key else { return Ok(None) };
    let found = sql
        .prepare_cached(
            "SELECT turn.id, turn.session, turn.status, idempotency.request FROM idempotency
             JOIN turn ON turn.id = idempotency.turn WHERE who = ?1 AND key = ?2",
        )?
        .query_row((who, key), |row| {
            let known = Accepted::Known {
                turn: TurnId(row.get(0)?),
                session: SessionId(row.get(1)?),
                status: TurnStatus::from_code(row.get(2)?).ok_or_else(|| bad_value(2))?,
            };
            Ok((known, row.get::<_, Vec<u8>>(3)?))
        })
        .optional()?;
    match found {
        // One from before requests were compared has none to compare with.
        Some((_, before)) if !before.is_empty() && before != *request => {
            Err(StoreError::OtherRequest.into())
        }
        found => Ok(found.map(|(known, _)| known)),
    }
}

fn remember(
    sql: &Connection,
    key: Option<&IdempotencyKey>,
    turn: TurnId,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let Some(IdempotencyKey { who, key, request }) = key else { return Ok(()) };
    sql.prepare_cached(
        "INSERT INTO idempotency (who, key, turn, at, request) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((who, key, turn.0, at.as_millis(), request))
    .map(drop)
}

/// Forgets idempotency keys.
pub(crate) fn prune_idempotency(sql: &Connection, before: Timestamp) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM idempotency WHERE at < ?1")?
        .execute([before.as_millis()])
        .map(drop)
}

/// Takes a message in and begins its turn.
pub(crate) fn accept(
    sql: &Connection,
    chain: &Chain,
    accept: &Accept,
) -> Result<CommandOutcome, CommandFault> {
    if let Some(known) = known(sql, accept.idempotency.as_ref())? {
        return Ok(CommandOutcome::Accepted(known));
    }
    let place = sessions::open(sql, &accept.session)?;
    let session = place.session;
    let seq = messages::next(sql, session)?;
    let Arrival { said_at, ways } = &accept.arrival;
    let ways = (!ways.is_empty()).then(|| ways.join("\n"));
    let turn = begin(sql, (session, seq), &accept.message, (said_at.as_deref(), ways.as_deref()))?;
    messages::put(sql, &place, seq, Some(turn), &accept.message)?;
    remember(sql, accept.idempotency.as_ref(), turn, accept.message.at)?;
    if let Some(to) = &accept.origin {
        outbox::begin_turn(sql, chain, (turn, session), to, accept.message.at)?;
    }
    Ok(CommandOutcome::Accepted(Accepted::New { turn, session, seq }))
}

/// Begins the turn of a child, in a session of its own below its parent's.
pub(crate) fn accept_child(
    sql: &Connection,
    accept: &AcceptChild,
) -> Result<CommandOutcome, CommandFault> {
    let AcceptChild { parent, step, number, message } = accept;
    let Going { place: WritableSession { session: above, scope, .. }, ways, .. } =
        going(sql, *parent)?;
    // No conversation's key looks like this: those begin with `agent:`.
    let key = format!("child:{parent}:{step}:{number}");
    let at = message.at.as_millis();
    let session = sql
        .prepare_cached(
            "INSERT INTO session (key, scope, label, created_at, touched_at, parent)
             VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
        )?
        .insert((&key, scope.id, &message.label, at, above.0))?;
    let place = WritableSession { session: sessions::counted(session)?, scope, is_child: true };
    let seq = messages::next(sql, place.session)?;
    let turn = begin(sql, (place.session, seq), message, (None, ways.as_deref()))?;
    sql.prepare_cached("INSERT INTO child VALUES (?1, ?2, ?3, ?4)")?
        .execute((turn.0, parent.0, step, number))?;
    messages::put(sql, &place, seq, Some(turn), message)?;
    Ok(CommandOutcome::Accepted(Accepted::New { turn, session: place.session, seq }))
}

/// Puts messages into a turn that has just begun.
pub(crate) fn beside(
    sql: &Connection,
    turn: TurnId,
    new: &[NewMessage],
) -> Result<(), CommandFault> {
    let Going { place, .. } = going(sql, turn)?;
    for message in new {
        let seq = messages::next(sql, place.session)?;
        messages::put(sql, &place, seq, Some(turn), message)?;
    }
    Ok(())
}

/// Writes the row of a turn that begins with this message.
fn begin(
    sql: &Connection,
    (session, seq): (SessionId, MessageSeq),
    message: &NewMessage,
    (said_at, ways): (Option<&str>, Option<&str>),
) -> rusqlite::Result<TurnId> {
    sql.prepare_cached(
        "INSERT INTO turn (session, message, principal, status, accepted_at, said_at, ways)
         VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6)",
    )?
    .insert((
        session.0,
        seq.0.cast_signed(),
        message.principal.as_str(),
        message.at.as_millis(),
        said_at,
        ways,
    ))
    .map(TurnId)
}

/// Takes a turn that is over out of what the model sees.
pub(crate) fn replace(sql: &Connection, turn: TurnId) -> Result<(), CommandFault> {
    let changed = sql
        .prepare_cached("UPDATE turn SET replaced = 1 WHERE id = ?1 AND status <> 0")?
        .execute([turn.0])?;
    if changed == 1 {
        return Ok(());
    }
    // Not there, or not over.
    let going = going(sql, turn)?;
    Err(StoreError::TurnGoesOn { turn: going.id }.into())
}

/// Takes a message into a turn under way.
pub(crate) fn join(sql: &Connection, join: &Join) -> Result<CommandOutcome, CommandFault> {
    if let Some(known) = known(sql, join.idempotency.as_ref())? {
        return Ok(CommandOutcome::Accepted(known));
    }
    let turn = going(sql, join.turn)?;
    let at = join.message.at;
    let seq = say(sql, &turn, &join.message)?;
    journal(sql, &turn, kind::JOINED, at, (None, None), Some(seq))?;
    remember(sql, join.idempotency.as_ref(), turn.id, at)?;
    Ok(CommandOutcome::Accepted(Accepted::New { turn: turn.id, session: turn.place.session, seq }))
}

/// Journals a step.
pub(crate) fn step(
    sql: &Connection,
    turn: TurnId,
    step: &NewStep,
) -> Result<CommandOutcome, CommandFault> {
    let turn = going(sql, turn)?;
    let (number, message) = match step {
        NewStep::Answered { message, usage } => {
            let seq = say(sql, &turn, message)?;
            spend(sql, &turn, *usage, message.at)?;
            let number = journal(sql, &turn, kind::ANSWERED, message.at, (None, None), Some(seq))?;
            (number, Some(seq))
        }
        NewStep::CallBegun { call, name, at } => {
            let names = (Some(&**call), Some(&**name));
            (journal(sql, &turn, kind::CALL_BEGUN, *at, names, None)?, None)
        }
        NewStep::CallEnded { call, message } => {
            let seq = say(sql, &turn, message)?;
            let names = (Some(&**call), None);
            (journal(sql, &turn, kind::CALL_ENDED, message.at, names, Some(seq))?, Some(seq))
        }
        NewStep::Spent { usage, at } => {
            spend(sql, &turn, *usage, *at)?;
            (journal(sql, &turn, kind::SPENT, *at, (None, None), None)?, None)
        }
    };
    Ok(CommandOutcome::Stepped { number, message })
}

fn say(sql: &Connection, turn: &Going, message: &NewMessage) -> Result<MessageSeq, CommandFault> {
    messages::append(sql, &turn.place, Some(turn.id), std::slice::from_ref(message))
}

fn journal(
    sql: &Connection,
    turn: &Going,
    kind: i64,
    at: Timestamp,
    (call, name): (Option<&str>, Option<&str>),
    message: Option<MessageSeq>,
) -> Result<u32, CommandFault> {
    let ids = steps::ids_of(turn.id.0);
    let last: Option<i64> = sql
        .prepare_cached("SELECT max(id) FROM step WHERE id BETWEEN ?1 AND ?2")?
        .query_row((*ids.start(), *ids.end()), |row| row.get(0))?;
    let id = last.map_or(*ids.start(), |last| last + 1);
    if !ids.contains(&id) {
        let max = STEPS_PER_TURN_MAX as usize - 1;
        return Err(StoreError::TooLong { what: "a turn", len: max + 1, max }.into());
    }
    sql.prepare_cached("INSERT INTO step VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute((
        id,
        kind,
        at.as_millis(),
        call,
        name,
        message.map(|seq| seq.0.cast_signed()),
    ))?;
    Ok(steps::number(id))
}

/// Adds to what a turn, and whoever pays for it, has used.
fn spend(sql: &Connection, turn: &Going, usage: Usage, at: Timestamp) -> Result<(), CommandFault> {
    if usage.is_zero() {
        return Ok(());
    }
    let [input, output, cached, reasoning, cost] = usage::columns(usage);
    sql.prepare_cached(
        "UPDATE turn SET input = input + ?2, output = output + ?3, cached = cached + ?4,
             reasoning = reasoning + ?5, cost_micros = cost_micros + ?6 WHERE id = ?1",
    )?
    .execute((turn.id.0, input, output, cached, reasoning, cost))?;
    usage::add(sql, payer(turn), at, 0, usage)?;
    if turn.place.is_child {
        lineage::charge(sql, turn.id, usage)?;
    }
    Ok(())
}

fn payer(turn: &Going) -> Payer<'_> {
    Payer {
        principal: turn.principal.as_str(),
        scope: turn.place.scope.name.as_str(),
        ways: turn.ways.as_deref(),
    }
}

/// Ends a turn.
pub(crate) fn conclude(
    sql: &Connection,
    conclude: &Conclude,
) -> Result<CommandOutcome, CommandFault> {
    let turn = going(sql, conclude.turn)?;
    let messages = &conclude.messages;
    let first = match messages.is_empty() {
        true => None,
        false => Some(messages::append(sql, &turn.place, Some(turn.id), messages)?),
    };
    let reply = match conclude.outcome {
        TurnOutcome::Replied { .. } => match first.zip(last_said(messages)) {
            Some((first, index)) => Some(MessageSeq(first.0 + index)),
            None => last_answer(sql, turn.id)?,
        },
        TurnOutcome::Failed { .. } | TurnOutcome::Stopped => None,
    };
    let (cut, error) = match &conclude.outcome {
        TurnOutcome::Failed { error } => (None, Some(error)),
        TurnOutcome::Replied { cut } => (*cut, None),
        TurnOutcome::Stopped => (None, None),
    };
    let [input, output, cached, reasoning, cost] = usage::columns(conclude.usage);
    sql.prepare_cached(
        "UPDATE turn SET status = ?2, reply = ?3, error = ?4, ended_at = ?5, input = input + ?6,
             output = output + ?7, cached = cached + ?8, reasoning = reasoning + ?9,
             cost_micros = cost_micros + ?10, cut = ?11 WHERE id = ?1",
    )?
    .execute((
        turn.id.0,
        conclude.outcome.status().code(),
        reply.map(|seq| seq.0.cast_signed()),
        error,
        conclude.at.as_millis(),
        input,
        output,
        cached,
        reasoning,
        cost,
        Cut::code(cut),
    ))?;
    lineage::stop_below(sql, turn.id, conclude.at)?;
    outbox::end_turn(sql, turn.id, reply, conclude.at)?;
    // A child is part of its parent's turn, not one more.
    let is_child = turn.place.is_child;
    usage::add(sql, payer(&turn), conclude.at, i64::from(!is_child), conclude.usage)?;
    if is_child {
        lineage::charge(sql, turn.id, conclude.usage)?;
        sessions::end(sql, &SessionRef::Id(turn.place.session), conclude.at)?;
    }
    Ok(CommandOutcome::Concluded { first, reply })
}

/// Which of these messages is the assistant's last.
fn last_said(messages: &[NewMessage]) -> Option<u64> {
    messages.iter().rposition(|message| message.role == Role::Assistant).map(|index| index as u64)
}

/// The last answer among a turn's steps.
fn last_answer(sql: &Connection, turn: TurnId) -> rusqlite::Result<Option<MessageSeq>> {
    let ids = steps::ids_of(turn.0);
    let seq: Option<i64> = sql
        .prepare_cached(
            "SELECT message FROM step WHERE id BETWEEN ?1 AND ?2 AND kind = ?3
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row((*ids.start(), *ids.end(), kind::ANSWERED), |row| row.get(0))
        .optional()?;
    Ok(seq.map(|seq| MessageSeq(seq.cast_unsigned())))
}
