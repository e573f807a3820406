//! Programs that only run the words behind them: `sudo rm -r x` is `sudo`, and `rm -r x`.

use super::word::{Word, assigned, is_in};

/// A name, its options, and its options that take a value.
const PREFIXES: &[(&str, &str, &str)] = &[
    ("sudo", "-n -E -H -S -b --non-interactive --preserve-env", "-u -g -p -D --user --group"),
    ("doas", "-n", "-u"),
    ("env", "-i - --ignore-environment", "-u -C --unset --chdir"),
    ("nohup", "", ""),
    ("setsid", "-c -f -w --fork --wait", ""),
    ("nice", "-1* -2* -3* -4* -5* -6* -7* -8* -9*", "-n --adjustment"),
    ("ionice", "-t", "-c -n"),
    ("time", "-p -v", "-f -o"),
    ("timeout", "-v --foreground --preserve-status", "-k -s --kill-after --signal"),
    ("stdbuf", "", "-i -o -e --input --output --error"),
    ("command", "-p", ""),
    ("builtin", "", ""),
    ("exec", "-c -l", "-a"),
    ("busybox", "", ""),
];

/// Most commands of which each only runs the next: people need two or three.
const COMMANDS_MAX: usize = 16;

/// A command and the ones it only runs, each from its name on, and whether these are all. Where an
/// option is unknown, nobody knows which word is the next command.
pub(super) fn commands(mut words: &[Word]) -> (Vec<&[Word]>, bool) {
    let mut all = Vec::new();
    while let [first, args @ ..] = words {
        all.push(words);
        let name = first.plain().map(name_of);
        let Some(prefix) = PREFIXES.iter().find(|it| Some(it.0) == name) else { break };
        match behind(prefix, args) {
            Some(behind) if all.len() <= COMMANDS_MAX => words = behind,
            _ => return (all, false),
        }
    }
    (all, true)
}

/// The words behind the options of a prefix, if all of these are known.
fn behind<'w>(prefix: &(&str, &str, &str), mut words: &'w [Word]) -> Option<&'w [Word]> {
    let (name, flags, valued) = *prefix;
    while let [word, rest @ ..] = words {
        let text = &*word.text;
        let flag = text.split('=').next().unwrap_or(text);
        let letter = text.get(..2).unwrap_or(text);
        let are_flags = || text.chars().skip(1).all(|it| is_in(flags, &format!("-{it}")));
        let is_setting = matches!(name, "env" | "sudo") && assigned(text).is_some();
        words = match text {
            "--" => {
                words = rest;
                break;
            }
            // It says what a name means, and runs nothing.
            "-v" | "-V" if name == "command" => return Some(&[]),
            "--help" | "--version" => return Some(&[]),
            _ if is_setting => rest,
            _ if !text.starts_with('-') => break,
            _ if is_in(valued, text) => rest.get(1..).unwrap_or_default(),
            _ if is_in(flags, flag) || is_in(valued, flag) || is_in(valued, letter) => rest,
            _ if are_flags() => rest,
            _ => return None,
        };
    }
    // How long comes before what.
    words.get(usize::from(name == "timeout")..).or(Some(&[]))
}

/// The name of a program, without where it is; `mkfs.ext4` is `mkfs`.
pub(super) fn name_of(text: &str) -> &str {
    let name = text.rsplit('/').next().unwrap_or(text);
    if name.starts_with("mkfs.") { "mkfs" } else { name }
}
