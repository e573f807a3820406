//! B1 and B2: what is said in one place is not known in another.

use super::scene::{
    ADA, BOB, FORUM, GARDEN, KITCHEN, TENANTS, ann, ben, carried, look_for, remember,
};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::puppet::{Act, Call, Script};
use crate::{control, hold};
use insula_testkit::telegram::{User, Where};
use serde_json::json;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt {
        row: "B1",
        variant: "from a direct message into a group, by memory and history",
        run: dm_to_group,
    },
    Attempt { row: "B1", variant: "from a group into a direct message", run: group_to_dm },
    Attempt { row: "B1", variant: "after a compression, by the summary", run: summary },
    Attempt { row: "B1", variant: "by a child that is handed the question", run: child },
    Attempt { row: "B1", variant: "by the ids of sessions and messages", run: by_ids },
    Attempt { row: "B2", variant: "two topics of one forum", run: topics },
    Attempt { row: "B2", variant: "a topic and the general one", run: general },
    Attempt { row: "B2", variant: "two groups", run: groups },
    Attempt { row: "B2", variant: "two people with a memory each, in one group", run: users },
    Attempt { row: "B2", variant: "two bots and one person", run: accounts },
    Attempt { row: "B2", variant: "two tokens with a session of one name", run: tokens },
];

fn apart(ground: &Ground, from: (Where<'_>, &User), to: (Where<'_>, &User), word: &str) -> Outcome {
    let canary = ground.canary(word);
    let (other, own) = carried(ground, from, to, word, &canary.text)?;
    control!(
        canary.found_in(&own).is_some(),
        "it is not found where it was said: {}",
        String::from_utf8_lossy(&own)
    );
    let form = canary.found_in(&other);
    hold!(form.is_none(), "it is in the other place's prompt, {form:?}");
    Ok(Verdict::Held)
}

fn dm_to_group(ground: &Ground) -> Outcome {
    apart(ground, (Where::Dm(ADA), &ann()), (Where::Chat(KITCHEN), &ann()), "salary")
}

fn group_to_dm(ground: &Ground) -> Outcome {
    apart(ground, (Where::Chat(KITCHEN), &ann()), (Where::Dm(ADA), &ben()), "recipe")
}

fn summary(ground: &Ground) -> Outcome {
    let canary = ground.canary("a long conversation");
    let fact = format!("the winter code is {}", canary.text);
    ground.turn_saying("m", "long", &fact, Script::say("noted"))?;
    // More than a window: the summary is made of what was said first.
    let before = ground.puppets.summaries();
    let filler = "and so the talk went on about nothing in particular ".repeat(700);
    for number in 0..8 {
        let words = format!("{number} {filler}");
        let turn = ground.turn_saying("m", "long", &words, Script::say("yes"))?;
        control!(turn.answer.status == 200, "it was not answered: {:?}", turn.answer);
    }
    let compressed = ground.puppets.summaries() > before;
    let own = ground.turn_saying("m", "long", "what is the winter code", look_for("winter"))?;
    control!(compressed, "no summary was ever asked for");
    control!(canary.found_in(&own.prompts()).is_some(), "it is not known where it was said");
    let other = ground.turn_saying("m", "short", "what is the winter code", look_for("winter"))?;
    hold!(canary.found_in(&other.prompts()).is_none(), "it is in another conversation's prompt");
    Ok(Verdict::Held)
}

fn child(ground: &Ground) -> Outcome {
    let canary = ground.canary("a dm before a child");
    let fact = format!("the alibi is {}", canary.text);
    ground.tell(
        Where::Dm(ADA),
        &ann(),
        &fact,
        Script::steps(vec![Act::Call(vec![remember(&fact)])]),
    )?;
    let work = ground.puppets.learn(look_for("alibi"));
    let hand = Script::steps(vec![Act::Call(vec![Call::new(
        "delegate_task",
        json!({ "goal": format!("find the alibi {work}") }),
    )])]);
    let turn = ground.tell(Where::Chat(KITCHEN), &ben(), "find it", hand)?;
    let child = ground.so_far(&work);
    control!(!child.requests.is_empty(), "no child was asked: {}", turn.told());
    hold!(canary.found_in(&child.prompts()).is_none(), "the child was shown it");
    hold!(canary.found_in(&turn.prompts()).is_none(), "the group was shown it");
    Ok(Verdict::Held)
}

fn by_ids(ground: &Ground) -> Outcome {
    let canary = ground.canary("a dm by number");
    ground.tell(
        Where::Dm(ADA),
        &ann(),
        &format!("the number is {}", canary.text),
        Script::say("noted"),
    )?;
    let around = |session: i64, message: i64| {
        Call::new(
            "session_search",
            json!({ "session_id": session, "around_message_id": message, "window": 50 }),
        )
    };
    let calls =
        (1..30).flat_map(|session| [1, 3].map(|message| around(session, message))).collect();
    let turn = ground.tell(
        Where::Chat(KITCHEN),
        &ben(),
        "numbers",
        Script::steps(vec![Act::Call(calls)]),
    )?;
    control!(turn.results.len() > 50, "not all was asked");
    hold!(
        canary.found_in(&turn.prompts()).is_none(),
        "a group reads a direct message by its number"
    );
    Ok(Verdict::Held)
}

fn topics(ground: &Ground) -> Outcome {
    let telegram = ground.telegram()?;
    let (red, green) = (telegram.topic(FORUM, "red"), telegram.topic(FORUM, "green"));
    apart(
        ground,
        (Where::Topic(FORUM, red), &ann()),
        (Where::Topic(FORUM, green), &ann()),
        "crimson",
    )
}

fn general(ground: &Ground) -> Outcome {
    let topic = ground.telegram()?.topic(FORUM, "blue");
    apart(ground, (Where::Topic(FORUM, topic), &ann()), (Where::Chat(FORUM), &ann()), "azure")
}

fn groups(ground: &Ground) -> Outcome {
    apart(ground, (Where::Chat(KITCHEN), &ann()), (Where::Chat(GARDEN), &ann()), "kettle")
}

fn users(ground: &Ground) -> Outcome {
    apart(ground, (Where::Chat(TENANTS), &ann()), (Where::Chat(TENANTS), &ben()), "rent")
}

fn accounts(ground: &Ground) -> Outcome {
    apart(ground, (Where::Dm(ADA), &ann()), (Where::Dm(BOB), &ann()), "diary")
}

fn tokens(ground: &Ground) -> Outcome {
    let canary = ground.canary("one token's session");
    let fact = format!("the ledger is {}", canary.text);
    let (one, other) = (ground.mint("m", &["chat"])?, ground.mint("m", &["chat"])?);
    let script = Script::steps(vec![Act::Call(vec![remember(&fact)])]);
    ground.turn_with(&one.text, "m", "books", &fact, script)?;
    let own = ground.turn_with(&one.text, "m", "books", "the ledger", look_for("ledger"))?;
    control!(canary.found_in(own.told().as_bytes()).is_some(), "it is not found where it was said");
    let turn = ground.turn_with(&other.text, "m", "books", "the ledger", look_for("ledger"))?;
    hold!(canary.found_in(&turn.prompts()).is_none(), "another token's session shows it");
    Ok(Verdict::Held)
}
