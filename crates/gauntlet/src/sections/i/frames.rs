//! I2, web chat: every frame there is, by tokens that are not for the room, before and after
//! whatever takes a right away.

use super::super::c::socket::Socket;
use super::derive::{self, Names};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan, Token};
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use insula_testkit::upstream::{Step, chunk, end, head};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

/// The manual, and the wire itself: what one of them has and the other not is a fault.
const MANUAL: &str = include_str!("../../../../../docs/platforms/web-chat.md");
const WIRE: &str = include_str!("../../../../adapters/src/webchat/frames.rs");

/// What pages say; each is said by [`provoke`].
const SAID: [&str; 5] = ["hello", "join", "leave", "press", "say"];
/// What pages are told; each is provoked by [`provoke`].
const TOLD: [&str; 9] =
    ["edit", "joined", "left", "message", "notice", "ready", "refused", "taken", "typing"];

fn names(of: &[&str]) -> Names {
    of.iter().map(|it| (*it).to_owned()).collect()
}

/// Frames that the attempts here do not know.
fn unknown() -> Vec<String> {
    let said =
        [derive::table(MANUAL, "## What a page says"), derive::variants(WIRE, "ClientFrame")];
    let told =
        [derive::table(MANUAL, "## What a page is told"), derive::quoted_after(WIRE, "\"type\": ")];
    let mut unknown = vec![];
    for (found, known) in [(said, names(&SAID)), (told, names(&TOLD))] {
        for list in found {
            unknown.extend(list.symmetric_difference(&known).cloned());
        }
    }
    unknown
}

/// What the configuration is without bindings and admins, to be written anew by each attempt.
struct Base(String);

/// Agents that talk in rooms.
pub fn raise(stage: &Stage) -> Result<Ground> {
    let talks = "tools: coding, access: {allow: ['web:*'], admins: ['web:ADMIN']}, group: {respond: mention}";
    let plan = Plan::new()
        .top("approvals: {mode: manual, timeout: 10m}\nstore: {durability: process}")
        .agent("a", talks)
        .agent("b", talks)
        .agent("gone", talks)
        .agent("quiet", "tools: coding, memory: true")
        .channel("web: {accounts: {site: {}}}");
    let ground = Ground::raise(stage, plan)?;
    machine::eventually("the account is connected", || {
        let status = ground.admin("GET", "/api/status", &Value::Null)?.json();
        Ok((status["accounts"][0]["state"] == "connected").then_some(()))
    })?;
    let base = Base(ground.text("config.yaml"));
    Ok(ground.with(base))
}

/// Writes these bindings, with this admin, and has the daemon read them.
fn bind(ground: &Ground, admin: &str, bindings: &[String]) -> Result<()> {
    let Base(base) = ground.own()?;
    let mut text = base.replace("web:ADMIN", &format!("web:{admin}"));
    text += "bindings:\n";
    for rule in bindings {
        text += &format!("  - {{{rule}}}\n");
    }
    ground.home().write("config.yaml", &text)?;
    let answer = ground.admin("POST", "/api/reload", &Value::Null)?;
    anyhow::ensure!(answer.status == 200, "{answer:?}\n{text}");
    Ok(())
}

/// A reply in two halves, with a wait between.
fn in_halves(first: &str, second: &str, go: &Arc<Notify>) -> Act {
    let delta = |text: &str, end: Value| {
        let choice = json!({ "index": 0, "delta": { "content": text }, "finish_reason": end });
        chunk(format!("data: {}\n\n", json!({ "choices": [choice] })))
    };
    Act::Raw(vec![
        head("text/event-stream"),
        delta(first, Value::Null),
        Step::Wait(go.clone()),
        delta(second, "stop".into()),
        chunk("data: [DONE]\n\n"),
        end(),
    ])
}

/// Has every kind of frame said and told in a room: words with a canary, a reply that streams,
/// a question with buttons and its answer. What the bearer was told.
fn provoke(ground: &Ground, token: &Token, room: &str, canary: &str) -> Result<Vec<Value>> {
    let mut told = vec![];
    let mut socket = Socket::open(ground.listen()?, &token.text)?;
    told.push(json!({ "type": "ready" }));
    let mut until = |socket: &mut Socket, done: &dyn Fn(&Value) -> bool| -> Result<Value> {
        loop {
            let frame = socket.next()?;
            told.push(frame.clone());
            if done(&frame) {
                return Ok(frame);
            }
        }
    };
    let is = |kind: &'static str| move |frame: &Value| frame["type"] == kind;
    socket.say(&json!({ "type": "join", "room": room }))?;
    until(&mut socket, &is("joined")).context("the room can't be joined")?;
    let say = |id: &str, text: String| json!({ "type": "say", "id": id, "room": room, "text": text, "mention": true });

    let go = Arc::new(Notify::new());
    let halves = in_halves(&format!("half {canary} "), "and whole", &go);
    let tag = ground.puppets.learn(Script::steps(vec![halves]));
    socket.say(&say("1", format!("{canary} {tag}")))?;
    // What was said there before may be told again; only what has this canary is new.
    let is_new = |frame: &Value| frame.to_string().contains(canary);
    let by_agent =
        |frame: &Value| frame["by"] == "agent" && frame["type"] == "message" && is_new(frame);
    until(&mut socket, &by_agent)?;
    go.notify_one();
    until(&mut socket, &|frame| is_new(frame) && frame.to_string().contains("and whole"))?;

    let dangerous = Call::new("terminal", json!({ "command": format!("rm -r {canary}") }));
    let over = Act::Say(format!("over {canary}"));
    let tag = ground.puppets.learn(Script::steps(vec![Act::Call(vec![dangerous]), over]));
    socket.say(&say("2", format!("again {tag}")))?;
    let asks = |frame: &Value| {
        frame["buttons"].as_array().is_some_and(|rows| !rows.is_empty()) && is_new(frame)
    };
    let question = until(&mut socket, &asks)?;
    let rows = question["buttons"].as_array().cloned().unwrap_or_default();
    let last = rows.last().and_then(|row| row.as_array()?.last().cloned()).unwrap_or_default();
    let press = json!({ "type": "press", "id": "3", "room": room, "message": question["id"], "data": last["data"] });
    socket.say(&press)?;
    until(&mut socket, &is("notice"))?;
    let over = format!("over {canary}");
    until(&mut socket, &|frame| frame["text"].as_str().is_some_and(|text| text.contains(&over)))?;
    socket.say(&json!({ "type": "say", "id": "4", "room": "n o", "text": "x" }))?;
    until(&mut socket, &is("refused"))?;
    socket.say(&json!({ "type": "leave", "room": room }))?;
    until(&mut socket, &is("left"))?;
    Ok(told)
}

/// Somebody who listens in a room, from some cursor on.
struct Witness {
    socket: Socket,
    room: String,
    heard: Vec<Value>,
}

impl Witness {
    fn enter(ground: &Ground, token: &Token, room: &str, after: Option<&str>) -> Result<Self> {
        let socket = Socket::open(ground.listen()?, &token.text)?;
        let mut witness = Self { socket, room: room.to_owned(), heard: vec![] };
        witness.socket.say(&json!({ "type": "join", "room": room, "after": after }))?;
        witness.settle("in")?;
        Ok(witness)
    }

    /// Says something of its own, and keeps all that comes before it is answered.
    fn settle(&mut self, id: &str) -> Result<()> {
        let own = json!({ "type": "say", "id": id, "room": self.room, "text": "listening" });
        self.socket.say(&own)?;
        loop {
            let frame = self.socket.next()?;
            let is_answer = ["taken", "refused"].contains(&frame["type"].as_str().unwrap_or(""));
            self.heard.push(frame.clone());
            if is_answer && frame["id"] == id {
                return Ok(());
            }
        }
    }

    /// Frames that have any of these words.
    fn with(&self, words: &[&str]) -> Vec<String> {
        let has = |frame: &&Value| words.iter().any(|word| frame.to_string().contains(word));
        let short = |frame: &Value| frame.to_string().chars().take(200).collect();
        self.heard.iter().filter(has).map(short).collect()
    }
}

fn told_kinds(told: &[Value]) -> Names {
    told.iter().filter_map(|frame| frame["type"].as_str().map(str::to_owned)).collect()
}

fn room_of(agent: &str, room: &str) -> String {
    format!("agent: {agent}, web: {room}")
}

fn user_of(agent: &str, token: &Token) -> String {
    format!("agent: {agent}, web: {{user: '{}'}}", token.id)
}

/// Both are in a room of one name, each with an agent of their own.
fn by_user(ground: &Ground) -> Outcome {
    let unknown = unknown();
    control!(unknown.is_empty(), "frames without an attempt: {unknown:?}");
    let (one, other) = (ground.mint("a", &["chat"])?, ground.mint("b", &["chat"])?);
    bind(ground, &other.id, &[user_of("a", &one), user_of("b", &other)])?;
    let canary = ground.canary("the room of b").text;
    let mut before = Witness::enter(ground, &one, "den", None)?;
    let told = provoke(ground, &other, "den", &canary)?;
    let missing: Vec<_> = names(&TOLD).difference(&told_kinds(&told)).cloned().collect();
    control!(missing.is_empty(), "nothing provoked {missing:?}");
    before.settle("after")?;
    let leaked = before.with(&[&canary, &other.id]);
    hold!(leaked.is_empty(), "who was there heard {} frames: {leaked:?}", leaked.len());
    let later = Witness::enter(ground, &one, "den", None)?;
    let leaked = later.with(&[&canary, &other.id]);
    hold!(leaked.is_empty(), "who came later was told {} frames: {leaked:?}", leaked.len());
    let cursor = told.iter().find_map(|frame| frame["cursor"].as_str());
    let later = Witness::enter(ground, &one, "den", cursor)?;
    let leaked = later.with(&[&canary, &other.id]);
    hold!(leaked.is_empty(), "by b's cursor: {leaked:?}");
    Ok(Verdict::Held)
}

/// A room gets another agent.
fn rebinding(ground: &Ground) -> Outcome {
    let (one, other) = (ground.mint("a", &["chat"])?, ground.mint("b", &["chat"])?);
    bind(ground, &other.id, &[room_of("b", "lounge")])?;
    let canary = ground.canary("the lounge of b").text;
    provoke(ground, &other, "lounge", &canary)?;
    let mut stays = Witness::enter(ground, &other, "lounge", None)?;
    control!(!stays.with(&[&canary]).is_empty(), "its own room tells it nothing");
    bind(ground, &one.id, &[room_of("a", "lounge")])?;
    let new = ground.canary("the lounge of a").text;
    provoke(ground, &one, "lounge", &new)?;
    let comes = Witness::enter(ground, &one, "lounge", None)?;
    let leaked = comes.with(&[&canary, &other.id]);
    hold!(leaked.is_empty(), "the next agent's people are told {leaked:?}");
    stays.settle("still")?;
    let leaked = stays.with(&[&new, &one.id]);
    hold!(leaked.is_empty(), "the last agent's people still hear {leaked:?}");
    let again = Witness::enter(ground, &other, "lounge", None)?;
    let leaked = again.with(&[&new, &one.id, &canary]);
    hold!(leaked.is_empty(), "whoever lost the room is told {leaked:?}");
    // Back again: what the other said in between is not for them either.
    bind(ground, &other.id, &[room_of("b", "lounge")])?;
    let back = Witness::enter(ground, &other, "lounge", None)?;
    let leaked = back.with(&[&new, &one.id]);
    hold!(leaked.is_empty(), "bound back, the room tells {leaked:?}");
    Ok(Verdict::Held)
}

/// A token that is gone hears nothing, on an open socket and on a new one.
fn revocation(ground: &Ground) -> Outcome {
    let (gone, other) = (ground.mint("b", &["chat"])?, ground.mint("b", &["chat"])?);
    bind(ground, &other.id, &[room_of("b", "parlour")])?;
    let mut open = Witness::enter(ground, &gone, "parlour", None)?;
    let revoked = ground.admin("DELETE", &format!("/api/tokens/{}", gone.id), &Value::Null)?;
    control!((200..300).contains(&revoked.status), "{revoked:?}");
    let canary = ground.canary("the parlour of b").text;
    provoke(ground, &other, "parlour", &canary)?;
    // All that still comes, until it is closed.
    let mut heard = String::new();
    while let Ok(frame) = open.socket.next() {
        heard += &frame.to_string();
        hold!(!heard.contains(&canary), "a revoked token hears {heard}");
    }
    let protocols = format!("insula.chat.v1, insula.token.{}", gone.text);
    let again = Socket::tried(ground.listen()?, "", &[("Sec-WebSocket-Protocol", &protocols)])?;
    hold!(again.err() == Some(401), "a revoked token opens a socket");
    let nobody =
        Socket::tried(ground.listen()?, "", &[("Sec-WebSocket-Protocol", "insula.chat.v1")])?;
    if let Ok(mut socket) = nobody {
        socket.say(&json!({ "type": "join", "room": "parlour" }))?;
        let closed = socket.closed()?;
        hold!(closed == Some(1008), "without a token the room answers: {closed:?}");
    }
    Ok(Verdict::Held)
}

/// An agent is deleted and made again under its name, and its rooms with it.
fn deletion(ground: &Ground) -> Outcome {
    let token = ground.mint("gone", &["chat"])?;
    bind(ground, &token.id, &[room_of("gone", "attic")])?;
    let canary = ground.canary("the attic of the old").text;
    provoke(ground, &token, "attic", &canary)?;
    let deleted = ground.cli(&["agents", "delete", "gone", "--yes"]);
    control!(deleted.code == Some(0), "{deleted:?}");
    bind(ground, "nobody", &[room_of("a", "attic")])?;
    let one = ground.mint("a", &["chat"])?;
    let next = Witness::enter(ground, &one, "attic", None)?;
    let leaked = next.with(&[&canary, &token.id]);
    hold!(leaked.is_empty(), "the room of a deleted agent tells {leaked:?}");
    bind(ground, "nobody", &[room_of("gone", "attic")])?;
    let new = ground.mint("gone", &["chat"]);
    let Ok(new) = new else { return Ok(Verdict::Held) };
    let reborn = Witness::enter(ground, &new, "attic", None)?;
    let leaked = reborn.with(&[&canary, &token.id]);
    hold!(leaked.is_empty(), "the next agent of the name is told {leaked:?}");
    Ok(Verdict::Held)
}

/// What was forgotten is not told again, not even to who was there.
fn forgetting(ground: &Ground) -> Outcome {
    let token = ground.mint("b", &["chat"])?;
    bind(ground, &token.id, &[room_of("b", "cellar")])?;
    let canary = ground.canary("the cellar of b").text;
    let told = provoke(ground, &token, "cellar", &canary)?;
    let sessions = ground.admin("GET", "/api/agents/b/sessions?limit=1000", &Value::Null)?.json();
    let all = sessions.as_array().or_else(|| sessions["sessions"].as_array());
    let all = all.cloned().unwrap_or_default();
    let is_it = |it: &&Value| it.to_string().contains("cellar");
    let session = all.iter().find(is_it).with_context(|| sessions.to_string())?;
    let id = session["id"].as_i64().map_or_else(|| session["id"].to_string(), |it| it.to_string());
    let id = id.trim_matches('"');
    let path = format!("/api/agents/b/sessions/{id}");
    let forgotten = ground.admin("DELETE", &path, &Value::Null)?;
    control!((200..300).contains(&forgotten.status), "{path}: {forgotten:?}");
    let cursor = told.iter().find_map(|frame| frame["cursor"].as_str());
    for after in [None, cursor] {
        let again = Witness::enter(ground, &token, "cellar", after)?;
        let leaked = again.with(&[&canary]);
        hold!(leaked.is_empty(), "what was forgotten is told again: {leaked:?}");
    }
    Ok(Verdict::Held)
}

/// After a restart a room is read from records: from those of the agent that answers there.
fn restart(ground: &Ground) -> Outcome {
    let (one, other) = (ground.mint("a", &["chat"])?, ground.mint("b", &["chat"])?);
    let rules = [user_of("a", &one), user_of("b", &other)];
    bind(ground, &other.id, &rules)?;
    let canary = ground.canary("the loft of b").text;
    let told = provoke(ground, &other, "loft", &canary)?;
    ground.stop()?;
    ground.start_again()?;
    machine::eventually("the account is connected", || {
        let status = ground.admin("GET", "/api/status", &Value::Null)?.json();
        Ok((status["accounts"][0]["state"] == "connected").then_some(()))
    })?;
    let cursor = told.iter().find_map(|frame| frame["cursor"].as_str());
    for after in [None, cursor] {
        // The owner comes first, so that the records of b are what is kept of the room.
        let own = Witness::enter(ground, &other, "loft", after)?;
        control!(!own.with(&[&canary]).is_empty(), "b's own records tell nothing");
        let foreign = Witness::enter(ground, &one, "loft", after)?;
        let leaked = foreign.with(&[&canary, &other.id]);
        hold!(leaked.is_empty(), "after a restart a is told {leaked:?}");
    }
    Ok(Verdict::Held)
}

/// I2, web chat.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "I2", variant: "frames, two agents bound by user", run: by_user },
    Attempt { row: "I2", variant: "frames, after rebinding", run: rebinding },
    Attempt { row: "I2", variant: "frames, after revocation", run: revocation },
    Attempt { row: "I2", variant: "frames, after deletion", run: deletion },
    Attempt { row: "I2", variant: "frames, after forgetting", run: forgetting },
    Attempt { row: "I2", variant: "frames, after a restart", run: restart },
];

#[cfg(test)]
mod tests {
    #[test]
    fn every_frame_of_the_wire_and_the_manual_has_an_attempt() {
        assert_eq!(super::unknown(), [""; 0]);
    }
}
