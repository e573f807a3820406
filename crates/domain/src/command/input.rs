//! Whether a program that runs takes what is written to it for commands or code.
//!
//! Reads names, not meaning: one such name anywhere in the line is enough, and so is whatever
//! is only known when it runs. A program that is none of these, such as a database's client,
//! gets its input unjudged; what it can do with it ends at the sandbox.

use super::code::INTERPRETERS;
use super::wrapper::SHELLS;

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
}
