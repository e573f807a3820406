//! What a chat sees of a turn while it runs.

use crate::delivery::platform::{Act, Fake, forgetful, mindful};
use crate::delivery::support::{Life, home, in_a_life, reply};
use insula_channel::Features;
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
            assert_eq!(first.reply_to.as_deref(), Some("q1"));
            fake.until(|seen| seen[0].text == reply(STORY)).await;
            life.quiet("a").await;
            let seen = fake.seen();
            assert_eq!(seen.len(), 1, "{seen:#?}");
            assert!(seen[0].edits >= 2);
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
        assert_eq!(fake.texts("c1")[1], reply(STORY));
        life.end().await;
    });
}

#[test]
fn what_may_have_been_shown_does_not_stand_for_the_reply() {
    for (features, count) in [(forgetful(), 2), (mindful(), 1)] {
        let (files, fake) = (home(), Fake::new(features));
        in_a_life(async {
            let life = Life::begin(&files, &fake).await;
            fake.will([Act::ArrivesUnsaid]);
            life.say("a", "c1", &format!("slowly {STORY}")).await;
            fake.until(|seen| seen.iter().any(|it| it.text == reply(STORY))).await;
            life.quiet("a").await;
            assert_eq!(fake.seen().len(), count, "{:#?}", fake.seen());
            life.end().await;
        });
    }
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
