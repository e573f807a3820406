//! Whatever a frame holds.

use crate::mattermost::support::{Bench, beginning, bench};
use crate::noise::{Cast, Heeding, Looking, MARK, Plan, Subject, Told, fuzzed, platforms, run};
use async_trait::async_trait;
use std::sync::Arc;

struct Socket {
    bench: Bench,
    looking: Arc<Looking>,
    heeding: Heeding,
}

#[async_trait]
impl Subject for Socket {
    async fn tell(&mut self, told: Told) {
        let platform = &self.bench.platform;
        match told.value() {
            Some(data) => platform.event(told.kind, &self.bench.town, &data),
            // A frame that is no event, as it is.
            None => platform.raw(&told.text()),
        }
    }

    async fn settle(&mut self) {
        self.bench.say(MARK);
        self.heeding.until_mark(&self.looking.judge).await;
    }

    fn answers(&self) -> usize {
        self.bench.said().len()
    }
}

async fn fuzz(plan: Plan) {
    let bench = bench().await;
    let cast = Cast {
        ours: bench.bot.clone(),
        friend: bench.ann.clone(),
        stranger: bench.bob.clone(),
        chat: bench.town.clone(),
        guild: String::new(),
        message: bench.say("root"),
    };
    let known = [&*cast.ours, &*cast.friend, &*cast.stranger, &*cast.chat, &*cast.message];
    let looking = Looking::new("mattermost", "main", &cast.friend, &known).from(beginning());
    let looking = Arc::new(looking);
    let heeding = Heeding::start(bench.adapter(), &looking);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    let world = bench.world.clone();
    let mut socket = Socket { bench, looking: looking.clone(), heeding };
    let templates = |speaker: &str| platforms::mattermost(&cast, speaker);
    run(plan, &world, &mut socket, &looking.judge, templates, &cast).await;
    socket.heeding.stop().await;
}

fuzzed!("mattermost", batch 100, a_hundred_thousand_frames_of_mattermost_are_survived, fuzz);
