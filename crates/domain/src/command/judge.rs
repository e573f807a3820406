//! Judges the commands of a line, each by its literal words.

use super::line::{self, Simple};
use super::prefix::{self, name_of};
use super::rule::DangerRule::{
    self, Database, Delete, ForkBomb, Install, Kill, KillAll, Opaque, Permissions, Preload,
    RemoteShell, SystemFile, WipeDisk, WipeSystem,
};
use super::rule::Unseen;
use super::table::{
    self, CLIENTS, COPIERS, DELETERS, DESTROYERS, DISK_TOOLS, NARROW_MODES, PRELOADS, TELLERS,
    WRITERS,
};
use super::word::{Word, assigned, has_option, is_in, names};
use super::{COMMAND_BYTES_MAX, Worst, path};

/// Folders of programs that everybody has. What lies elsewhere may be a script.
const PROGRAMS: &str = "/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin";
/// Commands that set variables for others.
const SETTERS: &str = "export declare typeset readonly local env sudo";
/// Most arguments, and most words of one, that are looked at for a command.
const ARGUMENTS_MAX: usize = 64;
const INNER_WORDS_MAX: usize = 64;
/// Most words behind a program's name that are looked at for what it does, where the program is
/// not the first word.
const COMMAND_WORDS_MAX: usize = 16;
/// Tests of `find` that leave most files.
const FILTERS: &str = "-name -iname -path -ipath -regex -iregex -wholename";

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
        worst.add(ForkBomb, text);
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
        match path::rule(file, folder) {
            Some(WipeSystem) if *is_written => worst.add(SystemFile, source),
            Some(rule) if *is_written || rule == RemoteShell => worst.add(rule, source),
            _ => {}
        }
    }
    if simple.assignments.iter().any(|name| is_in(PRELOADS, name)) {
        worst.add(Preload, source);
    }
    // Then a name means whatever lies in a folder.
    let sets_path = |word: &Word| assigned(&word.text) == Some("PATH");
    let is_exported = || simple.words.iter().skip(1).any(sets_path);
    if simple.assignments.iter().any(|name| &**name == "PATH") || is_exported() {
        worst.add_unseen(Unseen::Name, source);
    }
    let (commands, are_all) = prefix::commands(&simple.words);
    if !are_all {
        worst.add_unseen(Unseen::HandedOn, source);
    }
    for words in commands {
        if let Some(unseen) = self::unseen(words, is_fed) {
            worst.add_unseen(unseen, source);
        }
        let [first, args @ ..] = words else { continue };
        let Some(name) = named(first) else { continue };
        let rules = [table::rule(name, args), special(name, args)].into_iter().flatten();
        for rule in rules.chain(reached(name, args, folder)).filter(|it| *it != Opaque) {
            worst.add(rule, source);
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
    let is_script = folder.is_some_and(|folder| !is_in(PROGRAMS, folder));
    table::unseen(name, args).or(is_script.then_some(Unseen::Code))
}

/// What no row of a table can say of a command.
fn special(name: &str, args: &[Word]) -> Option<DangerRule> {
    let sets = |arg: &Word| assigned(&arg.text).is_some_and(|name| is_in(PRELOADS, name));
    // In the first place `-1` is a signal, and so is what follows `-s`.
    let is_signal = |at: usize| at > 0 && is_in("-s -n --signal", &args[at - 1].text);
    let is_everybody = |(at, arg): (usize, &Word)| {
        (arg.text == "1" || at > 0 && arg.text == "-1") && !is_signal(at)
    };
    // `$!` is what the line itself started last.
    let is_unknown = |arg: &Word| arg.varies && arg.text != "$!";
    match name {
        _ if is_in(DELETERS, name) && args.iter().any(|arg| arg.is_pattern) => Some(Delete),
        "find" if has_option("-delete", args) => Some(Delete),
        "chmod" => {
            let mode = names(args).next()?.text.trim_start_matches('0');
            (!is_in(NARROW_MODES, mode)).then_some(Permissions)
        }
        "kill" if args.iter().enumerate().any(is_everybody) => Some(KillAll),
        "kill" if args.iter().any(is_unknown) => Some(Kill),
        _ if !is_in(TELLERS, name)
            && (0..args.len().min(ARGUMENTS_MAX)).any(|at| installs(&args[at..])) =>
        {
            Some(Install)
        }
        // Without a word about what to do they install what the project names.
        "yarn" | "bundle" if args.is_empty() => Some(Install),
        _ if is_in(SETTERS, name) && args.iter().any(sets) => Some(Preload),
        _ if is_in(CLIENTS, name) && args.iter().any(destroys) => Some(Database),
        _ => None,
    }
}

/// Whether words, or the words of the first of them, are a command that installs: whatever stands
/// before may run it.
fn installs(words: &[Word]) -> bool {
    let is_install = |words: &[Word]| {
        // A bound, so that a line of nothing but such names takes no longer than others.
        let words = words.get(..COMMAND_WORDS_MAX).unwrap_or(words);
        let Some((first, args)) = words.split_first() else { return false };
        let name = name_of(&first.text);
        table::is_installer(name, args) && table::rule(name, args).is_some()
    };
    let Some(first) = words.first() else { return false };
    if !first.text.contains(char::is_whitespace) {
        return is_install(words);
    }
    let quoted = |it: char| it.is_whitespace() || "\"'`;|&()!$".contains(it);
    let inner = first.text.split(quoted).filter(|it| !it.is_empty());
    let inner: Vec<Word> =
        inner.take(INNER_WORDS_MAX).map(|it| Word { text: it.into(), ..Word::default() }).collect();
    (0..inner.len()).any(|at| inner.get(at..).is_some_and(is_install))
}

/// Whether an argument has a word that destroys data.
fn destroys(arg: &Word) -> bool {
    let text = arg.text.to_ascii_lowercase();
    text.split(|it: char| !it.is_alphanumeric() && it != '_').any(|word| is_in(DESTROYERS, word))
}

/// The rules against what a command writes to, by their places.
fn reached(name: &str, args: &[Word], folder: Option<&str>) -> Vec<DangerRule> {
    let has = |list: &str| has_option(list, args);
    let last = names(args).count().saturating_sub(1);
    let first_written = match name {
        "find" if has("-delete") && !has(FILTERS) => 0,
        "sed" | "gsed" if has("-i --in-place") => 0,
        name if is_in(WRITERS, name) || is_in(DELETERS, name) => 0,
        name if is_in(DISK_TOOLS, name) && table::rule(name, args).is_some() => 0,
        name if is_in(COPIERS, name) => last,
        _ => return Vec::new(),
    };
    let changes_modes = is_in("chmod chown chgrp", name);
    // Whether a folder is meant with all that is in it.
    let is_whole = |at: usize| match name {
        "find" => true,
        "mv" => at < last,
        _ if changes_modes => has("-R --recursive"),
        _ => has("-r -R --recursive") && is_in(DELETERS, name),
    };
    let rule = |(at, file): (usize, &Word)| match path::rule(file, folder)? {
        WipeSystem if !is_whole(at) => Some(SystemFile),
        WipeDisk if changes_modes => Some(SystemFile),
        rule => Some(rule),
    };
    names(args).enumerate().skip(first_written).filter_map(rule).collect()
}
