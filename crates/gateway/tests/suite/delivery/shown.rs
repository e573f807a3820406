//! What a chat sees of a turn while it runs.

use crate::delivery::platform::{Act, Fake, forgetful, mindful};
use crate::delivery::support::{Life, address, home, in_a_life, place, repetition, reply};
use insula_channel::Features;
use insula_domain::Actor;
use insula_store::{AgentCommand, DeliveryState, SessionRef};
use std::time::Duration;

const STORY: &str = "this is a story that takes its time";

#[test]
fn a_reply_is_shown_as_it_comes_and_becomes_what_it_is_in_the_same_message() {
    for features in [forgetful(), mindful()] {
        let (files, fake) = (home(), Fake::new(features));
        in_a_life(async {
            let life = Life::begin(&files, &fake).await;
            life.say("a", "c1", &format!("slowly {STORY}")).await;
            fake.count(1).await;
            let first = fake.seen().remove(0);
            assert!(first.text.ends_with("\n…") && !first.text.contains("time"), "{first:?}");
            assert!(first.goes_on, "more of it comes");
            assert_eq!(first.reply_to.as_deref(), Some("q1"));
            fake.until(|seen| seen[0].text == reply(STORY)).await;
            life.quiet("a").await;
            let seen = fake.seen();
            assert_eq!(seen.len(), 1, "{seen:#?}");
            assert!(seen[0].edits >= 2 && !seen[0].goes_on);
            life.end().await;
        });
    }
}

#[test]
fn where_messages_cannot_be_changed_only_the_reply_is_shown() {
    let features = Features { can_edit: None, ..forgetful() };
    let (files, fake) = (home(), Fake::new(features));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", &format!("slowly {STORY}")).await;
        fake.count(1).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1"), [reply(STORY)]);
        // While it was written, that was shown.
        assert!(fake.typed() >= 2, "{}", fake.typed());
        life.end().await;
    });
}

#[test]
fn a_message_that_cannot_be_changed_any_more_is_followed_by_the_whole_reply() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", &format!("slowly {STORY}")).await;
        fake.count(1).await;
        fake.refuse_edits();
        fake.count(2).await;
        life.quiet("a").await;
        // What was shown stays there, so the reply says that it may be there twice. Nobody has to
        // decide that: the reply itself is not in doubt.
        assert_eq!(fake.texts("c1")[1], repetition(&reply(STORY)));
        assert_eq!(life.records("a", "delivery.uncertain").await.len(), 1);
        life.end().await;
    });
}

#[test]
fn a_message_that_cannot_be_changed_is_followed_by_another_also_where_keys_are_recognised() {
    let (files, fake) = (home(), Fake::new(mindful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", &format!("slowly {STORY}")).await;
        fake.count(1).await;
        fake.refuse_edits();
        fake.count(2).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1")[1], repetition(&reply(STORY)));
        life.end().await;
    });
}

#[test]
fn what_may_have_been_shown_does_not_stand_for_the_reply_which_says_that_it_may_be_there() {
    for (features, whole, records) in
        [(forgetful(), repetition(&reply(STORY)), 1), (mindful(), reply(STORY), 0)]
    {
        let (files, fake) = (home(), Fake::new(features));
        in_a_life(async {
            let life = Life::begin(&files, &fake).await;
            fake.will([Act::ArrivesUnsaid]);
            life.say("a", "c1", &format!("slowly {STORY}")).await;
            fake.until(|seen| seen.iter().any(|it| it.text == whole)).await;
            life.quiet("a").await;
            assert_eq!(fake.seen().len(), 1 + records, "{:#?}", fake.seen());
            assert_eq!(life.records("a", "delivery.uncertain").await.len(), records);
            life.end().await;
        });
    }
}

#[test]
fn a_reply_of_which_something_may_have_been_shown_is_held_where_the_account_says_so() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.hold_uncertain();
        fake.will([Act::ArrivesUnsaid]);
        life.say("a", "c1", &format!("slowly {STORY}")).await;
        life.say("a", "c1", "say two").await;
        fake.until(|seen| seen.iter().any(|it| it.text == reply("two"))).await;
        life.quiet("a").await;
        assert_eq!(fake.seen().len(), 2, "{:#?}", fake.seen());
        let held = life.unsent("a").await;
        assert_eq!((held.len(), held[0].state), (1, DeliveryState::Held));
        assert_eq!(life.records("a", "delivery.held").await.len(), 1);
        let agent = life.agent("a");
        life.daemon.outbox().resend(&agent, held[0].id, &Actor::CommandLine).await.unwrap();
        fake.count(3).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1")[2], repetition(&reply(STORY)));
        life.end().await;
    });
}

/// One life that is gone after the first words, and one that goes on.
fn after_the_first_words(features: Features, words: &str) -> (std::sync::Arc<Fake>, usize) {
    let (files, fake) = (home(), Fake::new(features));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", words).await;
        fake.until(|seen| seen.first().is_some_and(|it| it.edits >= 1)).await;
    });
    let records = in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.over("a").await;
        let records = life.records("a", "delivery.uncertain").await.len();
        life.end().await;
        records
    });
    (fake, records)
}

#[test]
fn the_answer_that_is_asked_for_again_takes_the_place_of_what_was_shown() {
    for features in [forgetful(), mindful()] {
        let (fake, records) = after_the_first_words(features, &format!("anew {STORY}"));
        assert_eq!(fake.texts("c1"), [format!("{} told by life 2", reply(STORY))]);
        assert_eq!(records, 0, "nothing was in doubt");
    }
}

#[test]
fn a_turn_that_fails_after_its_first_words_leaves_nothing_of_them() {
    for features in [forgetful(), mindful()] {
        let (fake, records) = after_the_first_words(features, &format!("dies {STORY}"));
        let texts = fake.texts("c1");
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(texts[0].starts_with("I could not finish this"), "{texts:?}");
        assert_eq!(records, 0, "nothing was in doubt");
    }
}

#[test]
fn an_agent_that_is_silent_the_second_time_takes_back_what_was_shown() {
    for features in [forgetful(), mindful()] {
        let (fake, _) = after_the_first_words(features, &format!("hushes {STORY}"));
        assert_eq!(fake.texts("c1"), ["(no reply)"]);
    }
}

/// The same where the name of what was shown is not known.
#[test]
fn what_may_have_been_shown_is_told_of_also_where_the_agent_is_silent_the_second_time() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::ArrivesUnsaid]);
        life.say("a", "c1", &format!("hushes {STORY}")).await;
        fake.count(1).await;
    });
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.over("a").await;
        assert_eq!(fake.texts("c1")[1..], [repetition("(no reply)")]);
        life.end().await;
    });
}

/// A message joins a turn of an earlier run before the way out has looked at what there is.
#[test]
fn who_joins_a_turn_of_an_earlier_run_sees_what_was_shown_go_on() {
    for features in [forgetful(), mindful()] {
        let (files, fake) = (home(), Fake::new(features));
        let turn = in_a_life(async {
            let life = Life::begin(&files, &fake).await;
            let handle = life.submit("main", "a", "c1", &format!("anew {STORY}")).await.unwrap();
            let turn = handle.turn;
            life.out.follow(life.agent("a"), place("main", "c1"), None, handle);
            fake.until(|seen| seen.first().is_some_and(|it| it.edits >= 1)).await;
            turn
        });
        in_a_life(async {
            let life = Life::begin(&files, &fake).await;
            let key = life.agent("a").session_key(&address("main", "c1"));
            let handle = life.engine.listen(&key, turn).unwrap();
            life.out.follow(life.agent("a"), place("main", "c1"), None, handle);
            life.over("a").await;
            assert_eq!(fake.texts("c1"), [format!("{} told by life 2", reply(STORY))]);
            life.end().await;
        });
    }
}

/// Where keys are recognised the name of what may have been shown is asked for, and it goes on.
#[test]
fn what_may_have_been_shown_goes_on_where_the_platform_tells_its_name() {
    let (files, fake) = (home(), Fake::new(mindful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::ArrivesUnsaid]);
        life.say("a", "c1", &format!("anew {STORY}")).await;
        fake.count(1).await;
    });
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        // Once while it comes, once as it is in the end.
        fake.until(|seen| seen[0].edits >= 1 && seen[0].text.ends_with("\n…")).await;
        life.over("a").await;
        assert_eq!(fake.texts("c1"), [format!("{} told by life 2", reply(STORY))]);
        life.end().await;
    });
}

#[test]
fn a_limit_while_showing_does_not_cost_the_reply() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::Later(Some(Duration::from_secs(30)))]);
        life.say("a", "c1", &format!("slowly {STORY}")).await;
        fake.until(|seen| seen.iter().any(|it| it.text == reply(STORY))).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1"), [reply(STORY)]);
        life.end().await;
    });
}

#[test]
fn nothing_is_shown_of_a_reply_before_the_one_before_it_is_there() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        // The first is refused for as long as the second takes to be said.
        fake.will_in("c1", std::iter::repeat_n(Act::Later(None), 4));
        life.say("a", "c1", "say one").await;
        life.say("a", "c1", &format!("slowly {STORY}")).await;
        fake.until(|seen| seen.iter().any(|it| it.text == reply(STORY))).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1"), [reply("one"), reply(STORY)]);
        life.end().await;
    });
}

#[test]
fn what_was_shown_of_a_conversation_that_is_forgotten_is_taken_back() {
    for features in [forgetful(), mindful()] {
        let (files, fake) = (home(), Fake::new(features));
        in_a_life(async {
            let life = Life::begin(&files, &fake).await;
            life.say("a", "c1", &format!("slowly {STORY}")).await;
            fake.count(1).await;
            let agent = life.agent("a");
            let key = agent.session_key(&address("main", "c1")).to_string();
            let session = agent.store.session(SessionRef::Key(key.into())).await.unwrap().unwrap();
            // Before the turn that is stopped for it has come to its end.
            let (session, at) = (session.id, life.daemon.world().clock.now());
            let forget = AgentCommand::ForgetSession { session, at };
            agent.store.commit(vec![forget]).await.unwrap();
            fake.until(|seen| seen[0].text.starts_with("(broken off")).await;
            life.over("a").await;
            assert_eq!(fake.seen().len(), 1, "{:#?}", fake.seen());
            life.end().await;
        });
    }
}
