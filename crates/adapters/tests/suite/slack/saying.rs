//! What we say is there: once, in its thread, with its buttons and files; and what people press.

use crate::slack::support::{Bench, bench, body, post};
use insula_channel::{
    Adapter, Body, Button, FetchError, File, Happening, MessageId, OwnSign, PostError,
};
use insula_testkit::slack::{BOT, Trouble};
use serde_json::{Value, json};
use std::sync::Arc;

#[tokio::test(start_paused = true)]
async fn an_answer_stands_where_its_question_does() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let question = bench.say("<@U0BOT>?");
    let mut answer = post(bench.town(None), "k1", body("**here** <!channel>"));
    answer.reply_to = Some(MessageId(question.as_str().into()));
    let posted = adapter.post(&answer).await.unwrap();
    adapter.post(&post(bench.town(Some(&question)), "k2", body("in the thread"))).await.unwrap();
    let said = bench.platform.said();
    // Outside of threads it begins none: what follows would be another conversation.
    assert_eq!(
        (&said[0]["thread_ts"], &said[0]["text"]),
        (&Value::Null, &json!("*here* &lt;!channel&gt;"))
    );
    assert_eq!(said[1]["thread_ts"], json!(question));
    assert_eq!(said[0]["ts"], json!(&*posted.message.0));
    let (_, asked) =
        bench.platform.requests().into_iter().find(|it| it.0 == "chat.postMessage").unwrap();
    assert_eq!((&asked["unfurl_links"], &asked["unfurl_media"]), (&json!(false), &json!(false)));
    let later = MessageId(said[1]["ts"].as_str().unwrap().into());
    assert_eq!(adapter.is_after(&bench.town(None), &later, &posted.message), Some(true));
    assert_eq!(adapter.is_after(&bench.town(None), &posted.message, &later), Some(false));
    for (target, body) in
        [(bench.town(Some("no thread")), body("x")), (bench.town(None), body("  "))]
    {
        let refused = adapter.post(&post(target, "k3", body)).await;
        assert!(matches!(refused, Err(PostError::Never { .. })), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_have_arrived_is_uncertain_since_there_are_no_keys() {
    let bench = bench().await;
    let (adapter, say) = (bench.adapter(), post(bench.town(None), "k", body("once")));
    bench.platform.trouble("chat.postMessage", Trouble::CutAt(20));
    let lost = adapter.post(&say).await.unwrap_err();
    assert!(matches!(lost, PostError::Uncertain { .. }), "{lost:?}");
    bench.platform.trouble("chat.postMessage", Trouble::Refuse("internal_error".into()));
    let ill = adapter.post(&say).await.unwrap_err();
    assert!(matches!(ill, PostError::Uncertain { .. }), "{ill:?}");
    assert_eq!(bench.said(), ["once"]);
    // An edit that came twice says the same once.
    let message = MessageId(bench.platform.said()[0]["ts"].as_str().unwrap().into());
    bench.platform.trouble("chat.update", Trouble::CutAt(20));
    let lost = adapter.edit(&bench.town(None), &message, &body("twice")).await.unwrap_err();
    assert!(matches!(lost, PostError::Later { .. }), "{lost:?}");
    assert_eq!(bench.said(), ["twice"]);
}

#[tokio::test(start_paused = true)]
async fn files_go_along_with_their_words_ten_at_a_time() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let root = bench.say("root");
    let files = (0..12).map(|number| File {
        name: format!("ü {number}.txt").into(),
        media_type: "text/plain".into(),
        content: format!("content {number}").into(),
    });
    let body = Body { files: files.collect(), ..body("**see**") };
    let posted = adapter.post(&post(bench.town(Some(&root)), "k", body.clone())).await.unwrap();
    let said = bench.platform.said();
    let counts: Vec<_> = said.iter().map(|it| it["files"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [10, 2]);
    assert_eq!((&said[0]["text"], &said[1]["text"]), (&json!("*see*"), &json!("")));
    assert_eq!(said[1]["thread_ts"], json!(root));
    assert_eq!(said[0]["ts"], json!(&*posted.message.0), "it can be changed later");
    let first = said[0]["files"][0]["id"].as_str().unwrap();
    let stored = bench.platform.stored(first).unwrap();
    assert_eq!((&*stored.name, &*stored.content), ("ü 0.txt", &b"content 0"[..]));
    // A file that did not go up is no doubt about the message.
    bench.platform.trouble("files.getUploadURLExternal", Trouble::CutAt(10));
    let lost = adapter.post(&post(bench.town(None), "k2", body.clone())).await.unwrap_err();
    assert!(matches!(lost, PostError::Later { .. }), "{lost:?}");
    bench.platform.trouble("files.completeUploadExternal", Trouble::CutAt(10));
    let lost = adapter.post(&post(bench.town(None), "k3", body.clone())).await.unwrap_err();
    assert!(matches!(lost, PostError::Uncertain { .. }), "{lost:?}");
    bench.platform.trouble("files.getUploadURLExternal", Trouble::Lacks("files:write".into()));
    let lacks = adapter.post(&post(bench.town(None), "k4", body)).await.unwrap_err();
    assert!(
        matches!(&lacks, PostError::Never { why } if why.contains("`files:write`")),
        "{lacks:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_file_that_we_may_not_have_is_no_page_to_sign_in_at() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    let mut file = bench.platform.file("a.png", "image/png", b"picture");
    file["url_private"] = json!("https://evil.example/a.png");
    bench.platform.post(&json!({
        "channel": bench.town, "user": bench.ann, "subtype": "file_share", "text": "", "files": [file],
    }));
    tray.until(1).await;
    let attachment = tray.messages()[0].attachments[0].clone();
    // What the event said of its place is not followed.
    assert_eq!(adapter.fetch(&attachment, 100).await.unwrap(), "picture");
    bench.platform.trouble(
        "files.info",
        Trouble::Answer {
            status: 200,
            body:
                json!({"ok": true, "file": {"id": "F1", "url_private": "https://evil.example/x"}})
                    .to_string(),
        },
    );
    let elsewhere = adapter.fetch(&attachment, 100).await;
    assert!(matches!(elsewhere, Err(FetchError::Failed(_))), "{elsewhere:?}");
    let url = bench.platform.url().replace("/api", "/files/none");
    bench.platform.trouble("files.info", Trouble::Answer {
        status: 200,
        body: json!({"ok": true, "file": {"id": "F1", "mimetype": "image/png", "url_private": url}}).to_string(),
    });
    let page = adapter.fetch(&attachment, 100).await.unwrap_err();
    assert!(page.to_string().contains("`files:read`"), "{page:?}");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn work_shows_as_a_sign_or_as_an_assistants_own() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let said = bench.say("work");
    let (town, message) = (bench.town(None), MessageId(said.as_str().into()));
    let signs = |bench: &Bench| bench.platform.get(&bench.town, &said)["reactions"].clone();
    adapter.react(&town, &message, OwnSign::Working, true).await;
    assert_eq!(signs(&bench), json!([{ "user": BOT, "name": "eyes" }]));
    adapter.react(&town, &message, OwnSign::Working, false).await;
    assert_eq!(signs(&bench), json!([]));
    // A command has no message.
    adapter.react(&town, &MessageId("command/1".into()), OwnSign::Working, true).await;

    let thread = bench.platform.say(&bench.direct, &bench.ann, "hello");
    let asked = bench.platform.say_in(&bench.direct, &thread, &bench.ann, "work");
    let direct = bench.direct(Some(&thread));
    for on in [true, false] {
        adapter.react(&direct, &MessageId(asked.as_str().into()), OwnSign::Working, on).await;
    }
    let statuses: Vec<_> = bench.platform.statuses().into_iter().map(|it| it.2).collect();
    assert_eq!(statuses, ["is working on it…", ""]);
    assert_eq!(bench.platform.get(&bench.direct, &asked)["reactions"], Value::Null);
    // Where the app is no assistant.
    bench.platform.trouble("assistant.threads.setStatus", Trouble::Lacks("assistant:write".into()));
    adapter.react(&direct, &MessageId(asked.as_str().into()), OwnSign::Working, true).await;
    assert_eq!(bench.platform.get(&bench.direct, &asked)["reactions"][0]["name"], "eyes");
}

fn question() -> Body {
    let button = |label: &str, data: &str| Button { label: label.into(), data: data.into() };
    Body { buttons: vec![vec![button("Yes", "d1"), button("No", "d2")]], ..body("may **I**?") }
}

#[tokio::test(start_paused = true)]
async fn a_pressed_button_is_heard_answered_and_gone() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    let root = bench.say("root");
    let posted = adapter.post(&post(bench.town(Some(&root)), "k", question())).await.unwrap();
    let asked = bench.platform.get(&bench.town, &posted.message.0);
    assert_eq!(
        (&asked["text"], &asked["blocks"][0]["text"]["text"]),
        (&json!("may *I*?"), &json!("may *I*?"))
    );
    let press = bench.platform.press(&bench.bob, &bench.town, &posted.message.0, 1);
    bench.platform.tell("interactive", press.clone());
    let all = tray.until(2).await;
    let Happening::Pressed(pressed) = &all[1].what else { panic!("{all:?}") };
    assert_eq!((&*pressed.data, &pressed.message), ("d2", &posted.message));
    assert_eq!(all[1].address.user.as_ref().unwrap().as_str(), bench.bob);
    assert_eq!(all[1].address.topic.as_ref().unwrap().as_str(), root);
    adapter.acknowledge(&pressed.handle, "not <you>").await;
    let told = bench.platform.responses();
    assert_eq!(told[0]["response_type"], "ephemeral");
    assert_eq!(
        (&told[0]["text"], &told[0]["replace_original"]),
        (&json!("not &lt;you&gt;"), &json!(false))
    );
    adapter.edit(&bench.town(Some(&root)), &posted.message, &body("no, said Bob")).await.unwrap();
    let over = bench.platform.get(&bench.town, &posted.message.0);
    assert_eq!((&over["text"], &over["blocks"]), (&json!("no, said Bob"), &json!([])));
    // The same again is the same event.
    bench.platform.tell("interactive", press);
    bench.platform.until(|platform| platform.waiting() == 0).await;
    assert_eq!(tray.envelopes().len(), 2);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_buttons_of_ours_count() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    let adapter: Arc<dyn Adapter> = adapter;
    let posted = adapter.post(&post(bench.town(None), "k", question())).await.unwrap();
    let good = bench.platform.press(&bench.ann, &bench.town, &posted.message.0, 0);
    let value = good["actions"][0]["value"].as_str().unwrap().to_owned();
    for (pointer, forged) in [
        ("/actions/0/value", json!(format!("{}d2", &value[..64]))),
        ("/actions/0/value", json!("d1")),
        ("/actions/0/value", json!("é".repeat(40))),
        ("/actions", json!([])),
        ("/channel/id", json!("C0OTHER")),
        ("/message/user", json!(bench.ann)),
        ("/message/ts", json!("x")),
        ("/user/id", json!("../x")),
        ("/type", json!("view_submission")),
        ("/message", json!(null)),
    ] {
        let mut press = good.clone();
        *press.pointer_mut(pointer).unwrap() = forged;
        if pointer == "/message/user" {
            press["message"]["bot_id"] = json!("B9");
        }
        bench.platform.tell("interactive", press);
    }
    bench.platform.tell("interactive", good);
    tray.until(1).await;
    bench.platform.until(|platform| platform.waiting() == 0).await;
    assert_eq!(tray.envelopes().len(), 1);
    assert!(matches!(&tray.envelopes()[0].what, Happening::Pressed(it) if &*it.data == "d1"));
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_long_question_is_several_blocks_and_refused_blocks_are_left_out() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let text = "a line of words\n".repeat(240);
    let long = Body { markdown: text.clone(), ..question() };
    let posted = adapter.post(&post(bench.town(None), "k", long.clone())).await.unwrap();
    let asked = bench.platform.get(&bench.town, &posted.message.0);
    let kinds: Vec<_> =
        asked["blocks"].as_array().unwrap().iter().map(|it| it["type"].clone()).collect();
    assert_eq!(kinds, ["section", "section", "actions"]);
    bench.platform.trouble("chat.postMessage", Trouble::Refuse("msg_blocks_too_long".into()));
    let posted = adapter.post(&post(bench.town(None), "k", long)).await.unwrap();
    let asked = bench.platform.get(&bench.town, &posted.message.0);
    assert_eq!(
        (&asked["blocks"], asked["text"].as_str().unwrap().trim()),
        (&Value::Null, text.trim())
    );
}

#[tokio::test(start_paused = true)]
async fn a_command_of_the_workspace_says_one_of_ours() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    adapter.offer_commands(&[("new", "begins anew"), ("status", "says how it is")]).await.unwrap();
    let command = |text: &str, trigger: &str| {
        json!({
            "command": "/ada", "text": text, "user_id": bench.ann, "channel_id": bench.town,
            "team_id": "T0TEAM", "trigger_id": trigger, "response_url": "https://evil.example/",
        })
    };
    for (text, trigger) in
        [("new", "1.1"), ("what is <@U0BOT>?", "1.2"), ("new", "1.1"), ("", "1.3")]
    {
        bench.platform.tell("slash_commands", command(text, trigger));
    }
    let mut elsewhere = command("new", "1.4");
    elsewhere["team_id"] = json!("T0OTHER");
    bench.platform.tell("slash_commands", elsewhere);
    tray.until(3).await;
    bench.platform.until(|platform| platform.waiting() == 0).await;
    assert_eq!(tray.texts(), ["/new", "what is ?", "/help"]);
    assert!(tray.messages().iter().all(|it| it.mentions_us));
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_by_an_address_that_is_not_slacks() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    let posted = adapter.post(&post(bench.town(None), "k", question())).await.unwrap();
    let mut press = bench.platform.press(&bench.ann, &bench.town, &posted.message.0, 0);
    press["response_url"] = json!("http://127.0.0.2:1/steal");
    bench.platform.tell("interactive", press);
    let all = tray.until(1).await;
    let Happening::Pressed(pressed) = &all[0].what else { panic!("{all:?}") };
    adapter.acknowledge(&pressed.handle, "hello").await;
    assert!(bench.platform.responses().is_empty());
    listening.stop().await.unwrap();
}
