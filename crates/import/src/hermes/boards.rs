//! The boards of a home: `kanban.db` at its root, and one in each folder below `kanban/boards`.
//! Its profiles all saw all of them; here those that had cards on one may work on it, and nothing
//! runs before somebody says so.

use crate::doc::Doc;
use crate::names;
use crate::place::Place;
use crate::plan::{BoardPlan, CardPlan, Fate, Note, Plan, Remark};
use crate::source_home::SourceHome;
use crate::sqlite::Copy;
use insula_config::yaml::Node;
use insula_domain::{AgentId, BlockKind, BoardName, CardStatus};
use insula_world::Timestamp;
use rusqlite::Row;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What the board at the root is called here: there it is `default`, which says nothing.
const ROOT_BOARD: &str = "hermes";

/// Reads all of them.
pub(super) fn take(plan: &mut Plan, home: &SourceHome, scratch: (&Path, &str)) {
    one(plan, home, ("kanban.db", ROOT_BOARD), scratch);
    let Ok((folders, _)) = home.list("kanban/boards") else { return };
    let named = folders.into_iter().filter(|it| it.is_folder && !it.name.starts_with(['.', '_']));
    for folder in named {
        let file = format!("kanban/boards/{}/kanban.db", folder.name);
        one(plan, home, (&file, &folder.name), scratch);
    }
}

fn one(plan: &mut Plan, home: &SourceHome, (file, slug): (&str, &str), scratch: (&Path, &str)) {
    let from = Place::file(file);
    let copy = Copy::of(
        home,
        file,
        (scratch.0, &format!("{}-board-{slug}", scratch.1)),
        &["tasks", "task_links", "task_comments"],
    );
    let read = copy.and_then(|copy| match copy {
        None => Ok(None),
        Some(copy) => read(&copy, home, (file, slug)).map(Some),
    });
    match read {
        Ok(None) => {}
        Err(why) => {
            plan.row(Fate::Trouble, None, Note { what: "board", from, note: &why });
        }
        Ok(Some(found)) => tell(plan, found, &from),
    }
}

/// What was found of a board.
struct Found {
    board: BoardPlan,
    /// Profiles that cards are for, as they are called there.
    profiles: BTreeSet<String>,
    files: u64,
    told: u64,
}

fn tell(plan: &mut Plan, found: Found, from: &Place) {
    let Found { mut board, profiles, files, told } = found;
    if board.cards.is_empty() {
        return;
    }
    let mut strangers = BTreeSet::new();
    for profile in &profiles {
        match plan.agents.iter().find(|it| it.origin == *profile || it.id.as_str() == *profile) {
            Some(agent) => board.agents.push(agent.id.clone()),
            None => {
                strangers.insert(profile.clone());
            }
        }
    }
    let agents: BTreeMap<&str, &AgentId> =
        plan.agents.iter().map(|it| (it.origin.as_str(), &it.id)).collect();
    for card in &mut board.cards {
        let theirs = card.assignee.take();
        let known = theirs.as_deref().and_then(|it| agents.get(it).copied());
        card.assignee = known.map(ToString::to_string);
        if let Some(theirs) = theirs.filter(|_| card.assignee.is_none()) {
            card.remarks.push(Remark::ours(format!("it was for `{theirs}` there")));
        }
    }
    let name = board.name.to_string();
    let count = board.cards.len();
    let mut row = |fate, what: &str, note: &str| {
        plan.row(fate, None, Note { what, from: from.clone(), note });
    };
    let note = format!(
        "board `{name}` with {count} cards, what each waits for, comments, and where each stood; what was being worked on begins again"
    );
    row(Fate::Changes, "board", &note);
    let who = match board.agents.is_empty() {
        true => "no agent sees it".to_owned(),
        false => {
            let ids: Vec<&str> = board.agents.iter().map(AgentId::as_str).collect();
            format!("only {} may work on it", ids.join(", "))
        }
    };
    let note = format!(
        "every profile could see and change it; here {who}, and nothing is worked on before you take `max_running: 0` out of `boards.{name}`"
    );
    row(Fate::Closed, "board", &note);
    if !strangers.is_empty() {
        let all: Vec<String> = strangers.iter().map(|it| format!("`{it}`")).collect();
        let note =
            format!("cards for {}, whom there is no profile of, are for nobody", all.join(", "));
        row(Fate::Changes, "board", &note);
    }
    for (count, what, note) in [
        (files, "files on cards", "they stay where they are; attach those that are still needed"),
        (
            told,
            "chats that are told of cards",
            "a chat is told of cards that were asked for in it here",
        ),
    ] {
        if count > 0 {
            row(Fate::NoPlace, what, &format!("{count}: {note}"));
        }
    }
    plan.boards.push(board);
}

fn read(copy: &Copy, home: &SourceHome, (file, slug): (&str, &str)) -> Result<Found, String> {
    let text = |error: rusqlite::Error| error.to_string();
    let columns = copy.columns("tasks");
    if !["id", "title", "status"].iter().all(|it| columns.contains(*it)) {
        return Err("it has no cards in a form that is known".to_owned());
    }
    let id = names::agent_id(slug).ok_or("its name can't be made into one of a board here")?;
    let name = BoardName::new(id.as_str()).map_err(|error| error.to_string())?;
    // Older versions lack some of them.
    let column = |name: &str| match columns.contains(name) {
        true => name.to_owned(),
        false => "NULL".to_owned(),
    };
    let wanted = [
        "body",
        "assignee",
        "priority",
        "created_by",
        "created_at",
        "result",
        "block_kind",
        "last_failure_error",
        "tenant",
    ];
    let mut wanted: Vec<String> = wanted.iter().map(|it| column(it)).collect();
    // Why it is blocked is said by whoever had it last.
    wanted.push(match copy.columns("task_runs").contains("summary") {
        true => "(SELECT coalesce(r.summary, r.error) FROM task_runs r
             WHERE r.task_id = tasks.id ORDER BY r.id DESC LIMIT 1)"
            .to_owned(),
        false => "NULL".to_owned(),
    });
    let query = format!(
        "SELECT id, title, status, {} FROM tasks ORDER BY {}, id",
        wanted.join(", "),
        column("created_at")
    );
    let mut statement = copy.sql.prepare(&query).map_err(text)?;
    let rows = statement.query_map([], card).map_err(text)?;
    let mut cards: Vec<CardPlan> = rows.collect::<Result<_, _>>().map_err(text)?;
    needs(copy, &mut cards).map_err(text)?;
    remarks(copy, &mut cards).map_err(text)?;
    let cards = in_order(cards);
    let profiles = cards.iter().filter_map(|card| card.assignee.clone()).collect();
    let count = |table: &str| -> u64 {
        let query = format!("SELECT count(*) FROM {table}");
        let found = copy.sql.query_row(&query, [], |row| row.get::<_, i64>(0));
        found.ok().and_then(|it| it.try_into().ok()).unwrap_or_default()
    };
    let description = file.strip_suffix("kanban.db").and_then(|folder| {
        let path = format!("{folder}board.json");
        let doc = Doc::json5(&path, home.text(&path).ok()??).ok()?;
        let said = |key: &str| doc.root.get(key).and_then(Node::text).map(str::to_owned);
        said("description").filter(|it| !it.is_empty()).or_else(|| said("name"))
    });
    Ok(Found {
        board: BoardPlan {
            name,
            slug: slug.to_owned(),
            description,
            agents: Vec::new(),
            cards,
            from: Place::file(file),
        },
        profiles,
        files: count("task_attachments"),
        told: count("kanban_notify_subs"),
    })
}

fn card(row: &Row<'_>) -> rusqlite::Result<CardPlan> {
    let text = |index: usize| {
        row.get::<_, Option<String>>(index).ok().flatten().filter(|it| !it.trim().is_empty())
    };
    let seconds = row.get::<_, Option<i64>>(7).ok().flatten().unwrap_or_default();
    let status: String = row.get(2)?;
    let mut card = CardPlan {
        source_id: row.get(0)?,
        title: one_line(&row.get::<_, String>(1)?),
        body: text(3).unwrap_or_default(),
        assignee: text(4),
        priority: row.get::<_, Option<i32>>(5).ok().flatten().unwrap_or_default(),
        status: CardStatus::parse(&status).unwrap_or(CardStatus::Triage),
        block: text(9).and_then(|kind| BlockKind::parse(&kind)),
        why: text(12).or_else(|| text(10)),
        result: text(8),
        needs: Vec::new(),
        remarks: Vec::new(),
        made: millis(seconds),
    };
    let by = text(6).unwrap_or_else(|| "somebody".to_owned());
    card.remarks.push(Remark::ours(format!("made by {by}")).at(card.made));
    if let Some(tenant) = text(11) {
        card.remarks.push(Remark::ours(format!("of tenant `{tenant}`")));
    }
    // What nobody is to do yet has nobody to do it here.
    if card.status == CardStatus::Triage
        && let Some(assignee) = card.assignee.take()
    {
        card.remarks.push(Remark::ours(format!("meant for `{assignee}`, and not begun")));
    }
    Ok(card)
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "(no title)".to_owned() } else { line }
}

fn millis(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds.clamp(0, 253_402_300_799) * 1000)
}

/// What each card waits for.
fn needs(copy: &Copy, cards: &mut [CardPlan]) -> rusqlite::Result<()> {
    if copy.columns("task_links").is_empty() {
        return Ok(());
    }
    let mut statement = copy
        .sql
        .prepare("SELECT child_id, parent_id FROM task_links ORDER BY child_id, parent_id")?;
    let links = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    for link in links {
        let (child, parent): (String, String) = link?;
        let is_known = cards.iter().any(|it| it.source_id == parent);
        if let Some(card) = cards.iter_mut().find(|it| it.source_id == child).filter(|_| is_known) {
            card.needs.push(parent);
        }
    }
    Ok(())
}

/// What was said on each card.
fn remarks(copy: &Copy, cards: &mut [CardPlan]) -> rusqlite::Result<()> {
    if copy.columns("task_comments").is_empty() {
        return Ok(());
    }
    let mut statement = copy
        .sql
        .prepare("SELECT task_id, author, body, created_at FROM task_comments ORDER BY id")?;
    let all = statement.query_map([], |row| {
        let remark =
            Remark { by: Some(row.get(1)?), text: row.get(2)?, at: Some(millis(row.get(3)?)) };
        Ok((row.get::<_, String>(0)?, remark))
    })?;
    for remark in all {
        let (id, remark) = remark?;
        if let Some(card) = cards.iter_mut().find(|it| it.source_id == id) {
            card.remarks.push(remark);
        }
    }
    Ok(())
}

/// What others wait for first; of a circle, which they should not have, a link is left out.
fn in_order(cards: Vec<CardPlan>) -> Vec<CardPlan> {
    let mut rest = cards;
    let mut done: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let is_next = |card: &CardPlan| card.needs.iter().all(|it| done.contains(it));
        let at = rest.iter().position(is_next).unwrap_or_default();
        let mut card = rest.remove(at);
        card.needs.retain(|it| done.contains(it));
        done.insert(card.source_id.clone());
        found.push(card);
    }
    found
}
