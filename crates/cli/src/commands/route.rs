//! `insula route explain …`

use super::integrity::{names, others};
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
        "quotes": explain.quotes,
        "attachments": explain.attachments,
    });
    let route = reach.post("/api/route/explain", Some(probe)).await?;
    reach.give(answer, &route, show).await;
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
    let mut less: Vec<(&str, String)> = Vec::new();
    for way in route["ways"].as_array().into_iter().flatten() {
        less.push(("less by", format!("{} ({})", text(way, "name"), super::list(&way["takes"]))));
    }
    if route["left"].is_object() {
        let left = &route["left"];
        less.push(("tools left", super::list(&left["tools"])));
        less.push(("models left", super::list(&left["models"])));
        less.push(("in groups", text(left, "respond")));
    }
    match route["refused"].as_str() {
        Some(reason) => {
            let mut facts = vec![("refused", reason.to_owned()), ("tier", text(route, "tier"))];
            facts.extend(less);
            output::facts(&facts);
        }
        None => {
            let mut facts = vec![
                ("agent", text(route, "agent")),
                ("may talk", may_talk(route)),
                ("tier", text(route, "tier")),
                ("session", text(route, "session_key")),
                ("scope", text(route, "scope")),
                ("integrity", others(&route["integrity"]).unwrap_or_else(|| "own".to_owned())),
                ("tainted", tainted(&route["tainted"])),
            ];
            facts.extend(less);
            facts.retain(|(_, value)| !value.is_empty());
            output::facts(&facts);
        }
    }
}

/// Whether whoever sent it is heard: a route alone lets nobody in.
fn may_talk(route: &Value) -> String {
    let why = route["may_talk_why"].as_str().unwrap_or_default();
    match route["may_talk"].as_bool() {
        Some(true) => format!("yes: {why}"),
        Some(false) => format!("no, it would not be answered:\n{why}"),
        None => String::new(),
    }
}

/// What becomes of what the agent does once it has read words of others.
fn tainted(policy: &Value) -> String {
    let mut lines = vec![format!("profile `{}`", text(policy, "profile"))];
    let ruled = |rule: &str| {
        let all = ["tools", "acts"].into_iter().filter_map(|key| policy[key].as_object());
        all.flatten().filter(|(_, it)| *it == rule).map(|(name, _)| &**name).collect::<Vec<_>>()
    };
    let asks = [("refuses", "deny"), ("asks for", "ask")].map(|(word, rule)| (word, ruled(rule)));
    let asks = asks.iter().filter(|(_, what)| !what.is_empty());
    lines.extend(asks.map(|(word, what)| names(word, what)));
    if lines.len() == 1 {
        lines.push("asks for nothing".to_owned());
    }
    lines.join("\n")
}
