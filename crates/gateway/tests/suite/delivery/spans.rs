//! Platforms that recognise a repetition for some time, and what is shown of work by a reaction.

use crate::delivery::platform::{Act, Fake, forgetful, forgets_in_time, reacting};
use crate::delivery::support::{Life, home, in_a_life, repetition, reply};
use insula_store::DeliveryState;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn within_the_life_of_a_key_a_message_is_sent_again_under_it() {
    let (files, fake) = (home(), Fake::new(forgets_in_time()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::ArrivesUnsaid, Act::Lost, Act::Later(None)]);
        life.say("a", "c1", "say one").await;
        fake.asked(4).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1"), [reply("one")]);
        assert!(life.records("a", "delivery.uncertain").await.is_empty());
        life.end().await;
    });
}

#[test]
fn after_the_life_of_a_key_a_repetition_says_that_it_may_be_one() {
    let (files, fake) = (home(), Fake::new(forgets_in_time()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        // What asks for a longer wait was surely not taken; what was before it may have been.
        fake.will([Act::ArrivesUnsaid, Act::Later(Some(Duration::from_secs(40)))]);
        life.say("a", "c1", "say one").await;
        fake.count(2).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1"), [reply("one"), repetition(&reply("one"))]);
        let seen = fake.seen();
        assert_ne!(seen[0].key, seen[1].key, "another key: it is another message");
        assert_eq!(life.records("a", "delivery.uncertain").await.len(), 1);
        life.end().await;
    });
}

#[test]
fn what_was_surely_not_taken_is_no_repetition_however_late() {
    let (files, fake) = (home(), Fake::new(forgets_in_time()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::Later(Some(Duration::from_secs(100))), Act::Later(None)]);
        life.say("a", "c1", "say one").await;
        fake.count(1).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1"), [reply("one")]);
        life.end().await;
    });
}

#[test]
fn where_doubts_are_held_what_outlived_its_key_waits_for_somebody() {
    let (files, fake) = (home(), Fake::new(forgets_in_time()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.hold_uncertain();
        fake.will([Act::ArrivesUnsaid, Act::Later(Some(Duration::from_secs(40)))]);
        life.say("a", "c1", "say one").await;
        fake.asked(2).await;
        life.quiet("a").await;
        let left = life.unsent("a").await;
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].state, DeliveryState::Held);
        assert_eq!(fake.texts("c1"), [reply("one")]);
        life.end().await;
    });
}

/// Ends a life while a message is on its way, waits, and gives what is there after another life.
fn over_a_crash(wait: Duration) -> Vec<String> {
    let (files, fake) = (home(), Fake::new(forgets_in_time()));
    let world = insula_testkit::auto_world(7).0;
    let moment = in_a_life(async {
        let life = Life::within(world, &files, &fake, crate::delivery::support::AGENTS, None).await;
        fake.will([Act::ArrivesUnsaid, Act::Hangs]);
        life.say("a", "c1", "say one").await;
        fake.asked(2).await;
        life.elapsed()
    });
    in_a_life(async {
        let (world, handles) = insula_testkit::auto_world(7);
        // The other life begins so long after this one.
        handles.clock.advance(moment + wait).await;
        let life = Life::within(world, &files, &fake, crate::delivery::support::AGENTS, None).await;
        life.quiet("a").await;
        life.end().await;
    });
    Arc::clone(&fake).texts("c1")
}

#[test]
fn a_restart_knows_when_the_first_try_was() {
    assert_eq!(over_a_crash(Duration::from_secs(2)), [reply("one")]);
    let late = over_a_crash(Duration::from_secs(60));
    assert_eq!(late, [reply("one"), repetition(&reply("one"))]);
}

#[test]
fn where_nothing_shows_writing_a_reaction_does_until_the_turn_is_over() {
    let (files, fake) = (home(), Fake::new(reacting()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", "slowly and surely").await;
        fake.signed(2).await;
        fake.count(1).await;
        life.quiet("a").await;
        let expected = [("q1".to_owned(), true), ("q1".to_owned(), false)];
        assert_eq!(fake.signs(), expected);
        assert_eq!(fake.typed(), 0);
        // What is answered at once is not announced.
        life.say("a", "c2", "say at once").await;
        fake.count(2).await;
        life.quiet("a").await;
        assert_eq!(fake.signs(), expected);
        life.end().await;
    });
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", "slowly and surely").await;
        fake.count(1).await;
        life.over("a").await;
        assert!(fake.signs().is_empty() && fake.typed() > 0);
        life.end().await;
    });
}
