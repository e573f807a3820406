//! Whose call is whose.

use super::*;
use insula_store::{MessageSeq, SessionId, TurnId};
use insula_world::Timestamp;
use proptest::prelude::*;

fn schema(name: &str) -> ToolSchema {
    ToolSchema::new(name, "", r#"{"type":"object"}"#).unwrap()
}

fn wishes(names: &[&str], calls: CallCount) -> Wishes {
    Wishes { tools: names.iter().map(|name| schema(name)).collect(), calls, ..Wishes::default() }
}

fn call(id: &str, name: &str) -> Part {
    Part::ToolCall { id: id.into(), name: name.into(), arguments: "{}".to_owned() }
}

fn thought() -> Part {
    Part::Reasoning { text: "hm".to_owned(), signature: Some("proof".to_owned()) }
}

fn message(role: Role, turn: i64, parts: Vec<Part>) -> Message {
    Message {
        session: SessionId(1),
        seq: MessageSeq(1),
        turn: Some(TurnId(turn)),
        role,
        parts,
        principal: "api:t".into(),
        scope: "custom:s".parse().unwrap(),
        label: "anyone".into(),
        generation: 1,
        at: Timestamp::from_millis(0),
    }
}

fn result(call: &str) -> Part {
    Part::ToolResult { call: call.into(), text: "x".to_owned(), is_error: false, untrusted: false }
}

#[test]
fn a_name_that_the_agent_has_is_the_agents() {
    let own: Arc<[ToolSchema]> = [schema("todo")].into();
    let wishes = wishes(&["todo", "weather"], CallCount::Many);
    let shown: Vec<_> = wishes.beside(own.clone()).iter().map(|it| it.name.clone()).collect();
    assert_eq!(shown, ["todo".into(), "weather".into()]);
    let apart = wishes.apart(vec![call("1", "todo")], &own);
    assert_eq!(apart, Apart { own: vec![call("1", "todo")], client: Vec::new() });
}

#[test]
fn without_a_choice_none_of_the_callers_tools_are_shown_or_called() {
    let wishes = Wishes { choice: ToolChoice::None, ..wishes(&["weather"], CallCount::Many) };
    assert!(wishes.beside(Arc::new([])).is_empty());
    let mut request = Request::new("m", Vec::new());
    wishes.put_into(&mut request);
    assert_eq!(request.tool_choice, ToolChoice::Auto, "the agent's own tools are its own affair");
    let apart = wishes.apart(vec![call("1", "weather")], &[]);
    assert!(apart.client.is_empty(), "{apart:?}");
}

#[test]
fn what_is_the_callers_has_another_name_in_the_journal_and_its_own_for_the_caller() {
    let parts = vec![thought(), Part::Text("let me see".to_owned()), call("1", "skill_view")];
    let apart = wishes(&["skill_view"], CallCount::Many).apart(parts, &[]);
    assert!(apart.own.is_empty());
    assert_eq!(apart.client[2], call("1", "client__skill_view"));
    assert_eq!(told("client__skill_view"), "skill_view");
    assert_eq!(told("skill_view"), "skill_view");
    let calls = calls_of(&apart.client);
    assert_eq!((calls.len(), &*calls[0].name, &*calls[0].id), (1, "skill_view", "1"));
    assert!(calls_of(&[call("1", "skill_view")]).is_empty());
}

#[test]
fn no_arguments_at_all_are_none() {
    let empty = Part::ToolCall { id: "1".into(), name: "f".into(), arguments: " ".to_owned() };
    let apart = wishes(&["f"], CallCount::Many).apart(vec![empty], &[]);
    assert_eq!(calls_of(&apart.client)[0].arguments, "{}");
}

#[test]
fn calls_wait_until_they_are_answered_or_something_else_is_said() {
    let asking =
        || message(Role::Assistant, 1, vec![call("1", "client__f"), call("2", "client__g")]);
    let ids = |messages: &[Message]| -> Vec<String> {
        waiting(messages).iter().map(|call| call.id.to_string()).collect()
    };
    let said = |turn| message(Role::User, turn, vec![Part::Text("hi".to_owned())]);
    assert_eq!(ids(&[said(1), asking()]), ["1", "2"]);
    assert_eq!(ids(&[said(1), asking(), message(Role::Tool, 1, vec![result("1")])]), ["2"]);
    assert!(ids(&[said(1), asking(), said(2)]).is_empty(), "another turn began");
    assert!(ids(&[asking(), message(Role::Tool, 2, vec![result("1")])]).is_empty());
    assert!(ids(&[said(1), message(Role::Assistant, 1, vec![call("1", "f")])]).is_empty());
    assert!(ids(&[]).is_empty());
}

#[test]
fn what_came_of_a_callers_tool_is_told_by_its_name_and_nothing_else_is() {
    let history = [
        (Role::Assistant, vec![call("1", "client__f"), call("2", "todo")]),
        (Role::Tool, vec![result("1"), result("2"), result("3")]),
    ];
    let last = ClientResult { call: "9".into(), name: "g".into(), text: String::new() };
    let found: Vec<String> = sources(&history, &[last]).map(|it| it.to_string()).collect();
    assert_eq!(found, ["client:f", "client:g"]);
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        "[a-z]{0,4}".prop_map(Part::Text),
        Just(thought()),
        (0..9_u8, prop::sample::select(vec!["todo", "f", "g", "h"]))
            .prop_map(|(id, name)| call(&id.to_string(), name)),
    ]
}

proptest! {
    /// Every call goes to whoever has the tool, none to both, and nothing that was said is lost.
    #[test]
    fn an_answer_comes_apart_without_loss(
        parts in prop::collection::vec(any_part(), 0..8),
        is_single: bool,
    ) {
        let count = if is_single { CallCount::One } else { CallCount::Many };
        let own = [schema("todo")];
        let apart = wishes(&["todo", "f", "g"], count).apart(parts.clone(), &own);
        let is_theirs = |part: &Part| {
            matches!(part, Part::ToolCall { name, .. } if **name == *"f" || **name == *"g")
        };
        let theirs = parts.iter().filter(|part| is_theirs(part)).count();
        let handed = calls_of(&apart.client);
        prop_assert_eq!(handed.len(), if is_single { theirs.min(1) } else { theirs });
        prop_assert!(calls_of(&apart.own).is_empty());
        let is_call = |part: &&Part| matches!(part, Part::ToolCall { .. });
        let kept: Vec<&Part> = parts.iter().filter(|part| !is_theirs(part)).collect();
        if theirs == 0 || kept.iter().any(is_call) {
            prop_assert_eq!(apart.own.iter().collect::<Vec<_>>(), kept);
        } else {
            prop_assert!(apart.own.is_empty());
            let said: Vec<&Part> = apart.client.iter().filter(|part| !is_call(part)).collect();
            prop_assert_eq!(said, kept);
        }
        // A provider wants its thoughts before the calls they led to.
        let thoughts = |parts: &[Part]| {
            parts.iter().filter(|part| matches!(part, Part::Reasoning { .. })).count()
        };
        if !apart.client.is_empty() {
            prop_assert_eq!(thoughts(&apart.client), thoughts(&parts));
        }
    }
}
