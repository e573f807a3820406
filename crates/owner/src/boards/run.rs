//! One claim of an agent on a card: its turns, from the first to the one that ends the card, or to
//! the end of its time.

use super::Workers;
use crate::delivery::ChatRef;
use insula_domain::{Actor, AgentId, BoardRight, CardId, CardStatus, Label};
use insula_registry::boards::{BoardError, Desk, RunEnd, RunKind, Seat, TAKEN_AWAY};
use insula_registry::context::{AgentContext, CardClaim, JobTurn};
use insula_store::{
    About, AgentCommand, CardWhole, IdempotencyKey, Part, StoreError, TurnId, TurnStatus, Usage,
};
use insula_turns::{Acknowledge, Around, Inbound, SubmitError, TurnEnd, TurnEvent, TurnHandle};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Turns of one claim: the work, and one that asks for the end that was forgotten.
const ROUNDS_MAX: u32 = 2;
/// How soon it is tried again where an agent has no room for a turn.
const ROOM_AGAIN: Duration = Duration::from_secs(2);

const WORK: &str = "You work on the card below, alone and to its end; nobody reads along. When it is done, call kanban_complete with the whole result. If it can't go on, call kanban_block and say why. Your own files are in a folder of this card.";
const REVIEW: &str = "You review the card below: is its result what was asked for? Look for yourself where you can. If it is good, call kanban_complete. If not, call kanban_block with what is missing; whoever did it gets it back.";
const FORGOTTEN: &str =
    "The card is still open. Call kanban_complete with its result, or kanban_block and say why.";

/// How a turn ended, as far as the card has to know.
enum Over {
    /// It came to its end.
    Replied,
    Not(RunEnd),
}

fn end(outcome: &'static str, why: impl Into<String>, is_failure: bool) -> RunEnd {
    RunEnd { outcome, why: why.into(), is_failure }
}

impl Workers {
    /// Whether a claim still holds.
    async fn holds(desk: &Desk, card: CardId, run: i64) -> Result<bool, BoardError> {
        match desk.show(card).await {
            Ok(whole) => Ok(whole.row.run == run && whole.row.worker.is_some()),
            Err(BoardError::NoSuchCard { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sees to a claim until it is over.
    pub(super) async fn see_to(
        self: &Arc<Self>,
        desk: &Desk,
        agent: &AgentId,
        card: CardId,
        run: i64,
    ) -> Result<(), BoardError> {
        for round in 0..ROUNDS_MAX {
            if !Self::holds(desk, card, run).await? {
                return Ok(());
            }
            let Some(context) = self.serving(agent) else {
                let why = format!("agent `{agent}` does not serve");
                return desk.give_back(card, run, &end("stopped", why, false)).await;
            };
            if let Some(why) = self.taken_away(desk, agent, (card, run)).await? {
                return desk.give_back(card, run, &end(TAKEN_AWAY, why, false)).await;
            }
            let whole = desk.show(card).await?;
            let begun = self.begin(desk, &context, &whole, round).await?;
            let over = match begun {
                Ok((turn, handle)) => self.turn(desk, &context, &whole, (turn, handle)).await?,
                Err(end) => Over::Not(end),
            };
            if let Over::Not(end) = over {
                self.record(&context, &whole, &end).await?;
                return desk.give_back(card, run, &end).await;
            }
        }
        if !Self::holds(desk, card, run).await? {
            return Ok(());
        }
        let why = "its worker stopped without completing or blocking it";
        desk.give_back(card, run, &end("protocol", why, true)).await
    }

    /// Writes down in the agent's own trail that work on a card ended otherwise than by its word.
    async fn record(
        &self,
        agent: &AgentContext,
        whole: &CardWhole,
        end: &RunEnd,
    ) -> Result<(), StoreError> {
        let content = json!({
            "card": whole.row.id.0, "run": whole.row.run, "outcome": end.outcome, "why": end.why,
        });
        let record = self.trail.record(agent, About::Agent, &Actor::Daemon, "card.ended", content);
        agent.store.commit(vec![AgentCommand::Audit(record)]).await.map(drop)
    }

    /// What an agent has to know of the cards that came before: their results.
    async fn before(
        &self,
        desk: &Desk,
        agent: &Arc<AgentContext>,
        whole: &CardWhole,
    ) -> Result<(String, Label), BoardError> {
        let (mut text, mut label) = (String::new(), Label::anyone());
        let needs = whole.needs.iter().map(|(card, _)| *card);
        for card in
            needs.chain(whole.parts.iter().copied()).collect::<std::collections::BTreeSet<_>>()
        {
            let Ok(other) = desk.show(card).await else { continue };
            if other.row.result.is_none() {
                continue;
            }
            label = label.join(&desk.label_of((&self.access, agent), &other));
            text.push_str("\n\n");
            text.push_str(&self.engine.card_text(agent, desk.name().as_str(), &other));
        }
        Ok((text, label))
    }

    /// Begins a turn of a claim. The same one asked for twice is one turn.
    async fn begin(
        &self,
        desk: &Desk,
        agent: &Arc<AgentContext>,
        whole: &CardWhole,
        round: u32,
    ) -> Result<Result<(TurnId, Option<TurnHandle>), RunEnd>, BoardError> {
        let row = &whole.row;
        let claim = CardClaim { board: desk.name().clone(), card: row.id, run: row.run };
        let nowhere = || Ok(Err(end("failed", "it has no place to be worked on", true)));
        let (Some(session), Some(address)) = (claim.session(&agent.id), claim.place()) else {
            return nowhere();
        };
        let key: Box<str> = format!("{}/{}/{}/{round}", claim.board, row.id, row.run).into();
        let Some(job) = JobTurn::of_card(claim, desk.board().less(row.id)) else {
            return nowhere();
        };
        // What began the work stands in the agent's own trail, together with the turn.
        let content = json!({
            "board": desk.name().as_str(), "card": row.id.0, "run": row.run,
            "as": if row.status == CardStatus::Review { "review" } else { "work" },
        });
        let record = (round == 0).then(|| {
            self.trail.record(agent, About::Agent, &Actor::Daemon, "card.claimed", content)
        });
        let first = record.map(AgentCommand::Audit).into_iter().collect();
        let around = Around { first, ..Around::default() };
        let (before, mut label) = self.before(desk, agent, whole).await?;
        label = label.join(&desk.label_of((&self.access, agent), whole));
        let card = self.engine.card_text(agent, desk.name().as_str(), whole);
        let text = match (round, row.status) {
            (0, CardStatus::Review) => format!("{REVIEW}\n\n{card}{before}"),
            (0, _) => format!("{WORK}\n\n{card}{before}"),
            _ => FORGOTTEN.to_owned(),
        };
        let inbound = Inbound {
            agent: agent.clone(),
            session: session.clone(),
            scope: agent.scope(&address).by_job(Arc::new(job)),
            label,
            principal: Actor::Daemon,
            history: Vec::new(),
            parts: vec![Part::Text(text)],
            idempotency: Some(IdempotencyKey {
                who: "board".into(),
                // By the claim alone: what stands on the card may change while it is begun.
                request: *blake3::hash(key.as_bytes()).as_bytes(),
                key,
            }),
            origin: None,
            acknowledge: Acknowledge::AtOnce,
        };
        Ok(match self.engine.submit_with(inbound, around).await {
            Ok(handle) => Ok((handle.turn, Some(handle))),
            Err(SubmitError::Known { turn, .. }) => Ok((turn, self.engine.listen(&session, turn))),
            Err(SubmitError::Budget(refusal)) => Err(end("budget", refusal.to_string(), true)),
            Err(SubmitError::Store(error)) => return Err(error.into()),
            Err(error) => {
                // Not a fault of the card: it waits for its agent.
                self.world.clock.sleep(ROOM_AGAIN).await;
                Err(end("no room", error.to_string(), false))
            }
        })
    }

    /// Watches a turn to its end, the end of its time, or until the card is taken away; what it
    /// took is noted.
    async fn turn(
        self: &Arc<Self>,
        desk: &Desk,
        agent: &Arc<AgentContext>,
        whole: &CardWhole,
        (turn, handle): (TurnId, Option<TurnHandle>),
    ) -> Result<Over, BoardError> {
        let (card, run) = (whole.row.id, whole.row.run);
        let is_late = match handle {
            Some(handle) => self.watch(desk, agent, whole, handle).await?,
            None => false,
        };
        let mut over = match self.engine.ended(agent, turn).await? {
            Some(mut handle) => match handle.events.recv().await {
                Some(TurnEvent::Ended(TurnEnd::Replied { .. })) => Over::Replied,
                Some(TurnEvent::Ended(TurnEnd::Failed { error })) => {
                    Over::Not(end("failed", error, true))
                }
                Some(TurnEvent::Ended(TurnEnd::OverBudget(refusal))) => {
                    Over::Not(end("budget", refusal.to_string(), true))
                }
                _ => Over::Not(end("stopped", "somebody stopped it", true)),
            },
            None => Over::Not(end("failed", "its turn has no end", true)),
        };
        if is_late {
            let took = desk.board().timeout.as_secs();
            let why = format!("it took longer than its {took} seconds");
            over = Over::Not(end("timed_out", why, true));
        }
        if matches!(over, Over::Not(_))
            && let Some(why) = self.taken_away(desk, &agent.id, (card, run)).await?
        {
            over = Over::Not(end(TAKEN_AWAY, why, false));
        }
        let known = agent.store.turn(turn).await?;
        if let Some(known) = known.filter(|known| known.status != TurnStatus::Accepted) {
            let Usage { input, output, cost_micros, .. } = known.usage;
            desk.note_turn(card, run, (turn, input + output, cost_micros)).await?;
        }
        Ok(over)
    }

    /// Watches a turn; whether it was stopped for taking too long.
    async fn watch(
        self: &Arc<Self>,
        desk: &Desk,
        agent: &Arc<AgentContext>,
        whole: &CardWhole,
        mut handle: TurnHandle,
    ) -> Result<bool, BoardError> {
        let (card, run) = (whole.row.id, whole.row.run);
        let claim = CardClaim { board: desk.name().clone(), card, run };
        let session = claim.session(&agent.id);
        let stop = |turn| {
            if let Some(session) = &session {
                self.engine.stop_turn(session, turn);
            }
        };
        let late = self.world.clock.sleep(desk.board().timeout);
        tokio::pin!(late);
        let beat = (desk.board().lease / 3).max(Duration::from_secs(1));
        let (mut written, mut rights) = (self.boards.changes(), self.registry.changes());
        let (mut is_late, mut is_ours) = (false, true);
        // It may have been taken away while its turn began.
        if self.taken_away(desk, &agent.id, (card, run)).await?.is_some() {
            is_ours = false;
            stop(handle.turn);
        }
        loop {
            let changed = async {
                tokio::select! {
                    biased;
                    () = written.changed() => {}
                    () = rights.changed() => {}
                }
            };
            let next_beat = self.world.clock.sleep(beat);
            tokio::select! {
                biased;
                event = handle.events.recv() => match event {
                    Some(TurnEvent::Approval { id, tool, what, rule, .. }) => {
                        if let Some(home) = self.home_of(agent) {
                            let place = ChatRef::of(&home.address);
                            let question = (id, tool, what, rule);
                            self.out.put_question(agent, &place, handle.turn, question).await?;
                        }
                    }
                    Some(TurnEvent::Ended(_)) | None => return Ok(is_late),
                    Some(_) => {}
                },
                () = &mut late, if !is_late => {
                    is_late = true;
                    stop(handle.turn);
                }
                () = changed, if is_ours => {
                    // Who completed or blocked it may say a last word; who lost it may not.
                    if self.taken_away(desk, &agent.id, (card, run)).await?.is_some() {
                        is_ours = false;
                        stop(handle.turn);
                    }
                }
                () = next_beat, if is_ours => {
                    match desk.heartbeat(card, run, None).await {
                        Ok(_) | Err(BoardError::Lost(_)) => {}
                        Err(error) => tracing::warn!(%card, %error, "a sign of life could not be kept"),
                    }
                }
            }
        }
    }

    /// Why a card is no longer that of whoever works on it, where another took it from them: moved
    /// it, said that it is done or can't go on, or took away the right to work on it.
    async fn taken_away(
        &self,
        desk: &Desk,
        agent: &AgentId,
        (card, run): (CardId, i64),
    ) -> Result<Option<&'static str>, BoardError> {
        let Ok(now) = self.boards.desk(desk.name().as_str(), Seat::Daemon) else {
            return Ok(Some("the board is gone"));
        };
        let known = match desk.show(card).await {
            Ok(whole) => whole.runs.into_iter().find(|it| it.run == run),
            Err(BoardError::NoSuchCard { .. }) => None,
            Err(error) => return Err(error),
        };
        let Some(known) = known else { return Ok(Some("the card is gone")) };
        if known.ended_at.is_some() {
            let is_taken = known.outcome.as_deref() == Some(TAKEN_AWAY);
            return Ok(is_taken.then_some("it was taken away"));
        }
        let right = match &*known.kind == RunKind::Review.as_str() {
            true => BoardRight::Review,
            false => BoardRight::Claim,
        };
        let may = now.board().rights_of(agent).has(right);
        Ok((!may).then_some("the right to it was taken away"))
    }
}
