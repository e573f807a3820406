//! A model that does what it is told: a message is a list of acts in JSON, and each answer is
//! the next one. So a test writes down what a turn and all its children do, in one place.

use crate::turns::support::{Fixture, shown, with_tools};
use insula_testkit::upstream::{Seen, Step, event_stream};
use serde_json::{Value, json};

/// What one model call costs: tokens sent and received.
pub const INPUT: u64 = 10;
pub const OUTPUT: u64 = 3;

/// Calls a tool.
pub fn call(tool: &str, arguments: Value) -> Value {
    json!({ "call": tool, "arguments": arguments })
}

/// Makes several calls in one answer.
pub fn together<const N: usize>(calls: [Value; N]) -> Value {
    json!({ "together": calls.to_vec() })
}

/// Says something, which ends the turn.
pub fn say(text: &str) -> Value {
    json!({ "say": text })
}

/// Says all that its tools gave back, which ends the turn.
pub fn tell() -> Value {
    json!({ "tell": true })
}

/// Never answers.
pub fn hang() -> Value {
    json!({ "hang": true })
}

/// A message that has this done.
pub fn acts<const N: usize>(acts: [Value; N]) -> String {
    Value::Array(acts.to_vec()).to_string()
}

/// Hands these messages to children.
pub fn delegate(tasks: impl IntoIterator<Item = Value>) -> Value {
    call("delegate_task", json!({ "tasks": tasks.into_iter().collect::<Vec<_>>() }))
}

/// A daemon with these agents and the model that does what it is told.
pub async fn open_fixture(agents: &str) -> Fixture {
    with_tools(None, agents, insula_tools::BUILT_IN, |seen, _| play(seen)).await
}

/// The answer to a request.
pub fn play(seen: &Seen) -> Vec<Step> {
    let said = shown(seen);
    let from = said.iter().rposition(|(role, _)| role == "user").unwrap_or(0);
    let program = said.get(from).map(|(_, text)| text.as_str()).unwrap_or_default();
    // What stands behind the list is context. Messages in a row come as one: the last list counts.
    let list = |text: &str| serde_json::Deserializer::from_str(text).into_iter().next();
    let lists = program.rsplit("\n\n").filter_map(list);
    let acts: Vec<Value> = lists.flatten().next().unwrap();
    let at = said[from..].iter().filter(|(role, _)| role == "assistant").count();
    let act = acts.get(at).unwrap_or_else(|| panic!("no act {at} in {program}"));
    if act["hang"] == true {
        return vec![Step::Hang];
    }
    let calls = match (&act["together"], &act["call"]) {
        (Value::Array(calls), _) => calls.as_slice(),
        (_, Value::String(_)) => std::slice::from_ref(act),
        _ => &[],
    };
    let tool_call = |(index, call): (usize, &Value)| {
        let function = json!({ "name": call["call"], "arguments": call["arguments"].to_string() });
        // By the number of the answer, and among several of one answer by their own.
        let id = if index == 0 { format!("c{at}") } else { format!("c{at}-{index}") };
        json!({ "index": index, "id": id, "type": "function", "function": function })
    };
    let (delta, reason) = match calls {
        [_, ..] => {
            let calls: Vec<Value> = calls.iter().enumerate().map(tool_call).collect();
            (json!({ "tool_calls": calls }), "tool_calls")
        }
        _ if act["tell"] == true => {
            let results = said[from..].iter().filter(|(role, _)| role == "tool");
            let results: Vec<&str> = results.map(|(_, text)| text.as_str()).collect();
            (json!({ "content": results.join("\n--\n") }), "stop")
        }
        _ => {
            let times = usize::try_from(act["times"].as_u64().unwrap_or(1)).unwrap();
            let words = act["say"].as_str().unwrap();
            // Numbered: what says the same again and again is cut off.
            let many = || (0..times).map(|number| format!("{words}{number} ")).collect();
            let words = if times == 1 { words.to_owned() } else { many() };
            (json!({ "content": words }), "stop")
        }
    };
    let delta = json!({ "choices": [{ "index": 0, "delta": delta }] }).to_string();
    let stop =
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }).to_string();
    let usage =
        json!({ "choices": [], "usage": { "prompt_tokens": INPUT, "completion_tokens": OUTPUT } });
    event_stream([&*delta, &*stop, &*usage.to_string(), "[DONE]"])
}

/// The names of the tools that a request offers.
pub fn offered(seen: &Seen) -> Vec<String> {
    let tools = seen.json()["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}
