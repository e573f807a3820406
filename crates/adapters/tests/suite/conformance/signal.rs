//! Signal, against a daemon that speaks as signal-cli's does, and numbers its events: one that
//! does not keeps nothing for whoever did not take it.

use crate::conformance::harness::{Harness, Trouble};
use async_trait::async_trait;
use insula_adapters::signal::{Signal, SignalSettings};
use insula_channel::{Adapter, Cursor, PostTarget};
use insula_domain::{AccountId, ChatId, ChatType};
use insula_testkit::signal::{self as fake, Draft, User, Where};
use insula_wire::Transport;
use insula_world::World;
use serde_json::json;
use std::sync::Arc;

const OURS: &str = "+4915100000001";

struct Bench {
    transport: Transport,
    platform: fake::Signal,
    ann: User,
}

#[async_trait]
impl Harness for Bench {
    async fn start() -> Self {
        let world = World::real().unwrap();
        let platform = fake::Signal::start(&world).await.unwrap();
        platform.number_events();
        platform.account(&User::new(OURS, "0a0a0a0a-0000-4000-8000-000000000001", "Ada"));
        let ann = User::new("+4915100000042", "0b0b0b0b-0000-4000-8000-000000000042", "Ann");
        platform.person(&ann);
        let transport = Transport::new(&world, &[]).unwrap();
        Self { transport, platform, ann }
    }

    fn adapter(&self) -> Arc<dyn Adapter> {
        let settings = SignalSettings {
            account: AccountId::new("main").unwrap(),
            number: OURS.to_owned(),
            base_url: Some(self.platform.url()),
            profile_name: None,
        };
        Arc::new(Signal::new(settings, &self.transport).unwrap())
    }

    fn cursor(&self) -> Option<Cursor> {
        // Before the first event.
        Some(Cursor("0".into()))
    }

    fn target(&self) -> PostTarget {
        PostTarget {
            host: None,
            tenant: crate::conformance::harness::tenant(),
            chat: ChatId::new(self.ann.uuid.as_str()).unwrap(),
            chat_type: ChatType::Dm,
            topic: None,
        }
    }

    async fn say(&self, text: &str) {
        self.platform.say(Where::Dm(OURS), &Draft::new(&self.ann, text));
    }

    async fn say_file(&self, content: &[u8]) {
        let draft = Draft::new(&self.ann, "").file("application/x-thing", Some("a.bin"), content);
        self.platform.say(Where::Dm(OURS), &draft);
    }

    async fn redeliver(&self) {
        self.platform.redeliver();
    }

    async fn seen(&self) -> Vec<String> {
        self.platform.sent().into_iter().map(|sent| sent.text).collect()
    }

    async fn trouble(&self, trouble: Trouble) -> bool {
        let refuse = |kind: &str, seconds: Option<u64>| fake::Trouble::Refuse {
            code: if seconds.is_some() { -5 } else { -1 },
            message: "Failed to send message".to_owned(),
            results: Some(json!([{"type": kind, "retryAfterSeconds": seconds}])),
        };
        let trouble = match trouble {
            Trouble::TooFast(seconds) => refuse("RATE_LIMIT_FAILURE", Some(seconds)),
            Trouble::Broken => refuse("INVALID_PRE_KEY_FAILURE", None),
            Trouble::AnswerLost => fake::Trouble::CutAt(20),
            Trouble::RequestLost => fake::Trouble::Unheard,
            Trouble::Refused => refuse("UNREGISTERED_FAILURE", None),
            Trouble::Garbage => {
                fake::Trouble::Answer { status: 502, body: "<html>Bad Gateway</html>".into() }
            }
        };
        self.platform.trouble("send", trouble);
        true
    }

    async fn garble(&self, nonsense: serde_json::Value) -> bool {
        self.platform.event(OURS, &nonsense.to_string());
        self.platform.event(OURS, &json!({ "account": OURS, "envelope": nonsense }).to_string());
        true
    }

    async fn revoke(&self) {
        self.platform.unlink(OURS);
    }
}

crate::conformance!(Bench);
