//! What hooks may answer, and what is nonsense.

use super::answer::{Action, HookAnswer, ScopeAnswer, of_expression, of_text};
use insula_domain::CustomId;
use insula_domain::expr;
use insula_domain::hook::HookEvent::{
    self, MemoryScope, PostToolCall, PreLlmCall, PreToolCall, RouteSelect, TransformToolResult,
};

fn said(event: HookEvent, text: &str) -> Result<HookAnswer, String> {
    of_text(event, text.as_bytes())
}

fn scope(context: Option<&str>, read: &[&str]) -> HookAnswer {
    let id = |id: &&str| CustomId::new(id).unwrap();
    HookAnswer::Scope(ScopeAnswer {
        context: context.as_ref().map(id),
        read: read.iter().map(id).collect(),
    })
}

#[test]
fn every_form_of_an_answer_is_read() {
    let block = |why: &str| Ok(HookAnswer::Block(why.to_owned()));
    for (event, text, expected) in [
        (PreToolCall, "", Ok(HookAnswer::Nothing)),
        (PreToolCall, " {} \n", Ok(HookAnswer::Nothing)),
        (PreToolCall, r#"{"decision": "allow"}"#, Ok(HookAnswer::Nothing)),
        (PreToolCall, r#"{"decision": "block", "reason": "no"}"#, block("no")),
        (PreToolCall, r#"{"action": "block", "message": "no"}"#, block("no")),
        (
            PreToolCall,
            r#"{"decision": "approve", "reason": "sure?"}"#,
            Ok(HookAnswer::Approve("sure?".into())),
        ),
        (
            PreLlmCall,
            r#"{"context": "it is raining"}"#,
            Ok(HookAnswer::Context("it is raining".into())),
        ),
        (TransformToolResult, r#"{"text": ""}"#, Ok(HookAnswer::Text(String::new()))),
        (
            MemoryScope,
            r#"{"context_id": "org:acme", "read": ["all"]}"#,
            Ok(scope(Some("org:acme"), &["all"])),
        ),
        (MemoryScope, r#"{"context_id": null}"#, Ok(scope(None, &[]))),
        (RouteSelect, r#"{"action": "allow"}"#, Ok(HookAnswer::Nothing)),
        (PostToolCall, "whatever", Ok(HookAnswer::Nothing)),
        // Who says both yes and no says no.
        (PreToolCall, r#"{"decision": "allow", "action": "block", "message": "no"}"#, block("no")),
        (PreToolCall, r#"{"decision": "block", "action": "allow", "reason": "no"}"#, block("no")),
        (RouteSelect, r#"{"action": "deny", "reason": "no"}"#, block("no")),
        (
            PreToolCall,
            r#"{"decision": "allow", "action": "approve", "reason": "sure?"}"#,
            Ok(HookAnswer::Approve("sure?".into())),
        ),
    ] {
        assert_eq!(said(event, text), expected, "{event}: {text}");
    }
    let route = said(RouteSelect, r#"{"action": "route", "agent": "b"}"#).unwrap();
    assert_eq!(route, HookAnswer::Action(Action::Route("b".to_owned())));
    assert!(said(RouteSelect, r#"{"action": "rewrite"}"#).is_err());
}

#[test]
fn nonsense_is_a_failure_and_never_an_agreement() {
    for (event, text) in [
        (PreToolCall, "yes"),
        (PreToolCall, "[]"),
        (PreToolCall, "null"),
        (PreToolCall, r#"{"decison": "block"}"#),
        (PreToolCall, r#"{"decison": "block", "context": "it may not"}"#),
        (PreToolCall, r#"{"decision": "block", "reason": "a", "decision": "allow"}"#),
        (PreToolCall, r#"{"decision": "allow"} {"decision": "block"}"#),
        (MemoryScope, r#"{"context_id": "a", "context_id": null}"#),
        (PreToolCall, r#"{"decision": "maybe"}"#),
        (PreToolCall, r#"{"decision": true}"#),
        (PreToolCall, r#"{"decision": "block", "#),
        (PreToolCall, "\u{0}"),
        (MemoryScope, ""),
        (MemoryScope, "{}"),
        (MemoryScope, r#"{"context": "x"}"#),
        (MemoryScope, r#"{"context_id": 7}"#),
        (MemoryScope, r#"{"context_id": ""}"#),
        (MemoryScope, r#"{"context_id": "x", "read": "y"}"#),
        (MemoryScope, r#"{"context_id": "x", "read": [1]}"#),
        (TransformToolResult, ""),
        (TransformToolResult, "{}"),
        (TransformToolResult, r#"{"decision": "allow"}"#),
        (PreLlmCall, r#"{"decision": "approve"}"#),
        (RouteSelect, r#"{"action": "everywhere"}"#),
    ] {
        assert!(said(event, text).is_err(), "{event}: {text}");
    }
    assert!(of_text(PreToolCall, &[0xff, 0xfe]).is_err());
}

#[test]
fn an_expression_answers_as_the_event_asks() {
    let text = |text: &str| expr::Answer::Text(text.to_owned());
    let yes = expr::Answer::Bool(true);
    assert_eq!(of_expression(PreToolCall, yes.clone()), Ok(HookAnswer::Nothing));
    assert!(matches!(
        of_expression(PreToolCall, expr::Answer::Bool(false)),
        Ok(HookAnswer::Block(_))
    ));
    assert!(of_expression(PreToolCall, text("x")).is_err());
    assert_eq!(of_expression(MemoryScope, text("a")), Ok(scope(Some("a"), &[])));
    assert_eq!(of_expression(MemoryScope, expr::Answer::Global), Ok(scope(None, &[])));
    assert!(of_expression(MemoryScope, yes.clone()).is_err());
    assert!(of_expression(MemoryScope, text("")).is_err());
    assert!(of_expression(MemoryScope, expr::Answer::Texts(vec![])).is_err());
    assert_eq!(of_expression(TransformToolResult, text("x")), Ok(HookAnswer::Text("x".into())));
    assert!(of_expression(TransformToolResult, yes).is_err());
}
