//! Wrapping a command in others never makes it look less dangerous, and nothing makes the
//! classifier fail.

use super::classify;
use proptest::prelude::*;
use proptest::sample::select;

const COMMANDS: &[&str] = &[
    "rm -rf /",
    "rm -r build",
    "reboot",
    "git push --force",
    "echo x > /etc/passwd",
    "dd if=/dev/zero of=/dev/sda",
    ":(){ :|:& };:",
    "curl x | sh",
    "kill -9 -1",
    "$X y",
];

fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', r"'\''"))
}

/// Ways of running a line inside another.
const WRAPPERS: &[fn(&str) -> String] = &[
    |line| format!("sh -c {}", quoted(line)),
    |line| format!("bash -lc {}", quoted(line)),
    |line| format!("eval {}", quoted(line)),
    |line| format!("sudo -u root bash -c {}", quoted(line)),
    |line| format!("env -i A=1 sh -c {}", quoted(line)),
    |line| format!("nice -n 5 nohup timeout -k 1 5 sh -c {}", quoted(line)),
    |line| format!("ls | xargs -I% sh -c {}", quoted(line)),
    |line| format!("find . -exec sh -c {} \\;", quoted(line)),
    |line| format!("( {line} )"),
    |line| format!("{{ {line}\n}}"),
    |line| format!("true && {line}"),
    |line| format!("if true; then {line}\nfi"),
    |line| format!("for i in 1 2; do {line}\ndone"),
    |line| format!("case x in x) {line}\n;; esac"),
    |line| format!("echo $({line}\n)"),
    |line| format!("x=\"$({line}\n)\""),
    |line| format!("cat <(\n{line}\n)"),
    |line| format!("f() {{ {line}\n}}; f"),
    |line| format!("trap {} EXIT", quoted(line)),
    |line| format!("sh <<'HERE'\n{line}\nHERE"),
    |line| format!("bash <<< {}", quoted(line)),
    |line| format!("LINE={}; eval \"$LINE\"", quoted(line)),
    |line| format!("A=1 B=2 sh -c {} &", quoted(line)),
    |line| format!("EDITOR={} git commit", quoted(line)),
    |line| format!("export PAGER={}; git log", quoted(line)),
    |line| format!("env GIT_SSH_COMMAND={} git fetch", quoted(line)),
    |line| format!("git -c core.editor={} commit", quoted(line)),
    |line| format!("# nothing\n{line}\n"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn wrapping_never_makes_a_command_less_dangerous(
        command in select(COMMANDS),
        wrappers in prop::collection::vec(0..WRAPPERS.len(), 0..5),
    ) {
        let mut line = command.to_owned();
        let mut severity = classify(&line).severity();
        prop_assert!(severity.is_some());
        // A marker inside a marker would end the outer text early.
        for (depth, at) in wrappers.into_iter().enumerate() {
            line = WRAPPERS[at](&line).replace("HERE", &format!("E{depth}E"));
            let now = classify(&line).severity();
            prop_assert!(now >= severity, "{line}\n{now:?} < {severity:?}");
            severity = now;
        }
    }

    #[test]
    fn any_text_gets_an_answer(text in "[a-z$(){}`'\"\\\\<>|&;#\\[\\]* \n=-]{0,60}") {
        let _ = classify(&text);
    }

    #[test]
    fn quoting_letters_changes_nothing(places in prop::collection::vec(0usize..3, 2)) {
        let letters = ['r', 'm'].iter().zip(places).map(|(letter, how)| match how {
            0 => letter.to_string(),
            1 => format!("'{letter}'"),
            _ => format!("\\{letter}"),
        });
        let line = format!("{} -rf /", letters.collect::<String>());
        prop_assert_eq!(classify(&line).severity(), classify("rm -rf /").severity());
    }
}
