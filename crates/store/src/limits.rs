//! What is refused before any backend sees it: commands that exceed their limits.

use crate::agent::{AgentCommand, BATCH_MAX};
use crate::approval::APPROVAL_BYTES_MAX;
use crate::audit::{AUDIT_CONTENT_BYTES_MAX, AUDIT_NAME_BYTES_MAX, About, AuditEntry};
use crate::board::{
    BOARD_BATCH_MAX, BoardCommand, CARD_FILE_BYTES_MAX, CARD_NAME_BYTES_MAX, CARD_TEXT_BYTES_MAX,
    CARD_TITLE_BYTES_MAX, CARD_WHY_BYTES_MAX, CardRow, CardRun,
};
use crate::error::{Result, StoreError};
use crate::foreign::FOREIGN_PATH_BYTES_MAX;
use crate::memory::{
    FRAGMENT_BYTES_MAX, FRAGMENTS_MAX, MEMORY_BLOCK_BYTES_MAX, MemoryEntry, MemoryOrigin, Remember,
};
use crate::message::{MESSAGE_BYTES_MAX, NewMessage, PARTS_MAX};
use crate::outbox::{
    BUTTON_BYTES_MAX, BUTTONS_MAX, DELIVERY_NAME_BYTES_MAX, DELIVERY_TEXT_BYTES_MAX,
    DELIVERY_WHY_BYTES_MAX, DeliveryDestination, NewButton, OutboxCommand,
};
use crate::parts;
use crate::search::QUERY_BYTES_MAX;
use crate::session::{NAME_BYTES_MAX, OpenSession, SessionRef, TITLE_BYTES_MAX};
use crate::shown::{SHOWN_PART_BYTES_MAX, SHOWN_PARTS_MAX, SHOWN_RECIPE_BYTES_MAX, ShownCall};
use crate::turn::{
    Arrival, CALL_NAME_BYTES_MAX, IDEMPOTENCY_BYTES_MAX, IdempotencyKey, MESSAGES_AT_ONCE_MAX,
    NewStep, SAID_AT_BYTES_MAX, TURN_ERROR_BYTES_MAX, TURN_NOTE_BYTES_MAX, TurnOutcome,
    WAY_BYTES_MAX, WAYS_MAX,
};
use crate::usage::{USAGE_VALUE_MAX, Usage};
use crate::vectors::VECTORS_AT_ONCE_MAX;

fn within(what: &'static str, len: usize, max: usize) -> Result<()> {
    if len > max { Err(StoreError::TooLong { what, len, max }) } else { Ok(()) }
}

/// How a message came in. The names of ways stand on lines, so that one has none in it.
fn arrival(arrival: &Arrival) -> Result<()> {
    let Arrival { said_at, ways } = arrival;
    within("where it was said", said_at.as_ref().map_or(0, |it| it.len()), SAID_AT_BYTES_MAX)?;
    within("ways in", ways.len(), WAYS_MAX)?;
    for way in ways {
        within("the name of a way in", way.len(), WAY_BYTES_MAX)?;
        within("lines in the name of a way in", way.lines().count(), 1)?;
    }
    Ok(())
}

/// The same for a board.
pub(crate) fn check_board(batch: &[BoardCommand]) -> Result<()> {
    within("a batch of commands", batch.len(), BOARD_BATCH_MAX)?;
    batch.iter().try_for_each(|command| match command {
        BoardCommand::Add(row) | BoardCommand::Put(row) => card(row),
        BoardCommand::Comment(it) => {
            within("a comment", it.text.len(), CARD_TEXT_BYTES_MAX)?;
            within("a label", it.label.len(), NAME_BYTES_MAX)
        }
        BoardCommand::Attach(file, bytes) => {
            within("the name of a file", file.name.len(), CARD_NAME_BYTES_MAX)?;
            within("a file of a card", bytes.len(), CARD_FILE_BYTES_MAX)
        }
        BoardCommand::Run(CardRun { note, why, worker, .. }) => {
            within("a note", note.as_ref().map_or(0, String::len), CARD_WHY_BYTES_MAX)?;
            within("a reason", why.as_ref().map_or(0, String::len), CARD_WHY_BYTES_MAX)?;
            within("the name of a worker", worker.len(), CARD_NAME_BYTES_MAX)
        }
        BoardCommand::Event(it) => within("an event", it.detail.len(), CARD_TEXT_BYTES_MAX),
        BoardCommand::Notice(it) => within("a notice", it.text.len(), CARD_TEXT_BYTES_MAX),
        BoardCommand::Need { .. } | BoardCommand::Told { .. } => Ok(()),
    })
}

fn card(row: &CardRow) -> Result<()> {
    let len = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    within("the title of a card", row.title.len(), CARD_TITLE_BYTES_MAX)?;
    within("the text of a card", row.body.len(), CARD_TEXT_BYTES_MAX)?;
    within("the result of a card", len(&row.result), CARD_TEXT_BYTES_MAX)?;
    within("a reason", len(&row.why), CARD_WHY_BYTES_MAX)?;
    within("a label", row.label.len(), NAME_BYTES_MAX)?;
    within("a card's labels", row.tags.iter().map(|tag| tag.len() + 3).sum(), CARD_WHY_BYTES_MAX)?;
    let names = [&row.assignee, &row.reviewer, &row.worker, &row.request, &row.result_by];
    names.into_iter().flatten().try_for_each(|it| within("a name", it.len(), CARD_NAME_BYTES_MAX))
}

/// Refuses a batch with a command that exceeds its limits.
pub(crate) fn check(batch: &[AgentCommand]) -> Result<()> {
    within("a batch of commands", batch.len(), BATCH_MAX)?;
    batch.iter().try_for_each(command)
}

fn command(command: &AgentCommand) -> Result<()> {
    match command {
        AgentCommand::Audit(entry) => audit(entry),
        AgentCommand::OpenSession(open) => session(open),
        AgentCommand::TitleSession { session, title } => {
            within("a title", title.as_ref().map_or(0, String::len), TITLE_BYTES_MAX)?;
            reference(session)
        }
        AgentCommand::EndSession { session, .. }
        | AgentCommand::SummariseSession { session, .. }
        | AgentCommand::WishNotes { session, .. }
        | AgentCommand::TouchSession { session, .. } => reference(session),
        AgentCommand::ChooseModel { session, model } => {
            within("the name of a model", model.as_ref().map_or(0, |it| it.len()), NAME_BYTES_MAX)?;
            reference(session)
        }
        AgentCommand::Append { session, messages: all } => {
            reference(session)?;
            messages(all)
        }
        AgentCommand::Accept(accept) => {
            session(&accept.session)?;
            key(accept.idempotency.as_ref())?;
            accept.origin.as_ref().map_or(Ok(()), destination)?;
            arrival(&accept.arrival)?;
            message(&accept.message)
        }
        AgentCommand::AcceptChild(accept) => message(&accept.message),
        AgentCommand::Join(join) => {
            key(join.idempotency.as_ref())?;
            message(&join.message)
        }
        AgentCommand::Step { step: new, .. } => step(new),
        AgentCommand::Conclude(conclude) => {
            if let TurnOutcome::Failed { error } = &conclude.outcome {
                within("the error of a turn", error.len(), TURN_ERROR_BYTES_MAX)?;
            }
            usage(&conclude.usage)?;
            messages(&conclude.messages)
        }
        AgentCommand::AskApproval(new) => {
            within("what an approval is about", new.what.len(), APPROVAL_BYTES_MAX)?;
            within("the call of an approval", new.call.len(), CALL_NAME_BYTES_MAX)
        }
        AgentCommand::SettleApproval { grant, .. } => {
            let what = grant.as_ref().map_or(0, |grant| grant.what.len());
            within("what a grant is about", what, APPROVAL_BYTES_MAX)
        }
        AgentCommand::PutVectors(put) => {
            within("a list of vectors", put.rows.len(), VECTORS_AT_ONCE_MAX)?;
            within("a scope", put.scope.as_str().len(), NAME_BYTES_MAX)
        }
        AgentCommand::CountCall { model, key, usage: took, .. } => {
            within("the name of a model", model.len(), NAME_BYTES_MAX)?;
            let key = key.as_ref().map_or(0, |key| key.len());
            within("the name of a key", key, NAME_BYTES_MAX)?;
            usage(took)
        }
        AgentCommand::CountAside(aside) => {
            within("a name", aside.principal.as_str().len(), NAME_BYTES_MAX)?;
            let ways = aside.ways.iter().map(|way| way.len() + 1).sum();
            within("the ways of a message", ways, NAME_BYTES_MAX)?;
            usage(&aside.usage)
        }
        AgentCommand::NoteTurn { note, .. } => {
            within("a note on a turn", note.len(), TURN_NOTE_BYTES_MAX)
        }
        AgentCommand::NoteShown(call) => shown(call),
        AgentCommand::NoteForeign { path, .. } => {
            within("the path of a file", path.len(), FOREIGN_PATH_BYTES_MAX)
        }
        AgentCommand::Remember(new) => remember(new),
        AgentCommand::ForgetMemory { fragments, origin: by } => {
            within("a list of fragments", fragments.len(), FRAGMENTS_MAX)?;
            origin(by)
        }
        AgentCommand::MirrorErased { scope, .. } => {
            within("a scope", scope.as_str().len(), NAME_BYTES_MAX)
        }
        AgentCommand::FreezeMemory { chain, block, .. } => {
            within("a chain of scopes", chain.len(), CHAIN_BYTES_MAX)?;
            within("a label", block.label.as_ref().map_or(0, |it| it.len()), NAME_BYTES_MAX)?;
            within("a block of memory", block.text.len(), MEMORY_BLOCK_BYTES_MAX)
        }
        AgentCommand::Outbox(command) => outbox(command),
        AgentCommand::Beside(all) => messages(all),
        AgentCommand::Ingress(command) => match command.excess() {
            Some((what, len, max)) => Err(StoreError::TooLong { what, len, max }),
            None => Ok(()),
        },
        AgentCommand::Job(command) => match command.excess() {
            Some((what, len, max)) => Err(StoreError::TooLong { what, len, max }),
            None => Ok(()),
        },
        AgentCommand::RevokeGrant { .. }
        | AgentCommand::ForgetForeign { .. }
        | AgentCommand::ThawMemory { .. }
        | AgentCommand::EraseAuditContent(_)
        | AgentCommand::ReplaceTurn { .. }
        | AgentCommand::ForgetSession { .. }
        | AgentCommand::ResumeSession { .. }
        | AgentCommand::DropAudit { .. }
        | AgentCommand::PruneIdempotency { .. } => Ok(()),
    }
}

/// Longest list of the scopes that a session reads, in bytes: sixty-four of them.
const CHAIN_BYTES_MAX: usize = 64 * NAME_BYTES_MAX;

fn shown(call: &ShownCall) -> Result<()> {
    within("the name of a model", call.model.len(), NAME_BYTES_MAX)?;
    let tail = call.recipe.as_ref().map_or(0, |it| it.tail.len());
    within("what a model was shown", tail, SHOWN_RECIPE_BYTES_MAX)?;
    let parts = call.frame.parts.as_deref().unwrap_or_default();
    within("the parts of a prompt", parts.len(), SHOWN_PARTS_MAX)?;
    for part in parts {
        within("the name of a part", part.name.len(), NAME_BYTES_MAX)?;
        within("a chain of scopes", part.chain.as_ref().map_or(0, |it| it.len()), CHAIN_BYTES_MAX)?;
        within("a part of a prompt", part.bytes.len(), SHOWN_PART_BYTES_MAX)?;
    }
    Ok(())
}

fn remember(new: &Remember) -> Result<()> {
    within("a scope", new.scope.as_str().len(), NAME_BYTES_MAX)?;
    within("a list of fragments", new.entries.len(), FRAGMENTS_MAX)?;
    for entry in &new.entries {
        if let MemoryEntry::New(fragment) = entry {
            within("a fragment of memory", fragment.text.len(), FRAGMENT_BYTES_MAX)?;
            within("a list of fragments", fragment.parents.len(), FRAGMENTS_MAX)?;
        }
    }
    origin(&new.origin)
}

fn origin(origin: &MemoryOrigin) -> Result<()> {
    within("a principal", origin.principal.as_str().len(), NAME_BYTES_MAX)?;
    within("a label", origin.label.as_ref().map_or(0, |it| it.len()), NAME_BYTES_MAX)?;
    let call = origin.call.as_ref().map_or(0, |call| call.len());
    within("the id of a tool call", call, CALL_NAME_BYTES_MAX)
}

fn outbox(command: &OutboxCommand) -> Result<()> {
    match command {
        OutboxCommand::Enqueue(new) => {
            destination(&new.to)?;
            within("a delivery", new.text.len(), DELIVERY_TEXT_BYTES_MAX)?;
            let name = new.name.as_ref().map_or(0, |name| name.len());
            within("the name of a delivery", name, DELIVERY_NAME_BYTES_MAX)?;
            buttons(&new.buttons)
        }
        OutboxCommand::Sent { part, .. } => {
            let name = part.as_ref().map_or(0, |part| part.message.len());
            within("the name of a message", name, NAME_BYTES_MAX)
        }
        OutboxCommand::Waits { why, .. }
        | OutboxCommand::PutOff { why, .. }
        | OutboxCommand::InDoubt { why, .. }
        | OutboxCommand::Failed { why, .. } => {
            within("the reason of a delivery", why.len(), DELIVERY_WHY_BYTES_MAX)
        }
        OutboxCommand::ProvisionalShown { message, .. } => {
            let name = message.as_ref().map_or(0, |name| name.len());
            within("the name of a message", name, NAME_BYTES_MAX)
        }
        OutboxCommand::Buttons { buttons: all, .. } => buttons(all),
        OutboxCommand::Begun { .. }
        | OutboxCommand::Resend { .. }
        | OutboxCommand::Drop { .. }
        | OutboxCommand::ProvisionalBegun { .. }
        | OutboxCommand::ProvisionalLost { .. }
        | OutboxCommand::Prune { .. } => Ok(()),
    }
}

fn destination(to: &DeliveryDestination) -> Result<()> {
    let (topic, reply_to) = (to.topic.as_ref(), to.reply_to.as_ref());
    let names = [Some(&to.lane.platform), Some(&to.lane.account), Some(&to.lane.chat)];
    let names = names.into_iter().chain([Some(&to.chat_type), topic, reply_to]).flatten();
    names.into_iter().try_for_each(|name| within("a destination", name.len(), NAME_BYTES_MAX))
}

fn buttons(buttons: &[NewButton]) -> Result<()> {
    within("a list of buttons", buttons.len(), BUTTONS_MAX)?;
    let texts = buttons.iter().flat_map(|it| [&it.data, &it.label, &it.meaning]);
    texts.into_iter().try_for_each(|text| within("a button", text.len(), BUTTON_BYTES_MAX))
}

/// Refuses an audit entry that exceeds its limits.
pub(crate) fn audit(entry: &AuditEntry) -> Result<()> {
    within("the actor of an audit record", entry.actor.as_str().len(), AUDIT_NAME_BYTES_MAX)?;
    within("the kind of an audit record", entry.kind.len(), AUDIT_NAME_BYTES_MAX)?;
    let (scope, session) = match &entry.about {
        About::Daemon | About::Agent | About::Session(_) => (None, None),
        About::Scope(scope) => (Some(scope), None),
        About::Conversation { scope, key } => (Some(scope), Some(key)),
        About::Key(key) => (None, Some(key)),
    };
    let scope_len = scope.map_or(0, |scope| scope.as_str().len());
    within("the scope of an audit record", scope_len, NAME_BYTES_MAX)?;
    within("the session of an audit record", session.map_or(0, |key| key.len()), NAME_BYTES_MAX)?;
    within("the content of an audit record", entry.content.len(), AUDIT_CONTENT_BYTES_MAX)
}

/// Refuses a query that exceeds its limits.
pub(crate) fn query(scope: &str, query: &str) -> Result<()> {
    within("a scope", scope.len(), NAME_BYTES_MAX)?;
    within("a query", query.len(), QUERY_BYTES_MAX)
}

fn session(open: &OpenSession) -> Result<()> {
    within("a session key", open.key.len(), NAME_BYTES_MAX)?;
    within("a scope", open.scope.as_str().len(), NAME_BYTES_MAX)?;
    within("a label", open.label.len(), NAME_BYTES_MAX)
}

fn reference(session: &SessionRef) -> Result<()> {
    match session {
        SessionRef::Id(_) => Ok(()),
        SessionRef::Key(key) => within("a session key", key.len(), NAME_BYTES_MAX),
    }
}

fn key(key: Option<&IdempotencyKey>) -> Result<()> {
    let Some(IdempotencyKey { who, key, .. }) = key else { return Ok(()) };
    within("the owner of an idempotency key", who.len(), IDEMPOTENCY_BYTES_MAX)?;
    within("an idempotency key", key.len(), IDEMPOTENCY_BYTES_MAX)
}

fn step(step: &NewStep) -> Result<()> {
    match step {
        NewStep::Answered { message: answer, usage: spent } => {
            usage(spent)?;
            message(answer)
        }
        NewStep::CallBegun { call, name, .. } => {
            within("the id of a tool call", call.len(), CALL_NAME_BYTES_MAX)?;
            within("the name of a tool", name.len(), CALL_NAME_BYTES_MAX)
        }
        NewStep::CallEnded { call, message: result } => {
            within("the id of a tool call", call.len(), CALL_NAME_BYTES_MAX)?;
            message(result)
        }
        NewStep::Spent { usage: spent, .. } => usage(spent),
    }
}

fn messages(messages: &[NewMessage]) -> Result<()> {
    within("a list of messages", messages.len(), MESSAGES_AT_ONCE_MAX)?;
    messages.iter().try_for_each(message)
}

fn message(message: &NewMessage) -> Result<()> {
    within("the list of parts of a message", message.parts.len(), PARTS_MAX)?;
    within("a message", message.parts.iter().map(parts::size).sum(), MESSAGE_BYTES_MAX)?;
    within("a principal", message.principal.as_str().len(), NAME_BYTES_MAX)?;
    within("a scope", message.scope.as_str().len(), NAME_BYTES_MAX)?;
    within("a label", message.label.len(), NAME_BYTES_MAX)
}

fn usage(usage: &Usage) -> Result<()> {
    let Usage { input, output, cached, reasoning, cost_micros } = *usage;
    let max = usize::try_from(USAGE_VALUE_MAX).unwrap_or(usize::MAX);
    [input, output, cached, reasoning, cost_micros].into_iter().try_for_each(|value| {
        within("the usage of a turn", usize::try_from(value).unwrap_or(usize::MAX), max)
    })
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
