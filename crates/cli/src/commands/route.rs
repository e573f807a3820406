//! `insula route explain …`

use super::text;
use crate::arguments::Route;
use crate::failure::Failure;
use crate::output;
use crate::reach::Reach;
use crate::setting::Answer;
use serde_json::{Value, json};

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Route) -> Result<u8, Failure> {
    let Route::Explain(explain) = command;
    let probe = json!({
        "platform": explain.platform,
        "chat": explain.chat,
        "topic": explain.topic,
        "parent": explain.parent,
        "user": explain.user,
        "roles": explain.roles,
        "guild": explain.guild,
        "team": explain.team,
        "chat_type": explain.chat_type,
        "account": explain.account,
    });
    let route = reach.post("/api/route/explain", Some(probe)).await?;
    answer.give(&route, show);
    Ok(0)
}

fn show(route: &Value) {
    let considered = route["considered"].as_array().map_or(&[][..], Vec::as_slice);
    if considered.is_empty() {
        output::line("there are no bindings");
    } else {
        let rows = considered.iter().map(|rule| {
            vec![
                text(rule, "binding"),
                text(rule, "rule"),
                text(rule, "agent"),
                text(rule, "tier"),
                text(rule, "why"),
                text(rule, "place"),
            ]
        });
        output::table(&["", "rule", "agent", "tier", "why", "place"], rows);
    }
    output::line("");
    match route["refused"].as_str() {
        Some(reason) => {
            output::facts(&[("refused", reason.to_owned()), ("tier", text(route, "tier"))])
        }
        None => output::facts(&[
            ("agent", text(route, "agent")),
            ("tier", text(route, "tier")),
            ("session", text(route, "session_key")),
            ("scope", text(route, "scope")),
        ]),
    }
}
