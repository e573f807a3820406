//! What we say is there: once, where it belongs, calling nobody; and what people press.

use crate::discord::support::{TOKEN, bench, body, post, target};
use insula_channel::{
    Attachment, AttachmentKind, Body, Button, File, Happening, MessageId, OwnSign, PostError,
    WaitScope,
};
use insula_domain::ChatType;
use insula_testkit::discord::Trouble;
use insula_world::Clock as _;
use serde_json::json;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn an_answer_stands_where_its_question_does_and_calls_nobody() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let thread = bench.platform.thread(&bench.guild, &bench.town);
    let question = bench.say("well?");
    let mut answer = post(bench.town(), "k1", body("@everyone <@1> **here** https://e.org"));
    answer.reply_to = Some(MessageId(question.as_str().into()));
    adapter.post(&answer).await.unwrap();
    adapter.post(&post(target(&thread, ChatType::Thread), "k2", body("in it"))).await.unwrap();
    let said = bench.platform.messages_of(&bench.bot);
    assert_eq!(said[0]["content"], "@everyone <@1> **here** https://e.org");
    assert_eq!(said[0]["referenced_message"]["id"], json!(question));
    assert_eq!((&said[1]["channel_id"], &said[1]["content"]), (&json!(thread), &json!("in it")));
    let (_, asked) = bench.platform.requests().pop().unwrap();
    assert_eq!(asked["allowed_mentions"], json!({ "parse": [], "replied_user": false }));
    assert_eq!(asked["flags"], 4, "no previews of links");
    // What it answers may be gone.
    answer.reply_to = Some(MessageId("5".into()));
    answer.idempotency = "k3".into();
    adapter.post(&answer).await.unwrap();
    let nowhere = adapter.post(&post(target("../x", ChatType::Dm), "k", body("x"))).await;
    assert!(matches!(nowhere, Err(PostError::Never { .. })), "{nowhere:?}");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_recognised_for_some_minutes() {
    let bench = bench().await;
    let (adapter, say) = (bench.adapter(), post(bench.town(), "k", body("once")));
    bench.platform.trouble("POST /channels", Trouble::CutAt(20));
    let lost = adapter.post(&say).await.unwrap_err();
    assert!(matches!(lost, PostError::Uncertain { .. }), "{lost:?}");
    adapter.post(&say).await.unwrap();
    assert_eq!(bench.said(), ["once"]);
    bench.handles.clock.advance(Duration::from_secs(600)).await;
    adapter.post(&say).await.unwrap();
    assert_eq!(bench.said(), ["once", "once"], "Discord forgets");
    adapter.post(&post(bench.town(), "another", body("once"))).await.unwrap();
    let nonces: Vec<String> = bench
        .platform
        .requests()
        .into_iter()
        .filter(|(line, _)| line.starts_with("POST /channels"))
        .map(|(_, body)| body["nonce"].as_str().unwrap().to_owned())
        .collect();
    assert!(nonces.iter().all(|nonce| nonce.len() <= 25), "{nonces:?}");
    assert!(nonces[0] == nonces[1] && nonces[2] != nonces[3]);
}

#[tokio::test(start_paused = true)]
async fn files_go_along_ten_at_a_time() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let files = (0..12).map(|number| File {
        name: format!("{number}.txt").into(),
        media_type: "text/plain".into(),
        content: format!("content {number}").into(),
    });
    let with_files = Body { files: files.collect(), ..body("see") };
    adapter.post(&post(bench.town(), "k", with_files)).await.unwrap();
    let said = bench.platform.messages_of(&bench.bot);
    let counts: Vec<_> =
        said.iter().map(|it| it["attachments"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [10, 2]);
    assert_eq!((&said[0]["content"], &said[1]["content"]), (&json!("see"), &json!("")));
    let first = &said[0]["attachments"][0];
    assert_eq!(
        (&first["filename"], &first["content_type"]),
        (&json!("0.txt"), &json!("text/plain"))
    );
    let content = bench.platform.content(first["id"].as_str().unwrap()).unwrap();
    assert_eq!(content, b"content 0");
}

#[tokio::test(start_paused = true)]
async fn signs_and_typing_are_shown_and_later_is_later() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let said = bench.say("work");
    let (town, message) = (bench.town(), MessageId(said.as_str().into()));
    adapter.typing(&town).await;
    assert_eq!(bench.platform.typing(), [(bench.bot.clone(), bench.town.clone())]);
    adapter.react(&town, &message, OwnSign::Working, true).await;
    assert_eq!(bench.platform.get(&said)["reactions"][0]["emoji"]["name"], "👀");
    adapter.react(&town, &message, OwnSign::Working, false).await;
    assert_eq!(bench.platform.get(&said)["reactions"], json!([]));
    let id = |text: &str| MessageId(text.into());
    assert_eq!(adapter.is_after(&town, &id("1000"), &id("999")), Some(true));
    assert_eq!(adapter.is_after(&town, &id("1000"), &id("x")), None);
}

#[tokio::test(start_paused = true)]
async fn an_empty_bucket_is_not_asked_and_a_longer_wait_is_told() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let say = |number: usize| post(bench.town(), &number.to_string(), body("x"));
    bench.platform.limit(2, 2.0);
    let began = bench.handles.clock.elapsed();
    for number in 0..6 {
        adapter.post(&say(number)).await.unwrap();
    }
    let waited = bench.handles.clock.elapsed() - began;
    assert!((4..=5).contains(&waited.as_secs()), "{waited:?}");
    let asked = bench.platform.requests().len();
    assert_eq!(asked, 6, "nothing was asked that would be refused");
    bench.handles.clock.advance(Duration::from_secs(100)).await;
    bench.platform.limit(1, 60.0);
    adapter.post(&say(7)).await.unwrap();
    let told = adapter.post(&say(8)).await.unwrap_err();
    let PostError::Later { wait, reach, .. } = told else { panic!("{told:?}") };
    assert!(wait.unwrap() > Duration::from_secs(50) && reach == WaitScope::Chat);
    // Another channel has a bucket of its own.
    let other = bench.platform.channel(&bench.guild, 0);
    adapter.post(&post(target(&other, ChatType::Channel), "o", body("x"))).await.unwrap();
    assert_eq!(bench.platform.requests().len(), 8);
    // All wait where all are told to.
    let all = Trouble::Refuse { status: 429, code: 0, wait: Some(30.0), global: true };
    let third = bench.platform.channel(&bench.guild, 0);
    bench.platform.trouble("POST /channels", all);
    for _ in 0..2 {
        let to_third = post(target(&third, ChatType::Channel), "t", body("x"));
        let told = adapter.post(&to_third).await.unwrap_err();
        let PostError::Later { wait, reach, .. } = told else { panic!("{told:?}") };
        assert!(wait.unwrap() > Duration::from_secs(29) && reach == WaitScope::Account);
    }
    assert_eq!(bench.platform.requests().len(), 9);
}

fn question() -> Body {
    let button = |label: &str, data: &str| Button { label: label.into(), data: data.into() };
    Body { buttons: vec![vec![button("Yes", "d1"), button("No", "d2")]], ..body("may I?") }
}

#[tokio::test(start_paused = true)]
async fn a_pressed_button_is_answered_at_once_and_heard() {
    let bench = bench().await;
    let staff = bench.platform.role(&bench.guild);
    bench.platform.member(&bench.guild, &bench.ann, "Annie", &[&staff]);
    let (adapter, tray, listening) = bench.listening().await;
    let posted = adapter.post(&post(bench.town(), "k", question())).await.unwrap();
    let asked = bench.platform.get(&posted.message.0);
    let buttons = asked["components"][0]["components"].as_array().unwrap();
    assert_eq!((&buttons[0]["label"], &buttons[1]["label"]), (&json!("Yes"), &json!("No")));
    let id = buttons[0]["custom_id"].as_str().unwrap();
    // What a client made up, or took from a message elsewhere, is none of ours.
    let other = bench.platform.channel(&bench.guild, 0);
    let elsewhere = bench.platform.say(&other, &bench.bot, "another message");
    for (message, forged) in
        [(&*posted.message.0, "d1"), (&posted.message.0, &id.replace("d1", "d2")), (&elsewhere, id)]
    {
        let pressed = bench.platform.press(TOKEN, &bench.ann, message, forged);
        bench.platform.until(|platform| !platform.answers(&pressed).is_empty()).await;
        let (how, answer) = bench.platform.answers(&pressed).remove(0);
        assert_eq!((how.as_str(), &answer["type"]), ("callback", &json!(4)));
        assert_eq!(answer["data"]["flags"], 64);
    }
    let pressed = bench.platform.press(TOKEN, &bench.ann, &posted.message.0, id);
    let heard = tray.until(1).await.remove(0);
    let Happening::Pressed(press) = &heard.what else { panic!("{heard:?}") };
    assert_eq!((&*press.data, &press.message), ("d1", &posted.message));
    assert_eq!(heard.address.user.as_ref().unwrap().as_str(), bench.ann);
    assert_eq!((heard.address.roles.len(), &*heard.sender.name), (1, "Annie"));
    let answers = bench.platform.answers(&pressed);
    assert_eq!(answers, [("callback".to_owned(), json!({ "type": 6 }))]);
    adapter.acknowledge(&press.handle, "not for you").await;
    let (how, told) = bench.platform.answers(&pressed).remove(1);
    assert_eq!((how.as_str(), &told["content"]), ("follow-up", &json!("not for you")));
    assert_eq!(told["flags"], 64, "nobody else sees it");
    // Said once, and never of a press that is not known.
    adapter.acknowledge(&press.handle, "again").await;
    adapter.acknowledge("5", "who?").await;
    assert_eq!(bench.platform.answers(&pressed).len(), 2);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_press_is_answered_though_nobody_takes_it_and_heard_again_after() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    bench.say("one");
    tray.until(1).await;
    let posted = adapter.post(&post(bench.town(), "k", question())).await.unwrap();
    let asked = bench.platform.get(&posted.message.0);
    let id = asked["components"][0]["components"][0]["custom_id"].as_str().unwrap().to_owned();
    tray.refuse(true);
    let pressed = bench.platform.press(TOKEN, &bench.ann, &posted.message.0, &id);
    let _ = listening.failed().await;
    assert_eq!(bench.platform.answers(&pressed).len(), 1);
    tray.refuse(false);
    let listening = crate::discord::support::Listening::start(&adapter, &tray);
    tray.until(2).await;
    assert!(matches!(tray.envelopes()[1].what, Happening::Pressed(_)));
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn commands_are_in_the_menu_and_heard_as_though_typed() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    let commands = [("/new", "Begins anew"), ("/model", "Shows or changes the model")];
    adapter.offer_commands(&commands).await.unwrap();
    let menu = bench.platform.commands(TOKEN);
    let names: Vec<_> = menu.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["new", "model"]);
    assert_eq!(menu[0]["options"][0]["required"], false);
    // Asked for again, nothing is made anew.
    bench.adapter().offer_commands(&commands).await.unwrap();
    let puts = bench.platform.requests().iter().filter(|(line, _)| line.starts_with("PUT")).count();
    assert_eq!(puts, 1);
    let direct = bench.platform.direct(&bench.bot, &bench.bob);
    let used = bench.platform.command(TOKEN, &bench.ann, &bench.town, "model", "fast");
    bench.platform.command(TOKEN, &bench.bob, &direct, "new", "");
    let all = tray.until(2).await;
    assert_eq!(tray.texts(), ["/model fast", "/new"]);
    let said = tray.messages();
    assert!(said[0].mentions_us && said[0].words.instruction() == "/model fast");
    assert_eq!(all[0].address.user.as_ref().unwrap().as_str(), bench.ann);
    assert_eq!((all[1].address.chat.as_str(), all[1].address.chat_type), (&*direct, ChatType::Dm));
    let answers = bench.platform.answers(&used);
    assert_eq!(answers[0].1, json!({ "type": 5, "data": { "flags": 64 } }));
    assert_eq!((&*answers[1].0, &answers[1].1["content"]), ("edit", &json!("`/model fast`")));
    // What answers it finds no message to reply to, and is said all the same.
    let mut answer = post(bench.town(), "k", body("it is fast now"));
    answer.reply_to = Some(said[0].id.clone());
    adapter.post(&answer).await.unwrap();
    assert_eq!(bench.said(), ["it is fast now"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_change_takes_buttons_away_and_only_of_our_own() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let posted = adapter.post(&post(bench.town(), "k", question())).await.unwrap();
    adapter.edit(&bench.town(), &posted.message, &body("done")).await.unwrap();
    let left = bench.platform.get(&posted.message.0);
    assert_eq!((&left["content"], &left["components"]), (&json!("done"), &json!([])));
    let theirs = bench.say("mine");
    for id in [theirs.as_str(), "5", "../x"] {
        let refused = adapter.edit(&bench.town(), &MessageId(id.into()), &body("x")).await;
        assert!(matches!(refused, Err(PostError::Never { .. })), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_is_fetched_from_where_discord_has_files_alone() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    bench.platform.post(&json!({
        "channel_id": bench.town, "author_id": bench.ann,
        "attachments": [{ "id": "5", "filename": "x", "url": "http://192.0.2.1/secret" }],
    }));
    tray.until(1).await;
    let found = tray.messages()[0].attachments[0].clone();
    let refused = adapter.fetch(&found, 100).await;
    assert!(refused.is_err(), "{refused:?}");
    for handle in ["", "1/2", "1/2/../x", "1/2/3/4"] {
        let attachment = Attachment {
            kind: AttachmentKind::File,
            name: "x".into(),
            media_type: "x".into(),
            size: None,
            handle: handle.into(),
        };
        assert!(adapter.fetch(&attachment, 100).await.is_err(), "{handle}");
    }
    listening.stop().await.unwrap();
}
