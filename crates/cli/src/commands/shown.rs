//! `insula turns show --shown`: what models were shown in a turn.

use super::text;
use crate::failure::Failure;
use crate::output;
use crate::reach::Reach;
use crate::setting::Setting;
use serde_json::Value;

/// How much of a hash a list shows: enough to tell calls apart.
const HASH_CHARS: usize = 16;

/// Lists the calls of the turn at `path`, or shows one.
pub async fn run(
    reach: &Reach,
    setting: &Setting,
    path: &str,
    call: Option<u32>,
) -> Result<(), Failure> {
    match call {
        None => setting.answer.give(&reach.get(&format!("{path}/shown")).await?, list),
        Some(call) => {
            setting.answer.give(&reach.get(&format!("{path}/shown/{call}")).await?, show);
        }
    }
    Ok(())
}

fn list(calls: &Value) {
    let calls = calls.as_array().map_or(&[][..], Vec::as_slice);
    if calls.is_empty() {
        return output::line("no model was asked in this turn, or it is too old to be kept");
    }
    let rows = calls.iter().map(|call| {
        let hash: String = hash(call, "hash").chars().take(HASH_CHARS).collect();
        vec![text(call, "call"), model(call), text(call, "bytes"), hash]
    });
    output::table(&["call", "model", "bytes", "hash"], rows);
}

fn model(call: &Value) -> String {
    format!("{}/{}", text(call, "provider"), text(call, "model"))
}

fn hash(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or("forgotten").to_owned()
}

fn show(call: &Value) {
    output::facts(&[
        ("call", text(call, "call")),
        ("model", model(call)),
        ("bytes", text(call, "bytes")),
        ("hash", hash(call, "hash")),
        ("sha256", hash(call, "sha256")),
        (
            "verified",
            match call["why"].as_str() {
                None => "yes: what stands below is what was sent".to_owned(),
                Some(why) => format!("no: {why}"),
            },
        ),
    ]);
    output::line("");
    let parts = call["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let rows = parts
        .iter()
        .map(|part| vec![text(part, "name"), text(part, "bytes"), hash(part, "sha256")]);
    output::table(&["part", "bytes", "sha256"], rows);
    if let Some(body) = call["body"].as_str() {
        output::line("");
        output::line(body);
    }
}
