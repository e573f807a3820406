//! Which commands a line says, for rules that allow only some of them.

use super::judge::{self, Around, Case};
use super::rule::DangerRule;
use super::{COMMAND_BYTES_MAX, Worst};

/// Most commands of one line that are told apart: a longer list is no line for a rule.
const COMMANDS_MAX: usize = 256;

/// One simple command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its words, the program first; `None` for one that is only known when it runs.
    pub words: Vec<Option<String>>,
    /// Whether it sets variables for itself (`A=1 git …`).
    pub sets_variables: bool,
    /// As it was written.
    pub source: String,
}

impl Said {
    /// Whether it begins with these words, each as it stands there.
    pub fn begins_with(&self, words: &[Box<str>]) -> bool {
        !words.is_empty()
            && self.words.len() >= words.len()
            && self.words.iter().zip(words).all(|(said, word)| said.as_deref() == Some(&**word))
    }
}

/// Every simple command of a line, with those inside of others (`$(…)`, `sh -c`, `xargs`);
/// `None` where the line can't be read to its end, or a command is only known when it runs.
pub fn said(line: &str) -> Option<Vec<Said>> {
    if line.len() > COMMAND_BYTES_MAX {
        return None;
    }
    let mut worst = Worst { heard: Some(Heard::default()), ..Worst::default() };
    judge::script(line, Around::default(), &mut worst);
    let heard = worst.heard?;
    (!heard.is_partial && heard.commands.len() <= COMMANDS_MAX).then_some(heard.commands)
}

/// What was heard so far.
#[derive(Debug, Default)]
pub(super) struct Heard {
    commands: Vec<Said>,
    is_partial: bool,
}

impl Heard {
    /// Notes what makes the list incomplete.
    pub(super) fn found(&mut self, rule: DangerRule) {
        self.is_partial |=
            matches!(rule, DangerRule::Unreadable | DangerRule::TooComplex | DangerRule::Dynamic);
    }
}

impl Worst {
    /// Notes a command, where somebody wants to know.
    pub(super) fn hear(&mut self, case: &Case<'_>) {
        let Some(heard) = &mut self.heard else { return };
        if heard.commands.len() > COMMANDS_MAX {
            return;
        }
        let word =
            |arg: &super::word::Arg| (arg.is_known && !arg.is_glob).then(|| arg.text.clone());
        heard.commands.push(Said {
            words: case.args.iter().map(word).collect(),
            sets_variables: !case.simple.assignments.is_empty(),
            source: case.simple.source.trim().to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(line: &str) -> Option<Vec<String>> {
        let name = |it: &Said| it.words.first().cloned().flatten().unwrap_or_default();
        Some(said(line)?.iter().map(name).collect())
    }

    #[test]
    fn every_command_is_heard_wherever_it_stands() {
        for (line, expected) in [
            ("git status", &["git"][..]),
            ("git log | head && cargo test; ls", &["git", "head", "cargo", "ls"]),
            ("git log \"$(rm -rf x)\"", &["rm", "git"]),
            ("git log `rm x`", &["rm", "git"]),
            ("for f in a b; do git add $f; done", &["git"]),
            ("if git diff; then rm x; fi", &["git", "rm"]),
            ("sh -c 'rm x'", &["sh", "rm"]),
            ("ls | xargs rm", &["ls", "xargs", "rm"]),
            ("env A=1 rm x", &["env", "rm"]),
            ("f() { rm x; }; f", &["rm", "f"]),
            ("(cd x && make)", &["cd", "make"]),
            ("A=1", &[""]),
            ("> file", &[""]),
            ("/usr/bin/git x", &["/usr/bin/git"]),
            ("g\\it x", &["git"]),
            ("'git' x", &["git"]),
        ] {
            assert_eq!(
                programs(line).as_deref(),
                Some(&expected.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..]),
                "{line}"
            );
        }
        for line in ["git 'x", "$CMD x", "eval \"$x\"", "git $(", "g* x"] {
            assert_eq!(programs(line), None, "{line}");
        }
    }

    #[test]
    fn a_command_begins_with_whole_words() {
        let words = |text: &str| text.split(' ').map(Box::from).collect::<Vec<Box<str>>>();
        let begins = |line: &str, with: &str| said(line).unwrap()[0].begins_with(&words(with));
        assert!(begins("git status -s", "git"));
        assert!(begins("git  status", "git status"));
        assert!(!begins("gitx status", "git"));
        assert!(!begins("git", "git status"));
        assert!(!begins("git $X", "git status"));
        assert!(!begins("./git status", "git"));
        assert!(said("A=1 git x").unwrap()[0].sets_variables);
    }
}
