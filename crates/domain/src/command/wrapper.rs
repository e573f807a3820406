//! Commands that run other commands: which one, and what else they mean.

use super::judge::{self, Case, quote};
use super::reader::unknown;
use super::rule::DangerRule;
use super::word::Arg;
use super::{Worst, code, variable};

/// A program that runs the command after its own options.
struct Wrapper {
    names: &'static [&'static str],
    /// Short options without a value, and those with one.
    flags: &'static str,
    valued: &'static str,
    /// Long options with a value in the next word.
    long: &'static [&'static str],
    /// Words of its own before the command.
    operands: usize,
    rule: Option<DangerRule>,
}

const fn plain(names: &'static [&'static str], flags: &'static str) -> Wrapper {
    Wrapper { names, flags, valued: "", long: &[], operands: 0, rule: None }
}

const PRIVILEGE: Option<DangerRule> = Some(DangerRule::Privilege);

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        valued: "CDghpRrTtUuc",
        long: &["user", "group", "host", "prompt", "chdir", "role", "type", "other-user"],
        rule: PRIVILEGE,
        ..plain(&["sudo", "doas", "sudoedit"], "ABbEHiKklnPSsVvN")
    },
    Wrapper { valued: "", long: &["user"], rule: PRIVILEGE, ..plain(&["pkexec"], "") },
    Wrapper { valued: "uCS", long: &["unset", "chdir", "split-string"], ..plain(&["env"], "i0v") },
    Wrapper { valued: "n", long: &["adjustment"], ..plain(&["nice"], "0123456789") },
    Wrapper { valued: "cnpPu", long: &["class", "classdata"], ..plain(&["ionice"], "t") },
    plain(&["nohup", "setsid", "unbuffer", "catchsegv", "fakeroot", "caffeinate"], "cfwdims"),
    plain(&["builtin", "exec", "command", "time", "coproc", "busybox", "toybox"], "apvVlhfoc"),
    Wrapper {
        valued: "ks",
        long: &["kill-after", "signal"],
        operands: 1,
        ..plain(&["timeout"], "v")
    },
    Wrapper { valued: "ioe", long: &["input", "output", "error"], ..plain(&["stdbuf"], "") },
    Wrapper {
        valued: "aEeIOoPSsuXb",
        long: &["output"],
        ..plain(&["strace", "ltrace"], "cCdfFhiknqrtTvVwxyzDYZ")
    },
    Wrapper {
        valued: "aEeIiLlnPsdS",
        long: &[
            "arg-file",
            "delimiter",
            "max-lines",
            "max-args",
            "max-procs",
            "max-chars",
            "replace",
            "process-slot-var",
        ],
        ..plain(&["xargs", "parallel"], "0oprtxk")
    },
    Wrapper { valued: "p", operands: 1, ..plain(&["taskset"], "ac") },
    Wrapper { valued: "TPD", operands: 1, ..plain(&["chrt"], "abfiorRmpv") },
    Wrapper {
        valued: "wEx",
        long: &["timeout", "wait", "conflict-exit-code"],
        operands: 1,
        ..plain(&["flock"], "senoFuc")
    },
    Wrapper {
        valued: "",
        long: &["userspec", "groups"],
        operands: 1,
        rule: PRIVILEGE,
        ..plain(&["chroot"], "")
    },
    Wrapper {
        valued: "SGRwt",
        long: &["target", "setuid", "setgid", "root", "wd", "map-user", "map-group"],
        rule: PRIVILEGE,
        ..plain(&["unshare", "nsenter", "setpriv", "runcon"], "munipUCTfrcFaZe")
    },
    Wrapper {
        valued: "pMCEH",
        long: &["property", "unit", "uid", "gid", "slice", "setenv", "machine"],
        rule: PRIVILEGE,
        ..plain(&["systemd-run"], "Gdqrt")
    },
    Wrapper { operands: 1, ..plain(&["setarch"], "RBFILSTXZv3") },
    plain(
        &["linux32", "linux64", "valgrind", "proot", "eatmydata", "torsocks", "proxychains"],
        "qv",
    ),
    plain(&["npx", "bunx", "pipx", "uvx"], "yqc"),
    // The loader runs the program that it is given.
    plain(&["ld.so", "ld-linux.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"], ""),
];

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
            let file = rest.first();
            if file.is_some_and(|arg| !arg.is_known || is_stdin(&arg.text)) {
                worst.add(DangerRule::PipedCode, source);
            }
        }
        "trap" => rest.first().into_iter().for_each(|arg| text(arg, case, worst)),
        "alias" => {
            for arg in rest {
                if let Some((_, value)) = arg.text.split_once('=') {
                    text(&Arg { text: value.to_owned(), ..arg.clone() }, case, worst);
                }
            }
        }
        "watch" | "entr" | "ssh" | "mosh" | "rsh" | "tmux" | "screen" => {
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
            interpreter(name, rest, case, worst);
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
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
        _ => {
            let Some(wrapper) = WRAPPERS.iter().find(|it| it.names.contains(&name)) else {
                return false;
            };
            wrapped(name, wrapper, rest, case, worst);
        }
    }
    true
}

/// Finds the command behind the options of a wrapper.
fn wrapped(name: &str, wrapper: &Wrapper, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let source = &case.simple.source;
    if let Some(rule) = wrapper.rule {
        worst.add(rule, source);
    }
    let (mut at, mut operands) = (0, wrapper.operands);
    while let Some(arg) = rest.get(at) {
        let text = &*arg.text;
        let is_assignment = name == "env" || wrapper.rule.is_some() || name == "command";
        if !arg.is_known && arg.is_open && text.is_empty() {
            worst.add(DangerRule::Dynamic, source);
            at += 1;
        } else if text == "--" {
            at += 1;
            break;
        } else if let Some(long) = text.strip_prefix("--") {
            if let Some(script) = long.strip_prefix("split-string=") {
                split(script, &rest[at + 1..], case, worst);
                return;
            }
            at += 1 + usize::from(wrapper.long.contains(&long));
        } else if text.len() > 1 && text.starts_with('-') {
            if matches!(name, "command") && text.contains(['v', 'V']) {
                return;
            }
            let unknown = |it: &char| !wrapper.flags.contains(*it) && !wrapper.valued.contains(*it);
            let cluster: Vec<char> = text.chars().skip(1).collect();
            let valued = cluster.iter().position(|it| wrapper.valued.contains(*it));
            let own = &cluster[..valued.unwrap_or(cluster.len())];
            if name == "env" && valued.is_some_and(|at| cluster[at] == 'S') {
                let inline: String = cluster[valued.unwrap_or(0) + 1..].iter().collect();
                let (script, from) = if inline.is_empty() {
                    (rest.get(at + 1).map(|arg| arg.text.clone()).unwrap_or_default(), at + 2)
                } else {
                    (inline, at + 1)
                };
                split(&script, rest.get(from..).unwrap_or_default(), case, worst);
                return;
            }
            if own.iter().any(unknown) {
                // An option nobody here knows: it may have a value, or not.
                worst.add(DangerRule::Dynamic, source);
                inner(name, rest.get(at + 2..).unwrap_or_default(), case, worst);
            }
            let takes_next = valued.is_some_and(|it| it + 1 == cluster.len());
            at += 1 + usize::from(takes_next);
            if name == "flock" && text.contains('c') {
                rest.get(at).into_iter().for_each(|arg| self::text(arg, case, worst));
            }
        } else if is_assignment && is_assigned(text) {
            variable::said(arg, case, worst);
            at += 1;
        } else if operands > 0 {
            operands -= 1;
            at += 1;
        } else {
            break;
        }
    }
    inner(name, rest.get(at..).unwrap_or_default(), case, worst);
}

fn is_assigned(text: &str) -> bool {
    let name = text.split_once('=').map(|(name, _)| name).unwrap_or_default();
    !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// `env -S`: a text that is split into words, and the words after it.
fn split(script: &str, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let words: Vec<String> = rest.iter().map(quote).collect();
    judge::script(&format!("{script} {}", words.join(" ")), case.around.inside(), worst);
}

/// Judges the command inside.
fn inner(name: &str, args: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    if !worst.spend(args.len() + case.around.work()) {
        worst.add(DangerRule::TooComplex, &case.simple.source);
        return;
    }
    let around = case.around.inside();
    if matches!(name, "xargs" | "parallel") && !args.is_empty() {
        let mut args = args.to_vec();
        if name == "parallel" {
            args.truncate(
                args.iter().position(|arg| arg.text.starts_with(":::")).unwrap_or(args.len()),
            );
            joined(&args, case, worst);
        }
        args.push(unknown());
        let simple = judge::Simple {
            source: case.simple.source.clone(),
            is_fed: false,
            ..judge::Simple::default()
        };
        judge::command(&Case { args: &args, simple: &simple, around: &around }, worst);
        return;
    }
    judge::command(&case.with(args, &around), worst);
}

/// Words that become one text, which is read again.
fn joined(args: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    if args.iter().any(|arg| !arg.is_known) {
        worst.add(DangerRule::Dynamic, &case.simple.source);
    }
    let words: Vec<&str> = args.iter().map(|arg| &*arg.text).collect();
    judge::script(&words.join(" "), case.around.inside(), worst);
}

/// The words after which another machine, or a loop, runs the rest.
fn remote(name: &str, args: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let words: Vec<&str> = args.iter().map(|arg| &*arg.text).collect();
    let is_first_own = matches!(name, "watch" | "entr");
    let line = words.join(" ");
    let found = worst.aside(|aside| judge::script(&line, case.around.inside(), aside));
    // Words that are options or a host read as commands nobody knows; only what is known to
    // be dangerous counts.
    if let Some(finding) = found
        && (is_first_own || !matches!(finding.rule, DangerRule::Dynamic | DangerRule::Unreadable))
    {
        worst.add(finding.rule, &finding.piece);
    }
}

/// A text that is read as a command line.
fn text(arg: &Arg, case: &Case<'_>, worst: &mut Worst) {
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
                judge(&Arg { text: value.to_owned(), ..arg.clone() });
            }
        }
    }
}

fn is_stdin(text: &str) -> bool {
    matches!(text, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
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
        } else if text == "--" {
            at += 1;
            break;
        } else if let Some(long) = text.strip_prefix("--") {
            is_text |= long == "command" || long.starts_with("command=");
            if let Some(script) = long.strip_prefix("command=") {
                self::text(&Arg::known(script), case, worst);
            }
            at += 1 + usize::from(matches!(long, "rcfile" | "init-file"));
        } else if text.len() > 1 && text.starts_with(['-', '+']) {
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
            let mut around = case.around.inside();
            for (number, other) in others.iter().enumerate().take(10) {
                let value = other.is_known.then(|| other.text.clone());
                around.set(number.to_string(), value);
            }
            (around.is_fed, around.feed) = (case.simple.is_fed, case.simple.feed.clone());
            judge::script(&arg.text, around, worst);
        }
        Some(arg) if !arg.is_known => worst.add(DangerRule::PipedCode, source),
        Some(arg) if !is_stdin(&arg.text) && !rest[..at].iter().any(|it| it.text == "-s") => {}
        _ => fed(case, worst, |body, worst| judge::script(body, case.around.inside(), worst)),
    }
}

/// Code that comes in by standard input.
fn fed(case: &Case<'_>, worst: &mut Worst, judge: impl Fn(&str, &mut Worst)) {
    for (body, is_known) in &case.simple.bodies {
        if !is_known {
            worst.add(DangerRule::Dynamic, &case.simple.source);
        }
        judge(body, worst);
    }
    if case.simple.is_fed && case.simple.bodies.is_empty() {
        worst.add(DangerRule::PipedCode, &case.simple.source);
        if let Some(feed) = &case.simple.feed {
            judge(feed, worst);
        }
    }
}

/// An interpreter: its inline code, or what it is fed with.
fn interpreter(name: &str, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let depth = case.around.depth + 1;
    let (mut has_code, mut operand) = (false, None);
    let mut at = 0;
    while let Some(arg) = rest.get(at) {
        let text = &*arg.text;
        let short = text.strip_prefix('-').filter(|it| !it.starts_with('-')).unwrap_or_default();
        let is_code = matches!(text, "--eval" | "--print" | "--execute" | "eval")
            || (!short.is_empty()
                && short.len() < 6
                && short.ends_with(['c', 'e', 'r', 'E', 'p'])
                && !short.contains('m'))
            || (name == "perl" && short.contains(['e', 'E']));
        if is_code {
            let inline = short.find(['e', 'E', 'c']).map(|at| &short[at + 1..]).unwrap_or_default();
            if name == "perl" && !inline.is_empty() && inline.len() > 3 {
                has_code = true;
                code::judge(name, inline, depth, worst);
            }
            if let Some(code) = rest.get(at + 1) {
                has_code = true;
                if !code.is_known {
                    worst.add(DangerRule::Dynamic, &case.simple.source);
                }
                code::judge(name, &code.text, depth, worst);
            }
            at += 2;
            continue;
        }
        if let Some(code) = text.strip_prefix("--eval=") {
            has_code = true;
            code::judge(name, code, depth, worst);
        }
        // `-cprint(1)` is code without a blank before it.
        if let Some(code) = short.strip_prefix('c').filter(|_| name.starts_with("python")) {
            has_code = true;
            code::judge(name, code, depth, worst);
        }
        if text == "-m" {
            // It takes code for arguments.
            if rest.get(at + 1).is_some_and(|module| module.text == "timeit") {
                rest[at + 2..].iter().for_each(|arg| code::judge(name, &arg.text, depth, worst));
            }
            operand = Some(arg);
            break;
        }
        if !text.starts_with('-') || text == "-" {
            operand = Some(arg);
            break;
        }
        at += 1;
    }
    match operand {
        Some(arg) if !arg.is_known => worst.add(DangerRule::PipedCode, &case.simple.source),
        Some(arg) if !is_stdin(&arg.text) => {}
        _ if has_code => {}
        _ => fed(case, worst, |body, worst| code::judge(name, body, depth, worst)),
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
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch" => {
                let words = rest[at + 1..].iter().take_while(|it| it.text != ";" && it.text != "+");
                if !worst.spend(words.clone().count() + case.around.work()) {
                    worst.add(DangerRule::TooComplex, source);
                    return;
                }
                let found = |arg: &Arg| match whole {
                    _ if !arg.text.contains("{}") => arg.clone(),
                    Some(whole) if arg.text == "{}" => whole.clone(),
                    _ => Arg { text: arg.text.replace("{}", ""), is_open: true, ..Arg::default() },
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
