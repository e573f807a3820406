//! How long argument rules take to decide about one call.
//!
//! `cargo run --release -p insula-domain --example rule_bench`
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads a clock; it is no part of the program"
)]
#![allow(clippy::unwrap_used, reason = "the rules here are good")]

use insula_domain::argument::{
    Absent, Arguments, Bound, CallArguments, Demand, Earlier, FoundArgument, VARIABLES,
};
use insula_domain::expr::{Expression, Record, Value};
use insula_domain::{ArgumentRule, ArgumentRules, Selector};
use std::borrow::Cow;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: u32 = 50_000;

struct Made(&'static str, &'static str);

impl Arguments for Made {
    fn at(&self, path: &[Box<str>]) -> FoundArgument<'_> {
        if *path[0] == *self.0 { FoundArgument::Text(self.1.into()) } else { FoundArgument::Absent }
    }
}

impl CallArguments for Made {
    fn arguments(&self) -> Value {
        Record::new().with(self.0, Value::text(self.1)).build()
    }

    fn turn(&self) -> Arc<Value> {
        let addresses = Value::texts(["ann@example.org"]);
        Arc::new(Record::new().with("mentioned_addresses", addresses).build())
    }

    fn said(&self) -> Cow<'_, str> {
        "write to ann@example.org".into()
    }

    fn earlier(&self) -> Vec<Earlier<'_>> {
        Vec::new()
    }
}

fn main() {
    let rule = |tool: &str, demand: Demand| ArgumentRule {
        tools: Selector::parse(tool).unwrap(),
        name: tool.into(),
        demand,
    };
    let bound = |at: &str, bound: Bound| Demand::Argument {
        at: [at.into()].into(),
        bound,
        absent: Absent::Refused,
    };
    let holds = Expression::compile("args.to in turn.mentioned_addresses", VARIABLES).unwrap();
    let rules = ArgumentRules::new([
        rule("web_extract", bound("url", Bound::hosts(["docs.rs", "*.example.org"]).unwrap())),
        rule("terminal", bound("command", Bound::commands(["cargo", "git status"]).unwrap())),
        rule("write_file", bound("path", Bound::paths(["src/**", "*.md"]).unwrap())),
        rule("send_message", Demand::Holds(holds)),
    ]);
    for (tool, call) in [
        ("todo", Made("todos", "x")),
        ("web_extract", Made("url", "https://a.example.org/page?x=1")),
        ("write_file", Made("path", "src/deep/in/here/file.rs")),
        ("terminal", Made("command", "cargo test -p insula-domain && git status | cargo x")),
        ("send_message", Made("to", "ann@example.org")),
    ] {
        let mut best = f64::MAX;
        for _ in 0..5 {
            let begun = Instant::now();
            for _ in 0..ROUNDS {
                black_box(rules.admit(tool, black_box(&call))).unwrap();
            }
            best = best.min(begun.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
        }
        println!("{tool:14} {best:8.2} µs");
    }
}
