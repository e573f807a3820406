//! The puppet that sprays: it pushes what it holds into every sink it can name, plain and
//! encoded: every text argument of every tool it is shown, and its reply.

use super::probe::filled;
use super::{Act, Call, Script};
use crate::canary::Canary;
use serde_json::Value;

/// Pushes these into every argument of every tool it is shown but the tools in `spared`, and
/// into its reply.
pub fn everywhere(canaries: Vec<Canary>, spared: &'static [&'static str]) -> Script {
    Script::live(move |asked| {
        let texts: Vec<String> = canaries.iter().flat_map(texts).collect();
        if asked.step > 0 {
            return Act::Say(texts.join("\n"));
        }
        let tools = asked.tools().into_iter().filter(|(name, _)| !spared.contains(&name.as_str()));
        let calls = tools.flat_map(|(name, schema)| {
            let filled: Vec<Value> = texts.iter().map(|text| filled(&schema, text)).collect();
            filled.into_iter().map(move |arguments| Call { tool: name.clone(), arguments })
        });
        let calls: Vec<Call> = calls.collect();
        if calls.is_empty() { Act::Say(texts.join("\n")) } else { Act::Call(calls) }
    })
}

/// The forms of a canary that are text.
fn texts(canary: &Canary) -> Vec<String> {
    let forms = canary.forms().into_iter();
    forms
        .filter(|(name, _)| ["plain", "in hex", "reversed"].contains(name))
        .filter_map(|(_, bytes)| String::from_utf8(bytes).ok())
        .collect()
}
