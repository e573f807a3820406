//! Which tools of a request are taken.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn function(name: &str) -> Value {
    json!({ "type": "function", "function": { "name": name, "parameters": { "type": "object" } } })
}

fn request(tools: Value, tool_choice: Value) -> ToolRequest {
    ToolRequest { tools, tool_choice, parallel_tool_calls: Value::Null }
}

fn param(request: &ToolRequest) -> Value {
    request.read(|name| name == "todo").unwrap_err().body()["error"]["param"].clone()
}

#[test]
fn functions_are_taken_in_the_words_of_both_apis() {
    let tools = json!([
        function("f"),
        { "type": "function", "name": "g", "description": "does g", "strict": true },
    ]);
    let taken = request(tools, Value::Null).read(|_| false).unwrap();
    let names: Vec<&str> = taken.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["f", "g"]);
    assert_eq!(&*taken.tools[1].description, "does g");
    assert_eq!((taken.choice, taken.calls), (ToolChoice::Auto, CallCount::Many));
}

#[test]
fn what_is_no_tool_or_has_a_name_that_is_taken_is_refused_where_it_stands() {
    for (tools, at) in [
        (json!([function("todo")]), "tools[0]"),
        (json!([function("f"), function("f")]), "tools[1]"),
        (json!([function("a b")]), "tools[0]"),
        (json!([function("")]), "tools[0]"),
        (json!([function(&"x".repeat(65))]), "tools[0]"),
        (json!([{ "type": "web_search" }]), "tools[0]"),
        (json!([{ "type": "custom", "custom": { "name": "c" } }]), "tools[0]"),
        (json!([{ "function": { "name": "f" } }]), "tools[0]"),
        (
            json!([{ "type": "function", "function": { "name": "f", "parameters": [] } }]),
            "tools[0]",
        ),
        (json!({}), "tools"),
        (json!(vec![function("f"); 129]), "tools"),
        (json!([{ "type": "function", "name": "f", "description": "x".repeat(300_000) }]), "tools"),
    ] {
        assert_eq!(param(&request(tools, Value::Null)), at);
    }
}

#[test]
fn a_choice_is_a_word_or_names_what_is_there() {
    let two = || json!([function("f"), function("g")]);
    let read = |choice: Value| request(two(), choice).read(|_| false);
    for (choice, expected) in [
        (json!("auto"), ToolChoice::Auto),
        (json!("none"), ToolChoice::None),
        (json!("required"), ToolChoice::Required),
        (json!({ "type": "function", "function": { "name": "g" } }), ToolChoice::Tool("g".into())),
        (json!({ "type": "function", "name": "g" }), ToolChoice::Tool("g".into())),
    ] {
        assert_eq!(read(choice.clone()).unwrap().choice, expected, "{choice}");
    }
    for choice in [
        json!({ "type": "allowed_tools", "allowed_tools": { "mode": "required", "tools": [function("g")] } }),
        json!({ "type": "allowed_tools", "mode": "required", "tools": [{ "type": "function", "name": "g" }] }),
    ] {
        let taken = read(choice).unwrap();
        assert_eq!((taken.tools.len(), &*taken.tools[0].name), (1, "g"));
        assert_eq!(taken.choice, ToolChoice::Required);
    }
    for choice in [
        json!("always"),
        json!(7),
        json!({ "type": "function" }),
        json!({ "type": "function", "name": "h" }),
        json!({ "type": "allowed_tools", "tools": [{ "type": "function", "name": "h" }] }),
    ] {
        assert_eq!(param(&request(two(), choice.clone())), "tool_choice", "{choice}");
    }
    // Without tools it has no meaning, and is read past.
    assert!(request(json!([]), json!("required")).read(|_| false).unwrap().tools.is_empty());
}

#[test]
fn one_call_at_a_time_can_be_asked_for() {
    let with = |parallel: Value| ToolRequest {
        tools: json!([function("f")]),
        tool_choice: Value::Null,
        parallel_tool_calls: parallel,
    };
    assert_eq!(with(json!(false)).read(|_| false).unwrap().calls, CallCount::One);
    assert_eq!(with(json!(true)).read(|_| false).unwrap().calls, CallCount::Many);
    assert_eq!(param(&with(json!("no"))), "parallel_tool_calls");
}

proptest! {
    #[test]
    fn a_name_that_is_taken_fits_every_provider(name in ".{0,80}") {
        let read = request(json!([function(&name)]), Value::Null).read(|_| false);
        let fits = !name.is_empty()
            && name.len() <= 64
            && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_' || it == b'-');
        prop_assert_eq!(read.is_ok(), fits);
    }
}
