//! `insula board …`

use super::text;
use crate::arguments::{Board, BoardAdd, BoardCreate, OneCard};
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::{Answer, Setting};
use insula_config::append::with_entry;
use insula_config::files::FilesSnapshot;
use insula_config::load;
use insula_registry::home::FileMode;
use serde_json::{Map, Value, json};

/// How long one question for news waits, in seconds.
const WAIT_S: u64 = 25;

/// Runs it.
pub async fn run(reach: &Reach, setting: &Setting, command: Board) -> Result<u8, Failure> {
    let answer = setting.answer;
    match command {
        Board::Create(wish) => {
            let told = create(setting, &wish)?;
            // A daemon that runs has noticed the file by itself, or does now.
            reach.post("/api/reload", None).await?;
            answer.give(&told, |_| {
                output::line(&format!("board {} is in config.yaml", wish.board));
                output::line(&format!("see: insula board list {}", wish.board));
            });
        }
        Board::List { board: None, .. } => {
            let all = reach.get("/api/boards").await?;
            reach.give(answer, &all, boards).await;
        }
        Board::List { board: Some(board), status, assignee } => {
            let mut path = format!("/api/boards/{}/cards?", part(&board));
            let assignee = match assignee {
                Some(said) => Some(reach.agent_called(&said).await),
                None => None,
            };
            for (key, value) in [("status", &status), ("assignee", &assignee)] {
                if let Some(value) = value {
                    path.push_str(&format!("{key}={}&", part(value)));
                }
            }
            let all = reach.get(path.trim_end_matches(['?', '&'])).await?;
            reach.give(answer, &all, cards).await;
        }
        Board::Show(card) => {
            let shown = reach.get(&path(&card)).await?;
            match answer {
                Answer::Json => answer.give(&shown, show),
                Answer::Text => {
                    let titled = titled(reach, &card.board, shown).await;
                    reach.give(answer, &titled, show).await;
                }
            }
        }
        Board::Add(new) => {
            let path = format!("/api/boards/{}/cards", part(&new.board));
            let added = reach.post(&path, Some(body(reach, &new).await?)).await?;
            reach.give(answer, &added, stands).await;
        }
        Board::Move { card, status, why } => {
            let action = json!({ "action": "move", "to": status, "why": why });
            act(reach, answer, &card, action).await?;
        }
        Board::Comment { card, text } => {
            act(reach, answer, &card, json!({ "action": "comment", "text": text })).await?;
        }
        Board::Claim { card, renew: Some(run) } => {
            act(reach, answer, &card, json!({ "action": "heartbeat", "run": run })).await?;
        }
        Board::Claim { card, renew: None } => {
            let path = path(&card);
            let shown = reach.post(&path, Some(json!({ "action": "claim" }))).await?;
            let show = |it: &Value| {
                stands(it);
                let (until, run) = (text(it, "lease_until"), text(it, "run"));
                output::line(&format!("it is yours until {until}; `--renew {run}` keeps it"));
            };
            reach.give(answer, &shown, show).await;
        }
        Board::Assign { card, to } => {
            let to = match to {
                Some(said) => Some(reach.agent_called(&said).await),
                None => None,
            };
            act(reach, answer, &card, json!({ "action": "assign", "to": to })).await?;
        }
        Board::Block { card, why, kind } => {
            let action = json!({ "action": "block", "why": why, "kind": kind });
            act(reach, answer, &card, action).await?;
        }
        Board::Done { card, result } => {
            act(reach, answer, &card, json!({ "action": "done", "result": result })).await?;
        }
        Board::Watch { board, all, once } => {
            let after = if all || once { 0 } else { last_event(reach, &board).await? };
            watch(reach, answer, &board, (after, once)).await?;
        }
    }
    Ok(0)
}

/// Most cards beside a card whose titles are asked for.
const BESIDE_MAX: usize = 20;

/// A card, with the titles of those that it waits for and of its parts.
async fn titled(reach: &Reach, board: &str, mut card: Value) -> Value {
    for key in ["needs", "parts"] {
        for it in card[key].as_array_mut().into_iter().flatten().take(BESIDE_MAX) {
            let id = it["id"].as_i64().or(it.as_i64()).unwrap_or_default();
            let path = format!("/api/boards/{}/cards/{id}", part(board));
            let Ok(other) = reach.get(&path).await else { continue };
            *it = json!({ "id": id, "status": other["status"], "title": other["title"] });
        }
    }
    card
}

fn path(OneCard { board, card }: &OneCard) -> String {
    format!("/api/boards/{}/cards/{}", part(board), part(card.trim_start_matches('#')))
}

async fn act(reach: &Reach, answer: Answer, card: &OneCard, action: Value) -> Result<(), Failure> {
    let shown = reach.post(&path(card), Some(action)).await?;
    reach.give(answer, &shown, stands).await;
    Ok(())
}

/// Writes a board into the configuration, if that is as good with it as without.
fn create(setting: &Setting, wish: &BoardCreate) -> Result<Value, Failure> {
    let rights = |given: &[String]| -> Result<Map<String, Value>, Failure> {
        let pair = |text: &String| match text.rsplit_once('=') {
            Some((who, may)) => Ok((who.to_owned(), Value::from(may))),
            None => Err(Failure::WrongUse(format!(
                "`{text}` does not say what they may: write `{text}=work`"
            ))),
        };
        given.iter().map(pair).collect()
    };
    let mut board = Map::new();
    for (key, some) in [("agents", rights(&wish.agents)?), ("people", rights(&wish.people)?)] {
        if !some.is_empty() {
            board.insert(key.to_owned(), some.into());
        }
    }
    if let Some(description) = &wish.description {
        board.insert("description".to_owned(), description.clone().into());
    }
    let failed = |why: String| Failure::Failed(format!("config.yaml is as it was: {why}"));
    let home = &setting.home;
    let told = |error: insula_registry::RuntimeError| failed(error.to_string());
    let mut snapshot =
        FilesSnapshot::read(home.root()).map_err(|error| failed(error.to_string()))?;
    let loaded = load(&snapshot, &setting.environment.variables).1;
    let name = &wish.board;
    if loaded.is_some_and(|it| it.daemon.boards.keys().any(|known| known.as_str() == name)) {
        return Err(Failure::Failed(format!(
            "there is a board `{name}` already; its rights stand in config.yaml under `boards.{name}`, and `insula board list {name}` shows its cards"
        )));
    }
    let before = home.read(&home.config()).map_err(told)?.unwrap_or_default();
    // JSON is YAML, too.
    let value = Value::from(board.clone()).to_string();
    let after = with_entry(&before, &["boards"], &wish.board, &value)
        .map_err(|why| failed(why.to_string()))?;
    let errors = |snapshot: &FilesSnapshot| {
        let report = load(snapshot, &setting.environment.variables).0;
        report.errors().map(|found| found.message.clone()).collect::<Vec<_>>()
    };
    let had = errors(&snapshot);
    snapshot.config = insula_config::files::FileState::Text(after.as_str().into());
    let has = errors(&snapshot);
    if let Some(new) = has.iter().find(|error| !had.contains(error)) {
        return Err(failed(new.clone()));
    }
    home.write(&home.config(), after.as_bytes(), FileMode::Private).map_err(told)?;
    Ok(json!({ "name": wish.board, "board": board }))
}

async fn body(reach: &Reach, new: &BoardAdd) -> Result<Value, Failure> {
    let mut parents = Vec::new();
    for said in &new.parents {
        parents.push(reach.card_called(&new.board, said).await?);
    }
    let agents = [&new.assignee, &new.reviewer];
    let mut ids = Vec::new();
    for said in agents {
        ids.push(match said {
            Some(said) => Some(reach.agent_called(said).await),
            None => None,
        });
    }
    Ok(json!({
        "title": new.title, "body": new.body, "assignee": ids[0],
        "reviewer": ids[1], "parents": parents, "priority": new.priority,
        "due": new.due, "start": new.start, "labels": new.labels,
    }))
}

/// How a card stands, in a line.
fn stands(card: &Value) {
    let mut line = format!(
        "card {} of board {} is {}",
        text(card, "id"),
        text(card, "board"),
        text(card, "status")
    );
    if let Some(block) = card["block"].as_str() {
        line.push_str(&format!(" ({block})"));
    }
    if let Some(worker) = card["worker"].as_str() {
        line.push_str(&format!("; {worker} has it"));
    } else if let Some(assignee) = card["assignee"].as_str() {
        line.push_str(&format!("; it is for {assignee}"));
    }
    output::line(&line);
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[][..], Vec::as_slice)
}

fn boards(all: &Value) {
    if rows(all).is_empty() {
        return output::line(
            "there are no boards; make one: insula board create NAME --agent AGENT=work",
        );
    }
    let lines = rows(all).iter().map(|it| {
        let counts = it["cards"].as_object().into_iter().flatten();
        let counts: Vec<String> =
            counts.map(|(status, count)| format!("{count} {status}")).collect();
        let agents = it["agents"].as_object().into_iter().flatten();
        let agents: Vec<&str> = agents.map(|(id, _)| id.as_str()).collect();
        vec![text(it, "name"), counts.join(", "), agents.join(", "), text(it, "description")]
    });
    output::table(&["board", "cards", "agents", "for"], lines);
}

fn cards(all: &Value) {
    if rows(all).is_empty() {
        return output::line("there are no such cards");
    }
    let lines = rows(all).iter().map(|it| {
        let who = if it["worker"].is_null() { text(it, "assignee") } else { text(it, "worker") };
        vec![text(it, "id"), text(it, "status"), who, text(it, "priority"), text(it, "title")]
    });
    output::table(&["card", "status", "who", "priority", "title"], lines);
}

fn show(card: &Value) {
    stands(card);
    let keys = [
        "title",
        "why",
        "assignee",
        "reviewer",
        "priority",
        "due",
        "start",
        "author",
        "author_agent",
        "part_of",
        "run",
        "lease_until",
        "failures",
        "reworks",
        "tokens",
        "usd",
        "made_at",
        "done_at",
    ];
    for key in keys {
        let value = text(card, key);
        if !value.is_empty() && value != "-" {
            output::line(&format!("{key:<12} {value}"));
        }
    }
    for (key, heading) in [("needs", "waits for"), ("parts", "parts")] {
        let ids = rows(&card[key]).iter().map(|it| match it["id"].as_i64() {
            Some(id) => match it["title"].as_str() {
                Some(title) => format!("{id} ({}: {title})", text(it, "status")),
                None => format!("{id} ({})", text(it, "status")),
            },
            None => it.to_string(),
        });
        let ids: Vec<String> = ids.collect();
        if !ids.is_empty() {
            output::line(&format!("{heading:<12} {}", ids.join(", ")));
        }
    }
    for (key, heading) in [("body", "text"), ("result", "result")] {
        if let Some(words) = card[key].as_str().filter(|it| !it.is_empty()) {
            output::heading(heading);
            output::block(&format!("{}\n", words.trim_end()));
        }
    }
    for it in rows(&card["comments"]) {
        let by = it["agent"].as_str().or(it["author"].as_str()).unwrap_or_default();
        output::heading(&format!("{by}, {}", text(it, "at")));
        let words = it["text"].as_str().unwrap_or_default();
        output::block(&format!("{}\n", words.trim_end()));
    }
    if !rows(&card["files"]).is_empty() {
        output::heading("files");
        let lines = rows(&card["files"]);
        let lines =
            lines.iter().map(|it| vec![text(it, "name"), text(it, "bytes"), text(it, "hash")]);
        output::table(&["file", "bytes", "hash"], lines);
    }
    output::heading("history");
    rows(&card["history"]).iter().for_each(event);
}

fn event(it: &Value) {
    let detail = it["detail"].as_object().into_iter().flatten();
    let detail =
        detail.filter(|(_, value)| !value.is_null()).map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}: {text}"),
            None => format!("{key}: {value}"),
        });
    let detail: Vec<String> = detail.collect();
    output::line(&format!(
        "{}  card {}  {} {}  {}",
        text(it, "at"),
        text(it, "card"),
        text(it, "actor"),
        text(it, "kind"),
        detail.join("; ").replace('\n', " ")
    ));
}

/// The number of what happened last on a board.
async fn last_event(reach: &Reach, board: &str) -> Result<i64, Failure> {
    let all = reach.get("/api/boards").await?;
    let known = rows(&all).iter().find(|it| it["name"].as_str() == Some(board));
    Ok(known.and_then(|it| it["last_event"].as_i64()).unwrap_or_default())
}

/// Prints what happens after a place, until somebody stops it.
async fn watch(
    reach: &Reach,
    answer: Answer,
    board: &str,
    (mut after, once): (i64, bool),
) -> Result<(), Failure> {
    let mut wait = 0;
    loop {
        let path = format!("/api/boards/{}/events?after={after}&wait={wait}", part(board));
        let all = reach.get(&path).await?;
        for it in rows(&all) {
            after = it["seq"].as_i64().unwrap_or(after);
            match answer {
                Answer::Json => output::line(&it.to_string()),
                Answer::Text => event(it),
            }
        }
        if rows(&all).is_empty() && once {
            return Ok(());
        }
        if rows(&all).is_empty() {
            wait = WAIT_S;
        }
    }
}
