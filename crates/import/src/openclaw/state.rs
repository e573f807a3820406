//! Databases and files of state: conversations, scheduled tasks, and who was let in.

use super::address::address;
use super::channels::allow;
use super::{Reading, templates, transcript};
use crate::doc::{Doc, json as value_of};
use crate::models::provider_key;
use crate::names;
use crate::place::Place;
use crate::plan::{
    AgentPlan, Fate, Note, Plan, SchedulePlan, SecretPlan, SessionPlan, SessionReader,
};
use crate::sqlite::Copy;
use insula_config::yaml::Node;
use insula_world::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// The newest versions of their databases that are known.
const AGENT_VERSION: i64 = 23;
const SHARED_VERSION: i64 = 18;

/// The tables of each that are read.
const AGENT_TABLES: [&str; 4] =
    ["session_windows", "session_nodes", "transcript_events", "auth_profile_store"];
const SHARED_TABLES: [&str; 3] =
    ["workspace_generated_bootstrap_hashes", "channel_pairing_allow_entries", "cron_jobs"];

/// What the database that all agents share has.
#[derive(Default)]
pub(super) struct Shared {
    /// Texts that their program made: name and SHA-256.
    generated: BTreeSet<(String, String)>,
    /// Scheduled tasks: id, agent, name, whether it runs, and the rest.
    tasks: Vec<(String, Option<String>, String, bool, Value)>,
    /// Who was let in by a code: channel and person.
    people: Vec<(String, String)>,
}

impl Shared {
    /// Whether a text is as their program made it.
    pub(super) fn is_generated(&self, name: &str, text: &str) -> bool {
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        templates::is_one(name, &hex) || self.generated.contains(&(name.to_owned(), hex))
    }
}

fn version(copy: &Copy, known: i64) -> Result<(), String> {
    let found: i64 = copy
        .sql
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(|it| it.to_string())?;
    match found > known {
        true => Err(format!(
            "it was written by a newer version ({found}; {known} is known); use a newer insula"
        )),
        false => Ok(()),
    }
}

/// Reads the database that all agents share.
pub(super) fn shared(plan: &mut Plan, reading: &Reading<'_>, scratch: (&Path, &str)) -> Shared {
    let file = "state/openclaw.sqlite";
    let copy = Copy::of(reading.home, file, scratch, &SHARED_TABLES).and_then(|copy| match copy {
        Some(copy) => version(&copy, SHARED_VERSION).map(|()| Some(copy)),
        None => Ok(None),
    });
    let copy = match copy {
        Ok(Some(copy)) => copy,
        Ok(None) => return Shared::default(),
        Err(why) => {
            plan.row(
                Fate::Trouble,
                None,
                Note { what: "shared state", from: Place::file(file), note: &why },
            );
            return Shared::default();
        }
    };
    let pairs = |query: &str| -> Vec<(String, String)> {
        let rows = copy.sql.prepare(query).and_then(|mut it| {
            it.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()
        });
        // A table that an older release did not have.
        rows.unwrap_or_default()
    };
    let generated = pairs("SELECT filename, sha256 FROM workspace_generated_bootstrap_hashes");
    let people = pairs(
        "SELECT channel_key, entry FROM channel_pairing_allow_entries ORDER BY channel_key, sort_order",
    );
    let tasks = copy
        .sql
        .prepare("SELECT job_id, agent_id, name, enabled, job_json FROM cron_jobs ORDER BY sort_order, job_id")
        .and_then(|mut it| {
            it.query_map([], |row| {
                let rest: String = row.get(4)?;
                let rest = serde_json::from_str(&rest).unwrap_or(Value::Null);
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, rest))
            })?
            .collect::<Result<_, _>>()
        });
    Shared { generated: generated.into_iter().collect(), tasks: tasks.unwrap_or_default(), people }
}

/// Tasks and people, once it is known which agents there are.
pub(super) fn tasks_and_people(plan: &mut Plan, reading: &Reading<'_>, shared: Shared) {
    let file = "state/openclaw.sqlite";
    for (id, agent, name, was_enabled, rest) in shared.tasks {
        task(plan, (agent.as_deref(), &name, was_enabled), (id, &rest), Place::file(file));
    }
    old_tasks(plan, reading);
    one_for_all(plan, reading);
    let mut people = shared.people;
    if let Ok((found, _)) = reading.home.list("credentials") {
        for file in found {
            let Some(channel) = file.name.strip_suffix("-allowFrom.json") else { continue };
            let text = reading.home.text(&format!("credentials/{}", file.name)).ok().flatten();
            let list =
                text.and_then(|it| serde_json::from_str::<Value>(&it).ok()).unwrap_or_default();
            let list = list["allowFrom"].as_array().cloned().unwrap_or_default();
            let list =
                list.iter().filter_map(Value::as_str).map(|it| (channel.to_owned(), it.to_owned()));
            people.extend(list);
        }
    }
    for (channel, who) in people {
        let from = Place::file(file);
        match names::platform(&channel) {
            Some(platform) if who != "*" => {
                allow(plan, reading, platform, std::slice::from_ref(&who));
                plan.row(
                    Fate::Comes,
                    None,
                    Note { what: "paired person", from, note: "in access.allow" },
                );
            }
            Some(_) => plan.row(
                Fate::Closed,
                None,
                Note {
                    what: "paired person",
                    from,
                    note: "everybody was let in; here nobody is who is not named",
                },
            ),
            None => plan.row(
                Fate::NoPlace,
                None,
                Note { what: "paired person", from, note: "no platform of that name is here" },
            ),
        }
    }
}

/// Everybody's direct messages are one conversation there, unless somebody said otherwise.
fn one_for_all(plan: &mut Plan, reading: &Reading<'_>) {
    let said = reading.get(&["session", "dmScope"]);
    if plan.accounts.is_empty() || said.and_then(Node::text).is_some_and(|it| it != "main") {
        return;
    }
    let from = said.map_or_else(|| Place::file(super::CONFIGS[0]), |it| reading.doc.place(it.span));
    let note = "everybody's direct messages were one conversation; here each person has their own, and the old one is found from the terminal alone";
    plan.row(Fate::Closed, None, Note { what: "session.dmScope", from, note });
}

fn old_tasks(plan: &mut Plan, reading: &Reading<'_>) {
    let file = "cron/jobs.json";
    let doc = match reading.home.text(file) {
        Ok(None) => return,
        Ok(Some(text)) => Doc::json5(file, text),
        Err(why) => Err((Place::file(file), why)),
    };
    match doc {
        Err((from, why)) => {
            plan.row(Fate::Trouble, None, Note { what: "cron jobs", from, note: &why })
        }
        Ok(doc) => {
            for job in doc.root.get("jobs").map(Node::items).unwrap_or_default() {
                let text = |key: &str| job.get(key).and_then(Node::text).map(str::to_owned);
                let (agent, name) = (text("agentId"), text("name").unwrap_or_default());
                let id = text("id").unwrap_or_default();
                let was_enabled = job.get("enabled").and_then(Node::bool) != Some(false);
                let known =
                    plan.agents.iter().flat_map(|it| &it.schedules).any(|it| it.source_id == id);
                if !known {
                    let from = doc.place(job.span);
                    task(plan, (agent.as_deref(), &name, was_enabled), (id, &value_of(job)), from);
                }
            }
        }
    }
}

/// Keeps one scheduled task. It does not run.
fn task(
    plan: &mut Plan,
    (agent, name, was_enabled): (Option<&str>, &str, bool),
    (source_id, rest): (String, &Value),
    from: Place,
) {
    let what = format!("cron job {name}");
    let at = plan.agents.iter().position(|it| match agent {
        Some(agent) => it.origin == agent,
        None => it.is_default,
    });
    let when = &rest["schedule"];
    let schedule = match when["kind"].as_str() {
        Some("cron") => when["expr"].as_str().map(str::to_owned),
        Some("every") => {
            when["everyMs"].as_i64().map(|it| format!("every {}m", (it / 60_000).max(1)))
        }
        Some("at") => {
            when["at"].as_str().map(str::to_owned).or_else(|| Some(when["atMs"].to_string()))
        }
        _ => None,
    };
    let (Some(at), Some(schedule)) = (at, schedule) else {
        let note = "its agent is not there, or its schedule can't be read";
        return plan.row(Fate::Trouble, None, Note { what: &what, from, note });
    };
    let mut fields = Map::new();
    fields.insert("name".to_owned(), json!(name));
    fields.insert("schedule".to_owned(), json!(schedule));
    let payload = &rest["payload"];
    let prompt = payload["message"].as_str().or_else(|| payload["text"].as_str());
    fields.insert("prompt".to_owned(), json!(prompt.unwrap_or_default()));
    for (key, value) in
        [("timezone", &when["tz"]), ("deliver", &rest["delivery"]), ("model", &payload["model"])]
    {
        if !value.is_null() {
            fields.insert(key.to_owned(), value.clone());
        }
    }
    fields.insert("enabled".to_owned(), json!(false));
    fields.insert("was_enabled".to_owned(), json!(was_enabled));
    let id = plan.agents[at].id.clone();
    let note = format!(
        "a job, `{schedule}`, that is paused, where it can be one here; its reply goes nowhere until you say where"
    );
    plan.row(Fate::Changes, Some(&id), Note { what: &what, from: from.clone(), note: &note });
    plan.agents[at].schedules.push(SchedulePlan { source_id, fields, from });
}

/// The conversations of one agent, and the keys that are kept beside them.
pub(super) fn sessions(
    plan: &mut Plan,
    agent: &mut AgentPlan,
    reading: &Reading<'_>,
    scratch: (&Path, &str),
) {
    let file = format!("agents/{}/agent/openclaw-agent.sqlite", agent.origin);
    let from = Place::file(&file);
    let copy = Copy::of(reading.home, &file, scratch, &AGENT_TABLES).and_then(|copy| match copy {
        Some(copy) => version(&copy, AGENT_VERSION).map(|()| Some(copy)),
        None => Ok(None),
    });
    match copy {
        Ok(None) => {}
        Err(why) => plan.row(
            Fate::Trouble,
            Some(&agent.id),
            Note { what: "sessions", from: from.clone(), note: &why },
        ),
        Ok(Some(copy)) => {
            if let Err(why) = heads(&copy, agent, (plan.copies.len(), &from)) {
                plan.row(
                    Fate::Trouble,
                    Some(&agent.id),
                    Note { what: "sessions", from: from.clone(), note: &why },
                );
            }
            let cold = "SELECT count(*) FROM session_transcript_cold_archives";
            let cold: i64 = copy.sql.query_row(cold, [], |row| row.get(0)).unwrap_or_default();
            if cold > 0 {
                let note = format!(
                    "{cold} were put away into archives there, which are not read; take them out there and run this again"
                );
                let from = from.clone();
                plan.row(
                    Fate::Trouble,
                    Some(&agent.id),
                    Note { what: "sessions", from, note: &note },
                );
            }
            let store: Option<String> = copy
                .sql
                .query_row("SELECT store_json FROM auth_profile_store LIMIT 1", [], |row| {
                    row.get(0)
                })
                .ok();
            if let Some(store) = store {
                keys(plan, agent, &store, &from);
            }
            plan.copies.push(copy);
        }
    }
    let profiles = format!("agents/{}/agent/auth-profiles.json", agent.origin);
    if let Ok(Some(text)) = reading.home.text(&profiles) {
        keys(plan, agent, &text, &Place::file(&profiles));
    }
    old_sessions(plan, agent, reading);
    if !agent.sessions.is_empty() {
        let count: usize = agent.sessions.iter().map(|it| it.count).sum();
        let note = format!(
            "{} with {count} messages, found by search where they were held",
            agent.sessions.len()
        );
        plan.row(
            Fate::Comes,
            Some(&agent.id),
            Note { what: "sessions", from: from.clone(), note: &note },
        );
    }
}

fn heads(
    copy: &Copy,
    agent: &mut AgentPlan,
    (number, from): (usize, &Place),
) -> Result<(), String> {
    let text = |error: rusqlite::Error| error.to_string();
    let mut statement = copy
        .sql
        .prepare(
            "SELECT w.session_id, w.session_key, w.created_at, w.ended_at, n.label, n.display_name,
             (SELECT count(*) FROM transcript_events e WHERE e.session_id = w.session_id
              AND (e.event_json IS NULL OR e.event_json LIKE '{\"type\":\"message\"%')),
             (SELECT min(created_at) FROM transcript_events e WHERE e.session_id = w.session_id)
             FROM session_windows w LEFT JOIN session_nodes n ON n.session_key = w.session_key
             ORDER BY w.created_at, w.session_id",
        )
        .map_err(text)?;
    let rows = statement.query_map([], |row| {
        let title: Option<String> = row.get::<_, Option<String>>(4)?.or(row.get(5)?);
        let key: String = row.get(1)?;
        Ok((
            row.get::<_, String>(0)?,
            key,
            row.get::<_, i64>(2)?,
            row.get::<_, Option<i64>>(3)?,
            title,
            row.get::<_, i64>(6)?,
            row.get::<_, Option<i64>>(7)?,
        ))
    });
    for row in rows.map_err(text)? {
        let (source_id, key, created, ended, title, count, first) = row.map_err(text)?;
        let Some(address) = address(&key) else { continue };
        if count == 0 {
            continue;
        }
        agent.sessions.push(SessionPlan {
            source_id,
            address,
            title,
            started: Timestamp::from_millis(first.map_or(created, |it| it.min(created))),
            ended: ended.map(Timestamp::from_millis),
            count: usize::try_from(count).unwrap_or_default(),
            from: from.clone(),
            reader: SessionReader::OpenClaw { copy: number },
        });
    }
    Ok(())
}

/// Conversations of older releases, each a file of lines.
fn old_sessions(plan: &mut Plan, agent: &mut AgentPlan, reading: &Reading<'_>) {
    let folder = format!("agents/{}/sessions", agent.origin);
    let index = reading.home.text(&format!("{folder}/sessions.json")).ok().flatten();
    let index = index
        .and_then(|it| serde_json::from_str::<Map<String, Value>>(&it).ok())
        .unwrap_or_default();
    let Ok((found, left)) = reading.home.list(&folder) else { return };
    for name in left {
        let from = Place::file(format!("{folder}/{name}"));
        let note = "it is a link that leads out of the home, and is not followed";
        plan.row(Fate::Trouble, Some(&agent.id), Note { what: "session", from, note });
    }
    for file in found.into_iter().filter(|it| !it.is_folder) {
        let Some(id) = file.name.strip_suffix(".jsonl") else { continue };
        if agent.sessions.iter().any(|it| it.source_id == id) {
            continue;
        }
        let key = index.iter().find(|(_, it)| it["sessionId"] == id).map(|(key, _)| key.clone());
        let Some(address) = address(key.as_deref().unwrap_or("agent:main:main")) else { continue };
        let from = Place::file(format!("{folder}/{}", file.name));
        let path = reading.home.root().join(&folder).join(&file.name);
        match transcript::count_of_lines(&path) {
            Ok(counted) => {
                for line in &counted.lost {
                    let from = Place { line: Some(*line), ..from.clone() };
                    let note = "this line is no JSON, and is left out";
                    plan.row(Fate::Trouble, Some(&agent.id), Note { what: "session", from, note });
                }
                if counted.messages > 0 {
                    agent.sessions.push(SessionPlan {
                        source_id: id.to_owned(),
                        address,
                        title: None,
                        started: counted.first.unwrap_or_else(|| Timestamp::from_millis(0)),
                        ended: None,
                        count: counted.messages,
                        from,
                        reader: SessionReader::Lines { file: path },
                    });
                }
            }
            Err(why) => {
                plan.row(Fate::Trouble, Some(&agent.id), Note { what: "session", from, note: &why })
            }
        }
    }
}

/// Keys of providers that were typed in there.
fn keys(plan: &mut Plan, agent: &mut AgentPlan, store: &str, from: &Place) {
    let Ok(store) = serde_json::from_str::<Value>(store) else { return };
    for (name, profile) in store["profiles"].as_object().into_iter().flatten() {
        let provider = profile["provider"].as_str().unwrap_or_default();
        let what = format!("login {name}");
        let key = profile["key"].as_str().filter(|it| !it.is_empty());
        let wanted = format!("{}_API_KEY", provider.to_ascii_uppercase());
        match (profile["type"].as_str(), key, provider_key(&wanted)) {
            (Some("api_key"), Some(key), Some((ours, secret))) => {
                plan.secrets.push(SecretPlan {
                    agent: Some(agent.id.clone()),
                    name: secret.to_owned(),
                    value: key.to_owned(),
                    from: from.clone(),
                });
                if agent.get(&["providers", ours]).is_none() {
                    agent.set(&["providers", ours], json!({}));
                }
                let note = format!("its own key for {ours}, in its part of the vault");
                plan.row(
                    Fate::Comes,
                    Some(&agent.id),
                    Note { what: &what, from: from.clone(), note: &note },
                );
            }
            _ => {
                let note = "log in again here: logins of other programs are not copied";
                plan.row(
                    Fate::NoPlace,
                    Some(&agent.id),
                    Note { what: &what, from: from.clone(), note },
                );
            }
        }
    }
}
