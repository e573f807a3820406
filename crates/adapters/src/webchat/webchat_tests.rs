//! A web chat between a page and the gateway, without sockets.

use super::*;
use insula_domain::{Address, ChatId, TopicId};
use insula_gateway::{Button, Cursor, Happening, Message};
use insula_testkit::world;
use serde_json::{Value, json};

/// Keeps what it is given.
#[derive(Default)]
struct Basket(Mutex<Vec<Envelope>>);

#[async_trait]
impl Inbox for Basket {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        if envelopes.iter().any(|it| it.event.0.ends_with("/poison")) {
            return Err(NotTaken("the disk is full".into()));
        }
        self.0.lock().unwrap().extend(envelopes);
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(None)
    }

    fn alive(&self) {}
}

struct Scene {
    chats: Arc<WebChats>,
    adapter: Arc<dyn Adapter>,
    basket: Arc<Basket>,
    stop: CancellationToken,
    listening: tokio::task::JoinHandle<Result<(), Fault>>,
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
        Self { chats, adapter, basket, stop, listening }
    }

    fn enter(&self, user: &str) -> (Visit, mpsc::Receiver<Arc<str>>) {
        let may: May = Arc::new(|address: &Address| address.chat.as_str() != "closed");
        let (visit, mut told) = self.chats.find(Some("site")).unwrap().enter(user, may).unwrap();
        assert_eq!(read(&mut told)[0]["type"], "ready");
        (visit, told)
    }

    fn heard(&self) -> Vec<Envelope> {
        std::mem::take(&mut *self.basket.0.lock().unwrap())
    }
}

fn read(told: &mut mpsc::Receiver<Arc<str>>) -> Vec<Value> {
    std::iter::from_fn(|| told.try_recv().ok())
        .map(|frame| serde_json::from_str(&frame).unwrap())
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

async fn hear(visit: &mut Visit, frame: Value) {
    visit.hear(&frame.to_string()).await.unwrap();
}

#[tokio::test]
async fn what_a_page_says_carries_its_bearer_and_its_place() {
    let scene = Scene::open().await;
    let (mut visit, mut told) = scene.enter("ann");
    hear(&mut visit, json!({ "type": "say", "id": "1", "text": "hi" })).await;
    hear(&mut visit, json!({ "type": "say", "id": "2", "room": "r", "topic": "t", "text": "a" }))
        .await;
    for frame in [
        json!({ "type": "say", "id": "3", "room": "r", "text": "@site /help" }),
        json!({ "type": "say", "id": "4", "room": "r", "text": "b", "mention": true }),
    ] {
        hear(&mut visit, frame).await;
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
    assert_eq!(message(&heard[2]).text, "/help");
    assert_eq!(kinds(&read(&mut told)), ["taken"; 4]);
    // What could not be made durable is said so, and nobody's own room can be named.
    hear(&mut visit, json!({ "type": "say", "id": "poison", "text": "x" })).await;
    hear(&mut visit, json!({ "type": "say", "id": "5", "room": "own:bob", "text": "x" })).await;
    hear(&mut visit, json!({ "type": "say", "id": "6", "room": "closed", "text": "x" })).await;
    let codes: Vec<Value> = read(&mut told).iter().map(|it| it["code"].clone()).collect();
    assert_eq!(codes, ["not_taken", "no_room", "no_room"]);
    assert!(scene.heard().is_empty());
    assert!(visit.hear(r#"{"type": "say", "id": "7", "text": "x", "user": "bob"}"#).await.is_err());
}

#[tokio::test]
async fn a_reply_streams_into_its_room_and_into_no_other() {
    let scene = Scene::open().await;
    let (mut ann, mut told) = scene.enter("ann");
    let (mut bob, mut elsewhere) = scene.enter("bob");
    hear(&mut ann, json!({ "type": "join", "room": "r", "topic": "t" })).await;
    hear(&mut bob, json!({ "type": "join", "room": "r" })).await;
    hear(&mut bob, json!({ "type": "join" })).await;
    let target = Target {
        chat: ChatId::new("r").unwrap(),
        chat_type: ChatType::Group,
        topic: Some(TopicId::new("t").unwrap()),
    };
    let button = Button { label: "yes".into(), data: "b1".into() };
    let body = Body { markdown: "he".into(), buttons: vec![vec![button]], files: vec![] };
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
async fn the_end_of_listening_cuts_every_page() {
    let scene = Scene::open().await;
    let (mut visit, mut told) = scene.enter("ann");
    scene.stop.cancel();
    scene.listening.await.unwrap().unwrap();
    assert_eq!(told.recv().await, None);
    assert!(scene.chats.find(None).is_none());
    hear(&mut visit, json!({ "type": "say", "id": "1", "text": "hi" })).await;
    assert!(scene.basket.0.lock().unwrap().is_empty());
}
