//! C14: what is heard in a room of web chat is heard by whoever may hear the agent that answers
//! there now, and by nobody else.

use super::socket::Socket;
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::canary::Canary;
use crate::ground::{Ground, Plan, Token};
use crate::machine;
use crate::puppet::Script;
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};

/// Agents behind one web chat, and rooms that change hands.
pub fn halls(stage: &Stage) -> Result<Ground> {
    let open = "tools: minimal, access: {allow: ['web:*']}, group: {respond: all}";
    let mortal =
        "model: puppet/mortal\ntools: minimal\naccess: {allow: ['web:*']}\ngroup: {respond: all}\n";
    let plan = Plan::new()
        .top("store: {durability: process}")
        .agent("one", open)
        .agent("two", open)
        .file("agents/mortal/agent.yaml", mortal)
        .binding("agent: one, web: {chat: hall}")
        .binding("agent: one, web: {chat: lobby}")
        .binding("agent: mortal, web: {chat: crypt}")
        .binding("agent: one, web: {user: somebody-one}")
        .binding("agent: two, web: {user: somebody-two}")
        .channel("web: {accounts: {site: {}}}");
    let ground = Ground::raise(stage, plan)?;
    machine::eventually("the web chat is connected", || {
        let status = ground.admin("GET", "/api/status", &Value::Null)?.json();
        let accounts = status["accounts"].as_array().cloned().unwrap_or_default();
        let all = accounts.iter().all(|account| account["state"] == "connected");
        Ok((all && accounts.len() == 1).then_some(()))
    })?;
    Ok(ground)
}

/// A page of a token in a room.
fn page(ground: &Ground, token: &Token, room: &str) -> Result<Socket> {
    let mut socket = Socket::open(ground.listen()?, &token.text)?;
    socket.say(&json!({ "type": "join", "room": room }))?;
    socket.wait_for("joined")?;
    Ok(socket)
}

/// Has an agent say something in a room; what a page there says and hears has the canary in it.
fn talk(ground: &Ground, socket: &mut Socket, room: &str, canary: &Canary) -> Result<()> {
    let tag = ground.puppets.learn(Script::say(&format!("I know {}", canary.text)));
    let text = format!("remember {} {tag}", canary.text);
    socket.say(&json!({ "type": "say", "id": &canary.text, "room": room, "text": text }))?;
    machine::eventually("it is answered", || {
        let frame = socket.wait_for("message")?;
        let is_it = frame["by"] == "agent" && frame["text"].to_string().contains(&canary.text);
        Ok(is_it.then_some(()))
    })
}

/// All that a page is told in a room until it left it.
fn heard(socket: &mut Socket, room: &str) -> Result<String> {
    socket.say(&json!({ "type": "leave", "room": room }))?;
    let mut all = String::new();
    loop {
        let frame = socket.next()?;
        all += &frame.to_string();
        if frame["type"] == "left" {
            return Ok(all);
        }
    }
}

/// All that a page of a token hears that comes into a room now; nothing where it may not.
fn told(ground: &Ground, token: &Token, room: &str) -> Result<String> {
    let mut socket = Socket::open(ground.listen()?, &token.text)?;
    socket.say(&json!({ "type": "join", "room": room }))?;
    let first = socket.next()?;
    if first["type"] != "joined" {
        return Ok(first.to_string());
    }
    heard(&mut socket, room)
}

fn reload(ground: &Ground) -> Result<()> {
    let reloaded = ground.admin("POST", "/api/reload", &Value::Null)?;
    anyhow::ensure!(reloaded.status < 300, "no reload: {reloaded:?}");
    Ok(())
}

fn another_agents_room_by_user(ground: &Ground) -> Outcome {
    let (one, two) = (ground.mint("one", &["chat"])?, ground.mint("two", &["chat"])?);
    let config = ground.text("config.yaml");
    let named = config.replace("somebody-one", &one.id).replace("somebody-two", &two.id);
    ground.home().write("config.yaml", &named)?;
    reload(ground)?;
    let canary = ground.canary("one's room");
    let mut listening = page(ground, &two, "plaza")?;
    let mut socket = page(ground, &one, "plaza")?;
    talk(ground, &mut socket, "plaza", &canary)?;
    let live = heard(&mut listening, "plaza")?;
    hold!(!live.contains(&canary.text), "while it was said: {live}");
    let after = told(ground, &two, "plaza")?;
    hold!(!after.contains(&canary.text), "by who came later: {after}");
    let own = told(ground, &one, "plaza")?;
    control!(own.contains(&canary.text), "one's own page hears nothing: {own}");
    Ok(Verdict::Held)
}

fn a_room_that_changed_hands(ground: &Ground) -> Outcome {
    let (one, two) = (ground.mint("one", &["chat"])?, ground.mint("two", &["chat"])?);
    let both = ground.mint_for(&["one", "two"], &["chat"])?;
    let canary = ground.canary("the hall");
    let mut socket = page(ground, &one, "hall")?;
    let mut staying = page(ground, &both, "hall")?;
    talk(ground, &mut socket, "hall", &canary)?;
    let config = ground.text("config.yaml");
    ground.home().write(
        "config.yaml",
        config.replace("{agent: one, web: {chat: hall}}", "{agent: two, web: {chat: hall}}"),
    )?;
    reload(ground)?;
    let state = ground.text("config.yaml").contains("agent: two, web: {chat: hall}");
    control!(state, "the room was not bound to another");
    for token in [&two, &both] {
        let after = told(ground, token, "hall")?;
        control!(after.contains("joined") || after.contains("left"), "{after}");
        hold!(!after.contains(&canary.text), "the other agent's token hears: {after}");
    }
    // Who stayed hears what the new agent says, and the old one's page hears none of it.
    let news = ground.canary("the new hall");
    let mut there = page(ground, &two, "hall")?;
    talk(ground, &mut there, "hall", &news)?;
    let stayed = heard(&mut staying, "hall")?;
    control!(stayed.contains(&news.text), "who may hear both does not: {stayed}");
    let old = told(ground, &one, "hall")?;
    hold!(!old.contains(&news.text), "the old agent's token hears: {old}");
    Ok(Verdict::Held)
}

fn a_room_of_a_deleted_agent(ground: &Ground) -> Outcome {
    let canary = ground.canary("the crypt");
    let before = ground.mint("mortal", &["chat"])?;
    let mut socket = page(ground, &before, "crypt")?;
    talk(ground, &mut socket, "crypt", &canary)?;
    let settings = ground.text("agents/mortal/agent.yaml");
    let deleted = ground.admin("DELETE", "/api/agents/mortal", &Value::Null)?;
    anyhow::ensure!(deleted.status < 300, "{deleted:?}");
    ground.home().write("agents/mortal/agent.yaml", format!("{settings}# again\n"))?;
    reload(ground)?;
    let after = ground.mint("mortal", &["chat"])?;
    let seen = told(ground, &after, "crypt")?;
    control!(seen.contains("left"), "the new one's token may not come in: {seen}");
    hold!(!seen.contains(&canary.text), "the new one's token hears the old one: {seen}");
    Ok(Verdict::Held)
}

fn what_was_forgotten(ground: &Ground) -> Outcome {
    let token = ground.mint("one", &["chat"])?;
    let canary = ground.canary("the lobby");
    let mut socket = page(ground, &token, "lobby")?;
    talk(ground, &mut socket, "lobby", &canary)?;
    let mine = told(ground, &token, "lobby")?;
    control!(mine.contains(&canary.text), "nothing is kept: {mine}");
    let sessions = ground.admin("GET", "/api/agents/one/sessions", &Value::Null)?.json();
    let all = sessions.as_array().or_else(|| sessions["sessions"].as_array()).cloned();
    for session in all.unwrap_or_default() {
        let id = &session["id"];
        let gone =
            ground.admin("DELETE", &format!("/api/agents/one/sessions/{id}"), &Value::Null)?;
        control!(gone.status < 300, "it can't be forgotten: {gone:?}");
    }
    let seen = told(ground, &token, "lobby")?;
    hold!(!seen.contains(&canary.text), "it is told again: {seen}");
    Ok(Verdict::Held)
}

/// C14.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt {
        row: "C14",
        variant: "a room that two agents answer in, by user",
        run: another_agents_room_by_user,
    },
    Attempt {
        row: "C14",
        variant: "a room that was bound to another agent",
        run: a_room_that_changed_hands,
    },
    Attempt {
        row: "C14",
        variant: "a room of a deleted agent, and of a new one of its name",
        run: a_room_of_a_deleted_agent,
    },
    Attempt { row: "C14", variant: "what was forgotten", run: what_was_forgotten },
];
