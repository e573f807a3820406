//! Ways in that take something away: bindings, accounts and tokens narrow the agents they lead
//! to, for those who come by them and for nobody else, also while a turn runs and after a crash.

use crate::ingress::support::{
    Fixture, From, again, calls, dm, group, open_fixture, process, says, shown, with,
};
use insula_domain::{AgentId, Community, GuildId};
use insula_registry::Actor;
use insula_registry::daemon::NewToken;
use insula_registry::tokens::Verb;
use insula_testkit::upstream::{Seen, Step};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// `TOOL {…}` in the last message is a call.
fn script(seen: &Seen, _: usize) -> Vec<Step> {
    let (role, text) = shown(seen).last().cloned().unwrap_or_default();
    let said = text.rsplit('⟧').next().unwrap_or_default().trim();
    match said.split_once(" {").filter(|_| role != "tool") {
        Some((tool, rest)) => calls("c1", tool, &format!("{{{rest}")),
        None => says(&format!("heard: {said}")),
    }
}

async fn scripted(config: &str) -> Fixture {
    with(config, insula_tools::BUILT_IN, script).await
}

fn config(agent: &str, bindings: &str) -> String {
    format!(
        "agents:\n  a: {{default: true, tools: minimal, access: {{allow: ['discord:*', 'telegram:*', 'web:*'], unknown: ignore}}, group: {{respond: all}}{agent}}}\nbindings:\n{bindings}"
    )
}

fn member(chat: &str, user: &str) -> From {
    group(chat, user).on("discord")
}

fn guest(chat: &str, user: &str) -> From {
    member(chat, user).role("guest")
}

/// The tools of the request that came last.
fn offered(fixture: &Fixture) -> String {
    fixture.upstream.seen().last().unwrap().json()["tools"].to_string()
}

const GUESTS: &str = "  - {agent: a, discord: {role: guest}, tools: [clarify]}\n";

#[tokio::test]
async fn who_comes_by_a_binding_has_the_tools_it_leaves_and_others_have_all() {
    let fixture = scripted(&config("", GUESTS)).await;
    fixture.ask(&member("c", "1"), "hello").await;
    assert!(offered(&fixture).contains("\"todo\""));
    fixture.ask(&guest("c", "2"), "hello").await;
    let tools = offered(&fixture);
    assert!(!tools.contains("\"todo\"") && tools.contains("\"clarify\""), "{tools}");
    let told = fixture.ask(&guest("c", "2"), "todo {}").await;
    assert!(told.contains("you do not have the tool `todo`"), "{told}");
    assert!(told.contains("binding discord role=guest"), "{told}");
    // The same words of somebody else work, in the same chat.
    let told = fixture.ask(&member("c", "1"), "todo {}").await;
    assert!(!told.contains("you do not have"), "{told}");
}

#[tokio::test]
async fn all_ways_hold_at_once_account_binding_and_token() {
    let accounts =
        "channels:\n  web: {accounts: {main: {tools: [todo, clarify, session_search]}}}\n";
    let bindings = "  - {agent: a, web: '*', tools: {deny: [session_search]}}\n";
    let fixture = scripted(&format!("{accounts}{}", config("", bindings))).await;
    let less = Some("{tools: {deny: [todo]}, budget: {turns_per_minute: 2}}".into());
    let agents = [AgentId::new("a").unwrap()].into();
    let new = NewToken { agents, verbs: [Verb::Chat].into(), less, ..NewToken::default() };
    let (token, _) = fixture.daemon.create_token_with(new, &Actor::CommandLine).await.unwrap();
    let from = dm(&token.id).on("web");
    for _ in 0..2 {
        fixture.ask(&from, "hello").await;
        let tools = offered(&fixture);
        assert!(tools.contains("\"clarify\""), "{tools}");
        assert!(!tools.contains("\"todo\"") && !tools.contains("session_search"), "{tools}");
    }
    let told = fixture.ask(&from, "hello").await;
    assert!(told.contains("more in a minute than"), "{told}");
}

#[tokio::test]
async fn a_token_is_narrowed_by_what_can_be_read_alone() {
    let fixture = open_fixture(&config("", GUESTS)).await;
    for (less, why) in [
        ("{tools: [no_such_tool]}", "no_such_tool"),
        ("{tolls: []}", "tolls"),
        ("{group: {respond: never}}", "group"),
        ("{model: fake/other}", "does not have model"),
        ("{rules: {todo: {expr: '1 +'}}}", "expression"),
        ("[", ""),
        ("just words", ""),
    ] {
        let agents = [AgentId::new("a").unwrap()].into();
        let less = Some(less.into());
        let new = NewToken { agents, verbs: [Verb::Chat].into(), less, ..NewToken::default() };
        let made = fixture.daemon.create_token_with(new.clone(), &Actor::CommandLine).await;
        let error = made.expect_err(new.less.as_deref().unwrap()).to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn rules_of_a_binding_come_on_top_and_know_where_something_was_said() {
    let own = ", tools: {profile: minimal, rules: {todo: {expr: \"turn.guild == 'g1'\"}}}";
    let agent = config("", "").replace(", tools: minimal", own);
    let bindings = "  - {agent: a, discord: {guild: g1}, rules: {todo: {expr: \"'staff' in turn.roles || turn.metadata.open == 'yes'\"}}}\n  - {agent: a, discord: {chat: open}, metadata: {open: 'yes'}, rules: {todo: {expr: \"turn.metadata.open == 'yes'\"}}}\n";
    let fixture = scripted(&format!("{agent}{bindings}")).await;
    let at = |from: From, guild: &str| {
        let mut from = from;
        from.address.community = Some(Community::Guild(GuildId::new(guild).unwrap()));
        from
    };
    for (from, is_fine) in [
        (at(member("c", "1").role("staff"), "g1"), true),
        (at(member("c", "2"), "g1"), false),
        (at(member("c", "3").role("staff"), "g2"), false),
        (at(member("open", "4"), "g1"), true),
        (at(member("open", "5"), "g2"), false),
    ] {
        let told = fixture.ask(&from, "todo {}").await;
        assert_eq!(!told.contains("(rule `todo.expr`)"), is_fine, "{told}");
    }
}

#[tokio::test]
async fn rule_3_scopes_know_guild_roles_chat_type_and_person() {
    let scope = "guild != null ? 'server:' + guild : (chat_type == 'dm' && person != null ? 'p:' + person : (roles.exists(r, r == 'vip') ? 'vip' : 'other'))";
    let agent = format!(", memory: {{scope: \"{scope}\"}}");
    let people = "unknown: ignore, people: {ann: ['discord:1', 'telegram:1']}}";
    let fixture = scripted(&config(&agent, "").replace("unknown: ignore}", people)).await;
    let mut in_guild = member("c", "1");
    in_guild.address.community = Some(Community::Guild(GuildId::new("g1").unwrap()));
    for (from, scope) in [
        (in_guild, "custom:server%3Ag1"),
        (dm("1"), "custom:p%3Aann"),
        (dm("1").on("discord"), "custom:p%3Aann"),
        (member("d", "1").role("vip"), "custom:vip"),
        (member("e", "1"), "custom:other"),
    ] {
        fixture.ask(&from, "hello").await;
        assert_eq!(fixture.journal("a", &from).await[0].scope.as_str(), scope);
    }
}

#[tokio::test]
async fn a_budget_of_a_binding_is_that_of_all_who_come_by_it() {
    let bindings = "  - {agent: a, discord: {role: guest}, budget: {turns_per_minute: 2}}\n";
    let fixture = scripted(&config("", bindings)).await;
    fixture.ask(&guest("c", "1"), "one").await;
    fixture.ask(&guest("d", "2"), "two").await;
    let told = fixture.ask(&guest("e", "3"), "three").await;
    assert!(told.contains("more in a minute than"), "{told}");
    // Whoever comes by another way is not meant.
    assert_eq!(fixture.ask(&member("c", "9"), "four").await, "heard: four");
    fixture.handles.clock.advance(Duration::from_secs(62)).await;
    assert_eq!(fixture.ask(&guest("c", "1"), "five").await, "heard: five");
}

#[test]
fn what_a_binding_spent_is_counted_over_a_crash() {
    let bindings = "  - {agent: a, discord: {role: guest}, budget: {tokens_per_day: 8000}}\n";
    let config = config("", bindings);
    let long = "word ".repeat(300);
    let refused = "the budget of those who come this way is used up for today";
    let first = process();
    let files = first.block_on(async {
        let fixture = scripted(&config).await;
        let mut told = String::new();
        for chat in 0..20 {
            told = fixture.ask(&guest(&chat.to_string(), "1"), &long).await;
            if told.contains(refused) {
                break;
            }
        }
        assert!(told.contains(refused) && fixture.asked() > 0, "{told}");
        fixture.into_files()
    });
    drop(first);
    process().block_on(async {
        let fixture = again(files, &config, insula_tools::BUILT_IN, script).await;
        // Events are numbered anew here, so they come by another account.
        let told = fixture.ask(&guest("e", "3").by("second"), &long).await;
        assert!(told.contains(refused), "{told}");
        assert_eq!(fixture.ask(&member("c", "9").by("second"), "hi").await, "heard: hi");
    });
}

#[tokio::test]
async fn the_model_of_a_binding_is_the_one_that_is_asked() {
    let bindings = "  - {agent: a, discord: {role: guest}, model: fake/small}\n";
    let fixture = scripted(&config(", model: [fake/large, fake/small]", bindings)).await;
    fixture.ask(&member("c", "1"), "hello").await;
    assert_eq!(fixture.upstream.seen().last().unwrap().json()["model"], "large");
    fixture.ask(&guest("c", "2"), "hello").await;
    assert_eq!(fixture.upstream.seen().last().unwrap().json()["model"], "small");
}

#[tokio::test]
async fn among_several_people_a_binding_makes_it_quieter_and_never_louder() {
    let bindings = "  - {agent: a, discord: {chat: quiet}, group: {respond: mention}}\n  - {agent: b, discord: {chat: loud}, group: {respond: all}}\n";
    let other = "  b: {access: {allow: ['discord:*']}, group: {respond: mention}}\nbindings:";
    let fixture = scripted(&config("", bindings).replace("bindings:", other)).await;
    fixture.say(&member("quiet", "1"), "hello").await;
    fixture.say(&member("loud", "1"), "hello").await;
    assert_eq!((fixture.asked(), fixture.posted().len()), (0, 0));
    fixture.ask(&member("plain", "1"), "hello").await;
    fixture.ask_in_group(&member("quiet", "1"), "hello").await;
    assert_eq!(fixture.asked(), 2);
}

fn later(go: &Arc<Notify>, mut answer: Vec<Step>) -> Vec<Step> {
    answer.insert(0, Step::Wait(go.clone()));
    answer
}

#[tokio::test]
async fn what_a_binding_takes_away_while_a_turn_runs_is_gone_from_it() {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let answer = move |seen: &Seen, number: usize| match number {
        0 => later(&gate, calls("c1", "todo", "{}")),
        _ => script(seen, number),
    };
    let bindings = "  - {agent: a, discord: '*'}\n";
    let fixture = with(&config("", bindings), insula_tools::BUILT_IN, answer).await;
    fixture.say(&member("c", "1"), "go").await;
    fixture.upstream.requests(1).await;
    fixture.reconfigure(|it| it.replace("discord: '*'}", "discord: '*', tools: [clarify]}")).await;
    go.notify_one();
    let (_, _, told) = fixture.posts(1).await.remove(0);
    assert!(told.contains("you do not have the tool `todo`"), "{told}");
}

/// A crash forgets nothing of how somebody came in: a role is in no key of a conversation.
#[test]
fn a_turn_that_goes_on_after_a_crash_is_as_narrow_as_before() {
    let config = config("", GUESTS);
    let cut = |_: &Seen, _: usize| vec![Step::Hang];
    let first = process();
    let files = first.block_on(async {
        let fixture = with(&config, insula_tools::BUILT_IN, cut).await;
        fixture.say(&guest("c", "2"), "todo {}").await;
        fixture.upstream.requests(1).await;
        fixture.into_files()
    });
    drop(first);
    process().block_on(async {
        let fixture = again(files, &config, insula_tools::BUILT_IN, script).await;
        let (_, _, told) = fixture.posts(1).await.remove(0);
        assert!(told.contains("you do not have the tool `todo`"), "{told}");
        let tools = fixture.upstream.seen()[0].json()["tools"].to_string();
        assert!(!tools.contains("\"todo\""), "{tools}");
    });
}

/// The policies that come with the repository, installed in a home.
fn with_policies() -> insula_testkit::Home {
    use insula_config::policies::{FOLDER, LOCK, LockedPolicy, PolicyLock, read_all};
    let files = insula_testkit::Home::empty().unwrap();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for (name, policy) in read_all(std::path::Path::new(examples)) {
        for (path, bytes) in &policy.files {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            files.write(&format!("{FOLDER}/{name}/{path}"), text).unwrap();
        }
    }
    let mut lock = PolicyLock::default();
    for (name, policy) in read_all(files.path()) {
        let locked = LockedPolicy { installed: "now".to_owned(), files: policy.hashes() };
        lock.policies.insert(name, locked);
    }
    assert_eq!(lock.policies.len(), 2);
    files.write(LOCK, lock.to_text()).unwrap();
    files
}

#[tokio::test]
async fn the_example_of_one_memory_for_each_organisation() {
    let bindings = "  - {agent: a, discord: {chat: acme}, metadata: {org_id: acme}}\n  - {agent: a, telegram: {chat: '-1'}, metadata: {org_id: acme}}\n";
    let config = config(", memory: true, policies: [org-memory]", bindings);
    let fixture = again(with_policies(), &config, insula_tools::BUILT_IN, script).await;
    let mut elsewhere = member("c", "1");
    elsewhere.address.community = Some(Community::Guild(GuildId::new("g1").unwrap()));
    for (from, scope) in [
        (member("acme", "1"), "custom:org%3Aacme"),
        (group("-1", "2"), "custom:org%3Aacme"),
        (elsewhere, "custom:server%3Adiscord%2Fg1"),
    ] {
        fixture.ask(&from, "hello").await;
        assert_eq!(fixture.journal("a", &from).await[0].scope.as_str(), scope);
    }
    // Nobody's organisation: nothing is remembered, and the conversation goes on.
    let call = r#"memory {"action": "add", "target": "memory", "content": "x"}"#;
    let told = fixture.ask(&dm("3"), call).await;
    assert!(told.contains("memory is closed here"), "{told}");
}

#[tokio::test]
async fn the_example_of_guests_who_read_and_admins_who_change() {
    let agent = ", memory: true, policies: [read-only-guests]";
    let config = config(agent, "").replace("tools: minimal", "tools: coding");
    let config =
        config.replace("unknown: ignore", "admins: ['discord:role:boss'], unknown: ignore");
    let fixture = again(with_policies(), &config, insula_tools::BUILT_IN, script).await;
    let calls = [
        r#"write_file {"path": "x", "content": "y"}"#,
        r#"patch {"path": "x", "old_string": "y", "new_string": "z"}"#,
        r#"terminal {"command": "true"}"#,
        r#"process {"action": "list"}"#,
        r#"skill_manage {"action": "create", "name": "x", "content": "y"}"#,
        r#"memory {"action": "add", "target": "memory", "content": "x"}"#,
    ];
    for call in calls {
        let told = fixture.ask(&member("c", "1"), call).await;
        assert!(told.contains("(rule `") || told.contains("you do not have"), "{told}");
    }
    let told = fixture.ask(&member("c", "1"), r#"read_file {"path": "x"}"#).await;
    assert!(!told.contains("(rule `"), "{told}");
    let told = fixture.ask(&member("c", "2").role("boss"), calls[0]).await;
    assert!(!told.contains("(rule `"), "{told}");
}
