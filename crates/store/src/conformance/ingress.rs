//! What a backend owes about what stands before conversations.

use super::sample::*;
use super::{Opener, agent};
use crate::ingress::{CONTEXT_ROWS_MAX, INBOX_BYTES_MAX};
use crate::{
    AgentCommand, AgentLease, EventName, IngressCommand, JoinedChat, NewInbox, Pairing,
    PairingAsked, PairingRequest, PlatformUser, StoreError, Tries,
};
use insula_domain::{AccountId, Platform};
use insula_world::Timestamp;

/// Runs every check.
pub(super) async fn run(opener: &dyn Opener) {
    who_was_let_in_is_durable(opener).await;
    those_who_ask_wait_in_a_room_of_a_size(opener).await;
    a_message_waits_once_and_survives(opener).await;
    context_is_bounded_and_belongs_to_its_conversation(opener).await;
    an_event_can_be_given_to_another_agent(opener).await;
}

fn platform_user(user: &str) -> PlatformUser {
    PlatformUser { platform: "telegram".into(), account: "main".into(), user: user.into() }
}

fn request(user: &str, asked: i64) -> PairingRequest {
    PairingRequest {
        who: platform_user(user),
        name: "Ann".to_owned(),
        place: "chat".to_owned(),
        salt: [1; 16],
        code: [2; 32],
        asked_at: at(asked),
        expires_at: at(asked + 10),
    }
}

async fn commit(store: &AgentLease, command: IngressCommand) -> Option<i64> {
    let batch = vec![AgentCommand::Ingress(Box::new(command))];
    store.commit(batch).await.unwrap().kept()
}

/// Asks; again after five, and three may wait.
async fn ask(store: &AgentLease, request: PairingRequest) -> Option<PairingAsked> {
    let last_before = Timestamp::from_millis(request.asked_at.as_millis() - 5);
    let command = IngressCommand::AskPairing { request, last_before, waiting_max: 3 };
    let batch = vec![AgentCommand::Ingress(Box::new(command))];
    store.commit(batch).await.unwrap().asked()
}

async fn those_who_ask_wait_in_a_room_of_a_size(opener: &dyn Opener) {
    let store = opener.open("crowd").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    // A crowd at once: whoever comes first.
    let asks = |user| ask(&a, request(user, 20));
    let (one, two, three, four, five) =
        tokio::join!(asks("1"), asks("2"), asks("3"), asks("4"), asks("5"));
    let asked = [one, two, three, four, five];
    let count = |is| asked.iter().filter(|it| **it == Some(is)).count();
    assert_eq!((count(PairingAsked::Noted), count(PairingAsked::Full)), (3, 2));
    let waiting = a.pairing_requests().await.unwrap();
    assert_eq!(waiting.len(), 3);
    let first = &*waiting[0].who.user;
    // Those who wait may ask again after a while, and need no second place.
    assert_eq!(ask(&a, request(first, 24)).await, Some(PairingAsked::TooSoon));
    assert_eq!(ask(&a, request(first, 25)).await, Some(PairingAsked::Noted));
    // At another account of ours nobody waits.
    let mut elsewhere = request("7", 20);
    elsewhere.who.account = "second".into();
    assert_eq!(ask(&a, elsewhere).await, Some(PairingAsked::Noted));
    // What is good no longer takes no place: two of them were good until 30.
    assert_eq!(ask(&a, request("8", 29)).await, Some(PairingAsked::Full));
    assert_eq!(ask(&a, request("8", 30)).await, Some(PairingAsked::Noted));
    store.shutdown().await;
}

async fn who_was_let_in_is_durable(opener: &dyn Opener) {
    let store = opener.open("door").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(ask(&a, request("1", 5)).await, Some(PairingAsked::Noted));
    assert_eq!(ask(&a, request("2", 4)).await, Some(PairingAsked::Noted));
    let pairing =
        Pairing { who: platform_user("2"), name: "Bob".to_owned(), by: "x".into(), at: at(6) };
    commit(&a, IngressCommand::Pair(pairing.clone())).await;
    let joined = JoinedChat {
        platform: "telegram".into(),
        account: "main".into(),
        chat: "-100".into(),
        by: "telegram:1".into(),
        at: at(7),
    };
    commit(&a, IngressCommand::Join(joined.clone())).await;
    let tries = Tries { wrong: 3, until: at(9) };
    commit(&a, IngressCommand::PutTries { platform: "telegram".into(), tries }).await;
    store.shutdown().await;

    let store = opener.open("door").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    // What was answered is good no longer, and is known until they may ask again.
    let answered = PairingRequest { expires_at: at(4), ..request("2", 4) };
    assert_eq!(a.pairing_requests().await.unwrap(), [answered, request("1", 5)]);
    assert_eq!(a.pairings().await.unwrap(), [pairing]);
    assert_eq!(a.joined_chats().await.unwrap(), [joined]);
    assert_eq!(a.pairing_tries("telegram").await.unwrap(), Some(tries));
    assert_eq!(a.pairing_tries("matrix").await.unwrap(), None);
    assert_eq!(owner.agent(&agent("b")).pairings().await.unwrap(), []);
    let (platform, user) = ("telegram".into(), "2".into());
    commit(&a, IngressCommand::Unpair { platform, user }).await;
    commit(&a, IngressCommand::PrunePairings { before: at(16) }).await;
    let (platform, account, chat) = ("telegram".into(), "main".into(), "-100".into());
    commit(&a, IngressCommand::Leave { platform, account, chat }).await;
    assert_eq!(a.pairing_requests().await.unwrap(), []);
    assert_eq!(a.pairings().await.unwrap(), []);
    assert_eq!(a.joined_chats().await.unwrap(), []);
    store.shutdown().await;
}

fn event(key: &str) -> EventName {
    EventName { who: "telegram:main".into(), key: key.into() }
}

fn inbox(key: &str, session: &str, waits: bool) -> NewInbox {
    NewInbox {
        event: event(key),
        session: session.into(),
        chat: "c".into(),
        message: key.into(),
        sender: "telegram:1".into(),
        waits,
        at: at(1),
        content: format!("content of {key}"),
    }
}

async fn a_message_waits_once_and_survives(opener: &dyn Opener) {
    let store = opener.open("inbox").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let one = commit(&a, IngressCommand::Keep(inbox("1", "s", true))).await.unwrap();
    assert_eq!(commit(&a, IngressCommand::Keep(inbox("1", "s", true))).await, None);
    let two = commit(&a, IngressCommand::Keep(inbox("2", "s", true))).await.unwrap();
    assert!(two > one);
    commit(&a, IngressCommand::Note { event: event("3"), at: at(1) }).await;
    assert!(a.has_event(event("1")).await.unwrap() && a.has_event(event("3")).await.unwrap());
    assert!(!a.has_event(event("4")).await.unwrap());
    let edit = |sender: &str| IngressCommand::Edit {
        chat: "c".into(),
        message: "1".into(),
        sender: sender.into(),
        content: format!("edited by {sender}"),
    };
    commit(&a, edit("telegram:1")).await;
    commit(&a, edit("telegram:2")).await;
    store.shutdown().await;

    // Somebody has to find it, with the database closed.
    let store = opener.open("inbox").await;
    assert_eq!(store.daemon().busy().await.unwrap(), [agent("a")]);
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let waiting = a.inbox_waiting().await.unwrap();
    let texts: Vec<&str> = waiting.iter().map(|row| row.content.as_str()).collect();
    assert_eq!(texts, ["edited by telegram:1", "content of 2"]);
    let amend = |was: &str, content: &str| IngressCommand::Amend {
        row: two,
        was: was.into(),
        content: content.into(),
    };
    commit(&a, amend("content of 1", "wrong")).await;
    commit(&a, amend("content of 2", "heard")).await;
    commit(&a, amend("content of 2", "heard again")).await;
    assert_eq!(&*a.inbox_waiting().await.unwrap()[1].content, "heard", "as long as it reads so");
    let (chat, message) = ("c".into(), "2".into());
    commit(&a, IngressCommand::Withdraw { chat, message }).await;
    commit(&a, IngressCommand::Drop(vec![one, 99])).await;
    assert_eq!(a.inbox_waiting().await.unwrap(), []);
    assert_eq!(commit(&a, IngressCommand::Keep(inbox("2", "s", true))).await, None);
    let huge = NewInbox { content: "x".repeat(INBOX_BYTES_MAX + 1), ..inbox("5", "s", true) };
    let refused = a.commit(vec![AgentCommand::Ingress(Box::new(IngressCommand::Keep(huge)))]).await;
    assert!(matches!(refused, Err(StoreError::TooLong { .. })));
    commit(&a, IngressCommand::PruneEvents { before: at(2) }).await;
    assert!(!a.has_event(event("1")).await.unwrap());
    store.shutdown().await;
}

async fn context_is_bounded_and_belongs_to_its_conversation(opener: &dyn Opener) {
    let store = opener.open("context").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let count = usize::try_from(CONTEXT_ROWS_MAX).unwrap();
    for number in 0..count + 5 {
        let kept = inbox(&format!("n{number}"), "s", false);
        commit(&a, IngressCommand::Keep(kept)).await;
    }
    commit(&a, IngressCommand::Keep(inbox("other", "t", false))).await;
    let all = a.inbox_context("s", 1_000).await.unwrap();
    assert_eq!((all.len(), &*all[0].content), (count, "content of n5"));
    let few = a.inbox_context("s", 2).await.unwrap();
    assert_eq!(few.len(), 2);
    assert_eq!(few[1].content, format!("content of n{}", count + 4));
    assert_eq!(a.inbox_context("t", 9).await.unwrap().len(), 1);
    assert_eq!(a.inbox_waiting().await.unwrap(), []);
    store.shutdown().await;
}

async fn an_event_can_be_given_to_another_agent(opener: &dyn Opener) {
    let store = opener.open("moved").await;
    let owner = store.claim("suite").await.unwrap();
    let account =
        owner.account(Platform::new("telegram").unwrap(), &AccountId::new("main").unwrap());
    assert_eq!(account.owner_of("1").await.unwrap(), None);
    account.reserve("1", &agent("a")).await.unwrap();
    account.give("1", &agent("b")).await.unwrap();
    assert_eq!(account.owner_of("1").await.unwrap(), Some(agent("b")));
    store.shutdown().await;
}
