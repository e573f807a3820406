//! WhatsApp, which calls the daemon until it is heard, and tells what became of each message.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use super::{Place, runtime};
use insula_testkit::whatsapp as fake;
use insula_world::World;
use ring::hmac;
use serde_json::json;
use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};
use tokio::runtime::Runtime;

const NUMBER: &str = "100000000000001";
const TOKEN: &str = "EAAtoken";
const SECRET: &str = "app-secret";
/// How soon it calls again who did not hear it.
const AGAIN: Duration = Duration::from_millis(50);
/// How long it waits to be heard.
const HEARD_WITHIN: Duration = Duration::from_secs(10);

pub struct WhatsApp {
    platform: fake::WhatsApp,
    calls: Arc<Calls>,
    people: AtomicUsize,
    said: AtomicUsize,
    _runtime: Runtime,
}

/// What the platform has to tell the daemon, in order.
#[derive(Default)]
struct Calls {
    waiting: Mutex<VecDeque<String>>,
    at: Mutex<Option<SocketAddr>>,
}

impl Calls {
    /// Calls once; whether it was heard.
    fn call(&self, body: &str) -> Option<()> {
        let at = (*self.at.lock().unwrap())?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
        let tag = hmac::sign(&key, body.as_bytes());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut stream = TcpStream::connect(at).ok()?;
        stream.set_read_timeout(Some(HEARD_WITHIN)).ok()?;
        let request = format!(
            "POST /hooks/whatsapp/main HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nX-Hub-Signature-256: sha256={hex}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 200").then_some(())
    }

    /// Calls for as long as there is somebody else who has something to tell.
    fn run(self: &Arc<Self>, platform: &fake::WhatsApp) {
        let mut told = 0;
        while Arc::strong_count(self) > 1 {
            let sent = platform.sent();
            let news = sent[told..].iter().map(|sent| platform.status_of(sent, "sent"));
            let news = news.map(|status| platform.statuses(NUMBER, &[status]).to_string());
            self.waiting.lock().unwrap().extend(news);
            told = sent.len();
            let next = self.waiting.lock().unwrap().front().cloned();
            match next.and_then(|body| self.call(&body)) {
                Some(()) => drop(self.waiting.lock().unwrap().pop_front()),
                None => thread::sleep(AGAIN),
            }
        }
    }
}

impl WhatsApp {
    pub fn start() -> Self {
        let (runtime, world) = (runtime(), World::real().unwrap());
        let platform = runtime.block_on(fake::WhatsApp::start(&world)).unwrap();
        platform.number(NUMBER, "+49 151 00000001", TOKEN);
        let calls = Arc::new(Calls::default());
        thread::spawn({
            let (calls, platform) = (calls.clone(), platform.clone());
            move || calls.run(&platform)
        });
        let (people, said) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { platform, calls, people, said, _runtime: runtime }
    }
}

impl Place for WhatsApp {
    fn name(&self) -> &'static str {
        "whatsapp"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["\"biz_opaque_callback_data\""]
    }

    fn url(&self) -> String {
        self.platform.url()
    }

    fn account(&self, url: &str) -> String {
        format!(
            "{{phone_number_id: '{NUMBER}', token: '{TOKEN}', secret: '{SECRET}', \
             verify_token: 'verify-me', base_url: '{url}'}}"
        )
    }

    fn chat(&self) -> String {
        format!("491510001{:04}", self.people.fetch_add(1, Ordering::SeqCst))
    }

    fn say(&self, chat: &str, text: &str) {
        let number = self.said.fetch_add(1, Ordering::SeqCst);
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let message = json!({"from": chat, "id": format!("wamid.in{number}"),
            "timestamp": now.to_string(), "type": "text", "text": {"body": text}});
        let body = self.platform.saying(NUMBER, &[message]).to_string();
        self.calls.waiting.lock().unwrap().push_back(body);
    }

    fn texts(&self, chat: &str) -> Vec<String> {
        let sent = self.platform.sent().into_iter();
        // A sign that it is at work is no message.
        let said = sent.filter(|sent| sent.to == chat && sent.kind != "reaction");
        said.map(|sent| sent.text).collect()
    }

    fn daemon_is_at(&self, at: Option<SocketAddr>) {
        *self.calls.at.lock().unwrap() = at;
    }
}
