//! What a backend owes about turns, steps and repetition.

use super::sample::*;
use super::{Opener, agent, audit, entry};
use crate::{
    Accepted, AgentCommand, CommandOutcome, Conclude, Join, MessageSeq, NewStep, Part, Role,
    StepKind, StoreError, TurnId, TurnOutcome, TurnStatus, Usage,
};

/// Runs every check.
pub(super) async fn run(opener: &dyn Opener) {
    a_message_becomes_a_turn_and_a_turn_a_reply(opener).await;
    turns_are_listed_newest_first(opener).await;
    how_a_turn_went_is_noted_in_order_and_forgotten_with_it(opener).await;
    a_turn_is_concluded_once(opener).await;
    a_repeated_message_is_known_and_writes_nothing(opener).await;
    a_replaced_turn_is_kept_and_left_out(opener).await;
    a_turn_goes_on_from_its_last_step(opener).await;
    a_turn_that_waits_long_stays_unfinished(opener).await;
    busy_agents_are_known_without_opening_them(opener).await;
    a_failing_batch_fails_alone(opener).await;
    batches_keep_their_order(opener).await;
    what_is_too_large_is_refused(opener).await;
}

async fn how_a_turn_went_is_noted_in_order_and_forgotten_with_it(opener: &dyn Opener) {
    let store = opener.open("course").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let first = take(&a, "k", "ping").await;
    let other = take(&a, "other", "ping").await;
    let note = |of: Accepted, text: &str| AgentCommand::NoteTurn {
        turn: of.turn(),
        at: insula_world::Timestamp::from_millis(5),
        note: text.into(),
    };
    a.commit(vec![note(first, "one"), note(other, "elsewhere"), note(first, "two")]).await.unwrap();
    let notes = a.turn_notes(first.turn()).await.unwrap();
    let told: Vec<(u32, &str)> = notes.iter().map(|it| (it.number, &*it.note)).collect();
    assert_eq!(told, [(1, "one"), (2, "two")]);
    let long = "x".repeat(crate::turn::TURN_NOTE_BYTES_MAX + 1);
    assert!(matches!(a.commit(vec![note(first, &long)]).await, Err(StoreError::TooLong { .. })));
    let at = insula_world::Timestamp::from_millis(6);
    let forget = AgentCommand::ForgetSession { session: first.session(), at };
    a.commit(vec![forget]).await.unwrap();
    assert_eq!(a.turn_notes(first.turn()).await.unwrap(), []);
    assert_eq!(a.turn_notes(other.turn()).await.unwrap().len(), 1);
    store.shutdown().await;
}

async fn a_message_becomes_a_turn_and_a_turn_a_reply(opener: &dyn Opener) {
    let store = opener.open("turn").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(a.unfinished().await.unwrap(), []);
    let taken = take(&a, "k", "ping").await;
    let Accepted::New { turn, session, seq } = taken else { panic!("{taken:?}") };
    assert_eq!(seq, MessageSeq(1));
    let begun = a.turn(turn).await.unwrap().unwrap();
    assert_eq!((begun.session, begun.message), (session, seq));
    assert_eq!((begun.status, begun.reply, begun.ended_at), (TurnStatus::Accepted, None, None));

    let done = a.commit(vec![conclude(turn, "pong"), audit("turn")]).await.unwrap();
    assert_eq!(done.reply(), Some(MessageSeq(2)));
    assert_eq!(done.outcomes.len(), 2);
    assert_eq!(done.outcomes[1], CommandOutcome::Audited(done.audit[0]));
    let over = a.turn(turn).await.unwrap().unwrap();
    assert_eq!((over.status, over.reply), (TurnStatus::Replied, Some(MessageSeq(2))));
    assert_eq!((over.usage, over.ended_at), (usage(1), Some(at(2))));
    assert_eq!(texts(&a, session).await, ["ping", "pong"]);
    let messages = a.messages_tail(session, ALL).await.unwrap();
    assert!(messages.iter().all(|message| message.turn == Some(turn) && message.generation == 3));

    let other = take(&a, "k", "fail").await.turn();
    let failed = Conclude {
        turn: other,
        messages: Vec::new(),
        usage: Usage::default(),
        outcome: TurnOutcome::Failed { error: "no model".to_owned() },
        at: at(5),
    };
    a.commit(vec![AgentCommand::Conclude(Box::new(failed))]).await.unwrap();
    let over = a.turn(other).await.unwrap().unwrap();
    assert_eq!((over.status, over.error.as_deref()), (TurnStatus::Failed, Some("no model")));
    assert_eq!(a.turn(TurnId(99)).await.unwrap(), None);
    store.shutdown().await;
}

async fn turns_are_listed_newest_first(opener: &dyn Opener) {
    let store = opener.open("turns").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(a.turns(None, 10).await.unwrap(), []);
    let first = turn(&a, "k", "one").await;
    let second = take(&a, "l", "two").await;
    let third = take(&a, "k", "three").await;
    let listed = async |before, limit| {
        let turns = a.turns(before, limit).await.unwrap();
        turns.into_iter().map(|turn| turn.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(None, 10).await, [third.turn(), second.turn(), first.turn()]);
    assert_eq!(listed(None, 1).await, [third.turn()]);
    assert_eq!(listed(Some(third.turn()), 1).await, [second.turn()]);
    let whole = a.turns(Some(second.turn()), 10).await.unwrap();
    assert_eq!(whole, [a.turn(first.turn()).await.unwrap().unwrap()]);
    let forget = AgentCommand::ForgetSession { session: second.session(), at: at(9) };
    a.commit(vec![forget]).await.unwrap();
    assert_eq!(listed(None, 10).await, [third.turn(), first.turn()]);
    store.shutdown().await;
}

async fn a_turn_is_concluded_once(opener: &dyn Opener) {
    let store = opener.open("once").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let taken = turn(&a, "k", "ping").await;
    let again = a.commit(vec![conclude(taken.turn(), "pong again")]).await;
    assert!(
        matches!(again, Err(StoreError::TurnOver { status: TurnStatus::Replied, .. })),
        "{again:?}"
    );
    let step = NewStep::CallBegun { call: "1".into(), name: "todo".into(), at: at(3) };
    let step = AgentCommand::Step { turn: taken.turn(), step: Box::new(step) };
    let late = a.commit(vec![step]).await;
    assert!(matches!(late, Err(StoreError::TurnOver { .. })), "{late:?}");
    let missing = a.commit(vec![conclude(TurnId(99), "?")]).await;
    assert!(matches!(missing, Err(StoreError::NoTurn { turn: TurnId(99) })), "{missing:?}");
    assert_eq!(texts(&a, taken.session()).await, ["ping", "done"]);
    store.shutdown().await;
}

async fn a_repeated_message_is_known_and_writes_nothing(opener: &dyn Opener) {
    let store = opener.open("repeat").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let take = async |who, key| {
        let batch = vec![accept_keyed("k", "ping", who, key)];
        a.commit(batch).await.unwrap().accepted().unwrap()
    };
    let first = take("token", "1").await;
    assert!(matches!(first, Accepted::New { .. }));
    let (turn, session) = (first.turn(), first.session());
    let known = |status| Accepted::Known { turn, session, status };
    assert_eq!(take("token", "1").await, known(TurnStatus::Accepted));
    a.commit(vec![conclude(turn, "pong")]).await.unwrap();
    assert_eq!(take("token", "1").await, known(TurnStatus::Replied));
    assert_eq!(texts(&a, session).await, ["ping", "pong"]);
    // In one batch too, and each caller has keys of its own.
    let twice = vec![accept_keyed("k", "x", "token", "2"), accept_keyed("k", "x", "token", "2")];
    let outcomes = a.commit(twice).await.unwrap().outcomes;
    assert!(matches!(outcomes[0], CommandOutcome::Accepted(Accepted::New { .. })));
    assert!(matches!(outcomes[1], CommandOutcome::Accepted(Accepted::Known { .. })));
    assert!(matches!(take("other", "1").await, Accepted::New { .. }));
    a.commit(vec![AgentCommand::PruneIdempotency { before: at(100) }]).await.unwrap();
    assert!(matches!(take("token", "1").await, Accepted::New { .. }));
    store.shutdown().await;
}

async fn a_replaced_turn_is_kept_and_left_out(opener: &dyn Opener) {
    let store = opener.open("replaced").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let replace = |turn| vec![AgentCommand::ReplaceTurn { turn }];
    let first = take(&a, "k", "one").await;
    let early = a.commit(replace(first.turn())).await;
    assert!(matches!(early, Err(StoreError::TurnGoesOn { .. })), "{early:?}");
    a.commit(vec![conclude(first.turn(), "eins")]).await.unwrap();
    let second = take(&a, "k", "two").await;
    a.commit(vec![conclude(second.turn(), "zwei")]).await.unwrap();
    a.commit(replace(first.turn())).await.unwrap();
    assert_eq!(texts(&a, first.session()).await, ["two", "zwei"]);
    let all = a.messages_after(first.session(), MessageSeq::START, 9).await.unwrap();
    assert_eq!(all.len(), 4);
    let missing = a.commit(replace(TurnId(99))).await;
    assert!(matches!(missing, Err(StoreError::NoTurn { .. })), "{missing:?}");
    store.shutdown().await;
}

pub(super) fn step(turn: TurnId, step: NewStep) -> AgentCommand {
    AgentCommand::Step { turn, step: Box::new(step) }
}

async fn a_turn_goes_on_from_its_last_step(opener: &dyn Opener) {
    let (turn, other);
    let mut call = replied("");
    call.parts = vec![
        Part::ToolCall { id: "c1".into(), name: "todo".into(), arguments: "{}".to_owned() },
        Part::ToolCall { id: "c2".into(), name: "terminal".into(), arguments: "{}".to_owned() },
    ];
    let begin =
        |id: &str, name: &str| NewStep::CallBegun { call: id.into(), name: name.into(), at: at(3) };
    let mut result = message_in("custom:1", Role::Tool, "");
    result.parts = vec![Part::ToolResult {
        call: "c1".into(),
        text: "ok".to_owned(),
        is_error: false,
        untrusted: false,
    }];
    {
        let store = opener.open("steps").await;
        let owner = store.claim("suite").await.unwrap();
        let a = owner.agent(&agent("a"));
        turn = take(&a, "k", "do it").await.turn();
        other = take(&a, "l", "wait").await.turn();
        let answered = NewStep::Answered { message: call.clone(), usage: usage(2) };
        let batch = vec![step(turn, answered), step(turn, begin("c1", "todo"))];
        let outcomes = a.commit(batch).await.unwrap().outcomes;
        assert_eq!(
            outcomes[0],
            CommandOutcome::Stepped { number: 1, message: Some(MessageSeq(2)) }
        );
        assert_eq!(outcomes[1], CommandOutcome::Stepped { number: 2, message: None });
        let ended = NewStep::CallEnded { call: "c1".into(), message: result.clone() };
        let batch = vec![step(turn, ended), step(turn, begin("c2", "terminal"))];
        a.commit(batch).await.unwrap();
        let join = Join { turn, message: said("and hurry"), idempotency: None };
        a.commit(vec![AgentCommand::Join(Box::new(join))]).await.unwrap();
        store.shutdown().await;
    }
    let store = opener.open("steps").await;
    let owner = store.claim("suite").await.unwrap();
    assert_eq!(store.daemon().busy().await.unwrap(), [agent("a")]);
    let a = owner.agent(&agent("a"));
    let unfinished = a.unfinished().await.unwrap();
    assert_eq!(unfinished.iter().map(|it| it.turn.id).collect::<Vec<_>>(), [turn, other]);
    assert_eq!(unfinished.iter().map(|it| &*it.key).collect::<Vec<_>>(), ["k", "l"]);
    assert_eq!(unfinished[0].turn.usage, usage(2));
    assert_eq!(unfinished[0].interrupted(), [("c2", "terminal")]);
    assert_eq!(unfinished[1].steps, []);
    let kinds: Vec<_> = unfinished[0].steps.iter().map(|step| (step.number, &step.kind)).collect();
    let begun =
        |call: &str, name: &str| StepKind::CallBegun { call: call.into(), name: name.into() };
    assert_eq!(
        kinds,
        [
            (1, &StepKind::Answered { message: MessageSeq(2) }),
            (2, &begun("c1", "todo")),
            (3, &StepKind::CallEnded { call: "c1".into(), message: MessageSeq(3) }),
            (4, &begun("c2", "terminal")),
            (5, &StepKind::Joined { message: MessageSeq(4) }),
        ]
    );
    assert_eq!(a.steps(turn).await.unwrap(), unfinished[0].steps);
    let session = unfinished[0].turn.session;
    let messages = a.messages_tail(session, ALL).await.unwrap();
    assert_eq!(messages[1].parts, call.parts);
    assert_eq!(messages[2].parts, result.parts);
    // A turn whose answer was a step needs no more words.
    let answered = NewStep::Answered { message: replied("did it"), usage: Usage::default() };
    let end = Conclude {
        turn,
        messages: Vec::new(),
        usage: Usage::default(),
        outcome: TurnOutcome::Replied { cut: None },
        at: at(9),
    };
    let batch = vec![step(turn, answered), AgentCommand::Conclude(Box::new(end))];
    assert_eq!(a.commit(batch).await.unwrap().reply(), Some(MessageSeq(5)));
    assert_eq!(a.unfinished().await.unwrap().len(), 1);
    store.shutdown().await;
}

async fn a_turn_that_waits_long_stays_unfinished(opener: &dyn Opener) {
    let store = opener.open("long").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let unfinished = async || -> Vec<TurnId> {
        a.unfinished().await.unwrap().into_iter().map(|it| it.turn.id).collect()
    };
    turn(&a, "k", "first").await;
    let waits = take(&a, "waits", "for an approval").await.turn();
    let mut last = waits;
    for _ in 0..200 {
        last = turn(&a, "k", "meanwhile").await.turn();
    }
    assert_eq!(unfinished().await, [waits]);
    store.close_idle(std::time::Duration::ZERO).await;
    assert_eq!(store.daemon().busy().await.unwrap(), [agent("a")]);
    assert_eq!(unfinished().await, [waits]);
    a.commit(vec![conclude(waits, "at last")]).await.unwrap();
    for _ in 0..200 {
        turn(&a, "k", "later").await;
    }
    assert_eq!(unfinished().await, []);
    let next = take(&a, "k", "one more").await.turn();
    assert!(next > last);
    assert_eq!(unfinished().await, [next]);
    store.shutdown().await;
}

async fn busy_agents_are_known_without_opening_them(opener: &dyn Opener) {
    let store = opener.open("busy").await;
    let owner = store.claim("suite").await.unwrap();
    owner.agent(&agent("quiet")).commit(vec![audit("x")]).await.unwrap();
    turn(&owner.agent(&agent("done")), "k", "ping").await;
    let open = take(&owner.agent(&agent("open")), "k", "ping").await;
    store.shutdown().await;

    let store = opener.open("busy").await;
    let owner = store.claim("suite").await.unwrap();
    assert_eq!(store.daemon().busy().await.unwrap(), [agent("open")]);
    assert_eq!(store.open_count(), 0);
    let a = owner.agent(&agent("open"));
    a.commit(vec![conclude(open.turn(), "pong")]).await.unwrap();
    store.close_idle(std::time::Duration::ZERO).await;
    assert_eq!(store.daemon().busy().await.unwrap(), []);
    take(&a, "k", "again").await;
    assert_eq!(store.daemon().busy().await.unwrap(), [agent("open")]);
    store.retire(&agent("open")).await;
    let gone = crate::DaemonCommand::ForgetAgent(agent("open"));
    owner.daemon().commit(vec![gone]).await.unwrap();
    assert_eq!(store.daemon().busy().await.unwrap(), []);
    store.shutdown().await;
}

async fn a_failing_batch_fails_alone(opener: &dyn Opener) {
    let store = opener.open("alone").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    // All in line before any is taken up: they share what can be shared.
    let good = |n: i32| vec![accept("k", &n.to_string()), audit("good")];
    let bad = || vec![accept("k", "bad"), audit("bad"), conclude(TurnId(99), "?")];
    let (one, failed, two, refused, three) = tokio::join!(
        a.commit(good(1)),
        a.commit(bad()),
        a.commit(good(2)),
        a.commit(bad()),
        a.commit(good(3)),
    );
    assert!(matches!(failed, Err(StoreError::NoTurn { .. })), "{failed:?}");
    assert!(matches!(refused, Err(StoreError::NoTurn { .. })), "{refused:?}");
    let session = one.as_ref().unwrap().accepted().unwrap().session();
    for (n, done) in [one, two, three].into_iter().enumerate() {
        let done = done.unwrap();
        assert_eq!(done.accepted().unwrap().turn(), TurnId(i64::try_from(n).unwrap() + 1));
        assert_eq!(done.audit[0].0, n as u64 + 1);
    }
    assert_eq!(texts(&a, session).await, ["1", "2", "3"]);
    assert!(a.audit_verify().await.unwrap().ok);
    store.shutdown().await;
}

async fn batches_keep_their_order(opener: &dyn Opener) {
    let store = opener.open("order").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let mut set = tokio::task::JoinSet::new();
    for session in 0..8 {
        let a = a.clone();
        set.spawn(async move {
            let mut id = None;
            for n in 0..20 {
                let key = format!("k{session}");
                id = Some(turn(&a, &key, &n.to_string()).await.session());
            }
            id.unwrap()
        });
    }
    let expected: Vec<String> = (0..20).flat_map(|n| [n.to_string(), "done".into()]).collect();
    for session in set.join_all().await {
        assert_eq!(texts(&a, session).await, expected);
    }
    assert_eq!(a.unfinished().await.unwrap(), []);
    store.shutdown().await;
}

async fn what_is_too_large_is_refused(opener: &dyn Opener) {
    let store = opener.open("large").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let refuse = async |command: AgentCommand| {
        let refused = a.commit(vec![accept("k", "fine"), command]).await;
        assert!(matches!(refused, Err(StoreError::TooLong { .. })), "{refused:?}");
    };
    refuse(accept("k", &"x".repeat(crate::message::MESSAGE_BYTES_MAX + 1))).await;
    refuse(accept(&"k".repeat(crate::session::NAME_BYTES_MAX + 1), "x")).await;
    let mut many = said("");
    many.parts = vec![Part::Text(String::new()); crate::message::PARTS_MAX + 1];
    let append =
        |messages| AgentCommand::Append { session: crate::SessionRef::Key("k".into()), messages };
    refuse(append(vec![many])).await;
    refuse(append(vec![said("x"); crate::turn::MESSAGES_AT_ONCE_MAX + 1])).await;
    let spent = Usage { input: u64::MAX, ..Usage::default() };
    refuse(step(TurnId(1), NewStep::Spent { usage: spent, at: at(1) })).await;
    let batch = vec![AgentCommand::Audit(entry("x")); crate::agent::BATCH_MAX + 1];
    assert!(matches!(a.commit(batch).await, Err(StoreError::TooLong { .. })));
    let query = "q".repeat(crate::search::QUERY_BYTES_MAX + 1);
    assert!(matches!(
        a.search(&"custom:1".parse().unwrap(), &query, 9).await,
        Err(StoreError::TooLong { .. })
    ));
    assert_eq!(a.sessions(None, 9).await.unwrap(), []);
    let large = accept("k", &"x".repeat(crate::message::MESSAGE_BYTES_MAX));
    a.commit(vec![large]).await.unwrap();
    store.shutdown().await;
}
