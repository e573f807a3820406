//! `insula approvals …`

use super::text;
use crate::arguments::Approvals;
use crate::failure::Failure;
use crate::names::things::{self, Meant};
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::{Value, json};

/// Longest call in the list of grants, which is for finding.
const WHAT_CHARS_MAX: usize = 100;

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Approvals) -> Result<u8, Failure> {
    match command {
        Approvals::List { agent } => {
            let path = match agent {
                Some(agent) => format!("/api/agents/{}/approvals", part(&agent)),
                None => "/api/approvals".to_owned(),
            };
            let waiting = reach.get(&path).await?;
            reach.give(answer, &waiting, table).await;
        }
        Approvals::Approve { id, session, always } => {
            let scope = match (session, always) {
                (_, true) => "always",
                (true, false) => "session",
                (false, false) => "once",
            };
            let body = json!({ "decision": "approve", "scope": scope });
            let (id, done) = decide(reach, &id, body).await?;
            answer.give(&done, |done| output::line(&approved(&id, scope, &text(done, "scope"))));
        }
        Approvals::Deny { id, reason } => {
            let body = json!({ "decision": "deny", "reason": reason });
            let (id, done) = decide(reach, &id, body).await?;
            answer.give(&done, |_| output::line(&format!("denied {id}")));
        }
        Approvals::Grants { agent } => {
            let grants = reach.get(&format!("/api/agents/{}/grants", part(&agent))).await?;
            let show = |grants: &Value| granted(grants, &agent);
            reach.give_of(&agent, answer, &grants, show).await;
        }
        Approvals::Revoke { agent, grant } => {
            let path = format!("/api/agents/{}/grants/{}", part(&agent), part(&grant));
            reach.delete(&path).await?;
            let done = json!({ "agent": agent, "id": grant, "revoked": true });
            answer.give(&done, |_| output::line(&format!("revoked {grant}; {agent} asks again")));
        }
    }
    Ok(0)
}

/// What a yes came to: for less long than was asked for, where nobody can say what the same
/// words would do the next time.
fn approved(id: &str, asked: &str, scope: &str) -> String {
    let less =
        if asked == scope { "" } else { "; what is written to a process is asked each time" };
    format!("approved {id}, {scope}{less}")
}

/// Answers what waits under this id, or for this tool alone, whichever agent asked.
async fn decide(reach: &Reach, said: &str, body: Value) -> Result<(String, Value), Failure> {
    let waiting = reach.get("/api/approvals").await?;
    let id = match things::meant(&waiting, ("id", &["tool"]), said) {
        Meant::Id => said.to_owned(),
        Meant::Called(id) => id,
        Meant::Several(ids) => return Err(Failure::WrongUse(things::several(said, &ids))),
        Meant::Nothing(near) => {
            let shown = said.escape_debug();
            let more = match near {
                Some(near) => format!("did you mean {near}?"),
                None => "`insula approvals list` shows those that do".to_owned(),
            };
            return Err(Failure::Failed(format!("no approval `{shown}` waits; {more}")));
        }
    };
    let mut all = waiting.as_array().into_iter().flatten();
    let agent = all.find(|it| it["id"] == id.as_str()).map(|it| text(it, "agent"));
    let done = answer(reach, &agent.unwrap_or_default(), &id, body).await?;
    Ok((id, done))
}

/// Answers what waits at an agent.
pub async fn answer(reach: &Reach, agent: &str, id: &str, body: Value) -> Result<Value, Failure> {
    let path = format!("/api/agents/{}/approvals/{}", part(agent), part(id));
    reach.post(&path, Some(body)).await
}

/// Prints what waits.
pub fn table(waiting: &Value) {
    let waiting = waiting.as_array().map_or(&[][..], Vec::as_slice);
    if waiting.is_empty() {
        return output::line("nothing waits for approval");
    }
    let rows = waiting.iter().map(|approval| {
        vec![
            text(approval, "id"),
            text(approval, "agent"),
            text(approval, "asked_by"),
            text(approval, "rule"),
            text(approval, "expires_at"),
            text(approval, "tool"),
        ]
    });
    output::table(&["id", "agent", "asked by", "rule", "until", "tool"], rows);
    // All of each: who answers has seen what they allow.
    for approval in waiting {
        output::line(&format!("\n{}, {}:", text(approval, "id"), text(approval, "tool")));
        for line in text(approval, "what").lines() {
            output::line(&format!("  {line}"));
        }
    }
}

/// Prints what an agent was granted.
fn granted(grants: &Value, agent: &str) {
    let grants = grants.as_array().map_or(&[][..], Vec::as_slice);
    if grants.is_empty() {
        return output::line(&format!("{agent} was granted nothing beyond single calls"));
    }
    let rows = grants.iter().map(|grant| {
        let scope = match &grant["session"] {
            Value::Null => text(grant, "scope"),
            _ => format!("session {}", text(grant, "session")),
        };
        vec![
            text(grant, "id"),
            scope,
            text(grant, "tool"),
            text(grant, "rule"),
            text(grant, "granted_by"),
            text(grant, "granted_at"),
            line(grant),
        ]
    });
    output::table(&["id", "holds", "tool", "rule", "granted by", "when", "what"], rows);
}

/// What something does, on one line.
fn line(value: &Value) -> String {
    let what = text(value, "what");
    let line: String = what.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(WHAT_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
