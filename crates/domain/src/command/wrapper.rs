//! Commands that run other commands: which one, and what else they mean.

mod interpreter;
mod table;

use super::judge::{self, Case, quote};
use super::reader::unknown;
use super::rule::DangerRule;
use super::word::Arg;
use super::{Worst, act, code, path, variable};
use table::{WRAPPERS, Wrapper};

/// Shells.
pub(super) const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash", "lksh"];

/// Judges a command that runs others; `false` when this is none.
pub(super) fn judge(name: &str, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) -> bool {
    let source = &case.simple.source;
    if SHELLS.contains(&name) {
        shell(rest, case, worst);
        return true;
    }
    match name {
        "eval" => joined(rest, case, worst),
        "source" | "." => {
            rest.first().into_iter().for_each(|file| started(file, case, worst));
        }
        "trap" => rest.first().into_iter().for_each(|arg| text(arg, case, worst)),
        "alias" => {
            for arg in rest {
                if let Some((_, value)) = arg.text.split_once('=') {
                    text(&arg.but(value), case, worst);
                }
            }
        }
        "watch" | "entr" | "ssh" | "mosh" | "rsh" | "tmux" | "screen" => {
            super::escape::connected(rest, case, worst);
            // Which words are its own depends on its options: every one may be the first.
            for from in 0..rest.len().min(8) {
                if from == 0 || !rest[from - 1].text.starts_with("--") {
                    remote(name, &rest[from..], case, worst);
                }
            }
        }
        "su" | "runuser" | "script" => {
            if name != "script" {
                worst.add(DangerRule::Privilege, source);
            }
            after_option(rest, &["-c", "--command", "-qc", "-lc"], |arg| text(arg, case, worst));
        }
        "find" | "fd" | "fdfind" => found(rest, case, worst),
        _ if name.starts_with("python") || code::INTERPRETERS.contains(&name) => {
            interpreter::judge(name, rest, case, worst);
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            act::output::awk(rest, case, worst);
            let is_command = |arg: &&Arg| {
                arg.text.contains("system(")
                    || arg.text.contains("system (")
                    || arg.text.contains("| \"")
                    || arg.text.contains("|\"")
                    || arg.text.contains("|&")
                    || arg.text.contains("getline")
            };
            if let Some(arg) = rest.iter().find(is_command) {
                worst.add(DangerRule::InlineCode, source);
                code::judge("awk", &arg.text, case.around.depth + 1, worst);
            }
        }
        "cmake" => cmake(rest, case, worst),
        _ => {
            if let Some((wrapper, rest)) = table::behind(name, rest) {
                wrapped(name, wrapper, rest, case, worst);
                // It has other words and options too.
                return false;
            }
            let Some(wrapper) = WRAPPERS.iter().find(|it| it.names.contains(&name)) else {
                return false;
            };
            wrapped(name, wrapper, rest, case, worst);
        }
    }
    true
}

/// `cmake -E`: small programs of its own, each like one that is known.
const CMAKE: &[(&str, &[&str], usize)] = &[
    ("rm", &["rm"], 0),
    ("remove", &["rm"], 0),
    ("remove_directory", &["rm", "-r"], 0),
    ("copy", &["cp"], 0),
    ("copy_if_different", &["cp"], 0),
    ("copy_directory", &["cp"], 0),
    ("rename", &["mv"], 0),
    ("create_symlink", &["ln"], 0),
    ("touch", &["touch"], 0),
    ("make_directory", &["mkdir"], 0),
    ("env", &["env"], 0),
    ("time", &["env"], 0),
    ("chdir", &["env"], 1),
    ("tar", &["tar"], 0),
];

fn cmake(rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    after_option(rest, &["-P"], |file| started(file, case, worst));
    let Some(at) = rest.iter().position(|arg| arg.text == "-E") else { return };
    let verb = rest.get(at + 1).map(|arg| &*arg.text).unwrap_or_default();
    let Some((_, words, own)) = CMAKE.iter().find(|(name, ..)| *name == verb) else { return };
    let mut args: Vec<Arg> = words.iter().map(|word| Arg::known(word)).collect();
    args.extend(rest.iter().skip(at + 2 + own).cloned());
    inner("cmake", &args, case, worst);
}

/// Finds the command behind the options of a wrapper.
fn wrapped(name: &str, wrapper: &Wrapper, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let source = &case.simple.source;
    if let Some(rule) = wrapper.rule {
        worst.add(rule, source);
    }
    let after = |at: usize| rest.get(at..).unwrap_or_default();
    let sets_variables = matches!(name, "env" | "time") || wrapper.rule.is_some();
    let takes_text = matches!(name, "flock" | "npx" | "bunx" | "npm" | "pnpm" | "yarn");
    let (mut at, mut operands, mut has_options) = (0, wrapper.operands, true);
    while let Some(arg) = rest.get(at) {
        let text = &*arg.text;
        if !arg.is_known && arg.is_open && text.is_empty() {
            worst.add(DangerRule::Dynamic, source);
            at += 1;
        } else if text == "--" {
            has_options = false;
            at += 1;
        } else if let Some(long) = text.strip_prefix("--").filter(|_| has_options) {
            let (option, inline) = match long.split_once('=') {
                Some((option, value)) => (option, Some(arg.but(value))),
                None => (long, None),
            };
            if name == "env" && "split-string".starts_with(option) {
                split(inline, after(at + 1), case, worst);
                return;
            }
            // In full, or as short as it may be.
            let takes_next =
                inline.is_none() && wrapper.long.iter().any(|it| it.starts_with(option));
            if inline.is_none() && !takes_next {
                // It may have a value all the same.
                worst.suspect(|worst| inner(name, after(at + 2 + operands), case, worst));
            }
            at += 1 + usize::from(takes_next);
            if takes_text && matches!(option, "command" | "call") {
                let script = inline.as_ref().or(rest.get(at));
                script.into_iter().for_each(|arg| self::text(arg, case, worst));
            }
        } else if has_options && text.starts_with('-') {
            if name == "command" && text.contains(['v', 'V']) {
                return;
            }
            let has_value =
                |it: &char| wrapper.valued.contains(*it) || wrapper.attached.contains(*it);
            let flags: String = text.chars().skip(1).take_while(|it| !has_value(it)).collect();
            let (option, inline) = {
                let mut rest = text[1 + flags.len()..].chars();
                (rest.next(), rest.as_str())
            };
            if name == "env" && option == Some('S') {
                let has_text = !inline.is_empty() || !arg.is_known;
                let inline = has_text.then(|| arg.but(inline));
                split(inline, after(at + 1), case, worst);
                return;
            }
            let is_cut = !arg.is_known && option.is_none();
            if is_cut || flags.chars().any(|it| !wrapper.flags.contains(it)) {
                // An option nobody here knows: it may have a value, or not.
                worst.add(DangerRule::Dynamic, source);
                inner(name, after(at + 2 + operands), case, worst);
            }
            let is_next = |it: char| inline.is_empty() && wrapper.valued.contains(it);
            at += 1 + usize::from(option.is_some_and(is_next));
            if takes_text && flags.contains('c') {
                rest.get(at).into_iter().for_each(|arg| self::text(arg, case, worst));
            }
        } else if sets_variables && is_assigned(text) {
            variable::said(arg, case, worst);
            at += 1;
        } else if operands > 0 {
            operands -= 1;
            at += 1;
        } else {
            break;
        }
    }
    inner(name, after(at), case, worst);
}

fn is_assigned(text: &str) -> bool {
    let name = text.split_once('=').map(|(name, _)| name).unwrap_or_default();
    !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// `env -S`: a text that is split into words, and the words after it. The text is the next word
/// where it does not stand with the option.
fn split(inline: Option<Arg>, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let (script, rest) = match (&inline, rest) {
        (Some(script), rest) | (None, [script, rest @ ..]) => (script, rest),
        (None, []) => return,
    };
    if !script.is_known {
        worst.add(DangerRule::Dynamic, &case.simple.source);
    }
    let words: Vec<String> = rest.iter().map(quote).collect();
    judge::script(&format!("{} {}", script.text, words.join(" ")), case.around.inside(), worst);
}

/// Judges the command inside.
fn inner(name: &str, args: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    if !worst.spend(args.len() + case.around.work()) {
        worst.add(DangerRule::TooComplex, &case.simple.source);
        return;
    }
    let around = case.around.inside();
    // Without a command one of them prints what it is fed with; the other runs it.
    if name == "parallel" || name == "xargs" && !args.is_empty() {
        let mut args = args.to_vec();
        if name == "parallel" {
            args.truncate(
                args.iter().position(|arg| arg.text.starts_with(":::")).unwrap_or(args.len()),
            );
            joined(&args, case, worst);
        }
        args.push(Arg { is_printed: true, ..unknown() });
        // What it is fed with are arguments, and nothing is left for the command to read.
        let simple =
            judge::Simple { source: case.simple.source.clone(), ..judge::Simple::default() };
        judge::command(&Case { args: &args, simple: &simple, around: &around }, worst);
        if let Some(mark) = replaced(case) {
            // Braces say the same, and are known wherever a line is read. As it stands it is judged
            // too: the mark may be put in place of itself.
            let all = args.iter().map(|arg| arg.text.len()).sum::<usize>();
            if !worst.spend(all.saturating_mul(4)) {
                worst.add(DangerRule::TooComplex, &case.simple.source);
                return;
            }
            args.iter_mut().for_each(|arg| arg.text = arg.text.replace(mark, "{}"));
            judge::command(&Case { args: &args, simple: &simple, around: &around }, worst);
        }
        return;
    }
    judge::command(&case.with(args, &around), worst);
}

/// The mark that `xargs -I` puts what it reads in place of.
fn replaced<'c>(case: &Case<'c>) -> Option<&'c str> {
    let mut words = case.args.iter().map(|arg| &*arg.text).skip_while(|it| !it.ends_with("xargs"));
    let mark = words.find_map(|it| it.strip_prefix("-I").or(it.strip_prefix("--replace=")))?;
    let mark = if mark.is_empty() { words.next()? } else { mark };
    (!mark.is_empty()).then_some(mark)
}

/// Words that become one text, which is read again.
pub(super) fn joined(args: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    if args.iter().any(|arg| !arg.is_known) {
        worst.add(DangerRule::Dynamic, &case.simple.source);
    }
    let words: Vec<&str> = args.iter().map(|arg| &*arg.text).collect();
    judge::script(&words.join(" "), case.inside(), worst);
}

/// The words after which another machine, or a loop, runs the rest.
fn remote(name: &str, args: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let word = |arg: &Arg| match arg.is_known {
        true => arg.text.clone(),
        false => format!("{}$unknown", arg.text),
    };
    let line = args.iter().map(word).collect::<Vec<_>>().join(" ");
    let judge = |worst: &mut Worst| judge::script(&line, case.around.inside(), worst);
    if matches!(name, "watch" | "entr") {
        let found = worst.aside(judge);
        found.into_iter().for_each(|finding| worst.add(finding.rule, &finding.piece));
    } else {
        // Words that are options or a host read as commands nobody knows.
        worst.suspect(judge);
    }
}

/// A text that is read as a command line.
pub(super) fn text(arg: &Arg, case: &Case<'_>, worst: &mut Worst) {
    joined(std::slice::from_ref(arg), case, worst);
}

/// The words after options.
fn after_option(rest: &[Arg], options: &[&str], mut judge: impl FnMut(&Arg)) {
    for (at, arg) in rest.iter().enumerate() {
        if options.contains(&&*arg.text) {
            rest.get(at + 1).into_iter().for_each(&mut judge);
        }
        for option in options {
            if let Some(value) = arg.text.strip_prefix(&format!("{option}=")) {
                judge(&arg.but(value));
            }
        }
    }
}

fn is_stdin(text: &str) -> bool {
    text == "-" || path::is_handle(text)
}

/// A shell: its `-c`, its script, or what it is fed with.
fn shell(rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let source = &case.simple.source;
    let (mut at, mut is_text) = (0, false);
    while let Some(arg) = rest.get(at) {
        let text = &*arg.text;
        if !arg.is_known && arg.is_open && text.is_empty() {
            worst.add(DangerRule::Dynamic, source);
            at += 1;
        } else if arg.is_known && matches!(text, "--" | "-") {
            at += 1;
            break;
        } else if let Some(long) = text.strip_prefix("--") {
            is_text |= long == "command";
            if let Some(script) = long.strip_prefix("command=") {
                self::text(&arg.but(script), case, worst);
            }
            let is_start = matches!(long, "rcfile" | "init-file");
            if let Some(file) = rest.get(at + 1).filter(|_| is_start) {
                started(file, case, worst);
            }
            at += 1 + usize::from(is_start);
        } else if text.starts_with(['-', '+']) {
            if !arg.is_known {
                worst.add(DangerRule::Dynamic, source);
            }
            is_text |= text.starts_with('-') && text.contains('c');
            at += 1 + usize::from(text.ends_with(['o', 'O']));
        } else {
            break;
        }
    }
    let (operand, others) = match rest.get(at) {
        Some(operand) => (Some(operand), &rest[at + 1..]),
        None => (None, &[][..]),
    };
    match operand {
        Some(arg) if is_text => {
            if !arg.is_known {
                worst.add(DangerRule::Dynamic, source);
            }
            let mut around = case.inside();
            for (number, other) in others.iter().enumerate().take(10) {
                let value = other.is_known.then(|| other.text.clone());
                around.set(number.to_string(), value);
            }
            judge::script(&arg.text, around, worst);
        }
        Some(arg) if !arg.is_known => started(arg, case, worst),
        Some(arg) if !is_stdin(&arg.text) && !rest[..at].iter().any(|it| it.text == "-s") => {}
        operand => {
            let run = |body: &str, worst: &mut Worst| {
                judge::script(body, case.around.inside(), worst);
            };
            fed(operand, case, worst, run);
        }
    }
}

/// A file that a shell runs when it starts.
fn started(file: &Arg, case: &Case<'_>, worst: &mut Worst) {
    if !file.is_known || is_stdin(&file.text) {
        let run = |body: &str, worst: &mut Worst| {
            judge::script(body, case.around.inside(), worst);
        };
        fed(Some(file), case, worst, run);
        worst.add(DangerRule::PipedCode, &case.simple.source);
    }
}

/// Code that comes in by standard input, or by what else is open under this name.
fn fed(file: Option<&Arg>, case: &Case<'_>, worst: &mut Worst, judge: impl Fn(&str, &mut Worst)) {
    for printed in &case.simple.files {
        judge(printed, worst);
    }
    for (body, is_known) in &case.simple.bodies {
        if !is_known {
            worst.add(DangerRule::Dynamic, &case.simple.source);
        }
        judge(body, worst);
    }
    // What another number leads to was opened by somebody else.
    let is_other = file.is_some_and(|file| {
        path::is_handle(&file.text) && !file.text.ends_with("/0") && !file.text.ends_with("stdin")
    });
    let is_fed = case.simple.is_fed && case.simple.bodies.is_empty();
    let is_unknown = file.is_some_and(|file| !file.is_known);
    worst.is_hungry |= !case.simple.is_fed && case.simple.bodies.is_empty();
    if is_fed || is_other || is_unknown || case.simple.is_led {
        worst.add(DangerRule::PipedCode, &case.simple.source);
        if let Some(feed) = &case.simple.feed {
            judge(feed, worst);
        }
    }
}

/// Tests of `find` by which it finds less than everything.
const NARROWING: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-newer",
    "-mtime",
    "-mmin",
    "-atime",
    "-ctime",
    "-size",
    "-empty",
    "-user",
    "-group",
    "-perm",
    "-links",
    "-inum",
];

/// `find`: what it deletes, and what it runs for what it finds.
fn found(rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let source = &case.simple.source;
    let is_narrow = rest.iter().any(|arg| NARROWING.contains(&&*arg.text));
    let starts: Vec<&Arg> =
        rest.iter().take_while(|arg| !arg.text.starts_with(['-', '(', '!'])).collect();
    let whole = starts.iter().find(|arg| super::act::is_whole(arg, case.folder())).copied();
    let whole = whole.filter(|_| !is_narrow);
    for (at, arg) in rest.iter().enumerate() {
        match &*arg.text {
            "-delete" => {
                let rule =
                    if whole.is_some() { DangerRule::WipeSystem } else { DangerRule::Delete };
                worst.add(rule, source);
            }
            "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                let file = rest.get(at + 1);
                let rule = file.and_then(|file| act::rule_of(file, case.folder()));
                rule.into_iter().for_each(|rule| worst.add(rule, source));
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch" => {
                let words = rest[at + 1..].iter().take_while(|it| it.text != ";" && it.text != "+");
                if !worst.spend(words.clone().count() + case.around.work()) {
                    worst.add(DangerRule::TooComplex, source);
                    return;
                }
                let found = |arg: &Arg| match whole {
                    _ if !arg.text.contains("{}") => arg.clone(),
                    Some(whole) if arg.text == "{}" => whole.clone(),
                    _ => Arg { text: arg.text.replace("{}", ""), ..unknown() },
                };
                // A text for a shell keeps its braces: they are read where they stand.
                let args: Vec<Arg> = words
                    .map(|arg| if arg.text.contains(' ') { arg.clone() } else { found(arg) })
                    .collect();
                let around = case.around.inside();
                judge::command(&case.with(&args, &around), worst);
            }
            _ => {}
        }
    }
}
