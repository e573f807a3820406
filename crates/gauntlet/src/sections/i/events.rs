//! I2, event streams: every event there is, by tokens that are not for it; and ids that count
//! what others do.

use super::derive::{self, Names};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside::Reading;
use crate::ground::{Ground, Token};
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};
use std::time::Duration;

/// The wire itself.
const WIRE: &str = concat!(
    include_str!("../../../../registry/src/events/text.rs"),
    include_str!("../../../../api/src/events.rs")
);

/// Events that [`provoke`] brings about on an agent's stream.
const PROVOKED: [&str; 13] = [
    "approval.asked",
    "approval.done",
    "child.ended",
    "child.started",
    "child.tool.call",
    "child.tool.done",
    "health",
    "text.delta",
    "tool.call",
    "tool.done",
    "turn.accepted",
    "turn.ended",
    "error",
];

/// Those that are not, and why none of them says more than those that are.
const NOT_PROVOKED: [(&str, &str); 15] = [
    ("turn.joined", "as turn.accepted, of a message that joins"),
    ("reasoning.delta", "as text.delta; needs a model that reasons"),
    ("text.reset", "has no content"),
    ("session.compressed", "has no content"),
    ("missed", "a count of one's own stream"),
    ("job.begun", "names a job; its turn is as others"),
    ("link.used", "names an agent that the agent has a link to"),
    ("link.taken", "names an agent that has a link to it, as the records of its turns do"),
    ("job.ended", "names a job and how its run ended; its turn is as others"),
    ("card.claimed", "names a card of a board that the agent may claim from"),
    ("card.ended", "as card.claimed, with how the card stands"),
    ("editor.call", "as tool.call, of a turn that an editor asked for; see C22"),
    ("editor.done", "as tool.done, of the same"),
    ("editor.read", "as tool.call, of the same"),
    ("editor.write", "as tool.done, of the same"),
];

fn events() -> Names {
    let mut all = derive::quoted(WIRE, |text| {
        let is_word = |c: char| c.is_ascii_lowercase() || c == '.';
        text.contains('.') && text.chars().all(is_word) && !text.starts_with('.')
    });
    for line in WIRE.split("event: ").skip(1) {
        let name: String = line.chars().take_while(char::is_ascii_lowercase).collect();
        all.extend((!name.is_empty()).then_some(name));
    }
    // Some are told apart from their text: a name, and what it says.
    let told = WIRE.split("(\"").skip(1).filter_map(|piece| piece.split_once("\", json!("));
    let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '.');
    all.extend(told.map(|(name, _)| name).filter(is_name).map(str::to_owned));
    all
}

fn unknown() -> Vec<String> {
    let known: Names =
        PROVOKED.iter().copied().chain(NOT_PROVOKED.map(|it| it.0)).map(str::to_owned).collect();
    events().symmetric_difference(&known).cloned().collect()
}

/// Has an agent do all that its stream tells of, with a canary in each.
fn provoke(ground: &Ground, agent: &str, canary: &str) -> Result<()> {
    let own = |tool: &str, arguments: Value| Act::Call(vec![Call::new(tool, arguments)]);
    let child = ground.puppets.learn(Script::steps(vec![own(
        "terminal",
        json!({ "command": format!("echo {canary}") }),
    )]));
    let acts = vec![
        own("terminal", json!({ "command": format!("rm -r {canary}") })),
        own("delegate_task", json!({ "tasks": [{ "goal": format!("{canary} {child}") }] })),
        Act::Say(canary.to_owned()),
    ];
    let session = format!("{canary}-talk");
    let run = || ground.turn_saying(agent, &session, canary, Script::steps(acts));
    let (turn, answered) = machine::both(run, || {
        let list = format!("/api/agents/{agent}/approvals");
        let id = machine::eventually("a call waits", || {
            let all = ground.admin("GET", &list, &Value::Null)?.json();
            Ok(all[0]["id"].as_str().map(str::to_owned))
        })?;
        let path = format!("{list}/{id}");
        ground.admin("POST", &path, &json!({ "decision": "deny" }))
    })?;
    turn?;
    answered?;
    for change in ["pause", "resume"] {
        ground.admin("POST", &format!("/api/agents/{agent}/{change}"), &Value::Null)?;
    }
    Ok(())
}

fn stream(ground: &Ground, token: &str, agent: &str) -> Result<Reading> {
    Reading::open(ground.listen()?, token, "GET", &format!("/api/agents/{agent}/events"), "")
}

/// How soon something that must not come would have come.
const SOON: Duration = Duration::from_millis(300);

fn of_another(ground: &Ground) -> Outcome {
    let unknown = unknown();
    control!(unknown.is_empty(), "events without an attempt: {unknown:?}");
    let (reader, owner) = (ground.mint("a", &["read"])?, ground.mint("b", &["read"])?);
    let (mut own, mut foreign) =
        (stream(ground, &owner.text, "b")?, stream(ground, &reader.text, "a")?);
    own.until("listening")?;
    foreign.until("listening")?;
    let canary = ground.canary("the events of b").text;
    provoke(ground, "b", &canary)?;
    let last = "\"state\":\"ready\"";
    let told = own.until(last)?;
    let missing: Vec<&str> = PROVOKED
        .into_iter()
        .filter(|kind| *kind != "error" && !told.contains(&format!("event: {kind}\n")))
        .collect();
    control!(missing.is_empty(), "nothing provoked {missing:?} in {told}");
    ground.turn("a", "of-its-own", Script::say("the end of a"))?;
    let heard = foreign.until("the end of a")?;
    hold!(!heard.contains(&canary), "a's stream tells of b: {heard}");
    // By tokens that are not for the stream.
    let chat = ground.mint("b", &["chat"])?;
    let gone = ground.mint("b", &["read"])?;
    revoke(ground, &gone)?;
    for (token, wanted) in [(&reader.text, 404), (&chat.text, 403), (&gone.text, 401)] {
        let path = "/api/agents/b/events";
        let answer = ground.api(token, "GET", path, &Value::Null)?;
        hold!(answer.status == wanted, "{answer:?}");
    }
    Ok(Verdict::Held)
}

fn revoke(ground: &Ground, token: &Token) -> Result<()> {
    let answer = ground.admin("DELETE", &format!("/api/tokens/{}", token.id), &Value::Null)?;
    anyhow::ensure!((200..300).contains(&answer.status), "{answer:?}");
    Ok(())
}

/// A stream of an agent that is deleted ends, and tells nothing of the next one of its name.
fn deleted(ground: &Ground) -> Outcome {
    let added = ground.cli(&["agents", "add", "brief", "--model", "puppet/brief"]);
    control!(added.code == Some(0), "{added:?}");
    let token = ground.mint("brief", &["read", "chat"])?;
    let mut open = stream(ground, &token.text, "brief")?;
    open.until("listening")?;
    let gone = ground.cli(&["agents", "delete", "brief", "--yes"]);
    control!(gone.code == Some(0), "{gone:?}");
    let added = ground.cli(&["agents", "add", "brief", "--model", "puppet/brief"]);
    control!(added.code == Some(0), "{added:?}");
    let next = ground.mint("brief", &["chat"])?;
    let canary = ground.canary("the next of the name").text;
    ground.turn_with(&next.text, "brief", "new", &canary, Script::say(&canary))?;
    let rest = open.rest(SOON).unwrap_or_else(|| "it stays open".to_owned());
    hold!(!rest.contains(&canary) && rest != "it stays open", "the old stream: {rest}");
    let old = ground.api(&token.text, "GET", "/api/agents/brief/events", &Value::Null)?;
    hold!([401, 404].contains(&old.status), "the old token follows the next agent: {old:?}");
    Ok(Verdict::Held)
}

/// After a restart tokens are for what they were for.
fn restarted(ground: &Ground) -> Outcome {
    let reader = ground.mint("a", &["read"])?;
    ground.stop()?;
    ground.start_again()?;
    let foreign = ground.api(&reader.text, "GET", "/api/agents/b/events", &Value::Null)?;
    hold!(foreign.status == 404, "{foreign:?}");
    let mut own = stream(ground, &reader.text, "a")?;
    own.until("listening")?;
    let canary = ground.canary("b after a restart").text;
    ground.turn_saying("b", "later", &canary, Script::say(&canary))?;
    ground.turn("a", "later", Script::say("the end of a"))?;
    let heard = own.until("the end of a")?;
    hold!(!heard.contains(&canary), "{heard}");
    Ok(Verdict::Held)
}

/// How often others act between two looks, so that a count of them can't be anything else.
const OTHERS: u64 = 7;

/// Numbers beyond this are times or random.
const COUNTS_BELOW: u64 = 1_000_000;

/// A command whose output no model is shown whole, so that it is told where the rest is.
fn too_long() -> Script {
    let command = json!({ "command": "yes 0123 | head -c 200000 | tr -d '\\n' | fold -w 50" });
    Script::steps(vec![Act::Call(vec![Call::new("terminal", command)])])
}

/// A way to be told something, by the text that is told.
type Look = fn(&Ground, &Token) -> Result<String>;

/// The ways a chat token is told of its own turns.
const LOOKS: [(&str, Look); 4] = [
    ("the events of its message", |ground, token| {
        let tag = ground.puppets.learn(Script::say("counted"));
        let body = json!({ "session": "mine", "text": format!("look {tag}") });
        Ok(ground.api(&token.text, "POST", "/api/agents/quiet/messages", &body)?.body)
    }),
    ("a streamed completion", |ground, token| {
        let tag = ground.puppets.learn(Script::say("counted"));
        let message = json!({ "role": "user", "content": format!("look {tag}") });
        let body = json!({ "model": "quiet", "stream": true, "messages": [message] });
        Ok(ground.api(&token.text, "POST", "/v1/chat/completions", &body)?.body)
    }),
    ("a response", |ground, token| {
        let tag = ground.puppets.learn(Script::say("counted"));
        let body = json!({ "model": "quiet", "input": format!("look {tag}") });
        Ok(ground.api(&token.text, "POST", "/v1/responses", &body)?.body)
    }),
    ("where long output is", |ground, token| {
        let turn = ground.turn_with(&token.text, "quiet", "mine", "", too_long())?;
        Ok(turn.results.concat().lines().filter(|it| it.contains("output/")).collect())
    }),
];

/// What a chat token is told counts no other conversation.
fn numbers_of_others(ground: &Ground) -> Outcome {
    let (own, other) = (ground.mint("quiet", &["chat"])?, ground.mint("quiet", &["chat"])?);
    let act = |round: usize| -> Result<()> {
        for number in 0..OTHERS {
            let session = format!("theirs-{round}-{number}");
            ground.turn_with(&other.text, "quiet", &session, "", Script::say("other"))?;
        }
        Ok(())
    };
    let mut told = vec![];
    for (round, (place, look)) in LOOKS.into_iter().enumerate() {
        let numbers = || -> Result<Vec<u64>> { Ok(derive::numbers(&look(ground, &own)?)) };
        let (one, two) = (numbers()?, numbers()?);
        act(round)?;
        let three = numbers()?;
        if one.len() != two.len() || two.len() != three.len() {
            // Random ids have digits, too; what is random counts nothing.
            continue;
        }
        for (at, ((one, two), three)) in one.iter().zip(&two).zip(&three).enumerate() {
            let (alone, beside) = (two.abs_diff(*one), three.abs_diff(*two));
            if *three < COUNTS_BELOW && (alone + OTHERS..alone + 3 * OTHERS).contains(&beside) {
                told.push(format!("{place}: number {at} goes {one}, {two}, {three}"));
            }
        }
    }
    // And a session's own number, by a new token that others came before.
    let fresh = || -> Result<Vec<u64>> {
        let token = ground.mint("quiet", &["chat"])?;
        Ok(derive::numbers(&LOOKS[3].1(ground, &token)?))
    };
    let one = fresh()?;
    act(LOOKS.len())?;
    let two = fresh()?;
    let is_next = |(one, two): (&u64, &u64)| (1..50).contains(&two.saturating_sub(*one));
    if one.len() == two.len() && one.iter().zip(&two).any(is_next) {
        told.push(format!("where the output of a new token's is: {one:?}, {two:?}"));
    }
    hold!(told.is_empty(), "{}", told.join("; "));
    Ok(Verdict::Held)
}

/// I2, event streams.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "I2", variant: "events, by tokens that are not for them", run: of_another },
    Attempt { row: "I2", variant: "events, after deletion", run: deleted },
    Attempt { row: "I2", variant: "events, after a restart", run: restarted },
    Attempt {
        row: "I2",
        variant: "events and paths, numbers that count others",
        run: numbers_of_others,
    },
];

#[cfg(test)]
mod tests {
    #[test]
    fn every_event_of_the_wire_is_provoked_or_has_its_reason() {
        assert_eq!(super::unknown(), [""; 0]);
    }
}
