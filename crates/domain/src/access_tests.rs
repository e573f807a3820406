//! Who may talk, as tables and as properties.

use super::*;
use crate::arbitrary::cases;
use proptest::prelude::*;
use proptest::sample::select;

fn platform(name: &str) -> Platform {
    Platform::new(name).unwrap()
}

fn user(id: &str) -> UserId {
    UserId::new(id).unwrap()
}

fn at(chat: &str, chat_type: ChatType, who: Option<&str>) -> Address {
    Address {
        platform: platform("telegram"),
        account: AccountId::new("main").unwrap(),
        chat: ChatId::new(chat).unwrap(),
        chat_type,
        topic: None,
        parent: None,
        community: None,
        user: who.map(user),
        roles: vec![],
    }
}

fn nobody(_: Platform, _: &UserId) -> Option<PersonId> {
    None
}

fn judge(allow: &AllowList, roster: &Roster, address: &Address, also: &[UserId]) -> bool {
    let admins = Admins::default();
    let rules = AccessRules { allow, admins: &admins, roster, invites: true, person: &nobody };
    rules.judge(Asker { address, also, is_bot: false }).is_allowed()
}

#[test]
fn c12_an_empty_list_lets_nobody_in() {
    let (allow, roster) = (AllowList::default(), Roster::default());
    for address in [
        at("1", ChatType::Dm, Some("1")),
        at("-100", ChatType::Group, Some("1")),
        at("-100", ChatType::Channel, None),
    ] {
        assert!(!judge(&allow, &roster, &address, &[]), "{address:?}");
    }
}

#[test]
fn another_identity_of_the_same_user_is_the_same_user() {
    let mut allow = AllowList::default();
    allow.user(platform("telegram"), user("+49"), None);
    let address = at("1", ChatType::Dm, Some("uuid"));
    let roster = Roster::default();
    assert!(!judge(&allow, &roster, &address, &[]));
    assert!(judge(&allow, &roster, &address, &[user("+49")]));
}

#[test]
fn a_chat_lets_in_whoever_writes_there_and_nowhere_else() {
    let mut allow = AllowList::default();
    allow.chat(platform("telegram"), ChatId::new("-100").unwrap());
    let roster = Roster::default();
    assert!(judge(&allow, &roster, &at("-100", ChatType::Group, Some("5")), &[]));
    assert!(judge(&allow, &roster, &at("-100", ChatType::Channel, None), &[]));
    assert!(!judge(&allow, &roster, &at("5", ChatType::Dm, Some("5")), &[]));
    // The id of a group is not what a direct message can pass for.
    assert!(!judge(&allow, &roster, &at("-100", ChatType::Dm, Some("5")), &[]));
    let mut thread = at("77", ChatType::Thread, Some("5"));
    assert!(!judge(&allow, &roster, &thread, &[]));
    thread.parent = Some(ChatId::new("-100").unwrap());
    assert!(judge(&allow, &roster, &thread, &[]), "a thread belongs to its chat");
}

#[test]
fn a_program_is_let_in_by_name_only() {
    let mut allow = AllowList::default();
    allow.everybody(platform("telegram"));
    let admins = Admins::default();
    let roster = Roster::default();
    let address = at("-100", ChatType::Group, Some("9"));
    let asker = Asker { address: &address, also: &[], is_bot: true };
    let rules = |allow| AccessRules {
        allow,
        admins: &admins,
        roster: &roster,
        invites: true,
        person: &nobody,
    };
    assert_eq!(rules(&allow).judge(asker), Admission::Refused);
    let mut named = allow.clone();
    named.user(platform("telegram"), user("9"), None);
    assert_eq!(rules(&named).judge(asker), Admission::Named(&user("9")));
}

#[test]
fn c9_a_pairing_holds_at_its_platform_and_account() {
    let account = |name: &str| AccountId::new(name).unwrap();
    let paired = BTreeSet::from([(platform("telegram"), account("main"), user("5"))]);
    let roster = Roster { paired, ..Roster::default() };
    let allow = AllowList::default();
    let mut address = at("5", ChatType::Dm, Some("5"));
    assert!(judge(&allow, &roster, &address, &[]));
    address.account = account("other");
    assert!(!judge(&allow, &roster, &address, &[]));
    address.account = account("main");
    address.platform = platform("matrix");
    assert!(!judge(&allow, &roster, &address, &[]));
}

#[test]
fn who_is_let_in_by_a_place_brings_the_agent_nowhere() {
    for (admission, personal) in [
        (Admission::Chat, false),
        (Admission::Joined, false),
        (Admission::Refused, false),
        (Admission::Role, false),
        (Admission::Admin(None), false),
        (Admission::Everybody, true),
        (Admission::Named(&user("1")), true),
    ] {
        assert_eq!(admission.is_personal(), personal, "{admission:?}");
    }
}

#[test]
fn a_chat_is_open_for_as_long_as_its_inviter_may_talk() {
    let account = AccountId::new("main").unwrap();
    let place = |chat: &str| (platform("telegram"), account.clone(), ChatId::new(chat).unwrap());
    let joined = BTreeMap::from([(place("-100"), user("1")), (place("-200"), user("2"))]);
    let roster = Roster { joined, ..Roster::default() };
    let admins = Admins::default();
    let mut allow = AllowList::default();
    let (here, there) =
        (at("-100", ChatType::Group, Some("2")), at("-200", ChatType::Group, Some("3")));
    assert!(!judge(&allow, &roster, &here, &[]), "nobody named whoever added us");
    allow.user(platform("telegram"), user("1"), None);
    assert!(judge(&allow, &roster, &here, &[]));
    // Who is let in by a chat brings nobody anywhere, though they may talk in it.
    assert!(!judge(&allow, &roster, &there, &[]));
    let rules = AccessRules {
        allow: &allow,
        admins: &admins,
        roster: &roster,
        invites: false,
        person: &nobody,
    };
    let asker = Asker { address: &here, also: &[], is_bot: false };
    assert_eq!(rules.judge(asker), Admission::Refused, "invitations are off");
}

#[test]
fn a_group_is_answered_as_configured() {
    let rule = |respond, observe| GroupRule { respond, observe, ..GroupRule::default() };
    for (chat, rule, addressed, expected) in [
        (ChatType::Dm, rule(Respond::Never, false), false, Handling::Answer),
        (ChatType::Group, rule(Respond::Mention, false), true, Handling::Answer),
        (ChatType::Group, rule(Respond::Mention, false), false, Handling::Pass),
        (ChatType::Group, rule(Respond::Mention, true), false, Handling::Observe),
        (ChatType::Thread, rule(Respond::All, true), false, Handling::Answer),
        (ChatType::Group, rule(Respond::Never, true), true, Handling::Observe),
        (ChatType::Channel, rule(Respond::Never, false), true, Handling::Pass),
    ] {
        assert_eq!(rule.handling(chat, addressed), expected, "{chat} {rule:?} {addressed}");
    }
}

fn some_address() -> impl Strategy<Value = Address> {
    let id = || select(vec!["1", "2", "3"]);
    let chat_type = select(&ChatType::ALL[..]);
    let platforms = select(vec!["telegram", "matrix"]);
    let roles = prop::collection::vec(select(vec!["r1", "r2"]), 0..2);
    (platforms, id(), id(), prop::option::of(id()), prop::option::of(id()), chat_type, roles)
        .prop_map(|(on, account, chat, parent, who, chat_type, roles)| Address {
            platform: platform(on),
            account: AccountId::new(account).unwrap(),
            chat: ChatId::new(chat).unwrap(),
            chat_type,
            topic: None,
            parent: parent.map(|it| ChatId::new(it).unwrap()),
            community: None,
            user: who.map(user),
            roles: roles.into_iter().map(|it| RoleId::new(it).unwrap()).collect(),
        })
}

/// One line of an allow-list: its kind, platform and id.
fn some_lines() -> impl Strategy<Value = Vec<(u8, &'static str, &'static str)>> {
    let line = (0..4_u8, select(vec!["telegram", "matrix"]), select(vec!["1", "2", "r1"]));
    prop::collection::vec(line, 0..5)
}

fn list(lines: &[(u8, &'static str, &'static str)]) -> AllowList {
    let mut allow = AllowList::default();
    for (kind, on, id) in lines {
        match kind {
            0 => allow.user(platform(on), user(id), None),
            1 => allow.chat(platform(on), ChatId::new(*id).unwrap()),
            2 => allow.role(platform(on), RoleId::new(*id).unwrap()),
            _ => allow.everybody(platform(on)),
        }
    }
    allow
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn whoever_is_let_in_is_named_by_some_line(address in some_address(), lines in some_lines()) {
        let roster = Roster::default();
        let allowed = judge(&list(&lines), &roster, &address, &[]);
        let names = |(kind, on, id): &(u8, &str, &str)| {
            let same = *on == address.platform.as_str();
            same && match kind {
                0 => address.user.as_ref().is_some_and(|user| user.as_str() == *id),
                1 => {
                    let own = address.chat.as_str() == *id;
                    let above = address.parent.as_ref().is_some_and(|it| it.as_str() == *id);
                    address.chat_type != ChatType::Dm && (own || above)
                }
                2 => {
                    address.user.is_some() && address.roles.iter().any(|role| role.as_str() == *id)
                }
                _ => true,
            }
        };
        prop_assert_eq!(allowed, lines.iter().any(names));
    }

    #[test]
    fn another_line_never_shuts_anybody_out(
        address in some_address(), lines in some_lines(), more in some_lines(),
    ) {
        let roster = Roster::default();
        let both = [lines.clone(), more].concat();
        let (few, many) =
            (judge(&list(&lines), &roster, &address, &[]), judge(&list(&both), &roster, &address, &[]));
        prop_assert!(!few || many);
    }

    #[test]
    fn what_is_allowed_on_one_platform_says_nothing_on_another(
        address in some_address(), lines in some_lines(),
    ) {
        let elsewhere: Vec<_> =
            lines.into_iter().filter(|(_, on, _)| *on != address.platform.as_str()).collect();
        prop_assert!(!judge(&list(&elsewhere), &Roster::default(), &address, &[]));
    }

    #[test]
    fn b8_what_a_role_or_chat_allowed_ends_with_it(address in some_address(), lines in some_lines()) {
        let lines: Vec<_> = lines.into_iter().filter(|(kind, ..)| (1..3).contains(kind)).collect();
        // The same person, without the role and in a chat of their own.
        let now = Address { roles: vec![], chat_type: ChatType::Dm, ..address };
        prop_assert!(!judge(&list(&lines), &Roster::default(), &now, &[]));
    }
}

#[test]
fn a_list_is_empty_until_it_names_somebody() {
    assert!(AllowList::default().is_empty());
    let telegram = platform("telegram");
    let fill: [fn(&mut AllowList, Platform); 4] = [
        |list, at| list.everybody(at),
        |list, at| list.user(at, user("1"), None),
        |list, at| list.chat(at, ChatId::new("1").unwrap()),
        |list, at| list.role(at, RoleId::new("staff").unwrap()),
    ];
    for name in fill {
        let mut list = AllowList::default();
        name(&mut list, telegram);
        assert!(!list.is_empty());
    }
}

#[test]
fn settings_of_access_are_shown_by_name() {
    assert_eq!([Unknown::Pair, Unknown::Ignore].map(Unknown::as_str), ["pair", "ignore"]);
    let all = [Respond::Never, Respond::Mention, Respond::All];
    assert_eq!(all.map(Respond::as_str), ["never", "mention", "all"]);
}
