//! Tests of who gets a place.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;
use std::net::Ipv4Addr;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn token(name: &str) -> Holder {
    Holder::Token(name.into())
}

fn agent(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

/// As many seats as `holder` gets, each with a request under way.
fn fill(places: &Arc<Places>, holder: &Holder) -> Vec<Seat> {
    let mut seats = Vec::new();
    while let Ok(seat) = places.enter(HERE)
        && seat.begin(holder).is_ok()
    {
        seats.push(seat);
    }
    seats
}

#[test]
fn one_token_takes_its_share_and_no_more() {
    let places = Arc::new(Places::default());
    let greedy = fill(&places, &token("a"));
    assert_eq!(greedy.len(), TOKEN_MAX);
    let seat = places.enter(HERE).unwrap();
    assert_eq!(seat.begin(&token("a")), Err(NoPlace::OfToken));
    // The same connection is another's as soon as it shows another token.
    seat.begin(&token("b")).unwrap();
    drop(greedy);
    places.enter(HERE).unwrap().begin(&token("a")).unwrap();
}

#[test]
fn many_tokens_together_leave_room_for_one_more() {
    let places = Arc::new(Places::default());
    let all: Vec<Vec<Seat>> = (0..12).map(|at| fill(&places, &token(&format!("t{at}")))).collect();
    let held: usize = all.iter().map(Vec::len).sum();
    assert!(held <= CONNECTIONS_MAX - STRANGERS_MAX, "{held}");
    let late: Vec<Seat> = (0..FEW)
        .map(|_| {
            let seat = places.enter(HERE).unwrap();
            seat.begin(&token("late")).unwrap();
            seat
        })
        .collect();
    assert_eq!(late.len(), FEW);
    // And for somebody who has none yet.
    places.enter(HERE).unwrap();
}

#[test]
fn silent_strangers_give_way_in_the_order_they_came() {
    let places = Arc::new(Places::default());
    let silent: Vec<Seat> = (0..STRANGERS_MAX).map(|_| places.enter(HERE).unwrap()).collect();
    let _late = places.enter(HERE).unwrap();
    assert!(silent[0].0.closed.is_cancelled());
    assert!(!silent[1].0.closed.is_cancelled());
    // What was taken away can't be used, nor given back twice.
    assert_eq!(silent[0].begin(&token("a")), Err(NoPlace::AtAll));
    drop(silent);
    assert_eq!(places.held().seats.len(), 1);
    assert_eq!(places.held().holders.of(&Holder::Nobody), 1);
}

#[test]
fn strangers_with_requests_under_way_do_not_give_way_and_do_not_grow() {
    let places = Arc::new(Places::default());
    let busy = fill(&places, &Holder::Nobody);
    assert_eq!(busy.len(), STRANGERS_MAX);
    assert_eq!(places.enter(HERE).err(), Some(NoPlace::AtAll));
    busy[7].rest();
    places.enter(HERE).unwrap();
    assert!(busy[7].0.closed.is_cancelled());
}

#[test]
fn a_connection_at_rest_gives_way_to_its_own_holder_first() {
    let places = Arc::new(Places::default());
    let (a, b) = (fill(&places, &token("a")), fill(&places, &token("b")));
    a[3].rest();
    b[0].rest();
    places.enter(HERE).unwrap().begin(&token("a")).unwrap();
    assert!(a[3].0.closed.is_cancelled());
    assert!(!b[0].0.closed.is_cancelled());
}

#[test]
fn a_conversation_that_is_kept_is_never_at_rest() {
    let places = Arc::new(Places::default());
    let seat = places.enter(HERE).unwrap();
    seat.begin(&token("a")).unwrap();
    seat.keep();
    seat.rest();
    let rest = fill(&places, &token("a"));
    assert_eq!(rest.len(), TOKEN_MAX - 1);
    assert!(!seat.0.closed.is_cancelled());
}

#[test]
fn an_agent_is_asked_by_so_many_at_once_whatever_their_tokens() {
    let places = Arc::new(Places::default());
    let mut seats = Vec::new();
    for at in 0..AGENT_MAX {
        let seat = places.enter(HERE).unwrap();
        seat.begin(&token(&format!("t{}", at / 100))).unwrap();
        seat.about(&agent("a")).unwrap();
        seats.push(seat);
    }
    let seat = places.enter(HERE).unwrap();
    seat.begin(&token("other")).unwrap();
    assert_eq!(seat.about(&agent("a")), Err(NoPlace::OfAgent));
    seat.about(&agent("b")).unwrap();
    seats[0].rest();
    seat.about(&agent("a")).unwrap();
    assert_eq!(places.held().agents.of(&agent("b")), 0);
}

#[test]
fn one_address_elsewhere_takes_its_share_of_all_places() {
    let places = Arc::new(Places::default());
    let there: IpAddr = "192.0.2.7".parse().unwrap();
    let mut seats = Vec::new();
    for at in 0..ADDRESS_MAX {
        let seat = places.enter(there).unwrap();
        seat.begin(&token(&format!("t{}", at % 50))).unwrap();
        seats.push(seat);
    }
    assert_eq!(places.enter(there).err(), Some(NoPlace::AtAll));
    places.enter("192.0.2.8".parse().unwrap()).unwrap();
    seats[5].rest();
    places.enter(there).unwrap();
    assert!(seats[5].0.closed.is_cancelled());
}
