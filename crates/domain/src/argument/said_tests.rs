//! What was said in a turn, and what of it an argument may be.

use super::*;

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
