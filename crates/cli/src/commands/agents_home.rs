//! `insula agents home …`

use super::text;
use crate::arguments::AgentHome;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::{Value, json};

impl AgentHome {
    /// Whether it only asks.
    pub fn is_question(&self) -> bool {
        self.off.is_none() && self.chat.is_none()
    }
}

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, wish: AgentHome) -> Result<(), Failure> {
    let path = format!("/api/agents/{}", part(&wish.agent));
    let home = if wish.is_question() {
        reach.get(&path).await?["home"].clone()
    } else if wish.off.is_some() {
        reach.delete(&format!("{path}/home")).await?
    } else {
        let probe = json!({
            "platform": wish.platform,
            "chat": wish.chat,
            "topic": wish.topic,
            "user": wish.user,
            "chat_type": wish.chat_type,
            "account": wish.account,
        });
        reach.put(&format!("{path}/home"), probe).await?
    };
    answer.give(&home, |home| output::line(&said(&wish.agent, home)));
    Ok(())
}

/// Where an agent tells what becomes of it, in words.
pub fn said(agent: &str, home: &Value) -> String {
    if home["chat"].is_null() {
        return format!(
            "{agent} has no home chat; an admin says /sethome where it should tell what becomes of it"
        );
    }
    let lost = match home["leads_here"].as_bool() {
        Some(false) => "; nothing is told there, since messages there do not reach it any more",
        _ => "",
    };
    format!(
        "{agent} tells {} what becomes of it, set by {}{lost}",
        text(home, "chat"),
        text(home, "by")
    )
}
