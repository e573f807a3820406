//! Random values for property tests: hostile texts where encoding is at stake, tiny
//! alphabets where collisions are.

use crate::address::{Address, ChatType, Community};
use crate::argument::{Absent, ArgumentRule, ArgumentRules, Bound, Demand, VARIABLES};
use crate::binding::Match;
use crate::expr::Expression;
use crate::id::{AccountId, ChatId, EXTERNAL_ID_BYTES_MAX, GuildId, RoleId, TopicId, UserId};
use crate::platform::{PLATFORMS, Platform};
use crate::policy::{Possible, Profile, Switch, ToolPolicy};
use crate::selector::Selector;
use crate::tool::known_names;
use crate::tool_table::ToolTable;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;
use std::collections::BTreeSet;

/// So many cases, and no files written anywhere.
pub fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Ids as an unkind peer would choose them.
pub fn hostile_text() -> impl Strategy<Value = String> {
    let chosen = vec![
        ":", "%", "/", "@", "..", "\0", "topic", "user", "agent", "dm", ":topic:", ":user:u",
        "%3A", "%253A", "\u{202e}", "\u{200b}", "é", "e\u{301}", "*", ",", "global", "anyone", " ",
        "\n",
    ];
    prop_oneof![
        4 => select(chosen.clone()).prop_map(str::to_owned),
        3 => prop::collection::vec(select(chosen), 1..4).prop_map(|parts| parts.concat()),
        2 => "[ab:%]{1,3}",
        2 => any::<String>().prop_filter("an id", |t| !t.is_empty() && t.len() <= 64),
        1 => Just("x".repeat(EXTERNAL_ID_BYTES_MAX)),
        1 => Just("\u{ff}".repeat(EXTERNAL_ID_BYTES_MAX / 2)),
    ]
}

pub fn platform() -> impl Strategy<Value = Platform> {
    select(PLATFORMS).prop_map(|name| Platform::new(name).unwrap())
}

pub fn chat_type() -> impl Strategy<Value = ChatType> {
    select(&ChatType::ALL[..])
}

/// An address of hostile ids.
pub fn hostile_address() -> impl Strategy<Value = Address> {
    let text = hostile_text;
    let ids = (text(), text(), prop::option::of(text()), prop::option::of(text()));
    (platform(), chat_type(), ids).prop_map(
        |(platform, chat_type, (account, chat, topic, user))| Address {
            platform,
            account: AccountId::new(account).unwrap(),
            chat: ChatId::new(chat).unwrap(),
            chat_type,
            topic: topic.map(|it| TopicId::new(it).unwrap()),
            parent: None,
            community: None,
            user: user.map(|it| UserId::new(it).unwrap()),
            roles: Vec::new(),
        },
    )
}

/// One of very few texts.
pub fn letter() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b"])
}

pub fn community() -> impl Strategy<Value = Community> {
    (any::<bool>(), letter()).prop_map(|(guild, id)| {
        let id = GuildId::new(id).unwrap();
        if guild { Community::Guild(id) } else { Community::Team(id) }
    })
}

pub fn few_platforms() -> impl Strategy<Value = Platform> {
    select(vec!["telegram", "cli"]).prop_map(|name| Platform::new(name).unwrap())
}

/// An address out of so few that rules often match it.
pub fn small_address() -> impl Strategy<Value = Address> {
    let place = (few_platforms(), letter(), letter(), chat_type());
    let around = (
        prop::option::of(letter()),
        prop::option::of(letter()),
        prop::option::of(community()),
        prop::option::of(letter()),
        prop::collection::vec(select(vec!["a", "b", "c"]), 0..4),
    );
    (place, around).prop_map(|((platform, account, chat, chat_type), around)| {
        let (topic, parent, community, user, roles) = around;
        Address {
            platform,
            account: AccountId::new(account).unwrap(),
            chat: ChatId::new(chat).unwrap(),
            chat_type,
            topic: topic.map(|it| TopicId::new(it).unwrap()),
            parent: parent.map(|it| ChatId::new(it).unwrap()),
            community,
            user: user.map(|it| UserId::new(it).unwrap()),
            roles: roles.into_iter().map(|it| RoleId::new(it).unwrap()).collect(),
        }
    })
}

/// A rule out of so few that it often matches.
pub fn rule() -> impl Strategy<Value = Match> {
    let maybe = || prop::option::weighted(0.35, letter());
    let fields = (maybe(), maybe(), maybe(), maybe(), maybe());
    let more = (prop::option::weighted(0.3, community()), prop::option::weighted(0.2, chat_type()));
    (few_platforms(), fields, more).prop_map(|(platform, fields, (community, chat_type))| {
        let (account, chat, topic, user, role) = fields;
        Match {
            platform,
            account: account.map(|it| AccountId::new(it).unwrap()),
            chat: chat.map(|it| ChatId::new(it).unwrap()),
            chat_type,
            topic: topic.map(|it| TopicId::new(it).unwrap()),
            community,
            user: user.map(|it| UserId::new(it).unwrap()),
            role: role.map(|it| RoleId::new(it).unwrap()),
        }
    })
}

/// Names of MCP tools to ask about, since a table can't list them.
pub const MCP_NAMES: [&str; 4] =
    ["mcp__github__list", "mcp__github__create_issue", "mcp__gitea__list", "mcp__a__b"];

/// One of many entries of an allow or deny list.
pub fn selector() -> impl Strategy<Value = Selector> {
    let patterns = vec!["mcp__*", "mcp__github__*", "mcp__git*__list", "mcp__a__b"];
    let known: Vec<&'static str> = known_names().collect();
    prop_oneof![3 => select(known), 1 => select(patterns)]
        .prop_map(|text| Selector::parse(text).unwrap())
}

pub fn selectors(max: usize) -> impl Strategy<Value = Vec<Selector>> {
    prop::collection::vec(selector(), 0..max)
}

pub fn policy() -> impl Strategy<Value = ToolPolicy> {
    let profile = prop::option::of(select(&Profile::ALL[..]));
    let allow = prop::option::weighted(0.3, selectors(12));
    (profile, selectors(8), allow, selectors(4)).prop_map(|(profile, also_allow, allow, deny)| {
        ToolPolicy { profile, also_allow, allow, deny }
    })
}

pub fn switch() -> impl Strategy<Value = Switch> {
    select(vec![Switch::On, Switch::On, Switch::Off])
}

pub fn possible() -> impl Strategy<Value = Possible> {
    let links = (switch(), switch());
    (switch(), switch(), links, switch(), switch(), switch(), switch(), switch()).prop_map(
        |(memory, boards, links, delegation, mcp, search, images, sending)| Possible {
            memory,
            boards,
            asking: links.0,
            notifying: links.1,
            delegation,
            mcp,
            search,
            images,
            sending,
        },
    )
}

/// Every tool that a table has, of the MCP tools those in [`MCP_NAMES`].
pub fn tools_in(table: &ToolTable) -> BTreeSet<&'static str> {
    let mcp = MCP_NAMES.into_iter().filter(|name| table.verdict(name).is_in());
    table.exposed().chain(mcp).collect()
}

/// Bounds on arguments called `a` and `b`.
pub fn argument_rules() -> impl Strategy<Value = ArgumentRules> {
    let bound = prop_oneof![
        select(vec!["docs.rs", "*.example.org"]).prop_map(|it| Bound::hosts([it]).unwrap()),
        select(vec!["ann@example.org", "*@example.org"])
            .prop_map(|it| Bound::recipients([it]).unwrap()),
        select(vec!["src/**", "*.md"]).prop_map(|it| Bound::paths([it]).unwrap()),
        select(vec!["git", "cargo test"]).prop_map(|it| Bound::commands([it]).unwrap()),
        select(vec!["x", "git "]).prop_map(|it| Bound::prefixes([it]).unwrap()),
        select(vec!["x", "1"]).prop_map(|it| Bound::OneOf(vec![it.into()])),
        select(vec!["x", "1"]).prop_map(|it| Bound::Said(vec![it.into()])),
        select(vec!["docs.rs", "*.example.org"]).prop_map(|it| Bound::links([it]).unwrap()),
        (0..9_i32).prop_map(|it| Bound::Number {
            min: None,
            max: crate::argument::Number::new(f64::from(it)),
        }),
    ];
    let absent = select(vec![Absent::Refused, Absent::Allowed]);
    let demand = prop_oneof![
        4 => (select(vec!["a", "b"]), bound, absent).prop_map(|(at, bound, absent)| {
            Demand::Argument { at: [at.into()].into(), bound, absent }
        }),
        1 => select(vec!["args.a == 'x'", "turn.admin", "size(args.b) < 3"])
            .prop_map(|it| Demand::Holds(Expression::compile(it, VARIABLES).unwrap())),
        1 => (0..3_u32).prop_map(|max| Demand::Calls { max }),
        1 => select(vec!["a", "b"]).prop_map(|it| {
            Demand::Once(crate::argument::Alike::Arguments([[it.into()].into()].into()))
        }),
    ];
    let rule = (selector(), demand).prop_map(|(tools, demand)| ArgumentRule {
        name: format!("{tools}.rule").into(),
        tools,
        demand,
    });
    prop::collection::vec(rule, 0..5).prop_map(ArgumentRules::new)
}
