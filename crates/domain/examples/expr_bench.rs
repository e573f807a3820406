//! How long an expression takes: the scope of a memory, and a rule over a call's arguments.
//!
//! `cargo run --release -p insula-domain --example expr_bench`
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads a clock; it is no part of the program"
)]
#![allow(clippy::unwrap_used, reason = "the texts here are good")]

use insula_domain::expr::{Bindings, Expression, Record, Value, Variable};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 50_000;
const VARIABLES: &[Variable] = &[
    Variable::open("operation"),
    Variable::open("session_id"),
    Variable::open("platform"),
    Variable::open("account"),
    Variable::open("channel_id"),
    Variable::open("topic_id"),
    Variable::open("user_id"),
    Variable::open("agent_id"),
    Variable::open("metadata"),
    Variable::open("args"),
    Variable::open("turn"),
];

fn payload() -> Bindings {
    Bindings::new()
        .with("operation", Value::text("read"))
        .with("session_id", Value::text("agent:coder:telegram:main:group:-1001234567:topic:7"))
        .with("platform", Value::text("telegram"))
        .with("account", Value::text("main"))
        .with("channel_id", Value::text("-1001234567"))
        .with("topic_id", Value::text("7"))
        .with("user_id", Value::text("12345"))
        .with("agent_id", Value::text("coder"))
        .with("metadata", Record::new().with("org_id", Value::text("acme")).build())
}

fn main() {
    let args = Record::new().with("to", Value::text("p9@example.org")).build();
    let addresses = (0..10).map(|n| format!("p{n}@example.org"));
    let turn = Record::new().with("mentioned_addresses", Value::texts(addresses)).build();
    let call = Bindings::new().with("args", args).with("turn", turn);
    for (name, text) in [
        ("organisation", "'org:' + metadata.org_id"),
        (
            "per platform",
            "platform == 'telegram' ? 'chat:' + channel_id : (has(metadata.org_id) ? \
             'org:' + metadata.org_id : 'user:' + user_id)",
        ),
    ] {
        let expression = Expression::compile(text, VARIABLES).unwrap();
        report(name, "payload made each time", || expression.evaluate(&payload()));
        let kept = payload();
        report(name, "payload kept", || expression.evaluate(&kept));
    }
    for (name, text) in [
        ("mentioned", "args.to in turn.mentioned_addresses"),
        ("exists", "turn.mentioned_addresses.exists(a, a == args.to)"),
    ] {
        let expression = Expression::compile(text, VARIABLES).unwrap();
        report(name, "values kept", || expression.evaluate(&call));
    }
    report("compile", "organisation", || {
        Expression::compile("'org:' + metadata.org_id", VARIABLES)
    });
}

fn report<T>(name: &str, how: &str, mut run: impl FnMut() -> T) {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        for _ in 0..ROUNDS {
            black_box(run());
        }
        best = best.min(begun.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
    }
    println!("{name:14} {how:24} {best:8.2} µs");
}
