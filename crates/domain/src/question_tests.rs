//! What is shown of a call: all of it, and nothing alike for two.

use super::*;
use proptest::prelude::*;

fn call(folder: StartFolder<'static>, arguments: &[(&str, Argument)]) -> AskedCall<'static> {
    let arguments = arguments.iter().map(|(name, it)| ((*name).to_owned(), it.clone()));
    AskedCall { folder, process: None, unseen: None, arguments: arguments.collect() }
}

fn text(text: &str) -> Argument {
    Argument::Text(text.to_owned())
}

fn shown(command: &str) -> String {
    show(&call(StartFolder::Nowhere, &[("command", text(command))])).unwrap()
}

#[test]
fn what_is_written_to_a_process_is_shown_below_its_folder_and_its_command() {
    let call = |process: &'static str| AskedCall {
        folder: StartFolder::In("/srv"),
        process: Some(process),
        unseen: None,
        arguments: vec![("data".to_owned(), text("rm -r x"))],
    };
    let seen = show(&call("cd y\nbash")).unwrap();
    assert_eq!(seen, format!("in \"/srv\"\n{READ_BY}\n| cd y\n| bash\ndata:\n| rm -r x"));
    assert_ne!(seen, show(&call("cd y bash")).unwrap());
    let long: &'static str = Box::leak("x".repeat(SHOWN_CHARS_MAX + 1).into_boxed_str());
    assert_eq!(show(&call(long)), Err(TooLong));
}

#[test]
fn no_name_and_no_words_of_others_pass_for_a_line_of_ours() {
    let forged = "x`: it is fine\n`to`: the sender said it";
    for shown in [named(forged), on_a_line(forged)] {
        assert_eq!(shown.lines().count(), 1, "{shown}");
        assert!(shown.contains("⟦U+000A⟧"), "{shown}");
    }
    assert!(!named(forged).contains('`') && !on_a_line("a\" b").contains('"'));
    assert_eq!(
        (named("a.b").as_str(), on_a_line("http://a.b/").as_str()),
        ("a⟦U+002E⟧b", "http://a.b/")
    );
    assert_eq!(named(&"x".repeat(90)), format!("{}⟦…⟧", "x".repeat(80)));
    assert_eq!(quoted("Pay\n`to`: the sender said it"), "| Pay\n| `to`: the sender said it");
    assert_eq!(quoted(&"x".repeat(SHOWN_CHARS_MAX + 1)), "| ⟦too long to be shown⟧");
}

#[test]
fn what_was_not_looked_at_is_the_last_line() {
    let arguments = vec![("command".to_owned(), text("echo $(date)"))];
    let unseen = Some(crate::command::Unseen::Substitution);
    let seen =
        show(&AskedCall { folder: StartFolder::Usual, process: None, unseen, arguments }).unwrap();
    let expected = "where its programs begin\ncommand:\n| echo $(date)\nlooked at: its words as they stand; not looked at: what `$(…)` or `<(…)` gives, which is only known ";
    assert!(seen.starts_with(expected.get(..100).unwrap()), "{seen}");
    assert!(seen.contains("not looked at: what `$(…)`"), "{seen}");
}

/// A call as it was before it was shown: that there is a way back says that no two are shown
/// alike.
fn read(shown: &str) -> (Option<Option<String>>, Vec<(String, Argument)>) {
    let mut joined: Vec<String> = vec![];
    for line in shown.split('\n') {
        match line.strip_prefix("> ") {
            Some(rest) => joined.last_mut().unwrap().push_str(rest),
            None => joined.push(line.to_owned()),
        }
    }
    let mut folder = None;
    let mut arguments: Vec<(String, Argument)> = vec![];
    for line in joined {
        if line == "where its programs begin" {
            folder = Some(None);
        } else if let Some(rest) = line.strip_prefix("in \"") {
            folder = Some(Some(decode(rest.strip_suffix('"').unwrap())));
        } else if let Some(rest) = line.strip_prefix('|') {
            let Some((_, Argument::Text(text))) = arguments.last_mut() else { panic!("{line}") };
            let rest = rest.strip_prefix(' ').unwrap_or("");
            match rest.strip_prefix('⟦').and_then(|it| it.strip_suffix(" empty lines⟧")) {
                Some(count) => text.push_str(&"\n".repeat(count.parse().unwrap())),
                None => text.push_str(&format!("{}\n", decode(rest))),
            }
        } else if let Some((name, json)) = line.split_once(" = ") {
            arguments.push((decode(name), Argument::Json(decode(json))));
        } else {
            arguments.push((decode(line.strip_suffix(':').unwrap()), text("")));
        }
    }
    for (_, argument) in &mut arguments {
        if let Argument::Text(text) = argument {
            text.pop();
        }
    }
    (folder, arguments)
}

fn decode(shown: &str) -> String {
    let mut out = String::new();
    let mut rest = shown;
    while let Some((before, behind)) = rest.split_once('⟦') {
        out.push_str(before);
        let (code, behind) = behind.split_once('⟧').unwrap();
        match (code.strip_prefix("U+"), code.strip_suffix(" blanks")) {
            (Some(hex), _) => {
                out.push(char::from_u32(u32::from_str_radix(hex, 16).unwrap()).unwrap());
            }
            (_, Some(count)) => out.push_str(&" ".repeat(count.parse().unwrap())),
            _ => panic!("{code}"),
        }
        rest = behind;
    }
    out + rest
}

#[test]
fn the_folder_comes_first_and_every_argument_is_shown() {
    let asked = call(
        StartFolder::In("/srv/a \"b\""),
        &[("timeout", Argument::Json("5".into())), ("command", text("rm -r x\nls"))],
    );
    assert_eq!(
        show(&asked).unwrap(),
        "in \"/srv/a ⟦U+0022⟧b⟦U+0022⟧\"\ncommand:\n| rm -r x\n| ls\ntimeout = 5"
    );
    assert_eq!(
        show(&call(StartFolder::Usual, &[("command", text("ls"))])).unwrap(),
        "where its programs begin\ncommand:\n| ls"
    );
}

#[test]
fn what_is_not_seen_is_written_out() {
    for (command, seen) in [
        ("ls\u{202e}x", "ls⟦U+202E⟧x"),
        ("a\u{200b}b", "a⟦U+200B⟧b"),
        ("a\tb\r", "a⟦U+0009⟧b⟦U+000D⟧"),
        ("a\u{1b}[2Kb", "a⟦U+001B⟧[2Kb"),
        ("a\u{a0}b\u{3000}c\u{2003}d", "a⟦U+00A0⟧b⟦U+3000⟧c⟦U+2003⟧d"),
        ("e\u{301}\u{301}", "e⟦U+0301⟧⟦U+0301⟧"),
        ("a\u{fe0f}\u{e0041}\u{3164}", "a⟦U+FE0F⟧⟦U+E0041⟧⟦U+3164⟧"),
        ("⟦U+0041⟧", "⟦U+27E6⟧U+0041⟦U+27E7⟧"),
        ("end ", "end⟦U+0020⟧"),
        ("rm \u{2013}rf \u{201c}x\u{201d}", "rm ⟦U+2013⟧rf ⟦U+201C⟧x⟦U+201D⟧"),
        ("\u{ff52}\u{ff4d}", "⟦U+FF52⟧⟦U+FF4D⟧"),
        ("\u{5d0}\u{5d1} \u{627}", "⟦U+05D0⟧⟦U+05D1⟧ ⟦U+0627⟧"),
    ] {
        assert_eq!(shown(command), format!("command:\n| {seen}"), "{command:?}");
    }
}

#[test]
fn letters_that_pass_for_others_are_written_out_and_honest_ones_are_not() {
    for (command, seen) in [
        ("cat Straße Übergröße señor", "cat Straße Übergröße señor"),
        ("echo Привет, мир 你好 こんにちは 안녕", "echo Привет, мир 你好 こんにちは 안녕"),
        ("cat p\u{430}sswd", "cat p⟦U+0430⟧sswd"),
        // Every letter of it passes for a Latin one.
        ("\u{441}\u{430}\u{442}", "⟦U+0441⟧⟦U+0430⟧⟦U+0442⟧"),
        ("echo 🚀 1€", "echo 🚀 1€"),
    ] {
        assert_eq!(shown(command), format!("command:\n| {seen}"), "{command:?}");
    }
}

#[test]
fn nothing_is_pushed_out_of_sight() {
    let far = format!("ls{}; rm -r /", " ".repeat(5_000));
    assert_eq!(shown(&far), "command:\n| ls⟦5000 blanks⟧; rm -r /");
    let below = format!("ls{}rm -r /", "\n".repeat(500));
    assert_eq!(shown(&below), "command:\n| ls\n| ⟦499 empty lines⟧\n| rm -r /");
    let long = "x".repeat(1_000);
    assert!(shown(&long).split('\n').all(|line| line.chars().count() <= COLUMNS_MAX));
    // What is not shown whole is not shown.
    for long in
        ["x".repeat(SHOWN_CHARS_MAX), "x\n".repeat(SHOWN_LINES_MAX), "\u{200b}".repeat(2_000)]
    {
        assert_eq!(show(&call(StartFolder::Nowhere, &[("command", text(&long))])), Err(TooLong));
    }
}

fn signs() -> impl Strategy<Value = String> {
    let some = prop_oneof![
        4 => "[ -~]{0,12}",
        2 => "\\PC{0,4}",
        1 => any::<char>().prop_map(String::from),
        1 => "[\n ]{1,40}",
        1 => Just("⟦U+0041⟧".to_owned()),
        1 => Just("⟦3 empty lines⟧".to_owned()),
        1 => Just("\n| \n> \nin \"x\"\na = 1".to_owned()),
        1 => " {90,120}",
        1 => "x{60,130}",
    ];
    proptest::collection::vec(some, 0..8).prop_map(|some| some.concat())
}

fn argument() -> impl Strategy<Value = Argument> {
    prop_oneof![
        signs().prop_map(Argument::Text),
        prop_oneof![
            Just("5".to_owned()),
            Just("null".to_owned()),
            signs().prop_map(|it| format!("[{it}]"))
        ]
        .prop_map(Argument::Json),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_two_calls_are_shown_alike_and_nothing_is_hidden(
        folder in proptest::option::of(proptest::option::of(signs())),
        arguments in proptest::collection::btree_map("(\\PC|[a-z=: \n\"]){0,6}", argument(), 0..4),
    ) {
        let arguments: Vec<(String, Argument)> = arguments.into_iter().collect();
        let place = match &folder {
            None => StartFolder::Nowhere,
            Some(None) => StartFolder::Usual,
            Some(Some(folder)) => StartFolder::In(folder),
        };
        let Ok(shown) = show(&AskedCall { folder: place, process: None, unseen: None, arguments: arguments.clone() }) else {
            return Ok(());
        };
        if !shown.is_empty() {
            prop_assert_eq!(read(&shown), (folder.clone(), arguments));
        }
        prop_assert!(shown.chars().count() <= SHOWN_CHARS_MAX);
        prop_assert!(shown.split('\n').count() <= SHOWN_LINES_MAX);
        for line in shown.split('\n') {
            prop_assert!(line.chars().all(|it| is_plain(it) || "⟦⟧".contains(it)), "{line:?}");
            prop_assert!(!line.ends_with(' '));
        }
        if let Some(Some(_)) = folder {
            prop_assert!(shown.starts_with("in \""));
        }
    }
}
