//! `insula usage`

use super::text;
use crate::arguments::{Usage, UsageBy};
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::Value;

const COLUMNS: [&str; 6] = ["turns", "input", "cached", "output", "usd", "left today"];

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Usage) -> Result<u8, Failure> {
    let days = command.days;
    let by_key = command.by == UsageBy::Key;
    match command.agent {
        None if by_key => {
            let used = reach.get(&format!("/api/usage?days={days}&by=key")).await?;
            reach.give(answer, &used, keys).await;
        }
        None => {
            let used = reach.get(&format!("/api/usage?days={days}")).await?;
            reach.give(answer, &used, all).await;
        }
        Some(agent) => {
            let path = format!("/api/agents/{}/usage?days={days}", part(&agent));
            let used = reach.get(&path).await?;
            let show = if by_key { keys } else { one };
            reach.give_of(&agent, answer, &used, show).await;
        }
    }
    Ok(0)
}

fn all(used: &Value) {
    let agents = used["agents"].as_array().into_iter().flatten();
    let mut rows: Vec<Vec<String>> =
        agents.map(|it| with_left(row(text(it, "agent"), it), &it["budget"])).collect();
    rows.push(with_left(row("all".to_owned(), &used["total"]), &used["budget"]));
    output::table(&headers("agent"), rows);
}

fn one(used: &Value) {
    let agent = text(used, "agent");
    output::table(&headers("agent"), [with_left(row(agent, used), &used["budget"])]);
    let paid = used["keys"].as_array().is_some_and(|keys| !keys.is_empty());
    for (name, list) in
        [("day", "days"), ("principal", "principals"), ("context", "contexts"), ("way in", "ways")]
    {
        let parts: Vec<_> = used[list].as_array().into_iter().flatten().collect();
        if !parts.is_empty() {
            output::line("");
            let rows = parts.iter().map(|it| row(text(it, "name"), it));
            output::table(&headers(name)[..6], rows);
        }
    }
    if paid {
        output::line("");
        keys(used);
    }
}

/// By the keys that paid.
fn keys(used: &Value) {
    let headers = ["key", "from", "mark", "agent", "calls", "input", "cached", "output", "usd"];
    let rows = used["keys"].as_array().into_iter().flatten().map(|it| {
        let number = |key: &str| it[key].to_string();
        let mark = it["mark"].as_str().unwrap_or("-").to_owned();
        let usd = it["usd"].as_f64().unwrap_or(0.0);
        vec![
            text(it, "provider"),
            text(it, "source"),
            mark,
            text(it, "agent"),
            number("calls"),
            number("input_tokens"),
            number("cached_tokens"),
            number("output_tokens"),
            format!("{usd:.4}"),
        ]
    });
    output::table(&headers, rows);
}

fn headers(first: &'static str) -> [&'static str; 7] {
    let [turns, input, cached, output, usd, left] = COLUMNS;
    [first, turns, input, cached, output, usd, left]
}

fn row(name: String, sums: &Value) -> Vec<String> {
    let number = |key: &str| sums[key].to_string();
    let usd = sums["usd"].as_f64().unwrap_or(0.0);
    vec![
        name,
        number("turns"),
        number("input_tokens"),
        number("cached_tokens"),
        number("output_tokens"),
        format!("{usd:.4}"),
    ]
}

fn with_left(mut row: Vec<String>, budget: &Value) -> Vec<String> {
    row.push(left(budget));
    row
}

/// What a budget leaves today, as one cell.
fn left(budget: &Value) -> String {
    let usd = budget["usd_left"].as_f64().zip(budget["usd_per_day"].as_f64());
    let usd = usd.map(|(left, most)| format!("{left:.4} of {most} usd"));
    let tokens = budget["tokens_left"].as_u64().zip(budget["tokens_per_day"].as_u64());
    let tokens = tokens.map(|(left, most)| format!("{left} of {most} tokens"));
    let turns = budget["turns_per_minute"].as_u64().map(|most| format!("{most} turns a minute"));
    [usd, tokens, turns].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
