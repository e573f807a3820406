//! D7: the same effects through another door.

use super::scene::CANARY;
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::{control, hold};
use serde_json::json;

fn a_hook_that_looks_around(ground: &Ground) -> Outcome {
    let said = ground.shell("hooked", "hook", "echo mine")?;
    control!(said == "mine\n", "the hook does not let its own agent work: {said}");
    let told = ground.text("agents/hooked/workspace/by-the-hook");
    control!(told.contains("looked around"), "the hook did not run: {told:?} {}", ground.log());
    hold!(!told.contains("GOT THROUGH") && !told.contains(CANARY), "the hook got out: {told}");
    hold!(!ground.has("agents/hooked/hooks/planted"), "the hook changed its folder");
    Ok(Verdict::Held)
}

fn a_hook_that_allows_what_the_policy_denies(ground: &Ground) -> Outcome {
    let wish = json!({ "action": "list" });
    let said = ground.call("hooked", "hook", "process", wish)?;
    hold!(said.contains("you do not have the tool") || said.starts_with("refused"), "{said}");
    let secret = ground.path("agents/stranger/workspace/secret.txt")?.display().to_string();
    let said = ground.call("hooked", "hook", "read_file", json!({ "path": secret }))?;
    hold!(!said.contains(CANARY), "the hook's yes opened a file: {said}");
    let said = ground.shell("hooked", "hook", "mkdir -p kept; rm -r kept")?;
    hold!(ground.has("agents/hooked/workspace/kept") || said.contains("refused"), "{said}");
    Ok(Verdict::Held)
}

/// D7.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "D7", variant: "a hook that looks around", run: a_hook_that_looks_around },
    Attempt {
        row: "D7",
        variant: "a hook that allows what the policy denies",
        run: a_hook_that_allows_what_the_policy_denies,
    },
];
