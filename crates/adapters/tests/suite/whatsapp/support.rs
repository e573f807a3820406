//! What the tests of this folder share.

use crate::conformance::harness::{Tray, tenant};
use bytes::Bytes;
use insula_adapters::whatsapp::{Template, WhatsApp, WhatsAppSettings};
use insula_channel::{Adapter, Body, Post, PostTarget, WebAnswer, WebMethod, WebRequest};
use insula_domain::{AccountId, ChatId, ChatType};
use insula_testkit::auto_world;
use insula_testkit::whatsapp as fake;
use insula_wire::Transport;
use insula_world::World;
use ring::hmac;
use serde_json::{Value, json};
use std::sync::Arc;

pub const NUMBER: &str = "100000000000001";
pub const TOKEN: &str = "EAAtoken";
pub const SECRET: &str = "app-secret";
pub const VERIFY: &str = "verify-me";
pub const ANN: &str = "4915100000042";

pub struct Bench {
    pub world: World,
    pub transport: Transport,
    pub platform: fake::WhatsApp,
}

pub async fn bench() -> Bench {
    let (world, _) = auto_world(1);
    let platform = fake::WhatsApp::start(&world).await.unwrap();
    platform.number(NUMBER, "+49 151 00000001", TOKEN);
    let transport = Transport::new(&world, &[]).unwrap();
    Bench { world, transport, platform }
}

pub fn settings(base_url: &str) -> WhatsAppSettings {
    WhatsAppSettings {
        account: AccountId::new("main").unwrap(),
        phone_number_id: NUMBER.to_owned(),
        token: TOKEN.into(),
        secret: SECRET.into(),
        verify_token: VERIFY.into(),
        base_url: Some(base_url.to_owned()),
        public_url: None,
        template: None,
    }
}

pub fn adapter(
    settings: WhatsAppSettings,
    transport: &Transport,
    world: &World,
) -> Arc<dyn Adapter> {
    Arc::new(WhatsApp::new(settings, transport, &world.clock).unwrap())
}

impl Bench {
    pub fn adapter(&self) -> Arc<dyn Adapter> {
        adapter(settings(&self.platform.url()), &self.transport, &self.world)
    }

    pub fn with_template(&self) -> Arc<dyn Adapter> {
        let template = Template { name: "hello_again".into(), language: "en_US".into() };
        let settings =
            WhatsAppSettings { template: Some(template), ..settings(&self.platform.url()) };
        adapter(settings, &self.transport, &self.world)
    }

    pub fn now(&self) -> i64 {
        self.world.clock.now().as_millis() / 1000
    }

    /// A message from Ann, so many seconds ago.
    pub fn message(&self, id: &str, text: &str, ago: i64) -> Value {
        json!({"from": ANN, "id": id, "timestamp": (self.now() - ago).to_string(), "type": "text",
            "text": {"body": text}})
    }

    /// Ann says these, in one request.
    pub async fn say(&self, adapter: &Arc<dyn Adapter>, tray: &Tray, said: &[Value]) -> WebAnswer {
        let body = self.platform.saying(NUMBER, said).to_string();
        adapter.receive(signed(&body), tray).await
    }

    /// The platform tells what became of messages.
    pub async fn tell(&self, adapter: &Arc<dyn Adapter>, tray: &Tray, statuses: &[Value]) {
        let body = self.platform.statuses(NUMBER, statuses).to_string();
        assert_eq!(adapter.receive(signed(&body), tray).await.status, 200);
    }
}

/// A request as the platform signs it.
pub fn signed(body: &str) -> WebRequest {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, body.as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let headers = vec![("x-hub-signature-256".into(), format!("sha256={hex}").into())];
    WebRequest::posted(headers, Bytes::from(body.to_owned()))
}

/// A question of the platform.
pub fn asked(query: &str) -> WebRequest {
    let target = format!("/hooks/whatsapp/main?{query}").into();
    let none = WebRequest::posted(vec![], Bytes::new());
    WebRequest { method: WebMethod::Get, target, ..none }
}

pub fn ann() -> PostTarget {
    let chat = ChatId::new(ANN).unwrap();
    PostTarget { host: None, tenant: tenant(), chat, chat_type: ChatType::Dm, topic: None }
}

pub fn post(key: &str, body: Body) -> Post {
    Post { target: ann(), reply_to: None, idempotency: key.into(), body }
}

pub fn body(markdown: &str) -> Body {
    Body { markdown: markdown.to_owned(), ..Body::default() }
}
