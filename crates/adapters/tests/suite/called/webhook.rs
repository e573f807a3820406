//! Signed requests of any shape: each is taken or refused, by the account it is for, and nothing
//! in it says who speaks.

use crate::called::noise::{Dice, GROWTH_MAX, memory};
use async_trait::async_trait;
use bytes::Bytes;
use insula_adapters::Makers;
use insula_channel::{
    AccountSettings, AdapterFactory as _, Cursor, Envelope, Happening, Inbox, NotTaken, WebRequest,
};
use insula_domain::{AccountId, Platform};
use insula_wire::Transport;
use ring::hmac;
use serde_json::json;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const SECRET: &str = "0123456789abcdef";

/// Longest text a template comes to, with the sign that it was cut.
const TEXT_BYTES_MAX: usize = 33 * 1024;

/// Looks at each envelope beside what it came from, and keeps none.
#[derive(Default)]
struct Judge {
    raw: Mutex<String>,
    taken: AtomicUsize,
}

#[async_trait]
impl Inbox for Judge {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        let raw = self.raw.lock().unwrap().clone();
        for envelope in envelopes {
            self.taken.fetch_add(1, Ordering::Relaxed);
            let address = &envelope.address;
            assert_eq!((address.platform.as_str(), address.account.as_str()), ("webhook", "ci"));
            assert_eq!(address.user.as_ref().unwrap().as_str(), "ci");
            assert!(address.topic.is_none() && address.roles.is_empty());
            let chat = address.chat.as_str();
            let named = serde_json::to_string(chat).unwrap();
            let is_said = raw.contains(chat) || raw.contains(named.trim_matches('"'));
            assert!(is_said, "{chat:?} from {raw}");
            assert!(envelope.event.0.len() <= 300);
            let Happening::Said(message) = &envelope.what else { panic!("{envelope:?}") };
            assert!(message.words.bytes() <= TEXT_BYTES_MAX, "{} bytes", message.words.bytes());
        }
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(None)
    }

    fn alive(&self) {}
}

async fn fuzz(count: usize, seed: &str) {
    let (world, _) = insula_testkit::world(7);
    let makers = Makers::new(world.clone(), Transport::new(&world, &[]).unwrap());
    let values = [
        ("secret", SECRET.to_owned()),
        ("template", "{{ build.status }}: {{ build.log }} {{ list }}".to_owned()),
        ("chat", "{{ room }}".to_owned()),
        ("event", "{{ id }}".to_owned()),
    ];
    let platform = Platform::new("webhook").unwrap();
    let settings = AccountSettings::new(platform, AccountId::new("ci").unwrap(), values);
    let adapter = makers.make(&settings).unwrap();
    let judge = Judge::default();
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let mut dice = Dice::new(&world, seed);
    let mut early = None;
    for number in 0..count {
        let mut payload = json!({
            "room": "acme/app", "id": number, "user": "admin", "account": "other",
            "build": { "status": "red", "log": "{{ id }}" }, "list": [1, { "a": [] }],
        });
        for _ in 0..dice.below(4) {
            dice.mutate(&mut payload);
        }
        let mut bytes = match dice.below(16) {
            0 => dice.value(4).to_string().into_bytes(),
            1 => format!("{}{}", "[".repeat(5000), "{\"a\":".repeat(5000)).into_bytes(),
            _ => payload.to_string().into_bytes(),
        };
        if dice.below(8) == 0 {
            dice.garble(&mut bytes);
        }
        *judge.raw.lock().unwrap() = String::from_utf8_lossy(&bytes).into_owned();
        let moment = (world.clock.now().as_millis() / 1_000).to_string();
        let tag = hmac::sign(&key, &[moment.as_bytes(), b".", &bytes].concat());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let signature = match dice.below(10) {
            0 => dice.text(),
            1 => format!("sha256={}", hex.replace('0', "1")),
            _ => format!("sha256={hex}"),
        };
        let moment = if dice.below(20) == 0 { dice.text() } else { moment };
        let headers = vec![
            ("x-insula-timestamp".into(), moment.into()),
            ("x-insula-signature".into(), signature.into()),
        ];
        let request = WebRequest::posted(headers, Bytes::from(bytes));
        let answered = adapter.receive(request, &judge).await;
        assert!(matches!(answered.status, 202 | 400 | 401 | 409), "{answered:?}");
        if early.is_none() && number > count / 10 {
            early = Some(memory());
        }
    }
    let taken = judge.taken.load(Ordering::Relaxed);
    assert!(taken > count / 20, "only {taken} of {count} made sense: the fuzzing is too wild");
    let grown = memory().saturating_sub(early.unwrap());
    assert!(grown < GROWTH_MAX, "grown by {grown} bytes");
}

#[tokio::test]
async fn requests_of_any_shape_are_survived() {
    fuzz(4_000, "some").await;
}

#[tokio::test]
#[ignore = "the whole of it: scripts/fuzz-adapters"]
async fn a_hundred_thousand_requests_of_any_shape_are_survived() {
    fuzz(100_000, "all").await;
}
