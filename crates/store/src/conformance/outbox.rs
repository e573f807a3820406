//! What a backend owes about the outbox.

use super::sample::*;
use super::{Opener, agent};
use crate::outbox::DELIVERY_TEXT_BYTES_MAX;
use crate::{
    Accept, Accepted, AgentCommand, AgentLease, Arrival, Conclude, Content, Delivery,
    DeliveryDestination, DeliveryId, DeliveryState, Doubt, Enqueue, Flush, Lane, LeaseHolder,
    NewButton, OutboxCommand, Provisional, Rest, SentPart, SessionId, Store, StoreError, Tried,
    TurnId, TurnOutcome, Usage,
};
use insula_world::Timestamp;

/// Runs every check.
pub(super) async fn run(opener: &dyn Opener) {
    the_end_of_a_turn_becomes_a_delivery(opener).await;
    a_chat_keeps_its_order_and_no_other_waits(opener).await;
    a_delivery_goes_through_its_states(opener).await;
    since_when_a_platform_may_have_it_is_known_after_a_crash(opener).await;
    what_was_shown_before_stays_known(opener).await;
    something_is_put_in_once_by_its_name(opener).await;
    an_agent_with_something_to_deliver_is_looked_at(opener).await;
    a_forgotten_session_takes_its_deliveries_along(opener).await;
    what_is_over_is_pruned(opener).await;
}

fn to(chat: &str) -> DeliveryDestination {
    let lane = Lane { platform: "telegram".into(), account: "main".into(), chat: chat.into() };
    DeliveryDestination {
        lane,
        chat_type: "group".into(),
        topic: Some("7".into()),
        reply_to: Some("41".into()),
    }
}

async fn change(a: &AgentLease, change: OutboxCommand) {
    a.commit(vec![AgentCommand::Outbox(change)]).await.unwrap();
}

async fn accepted(a: &AgentLease, key: &str, chat: &str) -> Accepted {
    let accept = Accept {
        session: opening(key),
        message: said("ping"),
        idempotency: None,
        origin: Some(to(chat)),
        arrival: Arrival::default(),
        flush: Flush::Now,
    };
    let accept = AgentCommand::Accept(Box::new(accept));
    a.commit(vec![accept]).await.unwrap().accepted().unwrap()
}

fn put(chat: &str, text: &str, name: Option<&str>) -> Enqueue {
    Enqueue {
        session: None,
        turn: None,
        to: to(chat),
        text: text.to_owned(),
        name: name.map(Into::into),
        buttons: Vec::new(),
        at: at(5),
    }
}

async fn enqueue(a: &AgentLease, new: Enqueue) -> DeliveryId {
    let put = AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(new)));
    a.commit(vec![put]).await.unwrap().enqueued().unwrap()
}

async fn get(a: &AgentLease, id: DeliveryId) -> Delivery {
    a.delivery(id).await.unwrap().unwrap()
}

async fn again(opener: &dyn Opener, store: Store, place: &str) -> (Store, LeaseHolder, AgentLease) {
    store.shutdown().await;
    let store = opener.open(place).await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    (store, owner, a)
}

async fn the_end_of_a_turn_becomes_a_delivery(opener: &dyn Opener) {
    let store = opener.open("outbox").await;
    let owner = store.claim("suite").await.unwrap();
    let (a, b) = (owner.agent(&agent("a")), owner.agent(&agent("b")));
    let turn = accepted(&a, "k", "c").await;
    let other = accepted(&b, "k", "c").await;
    assert_eq!(a.deliveries(None, 9).await.unwrap(), []);
    let origins = a.origins(TurnId(0), 9).await.unwrap();
    assert_eq!(origins.len(), 1);
    let origin = &origins[0];
    assert_eq!((origin.turn, origin.session), (turn.turn(), turn.session()));
    assert_eq!((&*origin.key, &origin.to), ("k", &to("c")));
    assert_eq!(a.origins(turn.turn(), 9).await.unwrap(), []);
    let reply = a.commit(vec![conclude(turn.turn(), "pong")]).await.unwrap().reply();
    b.commit(vec![conclude(other.turn(), "pong")]).await.unwrap();
    let quiet = take(&a, "k", "nobody waits").await;
    a.commit(vec![conclude(quiet.turn(), "so")]).await.unwrap();

    let (store, owner, a) = again(opener, store, "outbox").await;
    let found = a.deliveries(None, 9).await.unwrap();
    assert_eq!(found.len(), 1);
    let expected = Delivery {
        id: DeliveryId(1),
        session: Some(turn.session()),
        turn: Some(turn.turn()),
        to: to("c"),
        content: Content::Message(reply.unwrap()),
        key: found[0].key,
        provisional: Provisional::None,
        name: None,
        state: DeliveryState::Waiting,
        attempts: 0,
        doubts: 0,
        tried_at: None,
        next_at: at(2),
        why: None,
        sent: Vec::new(),
        queued_at: at(2),
        changed_at: at(2),
    };
    assert_eq!(found[0], expected);
    assert_eq!(a.origins(TurnId(0), 9).await.unwrap(), []);
    // The same turn of another agent has another key.
    let theirs = owner.agent(&agent("b")).deliveries(None, 9).await.unwrap();
    assert_ne!(theirs[0].key, found[0].key);

    for outcome in [TurnOutcome::Stopped, TurnOutcome::Failed { error: "no".to_owned() }] {
        let turn = accepted(&a, "k", "c").await.turn();
        let end =
            Conclude { turn, messages: Vec::new(), usage: Usage::default(), outcome, at: at(3) };
        a.commit(vec![AgentCommand::Conclude(Box::new(end))]).await.unwrap();
        let found = a.deliveries(None, 1).await.unwrap();
        assert_eq!((found[0].turn, &found[0].content), (Some(turn), &Content::TurnEnd));
    }
    store.shutdown().await;
}

async fn a_chat_keeps_its_order_and_no_other_waits(opener: &dyn Opener) {
    let store = opener.open("lanes").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let mut ids = Vec::new();
    for chat in ["b", "a", "b", "c", "a"] {
        ids.push(enqueue(&a, put(chat, chat, None)).await);
    }
    let heads = async |after: Option<&str>, limit| -> Vec<DeliveryId> {
        let after = after.map(|chat| to(chat).lane);
        a.delivery_heads(after, limit).await.unwrap().iter().map(|it| it.id).collect()
    };
    assert_eq!(heads(None, 9).await, [ids[1], ids[0], ids[3]]);
    assert_eq!(heads(None, 2).await, [ids[1], ids[0]]);
    assert_eq!(heads(Some("b"), 9).await, [ids[3]]);
    let later = put_off(ids[0], at(99), Tried::Now, at(6));
    change(&a, later).await;
    // One that has to wait is not overtaken.
    assert_eq!(heads(Some("a"), 1).await, [ids[0]]);
    let head = async |chat| a.delivery_head(to(chat).lane).await.unwrap().map(|it| it.id);
    assert_eq!(head("b").await, Some(ids[0]));
    let failed = OutboxCommand::Failed { id: ids[0], why: "gone".to_owned(), at: at(7) };
    change(&a, failed).await;
    // Put off once, and then refused.
    assert_eq!(a.delivery(ids[0]).await.unwrap().unwrap().attempts, 2);
    assert_eq!(head("b").await, Some(ids[2]));
    assert_eq!(head("nowhere").await, None);
    assert_eq!(a.next_delivery().await.unwrap(), Some(at(5)));
    let listed: Vec<_> = a.deliveries(Some(ids[3]), 2).await.unwrap();
    assert_eq!(listed.iter().map(|it| it.id).collect::<Vec<_>>(), [ids[2], ids[1]]);
    store.shutdown().await;
}

async fn a_delivery_goes_through_its_states(opener: &dyn Opener) {
    use DeliveryState as Is;
    let store = opener.open("states").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let id = enqueue(&a, put("c", "long", None)).await;
    let part = |name: &str, upto| Some(SentPart { message: name.into(), upto });
    change(&a, OutboxCommand::Begun { id, at: at(6) }).await;

    let (store, _, a) = again(opener, store, "states").await;
    assert_eq!(get(&a, id).await.state, Is::Sending);
    change(&a, OutboxCommand::Waits { id, why: "away".to_owned(), at: at(6) }).await;
    let now = get(&a, id).await;
    assert_eq!((now.state, now.attempts, now.why.as_deref()), (Is::Sending, 0, Some("away")));
    let sent = |part, rest| OutboxCommand::Sent { id, part, rest, at: at(7) };
    change(&a, sent(part("m1", 2), Rest::More)).await;
    let now = get(&a, id).await;
    assert_eq!((now.state, now.sent.len()), (Is::Waiting, 1));
    change(&a, OutboxCommand::Begun { id, at: at(8) }).await;
    let doubt = |then| OutboxCommand::InDoubt { id, then, why: "cut".to_owned(), at: at(9) };
    change(&a, doubt(Doubt::Resend)).await;
    let now = get(&a, id).await;
    assert_eq!((now.state, now.doubts, now.why.as_deref()), (Is::Uncertain, 1, Some("cut")));
    // Put off, it is in doubt all the same.
    let until = at(50);
    change(&a, put_off(id, until, Tried::Now, at(9))).await;
    let now = get(&a, id).await;
    assert_eq!((now.state, now.attempts, now.next_at), (Is::Uncertain, 1, until));
    change(&a, doubt(Doubt::Hold)).await;
    assert_eq!(get(&a, id).await.state, Is::Held);
    assert_eq!(a.delivery_head(to("c").lane).await.unwrap(), None);
    let begun = AgentCommand::Outbox(OutboxCommand::Begun { id, at: at(10) });
    let refused = a.commit(vec![begun]).await;
    assert!(matches!(refused, Err(StoreError::NoDelivery { .. })), "{refused:?}");

    change(&a, OutboxCommand::Resend { id, at: at(11) }).await;
    let now = get(&a, id).await;
    assert_eq!((now.state, now.attempts, now.doubts, now.next_at), (Is::Uncertain, 0, 2, at(11)));
    change(&a, sent(part("m2", 4), Rest::Nothing)).await;
    let now = get(&a, id).await;
    assert_eq!((now.state, now.doubts, now.why), (Is::Sent, 0, None));
    let names: Vec<_> = now.sent.iter().map(|it| (&*it.message, it.upto)).collect();
    assert_eq!(names, [("m1", 2), ("m2", 4)]);
    assert_eq!(a.deliveries(None, 9).await.unwrap(), []);
    for over in [
        OutboxCommand::Resend { id, at: at(12) },
        OutboxCommand::Drop { id, instead: None, at: at(12) },
    ] {
        let refused = a.commit(vec![AgentCommand::Outbox(over)]).await;
        assert!(matches!(refused, Err(StoreError::NoDelivery { .. })), "{refused:?}");
    }
    let dropped = enqueue(&a, put("c", "not wanted", None)).await;
    change(&a, OutboxCommand::Drop { id: dropped, instead: Some("gone".to_owned()), at: at(12) })
        .await;
    assert_eq!(a.delivery(dropped).await.unwrap(), None);
    // Its number is not given again, and what comes late for it is no error.
    assert!(enqueue(&a, put("c", "wanted", None)).await > dropped);
    let late =
        OutboxCommand::Sent { id: dropped, part: part("m3", 1), rest: Rest::Nothing, at: at(12) };
    change(&a, late).await;
    assert_eq!(a.delivery(dropped).await.unwrap(), None);
    let long = put("c", &"x".repeat(DELIVERY_TEXT_BYTES_MAX + 1), None);
    let long = AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(long)));
    assert!(matches!(a.commit(vec![long]).await, Err(StoreError::TooLong { .. })));
    store.shutdown().await;
}

fn put_off(id: DeliveryId, until: Timestamp, tried: Tried, at: Timestamp) -> OutboxCommand {
    OutboxCommand::PutOff { id, until, why: "busy".to_owned(), tried, at }
}

async fn since_when_a_platform_may_have_it_is_known_after_a_crash(opener: &dyn Opener) {
    let store = opener.open("tried").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let id = enqueue(&a, put("c", "text", None)).await;
    assert_eq!(get(&a, id).await.tried_at, None);
    change(&a, OutboxCommand::Begun { id, at: at(6) }).await;
    let (store, _, a) = again(opener, store, "tried").await;
    assert_eq!(get(&a, id).await.tried_at, Some(at(6)));
    // The first try counts, until it is known that none arrived.
    change(&a, OutboxCommand::Begun { id, at: at(8) }).await;
    change(&a, put_off(id, at(9), Tried::Now, at(9))).await;
    assert_eq!(get(&a, id).await.tried_at, Some(at(6)));
    change(&a, OutboxCommand::Begun { id, at: at(10) }).await;
    change(&a, put_off(id, at(11), Tried::AsBefore(Some(at(6))), at(11))).await;
    assert_eq!(get(&a, id).await.tried_at, Some(at(6)));
    change(&a, put_off(id, at(11), Tried::AsBefore(None), at(11))).await;
    assert_eq!(get(&a, id).await.tried_at, None);
    for over in [
        OutboxCommand::InDoubt { id, then: Doubt::Resend, why: "cut".to_owned(), at: at(13) },
        OutboxCommand::Sent { id, part: None, rest: Rest::More, at: at(13) },
    ] {
        change(&a, OutboxCommand::Begun { id, at: at(12) }).await;
        assert_eq!(get(&a, id).await.tried_at, Some(at(12)));
        change(&a, over).await;
        assert_eq!(get(&a, id).await.tried_at, None);
    }

    // The same for what is shown of a reply, also when it becomes the reply.
    let turn = accepted(&a, "k", "c").await.turn();
    for time in [20, 22] {
        change(&a, OutboxCommand::ProvisionalBegun { turn, at: at(time) }).await;
    }
    let origin = a.origins(TurnId(turn.0 - 1), 1).await.unwrap().remove(0);
    assert_eq!(origin.tried_at, Some(at(20)));
    a.commit(vec![conclude(turn, "pong")]).await.unwrap();
    let reply = a.deliveries(None, 1).await.unwrap().remove(0);
    assert_eq!((reply.turn, reply.tried_at), (Some(turn), Some(at(20))));
    let shown = OutboxCommand::ProvisionalShown { turn, message: Some("m".into()) };
    change(&a, shown).await;
    assert_eq!(get(&a, reply.id).await.tried_at, None);
    store.shutdown().await;
}

async fn what_was_shown_before_stays_known(opener: &dyn Opener) {
    let store = opener.open("shown").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let shown = |turn, message: Option<&str>| OutboxCommand::ProvisionalShown {
        turn,
        message: message.map(Into::into),
    };
    let newest = async |a: &AgentLease| a.deliveries(None, 1).await.unwrap().remove(0);

    let turn = accepted(&a, "k", "c").await.turn();
    change(&a, OutboxCommand::ProvisionalBegun { turn, at: at(5) }).await;
    change(&a, shown(turn, Some("m1"))).await;
    a.commit(vec![conclude(turn, "pong")]).await.unwrap();
    let first = newest(&a).await;
    assert_eq!(first.provisional, Provisional::Shown("m1".into()));
    change(&a, OutboxCommand::ProvisionalLost { id: first.id }).await;
    assert_eq!(newest(&a).await.provisional, Provisional::None);

    // The turn ends between the request and what became of it.
    let turn = accepted(&a, "k", "c").await.turn();
    change(&a, OutboxCommand::ProvisionalBegun { turn, at: at(5) }).await;
    a.commit(vec![conclude(turn, "pong")]).await.unwrap();
    let (store, _, a) = again(opener, store, "shown").await;
    assert_eq!(newest(&a).await.provisional, Provisional::Begun);
    change(&a, shown(turn, Some("m2"))).await;
    assert_eq!(newest(&a).await.provisional, Provisional::Shown("m2".into()));
    // Once it is over nothing more is begun.
    let begun = AgentCommand::Outbox(OutboxCommand::ProvisionalBegun { turn, at: at(5) });
    let refused = a.commit(vec![begun]).await;
    assert!(matches!(refused, Err(StoreError::NoDelivery { .. })), "{refused:?}");

    let turn = accepted(&a, "k", "c").await.turn();
    change(&a, OutboxCommand::ProvisionalBegun { turn, at: at(5) }).await;
    change(&a, shown(turn, None)).await;
    a.commit(vec![conclude(turn, "pong")]).await.unwrap();
    assert_eq!(newest(&a).await.provisional, Provisional::None);

    // Dropped, what was shown of it is to say so, once; and what was not shown is gone.
    let turn = accepted(&a, "k", "c").await.turn();
    change(&a, OutboxCommand::ProvisionalBegun { turn, at: at(5) }).await;
    change(&a, shown(turn, Some("m3"))).await;
    a.commit(vec![conclude(turn, "pong")]).await.unwrap();
    let id = newest(&a).await.id;
    let why = "no".to_owned();
    change(&a, OutboxCommand::InDoubt { id, then: Doubt::Hold, why, at: at(9) }).await;
    let drop = || OutboxCommand::Drop { id, instead: Some("gone".to_owned()), at: at(10) };
    change(&a, drop()).await;
    let left = get(&a, id).await;
    assert_eq!(left.content, Content::Text("gone".to_owned()));
    assert_eq!(left.provisional, Provisional::Shown("m3".into()));
    assert_eq!((left.state, left.doubts, left.next_at), (DeliveryState::Waiting, 0, at(10)));
    change(&a, drop()).await;
    assert_eq!(a.delivery(id).await.unwrap(), None);
    store.shutdown().await;
}

fn button(data: &str) -> NewButton {
    NewButton { data: data.into(), label: "Yes".into(), meaning: "approve".into() }
}

async fn something_is_put_in_once_by_its_name(opener: &dyn Opener) {
    let store = opener.open("named").await;
    let owner = store.claim("suite").await.unwrap();
    let (a, b) = (owner.agent(&agent("a")), owner.agent(&agent("b")));
    let new = Enqueue { buttons: vec![button("x1")], ..put("c", "may I?", Some("question")) };
    let id = enqueue(&a, new.clone()).await;
    let repeated = Enqueue { text: "again".to_owned(), buttons: vec![button("x2")], ..new };
    assert_eq!(enqueue(&a, repeated).await, id);
    let found = a.delivery_named("question").await.unwrap().unwrap();
    assert_eq!((found.id, found.content), (id, Content::Text("may I?".to_owned())));
    assert_eq!(a.delivery_named("another").await.unwrap(), None);
    for (begin, count) in [("quest", 1), ("question", 1), ("question:", 0), ("r", 0)] {
        assert_eq!(a.deliveries_named(begin).await.unwrap().len(), count, "{begin}");
    }
    assert!(b.deliveries_named("quest").await.unwrap().is_empty());
    let pressed = a.button("x1").await.unwrap().unwrap();
    assert_eq!((pressed.delivery, pressed.button), (id, button("x1")));
    assert_eq!(a.button("x2").await.unwrap(), None);
    assert_eq!(b.button("x1").await.unwrap(), None);
    let more = OutboxCommand::Buttons { id, buttons: vec![button("x3")] };
    change(&a, more).await;
    assert_eq!(a.buttons_of(id).await.unwrap(), [button("x1")]);
    let plain = enqueue(&a, put("c", "which?", None)).await;
    let more = OutboxCommand::Buttons { id: plain, buttons: vec![button("x4"), button("x5")] };
    change(&a, more).await;
    assert_eq!(a.buttons_of(plain).await.unwrap(), [button("x4"), button("x5")]);
    store.shutdown().await;
}

async fn an_agent_with_something_to_deliver_is_looked_at(opener: &dyn Opener) {
    let store = opener.open("undelivered").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let id = enqueue(&a, put("c", "hello", None)).await;
    let (store, _, a) = again(opener, store, "undelivered").await;
    assert_eq!(store.daemon().busy().await.unwrap(), [agent("a")]);
    let sent = OutboxCommand::Sent { id, part: None, rest: Rest::Nothing, at: at(6) };
    change(&a, sent).await;
    let (store, ..) = again(opener, store, "undelivered").await;
    assert_eq!(store.daemon().busy().await.unwrap(), []);
    store.shutdown().await;
}

async fn a_forgotten_session_takes_its_deliveries_along(opener: &dyn Opener) {
    let store = opener.open("forgotten-deliveries").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let turn = accepted(&a, "k", "c").await;
    a.commit(vec![conclude(turn.turn(), "pong")]).await.unwrap();
    let session: SessionId = turn.session();
    let open = accepted(&a, "k", "c").await;
    assert_eq!(open.session(), session);
    let mine =
        Enqueue { session: Some(session), buttons: vec![button("x1")], ..put("c", "may I?", None) };
    let id = enqueue(&a, mine).await;
    let other = enqueue(&a, put("c", "of nobody", None)).await;
    a.commit(vec![AgentCommand::ForgetSession { session, at: at(9) }]).await.unwrap();
    let left: Vec<_> = a.deliveries(None, 9).await.unwrap().iter().map(|it| it.id).collect();
    assert_eq!(left, [other]);
    assert_eq!(a.origins(TurnId(0), 9).await.unwrap(), []);
    assert_eq!(a.button("x1").await.unwrap(), None);
    // What is on its way then is not sent.
    let begun = AgentCommand::Outbox(OutboxCommand::Begun { id, at: at(10) });
    let refused = a.commit(vec![begun]).await;
    assert!(matches!(refused, Err(StoreError::NoDelivery { .. })), "{refused:?}");
    store.shutdown().await;
}

async fn what_is_over_is_pruned(opener: &dyn Opener) {
    let store = opener.open("pruned").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let mut ids = Vec::new();
    for text in ["sent", "failed", "held", "waits", "sent later"] {
        ids.push(enqueue(&a, put(text, text, None)).await);
    }
    let part = Some(SentPart { message: "m".into(), upto: 4 });
    let rest = Rest::Nothing;
    change(&a, OutboxCommand::Sent { id: ids[0], part, rest, at: at(6) }).await;
    let why = String::new;
    change(&a, OutboxCommand::Failed { id: ids[1], why: why(), at: at(6) }).await;
    let (id, then) = (ids[2], Doubt::Hold);
    change(&a, OutboxCommand::InDoubt { id, then, why: why(), at: at(6) }).await;
    change(&a, OutboxCommand::Sent { id: ids[4], part: None, rest, at: at(8) }).await;
    change(&a, OutboxCommand::Prune { before: at(7) }).await;
    let mut left = Vec::new();
    for id in &ids {
        left.push(a.delivery(*id).await.unwrap().is_some());
    }
    assert_eq!(left, [false, false, true, true, true]);
    store.shutdown().await;
}
