//! Boards and cards as they go over the wire.

use insula_domain::{BlockKind, CardId};
use insula_store::{CardEvent, CardGlance, CardRow, CardRun, CardWhole};
use insula_world::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A board.
#[derive(Debug, Serialize, ToSchema)]
pub struct BoardShown {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// What whoever asks may do: `see`, `add`, `claim`, `review`, `administer`.
    pub(super) rights: Vec<&'static str>,
    /// What agents may do.
    pub(super) agents: BTreeMap<String, String>,
    /// Kinds of work, and who does each.
    pub(super) kinds: BTreeMap<String, Vec<String>>,
    /// How many cards there are, by status.
    pub(super) cards: BTreeMap<&'static str, u64>,
    /// The newest of its events: those after it are still to come.
    pub(super) last_event: i64,
    pub(super) max_running: u32,
    pub(super) max_running_per_agent: u32,
    pub(super) lease_s: u64,
    pub(super) attempts: u32,
}

/// A card.
#[derive(Debug, Serialize, ToSchema)]
pub struct CardShown {
    pub(super) board: String,
    pub(super) id: i64,
    pub(super) title: String,
    pub(super) body: String,
    /// `triage`, `todo`, `scheduled`, `ready`, `running`, `blocked`, `review`, `done` or `archived`.
    pub(super) status: &'static str,
    /// `dependency`, `needs_input`, `capability` or `transient`.
    pub(super) block: Option<&'static str>,
    pub(super) why: Option<String>,
    /// Who is to do it: an agent or a kind of work.
    pub(super) assignee: Option<String>,
    pub(super) reviewer: Option<String>,
    pub(super) priority: i32,
    pub(super) due: Option<String>,
    pub(super) start: Option<String>,
    pub(super) labels: Vec<String>,
    pub(super) author: String,
    pub(super) author_agent: Option<String>,
    pub(super) part_of: Option<i64>,
    /// Who has it now, by which claim, and until when.
    pub(super) worker: Option<String>,
    pub(super) run: i64,
    pub(super) lease_until: Option<String>,
    pub(super) failures: u32,
    pub(super) reworks: u32,
    pub(super) result: Option<String>,
    pub(super) tokens: u64,
    pub(super) usd: f64,
    pub(super) made_at: String,
    pub(super) changed_at: String,
    pub(super) done_at: Option<String>,
}

/// A card in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct CardListed {
    #[serde(flatten)]
    card: CardShown,
    /// What it waits for that is not done.
    needs_open: Vec<i64>,
    comments: u32,
    files: u32,
    /// The last sign of life of whoever has it, and what they said then.
    beat_at: Option<String>,
    note: Option<String>,
}

/// A card with all that belongs to it.
#[derive(Debug, Serialize, ToSchema)]
pub struct WholeCard {
    #[serde(flatten)]
    pub(super) card: CardShown,
    /// What it waits for, and how that stands.
    pub(super) needs: Vec<NeedShown>,
    pub(super) needed_by: Vec<i64>,
    pub(super) parts: Vec<i64>,
    pub(super) comments: Vec<CommentShown>,
    pub(super) files: Vec<FileShown>,
    pub(super) runs: Vec<CardRunShown>,
    pub(super) history: Vec<EventShown>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct NeedShown {
    pub(super) id: i64,
    pub(super) status: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct CommentShown {
    pub(super) author: String,
    pub(super) agent: Option<String>,
    pub(super) at: String,
    pub(super) text: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct FileShown {
    pub(super) hash: String,
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) author: String,
    pub(super) at: String,
}

/// Somebody's work on a card.
#[derive(Debug, Serialize, ToSchema)]
pub struct CardRunShown {
    pub(super) run: i64,
    /// `work` or `review`.
    pub(super) kind: String,
    pub(super) worker: String,
    pub(super) began_at: String,
    pub(super) beat_at: String,
    pub(super) note: Option<String>,
    pub(super) ended_at: Option<String>,
    pub(super) outcome: Option<String>,
    pub(super) why: Option<String>,
}

/// Something that happened on a board.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventShown {
    pub(super) seq: i64,
    pub(super) card: i64,
    pub(super) at: String,
    pub(super) actor: String,
    pub(super) kind: String,
    #[schema(value_type = Object)]
    pub(super) detail: Value,
}

fn text(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

fn shown(board: &str, row: CardRow) -> CardShown {
    CardShown {
        board: board.to_owned(),
        id: row.id.0,
        title: row.title,
        body: row.body,
        status: row.status.as_str(),
        block: row.block.map(BlockKind::as_str),
        why: row.why,
        assignee: row.assignee.map(Into::into),
        reviewer: row.reviewer.map(Into::into),
        priority: row.priority,
        due: text(row.due_at),
        start: text(row.start_at),
        labels: row.tags.into_iter().map(Into::into).collect(),
        author: row.author.to_string(),
        author_agent: row.author_agent.map(|id| id.to_string()),
        part_of: row.split_from.map(|card| card.0),
        worker: row.worker.map(Into::into),
        run: row.run,
        lease_until: text(row.lease_until),
        failures: row.failures,
        reworks: row.reworks,
        result: row.result,
        tokens: row.tokens,
        usd: row.usd_micros as f64 / 1_000_000.0,
        made_at: row.made_at.to_string(),
        changed_at: row.changed_at.to_string(),
        done_at: text(row.done_at),
    }
}

pub(super) fn listed(board: &str, row: CardRow, glance: CardGlance) -> CardListed {
    CardListed {
        card: shown(board, row),
        needs_open: glance.needs.into_iter().map(|card| card.0).collect(),
        comments: glance.comments,
        files: glance.files,
        beat_at: text(glance.beat_at),
        note: glance.note,
    }
}

fn run_shown(run: CardRun) -> CardRunShown {
    CardRunShown {
        run: run.run,
        kind: run.kind.into(),
        worker: run.worker.into(),
        began_at: run.began_at.to_string(),
        beat_at: run.beat_at.to_string(),
        note: run.note,
        ended_at: text(run.ended_at),
        outcome: run.outcome.map(Into::into),
        why: run.why,
    }
}

pub(super) fn event_shown(event: CardEvent) -> EventShown {
    EventShown {
        seq: event.seq,
        card: event.card.0,
        at: event.at.to_string(),
        actor: event.actor.into(),
        kind: event.kind.into(),
        detail: serde_json::from_str(&event.detail).unwrap_or_default(),
    }
}

pub(super) fn whole_shown(board: &str, whole: CardWhole, history: Vec<CardEvent>) -> WholeCard {
    let number = |cards: Vec<CardId>| cards.into_iter().map(|card| card.0).collect();
    let needs = whole.needs.into_iter();
    let comments = whole.comments.into_iter().map(|it| CommentShown {
        author: it.author.to_string(),
        agent: it.agent.map(|id| id.to_string()),
        at: it.at.to_string(),
        text: it.text,
    });
    let files = whole.files.into_iter().map(|it| FileShown {
        hash: it.hash.into(),
        name: it.name.into(),
        bytes: it.len,
        author: it.author.to_string(),
        at: it.at.to_string(),
    });
    WholeCard {
        card: shown(board, whole.row),
        needs: needs.map(|(id, status)| NeedShown { id: id.0, status: status.as_str() }).collect(),
        needed_by: number(whole.needed_by),
        parts: number(whole.parts),
        comments: comments.collect(),
        files: files.collect(),
        runs: whole.runs.into_iter().map(run_shown).collect(),
        history: history.into_iter().map(event_shown).collect(),
    }
}
