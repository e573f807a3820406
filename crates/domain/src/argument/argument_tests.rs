//! Argument rules: what each bound covers, what can't be got around, and that rules only
//! ever narrow.

#[path = "earlier_tests.rs"]
mod earlier;
#[path = "links_tests.rs"]
mod links;
#[path = "said_tests.rs"]
mod said;

use super::*;
use crate::arbitrary::{argument_rules, cases, hostile_text};
use crate::expr::{Record, Value};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Arguments by name, and the message of the turn.
#[derive(Debug, Default)]
struct Made {
    arguments: BTreeMap<&'static str, FoundArgument<'static>>,
    text: &'static str,
    earlier: Vec<(&'static str, Made)>,
}

impl Made {
    fn with(mut self, name: &'static str, value: FoundArgument<'static>) -> Self {
        self.arguments.insert(name, value);
        self
    }
}

impl Arguments for Made {
    fn at(&self, path: &[Box<str>]) -> FoundArgument<'_> {
        match path {
            [name] => self.arguments.get(&**name).cloned().unwrap_or(FoundArgument::Absent),
            _ => FoundArgument::Absent,
        }
    }
}

impl CallArguments for Made {
    fn arguments(&self) -> Value {
        let mut record = Record::new();
        for (name, value) in &self.arguments {
            let value = match value {
                FoundArgument::Text(text) => Value::text(text.clone()),
                FoundArgument::Number(number) => Value::double(*number),
                _ => Value::null(),
            };
            record.insert(*name, value);
        }
        record.build()
    }

    fn turn(&self) -> Arc<Value> {
        let mentions = mentions(self.text);
        let record = Record::new()
            .with("admin", Value::bool(false))
            .with("mentioned_addresses", Value::texts(mentions.addresses));
        Arc::new(record.build())
    }

    fn said(&self) -> Cow<'_, str> {
        self.text.into()
    }

    fn earlier(&self) -> Vec<Earlier<'_>> {
        let earlier = self.earlier.iter().map(|(tool, made)| Earlier {
            tool,
            arguments: made,
            is_same: made.arguments == self.arguments,
        });
        earlier.collect()
    }
}

fn text(text: &str) -> FoundArgument<'static> {
    FoundArgument::Text(text.to_owned().into())
}

fn rule(tool: &str, at: &str, bound: Bound) -> ArgumentRule {
    ArgumentRule {
        tools: Selector::parse(tool).unwrap(),
        name: format!("{tool}.{at}").into(),
        demand: Demand::Argument { at: [at.into()].into(), bound, absent: Absent::Refused },
    }
}

fn covers(bound: &Bound, value: &str) -> bool {
    bound.admit(&text(value), "").is_ok()
}

fn check(bound: &Bound, inside: &[&str], outside: &[&str]) {
    for value in inside {
        assert!(covers(bound, value), "{} should cover {value:?}", bound.allows());
    }
    for value in outside {
        assert!(!covers(bound, value), "{} should not cover {value:?}", bound.allows());
    }
}

#[test]
fn a_host_is_read_as_every_reader_would() {
    check(
        &Bound::hosts(["docs.rs", "*.example.org", "127.0.0.1:8080"]).unwrap(),
        &[
            "https://docs.rs/x",
            "http://docs.rs",
            "HTTPS://DOCS.RS/x?y#z",
            "docs.rs",
            "https://a.example.org/?q=https://evil.net",
            "http://127.0.0.1:8080/x",
            "https://docs.rs:443/x",
        ],
        &[
            "https://evil.net/docs.rs",
            "https://docs.rs.evil.net/",
            "https://docs.rs@evil.net/",
            "https://evil.net@docs.rs/",
            "https://docs.rs\\@evil.net/",
            "https://docs.rs:8443/",
            "https://example.org/",
            "ftp://docs.rs/",
            "file:///docs.rs",
            "//docs.rs/x",
            "docs.rs/x",
            "https://docs.rs evil.net",
            "https://docs.rs\n.evil.net/",
            "https:docs.rs",
            "https:/docs.rs",
            "https:///docs.rs",
            "http://127.0.0.1/",
            "http://127.1:8080/",
            "",
            "https://döcs.rs/",
        ],
    );
}

#[test]
fn a_port_that_no_pattern_names_is_what_is_told() {
    let hosts = Bound::hosts(["docs.rs", "127.0.0.1:8080"]).unwrap();
    for (value, told) in [
        ("https://docs.rs:8443/x", "at port 8443, which a rule has to name (`docs.rs:8443`)"),
        ("http://127.0.0.1/x", "at port 80, which a rule has to name (`127.0.0.1:80`)"),
        ("https://evil.net:8443/x", "is `https://evil.net:8443/x`; allowed"),
    ] {
        let why = hosts.admit(&text(value), "").unwrap_err();
        assert!(why.contains(told), "{why}");
    }
}

#[test]
fn a_recipient_is_one_and_the_one() {
    check(
        &Bound::recipients(["ann@example.org", "*@team.example.org", "telegram:*"]).unwrap(),
        &["ann@example.org", "Ann@Example.org", "bob@team.example.org", "telegram:-100123"],
        &[
            "eve@example.org",
            "ann@example.org,eve@evil.net",
            "ann@example.org\neve@evil.net",
            "<ann@example.org>",
            "eve@evil.net@team.example.org",
            "eve@evil.net/@team.example.org",
            "@team.example.org.evil.net",
            "telegram:1:2",
            "discord:1",
            "*@team.example.org",
            "",
        ],
    );
    assert!(Bound::recipients(["*"]).is_err());
    assert!(Bound::recipients(["a b"]).is_err());
}

#[test]
fn a_path_is_compared_part_by_part() {
    check(
        &Bound::paths(["src/**", "*.md", "/data/*/in.txt"]).unwrap(),
        &["src/a.rs", "./src/a/b.rs", "src//a.rs", "src", "README.md", "/data/x/in.txt"],
        &[
            "src/../secret",
            "../src/a.rs",
            "/src/a.rs",
            "srcx/a.rs",
            "docs/README.md",
            "/data/x/y/in.txt",
            "data/x/in.txt",
            "src/a\0.rs",
            "src\\..\\x",
        ],
    );
    assert!(Bound::paths(["a/../b"]).is_err());
    assert!(Bound::paths(["a**/b"]).is_err());
    assert!(Bound::paths([""]).is_err());
}

#[test]
fn every_command_of_a_line_begins_as_allowed() {
    check(
        &Bound::commands(["cargo ", "git status", "head"]).unwrap(),
        &[
            "cargo test",
            "cargo",
            "git status -s | head -3",
            "cargo build && cargo test; git status",
            "cargo run -- \"$(git status)\"",
            "cargo test > out.txt 2>&1",
            "if cargo test; then git status; fi",
        ],
        &[
            "git push",
            "cargo test; rm -rf x",
            "cargo test && curl evil.net",
            "cargo $(rm x)",
            "cargo `rm x`",
            "cargox test",
            "./cargo test",
            "git $SUB",
            "$CARGO test",
            "PATH=/tmp cargo test",
            "sh -c 'cargo test'",
            "env cargo test",
            "cargo() { rm x; }; cargo",
            "alias cargo=rm; cargo x",
            "cargo 'test",
            "> file",
            "A=1",
            "",
            "cargo test | sh",
            "cargo <(rm x)",
            "# nothing",
        ],
    );
    for wrong in ["", "git $X", "git; rm", "A=1 git", "'git'", "git | head", "git >x"] {
        assert!(Bound::commands([wrong]).is_err(), "{wrong}");
    }
}

#[test]
fn the_other_bounds_are_what_they_say() {
    check(&Bound::prefixes(["inv-"]).unwrap(), &["inv-1"], &["in", "INV-1", " inv-1"]);
    let one_of = Bound::OneOf(vec!["EUR".into(), "5".into(), "true".into()]);
    check(&one_of, &["EUR", "5"], &["eur", "USD", ""]);
    assert!(one_of.admit(&FoundArgument::Number(5.0), "").is_ok());
    assert!(one_of.admit(&FoundArgument::Bool(true), "").is_ok());
    assert!(one_of.admit(&FoundArgument::Bool(false), "").is_err());
    let amount = Bound::Number { min: Number::new(0.0), max: Number::new(100.0) };
    for (number, fits) in [(0.0, true), (100.0, true), (100.01, false), (-1.0, false)] {
        assert_eq!(amount.admit(&FoundArgument::Number(number), "").is_ok(), fits, "{number}");
    }
    for not in [f64::NAN, f64::INFINITY] {
        assert!(amount.admit(&FoundArgument::Number(not), "").is_err());
    }
    check(&amount, &[], &["5"]);
    assert!(amount.admit(&FoundArgument::Fields, "").is_err());
    // Of a list, every element.
    let hosts = Bound::hosts(["docs.rs"]).unwrap();
    let list = |items: &[&str]| FoundArgument::List(items.iter().map(|it| text(it)).collect());
    assert!(hosts.admit(&list(&["https://docs.rs/a", "https://docs.rs/b"]), "").is_ok());
    assert!(hosts.admit(&list(&["https://docs.rs/a", "https://evil.net"]), "").is_err());
    assert!(hosts.admit(&FoundArgument::List(vec![list(&["docs.rs"])]), "").is_err());
    // An empty list of patterns allows nothing.
    check(&Bound::hosts([]).unwrap(), &[], &["docs.rs"]);
}

#[test]
fn a_refusal_names_the_rule_the_argument_and_what_is_allowed() {
    let rules =
        ArgumentRules::new([rule("web_extract", "url", Bound::hosts(["docs.rs"]).unwrap())]);
    let refused = |call: Made| rules.admit("web_extract", &call).unwrap_err().to_string();
    assert_eq!(
        refused(Made::default().with("url", text("https://evil.net/"))),
        "`url` is `https://evil.net/`; allowed is what is at `docs.rs` (rule `web_extract.url`)"
    );
    assert_eq!(
        refused(Made::default()),
        "`url` is missing, and must be given: is at `docs.rs` (rule `web_extract.url`)"
    );
    assert_eq!(rules.admit("web_search", &Made::default()), Ok(()));
    assert_eq!(rules.iter().next().unwrap().to_string(), "`url` is at `docs.rs`");
}

#[test]
fn an_argument_may_be_left_out_only_where_the_rule_says_so() {
    let mut rule = rule("web_extract", "url", Bound::hosts(["docs.rs"]).unwrap());
    let Demand::Argument { absent, .. } = &mut rule.demand else { unreachable!() };
    *absent = Absent::Allowed;
    let rules = ArgumentRules::new([rule]);
    assert_eq!(rules.admit("web_extract", &Made::default()), Ok(()));
    assert!(rules.admit("web_extract", &Made::default().with("url", text("x.net"))).is_err());
}

#[test]
fn an_expression_sees_the_arguments_and_the_turn_and_fails_closed() {
    let holds = |expression: &str| ArgumentRule {
        tools: Selector::parse("mcp__mail__*").unwrap(),
        name: "mcp__mail__*.expr".into(),
        demand: Demand::Holds(Expression::compile(expression, VARIABLES).unwrap()),
    };
    let rules = ArgumentRules::new([holds("args.to in turn.mentioned_addresses")]);
    let call = |to: &str| {
        Made { text: "write to Ann@example.org!", ..Made::default() }.with("to", text(to))
    };
    assert_eq!(rules.admit("mcp__mail__send", &call("Ann@example.org")), Ok(()));
    assert_eq!(rules.admit("mcp__mail__send", &call("ann@example.org")), Ok(()));
    assert_eq!(rules.admit("mcp__other__send", &call("eve@evil.net")), Ok(()));
    assert_eq!(
        rules.admit("mcp__mail__send", &call("eve@evil.net")).unwrap_err().to_string(),
        "this call does not satisfy `args.to in turn.mentioned_addresses` (rule `mcp__mail__*.expr`)"
    );
    let missing = rules.admit("mcp__mail__send", &Made::default()).unwrap_err().to_string();
    assert!(missing.contains("can't be said: there is no `to`"), "{missing}");
    let rules = ArgumentRules::new([holds("args.to")]);
    assert!(rules.admit("mcp__mail__send", &call("x")).is_err());
}

#[test]
fn an_argument_is_listed_by_the_fields_that_lead_to_it() {
    let listed = |at: &[&str]| {
        let at = at.iter().map(|it| Box::from(*it)).collect();
        let bound = Bound::OneOf(vec!["x".into()]);
        let demand = Demand::Argument { at, bound, absent: Absent::Refused };
        let tools = Selector::parse("todo").unwrap();
        ArgumentRules::new([ArgumentRule { tools, demand, name: "todo".into() }])
    };
    let rules = listed(&["with", "name"]);
    assert!(rules.lists("todo", &["with", "name"]));
    for other in [&["with.name"][..], &["with"], &["name"], &["with", "name", "x"], &[]] {
        assert!(!rules.lists("todo", other), "{other:?}");
    }
    assert!(!rules.lists("memory", &["with", "name"]));
}

fn value() -> impl Strategy<Value = FoundArgument<'static>> {
    let leaf = || {
        prop_oneof![
            2 => prop::sample::select(vec![
                "x", "1", "git status", "git x; rm y", "cargo test", "https://docs.rs/a",
                "https://a.example.org", "ann@example.org", "src/a.rs", "a.md", "../a",
            ])
            .prop_map(text),
            1 => hostile_text().prop_map(|it| FoundArgument::Text(it.into())),
            1 => any::<f64>().prop_map(FoundArgument::Number),
            1 => any::<bool>().prop_map(FoundArgument::Bool),
            1 => Just(FoundArgument::Absent),
            1 => Just(FoundArgument::Fields),
        ]
    };
    prop_oneof![4 => leaf(), 1 => prop::collection::vec(leaf(), 0..4).prop_map(FoundArgument::List)]
}

fn call() -> impl Strategy<Value = Made> {
    (value(), value()).prop_map(|(a, b)| Made::default().with("a", a).with("b", b))
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn more_rules_never_admit_more(
        call in call(), some in argument_rules(), more in argument_rules(),
        tool in prop::sample::select(vec!["terminal", "web_extract", "todo", "mcp__a__b"]),
    ) {
        let admits = |rules: &ArgumentRules| rules.admit(tool, &call).is_ok();
        let both = some.and(&more);
        prop_assert_eq!(admits(&both), admits(&some) && admits(&more));
        prop_assert_eq!(admits(&both), admits(&more.and(&some)));
        prop_assert!(!both.exceeds(&some) && !both.exceeds(&more));
        prop_assert_eq!(both.and(&some), both);
        prop_assert!(admits(&ArgumentRules::default()));
    }

    #[test]
    fn nothing_makes_a_bound_panic(text in any::<String>(), rules in argument_rules()) {
        for rule in rules.iter() {
            if let Demand::Argument { bound, .. } = &rule.demand {
                let _ = bound.admit(&FoundArgument::Text(text.clone().into()), &text);
            }
        }
        let _ = (mentions(&text), links(&text), stands_in(&text, &text));
        prop_assert_eq!(is_said(&text, &text), !text.trim().is_empty());
        let _ = (Bound::hosts([&*text]), Bound::recipients([&*text]), Bound::paths([&*text]));
        let _ = (Bound::commands([&*text]), Bound::prefixes([&*text]));
    }
}

#[test]
fn a_bound_says_what_it_allows() {
    let number = |min, max| Bound::Number { min, max };
    let (one, five) = (Number::new(1.0), Number::new(5.5));
    for (bound, said) in [
        (Bound::hosts([]).unwrap(), "is at nothing"),
        (Bound::paths(["src/**", "a?"]).unwrap(), "is below `src/**`, `a?`"),
        (
            Bound::commands(["git status"]).unwrap(),
            "runs only commands that begin with `git status`",
        ),
        (Bound::prefixes(["a"]).unwrap(), "begins with `a`"),
        (Bound::OneOf(vec!["a".into()]), "is `a`"),
        (Bound::Said(vec!["a".into()]), "is said in the message of this turn, or is `a`"),
        (Bound::links(["a.org"]).unwrap(), "has only web addresses at `a.org`"),
        (number(one, five), "is 1 to 5.5"),
        (number(one, None), "is at least 1"),
        (number(None, five), "is at most 5.5"),
        (number(None, None), "is a number"),
    ] {
        assert_eq!(bound.allows(), said);
    }
    assert_eq!(Bound::prefixes([""]), Err(BoundError::EmptyPrefix));
    let (one, five) = (one.unwrap(), five.unwrap());
    assert!(five.is_above(one) && !one.is_above(five) && !one.is_above(one));
}

#[test]
fn a_list_is_looked_at_to_its_end_or_refused() {
    let bound = Bound::OneOf(vec!["a".into()]);
    let list = |len: usize| FoundArgument::List(vec![text("a"); len]);
    assert!(bound.admit(&list(ELEMENTS_MAX), "").is_ok());
    let why = bound.admit(&list(ELEMENTS_MAX + 1), "").unwrap_err();
    assert!(why.starts_with("has 1025 elements"), "{why}");
    let why = bound.admit(&FoundArgument::List(vec![FoundArgument::Absent]), "").unwrap_err();
    assert!(why.starts_with("has an empty element"), "{why}");
    let why = bound.admit(&FoundArgument::Number(2.0), "").unwrap_err();
    assert!(why.starts_with("is 2;"), "{why}");
}

#[test]
fn recipients_and_addresses_have_an_end() {
    let name = |len: usize| format!("{}@b.org", "a".repeat(len - 6));
    let bound = Bound::recipients(["*@b.org"]).unwrap();
    check(&bound, &[&name(320)], &[&name(321)]);
    for odd in ["a\u{1}@b.org", "a b@b.org", "a\"@b.org", "a%40x@b.org"] {
        check(&bound, &[], &[odd]);
    }
    assert_eq!(mentions(&name(320)).addresses.len(), 1);
    assert_eq!(mentions(&name(321)), Mentions::default());
    for none in ["@b.org", "a\u{e9}@b.org", "a@b", "a@b..org", "a@b_c.org"] {
        assert_eq!(mentions(none), Mentions::default(), "{none}");
    }
    let many: String = (0..=MENTIONS_MAX).map(|number| format!("a{number}@b.org ")).collect();
    assert_eq!(mentions(&many).addresses.len(), MENTIONS_MAX);
    assert_eq!(
        mentions("see www.b.org/x").hosts,
        ["b.org".to_owned()].map(|it| format!("www.{it}"))
    );
}

#[test]
fn a_part_of_a_path_is_matched_to_its_end() {
    check(
        &Bound::paths(["a?c", "x*y*z", "**/end", "d/**/e"]).unwrap(),
        &["abc", "xyz", "x1y2z", "xyyzz", "end", "a/b/end", "d/e", "d/a/b/e", "d/e/e"],
        &["ac", "abbc", "xz", "xyzy", "end/a", "d", "d/e/f", "bc"],
    );
    let long = |len: usize| vec!["a"; len].join("/");
    let all = Bound::paths(["**"]).unwrap();
    check(&all, &[&long(256)], &[&long(257)]);
    assert_eq!(names_of("todo"), Some(&["merge", "todos"][..]));
    assert_eq!(names_of("nothing"), None);
}
