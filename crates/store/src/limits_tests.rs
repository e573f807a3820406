//! Every text and list that a command carries has a limit: what is exactly as long passes, and
//! one more is refused by the name of what it is.

use super::*;
use crate::approval::{Approval, ApprovalDecision, Grant};
use crate::conformance::{entry, sample};
use crate::id::{SessionId, TurnId};
use crate::ingress::{
    EventName, INBOX_BYTES_MAX, INGRESS_NAME_BYTES_MAX, IngressCommand, JoinedChat, NewInbox,
    Pairing, PairingRequest, PlatformUser, Tries,
};
use crate::memory::{FragmentId, Frozen, MemoryList, MemorySource, NewFragment};
use crate::outbox::{DeliveryId, Doubt, Enqueue, Lane, Rest, SentPart, Tried};
use crate::turn::{Accept, Conclude, Join};
use insula_world::Timestamp;

/// What is limited, how much of it is accepted, and a command with so much of it.
type Row = (&'static str, usize, Box<dyn Fn(usize) -> AgentCommand>);

const AT: Timestamp = Timestamp::from_millis(1_794_708_747_004);

fn row(what: &'static str, max: usize, command: impl Fn(usize) -> AgentCommand + 'static) -> Row {
    (what, max, Box::new(command))
}

/// A scope whose text is so long: what is encoded makes it longer than the name it is made of.
fn scope(bytes: usize) -> insula_domain::ScopeName {
    let encoded = if bytes > 500 { 300 } else { 0 };
    let plain = "x".repeat(bytes - "custom:".len() - encoded * "%3A".len());
    format!("custom:{}{plain}", "%3A".repeat(encoded)).parse().unwrap()
}

fn text(len: usize) -> String {
    "x".repeat(len)
}

fn name(len: usize) -> Box<str> {
    text(len).into()
}

fn check_all(rows: Vec<Row>) {
    for (at, (what, max, command)) in rows.into_iter().enumerate() {
        let one = |len: usize| check(&[command(len)]);
        assert!(one(max).is_ok(), "row {at}, {what}: {:?}", one(max));
        match one(max + 1) {
            Err(StoreError::TooLong { what: told, len, max: most }) => {
                assert_eq!((told, len, most), (what, max + 1, max), "row {at}");
            }
            other => panic!("row {at}, {what}: {other:?}"),
        }
    }
}

fn append(change: impl FnOnce(&mut NewMessage)) -> AgentCommand {
    let mut message = sample::said("hello");
    change(&mut message);
    AgentCommand::Append { session: SessionRef::Id(SessionId(1)), messages: vec![message] }
}

fn accept(change: impl FnOnce(&mut Accept)) -> AgentCommand {
    let mut accept = match sample::accept_keyed("k", "hello", "api:1", "one") {
        AgentCommand::Accept(accept) => accept,
        other => panic!("{other:?}"),
    };
    change(&mut accept);
    AgentCommand::Accept(accept)
}

fn destination_of(change: impl FnOnce(&mut DeliveryDestination)) -> DeliveryDestination {
    let lane = Lane { platform: "p".into(), account: "a".into(), chat: "c".into() };
    let mut to = DeliveryDestination {
        lane,
        chat_type: "group".into(),
        topic: Some("t".into()),
        reply_to: Some("r".into()),
    };
    change(&mut to);
    to
}

fn enqueue(change: impl FnOnce(&mut Enqueue)) -> AgentCommand {
    let mut new = Enqueue {
        session: None,
        turn: None,
        to: destination_of(|_| ()),
        text: "hello".to_owned(),
        name: Some("one".into()),
        buttons: Vec::new(),
        at: AT,
    };
    change(&mut new);
    AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(new)))
}

fn origin_of(change: impl FnOnce(&mut MemoryOrigin)) -> MemoryOrigin {
    let mut origin = MemoryOrigin {
        source: MemorySource::Tool,
        principal: "telegram:1".into(),
        platform: "telegram".into(),
        session: None,
        message: None,
        call: Some("call".into()),
        generation: 3,
        at: AT,
        approved_by: None,
        label: Some("private".into()),
    };
    change(&mut origin);
    origin
}

fn learn(change: impl FnOnce(&mut Remember)) -> AgentCommand {
    let mut new = Remember {
        scope: "custom:1".parse().unwrap(),
        target: MemoryList::Memory,
        expects: Vec::new(),
        entries: Vec::new(),
        origin: origin_of(|_| ()),
        digest: [0; 32],
    };
    change(&mut new);
    AgentCommand::Remember(Box::new(new))
}

fn fragment(text: String, parents: Vec<FragmentId>) -> MemoryEntry {
    MemoryEntry::New(NewFragment { text, blocked: None, parents })
}

fn forget(fragments: usize, origin: MemoryOrigin) -> AgentCommand {
    let fragments = vec![FragmentId(1); fragments];
    AgentCommand::ForgetMemory { fragments, origin: Box::new(origin) }
}

fn step(step: NewStep) -> AgentCommand {
    AgentCommand::Step { turn: TurnId(1), step: Box::new(step) }
}

fn reference(len: usize) -> SessionRef {
    SessionRef::Key(text(len).into())
}

#[test]
fn sessions_and_messages_are_bounded() {
    check_all(vec![
        row("a session key", NAME_BYTES_MAX, |n| {
            AgentCommand::OpenSession(OpenSession { key: text(n).into(), ..sample::opening("k") })
        }),
        row("a scope", NAME_BYTES_MAX, |n| accept(|it| it.session.scope = scope(n))),
        row("a label", NAME_BYTES_MAX, |n| accept(|it| it.session.label = text(n).into())),
        row("a title", TITLE_BYTES_MAX, |n| AgentCommand::TitleSession {
            session: SessionRef::Id(SessionId(1)),
            title: Some(text(n)),
        }),
        row("a session key", NAME_BYTES_MAX, |n| AgentCommand::TitleSession {
            session: reference(n),
            title: None,
        }),
        row("a session key", NAME_BYTES_MAX, |n| AgentCommand::EndSession {
            session: reference(n),
            at: AT,
        }),
        row("a session key", NAME_BYTES_MAX, |n| AgentCommand::SummariseSession {
            session: reference(n),
            summary: None,
        }),
        row("a session key", NAME_BYTES_MAX, |n| AgentCommand::TouchSession {
            session: reference(n),
            at: AT,
        }),
        row("the name of a model", NAME_BYTES_MAX, |n| AgentCommand::ChooseModel {
            session: reference(1),
            model: Some(text(n).into()),
        }),
        row("a session key", NAME_BYTES_MAX, |n| AgentCommand::Append {
            session: reference(n),
            messages: Vec::new(),
        }),
        row("a list of messages", MESSAGES_AT_ONCE_MAX, |n| AgentCommand::Append {
            session: SessionRef::Id(SessionId(1)),
            messages: vec![sample::said("x"); n],
        }),
        row("a list of messages", MESSAGES_AT_ONCE_MAX, |n| {
            AgentCommand::Beside(vec![sample::said("x"); n])
        }),
        row("the list of parts of a message", PARTS_MAX, |n| {
            append(|it| it.parts = vec![crate::Part::Text(String::new()); n])
        }),
        row("a message", MESSAGE_BYTES_MAX, |n| {
            append(|it| it.parts = sample::said(&text(n)).parts)
        }),
        row("a principal", NAME_BYTES_MAX, |n| append(|it| it.principal = text(n).into())),
        row("a scope", NAME_BYTES_MAX, |n| append(|it| it.scope = scope(n))),
        row("a label", NAME_BYTES_MAX, |n| append(|it| it.label = text(n).into())),
    ]);
}

#[test]
fn turns_are_bounded() {
    let conclude = |change: &dyn Fn(&mut Conclude)| {
        let mut conclude = Conclude {
            turn: TurnId(1),
            messages: Vec::new(),
            usage: sample::usage(1),
            outcome: TurnOutcome::Stopped,
            at: AT,
        };
        change(&mut conclude);
        AgentCommand::Conclude(Box::new(conclude))
    };
    let usage_max = usize::try_from(USAGE_VALUE_MAX).unwrap();
    let usage = |of: fn(&mut Usage) -> &mut u64, n: usize| {
        let mut usage = sample::usage(1);
        *of(&mut usage) = n as u64;
        usage
    };
    check_all(vec![
        row("the owner of an idempotency key", IDEMPOTENCY_BYTES_MAX, |n| {
            accept(|it| it.idempotency.as_mut().unwrap().who = name(n))
        }),
        row("an idempotency key", IDEMPOTENCY_BYTES_MAX, |n| {
            accept(|it| it.idempotency.as_mut().unwrap().key = name(n))
        }),
        row("an idempotency key", IDEMPOTENCY_BYTES_MAX, |n| {
            let (who, key) = ("api:1".into(), name(n));
            let idempotency = Some(IdempotencyKey { who, key, request: [7; 32] });
            let (turn, message) = (TurnId(1), sample::said("x"));
            AgentCommand::Join(Box::new(Join { turn, message, idempotency }))
        }),
        row("a destination", NAME_BYTES_MAX, |n| {
            accept(|it| it.origin = Some(destination_of(|to| to.lane.chat = name(n))))
        }),
        row("a principal", NAME_BYTES_MAX, |n| accept(|it| it.message.principal = text(n).into())),
        row("the error of a turn", TURN_ERROR_BYTES_MAX, move |n| {
            conclude(&|it| it.outcome = TurnOutcome::Failed { error: text(n) })
        }),
        row("a list of messages", MESSAGES_AT_ONCE_MAX, move |n| {
            conclude(&|it| it.messages = vec![sample::said("x"); n])
        }),
        row("the usage of a turn", usage_max, move |n| {
            conclude(&|it| it.usage = usage(|it| &mut it.input, n))
        }),
        row("the usage of a turn", usage_max, move |n| {
            let message = sample::replied("x");
            step(NewStep::Answered { message, usage: usage(|it| &mut it.output, n) })
        }),
        row("the usage of a turn", usage_max, move |n| {
            step(NewStep::Spent { usage: usage(|it| &mut it.cost_micros, n), at: AT })
        }),
        row("a message", MESSAGE_BYTES_MAX, |n| {
            step(NewStep::Answered { message: sample::replied(&text(n)), usage: sample::usage(1) })
        }),
        row("the id of a tool call", CALL_NAME_BYTES_MAX, |n| {
            step(NewStep::CallBegun { call: name(n), name: "todo".into(), at: AT })
        }),
        row("the name of a tool", CALL_NAME_BYTES_MAX, |n| {
            step(NewStep::CallBegun { call: "1".into(), name: name(n), at: AT })
        }),
        row("the id of a tool call", CALL_NAME_BYTES_MAX, |n| {
            step(NewStep::CallEnded { call: name(n), message: sample::said("x") })
        }),
        row("a message", MESSAGE_BYTES_MAX, |n| {
            step(NewStep::CallEnded { call: "1".into(), message: sample::said(&text(n)) })
        }),
    ]);
}

#[test]
fn records_and_approvals_are_bounded() {
    let approval = |what: String, call: Box<str>| {
        AgentCommand::AskApproval(Box::new(Approval {
            id: "1".into(),
            turn: TurnId(1),
            session: SessionId(1),
            call,
            tool: "terminal".into(),
            invocation: [0; 32],
            rule: "network".into(),
            what,
            principal: "telegram:1".into(),
            asked_at: AT,
            expires_at: AT,
        }))
    };
    let settled = |what: String| {
        let grant = Grant {
            id: "1".into(),
            invocation: [0; 32],
            session: None,
            by: "telegram:1".into(),
            at: AT,
            tool: "terminal".into(),
            rule: "network".into(),
            what,
            asked_in: SessionId(1),
        };
        AgentCommand::SettleApproval {
            id: "1".into(),
            decision: ApprovalDecision::TimedOut,
            grant: Some(grant),
        }
    };
    check_all(vec![
        row("the actor of an audit record", AUDIT_NAME_BYTES_MAX, |n| {
            AgentCommand::Audit(AuditEntry { actor: text(n).into(), ..entry("x") })
        }),
        row("the kind of an audit record", AUDIT_NAME_BYTES_MAX, |n| {
            AgentCommand::Audit(AuditEntry { kind: name(n), ..entry("x") })
        }),
        row("the content of an audit record", AUDIT_CONTENT_BYTES_MAX, |n| {
            AgentCommand::Audit(AuditEntry { content: text(n), ..entry("x") })
        }),
        row("what an approval is about", APPROVAL_BYTES_MAX, move |n| {
            approval(text(n), "1".into())
        }),
        row("the call of an approval", CALL_NAME_BYTES_MAX, move |n| {
            approval("x".to_owned(), name(n))
        }),
        row("what a grant is about", APPROVAL_BYTES_MAX, move |n| settled(text(n))),
    ]);
}

#[test]
fn memory_is_bounded() {
    let freeze = |chain: usize, label: usize, block: usize| AgentCommand::FreezeMemory {
        session: SessionId(1),
        chain: name(chain),
        block: Frozen { text: text(block), label: Some(name(label)) },
    };
    check_all(vec![
        row("a scope", NAME_BYTES_MAX, |n| learn(|it| it.scope = scope(n))),
        row("a list of fragments", FRAGMENTS_MAX, |n| {
            learn(|it| it.entries = vec![MemoryEntry::Keep(FragmentId(1)); n])
        }),
        row("a fragment of memory", FRAGMENT_BYTES_MAX, |n| {
            learn(|it| it.entries = vec![fragment(text(n), Vec::new())])
        }),
        row("a list of fragments", FRAGMENTS_MAX, |n| {
            learn(|it| it.entries = vec![fragment("x".to_owned(), vec![FragmentId(1); n])])
        }),
        row("a principal", NAME_BYTES_MAX, |n| {
            learn(|it| it.origin = origin_of(|by| by.principal = text(n).into()))
        }),
        row("a label", NAME_BYTES_MAX, |n| {
            learn(|it| it.origin = origin_of(|by| by.label = Some(name(n))))
        }),
        row("the id of a tool call", CALL_NAME_BYTES_MAX, |n| {
            learn(|it| it.origin = origin_of(|by| by.call = Some(name(n))))
        }),
        row("a list of fragments", FRAGMENTS_MAX, |n| forget(n, origin_of(|_| ()))),
        row("a principal", NAME_BYTES_MAX, |n| {
            forget(1, origin_of(|by| by.principal = text(n).into()))
        }),
        row("a scope", NAME_BYTES_MAX, |n| AgentCommand::MirrorErased {
            scope: scope(n),
            target: MemoryList::User,
        }),
        row("a chain of scopes", 64 * NAME_BYTES_MAX, move |n| freeze(n, 1, 1)),
        row("a label", NAME_BYTES_MAX, move |n| freeze(1, n, 1)),
        row("a block of memory", MEMORY_BLOCK_BYTES_MAX, move |n| freeze(1, 1, n)),
    ]);
}

#[test]
fn the_outbox_is_bounded() {
    let id = DeliveryId(1);
    let outbox = AgentCommand::Outbox;
    let why = "the reason of a delivery";
    let button = |data: usize, label: usize, meaning: usize| NewButton {
        data: name(data),
        label: name(label),
        meaning: name(meaning),
    };
    let to = |change: fn(&mut DeliveryDestination, Box<str>)| {
        row("a destination", NAME_BYTES_MAX, move |n| {
            enqueue(|it| it.to = destination_of(|to| change(to, name(n))))
        })
    };
    check_all(vec![
        to(|to, name| to.lane.platform = name),
        to(|to, name| to.lane.account = name),
        to(|to, name| to.lane.chat = name),
        to(|to, name| to.chat_type = name),
        to(|to, name| to.topic = Some(name)),
        to(|to, name| to.reply_to = Some(name)),
        row("a delivery", DELIVERY_TEXT_BYTES_MAX, |n| enqueue(|it| it.text = text(n))),
        row("the name of a delivery", DELIVERY_NAME_BYTES_MAX, |n| {
            enqueue(|it| it.name = Some(name(n)))
        }),
        row("a list of buttons", BUTTONS_MAX, move |n| {
            enqueue(|it| it.buttons = vec![button(1, 1, 1); n])
        }),
        row("a button", BUTTON_BYTES_MAX, move |n| {
            enqueue(|it| it.buttons = vec![button(n, 1, 1)])
        }),
        row("a button", BUTTON_BYTES_MAX, move |n| {
            outbox(OutboxCommand::Buttons { id, buttons: vec![button(1, n, 1)] })
        }),
        row("a button", BUTTON_BYTES_MAX, move |n| {
            outbox(OutboxCommand::Buttons { id, buttons: vec![button(1, 1, n)] })
        }),
        row("the name of a message", NAME_BYTES_MAX, move |n| {
            let part = Some(SentPart { message: name(n), upto: 1 });
            outbox(OutboxCommand::Sent { id, part, rest: Rest::Nothing, at: AT })
        }),
        row("the name of a message", NAME_BYTES_MAX, move |n| {
            outbox(OutboxCommand::ProvisionalShown { turn: TurnId(1), message: Some(name(n)) })
        }),
        row(why, DELIVERY_WHY_BYTES_MAX, move |n| {
            outbox(OutboxCommand::Waits { id, why: text(n), at: AT })
        }),
        row(why, DELIVERY_WHY_BYTES_MAX, move |n| {
            outbox(OutboxCommand::PutOff { id, until: AT, why: text(n), tried: Tried::Now, at: AT })
        }),
        row(why, DELIVERY_WHY_BYTES_MAX, move |n| {
            outbox(OutboxCommand::InDoubt { id, then: Doubt::Hold, why: text(n), at: AT })
        }),
        row(why, DELIVERY_WHY_BYTES_MAX, move |n| {
            outbox(OutboxCommand::Failed { id, why: text(n), at: AT })
        }),
    ]);
}

#[test]
fn what_stands_before_conversations_is_bounded() {
    let ingress = |command| AgentCommand::Ingress(Box::new(command));
    let who = |n: usize| PlatformUser { platform: "p".into(), account: "a".into(), user: name(n) };
    let asks = |who: PlatformUser, called: usize, place: usize| IngressCommand::AskPairing {
        request: PairingRequest {
            who,
            name: text(called),
            place: text(place),
            salt: [0; 16],
            code: [0; 32],
            asked_at: AT,
            expires_at: AT,
        },
        last_before: AT,
        waiting_max: 1,
    };
    let keep = |key: usize, sender: usize, content: usize| {
        IngressCommand::Keep(NewInbox {
            event: EventName { who: "a".into(), key: name(key) },
            session: "s".into(),
            chat: "c".into(),
            message: "m".into(),
            sender: text(sender).into(),
            waits: true,
            at: AT,
            content: text(content),
        })
    };
    let edit = |message: usize, content: usize| IngressCommand::Edit {
        chat: "c".into(),
        message: name(message),
        sender: "s".into(),
        content: text(content),
    };
    let named = |command: Box<dyn Fn(usize) -> IngressCommand>| {
        row("a name", INGRESS_NAME_BYTES_MAX, move |n| ingress(command(n)))
    };
    check_all(vec![
        named(Box::new(move |n| asks(who(n), 1, 1))),
        named(Box::new(move |n| asks(who(1), n, 1))),
        named(Box::new(move |n| asks(who(1), 1, n))),
        named(Box::new(move |n| {
            IngressCommand::Pair(Pairing { who: who(1), name: text(n), by: "b".into(), at: AT })
        })),
        named(Box::new(|n| IngressCommand::Unpair { platform: "p".into(), user: name(n) })),
        named(Box::new(|n| IngressCommand::PutTries {
            platform: name(n),
            tries: Tries { wrong: 1, until: AT },
        })),
        named(Box::new(|n| {
            let (platform, account, by) = ("p".into(), "a".into(), "b".into());
            IngressCommand::Join(JoinedChat { platform, account, chat: name(n), by, at: AT })
        })),
        named(Box::new(|n| IngressCommand::Leave {
            platform: "p".into(),
            account: "a".into(),
            chat: name(n),
        })),
        named(Box::new(move |n| keep(n, 1, 1))),
        named(Box::new(move |n| keep(1, n, 1))),
        named(Box::new(move |n| edit(n, 1))),
        named(Box::new(|n| IngressCommand::Withdraw { chat: "c".into(), message: name(n) })),
        named(Box::new(|n| {
            let event = EventName { who: name(n), key: "k".into() };
            IngressCommand::Note { event, at: AT }
        })),
        row("a message that waits", INBOX_BYTES_MAX, move |n| ingress(keep(1, 1, n))),
        row("a message that waits", INBOX_BYTES_MAX, move |n| ingress(edit(1, n))),
    ]);
}

#[test]
fn a_batch_and_a_query_are_bounded() {
    let batch = |n: usize| vec![AgentCommand::Audit(entry("x")); n];
    assert!(check(&batch(BATCH_MAX)).is_ok());
    assert!(matches!(
        check(&batch(BATCH_MAX + 1)),
        Err(StoreError::TooLong { what: "a batch of commands", .. })
    ));
    let (scope, words) = (text(NAME_BYTES_MAX), text(QUERY_BYTES_MAX));
    assert!(query(&scope, &words).is_ok());
    let long = query(&text(NAME_BYTES_MAX + 1), &words);
    assert!(matches!(long, Err(StoreError::TooLong { what: "a scope", .. })));
    let long = query(&scope, &text(QUERY_BYTES_MAX + 1));
    assert!(matches!(long, Err(StoreError::TooLong { what: "a query", .. })));
}

#[test]
fn limits_are_what_they_are_said_to_be() {
    // By numbers of their own: a slip in a product is one that nobody sees.
    assert_eq!(FRAGMENT_BYTES_MAX, 65_536);
    assert_eq!(MEMORY_BLOCK_BYTES_MAX, 1_048_576);
    assert_eq!(DELIVERY_TEXT_BYTES_MAX, 1_048_576);
    assert_eq!(DELIVERY_WHY_BYTES_MAX, 4_096);
    assert_eq!(INBOX_BYTES_MAX, 2_097_152);
    assert_eq!(CHAIN_BYTES_MAX, 65_536);
}
