//! A web chat between a page and the gateway, without sockets.

use super::*;
use insula_channel::{AttachmentKind, Button, Cursor, Happening, Message};
use insula_channel::{Hearing, Spoken};
use insula_domain::{Address, ChatId, TopicId};
use insula_testkit::world;
use serde_json::{Value, json};

/// Keeps what it is given.
#[derive(Default)]
struct Basket(Mutex<Vec<Envelope>>);

/// The event that an earlier run has taken.
const BEFORE: &str = "ann/before";

#[async_trait]
impl Inbox for Basket {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        if envelopes.iter().any(|it| it.event.0.ends_with("/poison")) {
            return Err(NotTaken("the disk is full".into()));
        }
        self.0.lock().unwrap().extend(envelopes);
        Ok(())
    }

    async fn has_taken(&self, envelope: &Envelope) -> Result<bool, NotTaken> {
        Ok(&*envelope.event.0 == BEFORE)
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(None)
    }

    fn alive(&self) {}
}

fn tenant(agent: &str, life: u64, forgotten: u64) -> Tenant {
    Tenant::of_life(&insula_domain::AgentId::new(agent).unwrap(), life, forgotten)
}

struct Scene {
    chats: Arc<WebChats>,
    adapter: Arc<dyn Adapter>,
    basket: Arc<Basket>,
    /// Who answers everywhere, if anybody.
    answering: Arc<Mutex<Option<Tenant>>>,
    stop: CancellationToken,
    listening: tokio::task::JoinHandle<Result<(), ConnectFault>>,
}

impl Scene {
    async fn open() -> Self {
        let (world, _) = world(7);
        let chats = Arc::new(WebChats::new(&world));
        let (platform, name) = (Platform::new("web").unwrap(), AccountId::new("site").unwrap());
        let settings = AccountSettings::new(platform, name, []);
        let adapter = chats.make(&settings);
        assert!(chats.find(None).is_none(), "nobody listens yet");
        let (basket, stop) = (Arc::new(Basket::default()), CancellationToken::new());
        let listening = tokio::spawn({
            let (adapter, basket, stop) = (adapter.clone(), basket.clone(), stop.clone());
            async move { adapter.listen(&*basket, &stop).await }
        });
        while chats.find(None).is_none() {
            tokio::task::yield_now().await;
        }
        let answering = Arc::new(Mutex::new(Some(tenant("a", 1, 0))));
        Self { chats, adapter, basket, answering, stop, listening }
    }

    fn enter(&self, user: &str) -> (PageSession, mpsc::Receiver<PageFrame>) {
        self.enter_after(user, &[])
    }

    /// The same, where this was said before: by whom, and what.
    fn enter_after(
        &self,
        user: &str,
        said: &[(Option<&str>, &str)],
    ) -> (PageSession, mpsc::Receiver<PageFrame>) {
        let answering = self.answering.clone();
        let may: May = Arc::new(move |address: Address| {
            let tenant = answering.lock().unwrap().clone();
            let may = tenant.filter(|_| address.chat.as_str() != "closed");
            let hearing = |tenant: Tenant| Hearing { answers: tenant.clone(), tenant, past: true };
            Box::pin(std::future::ready(may.map(hearing)))
        });
        let spoken = |(number, (user, text)): (usize, &(Option<&str>, &str))| Spoken {
            id: number.to_string().into(),
            tenant: tenant("a", 1, 0),
            user: user.map(Into::into),
            text: (*text).to_owned(),
        };
        let said: Vec<Spoken> = said.iter().enumerate().map(spoken).collect();
        let past: Past = Arc::new(move |_| Box::pin(std::future::ready(said.clone())));
        let hub = self.chats.find(Some("site")).unwrap();
        let (session, mut told) = hub.enter(user, (may, past)).unwrap();
        assert_eq!(read(&mut told)[0]["type"], "ready");
        (session, told)
    }

    fn heard(&self) -> Vec<Envelope> {
        std::mem::take(&mut *self.basket.0.lock().unwrap())
    }
}

fn read(told: &mut mpsc::Receiver<PageFrame>) -> Vec<Value> {
    std::iter::from_fn(|| told.try_recv().ok())
        .map(|told| serde_json::from_str(&told.frame).unwrap())
        .collect()
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect()
}

fn message(envelope: &Envelope) -> &Message {
    match &envelope.what {
        Happening::Said(message) => message,
        other => panic!("{other:?}"),
    }
}

async fn hear(session: &mut PageSession, frame: Value) {
    session.hear(&frame.to_string()).await.unwrap();
}

#[tokio::test]
async fn what_a_page_says_carries_its_bearer_and_its_place() {
    let scene = Scene::open().await;
    let (mut session, mut told) = scene.enter("ann");
    hear(&mut session, json!({ "type": "say", "id": "1", "text": "hi" })).await;
    hear(&mut session, json!({ "type": "say", "id": "2", "room": "r", "topic": "t", "text": "a" }))
        .await;
    for frame in [
        json!({ "type": "say", "id": "3", "room": "r", "text": "@site /help" }),
        json!({ "type": "say", "id": "4", "room": "r", "text": "b", "mention": true }),
    ] {
        hear(&mut session, frame).await;
    }
    let heard = scene.heard();
    let own = &heard[0].address;
    assert_eq!((own.chat.as_str(), own.chat_type), ("own:ann", ChatType::Dm));
    assert_eq!((own.platform.as_str(), own.account.as_str()), ("web", "site"));
    assert_eq!(own.user.as_ref().unwrap().as_str(), "ann");
    assert_eq!(&*heard[0].event.0, "ann/1");
    let room = &heard[1].address;
    assert_eq!((room.chat.as_str(), room.chat_type), ("r", ChatType::Group));
    assert_eq!(room.topic.as_ref().unwrap().as_str(), "t");
    let mentions: Vec<bool> = heard.iter().map(|it| message(it).mentions_us).collect();
    assert_eq!(mentions, [true, false, true, true]);
    assert_eq!(message(&heard[2]).words.instruction(), "/help");
    assert_eq!(kinds(&read(&mut told)), ["taken"; 4]);
    // What could not be made durable is said so, and nobody's own room can be named.
    hear(&mut session, json!({ "type": "say", "id": "poison", "text": "x" })).await;
    hear(&mut session, json!({ "type": "say", "id": "5", "room": "own:bob", "text": "x" })).await;
    hear(&mut session, json!({ "type": "say", "id": "6", "room": "closed", "text": "x" })).await;
    let codes: Vec<Value> = read(&mut told).iter().map(|it| it["code"].clone()).collect();
    assert_eq!(codes, ["not_taken", "no_room", "no_room"]);
    // Whatever the reason, and whatever is asked, in the same words.
    for kind in ["join", "say", "press"] {
        for (room, topic) in [("closed", "t"), ("own:bob", "t"), ("bad name", "t"), ("r", "bad:")] {
            let mut frame = json!({ "type": kind, "room": room, "topic": topic });
            match kind {
                "say" => frame["text"] = "x".into(),
                "press" => (frame["message"], frame["data"]) = ("m".into(), "d".into()),
                _ => {}
            }
            if kind != "join" {
                frame["id"] = "same".into();
            }
            hear(&mut session, frame).await;
        }
        let refusals = read(&mut told);
        assert_eq!((refusals.len(), &refusals[0]["code"]), (4, &json!("no_room")));
        assert!(refusals.iter().all(|it| *it == refusals[0]), "{refusals:?}");
    }
    assert!(scene.heard().is_empty());
    assert!(
        session.hear(r#"{"type": "say", "id": "7", "text": "x", "user": "bob"}"#).await.is_err()
    );
}

#[tokio::test]
async fn a_reply_streams_into_its_room_and_into_no_other() {
    let scene = Scene::open().await;
    let (mut ann, mut told) = scene.enter("ann");
    let (mut bob, mut elsewhere) = scene.enter("bob");
    hear(&mut ann, json!({ "type": "join", "room": "r", "topic": "t" })).await;
    hear(&mut bob, json!({ "type": "join", "room": "r" })).await;
    hear(&mut bob, json!({ "type": "join" })).await;
    let target = PostTarget {
        host: None,
        tenant: tenant("a", 1, 0),
        chat: ChatId::new("r").unwrap(),
        chat_type: ChatType::Group,
        topic: Some(TopicId::new("t").unwrap()),
    };
    let button = Button { label: "yes".into(), data: "b1".into() };
    let body = Body { markdown: "he".into(), buttons: vec![vec![button]], ..Body::default() };
    let post = Post { target: target.clone(), reply_to: None, idempotency: "k".into(), body };
    scene.adapter.typing(&target).await;
    let posted = scene.adapter.post(&post).await.unwrap();
    // Sent again after a crash of ours it is the same message.
    assert_eq!(scene.adapter.post(&post).await.unwrap(), posted);
    let edited = Body { markdown: "hello".into(), ..Body::default() };
    scene.adapter.edit(&target, &posted.message, &edited).await.unwrap();
    let frames = read(&mut told);
    assert_eq!(kinds(&frames), ["joined", "typing", "message", "edit"]);
    assert_eq!((&frames[2]["by"], &frames[2]["text"]), (&"agent".into(), &"he".into()));
    assert_eq!(frames[2]["buttons"], json!([[{ "label": "yes", "data": "b1" }]]));
    assert_eq!((&frames[3]["id"], &frames[3]["text"]), (&frames[2]["id"], &"hello".into()));
    assert_eq!(kinds(&read(&mut elsewhere)), ["joined", "joined"]);
    // A button, and the word after it, to whoever pressed it.
    let id = frames[2]["id"].clone();
    let press = json!({ "type": "press", "id": "p", "room": "r", "topic": "t", "message": id, "data": "b1" });
    hear(&mut ann, press).await;
    let heard = scene.heard();
    let Happening::Pressed(press) = &heard[0].what else { panic!("{heard:?}") };
    assert_eq!((&*press.data, &press.message), ("b1", &posted.message));
    scene.adapter.acknowledge(&press.handle, "done").await;
    let frames = read(&mut told);
    assert_eq!(kinds(&frames), ["taken", "notice"]);
    assert_eq!(kinds(&read(&mut elsewhere)), [""; 0]);
    // A reply to what the agent said addresses it.
    let reply = json!({ "type": "say", "id": "q", "room": "r", "topic": "t", "text": "why?", "reply_to": id });
    hear(&mut ann, reply).await;
    let heard = scene.heard();
    let said = message(&heard[0]);
    assert!(said.mentions_us && said.quoted.as_ref().unwrap().is_ours);
}

#[tokio::test]
async fn what_was_said_before_a_restart_is_told_once_and_in_its_place() {
    let scene = Scene::open().await;
    let said = [(Some("ann"), "hello"), (None, "how are you?"), (Some("ann"), "well")];
    let (mut ann, mut told) = scene.enter_after("ann", &said);
    // Something is said before anybody comes in, which the records have as well.
    hear(&mut ann, json!({ "type": "say", "id": "1", "text": "well" })).await;
    hear(&mut ann, json!({ "type": "join", "after": "another-run-17" })).await;
    let frames = read(&mut told);
    assert_eq!(kinds(&frames), ["taken", "joined", "message", "message", "message"]);
    assert_eq!(frames[1]["gap"], true);
    let seen: Vec<(Value, Value)> =
        frames[2..].iter().map(|it| (it["by"].clone(), it["text"].clone())).collect();
    let expected = [("user", "hello"), ("agent", "how are you?"), ("user", "well")];
    assert_eq!(seen, expected.map(|(by, text)| (by.into(), text.into())));
    // Whoever goes on from there hears nothing twice.
    let after = frames[3]["cursor"].clone();
    let (mut again, mut told) = scene.enter_after("ann", &said);
    hear(&mut again, json!({ "type": "join", "after": after })).await;
    let frames = read(&mut told);
    assert_eq!(kinds(&frames), ["joined", "message"]);
    assert_eq!((&frames[0]["gap"], &frames[1]["text"]), (&json!(false), &json!("well")));
    // A reply to what the agent said then addresses it.
    let (mut bob, _told) = scene.enter_after("bob", &[(None, "news")]);
    hear(&mut bob, json!({ "type": "join", "room": "r" })).await;
    scene.heard();
    let reply = json!({ "type": "say", "id": "2", "room": "r", "text": "which?", "reply_to": "agent/past/0" });
    hear(&mut bob, reply).await;
    assert!(message(&scene.heard()[0]).mentions_us);
}

#[tokio::test]
async fn a_reply_that_an_earlier_run_began_to_show_is_told_as_a_message_and_once() {
    let scene = Scene::open().await;
    let said = [(Some("ann"), "tell me"), (None, "a story")];
    let target = post(tenant("a", 1, 0), "r", "").target;
    let (shown, body) = (MessageId("agent/k".into()), |text: &str| Body {
        markdown: text.into(),
        ..Body::default()
    });
    // A page that began the room anew does not know the message that is changed.
    let (mut ann, mut told) = scene.enter_after("ann", &said[..1]);
    hear(&mut ann, json!({ "type": "join", "room": "r", "after": "another-run-17" })).await;
    for text in ["a…", "a story"] {
        scene.adapter.edit(&target, &shown, &body(text)).await.unwrap();
    }
    let frames = read(&mut told);
    assert_eq!(kinds(&frames), ["joined", "message", "message", "edit"]);
    assert_eq!((&frames[2]["by"], &frames[2]["text"]), (&"agent".into(), &"a…".into()));
    assert_eq!((&frames[3]["id"], &frames[3]["text"]), (&frames[2]["id"], &"a story".into()));
    // To whoever comes first when all of it was said it is told once, though the records have it.
    let scene = Scene::open().await;
    for text in ["a…", "a story"] {
        scene.adapter.edit(&target, &shown, &body(text)).await.unwrap();
    }
    let (mut bob, mut told) = scene.enter_after("bob", &said);
    hear(&mut bob, json!({ "type": "join", "room": "r" })).await;
    let frames = read(&mut told);
    let texts: Vec<_> = frames[1..].iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["tell me", "a…", "a story"]);
    assert_eq!(kinds(&frames[2..]), ["message", "edit"]);
}

#[tokio::test]
async fn what_an_earlier_run_took_is_shown_once_when_it_is_said_again() {
    let scene = Scene::open().await;
    let (mut ann, mut told) = scene.enter_after("ann", &[(Some("ann"), "hello")]);
    hear(&mut ann, json!({ "type": "join" })).await;
    for id in ["before", "new"] {
        hear(&mut ann, json!({ "type": "say", "id": id, "text": "hello" })).await;
    }
    let frames = read(&mut told);
    let shown: Vec<Option<&str>> = frames.iter().map(|frame| frame["id"].as_str()).collect();
    assert_eq!(kinds(&frames), ["joined", "message", "taken", "message", "taken"]);
    assert_eq!(shown[1..], ["past/0", "before", "ann/new", "new"].map(Some));
    // Whether it is answered is the gateway's to say.
    assert_eq!(scene.heard().len(), 2);
}

#[tokio::test]
async fn files_come_along_within_limits_and_stay_with_their_message() {
    let scene = Scene::open().await;
    let (mut ann, mut told) = scene.enter("ann");
    let file = |name: &str, media_type: &str, content: &str| json!({ "name": name, "media_type": media_type, "content": content });
    let mut voice = file("memo.ogg", "audio/ogg", "b2dn");
    voice["voice"] = true.into();
    let files = json!([file("a.png", "image/png", "cG5n"), voice, file("../x", "", "")]);
    hear(&mut ann, json!({ "type": "join" })).await;
    hear(&mut ann, json!({ "type": "say", "id": "1", "text": "", "files": files })).await;
    let heard = scene.heard();
    let all = &message(&heard[0]).attachments;
    let kinds_of: Vec<AttachmentKind> = all.iter().map(|it| it.kind).collect();
    assert_eq!(kinds_of, [AttachmentKind::Image, AttachmentKind::Voice, AttachmentKind::File]);
    assert_eq!(scene.adapter.fetch(&all[0], 3).await.unwrap(), "png");
    assert_eq!(scene.adapter.fetch(&all[0], 2).await, Err(FetchError::TooLarge));
    // Another adapter of the account, as after a restart, has them as well.
    let (world, _) = world(8);
    let settings = AccountSettings::new(Platform::WEB, AccountId::new("site").unwrap(), []);
    let restarted = WebChats::new(&world).make(&settings);
    assert_eq!(restarted.fetch(&all[1], 9).await.unwrap(), "ogg");
    // Whoever is in the room sees that there are some.
    let frames = read(&mut told);
    assert_eq!(
        frames[1]["files"][0],
        json!({ "name": "a.png", "media_type": "image/png", "content": null })
    );
    let many = vec![file("a", "b/c", ""); 9];
    let large = "A".repeat(700_000);
    for bad in
        [json!(many), json!([file("a", "b/c", "no base64!")]), json!([file("a", "b/c", &large)])]
    {
        hear(&mut ann, json!({ "type": "say", "id": "2", "text": "x", "files": bad })).await;
        assert_eq!(read(&mut told)[0]["code"], "bad_file");
    }
    assert!(scene.heard().is_empty());
}

#[tokio::test]
async fn the_end_of_listening_cuts_every_page() {
    let scene = Scene::open().await;
    let (mut session, mut told) = scene.enter("ann");
    scene.stop.cancel();
    scene.listening.await.unwrap().unwrap();
    assert_eq!(told.recv().await, None);
    assert!(scene.chats.find(None).is_none());
    hear(&mut session, json!({ "type": "say", "id": "1", "text": "hi" })).await;
    assert!(scene.basket.0.lock().unwrap().is_empty());
}

/// A message of whoever this is, in a room.
fn post(tenant: Tenant, room: &str, text: &str) -> Post {
    let chat = ChatId::new(room).unwrap();
    let target = PostTarget { host: None, tenant, chat, chat_type: ChatType::Group, topic: None };
    let body = Body { markdown: text.into(), ..Body::default() };
    Post { target, reply_to: None, idempotency: text.into(), body }
}

/// The frames that a page really hears.
async fn heard(session: &mut PageSession, told: &mut mpsc::Receiver<PageFrame>) -> Vec<Value> {
    let mut frames = Vec::new();
    while let Ok(told) = told.try_recv() {
        if session.may_hear(&told).await {
            frames.push(serde_json::from_str(&told.frame).unwrap());
        }
    }
    frames
}

#[tokio::test]
async fn rule_2_who_answers_in_a_room_decides_what_is_heard_there_at_every_frame() {
    let scene = Scene::open().await;
    let (mut ann, mut told) = scene.enter("ann");
    hear(&mut ann, json!({ "type": "join", "room": "r" })).await;
    let (one, two) = (tenant("a", 1, 0), tenant("b", 1, 0));
    scene.adapter.post(&post(one.clone(), "r", "of one")).await.unwrap();
    assert_eq!(kinds(&heard(&mut ann, &mut told).await), ["joined", "message"]);
    // The room is another agent's now: what the first one says there is heard by nobody, and
    // what it said is not told again.
    *scene.answering.lock().unwrap() = Some(two.clone());
    let late = post(one.clone(), "r", "late");
    scene.adapter.post(&late).await.unwrap();
    scene.adapter.typing(&late.target).await;
    let edit = Body { markdown: "late edit".into(), ..Body::default() };
    scene.adapter.edit(&late.target, &MessageId("agent/late".into()), &edit).await.unwrap();
    assert_eq!(kinds(&heard(&mut ann, &mut told).await), ["joined"]);
    let (mut bob, mut elsewhere) = scene.enter("bob");
    hear(&mut bob, json!({ "type": "join", "room": "r" })).await;
    assert_eq!(kinds(&heard(&mut bob, &mut elsewhere).await), ["joined"]);
    scene.adapter.post(&post(two.clone(), "r", "of two")).await.unwrap();
    for (session, told) in [(&mut ann, &mut told), (&mut bob, &mut elsewhere)] {
        let frames = heard(session, told).await;
        assert_eq!(frames[0]["text"], "of two");
        assert_eq!(frames.len(), 1);
    }
    // Nobody answers: who is in the room has to leave, and hears nothing on the way.
    *scene.answering.lock().unwrap() = None;
    scene.adapter.post(&post(two.clone(), "r", "last")).await.unwrap();
    assert_eq!(kinds(&heard(&mut ann, &mut told).await), ["left"]);
    // Another life of the same name, and the same one after it forgot: rooms with nothing in them.
    for tenant in [tenant("b", 2, 0), tenant("b", 1, 1)] {
        *scene.answering.lock().unwrap() = Some(tenant);
        hear(&mut ann, json!({ "type": "join", "room": "r" })).await;
        assert_eq!(kinds(&heard(&mut ann, &mut told).await), ["joined"]);
    }
    // What is let go is gone, also for whoever answered before.
    *scene.answering.lock().unwrap() = Some(one);
    scene.adapter.keep_only(&HashSet::from([two]));
    hear(&mut ann, json!({ "type": "join", "room": "r" })).await;
    assert_eq!(kinds(&heard(&mut ann, &mut told).await), ["joined"]);
}
