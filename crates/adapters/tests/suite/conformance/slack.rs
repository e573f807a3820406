//! Slack, by its socket, against the fake workspace.

use crate::conformance::harness::{Harness, Trouble};
use crate::slack::support::{APP_TOKEN, TOKEN, settings};
use async_trait::async_trait;
use insula_adapters::slack::{Mode, Slack};
use insula_channel::{Adapter, PostTarget};
use insula_domain::{ChatId, ChatType};
use insula_testkit::slack as fake;
use insula_wire::Transport;
use insula_world::World;
use serde_json::{Value, json};
use std::sync::Arc;

struct Bench {
    world: World,
    transport: Transport,
    platform: fake::Slack,
    ann: String,
    chat: String,
}

#[async_trait]
impl Harness for Bench {
    async fn start() -> Self {
        let world = World::real().unwrap();
        let platform = fake::Slack::start(&world, TOKEN, APP_TOKEN).await.unwrap();
        let ann = platform.person("Ann Lee");
        let chat = platform.channel("D", &[fake::BOT, &ann]);
        let transport = Transport::new(&world, &[]).unwrap();
        Self { world, transport, platform, ann, chat }
    }

    fn adapter(&self) -> Arc<dyn Adapter> {
        let settings = settings(&self.platform, Mode::Socket(APP_TOKEN.into()));
        Arc::new(Slack::new(settings, &self.transport, &self.world.clock).unwrap())
    }

    fn target(&self) -> PostTarget {
        PostTarget {
            host: None,
            tenant: crate::conformance::harness::tenant(),
            chat: ChatId::new(self.chat.as_str()).unwrap(),
            chat_type: ChatType::Dm,
            topic: None,
        }
    }

    async fn say(&self, text: &str) {
        self.platform.say(&self.chat, &self.ann, text);
    }

    async fn say_file(&self, content: &[u8]) {
        let file = self.platform.file("a.bin", "application/x-thing", content);
        self.platform.post(&json!({
            "channel": self.chat, "user": self.ann, "text": "", "subtype": "file_share",
            "files": [file],
        }));
    }

    async fn redeliver(&self) {
        self.platform.redeliver();
    }

    async fn seen(&self) -> Vec<String> {
        let said = self.platform.said().into_iter();
        said.map(|message| message["text"].as_str().unwrap().to_owned()).collect()
    }

    async fn trouble(&self, trouble: Trouble) -> bool {
        let trouble = match trouble {
            Trouble::TooFast(seconds) => fake::Trouble::Limited(seconds),
            Trouble::Broken => fake::Trouble::Refuse("service_unavailable".into()),
            Trouble::AnswerLost => fake::Trouble::CutAt(20),
            Trouble::RequestLost => fake::Trouble::Unheard,
            Trouble::Refused => fake::Trouble::Refuse("is_archived".into()),
            Trouble::Garbage => {
                fake::Trouble::Answer { status: 502, body: "<html>Bad Gateway</html>".into() }
            }
        };
        self.platform.trouble("chat.postMessage", trouble);
        true
    }

    async fn garble(&self, nonsense: Value) -> bool {
        self.platform.raw(&nonsense.to_string());
        self.platform.event(&nonsense);
        for kind in ["events_api", "interactive", "slash_commands", "something"] {
            self.platform.tell(kind, nonsense.clone());
        }
        true
    }

    async fn revoke(&self) {
        self.platform.revoke();
    }
}

crate::conformance!(Bench);
