//! WhatsApp, between the fake platform and its requests, which come again until they are taken.

use crate::conformance::called::{Called, Caller, MessageFeed};
use crate::conformance::harness::{Harness, Trouble};
use crate::whatsapp::support::{self, NUMBER, TOKEN, signed};
use async_trait::async_trait;
use insula_channel::{Adapter, ConnectFault, Inbox, PostTarget, WebRequest};
use insula_domain::{ChatId, ChatType};
use insula_testkit::whatsapp as fake;
use insula_wire::Transport;
use insula_world::World;
use serde_json::{Value, json};
use std::sync::Arc;

const ANN: &str = "4915100000042";

struct Bench {
    world: World,
    transport: Transport,
    platform: fake::WhatsApp,
    line: Arc<MessageFeed<WebRequest>>,
}

/// The platform, which sends a request again that was not taken.
struct Platform(Arc<MessageFeed<WebRequest>>);

#[async_trait]
impl Caller for Platform {
    async fn call(&self, adapter: &dyn Adapter, inbox: &dyn Inbox) -> ConnectFault {
        loop {
            let request = self.0.next().await;
            match adapter.receive(request, inbox).await.status {
                200 => self.0.taken(),
                503 => return ConnectFault::Broken { why: "not taken".into(), wait: None },
                other => panic!("{other}"),
            }
        }
    }
}

impl Bench {
    fn say_this(&self, fields: Value) {
        let count = self.line.count();
        let now = self.world.clock.now().as_millis() / 1000;
        let mut message =
            json!({"from": ANN, "id": format!("wamid.in{count}"), "timestamp": now.to_string()});
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.line.say(signed(&self.platform.saying(NUMBER, &[message]).to_string()));
    }
}

#[async_trait]
impl Harness for Bench {
    async fn start() -> Self {
        let world = World::real().unwrap();
        let platform = fake::WhatsApp::start(&world).await.unwrap();
        platform.number(NUMBER, "+49 151 00000001", TOKEN);
        let transport = Transport::new(&world, &[]).unwrap();
        Self { world, transport, platform, line: MessageFeed::new() }
    }

    fn adapter(&self) -> Arc<dyn Adapter> {
        let settings = support::settings(&self.platform.url());
        let adapter = support::adapter(settings, &self.transport, &self.world);
        Arc::new(Called { adapter, caller: Platform(self.line.clone()) })
    }

    fn target(&self) -> PostTarget {
        PostTarget {
            host: None,
            tenant: crate::conformance::harness::tenant(),
            chat: ChatId::new(ANN).unwrap(),
            chat_type: ChatType::Dm,
            topic: None,
        }
    }

    async fn say(&self, text: &str) {
        self.say_this(json!({"type": "text", "text": {"body": text}}));
    }

    async fn say_file(&self, content: &[u8]) {
        let id = self.platform.file(content);
        self.say_this(json!({"type": "document",
            "document": {"id": id, "filename": "a.bin", "mime_type": "application/x-thing"}}));
    }

    async fn redeliver(&self) {
        self.line.repeat();
    }

    async fn seen(&self) -> Vec<String> {
        self.platform.sent().into_iter().map(|sent| sent.text).collect()
    }

    async fn trouble(&self, trouble: Trouble) -> bool {
        let refuse =
            |status, code, retry_after| fake::Trouble::Refuse { status, code, retry_after };
        let trouble = match trouble {
            Trouble::TooFast(seconds) => refuse(429, 130_429, Some(seconds)),
            Trouble::Broken => refuse(503, 131_016, None),
            Trouble::AnswerLost => fake::Trouble::CutAt(20),
            Trouble::RequestLost => fake::Trouble::Unheard,
            Trouble::Refused => refuse(400, 131_026, None),
            Trouble::Garbage => {
                fake::Trouble::Answer { status: 502, body: "<html>Bad Gateway</html>".into() }
            }
        };
        self.platform.trouble("messages", trouble);
        true
    }

    async fn garble(&self, nonsense: Value) -> bool {
        self.line.say(signed(
            &self.platform.saying(NUMBER, std::slice::from_ref(&nonsense)).to_string(),
        ));
        self.line.say(signed(&nonsense.to_string()));
        true
    }

    async fn revoke(&self) {
        self.platform.revoke(TOKEN);
    }
}

crate::conformance!(Bench);
