//! Matrix, against a real homeserver: one for several tests of the suite, each of which gets
//! accounts of its own. What it can't be made to do wrong is in `tests/matrix/trouble.rs`.

use crate::conformance::harness::{Harness, Trouble};
use crate::conformance::suite;
use async_trait::async_trait;
use insula_adapters::matrix::{Matrix, Settings};
use insula_channel::{Adapter, Cursor, PostTarget};
use insula_domain::{AccountId, ChatId, ChatType};
use insula_testkit::synapse::{Person, Synapse};
use insula_wire::Transport;
use insula_world::World;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// The homeserver, for as long as a test holds it.
static SERVER: Mutex<Weak<Synapse>> = Mutex::new(Weak::new());
/// How many tests have begun.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

struct Bench {
    world: World,
    transport: Transport,
    url: String,
    ann: Person,
    bot: Person,
    room: String,
    cursor: Cursor,
}

#[async_trait]
impl Harness for Bench {
    async fn start() -> Self {
        let server = server();
        let number = BEGUN.fetch_add(1, Ordering::SeqCst);
        let [ann, bot] = server.people([&*format!("ann{number}"), &*format!("bot{number}")]);
        let room = ann.make_direct(&bot.id);
        bot.join(&room);
        let now = bot.get("GET", "/sync?timeout=0", None);
        let world = World::real().unwrap();
        Self {
            transport: Transport::new(&world, &[]).unwrap(),
            world,
            url: server.url(),
            ann,
            bot,
            room,
            cursor: Cursor(now["next_batch"].as_str().unwrap().into()),
        }
    }

    fn adapter(&self) -> Arc<dyn Adapter> {
        let settings = Settings {
            account: AccountId::new("home").unwrap(),
            homeserver: self.url.clone(),
            user: Some(self.bot.id.clone()),
            token: self.bot.token.clone().into(),
            recovery_key: None,
        };
        Arc::new(Matrix::new(settings, self.transport.clone(), &self.world).unwrap())
    }

    fn cursor(&self) -> Option<Cursor> {
        Some(self.cursor.clone())
    }

    fn target(&self) -> PostTarget {
        let chat = ChatId::new(&*self.room).unwrap();
        PostTarget {
            host: None,
            tenant: crate::conformance::harness::tenant(),
            chat,
            chat_type: ChatType::Dm,
            topic: None,
        }
    }

    async fn say(&self, text: &str) {
        self.ann.say(&self.room, text);
    }

    async fn say_file(&self, content: &[u8]) {
        let url = self.ann.upload(content);
        let content = json!({
            "msgtype": "m.file", "body": "a.bin", "url": url,
            "info": { "mimetype": "application/x-thing", "size": content.len() },
        });
        self.ann.send(&self.room, &content);
    }

    async fn redeliver(&self) {
        // Whoever asks from an earlier token gets everything since.
    }

    async fn seen(&self) -> Vec<String> {
        let mut seen: Vec<(Value, String)> = vec![];
        for event in self.ann.messages(&self.room) {
            let content = &event["content"];
            let text = |content: &Value| content["body"].as_str().unwrap_or_default().to_owned();
            if event["sender"] != *self.bot.id {
                continue;
            }
            let changed = &content["m.relates_to"]["event_id"];
            if content["m.relates_to"]["rel_type"] == "m.replace" {
                let original = seen.iter_mut().find(|(id, _)| id == changed).unwrap();
                original.1 = text(&content["m.new_content"]);
            } else {
                seen.push((event["event_id"].clone(), text(content)));
            }
        }
        seen.into_iter().map(|(_, text)| text).collect()
    }

    async fn trouble(&self, _: Trouble) -> bool {
        false
    }

    async fn garble(&self, nonsense: Value) -> bool {
        // The homeserver's own part of an event is always there.
        let content = if nonsense.is_object() { nonsense } else { json!({ "body": nonsense }) };
        // What the homeserver itself refuses reaches nobody.
        let number = BEGUN.fetch_add(1, Ordering::SeqCst);
        let path = format!("/rooms/{}/send/m.room.message/nonsense-{number}", self.room);
        self.ann.ask("PUT", &path, Some(&content)).unwrap();
        true
    }

    async fn revoke(&self) {
        self.bot.get("POST", "/logout", Some(&json!({})));
    }
}

/// The homeserver: started by whichever test comes first, where they share a process.
fn server() -> Arc<Synapse> {
    let mut server = SERVER.lock().unwrap();
    server.upgrade().unwrap_or_else(|| {
        let started = Arc::new(Synapse::start().unwrap());
        *server = Arc::downgrade(&started);
        started
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_suite_says_of_hearing_holds_on_a_real_homeserver() {
    let _held = server();
    suite::what_is_said_is_heard_in_order::<Bench>().await;
    suite::an_event_that_comes_again_has_the_same_id::<Bench>().await;
    suite::nothing_is_acknowledged_before_it_is_taken::<Bench>().await;
    suite::listening_goes_on_where_it_stopped::<Bench>().await;
    suite::listening_stops_when_told::<Bench>().await;
    suite::nonsense_is_left_out_and_holds_nothing_up::<Bench>().await;
    suite::a_file_is_fetched_within_the_limit_and_not_beyond::<Bench>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_suite_says_of_saying_holds_on_a_real_homeserver() {
    let _held = server();
    suite::refused_credentials_are_told_as_such::<Bench>().await;
    suite::a_text_as_long_as_allowed_arrives_whole::<Bench>().await;
    suite::any_markdown_arrives::<Bench>().await;
    suite::every_failure_is_told_by_what_can_be_done::<Bench>().await;
    suite::a_message_can_be_changed_and_changed_to_the_same::<Bench>().await;
    suite::the_same_key_is_one_message_where_the_platform_knows_keys::<Bench>().await;
}
