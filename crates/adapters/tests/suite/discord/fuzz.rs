//! Whatever an event holds, and whatever else comes by the socket.

use crate::discord::support::{Bench, bench};
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
        let value = told.value();
        let is_of_place = ["CHANNEL_", "THREAD_", "GUILD_CREATE"];
        if let Some(data) =
            value.as_ref().filter(|_| is_of_place.iter().any(|it| told.kind.starts_with(it)))
        {
            self.looking.judge.learn(data);
        }
        match value {
            Some(data) => platform.event(&self.bench.bot, told.kind, &data),
            // A frame that is no event, as it is.
            None => platform.raw(&told.text()),
        }
    }

    async fn settle(&mut self) {
        self.bench.say(MARK);
        self.heeding.until_mark(&self.looking.judge).await;
        // What it held so far is not what is measured.
        self.bench.platform.forget_the_past();
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
        guild: bench.guild.clone(),
        message: String::new(),
    };
    let known = [&*cast.ours, &*cast.friend, &*cast.stranger, &*cast.chat, &*cast.guild];
    let looking = Arc::new(Looking::new("discord", "main", &cast.friend, &known));
    let heeding = Heeding::start(bench.adapter(), &looking);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    let world = bench.world.clone();
    let mut socket = Socket { bench, looking: looking.clone(), heeding };
    let templates = |speaker: &str| platforms::discord(&cast, speaker);
    run(plan, &world, &mut socket, &looking.judge, templates, &cast).await;
    socket.heeding.stop().await;
}

fuzzed!("discord", batch 100, a_hundred_thousand_events_of_discord_are_survived, fuzz);
