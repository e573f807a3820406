//! Programs that only run the words behind them: `sudo rm -r x` is `sudo`, and `rm -r x`.

use super::lexer::Word;
use super::rule::Unseen;

/// A name, its options, its options that take a value, and the number of words before the
/// command.
type Prefix = (&'static str, &'static str, &'static str, usize);

const PREFIXES: &[Prefix] = &[
    ("sudo", "-n -E -H -S -b --non-interactive --preserve-env", "-u -g -p -D --user --group", 0),
    ("doas", "-n", "-u", 0),
    ("env", "-i - --ignore-environment", "-u -C --unset --chdir", 0),
    ("nohup", "", "", 0),
    ("setsid", "-c -f -w --fork --wait", "", 0),
    ("nice", "", "-n --adjustment", 0),
    ("ionice", "-t", "-c -n", 0),
    ("time", "-p -v", "-f -o", 0),
    ("timeout", "-v --foreground --preserve-status", "-k -s --kill-after --signal", 1),
    ("stdbuf", "", "-i -o -e --input --output --error", 0),
    ("command", "-p", "", 0),
    ("builtin", "", "", 0),
    ("exec", "-c -l", "-a", 0),
    ("busybox", "", "", 0),
];

/// Most commands of which each only runs the next: people need two or three.
const COMMANDS_MAX: usize = 16;

/// A command, and the ones it only runs, each from its name on. Where an option is unknown,
/// nobody knows which word is the next command.
pub(super) fn commands(words: &[Word]) -> (Vec<&[Word]>, Option<Unseen>) {
    let (mut all, mut words) = (Vec::new(), words);
    while let Some((first, rest)) = words.split_first() {
        all.push(words);
        if all.len() > COMMANDS_MAX {
            return (all, Some(Unseen::HandedOn));
        }
        let name = first.plain().map(name_of);
        let Some(prefix) = PREFIXES.iter().find(|it| Some(it.0) == name) else { break };
        match behind(prefix, rest) {
            Ok(behind) => words = behind,
            Err(unseen) => return (all, unseen),
        }
    }
    (all, None)
}

/// The words behind a prefix with its options; what stands in the way, where something does.
fn behind<'w>(prefix: &Prefix, mut words: &'w [Word]) -> Result<&'w [Word], Option<Unseen>> {
    let (name, flags, valued, operands) = *prefix;
    let is_in = |list: &str, flag: &str| list.split(' ').any(|it| it == flag);
    while let Some((word, rest)) = words.split_first() {
        let Some(text) = word.plain() else {
            // The value of a setting does not matter here.
            match matches!(name, "env" | "sudo") && is_setting(&word.text) {
                true => words = rest,
                false => break,
            }
            continue;
        };
        let short = text.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let letter = text.get(..2).unwrap_or(text);
        words = match (text, short) {
            ("--", _) => {
                words = rest;
                break;
            }
            // It says what a name means, and runs nothing.
            ("-v" | "-V", _) if name == "command" => return Err(None),
            ("--help" | "--version", _) => return Err(None),
            _ if matches!(name, "env" | "sudo") && is_setting(text) => rest,
            _ if !text.starts_with('-') => break,
            _ if is_in(flags, text.split('=').next().unwrap_or(text)) => rest,
            _ if is_in(valued, text) => rest.get(1..).unwrap_or_default(),
            (_, None) if text.split_once('=').is_some_and(|(flag, _)| is_in(valued, flag)) => rest,
            (_, Some(_)) if is_in(valued, letter) => rest,
            (_, Some(it)) if it.chars().all(|it| is_in(flags, &format!("-{it}"))) => rest,
            (_, Some(it)) if name == "nice" && it.bytes().all(|it| it.is_ascii_digit()) => rest,
            _ => return Err(Some(Unseen::HandedOn)),
        };
    }
    Ok(words.get(operands..).unwrap_or_default())
}

fn is_setting(text: &str) -> bool {
    let is_name = |it: &str| it.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && is_name(name))
}

/// The name of a program, without where it is.
pub(super) fn name_of(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}
