//! Signed requests of any shape: each is taken or refused, by the account it is for, and nothing
//! in it says who speaks.

use crate::noise::{Cast, Looking, Plan, Subject, Told, fuzzed, platforms, run};
use async_trait::async_trait;
use bytes::Bytes;
use insula_adapters::Makers;
use insula_channel::{AccountSettings, Adapter, AdapterFactory as _, WebRequest};
use insula_domain::{AccountId, Platform};
use insula_testkit::fuzz::Dice;
use insula_wire::Transport;
use insula_world::World;
use ring::hmac;
use std::sync::Arc;

const SECRET: &str = "0123456789abcdef";

struct Hook<'a> {
    world: World,
    adapter: Arc<dyn Adapter>,
    looking: &'a Looking,
    key: hmac::Key,
    dice: Dice,
}

#[async_trait]
impl Subject for Hook<'_> {
    async fn tell(&mut self, told: Told) {
        let moment = (self.world.clock.now().as_millis() / 1_000).to_string();
        let signed = [moment.as_bytes(), b".", &told.bytes].concat();
        let tag = hmac::sign(&self.key, &signed);
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let signature = match self.dice.below(10) {
            0 => self.dice.text(),
            1 => format!("sha256={}", hex.replace('0', "1")),
            _ => format!("sha256={hex}"),
        };
        let moment = if self.dice.below(20) == 0 { self.dice.text() } else { moment };
        let headers = vec![
            ("x-insula-timestamp".into(), moment.into()),
            ("x-insula-signature".into(), signature.into()),
        ];
        let request = WebRequest::posted(headers, Bytes::from(told.bytes));
        let answered = self.adapter.receive(request, self.looking).await;
        assert!(matches!(answered.status, 202 | 400 | 401 | 409), "{answered:?}");
    }
}

async fn fuzz(plan: Plan) {
    let (world, _) = insula_testkit::auto_world(7);
    let makers = Makers::new(world.clone(), Transport::new(&world, &[]).unwrap());
    let values = [
        ("secret", SECRET.to_owned()),
        ("template", "{{ build.status }}: {{ build.log }} {{ list }}".to_owned()),
        ("chat", "{{ room }}".to_owned()),
        ("event", "{{ id }}".to_owned()),
    ];
    let platform = Platform::new("webhook").unwrap();
    let settings = AccountSettings::new(platform, AccountId::new("ci").unwrap(), values);
    // Whoever signs is the account itself.
    let cast = Cast { friend: "ci".to_owned(), stranger: "ci".to_owned(), ..Cast::default() };
    let looking = Looking::new("webhook", "ci", &cast.friend, &["ci"]);
    let mut hook = Hook {
        adapter: makers.make(&settings).unwrap(),
        looking: &looking,
        key: hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()),
        dice: Dice::new(&world, "signatures"),
        world: world.clone(),
    };
    run(plan, &world, &mut hook, &looking.judge, |_| platforms::hooks(), &cast).await;
}

fuzzed!("webhook", batch 1, a_hundred_thousand_requests_of_webhooks_are_survived, fuzz);
