//! Which of a skill's scripts a view offers to run, and by which command.

use insula_config::skills::Skill;
use std::path::Path;

/// Longest first line of a script that names its interpreter, in bytes.
const FIRST_LINE_MAX: usize = 128;

/// What runs a file by how its name ends.
fn by_ending(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending {
        "sh" => "sh",
        "bash" => "bash",
        "py" => "python3",
        "js" | "mjs" => "node",
        "rb" => "ruby",
        "pl" => "perl",
        _ => return None,
    })
}

/// The script that the text of a skill names first, else the first one that is no part of
/// another: `__init__.py` is not run.
pub(super) fn offered<'s>(skill: &'s Skill, text: &str) -> Option<&'s str> {
    let mut all: Vec<&str> = skill
        .files
        .iter()
        .map(|file| &*file.path)
        .filter(|path| by_ending(path).is_some() && !name(path).starts_with("__"))
        .collect();
    // A sort that keeps the order of those that are not named.
    all.sort_by_key(|path| named_at(text, path).unwrap_or(usize::MAX));
    all.first().copied()
}

/// Where a text names a file, by its path or by its name.
fn named_at(text: &str, path: &str) -> Option<usize> {
    [path, name(path)].into_iter().find_map(|called| {
        let ends = |at: usize| {
            let before = text[..at].chars().next_back();
            let behind = text[at + called.len()..].chars().next();
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            !before.is_some_and(is_part) && !behind.is_some_and(is_part)
        };
        text.match_indices(called).map(|(at, _)| at).find(|at| ends(*at))
    })
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The command that runs a script of a folder: by what its first line names, else by its ending.
pub(super) fn command(folder: &Path, path: &str, bytes: &[u8]) -> Option<String> {
    let with = interpreter(bytes).or_else(|| by_ending(path).map(str::to_owned))?;
    let place = format!("{}/{path}", folder.display());
    Some(format!("{with} {}", quoted(&place)))
}

/// What the first line of a script names: `bash` of `#!/usr/bin/env bash` and of `#!/bin/bash`.
fn interpreter(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line.get(..line.len().min(FIRST_LINE_MAX))?).ok()?;
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let first = name(words.next()?);
    let named = match first {
        "env" => words.find(|word| !word.starts_with('-') && !word.contains('='))?,
        first => first,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    (!named.is_empty() && named.chars().all(is_plain)).then(|| named.to_owned())
}

/// A word as a shell reads it as one.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:=,".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_script_is_run_by_what_its_first_line_names() {
        let run = |path, bytes: &str| command(Path::new("/s"), path, bytes.as_bytes());
        for (path, bytes, expected) in [
            ("a.sh", "echo", Some("sh /s/a.sh")),
            ("a.sh", "#!/bin/bash\n(", Some("bash /s/a.sh")),
            ("a.sh", "#! /usr/bin/env bash\r\n", Some("bash /s/a.sh")),
            ("a.py", "#!/usr/bin/env -S python3.11 -u\n", Some("python3.11 /s/a.py")),
            ("a.py", "#!/bin/$(reboot)\n", Some("python3 /s/a.py")),
            ("a.py", "#!\n", Some("python3 /s/a.py")),
            ("my tool.py", "", Some("python3 '/s/my tool.py'")),
            ("it's.py", "", Some(r"python3 '/s/it'\''s.py'")),
            ("a.txt", "", None),
        ] {
            assert_eq!(run(path, bytes).as_deref(), expected, "{path} {bytes}");
        }
    }

    #[test]
    fn a_file_is_named_by_its_path_or_its_name_and_not_by_a_part_of_another() {
        let text = "Do not call `xmain.py`. Run `python3 scripts/main.py` or go.sh, then main.py.";
        assert_eq!(named_at(text, "scripts/main.py"), text.find("scripts/main.py"));
        assert_eq!(named_at(text, "bin/go.sh"), text.find("go.sh"));
        assert_eq!(named_at(text, "tools/main.py"), text.find("main.py` or"));
        assert_eq!(named_at(text, "scripts/other.py"), None);
    }

    proptest! {
        #[test]
        fn a_shell_reads_any_path_as_one_word(word in "[^\\x00]{1,24}|[a-z' $]{1,12}") {
            // Between single quotes everything stands for itself, and a backslash before one
            // outside of them does the same.
            let (mut read, mut is_quoted, text) = (String::new(), false, quoted(&word));
            let mut chars = text.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\'' => is_quoted = !is_quoted,
                    '\\' if !is_quoted => read.extend(chars.next()),
                    c => {
                        let means_something = " $&;|<>(){}[]*?!#~`\"\n\t".contains(c);
                        prop_assert!(is_quoted || !means_something);
                        read.push(c);
                    }
                }
            }
            prop_assert!(!is_quoted);
            prop_assert_eq!(read, word);
        }
    }
}
