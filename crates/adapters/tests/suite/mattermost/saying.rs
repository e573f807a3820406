//! What we say is there: once, in its thread, with its buttons and files; and what people press.

use crate::mattermost::support::{bench, body, post};
use insula_channel::{
    Adapter, Body, Button, File, Happening, MessageId, OwnSign, PostError, WebMethod, WebRequest,
};
use insula_testkit::mattermost::Trouble;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn an_answer_stands_where_its_question_does() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let question = bench.say("@ada?");
    let mut answer = post(bench.town(None), "k1", body("**here**"));
    answer.reply_to = Some(MessageId(question.as_str().into()));
    adapter.post(&answer).await.unwrap();
    adapter.post(&post(bench.town(Some(&question)), "k2", body("in the thread"))).await.unwrap();
    let posts = bench.platform.posts_of(&bench.bot);
    // Outside of threads it begins none: what follows would be another conversation.
    assert_eq!((&posts[0]["root_id"], &posts[0]["message"]), (&json!(""), &json!("**here**")));
    assert_eq!(posts[1]["root_id"], json!(question));
    let reply = bench.platform.say_in(&bench.town, &question, &bench.ann, "and more");
    let nested = adapter.post(&post(bench.town(Some(&reply)), "k3", body("x"))).await;
    assert!(matches!(nested, Err(PostError::Never { .. })), "{nested:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_direct_message_begins_no_thread() {
    let bench = bench().await;
    let direct = bench.platform.direct(&bench.bot, &bench.ann);
    let question = bench.platform.say(&direct, &bench.ann, "hello");
    let mut target = bench.town(None);
    target.chat = insula_domain::ChatId::new(direct.as_str()).unwrap();
    target.chat_type = insula_domain::ChatType::Dm;
    let mut answer = post(target, "k", body("hello yourself"));
    answer.reply_to = Some(MessageId(question.as_str().into()));
    bench.adapter().post(&answer).await.unwrap();
    let said = bench.platform.posts_of(&bench.bot).remove(0);
    assert_eq!((&said["channel_id"], &said["root_id"]), (&json!(direct), &json!("")));
}

#[tokio::test(start_paused = true)]
async fn a_key_is_recognised_for_half_a_minute_and_nobody_elses_is_ours() {
    let bench = bench().await;
    let (adapter, say) = (bench.adapter(), post(bench.town(None), "k", body("once")));
    bench.platform.trouble("POST /posts", Trouble::CutAt(20));
    let lost = adapter.post(&say).await.unwrap_err();
    assert!(matches!(lost, PostError::Uncertain { .. }), "{lost:?}");
    adapter.post(&say).await.unwrap();
    assert_eq!(bench.said(), ["once"]);
    let pending = Trouble::Refuse {
        status: 500,
        id: "api.post.deduplicate_create_post.pending".into(),
        reset: None,
    };
    bench.platform.trouble("POST /posts", pending);
    let under_way = adapter.post(&say).await.unwrap_err();
    assert!(matches!(under_way, PostError::Later { .. }), "{under_way:?}");
    bench.handles.clock.advance(Duration::from_secs(31)).await;
    adapter.post(&say).await.unwrap();
    assert_eq!(bench.said(), ["once", "once"], "the server forgets");
    let keys: Vec<String> = bench
        .platform
        .requests()
        .into_iter()
        .filter(|(line, _)| line == "POST /posts")
        .map(|(_, body)| body["pending_post_id"].as_str().unwrap().to_owned())
        .collect();
    assert!(keys.iter().all(|key| key.starts_with(&format!("{}:", bench.bot))), "{keys:?}");
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
    let body = Body { files: files.collect(), ..body("see") };
    adapter.post(&post(bench.town(None), "k", body.clone())).await.unwrap();
    let posts = bench.platform.posts_of(&bench.bot);
    let counts: Vec<_> = posts.iter().map(|it| it["file_ids"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [10, 2]);
    assert_eq!((&posts[0]["message"], &posts[1]["message"]), (&json!("see"), &json!("")));
    let first = posts[0]["file_ids"][0].as_str().unwrap();
    let (name, mime, content) = bench.platform.content(first).unwrap();
    assert_eq!((&*name, &*mime, &*content), ("0.txt", "text/plain", &b"content 0"[..]));
    // A file that did not go up is no doubt about the message.
    bench.platform.trouble("POST /files", Trouble::CutAt(10));
    let lost = adapter.post(&post(bench.town(None), "k2", body)).await.unwrap_err();
    assert!(matches!(lost, PostError::Later { .. }), "{lost:?}");
}

#[tokio::test(start_paused = true)]
async fn signs_typing_and_reading_are_shown() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let said = bench.say("work");
    let (town, message) = (bench.town(None), MessageId(said.as_str().into()));
    adapter.typing(&town).await;
    assert_eq!(bench.platform.typing(), [(bench.bot.clone(), bench.town.clone())]);
    adapter.react(&town, &message, OwnSign::Working, true).await;
    let reactions = |bench: &crate::mattermost::support::Bench| {
        let post = bench.platform.get(&said);
        let all = post["metadata"]["reactions"].as_array().cloned().unwrap_or_default();
        all.into_iter().map(|it| it["emoji_name"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(reactions(&bench), [json!("eyes")]);
    adapter.react(&town, &message, OwnSign::Working, false).await;
    assert!(reactions(&bench).is_empty());
    adapter.read(&town, &message).await;
    let (line, body) = bench.platform.requests().pop().unwrap();
    assert_eq!(line, "POST /channels/members/me/view");
    assert_eq!(body["channel_id"], json!(bench.town));
}

fn question() -> Body {
    let button = |label: &str, data: &str| Button { label: label.into(), data: data.into() };
    Body { buttons: vec![vec![button("Yes", "d1"), button("No", "d2")]], ..body("may I?") }
}

/// The request that the server makes when a button is pressed, as it reaches the adapter.
fn pressed(bench: &crate::mattermost::support::Bench, post: &str, number: usize) -> Value {
    let found = bench.platform.get(post);
    let context = &found["props"]["attachments"][0]["actions"][number]["integration"]["context"];
    json!({
        "user_id": bench.ann, "channel_id": bench.town, "post_id": post, "trigger_id": "t1",
        "type": "button", "context": context,
    })
}

fn request(body: &Value) -> WebRequest {
    WebRequest::posted(vec![], body.to_string().into())
}

#[tokio::test(start_paused = true)]
async fn a_pressed_button_is_heard_and_only_ours_counts() {
    let bench = bench().await;
    let adapter: Arc<dyn Adapter> = bench.adapter_at(Some("https://e.org/in/"));
    assert!(adapter.features().has_buttons && !bench.adapter().features().has_buttons);
    adapter.identify().await.unwrap();
    let root = bench.say("root");
    let posted = adapter.post(&post(bench.town(Some(&root)), "k", question())).await.unwrap();
    let asked = bench.platform.get(&posted.message.0);
    let actions = asked["props"]["attachments"][0]["actions"].as_array().unwrap();
    assert_eq!(actions[0]["integration"]["url"], "https://e.org/in/hooks/mattermost/main");
    assert!(actions[0]["id"].as_str().unwrap().bytes().all(|b| b.is_ascii_alphanumeric()));
    let good = pressed(&bench, &posted.message.0, 0);
    let tray = crate::mattermost::support::Tray::new(None);

    let mut bad = Vec::new();
    for (key, value) in [
        ("channel_id", json!(bench.platform.channel("O", &[&bench.bot, &bench.ann]))),
        ("post_id", json!(root)),
        ("post_id", json!("../../users/me")),
        ("user_id", json!("nobody")),
        ("trigger_id", json!("")),
        ("context", json!({ "data": "d2", "mac": good["context"]["mac"] })),
        ("context", json!({ "data": "d1", "mac": "00" })),
        ("context", json!({})),
    ] {
        let mut forged = good.clone();
        forged[key] = value;
        bad.push(request(&forged));
    }
    bad.push(request(&json!(null)));
    bad.push(WebRequest { method: WebMethod::Get, ..request(&good) });
    for request in bad {
        let answer = adapter.receive(request.clone(), &*tray).await;
        assert_eq!(answer.status, 401, "{request:?}");
    }
    assert!(tray.envelopes().is_empty());

    let answer = adapter.receive(request(&good), &*tray).await;
    assert_eq!((answer.status, &*answer.body), (200, &b"{}"[..]));
    let heard = tray.envelopes().remove(0);
    let Happening::Pressed(press) = &heard.what else { panic!("{heard:?}") };
    assert_eq!((&*press.data, &press.message), ("d1", &posted.message));
    assert_eq!(heard.address.topic.as_ref().unwrap().as_str(), root);
    assert_eq!(heard.address.user.as_ref().unwrap().as_str(), bench.ann);
    // The same press again is the same event, and another one is another.
    adapter.receive(request(&good), &*tray).await;
    assert_eq!(tray.envelopes().len(), 1);
    // Whoever pressed is told by the answer, and nobody else.
    adapter.acknowledge(&press.handle, "not for you").await;
    let answer = adapter.receive(request(&good), &*tray).await;
    assert_eq!(&*answer.body, br#"{"ephemeral_text":"not for you"}"#);
    tray.refuse(true);
    let mut again = good.clone();
    again["trigger_id"] = json!("t2");
    assert_eq!(adapter.receive(request(&again), &*tray).await.status, 503);
    // Without an address there are no buttons, and nobody presses any.
    assert_eq!(bench.adapter().receive(request(&good), &*tray).await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn an_answer_takes_the_buttons_away_and_a_bots_message_stays_one() {
    let bench = bench().await;
    let adapter = bench.adapter_at(Some("https://e.org"));
    let posted = adapter.post(&post(bench.town(None), "k", question())).await.unwrap();
    adapter.edit(&bench.town(None), &posted.message, &body("done")).await.unwrap();
    let left = bench.platform.get(&posted.message.0);
    assert_eq!(left["message"], "done");
    assert_eq!(left["props"]["attachments"], json!([]));
    assert_eq!(left["props"]["from_bot"], "true", "it stays a bot's message");
    let gone = adapter.edit(&bench.town(None), &MessageId("gone".into()), &body("x")).await;
    assert!(matches!(gone, Err(PostError::Never { .. })), "{gone:?}");
}
