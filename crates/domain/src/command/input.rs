//! What is written to a program that runs already.
//!
//! Reads names, not meaning: one such name anywhere in the command of the program is enough,
//! and so is whatever is only known when it runs.

use super::rule::Unseen;
use super::table::{HANDERS, INPUT_HANDERS, INTERPRETERS, SHELLS, has_program, waits};
use super::{Assessment, CommandFinding, Severity, classify, line, prefix};

/// Whether what is written to the input of this command line could be run.
pub fn runs_its_input(command: &str) -> bool {
    let lists = [SHELLS, INTERPRETERS, HANDERS, INPUT_HANDERS];
    // What a variable or a substitution stands for is not known here.
    command.contains(['$', '`', '\\', '*', '?', '[', '{'])
        || names(command).any(|name| lists.iter().any(|list| has_program(list, name)))
}

/// What could be names of programs.
fn names(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split(|it: char| !it.is_alphanumeric() && !"._-+/".contains(it));
    let names = words.map(|word| prefix::name_of(word).trim_start_matches('-'));
    names.filter(|name| !name.is_empty())
}

/// Judges what is written to a program that runs its input. Only a shell's is read.
pub fn classify_input(command: &str, text: &str) -> Assessment {
    let opaque = |unseen| Assessment::NeedsApproval(CommandFinding::unseen(unseen, text));
    // What is not a whole line yet means whatever comes behind it.
    if !text.ends_with('\n') || text.ends_with("\\\n") {
        return opaque(Unseen::Partial);
    }
    if !names(command).any(|name| has_program(SHELLS, name)) {
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
    let [name, args @ ..] = &simple.words[..] else { return false };
    let name = prefix::name_of(name.plain().unwrap_or_default());
    !lexer.read.is_fed && has_program(SHELLS, name) && waits(name, args)
}
