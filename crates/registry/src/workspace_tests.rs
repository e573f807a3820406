//! Names of conversations' folders: one for each, and none for two.

use super::*;
use insula_domain::{AccountId, AgentId, ChatId, ChatType, Platform, TopicId, UserId};
use std::collections::BTreeSet;

fn key(account: &str, chat: &str, topic: Option<&str>, user: Option<&str>) -> SessionKey {
    SessionKey {
        agent: AgentId::new("a").unwrap(),
        platform: Platform::API,
        account: AccountId::new(account).unwrap(),
        kind: ChatType::Group,
        chat: ChatId::new(chat).unwrap(),
        topic: topic.map(|it| TopicId::new(it).unwrap()),
        user: user.map(|it| UserId::new(it).unwrap()),
    }
}

fn workspace(scope: WorkspaceScope) -> Workspace {
    let grants = FileGrants { workspace: scope, ..FileGrants::default() };
    Workspace::new("/home".as_ref(), None, "agents/a".into(), (None, Users::Agent), &grants)
}

#[test]
fn rule_08_two_conversations_never_share_a_folder() {
    let long = "x".repeat(120);
    let chats = ["1", "-100", "a/b", "..", ".", "a:b", "a%3Ab", "a+b", "a,b", "é", "A", "a", &long];
    let topics = [None, Some("7"), Some(".."), Some("user"), Some(&long)];
    let users = [None, Some("ann"), Some("a+topic+7"), Some(&long)];
    let (mut keys, mut folders, mut names) = (0, BTreeSet::new(), BTreeSet::new());
    for account in ["main", "main+group"] {
        for chat in chats {
            for topic in topics {
                for user in users {
                    let path = folder_name(&key(account, chat, topic, user));
                    let parts: Vec<_> = path.iter().map(|it| it.to_str().unwrap()).collect();
                    assert!(parts.iter().all(|it| it.len() <= 255 && *it != ".." && *it != "."));
                    assert!(!parts.iter().any(|it| it.contains([':', '/'])), "{parts:?}");
                    // A folder of one conversation never stands in a folder of another.
                    names.insert(parts.last().unwrap().to_string());
                    folders.insert(path);
                    keys += 1;
                }
            }
        }
    }
    assert_eq!(folders.len(), keys);
    assert!(names.iter().all(|name| !name.ends_with(',')));
}

#[test]
fn the_scope_says_who_shares_a_folder() {
    let of = |scope, key: &SessionKey| workspace(scope).conversation(key);
    let (one, two) = (key("m", "c", Some("1"), None), key("m", "c", Some("2"), None));
    assert_eq!(of(WorkspaceScope::Agent, &one), None);
    assert_eq!(of(WorkspaceScope::Chat, &one), of(WorkspaceScope::Chat, &two));
    assert_ne!(of(WorkspaceScope::Topic, &one), of(WorkspaceScope::Topic, &two));
    let other = key("m", "d", Some("1"), None);
    assert_ne!(of(WorkspaceScope::Chat, &one), of(WorkspaceScope::Chat, &other));
    let expected = PathBuf::from("agents/a/conversations/api+m+group+c+topic+1");
    assert_eq!(of(WorkspaceScope::Topic, &one), Some(expected));
}
