//! What a backend owes about the turns of children.

use super::sample::*;
use super::{Opener, agent};
use crate::{
    AcceptChild, Accepted, AgentCommand, AgentLease, Conclude, NewStep, SessionState, StoreError,
    TurnId, TurnOutcome, TurnStatus, Usage, UsageOf,
};

/// Runs every check.
pub(super) async fn run(opener: &dyn Opener) {
    a_child_is_no_conversation_and_its_parent_pays(opener).await;
    what_is_unfinished_below_ends_with_its_parent(opener).await;
    a_child_is_forgotten_with_its_parent(opener).await;
}

fn beginning(parent: TurnId, step: u32, number: u32) -> AgentCommand {
    let message = said("heliotrope");
    AgentCommand::AcceptChild(Box::new(AcceptChild { parent, step, number, message }))
}

async fn begin(a: &AgentLease, parent: TurnId, step: u32, number: u32) -> Accepted {
    a.commit(vec![beginning(parent, step, number)]).await.unwrap().accepted().unwrap()
}

async fn a_child_is_no_conversation_and_its_parent_pays(opener: &dyn Opener) {
    let store = opener.open("child").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let parent = take(&a, "k", "ping").await;
    let child = begin(&a, parent.turn(), 2, 1).await;
    let other = begin(&a, parent.turn(), 2, 2).await;
    let grandchild = begin(&a, child.turn(), 1, 1).await;
    assert!(a.commit(vec![beginning(parent.turn(), 2, 2)]).await.is_err());
    let missing = a.commit(vec![beginning(TurnId(99), 1, 1)]).await;
    assert!(matches!(missing, Err(StoreError::NoTurn { .. })), "{missing:?}");

    let listed: Vec<_> = a.sessions(None, 10).await.unwrap().iter().map(|it| it.id).collect();
    assert_eq!(listed, [parent.session()]);
    let listed: Vec<_> = a.turns(None, 10).await.unwrap().iter().map(|it| it.id).collect();
    assert_eq!(listed, [parent.turn()]);
    assert!(a.search(&"custom:1".parse().unwrap(), "heliotrope", 10).await.unwrap().is_empty());
    let unfinished = a.unfinished().await.unwrap();
    assert_eq!(unfinished.iter().map(|it| it.turn.id).collect::<Vec<_>>(), [parent.turn()]);
    assert_eq!(a.count_below(parent.turn()).await.unwrap(), 3);
    let known = a.children(parent.turn()).await.unwrap();
    let known: Vec<_> = known.iter().map(|it| (it.turn.id, it.step, it.number)).collect();
    assert_eq!(known, [(child.turn(), 2, 1), (other.turn(), 2, 2)]);

    let spent = NewStep::Spent { usage: usage(2), at: at(1) };
    let spent = AgentCommand::Step { turn: grandchild.turn(), step: Box::new(spent) };
    a.commit(vec![spent, conclude(grandchild.turn(), "so")]).await.unwrap();
    a.commit(vec![conclude(child.turn(), "done")]).await.unwrap();
    let used = async |turn| a.turn(turn).await.unwrap().unwrap().usage;
    assert_eq!(used(grandchild.turn()).await, usage(3));
    assert_eq!(used(child.turn()).await, usage(4));
    assert_eq!(used(parent.turn()).await, usage(4));
    a.commit(vec![conclude(other.turn(), "done")]).await.unwrap();
    a.commit(vec![conclude(parent.turn(), "pong")]).await.unwrap();
    assert_eq!(used(parent.turn()).await, usage(6));
    // Paid once, and one turn.
    for of in [UsageOf::Agent, UsageOf::Principal("telegram:1".into())] {
        let totals = a.usage_of(of, at(0)).await.unwrap();
        assert_eq!((totals.turns, totals.usage), (1, usage(6)));
    }
    let session = a.session(crate::SessionRef::Id(child.session())).await.unwrap().unwrap();
    assert_eq!(session.state, SessionState::Ended);
    assert_eq!(texts(&a, child.session()).await, ["heliotrope", "done"]);
    store.shutdown().await;
}

async fn what_is_unfinished_below_ends_with_its_parent(opener: &dyn Opener) {
    let store = opener.open("child end").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let parent = take(&a, "k", "ping").await.turn();
    let child = begin(&a, parent, 1, 1).await.turn();
    let grandchild = begin(&a, child, 1, 1).await.turn();
    let over = Conclude {
        turn: parent,
        messages: Vec::new(),
        usage: Usage::default(),
        outcome: TurnOutcome::Failed { error: "a fault".to_owned() },
        at: at(5),
    };
    a.commit(vec![AgentCommand::Conclude(Box::new(over))]).await.unwrap();
    for turn in [child, grandchild] {
        let turn = a.turn(turn).await.unwrap().unwrap();
        assert_eq!((turn.status, turn.ended_at), (TurnStatus::Stopped, Some(at(5))));
    }
    let late = a.commit(vec![beginning(parent, 2, 1)]).await;
    assert!(matches!(late, Err(StoreError::TurnOver { .. })), "{late:?}");
    store.shutdown().await;
}

async fn a_child_is_forgotten_with_its_parent(opener: &dyn Opener) {
    let store = opener.open("child forgotten").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let parent = take(&a, "k", "ping").await;
    let child = begin(&a, parent.turn(), 1, 1).await;
    let grandchild = begin(&a, child.turn(), 1, 1).await;
    let forget = AgentCommand::ForgetSession { session: parent.session(), at: at(9) };
    a.commit(vec![forget]).await.unwrap();
    for below in [child, grandchild] {
        assert!(texts(&a, below.session()).await.is_empty());
        let turn = a.turn(below.turn()).await.unwrap().unwrap();
        assert_eq!(turn.status, TurnStatus::Stopped);
    }
    store.shutdown().await;
}
