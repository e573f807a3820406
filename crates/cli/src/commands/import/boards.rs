//! Puts imported cards on their boards, each once: a card remembers by which wish it was made, and
//! what has moved here since stays where it is.

use super::Done;
use crate::failure::Failure;
use insula_capabilities::Opened;
use insula_domain::{Actor, BlockKind, CardId, CardStatus};
use insula_import::{BoardPlan, CardPlan, Remark, SourceKind};
use insula_registry::boards::{BoardError, Desk, NewCard, Seat};
use insula_store::board::{CARD_TEXT_BYTES_MAX, CARD_TITLE_BYTES_MAX, CARD_WHY_BYTES_MAX};
use insula_store::{BoardStore, CardWhole};
use std::collections::BTreeMap;

/// All boards.
pub(super) async fn all(
    opened: &Opened,
    boards: &[BoardPlan],
    source: SourceKind,
    done: &mut Done,
) -> Result<(), Failure> {
    for board in boards {
        let seat = Seat::Person(Actor::CommandLine);
        let desk = match opened.parts.boards.desk(board.name.as_str(), seat) {
            // Profiles, tools and people had a word in it there, and nobody noted whose it was.
            Ok(desk) => desk.foreign(),
            Err(error) => {
                done.trouble(None, "board", &board.from, error.to_string());
                continue;
            }
        };
        let known = opened.parts.owner.board(&board.name);
        if let Err(error) = one((&desk, &known), board, source, done).await {
            done.trouble(None, "board", &board.from, error.to_string());
        }
    }
    Ok(())
}

async fn one(
    (desk, known): (&Desk, &BoardStore),
    board: &BoardPlan,
    source: SourceKind,
    done: &mut Done,
) -> Result<(), BoardError> {
    let mut ids: BTreeMap<&str, CardId> = BTreeMap::new();
    let wish = |card: &CardPlan| -> Box<str> {
        format!("import:{}:{}:{}", source.as_str(), board.slug, card.source_id).into()
    };
    // Somebody's own board of that name would begin to work on what is put there.
    if desk.board().max_running > 0 {
        let mut is_known = false;
        for card in &board.cards {
            is_known |= known.requested(&wish(card)).await?.is_some();
        }
        if !is_known {
            let name = &board.name;
            return Err(BoardError::Wrong(format!(
                "there is a board `{name}` of yours; set `boards.{name}.max_running: 0` and run this again to have the cards put there"
            )));
        }
    }
    for card in &board.cards {
        let request = wish(card);
        let is_new = known.requested(&request).await?.is_none();
        let can_work =
            |agent: &&String| board.agents.iter().any(|it| it.as_str() == agent.as_str());
        let new = NewCard {
            title: cut(&card.title, CARD_TITLE_BYTES_MAX).to_owned(),
            body: cut(&card.body, CARD_TEXT_BYTES_MAX).to_owned(),
            assignee: card.assignee.as_ref().filter(can_work).map(|it| it.as_str().into()),
            reviewer: None,
            priority: card.priority,
            due_at: None,
            start_at: None,
            tags: Vec::new(),
            needs: card.needs.iter().filter_map(|it| ids.get(it.as_str()).copied()).collect(),
            request: Some(request),
        };
        let row = desk.add(new).await?;
        ids.insert(&card.source_id, row.id);
        done.cards.note(is_new);
        // One that was cut off is gone on with; one that is here is left alone, wherever it was
        // moved since.
        let whole = desk.show(row.id).await?;
        let end = format!("came over from {}, where it was {}", source.as_str(), card.source_id);
        if !whole.comments.iter().any(|it| it.text == end) {
            bring(desk, card, &whole).await?;
            desk.comment(row.id, &end).await?;
        }
    }
    Ok(())
}

/// Brings a card to where it stood.
async fn bring(desk: &Desk, card: &CardPlan, whole: &CardWhole) -> Result<(), BoardError> {
    let id = whole.row.id;
    for remark in &card.remarks {
        let text = said(remark);
        if !whole.comments.iter().any(|it| it.text == text) {
            desk.comment(id, &text).await?;
        }
    }
    let is_over = whole.row.status.is_over();
    let result = card.result.as_deref().unwrap_or_default();
    match card.status {
        CardStatus::Done if !is_over => {
            desk.complete(id, cut(result, CARD_TEXT_BYTES_MAX)).await?;
        }
        CardStatus::Archived if whole.row.status != CardStatus::Archived => {
            if !is_over && !result.is_empty() {
                desk.complete(id, cut(result, CARD_TEXT_BYTES_MAX)).await?;
            }
            desk.move_to(id, CardStatus::Archived, None).await?;
        }
        CardStatus::Blocked | CardStatus::Review
            if whole.row.status != CardStatus::Blocked
                && card.block != Some(BlockKind::Dependency) =>
        {
            let why = match (card.status, card.why.as_deref()) {
                (CardStatus::Review, _) => "it waited for a review where it came from",
                (_, Some(why)) => why,
                (_, None) => "it was blocked where it came from",
            };
            let kind = card.block.unwrap_or(BlockKind::NeedsInput);
            desk.block(id, kind, cut(why, CARD_WHY_BYTES_MAX)).await?;
        }
        _ => {}
    }
    Ok(())
}

/// A remark, with who made it and when.
fn said(remark: &Remark) -> String {
    let at = remark.at.map(|at| at.to_string().chars().take("2026-11-15T02:12".len()).collect());
    let at: Option<String> = at;
    let by = remark.by.as_deref().map(str::to_owned);
    let head: Vec<String> = by.into_iter().chain(at.map(|at| at.replace('T', " "))).collect();
    let text = match head.is_empty() {
        true => remark.text.clone(),
        false => format!("{}: {}", head.join(", "), remark.text),
    };
    cut(&text, CARD_TEXT_BYTES_MAX).to_owned()
}

fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
