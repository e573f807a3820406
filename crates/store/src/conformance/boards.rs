//! What a backend owes of boards.

use super::Opener;
use super::sample::at as time;
use crate::board::{
    BoardCommand, CardComment, CardEvent, CardFile, CardFilter, CardGlance, CardNotice, CardRow,
    CardRun, LAST_ADDED,
};
use crate::error::StoreError;
use insula_domain::{Actor, AgentId, BoardName, CardId, CardStatus};

pub(super) async fn run(opener: &dyn Opener) {
    a_card_is_claimed_by_one_of_those_who_try(opener).await;
    a_card_keeps_all_that_was_put_on_it(opener).await;
    a_board_is_written_to_by_its_owner_alone(opener).await;
}

/// A card to add.
fn card(title: &str) -> CardRow {
    CardRow {
        id: LAST_ADDED,
        version: 0,
        title: title.to_owned(),
        body: "do it".to_owned(),
        label: "anyone".into(),
        author: Actor::CommandLine,
        author_agent: None,
        place: None,
        status: CardStatus::Ready,
        block: None,
        why: None,
        assignee: Some("coder".into()),
        reviewer: None,
        priority: 0,
        due_at: None,
        start_at: None,
        tags: vec!["a".into(), "b\"c".into()],
        split_from: None,
        depth: 0,
        worker: None,
        run: 0,
        lease_until: None,
        failures: 0,
        reworks: 0,
        result: None,
        result_label: None,
        result_by: None,
        tokens: 0,
        usd_micros: 0,
        made_at: time(1),
        changed_at: time(1),
        done_at: None,
        request: None,
    }
}

fn work() -> BoardName {
    BoardName::new("work").unwrap()
}

/// Whoever changes a card that somebody else changed meanwhile changes nothing, and nothing of
/// what came with it.
async fn a_card_is_claimed_by_one_of_those_who_try(opener: &dyn Opener) {
    let store = opener.open("board-claims").await;
    let lease = store.claim("one").await.unwrap().board(&work());
    assert_eq!(lease.card(CardId(1)).await.unwrap(), None);
    let added = lease.commit(vec![BoardCommand::Add(Box::new(card("x")))]).await.unwrap();
    assert_eq!(added, [CardId(1)]);
    let seen = lease.card(CardId(1)).await.unwrap().unwrap().row;
    assert_eq!((seen.version, &*seen.title), (1, "x"));
    let claim = |worker: &str| {
        let row = CardRow {
            status: CardStatus::Running,
            worker: Some(worker.into()),
            run: seen.run + 1,
            lease_until: Some(time(9)),
            ..seen.clone()
        };
        let event = CardEvent {
            seq: 0,
            card: row.id,
            at: time(2),
            actor: worker.into(),
            kind: "claimed".into(),
            detail: "{}".to_owned(),
        };
        vec![BoardCommand::Event(event), BoardCommand::Put(Box::new(row))]
    };
    lease.commit(claim("agent:a")).await.unwrap();
    let late = lease.commit(claim("agent:b")).await.unwrap_err();
    assert!(matches!(late, StoreError::CardChanged { card: CardId(1) }), "{late}");
    let now = lease.card(CardId(1)).await.unwrap().unwrap().row;
    assert_eq!((now.version, now.worker.as_deref(), now.run), (2, Some("agent:a"), 1));
    assert_eq!(lease.claimed().await.unwrap(), [now]);
    let events = lease.events(0, None, 10).await.unwrap();
    assert_eq!(events.iter().map(|it| &*it.actor).collect::<Vec<_>>(), ["agent:a"]);
}

/// All that belongs to a card comes back, in order.
async fn a_card_keeps_all_that_was_put_on_it(opener: &dyn Opener) {
    let store = opener.open("board-parts").await;
    let lease = store.claim("one").await.unwrap().board(&work());
    let agent = AgentId::new("coder").unwrap();
    let comment = CardComment {
        card: LAST_ADDED,
        author: Actor::Daemon,
        agent: Some(agent.clone()),
        at: time(3),
        label: "anyone".into(),
        text: "half of it".to_owned(),
    };
    let file = CardFile {
        card: LAST_ADDED,
        hash: "ab".into(),
        name: "a.txt".into(),
        author: Actor::CommandLine,
        agent: None,
        at: time(3),
        label: "anyone".into(),
        len: 3,
    };
    let run = CardRun {
        card: LAST_ADDED,
        run: 1,
        kind: "work".into(),
        worker: "agent:coder".into(),
        began_at: time(3),
        beat_at: time(4),
        note: Some("begun".to_owned()),
        ended_at: None,
        outcome: None,
        why: None,
        turn: None,
    };
    let notice = CardNotice {
        id: 1,
        card: LAST_ADDED,
        run: 1,
        agent,
        place: "{}".to_owned(),
        asker: Actor::CommandLine,
        label: "anyone".into(),
        text: "done".to_owned(),
    };
    let first = CardRow { request: Some("once".into()), ..card("first") };
    lease.commit(vec![BoardCommand::Add(Box::new(first.clone()))]).await.unwrap();
    let again = lease.commit(vec![BoardCommand::Add(Box::new(first))]).await.unwrap_err();
    assert!(matches!(again, StoreError::OtherRequest), "{again}");
    assert_eq!(lease.requested("once").await.unwrap(), Some(CardId(1)));
    let second =
        CardRow { split_from: Some(CardId(1)), status: CardStatus::Todo, ..card("second") };
    let added = lease
        .commit(vec![
            BoardCommand::Add(Box::new(second)),
            BoardCommand::Need { card: LAST_ADDED, needs: CardId(1) },
            BoardCommand::Comment(comment.clone()),
            BoardCommand::Attach(file.clone(), b"abc".to_vec()),
            BoardCommand::Run(run.clone()),
            BoardCommand::Notice(notice.clone()),
        ])
        .await
        .unwrap();
    assert_eq!(added, [CardId(2)]);
    let whole = lease.card(CardId(2)).await.unwrap().unwrap();
    assert_eq!(whole.needs, [(CardId(1), CardStatus::Ready)]);
    assert_eq!(whole.needs_open(), 1);
    assert_eq!(whole.comments, [CardComment { card: CardId(2), ..comment }]);
    assert_eq!(whole.files, [CardFile { card: CardId(2), ..file }]);
    assert_eq!(whole.runs, [CardRun { card: CardId(2), ..run }]);
    assert_eq!(lease.file(CardId(2), "ab").await.unwrap().unwrap(), b"abc");
    let first = lease.card(CardId(1)).await.unwrap().unwrap();
    assert_eq!((&*first.parts, &*first.needed_by), (&[CardId(2)][..], &[CardId(2)][..]));
    let waiting: Vec<CardId> = lease.waiting().await.unwrap().iter().map(|it| it.id).collect();
    assert_eq!(waiting, [CardId(2)]);
    assert_eq!(lease.notices().await.unwrap(), [CardNotice { card: CardId(2), ..notice }]);
    lease.commit(vec![BoardCommand::Told { notice: 1 }]).await.unwrap();
    assert!(lease.notices().await.unwrap().is_empty());
    let ready = CardFilter { status: vec![CardStatus::Ready], ..CardFilter::default() };
    let ready = lease.cards(ready, 10).await.unwrap();
    assert_eq!(ready.iter().map(|it| it.id).collect::<Vec<_>>(), [CardId(1)]);
    let newest = CardFilter { before: Some(CardId(i64::MAX)), ..CardFilter::default() };
    let newest = lease.cards(newest, 1).await.unwrap();
    assert_eq!(newest.iter().map(|it| it.id).collect::<Vec<_>>(), [CardId(2)]);
    let before = CardFilter { before: Some(CardId(2)), ..CardFilter::default() };
    assert_eq!(lease.cards(before, 9).await.unwrap()[0].id, CardId(1));
    let counts = lease.counts().await.unwrap();
    assert_eq!(counts, [(CardStatus::Ready, 1), (CardStatus::Todo, 1)]);
    let glances = lease.glances(vec![CardId(2), CardId(1)]).await.unwrap();
    let busy = CardGlance {
        needs: vec![CardId(1)],
        comments: 1,
        files: 1,
        beat_at: Some(time(4)),
        note: Some("begun".to_owned()),
    };
    assert_eq!(glances, [busy, CardGlance::default()]);
    let none = lease.commit(vec![BoardCommand::Need { card: LAST_ADDED, needs: CardId(1) }]).await;
    assert!(matches!(none, Err(StoreError::NoCard { .. })), "{none:?}");
}

/// Who was replaced writes to no board, and another board is another one.
async fn a_board_is_written_to_by_its_owner_alone(opener: &dyn Opener) {
    let store = opener.open("board-owners").await;
    let before = store.claim("one").await.unwrap().board(&work());
    before.commit(vec![BoardCommand::Add(Box::new(card("x")))]).await.unwrap();
    let owner = store.claim("two").await.unwrap();
    let now = owner.board(&work());
    now.commit(vec![BoardCommand::Add(Box::new(card("y")))]).await.unwrap();
    let late = before.commit(vec![BoardCommand::Add(Box::new(card("z")))]).await.unwrap_err();
    assert!(matches!(late, StoreError::Fenced { .. }), "{late}");
    let other = owner.board(&BoardName::new("other").unwrap());
    assert!(other.cards(CardFilter::default(), 10).await.unwrap().is_empty());
    assert_eq!(now.cards(CardFilter::default(), 10).await.unwrap().len(), 2);
    let long = CardRow { title: "x".repeat(2_000), ..card("") };
    let long = now.commit(vec![BoardCommand::Add(Box::new(long))]).await.unwrap_err();
    assert_eq!(long.to_string(), "the title of a card is 2000 long; at most 1000 is accepted");
}
