//! C9: codes that let somebody in, tried in every way but the right one.

use super::scene::{CARL, DORA, EMIL, ann, reaches_a_model, root, settled};
use super::socket::Socket;
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::Ground;
use crate::machine;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use insula_testkit::telegram::{Telegram, User, Where};
use serde_json::json;

/// The code in what a bot said.
fn code_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("code is ")?;
    let code: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    (code.len() == 8).then_some(code)
}

/// The codes that somebody was given so far.
fn codes(telegram: &Telegram, who: &User) -> Vec<String> {
    let sent = telegram.sent_to(who.id, None);
    sent.iter().filter_map(|sent| code_in(&sent.text)).collect()
}

/// Somebody unknown writes to a bot and is given a code.
fn asks(ground: &Ground, bot: &str, who: &User) -> Result<String> {
    ground.say(Where::Dm(bot), who, "hello")?;
    ground.wait("a code is given", ground.telegram()?.until(|telegram| codes(telegram, who).pop()))
}

/// Whether somebody may talk to the agent of this bot.
fn is_let_in(ground: &Ground, bot: &str, who: &User) -> Result<bool> {
    let words = format!(
        "may I {}",
        ground.stage().random(&["c9", &who.id.to_string(), &ground.puppets.count().to_string()])
    );
    ground.say(Where::Dm(bot), who, &words)?;
    settled(ground)?;
    Ok(reaches_a_model(ground, &words).is_some())
}

fn approve(ground: &Ground, agent: &str, code: &str) -> bool {
    ground.cli(&["pairing", "approve", agent, code]).code == Some(0)
}

fn by_the_stranger_themselves(ground: &Ground) -> Outcome {
    let mallory = User::new(601, "Mallory");
    let code = asks(ground, CARL, &mallory)?;
    for words in
        [format!("/pair {code}"), format!("/approve {code}"), code.clone(), "yes".to_owned()]
    {
        ground.say(Where::Dm(CARL), &mallory, &words)?;
    }
    hold!(!is_let_in(ground, CARL, &mallory)?, "a stranger let themselves in");
    // Somebody who may talk to other agents is no admin here.
    ground.say(Where::Dm(CARL), &ann(), &format!("/pair {code}"))?;
    hold!(!is_let_in(ground, CARL, &mallory)?, "somebody who is no admin let them in");
    Ok(Verdict::Held)
}

fn at_another_agent(ground: &Ground) -> Outcome {
    let mallory = User::new(602, "Mallory");
    let code = asks(ground, CARL, &mallory)?;
    hold!(!approve(ground, "q", &code), "a code of p's is good at q");
    ground.say(Where::Dm(DORA), &root(), &format!("/pair {code}"))?;
    hold!(!is_let_in(ground, DORA, &mallory)?, "it let them in at q");
    hold!(!is_let_in(ground, CARL, &mallory)?, "it let them in at p");
    Ok(Verdict::Held)
}

fn replayed(ground: &Ground) -> Outcome {
    let mallory = User::new(603, "Mallory");
    // Three may wait at one account; those before are answered first.
    beside::alter(&ground.path("agents/p/agent.db")?, "DELETE FROM pairing_request")?;
    let code = asks(ground, CARL, &mallory)?;
    control!(approve(ground, "p", &code), "the right code does not let them in");
    control!(is_let_in(ground, CARL, &mallory)?, "they were not let in");
    ground.cli(&["pairing", "revoke", "p", "telegram:603"]);
    hold!(!is_let_in(ground, CARL, &mallory)?, "they are still in after that was taken back");
    hold!(!approve(ground, "p", &code), "the code is good twice");
    ground.say(Where::Dm(CARL), &root(), &format!("/pair {code}"))?;
    hold!(!is_let_in(ground, CARL, &mallory)?, "the code is good twice, in a chat");
    Ok(Verdict::Held)
}

fn expired(ground: &Ground) -> Outcome {
    let mallory = User::new(604, "Mallory");
    beside::alter(&ground.path("agents/p/agent.db")?, "DELETE FROM pairing_request")?;
    let code = asks(ground, CARL, &mallory)?;
    // An hour later: what was written down is an hour older.
    let aged = "UPDATE pairing_request SET asked_at = asked_at - 3700000, expires_at = expires_at - 3700000";
    let rows = beside::alter(&ground.path("agents/p/agent.db")?, aged)?;
    control!(rows == 1, "{rows} requests wait");
    hold!(!approve(ground, "p", &code), "an old code is taken");
    hold!(!is_let_in(ground, CARL, &mallory)?, "an old code lets in");
    Ok(Verdict::Held)
}

fn asked_for_again_and_again(ground: &Ground) -> Outcome {
    let mallory = User::new(605, "Mallory");
    asks(ground, DORA, &mallory)?;
    for _ in 0..5 {
        ground.say(Where::Dm(DORA), &mallory, "another one")?;
    }
    settled(ground)?;
    let given = codes(ground.telegram()?, &mallory);
    hold!(given.len() == 1, "one person was given {} codes", given.len());
    // And a crowd fills the waiting room, not the disk.
    for id in 610..620 {
        ground.say(Where::Dm(DORA), &User::new(id, "Crowd"), "me too")?;
    }
    settled(ground)?;
    let telegram = ground.telegram()?;
    let given: usize = (610..620).map(|id| codes(telegram, &User::new(id, "Crowd")).len()).sum();
    hold!(given <= 2, "{given} more were given a code where three may wait");
    Ok(Verdict::Held)
}

fn from_another_platform(ground: &Ground) -> Outcome {
    let mallory = User::new(606, "Mallory");
    // The agent's admin on web chat may answer what was asked there, and nothing else.
    let token = ground.mint("r", &["chat"])?;
    let config = ground.home().read("config.yaml")?;
    ground
        .home()
        .write("config.yaml", config.replace("web:nobody", &format!("web:{}", token.id)))?;
    let reloaded = ground.cli(&["reload"]);
    let code = asks(ground, EMIL, &mallory)?;
    let mut socket = Socket::open(ground.listen()?, &token.text)?;
    socket.say(&json!({ "type": "join" }))?;
    socket.wait_for("joined")?;
    socket.say(&json!({ "type": "say", "id": "1", "text": format!("/pair {code}") }))?;
    let told = machine::eventually("it is answered", || {
        let frame = socket.wait_for("message")?;
        Ok((frame["by"] == "agent").then(|| frame["text"].as_str().unwrap_or_default().to_owned()))
    })?;
    hold!(!is_let_in(ground, EMIL, &mallory)?, "an admin of another platform let them in: {told}");
    // On its own platform it is good.
    ground.say(Where::Dm(EMIL), &root(), &format!("/pair {code}"))?;
    settled(ground)?;
    control!(is_let_in(ground, EMIL, &mallory)?, "it is good nowhere: {reloaded:?}");
    Ok(Verdict::Held)
}

fn guessed(ground: &Ground) -> Outcome {
    beside::alter(&ground.path("agents/p/agent.db")?, "DELETE FROM pairing_request")?;
    beside::alter(&ground.path("agents/p/agent.db")?, "DELETE FROM pairing_tries")?;
    let mallory = User::new(607, "Mallory");
    let code = asks(ground, CARL, &mallory)?;
    let first = code.chars().next().context("an empty code")?;
    let other = if first == 'A' { 'B' } else { 'A' };
    let near = format!("{other}{}", &code[1..]);
    for wrong in ["AAAAAAAA", "22222222", &near, "", "%", "*", &code.to_lowercase()[..7]] {
        hold!(!approve(ground, "p", wrong), "{wrong} is taken for a code");
    }
    // After so many wrong ones, none is looked at: not even the right one.
    hold!(!approve(ground, "p", &code), "there is no lock after so many wrong codes");
    hold!(!is_let_in(ground, CARL, &mallory)?, "they were let in");
    Ok(Verdict::Held)
}

/// C9. The last one locks its agent for an hour.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt {
        row: "C9",
        variant: "used by the stranger, or by somebody who is no admin",
        run: by_the_stranger_themselves,
    },
    Attempt { row: "C9", variant: "at another agent", run: at_another_agent },
    Attempt { row: "C9", variant: "replayed", run: replayed },
    Attempt { row: "C9", variant: "expired", run: expired },
    Attempt {
        row: "C9",
        variant: "asked for again and again, and by a crowd",
        run: asked_for_again_and_again,
    },
    Attempt { row: "C9", variant: "from another platform", run: from_another_platform },
    Attempt { row: "C9", variant: "guessed", run: guessed },
];
