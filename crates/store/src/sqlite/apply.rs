//! What each command does to an agent's database. A new family is an arm here and a file.

use super::means::Means;
use super::memory::write as memory;
use super::sql::CommandFault;
use super::{
    approvals, audit, course, foreign, forget, index, ingress, jobs, messages, outbox, sessions,
    shown, turns, usage, vectors,
};
use crate::agent::{AgentCommand, CommandOutcome, Committed};
use crate::ingress::IngressCommand;
use crate::job::JobCommand;
use crate::message::NewMessage;
use crate::outbox::OutboxCommand;
use crate::turn::{Accept, Accepted, Flush, NewStep};
use rusqlite::Connection;

/// What commands of a batch will need or leave to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// One may begin a turn or bring a delivery: the agent must be marked as busy first.
    pub(crate) accepts: bool,
    /// One appends to the audit chain: its head must be anchored after.
    pub(crate) audits: bool,
    /// One erases: the log must be emptied after.
    pub(crate) erases: bool,
    /// One must be on the disk before the commit returns.
    pub(crate) flushes: bool,
    /// How many messages they bring, and how many bytes of words: the index may be due after.
    pub(crate) said: (usize, usize),
}

impl Traits {
    /// What a batch will need.
    pub(crate) fn of(batch: &[AgentCommand]) -> Self {
        let mut traits = Self { flushes: !may_wait(batch), ..Self::default() };
        for command in batch {
            match command {
                AgentCommand::Accept(accept) => {
                    traits.accepts = true;
                    traits.say(std::slice::from_ref(&accept.message));
                }
                AgentCommand::AcceptChild(accept) => {
                    traits.accepts = true;
                    traits.say(std::slice::from_ref(&accept.message));
                }
                AgentCommand::Join(join) => traits.say(std::slice::from_ref(&join.message)),
                AgentCommand::Step { step, .. } => match &**step {
                    NewStep::Answered { message, .. } | NewStep::CallEnded { message, .. } => {
                        traits.say(std::slice::from_ref(message));
                    }
                    NewStep::CallBegun { .. } | NewStep::Spent { .. } => {}
                },
                AgentCommand::Append { messages, .. } | AgentCommand::Beside(messages) => {
                    traits.say(messages);
                }
                // What waits for a turn has to be found after a crash, as unfinished turns are.
                AgentCommand::Ingress(command) => {
                    traits.accepts |= matches!(&**command, IngressCommand::Keep(new) if new.waits);
                }
                // A run that a crash cuts off has to be found, as unfinished turns are.
                AgentCommand::Job(command) => {
                    traits.accepts |=
                        matches!(&**command, JobCommand::Begin(run) if run.ended_at.is_none());
                }
                AgentCommand::Conclude(conclude) => traits.say(&conclude.messages),
                AgentCommand::Audit(_) => traits.audits = true,
                AgentCommand::DropAudit { .. } => {
                    traits.audits = true;
                    traits.erases = true;
                }
                AgentCommand::EraseAuditContent(_) | AgentCommand::ForgetSession { .. } => {
                    traits.erases = true;
                }
                AgentCommand::Outbox(command) => match command {
                    OutboxCommand::Enqueue(_) | OutboxCommand::Resend { .. } => {
                        traits.accepts = true;
                    }
                    OutboxCommand::Drop { instead, .. } => {
                        traits.erases = true;
                        traits.accepts |= instead.is_some();
                    }
                    _ => {}
                },
                AgentCommand::Remember(_) => traits.audits = true,
                AgentCommand::ForgetMemory { .. } => {
                    traits.audits = true;
                    traits.erases = true;
                }
                AgentCommand::OpenSession(_)
                | AgentCommand::EndSession { .. }
                | AgentCommand::TitleSession { .. }
                | AgentCommand::SummariseSession { .. }
                | AgentCommand::TouchSession { .. }
                | AgentCommand::ResumeSession { .. }
                | AgentCommand::WishNotes { .. }
                | AgentCommand::ChooseModel { .. }
                | AgentCommand::ReplaceTurn { .. }
                | AgentCommand::AskApproval(_)
                | AgentCommand::SettleApproval { .. }
                | AgentCommand::RevokeGrant { .. }
                | AgentCommand::CountCall { .. }
                | AgentCommand::CountAside(_)
                | AgentCommand::NoteTurn { .. }
                | AgentCommand::NoteShown(_)
                | AgentCommand::PutVectors(_)
                | AgentCommand::NoteForeign { .. }
                | AgentCommand::ForgetForeign { .. }
                | AgentCommand::MirrorErased { .. }
                | AgentCommand::FreezeMemory { .. }
                | AgentCommand::ThawMemory { .. }
                | AgentCommand::PruneIdempotency { .. } => {}
            }
        }
        traits
    }

    fn say(&mut self, messages: &[NewMessage]) {
        self.said.0 += messages.len();
        self.said.1 += messages.iter().map(|message| index::words(&message.parts)).sum::<usize>();
    }

    /// What two batches will need.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            accepts: self.accepts || other.accepts,
            audits: self.audits || other.audits,
            erases: self.erases || other.erases,
            flushes: self.flushes || other.flushes,
            said: (self.said.0 + other.said.0, self.said.1 + other.said.1),
        }
    }
}

/// Whether all of a batch may be lost with the power until a later commit is flushed.
fn may_wait(batch: &[AgentCommand]) -> bool {
    let is_later = |accept: &Accept| accept.flush == Flush::Later;
    let has_later = batch.iter().any(|it| matches!(it, AgentCommand::Accept(it) if is_later(it)));
    batch.iter().all(|command| match command {
        AgentCommand::Accept(accept) => is_later(accept),
        // What belongs to such a turn, which nobody is told of before.
        AgentCommand::Append { .. } | AgentCommand::Beside(_) | AgentCommand::Ingress(_) => {
            has_later
        }
        // The agent is marked as busy, so it is looked at after a loss of power, and what is due then
        // is begun again. That a script has begun is not forgotten, nor how a run ended.
        AgentCommand::Job(command) => matches!(
            &**command,
            JobCommand::Begin(_) | JobCommand::Put(_) | JobCommand::Turn { .. }
        ),
        // Where that is lost, what was sent counts as in doubt.
        AgentCommand::Outbox(OutboxCommand::Sent { .. }) => batch.len() == 1,
        _ => false,
    })
}

/// Applies a batch, inside the caller's transaction.
pub(crate) fn batch(
    sql: &Connection,
    means: &Means<'_>,
    batch: &[AgentCommand],
) -> Result<Committed, CommandFault> {
    let mut committed = Committed::default();
    committed.outcomes.reserve_exact(batch.len());
    let mut begun = None;
    for command in batch {
        let outcome = match command {
            AgentCommand::Beside(messages) => {
                if let Some(turn) = begun {
                    turns::beside(sql, turn, messages)?;
                }
                CommandOutcome::Done
            }
            command => one(sql, means, command)?,
        };
        if let CommandOutcome::Accepted(Accepted::New { turn, .. }) = outcome {
            begun = Some(turn);
        }
        if let CommandOutcome::Audited(seq) = outcome {
            committed.audit.push(seq);
        }
        committed.outcomes.push(outcome);
    }
    Ok(committed)
}

fn one(
    sql: &Connection,
    means: &Means<'_>,
    command: &AgentCommand,
) -> Result<CommandOutcome, CommandFault> {
    match command {
        AgentCommand::Audit(entry) => {
            let seq = audit::append(sql, means.chain, means.random, entry.clone())?;
            return Ok(CommandOutcome::Audited(seq));
        }
        AgentCommand::EraseAuditContent(range) => audit::erase(sql, range)?,
        AgentCommand::OpenSession(open) => {
            return Ok(CommandOutcome::Session(sessions::open(sql, open)?.session));
        }
        AgentCommand::EndSession { session, at } => sessions::end(sql, session, *at)?,
        AgentCommand::TitleSession { session, title } => {
            sessions::title(sql, session, title.as_deref())?;
        }
        AgentCommand::SummariseSession { session, summary } => {
            sessions::summarise(sql, session, *summary)?;
        }
        AgentCommand::TouchSession { session, at } => sessions::touch(sql, session, *at)?,
        AgentCommand::ResumeSession { session, at } => sessions::resume(sql, *session, *at)?,
        AgentCommand::WishNotes { session, wish } => sessions::wish_notes(sql, session, *wish)?,
        AgentCommand::ChooseModel { session, model } => {
            sessions::choose_model(sql, session, model.as_deref())?;
        }
        AgentCommand::DropAudit { before, at, generation } => {
            let means = (means.chain, means.random);
            let dropped = audit::drop_before(sql, means, *before, (*at, *generation))?;
            return Ok(dropped.map_or(CommandOutcome::Done, CommandOutcome::Audited));
        }
        AgentCommand::ForgetSession { session, at } => forget::session(sql, *session, *at)?,
        AgentCommand::Append { session, messages } => {
            let place = sessions::resolve(sql, session)?;
            let first = messages::append(sql, &place, None, messages)?;
            return Ok(CommandOutcome::Appended {
                session: place.session,
                first,
                count: messages.len(),
            });
        }
        AgentCommand::Accept(accept) => return turns::accept(sql, means.chain, accept),
        AgentCommand::AcceptChild(accept) => return turns::accept_child(sql, accept),
        AgentCommand::Join(join) => return turns::join(sql, join),
        AgentCommand::Step { turn, step } => return turns::step(sql, *turn, step),
        AgentCommand::ReplaceTurn { turn } => turns::replace(sql, *turn)?,
        AgentCommand::Conclude(conclude) => return turns::conclude(sql, conclude),
        AgentCommand::AskApproval(new) => approvals::ask(sql, new)?,
        AgentCommand::SettleApproval { id, grant, .. } => {
            approvals::settle(sql, id, grant.as_ref())?;
        }
        AgentCommand::RevokeGrant { id } => approvals::revoke(sql, id)?,
        AgentCommand::PutVectors(put) => {
            let of = (put.kind, put.model);
            vectors::put(sql, put.scope.as_str(), of, &put.rows, &put.looked_through)?;
        }
        AgentCommand::CountCall { model, key, usage, at } => {
            usage::count_call(sql, (model, key.as_deref()), *at, *usage)?;
        }
        AgentCommand::CountAside(aside) => {
            let ways = (!aside.ways.is_empty()).then(|| aside.ways.join("\n"));
            let (principal, scope) = (aside.principal.as_str(), aside.scope.as_str());
            let payer = usage::Payer { principal, scope, ways: ways.as_deref() };
            usage::add(sql, payer, aside.at, 0, aside.usage)?;
        }
        AgentCommand::NoteTurn { turn, at, note } => course::note(sql, *turn, *at, note)?,
        AgentCommand::NoteShown(call) => shown::note(sql, call)?,
        AgentCommand::NoteForeign { path, integrity } => foreign::note(sql, path, integrity)?,
        AgentCommand::ForgetForeign { path } => foreign::forget(sql, path)?,
        AgentCommand::Remember(new) => return memory::remember(sql, means, new),
        AgentCommand::ForgetMemory { fragments, origin } => {
            return memory::forget(sql, means, fragments, origin);
        }
        AgentCommand::MirrorErased { scope, target } => {
            memory::mirror_erased(sql, scope.as_str(), *target)?;
        }
        AgentCommand::FreezeMemory { session, chain, block } => {
            memory::freeze(sql, *session, chain, block)?;
        }
        AgentCommand::ThawMemory { session } => memory::thaw(sql, *session)?,
        AgentCommand::Outbox(command) => return outbox::write::apply(sql, means.chain, command),
        AgentCommand::Ingress(command) => return Ok(ingress::apply(sql, command)?),
        AgentCommand::Job(command) => jobs::apply(sql, command)?,
        // Dealt with where the turn is known.
        AgentCommand::Beside(_) => {}
        AgentCommand::PruneIdempotency { before } => turns::prune_idempotency(sql, *before)?,
    }
    Ok(CommandOutcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::sample;
    use crate::id::TurnId;
    use insula_world::Timestamp;

    fn accept(flush: Flush) -> AgentCommand {
        match sample::accept("k", "words") {
            AgentCommand::Accept(accept) => {
                AgentCommand::Accept(Box::new(Accept { flush, ..*accept }))
            }
            other => other,
        }
    }

    #[test]
    fn a_batch_waits_for_the_disk_if_any_part_of_it_has_to() {
        let flushes = |batch: &[AgentCommand]| Traits::of(batch).flushes;
        let beside = || AgentCommand::Beside(Vec::new());
        let prune = || AgentCommand::PruneIdempotency { before: sample::at(1) };
        assert!(flushes(&[accept(Flush::Now)]));
        assert!(!flushes(&[accept(Flush::Later)]));
        assert!(!flushes(&[accept(Flush::Later), beside()]), "it belongs to the turn");
        assert!(flushes(&[beside()]));
        assert!(flushes(&[prune(), accept(Flush::Later)]), "whatever comes last");
        assert!(flushes(&[accept(Flush::Later), accept(Flush::Now)]));
        assert!(flushes(&[accept(Flush::Now), accept(Flush::Later)]));
        let job = |command| AgentCommand::Job(Box::new(command));
        let (name, at): (Box<str>, Timestamp) = ("j".into(), sample::at(1));
        let turn =
            JobCommand::Turn { job: name.clone(), scheduled_at: at, began_at: at, turn: TurnId(1) };
        assert!(!flushes(&[job(turn)]), "it is found again by the key of its turn");
        let outcome = "script".into();
        let mark = JobCommand::Mark { job: name, scheduled_at: at, began_at: at, outcome };
        assert!(flushes(&[job(mark)]), "a script that ran may not run again");
    }
}
