//! `insula audit …`

use super::{audit_file, flat, text};
use crate::arguments::{Audit, Export, Filters, Tail, Verify};
use crate::failure::{FAILED, Failure};
use crate::reach::{Reach, part};
use crate::setting::{Answer, Setting};
use crate::{output, process};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Records fetched at a time by `export`.
const PAGE: usize = 1_000;
/// How often is looked for new records.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Runs it.
pub async fn run(reach: &Reach, setting: &Setting, command: Audit) -> Result<u8, Failure> {
    let answer = setting.answer;
    match command {
        Audit::Tail(wish) if wish.follow => follow(reach, setting, &wish).await,
        Audit::Tail(Tail { agent, lines, filters, .. }) => {
            let filters = query(reach, agent.as_deref(), &filters).await?;
            let path = format!("{}?limit={lines}{filters}", chain(agent.as_deref()));
            let records = reach.get(&path).await?;
            match &agent {
                Some(agent) => reach.give_of(agent, answer, &records, tail).await,
                None => reach.give(answer, &records, tail).await,
            }
            Ok(0)
        }
        Audit::Export(wish) => export(reach, answer, &wish).await.map(|()| 0),
        Audit::Verify(Verify { what, .. }) => verify(reach, answer, what).await,
        Audit::Key { agent } => {
            let key = reach.get(&format!("{}/key", chain(Some(&agent)))).await?;
            answer.give(&key, |key| output::line(&text(key, "key")));
            Ok(0)
        }
    }
}

/// Filters as parts of a request.
async fn query(reach: &Reach, agent: Option<&str>, filters: &Filters) -> Result<String, Failure> {
    let Filters { scope, user, session, kind, since } = filters;
    let user = match (agent, user) {
        (Some(agent), Some(said)) => match reach.person_called(agent, said).await {
            Ok(who) => Some(who),
            // Not everybody who does something is a person.
            Err(Failure::Failed(_)) => Some(said.clone()),
            Err(unclear) => return Err(unclear),
        },
        (_, said) => said.clone(),
    };
    let is_key = |said: &String| said.contains(':');
    let session = match (agent, session) {
        (Some(agent), Some(said)) if !is_key(said) => {
            Some(reach.session_called(agent, said).await?)
        }
        (_, said) => said.clone(),
    };
    let (user, session) = (&user, &session);
    let parts =
        [("scope", scope), ("user", user), ("session", session), ("kind", kind), ("since", since)];
    let given = parts.iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    Ok(given.map(|(name, value)| format!("&{name}={}", part(value))).collect())
}

/// Shows the newest records and then those that come, until it is interrupted.
async fn follow(reach: &Reach, setting: &Setting, wish: &Tail) -> Result<u8, Failure> {
    if !reach.is_daemon() {
        let why = "no daemon runs in this home, and nothing is recorded meanwhile; start it with `insula up`";
        return Err(Failure::Failed(why.to_owned()));
    }
    let agent = wish.agent.as_deref();
    let (chain, filters) = (chain(agent), query(reach, agent, &wish.filters).await?);
    let last_of = |records: &Value| {
        let last = records.as_array().and_then(|records| records.last());
        last.and_then(|record| record["seq"].as_u64())
    };
    // Before the first look: what is recorded between the two is not missed.
    let head = last_of(&reach.get(&format!("{chain}?limit=1")).await?).unwrap_or_default();
    let mut records = reach.get(&format!("{chain}?limit={}{filters}", wish.lines)).await?;
    let mut after = head;
    loop {
        for record in records.as_array().into_iter().flatten() {
            match setting.answer {
                Answer::Json => output::line(&record.to_string()),
                Answer::Text => output::line(&row(record).join("  ")),
            }
        }
        let last = last_of(&records);
        after = after.max(last.unwrap_or_default());
        if last.is_none() {
            setting.world.clock.sleep(LOOK_EVERY).await;
        }
        records = reach.get(&format!("{chain}?after={after}&limit={PAGE}{filters}")).await?;
    }
}

fn chain(agent: Option<&str>) -> String {
    match agent {
        Some(agent) => format!("/api/agents/{}/audit", part(agent)),
        None => "/api/audit".to_owned(),
    }
}

fn tail(records: &Value) {
    let rows = records.as_array().into_iter().flatten().map(row);
    output::table(&["seq", "at", "actor", "scope", "what", "details"], rows);
}

fn row(record: &Value) -> Vec<String> {
    let content = match &record["content"] {
        Value::Null => "(erased)".to_owned(),
        content => flat(content),
    };
    let mut row: Vec<String> =
        ["seq", "at", "actor", "scope", "kind"].iter().map(|name| text(record, name)).collect();
    row.push(content);
    row
}

/// Of one scope of an agent the proof, otherwise the records.
async fn export(reach: &Reach, answer: Answer, wish: &Export) -> Result<(), Failure> {
    let agent = wish.agent.as_deref();
    let (chain, filters) = (chain(agent), query(reach, agent, &wish.filters).await?);
    if wish.agent.is_some() && wish.filters.scope.is_some() {
        let path = format!("{chain}/export?{}", filters.trim_start_matches('&'));
        let proof = reach.get_text(&path).await?;
        let summary = audit_file::summary(&proof)?;
        if summary["records"] == 0 && wish.filters.is_scope_alone() {
            let scope = wish.filters.scope.as_deref().unwrap_or_default();
            output::notice(&format!(
                "warning: nothing was ever recorded of the scope `{}`; `insula audit tail` shows how scopes are spelt",
                output::clean(scope)
            ));
        }
        return match &wish.out {
            None => {
                proof.lines().for_each(output::line);
                Ok(())
            }
            Some(file) => {
                write(file, &proof)?;
                let mut told = summary;
                told["file"] = file.display().to_string().into();
                answer.give(&told, |told| {
                    let records = told["records"].as_u64().unwrap_or_default();
                    say_written(records, file);
                    output::line(&format!("signed by {}", text(told, "key")));
                });
                Ok(())
            }
        };
    }
    let mut lines = String::new();
    let mut count = 0_u64;
    each(reach, &chain, &filters, |record| {
        count += 1;
        match wish.out {
            None => output::line(&record),
            Some(_) => lines += &(record + "\n"),
        }
    })
    .await?;
    let Some(file) = &wish.out else { return Ok(()) };
    write(file, &lines)?;
    let told = json!({ "file": file.display().to_string(), "records": count });
    answer.give(&told, |_| say_written(count, file));
    Ok(())
}

fn say_written(records: u64, file: &Path) {
    let records = output::count(usize::try_from(records).unwrap_or(usize::MAX), "record");
    output::line(&format!("{records} in {}", file.display()));
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    process::write_new(file, text.as_bytes()).map_err(|error| {
        let file = file.display();
        let why = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "there is such a file already".to_owned(),
            _ => error.to_string(),
        };
        Failure::Failed(format!("{file} can't be written: {why}"))
    })
}

/// Every record that the filters admit, as a line.
async fn each(
    reach: &Reach,
    chain: &str,
    filters: &str,
    mut take: impl FnMut(String),
) -> Result<(), Failure> {
    let mut after = 0;
    loop {
        let page = reach.get(&format!("{chain}?after={after}&limit={PAGE}{filters}")).await?;
        let records = page.as_array().map_or(&[][..], Vec::as_slice);
        records.iter().for_each(|record| take(record.to_string()));
        match records.last().and_then(|record| record["seq"].as_u64()) {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}

/// One chain, or every chain there is.
async fn verify(reach: &Reach, answer: Answer, agent: Option<String>) -> Result<u8, Failure> {
    let mut chains = Vec::new();
    match agent {
        Some(agent) => {
            let path = format!("{}/verify", chain(Some(&agent)));
            chains.push((agent, reach.get(&path).await?));
        }
        None => {
            chains.push(("(daemon)".to_owned(), reach.get("/api/audit/verify").await?));
            let ids = reach.get("/api/audit/chains").await?;
            for id in ids.as_array().into_iter().flatten().filter_map(Value::as_str) {
                let id = id.to_owned();
                let path = format!("{}/verify", chain(Some(&id)));
                chains.push((id, reach.get(&path).await?));
            }
        }
    }
    let ok = chains.iter().all(|(_, report)| report["ok"] == true);
    let records: u64 = chains.iter().filter_map(|(_, report)| report["records"].as_u64()).sum();
    let broken = chains.iter().find(|(_, report)| !report["broken_at"].is_null());
    let whole = json!({
        "ok": ok,
        "records": records,
        "broken_at": broken.map(|(_, report)| report["broken_at"].clone()),
        "chains": chains.iter().map(|(id, report)| {
            let mut chain = report.clone();
            chain["chain"] = json!(id);
            chain
        }).collect::<Vec<_>>(),
    });
    let show = |whole: &Value| {
        let rows = whole["chains"].as_array().into_iter().flatten().map(|report| {
            let found = match (report["ok"] == true, report["broken_at"].is_null()) {
                (true, _) => "intact",
                (false, false) => "broken",
                // Nobody could look: that says nothing of the chain.
                (false, true) => "unknown",
            };
            let at = report["broken_at"]
                .as_u64()
                .map(|at| format!("at record {at}: "))
                .unwrap_or_default();
            let why = report["reason"].as_str().unwrap_or_default();
            let chain = text(report, "chain");
            vec![chain, found.to_owned(), text(report, "records"), format!("{at}{why}")]
        });
        output::table(&["chain", "", "records", "details"], rows);
    };
    reach.give(answer, &whole, show).await;
    Ok(if ok { 0 } else { FAILED })
}
