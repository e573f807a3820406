//! Expressions: what they may say, what they answer, and that nothing makes them fall over.

use super::*;
use crate::arbitrary::cases;
use proptest::prelude::*;

const VARIABLES: &[Variable] = &[
    Variable::open("args"),
    Variable::record("turn", &["agent", "mentioned_addresses", "text", "admin"]),
    Variable::open("metadata"),
    Variable::open("user_id"),
    Variable::open("GLOBAL"),
];

fn bindings() -> Bindings {
    Bindings::new()
        .with(
            "args",
            Record::new()
                .with("to", Value::text("ann@example.org"))
                .with("amount", Value::double(5.5))
                .with("count", Value::int(7))
                .with("nothing", Value::null())
                .with("list", Value::texts(["a", "b"]))
                .build(),
        )
        .with(
            "turn",
            Record::new()
                .with("agent", Value::text("coder"))
                .with("mentioned_addresses", Value::texts(["ann@example.org", "bob@example.org"]))
                .with("text", Value::text("write to ann@example.org"))
                .with("admin", Value::bool(true))
                .build(),
        )
        .with("metadata", Record::new().with("org_id", Value::text("acme")).build())
        .with("user_id", Value::text("u1"))
        .with("GLOBAL", Value::global())
}

fn compile(text: &str) -> Result<Expression, ExprError> {
    Expression::compile(text, VARIABLES)
}

fn answer(text: &str) -> Result<Answer, ExprError> {
    compile(text)?.evaluate(&bindings())
}

fn yes(text: &str) {
    assert_eq!(answer(text), Ok(Answer::Bool(true)), "{text}");
}

fn text(text: &str) -> Answer {
    Answer::Text(text.to_owned())
}

#[test]
fn answers_are_of_the_kinds_that_somebody_asks_for() {
    yes("args.to in turn.mentioned_addresses");
    yes("args.amount <= 100 && args.count < 8");
    yes("args.count < 7.5 && args.amount > 5");
    yes("turn.mentioned_addresses.exists(a, a == args.to)");
    yes("turn.mentioned_addresses.all(a, a.endsWith('@example.org'))");
    yes("!has(args.subject) && has(args.to)");
    yes("args.to.split('@')[1] in ['example.org']");
    yes("size(turn.mentioned_addresses.filter(a, a.startsWith('ann'))) == 1");
    yes("'HOST'.lowerAscii() == 'host'");
    yes("args.nothing == null");
    assert_eq!(answer("'org:' + metadata.org_id"), Ok(text("org:acme")));
    assert_eq!(answer("turn.admin ? user_id : 'guest'"), Ok(text("u1")));
    assert_eq!(answer("metadata.org_id == 'acme' ? GLOBAL : GLOBAL"), Ok(Answer::Global));
    assert_eq!(
        answer("['org:' + metadata.org_id, user_id]"),
        Ok(Answer::Texts(vec!["org:acme".to_owned(), "u1".to_owned()]))
    );
    assert_eq!(answer("args.list"), Ok(Answer::Texts(vec!["a".to_owned(), "b".to_owned()])));
    assert_eq!(answer("[]"), Ok(Answer::Texts(Vec::new())));
}

#[test]
fn what_is_no_answer_is_an_error() {
    for (expression, what) in [
        ("args.nothing", "null"),
        ("args.missing", "there is no `missing`"),
        ("'org:' + metadata.team", "there is no `team`"),
        ("1", "answers a int"),
        ("args", "answers a map"),
        ("[1]", "no text"),
        ("1 / 0 == 1", "division by zero"),
        ("args.to > 1", "`>` does not take"),
        ("args.to + 1", "does not take"),
        ("args.list[7]", "not that long"),
        ("9223372036854775807 + 1 == 0", "too large"),
        ("args.to.substring(500)", "substring"),
    ] {
        let error = answer(expression).unwrap_err();
        assert!(error.what.contains(what), "{expression}: {error}");
    }
    let error = compile("user_id").unwrap().holds(&bindings()).unwrap_err();
    assert_eq!(error.what, "the expression answers a text, and must answer true or false");
    let unbound = compile("user_id").unwrap().evaluate(&Bindings::new()).unwrap_err();
    assert_eq!(unbound.what, "`user_id` has no value");
}

#[test]
fn a_mistake_is_found_when_the_text_is_compiled_and_has_a_place() {
    for (expression, what, column) in [
        ("args.to in trun.text", "unknown name `trun`; did you mean `turn`?", 12),
        ("turn.mentioned_adresses", "did you mean `mentioned_addresses`?", 6),
        ("'é' + usr_id", "did you mean `user_id`?", 7),
        ("nobody == 1", "known are `args`, `turn`", 1),
        ("user_id.matches('a.*')", "unknown function `matches`", 9),
        ("'a'.replace('', user_id)", "unknown function `replace`", 5),
        ("user_id == ", "", 12),
        ("", "empty", 1),
        ("b'ab' == b'ab'", "bytes", 1),
        ("turn.mentioned_addresses.exists(a, args.list.exists(b, a == b))", "inside another", 1),
        ("turn.mentioned_addresses.map(a, args.list.map(b, b))", "inside another", 1),
        ("Thing{a: 1}", "types", 1),
        ("x.exists(turn, turn.foo == 1)", "unknown name `x`", 1),
        ("args.?to == 'x'", "unsupported", 5),
        ("user_id == 1 user_id", "", 14),
        ("timestamp('2020-01-01T00:00:00Z') == 1", "unknown function `timestamp`", 1),
    ] {
        let error = compile(expression).unwrap_err();
        assert!(error.what.contains(what), "{expression}: {error}");
        assert_eq!(error.column, column, "{expression}: {error}");
    }
}

#[test]
fn metadata_that_is_taken_for_something_else_than_text_is_found() {
    for (expression, remedy) in [
        ("metadata.org == 7", "`metadata.org` is a text"),
        ("7 != metadata.org", "compare it with '7'"),
        ("metadata['org'] == -7", "compare it with '-7'"),
        ("metadata.org == -(7)", "compare it with '-7'"),
        ("metadata.org == 7u", "compare it with '7'"),
        ("turn.metadata.level > 2.5", "compare it with '2.5'"),
        ("metadata.beta == true ? 'a' : 'b'", "compare it with 'true'"),
        ("metadata.org in ['a', 7]", "compare it with '7'"),
        ("metadata.beta ? 'a' : 'b'", "write `metadata.beta == 'true'`"),
        ("!metadata.beta", "write `metadata.beta == 'true'`"),
        ("user_id == 'a' && metadata.beta", "write `metadata.beta == 'true'`"),
    ] {
        let variables =
            [Variable::open("metadata"), Variable::open("user_id"), Variable::open("turn")];
        let error = Expression::compile(expression, &variables).unwrap_err();
        assert!(error.what.contains(remedy), "{expression}: {error}");
    }
    for expression in [
        "metadata.org == '7'",
        "int(metadata.org) == 7",
        "metadata.org == null",
        "metadata.org == user_id",
        "metadata.org == string(7)",
        "(metadata != 'x') == true",
        "args['amount'] == 5.5",
        "metadata.org in ['7', user_id]",
        "has(metadata.org) && metadata.org != ''",
        "args.metadata.org == 7",
        "[{'org': 7}].exists(metadata, metadata.org == 7)",
        "user_id == 'u1' ? metadata.org : 'other'",
    ] {
        assert!(compile(expression).is_ok(), "{expression}");
    }
}

#[test]
fn a_name_that_a_comprehension_binds_hides_the_record() {
    yes("[{'foo': 1}].exists(turn, turn.foo == 1)");
}

#[test]
fn texts_that_are_too_large_are_refused_before_they_are_parsed() {
    let refused = |text: String| assert!(compile(&text).is_err(), "{text}");
    refused(format!("user_id == '{}'", "x".repeat(TEXT_BYTES_MAX)));
    refused(format!("{}1{} == 1", "(".repeat(500), ")".repeat(500)));
    refused(format!("{}true", "!".repeat(2_000)));
    refused(format!("{}1 == 1", "- ".repeat(1_000)));
    refused(format!("{}true", "true ? true : ".repeat(140)));
    refused(format!("user_id{} == 1", ".a".repeat(1_000)));
    refused(format!("args{} == 1", "[0]".repeat(600)));
    refused(format!("1{} == 1", "+1".repeat(1_000)));
    refused(format!("[{}1] == 1", "1,".repeat(1_000)));
    refused(["args.list.exists(a, a == 'b')"; 5].join(" || "));
    refused("[".repeat(2_000));
    refused("{".repeat(2_000));
}

#[test]
fn inputs_that_are_too_large_are_refused_before_they_are_looked_at() {
    let expression = compile("args.list.exists(a, a + a == user_id)").unwrap();
    let with = |list: Value, id: String| {
        let args = Record::new().with("list", list).build();
        expression.evaluate(&Bindings::new().with("args", args).with("user_id", Value::text(id)))
    };
    assert_eq!(with(Value::texts(["a"]), "aa".to_owned()), Ok(Answer::Bool(true)));
    assert!(with(Value::texts(["a"]), "a".repeat(INPUT_BYTES_MAX)).is_err());
    assert!(with(Value::texts(vec!["a"; INPUT_VALUES_MAX]), String::new()).is_err());
    assert!(with(Value::texts(vec!["a"; 4_000]), "a".repeat(100_000)).is_err());
    let deep = (0..INPUT_DEPTH_MAX).fold(Value::null(), |inner, _| Value::list([inner]));
    assert!(with(deep, String::new()).is_err());
    // A long message does not stop an expression that looks for a few addresses in it.
    assert_eq!(with(Value::texts(vec!["b"; 100]), "a".repeat(60_000)), Ok(Answer::Bool(false)));
}

#[test]
fn expressions_are_shared_between_threads_and_equal_by_text() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    let expression = compile("user_id").unwrap();
    shared(&expression);
    shared(&bindings());
    assert_eq!(expression, compile("user_id").unwrap());
    assert_ne!(expression, compile("user_id + ''").unwrap());
}

/// Pieces that make texts which are nearly right.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "args",
        "turn",
        "user_id",
        "GLOBAL",
        ".to",
        ".text",
        ".list",
        ".count",
        "[0]",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "'a'",
        "\"b\"",
        "'",
        "\\",
        "1",
        "-1",
        "9223372036854775807",
        "1.5",
        "1e999",
        "1u",
        "0x",
        "b'x'",
        "r'x'",
        "'''x",
        "true",
        "null",
        " && ",
        " || ",
        " in ",
        " == ",
        " < ",
        " + ",
        " * ",
        " / ",
        " % ",
        "!",
        "-",
        " ? ",
        " : ",
        ",",
        ".exists(a, a == 'a')",
        ".map(a, a + a)",
        ".filter(a, ",
        ".all(",
        "has(",
        "size(",
        ".split('')",
        ".join()",
        ".substring(1, 99)",
        ".substring(-1)",
        ".indexOf('é', 3)",
        ".trim()",
        "int(",
        "string(",
        "double(",
        "//",
        "\n",
        "é",
        "\u{0}",
        "`x`",
        ".?a",
        "..",
        "@in",
        "_",
        "\\u{110000}",
        "'\\ud800'",
        "'\\x'",
        "'\\777'",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Record> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::int as fn(i64) -> Value),
        any::<f64>().prop_map(Value::double),
        any::<String>().prop_map(Value::text),
        any::<bool>().prop_map(Value::bool),
        Just(()).prop_map(|()| Value::null()),
        prop::collection::vec(any::<String>(), 0..5).prop_map(Value::texts),
    ];
    prop::collection::vec((prop::sample::select(vec!["to", "list", "count"]), leaf), 0..4).prop_map(
        |fields| fields.into_iter().fold(Record::new(), |record, (n, v)| record.with(n, v)),
    )
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn no_text_and_no_input_makes_it_panic(
        text in prop_oneof![4 => pieces(), 1 => any::<String>(), 1 => "[ -~]{0,80}"],
        args in values(),
    ) {
        if let Ok(expression) = compile(&text) {
            let _ = expression.evaluate(&bindings().with("args", args.build()));
        }
    }

    #[test]
    fn a_column_is_within_the_text(text in prop_oneof![4 => pieces(), 1 => any::<String>()]) {
        if let Err(error) = compile(&text) {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{}", error);
        }
    }
}
