//! What somebody at a board may read, and what reading it means for who reads.

use super::desk::Desk;
use super::{BoardError, Seat};
use crate::access::Access;
use crate::context::AgentContext;
use crate::tokens::Verb;
use insula_domain::{Actor, AgentId, CardId, CardStatus, Integrity, Label, Source, SourceKind};
use insula_store::{CardEvent, CardFilter, CardGlance, CardRow, CardWhole};
use std::collections::BTreeSet;

/// Most cards that one answer tells of.
const TOLD_MAX: u32 = 200;

fn parsed(text: &str) -> Label {
    text.parse().unwrap_or_else(|_| Label::unknown())
}

/// The label of somebody's words as an agent reads them: what they were made of, and whose they
/// are. An agent's own words and those of its admins steer it as they should.
fn label_of(
    (access, agent): (&Access, &AgentContext),
    label: &str,
    (author, by): (&Actor, Option<&AgentId>),
) -> Label {
    let label = parsed(label);
    let source = match (by, author) {
        (Some(by), _) if *by == agent.id => None,
        (Some(by), _) => Some(Source::new(SourceKind::Agent, by.as_str())),
        (None, Actor::CommandLine | Actor::Daemon) => None,
        (None, who) if access.is_admin(agent, who, Verb::Approve) => None,
        (None, who) => Some(Source::new(SourceKind::Observed, who.as_str())),
    };
    let integrity = source.map(Integrity::of).unwrap_or_default();
    let integrity = label.integrity().join(&integrity);
    let integrity = agent.boundary.integrity.untrusted(&integrity);
    label.audiences_alone().with(&integrity)
}

impl Desk {
    /// Whether words with this label may be shown here.
    fn shows(&self, label: &str) -> bool {
        match &self.seat {
            Seat::Agent(seat) if !self.sees_all => {
                seat.agent.boundary.messages.shows(&parsed(label), &seat.here)
            }
            _ => true,
        }
    }

    /// The cards that whoever works on one may read: its own, those it waited for, and its parts.
    async fn within_reach(&self) -> Result<Option<BTreeSet<CardId>>, BoardError> {
        let Some(claim) = self.seat.claim() else { return Ok(None) };
        let own = self.store.card(claim.card).await?;
        let own = own.ok_or_else(|| self.no_card(claim.card))?;
        let needs = own.needs.iter().map(|(card, _)| *card);
        Ok(Some(needs.chain(own.parts).chain([claim.card]).collect()))
    }

    /// A card, if it may be read here; one that may not is not there.
    pub(super) async fn shown(&self, card: CardId) -> Result<CardWhole, BoardError> {
        if let Some(reach) = self.within_reach().await?
            && !reach.contains(&card)
        {
            return Err(self.no_card(card));
        }
        let whole = self.store.card(card).await?;
        let whole = whole.filter(|whole| self.shows(&whole.row.label));
        let mut whole = whole.ok_or_else(|| self.no_card(card))?;
        whole.comments.retain(|it| self.shows(&it.label));
        whole.files.retain(|it| self.shows(&it.label));
        if whole.row.result_label.as_deref().is_some_and(|label| !self.shows(label)) {
            whole.row.result = None;
        }
        Ok(whole)
    }

    /// A card with all that may be read of it.
    pub async fn show(&self, card: CardId) -> Result<CardWhole, BoardError> {
        self.shown(card).await
    }

    /// Cards by their numbers.
    pub async fn list(&self, filter: CardFilter) -> Result<Vec<CardRow>, BoardError> {
        let reach = self.within_reach().await?;
        let is_near = |row: &CardRow| reach.as_ref().is_none_or(|reach| reach.contains(&row.id));
        let mut cards = self.store.cards(filter, TOLD_MAX).await?;
        cards.retain(|row| is_near(row) && self.shows(&row.label));
        Ok(cards)
    }

    /// How many cards have each status; statuses that none has are left out.
    pub async fn counts(&self) -> Result<Vec<(CardStatus, u64)>, BoardError> {
        if self.sees_all && self.seat.claim().is_none() {
            return Ok(self.store.counts().await?);
        }
        let mut counts = Vec::new();
        for status in CardStatus::ALL {
            let filter = CardFilter { status: vec![status], ..CardFilter::default() };
            let count = self.list(filter).await?.len() as u64;
            counts.extend((count > 0).then_some((status, count)));
        }
        Ok(counts)
    }

    /// The number of the newest event, as far as events are told here.
    pub async fn last_event(&self) -> Result<i64, BoardError> {
        match self.sees_all && self.seat.claim().is_none() {
            true => Ok(self.store.last_event().await?),
            false => Ok(0),
        }
    }

    /// What cards look like from afar that were listed here, in their order.
    pub async fn glances(&self, rows: &[CardRow]) -> Result<Vec<CardGlance>, BoardError> {
        if !self.sees_all || self.seat.claim().is_some() {
            // What else is on a card is told one by one, as far as it may be.
            return Ok(vec![CardGlance::default(); rows.len()]);
        }
        Ok(self.store.glances(rows.iter().map(|row| row.id).collect()).await?)
    }

    /// What is in a file of a card.
    pub async fn file(&self, card: CardId, hash: &str) -> Result<Vec<u8>, BoardError> {
        let whole = self.shown(card).await?;
        let missing = || BoardError::Wrong(format!("card {card} has no file `{hash}`"));
        let file = whole.files.iter().find(|it| it.hash.starts_with(hash)).ok_or_else(missing)?;
        self.store.file(card, &file.hash).await?.ok_or_else(missing)
    }

    /// What happened after a place, the oldest first: of one card, or of the board.
    pub async fn events(
        &self,
        after: i64,
        card: Option<CardId>,
    ) -> Result<Vec<CardEvent>, BoardError> {
        if let Some(card) = card {
            self.shown(card).await?;
        }
        if !self.sees_all || self.seat.claim().is_some() {
            return Ok(Vec::new());
        }
        Ok(self.store.events(after, card, TOLD_MAX).await?)
    }

    /// What an agent that reads a card has seen then: all its words.
    pub fn label_of(&self, (access, agent): (&Access, &AgentContext), whole: &CardWhole) -> Label {
        let row = &whole.row;
        let of = |label: &str, author: &Actor, by: Option<&AgentId>| {
            label_of((access, agent), label, (author, by))
        };
        let mut label = of(&row.label, &row.author, row.author_agent.as_ref());
        for it in &whole.comments {
            label = label.join(&of(&it.label, &it.author, it.agent.as_ref()));
        }
        for it in &whole.files {
            label = label.join(&of(&it.label, &it.author, it.agent.as_ref()));
        }
        if let (Some(_), Some(made_of)) = (&row.result, &row.result_label) {
            let by = row.result_by.as_deref().and_then(|it| it.strip_prefix("agent:"));
            let by = by.and_then(|it| AgentId::new(it).ok());
            let author = Actor::from(row.result_by.as_deref().unwrap_or_default());
            label = label.join(&of(made_of, &author, by.as_ref()));
        }
        label
    }
}
