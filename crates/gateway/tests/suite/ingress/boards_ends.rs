//! How work on a card ends: who loses one is stopped whichever way it was taken, and nobody goes
//! round for ever.

use crate::ingress::boards::{
    begin, config, desk, for_agent, obedient, open, results, until, when,
};
use crate::ingress::support::{Fixture, dm, shown, with};
use insula_domain::{Actor, Audience, BlockKind, CardId, CardStatus, Label};
use insula_registry::boards::{AgentSeat, NewCard, RunKind, Seat};
use insula_registry::context::CardClaim;

/// Work that is under way until somebody stops it, and what would come after it.
const LONG: &str = "terminal {\"command\": \"sleep 600\", \"timeout\": 600}";

/// Once nobody is at work any more.
async fn at_rest(fixture: &Fixture) {
    while fixture.owner.workers().running() > 0 {
        tokio::task::yield_now().await;
    }
}

/// Every way to take a card from whoever works on it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Done,
    Block,
    Wait,
    Move(CardStatus),
    InAChat,
    ByATool,
    RightGone,
    BoardGone,
}

async fn take(fixture: &Fixture, card: CardId, way: Way) {
    let desk = desk(fixture);
    match way {
        Way::Done => drop(desk.complete(card, "by me").await.unwrap()),
        Way::Block => drop(desk.block(card, BlockKind::NeedsInput, "not now").await.unwrap()),
        Way::Wait => {
            let first = NewCard { assignee: None, ..for_agent("b", "") };
            let first = desk.add(first).await.unwrap();
            desk.link(card, first.id).await.unwrap();
            desk.block(card, BlockKind::Dependency, "the other first").await.unwrap();
        }
        Way::Move(to) => drop(desk.move_to(card, to, None).await.unwrap()),
        Way::InAChat => drop(fixture.ask(&dm("2"), &format!("/board work done {card}")).await),
        Way::ByATool => {
            let call = format!("DO kanban_complete {{\"task_id\": \"{card}\", \"result\": \"x\"}}");
            fixture.ask(&dm("9"), &call).await;
        }
        Way::RightGone => {
            fixture.reconfigure(|text| text.replace("b: work", "b: see")).await;
        }
        Way::BoardGone => {
            let boards = |text: &str| text.split("boards:").next().unwrap().to_owned();
            fixture.reconfigure(boards).await;
        }
    }
}

#[tokio::test]
async fn who_loses_a_card_is_stopped_whichever_way_it_was_taken() {
    for (way, status) in [
        (Way::Done, Some(CardStatus::Done)),
        (Way::Block, Some(CardStatus::Blocked)),
        (Way::Wait, Some(CardStatus::Blocked)),
        (Way::Move(CardStatus::Done), Some(CardStatus::Done)),
        (Way::Move(CardStatus::Blocked), Some(CardStatus::Blocked)),
        (Way::Move(CardStatus::Review), Some(CardStatus::Review)),
        (Way::InAChat, Some(CardStatus::Done)),
        (Way::ByATool, Some(CardStatus::Done)),
        (Way::RightGone, Some(CardStatus::Ready)),
        (Way::BoardGone, None),
    ] {
        let fixture =
            open("work: {agents: {a: manage, b: work}, people: {'telegram:2': manage}}").await;
        let _stop = begin(&fixture).drop_guard();
        let body = format!("DO {LONG}\nDO write_file {{\"path\": \"x\", \"content\": \"late\"}}");
        let card = desk(&fixture).add(for_agent("b", &body)).await.unwrap();
        let asked = || {
            let seen = fixture.upstream.seen();
            let is_work = |(_, text): &(String, String)| text.contains("You work on the card");
            seen.iter().filter(|it| shown(it).iter().any(is_work)).count()
        };
        while asked() == 0 {
            tokio::task::yield_now().await;
        }
        let refused = desk(&fixture).assign(card.id, Some("b")).await.unwrap_err().to_string();
        assert!(refused.contains("somebody works on card 1"), "{refused}");
        let archived = desk(&fixture).move_to(card.id, CardStatus::Archived, None).await;
        assert!(archived.is_err(), "{archived:?}");
        take(&fixture, card.id, way).await;
        at_rest(&fixture).await;
        assert_eq!(asked(), 1, "{way:?}: it went on");
        let late = fixture.files.read("agents/b/conversations/board+work+dm+1/workspace/x");
        assert!(late.is_err(), "{way:?}: it wrote {late:?}");
        let Some(status) = status else { continue };
        let whole = desk(&fixture).show(card.id).await.unwrap();
        assert_eq!((whole.row.status, whole.row.failures), (status, 0), "{way:?}");
        assert_eq!(whole.runs[0].outcome.as_deref(), Some("fenced"), "{way:?}");
        assert_eq!(whole.row.worker, None, "{way:?}");
    }
}

#[tokio::test]
async fn who_reviews_a_card_that_another_decided_about_is_stopped() {
    let fixture = open("work: {agents: {b: work, c: review}}").await;
    let _stop = begin(&fixture).drop_guard();
    let body = format!("DO kanban_complete {{\"result\": \"made\"}}\nLOOK {LONG}");
    let card = NewCard { reviewer: Some("c".into()), ..for_agent("b", &body) };
    let card = desk(&fixture).add(card).await.unwrap();
    when(&fixture, card.id, |it| it.runs.len() == 2).await;
    desk(&fixture).complete(card.id, "").await.unwrap();
    at_rest(&fixture).await;
    let whole = desk(&fixture).show(card.id).await.unwrap();
    assert_eq!(whole.row.status, CardStatus::Done);
    assert_eq!(whole.runs[1].outcome.as_deref(), Some("fenced"));
}

#[tokio::test]
async fn who_waits_for_nothing_is_told_so_and_goes_on() {
    let fixture = open("work: {agents: {b: work}}").await;
    let _stop = begin(&fixture).drop_guard();
    let body = "DO kanban_block {\"kind\": \"dependency\", \"reason\": \"the others\"}\nDO kanban_complete {\"result\": \"made\"}";
    let card = desk(&fixture).add(for_agent("b", body)).await.unwrap();
    let whole = until(&fixture, card.id, CardStatus::Done).await;
    assert_eq!(whole.runs.len(), 1, "{whole:#?}");
    let told = results(&fixture);
    let said = "card 1 waits for nothing that is open: it has no parts and waits for no card; use kind `needs_input`, `capability` or `transient`, or kanban_complete where it is done";
    assert!(told.iter().any(|it| it.contains(said)), "{told:?}");
    let desk = desk(&fixture);
    let other = desk.add(NewCard { assignee: None, ..for_agent("b", "") }).await.unwrap();
    let refused = desk.block(other.id, BlockKind::Dependency, "x").await.unwrap_err().to_string();
    assert!(refused.ends_with("or say that it is done"), "{refused}");
}

#[tokio::test]
async fn a_card_that_is_split_again_and_again_comes_to_an_end() {
    let fixture = open("work: {agents: {b: work}, max_parts: 2}").await;
    let _stop = begin(&fixture).drop_guard();
    let body = "DO kanban_create {\"title\": \"one\"}\nDO kanban_block {\"kind\": \"dependency\", \"reason\": \"its part\"}";
    let card = desk(&fixture).add(for_agent("b", body)).await.unwrap();
    for part in 0..2 {
        let waits = |it: &insula_store::CardWhole| {
            it.row.block == Some(BlockKind::Dependency) && it.parts.len() == part + 1
        };
        let whole = when(&fixture, card.id, waits).await;
        desk(&fixture).complete(whole.parts[part], "x").await.unwrap();
    }
    let is_stopped = |it: &insula_store::CardWhole| {
        it.row.status == CardStatus::Blocked && it.row.block != Some(BlockKind::Dependency)
    };
    let whole = when(&fixture, card.id, is_stopped).await;
    let outcomes: Vec<_> = whole.runs.iter().map(|it| it.outcome.as_deref().unwrap()).collect();
    assert_eq!(outcomes, ["waits", "waits", "protocol", "protocol"]);
}

#[tokio::test]
async fn a_card_that_waits_ever_again_is_blocked() {
    let fixture = open("work: {agents: {b: work}, max_parts: 0, attempts: 2}").await;
    let boards = &fixture.daemon.opened().parts.boards;
    let (office, desk) = (boards.desk("work", Seat::Daemon).unwrap(), desk(&fixture));
    let agent = fixture.agent("b");
    let card = desk.add(for_agent("b", "")).await.unwrap().id;
    for time in 0..3 {
        let run = office.claim_for(card, &agent.id, RunKind::Work).await.unwrap().run;
        let other = desk.add(NewCard { assignee: None, ..for_agent("b", "") }).await.unwrap();
        desk.link(card, other.id).await.unwrap();
        let here: Audience = "telegram:main:1".parse().unwrap();
        let seat = Seat::Agent(Box::new(AgentSeat {
            agent: agent.clone(),
            principal: Actor::Daemon,
            seen: Label::of(here.clone()),
            here,
            claim: Some(CardClaim { board: office.name().clone(), card, run }),
            place: None,
        }));
        let worker = boards.desk("work", seat).unwrap();
        let row = worker.block(card, BlockKind::Dependency, "the other").await.unwrap();
        assert_eq!(row.status, CardStatus::Blocked);
        if time < 2 {
            assert_eq!(row.block, Some(BlockKind::Dependency));
            desk.move_to(other.id, CardStatus::Done, None).await.unwrap();
            continue;
        }
        assert_eq!(row.block, Some(BlockKind::NeedsInput));
        let why = row.why.unwrap();
        assert_eq!(
            why,
            "it waited for other cards 2 times in a row and came back, and wants to again: the other"
        );
    }
}

#[tokio::test]
async fn what_nobody_it_is_for_can_end_is_not_begun() {
    let text = config("work: {agents: {b: work}}");
    let text = text.replace("  b: {", "  b: {tools: coding, ");
    let fixture = with(&text, insula_tools::BUILT_IN, obedient).await;
    let _stop = begin(&fixture).drop_guard();
    let card = desk(&fixture).add(for_agent("b", "")).await.unwrap();
    let whole = until(&fixture, card.id, CardStatus::Blocked).await;
    assert_eq!(whole.row.block, Some(BlockKind::Capability));
    let why = whole.row.why.unwrap();
    for part in ["agent `b` does not have `kanban_complete`", "group:boards"] {
        assert!(why.contains(part), "{why}");
    }
    assert_eq!(fixture.asked(), 0, "nothing was spent");
    // With the tools it goes on.
    fixture.reconfigure(|text| text.replace("tools: coding, ", "")).await;
    desk(&fixture).move_to(card.id, CardStatus::Ready, None).await.unwrap();
    when(&fixture, card.id, |it| !it.runs.is_empty()).await;
}
