//! What a backend owes about what was used, and by whom.

use super::sample::*;
use super::turns::step;
use super::{Opener, agent, audit};
use crate::{
    AcceptChild, AgentCommand, Arrival, Conclude, NewStep, Totals, TurnOutcome, Usage, UsageBy,
    UsageOf, UsedAside,
};

/// Runs every check.
pub(super) async fn run(opener: &dyn Opener) {
    spending_is_known_without_opening_anybody(opener).await;
    usage_adds_up(opener).await;
    ways_in_are_counted(opener).await;
}

async fn spending_is_known_without_opening_anybody(opener: &dyn Opener) {
    let store = opener.open("spending").await;
    let owner = store.claim("suite").await.unwrap();
    owner.agent(&agent("quiet")).commit(vec![audit("x")]).await.unwrap();
    turn(&owner.agent(&agent("twice")), "k", "ping").await;
    turn(&owner.agent(&agent("twice")), "k", "ping").await;
    turn(&owner.agent(&agent("gone")), "k", "ping").await;
    let both = [agent("gone"), agent("twice")];
    let spending = store.daemon().spending(at(0)).await.unwrap();
    assert_eq!((&*spending.closed, &*spending.open), (&[][..], &both[..]));
    store.retire(&agent("gone")).await;
    let gone = crate::DaemonCommand::ForgetAgent(agent("gone"));
    owner.daemon().commit(vec![gone]).await.unwrap();
    store.shutdown().await;

    let store = opener.open("spending").await;
    let owner = store.claim("suite").await.unwrap();
    let spending = store.daemon().spending(at(0)).await.unwrap();
    let [(name, day, totals)] = &*spending.closed else { panic!("{spending:?}") };
    let a = owner.agent(&agent("twice"));
    assert_eq!((name, totals.turns), (&agent("twice"), 2));
    assert_eq!(*totals, a.usage_of(UsageOf::Agent, *day).await.unwrap());
    assert_eq!(spending.open, []);
    // What a deleted agent used stays used.
    assert_eq!(spending.deleted.map(|(at, used)| (at, used.turns)), Some((*day, 1)));
    let tomorrow = insula_world::Timestamp::from_millis(day.as_millis() + crate::usage::DAY_MS);
    assert_eq!(store.daemon().spending(tomorrow).await.unwrap(), crate::Spending::default());
    take(&a, "k", "again").await;
    let spending = store.daemon().spending(tomorrow).await.unwrap();
    assert_eq!((&*spending.closed, &*spending.open), (&[][..], &[agent("twice")][..]));
    store.shutdown().await;
}

async fn usage_adds_up(opener: &dyn Opener) {
    let store = opener.open("usage").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let day = 86_400_000;
    let totals = |turns, n| Totals { turns, usage: usage(n) };
    for (n, when) in [(1, 0), (2, 5), (4, day), (8, 2 * day)] {
        let taken = take(&a, "k", "ping").await.turn();
        let spent = NewStep::Spent { usage: usage(n), at: at(when) };
        let end = Conclude {
            turn: taken,
            messages: Vec::new(),
            usage: Usage::default(),
            outcome: TurnOutcome::Stopped,
            at: at(when),
        };
        let end = AgentCommand::Conclude(Box::new(end));
        a.commit(vec![step(taken, spent), end]).await.unwrap();
    }
    let report = a.usage_since(at(day)).await.unwrap();
    assert_eq!(report.total, totals(2, 12));
    let days: Vec<_> = report.days.iter().map(|(_, totals)| *totals).collect();
    assert_eq!(days, [totals(1, 4), totals(1, 8)]);
    assert!(report.days[0].0 <= at(day) && report.days[0].0 > at(0));
    assert_eq!(report.principals, [("telegram:1".into(), totals(2, 12))]);
    assert_eq!(report.scopes, [("custom:1".into(), totals(2, 12))]);
    series_add_up(&a, totals).await;
    let of = async |of, since| a.usage_of(of, at(since)).await.unwrap();
    assert_eq!(of(UsageOf::Agent, 0).await, totals(4, 15));
    assert_eq!(of(UsageOf::Principal("telegram:1".into()), 2 * day).await, totals(1, 8));
    assert_eq!(of(UsageOf::Scope("custom:1".parse().unwrap()), -3_000 * day).await, totals(4, 15));
    assert_eq!(of(UsageOf::Scope("custom:2".parse().unwrap()), 0).await, Totals::default());
    assert_eq!(of(UsageOf::Agent, 9 * day).await, Totals::default());
    let aside = UsedAside {
        principal: "telegram:2".into(),
        scope: "custom:2".parse().unwrap(),
        ways: vec!["binding:1".into()],
        usage: usage(5),
        at: at(9 * day),
    };
    a.commit(vec![AgentCommand::CountAside(Box::new(aside))]).await.unwrap();
    let ways = UsageOf::Way("binding:1".into());
    let scope = UsageOf::Scope("custom:2".parse().unwrap());
    for who in [UsageOf::Agent, UsageOf::Principal("telegram:2".into()), scope, ways] {
        assert_eq!(of(who, 9 * day).await, totals(0, 5), "what is used beside turns is no turn");
    }
    store.shutdown().await;
}

/// The same over time: by day, by hour, by name, and by the model that was asked.
async fn series_add_up(a: &crate::AgentLease, totals: impl Fn(u64, u64) -> Totals) {
    let (day, hour) = (86_400_000, 3_600_000);
    let count = |model: &str, key: Option<&str>, n, when| AgentCommand::CountCall {
        model: model.into(),
        key: key.map(Into::into),
        usage: usage(n),
        at: at(when),
    };
    let calls = [count("p/one", Some("own"), 1, day), count("p/two", None, 6, day)];
    a.commit(calls.into()).await.unwrap();
    a.commit(vec![count("p/one", Some("own"), 2, day)]).await.unwrap();
    let series = async |by| a.usage_series(by, at(day)).await.unwrap();
    let of_agent = series(UsageBy::Day).await;
    assert_eq!(of_agent.names, []);
    let sums: Vec<_> = of_agent.total.iter().map(|(_, totals)| *totals).collect();
    assert_eq!(sums, [totals(1, 4), totals(1, 8)]);
    let hours = series(UsageBy::Hour).await.hours;
    let begun = |days: i64| at(days * day).as_millis().div_euclid(hour) * hour;
    let expected = [1, 2].map(|days| insula_world::Timestamp::from_millis(begun(days)));
    assert_eq!(hours.iter().map(|(at, _)| *at).collect::<Vec<_>>(), expected);
    let models = series(UsageBy::Model).await.names;
    let [(two, once), (one, twice)] = &*models else { panic!("{models:?}") };
    // The costliest comes first.
    assert_eq!((&**two, &**one), ("p/two", "p/one"));
    assert_eq!((once[0].1, twice[0].1), (totals(1, 6), totals(2, 3)));
    let keys = series(UsageBy::Key).await.names;
    assert_eq!(keys.len(), 1, "a call that nobody's key paid for is no key's: {keys:?}");
    let people = series(UsageBy::Principal).await.names;
    assert_eq!((&*people[0].0, people[0].1.len()), ("telegram:1", 2));
}

/// How a message came in is there after a crash, and what its turn and the turn's children spend
/// is counted by each way.
async fn ways_in_are_counted(opener: &dyn Opener) {
    let store = opener.open("ways").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let AgentCommand::Accept(mut accept) = accept("k", "ping") else { unreachable!() };
    accept.arrival = Arrival {
        said_at: Some("{\"guild\":\"g\"}".into()),
        ways: vec!["binding telegram role=guest".into(), "account telegram:main".into()],
    };
    let taken = a.commit(vec![AgentCommand::Accept(accept.clone())]).await.unwrap();
    let turn = taken.accepted().unwrap().turn();
    let spent = |n| NewStep::Spent { usage: usage(n), at: at(0) };
    a.commit(vec![step(turn, spent(1))]).await.unwrap();
    let child = AcceptChild { parent: turn, step: 1, number: 1, message: said("work") };
    let child = a.commit(vec![AgentCommand::AcceptChild(Box::new(child))]).await.unwrap();
    a.commit(vec![step(child.accepted().unwrap().turn(), spent(2))]).await.unwrap();
    take(&a, "l", "ping").await;
    let unfinished = a.unfinished().await.unwrap();
    let said_at: Vec<_> = unfinished.iter().map(|it| it.said_at.as_deref()).collect();
    assert_eq!(said_at, [Some("{\"guild\":\"g\"}"), None]);
    for way in &accept.arrival.ways {
        let of = UsageOf::Way(way.clone());
        assert_eq!(a.usage_of(of, at(0)).await.unwrap().usage, usage(3), "{way}");
    }
    let other = UsageOf::Way("account telegram:other".into());
    assert_eq!(a.usage_of(other, at(0)).await.unwrap(), Totals::default());
    let ways = a.usage_since(at(0)).await.unwrap().ways;
    assert_eq!(ways.len(), 2);
    // A name with a line break in it would be two.
    accept.arrival.ways = vec!["a\nb".into()];
    assert!(a.commit(vec![AgentCommand::Accept(accept)]).await.is_err());
    store.shutdown().await;
}
