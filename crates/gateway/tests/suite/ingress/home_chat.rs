//! The home chat of an agent: who sets it, what it hears, and what it never hears.

use crate::ingress::support::{again, dm, echo, group, open_fixture, process, with};
use insula_domain::{AccountId, AgentId, Platform};
use insula_registry::Actor;
use insula_testkit::upstream::Step;

const CONFIG: &str = "agents:\n  a: {name: Alpha, access: {allow: ['telegram:1', 'telegram:2'], admins: ['telegram:2']}, group: {respond: all}}\n  b: {name: Beta, access: {allow: ['telegram:3'], admins: ['telegram:3']}, group: {respond: all}}\nbindings:\n  - {agent: a, telegram: {chat: '-100'}}\n  - {agent: a, telegram: {chat: '1'}}\n  - {agent: a, telegram: {chat: '2'}}\n  - {agent: b, telegram: {chat: '-200'}}\n";

fn a() -> AgentId {
    AgentId::new("a").unwrap()
}

fn main_is_down(fixture: &crate::ingress::support::Fixture) {
    let key = (Platform::new("telegram").unwrap(), AccountId::new("main").unwrap());
    fixture.daemon.front().account_became((key.0, &key.1), Err("it is gone"));
}

fn main_is_back(fixture: &crate::ingress::support::Fixture) {
    let key = (Platform::new("telegram").unwrap(), AccountId::new("main").unwrap());
    fixture.daemon.front().account_became((key.0, &key.1), Ok(()));
}

#[tokio::test]
async fn a_home_hears_once_that_a_budget_is_nearly_used() {
    let config =
        CONFIG.replace("a: {name: Alpha,", "a: {name: Alpha, budget: {tokens_per_day: 9000},");
    let fixture = open_fixture(&config).await;
    fixture.ask(&group("-100", "2"), "/sethome").await;
    let near = |chat: &str| {
        let posts = fixture.posted();
        posts.iter().filter(|it| it.1 == chat && it.2.contains("nearly nothing left")).count()
    };
    for _ in 0..40 {
        fixture.ask(&dm("1"), "hello").await;
        fixture.daemon.told().await;
        if fixture.posted().last().is_some_and(|it| it.2.contains("used up")) {
            break;
        }
    }
    assert_eq!((near("-100"), near("1")), (1, 0), "{:?}", fixture.posted());
}

#[tokio::test]
async fn an_admin_makes_a_chat_the_home_and_it_hears_what_becomes_of_the_agent() {
    let fixture = open_fixture(CONFIG).await;
    let told = fixture.ask(&group("-100", "1"), "/sethome").await;
    assert_eq!(told, "only an admin may use /sethome", "as every command of admins");
    assert!(!fixture.ask(&dm("1"), "/help").await.contains("/sethome"));
    fixture.daemon.pause(&a(), &Actor::CommandLine).await.unwrap();
    fixture.daemon.resume(&a(), &Actor::CommandLine).await.unwrap();
    fixture.daemon.told().await;
    let told = fixture.ask(&group("-100", "2"), "/sethome").await;
    assert!(told.starts_with("this is my home chat now"), "{told}");
    let before = fixture.posted().len();
    assert_eq!(before, 3, "nothing was told before there was a home: {:?}", fixture.posted());
    fixture.daemon.pause(&a(), &Actor::CommandLine).await.unwrap();
    fixture.posts(before + 1).await;
    fixture.daemon.resume(&a(), &Actor::CommandLine).await.unwrap();
    fixture.posts(before + 2).await;
    main_is_down(&fixture);
    let posts = fixture.posts(before + 3).await;
    let told: Vec<(&str, &str)> =
        posts[before..].iter().map(|(_, chat, text)| (chat.as_str(), text.as_str())).collect();
    let by = Actor::CommandLine;
    assert_eq!(
        told,
        [
            ("-100", &*format!("Alpha was paused: by {by}")),
            ("-100", &*format!("Alpha serves again: by {by}")),
            ("-100", "Alpha: account telegram:main is not connected: it is gone"),
        ]
    );
    let told = fixture.ask(&group("-100", "2"), "/sethome off").await;
    assert!(told.starts_with("I have no home chat any more"), "{told}");
    let before = fixture.posted().len();
    fixture.daemon.pause(&a(), &Actor::CommandLine).await.unwrap();
    fixture.daemon.told().await;
    assert_eq!(fixture.posted().len(), before);
}

#[tokio::test]
async fn rule_09_a_home_hears_of_its_own_agent_alone() {
    let fixture = open_fixture(CONFIG).await;
    fixture.ask(&group("-100", "2"), "/sethome").await;
    fixture.ask(&group("-200", "3"), "/sethome").await;
    let before = fixture.posted().len();
    fixture.daemon.pause(&AgentId::new("b").unwrap(), &Actor::CommandLine).await.unwrap();
    let posts = fixture.posts(before + 1).await;
    fixture.daemon.told().await;
    assert_eq!(fixture.posted().len(), before + 1);
    assert_eq!(posts[before].1, "-200");
}

#[tokio::test]
async fn a_chat_that_was_given_to_another_agent_hears_nothing_and_the_doctor_says_so() {
    let fixture = open_fixture(CONFIG).await;
    fixture.ask(&group("-100", "2"), "/sethome").await;
    let before = fixture.posted().len();
    let given = |text: &str| {
        text.replace("{agent: a, telegram: {chat: '-100'}}", "{agent: b, telegram: {chat: '-100'}}")
    };
    fixture.reconfigure(given).await;
    fixture.daemon.pause(&a(), &Actor::CommandLine).await.unwrap();
    fixture.daemon.told().await;
    assert_eq!(fixture.posted().len(), before, "{:?}", fixture.posted());
    let found = insula_capabilities::doctor::examine(fixture.engine.capabilities()).await;
    let found = found.iter().find(|it| it.name == "home chats").unwrap();
    assert!(found.detail.contains("a: telegram:main group -100"), "{}", found.detail);
}

#[test]
fn a_home_survives_a_restart_and_goes_with_its_agent() {
    let files = process().block_on(async {
        let fixture = open_fixture(CONFIG).await;
        fixture.ask(&group("-100", "2"), "/sethome").await;
        fixture.daemon.close().await.unwrap();
        fixture.into_files()
    });
    process().block_on(async {
        let fixture = again(files, CONFIG, insula_tools::BUILT_IN, echo).await;
        assert!(fixture.daemon.front().home_of(&a()).is_some());
        main_is_down(&fixture);
        let posts = fixture.posts(1).await;
        assert!(posts.iter().all(|it| it.1 == "-100"), "{posts:?}");
        let before = fixture.posted().len();
        fixture.daemon.delete(&a(), &Actor::CommandLine).await.unwrap();
        let posts = fixture.posts(before + 1).await;
        assert!(posts[before].2.starts_with("Alpha was deleted"), "{posts:?}");
        assert_eq!(fixture.daemon.front().home_of(&a()), None);
    });
}

#[tokio::test]
async fn an_account_that_comes_and_goes_does_not_fill_the_chat() {
    let fixture = open_fixture(CONFIG).await;
    fixture.ask(&group("-100", "2"), "/sethome").await;
    // What goes on is said once.
    for _ in 0..100 {
        main_is_down(&fixture);
        fixture.daemon.told().await;
    }
    assert_eq!(fixture.posts(2).await.len(), 2, "the command's answer, and one line");
    // What comes and goes is said each time, up to a limit.
    for _ in 0..100 {
        main_is_back(&fixture);
        fixture.daemon.told().await;
        main_is_down(&fixture);
        fixture.daemon.told().await;
    }
    let posts = fixture.posts(31).await;
    assert_eq!(posts.len(), 31, "thirty an hour");
    assert!(posts[30].2.contains("the rest is in my log"), "{:?}", posts[30]);
}

#[tokio::test]
async fn a_turn_that_a_restart_ends_says_so_and_what_waited_is_answered() {
    let fixture = with(CONFIG, insula_tools::BUILT_IN, |seen, at| match at {
        0 => vec![Step::Hang],
        at => echo(seen, at),
    })
    .await;
    fixture.say(&dm("1"), "one").await;
    while fixture.asked() == 0 {
        tokio::task::yield_now().await;
    }
    fixture.say(&dm("1"), "two").await;
    let generation = fixture.agent("a").generation;
    let done = fixture.engine.restart(&a(), &Actor::CommandLine).await.unwrap();
    assert_eq!(done.ended, 1);
    let posts = fixture.posts(2).await;
    assert!(posts[0].2.starts_with("Stopped before I had an answer: I was restarted"), "{posts:?}");
    assert!(posts[1].2.starts_with("heard: ") && posts[1].2.contains("two"), "{posts:?}");
    assert!(fixture.agent("a").generation > generation);
    assert_eq!(fixture.agent("b").generation.0, 1, "nobody else is another");
}

/// Quiet hours around now, in UTC.
fn quiet_now(fixture: &crate::ingress::support::Fixture) -> String {
    let hour = fixture.daemon.world().clock.now().as_millis() / 3_600_000 % 24;
    format!("{:02}:00-{:02}:00", hour, (hour + 2) % 24)
}

#[tokio::test]
async fn a_home_hears_after_its_quiet_hours_what_happened_in_them() {
    let fixture = open_fixture(CONFIG).await;
    fixture.ask(&group("-100", "2"), "/sethome").await;
    let hours = quiet_now(&fixture);
    let config = format!("a: {{name: Alpha, notices: {{quiet: '{hours}'}},");
    fixture.reconfigure(|text| text.replace("a: {name: Alpha,", &config)).await;
    fixture.daemon.told().await;
    let before = fixture.posted().len();
    main_is_down(&fixture);
    fixture.daemon.told().await;
    main_is_back(&fixture);
    fixture.daemon.told().await;
    assert_eq!(fixture.posted().len(), before, "{:?}", fixture.posted());
    // Another agent's home has its own hours, here none.
    fixture.ask(&group("-200", "3"), "/sethome").await;
    main_is_down(&fixture);
    fixture.daemon.told().await;
    let posts = fixture.posts(before + 2).await;
    assert_eq!(posts.last().unwrap().1, "-200", "{posts:?}");
    fixture.handles.clock.advance(std::time::Duration::from_secs(2 * 3_600)).await;
    let posts = fixture.posts(before + 3).await;
    let (_, chat, text) = &posts[before + 2];
    assert_eq!(chat, "-100");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "While it was quiet:");
    assert!(
        lines[lines.len() - 3..].iter().all(|it| it.contains("account telegram:main is")),
        "{text}"
    );
    // It is told once, and what happens from now on at once.
    main_is_back(&fixture);
    fixture.daemon.told().await;
    let posts = fixture.posts(before + 5).await;
    let again = posts.iter().filter(|it| it.2.starts_with("While it was quiet")).count();
    assert_eq!(again, 1, "{posts:?}");
}
