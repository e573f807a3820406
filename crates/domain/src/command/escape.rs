//! Programs that are no shells and run a command when they are told to: debuggers, editors,
//! databases, managers of packages and of terminals.

use super::judge::Case;
use super::rule::DangerRule;
use super::word::Arg;
use super::{Worst, code, wrapper};

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
    match name {
        "npm" | "pnpm" | "yarn" => each_after(rest, &["-c", "--call"], |arg| {
            wrapper::text(arg, case, worst);
        }),
        "man" => each_after(rest, &["-P", "--pager"], |arg| {
            wrapper::text(arg, case, worst);
        }),
        // How it tests the archive that it made.
        "zip" => each_after(rest, &["-TT", "--unzip-command"], |arg| {
            wrapper::text(arg, case, worst);
        }),
        "make" | "gmake" | "ninja" | "just" => {
            let is_stdin = |arg: &Arg| matches!(&*arg.text, "-" | "/dev/stdin" | "-f-");
            if rest.iter().any(is_stdin) {
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

/// The words that follow these options.
fn each_after<'a>(rest: &'a [Arg], options: &[&str], mut judge: impl FnMut(&'a Arg)) {
    for pair in rest.windows(2) {
        if options.contains(&&*pair[0].text) {
            judge(&pair[1]);
        }
    }
}
