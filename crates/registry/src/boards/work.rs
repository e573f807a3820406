//! Taking cards, keeping them, and what becomes of those that nobody finished. Whoever takes a card
//! says which version of it they saw, so that of two who try one gets it.

use super::change::{ended, let_go};
use super::desk::{Desk, Draft};
use super::{BoardError, Seat, worker_name};
use insula_config::board::PERSON;
use insula_domain::{AgentId, BlockKind, BoardRight, CardFacts, CardId, CardStatus, CardStep};
use insula_store::{BoardCommand, CardFilter, CardNotice, CardRow, CardRun, CardWhole, TurnId};
use insula_world::Timestamp;
use serde_json::json;

/// What is done with a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    Work,
    /// It is looked at whether it is done.
    Review,
}

impl RunKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Review => "review",
        }
    }
}

/// How a run ended that did not end its card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    pub outcome: &'static str,
    pub why: String,
    /// Whether it counts as a failure of the card.
    pub is_failure: bool,
}

/// A card that an agent could take now.
#[derive(Debug, Clone)]
pub struct Open {
    pub card: CardRow,
    pub kind: RunKind,
    /// Those who may.
    pub workers: Vec<AgentId>,
}

impl Desk {
    /// The same board in the hands of the daemon.
    pub(super) fn office(&self) -> Self {
        Self {
            board: self.board.clone(),
            rights: insula_domain::BoardRights::all(),
            store: self.store.clone(),
            seat: Seat::Daemon,
            seen: None,
            is_foreign: self.is_foreign,
            sees_all: true,
            world: self.world.clone(),
            changed: self.changed.clone(),
            owner: self.owner.clone(),
            trail: self.trail.clone(),
        }
    }

    fn lease_until(&self) -> Timestamp {
        let lease = i64::try_from(self.board.lease.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.now().as_millis().saturating_add(lease))
    }

    fn taken(
        &self,
        whole: &CardWhole,
        (worker, kind): (&str, RunKind),
    ) -> Result<Draft, BoardError> {
        let (mut row, now) = (whole.row.clone(), self.now());
        match kind {
            RunKind::Work => row.status = row.status.after(CardStep::Claim)?,
            RunKind::Review if row.status != CardStatus::Review || row.worker.is_some() => {
                return Err(BoardError::Wrong(format!("card {} is not to be reviewed", row.id)));
            }
            RunKind::Review => {}
        }
        row.worker = Some(worker.into());
        row.run += 1;
        row.lease_until = Some(self.lease_until());
        let run = CardRun {
            card: row.id,
            run: row.run,
            kind: kind.as_str().into(),
            worker: worker.into(),
            began_at: now,
            beat_at: now,
            note: None,
            ended_at: None,
            outcome: None,
            why: None,
            turn: None,
        };
        let detail = json!({ "worker": worker, "run": row.run, "kind": kind.as_str() });
        Ok(Draft { row, more: vec![BoardCommand::Run(run)], kind: "claimed", detail })
    }

    /// Takes a card, for whoever sits here.
    pub async fn claim(&self, card: CardId) -> Result<CardRow, BoardError> {
        self.need(BoardRight::Claim)?;
        if matches!(self.seat, Seat::Agent(_)) {
            return Err(BoardError::NotAllowed(
                "agents are given cards by the board; assign it to yourself".to_owned(),
            ));
        }
        let worker = self.seat.name();
        self.change(card, |whole| {
            // One that is for nobody is whose who takes it, as soon as it could be begun.
            let facts = CardFacts { has_assignee: true, ..self.facts(whole, &whole.row) };
            let rests = facts.rest();
            if whole.row.status == CardStatus::Triage && rests != CardStatus::Ready {
                return Err(BoardError::Wrong(format!(
                    "card {card} can't be claimed: it would be `{rests}`, {}",
                    match rests {
                        CardStatus::Scheduled => "since its time has not come",
                        _ => "since it waits for others",
                    }
                )));
            }
            self.taken(whole, (&worker, RunKind::Work))
        })
        .await
    }

    /// Gives a card to an agent. For the daemon.
    pub async fn claim_for(
        &self,
        card: CardId,
        agent: &AgentId,
        kind: RunKind,
    ) -> Result<CardRow, BoardError> {
        let right = match kind {
            RunKind::Work => BoardRight::Claim,
            RunKind::Review => BoardRight::Review,
        };
        if !matches!(self.seat, Seat::Daemon) || !self.board.rights_of(agent).has(right) {
            return Err(BoardError::NotAllowed(format!("agent `{agent}` may not")));
        }
        let worker = worker_name(agent.as_str());
        self.change(card, |whole| {
            // Somebody may have given it to another since it was looked at, or to nobody.
            let is_for = |named: &Option<Box<str>>| {
                let workers = named.as_deref().and_then(|it| self.board.workers(it));
                workers.is_some_and(|some| some.contains(agent))
            };
            if kind == RunKind::Work && !is_for(&whole.row.assignee) {
                let message = format!("card {card} is not for agent `{agent}`");
                return Err(BoardError::NotAllowed(message));
            }
            self.taken(whole, (&worker, kind))
        })
        .await
    }

    /// Blocks a card that nobody has and that those it is for can't end. For the daemon.
    pub async fn unable(&self, card: CardId, why: &str) -> Result<CardRow, BoardError> {
        self.change(card, |whole| {
            let row = &whole.row;
            let is_open = matches!(row.status, CardStatus::Ready | CardStatus::Review);
            if !is_open || row.worker.is_some() {
                return Err(BoardError::Wrong(format!("card {card} is not to be begun")));
            }
            self.blocked(whole, (BlockKind::Capability, why), "blocked")
        })
        .await
    }

    /// A sign of life of whoever has a card: they have it for as long again.
    pub async fn heartbeat(
        &self,
        card: CardId,
        run: i64,
        note: Option<&str>,
    ) -> Result<CardRow, BoardError> {
        for _ in 0..8 {
            let whole = self.shown(card).await?;
            let mut row = whole.row.clone();
            if row.run != run || row.worker.is_none() {
                return Err(BoardError::Lost(card));
            }
            if !matches!(self.seat, Seat::Daemon) {
                self.is_ours(&row)?;
            }
            row.lease_until = Some(self.lease_until());
            let mut batch = vec![BoardCommand::Put(Box::new(row.clone()))];
            let open = whole.runs.into_iter().find(|it| it.run == run);
            batch.extend(open.map(|open| {
                let note = note.map(|it| it[..it.floor_char_boundary(4_000)].to_owned());
                let note = note.or_else(|| open.note.clone());
                BoardCommand::Run(CardRun { beat_at: self.now(), note, ..open })
            }));
            match self.store.commit(batch).await {
                Ok(_) => return Ok(row),
                Err(insula_store::StoreError::CardChanged { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(insula_store::StoreError::CardChanged { card }.into())
    }

    /// Notes by which turn a run was made, and what it took. For the daemon.
    pub async fn note_turn(
        &self,
        card: CardId,
        run: i64,
        (turn, tokens, usd_micros): (TurnId, u64, u64),
    ) -> Result<(), BoardError> {
        self.change(card, |whole| {
            let mut row = whole.row.clone();
            let known = whole.runs.iter().find(|it| it.run == run);
            // A turn is counted once, however often it is looked at.
            let is_new = known.is_some_and(|it| it.turn != Some(turn));
            if is_new {
                row.tokens = row.tokens.saturating_add(tokens);
                row.usd_micros = row.usd_micros.saturating_add(usd_micros);
            }
            let detail = json!({ "run": run, "tokens": tokens, "usd_micros": usd_micros });
            let mut draft = Draft::new(row, "worked", detail);
            let noted = known.map(|it| CardRun { turn: Some(turn), ..it.clone() });
            draft.more.extend(noted.map(BoardCommand::Run));
            Ok(draft)
        })
        .await
        .map(drop)
    }

    /// Ends a run that left its card open: it is to be done again, or was tried often enough. For
    /// the daemon. Who lost the card meanwhile changes nothing.
    pub async fn give_back(&self, card: CardId, run: i64, end: &RunEnd) -> Result<(), BoardError> {
        let given = self
            .change(card, |whole| {
                let mut row = whole.row.clone();
                if row.run != run || row.worker.is_none() {
                    return Err(BoardError::Lost(card));
                }
                if end.is_failure {
                    row.failures += 1;
                }
                if end.is_failure && row.failures >= self.board.attempts {
                    let why = match row.failures {
                        1 => format!("it failed: {}", end.why),
                        times => format!("it failed {times} times, at last: {}", end.why),
                    };
                    let why = &why[..why.floor_char_boundary(4_000)];
                    let whole = CardWhole { row, ..whole.clone() };
                    return self.blocked(&whole, (BlockKind::Transient, why), end.outcome);
                }
                if row.status == CardStatus::Running {
                    let facts = self.facts(whole, &row);
                    row.status = row.status.after(CardStep::Release(facts))?;
                }
                let mut more = Vec::new();
                let why = &end.why[..end.why.floor_char_boundary(4_000)];
                ended(whole, &mut more, (end.outcome, Some(why), self.now()));
                let_go(&mut row);
                let detail = json!({ "run": run, "outcome": end.outcome, "why": why });
                Ok(Draft { row, more, kind: "given back", detail })
            })
            .await;
        match given {
            Ok(_) | Err(BoardError::Lost(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes cards back from people whose time with them ended; when the next one's does.
    pub async fn lapse(&self) -> Result<Option<Timestamp>, BoardError> {
        let (now, mut next) = (self.now(), None::<Timestamp>);
        for row in self.store.claimed().await? {
            let is_agents = row.worker.as_deref().is_some_and(|it| it.starts_with("agent:"));
            let Some(until) = row.lease_until.filter(|_| !is_agents) else { continue };
            if until > now {
                next = Some(next.map_or(until, |next| next.min(until)));
                continue;
            }
            let why = "nothing was heard of whoever had it".to_owned();
            let end = RunEnd { outcome: "lapsed", why, is_failure: false };
            self.give_back(row.id, row.run, &end).await?;
        }
        Ok(next)
    }

    /// The cards that agents have now.
    pub async fn running(&self) -> Result<Vec<(AgentId, CardRow)>, BoardError> {
        let claimed = self.store.claimed().await?.into_iter();
        let agents = claimed.filter_map(|row| {
            let agent = row.worker.as_deref()?.strip_prefix("agent:")?;
            Some((AgentId::new(agent).ok()?, row))
        });
        Ok(agents.collect())
    }

    /// The cards that agents could take, the most urgent first.
    pub async fn open(&self) -> Result<Vec<Open>, BoardError> {
        let status = vec![CardStatus::Ready, CardStatus::Review];
        let filter = CardFilter { status, ..CardFilter::default() };
        let mut open = Vec::new();
        for card in self.store.cards(filter, u32::MAX).await? {
            if card.worker.is_some() {
                continue;
            }
            let (kind, workers) = match (&card.reviewer, &card.assignee) {
                (Some(reviewer), _) if card.status == CardStatus::Review => {
                    let agent = AgentId::new(reviewer).ok().filter(|_| &**reviewer != PERSON);
                    (RunKind::Review, agent.into_iter().collect())
                }
                (_, Some(assignee)) if card.status == CardStatus::Ready => {
                    (RunKind::Work, self.board.workers(assignee).unwrap_or_default())
                }
                _ => continue,
            };
            open.push(Open { card, kind, workers });
        }
        open.sort_by_key(|it| {
            let due = it.card.due_at.map_or(i64::MAX, Timestamp::as_millis);
            (std::cmp::Reverse(it.card.priority), due, it.card.id)
        });
        Ok(open)
    }

    /// What chats are still to be told.
    pub async fn notices(&self) -> Result<Vec<CardNotice>, BoardError> {
        Ok(self.store.notices().await?)
    }

    /// A chat was told.
    pub async fn told(&self, notice: i64) -> Result<(), BoardError> {
        self.store.commit(vec![BoardCommand::Told { notice }]).await?;
        Ok(())
    }
}
