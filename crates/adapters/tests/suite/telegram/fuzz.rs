//! Whatever an update holds.

use crate::noise::{Cast, Looking, Plan, Subject, Told, fuzzed, platforms, run};
use crate::telegram::support::{Bench, TOKEN, bench};
use async_trait::async_trait;
use bytes::Bytes;
use insula_adapters::telegram::TelegramMode;
use insula_channel::{Adapter, WebRequest};
use std::sync::Arc;

const SECRET: &str = "the-secret";

struct Hook<'a> {
    bench: &'a Bench,
    adapter: Arc<dyn Adapter>,
    looking: &'a Looking,
}

#[async_trait]
impl Subject for Hook<'_> {
    async fn tell(&mut self, told: Told) {
        let headers = vec![("x-telegram-bot-api-secret-token".into(), SECRET.into())];
        let request = WebRequest::posted(headers, Bytes::from(told.bytes));
        assert_eq!(self.adapter.receive(request, self.looking).await.status, 200);
    }

    fn answers(&self) -> usize {
        self.bench.platform.sent().len()
    }
}

async fn fuzz(plan: Plan) {
    let bench = bench().await;
    let mode = TelegramMode::Webhook { url: "https://e.org/".into(), secret: Some(SECRET.into()) };
    let adapter = bench.adapter_of(TOKEN, mode);
    let cast = Cast { friend: "42".to_owned(), stranger: "666".to_owned(), ..Cast::default() };
    // A forum's first topic has this name in no event.
    let looking = Looking::new("telegram", "main", &cast.friend, &["1"]);
    let mut hook = Hook { bench: &bench, adapter, looking: &looking };
    let templates = |speaker: &str| platforms::telegram(&cast, speaker);
    run(plan, &bench.world, &mut hook, &looking.judge, templates, &cast).await;
}

fuzzed!("telegram", batch 1, a_hundred_thousand_updates_of_telegram_are_survived, fuzz);
