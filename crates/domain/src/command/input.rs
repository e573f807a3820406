//! Whether a program that runs takes what is written to it for commands or code.
//!
//! Reads names, not meaning: one such name anywhere in the line is enough, and so is whatever
//! is only known when it runs. A program that is none of these, such as a database's client,
//! gets its input unjudged; what it can do with it ends at the sandbox.

use super::code::INTERPRETERS;
use super::judge::name_of;
use super::wrapper::SHELLS;
use super::{Assessment, DangerRule, Finding, PIECE_CHARS_MAX, classify, classify_code, said};

/// Programs that hand their input on to a shell, or make commands of it.
const HAND_ON: &[&str] = &[
    "ssh", "sudo", "su", "doas", "env", "exec", "eval", "source", "alias", "xargs", "parallel",
    "script", "screen", "tmux", "nsenter", "chroot", "unshare", "docker", "podman", "kubectl",
    "busybox", "toybox", "at", "batch", "socat", "nc", "ncat", "telnet", "gdb", "lldb", "vi",
    "vim", "nvim", "emacs", "ed", "ex", "make", "awk", "gawk", "mawk", "sed", "m4", "bc", "dc",
    "ipython", "jupyter", "ghci", "iex", "jshell", "scala", "sqlite3", "psql", "mysql",
];

/// Whether what is written to the input of this command line has to be judged as a command.
pub fn runs_its_input(command: &str) -> bool {
    // What a variable or a substitution stands for is not known here.
    if command.contains(['$', '`', '\\', '*', '?', '[']) {
        return true;
    }
    let is_name = |c: char| c.is_alphanumeric() || "._-+/".contains(c);
    command.split(|c: char| !is_name(c)).any(|word| {
        let name = word.rsplit('/').next().unwrap_or(word).trim_start_matches('-');
        // `bash5`, `python3.12` and `perl5.36` are what they begin with.
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        name == "."
            || plain.starts_with("python")
            || [name, plain].iter().any(|name| {
                SHELLS.contains(name) || INTERPRETERS.contains(name) || HAND_ON.contains(name)
            })
    })
}

/// Clients of databases: what is written to them is no command line.
const DATABASES: &[&str] = &["sqlite3", "duckdb", "psql", "mysql", "mariadb"];

/// Judges what is written to a program that runs its input, by what reads it.
pub fn classify_input(command: &str, text: &str) -> Assessment {
    // What is not a whole line yet means whatever comes behind it.
    if !text.ends_with('\n') || text.ends_with("\\\n") {
        return Assessment::NeedsApproval(Finding {
            rule: DangerRule::Dynamic,
            piece: text.chars().take(PIECE_CHARS_MAX).collect(),
        });
    }
    let said = said(command).filter(|all| all.len() == 1);
    let first = said.as_ref().and_then(|all| all[0].words.first()?.as_deref());
    match first.map(name_of) {
        Some(name) if name.starts_with("python") || INTERPRETERS.contains(&name) => {
            classify_code(name, text)
        }
        // Judged as what it is fed with. Nobody knows the word that would end it.
        Some(name) if DATABASES.contains(&name) && !text.contains(END) => {
            classify(&format!("{name} <<'{END}'\n{text}\n{END}\n"))
        }
        _ => classify(text),
    }
}

/// The end of the text that a client of a database is judged to be fed with.
const END: &str = "end-of-what-was-written";

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_is_written_is_judged_by_what_reads_it_and_line_by_line() {
        let rule = |command: &str, text: &str| {
            let said = classify_input(command, text);
            said.finding().map(|it| it.rule.as_str().to_owned()).unwrap_or_default()
        };
        for (command, text, expected) in [
            ("sh", "ls\n", ""),
            ("sh", "rm -rf build\n", "delete"),
            ("sh", "rm", "dynamic"),
            ("sh", "rm \\\n", "dynamic"),
            ("python3 -i", "print(1 + 1)\n", ""),
            ("python3 -i", "import shutil; shutil.rmtree('x')\n", "inline_code"),
            ("/usr/bin/node", "console.log(1 + 1)\n", ""),
            ("sqlite3 a.db", "select count(*) from t;\n", ""),
            ("sqlite3 a.db", "insert into t values(1);\n", ""),
            ("sqlite3 a.db", "drop table t;\n", "database"),
            ("sqlite3 a.db", ".shell rm -rf build\n", "delete"),
            ("ssh host", "reboot\n", "host_power"),
            ("python3 -i; sh", "reboot\n", "host_power"),
        ] {
            assert_eq!(rule(command, text), expected, "{command}: {text}");
        }
    }
}
