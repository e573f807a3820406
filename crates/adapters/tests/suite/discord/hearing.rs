//! What people do comes in, from where they do it, by whom, and to whom.

use crate::discord::support::{TOKEN, Tray, bench};
use insula_channel::{AttachmentKind, Envelope, Happening, ReactionChange};
use insula_domain::{ChatType, Community};
use serde_json::json;

fn place(it: &Envelope) -> (String, ChatType, Option<String>) {
    let parent = it.address.parent.as_ref().map(|it| it.as_str().to_owned());
    (it.address.chat.as_str().to_owned(), it.address.chat_type, parent)
}

fn whats(tray: &Tray) -> Vec<Happening> {
    tray.envelopes().into_iter().map(|it| it.what).collect()
}

#[tokio::test(start_paused = true)]
async fn what_happens_in_channels_becomes_envelopes() {
    let bench = bench().await;
    let platform = &bench.platform;
    let staff = platform.role(&bench.guild);
    platform.member(&bench.guild, &bench.ann, "Annie", &[&staff]);
    let (_, tray, listening) = bench.listening().await;
    let forum = platform.channel(&bench.guild, 15);
    let thread = platform.thread(&bench.guild, &bench.town);
    let question = platform.thread(&bench.guild, &forum);
    let direct = platform.direct(&bench.bot, &bench.bob);
    let first = bench.say(&format!("<@{}> hello", bench.bot));
    platform.say(&thread, &bench.ann, "in the thread");
    platform.say(&question, &bench.bob, "in the forum");
    platform.say(&direct, &bench.bob, "just us");
    platform.edit(&first, &format!("<@!{}> good day", bench.bot));
    platform.preview(&first);
    platform.react(&bench.bob, &first, "👍", true);
    platform.delete(&first);
    let all = tray.until(7).await;
    assert_eq!(place(&all[0]), (bench.town.clone(), ChatType::Channel, None));
    assert_eq!(place(&all[1]), (thread, ChatType::Thread, Some(bench.town.clone())));
    assert_eq!(place(&all[2]), (question, ChatType::Thread, Some(forum)));
    assert_eq!(place(&all[3]), (direct, ChatType::Dm, None));
    let guild = |it: &Envelope| match &it.address.community {
        Some(Community::Guild(guild)) => Some(guild.as_str().to_owned()),
        _ => None,
    };
    assert_eq!(guild(&all[1]), Some(bench.guild.clone()));
    assert_eq!(guild(&all[3]), None);
    let roles: Vec<_> = all[0].address.roles.iter().map(|it| it.as_str()).collect();
    assert_eq!((&*all[0].sender.name, roles), ("Annie", vec![staff.as_str()]));
    assert_eq!((&*all[2].sender.name, all[2].address.roles.len()), ("bob", 0));
    let Happening::Said(hello) = &all[0].what else { panic!("{all:?}") };
    assert!(hello.mentions_us && hello.words.instruction() == "hello");
    assert!(matches!(&all[4].what, Happening::Edited(it) if it.words.instruction() == "good day"));
    let Happening::Reacted(reaction) = &all[5].what else { panic!("{all:?}") };
    assert_eq!((&*reaction.sign, reaction.is_ours), ("👍", Some(false)));
    assert!(matches!(&all[6].what, Happening::Deleted(it) if *it.0 == *first));
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_role_of_ours_means_us_and_everyone_does_not() {
    let bench = bench().await;
    let platform = &bench.platform;
    let (ours, other) = (platform.role(&bench.guild), platform.role(&bench.guild));
    platform.member(&bench.guild, &bench.bot, "", &[&ours]);
    let (_, tray, listening) = bench.listening().await;
    bench.say(&format!("<@&{ours}> hello"));
    bench.say(&format!("<@&{other}> hello"));
    bench.say("@everyone hello");
    bench.say(&format!("> <@{}> said\nhello", bench.bot));
    tray.until(4).await;
    let means: Vec<bool> = tray.messages().iter().map(|it| it.mentions_us).collect();
    assert_eq!(means, [true, false, false, false]);
    // It is taken from us while we listen.
    platform.member(&bench.guild, &bench.bot, "", &[]);
    bench.say(&format!("<@&{ours}> again"));
    tray.until(5).await;
    assert!(!tray.messages()[4].mentions_us);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_role_is_asked_for_where_a_session_was_taken_up() {
    let bench = bench().await;
    let ours = bench.platform.role(&bench.guild);
    bench.platform.member(&bench.guild, &bench.bot, "", &[&ours]);
    let (_, tray, listening) = bench.listening().await;
    bench.say("one");
    tray.until(1).await;
    listening.stop().await.unwrap();
    let again = bench.adapter();
    let listening = crate::discord::support::Listening::start(&again, &tray);
    bench.say(&format!("<@&{ours}> two"));
    tray.until(2).await;
    assert_eq!(bench.begun(), [2, 6]);
    assert!(tray.messages()[1].mentions_us);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reply_to_us_means_us_and_brings_what_it_replies_to() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let ours = bench.platform.say(&bench.town, &bench.bot, "may I?");
    let theirs = bench.say("hello all");
    bench.platform.reply(&bench.town, &ours, &bench.bob, "yes");
    bench.platform.reply(&bench.town, &theirs, &bench.bob, "hello Ann");
    tray.until(3).await;
    let said = tray.messages();
    let quoted = said[1].quoted.as_ref().unwrap();
    assert!(said[1].mentions_us && quoted.is_ours && quoted.is_from_here);
    assert_eq!((&*quoted.id.0, quoted.text.as_str()), (ours.as_str(), "may I?"));
    assert!(!said[2].mentions_us);
    assert_eq!(said[2].quoted.as_ref().unwrap().author.as_ref().unwrap().as_str(), bench.ann);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_discord_says_of_people_and_we_say_ourselves_is_no_message() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let (town, ann) = (&bench.town, &bench.ann);
    let first = bench.say("starter");
    // A join, a thread that was made, its first message again in it (openclaw's auto-thread seed).
    for kind in [7, 18, 21] {
        bench.platform.post(&json!({
            "channel_id": town, "author_id": ann, "type": kind, "content": "words of Discord",
            "message_reference": { "message_id": first, "type": 1 },
        }));
    }
    bench.platform.say(town, &bench.bot, "our own");
    let other = bench.platform.bot("other.token", "bea");
    bench.platform.member(&bench.guild, &other, "", &[]);
    bench.platform.say(town, &other, "I am a bot");
    bench.platform.post(&json!({
        "channel_id": town, "author_id": ann, "webhook_id": "77", "content": "of a webhook",
        "author": { "id": "77", "username": "CI", "bot": true },
    }));
    let all = tray.until(3).await;
    assert_eq!(tray.texts(), ["starter", "I am a bot", "of a webhook"]);
    assert!(!all[0].sender.is_bot && all[1].sender.is_bot && all[2].sender.is_bot);
    // A webhook is nobody: its name is whatever it gave.
    assert_eq!((all[2].address.user.clone(), &*all[2].sender.name), (None, "CI"));
    assert_eq!(tray.messages()[2].words.instruction(), "");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_comes_with_a_message_is_told_for_what_it_is() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    let (town, ann) = (&bench.town, &bench.ann);
    let file = |name: &str, mime: &str| bench.platform.file(town, name, mime, name.as_bytes());
    bench.platform.post(&json!({
        "channel_id": town, "author_id": ann, "content": "see",
        "attachments": [file("a.png", "image/png"), file("b.ogg", "audio/ogg; codecs=opus")],
    }));
    bench.platform.post(&json!({
        "channel_id": town, "author_id": ann, "flags": 1 << 13,
        "attachments": [file("voice-message.ogg", "audio/ogg")],
    }));
    bench.platform.post(&json!({
        "channel_id": town, "author_id": ann, "message_reference": { "type": 1, "message_id": "5" },
        "message_snapshots": [{ "message": {
            "content": format!("<@{}> do it", bench.bot),
            "attachments": [file("c.txt", "text/plain")],
        } }],
    }));
    bench.platform.post(&json!({
        "channel_id": town, "author_id": ann, "sticker_items": [{ "id": "1", "name": "Wave" }],
        "poll": { "question": { "text": "Tea?" }, "answers": [{ "poll_media": { "text": "Yes" } }] },
    }));
    tray.until(4).await;
    let said = tray.messages();
    let kinds: Vec<_> = said.iter().flat_map(|it| &it.attachments).map(|it| it.kind).collect();
    use AttachmentKind::{Audio, File, Image, Voice};
    assert_eq!(kinds, [Image, Audio, Voice, File]);
    // Passed on, somebody else's words address nobody.
    assert!(!said[2].mentions_us && said[2].words.instruction().is_empty());
    assert_eq!(said[3].words.all(), "Wave\nTea?\nYes");
    let forwarded = &said[2].attachments[0];
    assert_eq!(&*adapter.fetch(forwarded, 100).await.unwrap(), b"c.txt");
    // After a day its address is no longer good, and another one is asked for.
    bench.platform.expire_files();
    assert_eq!(&*adapter.fetch(&said[0].attachments[0], 100).await.unwrap(), b"a.png");
    assert_eq!(
        &*bench.adapter().fetch(&said[1].attachments[0], 100).await.unwrap(),
        b"voice-message.ogg"
    );
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_the_intent_only_what_is_for_us_has_words() {
    let bench = bench().await;
    bench.platform.may_hear(TOKEN, false);
    let (_, tray, listening) = bench.listening().await;
    let direct = bench.platform.direct(&bench.bot, &bench.bob);
    bench.say("to others");
    bench.say(&format!("<@{}> to us", bench.bot));
    bench.platform.say(&direct, &bench.bob, "just us");
    tray.until(2).await;
    assert_eq!(tray.texts(), ["to us", "just us"]);
    assert_eq!(bench.platform.begun()[0]["d"]["intents"].as_u64().unwrap() >> 15 & 1, 0);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reaction_to_our_message_says_so_and_every_one_is_its_own_event() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let ours = bench.platform.say(&bench.town, &bench.bot, "may I?");
    for on in [true, false, true] {
        bench.platform.react(&bench.ann, &ours, "👍", on);
    }
    bench.platform.react(&bench.bot, &ours, "👀", true);
    bench.platform.event(
        &bench.bot,
        "MESSAGE_REACTION_ADD",
        &json!({
            "user_id": bench.bob, "channel_id": bench.town, "message_id": ours,
            "emoji": { "id": "55", "name": "parrot" },
        }),
    );
    let all = tray.until(4).await;
    let told = |it: &Happening| match it {
        Happening::Reacted(it) => (it.sign.to_string(), it.change, it.is_ours),
        other => panic!("{other:?}"),
    };
    let told: Vec<_> = whats(&tray).iter().map(told).collect();
    let thumb = "👍".to_owned();
    assert_eq!(
        told,
        [
            (thumb.clone(), ReactionChange::Put, Some(true)),
            (thumb.clone(), ReactionChange::Taken, None),
            (thumb, ReactionChange::Put, Some(true)),
            (":parrot:".to_owned(), ReactionChange::Put, None),
        ]
    );
    let names: std::collections::BTreeSet<_> = all.iter().map(|it| it.event.0.clone()).collect();
    assert_eq!(names.len(), 4);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_is_gone_is_told_and_a_hidden_one_is_left_out() {
    let bench = bench().await;
    let thread = bench.platform.thread(&bench.guild, &bench.town);
    let (_, tray, listening) = bench.listening().await;
    bench.platform.say(&thread, &bench.ann, "one");
    tray.until(1).await;
    bench.platform.remove_channel(&thread);
    // Of a channel that nobody told us of, and that is not shown to us, nothing is known.
    let data = json!({
        "id": "7", "channel_id": "5", "guild_id": bench.guild, "content": "where?",
        "author": { "id": bench.ann, "username": "ann" },
    });
    bench.platform.event(&bench.bot, "MESSAGE_CREATE", &data);
    bench.say("two");
    let all = tray.until(3).await;
    assert_eq!((place(&all[1]).0, &all[1].what), (thread, &Happening::Removed));
    assert_eq!(tray.texts(), ["one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_puts_a_channel_on_a_server_that_can_be_none_makes_nobody_deaf_to_it() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let channel = json!({ "id": bench.town, "type": 11, "parent_id": "x y" });
    let told = json!({ "guild_id": "x".repeat(3_000), "threads": [channel] });
    bench.platform.event(&bench.bot, "THREAD_LIST_SYNC", &told);
    bench.platform.event(&bench.bot, "CHANNEL_UPDATE", &channel);
    bench.say("one");
    let all = tray.until(1).await;
    assert_eq!(place(&all[0]), (bench.town.clone(), ChatType::Channel, None));
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_we_are_no_longer_on_is_left_in_each_of_its_places_and_one_in_trouble_is_not()
{
    let bench = bench().await;
    let other = bench.platform.guild(&[&bench.bot, &bench.ann]);
    let village = bench.platform.channel(&other, 0);
    let market = bench.platform.channel(&bench.guild, 0);
    let (_, tray, listening) = bench.listening().await;
    for channel in [&bench.town, &market, &village] {
        bench.platform.say(channel, &bench.ann, "here");
    }
    tray.until(3).await;
    let gone = |data: serde_json::Value| bench.platform.event(&bench.bot, "GUILD_DELETE", &data);
    gone(json!({ "id": other, "unavailable": true }));
    gone(json!({ "id": bench.guild }));
    bench.platform.say(&village, &bench.ann, "still here");
    let all = tray.until(6).await;
    let removed = all.iter().filter(|it| it.what == Happening::Removed);
    let left: std::collections::BTreeSet<_> = removed.map(|it| place(it).0).collect();
    assert_eq!(left, [bench.town.clone(), market].into());
    assert_eq!(tray.texts().last().unwrap(), "still here");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_accounts_in_one_channel_hear_each_for_itself() {
    let bench = bench().await;
    let other = bench.platform.bot("other.token", "bea");
    bench.platform.member(&bench.guild, &other, "", &[]);
    let (_, tray, listening) = bench.listening().await;
    let second = bench.adapter_of("second", "other.token");
    let other_tray = Tray::new(None);
    let other_listening = crate::discord::support::Listening::start(&second, &other_tray);
    bench.platform.until(|platform| platform.sockets() == 2).await;
    bench.say(&format!("<@{other}> not you"));
    tray.until(1).await;
    let heard = other_tray.until(1).await;
    assert!(!tray.messages()[0].mentions_us && other_tray.messages()[0].mentions_us);
    assert_eq!(heard[0].address.account.as_str(), "second");
    let sessions: Vec<_> = bench.platform.begun().iter().map(|it| it["op"].clone()).collect();
    assert_eq!(sessions, [json!(2), json!(2)], "two bots never share a session");
    listening.stop().await.unwrap();
    other_listening.stop().await.unwrap();
}
