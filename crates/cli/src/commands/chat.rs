//! `insula chat`: says a line, prints the reply.

use crate::arguments::Chat;
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::reach::Reach;
use crate::setting::Answer;
use serde_json::json;
use std::io::{BufRead as _, IsTerminal as _};

/// Runs it: one message, or every line of standard input.
pub async fn run(reach: &Reach, answer: Answer, chat: Chat) -> Result<u8, Failure> {
    let agent = match &chat.agent {
        Some(agent) => agent.clone(),
        None => default_agent(reach).await?,
    };
    if let Some(message) = &chat.message {
        return say(reach, answer, &agent, &chat.session, message).await.map(|()| 0);
    }
    let at_terminal = std::io::stdin().is_terminal();
    if at_terminal {
        output::line(&format!("talking to {agent}; an empty line or Ctrl-D ends"));
    }
    let mut code = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            break;
        }
        match say(reach, answer, &agent, &chat.session, &line).await {
            Ok(()) => {}
            // A turn that failed leaves a clean next one.
            Err(failure) if at_terminal => output::failure(&failure),
            Err(failure) => {
                output::failure(&failure);
                code = FAILED;
            }
        }
    }
    Ok(code)
}

/// The agent that answers the command line.
async fn default_agent(reach: &Reach) -> Result<String, Failure> {
    let probe = json!({ "platform": "cli", "chat": "terminal", "account": "local" });
    let route = reach.post("/api/route/explain", Some(probe)).await?;
    let refused = || route["refused"].as_str().unwrap_or("nobody answers").to_owned();
    let agent = route["agent"].as_str().map(str::to_owned);
    agent.ok_or_else(|| Failure::Failed(format!("{}; say which with --agent", refused())))
}

async fn say(
    reach: &Reach,
    answer: Answer,
    agent: &str,
    session: &str,
    message: &str,
) -> Result<(), Failure> {
    let body = json!({ "model": agent, "messages": [{ "role": "user", "content": message }] });
    let reply = reach.post_in_session("/v1/chat/completions", session, body).await?;
    answer.give(&reply, |reply| {
        let text = &reply["choices"][0]["message"]["content"];
        output::line(text.as_str().unwrap_or_default());
    });
    Ok(())
}
