//! Words that a shell reads once more where it looks plain: the index of an array's element,
//! names in a calculation, a text for a prompt.

use super::Worst;
use super::judge::{Around, Case, substituted};
use super::rule::DangerRule;
use super::word::Arg;

/// Whether a shell that calculates this runs something: commands stand in the index of an
/// element.
pub(super) fn is_run(text: &str) -> bool {
    let index = text.find('[').map(|at| &text[at..]).unwrap_or_default();
    index.contains("$(") || index.contains('`')
}

/// Judges words of a shell's own commands that are names of variables, or calculations.
pub(super) fn judge(name: &str, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let is_named = |at: usize, options: &[&str]| at > 0 && options.contains(&&*rest[at - 1].text);
    for (at, arg) in rest.iter().enumerate() {
        let is_read = match name {
            "test" | "[" => is_named(at, &["-v", "-R"]),
            "printf" => is_named(at, &["-v"]),
            "let" | "declare" | "typeset" | "local" | "readonly" | "export" | "read" | "unset"
            | "mapfile" | "readarray" | "getopts" | "wait" => true,
            // Here every word is expanded.
            "compgen" | "complete" => {
                if is_named(at, &["-W"]) {
                    substituted(&arg.text, case.around.inside(), worst);
                }
                false
            }
            _ => return,
        };
        if is_read && is_run(&arg.text) {
            substituted(&arg.text, case.around.inside(), worst);
        }
        if name == "let" {
            calculated(&arg.text, case.around, worst);
        }
    }
}

/// Judges the values of all names in a calculation.
fn calculated(text: &str, around: &Around, worst: &mut Worst) {
    let names = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    for name in names {
        let Some(Some(value)) = around.get(name) else { continue };
        if !worst.spend(value.len()) {
            worst.add(DangerRule::TooComplex, text);
            return;
        }
        if is_run(value) {
            substituted(value, around.inside(), worst);
        }
    }
}
