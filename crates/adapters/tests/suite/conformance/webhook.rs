//! The webhook, between a program that calls it and one that takes its replies.

use crate::conformance::called::{Called, Caller, MessageFeed};
use crate::conformance::harness::{Harness, Trouble};
use async_trait::async_trait;
use bytes::Bytes;
use insula_adapters::Makers;
use insula_channel::{
    AccountSettings, Adapter, AdapterFactory as _, ConnectFault, Inbox, PostTarget, WebRequest,
};
use insula_domain::{AccountId, ChatId, ChatType, Platform};
use insula_testkit::upstream::{Step, Upstream, answer};
use insula_wire::Transport;
use insula_world::World;
use ring::hmac;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const SECRET: &str = "0123456789abcdef";

struct Bench {
    world: World,
    makers: Makers,
    upstream: Upstream,
    next: Arc<Mutex<Option<Trouble>>>,
    line: Arc<MessageFeed<WebRequest>>,
}

/// A program that sends a request again that was not taken.
struct Program(Arc<MessageFeed<WebRequest>>);

#[async_trait]
impl Caller for Program {
    async fn call(&self, adapter: &dyn Adapter, inbox: &dyn Inbox) -> ConnectFault {
        loop {
            let request = self.0.next().await;
            let answered = adapter.receive(request, inbox).await;
            match answered.status {
                503 => return ConnectFault::Broken { why: "not taken".into(), wait: None },
                202 | 400 | 409 => self.0.taken(),
                other => panic!("{other}: {answered:?}"),
            }
        }
    }
}

impl Bench {
    fn request(&self, payload: &Value) -> WebRequest {
        let body = payload.to_string();
        let moment = (self.world.clock.now().as_millis() / 1_000).to_string();
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
        let tag = hmac::sign(&key, format!("{moment}.{body}").as_bytes());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let headers = vec![
            ("x-insula-timestamp".into(), moment.into()),
            ("x-insula-signature".into(), format!("sha256={hex}").into()),
        ];
        WebRequest::posted(headers, Bytes::from(body))
    }
}

#[async_trait]
impl Harness for Bench {
    async fn start() -> Self {
        let (world, _) = insula_testkit::world(7);
        let next: Arc<Mutex<Option<Trouble>>> = Arc::default();
        let trouble = next.clone();
        let script = move |_: &insula_testkit::upstream::Seen, _| {
            let refuse = |status, headers: &[(&str, &str)]| vec![answer(status, headers, "{}")];
            match trouble.lock().unwrap().take() {
                None => refuse(200, &[]),
                Some(Trouble::TooFast(seconds)) => {
                    refuse(429, &[("retry-after", &seconds.to_string())])
                }
                Some(Trouble::Broken) => refuse(500, &[]),
                Some(Trouble::AnswerLost) => {
                    vec![Step::Write(b"HTTP/1.1 200 O".to_vec()), Step::Close]
                }
                Some(Trouble::RequestLost) => vec![Step::Close],
                Some(Trouble::Refused) => refuse(404, &[]),
                Some(Trouble::Garbage) => vec![answer(502, &[], "<html>Bad Gateway</html>")],
            }
        };
        let upstream = Upstream::start(&world, script).await.unwrap();
        let transport = Transport::new(&world, &[]).unwrap();
        let makers = Makers::new(world.clone(), transport);
        Self { world, makers, upstream, next, line: MessageFeed::new() }
    }

    fn adapter(&self) -> Arc<dyn Adapter> {
        let values = [
            ("secret", SECRET.to_owned()),
            ("template", "{{ text }}".to_owned()),
            ("chat", "{{ room }}".to_owned()),
            ("event", "{{ id }}".to_owned()),
            ("callback", self.upstream.url("/reply")),
        ];
        let platform = Platform::new("webhook").unwrap();
        let settings = AccountSettings::new(platform, AccountId::new("ci").unwrap(), values);
        let adapter = self.makers.make(&settings).unwrap();
        Arc::new(Called { adapter, caller: Program(self.line.clone()) })
    }

    fn has_credentials(&self) -> bool {
        false
    }

    fn has_files(&self) -> bool {
        false
    }

    fn target(&self) -> PostTarget {
        let chat = ChatId::new("acme").unwrap();
        PostTarget {
            host: None,
            tenant: crate::conformance::harness::tenant(),
            chat,
            chat_type: ChatType::Channel,
            topic: None,
        }
    }

    async fn say(&self, text: &str) {
        let payload = json!({ "text": text, "room": "acme", "id": self.line.count() });
        self.line.say(self.request(&payload));
    }

    async fn say_file(&self, _: &[u8]) {}

    async fn redeliver(&self) {
        self.line.repeat();
    }

    async fn seen(&self) -> Vec<String> {
        // Whoever takes replies takes one of each key.
        let mut seen: Vec<(String, String)> = vec![];
        for request in self.upstream.seen() {
            let key = request.header("idempotency-key").unwrap().to_owned();
            let text = request.json()["text"].as_str().unwrap().to_owned();
            if seen.iter().all(|(known, _)| *known != key) {
                seen.push((key, text));
            }
        }
        seen.into_iter().map(|(_, text)| text).collect()
    }

    async fn trouble(&self, trouble: Trouble) -> bool {
        *self.next.lock().unwrap() = Some(trouble);
        true
    }

    async fn garble(&self, nonsense: Value) -> bool {
        self.line.say(self.request(&nonsense));
        true
    }

    async fn revoke(&self) {}
}

crate::conformance!(Bench);
