//! Programs that are no shells and run a command when they are told to: debuggers, editors,
//! databases, managers of packages and of terminals.

use super::judge::{self, Case};
use super::rule::DangerRule;
use super::word::Arg;
use super::{Worst, code};

/// Judges what such a program is told to run.
pub(super) fn judge(name: &str, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let told = || {
        let bodies = case.simple.bodies.iter().map(|(body, _)| &**body);
        let texts = rest.iter().map(|arg| &*arg.text);
        texts.chain(bodies).chain(case.simple.feed.as_deref()).flat_map(str::lines).map(str::trim)
    };
    let marks: &[&str] = match name {
        "sqlite3" | "duckdb" => &[".shell ", ".system ", ".sh "],
        "psql" | "mysql" | "mariadb" => &["\\!", "system "],
        "ed" | "ex" | "vi" | "vim" | "nvim" | "view" => &["!", ":!", "+!", "r !", "w !", ":r !"],
        "gdb" | "lldb" => &["shell ", "!", "platform shell ", "pipe "],
        "bc" | "gnuplot" => &["!", "system "],
        _ => &[],
    };
    for line in told() {
        for mark in marks {
            if let Some(command) = line.strip_prefix(mark) {
                judge::script(command, case.around.inside(), worst);
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
            judge::script(&arg.text, case.around.inside(), worst);
        }),
        "man" => each_after(rest, &["-P", "--pager"], |arg| {
            judge::script(&arg.text, case.around.inside(), worst);
        }),
        // How it tests the archive that it made.
        "zip" => each_after(rest, &["-TT", "--unzip-command"], |arg| {
            judge::script(&arg.text, case.around.inside(), worst);
        }),
        "make" | "gmake" | "ninja" | "just" => {
            let is_stdin = |arg: &Arg| matches!(&*arg.text, "-" | "/dev/stdin" | "-f-");
            if rest.iter().any(is_stdin) {
                worst.add(DangerRule::PipedCode, &case.simple.source);
            }
        }
        "start-stop-daemon" => {
            let mut words: Vec<&str> = Vec::new();
            each_after(rest, &["-x", "--exec", "-a", "--startas"], |arg| words.push(&arg.text));
            let own = rest.iter().skip_while(|arg| arg.text != "--").skip(1);
            words.extend(own.map(|arg| &*arg.text));
            judge::script(&words.join(" "), case.around.inside(), worst);
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
