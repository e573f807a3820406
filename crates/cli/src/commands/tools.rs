//! `insula tools AGENT`: the agent's, or those of a child it could have.

use super::text;
use crate::arguments::Tools;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::Value;
use std::collections::BTreeSet;

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, whose: Tools) -> Result<u8, Failure> {
    let mut path = format!("/api/agents/{}/tools", part(&whose.agent));
    let asked = [("child", &whose.child), ("via", &whose.via)];
    let asked = asked.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
    for (at, (key, value)) in asked.enumerate() {
        let mark = if at == 0 { '?' } else { '&' };
        path += &format!("{mark}{key}={}", part(value));
    }
    let tools = reach.get(&path).await?;
    answer.give(&tools, show);
    Ok(0)
}

/// What is in first: that is what most people look for.
fn show(tools: &Value) {
    let all = || tools.as_array().into_iter().flatten();
    let is_in = |tool: &&Value| tool["exposed"] == true;
    let rows = all().filter(is_in).chain(all().filter(|tool| !is_in(tool))).map(|tool| {
        let mark = if is_in(&tool) { "in" } else { "out" };
        vec![text(tool, "name"), mark.to_owned(), text(tool, "rule"), text(tool, "group")]
    });
    output::table(&["tool", "", "why", "group"], rows);
    let bounds: Vec<(String, &Value)> = all()
        .filter(is_in)
        .flat_map(|tool| {
            let rules = tool["rules"].as_array().into_iter().flatten();
            rules.map(move |rule| (text(tool, "name"), rule))
        })
        .collect();
    if !bounds.is_empty() {
        output::heading("may be called only where");
        for (name, rule) in bounds {
            output::line(&format!("  {name}: {}", rule.as_str().unwrap_or_default()));
        }
    }
    let tainted: Vec<&Value> = all().filter(|tool| tool["tainted"].is_object()).collect();
    if !tainted.is_empty() {
        output::line("");
        output::heading("in a turn that has read words of others");
        let rows = tainted.iter().map(|tool| {
            let becomes = text(&tool["tainted"], "becomes");
            let becomes = match tool["tainted"]["when"].as_str() {
                Some(when) => format!("{becomes} if {when}"),
                None => becomes,
            };
            vec![text(tool, "name"), becomes, text(&tool["tainted"], "by")]
        });
        output::table(&["tool", "", "by"], rows);
    }
    always(&tainted);
}

/// What is so in every turn, and how it would not be.
fn always(tainted: &[&Value]) {
    let is_held = |tool: &&&Value| tool["tainted"]["becomes"] != "allowed";
    let folders: BTreeSet<&str> = tainted
        .iter()
        .filter(is_held)
        .flat_map(|tool| tool["tainted"]["always_by"].as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    if folders.is_empty() {
        return;
    }
    let named: Vec<String> = folders.iter().map(|it| format!("`{it}`")).collect();
    let trusted: Vec<String> = folders.iter().map(|it| format!("\"folder:{it}\"")).collect();
    output::line(&format!(
        "programs meet this in every turn: they reach the network and see {}, whose words count as those of others; if nobody but you writes there, `integrity: {{trusted: [{}]}}` says so",
        named.join(", "),
        trusted.join(", ")
    ));
}
