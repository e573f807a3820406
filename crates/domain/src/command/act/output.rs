//! Files that programs write because an option, or a word of their own language, says so.

use super::super::Worst;
use super::super::escape::valued;
use super::super::judge::Case;
use super::super::rule::DangerRule;
use super::super::word::Arg;
use super::{Act, rule_of};

/// Options that name a file, or a folder, to write: of which programs, and whether other short
/// options may stand before them in the same word.
const OUTPUTS: &[(&[&str], &[&str], bool)] = &[
    (&["sort"], &["-o", "--output"], true),
    (
        &["curl"],
        &["-o", "-O", "--output", "--output-document", "--output-dir", "--dump-header"],
        true,
    ),
    (
        &["wget"],
        &["-o", "-O", "-P", "--output", "--output-document", "--output-file", "--directory-prefix"],
        true,
    ),
    (&["gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "rustc", "tcc"], &["-o"], false),
    (&["openssl"], &["-out", "-keyout"], false),
];

/// Judges files that options name.
pub(super) fn judge(name: &str, act: &Act<'_>, add: &mut impl FnMut(DangerRule)) {
    for (_, options, has_clusters) in OUTPUTS.iter().filter(|(names, ..)| names.contains(&name)) {
        valued(act.rest, options, |file| act.written(&file, add));
        let is_cluster = |text: &str| {
            let short = text.strip_prefix('-').filter(|it| it.chars().all(|it| it.is_alphabetic()));
            short.is_some_and(|it| options.iter().any(|option| it.ends_with(&option[1..])))
        };
        for pair in act.rest.windows(2).filter(|pair| *has_clusters && is_cluster(&pair[0].text)) {
            act.written(&pair[1], add);
        }
    }
    match name {
        "tar" | "bsdtar" => {
            let bundled = act.rest.first().filter(|arg| !arg.text.starts_with('-'));
            let extracts = bundled.is_some_and(|arg| arg.text.contains('x'))
                || act.short('x')
                || act.long("extract")
                || act.long("get");
            if extracts {
                valued(act.rest, &["-C", "--directory"], |folder| act.written(&folder, add));
            }
        }
        // With `-r` or without, the second file is the one it writes.
        "xxd" => {
            let files = act.rest.iter().filter(|arg| !arg.text.starts_with('-'));
            files.skip(1).for_each(|file| act.written(file, add));
        }
        _ => {}
    }
}

/// Judges the files that a program of `awk` writes to.
pub(in super::super) fn awk(rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let mut written = |file: &Arg| {
        if let Some(rule) = rule_of(file, case.folder()) {
            worst.add(rule, &case.simple.source);
        }
    };
    let in_place = rest.windows(2).any(|it| it[0].text == "-i" && it[1].text == "inplace");
    rest.iter().filter(|_| in_place).for_each(&mut written);
    for arg in rest {
        for part in arg.text.split('>').skip(1) {
            let file = part.trim_start().strip_prefix('"').and_then(|it| it.split('"').next());
            file.into_iter().for_each(|file| written(&arg.but(file)));
        }
    }
}

/// Judges the files that `perl -i` and `ruby -i` edit.
pub(in super::super) fn edited(rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let is_edited = |arg: &Arg| {
        let short = arg.text.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let flags = short.and_then(|it| it.split(['e', 'E', 'M', 'I', 'm', 'F', 'r']).next());
        flags.is_some_and(|it| it.contains('i'))
    };
    if rest.iter().any(is_edited) {
        for rule in rest.iter().filter_map(|file| rule_of(file, case.folder())) {
            worst.add(rule, &case.simple.source);
        }
    }
}
