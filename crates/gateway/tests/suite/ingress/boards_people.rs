//! Cards that people take.

use crate::ingress::boards::{begin, desk, desk_of, for_agent, open};
use insula_domain::CardStatus;
use insula_registry::boards::{BoardError, NewCard, Seat};
use std::time::Duration;

fn for_nobody() -> NewCard {
    NewCard { assignee: None, ..for_agent("b", "") }
}

#[tokio::test]
async fn a_person_takes_what_is_for_nobody_and_what_is_for_people() {
    let fixture = open(
        "work: {agents: {b: work}, kinds: {human: []}, people: {'telegram:2': work, 'telegram:1': see}, lease: 1m}",
    )
    .await;
    let _stop = begin(&fixture).drop_guard();
    let (desk, ben) = (desk(&fixture), desk_of(&fixture, "telegram:2".into()).unwrap());
    let card = desk.add(for_nobody()).await.unwrap();
    assert_eq!(card.status, CardStatus::Triage);
    let ann = desk_of(&fixture, "telegram:1".into()).unwrap();
    assert!(matches!(ann.claim(card.id).await, Err(BoardError::NotAllowed(_))));
    let taken = ben.claim(card.id).await.unwrap();
    assert_eq!((taken.status, taken.worker.as_deref()), (CardStatus::Running, Some("telegram:2")));
    assert!(matches!(desk.claim(card.id).await, Err(BoardError::Step(_))));
    assert_eq!(ben.complete(card.id, "made").await.unwrap().status, CardStatus::Done);
    // It is as before when their time with it ends.
    let card = desk.add(for_nobody()).await.unwrap();
    ben.claim(card.id).await.unwrap();
    fixture.handles.clock.advance(Duration::from_secs(61)).await;
    let office = fixture.daemon.opened().parts.boards.desk("work", Seat::Daemon).unwrap();
    office.lapse().await.unwrap();
    assert_eq!(desk.show(card.id).await.unwrap().row.status, CardStatus::Triage);
    // What can't be begun can't be taken.
    let later = NewCard { needs: vec![card.id], ..for_nobody() };
    let later = desk.add(later).await.unwrap();
    let refused = ben.claim(later.id).await.unwrap_err().to_string();
    assert_eq!(refused, "card 3 can't be claimed: it would be `todo`, since it waits for others");
    // A kind of work that no agent does waits for a person.
    let human = desk.add(for_agent("human", "")).await.unwrap();
    assert_eq!(human.status, CardStatus::Ready);
    assert_eq!(ben.claim(human.id).await.unwrap().status, CardStatus::Running);
    desk.assign(card.id, Some("human")).await.unwrap();
    assert_eq!(ben.claim(card.id).await.unwrap().status, CardStatus::Running);
    assert_eq!(fixture.asked(), 0, "no agent was asked");
}

#[tokio::test]
async fn what_is_over_is_assigned_to_nobody() {
    let fixture = open("work: {agents: {b: work}}").await;
    let desk = desk(&fixture);
    let card = desk.add(for_nobody()).await.unwrap().id;
    desk.move_to(card, CardStatus::Done, None).await.unwrap();
    let refused = desk.assign(card, Some("b")).await.unwrap_err().to_string();
    assert_eq!(refused, "card 1 is `done`; move it to `triage` first to have it done again");
    desk.move_to(card, CardStatus::Triage, None).await.unwrap();
    assert_eq!(desk.assign(card, Some("b")).await.unwrap().status, CardStatus::Ready);
}
