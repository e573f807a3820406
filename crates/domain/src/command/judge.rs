//! Judges the commands of a line, each by its literal words.

use super::lexer::Word;
use super::line::{self, Simple};
use super::prefix::{self, name_of};
use super::rule::{DangerRule, Unseen};
use super::{COMMAND_BYTES_MAX, Worst, act, table};

/// Folders of programs that everybody has. What lies elsewhere may be a script.
const PROGRAMS: &str = "/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin";

/// Judges a line that begins in this folder.
pub(super) fn line(text: &str, folder: Option<&str>, worst: &mut Worst) {
    if text.len() > COMMAND_BYTES_MAX {
        return worst.add_unseen(Unseen::Unreadable, text);
    }
    let lexer = line::read(text, folder);
    for (unseen, piece) in &lexer.unseen {
        worst.add_unseen(*unseen, piece);
    }
    if lexer.read.function.as_ref().is_some_and(|name| is_fork_bomb(text, name)) {
        worst.add(DangerRule::ForkBomb, text);
    }
    for simple in &lexer.read.commands {
        command(simple, lexer.read.is_fed, worst);
    }
}

/// The form that everybody knows, by whatever name.
fn is_fork_bomb(text: &str, name: &str) -> bool {
    let text: String = text.split_whitespace().collect();
    text.contains(&format!("{name}(){{{name}|{name}&"))
}

fn command(simple: &Simple<'_>, is_fed: bool, worst: &mut Worst) {
    let (source, folder) = (simple.source, simple.folder.as_deref());
    for (file, is_written) in &simple.files {
        let rule = act::written(file, folder);
        let counts = |rule: &DangerRule| *is_written || *rule == DangerRule::RemoteShell;
        rule.filter(counts).into_iter().for_each(|rule| worst.add(rule, source));
    }
    if simple.assignments.iter().any(|name| act::is_preload(name)) {
        worst.add(DangerRule::Preload, source);
    }
    let (commands, unseen) = prefix::commands(&simple.words);
    unseen.into_iter().for_each(|unseen| worst.add_unseen(unseen, source));
    for words in commands {
        if let Some(unseen) = self::unseen(words, is_fed) {
            worst.add_unseen(unseen, source);
        }
        one(words, source, folder, worst);
    }
}

fn one(words: &[Word], source: &str, folder: Option<&str>, worst: &mut Worst) {
    let Some((first, args)) = words.split_first() else { return };
    let Some(name) = named(first) else { return };
    for rule in [act::rule(name, args, folder), table::rule(name, args)].into_iter().flatten() {
        match rule {
            DangerRule::Opaque => worst.add_unseen(Unseen::HandedOn, source),
            rule => worst.add(rule, source),
        }
    }
}

/// The name of the program, where that is known.
fn named(first: &Word) -> Option<&str> {
    let is_test = first.text == "[";
    first.plain().or(is_test.then_some("[")).map(name_of)
}

/// What of a command is not looked at, in a line that feeds its commands or does not.
pub(super) fn unseen(words: &[Word], is_fed: bool) -> Option<Unseen> {
    let (first, args) = words.split_first()?;
    let Some(name) = named(first) else { return Some(Unseen::Name) };
    if !is_fed && table::waits(name, args) {
        return None;
    }
    let folder = first.text.rsplit_once('/').map(|(folder, _)| folder);
    let is_script = folder.is_some_and(|folder| !table::has_name(PROGRAMS, folder));
    let handed = table::rule(name, args) == Some(DangerRule::Opaque);
    table::unseen(name, args)
        .or(handed.then_some(Unseen::HandedOn))
        .or(is_script.then_some(Unseen::Code))
}
