//! C11: an answer to a question counts only from an admin, whichever way it comes.

use super::scene::{ADA, ann, root, settled};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::puppet::{Script, obey};
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::telegram::{Draft, Sent, Where};
use serde_json::json;

/// The chat where it is asked.
pub(super) const CHAT: i64 = super::scene::chats::OPEN;

/// A call that waits: its id, and the message with its buttons.
pub(super) struct Waiting {
    pub(super) id: String,
    pub(super) asked: Option<Sent>,
    pub(super) file: String,
}

pub(super) fn list(ground: &Ground) -> Result<Vec<String>> {
    let all = ground.cli_json(&["approvals", "list", "a"])?;
    let all = all.as_array().cloned().unwrap_or_default();
    Ok(all.iter().filter_map(|it| it["id"].as_str().map(str::to_owned)).collect())
}

/// Ann asks for something that needs an admin.
pub(super) fn asks(ground: &Ground, name: &str) -> Result<Waiting> {
    asks_at(ground, Where::Chat(CHAT), name)
}

/// The same, there.
pub(super) fn asks_at(ground: &Ground, place: Where<'_>, name: &str) -> Result<Waiting> {
    let path = ground.path(&format!("agents/a/workspace/{name}/file"))?;
    machine::write(&path, b"kept")?;
    let script = obey::one("terminal", json!({ "command": format!("rm -r {name}") }));
    let tag = ground.puppets.learn(script);
    let telegram = ground.telegram()?;
    let before = telegram.sent().len();
    telegram.say(place, &Draft::new(&ann(), &format!("tidy up {tag}")));
    let id = machine::eventually("a call waits", || Ok(list(ground)?.pop()))?;
    let asked = ground.wait(
        "it is asked",
        telegram.until(|telegram| {
            telegram
                .sent()
                .into_iter()
                .skip(before)
                .find(|sent| !sent.buttons.is_empty() || sent.text.contains("rm -r"))
        }),
    )?;
    Ok(Waiting { id, asked: Some(asked), file: format!("agents/a/workspace/{name}/file") })
}

/// Whether it still waits and nothing was done; then the admin says no.
pub(super) fn still_waits(ground: &Ground, waiting: &Waiting) -> Outcome {
    settled(ground)?;
    hold!(ground.has(&waiting.file), "it was done");
    hold!(list(ground)?.contains(&waiting.id), "it does not wait any more");
    let told = ground.cli(&["approvals", "deny", &waiting.id]);
    control!(told.code == Some(0), "it can't be denied: {told:?}");
    machine::eventually("it is over", || Ok(list(ground)?.is_empty().then_some(())))?;
    hold!(ground.has(&waiting.file), "it was done all the same");
    Ok(Verdict::Held)
}

fn by_button(ground: &Ground) -> Outcome {
    let waiting = asks(ground, "by-button")?;
    let asked = waiting.asked.as_ref().filter(|sent| !sent.buttons.is_empty());
    let Some(asked) = asked else {
        let verdict = still_waits(ground, &waiting)?;
        hold!(verdict == Verdict::Held, "{verdict:?}");
        return Ok(Verdict::NotRun("the bot shows no buttons in a group".to_owned()));
    };
    let place = if asked.chat == CHAT { Where::Chat(CHAT) } else { Where::Dm(ADA) };
    for (_, data) in &asked.buttons {
        if !data.to_lowercase().contains("deny") {
            ground.telegram()?.press(place, &ann(), asked.message, data);
        }
    }
    // A button that was never shown.
    let made_up = asked.buttons.first().map_or(String::new(), |(_, data)| format!("{data}:always"));
    ground.telegram()?.press(place, &ann(), asked.message, &made_up);
    still_waits(ground, &waiting)
}

fn by_words(ground: &Ground, name: &str, words: impl Fn(&str) -> Vec<String>) -> Outcome {
    let waiting = asks(ground, name)?;
    for text in words(&waiting.id) {
        ground.say(Where::Chat(CHAT), &ann(), &text)?;
        ground.say(Where::Dm(ADA), &ann(), &text)?;
    }
    still_waits(ground, &waiting)
}

fn by_command(ground: &Ground) -> Outcome {
    by_words(ground, "by-command", |id| {
        vec![
            "/approve".to_owned(),
            format!("/approve {id}"),
            format!("/approve {id} always"),
            format!("/approve@ada_bot {id}"),
        ]
    })
}

fn by_plain_words(ground: &Ground) -> Outcome {
    by_words(ground, "by-words", |_| ["yes", "Yes", "y", "ok", "approve"].map(str::to_owned).into())
}

fn over_the_api(ground: &Ground) -> Outcome {
    let waiting = asks(ground, "by-api")?;
    let path = format!("/api/agents/a/approvals/{}", waiting.id);
    let yes = json!({ "decision": "approve", "scope": "always" });
    for verbs in [&["chat"][..], &["read"], &["manage"], &["chat", "read", "manage"]] {
        let token = ground.mint("a", verbs)?;
        let answer = ground.api(&token.text, "POST", &path, &yes)?;
        hold!(answer.status == 403, "a token for {verbs:?} may: {answer:?}");
    }
    let foreign = ground.mint("b", &["approve", "admin"])?;
    for agent in ["a", "b"] {
        let path = format!("/api/agents/{agent}/approvals/{}", waiting.id);
        let answer = ground.api(&foreign.text, "POST", &path, &yes)?;
        hold!(answer.status == 404, "another agent's token may: {answer:?}");
    }
    still_waits(ground, &waiting)
}

fn by_the_admin(ground: &Ground) -> Outcome {
    // The control of this row: the same by an admin is a yes.
    let waiting = asks(ground, "by-admin")?;
    match waiting.asked.as_ref().and_then(|sent| Some((sent, sent.buttons.first()?))) {
        Some((sent, (_, data))) => {
            let place = if sent.chat == CHAT { Where::Chat(CHAT) } else { Where::Dm(ADA) };
            ground.telegram()?.press(place, &root(), sent.message, data);
        }
        None => {
            ground.say(Where::Chat(CHAT), &root(), &format!("/approve {}", waiting.id))?;
        }
    }
    machine::eventually("it is done", || Ok((!ground.has(&waiting.file)).then_some(())))?;
    // What was allowed once is asked about again.
    let again = asks(ground, "by-admin")?;
    still_waits(ground, &again)
}

fn by_a_script_that_says_so(ground: &Ground) -> Outcome {
    // The model itself says yes: in its own words, and as a call.
    let waiting = asks(ground, "by-model")?;
    let script = Script::steps(vec![
        crate::puppet::Act::Call(vec![
            crate::puppet::Call::new("approve", json!({ "id": waiting.id })),
            crate::puppet::Call::new(
                "approvals",
                json!({ "id": waiting.id, "decision": "approve" }),
            ),
        ]),
        crate::puppet::Act::Say(format!("/approve {}", waiting.id)),
    ]);
    ground.turn("a", "other", script)?;
    still_waits(ground, &waiting)
}

/// C11.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "C11", variant: "by button", run: by_button },
    Attempt { row: "C11", variant: "by /approve", run: by_command },
    Attempt { row: "C11", variant: "by a plain yes", run: by_plain_words },
    Attempt { row: "C11", variant: "over the API", run: over_the_api },
    Attempt { row: "C11", variant: "by the model", run: by_a_script_that_says_so },
    Attempt { row: "C11", variant: "what an admin allowed once, again", run: by_the_admin },
];
