//! Nothing makes the classifier fail or take long, and what a line says literally is found
//! wherever it stands.

use super::{DangerRule, Severity, classify, plain, said};
use proptest::prelude::*;
use proptest::sample::select;

const COMMANDS: &[&str] = &[
    "rm -rf /",
    "rm -r build",
    "reboot",
    "git push --force",
    "echo x > /etc/passwd",
    "dd if=/dev/zero of=/dev/sda",
    "kill -9 -1",
    "$X y",
    "python3 x.py",
];

fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', r"'\''"))
}

/// Ways of writing a line inside another, where its words still stand.
const AROUND: &[fn(&str) -> String] = &[
    |line| format!("( {line} )"),
    |line| format!("{{ {line}\n}}"),
    |line| format!("true && {line}"),
    |line| format!("ls | {line}"),
    |line| format!("if true; then {line}\nfi"),
    |line| format!("for i in 1 2; do {line}\ndone"),
    |line| format!("case x in x) {line}\n;; esac"),
    |line| format!("echo $( {line}\n)"),
    |line| format!("echo \"a $( {line}\n)\""),
    |line| format!("cat <<'HERE'\nx\nHERE\n{line}"),
    |line| format!("f() {{ {line}\n}}"),
    |line| format!("{line}; ls"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_literal_command_is_found_wherever_it_stands(
        command in select(COMMANDS),
        around in prop::collection::vec(0..AROUND.len(), 0..5),
    ) {
        let (mut line, severity) = (command.to_owned(), classify(command).severity());
        prop_assert!(severity.is_some());
        for at in around {
            line = AROUND[at](&line);
            let now = classify(&line).severity();
            prop_assert!(now >= severity, "{line}\n{now:?} < {severity:?}");
        }
    }

    #[test]
    fn a_line_that_another_program_gets_is_never_harmless(command in select(COMMANDS)) {
        for before in ["sh -c", "eval", "sudo bash -c", "xargs -I% sh -c", "find . -exec sh -c"] {
            let said = classify(&format!("{before} {}", quoted(command)));
            prop_assert!(said.severity() >= Some(Severity::Opaque), "{before} {command}");
        }
    }

    #[test]
    fn any_text_gets_an_answer(text in "[a-z0-9$(){}`'\"\\\\<>|&;#!\\[\\]*~ \n\t=é-]{0,80}") {
        let _ = (classify(&text), said(&text), plain(&text));
        let _ = super::classify_input(&text, &text);
    }

    #[test]
    fn quoting_a_word_gives_it_back(word in "[^\0]{1,20}") {
        let line = format!("echo {}", quoted(&word));
        prop_assert_eq!(plain(&line), Some(vec!["echo".into(), word.into()]));
    }

    #[test]
    fn quoting_letters_changes_nothing(places in prop::collection::vec(0usize..3, 2)) {
        let ways: [fn(char) -> String; 3] =
            [|it| it.to_string(), |it| format!("\\{it}"), |it| format!("'{it}'")];
        let name: String = "rm".chars().zip(places).map(|(it, at)| ways[at](it)).collect();
        let said = classify(&format!("{name} -r build"));
        prop_assert_eq!(said.finding().unwrap().rule, DangerRule::Delete);
    }
}

/// Lines that a few letters make endless, huge or deep: each has its answer at once.
#[test]
fn no_line_takes_longer_than_it_is_worth() {
    for line in [
        "echo ".to_owned() + &"${a:-".repeat(50_000),
        "echo ".to_owned() + &"\"${a:-".repeat(50_000),
        "echo ".to_owned() + &"$(".repeat(50_000),
        format!("echo {}{}", "$((".repeat(50_000), "))".repeat(50_000)),
        "a=(".repeat(10_000),
        "(".repeat(10_000),
        "env ".repeat(100_000),
        "ssh ".repeat(100_000),
        "find . -exec ".repeat(10_000),
        "echo a; ".repeat(20_000),
        "case x in a) ".repeat(30_000),
        format!("cat{}\nx", " <<x".repeat(20_000)),
        format!("cat{}", " >x".repeat(20_000)),
        format!("{}{}", "f(){ ".repeat(50_000), "x|".repeat(100_000)),
        format!("cd /{}; {}", "a/".repeat(500), "rm x; ".repeat(50_000)),
        format!("cat <<'x'\n{}x\n", "a b\n".repeat(10_000)),
    ] {
        let _ = (classify(&line), said(&line), super::runs_its_input(&line));
    }
    let deep = (0..60).fold("ls".to_owned(), |inner, _| format!("echo $({inner})"));
    assert_eq!(classify(&deep).severity(), Some(Severity::Opaque));
    assert_eq!(classify(&"ls;".repeat(4_096)).severity(), None);
    assert_eq!(classify(&"ls;".repeat(4_097)).severity(), Some(Severity::Opaque));
}
