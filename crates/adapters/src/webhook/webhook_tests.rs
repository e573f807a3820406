//! The webhook as a platform and as the gateway see it: requests in, replies out.

use super::*;
use crate::factory::Makers;
use insula_channel::{
    Accounts, AdapterFactory as _, Cursor, Idempotency, NotTaken, Outbound, Pacing, TextLimit,
};
use insula_testkit::upstream::{Upstream, answer as http_answer};
use insula_testkit::{Handles, world};
use serde_json::json;
use std::sync::{Arc, Mutex};

const SECRET: &str = "0123456789abcdef";

/// Keeps what it is given, unless it is told to refuse.
#[derive(Default)]
struct Basket {
    taken: Mutex<Vec<Envelope>>,
    refuses: Mutex<bool>,
}

#[async_trait]
impl Inbox for Basket {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        if *self.refuses.lock().unwrap() {
            return Err(NotTaken("full".into()));
        }
        self.taken.lock().unwrap().extend(envelopes);
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(None)
    }

    fn alive(&self) {}
}

struct Scene {
    world: World,
    handles: Handles,
    makers: Makers,
    inbox: Basket,
}

impl Scene {
    fn new() -> Self {
        let (world, handles) = world(7);
        let transport = Transport::new(&world, &[]).unwrap();
        let makers = Makers::new(world.clone(), transport);
        Self { world, handles, makers, inbox: Basket::default() }
    }

    fn settings(values: &[(&'static str, &str)]) -> AccountSettings {
        let all = values.iter().map(|(key, value)| (*key, (*value).to_owned()));
        let platform = Platform::new("webhook").unwrap();
        AccountSettings::new(platform, AccountId::new("ci").unwrap(), all)
    }

    fn webhook(&self, values: &[(&'static str, &str)]) -> Arc<dyn Adapter> {
        let values: Vec<_> = [("secret", SECRET)].iter().chain(values).copied().collect();
        self.makers.make(&Self::settings(&values)).unwrap()
    }

    fn request(&self, body: &str) -> WebRequest {
        let moment = self.world.clock.now().as_millis() / 1_000;
        let signer = Signer::new(SECRET, WINDOW);
        let headers = vec![
            (TIMESTAMP.into(), moment.to_string().into()),
            (SIGNATURE.into(), signer.sign(moment, body.as_bytes()).into()),
        ];
        WebRequest::posted(headers, Bytes::from(body.to_owned()))
    }

    fn only(&self) -> Envelope {
        let taken = self.inbox.taken.lock().unwrap();
        assert_eq!(taken.len(), 1);
        taken[0].clone()
    }
}

fn post(text: &str) -> Post {
    let target = PostTarget {
        host: None,
        tenant: tenant(),
        chat: ChatId::new("acme").unwrap(),
        chat_type: ChatType::Channel,
        topic: None,
    };
    let body = Body { markdown: text.to_owned(), ..Body::default() };
    Post { target, reply_to: Some(MessageId("event:7".into())), idempotency: "key-1".into(), body }
}

fn said(envelope: &Envelope) -> &Message {
    match &envelope.what {
        Happening::Said(message) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_payload_becomes_a_message_of_the_account_whatever_it_says() {
    let scene = Scene::new();
    let webhook = scene.webhook(&[
        ("template", "{{ build.status }}: {{ build.log }}"),
        ("chat", "{{ repository }}"),
        ("event", "{{ delivery }}"),
    ]);
    let payload = json!({
        "repository": "acme/app", "delivery": 7, "user": "admin", "account": "other",
        "build": { "status": "red", "log": "{{ delivery }}" },
    });
    let answer = webhook.receive(scene.request(&payload.to_string()), &scene.inbox).await;
    assert_eq!(answer.status, 202);
    let envelope = scene.only();
    assert_eq!(said(&envelope).words.all(), "red: {{ delivery }}");
    assert_eq!(envelope.event, EventId("event:7".into()));
    assert!(said(&envelope).mentions_us);
    let address = &envelope.address;
    assert_eq!((address.platform.as_str(), address.account.as_str()), ("webhook", "ci"));
    assert_eq!(
        (address.chat.as_str(), address.user.as_ref().unwrap().as_str()),
        ("acme/app", "ci")
    );
    // A payload without the name of a chat is nobody's.
    let answer = webhook.receive(scene.request("{}"), &scene.inbox).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn a_copy_is_refused_and_what_was_not_taken_may_come_again() {
    let scene = Scene::new();
    let webhook = scene.webhook(&[]);
    let request = scene.request(r#"{"a": 1}"#);
    *scene.inbox.refuses.lock().unwrap() = true;
    assert_eq!(webhook.receive(request.clone(), &scene.inbox).await.status, 503);
    *scene.inbox.refuses.lock().unwrap() = false;
    assert_eq!(webhook.receive(request.clone(), &scene.inbox).await.status, 202);
    assert_eq!(webhook.receive(request.clone(), &scene.inbox).await.status, 409);
    // Much later it is too old, and after a restart the same event.
    let first = scene.only().event;
    let restarted = scene.webhook(&[]);
    assert_eq!(restarted.receive(request.clone(), &scene.inbox).await.status, 202);
    assert_eq!(scene.inbox.taken.lock().unwrap()[1].event, first);
    scene.handles.clock.advance(Duration::from_secs(301)).await;
    assert_eq!(webhook.receive(request, &scene.inbox).await.status, 409);
}

#[tokio::test]
async fn who_does_not_have_the_secret_gets_one_answer() {
    let scene = Scene::new();
    let webhook = scene.webhook(&[]);
    let mut forged = scene.request("{}");
    forged.body = Bytes::from_static(b"{ }");
    let nothing = WebRequest::posted(vec![], Bytes::new());
    // Signed, and asked instead of posted.
    let asked = WebRequest { method: WebMethod::Get, ..scene.request("{}") };
    for request in [forged, nothing, asked] {
        assert_eq!(webhook.receive(request, &scene.inbox).await, WebAnswer::refused());
    }
    assert!(scene.inbox.taken.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_reply_goes_to_the_callback_signed_and_with_its_key() {
    let scene = Scene::new();
    let upstream = Upstream::start(&scene.world, |_, number| {
        let status = [200, 503, 404][number];
        vec![http_answer(status, &[("retry-after", "7")], "{}")]
    });
    let upstream = upstream.await.unwrap();
    let webhook = scene.webhook(&[("callback", &upstream.url("/reply"))]);
    assert_eq!(webhook.post(&post("done")).await.unwrap().message, MessageId("key-1".into()));
    let later = webhook.post(&post("done")).await.unwrap_err();
    assert!(
        matches!(later, PostError::Later { wait: Some(wait), .. } if wait == Duration::from_secs(7))
    );
    assert!(matches!(webhook.post(&post("done")).await, Err(PostError::Never { .. })));
    let seen = &upstream.seen()[0];
    assert_eq!(seen.header("idempotency-key"), Some("key-1"));
    let body = json!({
        "account": "ci", "chat": "acme", "event": "event:7", "id": "key-1", "text": "done",
    });
    assert_eq!(seen.json(), body);
    let signer = Signer::new(SECRET, WINDOW);
    let now = scene.world.clock.now();
    let (moment, signature) = (seen.header(TIMESTAMP), seen.header(SIGNATURE));
    assert!(signer.check(moment, signature, &seen.body, now).is_ok());
}

/// Another account, which writes down what it is given to send.
#[derive(Default)]
struct Other(Mutex<Vec<Post>>);

#[async_trait]
impl Adapter for Other {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        Err(ConnectFault::Refused("nobody asked".into()))
    }

    async fn listen(&self, _: &dyn Inbox, _: &CancellationToken) -> Result<(), ConnectFault> {
        Ok(())
    }
}

#[async_trait]
impl Outbound for Other {
    fn features(&self) -> Features {
        Features {
            text: TextLimit::Utf16(4_096),
            can_edit: Some(Duration::from_secs(1)),
            idempotency: Idempotency::Never,
            has_buttons: true,
            can_react: false,
            typing: Some(Duration::from_secs(5)),
            silence_max: Duration::from_secs(120),
        }
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        self.0.lock().unwrap().push(post.clone());
        Ok(Posted { message: MessageId("55".into()) })
    }

    async fn edit(&self, _: &PostTarget, _: &MessageId, _: &Body) -> Result<(), PostError> {
        Ok(())
    }

    async fn fetch(&self, _: &Attachment, _: u64) -> Result<Bytes, FetchError> {
        Ok(Bytes::new())
    }
}

struct OneAccount(Arc<Other>, Arc<Pacing>);

impl Accounts for OneAccount {
    fn outbound(&self, platform: Platform, account: &AccountId) -> Option<Arc<dyn Outbound>> {
        let ours = platform.as_str() == "telegram" && account.as_str() == "main";
        ours.then(|| self.0.clone() as Arc<dyn Outbound>)
    }

    fn pacing(&self) -> &Arc<Pacing> {
        &self.1
    }
}

#[tokio::test]
async fn a_reply_goes_to_the_chat_that_the_operator_named_and_waits_for_its_account() {
    let scene = Scene::new();
    let webhook = scene.webhook(&[("deliver", "telegram:main:-100:7")]);
    assert!(matches!(webhook.post(&post("done")).await, Err(PostError::Later { .. })));
    let other = Arc::new(Other::default());
    let accounts: Arc<dyn Accounts> = Arc::new(OneAccount(other.clone(), Arc::default()));
    scene.makers.connect(&accounts);
    assert_eq!(webhook.post(&post("done")).await.unwrap().message, MessageId("55".into()));
    let sent = other.0.lock().unwrap()[0].clone();
    assert_eq!((sent.target.chat.as_str(), sent.target.topic.unwrap().as_str()), ("-100", "7"));
    assert_eq!((sent.reply_to, &*sent.idempotency), (None, "key-1"));
    let features = webhook.features();
    assert_eq!((features.text, features.can_edit), (TextLimit::Utf16(4_096), None));
    assert!(!features.idempotency.knows_keys() && features.has_buttons);
}

#[test]
fn settings_that_make_no_webhook_say_why() {
    let scene = Scene::new();
    for (values, word) in [
        (&[("secret", "short")][..], "16"),
        (&[("secret", SECRET), ("template", "{{ a")], "template"),
        (&[("secret", SECRET), ("window", "2h")], "window"),
        (&[("secret", SECRET), ("deliver", "webhook:ci:a")], "deliver"),
        (&[("secret", SECRET), ("deliver", "telegram:a:b"), ("callback", "http://x")], "both"),
        (&[], "secret"),
    ] {
        let fault = scene.makers.make(&Scene::settings(values)).err().unwrap();
        assert!(
            matches!(&fault, ConnectFault::Refused(why) if why.contains(word)),
            "{word}: {fault}"
        );
    }
}

/// Whose words these are.
fn tenant() -> insula_channel::Tenant {
    insula_channel::Tenant::of_life(&insula_domain::AgentId::new("a").unwrap(), 1, 0)
}
