//! Whatever a request holds.

use crate::noise::{Cast, Looking, Plan, Subject, Told, fuzzed, platforms, run};
use crate::whatsapp::support::{ANN, Bench, NUMBER, bench, signed};
use async_trait::async_trait;
use insula_channel::Adapter;
use std::sync::Arc;

struct Hook<'a> {
    bench: &'a Bench,
    adapter: Arc<dyn Adapter>,
    looking: &'a Looking,
}

#[async_trait]
impl Subject for Hook<'_> {
    async fn tell(&mut self, told: Told) {
        assert_eq!(self.adapter.receive(signed(&told.text()), self.looking).await.status, 200);
    }

    fn answers(&self) -> usize {
        self.bench.platform.sent().len()
    }
}

async fn fuzz(plan: Plan) {
    let bench = bench().await;
    let cast = Cast {
        ours: NUMBER.to_owned(),
        friend: ANN.to_owned(),
        stranger: "4915100000666".to_owned(),
        ..Cast::default()
    };
    let looking = Looking::new("whatsapp", "main", ANN, &[]);
    let mut hook = Hook { bench: &bench, adapter: bench.adapter(), looking: &looking };
    let now = bench.now().to_string();
    let templates = |speaker: &str| {
        let said = |messages: &[_]| bench.platform.saying(NUMBER, messages);
        let told = |statuses: &[_]| bench.platform.statuses(NUMBER, statuses);
        platforms::whatsapp(&cast, speaker, &now, said, told)
    };
    run(plan, &bench.world, &mut hook, &looking.judge, templates, &cast).await;
}

fuzzed!("whatsapp", batch 1, a_hundred_thousand_requests_of_whatsapp_are_survived, fuzz);
