//! Tests of the states of cards and of rights on boards.

use super::*;
use proptest::prelude::*;

fn facts() -> impl Strategy<Value = Facts> {
    (any::<bool>(), 0..3_u32, any::<bool>()).prop_map(|(has_assignee, needs_open, is_early)| {
        Facts { has_assignee, needs_open, is_early }
    })
}

fn step() -> impl Strategy<Value = CardStep> {
    prop_oneof![
        facts().prop_map(CardStep::Settle),
        Just(CardStep::Claim),
        facts().prop_map(CardStep::Release),
        Just(CardStep::Submit),
        Just(CardStep::Complete),
        facts().prop_map(CardStep::Rework),
        prop::sample::select(&BlockKind::ALL[..]).prop_map(CardStep::Block),
        facts().prop_map(CardStep::Unblock),
        Just(CardStep::Archive),
        facts().prop_map(CardStep::Reopen),
    ]
}

proptest! {
    /// However a card is pushed around, it runs only after a claim, and what is over comes back
    /// only when somebody opens it again.
    #[test]
    fn a_card_never_jumps(steps in prop::collection::vec(step(), 0..60)) {
        let mut status = CardStatus::Triage;
        for step in steps {
            let Ok(next) = status.after(step) else { continue };
            if next == CardStatus::Running {
                prop_assert!(status == CardStatus::Running || step == CardStep::Claim);
            }
            if next == CardStatus::Review && status != CardStatus::Review {
                prop_assert_eq!((status, step), (CardStatus::Running, CardStep::Submit));
            }
            if next == CardStatus::Blocked && status != CardStatus::Blocked {
                prop_assert!(matches!(step, CardStep::Block(_)));
            }
            if status.is_over() && !next.is_over() {
                prop_assert!(matches!(step, CardStep::Reopen(_)));
            }
            status = next;
        }
    }

    /// A card is ready only where somebody is to do it, nothing has to come first and its time has
    /// come.
    #[test]
    fn only_what_can_be_begun_is_ready(facts in facts()) {
        let can = facts.has_assignee && facts.needs_open == 0 && !facts.is_early;
        prop_assert_eq!(facts.rest() == CardStatus::Ready, can);
        // Looking twice changes nothing.
        let once = CardStatus::Todo.after(CardStep::Settle(facts)).unwrap();
        prop_assert_eq!(once.after(CardStep::Settle(facts)).unwrap(), once);
    }

    #[test]
    fn rights_only_shrink_together(one in 0_usize..32, other in 0_usize..32) {
        let of = |bits: usize| {
            let some: Vec<BoardRight> =
                BoardRight::ALL.into_iter().enumerate().filter(|(at, _)| bits & 1 << at != 0).map(|it| it.1).collect();
            BoardRights::of(&some)
        };
        let (one, other) = (of(one), of(other));
        for right in BoardRight::ALL {
            prop_assert_eq!(one.and(other).has(right), one.has(right) && other.has(right));
        }
        prop_assert_eq!(one.is_none(), !one.has(BoardRight::See));
    }
}

#[test]
fn one_card_is_claimed_once() {
    let running = CardStatus::Ready.after(CardStep::Claim).unwrap();
    assert_eq!(running, CardStatus::Running);
    let again = running.after(CardStep::Claim).unwrap_err();
    assert_eq!(
        again.to_string(),
        "a card that is `running` can't be claimed; somebody works on it"
    );
    assert!(CardStatus::Running.after(CardStep::Archive).is_err());
    for status in CardStatus::ALL {
        assert_eq!(CardStatus::parse(status.as_str()), Some(status));
        let claimed = status.after(CardStep::Claim).is_ok();
        let can = matches!(status, CardStatus::Ready | CardStatus::Triage);
        assert_eq!(claimed, can, "{status}");
    }
}

#[test]
fn names_of_roles_and_kinds_are_found() {
    for role in BoardRights::ROLE_NAMES {
        assert!(BoardRights::of_role(role).unwrap().has(BoardRight::See), "{role}");
    }
    assert_eq!(BoardRights::of_role("work").unwrap().to_string(), "see, add, claim");
    assert_eq!(BoardRights::of_role("manage"), Some(BoardRights::all()));
    assert_eq!(BoardRights::of_role("boss"), None);
    assert!(BoardRights::default().is_none());
    for kind in BlockKind::ALL {
        assert_eq!(BlockKind::parse(kind.as_str()), Some(kind));
    }
    assert_eq!(CardId::parse("#7"), Some(CardId(7)));
    assert_eq!(CardId::parse("-7"), None);
    assert_eq!(CardId::parse("x"), None);
    assert!(BoardName::new("Work").is_err());
}
