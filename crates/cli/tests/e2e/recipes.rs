//! Three recipes of the documentation, run as they are written there: the pages are read, and only
//! where the model and the platform are is added.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets and fail by panicking"
)]

use crate::gateway::telegram::{ADA, Platform};
use crate::support::*;
use insula_testkit::Home;
use insula_testkit::model::{calls, says, shown_apart};
use insula_testkit::telegram::{Draft, User, Where};
use insula_testkit::upstream::{Seen, Step, Upstream};
use insula_world::World;
use tokio::runtime::Runtime;

/// The first configuration on a page.
fn recipe(page: &str) -> String {
    let block = page.split("```yaml\n").nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

/// A model that answers by this, and what has it run.
fn model(script: fn(&Seen, usize) -> Vec<Step>) -> (Runtime, Upstream) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let world = World::real().unwrap();
    let upstream = runtime.block_on(Upstream::start(&world, script)).unwrap();
    (runtime, upstream)
}

/// A home with a recipe, and where the model is.
fn home_of(recipe: &str, upstream: &Upstream) -> Home {
    configured(&insula_testkit::model::configured(upstream, "model", recipe))
}

/// The system's words, the last role, and what was said last.
fn heard(seen: &Seen) -> (String, String, String) {
    let body = seen.json();
    let system = body["messages"][0]["content"].to_string();
    let (role, last) = shown_apart(seen).last().cloned().unwrap_or_default();
    (system, role, last)
}

#[test]
fn a_morning_report_comes_by_the_clock_into_a_chat() {
    fn reporter(seen: &Seen, _: usize) -> Vec<Step> {
        says(&format!("Report of: {}", heard(seen).2))
    }
    let (_runtime, upstream) = model(reporter);
    let platform = Platform::start();
    let page = include_str!("../../../../docs/schedules.md");
    let block = page.split("## Recipe: a morning report").nth(1).unwrap();
    // It stands indented under its step.
    let block: Vec<&str> = block
        .split("```yaml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap()
        .lines()
        .map(|line| line.strip_prefix("   ").unwrap_or(line))
        .collect();
    let block = block.join("\n");
    assert!(block.contains("every weekday at 7:45"), "{block}");
    // What the page fetches lies on somebody else's machine.
    let block = block.replace("curl -s https://example.org/status.txt", "echo all is well");
    let channels = format!(
        "channels: {{telegram: {{accounts: {{main: {{token: '{ADA}', base_url: '{}'}}}}}}}}\n",
        platform.telegram.url()
    );
    let home = home_of(&format!("{block}\n{channels}"), &upstream);
    insula(&home, &["check"]).ok();
    // A bot may write to people only once they wrote to it.
    let reader = User::new(12345, "Ann");
    platform.telegram.say(Where::Dm(ADA), &Draft::new(&reader, "/start"));
    let _daemon = start(&home);
    let told = json(&home, &["cron", "show", "main", "report"]);
    assert_eq!(told["next"].as_array().unwrap().len(), 5, "{told}");
    json(&home, &["cron", "run", "main", "report"]);
    let sent = platform.until(|sent| sent.text.contains("all is well"));
    assert_eq!((sent.chat, sent.text.starts_with("Report of")), (12345, true), "{sent:?}");
    let runs = eventually("the run is over", || {
        let runs = json(&home, &["cron", "history", "main", "report"]);
        (runs[0]["outcome"] == "done").then_some(runs)
    });
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs}");
}

#[test]
fn a_research_card_is_split_looked_up_reviewed_and_put_together_by_three_agents() {
    fn three(seen: &Seen, _: usize) -> Vec<Step> {
        let (system, role, _) = heard(seen);
        let all = seen.json()["messages"].to_string();
        let results = shown_apart(seen).iter().filter(|(role, _)| role == "tool").count();
        let part = |number: usize| {
            let arguments = format!(
                r#"{{"title":"Part {number}","body":"Look it up","assignee":"scout","reviewer":"critic"}}"#
            );
            calls(&format!("c{number}"), "kanban_create", &arguments)
        };
        if system.contains("You break questions") {
            return match results {
                _ if all.contains("found it") => match role == "tool" {
                    true => says("done"),
                    false => calls("z", "kanban_complete", r#"{"result":"The summary"}"#),
                },
                0..2 => part(results),
                2 => calls(
                    "b",
                    "kanban_block",
                    r#"{"kind":"dependency","reason":"waits for its parts"}"#,
                ),
                _ => says("done"),
            };
        }
        let call = if system.contains("You check answers") {
            ("kanban_complete", r#"{"result":"right"}"#)
        } else {
            ("kanban_complete", r#"{"result":"found it"}"#)
        };
        match role == "tool" {
            true => says("done"),
            false => calls("w", call.0, call.1),
        }
    }
    let (_runtime, upstream) = model(three);
    let home =
        home_of(&recipe(include_str!("../../../../docs/recipes/research-board.md")), &upstream);
    insula(&home, &["check"]).ok();
    let _daemon = start(&home);
    let words = "Split this into at most three cards for scout, each with reviewer critic.";
    let question = "Which static site generators can be self-hosted?";
    json(&home, &["board", "add", "research", question, words, "--assignee", "lead"]);
    let whole = eventually("the question is answered", || {
        let card = json(&home, &["board", "show", "research", "1"]);
        (card["status"] == "done").then_some(card)
    });
    assert_eq!(whole["result"], "The summary", "{whole}");
    for part in ["2", "3"] {
        let card = json(&home, &["board", "show", "research", part]);
        assert_eq!(
            (&card["status"], &card["result"]),
            (&"done".into(), &"found it".into()),
            "{card}"
        );
        let who: Vec<String> = card["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["worker"].as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(who, ["agent:scout", "agent:critic"], "{card}");
    }
}

#[test]
fn a_support_agent_hands_over_to_a_coder_who_asks_a_reader_and_hands_back() {
    fn desk(seen: &Seen, _: usize) -> Vec<Step> {
        let (system, role, last) = heard(seen);
        if system.contains("You answer from the manual") {
            return says("page 7 says restart it");
        }
        if system.contains("You find and fix faults") {
            return match (role.as_str(), last.contains("page 7")) {
                ("tool", true) => says("The manual says: restart it"),
                ("tool", false) => says(&last),
                _ => calls("c1", "message_agent", r#"{"agent":"reader","message":"What now?"}"#),
            };
        }
        match role.as_str() {
            "tool" => says("I hand you over."),
            _ => calls("c2", "handoff", r#"{"agent":"coder","summary":"the build fails"}"#),
        }
    }
    let (_runtime, upstream) = model(desk);
    let platform = Platform::start();
    let page = recipe(include_str!("../../../../docs/recipes/support-and-coder.md"));
    let account = format!("main: {{base_url: '{}', token: ", platform.telegram.url());
    let home = home_of(&page.replace("main: {token: ", &account), &upstream);
    insula_testkit::run_with_input(
        INSULA,
        home.path(),
        &["secret", "set", "--daemon", "TELEGRAM_MAIN"],
        format!("{ADA}\n"),
    )
    .ok();
    insula(&home, &["check"]).ok();
    let _daemon = start(&home);
    let may = json(&home, &["explain", "support", "handoff", "coder", "--as", "telegram:42"]);
    assert_eq!(may["allowed"], "yes", "{may}");
    platform.say(Where::Dm(ADA), "My build fails");
    platform.until(|sent| sent.text.contains("Coder answers here from now on"));
    platform.say(Where::Dm(ADA), "What should I do?");
    platform.until(|sent| sent.text.contains("The manual says: restart it"));
    let asked = json(&home, &["turns", "list", "reader"]);
    assert!(asked.to_string().contains("agent:coder"), "{asked}");
    platform.say(Where::Dm(ADA), "/back");
    platform.until(|sent| sent.text.contains("Support"));
}
