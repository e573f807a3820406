//! What version control does that loses work or runs something.

use super::super::Worst;
use super::super::judge::{self, Case};
use super::super::rule::DangerRule;
use super::super::word::Arg;
use super::super::{escape, wrapper};
use super::{Act, rule_of};

/// Parts of the names of settings whose value is run, or says where there is something to run.
/// Letters are small: these names are the same in either case.
const RUNS: &[&str] = &[
    "alias.",
    "askpass",
    "browser",
    "command",
    ".cmd",
    "driver",
    "editor",
    "external",
    "filter",
    "fsmonitor",
    "gitproxy",
    "helper",
    "hook",
    "include.",
    "includeif.",
    "pager",
    ".program",
    "protocol.",
    "receivepack",
    "templatedir",
    "textconv",
    "uploadpack",
];

/// Words of `git` that write files into its folder.
const WRITES: &[&str] = &[
    "am",
    "apply",
    "checkout",
    "cherry-pick",
    "clone",
    "init",
    "merge",
    "mv",
    "pull",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
];

fn runs_its_value(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    !key.starts_with('-') && RUNS.iter().any(|it| key.contains(it))
}

/// Judges `git` and its like.
pub(super) fn judge(rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let source = &*case.simple.source;
    let (mut at, mut rule, mut place) = (0, None, None);
    while let Some(arg) = rest.get(at).filter(|arg| arg.text.starts_with('-')) {
        let takes_value = matches!(
            &*arg.text,
            "-C" | "-c"
                | "--git-dir"
                | "--work-tree"
                | "--exec-path"
                | "--config-env"
                | "--namespace"
        );
        if let Some(setting) = rest.get(at + 1).filter(|_| arg.text == "-c") {
            let (key, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
            if runs_its_value(key) {
                rule = Some(DangerRule::InlineCode);
                judge::script(value.trim_start_matches('!'), case.around.inside(), worst);
            }
        }
        if let Some(to) = rest.get(at + 1).filter(|_| arg.text == "-C") {
            place = rule_of(to, case.folder());
        }
        // The value is that of a variable, which may have been set anywhere.
        let named = match arg.text.strip_prefix("--config-env=") {
            Some(setting) => Some(setting),
            None if arg.text == "--config-env" => rest.get(at + 1).map(|arg| &*arg.text),
            None => None,
        };
        if named.is_some_and(runs_its_value) {
            rule = Some(DangerRule::InlineCode);
        }
        at += 1 + usize::from(takes_value);
    }
    let verb = rest.get(at).map(|arg| &*arg.text).unwrap_or_default();
    let rest = rest.get(at + 1..).unwrap_or_default();
    let act = Act { rest, folder: None };
    // Where it writes to: a folder of its own, or what it is told.
    let mut written = |arg: &Arg| rule = rule.or(rule_of(arg, case.folder()));
    match verb {
        "archive" => escape::valued(rest, &["-o", "--output"], |file| written(&file)),
        "init" | "clone" => rest.iter().skip(usize::from(verb == "clone")).for_each(written),
        _ => {}
    }
    rule = rule.or(place.filter(|_| WRITES.contains(&verb)));
    let is = |words: &[&str]| act.has(words);
    let found = match verb {
        "push" => {
            act.short('f')
                || act.long("force")
                || act.long("force-with-lease")
                || act.short('d')
                || act.long("delete")
                || act.long("mirror")
                || act.long("prune")
                || rest.iter().any(|arg| arg.text.starts_with(['+', ':']))
        }
        "reset" => act.long("hard") || act.long("merge") || act.long("keep"),
        "clean" => (act.short('f') || act.long("force")) && !act.short('n') && !act.long("dry-run"),
        "branch" => act.short('D') || (act.long("delete") && act.long("force")),
        "tag" => act.short('d') || act.long("delete"),
        "checkout" | "switch" => act.short('f') || act.long("force") || is(&["."]) || is(&["--"]),
        "restore" => !act.long("staged") || act.long("worktree"),
        "stash" => is(&["drop", "clear"]),
        "filter-branch" | "filter-repo" | "prune" => true,
        "reflog" => is(&["expire", "delete"]),
        "gc" => rest.iter().any(|arg| arg.text.starts_with("--prune")),
        "update-ref" | "worktree" => is(&["-d", "remove"]),
        "rebase" => {
            escape::valued(rest, &["-x", "--exec"], |text| wrapper::text(&text, case, worst));
            false
        }
        "clone" | "ls-remote" | "fetch-pack" => {
            escape::valued(rest, &["-u"], |text| wrapper::text(&text, case, worst));
            false
        }
        "difftool" => {
            escape::valued(rest, &["-x"], |text| wrapper::text(&text, case, worst));
            false
        }
        "submodule" if is(&["foreach"]) => {
            let words = rest.iter().skip(1).filter(|it| !it.text.starts_with("--"));
            wrapper::joined(&words.cloned().collect::<Vec<_>>(), case, worst);
            false
        }
        "bisect" if is(&["run"]) => {
            let around = case.around.inside();
            judge::command(&case.with(rest.get(1..).unwrap_or_default(), &around), worst);
            false
        }
        "config" => {
            // Before a value stands its key, wherever the options are.
            for pair in rest.windows(2).filter(|pair| runs_its_value(&pair[0].text)) {
                let value = pair[1].text.trim_start_matches('!');
                judge::script(value, case.around.inside(), worst);
                rule = Some(DangerRule::InlineCode);
            }
            false
        }
        _ => false,
    };
    let deletes = verb == "rm" && act.short('r') && !act.long("cached") && !act.short('n');
    rule = rule.or(deletes.then_some(DangerRule::Delete));
    let rule = if found { Some(DangerRule::History) } else { rule };
    rule.into_iter().for_each(|rule| worst.add(rule, source));
}
