//! `insula deliveries …`

use super::text;
use crate::arguments::Deliveries;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::{Value, json};

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Deliveries) -> Result<u8, Failure> {
    match command {
        Deliveries::List { agent } => {
            let path = format!("/api/agents/{}/deliveries", part(&agent));
            let found = reach.get(&path).await?;
            reach.give_of(&agent, answer, &found, |found| table(found, &agent)).await;
        }
        Deliveries::Resend { agent, delivery } => {
            let path =
                format!("/api/agents/{}/deliveries/{}/resend", part(&agent), part(&delivery));
            reach.post(&path, None).await?;
            let done = json!({ "agent": agent, "id": delivery, "resent": true });
            answer.give(&done, |_| output::line(&format!("delivery {delivery} is sent again")));
        }
        Deliveries::Drop { agent, delivery } => {
            let path = format!("/api/agents/{}/deliveries/{}", part(&agent), part(&delivery));
            reach.delete(&path).await?;
            let done = json!({ "agent": agent, "id": delivery, "dropped": true });
            answer.give(&done, |_| output::line(&format!("dropped delivery {delivery}")));
        }
    }
    Ok(0)
}

fn table(found: &Value, agent: &str) {
    let found = found.as_array().map_or(&[][..], Vec::as_slice);
    if found.is_empty() {
        return output::line(&format!("{agent} has nothing that was not sent"));
    }
    let rows = found.iter().map(|delivery| {
        let to = format!("{}.{}", text(delivery, "platform"), text(delivery, "account"));
        let chat = match &delivery["topic"] {
            Value::Null => text(delivery, "chat"),
            _ => format!("{}, topic {}", text(delivery, "chat"), text(delivery, "topic")),
        };
        vec![
            delivery["id"].to_string(),
            text(delivery, "state"),
            to,
            chat,
            text(delivery, "queued_at"),
            text(delivery, "why"),
        ]
    });
    output::table(&["id", "state", "account", "chat", "since", "why"], rows);
}
