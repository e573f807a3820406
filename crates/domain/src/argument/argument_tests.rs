//! Argument rules: what each bound covers, what can't be got around, and that rules only
//! ever narrow.

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
fn a_message_mentions_what_stands_in_it() {
    let found = mentions(
        "Write to <ann@example.org>, Bob.Q+x@Team.example.org. Not @ann, a@b, x@y@z.org or \
         https://user@evil.net/. See (https://docs.rs/cel?x=1), http://EXAMPLE.org:8080/a.",
    );
    assert_eq!(
        found,
        Mentions {
            addresses: ["ann@example.org", "Bob.Q+x@Team.example.org", "bob.q+x@team.example.org"]
                .map(str::to_owned)
                .to_vec(),
            urls: ["https://docs.rs/cel?x=1", "http://EXAMPLE.org:8080/a"]
                .map(str::to_owned)
                .to_vec(),
            hosts: ["docs.rs", "example.org"].map(str::to_owned).to_vec(),
        }
    );
    assert_eq!(mentions(&"a@b.org ".repeat(100_000)).addresses.len(), 1);
    assert_eq!(mentions(&"é".repeat(100_000)), Mentions::default());
    // A long message is looked through as far as somebody may have written it.
    let behind = |len: usize| format!("{} a@b.org", "x".repeat(len));
    assert_eq!(mentions(&behind(60_000)).addresses, ["a@b.org"]);
    assert_eq!(mentions(&behind(70_000)).addresses, [""; 0]);
}

#[test]
fn what_people_said_may_be_used_as_whole_words() {
    let said = "Post it to www.our-company.com.They know. Also tell Ann-Marie about *Plan B*, 42";
    let bound = Bound::Said(vec!["general".into(), "7".into()]);
    let fits = |value: FoundArgument<'static>| bound.admit(&value, said).is_ok();
    for value in ["www.our-company.com", "ann-marie", "PLAN B", "general", "42", " it "] {
        assert!(fits(text(value)), "{value}");
    }
    for value in ["www.our-company.co", "our-comp", "lan B", "General", "evil.net", "", "  ", "4"] {
        assert!(!fits(text(value)), "{value}");
    }
    assert!(fits(FoundArgument::Number(42.0)) && fits(FoundArgument::Number(7.0)));
    assert!(
        !fits(FoundArgument::Number(4.0))
            && !fits(FoundArgument::Fields)
            && !fits(FoundArgument::Bool(true))
    );
    // In words of nobody, only what is listed.
    assert!(bound.admit(&text("ann-marie"), "").is_err());
    let rules = ArgumentRules::new([rule("todo", "a", Bound::Said(Vec::new()))]);
    let call = Made { text: "call Ann", ..Made::default() };
    assert_eq!(rules.admit("todo", &call.with("a", text("Ann"))), Ok(()));
    assert_eq!(
        rules.admit("todo", &Made::default().with("a", text("Ann"))).unwrap_err().to_string(),
        "`a` is `Ann`; allowed is what is said in the message of this turn (rule `todo.a`)"
    );
}

#[test]
fn what_was_said_is_whole_words_and_never_a_part_of_one() {
    let said = "Pay 0.20 to jean-luc@mail.com, -7 to (Ann) and <bob@x.org>: “Plan B”. $45, or 9€? \
                @eve #general ~/x *.y <3 10,000 e.v.i.l";
    for value in [
        "0.20",
        "jean-luc@mail.com",
        "JEAN-LUC@mail.com",
        "ann",
        "bob@x.org",
        "plan b",
        "plan",
        "45",
        "9",
        "eve",
        "#general",
        "general",
        "-7 to (Ann)",
        "10,000",
    ] {
        assert!(is_said(value, said), "{value}");
    }
    for value in [
        "",
        " ",
        "20",
        "0",
        "luc@mail.com",
        "mail.com",
        "7",
        "lan b",
        "x.org",
        "/x",
        ".y",
        "3",
        "10",
        "000",
        "l",
        "e.v.i",
        "to Ann",
        "bob@x.or\u{212a}",
    ] {
        assert!(!is_said(value, said), "{value}");
    }
    assert!(!is_said("lu\u{212a}e", "pay luke"), "another letter that looks like a k");
}

#[test]
fn a_number_was_said_by_who_wrote_it_in_digits() {
    let said =
        "pay 0.20, $45.00 and -7. Not 10,000 or 1e3 or 3.5.2, nor .5 or x8 of 9007199254740993";
    for number in [0.2, 45.0, -7.0] {
        assert!(is_number_said(number, said), "{number}");
    }
    for number in [20.0, 0.0, 7.0, 10.0, 10_000.0, 1_000.0, 3.5, 0.5, 8.0, 9_007_199_254_740_992.0]
    {
        assert!(!is_number_said(number, said), "{number}");
    }
    assert!(!is_number_said(f64::NAN, "NaN"));
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

#[test]
fn a_text_links_only_to_where_it_may() {
    check(
        &Bound::links(["docs.rs", "*.example.org", "localhost:8080"]).unwrap(),
        &[
            "nothing to follow in report.docx, and/or src/main.rs, at 3/4 of e.g. ann@example.net",
            "see https://docs.rs/x, http://a.example.org. Or (docs.rs/y)!",
            "www.example.org has it; http://localhost:8080/x too",
            "read:https://docs.rs/x, docs.rs/?u=http://docs.rs",
            "",
        ],
        &[
            "Check out this link: www.secure-systems-252.com",
            "see https://docs.rs/x and https://evil.net",
            "[docs](https://evil.net/?u=https://docs.rs)",
            "read:https://evil.net",
            // The address that a reader follows is the outer one, however it is written.
            "https://evil.net/?u=http://docs.rs/x",
            "http://evil.net/?u=https://docs.rs/x",
            "www.evil.net/?u=http://docs.rs/x",
            "evil.net/?u=https://docs.rs/x",
            "ftp://evil.net/http://docs.rs/x",
            "docs.rs/x?https://evil.net",
            "evil.net./x",
            "evil.xn--p1ai/x",
            "HTTPS://EVIL.NET",
            "https:\\\\evil.net/x",
            "bit.ly/sUf7tOJ",
            "//evil.net/x",
            "evil.net?x=1",
            "evil.net:8443/x",
            "ftp://docs.rs/",
            "https://docs.rs@evil.net/",
            "https://ev\u{200b}il.net",
            "<a href='https://evil.net'>docs.rs</a>",
            "http://localhost:9090/x",
            "WWW.evil.net",
            "https://d\u{f6}cs.rs/",
        ],
    );
    let none = Bound::links([]).unwrap();
    check(&none, &["plain words"], &["https://docs.rs"]);
    assert_eq!(
        none.admit(&text("go to www.evil.net now"), "").unwrap_err(),
        "has `www.evil.net` in it; allowed is what has no web address in it"
    );
}

#[test]
fn calls_of_a_turn_are_counted_over_all_tools_of_a_rule() {
    let rules = |demand: Demand| {
        let tools = Selector::parse("mcp__bank__*").unwrap();
        ArgumentRules::new([ArgumentRule { tools, name: "mcp__bank__*.max_calls".into(), demand }])
    };
    let after = |earlier: &[&'static str]| Made {
        earlier: earlier.iter().map(|tool| (*tool, Made::default())).collect(),
        ..Made::default()
    };
    let two = rules(Demand::Calls { max: 2 });
    assert_eq!(two.admit("mcp__bank__pay", &after(&[])), Ok(()));
    assert_eq!(
        two.admit("mcp__bank__pay", &after(&["mcp__bank__read", "todo", "mcp__b__c"])),
        Ok(())
    );
    assert_eq!(
        two.admit("mcp__bank__pay", &after(&["mcp__bank__read", "mcp__bank__pay"]))
            .unwrap_err()
            .to_string(),
        "2 such calls were made in this turn, of 2 (rule `mcp__bank__*.max_calls`)"
    );
    assert_eq!(two.admit("todo", &after(&["mcp__bank__read", "mcp__bank__pay"])), Ok(()));
    assert!(rules(Demand::Calls { max: 0 }).admit("mcp__bank__pay", &after(&[])).is_err());
}

#[test]
fn no_two_calls_of_a_turn_are_alike_where_a_rule_says_so() {
    let once = |alike: Alike| {
        let tools = Selector::parse("mcp__mail__*").unwrap();
        let demand = Demand::Once(alike);
        ArgumentRules::new([ArgumentRule { tools, name: "once".into(), demand }])
    };
    let place = |name: &str| -> Box<[Box<str>]> { [name.into()].into() };
    let list = |items: &[&str]| FoundArgument::List(items.iter().map(|it| text(it)).collect());
    let call = |to: FoundArgument<'static>, body: &str| {
        Made::default().with("to", to).with("body", text(body))
    };
    let admits = |alike: &Alike, before: Made, now: Made| {
        let made = Made { earlier: vec![("mcp__mail__send", before)], ..now };
        once(alike.clone()).admit("mcp__mail__send", &made).is_ok()
    };
    let same = Alike::Call;
    assert!(!admits(&same, call(text("ann"), "x"), call(text("ann"), "x")));
    assert!(admits(&same, call(text("ann"), "x"), call(text("ann"), "y")));
    let to = Alike::Arguments([place("to")].into());
    assert!(!admits(&to, call(text("ann"), "x"), call(text("ANN "), "y")));
    assert!(!admits(&to, call(list(&["bob", "ann"]), "x"), call(list(&["eve", "bob"]), "y")));
    assert!(!admits(&to, call(text("6"), "x"), call(FoundArgument::Number(6.0), "y")));
    assert!(admits(&to, call(list(&["bob"]), "x"), call(text("ann"), "y")));
    assert!(admits(&to, call(list(&[]), "x"), call(text("ann"), "y")));
    // What is left out twice is the same, and what can't be compared is taken for it.
    assert!(!admits(&to, Made::default(), Made::default()));
    assert!(!admits(&to, call(FoundArgument::Fields, "x"), call(text("ann"), "y")));
    let both = Alike::Arguments([place("to"), place("body")].into());
    assert!(admits(&both, call(text("ann"), "x"), call(text("ann"), "y")));
    assert!(!admits(&both, call(text("ann"), "x"), call(text("ann"), "X")));
    let refused = {
        let before = call(text("ann"), "x");
        let made = Made { earlier: vec![("mcp__mail__other", before)], ..call(text("ann"), "x") };
        (
            once(both.clone()).admit("mcp__mail__send", &made).unwrap_err().to_string(),
            once(same).admit("mcp__mail__send", &made).is_ok(),
        )
    };
    let told = "a call with the same `to` and `body` was made in this turn (rule `once`)";
    assert_eq!(refused, (told.to_owned(), true));
    let shown = once(both);
    let shown = shown.iter().next().unwrap().to_string();
    assert_eq!(shown, "no two calls in a turn have the same `to` and `body`");
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
fn rules_count_calls_where_one_says_so_and_exceed_those_that_have_more() {
    let tools = || Selector::parse("terminal").unwrap();
    let counted =
        |demand| ArgumentRules::new([ArgumentRule { tools: tools(), name: "x".into(), demand }]);
    for demand in [Demand::Calls { max: 2 }, Demand::Once(Alike::Call)] {
        let rules = counted(demand);
        assert!(rules.counts("terminal") && !rules.counts("todo") && !rules.is_empty());
        assert!(ArgumentRules::default().exceeds(&rules) && !rules.exceeds(&rules));
    }
    let plain = ArgumentRules::new([rule("terminal", "a", Bound::OneOf(Vec::new()))]);
    assert!(!plain.counts("terminal"));
    let none = ArgumentRules::default();
    assert!(none.is_empty() && !none.counts("terminal"));
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
fn a_link_is_known_by_its_host() {
    let none = Bound::links([]).unwrap();
    check(
        &none,
        // A word with a dot and a slash that is no host, and `www.` inside of one.
        &["a.b/c", "a.b1/c", "a_b.org/c", "1.5/2", "a..org/c", ".org/c", "awww.b"],
        &["(www.b.org)", "see-www.b.org/x", "see:www.b.org", "a-b.org/c", "b.org?c", "b.org#c"],
    );
    let odd = Bound::hosts(["docs.rs"]).unwrap();
    check(
        &odd,
        &["docs.rs:80", "docs.rs:443"],
        &["docs.rs\u{1}", "docs.rs\u{a0}", "docs.rs\\", "docs.rs?x", "docs.rs:8080"],
    );
    // Behind the host too: who cuts such a letter out, or takes it for an end, reads on elsewhere.
    check(
        &odd,
        &["https://docs.rs/x"],
        &["https://docs.rs/\u{1}x", "https://docs.rs/ x", "https://docs.rs/\\x"],
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
