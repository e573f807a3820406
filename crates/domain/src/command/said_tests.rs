//! Which commands a line says, and what is written to programs.

use super::{SimpleCommand, classify_input, plain, runs_its_input, said};

#[test]
fn shells_and_interpreters_run_what_is_written_to_them() {
    for runs in [
        "bash",
        "/bin/sh -i",
        "cd x && exec zsh",
        "FOO=1 python3.12 -i",
        "perl5.36",
        "node",
        "nice -n 5 dash",
        "cat | sh",
        "ssh host",
        "xargs rm",
        "$SHELL",
        "`which bash`",
        "b\\ash",
        "/bin/ba*",
        "(busybox ash)",
        "'bash'",
        "sqlite3 db",
        ". ./profile",
    ] {
        assert!(runs_its_input(runs), "{runs}");
    }
    for does_not in ["cat", "./server --port 80", "grep -n word", "cargo run", "tee log", ""] {
        assert!(!runs_its_input(does_not), "{does_not}");
    }
}

#[test]
fn only_what_is_written_to_a_shell_is_read() {
    for (command, text, expected) in [
        ("sh", "ls\n", None),
        ("/bin/bash -i", "ls\n", None),
        ("sh", "rm -rf build\n", Some("delete")),
        ("bash", "rm -rf ./*\n", Some("delete")),
        ("sh", "rm", Some("opaque")),
        ("sh", "rm \\\n", Some("opaque")),
        ("sh", "echo $(date)\n", Some("opaque")),
        ("sh", "reboot\n", Some("host_power")),
        ("cat | sh", "ls\n", Some("opaque")),
        ("cat | sh", "rm -r x\n", Some("delete")),
        ("bash -c 'read x; eval $x'", "ls\n", Some("opaque")),
        ("python3 -i", "print(1 + 1)\n", Some("opaque")),
        ("sqlite3 a.db", "select 1;\n", Some("opaque")),
        ("ssh host", "ls\n", Some("opaque")),
        ("python3 -i; sh", "reboot\n", Some("host_power")),
    ] {
        let said = classify_input(command, text);
        assert_eq!(said.finding().map(|it| it.rule.as_str()), expected, "{command}: {text}");
    }
}

#[test]
fn a_line_says_its_commands_and_those_that_prefixes_run() {
    let programs = |line: &str| -> Option<Vec<String>> {
        let first = |it: &SimpleCommand| it.words.first().cloned().flatten().unwrap_or_default();
        Some(said(line)?.iter().map(first).collect())
    };
    for (line, expected) in [
        ("git status", &["git"][..]),
        ("git log | head -3; ls", &["git", "head", "ls"]),
        ("echo $(rm x)", &["rm", "echo"]),
        ("env A=1 rm x", &["env", "rm"]),
        ("(cd x && make)", &["cd", "make"]),
        ("while read -r x; do ls; done < file", &["read", "ls"]),
        ("A=1", &[""]),
        ("> file", &[""]),
        ("/usr/bin/git x", &["/usr/bin/git"]),
        ("g\\it x", &["git"]),
        ("python3 x.py", &["python3"]),
        ("bash build.sh", &["bash"]),
    ] {
        let expected: Vec<String> = expected.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(programs(line), Some(expected), "{line}");
    }
    for line in [
        "git 'x",
        "$CMD x",
        "eval \"$x\"",
        "git $(",
        "g* x",
        "sh -c 'rm x'",
        "ls | xargs rm",
        "f() { rm x; }; f",
        "echo `rm x`",
        "find . -exec rm {} +",
        "env -S 'rm x'",
        "ls | sh",
        "git -c alias.x=!rm x",
        "$'rm' x",
    ] {
        assert_eq!(programs(line), None, "{line}");
    }
    assert_eq!(said(&"ls;".repeat(257)), None);
}

#[test]
fn a_command_begins_with_whole_words() {
    let begins = |line: &str, with: &str| said(line).unwrap()[0].begins_with(&plain(with).unwrap());
    assert!(begins("git status -s", "git"));
    assert!(begins("git  status", "git status"));
    assert!(!begins("gitx status", "git"));
    assert!(!begins("git", "git status"));
    assert!(!begins("git $X", "git status"));
    assert!(!begins("/opt/git status", "git"));
    assert!(said("A=1 git x").unwrap()[0].sets_variables);
    for wrong in ["", "git $X", "git; rm", "A=1 git", "git >x", "git *"] {
        assert_eq!(plain(wrong), None, "{wrong}");
    }
}
