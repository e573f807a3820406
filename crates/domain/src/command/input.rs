//! What is written to a program that runs already.
//!
//! Reads names, not meaning: one such name anywhere in the command of the program is enough,
//! and so is whatever is only known when it runs.

use super::rule::Unseen;
use super::table::{HANDERS, INTERPRETERS, SHELLS, has_name, waits};
use super::{Assessment, CommandFinding, Severity, classify, line, prefix};

/// Further programs that hand their input on to a shell, or run it.
const HAND_ON: &str = "env sudo su doas exec chroot unshare docker podman kubectl busybox toybox at \
    batch socat nc ncat telnet make awk gawk mawk sed bc dc jupyter sqlite3 duckdb psql mysql \
    mariadb";

/// Whether what is written to the input of this command line could be run.
pub fn runs_its_input(command: &str) -> bool {
    // What a variable or a substitution stands for is not known here.
    command.contains(['$', '`', '\\', '*', '?', '[', '{'])
        || names(command).any(|name| {
            let lists = [SHELLS, INTERPRETERS, HANDERS, HAND_ON];
            let plain = without_version(name);
            lists.iter().any(|list| has_name(list, name) || has_name(list, plain))
        })
}

/// What could be names of programs.
fn names(command: &str) -> impl Iterator<Item = &str> {
    let is_name = |it: char| it.is_alphanumeric() || "._-+/".contains(it);
    let words = command.split(move |it: char| !is_name(it));
    words.map(|word| prefix::name_of(word).trim_start_matches('-'))
}

/// `bash5`, `python3.12` and `perl5.36` are what they begin with.
fn without_version(name: &str) -> &str {
    match name {
        "." => name,
        name => name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.' || it == '-'),
    }
}

/// Judges what is written to a program that runs its input. Only a shell's is read.
pub fn classify_input(command: &str, text: &str) -> Assessment {
    let opaque = |unseen| Assessment::NeedsApproval(CommandFinding::unseen(unseen, text));
    // What is not a whole line yet means whatever comes behind it.
    if !text.ends_with('\n') || text.ends_with("\\\n") {
        return opaque(Unseen::Partial);
    }
    if !names(command).any(|name| has_name(SHELLS, without_version(name))) {
        return opaque(Unseen::Code);
    }
    match classify(text) {
        assessment if assessment.severity() > Some(Severity::Opaque) => assessment,
        assessment if is_shell(command) => assessment,
        _ => opaque(Unseen::HandedOn),
    }
}

/// Whether a command is a shell and nothing else, so that it reads lines from the first one on.
fn is_shell(command: &str) -> bool {
    let lexer = line::read(command, None);
    let [simple] = &lexer.read.commands[..] else { return false };
    let Some((name, args)) = simple.words.split_first() else { return false };
    let name = prefix::name_of(name.plain().unwrap_or_default());
    !lexer.read.is_fed && has_name(SHELLS, without_version(name)) && waits(name, args)
}
