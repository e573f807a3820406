//! The way out.

use crate::telegram::support::{FORUM, Listening, TOKEN, Tray, bench, body, dm, group, post};
use bytes::Bytes;
use insula_channel::{Body, Button, FetchError, File, Happening, MessageId, Post, PostError};
use insula_testkit::sounds;
use insula_testkit::telegram::{Draft, Trouble, Where};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_reply_goes_to_its_topic_and_the_general_one_is_not_named() {
    let bench = bench().await;
    bench.platform.forum(FORUM, "Forum", &[TOKEN]);
    let topic = bench.platform.topic(FORUM, "one");
    let asked = bench.say(Where::Topic(FORUM, topic), "question");
    let adapter = bench.adapter();
    let reply = Post {
        reply_to: Some(MessageId(asked.to_string().into())),
        ..post(group(FORUM, Some(topic)), body("**answer**"))
    };
    let posted = adapter.post(&reply).await.unwrap();
    adapter.post(&post(group(FORUM, Some(1)), body("to all"))).await.unwrap();
    adapter.typing(&group(FORUM, Some(1))).await;
    adapter.typing(&group(FORUM, Some(topic))).await;

    let in_topic = &bench.platform.sent_to(FORUM, Some(topic))[0];
    assert_eq!((in_topic.text.as_str(), in_topic.reply_to), ("answer", Some(asked)));
    assert_eq!(in_topic.message.to_string(), &*posted.message.0);
    assert_eq!(in_topic.arguments["text"], json!("<b>answer</b>"));
    assert_eq!(in_topic.arguments["link_preview_options"], json!({"is_disabled": true}));
    assert_eq!(bench.platform.sent_to(FORUM, None)[0].text, "to all");
    let typed = bench.platform.asked_for("sendChatAction");
    assert_eq!(typed[0]["message_thread_id"], json!(1));
    assert_eq!(typed[1]["message_thread_id"], json!(topic));
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_what_was_deleted_is_sent_anyway() {
    let bench = bench().await;
    let asked = bench.say(Where::Dm(TOKEN), "question");
    assert!(bench.platform.delete(Where::Dm(TOKEN), &bench.ann, asked));
    let reply =
        Post { reply_to: Some(MessageId(asked.to_string().into())), ..post(dm(), body("answer")) };
    bench.adapter().post(&reply).await.unwrap();
    assert_eq!(bench.platform.sent()[0].reply_to, None);
}

#[tokio::test(start_paused = true)]
async fn tags_the_platform_refuses_are_left_out() {
    let bench = bench().await;
    let refusal = || Trouble::Refuse {
        code: 400,
        description: "Bad Request: can't parse entities: Unsupported start tag".into(),
        retry_after: None,
    };
    bench.platform.trouble(TOKEN, "sendMessage", refusal());
    let adapter = bench.adapter();
    let posted = adapter.post(&post(dm(), body("**plain**"))).await.unwrap();
    let sent = bench.platform.sent();
    assert_eq!((sent.len(), sent[0].text.as_str()), (1, "**plain**"));
    assert!(!sent[0].arguments.contains_key("parse_mode"));
    bench.platform.trouble(TOKEN, "editMessageText", refusal());
    adapter.edit(&dm(), &posted.message, &body("*so*")).await.unwrap();
    assert_eq!(bench.platform.sent()[0].text, "*so*");
}

#[tokio::test(start_paused = true)]
async fn buttons_are_offered_pressed_and_answered() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let button = |label: &str, data: &str| Button { label: label.into(), data: data.into() };
    let asking = Body {
        buttons: vec![
            vec![button("Yes", "y"), button("No", "n")],
            vec![button("too long", &"x".repeat(65)), button("", "empty")],
        ],
        ..body("really?")
    };
    let posted = adapter.post(&post(dm(), asking)).await.unwrap();
    let sent = bench.platform.sent()[0].clone();
    assert_eq!(sent.buttons, [("Yes".into(), "y".into()), ("No".into(), "n".into())]);
    let tray = Arc::new(Tray::default());
    let listening = Listening::start(&adapter, &tray);
    bench.platform.press(Where::Dm(TOKEN), &bench.ann, sent.message, "y").unwrap();
    let heard = tray.until(1).await;
    let Happening::Pressed(press) = &heard[0].what else { panic!("{heard:?}") };
    assert_eq!((&*press.data, &press.message), ("y", &posted.message));
    adapter.acknowledge(&press.handle, &"done ".repeat(100)).await;
    let answered = &bench.platform.asked_for("answerCallbackQuery")[0];
    assert_eq!(answered["callback_query_id"], json!(&*press.handle));
    assert_eq!(answered["text"].as_str().unwrap().chars().count(), 200);
    // What is settled has no buttons.
    adapter.edit(&dm(), &posted.message, &body("really? yes")).await.unwrap();
    assert!(bench.platform.sent()[0].buttons.is_empty());
    listening.stop().await.unwrap();
}

fn file(name: &str, media_type: &str, content: &'static [u8]) -> File {
    File { name: name.into(), media_type: media_type.into(), content: Bytes::from_static(content) }
}

#[tokio::test(start_paused = true)]
async fn speech_goes_as_a_voice_memo_where_the_platform_shows_it_and_as_a_file_otherwise() {
    let bench = bench().await;
    let adapter = bench.adapter();
    for (name, media_type, content, method) in [
        ("voice.ogg", "audio/ogg", sounds::OPUS, "sendVoice"),
        ("voice.mp3", "audio/mpeg", sounds::MP3, "sendVoice"),
        ("voice.m4a", "audio/mp4", sounds::M4A, "sendVoice"),
        ("voice.wav", "audio/wav", sounds::WAV, "sendDocument"),
        ("voice.ogg", "audio/ogg", sounds::VORBIS, "sendDocument"),
        ("v.ogg", "application/pdf", sounds::OPUS, "sendDocument"),
    ] {
        let spoken = Body { files: vec![file(name, media_type, content)], ..Body::default() };
        adapter.post(&post(dm(), spoken)).await.unwrap();
        let sent = bench.platform.sent().pop().unwrap();
        assert_eq!((&*sent.method, &*sent.file.unwrap().1), (method, content), "{name}");
    }
    // Who wants no voice memos gets a file.
    let description = "Bad Request: VOICE_MESSAGES_FORBIDDEN".into();
    let trouble = Trouble::Refuse { code: 400, description, retry_after: None };
    bench.platform.trouble(TOKEN, "sendVoice", trouble);
    let spoken = vec![file("voice.ogg", "audio/ogg", sounds::OPUS)];
    adapter.post(&post(dm(), Body { files: spoken, ..Body::default() })).await.unwrap();
    assert_eq!(bench.platform.sent().pop().unwrap().method, "sendDocument");
}

#[tokio::test(start_paused = true)]
async fn files_go_with_their_text_below_or_before() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let files = vec![file("a \"b\".txt", "text/plain", b"content")];
    let one = Body { files: files.clone(), ..body("**see**") };
    adapter.post(&post(dm(), one)).await.unwrap();
    let sent = bench.platform.sent();
    assert_eq!((sent.len(), sent[0].method.as_str()), (1, "sendDocument"));
    assert_eq!(sent[0].text, "see");
    assert_eq!(sent[0].file.as_ref().unwrap().1, b"content");

    let long = "a".repeat(2000);
    let more = Body {
        files: vec![files[0].clone(), file("p.png", "image/png", b"picture")],
        ..body(&long)
    };
    let posted = adapter.post(&post(dm(), more)).await.unwrap();
    let methods: Vec<String> =
        bench.platform.sent().into_iter().skip(1).map(|sent| sent.method).collect();
    assert_eq!(methods, ["sendMessage", "sendDocument", "sendPhoto"]);
    assert_eq!(bench.platform.sent()[1].message.to_string(), &*posted.message.0);

    // A caption is changed where there is no text to change.
    let first = MessageId(sent[0].message.to_string().into());
    adapter.edit(&dm(), &first, &body("changed")).await.unwrap();
    assert_eq!(bench.platform.sent()[0].text, "changed");
}

#[tokio::test(start_paused = true)]
async fn a_picture_the_platform_can_not_show_goes_as_a_file() {
    let bench = bench().await;
    bench.platform.trouble(
        TOKEN,
        "sendPhoto",
        Trouble::Refuse {
            code: 400,
            description: "Bad Request: PHOTO_INVALID_DIMENSIONS".into(),
            retry_after: None,
        },
    );
    let picture = Body { files: vec![file("p.png", "image/png", b"picture")], ..Body::default() };
    bench.adapter().post(&post(dm(), picture)).await.unwrap();
    assert_eq!(bench.platform.sent()[0].method, "sendDocument");
}

#[tokio::test(start_paused = true)]
async fn what_went_out_in_part_goes_on_where_it_stopped() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let files = vec![file("a.txt", "text/plain", b"a"), file("b.txt", "text/plain", b"b")];
    let whole = post(dm(), Body { files, ..body("text") });
    let busy = Trouble::Refuse { code: 429, description: "slow".into(), retry_after: Some(3) };
    bench.platform.trouble(TOKEN, "sendDocument", busy);
    let error = adapter.post(&whole).await.unwrap_err();
    let wait = Some(Duration::from_secs(3));
    assert!(matches!(error, PostError::Later { wait: w, .. } if w == wait), "{error:?}");
    let posted = adapter.post(&whole).await.unwrap();
    let sent = bench.platform.sent();
    let methods: Vec<&str> = sent.iter().map(|sent| sent.method.as_str()).collect();
    assert_eq!(methods, ["sendMessage", "sendDocument", "sendDocument"]);
    assert_eq!(sent[0].message.to_string(), &*posted.message.0);
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_answer_was_cut_anywhere_is_uncertain_and_there_once() {
    let bench = bench().await;
    let adapter = bench.adapter();
    adapter.post(&post(dm(), body("whole"))).await.unwrap();
    let mut cuts = 0;
    for cut in 0..1000 {
        bench.platform.trouble(TOKEN, "sendMessage", Trouble::CutAt(cut));
        match adapter.post(&post(dm(), body("whole"))).await {
            // The whole answer came.
            Ok(_) => break,
            Err(PostError::Uncertain { .. }) => cuts += 1,
            Err(other) => panic!("{cut}: {other:?}"),
        }
    }
    assert!(cuts > 100, "{cuts}");
    assert_eq!(bench.platform.sent().len(), cuts + 2);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_listens_it_is_worth_a_later_try() {
    use insula_adapters::telegram::{Telegram, TelegramMode, TelegramSettings};
    use insula_channel::Outbound as _;
    let bench = bench().await;
    let settings = TelegramSettings {
        account: insula_domain::AccountId::new("main").unwrap(),
        token: TOKEN.into(),
        base_url: Some("http://127.0.0.1:9".into()),
        mode: TelegramMode::Polling,
    };
    let adapter = Telegram::new(settings, &bench.transport, &bench.world.clock).unwrap();
    let error = adapter.post(&post(dm(), body("x"))).await.unwrap_err();
    assert!(matches!(&error, PostError::Later { .. }), "{error:?}");
    assert!(!error.to_string().contains("secret-token"));
    // Changing is safe to repeat, whatever was lost.
    bench.platform.trouble(TOKEN, "editMessageText", Trouble::CutAt(3));
    let error = bench.adapter().edit(&dm(), &MessageId("1".into()), &body("x")).await;
    assert!(matches!(error, Err(PostError::Later { .. })), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_group_that_moved_is_followed() {
    let bench = bench().await;
    bench.platform.group(-5, "Friends", &[TOKEN]);
    let moved = bench.platform.migrate(-5);
    bench.adapter().post(&post(group(-5, None), body("hello"))).await.unwrap();
    assert_eq!(bench.platform.sent_to(moved, None)[0].text, "hello");
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_sent_is_never_sent() {
    let bench = bench().await;
    let adapter = bench.adapter();
    bench.platform.group(-5, "Friends", &[TOKEN]);
    bench.platform.remove(TOKEN, -5, &bench.ann);
    for target in [group(-5, None), group(-404, None), group(-5, Some(77))] {
        let error = adapter.post(&post(target, body("x"))).await.unwrap_err();
        assert!(matches!(error, PostError::Never { .. }), "{error:?}");
    }
    for nothing in ["", "  \n"] {
        let error = adapter.post(&post(dm(), body(nothing))).await.unwrap_err();
        assert!(matches!(error, PostError::Never { .. }), "{error:?}");
    }
    let error = adapter.edit(&dm(), &MessageId("x".into()), &body("x")).await.unwrap_err();
    assert!(matches!(error, PostError::Never { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn the_menu_offers_what_can_be_typed() {
    let bench = bench().await;
    let commands =
        [("help", "What there is"), ("/new", "Begin anew"), ("Not-Valid", "x"), ("a", "")];
    bench.adapter().offer_commands(&commands).await.unwrap();
    assert_eq!(
        bench.platform.commands(TOKEN),
        json!([{"command": "help", "description": "What there is"},
            {"command": "new", "description": "Begin anew"}])
    );
}

#[tokio::test(start_paused = true)]
async fn a_file_path_from_outside_is_not_followed() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let tray = Arc::new(Tray::default());
    let listening = Listening::start(&adapter, &tray);
    let draft = Draft::new(&bench.ann, "see").photo(b"picture");
    bench.platform.say(Where::Dm(TOKEN), &draft);
    tray.until(1).await;
    let attachment = tray.messages()[0].attachments[0].clone();
    assert_eq!(adapter.fetch(&attachment, 100).await.unwrap(), b"picture".as_slice());
    for path in ["../getMe", "/etc/passwd", "a?b", "http://elsewhere/"] {
        let body = json!({"ok": true, "result": {"file_id": "x", "file_path": path}}).to_string();
        bench.platform.trouble(TOKEN, "getFile", Trouble::Answer { status: 200, body });
        let error = adapter.fetch(&attachment, 100).await.unwrap_err();
        let never = matches!(error, FetchError::Failed(PostError::Never { .. }));
        assert!(never, "{path}: {error:?}");
    }
    assert_eq!(bench.platform.asked_for("file").len(), 1, "only the first was asked for");
    listening.stop().await.unwrap();
}
