//! Whatever a request holds.

use crate::noise::{Cast, Looking, Plan, Subject, Told, fuzzed, platforms, run};
use crate::slack::support::{Bench, SECRET, bench};
use async_trait::async_trait;
use insula_adapters::slack::Mode;
use insula_channel::Adapter;
use insula_testkit::slack::BOT;
use std::sync::Arc;

struct Hook<'a> {
    bench: &'a Bench,
    adapter: Arc<dyn Adapter>,
    looking: &'a Looking,
    told: usize,
}

#[async_trait]
impl Subject for Hook<'_> {
    async fn tell(&mut self, told: Told) {
        self.told += 1;
        let kind = match self.told % 10 {
            0 => "application/x-www-form-urlencoded",
            _ => "application/json",
        };
        let request = self.bench.signed(kind, &told.text(), 0);
        assert_eq!(self.adapter.receive(request, self.looking).await.status, 200);
    }

    fn answers(&self) -> usize {
        self.bench.said().len()
    }
}

async fn fuzz(plan: Plan) {
    let bench = bench().await;
    let cast = Cast {
        ours: BOT.to_owned(),
        friend: bench.ann.clone(),
        stranger: bench.bob.clone(),
        chat: bench.town.clone(),
        guild: String::new(),
        message: bench.say("root"),
    };
    let adapter = bench.adapter_by(Mode::Webhook(SECRET.into()));
    adapter.identify().await.unwrap();
    let known = [&*cast.ours, &*cast.friend, &*cast.stranger, &*cast.chat, &*cast.message];
    let looking = Looking::new("slack", "main", &cast.friend, &known);
    let mut hook = Hook { bench: &bench, adapter, looking: &looking, told: 0 };
    let templates =
        |speaker: &str| platforms::slack(&cast, speaker, |event| bench.platform.callback(event));
    run(plan, &bench.world, &mut hook, &looking.judge, templates, &cast).await;
}

fuzzed!("slack", batch 1, a_hundred_thousand_requests_of_slack_are_survived, fuzz);
