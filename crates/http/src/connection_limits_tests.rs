//! Tests of who gets a place.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;
use std::net::Ipv4Addr;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn token(name: &str) -> ConnectionOwner {
    ConnectionOwner::Token(name.into())
}

fn agent(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

/// As many seats as `holder` gets, each with a request under way.
fn fill(limiter: &Arc<ConnectionLimiter>, holder: &ConnectionOwner) -> Vec<ConnectionPermit> {
    let mut permits = Vec::new();
    while let Ok(permit) = limiter.enter(HERE)
        && permit.begin(holder).is_ok()
    {
        permits.push(permit);
    }
    permits
}

#[test]
fn one_token_takes_its_share_and_no_more() {
    let limiter = Arc::new(ConnectionLimiter::default());
    let greedy = fill(&limiter, &token("a"));
    assert_eq!(greedy.len(), TOKEN_MAX);
    let permit = limiter.enter(HERE).unwrap();
    assert_eq!(permit.begin(&token("a")), Err(LimitReached::OfToken));
    // The same connection is another's as soon as it shows another token.
    permit.begin(&token("b")).unwrap();
    drop(greedy);
    limiter.enter(HERE).unwrap().begin(&token("a")).unwrap();
}

#[test]
fn many_tokens_together_leave_room_for_one_more() {
    let limiter = Arc::new(ConnectionLimiter::default());
    let all: Vec<Vec<ConnectionPermit>> =
        (0..12).map(|at| fill(&limiter, &token(&format!("t{at}")))).collect();
    let held: usize = all.iter().map(Vec::len).sum();
    assert!(held <= CONNECTIONS_MAX - STRANGERS_MAX, "{held}");
    let late: Vec<ConnectionPermit> = (0..FEW)
        .map(|_| {
            let permit = limiter.enter(HERE).unwrap();
            permit.begin(&token("late")).unwrap();
            permit
        })
        .collect();
    assert_eq!(late.len(), FEW);
    // And for somebody who has none yet.
    limiter.enter(HERE).unwrap();
}

#[test]
fn silent_strangers_give_way_in_the_order_they_came() {
    let limiter = Arc::new(ConnectionLimiter::default());
    let silent: Vec<ConnectionPermit> =
        (0..STRANGERS_MAX).map(|_| limiter.enter(HERE).unwrap()).collect();
    let _late = limiter.enter(HERE).unwrap();
    assert!(silent[0].0.closed.is_cancelled());
    assert!(!silent[1].0.closed.is_cancelled());
    // What was taken away can't be used, nor given back twice.
    assert_eq!(silent[0].begin(&token("a")), Err(LimitReached::AtAll));
    drop(silent);
    assert_eq!(limiter.held().connections.len(), 1);
    assert_eq!(limiter.held().holders.of(&ConnectionOwner::Nobody), 1);
}

#[test]
fn strangers_with_requests_under_way_do_not_give_way_and_do_not_grow() {
    let limiter = Arc::new(ConnectionLimiter::default());
    let busy = fill(&limiter, &ConnectionOwner::Nobody);
    assert_eq!(busy.len(), STRANGERS_MAX);
    assert_eq!(limiter.enter(HERE).err(), Some(LimitReached::AtAll));
    busy[7].rest();
    limiter.enter(HERE).unwrap();
    assert!(busy[7].0.closed.is_cancelled());
}

#[test]
fn a_connection_at_rest_gives_way_to_its_own_holder_first() {
    let limiter = Arc::new(ConnectionLimiter::default());
    let (a, b) = (fill(&limiter, &token("a")), fill(&limiter, &token("b")));
    a[3].rest();
    b[0].rest();
    limiter.enter(HERE).unwrap().begin(&token("a")).unwrap();
    assert!(a[3].0.closed.is_cancelled());
    assert!(!b[0].0.closed.is_cancelled());
}

#[test]
fn a_conversation_that_is_kept_is_never_at_rest() {
    let limiter = Arc::new(ConnectionLimiter::default());
    let permit = limiter.enter(HERE).unwrap();
    permit.begin(&token("a")).unwrap();
    permit.keep();
    permit.rest();
    let rest = fill(&limiter, &token("a"));
    assert_eq!(rest.len(), TOKEN_MAX - 1);
    assert!(!permit.0.closed.is_cancelled());
}

#[test]
fn an_agent_is_asked_by_so_many_at_once_whatever_their_tokens() {
    let limiter = Arc::new(ConnectionLimiter::default());
    let mut permits = Vec::new();
    for at in 0..AGENT_MAX {
        let permit = limiter.enter(HERE).unwrap();
        permit.begin(&token(&format!("t{}", at / 100))).unwrap();
        permit.about(&agent("a")).unwrap();
        permits.push(permit);
    }
    let permit = limiter.enter(HERE).unwrap();
    permit.begin(&token("other")).unwrap();
    assert_eq!(permit.about(&agent("a")), Err(LimitReached::OfAgent));
    permit.about(&agent("b")).unwrap();
    permits[0].rest();
    permit.about(&agent("a")).unwrap();
    assert_eq!(limiter.held().agents.of(&agent("b")), 0);
}

#[test]
fn one_address_elsewhere_takes_its_share_of_all_places() {
    let limiter = Arc::new(ConnectionLimiter::default());
    let there: IpAddr = "192.0.2.7".parse().unwrap();
    let mut permits = Vec::new();
    for at in 0..ADDRESS_MAX {
        let permit = limiter.enter(there).unwrap();
        permit.begin(&token(&format!("t{}", at % 50))).unwrap();
        permits.push(permit);
    }
    assert_eq!(limiter.enter(there).err(), Some(LimitReached::AtAll));
    limiter.enter("192.0.2.8".parse().unwrap()).unwrap();
    permits[5].rest();
    limiter.enter(there).unwrap();
    assert!(permits[5].0.closed.is_cancelled());
}
