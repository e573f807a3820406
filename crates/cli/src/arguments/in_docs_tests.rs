//! Every command line that the documentation shows is one that the program takes.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read the documentation and fail by panicking"
)]

use super::Arguments;
use clap::Parser as _;
use clap::error::ErrorKind;
use std::path::{Path, PathBuf};

/// Names for values that have to be of a kind.
const STAND_INS: [(&str, &str); 5] =
    [("ID", "1"), ("CALL", "1"), ("N", "1"), ("SHELL", "bash"), ("ROLE", "leaf")];

/// What ends a command where a shell reads it.
const ENDS: [&str; 8] = ["#", "|", "||", "&&", ";", "&", ">", "<"];

/// A command line, and whether it stands there to be typed as it is. In running text one is often
/// only named, without all that it needs.
struct Shown {
    line: String,
    is_whole: bool,
}

#[test]
fn every_command_line_of_the_documentation_parses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    ["docs", "deploy", "packaging", "examples"]
        .iter()
        .for_each(|it| below(&root.join(it), &mut pages));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages {
        for shown in shown(&std::fs::read_to_string(&page).unwrap()) {
            count += 1;
            if let Some(why) = refused(&shown) {
                wrong.push(format!("{}: {}\n    {why}", page.display(), shown.line));
            }
        }
    }
    assert!(count > 300, "only {count} were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_line_that_does_not_parse_is_found() {
    let page = "Say `insula channels add discord main`.\n\n   ```sh\n   $ insula agents show 'a b' | cat\n   insula agents shwo\n   ```\n`insula pairing approve` `insula agents list|shwo`\n";
    let found: Vec<Shown> = shown(page).collect();
    let refused: Vec<bool> = found.iter().map(|it| refused(it).is_some()).collect();
    assert_eq!(refused, [true, false, true, false, true]);
}

fn below(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, pages);
        } else if path.extension().is_some_and(|it| it == "md") {
            pages.push(path);
        }
    }
}

fn shown(page: &str) -> impl Iterator<Item = Shown> {
    let mut is_code = false;
    let mut joined = String::new();
    let mut all = Vec::new();
    for line in page.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
        } else if is_code {
            // A line that goes on in the next one.
            joined.push_str(line.trim_end_matches('\\'));
            if line.ends_with('\\') {
                continue;
            }
            let whole = std::mem::take(&mut joined);
            let typed = whole.strip_prefix("$ ").unwrap_or(&whole);
            if typed.starts_with("insula ") {
                all.push(Shown { line: typed.to_owned(), is_whole: true });
            }
        } else {
            let spans = line.split('`').skip(1).step_by(2);
            let named = spans.filter(|it| it.starts_with("insula "));
            all.extend(named.map(|it| Shown { line: it.replace("\\|", "|"), is_whole: false }));
        }
    }
    all.into_iter()
}

/// Why a line is none that can be typed, in any of the ways it stands for.
fn refused(shown: &Shown) -> Option<String> {
    commands(&shown.line).find_map(|line| {
        let words = words(&line);
        let either = words.iter().position(|word| is_choice(word));
        let Some(at) = either else { return refused_words(words, shown.is_whole) };
        let all: Vec<String> = words[at].split('|').map(str::to_owned).collect();
        all.into_iter().find_map(|one| {
            let mut words = words.clone();
            words[at] = one;
            refused_words(words, shown.is_whole)
        })
    })
}

/// The commands of a line. What stands far to the right of one says what it does.
fn commands(line: &str) -> impl Iterator<Item = String> {
    let parts = line.split("  ").map(str::trim).filter(|part| part.starts_with("insula "));
    // What may be left out is given.
    parts.map(|part| part.replace(" [", " ").replace("] ", " ").trim_end_matches(']').to_owned())
}

/// `list|show|add`: one of them.
fn is_choice(word: &str) -> bool {
    let is_name = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_lowercase());
    word.contains('|') && word.split('|').all(is_name)
}

fn refused_words(mut words: Vec<String>, is_whole: bool) -> Option<String> {
    // What was left out could be anything.
    if words.iter().any(|word| word.contains('…') || word.contains("...")) {
        return None;
    }
    for word in &mut words {
        if let Some((_, instead)) = STAND_INS.iter().find(|(name, _)| name == word) {
            *word = (*instead).to_owned();
        }
    }
    let error = Arguments::try_parse_from(words).err()?;
    let is_wrong = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => false,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::MissingSubcommand => is_whole,
        _ => true,
    };
    is_wrong.then(|| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// The words of a command, as a shell would make them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let end = words.iter().position(|word| ENDS.contains(&&**word));
    words.truncate(end.unwrap_or(words.len()));
    words
}
