//! What goes out, in which order, and what becomes of what does not.

use crate::delivery::platform::{Act, Fake, forgetful, mindful};
use crate::delivery::support::{Life, home, in_a_life, long_reply, place, repetition, reply};
use insula_channel::Body;
use insula_registry::Actor;
use insula_registry::outbox::Became;
use insula_store::{AgentCommand, DeliveryState, Enqueue, OutboxCommand};
use std::time::Duration;

#[test]
fn a_reply_leaves_by_the_account_it_came_in_by_into_its_topic() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say_by("main", "a", "c1", "say one").await;
        fake.count(1).await;
        life.say_by("other", "a", "c1", "say two").await;
        fake.count(2).await;
        life.quiet("a").await;
        let seen = fake.seen();
        assert_eq!((&*seen[0].account, &*seen[0].text), ("main", "re: one"));
        assert_eq!((&*seen[1].account, &*seen[1].text), ("other", "re: two"));
        assert_eq!(seen[0].topic.as_deref(), Some("7"));
        assert_eq!(seen[0].reply_to.as_deref(), Some("q1"));
        assert_eq!(fake.typed(), 0, "what is answered at once is not announced");
        life.end().await;
    });
}

#[test]
fn while_more_may_be_said_nothing_is_announced() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        let quiet = life.agent("a").access.quiet;
        assert!(!quiet.is_zero());
        life.say_and_wait(quiet, "a", "c1", "say one").await;
        fake.count(1).await;
        life.quiet("a").await;
        assert_eq!((fake.texts("c1"), fake.typed()), (vec![reply("one")], 0));
        life.end().await;
    });
}

#[test]
fn a_long_reply_is_sent_in_parts_and_only_the_first_is_an_answer() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", "long x").await;
        fake.until(|seen| seen.iter().any(|it| it.text.ends_with("end of x"))).await;
        life.quiet("a").await;
        let seen = fake.seen();
        assert!(seen.len() > 2, "{seen:#?}");
        for n in 0..30 {
            let line = format!("x goes on with line {n:02}");
            let count = seen.iter().filter(|it| it.text.contains(&line)).count();
            assert_eq!(count, 1, "{line}: {seen:#?}");
        }
        assert!(seen[1..].iter().all(|it| it.reply_to.is_none()));
        let keys: std::collections::BTreeSet<_> = seen.iter().map(|it| &it.key).collect();
        assert_eq!(keys.len(), seen.len());
        assert!(long_reply("x").contains("x goes on with line 29"));
        life.end().await;
    });
}

#[test]
fn silence_is_not_delivered() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", "silent please").await;
        life.say("a", "c1", "say more").await;
        fake.count(1).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1"), ["re: more"]);
        let silent =
            life.daemon.outbox().counts().into_iter().find(|(it, _)| *it == Became::Silent);
        assert_eq!(silent, Some((Became::Silent, 1)));
        life.end().await;
    });
}

#[test]
fn a_turn_that_failed_or_was_stopped_says_so_and_nothing_else() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", "fail now").await;
        fake.count(1).await;
        life.say("a", "c1", "hang now").await;
        life.sleep(1).await;
        let agent = life.agent("a");
        let key = agent.session_key(&crate::delivery::support::address("main", "c1"));
        assert_eq!(life.engine.stop(&key), 1);
        fake.count(2).await;
        life.quiet("a").await;
        let texts = fake.texts("c1");
        assert!(texts[0].starts_with("I could not finish this"), "{texts:?}");
        assert!(!texts[0].contains("http") && !texts[0].contains("provider"), "{texts:?}");
        // The turn goes by a name that tells nothing, and that its operator can look up.
        let name = texts[0].rsplit("turn ").next().unwrap().trim_end_matches(" failed.");
        let turn = agent.store.seals().open(insula_store::Counted::Turn, name);
        assert!(name.len() == 16 && turn == Some(1), "{texts:?}");
        assert_eq!(texts[1], "Stopped before I had an answer.");
        life.end().await;
    });
}

#[test]
fn one_chat_or_account_in_trouble_delays_no_other_and_keeps_its_order() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will_in("slow", [Act::Later(None), Act::Later(None), Act::Later(None)]);
        for n in 0..3 {
            life.say("a", "slow", &format!("say {n}")).await;
        }
        let begun = life.elapsed();
        life.say("a", "quick", "say hello").await;
        fake.until(|seen| seen.iter().any(|it| it.chat == "quick")).await;
        assert!(life.elapsed() - begun < Duration::from_millis(500));
        assert_eq!(fake.texts("slow"), Vec::<String>::new());
        fake.count(4).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("slow"), [reply("0"), reply("1"), reply("2")]);
        life.end().await;
    });
}

#[test]
fn a_limit_holds_for_the_whole_account_and_for_no_other() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::Later(Some(Duration::from_secs(40)))]);
        life.say("a", "c1", "say one").await;
        fake.asked(1).await;
        let begun = life.elapsed();
        life.say("a", "c2", "say two").await;
        life.say_by("other", "a", "c3", "say three").await;
        fake.count(1).await;
        assert_eq!(fake.seen()[0].chat, "c3");
        assert!(life.elapsed() - begun < Duration::from_secs(5));
        fake.count(3).await;
        assert!(life.elapsed() - begun >= Duration::from_secs(39));
        // Nothing was tried meanwhile.
        assert_eq!(fake.requests(), 4);
        life.end().await;
    });
}

#[test]
fn a_limit_of_one_chat_holds_that_chat_in_its_order_and_no_other() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        let asked = Duration::from_secs(40);
        fake.will_in("full", [Act::ChatLater(asked), Act::ChatLater(asked)]);
        let begun = life.elapsed();
        life.say("a", "full", "say one").await;
        fake.asked(1).await;
        life.say("a", "full", "say two").await;
        life.say("a", "free", "say three").await;
        life.say("b", "free too", "say four").await;
        fake.count(2).await;
        assert!(life.elapsed() - begun < Duration::from_secs(5));
        assert_eq!(fake.texts("full"), Vec::<String>::new());
        // It is asked to wait once more, and again nobody else waits.
        fake.asked(4).await;
        assert!(life.elapsed() - begun >= asked);
        let again = life.elapsed();
        life.say("b", "free too", "say five").await;
        fake.count(3).await;
        assert!(life.elapsed() - again < Duration::from_secs(5));
        fake.count(5).await;
        assert!(life.elapsed() - again >= asked);
        assert_eq!(fake.texts("full"), [reply("one"), reply("two")]);
        life.end().await;
    });
}

#[test]
fn a_limit_of_several_chats_at_once_is_one_of_the_account() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        let asked = Duration::from_secs(40);
        for (n, chat) in ["c1", "c2", "c3"].into_iter().enumerate() {
            fake.will_in(chat, [Act::ChatLater(asked)]);
            life.say("a", chat, "say one").await;
            fake.asked(n + 1).await;
        }
        let begun = life.elapsed();
        life.say("b", "c4", "say two").await;
        life.say_by("other", "b", "c4", "say three").await;
        fake.count(1).await;
        assert_eq!(fake.seen()[0].account, "other");
        assert!(life.elapsed() - begun < Duration::from_secs(5));
        fake.count(5).await;
        assert!(life.elapsed() - begun >= Duration::from_secs(39));
        life.end().await;
    });
}

#[test]
fn a_reply_waits_for_its_account_and_takes_no_other() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.send_away("main");
        life.say("a", "c1", "say one").await;
        life.say_by("other", "a", "c1", "say two").await;
        fake.count(1).await;
        life.sleep(3_600).await;
        assert_eq!(fake.seen()[0].account, "other");
        assert_eq!(fake.seen().len(), 1);
        let waits = life.unsent("a").await;
        assert_eq!(waits.len(), 1);
        let why = waits[0].why.as_deref();
        assert_eq!(why, Some("account `telegram.main` is not connected"));
        fake.call_back("main");
        fake.count(2).await;
        assert_eq!(fake.seen()[1].account, "main");
        life.end().await;
    });
}

#[test]
fn what_will_never_arrive_fails_with_its_reason_and_the_next_goes_on() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::Never]);
        life.say("a", "c1", "say one").await;
        life.say("a", "c1", "say two").await;
        fake.count(1).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1"), ["re: two"]);
        let failed = life.unsent("a").await;
        assert_eq!(failed.len(), 1);
        assert_eq!(
            (failed[0].state, failed[0].why.as_deref()),
            (DeliveryState::Failed, Some("scripted"))
        );
        assert_eq!(life.records("a", "delivery.failed").await.len(), 1);
        // An operator can have it sent all the same.
        life.daemon
            .outbox()
            .resend(&life.agent("a"), failed[0].id, &Actor::CommandLine)
            .await
            .unwrap();
        fake.count(2).await;
        assert_eq!(fake.texts("c1"), ["re: two", "re: one"]);
        life.end().await;
    });
}

#[test]
fn an_account_that_may_not_send_is_left_alone_for_a_while() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::Account]);
        life.say("a", "c1", "say one").await;
        fake.asked(1).await;
        life.sleep(60).await;
        life.say("a", "c2", "say two").await;
        life.sleep(60).await;
        assert_eq!(fake.requests(), 1);
        let waits = life.unsent("a").await;
        let why = waits.iter().find_map(|it| it.why.clone()).unwrap();
        assert_eq!(why, "account `telegram.main` can't send: scripted");
        life.out.account_is_back(place("main", "c1").platform, &place("main", "c1").account);
        fake.until(|seen| seen.iter().any(|it| it.chat == "c2")).await;
        fake.count(2).await;
        life.end().await;
    });
}

#[test]
fn what_may_have_arrived_is_sent_again_and_says_so() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::ArrivesUnsaid]);
        life.say("a", "c1", "say one").await;
        fake.count(2).await;
        life.quiet("a").await;
        let texts = fake.texts("c1");
        assert_eq!(texts[0], "re: one");
        assert!(texts[1].starts_with("(This may be a repetition"), "{texts:?}");
        assert!(texts[1].ends_with("re: one"));
        assert_eq!(life.records("a", "delivery.uncertain").await.len(), 1);
        life.end().await;
    });
}

#[test]
fn what_may_have_arrived_each_time_is_said_again_a_few_times_and_then_held() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will_in("c1", vec![Act::ArrivesUnsaid; 12]);
        life.say("a", "c1", "say one").await;
        life.sleep(3_600).await;
        life.quiet("a").await;
        let texts = fake.texts("c1");
        assert_eq!(texts.len(), 5, "{texts:?}");
        assert!(texts[1..].iter().all(|it| *it == repetition("re: one")), "{texts:?}");
        let held = life.unsent("a").await;
        assert_eq!((held.len(), held[0].state), (1, DeliveryState::Held));
        assert_eq!(life.records("a", "delivery.uncertain").await.len(), 4);
        assert_eq!(life.records("a", "delivery.held").await.len(), 1);
        life.end().await;
    });
}

#[test]
fn what_may_have_arrived_is_held_where_the_account_says_so() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.hold_uncertain();
        fake.will([Act::Lost]);
        life.say("a", "c1", "say one").await;
        life.say("a", "c1", "say two").await;
        fake.count(1).await;
        life.quiet("a").await;
        let held = life.unsent("a").await;
        assert_eq!(held.len(), 1);
        assert_eq!(held[0].state, DeliveryState::Held);
        assert_eq!(life.records("a", "delivery.held").await.len(), 1);
        let agent = life.agent("a");
        life.daemon.outbox().resend(&agent, held[0].id, &Actor::CommandLine).await.unwrap();
        fake.count(2).await;
        life.quiet("a").await;
        let texts = fake.texts("c1");
        assert!(texts[1].starts_with("(This may be") && texts[1].ends_with("re: one"), "{texts:?}");
        assert_eq!(life.records("a", "delivery.resent").await.len(), 1);
        life.end().await;
    });
}

#[test]
fn where_the_platform_recognises_repetitions_nobody_sees_one() {
    let (files, fake) = (home(), Fake::new(mindful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::ArrivesUnsaid, Act::Lost]);
        life.say("a", "c1", "say one").await;
        fake.asked(3).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1"), ["re: one"]);
        life.end().await;
    });
}

#[test]
fn a_platform_that_never_answers_holds_up_only_its_chat() {
    let (files, fake) = (home(), Fake::new(mindful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will_in("c1", [Act::Hangs]);
        life.say("a", "c1", "say one").await;
        fake.asked(1).await;
        let begun = life.elapsed();
        life.say("a", "c2", "say two").await;
        fake.count(1).await;
        assert!(life.elapsed() - begun < Duration::from_secs(5));
        fake.count(2).await;
        assert_eq!(fake.texts("c1"), ["re: one"]);
        life.end().await;
    });
}

#[test]
fn more_chats_than_an_account_takes_at_once_all_get_theirs() {
    let (files, fake) = (home(), Fake::new(mindful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        let agent = life.agent("a");
        let enqueue = |n: usize| Enqueue {
            session: None,
            turn: None,
            to: place("main", &format!("c{:03}", n % 150)).origin(None),
            text: format!("{n:04}"),
            name: None,
            buttons: vec![],
            at: life.daemon.world().clock.now(),
        };
        for n in 0..600 {
            let put = AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(enqueue(n))));
            agent.store.commit(vec![put]).await.unwrap();
        }
        fake.count(600).await;
        for chat in 0..150 {
            let texts = fake.texts(&format!("c{chat:03}"));
            let expected: Vec<_> = (0..4).map(|n| format!("{:04}", n * 150 + chat)).collect();
            assert_eq!(texts, expected);
        }
        life.end().await;
    });
}

#[test]
fn a_line_of_the_gateways_own_is_said_at_once_and_in_parts() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::Later(Some(Duration::from_secs(2)))]);
        let markdown = "word ".repeat(60);
        let body = Body { markdown: markdown.clone(), ..Body::default() };
        let agent = life.agent("a");
        let tenant = insula_owner::tenant_of(&life.daemon.opened().parts.forgotten, &agent);
        life.out.say(&agent, tenant.clone(), &place("main", "c1"), body).await;
        let texts = fake.texts("c1");
        assert_eq!(texts.len(), 2);
        assert_eq!(texts.join(" "), markdown.trim_end());
        // Nobody is there: nothing is said, and nobody waits for long.
        fake.send_away("main");
        life.out
            .say(
                &agent,
                tenant,
                &place("main", "c1"),
                Body { markdown: "x".to_owned(), ..Body::default() },
            )
            .await;
        assert_eq!(fake.seen().len(), 2);
        life.end().await;
    });
}

#[test]
fn what_belongs_to_a_forgotten_session_is_not_sent_any_more() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.send_away("main");
        life.say("a", "c1", "say one").await;
        life.sleep(5).await;
        let waits = life.unsent("a").await;
        life.engine.forget(&life.agent("a"), waits[0].session.unwrap()).await.unwrap();
        fake.call_back("main");
        life.say("a", "c1", "say two").await;
        fake.count(1).await;
        life.quiet("a").await;
        assert_eq!(fake.texts("c1"), ["re: two"]);
        life.end().await;
    });
}

#[test]
fn an_agent_that_pauses_keeps_its_replies_until_it_serves_again() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        fake.will([Act::Later(Some(Duration::from_secs(10)))]);
        life.say("a", "c1", "say one").await;
        fake.asked(1).await;
        life.engine.capabilities().pause(&life.agent("a").id, &Actor::CommandLine).await.unwrap();
        life.sleep(100).await;
        assert_eq!(fake.seen().len(), 0);
        let id = insula_domain::AgentId::new("a").unwrap();
        life.engine.capabilities().resume(&id, &Actor::CommandLine).await.unwrap();
        fake.count(1).await;
        life.end().await;
    });
}
