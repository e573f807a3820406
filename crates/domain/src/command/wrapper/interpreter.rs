//! Interpreters of other languages: their inline code, or what they are fed with.

use super::super::judge::Case;
use super::super::rule::DangerRule;
use super::super::word::Arg;
use super::super::{Worst, act, code};
use super::{fed, is_stdin};

/// Modules of Perl that delete, or run programs.
const DELETING: &[&str] = &["File::Path", "File::Remove", "IPC::", "ExtUtils::Command"];
/// Modules that run the file they are given.
const RUNS: &[&str] =
    &["cProfile", "profile", "pdb", "trace", "runpy", "coverage", "memory_profiler", "debugpy"];
/// Modules that run what they read.
const READS: &[&str] = &["code", "pdb", "asyncio", "IPython", "ptpython", "bpython"];

/// Whether an option has a value in the next word that is no code.
fn takes_value(name: &str, option: &str) -> bool {
    match name {
        "perl" | "ruby" => option == "-I",
        "node" | "nodejs" => {
            matches!(option, "--require" | "--import" | "--loader" | "--conditions" | "-C")
        }
        "php" => option == "-d",
        "lua" | "luajit" => option == "-l",
        _ if name.starts_with("py") => matches!(option, "-W" | "-X"),
        _ => false,
    }
}

/// An interpreter: its inline code, or what it is fed with.
pub(super) fn judge(name: &str, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let depth = case.around.depth + 1;
    if matches!(name, "perl" | "ruby") {
        act::output::edited(rest, case, worst);
    }
    let (mut has_code, mut operand) = (false, None);
    let mut at = 0;
    while let Some(arg) = rest.get(at) {
        let text = &*arg.text;
        let short = text.strip_prefix('-').filter(|it| !it.starts_with('-')).unwrap_or_default();
        // `-MModule` loads one, and what stands with it is code.
        if name == "perl" && short.len() > 1 && short.starts_with(['M', 'm', 'I']) {
            if DELETING.iter().any(|it| short.contains(it)) {
                worst.add(DangerRule::InlineCode, &case.simple.source);
            }
            if !arg.is_known {
                worst.add(DangerRule::Dynamic, &case.simple.source);
            }
            code::judge(name, &short[1..], depth, worst);
            at += 1;
            continue;
        }
        let is_code = matches!(text, "--eval" | "--print" | "--execute" | "eval")
            || (!short.is_empty()
                && short.len() < 6
                && short.ends_with(['c', 'e', 'r', 'E', 'p'])
                && !short.contains('m'))
            || (name == "perl" && short.contains(['e', 'E']));
        let mut run = |code: &Arg| {
            has_code = true;
            if !code.is_known {
                worst.add(DangerRule::Dynamic, &case.simple.source);
            }
            code::judge(name, &code.text, depth, worst);
        };
        if is_code {
            let inline = short.find(['e', 'E', 'c']).map(|at| &short[at + 1..]).unwrap_or_default();
            if !inline.is_empty() || !arg.is_known {
                run(&arg.but(inline));
            }
            rest.get(at + 1).into_iter().for_each(run);
            at += 2;
            continue;
        }
        if let Some(code) = text.strip_prefix("--eval=") {
            run(&arg.but(code));
        }
        // `-cprint(1)` is code without a blank before it.
        let letter = match name {
            "php" => 'r',
            _ if name.starts_with("py") || name == "expect" => 'c',
            _ => 'e',
        };
        if let Some(code) = short.strip_prefix(letter) {
            run(&arg.but(code));
        }
        if text == "-m" {
            let module = rest.get(at + 1).map(|arg| &*arg.text).unwrap_or_default();
            let is_open = |arg: &Arg| !arg.is_known || is_stdin(&arg.text);
            let open = rest[at + 1..].iter().skip(1).find(|arg| is_open(arg));
            if READS.contains(&module) || open.is_some() && RUNS.contains(&module) {
                operand = open;
                break;
            }
            // It takes code for arguments.
            if rest.get(at + 1).is_some_and(|module| module.text == "timeit") {
                rest[at + 2..].iter().for_each(|arg| code::judge(name, &arg.text, depth, worst));
            }
            operand = Some(arg);
            break;
        }
        // The next word is its value, and no file.
        if takes_value(name, text) && rest.get(at + 1).is_some_and(|value| value.is_known) {
            at += 2;
            continue;
        }
        if !text.starts_with('-') || text == "-" {
            operand = Some(arg);
            break;
        }
        at += 1;
    }
    match operand {
        Some(arg) if arg.is_known && !is_stdin(&arg.text) => {}
        operand if has_code && operand.is_none_or(|arg| arg.is_known) => {}
        operand => fed(operand, case, worst, |body, worst| code::judge(name, body, depth, worst)),
    }
}
