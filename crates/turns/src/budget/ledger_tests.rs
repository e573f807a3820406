//! What holds of the ledger whatever is asked of it, in whatever order.

use super::ledger::{Amounts, Estimate, Key, Ledger, ReservedAmounts};
use insula_domain::{AgentId, BudgetLimits};
use insula_registry::events::{BudgetLevel, Dimension};
use insula_world::Timestamp;
use proptest::prelude::*;
use std::time::Duration;

const DAY_MS: i64 = 86_400_000;
const NOON: i64 = 20_000 * DAY_MS + DAY_MS / 2;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(NOON + ms)
}

fn tokens(tokens: u64) -> Amounts {
    Amounts { tokens, micros: 0 }
}

fn estimate(least: u64, usual: u64) -> Estimate {
    Estimate { least: tokens(least), usual: tokens(usual) }
}

fn daily(most: u64) -> BudgetLimits {
    BudgetLimits { tokens_per_day: Some(most), ..BudgetLimits::default() }
}

fn a_minute(most: u32) -> BudgetLimits {
    BudgetLimits { turns_per_minute: Some(most), ..BudgetLimits::default() }
}

fn agent(name: &str) -> Key {
    Key::Agent((AgentId::new(name).unwrap(), 0))
}

/// What one caller does next.
#[derive(Debug, Clone)]
enum Act {
    Reserve {
        least: u64,
        more: u64,
    },
    /// Ends the call in this place with this many tokens beyond what was reserved.
    Settle {
        place: usize,
        beyond: u64,
    },
    Drop {
        place: usize,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => (1..40_u64, 0..60_u64).prop_map(|(least, more)| Act::Reserve { least, more }),
        2 => (0..8_usize, prop_oneof![4 => Just(0), 1 => 0..50_u64])
            .prop_map(|(place, beyond)| Act::Settle { place, beyond }),
        1 => (0..8_usize).prop_map(|place| Act::Drop { place }),
    ];
    prop::collection::vec(act, 0..80)
}

proptest! {
    #[test]
    fn no_limit_is_passed_by_more_than_calls_took_beyond_their_reservation(
        acts in acts(), daemon in 0..400_u64, own in 0..400_u64,
    ) {
        let ledger = Ledger::default();
        let claims = [(agent("a"), daily(own)), (Key::Daemon, daily(daemon))];
        let held = |ledger: &Ledger| {
            claims.each_ref().map(|(key, _)| ledger.standing(key, at(0)).unwrap_or_default().1.tokens)
        };
        let mut calls: Vec<(ReservedAmounts, [u64; 2])> = Vec::new();
        let (mut used, mut over) = (0, [0, 0]);
        for act in acts {
            match act {
                Act::Reserve { least, more } => {
                    let before = held(&ledger);
                    match ledger.reserve(&claims, estimate(least, least + more), at(0)) {
                        Ok(reserved) => {
                            let after = held(&ledger);
                            let held = [after[0] - before[0], after[1] - before[1]];
                            prop_assert!(held.iter().all(|it| (least..=least + more).contains(it)));
                            calls.push((reserved, held));
                        }
                        Err(refusal) => {
                            prop_assert_eq!(refusal.dimension, Dimension::TokensPerDay);
                            prop_assert!(refusal.used + least > refusal.limit);
                            // All or nothing: the account that had room holds nothing of it.
                            prop_assert_eq!(before, held(&ledger));
                        }
                    }
                }
                Act::Settle { place, beyond } if place < calls.len() => {
                    let (reserved, held) = calls.remove(place);
                    let took = held[0].min(held[1]) + beyond;
                    reserved.settle(tokens(took), at(0));
                    used += took;
                    for (over, held) in over.iter_mut().zip(held) {
                        *over += took.saturating_sub(held);
                    }
                }
                Act::Drop { place } if place < calls.len() => drop(calls.remove(place)),
                Act::Settle { .. } | Act::Drop { .. } => {}
            }
            for (index, (key, limits)) in claims.iter().enumerate() {
                let Some((counted, held)) = ledger.standing(key, at(0)) else { continue };
                let in_flight: u64 = calls.iter().map(|(_, held)| held[index]).sum();
                prop_assert_eq!((counted.tokens, held.tokens), (used, in_flight));
                let limit = limits.tokens_per_day.unwrap();
                prop_assert!(used + in_flight <= limit + over[index]);
            }
        }
        drop(calls);
        for (key, _) in &claims {
            let standing = ledger.standing(key, at(0)).unwrap_or_default();
            prop_assert_eq!(standing, (tokens(used), tokens(0)), "everything is given back");
        }
    }

    #[test]
    fn no_minute_has_more_turns_than_allowed(
        most in 0..6_u32, gaps in prop::collection::vec((0..20_000_i64, any::<bool>()), 0..80),
    ) {
        let ledger = Ledger::default();
        let claims = [(agent("a"), a_minute(most))];
        let (mut now, mut taken) = (0, Vec::new());
        for (gap, keep) in gaps {
            now += gap;
            match ledger.admit(&claims, at(now)) {
                Ok(admission) if keep => {
                    admission.keep();
                    taken.push(now);
                }
                Ok(_) => {}
                Err(refusal) => {
                    prop_assert_eq!(refusal.dimension, Dimension::TurnsPerMinute);
                    if let Some(wait) = refusal.retry_after() {
                        now += i64::try_from(wait.as_millis()).unwrap();
                        let admission = ledger.admit(&claims, at(now)).map_err(|refusal| {
                            TestCaseError::fail(format!("after the wait: {refusal}"))
                        })?;
                        drop(admission);
                    }
                }
            }
        }
        for (index, first) in taken.iter().enumerate() {
            let in_minute = taken[index..].iter().take_while(|at| **at - first < 60_000).count();
            prop_assert!(in_minute <= most as usize);
        }
    }
}

#[test]
fn a_refusal_names_the_first_level_without_room() {
    let ledger = Ledger::default();
    let claims = |own, all| [(agent("a"), daily(own)), (Key::Daemon, daily(all))];
    let refused = |own, all| {
        let refusal = ledger.reserve(&claims(own, all), estimate(10, 20), at(0)).err().unwrap();
        (refusal.level, refusal.to_string())
    };
    assert_eq!(refused(9, 100).0, BudgetLevel::Agent);
    let (level, text) = refused(10, 9);
    assert_eq!(level, BudgetLevel::Daemon);
    assert_eq!(
        text,
        "the daemon's budget leaves no room for this: `tokens_per_day` is 9; the day begins anew at midnight UTC"
    );
    assert!(ledger.reserve(&claims(10, 10), estimate(10, 20), at(0)).is_ok());
}

#[test]
fn money_is_counted_apart_from_tokens_and_what_is_free_always_fits() {
    let ledger = Ledger::default();
    let none = BudgetLimits { usd_micros_per_day: Some(0), ..BudgetLimits::default() };
    let claims = [(agent("a"), none)];
    assert!(ledger.reserve(&claims, estimate(10, 20), at(0)).is_ok());
    let dear = Amounts { tokens: 1, micros: 1 };
    let dear = Estimate { least: dear, usual: dear };
    let refusal = ledger.reserve(&claims, dear, at(0)).err().unwrap();
    assert_eq!((refusal.dimension, refusal.retry_after()), (Dimension::UsdPerDay, None));
}

#[test]
fn a_new_day_begins_with_nothing_used_and_calls_under_way_still_held() {
    let ledger = Ledger::default();
    let claims = [(agent("a"), daily(10))];
    ledger.open(agent("a"), tokens(5), at(0));
    let over_night = ledger.reserve(&claims, estimate(4, 4), at(0)).unwrap();
    let refusal = ledger.reserve(&claims, estimate(2, 2), at(0)).err().unwrap();
    assert_eq!((refusal.used, refusal.limit), (9, 10));
    assert_eq!(refusal.retry_after(), Some(Duration::from_millis(DAY_MS as u64 / 2)));
    let tomorrow = at(DAY_MS / 2);
    assert_eq!(ledger.standing(&agent("a"), tomorrow), Some((tokens(0), tokens(4))));
    over_night.settle(tokens(7), tomorrow);
    assert_eq!(ledger.standing(&agent("a"), tomorrow), Some((tokens(7), tokens(0))));
}

#[test]
fn accounts_of_other_days_and_minutes_that_are_over_do_not_stay() {
    let ledger = Ledger::default();
    let key = |n: usize| Key::Person(format!("api:{n}").into());
    for n in 0..3_000 {
        ledger.open(key(n), tokens(1), at(0));
        ledger.admit(&[(key(n), a_minute(1))], at(0)).unwrap().keep();
    }
    for n in 3_000..12_000 {
        ledger.open(key(n), tokens(1), at(DAY_MS));
        ledger.admit(&[(key(n), a_minute(1))], at(DAY_MS)).unwrap().keep();
    }
    assert!((0..3_000).all(|n| !ledger.knows(&key(n))));
    assert!((3_000..12_000).all(|n| ledger.knows(&key(n))));
}
