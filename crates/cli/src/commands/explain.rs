//! `insula explain AGENT VERB [WHAT]`

use super::text;
use crate::arguments::ExplainAgent;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::{Value, json};

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, asked: ExplainAgent) -> Result<u8, Failure> {
    let path = format!("/api/agents/{}/explain", part(&asked.agent));
    let by = match asked.by {
        Some(said) => Some(reach.person_called(&asked.agent, &said).await?),
        None => None,
    };
    let question = json!({ "verb": asked.verb, "what": asked.what, "as": by });
    let explained = reach.post(&path, Some(question)).await?;
    answer.give(&explained, show);
    Ok(0)
}

fn show(explained: &Value) {
    let allowed = match explained["allowed"].as_str() {
        Some("asks") => "after an admin agreed".to_owned(),
        _ => text(explained, "allowed"),
    };
    let mut facts = vec![
        ("allowed", allowed),
        ("rule", text(explained, "rule")),
        ("stands in", lines(&explained["places"])),
        ("to change it", text(explained, "change")),
        ("also", lines(&explained["notes"])),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    output::facts(&facts);
}

fn lines(all: &Value) -> String {
    let texts: Vec<&str> = all.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    texts.join("\n")
}
