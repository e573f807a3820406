//! Which commands a line says, for rules that allow only some of them.

use super::line::{self, Simple};
use super::rule::Unseen;
use super::word::Word;
use super::{COMMAND_BYTES_MAX, judge, prefix};

/// Most commands of one line that are told apart: a longer list is no line for a rule.
const COMMANDS_MAX: usize = 256;

/// One simple command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Its words, the program first; `None` for one that is only known when it runs.
    pub words: Vec<Option<String>>,
    /// Whether it sets variables for itself (`A=1 git …`).
    pub sets_variables: bool,
    /// As it was written.
    pub source: String,
}

impl SimpleCommand {
    /// Whether it begins with these words, each as it stands there.
    pub fn begins_with(&self, words: &[Box<str>]) -> bool {
        !words.is_empty()
            && self.words.len() >= words.len()
            && self.words.iter().zip(words).all(|(said, word)| said.as_deref() == Some(&**word))
    }
}

/// Every simple command of a line, with those that prefixes run; `None` where the line can't be
/// read to its end, or may run a command that it does not say.
pub fn said(line: &str) -> Option<Vec<SimpleCommand>> {
    if line.len() > COMMAND_BYTES_MAX {
        return None;
    }
    let lexer = line::read(line, None);
    if lexer.unseen.iter().any(|(unseen, _)| unseen.hides_commands()) {
        return None;
    }
    let mut all = Vec::new();
    for simple in &lexer.read.commands {
        let (commands, are_all) = prefix::commands(&simple.words);
        let hides = |words: &&[Word]| {
            judge::unseen(words, lexer.read.is_fed).is_some_and(Unseen::hides_commands)
        };
        let are_few = all.len() + commands.len() <= COMMANDS_MAX;
        if !are_all || !are_few || commands.iter().any(hides) {
            return None;
        }
        // What only reads belongs to the group of commands before it.
        let is_loose = !simple.assignments.is_empty() || simple.files.iter().any(|it| it.1);
        if commands.is_empty() && is_loose {
            all.push(of(&[], simple));
        }
        all.extend(commands.into_iter().map(|words| of(words, simple)));
    }
    Some(all)
}

fn of(words: &[Word], simple: &Simple<'_>) -> SimpleCommand {
    SimpleCommand {
        words: words.iter().map(|word| word.plain().map(str::to_owned)).collect(),
        sets_variables: !simple.assignments.is_empty(),
        source: simple.source.trim().to_owned(),
    }
}

/// The words of a text that is one plain command and nothing else.
pub fn plain(text: &str) -> Option<Vec<Box<str>>> {
    let lexer = line::read(text, None);
    let [simple] = &lexer.read.commands[..] else { return None };
    let is_only = simple.assignments.is_empty() && simple.files.is_empty();
    let words: Option<Vec<Box<str>>> =
        simple.words.iter().map(|word| word.plain().map(Box::from)).collect();
    words.filter(|words| is_only && lexer.unseen.is_empty() && !words.is_empty())
}
