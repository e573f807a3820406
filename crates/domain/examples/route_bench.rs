//! How long it takes to route a message, from 10 bindings to 100,000.
//!
//! `cargo run --release -p insula-domain --example route_bench [-- --json]`
//!
//! Rules use eight combinations of fields. Every message has every field, so that each
//! lookup is made; as many go to each combination, and as many to none. *Warm* goes round a
//! few messages; *cold* round so many that neither they nor their rules stay in the caches.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads its arguments and a clock; it is no part of the program"
)]
#![allow(clippy::unwrap_used, reason = "every id here is a short number")]

use insula_domain::{
    AccountId, Address, AgentId, Binding, ChatId, ChatType, Community, Defaults, GuildId, Match,
    Metadata, Platform, RoleId, Route, Router, TopicId, UserId,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];
const KINDS: usize = 8;
const RUNS: usize = 15;
const WARM: usize = 256;
const COLD: usize = 50_000;
/// A run routes at least this many messages.
const ROUTED_MIN: usize = 100_000;

struct Row {
    bindings: usize,
    warm: Figure,
    cold: Figure,
}

/// Nanoseconds a message.
struct Figure {
    median: f64,
    least: f64,
    most: f64,
}

fn main() {
    let json = std::env::args().any(|argument| argument == "--json");
    let rows: Vec<Row> = SIZES.into_iter().map(measure).collect();
    if json {
        let rows: Vec<String> = rows
            .iter()
            .map(|row| {
                format!(
                    r#"{{"bindings":{},"warm_ns":{:.1},"cold_ns":{:.1}}}"#,
                    row.bindings, row.warm.median, row.cold.median
                )
            })
            .collect();
        println!(
            r#"{{"bench":"route","combinations":{KINDS},"runs":{RUNS},"rows":[{}]}}"#,
            rows.join(",")
        );
        return;
    }
    println!("{KINDS} combinations of fields, median of {RUNS} runs (least to most), ns a message");
    println!("{:>9}  {:>24}  {:>24}", "bindings", "warm", "cold");
    for Row { bindings, warm, cold } in rows {
        let text = |it: Figure| format!("{:.0} ({:.0} to {:.0})", it.median, it.least, it.most);
        println!("{bindings:>9}  {:>24}  {:>24}", text(warm), text(cold));
    }
}

fn measure(bindings: usize) -> Row {
    let rules = (0..bindings).map(rule).collect();
    let router = match Router::compile(rules, Defaults::default()) {
        Ok(router) => router,
        Err(conflicts) => panic!("{}", conflicts[0]),
    };
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut messages = |count: usize| -> Vec<Address> {
        (0..count).map(|place| message(place, bindings, &mut random)).collect()
    };
    let (warm, cold) = (messages(WARM), messages(COLD));
    Row { bindings, warm: time(&router, &warm), cold: time(&router, &cold) }
}

fn time(router: &Router, messages: &[Address]) -> Figure {
    let rounds = ROUTED_MIN.div_ceil(messages.len());
    let run = || -> f64 {
        let mut hits = 0_usize;
        let start = Instant::now();
        for _ in 0..rounds {
            for address in messages {
                if let Route::Bound { index, .. } = router.route(black_box(address)) {
                    hits += black_box(index) & 1;
                }
            }
        }
        let taken: Duration = start.elapsed();
        black_box(hits);
        taken.as_nanos() as f64 / (rounds * messages.len()) as f64
    };
    run();
    let mut figures: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    figures.sort_by(f64::total_cmp);
    Figure { median: figures[RUNS / 2], least: figures[0], most: figures[RUNS - 1] }
}

/// The rule of one place: its kind goes round, its ids are its own.
fn rule(place: usize) -> Binding {
    let any = Match::platform(discord());
    let id = |prefix: &str| format!("{prefix}{}", 100_000_000_000_000_000 + place);
    let chat = || Some(ChatId::new(id("")).unwrap());
    let community = || Some(Community::Guild(GuildId::new(id("")).unwrap()));
    let user = || Some(UserId::new(id("")).unwrap());
    let matches = match place % KINDS {
        0 => Match { chat: chat(), topic: Some(TopicId::new(id("")).unwrap()), ..any },
        1 => Match { chat: chat(), user: user(), ..any },
        2 => Match { chat: chat(), ..any },
        3 => Match { user: user(), ..any },
        4 => {
            let role = Some(RoleId::new("moderators").unwrap());
            Match { community: community(), role, ..any }
        }
        5 => Match { community: community(), chat_type: Some(ChatType::Group), ..any },
        6 => Match { community: community(), ..any },
        _ => Match { account: Some(AccountId::new(id("bot-")).unwrap()), ..any },
    };
    Binding {
        number: place + 1,
        agent: AgentId::new(&format!("agent-{}", place % 1_000)).unwrap(),
        matches,
        priority: 0,
        narrowing: None,
        metadata: Metadata::new(),
        refusal: None,
    }
}

/// A message with every field, for a rule of each kind in turn, and then for none.
fn message(place: usize, bindings: usize, random: &mut u64) -> Address {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let kind = place % (KINDS + 1);
    let target = usize::try_from(*random >> 1).unwrap() % bindings / KINDS * KINDS + kind;
    let wanted = (kind < KINDS && target < bindings).then(|| rule(target).matches);
    let stranger = format!("{}", 900_000_000_000_000_000_u64 + *random % 1_000_000);
    let wanted = wanted.unwrap_or_else(|| Match::platform(discord()));
    let user = wanted.user.unwrap_or_else(|| UserId::new(&*stranger).unwrap());
    let community =
        wanted.community.unwrap_or_else(|| Community::Guild(GuildId::new(&*stranger).unwrap()));
    let topic = wanted.topic.unwrap_or_else(|| TopicId::new(&*stranger).unwrap());
    Address {
        platform: discord(),
        account: wanted.account.unwrap_or_else(|| AccountId::new("main").unwrap()),
        chat: wanted.chat.unwrap_or_else(|| ChatId::new(&*stranger).unwrap()),
        chat_type: ChatType::Group,
        topic: Some(topic),
        parent: Some(ChatId::new(stranger).unwrap()),
        community: Some(community),
        user: Some(user),
        roles: ["everyone", "members", "moderators"].map(|it| RoleId::new(it).unwrap()).into(),
    }
}

fn discord() -> Platform {
    Platform::new("discord").unwrap()
}
