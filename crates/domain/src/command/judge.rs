//! Judges simple commands: what each would do, by its name and arguments.

use super::act;
use super::path::{self, Place};
use super::reader::{Reader, Stop};
use super::rule::DangerRule;
use super::word::Arg;
use super::{COMMAND_BYTES_MAX, DEPTH_MAX, Worst, evaluate, variable, wrapper};
use std::collections::{HashMap, HashSet};

/// What is known at some point of a line.
#[derive(Debug, Clone, Default)]
pub(super) struct Around {
    /// How many commands this one is inside of.
    pub(super) depth: usize,
    /// Variables the line has set; `None` for those with a value nobody knows.
    pub(super) vars: HashMap<String, Option<String>>,
    /// Variables that are each of many things in turn.
    pub(super) many: HashSet<String>,
    /// What a variable is that was set twice.
    pub(super) twice: Twice,
    /// Aliases the line has made.
    pub(super) aliases: HashMap<String, String>,
    /// Files the line has made from others, by their names alone.
    pub(super) programs: HashMap<String, String>,
    /// Whether a name means another, so that nobody knows what is set.
    pub(super) is_renamed: bool,
    /// The letters of all that was set, for [`Self::work`].
    pub(super) letters: usize,
    /// The working directory, where the line has named it.
    pub(super) folder: Option<String>,
    /// Whether something is piped in, and what, where that is known.
    pub(super) is_fed: bool,
    pub(super) feed: Option<String>,
}

/// What a variable is taken for that was set twice: which value holds depends on the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Twice {
    /// Something that nobody knows.
    #[default]
    Unknown,
    /// What it was set to last, as far as the line was read.
    Latest,
}

impl Around {
    /// The same for a command inside of this one.
    pub(super) fn inside(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }

    /// The value of a variable; the inner `None` for one that nobody knows.
    pub(super) fn get(&self, name: &str) -> Option<Option<&str>> {
        self.vars.get(name).map(Option::as_deref)
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: String, value: Option<String>) {
        let value = value.filter(|_| !self.is_renamed);
        self.letters += name.len() + value.as_ref().map_or(0, String::len);
        self.vars.insert(name, value);
    }

    /// Sets a variable to each of many things.
    pub(super) fn set_many(&mut self, name: String) {
        self.letters += name.len();
        self.many.insert(name.clone());
        self.set(name, None);
    }

    /// What it takes to hand this on to another command: letters are copied many at once.
    pub(super) fn work(&self) -> usize {
        1 + self.vars.len()
            + self.aliases.len()
            + self.programs.len()
            + self.many.len()
            + self.letters / 64
    }
}

/// A simple command, as it was read.
#[derive(Debug, Default)]
pub(super) struct Simple {
    pub(super) assignments: Vec<(String, Option<String>)>,
    pub(super) args: Vec<Arg>,
    /// Here documents and here strings, and whether all of each is known.
    pub(super) bodies: Vec<(String, bool)>,
    /// Whether there was anything at all.
    pub(super) has_words: bool,
    pub(super) is_fed: bool,
    pub(super) feed: Option<String>,
    /// Whether a redirection leads in what nobody knows.
    pub(super) is_led: bool,
    /// What the commands print that it reads as files (`<(…)`), where that is known.
    pub(super) files: Vec<String>,
    /// As it was written.
    pub(super) source: String,
}

impl Simple {
    pub(super) fn is_empty(&self) -> bool {
        self.args.is_empty() && self.assignments.is_empty() && !self.has_words
    }
}

/// One command to judge, and what it is fed with.
pub(super) struct Case<'c> {
    pub(super) args: &'c [Arg],
    pub(super) simple: &'c Simple,
    pub(super) around: &'c Around,
}

impl<'c> Case<'c> {
    /// A command that this one runs.
    pub(super) fn with<'d>(&self, args: &'d [Arg], around: &'d Around) -> Case<'d>
    where
        'c: 'd,
    {
        Case { args, simple: self.simple, around }
    }

    /// What is known inside of a text that this one runs: it reads what this one reads.
    pub(super) fn inside(&self) -> Around {
        let mut around = self.around.inside();
        let body = self.simple.bodies.last();
        around.is_fed |= self.simple.is_fed || body.is_some();
        let known = body.filter(|(_, is_known)| *is_known).map(|(body, _)| body.clone());
        around.feed = self.simple.feed.clone().or(known).or(around.feed);
        around
    }

    pub(super) fn folder(&self) -> Option<&str> {
        self.around.folder.as_deref()
    }
}

/// What it takes to judge a text, besides reading its letters.
const SCRIPT_WORK: usize = 64;

/// Judges a whole text.
pub(super) fn script(text: &str, around: Around, worst: &mut Worst) {
    if !worst.spend(SCRIPT_WORK + text.len() + around.work()) {
        worst.add(DangerRule::TooComplex, text);
        return;
    }
    let mut reader = Reader::new(text, around, worst);
    if let Err(Stop(rule)) = reader.list(None) {
        worst.add(rule, text);
    }
}

/// Judges the commands in a text that is otherwise no command, as in double quotes.
pub(super) fn substituted(text: &str, around: Around, worst: &mut Worst) {
    if !worst.spend(SCRIPT_WORK + text.len() + around.work()) {
        worst.add(DangerRule::TooComplex, text);
        return;
    }
    let mut reader = Reader::new(text, around, worst);
    if let Err(Stop(rule)) = reader.quoted(None) {
        worst.add(rule, text);
    }
}

/// Judges a command and follows what it does to the ones after it; what it prints, where
/// that is known.
pub(super) fn simple(simple: &Simple, around: &mut Around, worst: &mut Worst) -> Option<String> {
    for (name, value) in &simple.assignments {
        variable::set(name, value.as_deref(), around, &simple.source, worst);
        if simple.args.is_empty() {
            assign(name, value.clone(), around);
        }
    }
    command(&Case { args: &simple.args, simple, around }, worst);
    follow(simple, around)
}

fn assign(name: &str, value: Option<String>, around: &mut Around) {
    let value = match around.get(name) {
        Some(before) if before != value.as_deref() && around.twice == Twice::Unknown => None,
        _ => value,
    };
    around.set(name.to_owned(), value);
}

/// What a command changes for those after it.
fn follow(simple: &Simple, around: &mut Around) -> Option<String> {
    let known = |arg: &Arg| arg.is_known.then(|| arg.text.clone());
    let (first, rest) = simple.args.split_first()?;
    copied(name_of(&first.text), rest, around);
    match &*first.text {
        "cd" | "pushd" => {
            let to = rest.iter().find(|arg| !arg.text.starts_with('-'));
            around.folder = match to {
                None if rest.is_empty() => Some("~".to_owned()),
                Some(arg) if arg.is_known && !arg.is_glob => {
                    let path = path::tidy(&arg.text, around.folder.as_deref());
                    path.starts_with(['/', '~']).then_some(path)
                }
                _ => None,
            };
        }
        "alias" => {
            for (name, value) in rest.iter().filter_map(|arg| arg.text.split_once('=')) {
                around.letters += name.len() + value.len();
                around.aliases.insert(name.to_owned(), value.to_owned());
            }
        }
        "hash" if rest.first().is_some_and(|arg| arg.text == "-p") => {
            let path = rest.get(1).map(|arg| arg.text.clone()).unwrap_or_default();
            for name in rest.iter().skip(2) {
                around.letters += name.text.len() + path.len();
                around.aliases.insert(name.text.clone(), path.clone());
            }
        }
        "export" | "declare" | "typeset" | "local" | "readonly" => {
            let is_name = |arg: &Arg| arg.text.starts_with('-') && arg.text.contains('n');
            let names = !matches!(&*first.text, "export" | "readonly");
            if names && !around.is_renamed && rest.iter().any(is_name) {
                around.is_renamed = true;
                around.vars.values_mut().for_each(|value| *value = None);
            }
            for arg in rest {
                if let Some((name, value)) = arg.text.split_once('=') {
                    assign(name, arg.is_known.then(|| value.to_owned()), around);
                }
            }
        }
        "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" => {
            for arg in rest {
                around.set(arg.text.clone(), None);
            }
        }
        "printf" if rest.first().is_some_and(|arg| arg.text == "-v") => {
            around.set(rest.get(1).map(|arg| arg.text.clone()).unwrap_or_default(), None);
        }
        "echo" => {
            let words: Option<Vec<String>> =
                rest.iter().skip_while(|arg| is_echo_option(arg)).map(known).collect();
            return words.map(|words| words.join(" "));
        }
        "printf" => {
            let format = known(rest.first()?)?;
            let words: Option<Vec<String>> = rest[1..].iter().map(known).collect();
            let words = words?.join(" ");
            let printed_len = format.len() + words.len() * (1 + format.matches("%b").count());
            if printed_len > COMMAND_BYTES_MAX {
                return None;
            }
            // Close enough: everything it could print, in order.
            let plain = format.replace("\\n", "\n");
            return Some(plain.replacen("%s", &words, 1).replace("%b", &words));
        }
        "cat" if rest.is_empty() => {
            return simple.bodies.last().filter(|(_, known)| *known).map(|(body, _)| body.clone());
        }
        _ => {}
    }
    None
}

/// Notes a file that is made from another one: by either name it is the same program.
fn copied(name: &str, rest: &[Arg], around: &mut Around) {
    if !matches!(name, "cp" | "ln" | "link" | "mv" | "install") {
        return;
    }
    let words: Vec<&Arg> = rest.iter().filter(|arg| !arg.text.starts_with('-')).collect();
    let [.., from, to] = words.as_slice() else { return };
    let (from, to) = (name_of(&from.text), name_of(&to.text));
    if !from.is_empty() && !to.is_empty() && from != to {
        around.letters += from.len() + to.len();
        around.programs.insert(to.to_owned(), from.to_owned());
    }
}

fn is_echo_option(arg: &Arg) -> bool {
    let is_option = |rest: &str| !rest.is_empty() && rest.chars().all(|it| "neE".contains(it));
    arg.text.strip_prefix('-').is_some_and(is_option)
}

/// Judges where a redirection writes.
pub(super) fn redirected(
    operator: &str,
    target: &Arg,
    around: &Around,
    source: &str,
    worst: &mut Worst,
) {
    let place = path::place(target, around.folder.as_deref());
    let rule = match place {
        Place::Socket => DangerRule::RemoteShell,
        _ if !operator.contains('>') => return,
        Place::Disk => DangerRule::WipeDisk,
        Place::Switch => DangerRule::HostPower,
        Place::System | Place::Whole => DangerRule::SystemFile,
        Place::Ordinary => return,
    };
    worst.add(rule, source);
}

/// Judges a command, and those it runs.
pub(super) fn command(case: &Case<'_>, worst: &mut Worst) {
    let source = &case.simple.source;
    worst.hear(case);
    let work = case.args.len() + case.around.work();
    if case.around.depth > DEPTH_MAX || !worst.spend(work) {
        worst.add(DangerRule::TooComplex, source);
        return;
    }
    // What is not known may be nothing at all, and the next word the command.
    let is_nothing = |arg: &&Arg| !arg.is_known && arg.is_open && arg.text.is_empty();
    let nothing = case.args.iter().take_while(is_nothing).count();
    if nothing > 0 {
        worst.add(DangerRule::Dynamic, source);
    }
    let Some((first, rest)) = case.args[nothing..].split_first() else { return };
    let is_pattern = first.is_glob && first.text != "[";
    if !first.is_known || is_pattern || first.text.contains("{}") {
        worst.add(DangerRule::Dynamic, source);
        return;
    }
    if let Some(value) = case.around.aliases.get(&first.text) {
        let mut around = case.around.inside();
        around.aliases.remove(&first.text);
        let words: Vec<String> = rest.iter().map(quote).collect();
        script(&format!("{value} {}", words.join(" ")), around, worst);
    }
    let name = name_of(&first.text);
    if let Some(program) = case.around.programs.get(name) {
        let mut around = case.around.inside();
        around.programs.remove(name);
        let mut args = vec![Arg::known(program)];
        args.extend_from_slice(rest);
        command(&case.with(&args, &around), worst);
    }
    evaluate::judge(name, rest, case, worst);
    if !wrapper::judge(name, rest, case, worst) {
        act::judge(name, rest, case, worst);
    }
}

/// The name of a program, without where it is.
pub(super) fn name_of(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}

/// An argument as a shell reads it back.
pub(super) fn quote(arg: &Arg) -> String {
    let text = format!("'{}'", arg.text.replace('\'', r"'\''"));
    match (arg.is_known, arg.is_open) {
        (true, _) if arg.is_glob => arg.text.clone(),
        (true, _) => text,
        (false, true) => format!("{text}$unknown"),
        (false, false) => format!("{text}\"$unknown\""),
    }
}
