//! Cards that wait for others or for their time: where each is to be now. What a crash left
//! undone of that is done by whoever looks next.

use super::BoardError;
use super::desk::{Desk, Draft};
use insula_domain::{BlockKind, CardId, CardStatus, CardStep};
use insula_store::{CardRow, CardWhole};
use insula_world::Timestamp;
use serde_json::json;

impl Desk {
    /// Where a card is to be that nobody works on; `None` where it is there.
    fn settled(&self, whole: &CardWhole) -> Result<Option<CardRow>, BoardError> {
        let mut row = whole.row.clone();
        let facts = self.facts(whole, &row);
        let waits = row.status == CardStatus::Blocked && row.block == Some(BlockKind::Dependency);
        let step = match waits && facts.needs_open == 0 {
            true => CardStep::Unblock(facts),
            false => CardStep::Settle(facts),
        };
        row.status = row.status.after(step)?;
        if waits && row.status != CardStatus::Blocked {
            (row.block, row.why) = (None, None);
        }
        Ok((row.status != whole.row.status).then_some(row))
    }

    /// Puts a card where it is to be; it, as it is then.
    pub(super) async fn settle_one(&self, card: CardId) -> Result<CardRow, BoardError> {
        let whole = self.store.card(card).await?.ok_or_else(|| self.no_card(card))?;
        if self.settled(&whole)?.is_none() {
            return Ok(whole.row);
        }
        self.office()
            .change(card, |whole| {
                let row = self.settled(whole)?.unwrap_or_else(|| whole.row.clone());
                let detail = json!({ "status": row.status.as_str() });
                Ok(Draft::new(row, "settled", detail))
            })
            .await
    }

    /// Puts every card where it is to be; when the next one's time comes.
    pub async fn settle(&self) -> Result<Option<Timestamp>, BoardError> {
        let mut next: Option<Timestamp> = None;
        for row in self.store.waiting().await? {
            let now = self.settle_one(row.id).await?;
            if now.status == CardStatus::Scheduled {
                next = match (next, now.start_at) {
                    (Some(one), Some(other)) => Some(one.min(other)),
                    (one, other) => one.or(other),
                };
            }
        }
        Ok(next)
    }
}
