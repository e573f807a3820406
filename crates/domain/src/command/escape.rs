//! Programs that are no shells and run a command when they are told to: debuggers, editors,
//! databases, managers of packages and of terminals.

use super::judge::Case;
use super::rule::DangerRule;
use super::word::Arg;
use super::{Worst, code, path, wrapper};

/// Options whose value is a command line: of which programs, and how they are written.
const TEXTS: &[(&[&str], &[&str])] = &[
    (&["npm", "pnpm", "yarn"], &["-c", "--call"]),
    (&["compgen", "complete", "mapfile", "readarray"], &["-C"]),
    (&["man"], &["-P", "--pager"]),
    // How it tests the archive that it made.
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["dpkg-architecture"], &["-c", "--command"]),
    (&["nix-shell"], &["--run", "--command"]),
    (&["go"], &["-exec", "--exec", "-toolexec", "--toolexec", "-vettool"]),
    (&["split"], &["--filter"]),
    (&["git"], &["--upload-pack", "--receive-pack", "--exec", "--extcmd", "--open-files-in-pager"]),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-S"]),
];

/// Settings of `ssh` whose value is a command line; letters are small.
const CONNECTED: &[&str] =
    &["proxycommand", "localcommand", "remotecommand", "knownhostscommand", "pkcs11provider"];

/// Judges what `ssh` is told to run here, before or after it connects.
pub(super) fn connected(rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    for arg in rest {
        let setting = arg.text.strip_prefix("-o").unwrap_or(&arg.text).trim_start();
        let Some((key, value)) = setting.split_once(['=', ' ']) else { continue };
        if CONNECTED.contains(&&*key.to_ascii_lowercase()) {
            wrapper::text(&arg.but(value), case, worst);
        }
    }
}

/// Judges a text that is read by `make`: what its functions run, and its recipes.
fn made(arg: &Arg, case: &Case<'_>, worst: &mut Worst) {
    let called = arg.text.split("shell ").skip(1);
    let recipes = arg.text.lines().filter_map(|line| line.split_once([';', '\t']));
    let parts = called.chain(recipes.map(|(_, recipe)| recipe));
    for part in parts {
        // It ends at a bracket, which may be one of its own: both are tried.
        let short = part.split([')', '}']).next().unwrap_or(part);
        for line in [short, part] {
            let line = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
            worst.suspect(|worst| wrapper::text(&Arg::known(line), case, worst));
        }
    }
    worst.add(DangerRule::InlineCode, &case.simple.source);
}

/// Judges what such a program is told to run.
pub(super) fn judge(name: &str, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let told = || {
        let bodies = case.simple.bodies.iter().map(|(body, is_known)| (&**body, *is_known));
        let texts = rest.iter().map(|arg| (&*arg.text, arg.is_known));
        let fed = case.simple.feed.as_deref().map(|feed| (feed, true));
        let all = texts.chain(bodies).chain(fed);
        all.flat_map(|(text, is_known)| text.lines().map(move |line| (line.trim_start(), is_known)))
    };
    let marks: &[&str] = match name {
        "sqlite3" | "duckdb" => &[".shell ", ".system ", ".sh "],
        "psql" | "mysql" | "mariadb" => &["\\!", "system "],
        "ed" | "ex" | "vi" | "vim" | "nvim" | "view" => &["!", ":!", "+!", "r !", "w !", ":r !"],
        "gdb" | "lldb" => &["shell ", "!", "platform shell ", "pipe "],
        "bc" | "gnuplot" => &["!", "system "],
        _ => &[],
    };
    for (line, is_known) in told() {
        for mark in marks {
            if let Some(command) = line.strip_prefix(mark) {
                let command = Arg { is_known, ..Arg::known(command) };
                wrapper::text(&command, case, worst);
            }
        }
        if matches!(name, "gdb" | "lldb")
            && let Some(text) = line.strip_prefix("python ").or(line.strip_prefix("script "))
        {
            code::judge("python3", text, case.around.depth + 1, worst);
        }
        if name == "m4" && line.contains("syscmd(") {
            worst.add(DangerRule::InlineCode, &case.simple.source);
        }
    }
    for (_, options) in TEXTS.iter().filter(|(names, _)| names.contains(&name)) {
        valued(rest, options, |arg| wrapper::text(&arg, case, worst));
    }
    match name {
        "scp" | "sftp" | "sshfs" => connected(rest, case, worst),
        "make" | "gmake" | "ninja" | "just" => {
            valued(rest, &["-E", "--eval"], |arg| made(&arg, case, worst));
            let is_stdin = |text: &str| text == "-" || text == "-f-" || path::is_handle(text);
            let mut is_open = rest.iter().any(|arg| is_stdin(&arg.text));
            valued(rest, &["-f", "--file", "--makefile"], |arg| {
                is_open |= !arg.is_known || is_stdin(&arg.text);
            });
            if is_open {
                worst.add(DangerRule::PipedCode, &case.simple.source);
            }
        }
        "start-stop-daemon" => {
            let mut words: Vec<Arg> = Vec::new();
            each_after(rest, &["-x", "--exec", "-a", "--startas"], |arg| words.push(arg.clone()));
            words.extend(rest.iter().skip_while(|arg| arg.text != "--").skip(1).cloned());
            wrapper::joined(&words, case, worst);
        }
        _ => {}
    }
}

/// The values of these options: the next word, or what stands with the option.
pub(super) fn valued(rest: &[Arg], options: &[&str], mut judge: impl FnMut(Arg)) {
    for (at, arg) in rest.iter().enumerate() {
        let text = &*arg.text;
        let (name, inline) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        // A long one in full, or as short as it may be.
        let is_cut =
            |option: &str| name.len() > 4 && name.starts_with("--") && option.starts_with(name);
        if options.iter().any(|option| name == *option || is_cut(option)) {
            match inline {
                Some(value) => judge(arg.but(value)),
                None => {
                    // What is not known may be the value, or nothing.
                    (!arg.is_known).then(|| judge(arg.but("")));
                    rest.get(at + 1).cloned().into_iter().for_each(&mut judge);
                }
            }
            continue;
        }
        let is_short = |option: &&&str| option.len() == 2 && !option.starts_with("--");
        let attached = options.iter().filter(is_short).find_map(|option| text.strip_prefix(option));
        attached.into_iter().for_each(|value| judge(arg.but(value)));
    }
}

/// The words that follow these options.
fn each_after<'a>(rest: &'a [Arg], options: &[&str], mut judge: impl FnMut(&'a Arg)) {
    for pair in rest.windows(2) {
        if options.contains(&&*pair[0].text) {
            judge(&pair[1]);
        }
    }
}
