//! What a backend owes about approvals.

use super::sample::*;
use super::{Opener, agent};
use crate::approval::{APPROVAL_BYTES_MAX, Approval, Grant};
use crate::{AgentCommand, ApprovalDecision, SessionId, StoreError, TurnId};

/// Runs every check.
pub(super) async fn run(opener: &dyn Opener) {
    what_waits_is_durable_and_goes_when_settled(opener).await;
    a_grant_holds_where_it_was_given(opener).await;
    a_grant_can_be_seen_and_taken_back(opener).await;
    a_forgotten_session_takes_its_approvals_along(opener).await;
}

fn approval(id: &str, session: SessionId, call: &str) -> Approval {
    Approval {
        id: id.into(),
        turn: TurnId(7),
        session,
        call: call.into(),
        tool: "terminal".into(),
        invocation: [9; 32],
        rule: "delete".into(),
        what: "rm -r build".to_owned(),
        principal: "api:t".into(),
        asked_at: at(1),
        expires_at: at(2),
    }
}

fn ask(approval: &Approval) -> AgentCommand {
    AgentCommand::AskApproval(Box::new(approval.clone()))
}

fn settle(id: &str, grant: Option<Grant>) -> AgentCommand {
    let decision = ApprovalDecision::Approved { by: "ann".into() };
    AgentCommand::SettleApproval { id: id.into(), decision, grant }
}

async fn what_waits_is_durable_and_goes_when_settled(opener: &dyn Opener) {
    let store = opener.open("approvals").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(a.approvals().await.unwrap(), []);
    let (one, two) = (approval("one", SessionId(1), "c1"), approval("two", SessionId(1), "c2"));
    a.commit(vec![ask(&one), ask(&two)]).await.unwrap();
    store.shutdown().await;

    let store = opener.open("approvals").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(a.approvals().await.unwrap(), [one.clone(), two.clone()]);
    assert_eq!(owner.agent(&agent("b")).approvals().await.unwrap(), []);
    // The same call asked about again takes the place of the first.
    let again = approval("again", SessionId(1), "c1");
    a.commit(vec![ask(&again), settle("two", None), settle("nobody", None)]).await.unwrap();
    assert_eq!(a.approvals().await.unwrap(), [again]);
    let long = Approval { what: "x".repeat(APPROVAL_BYTES_MAX + 1), ..one };
    let refused = a.commit(vec![ask(&long)]).await;
    assert!(matches!(refused, Err(StoreError::TooLong { .. })));
    store.shutdown().await;
}

fn grant(invocation: u8, session: Option<SessionId>) -> Grant {
    Grant {
        id: format!("g{invocation}").into(),
        invocation: [invocation; 32],
        session,
        by: "cli:local".into(),
        at: at(3),
        tool: "terminal".into(),
        rule: "delete".into(),
        what: "rm -r build".to_owned(),
        asked_in: SessionId(1),
    }
}

async fn a_grant_holds_where_it_was_given(opener: &dyn Opener) {
    let store = opener.open("grants").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let here = grant(1, Some(SessionId(1)));
    let always = grant(2, None);
    let batch = vec![settle("x", Some(here.clone())), settle("y", Some(always.clone()))];
    a.commit(batch).await.unwrap();
    let granted = async |invocation: u8, session: i64| {
        a.granted([invocation; 32], SessionId(session)).await.unwrap()
    };
    assert_eq!(granted(1, 1).await, Some(here));
    assert_eq!(granted(1, 2).await, None);
    assert_eq!(granted(2, 1).await, Some(always.clone()));
    assert_eq!(granted(2, 9).await, Some(always));
    assert_eq!(granted(3, 1).await, None);
    let b = owner.agent(&agent("b"));
    assert_eq!(b.granted([2; 32], SessionId(1)).await.unwrap(), None);
    store.shutdown().await;
}

async fn a_grant_can_be_seen_and_taken_back(opener: &dyn Opener) {
    let store = opener.open("revoked").await;
    let owner = store.claim("suite").await.unwrap();
    let (a, b) = (owner.agent(&agent("a")), owner.agent(&agent("b")));
    let (here, always) = (grant(1, Some(SessionId(1))), Grant { at: at(4), ..grant(2, None) });
    let batch = vec![settle("x", Some(here.clone())), settle("y", Some(always.clone()))];
    a.commit(batch).await.unwrap();
    b.commit(vec![settle("x", Some(always.clone()))]).await.unwrap();
    assert_eq!(a.grants().await.unwrap(), [always.clone(), here.clone()]);
    let revoke = |id: &str| vec![AgentCommand::RevokeGrant { id: id.into() }];
    a.commit(revoke(&always.id)).await.unwrap();
    a.commit(revoke("nobody")).await.unwrap();
    assert_eq!(a.grants().await.unwrap(), [here]);
    assert_eq!(a.granted([2; 32], SessionId(1)).await.unwrap(), None);
    assert_eq!(b.grants().await.unwrap(), [always]);
    store.shutdown().await;
}

async fn a_forgotten_session_takes_its_approvals_along(opener: &dyn Opener) {
    let store = opener.open("forgotten-approvals").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    take(&a, "k", "hello").await;
    let session = a.sessions(None, 1).await.unwrap()[0].id;
    let always = Grant { asked_in: session, ..grant(2, None) };
    let batch = vec![
        ask(&approval("one", session, "c1")),
        settle("none", Some(grant(1, Some(session)))),
        settle("none", Some(always.clone())),
    ];
    a.commit(batch).await.unwrap();
    a.commit(vec![AgentCommand::ForgetSession { session, at: at(9) }]).await.unwrap();
    assert_eq!(a.approvals().await.unwrap(), []);
    assert_eq!(a.granted([1; 32], session).await.unwrap(), None);
    // What was allowed for good stays allowed; its words go with the session.
    let wordless = Grant { what: String::new(), ..always };
    assert_eq!(a.grants().await.unwrap(), [wordless]);
    store.shutdown().await;
}
