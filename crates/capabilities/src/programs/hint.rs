//! What the one who runs into a wall should know about it: which grant is missing, by its name.
//!
//! It judges by words alone and never looks whether something is there, so nothing is learnt
//! from it about what was not granted.

use insula_sandbox::Spec;
use insula_tools::shell::Printed;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Folders that every program sees; what is missing in them no grant would bring.
const SYSTEM: [&str; 11] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc", "/dev", "/sys",
];
/// Paths and programs that are named; a hint is no list.
const NAMED_MAX: usize = 3;
/// How files say no.
const FILES: [&str; 7] = [
    "permission denied",
    "read-only file system",
    "no such file",
    "not found",
    "does not exist",
    "not permitted",
    "cannot find module",
];
/// How the network says no.
const NETWORK: [&str; 8] = [
    "could not resolve",
    "network is unreachable",
    "name resolution",
    "failed to connect",
    "couldn't connect",
    "connection refused",
    "no route to host",
    "address family not supported",
];

/// How the sentence begins that says what programs see at all.
const WALLS: &str = "programs see the system, write to";

/// Whether a text says what programs see. Whoever read it once need not read it after every
/// program that fails.
pub fn tells_of_walls(text: &str) -> bool {
    text.contains(WALLS)
}

/// What is good to know about a program that failed.
pub(crate) fn hints(
    printed: &Printed,
    code: &str,
    spec: &Spec,
    has_network: bool,
    withheld: Vec<String>,
) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = format!("{}{}", text(&printed.head), text(&printed.tail));
    let small = said.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| small.contains(word));
    let mut notes = Vec::new();
    if says(&FILES) {
        let paths = ungranted(&said, code, spec);
        if !paths.is_empty() {
            notes.push(format!(
                "not granted: {}; the operator can add it to `files.shared`",
                quoted(paths.iter().map(|path| path.display().to_string()))
            ));
        }
        let programs = absent(&said);
        if !programs.is_empty() {
            notes.push(format!(
                "not among the programs of the system: {}; for a toolchain elsewhere, the operator can add its folder to `files.shared` and its `bin` to `env.PATH`",
                quoted(programs)
            ));
        }
        let list = |paths: &[PathBuf]| match paths {
            [] => "nothing".to_owned(),
            paths => {
                let paths: Vec<String> = paths.iter().map(|it| it.display().to_string()).collect();
                paths.join(", ")
            }
        };
        notes.push(format!(
            "{WALLS} {} and /tmp, and read {}; other folders, toolchains too, need the operator to grant them under `files.shared`",
            list(&spec.writes),
            list(&spec.reads)
        ));
        notes.extend(withheld);
    }
    if says(&NETWORK) || (says(&["not permitted"]) && says(&["socket", "connect"])) {
        notes.push(match has_network {
            false => "there is no network here: the operator grants hosts under `network.allow`",
            true => "programs reach the hosts of `network.allow` alone, through the proxy in `http_proxy`; what ignores it has no network",
        }.to_owned());
    }
    notes
}

fn quoted(names: impl IntoIterator<Item = String>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Paths that a refusal names, or else the command, and that no grant covers.
fn ungranted(said: &str, code: &str, spec: &Spec) -> Vec<PathBuf> {
    let refusing = said.lines().filter(|line| {
        let line = line.to_lowercase();
        FILES.iter().any(|word| line.contains(word))
    });
    let told = refusing.flat_map(paths).filter(|path| !is_granted(path, spec));
    let told: BTreeSet<PathBuf> = told.collect();
    let all = match told.is_empty() {
        false => told,
        true => paths(code).filter(|path| !is_granted(path, spec)).collect(),
    };
    all.into_iter().take(NAMED_MAX).collect()
}

fn is_granted(path: &Path, spec: &Spec) -> bool {
    let granted = spec.reads.iter().chain(&spec.writes).any(|own| path.starts_with(own));
    granted || SYSTEM.iter().any(|system| path.starts_with(system))
}

/// The absolute paths in a text, without what a sentence puts around them.
fn paths(text: &str) -> impl Iterator<Item = PathBuf> + '_ {
    let ends = |c: char| c.is_whitespace() || "'\"`‘’“”<>|;&()=,".contains(c);
    text.split(ends).filter_map(|word| {
        let word = word.trim_end_matches([':', '.', '!', '?', ']', '}']);
        let path = Path::new(word);
        let plain = path.components().all(|part| !matches!(part, Component::ParentDir));
        let deep = path.components().count() > 1 && word != "/tmp";
        (word.starts_with('/') && plain && deep).then(|| path.to_owned())
    })
}

/// Programs that a shell did not find.
fn absent(said: &str) -> BTreeSet<String> {
    let named = said.lines().filter_map(|line| {
        let before = line
            .trim_end()
            .strip_suffix(": command not found")
            .or_else(|| line.trim_end().strip_suffix(": not found"))?;
        let name = before.rsplit(' ').next()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        (!name.is_empty() && name.chars().all(plain)).then(|| name.to_owned())
    });
    named.take(NAMED_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(said: &str, code: &str) -> Vec<String> {
        let mut spec = Spec::new("/bin/sh");
        spec.writes.push("/srv/home/a".into());
        spec.reads.push("/srv/shared".into());
        let printed = Printed { head: said.into(), tail: vec![], total: said.len() as u64 };
        hints(&printed, code, &spec, false, vec!["withheld".to_owned()])
    }

    #[test]
    fn the_path_that_is_not_granted_is_named() {
        for (said, code) in [
            ("fatal: repository '/srv/origin' does not exist", "git clone /srv/origin"),
            ("cat: /srv/origin: No such file or directory", "cat x"),
            ("touch: cannot touch '/srv/origin': Permission denied\n", ""),
            ("fatal: it does not exist", "cd /srv/shared && git clone \"/srv/origin\""),
        ] {
            let notes = notes(said, code);
            assert!(notes[0].starts_with("not granted: `/srv/origin`; "), "{notes:#?}");
            assert!(notes[1].contains("write to /srv/home/a and /tmp, and read /srv/shared"));
            assert_eq!(notes[2], "withheld");
        }
    }

    #[test]
    fn what_was_granted_or_is_the_systems_is_not_named() {
        for said in [
            "cat: /srv/home/a/none: No such file or directory",
            "cat: /srv/shared/none: No such file or directory",
            "cat: /etc/shadow: Permission denied",
            "ls: cannot access 'none': No such file or directory",
            "ls: /tmp: Permission denied",
        ] {
            let notes = notes(said, "true");
            assert!(notes[0].starts_with("programs see"), "{notes:#?}");
        }
        assert_eq!(notes("error: it does not compile", "cat /srv/x"), [""; 0]);
    }

    #[test]
    fn the_program_that_is_missing_is_named() {
        for said in ["sh: 5: cargo: not found", "bash: line 1: cargo: command not found\n"] {
            let notes = notes(said, "cargo build");
            assert!(notes[0].contains("`cargo`; for a toolchain"), "{notes:#?}");
        }
        assert!(absent("error: file /x: not found").is_empty());
    }

    #[test]
    fn a_network_that_was_not_granted_is_named() {
        let notes = notes("curl: (6) Could not resolve host: example.com", "");
        assert!(notes[0].contains("`network.allow`"), "{notes:#?}");
    }
}
