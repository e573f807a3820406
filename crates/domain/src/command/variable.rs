//! Variables by which other programs load or run something, wherever a line sets them.

use super::Worst;
use super::judge::{Around, Case, script};
use super::rule::DangerRule;
use super::word::Arg;

/// What begins like one of these makes other programs load code, or read settings that do.
const PRELOADS: &[&str] = &[
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "PERL5OPT",
    "PERL5LIB",
    "PYTHONSTARTUP",
    "NODE_OPTIONS",
    "RUBYOPT",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_EDITOR",
    "PS4",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "LESSOPEN",
    "BASH_FUNC",
];

/// Commands that other programs run when they need an editor and the like. Each is a setting
/// that people have anyway, so what counts is the command.
const COMMANDS: &[&str] = &[
    "EDITOR",
    "VISUAL",
    "FCEDIT",
    "SUDO_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "PAGER",
    "MANPAGER",
    "SYSTEMD_PAGER",
    "BROWSER",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "GIT_PROXY_COMMAND",
    "LESSCLOSE",
];

/// Judges that a variable is set, for one command or from now on; the value is `None` where
/// nobody knows it.
pub(super) fn set(
    name: &str,
    value: Option<&str>,
    around: &Around,
    source: &str,
    worst: &mut Worst,
) {
    let is_preload = PRELOADS.iter().any(|known| name.starts_with(known));
    if !is_preload && !COMMANDS.contains(&name) {
        return;
    }
    match value {
        Some(value) => {
            // A pager reads what others printed, and so does what stands behind a bar.
            let is_fed = name.ends_with("PAGER") || value.starts_with('|');
            let value = value.trim_start_matches(['|', '-']);
            script(value, Around { is_fed, ..around.inside() }, worst);
        }
        None => worst.add(DangerRule::Dynamic, source),
    }
    // Last, since what it runs says more where that is worth a question too.
    if is_preload {
        worst.add(DangerRule::Preload, source);
    }
}

/// The same for a word that a command takes for a setting, as in `export NAME=value`.
pub(super) fn said(arg: &Arg, case: &Case<'_>, worst: &mut Worst) {
    if let Some((name, value)) = arg.text.split_once('=') {
        let source = &case.simple.source;
        set(name, Some(value), case.around, source, worst);
        if !arg.is_known {
            set(name, None, case.around, source, worst);
        }
    }
}
