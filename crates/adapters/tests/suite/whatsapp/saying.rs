//! The way out: what is settled by statuses, the 24 hours, choices and files.

use crate::conformance::harness::Tray;
use crate::whatsapp::support::{ANN, ann, bench, body, post};
use bytes::Bytes;
use insula_channel::{
    AttachmentKind, Body, Button, FetchError, File, Happening, MessageId, OwnSign, Post, PostError,
    Vote,
};
use insula_testkit::sounds;
use insula_testkit::whatsapp::Trouble;
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn what_was_uncertain_is_settled_by_its_status() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    bench.platform.trouble("messages", Trouble::CutAt(20));
    let sending = {
        let adapter = adapter.clone();
        tokio::spawn(async move { adapter.post(&post("k", body("hello"))).await })
    };
    while bench.platform.sent().is_empty() {
        tokio::task::yield_now().await;
    }
    let sent = bench.platform.sent()[0].clone();
    assert!(!sent.mark.as_deref().unwrap().contains('k'), "nothing of ours is in it");
    bench.tell(&adapter, &tray, &[bench.platform.status_of(&sent, "sent")]).await;
    let posted = sending.await.unwrap().unwrap();
    assert_eq!(*posted.message.0, *sent.id);
    // Sent again by the same key, it is not sent.
    assert_eq!(adapter.post(&post("k", body("hello"))).await.unwrap(), posted);
    assert_eq!(bench.platform.sent().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_status_that_comes_late_keeps_a_repetition_away() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    bench.platform.trouble("messages", Trouble::CutAt(20));
    let error = adapter.post(&post("k", body("hello"))).await.unwrap_err();
    assert!(matches!(error, PostError::Uncertain { .. }), "{error:?}");
    let sent = bench.platform.sent()[0].clone();
    bench.tell(&adapter, &tray, &[bench.platform.status_of(&sent, "delivered")]).await;
    let posted = adapter.post(&post("k", body("hello"))).await.unwrap();
    assert_eq!((&*posted.message.0, bench.platform.sent().len()), (&*sent.id, 1));
    // What never arrived has no status, and is sent.
    bench.platform.trouble("messages", Trouble::Unheard);
    let error = adapter.post(&post("other", body("two"))).await.unwrap_err();
    assert!(matches!(error, PostError::Uncertain { .. }), "{error:?}");
    adapter.post(&post("other", body("two"))).await.unwrap();
    assert_eq!(bench.platform.sent().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn after_24_hours_the_template_says_it_or_it_is_told_plainly() {
    let bench = bench().await;
    for (adapter, has_template) in [(bench.adapter(), false), (bench.with_template(), true)] {
        // Of its own: when they last wrote is written down with what they said.
        let tray = Tray::new(None);
        let id = format!("wamid.old{has_template}");
        bench.say(&adapter, &tray, &[bench.message(&id, "hi", 24 * 3600 + 5)]).await;
        let said = adapter.post(&post("k", body("**news**\n\n- a"))).await;
        if has_template {
            said.unwrap();
            let sent = bench.platform.sent().pop().unwrap();
            assert_eq!((sent.kind.as_str(), sent.text.as_str()), ("template", "news • a"));
            assert_eq!(sent.message["template"]["name"], "hello_again");
            assert_eq!(sent.message["template"]["language"], json!({"code": "en_US"}));
        } else {
            let error = said.unwrap_err();
            assert!(
                matches!(&error, PostError::Never { why } if why.contains("`reopen_template`")),
                "{error}"
            );
            assert!(bench.platform.sent().is_empty());
        }
        // They write, and free text is taken again.
        let id = format!("wamid.new{has_template}");
        bench.say(&adapter, &tray, &[bench.message(&id, "hi", 5)]).await;
        adapter.post(&post("k2", body("free"))).await.unwrap();
        assert_eq!(bench.platform.sent().pop().unwrap().kind, "text");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_at_once_or_a_moment_later_goes_by_the_template() {
    let bench = bench().await;
    let tray = Tray::new(None);
    // Nobody knows when they last wrote; the platform does.
    bench.platform.close_window(ANN, true);
    let adapter = bench.with_template();
    adapter.post(&post("k", body("at once"))).await.unwrap();
    let kinds = || bench.platform.sent().iter().map(|it| it.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(), ["template"]);

    bench.platform.close_window(ANN, false);
    let adapter = bench.with_template();
    let posted = adapter.post(&post("k", body("a moment later"))).await.unwrap();
    let sent = bench.platform.sent()[1].clone();
    assert_eq!((sent.kind.as_str(), &*sent.id), ("text", &*posted.message.0));
    bench.tell(&adapter, &tray, &[bench.platform.status_of(&sent, "failed")]).await;
    assert_eq!(kinds(), ["template", "text", "template"]);
    assert_eq!(bench.platform.sent()[2].text, "a moment later");
    // The same status again says nothing new, and the next message knows.
    bench.tell(&adapter, &tray, &[bench.platform.status_of(&sent, "failed")]).await;
    adapter.post(&post("k2", body("and more"))).await.unwrap();
    assert_eq!(kinds(), ["template", "text", "template", "template"]);
}

#[tokio::test(start_paused = true)]
async fn what_waits_to_be_confirmed_goes_with_whom_it_belongs_to() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let adapter = bench.with_template();
    adapter.post(&post("k", body("secret"))).await.unwrap();
    let sent = bench.platform.sent()[0].clone();
    adapter.keep_only(&std::collections::HashSet::new());
    bench.tell(&adapter, &tray, &[bench.platform.status_of(&sent, "failed")]).await;
    assert_eq!(bench.platform.sent().len(), 1, "nothing of it is kept");
}

#[tokio::test(start_paused = true)]
async fn choices_are_offered_and_pressed() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    let button = |label: &str, data: &str| Button { label: label.into(), data: data.into() };
    let rows = vec![vec![button("Yes", "y"), button("No", "n")]];
    let asking = Body { buttons: rows, ..body("**really?**") };
    let posted = adapter.post(&post("k", asking)).await.unwrap();
    let sent = bench.platform.sent()[0].clone();
    assert_eq!((sent.kind.as_str(), sent.text.as_str()), ("interactive", "*really?*"));
    let pressed = json!({"from": ANN, "id": "wamid.p", "timestamp": bench.now().to_string(),
        "type": "interactive", "context": {"id": sent.id},
        "interactive": {"type": "button_reply", "button_reply": {"id": "y", "title": "Yes"}}});
    bench.say(&adapter, &tray, &[pressed]).await;
    let heard = tray.envelopes();
    assert!(
        matches!(&heard[0].what, Happening::Pressed(press)
        if &*press.data == "y" && press.message == posted.message),
        "{heard:?}"
    );
    let many: Vec<Button> = (0..5).map(|it| button(&format!("choice {it}"), "d")).collect();
    adapter.post(&post("k2", Body { buttons: vec![many], ..body("which?") })).await.unwrap();
    assert_eq!(bench.platform.sent()[1].message["interactive"]["type"], "list");
}

#[tokio::test(start_paused = true)]
async fn files_go_both_ways_and_our_token_stays_with_the_platform() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    let file = |name: &str, media_type: &str, content: &'static [u8]| File {
        name: name.into(),
        media_type: media_type.into(),
        content: Bytes::from_static(content),
    };
    let picture = Body { files: vec![file("p.png", "image/png", b"pic")], ..body("**see**") };
    adapter.post(&post("a", picture)).await.unwrap();
    let two = vec![file("a.txt", "text/plain", b"x"), file("s.ogg", "audio/ogg", b"sound")];
    adapter.post(&post("b", Body { files: two, ..body("both") })).await.unwrap();
    let shown: Vec<(String, String)> =
        bench.platform.sent().into_iter().map(|it| (it.kind, it.text)).collect();
    let expected = [("image", "*see*"), ("text", "both"), ("document", ""), ("audio", "")];
    assert_eq!(shown, expected.map(|(kind, text)| (kind.to_owned(), text.to_owned())));
    assert_eq!(bench.platform.sent()[2].message["document"]["filename"], "a.txt");

    let spoken = vec![file("voice.ogg", "audio/ogg", sounds::OPUS)];
    adapter.post(&post("c", Body { files: spoken, ..Body::default() })).await.unwrap();
    let spoken = vec![file("voice.mp3", "audio/mpeg", sounds::MP3)];
    adapter.post(&post("d", Body { files: spoken, ..Body::default() })).await.unwrap();
    let voices: Vec<Value> =
        bench.platform.sent()[3..].iter().map(|it| it.message["audio"]["voice"].clone()).collect();
    assert_eq!(voices, [Value::Null, json!(true), Value::Null], "Opus alone is shown as a memo");

    let id = bench.platform.file(b"picture");
    let said = json!({"from": ANN, "id": "wamid.f", "timestamp": bench.now().to_string(),
        "type": "image", "image": {"id": id, "mime_type": "image/jpeg"}});
    bench.say(&adapter, &tray, &[said]).await;
    let attachment = tray.messages()[0].attachments[0].clone();
    assert_eq!(attachment.kind, AttachmentKind::Image);
    assert_eq!(adapter.fetch(&attachment, 7).await.unwrap(), b"picture".as_slice());
    assert_eq!(adapter.fetch(&attachment, 6).await, Err(FetchError::TooLarge));
    bench.platform.files_are_at("http://127.0.0.1:1/steal");
    let error = adapter.fetch(&attachment, 7).await.unwrap_err();
    assert!(error.to_string().contains("not WhatsApp's"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_post_of_several_messages_goes_on_where_it_stopped() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let files = vec![File {
        name: "s.ogg".into(),
        media_type: "audio/ogg".into(),
        content: Bytes::from_static(b"sound"),
    }];
    let both = post("k", Body { files, ..body("text") });
    bench
        .platform
        .trouble("upload", Trouble::Refuse { status: 503, code: 131_016, retry_after: None });
    let error = adapter.post(&both).await.unwrap_err();
    assert!(matches!(error, PostError::Later { .. }), "{error:?}");
    let posted = adapter.post(&both).await.unwrap();
    let kinds: Vec<String> = bench.platform.sent().into_iter().map(|it| it.kind).collect();
    assert_eq!(kinds, ["text", "audio"]);
    assert_eq!(*posted.message.0, *bench.platform.sent()[0].id);
}

#[tokio::test(start_paused = true)]
async fn writing_shows_under_their_last_message_and_signs_are_put_and_taken() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    adapter.typing(&ann()).await;
    assert!(bench.platform.told().is_empty(), "there is nothing to show it under");
    bench.say(&adapter, &tray, &[bench.message("wamid.1", "hi", 0)]).await;
    adapter.typing(&ann()).await;
    let message = MessageId("wamid.1".into());
    adapter.read(&ann(), &message).await;
    adapter.react(&ann(), &message, OwnSign::Working, true).await;
    adapter.react(&ann(), &message, OwnSign::Working, false).await;
    let told = bench.platform.told();
    assert_eq!(told[0]["typing_indicator"], json!({"type": "text"}));
    assert_eq!((&told[0]["status"], &told[0]["message_id"]), (&json!("read"), &json!("wamid.1")));
    assert!(told[1].get("typing_indicator").is_none());
    let emoji = |at: usize| told[at]["reaction"]["emoji"].as_str().unwrap().to_owned();
    assert_eq!((emoji(2).as_str(), emoji(3).as_str()), ("\u{1f440}", ""));
    let reply = Post { reply_to: Some(message), ..post("k", body("hello")) };
    adapter.post(&reply).await.unwrap();
    let sent = bench.platform.sent().pop().unwrap();
    assert_eq!(sent.message["context"], json!({"message_id": "wamid.1"}));
    assert_eq!(sent.message["text"]["preview_url"], json!(false));
}

#[tokio::test(start_paused = true)]
async fn an_answer_cut_anywhere_is_uncertain_and_never_a_refusal() {
    let bench = bench().await;
    let adapter = bench.adapter();
    for cut in (0..180).step_by(3) {
        bench.platform.trouble("messages", Trouble::CutAt(cut));
        let error = adapter.post(&post(&format!("k{cut}"), body("x"))).await.unwrap_err();
        assert!(matches!(error, PostError::Uncertain { .. }), "{cut}: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_thumb_on_something_we_said_names_it_as_we_do() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    let posted = adapter.post(&post("k", body("may I?"))).await.unwrap();
    let sign = json!({"from": ANN, "id": "wamid.r", "timestamp": bench.now().to_string(),
        "type": "reaction", "reaction": {"message_id": &*posted.message.0, "emoji": "\u{1f44e}"}});
    bench.say(&adapter, &tray, &[sign]).await;
    let heard = tray.envelopes();
    let Happening::Reacted(sign) = &heard[0].what else { panic!("{heard:?}") };
    assert_eq!((&sign.message, sign.vote()), (&posted.message, Some(Vote::No)));
}
