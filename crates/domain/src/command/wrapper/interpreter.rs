//! Interpreters of other languages: their inline code, or what they are fed with.

use super::super::judge::Case;
use super::super::rule::DangerRule;
use super::super::word::Arg;
use super::super::{Worst, code};
use super::{fed, is_stdin};

/// An interpreter: its inline code, or what it is fed with.
pub(super) fn judge(name: &str, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
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
