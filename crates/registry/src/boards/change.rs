//! What takes a card from one status to another, and who may have it done.

use super::desk::{Desk, Draft};
use super::{BoardError, Seat};
use insula_domain::{BlockKind, BoardRight, CardFacts, CardId, CardStatus, CardStep, Label};
use insula_store::{BoardCommand, CardNotice, CardRow, CardRun, CardWhole};
use serde_json::json;

/// How a run ended whose card another took from its worker: the worker is to stop.
pub const TAKEN_AWAY: &str = "fenced";
/// How a run ended whose card waits for others.
const WAITS: &str = "waits";

/// Longest text of a result that a chat is told, in bytes.
const TOLD_BYTES_MAX: usize = 6_000;

/// A card that nobody has.
pub(super) fn let_go(row: &mut CardRow) {
    (row.worker, row.lease_until) = (None, None);
}

/// Ends the run of whoever has a card.
pub(super) fn ended(
    whole: &CardWhole,
    run: &mut Vec<BoardCommand>,
    (outcome, why, at): (&str, Option<&str>, insula_world::Timestamp),
) {
    let open = whole.runs.iter().find(|it| it.run == whole.row.run && it.ended_at.is_none());
    if let Some(open) = open.filter(|_| whole.row.worker.is_some()) {
        run.push(BoardCommand::Run(CardRun {
            ended_at: Some(at),
            outcome: Some(outcome.into()),
            why: why.map(str::to_owned),
            ..open.clone()
        }));
    }
}

fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

impl Desk {
    /// Refuses who had a card and has it no more. A person has it until their time ends; an agent
    /// of this daemon until the daemon itself takes it away.
    pub(super) fn is_ours(&self, row: &CardRow) -> Result<(), BoardError> {
        let is_worker = row.worker.as_deref() == Some(&*self.seat.name());
        let is_run = match (&self.seat, self.seat.claim()) {
            (_, Some(claim)) => claim.card == row.id && claim.run == row.run,
            // An agent has a card in the turn that works on it, and in no chat.
            (Seat::Agent(_), None) => false,
            (_, None) => row.lease_until.is_some_and(|until| until > self.now()),
        };
        match is_worker && is_run {
            true => Ok(()),
            false => Err(BoardError::Lost(row.id)),
        }
    }

    fn has(&self, row: &CardRow) -> bool {
        row.worker.is_some() && self.is_ours(row).is_ok()
    }

    /// Whether somebody may change a card as its worker, or as one who may change all.
    fn worker_or(&self, right: BoardRight, row: &CardRow) -> Result<(), BoardError> {
        match self.seat.claim() {
            Some(_) => self.is_ours(row),
            None if self.has(row) => Ok(()),
            None => self.need(right),
        }
    }

    /// How the run of whoever has a card ends: by their own word, or by that of another, which
    /// takes it from them.
    fn outcome(&self, row: &CardRow, own: &'static str) -> &'static str {
        if row.worker.is_none() || self.is_ours(row).is_ok() { own } else { TAKEN_AWAY }
    }

    /// What the chat that asked for a card is told.
    pub(super) fn notice(&self, row: &CardRow, text: String) -> Option<BoardCommand> {
        let (place, agent) = (row.place.clone()?, row.author_agent.clone()?);
        let label = |text: &str| text.parse().unwrap_or_else(|_| Label::unknown());
        let mut all: Label = label(&row.label);
        if let Some(result) = &row.result_label {
            all = all.join(&label(result));
        }
        Some(BoardCommand::Notice(CardNotice {
            id: 0,
            card: row.id,
            run: row.run,
            agent,
            place,
            asker: row.author.clone(),
            label: all.to_string().into(),
            text,
        }))
    }

    /// A card is done, or is to be looked at: by whoever has it, whoever reviews it, or whoever may
    /// change all.
    pub async fn complete(&self, card: CardId, result: &str) -> Result<CardRow, BoardError> {
        let label = self.label();
        let done = self
            .change(card, |whole| {
                let (mut row, now) = (whole.row.clone(), self.now());
                let is_review = row.status == CardStatus::Review;
                let right = if is_review { BoardRight::Review } else { BoardRight::Administer };
                self.worker_or(right, &row)?;
                let submits = row.status == CardStatus::Running && row.reviewer.is_some();
                let step = if submits { CardStep::Submit } else { CardStep::Complete };
                row.status = row.status.after(step)?;
                let mut more = Vec::new();
                let kind = match (submits, is_review) {
                    (true, _) => "review_requested",
                    (false, true) => "approved",
                    (false, false) => "completed",
                };
                ended(whole, &mut more, (self.outcome(&row, kind), None, now));
                let_go(&mut row);
                (row.block, row.why, row.failures) = (None, None, 0);
                // Who looks at a result does not replace it.
                let replaces = is_review && row.result.is_some();
                if !replaces && !result.trim().is_empty() {
                    row.result = Some(result.to_owned());
                    row.result_label = Some(label.clone());
                    row.result_by = Some(self.seat.name());
                }
                if row.status == CardStatus::Done {
                    row.done_at = Some(now);
                }
                let told = match row.status {
                    CardStatus::Done => {
                        let result = cut(row.result.as_deref().unwrap_or_default(), TOLD_BYTES_MAX);
                        Some(format!("Card {} is done: {}\n{result}", row.id, row.title))
                    }
                    _ if row.reviewer.as_deref() == Some(insula_config::board::PERSON) => {
                        Some(format!("Card {} waits for a review: {}", row.id, row.title))
                    }
                    _ => None,
                };
                more.extend(told.and_then(|told| self.notice(&row, told)));
                let detail = json!({ "status": row.status.as_str(), "run": row.run });
                Ok(Draft { row, more, kind, detail })
            })
            .await?;
        self.settle().await?;
        Ok(done)
    }

    /// A card can't go on, and why. From who reviews it: it is not done yet.
    pub async fn block(
        &self,
        card: CardId,
        kind: BlockKind,
        why: &str,
    ) -> Result<CardRow, BoardError> {
        if why.trim().is_empty() {
            return Err(BoardError::Wrong("say why".to_owned()));
        }
        let why = cut(why, 4_000);
        let parts_open = match kind {
            BlockKind::Dependency => self.parts_open(card).await?,
            _ => 0,
        };
        self.change(card, |whole| {
            let row = &whole.row;
            let is_review = row.status == CardStatus::Review;
            let right = if is_review { BoardRight::Review } else { BoardRight::Administer };
            self.worker_or(right, row)?;
            if is_review && self.seat.claim().is_some() {
                return self.sent_back(whole, why);
            }
            if kind != BlockKind::Dependency {
                return self.blocked(whole, (kind, why), self.outcome(row, "blocked"));
            }
            if whole.needs_open() == 0 && parts_open == 0 {
                return Err(self.waits_for_nothing(whole));
            }
            self.waits(whole, why)
        })
        .await?;
        self.settle_one(card).await
    }

    /// How many parts of a card are not done.
    async fn parts_open(&self, card: CardId) -> Result<usize, BoardError> {
        let mut open = 0;
        for part in self.shown(card).await?.parts {
            let part = self.store.card(part).await?;
            open += usize::from(part.is_some_and(|it| it.row.done_at.is_none()));
        }
        Ok(open)
    }

    /// Why a card can't wait for others: it would come back at once.
    fn waits_for_nothing(&self, whole: &CardWhole) -> BoardError {
        let known = match (whole.needs.is_empty(), whole.parts.is_empty()) {
            (true, true) => "it has no parts and waits for no card",
            (true, false) => "its parts are done",
            (false, true) => "the cards it waited for are done",
            (false, false) => "its parts and the cards it waited for are done",
        };
        let complete = match &self.seat {
            Seat::Agent(_) => "or kanban_complete where it is done",
            Seat::Person(_) | Seat::Daemon => "or say that it is done",
        };
        BoardError::Wrong(format!(
            "card {} waits for nothing that is open: {known}; use kind `needs_input`, `capability` or `transient`, {complete}",
            whole.row.id
        ))
    }

    /// A card waits for others. Who waits ever again gets nowhere, and is stopped.
    fn waits(&self, whole: &CardWhole, why: &str) -> Result<Draft, BoardError> {
        let outcome = self.outcome(&whole.row, WAITS);
        let before = whole.runs.iter().rev().filter(|it| it.ended_at.is_some());
        let before = before.take_while(|it| it.outcome.as_deref() == Some(WAITS)).count();
        let most = self.board.max_parts.max(self.board.attempts);
        if outcome != WAITS || before < most as usize {
            return self.blocked(whole, (BlockKind::Dependency, why), outcome);
        }
        let why = format!(
            "it waited for other cards {most} times in a row and came back, and wants to again: {why}"
        );
        self.blocked(whole, (BlockKind::NeedsInput, cut(&why, 4_000)), "blocked")
    }

    /// A card that somebody looked at is to be done again.
    pub async fn rework(&self, card: CardId, why: &str) -> Result<CardRow, BoardError> {
        if why.trim().is_empty() {
            return Err(BoardError::Wrong("say what is missing".to_owned()));
        }
        let why = cut(why, 4_000);
        self.change(card, |whole| {
            self.worker_or(BoardRight::Review, &whole.row)?;
            self.sent_back(whole, why)
        })
        .await
    }

    fn sent_back(&self, whole: &CardWhole, why: &str) -> Result<Draft, BoardError> {
        let mut row = whole.row.clone();
        row.reworks += 1;
        if row.reworks > self.board.reworks {
            let why = format!("it came back from review {} times, at last: {why}", row.reworks);
            let whole = CardWhole { row, ..whole.clone() };
            let outcome = self.outcome(&whole.row, "rework");
            return self.blocked(&whole, (BlockKind::NeedsInput, cut(&why, 4_000)), outcome);
        }
        row.status = row.status.after(CardStep::Rework(self.facts(whole, &row)))?;
        row.why = Some(why.to_owned());
        let mut more = Vec::new();
        let outcome = self.outcome(&row, "rework");
        ended(whole, &mut more, (outcome, Some(why), self.now()));
        let_go(&mut row);
        Ok(Draft { row, more, kind: "rework", detail: json!({ "why": why }) })
    }

    pub(super) fn blocked(
        &self,
        whole: &CardWhole,
        (kind, why): (BlockKind, &str),
        outcome: &'static str,
    ) -> Result<Draft, BoardError> {
        let mut row = whole.row.clone();
        row.status = row.status.after(CardStep::Block(kind))?;
        (row.block, row.why) = (Some(kind), Some(why.to_owned()));
        let mut more = Vec::new();
        ended(whole, &mut more, (outcome, Some(why), self.now()));
        if kind == BlockKind::Dependency {
            // Whoever split a card waits for its parts.
            let waits = |card: &CardId| whole.needs.iter().all(|(needs, _)| needs != card);
            let parts = whole.parts.iter().filter(|card| waits(card));
            more.extend(parts.map(|needs| BoardCommand::Need { card: row.id, needs: *needs }));
        } else {
            let told = format!("Card {} is blocked: {}\n{why}", row.id, row.title);
            more.extend(self.notice(&row, told));
        }
        let_go(&mut row);
        let detail = json!({ "kind": kind.as_str(), "why": why, "run": row.run });
        Ok(Draft { row, more, kind: "blocked", detail })
    }

    /// Whether somebody may change what is their own wish.
    fn author_or(&self, right: BoardRight, row: &CardRow) -> Result<(), BoardError> {
        let (author, agent) = self.author();
        let is_author = (&row.author, &row.author_agent) == (&author, &agent);
        match self.seat.claim() {
            Some(claim) if row.split_from == Some(claim.card) => Ok(()),
            Some(_) => Err(BoardError::NotAllowed(
                "who works on a card decides about the parts of it alone".to_owned(),
            )),
            None if is_author && !matches!(self.seat, Seat::Daemon) => self.need(BoardRight::Add),
            None => self.need(right),
        }
    }

    /// A card can go on.
    pub async fn unblock(&self, card: CardId) -> Result<CardRow, BoardError> {
        self.change(card, |whole| {
            let mut row = whole.row.clone();
            self.author_or(BoardRight::Administer, &row)?;
            row.status = row.status.after(CardStep::Unblock(self.facts(whole, &row)))?;
            (row.block, row.why, row.failures, row.reworks) = (None, None, 0, 0);
            Ok(Draft::new(row, "unblocked", json!({})))
        })
        .await
    }

    /// Says who is to do a card: an agent, a kind of work, or nobody.
    pub async fn assign(&self, card: CardId, to: Option<&str>) -> Result<CardRow, BoardError> {
        if let Some(to) = to {
            self.known_assignee(to)?;
        }
        self.change(card, |whole| {
            let mut row = whole.row.clone();
            self.author_or(BoardRight::Administer, &row)?;
            if row.status.is_over() {
                let rests = self.facts(whole, &row).rest();
                return Err(BoardError::Wrong(format!(
                    "card {card} is `{}`; move it to `{rests}` first to have it done again",
                    row.status
                )));
            }
            if row.worker.is_some() {
                return Err(BoardError::Wrong(format!(
                    "somebody works on card {card}; take it from them first: move it to `ready`"
                )));
            }
            row.assignee = to.map(Into::into);
            row.status = row.status.after(CardStep::Settle(self.facts(whole, &row)))?;
            Ok(Draft::new(row, "assigned", json!({ "to": to })))
        })
        .await
    }

    /// Puts a card where somebody wants it. Whoever worked on it has lost it.
    pub async fn move_to(
        &self,
        card: CardId,
        to: CardStatus,
        why: Option<&str>,
    ) -> Result<CardRow, BoardError> {
        let moved = self
            .change(card, |whole| {
                let mut row = whole.row.clone();
                let sends_back = row.status == CardStatus::Review && !to.is_over();
                let right = if sends_back { BoardRight::Review } else { BoardRight::Administer };
                self.need(right)?;
                if self.seat.claim().is_some() {
                    return Err(BoardError::NotAllowed(
                        "who works on a card ends with it by completing or blocking it".to_owned(),
                    ));
                }
                let facts = self.facts(whole, &row);
                let before = row.status;
                row.status = before.after(self.step(before, to, facts)?)?;
                if row.status != to {
                    let (needs, is) = (facts.needs_open, row.status);
                    return Err(BoardError::Wrong(format!(
                        "card {card} can't be `{to}`: it would be `{is}`{}",
                        match is {
                            CardStatus::Triage =>
                                ", since nobody is to do it; assign it, or claim it".to_owned(),
                            CardStatus::Todo => format!(", since it waits for {needs} others"),
                            CardStatus::Scheduled => ", since its time has not come".to_owned(),
                            _ => String::new(),
                        }
                    )));
                }
                let mut more = Vec::new();
                ended(whole, &mut more, (TAKEN_AWAY, Some("it was taken away"), self.now()));
                let_go(&mut row);
                row.block = (to == CardStatus::Blocked).then_some(BlockKind::NeedsInput);
                row.why = why.map(|why| cut(why, 4_000).to_owned());
                row.done_at = match to {
                    CardStatus::Done => Some(self.now()),
                    CardStatus::Archived => row.done_at,
                    _ => None,
                };
                let detail = json!({ "from": before.as_str(), "to": to.as_str(), "why": row.why });
                Ok(Draft { row, more, kind: "moved", detail })
            })
            .await?;
        self.settle().await?;
        Ok(moved)
    }

    fn step(
        &self,
        from: CardStatus,
        to: CardStatus,
        facts: CardFacts,
    ) -> Result<CardStep, BoardError> {
        Ok(match (to, from) {
            (CardStatus::Running, _) => {
                return Err(BoardError::Wrong("claim it to work on it".to_owned()));
            }
            (CardStatus::Blocked, _) => CardStep::Block(BlockKind::NeedsInput),
            (CardStatus::Review, _) => CardStep::Submit,
            (CardStatus::Done, _) => CardStep::Complete,
            (CardStatus::Archived, _) => CardStep::Archive,
            (_, CardStatus::Running) => CardStep::Release(facts),
            (_, CardStatus::Review) => CardStep::Rework(facts),
            (_, CardStatus::Blocked) => CardStep::Unblock(facts),
            (_, CardStatus::Done | CardStatus::Archived) => CardStep::Reopen(facts),
            _ => CardStep::Settle(facts),
        })
    }
}
