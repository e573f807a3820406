//! Rules about the calls that a turn made before.

use super::*;

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
