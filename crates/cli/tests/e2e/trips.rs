//! What a new user trips over, from outside: chats that outlive a daemon, names, narrow
//! terminals, rules that tie, and what a check and a route say.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests start processes and fail by panicking"
)]

use crate::standin::{Reply, StandIn};
use crate::support::*;
use crate::terminal::Person;
use insula_testkit::{Home, run_with_input};
use serde_json::json as value;

#[test]
fn an_open_chat_goes_on_after_the_daemon_began_anew() {
    let home = configured("agents: {a: {default: true}}\n");
    let daemon = start_still(&home);
    let mut person = Person::runs(&home, &[], &["chat"]);
    person.waits_for_prompt("a");
    person.types("say the first word\r");
    person.waits_for_text("\nthe first word");
    person.waits_for_prompt("a");
    // The same process number, another token.
    insula(&home, &["restart"]).ok();
    person.types("say the second word\r");
    person.waits_for_text("\nthe second word");
    person.waits_for_prompt("a");
    // Commands find it as well.
    insula(&home, &["restart"]).ok();
    person.types("/agents\r");
    person.waits_for_text("rehearsal/rehearsal");
    person.waits_for_prompt("a");
    drop(daemon);
    // What is said while none runs waits for the next one.
    person.types("say the third word\r");
    person.waits_for_text("the daemon is away");
    let _daemon = start_still(&home);
    person.waits_for_text("\nthe third word");
    person.waits_for_prompt("a");
    let said = json(&home, &["sessions", "list", "a"]);
    assert_eq!(said.as_array().unwrap().len(), 1, "one conversation: {said:#}");
}

#[test]
fn a_question_after_other_words_is_asked_at_the_terminal() {
    let daemon = StandIn::start(|_, mut reply: Reply| {
        reply.stream();
        reply.event("text.delta", value!({ "text": "Let me ask first." }));
        reply.event("tool.call", value!({ "name": "clarify", "about": "" }));
        reply.event("tool.done", value!({ "name": "clarify", "is_error": false }));
        reply.event("turn.ended", value!({ "status": "replied", "text": "Red or blue?" }));
    });
    let mut person = Person::runs(&daemon.home, &[], &["chat"]);
    person.waits_for_prompt("coder");
    person.types("paint it\r");
    person.waits_for_text("Red or blue?");
    person.waits_for_prompt("coder");
}

#[test]
fn an_agent_is_called_by_its_id_or_its_name_and_a_slip_is_understood() {
    let home = configured("agents: {coder: {name: Ada Lovelace}, family: {}}\n");
    let _daemon = start_still(&home);
    let list = insula(&home, &["agents", "list"]).ok().stdout;
    assert!(list.contains("Ada Lovelace"), "{list}");
    let by_id = json(&home, &["tools", "coder"]);
    assert_eq!(json(&home, &["tools", "ada lovelace"]), by_id);
    assert_eq!(json(&home, &["agents", "show", "Ada Lovelace"])["id"], "coder");
    let said = json(&home, &["chat", "--agent", "Ada Lovelace", "-m", "say hello"]);
    assert_eq!((&said["agent"], &said["text"]), (&value!("coder"), &value!("hello")));
    // And wherever agents stand in a list, what they are called stands beside their ids.
    let args = ["cron", "add", "Ada Lovelace", "every day at 9:00", "Look around."];
    insula(&home, &args).ok();
    insula(&home, &["token", "create", "--agent", "Ada Lovelace"]).ok();
    run_with_input(INSULA, home.path(), &["secret", "set", "coder", "KEY"], "for-tests\n").ok();
    for list in [&["cron", "list"][..], &["token", "list"], &["secret", "list"], &["status"]] {
        let shown = insula(&home, list).ok().stdout;
        assert!(shown.contains("coder (Ada Lovelace)"), "{list:?}: {shown}");
        assert!(!json(&home, list).to_string().contains("(Ada"), "{list:?}: programs read ids");
    }
    for command in [
        &["tools", "codr"][..],
        &["agents", "show", "codr"],
        &["sessions", "list", "codr"],
        &["chat", "--agent", "codr", "-m", "hi"],
        &["memory", "list", "codr"],
        &["token", "create", "--agent", "codr"],
        &["agents", "pause", "codr"],
    ] {
        let output = insula(&home, command);
        assert_eq!(output.code, Some(1), "{command:?}: {output:?}");
        assert!(output.stderr.contains("did you mean `coder`?"), "{command:?}: {output:?}");
    }
}

/// The words of a text that stand in none of the lines of a screen.
fn broken<'t>(screen: &str, text: &'t str) -> Vec<&'t str> {
    text.split_whitespace().filter(|word| !screen.contains(word)).collect()
}

#[test]
fn no_word_is_broken_at_80_and_at_40_columns() {
    let home = configured(
        "agents: {coder: {name: Ada Lovelace, description: writes and reviews programs for everybody here}, family: {}}\n",
    );
    let _daemon = start_still(&home);
    for command in [
        &["agents", "list"][..],
        &["agents", "show", "coder"],
        &["status"],
        &["agents", "show", "codr"],
    ] {
        let wide = insula(&home, command);
        // An empty column has no line of its own below each other.
        let words = format!("{}{}", wide.stdout, wide.stderr).replace("REASON", "");
        for columns in [80, 40] {
            let person = Person::runs_at(columns, &home, &[], command);
            let (_, seen) = person.leaves();
            assert_eq!(broken(&seen, &words), [""; 0], "{command:?} at {columns}:\n{seen}");
        }
    }
    let mut person = Person::runs_at(40, &home, &[], &["chat", "--agent", "coder"]);
    person.waits_for_prompt("coder");
    let welcome = "The built-in practice model answers: it follows fixed rules";
    assert_eq!(broken(&person.sees(), welcome), [""; 0], "{}", person.sees());
    person.types("/help\r");
    person.waits_for_text("leaves.");
    let help = "return to the agent that handed this conversation over and what was typed before Ctrl-C stops";
    assert_eq!(broken(&person.sees(), help), [""; 0], "{}", person.sees());
}

#[test]
fn a_state_has_a_colour_at_a_terminal_and_none_without() {
    let home = configured("agents: {a: {}, b: {}}\n");
    let _daemon = start_still(&home);
    insula(&home, &["agents", "pause", "b"]).ok();
    let mut person = Person::runs(&home, &[], &["agents", "list"]);
    person.waits_for_text("paused");
    let raw = person.raw.clone();
    let coloured =
        |word: &str| raw.split(word).next().is_some_and(|before| before.trim_end().ends_with('m'));
    assert!(coloured("ready") && coloured("paused"), "{raw:?}");
    let mut person = Person::runs(&home, &[("NO_COLOR", "1")], &["agents", "list"]);
    person.waits_for_text("paused");
    assert!(!person.raw.contains("\x1b[3"), "{:?}", person.raw);
    assert!(!insula(&home, &["agents", "list"]).ok().stdout.contains('\x1b'));
}

const TIED: &str = "agents:
  a: {access: {allow: ['telegram:1']}}
  b: {access: {allow: ['telegram:1']}}
bindings:
  - {agent: a, telegram: '-100'}
  - {agent: b, telegram: '-100'}
  - {agent: a, telegram: '-200'}
  - {agent: b, telegram: '*'}
";

fn route(home: &Home, chat: &str, user: &str) -> serde_json::Value {
    json(home, &["route", "explain", "--platform", "telegram", "--chat", chat, "--user", user])
}

#[test]
fn two_bindings_that_tie_refuse_and_everything_else_serves() {
    let home = configured(TIED);
    let checked = insula(&home, &["check"]);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    let told = checked.stdout + &checked.stderr;
    assert!(told.contains("bindings 1 and 2 match the same messages"), "{told}");
    assert!(told.contains("until then both refuse"), "{told}");
    let _daemon = start_still(&home);
    assert_eq!((state(&home, "a"), state(&home, "b")), ("ready".into(), "ready".into()));
    let tied = route(&home, "-100", "1");
    assert!(tied["agent"].is_null(), "nobody, and no wider rule: {tied:#}");
    assert_eq!(tied["refused"], "bindings 1 and 2 match the same messages");
    assert_eq!(route(&home, "-200", "1")["agent"], "a");
    assert_eq!(route(&home, "-300", "1")["agent"], "b");
}

#[test]
fn a_route_says_whether_whoever_speaks_is_heard() {
    let home = configured(TIED);
    let _daemon = start_still(&home);
    let heard = route(&home, "-200", "1");
    assert_eq!(heard["may_talk"], true, "{heard:#}");
    assert_eq!(heard["may_talk_why"], "`access.allow` names them");
    let stranger = route(&home, "-200", "2");
    assert_eq!((&stranger["agent"], &stranger["may_talk"]), (&value!("a"), &value!(false)));
    let words = ["route", "explain", "--platform", "telegram", "--chat", "-200", "--user", "2"];
    let told = insula(&home, &words).ok().stdout;
    assert!(
        told.contains("no, it would not be answered:\n") && told.contains("nothing lets them in"),
        "{told}"
    );
}

#[test]
fn a_budget_in_money_and_a_model_without_a_price_are_told_of() {
    let config = |prices: &str| {
        format!(
            "providers: {{local: {{kind: openai, base_url: 'http://127.0.0.1:9/v1'}}}}\n{prices}agents: {{a: {{model: local/mine, budget: {{usd_per_day: 1}}}}, b: {{model: local/mine}}}}\n"
        )
    };
    let home = configured(&config(""));
    let told = insula(&home, &["check"]).ok().stdout;
    assert!(told.contains("agent `a` has a budget in money"), "{told}");
    assert!(told.contains("local/mine") && !told.contains("agent `b` has"), "{told}");
    let home = configured(&config("prices: {local/mine: {input: 1, output: 2}}\n"));
    let told = insula(&home, &["check"]).ok().stdout;
    assert!(!told.contains("budget in money"), "{told}");
}

#[test]
fn what_a_start_tells_to_type_names_its_home_and_account() {
    let home = configured(
        "agents: {a: {}, b: {}}\nchannels:\n  telegram:\n    accounts:\n      one: {token: '${secret:T}', base_url: 'http://127.0.0.1:9'}\n      two: {token: '${secret:U}', base_url: 'http://127.0.0.1:9'}\n",
    );
    let daemon = start_still(&home);
    let greeting = eventually("a greeting", || {
        assert_eq!(get(&daemon, "/healthz").status, 200);
        Some(daemon.log()).filter(|it| it.contains("Ctrl-C stops"))
    });
    let path = home.path().display().to_string();
    for command in [
        format!("insula --home {path} chat --agent a"),
        format!("insula --home {path} tools a"),
        format!("insula --home {path} route explain --platform telegram --account one"),
    ] {
        assert!(greeting.contains(&command), "{command}: {greeting}");
    }
    // It works as it stands.
    let words = "route explain --platform telegram --account one --chat 1 --user 1";
    insula(&home, &words.split(' ').collect::<Vec<_>>()).ok();
}

#[test]
fn what_programs_see_is_said_once_in_a_conversation() {
    let home = configured("agents: {a: {default: true, tools: coding}}\n");
    let _daemon = start_still(&home);
    let run = |session: &str| {
        let words = ["chat", "--session", session, "-m", "run cat /srv/none"];
        insula(&home, &words).ok().stdout
    };
    let sentence = "programs see the system";
    let (first, second) = (run("one"), run("one"));
    assert!(first.contains(sentence) && first.contains("not granted: `/srv/none`"), "{first}");
    assert!(!second.contains(sentence) && second.contains("not granted: `/srv/none`"), "{second}");
    assert!(run("two").contains(sentence), "another conversation was not told");
}
