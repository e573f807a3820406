//! C5, C6 and C12: two bots and one person, the way back, and an agent that admits nobody.

use super::scene::{ADA, BOB, ann, chats, inbound, reaches_a_model, root, settled};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::puppet::{Call, Script, obey};
use crate::{control, hold};
use insula_testkit::telegram::{Draft, User, Where};
use serde_json::json;

fn two_bots_two_sessions(ground: &Ground) -> Outcome {
    let word = ground.stage().random(&["c5"]);
    let one = ground.tell(
        Where::Dm(ADA),
        &ann(),
        &format!("the word is {word}"),
        Script::say("noted"),
    )?;
    let other = ground.tell(Where::Dm(BOB), &ann(), "what was the word", Script::say("no idea"))?;
    let heard = String::from_utf8_lossy(&one.prompts()).contains(&word);
    control!(heard, "the first bot did not hear it");
    let leaked = String::from_utf8_lossy(&other.prompts()).contains(&word);
    hold!(!leaked, "what was said to one bot is in the prompt of the other");
    let sessions = ground.cli_json(&["sessions", "list", "main"])?.to_string();
    for bot in ["ada_bot", "bob_bot"] {
        let key = format!("agent:main:telegram:{bot}:dm:42:user:42");
        hold!(sessions.contains(&key), "there is no session {key}: {sessions}");
    }
    Ok(Verdict::Held)
}

fn two_bots_two_memories(ground: &Ground) -> Outcome {
    let word = ground.stage().random(&["c5", "memory"]);
    let add =
        json!({ "action": "add", "target": "memory", "content": format!("the tune is {word}") });
    let one = ground.tell(Where::Dm(ADA), &ann(), "remember", obey::one("memory", add))?;
    control!(!one.told().contains("refused"), "it can't be remembered: {}", one.told());
    let search = Script::steps(vec![crate::puppet::Act::Call(vec![
        Call::new("session_search", json!({ "query": "tune" })),
        Call::new("memory_search", json!({ "query": "tune" })),
    ])]);
    ground.command(Where::Dm(ADA), &ann(), "/new")?;
    let own = ground.tell(Where::Dm(ADA), &ann(), "again", Script::say("yes"))?;
    control!(String::from_utf8_lossy(&own.prompts()).contains(&word), "it is not remembered here");
    let other = ground.tell(Where::Dm(BOB), &ann(), "and here", search)?;
    let leaked = String::from_utf8_lossy(&other.prompts()).contains(&word);
    hold!(!leaked, "what one bot was told is remembered at the other: {}", other.told());
    Ok(Verdict::Held)
}

fn a_direct_message_to_the_second(ground: &Ground) -> Outcome {
    let turn =
        ground.tell(Where::Dm(BOB), &ann(), "who are you", Script::say("by the second bot"))?;
    let sent = ground.telegram()?.sent();
    let said: Vec<&str> =
        sent.iter().filter(|it| it.text == turn.reply).map(|it| it.bot.as_str()).collect();
    hold!(said == ["bob_bot"], "it left by {said:?}");
    Ok(Verdict::Held)
}

fn in_a_group_of_both(ground: &Ground) -> Outcome {
    let tag = ground.puppets.learn(Script::say("from the one that was asked"));
    let telegram = ground.telegram()?;
    // Only the second bot hears it: the first is not there.
    telegram.group(-800, "Second", &[BOB]);
    telegram.say(Where::Chat(-800), &Draft::new(&ann(), &format!("@bob_bot hello {tag}")));
    let sent = ground.wait(
        "the bot answers",
        telegram.until(|telegram| {
            telegram
                .sent_to(-800, None)
                .into_iter()
                .find(|sent| sent.text.contains("that was asked"))
        }),
    )?;
    hold!(sent.bot == "bob_bot", "it left by {}", sent.bot);
    // A reply to what the second bot said.
    let tag = ground.puppets.learn(Script::say("and once more"));
    telegram.say(
        Where::Chat(-800),
        &Draft::new(&ann(), &format!("go on {tag}")).reply_to(sent.message),
    );
    let sent = ground.wait(
        "the bot answers",
        telegram.until(|telegram| {
            telegram.sent_to(-800, None).into_iter().find(|sent| sent.text.contains("once more"))
        }),
    )?;
    hold!(sent.bot == "bob_bot", "it left by {}", sent.bot);
    let by_token = telegram.asked().into_iter().filter(|asked| asked.token == ADA);
    let strays = by_token.filter(|asked| {
        asked.arguments.get("chat_id").is_some_and(|it| it.to_string().contains("-800"))
    });
    let strays: Vec<String> = strays.map(|it| it.method).collect();
    hold!(strays.is_empty(), "the first bot did something there: {strays:?}");
    Ok(Verdict::Held)
}

/// What somebody says to `b`, who lets nobody in, goes no further.
fn closed_to(ground: &Ground, who: &User) -> Outcome {
    let open = ground.tell(Where::Chat(chats::OPEN), who, "hello", Script::say("welcome"))?;
    control!(!open.requests.is_empty(), "who lets everyone in does not let this one in");
    let words = format!("let me in {}", ground.stage().random(&["c12", &who.name]));
    let before = inbound(ground, "unauthorised")?;
    ground.say(Where::Chat(chats::CLOSED), who, &words)?;
    settled(ground)?;
    if let Some(model) = reaches_a_model(ground, &words) {
        return Ok(Verdict::Broken(format!("{model} was asked")));
    }
    let told = ground.telegram()?.sent_to(chats::CLOSED, None);
    hold!(told.is_empty(), "somebody answered: {told:?}");
    hold!(inbound(ground, "unauthorised")? > before, "it is not counted as refused");
    let sessions = ground.cli_json(&["sessions", "list", "b"])?;
    hold!(sessions.as_array().is_some_and(Vec::is_empty), "something was kept: {sessions}");
    Ok(Verdict::Held)
}

fn to_somebody(ground: &Ground) -> Outcome {
    closed_to(ground, &ann())
}

fn to_the_admin_of_another(ground: &Ground) -> Outcome {
    closed_to(ground, &root())
}

fn to_somebody_new(ground: &Ground) -> Outcome {
    closed_to(ground, &User::new(4_711, "New"))
}

/// C5, C6 and C12.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "C5", variant: "two sessions", run: two_bots_two_sessions },
    Attempt { row: "C5", variant: "two memories", run: two_bots_two_memories },
    Attempt { row: "C6", variant: "a direct message", run: a_direct_message_to_the_second },
    Attempt { row: "C6", variant: "a group, and a reply there", run: in_a_group_of_both },
    Attempt { row: "C12", variant: "somebody whom A lets in", run: to_somebody },
    Attempt { row: "C12", variant: "the admin of A", run: to_the_admin_of_another },
    Attempt { row: "C12", variant: "somebody nobody knows", run: to_somebody_new },
];
