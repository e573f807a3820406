//! `insula pairing …`

use super::text;
use crate::arguments::Pairing;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::{Value, json};

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Pairing) -> Result<u8, Failure> {
    match command {
        Pairing::List { agent } => {
            let path = match agent {
                Some(agent) => format!("/api/agents/{}/pairing", part(&agent)),
                None => "/api/pairing".to_owned(),
            };
            let all = reach.get(&path).await?;
            reach.give(answer, &all, table).await;
        }
        Pairing::Approve { agent, code, platform } => {
            let path = format!("/api/agents/{}/pairing", part(&agent));
            let body = json!({ "code": code, "platform": platform });
            let done = reach.post(&path, Some(body)).await?;
            answer.give(&done, |done| {
                output::line(&format!("{} may talk to {agent} now", text(done, "who")));
            });
        }
        Pairing::Revoke { agent, who } => {
            let path = format!("/api/agents/{}/pairing/{}", part(&agent), part(&who));
            reach.delete(&path).await?;
            let done = json!({ "agent": agent, "who": who, "revoked": true });
            answer.give(&done, |_| output::line(&no_longer(&agent, &who)));
        }
    }
    Ok(0)
}

fn no_longer(agent: &str, who: &str) -> String {
    match who.split_once(':') {
        Some((_, place)) if place.starts_with("chat:") => {
            format!("{who} is closed to {agent}, except for those who may talk to it anyway")
        }
        _ => format!("{who} may no longer talk to {agent}"),
    }
}

fn table(all: &Value) {
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        return output::line("nobody asks to be let in, and nobody was");
    }
    let rows = all.iter().map(|it| {
        vec![
            text(it, "agent"),
            text(it, "state"),
            text(it, "who"),
            text(it, "account"),
            text(it, "name"),
            text(it, "at"),
            text(it, "expires_at"),
            text(it, "by"),
        ]
    });
    output::table(&["agent", "state", "who", "account", "name", "since", "until", "by"], rows);
}
