//! Signal, by a signal-cli that numbers its events, as later ones do.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use super::{Place, runtime};
use insula_testkit::signal::{self as fake, Draft, User, Where};
use insula_world::World;
use std::collections::BTreeMap;
use std::sync::Mutex;
use tokio::runtime::Runtime;

const OURS: &str = "+4915100000001";

pub struct Signal {
    platform: fake::Signal,
    people: Mutex<BTreeMap<String, User>>,
    _runtime: Runtime,
}

impl Signal {
    pub fn start() -> Self {
        let (runtime, world) = (runtime(), World::real().unwrap());
        let platform = runtime.block_on(fake::Signal::start(&world)).unwrap();
        platform.account(&User::new(OURS, "0a0a0a0a-0000-4000-8000-000000000001", "Ada"));
        platform.number_events();
        Self { platform, people: Mutex::default(), _runtime: runtime }
    }
}

impl Place for Signal {
    fn name(&self) -> &'static str {
        "signal"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["\"method\":\"send\""]
    }

    fn url(&self) -> String {
        self.platform.url()
    }

    fn account(&self, url: &str) -> String {
        format!("{{number: '{OURS}', base_url: '{url}'}}")
    }

    fn chat(&self) -> String {
        let mut people = self.people.lock().unwrap();
        let id = format!("0b0b0b0b-0000-4000-8000-{:012}", people.len());
        let user = User::hidden(&id, "Ann Lee");
        self.platform.person(&user);
        people.insert(id.clone(), user);
        id
    }

    fn say(&self, chat: &str, text: &str) {
        let user = self.people.lock().unwrap()[chat].clone();
        self.platform.say(Where::Dm(OURS), &Draft::new(&user, text));
    }

    fn texts(&self, chat: &str) -> Vec<String> {
        let sent = self.platform.sent().into_iter();
        sent.filter(|sent| sent.to == chat).map(|sent| sent.text).collect()
    }
}
