//! How a turn went, a line for each thing that happened.

use super::text;
use serde_json::Value;

/// One thing that happened, and when, counted from when the message was taken in.
pub fn line(it: &Value) -> String {
    let after = it["after_ms"].as_i64().unwrap_or_default();
    format!("{:>9}  {}", seconds(after), what(it))
}

fn seconds(ms: i64) -> String {
    format!("{}.{:03} s", ms / 1_000, (ms % 1_000).abs())
}

fn ms(it: &Value) -> String {
    seconds(it.as_i64().unwrap_or_default())
}

fn what(it: &Value) -> String {
    match it["kind"].as_str().unwrap_or_default() {
        "began" => match it["waited_ms"].as_i64() {
            Some(waited) => format!("began, after waiting {}", seconds(waited)),
            None => "went on after a restart".to_owned(),
        },
        "model" => model(it),
        "call" => call(it),
        "failed" => failed(it),
        "delivery" => format!(
            "delivery to {}: {} after {}{}",
            text(it, "platform"),
            text(it, "state"),
            ms(&it["ms"]),
            tries(it["attempts"].as_u64().unwrap_or_default(), "tried in vain"),
        ),
        other => other.to_owned(),
    }
}

fn tries(count: u64, what: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!(", {what} once"),
        count => format!(", {what} {count} times in all"),
    }
}

fn model(it: &Value) -> String {
    let asked = format!("model {}, {} bytes shown", text(it, "model"), text(it, "prompt_bytes"));
    let again = match it["tries"].as_u64().unwrap_or(1) {
        0 | 1 => String::new(),
        count => format!(", {count} requests in all"),
    };
    let passed: String = it["passed_over"].as_array().into_iter().flatten().map(passed).collect();
    match it["failed"].as_str() {
        Some(cause) => {
            format!("{asked}: {cause}{} after {}{again}{passed}", status(it), ms(&it["ms"]))
        }
        None => format!(
            "{asked}: first byte after {}, all after {}, {} tokens in, {} out{again}{passed}",
            ms(&it["first_ms"]),
            ms(&it["ms"]),
            text(it, "input"),
            text(it, "output"),
        ),
    }
}

fn passed(it: &Value) -> String {
    format!("; {} passed over: {}{}", text(it, "model"), text(it, "failed"), status(it))
}

fn status(it: &Value) -> String {
    it["status"].as_u64().map(|status| format!(" ({status})")).unwrap_or_default()
}

fn call(it: &Value) -> String {
    let stages = it["gate"].as_array().into_iter().flatten().map(|stage| {
        let name = stage[0].as_str().unwrap_or_default();
        match stage[1].as_i64().unwrap_or_default() {
            0 => name.to_owned(),
            took => format!("{name} {}", seconds(took)),
        }
    });
    let stages: Vec<String> = stages.collect();
    let rule = it["rule"].as_str().map(|rule| format!(" by {rule}")).unwrap_or_default();
    let gate = if stages.is_empty() { "nothing".to_owned() } else { stages.join(", ") };
    format!(
        "call {}: {}{rule} after {}; passed {gate}",
        text(it, "tool"),
        text(it, "verdict"),
        ms(&it["ms"])
    )
}

fn failed(it: &Value) -> String {
    let asked = it["asked"].as_array().into_iter().flatten();
    let asked =
        asked.map(|it| format!("; {} {}{}", text(it, "model"), text(it, "cause"), status(it)));
    let asked: String = asked.collect();
    format!(
        "failed: {}{asked}{}",
        text(it, "cause"),
        tries(it["tries"].as_u64().unwrap_or_default(), "asked")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_happening_is_a_line_for_people() {
        for (it, said) in [
            (
                json!({"kind": "began", "after_ms": 12, "waited_ms": 12}),
                "  0.012 s  began, after waiting 0.012 s",
            ),
            (
                json!({"kind": "model", "after_ms": 2345, "model": "p/m", "prompt_bytes": 100, "tries": 3, "ms": 2000, "failed": "overloaded", "status": 503}),
                "  2.345 s  model p/m, 100 bytes shown: overloaded (503) after 2.000 s, 3 requests in all",
            ),
            (
                json!({"kind": "model", "after_ms": 2345, "model": "p/m", "prompt_bytes": 100, "tries": 1, "first_ms": 200, "ms": 900, "input": 5, "output": 6}),
                "  2.345 s  model p/m, 100 bytes shown: first byte after 0.200 s, all after 0.900 s, 5 tokens in, 6 out",
            ),
            (
                json!({"kind": "call", "after_ms": 1, "tool": "terminal", "verdict": "refused", "rule": "approval", "ms": 60_000, "gate": [["exposure", 0], ["policy", 3]]}),
                "  0.001 s  call terminal: refused by approval after 60.000 s; passed exposure, policy 0.003 s",
            ),
            (
                json!({"kind": "failed", "after_ms": 0, "cause": "key_refused", "tries": 1, "asked": [{"model": "p/m", "cause": "key_refused", "status": 401}]}),
                "  0.000 s  failed: key_refused; p/m key_refused (401), asked once",
            ),
        ] {
            assert_eq!(line(&it), said);
        }
    }
}
