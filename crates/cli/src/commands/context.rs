//! `insula context show AGENT`

use super::{flat, list, text};
use crate::arguments::Context;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::Value;

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Context) -> Result<u8, Failure> {
    let Context::Show(one) = command;
    let context = reach.get(&format!("/api/agents/{}/context", part(&one.agent))).await?;
    answer.give(&context, show);
    Ok(0)
}

fn show(context: &Value) {
    let identity = &context["identity"];
    output::heading(&format!("{} (generation {})", text(context, "id"), context["generation"]));
    let instructions = match identity["instructions"].as_str() {
        Some(told) => format!("{}\n({})", told.trim(), text(identity, "instructions_origin")),
        None => String::new(),
    };
    output::facts(&[
        ("name", text(identity, "name")),
        ("description", text(identity, "description")),
        ("timezone", text(identity, "timezone")),
        ("soul", format!("{}\n({})", text(identity, "soul").trim(), text(identity, "soul_origin"))),
        ("instructions", instructions),
        ("models", list(&context["models"])),
        ("memory", flat(&context["memory"])),
        ("scope", text(context, "scope")),
        ("sessions", flat(&context["sessions"])),
        ("workspace", flat(&context["workspace"])),
        ("skills", list(&context["skills"]["names"])),
        ("skill bundles", list(&context["skills"]["bundles"])),
        ("isolation", text(context, "isolation")),
        ("tools", list(&context["tools"])),
    ]);
    output::line("");
    output::heading("boundary");
    let boundary = context["boundary"].as_object();
    let shown =
        boundary.into_iter().flatten().filter(|(key, _)| *key != "tools" && *key != "isolation");
    let facts: Vec<(&str, String)> =
        shown.map(|(key, value)| (key.as_str(), flat(value))).collect();
    output::facts(&facts);
    let settings = context["settings"].as_array().map_or(&[][..], Vec::as_slice);
    if !settings.is_empty() {
        output::line("");
        output::heading("settings");
        let rows = settings.iter().map(|setting| {
            vec![text(setting, "setting"), flat(&setting["value"]), text(setting, "origin")]
        });
        output::table(&["setting", "value", "origin"], rows);
    }
}
