//! `insula channels`: an account is written where `check` takes it, its secrets stand in no file,
//! and what is said of it is what the daemon says.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::places::Place as _;
use crate::places::discord::Discord;
use crate::places::mattermost::Mattermost;
use crate::support::*;
use insula_testkit::{Home, Output, run_bare, run_with_input};
use serde_json::Value;
use std::fs;

const AGENT: &str = "agents:\n  a: {default: true}\n";
/// Of the bot that `Discord::start` has.
const TOKEN: &str = "secret.bot.token";

fn config(home: &Home) -> String {
    fs::read_to_string(home.path().join("config.yaml")).unwrap()
}

/// Runs `insula channels add …` with a token in the variable `T`.
fn add(home: &Home, token: &str, args: &[&str]) -> Output {
    let path = home.path().display().to_string();
    let command = ["channels", "add", "--home", &path];
    run_bare(INSULA, &[("T", token)], &[&command[..], args].concat())
}

fn keep(home: &Home, name: &str, value: &str) {
    run_with_input(INSULA, home.path(), &["secret", "set", "--daemon", name], value).ok();
}

/// What `doctor` says of an account.
fn examined(home: &Home, account: &str) -> (String, String) {
    let told = insula(home, &["doctor", "--json"]).json();
    let name = format!("account {account}");
    let found = told.as_array().unwrap().iter().find(|it| it["name"] == *name).unwrap();
    let said = |key: &str| found[key].as_str().unwrap().to_owned();
    (said("status"), said("detail"))
}

#[test]
fn one_bot_under_two_names_is_one_account_and_an_account_that_is_off() {
    let discord = Discord::start();
    let url = discord.url();
    let account = |secret: &str| format!("{{token: \"${{secret:{secret}}}\", base_url: '{url}'}}");
    let home = configured(&format!(
        "{AGENT}channels:\n  discord:\n    accounts:\n      a: {}\n      b: {}\n",
        account("A"),
        account("B")
    ));
    keep(&home, "A", TOKEN);
    keep(&home, "B", TOKEN);
    // Without a daemon: by who they are.
    assert_eq!(examined(&home, "discord.a").0, "notice", "it is on no server");
    let (status, detail) = examined(&home, "discord.b");
    assert_eq!(status, "bad");
    assert!(detail.starts_with("off: we are @ada") && detail.contains("`discord.a`"), "{detail}");
    assert_eq!(insula(&home, &["channels", "test"]).code, Some(1));
    // With one: by its word.
    let _daemon = start(&home);
    let listed = eventually("the first is connected", || {
        let listed = json(&home, &["channels", "list"])["accounts"].clone();
        (listed[0]["state"] == "connected").then_some(listed)
    });
    assert_eq!(listed[1]["state"], "off", "{listed}");
    assert_eq!(examined(&home, "discord.a").0, "notice");
    let (status, detail) = examined(&home, "discord.b");
    assert_eq!(status, "bad");
    assert!(detail.starts_with("off: its token is that of `discord.a`"), "{detail}");
    let tested = insula(&home, &["channels", "test", "discord"]);
    assert_eq!(tested.code, Some(1), "{tested:?}");
    assert!(tested.stdout.contains("off: its token"), "{}", tested.stdout);
    let text = insula(&home, &["channels", "list"]).ok().stdout;
    assert!(text.contains("connected") && text.contains("its token is that of"), "{text}");
    // A third one is written, and is told to be off.
    let base_url = format!("base_url={url}");
    let args = ["discord", "--account", "three", "--yes", "--token-env", "T", "--set", &base_url];
    let added = add(&home, TOKEN, &args);
    assert_eq!(added.code, Some(1), "{added:?}");
    for said in ["off: ", "discord.a", "the account is kept as it is", "DISCORD_THREE"] {
        assert!(added.stdout.contains(said), "{said}: {}", added.stdout);
    }
}

#[test]
fn a_server_is_the_same_with_a_stroke_at_its_end() {
    let mattermost = Mattermost::start();
    let url = mattermost.url();
    let account = |base_url: &str| format!("{{token: \"${{secret:A}}\", base_url: '{base_url}'}}");
    let (a, b) = (account(&url), account(&format!("{url}/")));
    let home = configured(&format!(
        "{AGENT}channels:\n  mattermost:\n    accounts:\n      a: {a}\n      b: {b}\n"
    ));
    keep(&home, "A", "secretbottoken");
    assert_eq!(examined(&home, "mattermost.a").0, "notice");
    let (status, detail) = examined(&home, "mattermost.b");
    let is_told = detail.contains("`mattermost.b` has the token of `mattermost.a`");
    assert!(status == "bad" && is_told, "{detail}");
}

#[test]
fn a_token_that_is_refused_is_told_with_what_to_do() {
    let discord = Discord::start();
    let home = configured(AGENT);
    let base_url = format!("base_url={}", discord.url());
    let args = ["discord", "--yes", "--token-env", "T", "--set", &base_url];
    let refused = add(&home, "another.bot.token", &args);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    for said in [
        "account discord.main: refused: ",
        "`insula secret set --daemon DISCORD_MAIN` takes another one",
        "take `main` out of `channels.discord.accounts`",
    ] {
        assert!(refused.stdout.contains(said), "{said}: {}", refused.stdout);
    }
    // As it says.
    keep(&home, "DISCORD_MAIN", TOKEN);
    insula(&home, &["channels", "test", "discord"]).ok();
    // One whose secret is still to come is not refused.
    let waits = add(&home, "", &["telegram", "--yes"]).ok();
    assert!(waits.stdout.contains("its token is missing"), "{}", waits.stdout);
}

#[test]
fn what_check_would_refuse_is_neither_written_nor_shown_as_good() {
    let home = configured(AGENT);
    let whatsapp = ["whatsapp", "--set", "phone_number_id=1", "--set", "verify_token=x"];
    let open = [&whatsapp[..], &["--set", "public_url=http://x.example"]].concat();
    for (args, why) in [
        (&["slack", "--token-env", "T"][..], "mode `socket` needs `app_token`"),
        (&["slack", "--token-env", "T", "--set", "mode=webhook"], "needs `secret`"),
        (&["signal", "--set", "number=0151"], "country"),
        (&["discord", "--token-env", "T", "--set", "mode=webhook"], "takes no `mode`"),
        (&["matrix", "--token-env", "T", "--set", "homeserver=x"], "homeserver"),
        (&["telegram", "--token-env", "T", "--set", "mode=webhook"], "`public_url`"),
        (&["signal", "--token-env", "T", "--set", "number=+4915112345678"], "has no token"),
        (&["webhook", "--set", "secret=short"], "shorter"),
        (&["telegram", "--set", "token=x y"], "no bot token"),
        (&open, "has to begin with `https://`"),
    ] {
        for last in ["--yes", "--dry-run"] {
            let refused = add(&home, "xoxb-1", &[args, &["--no-test", last]].concat());
            assert_eq!(refused.code, Some(2), "{args:?} {last}: {refused:?}");
            assert!(refused.stderr.contains(why), "{args:?}: {}", refused.stderr);
        }
    }
    assert_eq!(config(&home), AGENT);
    assert_eq!(json(&home, &["secret", "list", "--daemon"]), serde_json::json!([]));
}

#[test]
fn secrets_that_are_given_are_kept_sealed_and_the_platform_is_told_all() {
    let home = configured(AGENT);
    let slack = ["slack", "--yes", "--no-test", "--token-env", "T", "--set", "app_token=xapp-9"];
    let added = add(&home, "xoxb-1", &slack).ok();
    assert!(!config(&home).contains("xapp-9"), "{}", config(&home));
    assert!(config(&home).contains("app_token: \"${secret:SLACK_MAIN_APP_TOKEN}\""));
    for said in ["users:read", "message.im", "display_information:", "SLACK_MAIN_APP_TOKEN"] {
        assert!(added.stdout.contains(said), "{said}: {}", added.stdout);
    }
    insula(&home, &["check"]).ok();
    let there = ["--account", "shop", "--set", "public_url=https://bots.example.org", "--dry-run"];
    let by_hook = ["slack", "--token-env", "T", "--set", "mode=webhook", "--set", "secret=abc"];
    let shown = add(&home, "xoxb-1", &[&by_hook[..], &there].concat()).ok().stdout;
    let url = "https://bots.example.org/hooks/slack/shop";
    assert_eq!(shown.matches(&format!("url: {url}\n")).count(), 3, "{shown}");
    assert!(shown.contains(&format!("{url} as request URL")), "{shown}");
    let whatsapp =
        ["whatsapp", "--token-env", "T", "--set", "phone_number_id=1", "--set", "verify_token=x"];
    let shown = add(&home, "t", &[&whatsapp[..], &there].concat()).ok().stdout;
    assert!(shown.contains("https://bots.example.org/hooks/whatsapp/shop,"), "{shown}");
}

#[test]
fn an_empty_map_is_filled_and_what_has_to_be_written_by_hand_is_yaml() {
    let home = configured(&format!("channels: {{}}\n{AGENT}"));
    let discord = ["discord", "--yes", "--no-test", "--token-env", "T"];
    add(&home, TOKEN, &discord).ok();
    let entry = "main: {token: \"${secret:DISCORD_MAIN}\"}";
    let lines = format!("channels:\n  discord:\n    accounts:\n      {entry}\n");
    assert_eq!(config(&home), format!("{lines}{AGENT}"));
    let flow = format!("channels: {{web: {{accounts: {{site: {{}}}}}}}}\n{AGENT}");
    let home = configured(&flow);
    let left = add(&home, TOKEN, &discord);
    assert_eq!((left.code, config(&home)), (Some(1), flow), "{left:?}");
    assert!(left.stderr.contains(&lines), "{}", left.stderr);
}

#[test]
fn a_value_of_the_wrong_shape_is_no_missing_one() {
    let home = configured(&format!(
        "{AGENT}channels:\n  discord: {{accounts: {{x: {{token: [1, 2]}}}}}}\n  mattermost: {{accounts: {{x: {{token: \"${{secret:T}}\", base_url: chat.example.org}}}}}}\n"
    ));
    let told = insula(&home, &["check", "--json"]).json();
    let errors: Vec<&Value> = told["errors"].as_array().unwrap().iter().collect();
    assert_eq!(errors.len(), 2, "{errors:#?}");
    assert!(!told.to_string().contains("needs `"), "{told}");
}
