//! The way out.

use crate::signal::support::{GROUP, Listening, OURS, Tray, bench, body, group, post, tenant};
use bytes::Bytes;
use insula_channel::{Body, FetchError, File, MessageId, OwnSign, Post, PostError, PostTarget};
use insula_domain::{ChatId, ChatType};
use insula_testkit::signal::{Draft, Trouble, Where};
use insula_testkit::sounds;
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn a_reply_quotes_and_has_its_styles() {
    let bench = bench().await;
    bench.platform.group(GROUP, &bench.ann, &[OURS]);
    let at = bench.say(Where::Group(GROUP), "question");
    let asked = MessageId(format!("{at}/{}", bench.ann.uuid).into());
    let reply = Post { reply_to: Some(asked), ..post(group(), body("**answer**: _so_")) };
    let adapter = bench.adapter();
    let posted = adapter.post(&reply).await.unwrap();
    let sent = bench.platform.sent();
    assert_eq!((sent[0].text.as_str(), sent[0].to.as_str()), ("answer: so", GROUP));
    assert_eq!(sent[0].styles, ["0:6:BOLD", "8:2:ITALIC"]);
    assert_eq!(sent[0].quote, Some((at, bench.ann.uuid.clone())));
    assert_eq!(sent[0].at.to_string(), *posted.message.0);
    // To what we said ourselves.
    let again = Post { reply_to: Some(posted.message), ..post(group(), body("and more")) };
    adapter.post(&again).await.unwrap();
    assert_eq!(bench.platform.sent()[1].quote, Some((sent[0].at, OURS.to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_quote_of_ours_names_the_message_as_it_was_posted() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let adapter = bench.adapter();
    let listening = Listening::start(&adapter, &tray);
    let posted = adapter.post(&post(bench.dm(), body("allow it?"))).await.unwrap();
    adapter.edit(&bench.dm(), &posted.message, &body("allow it? (changed)")).await.unwrap();
    let last = bench.platform.sent()[0].last;
    let yes = Draft::new(&bench.ann, "yes").quote(last, &bench.us, "allow it?");
    bench.platform.say(Where::Dm(OURS), &yes);
    tray.until_said(1).await;
    let quoted = tray.messages()[0].quoted.clone().unwrap();
    assert!(quoted.is_ours && tray.messages()[0].mentions_us);
    assert_eq!(quoted.id, posted.message);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_change_changes_the_last_one() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let posted = adapter.post(&post(bench.dm(), body("one"))).await.unwrap();
    let first = bench.platform.sent()[0].at;
    adapter.edit(&bench.dm(), &posted.message, &body("two")).await.unwrap();
    let second = bench.platform.sent()[0].last;
    adapter.edit(&bench.dm(), &posted.message, &body("three")).await.unwrap();
    let calls = bench.platform.asked_for("send");
    assert_eq!(calls[1]["editTimestamp"], json!(first));
    assert_eq!(calls[2]["editTimestamp"], json!(second));
    assert_eq!((bench.platform.sent()[0].text.as_str(), bench.platform.sent().len()), ("three", 1));
    let theirs = MessageId(format!("5/{}", bench.ann.uuid).into());
    let refused = adapter.edit(&bench.dm(), &theirs, &body("x")).await.unwrap_err();
    assert!(matches!(refused, PostError::Never { .. }), "{refused:?}");
    // After a restart the first name is all that is known, and it is good.
    bench.adapter().edit(&bench.dm(), &posted.message, &body("four")).await.unwrap();
    assert_eq!(bench.platform.sent()[0].text, "four");
}

#[tokio::test(start_paused = true)]
async fn files_go_both_ways() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let file = |name: &str, media_type: &str, content: &'static [u8]| File {
        name: name.into(),
        media_type: media_type.into(),
        content: Bytes::from_static(content),
    };
    let files = vec![file("a;b.txt", "text/plain", b"content"), file("p.png", "image/png", b"pic")];
    adapter.post(&post(bench.dm(), Body { files: files.clone(), ..body("see") })).await.unwrap();
    adapter.post(&post(bench.dm(), Body { files, ..body("") })).await.unwrap();
    let sent = bench.platform.sent();
    assert_eq!((sent.len(), sent[0].text.as_str(), sent[1].text.as_str()), (2, "see", ""));
    assert_eq!(sent[0].files[0], ("text/plain".into(), "ab.txt".into(), b"content".to_vec()));
    assert_eq!(sent[1].files[1].2, b"pic");
    let spoken = vec![file("voice.ogg", "audio/ogg", sounds::OPUS)];
    adapter.post(&post(bench.dm(), Body { files: spoken, ..body("") })).await.unwrap();
    let asked = bench.platform.asked_for("send");
    let voices: Vec<&Value> = asked.iter().map(|it| &it["voiceNote"]).collect();
    assert_eq!(voices, [&Value::Null, &Value::Null, &json!(true)]);
    let empty = Body { files: vec![file("e", "text/plain", b"")], ..body("x") };
    for nothing in [empty, body(" ")] {
        let refused = adapter.post(&post(bench.dm(), nothing)).await.unwrap_err();
        assert!(matches!(refused, PostError::Never { .. }), "{refused:?}");
    }
    bench.platform.group(GROUP, &bench.ann, &[OURS]);
    let tray = Tray::new(None);
    let listening = Listening::start(&adapter, &tray);
    let draft = Draft::new(&bench.ann, "").file("image/png", Some("p.png"), b"picture");
    bench.platform.say(Where::Group(GROUP), &draft);
    bench.platform.say(Where::Dm(OURS), &draft);
    tray.until_said(2).await;
    for message in tray.messages() {
        assert_eq!(
            adapter.fetch(&message.attachments[0], 100).await.unwrap(),
            b"picture".as_slice()
        );
    }
    let asked = bench.platform.asked_for("getAttachment");
    assert_eq!((&asked[0]["groupId"], &asked[0]["recipient"]), (&json!(GROUP), &Value::Null));
    assert_eq!(asked[1]["recipient"], json!(bench.ann.uuid));
    let mut wrong = tray.messages()[0].attachments[0].clone();
    for handle in ["", "x", "u:a:../b", "q:a:b"] {
        wrong.handle = handle.into();
        let failed = adapter.fetch(&wrong, 100).await.unwrap_err();
        assert!(matches!(failed, FetchError::Failed(PostError::Never { .. })), "{handle}");
    }
    wrong.handle = format!("u:{}:gone", bench.ann.uuid).into();
    let gone = adapter.fetch(&wrong, 100).await.unwrap_err();
    assert!(matches!(gone, FetchError::Failed(PostError::Never { .. })), "{gone:?}");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn writing_shows_and_what_was_read_is_told_to_whoever_said_it() {
    let bench = bench().await;
    bench.platform.group(GROUP, &bench.ann, &[OURS]);
    let adapter = bench.adapter();
    adapter.typing(&bench.dm()).await;
    adapter.typing(&group()).await;
    let theirs = MessageId(format!("55/{}", bench.ann.uuid).into());
    adapter.read(&group(), &theirs).await;
    adapter.read(&group(), &MessageId("56".into())).await;
    let typed = bench.platform.asked_for("sendTyping");
    assert_eq!(
        (&typed[0]["recipient"], &typed[1]["groupId"]),
        (&json!([bench.ann.uuid]), &json!(GROUP))
    );
    adapter.react(&group(), &theirs, OwnSign::Working, true).await;
    adapter.react(&bench.dm(), &MessageId("56".into()), OwnSign::Working, false).await;
    let signs = bench.platform.asked_for("sendReaction");
    assert_eq!(
        (&signs[0]["targetAuthor"], &signs[0]["remove"]),
        (&json!(bench.ann.uuid), &json!(false))
    );
    assert_eq!(
        (&signs[0]["emoji"], &signs[0]["targetTimestamp"]),
        (&json!("\u{1f440}"), &json!(55))
    );
    assert_eq!((&signs[1]["targetAuthor"], &signs[1]["remove"]), (&json!(OURS), &json!(true)));
    let read = bench.platform.asked_for("sendReceipt");
    assert_eq!(read.len(), 1, "nobody is told that we read what we said");
    assert_eq!(read[0]["targetTimestamp"], json!([55]));
    assert_eq!(read[0]["recipient"], json!(bench.ann.uuid));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_not_there_is_never_sent_to_and_the_account_is_well() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let chat = ChatId::new("+490000000").unwrap();
    let nobody =
        PostTarget { host: None, tenant: tenant(), chat, chat_type: ChatType::Dm, topic: None };
    for target in [nobody, group()] {
        let refused = adapter.post(&post(target, body("hello"))).await.unwrap_err();
        assert!(matches!(refused, PostError::Never { .. }), "{refused:?}");
    }
    let changed = Trouble::Refuse {
        code: -4,
        message: "Failed to send message due to untrusted identities".into(),
        results: Some(json!([{"type": "IDENTITY_FAILURE"}])),
    };
    bench.platform.trouble("send", changed);
    let refused = adapter.post(&post(bench.dm(), body("hello"))).await.unwrap_err();
    assert!(refused.to_string().contains("signal-cli trust"), "{refused}");
    adapter.post(&post(bench.dm(), body("hello"))).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_cut_anywhere_is_uncertain_and_never_a_refusal() {
    let bench = bench().await;
    let adapter = bench.adapter();
    for cut in 0..150 {
        bench.platform.trouble("send", Trouble::CutAt(cut));
        let error = adapter.post(&post(bench.dm(), body("x"))).await.unwrap_err();
        assert!(matches!(error, PostError::Uncertain { .. }), "{cut}: {error:?}");
    }
}
