//! `insula audit …`

use super::{flat, text};
use crate::arguments::Audit;
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::{Value, json};

/// Records fetched at a time by `export`.
const PAGE: usize = 1_000;

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Audit) -> Result<u8, Failure> {
    match command {
        Audit::Tail { agent, lines } => {
            let records = reach.get(&format!("{}?limit={lines}", chain(agent.as_deref()))).await?;
            answer.give(&records, tail);
            Ok(0)
        }
        Audit::Export { agent } => export(reach, &chain(agent.as_deref())).await.map(|()| 0),
        Audit::Verify { agent } => verify(reach, answer, agent).await,
    }
}

fn chain(agent: Option<&str>) -> String {
    match agent {
        Some(agent) => format!("/api/agents/{}/audit", part(agent)),
        None => "/api/audit".to_owned(),
    }
}

fn tail(records: &Value) {
    let rows = records.as_array().into_iter().flatten().map(|record| {
        let content = match &record["content"] {
            Value::Null => "(erased)".to_owned(),
            content => flat(content),
        };
        vec![
            text(record, "seq"),
            text(record, "at"),
            text(record, "actor"),
            text(record, "kind"),
            content,
        ]
    });
    output::table(&["seq", "at", "actor", "what", "details"], rows);
}

async fn export(reach: &Reach, chain: &str) -> Result<(), Failure> {
    let mut after = 0;
    loop {
        let page = reach.get(&format!("{chain}?after={after}&limit={PAGE}")).await?;
        let records = page.as_array().map_or(&[][..], Vec::as_slice);
        for record in records {
            output::line(&record.to_string());
        }
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
    answer.give(&whole, |_| {
        let rows = chains.iter().map(|(id, report)| {
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
            vec![id.clone(), found.to_owned(), text(report, "records"), format!("{at}{why}")]
        });
        output::table(&["chain", "", "records", "details"], rows);
    });
    Ok(if ok { 0 } else { FAILED })
}
