//! Whatever the stream holds.

use crate::noise::{Cast, Heeding, Looking, MARK, Plan, Subject, Told, fuzzed, platforms, run};
use crate::signal::support::{Bench, GROUP, OURS, bench};
use async_trait::async_trait;
use serde_json::json;
use std::sync::Arc;

const STRANGER: &str = "0c0c0c0c-0000-4000-8000-000000000666";

struct Stream {
    bench: Bench,
    looking: Arc<Looking>,
    heeding: Heeding,
}

#[async_trait]
impl Subject for Stream {
    async fn tell(&mut self, told: Told) {
        self.bench.platform.event(OURS, &told.text());
    }

    async fn settle(&mut self) {
        let mark = json!({"account": OURS, "envelope": {"sourceUuid": self.bench.ann.uuid,
            "timestamp": 5, "dataMessage": {"timestamp": 5, "message": MARK}}});
        self.bench.platform.event(OURS, &mark.to_string());
        self.heeding.until_mark(&self.looking.judge).await;
        self.bench.platform.forget_events(OURS);
    }

    fn answers(&self) -> usize {
        self.bench.platform.sent().len()
    }
}

async fn fuzz(plan: Plan) {
    let bench = bench().await;
    bench.platform.group(GROUP, &bench.ann, &[OURS]);
    let cast = Cast {
        ours: OURS.to_owned(),
        friend: bench.ann.uuid.clone(),
        stranger: STRANGER.to_owned(),
        chat: GROUP.to_owned(),
        ..Cast::default()
    };
    let known = [OURS, GROUP, &*cast.friend, STRANGER];
    let looking = Arc::new(Looking::new("signal", "main", &cast.friend, &known));
    let heeding = Heeding::start(bench.adapter(), &looking);
    let world = bench.world.clone();
    let mut stream = Stream { bench, looking: looking.clone(), heeding };
    let templates = |speaker: &str| platforms::signal(&cast, speaker);
    run(plan, &world, &mut stream, &looking.judge, templates, &cast).await;
    stream.heeding.stop().await;
}

fuzzed!("signal", batch 100, a_hundred_thousand_events_of_signal_are_survived, fuzz);
