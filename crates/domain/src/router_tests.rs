//! The router against a naive one, and the design's examples.

use super::*;
use crate::address::{ChatType, Community};
use crate::arbitrary::{cases, letter, rule, small_address};
use crate::binding::{Metadata, Tier};
use crate::explain::{Considered, Reason, Why};
use crate::id::{AccountId, ChatId, GuildId, TopicId, UserId};
use proptest::prelude::*;

fn bind(agent: &str, matches: Match, priority: i32) -> Binding {
    let agent = AgentId::new(agent).unwrap();
    let metadata = Metadata::new();
    Binding { number: 1, agent, matches, priority, narrowing: None, metadata, refusal: None }
}

fn binding() -> impl Strategy<Value = Binding> {
    (letter(), rule(), 0..3).prop_map(|(agent, rule, priority)| bind(agent, rule, priority))
}

/// Few enough fields that role rules meet.
fn role_binding() -> impl Strategy<Value = Binding> {
    (letter(), proptest::sample::select(vec!["a", "b", "c"]), prop::option::of(letter()), 0..3)
        .prop_map(|(agent, role, chat, priority)| {
            let matches = Match {
                role: Some(RoleId::new(role).unwrap()),
                chat: chat.map(|it| ChatId::new(it).unwrap()),
                ..Match::platform(Platform::new("telegram").unwrap())
            };
            bind(agent, matches, priority)
        })
}

fn bindings() -> impl Strategy<Value = Vec<Binding>> {
    prop::collection::vec(prop_oneof![3 => binding(), 1 => role_binding()], 0..60)
}

fn defaults() -> impl Strategy<Value = Defaults> {
    let agent = || prop::option::of(letter().prop_map(|id| AgentId::new(id).unwrap()));
    (agent(), agent()).prop_map(|(everywhere, cli)| Defaults { everywhere, cli })
}

/// The conflict of two rules, said as the design says it.
fn contradict(a: &Binding, b: &Binding) -> Option<ConflictKind> {
    if a.matches == b.matches {
        return Some(ConflictKind::SameRule);
    }
    let but_role = |it: &Binding| Match { role: None, ..it.matches.clone() };
    let roles = a.matches.role.is_some() && b.matches.role.is_some();
    (roles && but_role(a) == but_role(b) && a.agent != b.agent && a.priority == b.priority)
        .then_some(ConflictKind::SameRolePriority)
}

fn without_conflicts(all: Vec<Binding>) -> Vec<Binding> {
    let mut kept: Vec<Binding> = Vec::new();
    for one in all {
        if kept.iter().all(|it| contradict(it, &one).is_none()) {
            kept.push(one);
        }
    }
    kept
}

/// The router as the design says it, with no regard for speed.
fn naive<'b>(bindings: &'b [Binding], at: &Address) -> Option<&'b Binding> {
    let matches = |it: &&Binding| {
        let m = &it.matches;
        m.platform == at.platform
            && m.account.as_ref().is_none_or(|it| *it == at.account)
            && m.chat.as_ref().is_none_or(|it| *it == at.chat || Some(it) == at.parent.as_ref())
            && m.chat_type.is_none_or(|it| it == at.chat_type)
            && (m.topic.is_none() || m.topic == at.topic)
            && (m.community.is_none() || m.community == at.community)
            && (m.user.is_none() || m.user == at.user)
            && m.role.as_ref().is_none_or(|it| at.roles.contains(it))
    };
    bindings.iter().filter(matches).max_by_key(|it| {
        let m = &it.matches;
        let chat = match &m.chat {
            Some(chat) if *chat == at.chat => 2,
            Some(_) => 1,
            None => 0,
        };
        let specificity = (
            m.topic.is_some(),
            chat,
            m.user.is_some(),
            m.role.is_some(),
            m.community.is_some(),
            m.chat_type.is_some(),
            m.account.is_some(),
        );
        (specificity, it.priority, Reverse(m.role.clone()))
    })
}

fn bound<'r>(route: Route<'r>) -> Option<&'r Binding> {
    match route {
        Route::Bound { binding, .. } => Some(binding),
        Route::Default(_) | Route::Nobody => None,
    }
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn the_router_agrees_with_a_naive_one(
        all in bindings(),
        defaults in defaults(),
        addresses in prop::collection::vec(small_address(), 20),
    ) {
        let kept = without_conflicts(all);
        let router = Router::compile(kept.clone(), defaults.clone()).unwrap();
        for at in &addresses {
            let route = router.route(at);
            prop_assert_eq!(bound(route), naive(&kept, at));
            let explanation = router.explain(at);
            prop_assert_eq!(explanation.route, route);
            prop_assert_eq!(explanation.considered.len(), kept.len());
            let won: Vec<&Considered> =
                explanation.considered.iter().filter(|it| it.why == Why::Won).collect();
            match route {
                Route::Bound { index, binding } => {
                    prop_assert_eq!(binding, &kept[index]);
                    prop_assert_eq!(won.len(), 1);
                    prop_assert_eq!((won[0].binding, won[0].matched), (index, true));
                }
                Route::Default(agent) => {
                    let cli = defaults.cli.as_ref().filter(|_| at.platform == Platform::CLI);
                    prop_assert_eq!(Some(agent), cli.or(defaults.everywhere.as_ref()));
                    prop_assert!(won.is_empty());
                }
                Route::Nobody => {
                    prop_assert_eq!(&defaults.everywhere, &None);
                    prop_assert!(won.is_empty());
                }
            }
            for it in &explanation.considered {
                let lost = matches!(it.why, Why::Won | Why::Lost { .. });
                prop_assert_eq!(it.matched, lost);
                prop_assert_eq!(it.matched, naive(&kept[it.binding..=it.binding], at).is_some());
            }
        }
    }

    #[test]
    fn the_order_of_rules_and_roles_never_matters(
        (kept, shuffled) in bindings()
            .prop_map(without_conflicts)
            .prop_flat_map(|kept| (Just(kept.clone()), Just(kept).prop_shuffle())),
        addresses in prop::collection::vec(small_address(), 20),
    ) {
        let one = Router::compile(kept, Defaults::default()).unwrap();
        let other = Router::compile(shuffled, Defaults::default()).unwrap();
        for mut at in addresses {
            let first = bound(one.route(&at));
            prop_assert_eq!(first, bound(other.route(&at)));
            at.roles.reverse();
            prop_assert_eq!(first, bound(other.route(&at)));
        }
    }

    #[test]
    fn contradictions_are_found_exactly(all in bindings()) {
        let mut expected = Vec::new();
        for (second, b) in all.iter().enumerate() {
            let kinds: Vec<_> = all[..second].iter().filter_map(|a| contradict(a, b)).collect();
            if kinds.contains(&ConflictKind::SameRule) {
                expected.push((second, ConflictKind::SameRule));
            } else if !kinds.is_empty() {
                expected.push((second, ConflictKind::SameRolePriority));
            }
        }
        match Router::compile(all.clone(), Defaults::default()) {
            Ok(_) => prop_assert!(expected.is_empty()),
            Err(conflicts) => {
                prop_assert!(!expected.is_empty());
                for Conflict { first, second, kind } in &conflicts {
                    prop_assert!(first < second);
                    prop_assert_eq!(contradict(&all[*first], &all[*second]), Some(*kind));
                }
                let same = |kind| move |it: &&(usize, ConflictKind)| it.1 == kind;
                let found: Vec<(usize, ConflictKind)> =
                    conflicts.iter().map(|it| (it.second, it.kind)).collect();
                let of = |list: &[(usize, ConflictKind)]| -> Vec<(usize, ConflictKind)> {
                    list.iter().filter(same(ConflictKind::SameRule)).copied().collect()
                };
                prop_assert_eq!(of(&found), of(&expected));
            }
        }
    }
}

fn telegram() -> Platform {
    Platform::new("telegram").unwrap()
}

fn any_rule() -> Match {
    Match::platform(telegram())
}

fn at(chat: &str) -> Address {
    Address {
        platform: telegram(),
        account: AccountId::new("bot").unwrap(),
        chat: ChatId::new(chat).unwrap(),
        chat_type: ChatType::Group,
        topic: Some(TopicId::new("7").unwrap()),
        parent: None,
        community: Some(Community::Guild(GuildId::new("99").unwrap())),
        user: Some(UserId::new("12345").unwrap()),
        roles: vec![RoleId::new("staff").unwrap(), RoleId::new("admin").unwrap()],
    }
}

/// One rule for each step of the design's order, the most specific first.
fn ladder() -> Vec<(Match, Tier)> {
    let chat = Some(ChatId::new("-100123").unwrap());
    let topic = Some(TopicId::new("7").unwrap());
    let user = Some(UserId::new("12345").unwrap());
    let role = Some(RoleId::new("staff").unwrap());
    let community = Some(Community::Guild(GuildId::new("99").unwrap()));
    let account = Some(AccountId::new("bot").unwrap());
    let kind = Some(ChatType::Group);
    vec![
        (Match { topic: topic.clone(), chat: chat.clone(), ..any_rule() }, Tier::Topic),
        (Match { topic, ..any_rule() }, Tier::Topic),
        (Match { chat: chat.clone(), user: user.clone(), ..any_rule() }, Tier::Chat),
        (Match { chat, ..any_rule() }, Tier::Chat),
        (Match { user, ..any_rule() }, Tier::User),
        (Match { role: role.clone(), community: community.clone(), ..any_rule() }, Tier::Role),
        (Match { role, ..any_rule() }, Tier::Role),
        (Match { community: community.clone(), chat_type: kind, ..any_rule() }, Tier::Guild),
        (Match { community, ..any_rule() }, Tier::Guild),
        (Match { chat_type: kind, account: account.clone(), ..any_rule() }, Tier::ChatType),
        (Match { chat_type: kind, ..any_rule() }, Tier::ChatType),
        (Match { account, ..any_rule() }, Tier::Account),
        (any_rule(), Tier::Platform),
    ]
}

#[test]
fn an_exact_chat_beats_a_peer_a_peer_beats_a_guild_and_so_on_down() {
    let ladder = ladder();
    for from in 0..ladder.len() {
        let rules = ladder[from..].iter().rev().map(|(rule, _)| bind("a", rule.clone(), 0));
        let router = Router::compile(rules.collect(), Defaults::default()).unwrap();
        let winner = bound(router.route(&at("-100123"))).unwrap();
        assert_eq!((&winner.matches, winner.matches.tier()), (&ladder[from].0, ladder[from].1));
    }
}

#[test]
fn a_thread_inherits_its_parent_s_rules_and_its_own_id_beats_its_parent_s() {
    let chat = |id: &str| Match { chat: Some(ChatId::new(id).unwrap()), ..any_rule() };
    let user = Some(UserId::new("12345").unwrap());
    let thread = Address {
        parent: Some(ChatId::new("-100123").unwrap()),
        chat_type: ChatType::Thread,
        ..at("t1")
    };
    let route = |rules: Vec<Binding>| {
        let router = Router::compile(rules, Defaults::default()).unwrap();
        bound(router.route(&thread)).map(|it| it.agent.to_string())
    };
    let parent = bind("parent", chat("-100123"), 0);
    assert_eq!(route(vec![parent.clone()]).as_deref(), Some("parent"));
    let own = bind("own", chat("t1"), 0);
    // At the chat's position the own id decides before any later field is looked at.
    let parent_and_user = bind("both", Match { user: user.clone(), ..chat("-100123") }, 9);
    assert_eq!(
        route(vec![parent.clone(), parent_and_user.clone(), own.clone()]).as_deref(),
        Some("own")
    );
    let by_user = bind("user", Match { user, ..any_rule() }, 0);
    assert_eq!(route(vec![by_user.clone(), parent.clone()]).as_deref(), Some("parent"));
    let router = Router::compile(vec![parent, by_user], Defaults::default()).unwrap();
    let explanation = router.explain(&thread);
    assert_eq!(explanation.considered[1].why, Why::Lost { to: 0, by: Reason::Names(Field::Chat) });
    let router = Router::compile(vec![own, parent_and_user], Defaults::default()).unwrap();
    let explanation = router.explain(&thread);
    assert_eq!(explanation.considered[1].why, Why::Lost { to: 0, by: Reason::OwnChat });
}

#[test]
fn role_rules_are_decided_by_priority_then_by_the_role_s_name() {
    let role = |it: &str| Match { role: Some(RoleId::new(it).unwrap()), ..any_rule() };
    let rules = vec![bind("a", role("staff"), 1), bind("b", role("admin"), 0)];
    let router = Router::compile(rules, Defaults::default()).unwrap();
    assert_eq!(bound(router.route(&at("1"))).unwrap().agent.as_str(), "a");
    let why = &router.explain(&at("1")).considered[1].why;
    assert_eq!(why.to_string(), "lost to rule 1, which has priority 1 over 0");

    let same = vec![bind("a", role("staff"), 0), bind("a", role("admin"), 0)];
    let router = Router::compile(same, Defaults::default()).unwrap();
    assert_eq!(bound(router.route(&at("1"))).unwrap().matches, role("admin"));
    let why = &router.explain(&at("1")).considered[0].why;
    assert_eq!(*why, Why::Lost { to: 1, by: Reason::RoleName });

    let unclear = vec![bind("a", role("staff"), 0), bind("b", role("admin"), 0)];
    let conflicts = Router::compile(unclear, Defaults::default()).unwrap_err();
    let kind = ConflictKind::SameRolePriority;
    assert_eq!(conflicts, vec![Conflict { first: 0, second: 1, kind }]);
    assert!(conflicts[0].to_string().contains("higher `priority`"));
}

#[test]
fn rules_that_tie_refuse_and_the_others_hold() {
    let chat = |id: &str| Match { chat: Some(ChatId::new(id).unwrap()), ..any_rule() };
    let role = |it: &str| Match { role: Some(RoleId::new(it).unwrap()), ..any_rule() };
    let rules = vec![
        bind("a", chat("1"), 0),
        bind("b", chat("1"), 0),
        bind("c", chat("2"), 0),
        bind("a", role("staff"), 0),
        bind("b", role("admin"), 0),
        // Agrees with the first of the role rules, and is against the second all the same.
        bind("a", role("boss"), 0),
        bind("c", any_rule(), 0),
    ];
    let why = |it: &Conflict| format!("{} and {}", it.first, it.second);
    let (router, conflicts) = Router::compile_refusing(rules, Defaults::default(), why);
    assert_eq!(conflicts.len(), 3);
    let refusal = |it: &Address| bound(router.route(it)).unwrap().refusal.clone();
    let with = |it: &str| Address { roles: vec![RoleId::new(it).unwrap()], ..at("9") };
    // Nothing goes to the wider rule instead.
    assert_eq!(refusal(&at("1")).as_deref(), Some("0 and 1"));
    assert_eq!(refusal(&with("staff")).as_deref(), Some("3 and 4"));
    assert_eq!(refusal(&with("admin")).as_deref(), Some("3 and 4"));
    assert_eq!(refusal(&with("boss")).as_deref(), Some("4 and 5"));
    assert_eq!(refusal(&at("2")), None);
    assert_eq!(refusal(&with("guest")), None);
    let explained = router.explain(&at("1"));
    assert_eq!(bound(explained.route), bound(router.route(&at("1"))));
    assert_eq!(
        explained.considered[1].why.to_string(),
        "lost to rule 1, which asks for the same messages; both refuse them"
    );
}

#[test]
fn a_sender_with_more_roles_than_are_kept_is_still_routed() {
    let role = |it: String| RoleId::new(it).unwrap();
    let last = Match { role: Some(role("r99".to_owned())), ..any_rule() };
    let router = Router::compile(vec![bind("a", last, 0)], Defaults::default()).unwrap();
    let many = Address { roles: (0..100).map(|n| role(format!("r{n}"))).collect(), ..at("1") };
    assert!(bound(router.route(&many)).is_some());
}

#[test]
fn a_rule_that_refuses_keeps_its_messages_from_wider_rules() {
    let chat = Match { chat: Some(ChatId::new("-100123").unwrap()), ..any_rule() };
    let refusing =
        Binding { refusal: Some("agent `gone` does not exist".into()), ..bind("gone", chat, 0) };
    let router =
        Router::compile(vec![bind("a", any_rule(), 0), refusing.clone()], Defaults::default())
            .unwrap();
    assert_eq!(bound(router.route(&at("-100123"))), Some(&refusing));
}

#[test]
fn an_explanation_shows_a_few_of_somebody_s_roles() {
    let boss = Match { role: Some(RoleId::new("boss").unwrap()), ..any_rule() };
    let router = Router::compile(vec![bind("a", boss, 0)], Defaults::default()).unwrap();
    let why = |count: usize| {
        let roles = (1..=count).map(|it| RoleId::new(it.to_string()).unwrap()).collect();
        router.explain(&Address { roles, ..at("1") }).considered[0].why.to_string()
    };
    assert_eq!(why(8), "the sender's roles are 1, 2, 3, 4, 5, 6, 7, 8, the rule wants boss");
    for more in [9, 10] {
        assert_eq!(
            why(more),
            "the sender's roles are 1, 2, 3, 4, 5, 6, 7, 8, …, the rule wants boss"
        );
    }
}

#[test]
fn an_explanation_reads_as_sentences() {
    let chat = |id: &str| Match { chat: Some(ChatId::new(id).unwrap()), ..any_rule() };
    let role = Match { role: Some(RoleId::new("boss").unwrap()), ..any_rule() };
    let team = Some(Community::Team(GuildId::new("99").unwrap()));
    let rules = vec![
        bind("a", chat("-100123"), 0),
        bind("a", Match { topic: Some(TopicId::new("7").unwrap()), ..chat("-100999") }, 0),
        bind("a", any_rule(), 0),
        bind("a", chat("-100999"), 0),
        bind("a", role, 0),
        bind("a", Match { community: team, ..any_rule() }, 0),
        bind("a", Match::platform(Platform::CLI), 0),
    ];
    let router = Router::compile(rules, Defaults::default()).unwrap();
    let whys = |at: &Address| -> Vec<String> {
        router.explain(at).considered.iter().map(|it| it.why.to_string()).collect()
    };
    assert_eq!(
        whys(&at("-100999")),
        [
            "chat is -100999, the rule wants -100123",
            "won: most specific match",
            "lost to rule 2, which names a topic",
            "lost to rule 2, which names a topic",
            "the sender's roles are staff, admin, the rule wants boss",
            "the chat is in guild 99, the rule wants team 99",
            "the rule is for cli",
        ]
    );
    let bare = Address { topic: None, roles: Vec::new(), community: None, ..at("-100999") };
    let whys = whys(&bare);
    assert_eq!(whys[1], "the message has no topic");
    assert_eq!(whys[2], "lost to rule 4, which names a chat");
    assert_eq!(whys[4], "the sender has no role");
    assert_eq!(whys[5], "the message has no guild or team");
}

#[test]
fn a_hundred_thousand_contradictions_are_found_without_comparing_every_pair() {
    let role = |n: usize| Match { role: Some(RoleId::new(n.to_string()).unwrap()), ..any_rule() };
    let rules = (0..100_000).map(|n| bind(if n == 0 { "a" } else { "b" }, role(n), 0)).collect();
    let conflicts = Router::compile(rules, Defaults::default()).unwrap_err();
    assert_eq!(conflicts.len(), 99_999);
}
