//! Where the bounds of expressions are: what is exactly as large as it may be works, and one
//! more is refused.

use super::*;

const VARIABLES: &[Variable] = &[Variable::open("args")];

fn compile(text: &str) -> Result<Expression, ExprError> {
    Expression::compile(text, VARIABLES)
}

/// A text with so much of something compiles up to this much of it.
fn compiles_up_to(max: usize, text: impl Fn(usize) -> String, refusal: &str) {
    assert_eq!(compile(&text(max)).map(|_| ()), Ok(()), "{}", text(max));
    for count in [max + 1, max + 2] {
        let error = compile(&text(count)).unwrap_err();
        assert!(error.what.contains(refusal), "{}: {error}", text(count));
    }
}

#[test]
fn texts_are_bounded_in_length_and_nesting() {
    let spaces = |bytes: usize| format!("true{}", " ".repeat(bytes - 4));
    compiles_up_to(TEXT_BYTES_MAX, spaces, "bytes, and at most");
    let brackets = |depth: usize| format!("{}true{}", "(".repeat(depth), ")".repeat(depth));
    compiles_up_to(DEPTH_MAX, brackets, "nested too deeply");
    let prefixes = |count: usize| format!("[{}]", vec!["!true"; count].join(", "));
    compiles_up_to(48, prefixes, "nested too deeply");
    // What was closed is not deep.
    let beside = format!("[{}]", vec!["[]"; DEPTH_MAX * 2].join(", "));
    assert!(compile(&beside).is_ok());
}

#[test]
fn trees_are_bounded_in_depth_and_parts() {
    let fields = |depth: usize| format!("args{}", ".a".repeat(depth));
    compiles_up_to(DEPTH_MAX * 2, fields, "nested too deeply");
    // The list is a part too.
    let parts = |count: usize| format!("[{}]", vec!["1"; count - 1].join(","));
    compiles_up_to(NODES_MAX, parts, "too many parts");
    let loops = |count: usize| vec!["args.list.exists(a, a == 'b')"; count].join(" || ");
    compiles_up_to(COMPREHENSIONS_MAX, loops, "comprehensions are allowed");
}

#[test]
fn inputs_are_bounded_in_bytes_values_and_depth() {
    let expression = compile("true").unwrap();
    let with = |value: Value| expression.evaluate(&Bindings::new().with("args", value));
    let refused = |value: Value, why: &str| {
        let error = with(value).unwrap_err();
        assert!(error.what.contains(why), "{error}");
    };
    // Every value counts for eight bytes besides its own.
    let text = |bytes: usize| Value::text("a".repeat(bytes - 8));
    assert_eq!(with(text(INPUT_BYTES_MAX)), Ok(Answer::Bool(true)));
    refused(text(INPUT_BYTES_MAX + 1), "bytes");
    refused(text(INPUT_BYTES_MAX * 2), "bytes");
    let values = |count: usize| Value::list((1..count).map(|_| Value::null()));
    assert_eq!(with(values(INPUT_VALUES_MAX)), Ok(Answer::Bool(true)));
    refused(values(INPUT_VALUES_MAX + 1), "values");
    let deep = |depth: usize| (1..depth).fold(Value::null(), |inner, _| Value::list([inner]));
    assert_eq!(with(deep(INPUT_DEPTH_MAX)), Ok(Answer::Bool(true)));
    refused(deep(INPUT_DEPTH_MAX + 1), "levels");
}

#[test]
fn a_text_that_is_split_counts_as_a_list_as_long_as_itself() {
    let with = |text: &str| {
        let args = Value::text("a".repeat(16 * 1024));
        compile(text).unwrap().evaluate(&Bindings::new().with("args", args))
    };
    assert_eq!(with("[args].exists(a, a == 'b')"), Ok(Answer::Bool(false)));
    let error = with("args.split('a').exists(a, a == 'b')").unwrap_err();
    assert!(error.what.contains("too long for a comprehension"), "{error}");
    // It counts wherever it stands in the expression.
    let error = with("args.split('a').exists(a, a == 'b') || args == 'b'").unwrap_err();
    assert!(error.what.contains("too long for a comprehension"), "{error}");
}

#[test]
fn answers_are_bounded() {
    let with = |bytes: usize| {
        let text = Value::text("a".repeat(bytes));
        compile("args").unwrap().evaluate(&Bindings::new().with("args", text))
    };
    assert_eq!(with(ANSWER_BYTES_MAX), Ok(Answer::Text("a".repeat(ANSWER_BYTES_MAX))));
    assert!(with(ANSWER_BYTES_MAX + 1).is_err());
    assert!(with(ANSWER_BYTES_MAX + 2).is_err());
}
