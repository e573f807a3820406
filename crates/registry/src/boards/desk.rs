//! A board in the hands of somebody who may see it: adding cards, and writing on them.

use super::{BoardError, Seat, audience};
use crate::signal::Signal;
use crate::trail::Trail;
use insula_config::board::Board;
use insula_domain::{
    Actor, AgentId, BoardName, BoardRight, BoardRights, CardFacts, CardId, CardStatus, Integrity,
    Label,
};
use insula_store::{
    BoardCommand, BoardLease, CardComment, CardEvent, CardFile, CardRow, CardWhole, DaemonCommand,
    LAST_ADDED, LeaseHolder, StoreError,
};
use insula_world::{Timestamp, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How often a change is tried again that met another one.
const TRIES_MAX: usize = 16;
/// How many cards are looked at for a circle.
const LOOKED_AT_MAX: usize = 2_000;
/// Longest label that is kept, in bytes.
const LABEL_BYTES_MAX: usize = insula_store::session::NAME_BYTES_MAX;

/// A board in the hands of somebody who may see it. Only [`Boards`](super::Boards) makes one.
pub struct Desk {
    pub(super) board: Arc<Board>,
    pub(super) rights: BoardRights,
    pub(super) store: BoardLease,
    pub(super) seat: Seat,
    /// How the card stood that is to be changed, where that was said.
    pub(super) seen: Option<CardSeen>,
    /// Whether what is written from here was said elsewhere, by whoever that was.
    pub(super) is_foreign: bool,
    /// Whether all cards are shown.
    pub(super) sees_all: bool,
    pub(super) world: World,
    pub(super) changed: Arc<Signal>,
    pub(super) owner: LeaseHolder,
    pub(super) trail: Trail,
}

/// How a card stood when somebody decided what to do with it: where it was, and how often somebody
/// had taken it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardSeen {
    pub status: CardStatus,
    pub run: i64,
}

/// A card that somebody wants to add.
#[derive(Debug, Clone, Default)]
pub struct NewCard {
    pub title: String,
    pub body: String,
    /// An agent, or a kind of work.
    pub assignee: Option<Box<str>>,
    /// An agent or `person`; the board's where it is not said.
    pub reviewer: Option<Box<str>>,
    pub priority: i32,
    pub due_at: Option<Timestamp>,
    pub start_at: Option<Timestamp>,
    pub tags: Vec<Box<str>>,
    /// Cards that have to be done first.
    pub needs: Vec<CardId>,
    /// What a repetition of the same wish would carry.
    pub request: Option<Box<str>>,
}

/// A change of one card: what it is then, and what comes with it.
pub(super) struct Draft {
    pub(super) row: CardRow,
    pub(super) more: Vec<BoardCommand>,
    pub(super) kind: &'static str,
    pub(super) detail: Value,
}

impl Draft {
    pub(super) fn new(row: CardRow, kind: &'static str, detail: Value) -> Self {
        Self { row, more: Vec::new(), kind, detail }
    }
}

impl Desk {
    /// The same, where the next change counts only if the card still stands as it was seen.
    pub fn seen(mut self, seen: CardSeen) -> Self {
        self.seen = Some(seen);
        self
    }

    /// The same, for what was written in another place: nobody here knows who had a word in it.
    pub fn foreign(mut self) -> Self {
        self.is_foreign = true;
        self
    }

    pub fn name(&self) -> &BoardName {
        &self.board.name
    }

    pub fn board(&self) -> &Board {
        &self.board
    }

    pub fn rights(&self) -> BoardRights {
        self.rights
    }

    pub(super) fn now(&self) -> Timestamp {
        self.world.clock.now()
    }

    pub(super) fn no_card(&self, card: CardId) -> BoardError {
        BoardError::NoSuchCard { board: self.board.name.clone(), card }
    }

    /// Refuses what takes a right that is missing.
    pub(super) fn need(&self, right: BoardRight) -> Result<(), BoardError> {
        match self.rights.has(right) {
            true => Ok(()),
            false => Err(BoardError::NotAllowed(format!(
                "that takes the right `{}` on board `{}`; the operator gives it in `boards.{}`",
                right.as_str(),
                self.board.name,
                self.board.name
            ))),
        }
    }

    /// Who writes: as cards name them, and by which agent.
    pub(super) fn author(&self) -> (Actor, Option<AgentId>) {
        match &self.seat {
            Seat::Person(who) => (who.clone(), None),
            Seat::Agent(seat) => (seat.principal.clone(), Some(seat.agent.id.clone())),
            Seat::Daemon => (Actor::Daemon, None),
        }
    }

    /// The label of what is written from here.
    pub(super) fn label(&self) -> Box<str> {
        let label = match &self.seat {
            Seat::Agent(seat) => seat.seen.clone(),
            Seat::Person(_) | Seat::Daemon => {
                audience(&self.board.name).map_or_else(Label::nobody, Label::of)
            }
        };
        let label = if self.is_foreign { label.with(&Integrity::many()) } else { label };
        let text = label.to_string();
        // One that has no room is fit for nobody.
        let text = if text.len() <= LABEL_BYTES_MAX { text } else { Label::unknown().to_string() };
        text.into()
    }

    pub(super) fn event(&self, card: CardId, kind: &str, detail: &Value) -> BoardCommand {
        BoardCommand::Event(CardEvent {
            seq: 0,
            card,
            at: self.now(),
            actor: self.seat.name(),
            kind: kind.into(),
            detail: detail.to_string(),
        })
    }

    /// Writes down in the daemon's trail what a person did. What agents do stands in theirs, and all
    /// of it in the board's own history, which changes together with the card.
    async fn record(&self, card: CardId, what: &str) -> Result<(), BoardError> {
        let Seat::Person(who) = &self.seat else { return Ok(()) };
        let content = json!({ "board": self.board.name.as_str(), "card": card.0, "what": what });
        let entry = self.trail.entry(who, "board.changed", 0, content);
        self.owner.daemon().commit(vec![DaemonCommand::Audit(entry)]).await?;
        Ok(())
    }

    pub(super) fn facts(&self, whole: &CardWhole, row: &CardRow) -> CardFacts {
        CardFacts {
            has_assignee: row.assignee.is_some(),
            needs_open: whole.needs_open(),
            is_early: row.start_at.is_some_and(|at| at > self.now()),
        }
    }

    /// Changes a card that somebody may see, as it is when the change is made.
    pub(super) async fn change(
        &self,
        card: CardId,
        decide: impl Fn(&CardWhole) -> Result<Draft, BoardError>,
    ) -> Result<CardRow, BoardError> {
        for _ in 0..TRIES_MAX {
            let whole = self.shown(card).await?;
            if let Some(seen) = self.seen
                && seen != (CardSeen { status: whole.row.status, run: whole.row.run })
            {
                let CardRow { status, worker, .. } = whole.row;
                return Err(BoardError::Moved { card, status, worker });
            }
            let Draft { mut row, more, kind, detail } = decide(&whole)?;
            row.changed_at = self.now();
            let mut batch = vec![BoardCommand::Put(Box::new(row.clone()))];
            batch.extend(more);
            batch.push(self.event(card, kind, &detail));
            match self.store.commit(batch).await {
                Ok(_) => {
                    row.version += 1;
                    self.changed.send();
                    self.record(card, kind).await?;
                    return Ok(row);
                }
                Err(StoreError::CardChanged { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::CardChanged { card }.into())
    }

    /// Adds a card. Who works on one adds parts of it.
    pub async fn add(&self, new: NewCard) -> Result<CardRow, BoardError> {
        self.need(BoardRight::Add)?;
        if let Some(request) = &new.request
            && let Some(known) = self.store.requested(request).await?
        {
            return Ok(self.shown(known).await?.row);
        }
        let title = new.title.trim();
        if title.is_empty() || title.contains('\n') {
            return Err(BoardError::Wrong("a card has a title of one line".to_owned()));
        }
        if let Some(assignee) = &new.assignee {
            self.known_assignee(assignee)?;
        }
        let reviewer = new.reviewer.clone().or_else(|| self.board.review.clone());
        if let Some(reviewer) = reviewer.as_deref().filter(|it| !self.board.can_review(it)) {
            return Err(BoardError::Wrong(format!(
                "`{reviewer}` can't review on board `{}`; name an agent that may, or `person`",
                self.board.name
            )));
        }
        let mut needs_open = 0;
        for needs in &new.needs {
            let open = self.shown(*needs).await?.row.done_at.is_none();
            needs_open += u32::from(open);
        }
        let now = self.now();
        let (author, author_agent) = self.author();
        let start_at = new.start_at.filter(|at| *at > now);
        let facts = CardFacts {
            has_assignee: new.assignee.is_some(),
            needs_open,
            is_early: start_at.is_some(),
        };
        let row = CardRow {
            id: LAST_ADDED,
            version: 0,
            title: title.to_owned(),
            body: new.body.clone(),
            label: self.label(),
            author,
            author_agent,
            place: match &self.seat {
                Seat::Agent(seat) if seat.claim.is_none() => seat.place.clone(),
                _ => None,
            },
            status: facts.rest(),
            block: None,
            why: None,
            assignee: new.assignee.clone(),
            reviewer,
            priority: new.priority,
            due_at: new.due_at,
            start_at,
            tags: new.tags.clone(),
            split_from: None,
            depth: 0,
            worker: None,
            run: 0,
            lease_until: None,
            failures: 0,
            reworks: 0,
            result: None,
            result_label: None,
            result_by: None,
            tokens: 0,
            usd_micros: 0,
            made_at: now,
            changed_at: now,
            done_at: None,
            request: new.request.clone(),
        };
        for _ in 0..TRIES_MAX {
            match self.try_add(row.clone(), &new.needs).await {
                Err(BoardError::Store(StoreError::CardChanged { .. })) => {}
                done => return done,
            }
        }
        Err(BoardError::Wrong("the card it is a part of changes all the time".to_owned()))
    }

    async fn try_add(&self, mut row: CardRow, needs: &[CardId]) -> Result<CardRow, BoardError> {
        let mut batch = Vec::new();
        if let Some(claim) = self.seat.claim() {
            let whole = self.shown(claim.card).await?;
            self.is_ours(&whole.row)?;
            if whole.row.depth >= self.board.max_depth {
                return Err(BoardError::NotAllowed(format!(
                    "card {} can't be split any further (`max_depth: {}`); do it yourself",
                    claim.card, self.board.max_depth
                )));
            }
            if whole.parts.len() >= self.board.max_parts as usize {
                return Err(BoardError::NotAllowed(format!(
                    "card {} has {} parts already (`max_parts`); do the rest yourself",
                    claim.card,
                    whole.parts.len()
                )));
            }
            (row.split_from, row.depth) = (Some(claim.card), whole.row.depth + 1);
            // Two who split it at once count each other.
            let mut own = whole.row;
            own.changed_at = self.now();
            batch.push(BoardCommand::Put(Box::new(own)));
        }
        let detail = json!({
            "title": row.title, "status": row.status.as_str(), "assignee": row.assignee,
            "part_of": row.split_from.map(|card| card.0),
        });
        batch.push(BoardCommand::Add(Box::new(row)));
        let needs =
            needs.iter().map(|needs| BoardCommand::Need { card: LAST_ADDED, needs: *needs });
        batch.extend(needs);
        batch.push(self.event(LAST_ADDED, "added", &detail));
        let added = self.store.commit(batch).await?;
        self.changed.send();
        let Some(card) = added.first() else { return Err(StoreError::Closed.into()) };
        self.record(*card, "added").await?;
        self.settle_one(*card).await?;
        let whole = self.store.card(*card).await?;
        whole.map(|whole| whole.row).ok_or_else(|| self.no_card(*card))
    }

    /// Whether there is somebody or some kind of work of this name.
    pub(super) fn known_assignee(&self, assignee: &str) -> Result<(), BoardError> {
        // A kind of work that no agent does waits for a person.
        if self.board.workers(assignee).is_some() {
            return Ok(());
        }
        let agents = self.board.agents.iter().filter(|(_, it)| it.has(BoardRight::Claim));
        let agents = agents.map(|(id, _)| id.as_str());
        let known: Vec<&str> = agents.chain(self.board.kinds.keys().map(|kind| &**kind)).collect();
        Err(BoardError::Wrong(match known.is_empty() {
            true => format!("nobody works on board `{}`", self.board.name),
            false => format!(
                "nobody and no kind of work on board `{}` is called `{assignee}`; there are: {}",
                self.board.name,
                known.join(", ")
            ),
        }))
    }

    /// Whether somebody may write on a card beside those who may on all.
    fn may_write_on(&self, row: &CardRow) -> Result<(), BoardError> {
        match self.seat.claim() {
            Some(claim) if claim.card == row.id => self.is_ours(row),
            Some(_) => Err(BoardError::NotAllowed(
                "who works on a card writes on that card alone".to_owned(),
            )),
            None => self.need(BoardRight::Add),
        }
    }

    /// Says something on a card.
    pub async fn comment(&self, card: CardId, text: &str) -> Result<CardRow, BoardError> {
        if text.trim().is_empty() {
            return Err(BoardError::Wrong("a comment says something".to_owned()));
        }
        let ((author, agent), label) = (self.author(), self.label());
        self.change(card, |whole| {
            self.may_write_on(&whole.row)?;
            let mut draft = Draft::new(whole.row.clone(), "commented", json!({}));
            draft.more.push(BoardCommand::Comment(CardComment {
                card,
                author: author.clone(),
                agent: agent.clone(),
                at: self.now(),
                label: label.clone(),
                text: text.to_owned(),
            }));
            Ok(draft)
        })
        .await
    }

    /// Puts a file on a card; its hash.
    pub async fn attach(
        &self,
        card: CardId,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<Box<str>, BoardError> {
        let hash: Box<str> = blake3::hash(&bytes).to_hex().as_str().into();
        let ((author, agent), label) = (self.author(), self.label());
        self.change(card, |whole| {
            self.may_write_on(&whole.row)?;
            let detail = json!({ "name": name, "hash": hash, "bytes": bytes.len() });
            let mut draft = Draft::new(whole.row.clone(), "attached", detail);
            let file = CardFile {
                card,
                hash: hash.clone(),
                name: name.into(),
                author: author.clone(),
                agent: agent.clone(),
                at: self.now(),
                label: label.clone(),
                len: bytes.len() as u64,
            };
            draft.more.push(BoardCommand::Attach(file, bytes.clone()));
            Ok(draft)
        })
        .await?;
        Ok(hash)
    }

    /// Has a card wait for another one.
    pub async fn link(&self, card: CardId, needs: CardId) -> Result<CardRow, BoardError> {
        self.need(BoardRight::Add)?;
        if let Some(claim) = self.seat.claim() {
            let own = self.shown(claim.card).await?;
            self.is_ours(&own.row)?;
            let is_part = |card: CardId| own.parts.contains(&card);
            if !(card == claim.card || is_part(card)) || !is_part(needs) {
                return Err(BoardError::NotAllowed(
                    "who works on a card links that card and its parts alone".to_owned(),
                ));
            }
        } else if !self.rights.has(BoardRight::Administer) {
            let (whole, (author, agent)) = (self.shown(card).await?, self.author());
            if (&whole.row.author, &whole.row.author_agent) != (&author, &agent) {
                self.need(BoardRight::Administer)?;
            }
        }
        self.shown(needs).await?;
        self.refuse_circle(card, needs).await?;
        self.change(card, |whole| {
            if whole.row.status.is_over() || whole.row.status == CardStatus::Review {
                let status = whole.row.status;
                return Err(BoardError::Wrong(format!("card {card} is `{status}`")));
            }
            let mut draft = Draft::new(whole.row.clone(), "linked", json!({ "needs": needs.0 }));
            draft.more.push(BoardCommand::Need { card, needs });
            Ok(draft)
        })
        .await?;
        self.settle_one(card).await
    }

    /// Refuses that a card waits for one that waits for it.
    async fn refuse_circle(&self, card: CardId, needs: CardId) -> Result<(), BoardError> {
        let (mut seen, mut next) = (BTreeSet::new(), vec![needs]);
        while let Some(at) = next.pop() {
            if at == card {
                let why = format!("card {needs} waits for card {card} already, or is it");
                return Err(BoardError::Wrong(why));
            }
            if !seen.insert(at) {
                continue;
            }
            if seen.len() > LOOKED_AT_MAX {
                return Err(BoardError::Wrong("too many cards wait for one another".to_owned()));
            }
            let whole = self.store.card(at).await?;
            next.extend(whole.into_iter().flat_map(|it| it.needs).map(|(needs, _)| needs));
        }
        Ok(())
    }
}
