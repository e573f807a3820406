//! Against a real homeserver: what people do there comes in, and what we say is there, once.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch the machine and fail by panicking"
)]

use crate::matrix::support::*;
use insula_channel::{
    Adapter as _, AttachmentKind, ConnectFault, FetchError, File, Happening, Outbound as _,
    PostError,
};
use insula_domain::ChatType;
use insula_testkit::synapse::{Person, Synapse};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Waits for an invitation to a room, and joins.
pub async fn join(matrix: &insula_adapters::matrix::Matrix, kept: &RecordingInbox, room: &str) {
    let added = kept
        .find(|all| {
            let ours = |it: &&insula_channel::Envelope| {
                it.address.chat.as_str() == room && it.what == Happening::Added
            };
            all.iter().find(ours).cloned()
        })
        .await;
    let target = insula_channel::PostTarget {
        host: None,
        tenant: crate::matrix::support::tenant(),
        chat: added.address.chat,
        chat_type: added.address.chat_type,
        topic: None,
    };
    matrix.join(&target).await.unwrap();
}

fn edit(person: &Person, room: &str, original: &str, text: &str) -> String {
    person.send(
        room,
        &json!({
            "msgtype": "m.text", "body": format!("* {text}"),
            "m.new_content": { "msgtype": "m.text", "body": text },
            "m.relates_to": { "rel_type": "m.replace", "event_id": original },
        }),
    )
}

fn reply(person: &Person, room: &str, to: &str, body: &str) -> String {
    person.send(
        room,
        &json!({
            "msgtype": "m.text", "body": body,
            "m.relates_to": { "m.in_reply_to": { "event_id": to } },
        }),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_do_in_rooms_becomes_envelopes() {
    let server = Synapse::start().unwrap();
    let [ann, bob, bot] = server.people(["ann", "bob", "bot"]);
    let matrix = Arc::new(adapter(&server.url(), Some(&bot.id), &bot.token));
    let kept = RecordingInbox::with(&Arc::default());
    let identity = matrix.identify().await.unwrap();
    assert_eq!((&*identity.id, &*identity.name), ("@bot:localhost", "bot"));
    assert!(identity.missing.is_empty(), "{identity:?}");
    let listening = Listening::begin(&matrix, &kept).await;

    // A room for two: by the invitation's word, also for an adapter that did not see it.
    let direct = ann.make_direct(&bot.id);
    join(&matrix, &kept, &direct).await;
    let id = ann.say(&direct, "hello");
    let heard = kept.event(&id).await;
    assert_eq!(heard.address.chat_type, ChatType::Dm);
    assert_eq!(heard.address.user.as_ref().unwrap().as_str(), ann.id);
    assert_eq!((&*heard.sender.name, heard.sender.is_bot), ("ann", false));
    assert_eq!((&*said(&heard).words.all(), said(&heard).mentions_us), ("hello", false));
    let later = Arc::new(adapter(&server.url(), None, &bot.token));
    let seen = Arc::new(RecordingInbox::default());
    let other = Listening::begin(&later, &seen).await;
    let id = ann.say(&direct, "still for two?");
    assert_eq!(seen.event(&id).await.address.chat_type, ChatType::Dm);
    other.stop().await;
    // The account's own list says it too, as clients expect.
    let list = bot.get("GET", "/user/@bot:localhost/account_data/m.direct", None);
    assert_eq!(list, json!({ &*ann.id: [&*direct] }));
    // A third one makes it a group.
    ann.invite(&direct, &bob.id);
    bob.join(&direct);
    let id = bob.say(&direct, "me too");
    assert_eq!(kept.event(&id).await.address.chat_type, ChatType::Group);

    // A group: mentions, threads, replies.
    let room = ann.make_room(&json!({ "name": "us", "invite": [&*bot.id, &*bob.id] }));
    bob.join(&room);
    join(&matrix, &kept, &room).await;
    let root = ann.say(&room, "bot: /status");
    let heard = kept.event(&root).await;
    assert_eq!((heard.address.chat_type, heard.address.topic.is_none()), (ChatType::Group, true));
    assert_eq!((&*said(&heard).words.all(), said(&heard).mentions_us), ("/status", true));
    let id = bob.say_in_thread(&room, &root, "in the thread");
    let in_thread = kept.event(&id).await;
    assert_eq!(in_thread.address.topic.as_ref().unwrap().as_str(), root);
    assert_eq!((&said(&in_thread).quoted, said(&in_thread).mentions_us), (&None, false));
    let answer = matrix.post(&post(target(&room, Some(&root)), "k1", "our **answer**")).await;
    let answer = answer.unwrap().message;
    let id = reply(&bob, &room, &answer.0, "> <@bot:localhost> forged\n\nreally?");
    let heard = kept.event(&id).await;
    let quoted = said(&heard).quoted.clone().unwrap();
    assert_eq!((&*said(&heard).words.all(), said(&heard).mentions_us), ("really?", true));
    assert_eq!((quoted.text.as_str(), quoted.is_ours), ("our **answer**", true));
    // It was said in the thread, and is quoted outside of it.
    assert!(!quoted.is_from_here);

    // Changes: only by the author, and where the message was.
    let forged = edit(&bob, &room, &root, "bot: /new");
    let thread_message = bob.say_in_thread(&room, &root, "frist");
    let id = edit(&bob, &room, &thread_message, "first");
    let heard = kept.event(&id).await;
    let Happening::Edited(message) = &heard.what else { panic!("{heard:?}") };
    assert_eq!((&*message.id.0, &*message.words.all()), (&*thread_message, "first"));
    assert_eq!(heard.address.topic.as_ref().unwrap().as_str(), root);
    assert!(kept.all().iter().all(|it| *it.event.0 != *forged));
    let id = bob.redact(&room, &thread_message);
    let heard = kept.event(&id).await;
    assert_eq!(heard.what, Happening::Deleted(message_id(&thread_message)));
    assert_eq!(heard.address.topic.as_ref().unwrap().as_str(), root);

    // What is not for us: reactions, and what we said ourselves. What can't be read is told of.
    bob.send_kind(
        &room,
        "m.reaction",
        &json!({ "m.relates_to": { "rel_type": "m.annotation", "event_id": root, "key": "x" } }),
    );
    bob.send_kind(&room, "m.room.encrypted", &json!({ "algorithm": "m.megolm.v1.aes-sha2" }));
    let id = bob.send(&room, &json!({ "msgtype": "m.notice", "body": "beep" }));
    let notice = kept.event(&id).await;
    assert!(notice.sender.is_bot && said(&notice).is_for_another, "no program answers it");
    assert!(kept.all().iter().all(|it| it.address.user.as_ref().unwrap().as_str() != bot.id));
    let missing = matrix.identify().await.unwrap().missing;
    assert!(missing.len() == 1 && missing[0].contains(&room), "{missing:?}");

    // Somebody goes; we have to go.
    let left = bob.get("POST", &format!("/rooms/{room}/leave"), Some(&json!({})));
    assert_eq!(left, json!({}));
    let gone = kept.find(|all| all.iter().find(|it| it.what == Happening::Left).cloned()).await;
    assert_eq!(gone.address.user.unwrap().as_str(), bob.id);
    ann.say(&room, "the last word");
    ann.kick(&room, &bot.id);
    let removed =
        kept.find(|all| all.iter().find(|it| it.what == Happening::Removed).cloned()).await;
    assert_eq!(removed.address.user.unwrap().as_str(), ann.id);
    assert_eq!(kept.texts().last().unwrap(), "the last word");
    let refused = matrix.post(&post(target(&room, None), "k2", "hello?")).await.unwrap_err();
    assert!(matches!(refused, PostError::Never { .. }), "{refused:?}");
    assert_eq!(kept.repeated.load(Ordering::SeqCst), 0);
    listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_we_are_away_and_nothing_comes_from_before_we_came() {
    let mut server = Synapse::start().unwrap();
    let [ann, bot] = server.people(["ann", "bot"]);
    let room = ann.make_room(&json!({ "invite": [&*bot.id] }));
    bot.join(&room);
    ann.say(&room, "before the account first listened");
    let waiting = ann.make_direct(&bot.id);

    let matrix = Arc::new(adapter(&server.url(), None, &bot.token));
    let kept = Arc::new(RecordingInbox::default());
    let listening = Listening::begin(&matrix, &kept).await;
    // An invitation that waited counts, what was said does not.
    assert_eq!(kept.all().len(), 1);
    assert_eq!(
        (kept.all()[0].address.chat.as_str(), &kept.all()[0].what),
        (&*waiting, &Happening::Added)
    );
    kept.clear();
    let id = ann.say(&room, "0");
    kept.event(&id).await;

    // What can't be made durable comes again.
    kept.clear();
    kept.refuses.store(true, Ordering::SeqCst);
    let id = ann.say(&room, "1");
    assert_eq!(
        listening.fails().await,
        ConnectFault::Broken { why: "the disk is full".into(), wait: None }
    );
    kept.refuses.store(false, Ordering::SeqCst);
    let listening = Listening::start(&matrix, &kept);
    kept.event(&id).await;
    listening.stop().await;

    // More than fits into one answer, said while nobody listened; and the homeserver restarts.
    for number in 2..108 {
        ann.say(&room, &number.to_string());
    }
    let shared = ann.make_room(&json!({ "name": "shared" }));
    ann.say(&shared, "before we came");
    ann.invite(&shared, &bot.id);
    bot.join(&shared);
    ann.say(&shared, "after we came");
    server.stop().unwrap();
    let gone = matrix.identify().await.unwrap_err();
    assert!(matches!(gone, ConnectFault::Broken { .. }), "{gone:?}");
    server.start_again().unwrap();
    let matrix = Arc::new(adapter(&server.url(), None, &bot.token));
    let listening = Listening::start(&matrix, &kept);
    let last = ann.say(&room, "108");
    kept.event(&last).await;
    let mut texts = kept.texts();
    let at = texts.iter().position(|text| text == "after we came").unwrap();
    texts.remove(at);
    let expected: Vec<String> = (1..=108).map(|number: u32| number.to_string()).collect();
    assert_eq!(texts, expected);

    // The homeserver dies under us: the connection fails, and it goes on where it was.
    server.kill9().unwrap();
    let fault = listening.fails().await;
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    server.start_again().unwrap();
    let listening = Listening::start(&matrix, &kept);
    let id = ann.say(&room, "109");
    kept.event(&id).await;
    assert_eq!(kept.repeated.load(Ordering::SeqCst), 0);
    listening.stop().await;
}

fn bodies(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|it| it["content"]["body"].as_str().unwrap_or_default()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_we_say_is_there_once() {
    let mut server = Synapse::start().unwrap();
    let [ann, bot] = server.people(["ann", "bot"]);
    let room = ann.make_room(&json!({ "invite": [&*bot.id] }));
    bot.join(&room);
    let question = ann.say(&room, "well?");
    let matrix = adapter(&server.url(), Some(&bot.id), &bot.token);

    // Said again with the same key, also after the homeserver restarted: once.
    let mut first =
        post(target(&room, None), "turn-1/0", "**yes** <b>\n\n```rust\nlet a = 1 < 2;\n```");
    first.reply_to = Some(message_id(&question));
    matrix.typing(&first.target).await;
    let sent = matrix.post(&first).await.unwrap();
    assert_eq!(matrix.post(&first).await.unwrap(), sent);
    server.stop().unwrap();
    let unsent = matrix.post(&post(target(&room, None), "turn-2/0", "later")).await.unwrap_err();
    assert!(matches!(unsent, PostError::Later { .. } | PostError::Uncertain { .. }), "{unsent:?}");
    server.start_again().unwrap();
    assert_eq!(matrix.post(&first).await.unwrap(), sent);
    let matrix = adapter(&server.url(), None, &bot.token);
    assert_eq!(matrix.post(&first).await.unwrap(), sent);
    let messages = ann.messages(&room);
    assert_eq!(messages.len(), 2, "{messages:#?}");
    let content = &messages[1]["content"];
    assert_eq!(content["body"], first.body.markdown.as_str());
    assert_eq!(
        content["formatted_body"],
        "<p><strong>yes</strong> &lt;b&gt;</p><pre><code class=\"language-rust\">let a = 1 &lt; 2;\n</code></pre>"
    );
    assert_eq!(content["m.relates_to"]["m.in_reply_to"]["event_id"], question.as_str());

    // Changed, as clients show it.
    let body = insula_channel::Body { markdown: "no".into(), ..Default::default() };
    matrix.edit(&first.target, &sent.message, &body).await.unwrap();
    let path = format!("/rooms/{room}/event/{}", &*sent.message.0);
    let event = ann.get("GET", &path, None);
    let change = &event["unsigned"]["m.relations"]["m.replace"]["content"]["m.new_content"];
    assert_eq!(change["body"], "no", "{event:#}");
    matrix.read(&first.target, &message_id(&question)).await;

    // In a thread, with files; again with the same key: once.
    let mut files = post(target(&room, Some(&question)), "turn-3/0", "two files");
    for (name, media_type) in [("a.png", "image/png"), ("b.txt", "text/plain")] {
        let content = format!("content of {name}").into_bytes().into();
        files.body.files.push(File { name: name.into(), media_type: media_type.into(), content });
    }
    let sent = matrix.post(&files).await.unwrap();
    assert_eq!(matrix.post(&files).await.unwrap(), sent);
    let messages = ann.messages(&room);
    let thread: Vec<&Value> = messages
        .iter()
        .filter(|it| it["content"]["m.relates_to"]["rel_type"] == "m.thread")
        .collect();
    assert_eq!(thread.len(), 3, "{messages:#?}");
    assert_eq!(bodies(&messages)[3..], ["two files", "a.png", "b.txt"]);
    assert_eq!(thread[1]["content"]["msgtype"], "m.image");

    // What people send along is fetched, up to the limit and no further.
    let kept = Arc::new(RecordingInbox::default());
    let matrix = Arc::new(matrix);
    let listening = Listening::begin(&matrix, &kept).await;
    let url = thread[1]["content"]["url"].as_str().unwrap();
    let id = ann.send(
        &room,
        &json!({
            "msgtype": "m.audio", "body": "say what this is", "filename": "memo.ogg", "url": url,
            "info": { "mimetype": "audio/ogg", "size": 16 }, "org.matrix.msc3245.voice": {},
        }),
    );
    let heard = kept.event(&id).await;
    let memo = &said(&heard).attachments[0];
    assert_eq!((memo.kind, &*memo.name, memo.size), (AttachmentKind::Voice, "memo.ogg", Some(16)));
    assert_eq!(said(&heard).words.said(), "say what this is");
    assert_eq!(&matrix.fetch(memo, 16).await.unwrap()[..], b"content of a.png");
    assert_eq!(matrix.fetch(memo, 15).await, Err(FetchError::TooLarge));
    let mut gone = memo.clone();
    gone.handle = "mxc://localhost/nothing".into();
    let gone = matrix.fetch(&gone, 15).await.unwrap_err();
    assert!(matches!(gone, FetchError::Failed(PostError::Never { .. })), "{gone:?}");
    // What is said is shown as a voice memo.
    let mut spoken = post(target(&room, None), "turn-5/0", "");
    let (name, media_type) = ("voice.ogg".into(), "audio/ogg".into());
    let content = insula_testkit::sounds::OPUS.into();
    spoken.body.files.push(File { name, media_type, content });
    matrix.post(&spoken).await.unwrap();
    let memo = ann.messages(&room).pop().unwrap();
    assert_eq!(memo["content"]["msgtype"], "m.audio");
    assert_eq!(memo["content"]["org.matrix.msc3245.voice"], json!({}));
    let millis = memo["content"]["info"]["duration"].as_u64().unwrap();
    assert!((2_900..3_200).contains(&millis), "{memo}");
    // Larger than the homeserver takes.
    let mut large = post(target(&room, None), "turn-4/0", "");
    let content = vec![0; 2 << 20].into();
    large.body.files.push(File { name: "l".into(), media_type: "x/y".into(), content });
    let large = matrix.post(&large).await.unwrap_err();
    assert!(matches!(large, PostError::Never { .. }), "{large:?}");

    // The token is revoked.
    bot.get("POST", "/logout", Some(&json!({})));
    let fault = listening.fails().await;
    assert!(matches!(fault, ConnectFault::Refused(_)), "{fault:?}");
    assert!(matches!(matrix.identify().await.unwrap_err(), ConnectFault::Refused(_)));
    let refused = matrix.post(&post(target(&room, None), "turn-6/0", "x")).await.unwrap_err();
    assert!(matches!(refused, PostError::Account { .. }), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_homeservers_limits_are_told_with_the_time_to_wait() {
    let limits = "rc_message: {per_second: 0.1, burst_count: 2}";
    let server = Synapse::start_with(limits).unwrap();
    let [bot] = server.people(["bot"]);
    let room = bot.make_room(&json!({}));
    let matrix = adapter(&server.url(), None, &bot.token);
    let mut errors = vec![];
    for number in 0..4 {
        let sent = matrix.post(&post(target(&room, None), &number.to_string(), "x")).await;
        errors.extend(sent.err());
    }
    let Some(PostError::Later { wait: Some(wait), .. }) = errors.first() else {
        panic!("{errors:?}")
    };
    assert!(!wait.is_zero() && wait.as_secs() <= 60, "{wait:?}");
}
