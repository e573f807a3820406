//! At the terminal: a reply that a kill cut off is said to be, and begins anew with the next
//! daemon, in the same conversation.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use super::model::SlowModel;
use crate::support::*;
use crate::terminal::Person;
use insula_testkit::Home;

const CUT_OFF: &str = "that was cut off; the reply begins anew";

fn served(model: &SlowModel) -> Home {
    configured(&format!(
        "model: slow/slow\nproviders: {{slow: {{kind: openai, base_url: '{}'}}}}\n\
         agents: {{main: {{default: true}}}}\n",
        model.url()
    ))
}

#[test]
fn rule_11_a_reply_that_a_kill_cut_off_is_marked_at_the_terminal_and_comes_whole() {
    let model = SlowModel::start();
    let home = served(&model);
    let mut daemon = start_still(&home);
    let mut person = Person::runs(&home, &[], &["chat"]);
    person.waits_for_prompt("main");
    person.types("<one>\r");
    for kill in 1..=3 {
        person.waits_for("words of the next answer", |seen| {
            seen.contains(&format!("<one> answer {kill}: w0"))
        });
        daemon.kill9().unwrap();
        daemon = start_still(&home);
        person.waits_for("the mark", |seen| seen.matches(CUT_OFF).count() == kill);
    }
    person.waits_for_prompt("main");
    let seen = person.sees();
    assert_eq!((seen.matches(" whole").count(), seen.matches(CUT_OFF).count()), (1, 3), "{seen}");
    // The conversation goes on, with the daemon that runs now.
    person.types("<two>\r");
    person.waits_for("the next answer", |seen| seen.matches(" whole").count() == 2);
    person.waits_for_prompt("main");
    person.types("/sessions\r");
    person.waits_for_text("goes on in one of them");
    // What was said is there once.
    let list = json(&home, &["sessions", "list", "main"]);
    assert_eq!((list.as_array().unwrap().len(), &list[0]["messages"]), (1, &4.into()), "{list:#}");
}

#[test]
fn a_pipe_gets_the_reply_of_a_turn_that_a_kill_cut_off_whole_and_once() {
    let model = SlowModel::start();
    let home = served(&model);
    let daemon = start_still(&home);
    let said = std::thread::scope(|scope| {
        let said = scope.spawn(|| insula(&home, &["chat", "-m", "<one>"]).ok().stdout);
        eventually("the model is asked", || {
            let usage = json(&home, &["status"]);
            (model.asked() == 1).then_some(usage)
        });
        daemon.kill9().unwrap();
        let next = start_still(&home);
        let said = said.join().unwrap();
        drop(next);
        said
    });
    assert!(said.starts_with("<one> answer 2:") && said.trim_end().ends_with(" whole"), "{said}");
}
