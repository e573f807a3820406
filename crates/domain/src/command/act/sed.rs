//! What the scripts of `sed` do besides editing: run commands, and write files.

use super::super::judge::Case;
use super::super::rule::DangerRule;
use super::super::word::Arg;
use super::super::{Worst, path, wrapper};
use super::Act;

/// Judges the scripts of `sed`, and the files it edits.
pub(super) fn judge(act: &Act<'_>, case: &Case<'_>, worst: &mut Worst) {
    let source = &*case.simple.source;
    let is_edited = act.short('i') || act.long("in-place");
    for arg in act.rest.iter().filter(|_| is_edited) {
        act.written(arg, &mut |rule| worst.add(rule, source));
    }
    // What looks like such a command is asked about wherever it stands.
    let runs = |arg: &Arg| {
        let text = arg.text.trim_end();
        let is_run = text.starts_with('s') && text.ends_with('e');
        let is_plain = !text.contains(char::is_whitespace) && text.matches('/').count() == 3;
        text.starts_with("e ") || text.starts_with("1e") || is_run && is_plain
    };
    let looks = act.rest.iter().any(runs);
    for script in scripts(act.rest) {
        let text = match script {
            Text::Script(text) => text,
            Text::File(file) => {
                if !file.is_known || path::is_handle(&file.text) || file.text == "-" {
                    worst.add(DangerRule::PipedCode, source);
                }
                continue;
            }
        };
        if !worst.spend(2 * text.len()) {
            worst.add(DangerRule::TooComplex, source);
            return;
        }
        // Whether a delimiter in brackets is one differs from one `sed` to another.
        let both = [true, false].into_iter().flat_map(|it| Script::new(&text, it).all());
        for does in both {
            match does {
                Does::Run(text) => {
                    worst.suspect(|it| wrapper::text(&Arg::known(&text), case, it));
                    worst.add(DangerRule::InlineCode, source);
                }
                Does::Write(file) => {
                    act.written(&Arg::known(&file), &mut |rule| worst.add(rule, source));
                }
            }
        }
    }
    if looks {
        worst.add(DangerRule::InlineCode, source);
    }
}

/// Where `sed` has its commands from.
enum Text {
    Script(String),
    File(Arg),
}

/// The scripts among the words: those of options, or else the first that is none.
fn scripts(rest: &[Arg]) -> Vec<Text> {
    let (mut all, mut first, mut at, mut has_options) = (Vec::new(), None, 0, true);
    while let Some(arg) = rest.get(at) {
        at += 1;
        let text = &*arg.text;
        let Some(option) = text.strip_prefix('-').filter(|it| has_options && !it.is_empty()) else {
            first = first.or(Some(text));
            continue;
        };
        let (letter, inline) = match option.strip_prefix('-') {
            Some("") => {
                has_options = false;
                continue;
            }
            Some(long) => {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                let is = |full: &str| full.starts_with(name);
                let letter = ["expression", "file", "line-length"].into_iter().find(|it| is(it));
                (letter.and_then(|it| it.chars().next()), value)
            }
            None => {
                let at = option.find(['e', 'f', 'l', 'i']);
                let value = at.map(|at| &option[at + 1..]).filter(|it| !it.is_empty());
                (at.and_then(|at| option[at..].chars().next()), value)
            }
        };
        // What is edited in place has its ending with the option.
        if !matches!(letter, Some('e' | 'f' | 'l')) {
            continue;
        }
        let value = inline.map(|text| arg.but(text)).or_else(|| {
            at += 1;
            rest.get(at - 1).cloned()
        });
        match (letter, value) {
            (Some('e'), Some(value)) => all.push(Text::Script(value.text)),
            (Some('f'), Some(value)) => all.push(Text::File(value)),
            _ => {}
        }
    }
    if all.is_empty() {
        all.extend(first.map(|text| Text::Script(text.to_owned())));
    }
    all
}

/// What a command of a script does that should be looked at.
enum Does {
    Run(String),
    Write(String),
}

struct Script {
    text: Vec<char>,
    at: usize,
    has_brackets: bool,
    found: Vec<Does>,
}

impl Script {
    fn new(text: &str, has_brackets: bool) -> Self {
        Self { text: text.chars().collect(), at: 0, has_brackets, found: Vec::new() }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    /// Reads commands as far as this is a script.
    fn all(mut self) -> Vec<Does> {
        while self.command().is_some() {}
        self.found
    }

    fn command(&mut self) -> Option<()> {
        self.skip(|it| it.is_whitespace() || matches!(it, ';' | '{' | '}'));
        self.addresses()?;
        let letter = self.peek()?;
        self.at += 1;
        match letter {
            's' => self.substitution()?,
            'y' => {
                let delimiter = self.delimiter()?;
                self.until(delimiter)?;
                self.until(delimiter)?;
            }
            'e' => {
                let text = self.line();
                self.found.push(Does::Run(text));
            }
            'w' | 'W' => {
                let file = self.line();
                self.found.push(Does::Write(file));
            }
            '#' | 'a' | 'i' | 'c' | 'r' | 'R' => {
                self.line();
            }
            ':' | 'b' | 't' | 'T' => self.skip(|it| it != ';' && it != '\n' && it != '}'),
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x'
            | 'z' | 'F' => {}
            'q' | 'Q' | 'l' | 'L' => self.skip(|it| it == ' ' || it.is_ascii_digit()),
            _ => return None,
        }
        Some(())
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&is_skipped) {
            self.at += 1;
        }
    }

    /// What stands before a command: lines, patterns, and a mark that turns them round.
    fn addresses(&mut self) -> Option<()> {
        loop {
            match self.peek()? {
                '/' => {
                    self.at += 1;
                    self.pattern('/')?;
                    self.skip(|it| matches!(it, 'I' | 'M'));
                }
                '\\' => {
                    self.at += 1;
                    let delimiter = self.delimiter()?;
                    self.pattern(delimiter)?;
                    self.skip(|it| matches!(it, 'I' | 'M'));
                }
                '0'..='9' | '$' | ',' | '~' | '+' | '!' | ' ' | '\t' => self.at += 1,
                _ => return Some(()),
            }
        }
    }

    fn delimiter(&mut self) -> Option<char> {
        let delimiter = self.peek()?;
        self.at += 1;
        (delimiter != '\n').then_some(delimiter)
    }

    /// Text up to a delimiter that no backslash stands before.
    fn until(&mut self, delimiter: char) -> Option<String> {
        let mut text = String::new();
        loop {
            let it = self.peek()?;
            self.at += 1;
            match it {
                _ if it == delimiter => return Some(text),
                '\\' => {
                    text.extend(self.peek());
                    self.at += 1;
                }
                _ => text.push(it),
            }
        }
    }

    /// The same for a pattern, in which brackets may hide the delimiter.
    fn pattern(&mut self, delimiter: char) -> Option<()> {
        loop {
            let it = self.peek()?;
            self.at += 1;
            match it {
                _ if it == delimiter => return Some(()),
                '\\' => self.at += 1,
                '[' if self.has_brackets => {
                    self.skip_one('^');
                    self.skip_one(']');
                    while self.peek()? != ']' {
                        // `[:alpha:]` has a bracket of its own.
                        let is_class = self.text[self.at..].starts_with(&['[', ':']);
                        self.at += 1;
                        if is_class {
                            self.skip(|it| it != ']');
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                }
                _ => {}
            }
        }
    }

    fn skip_one(&mut self, letter: char) {
        self.at += usize::from(self.peek() == Some(letter));
    }

    /// `s/…/…/` and its flags.
    fn substitution(&mut self) -> Option<()> {
        let delimiter = self.delimiter()?;
        self.pattern(delimiter)?;
        let text = self.until(delimiter)?;
        let mut runs = false;
        while let Some(flag) = self.peek() {
            match flag {
                'e' => runs = true,
                'w' => {
                    self.at += 1;
                    let file = self.line();
                    self.found.push(Does::Write(file));
                    break;
                }
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {}
                _ => break,
            }
            self.at += 1;
        }
        if runs {
            self.found.push(Does::Run(text));
        }
        // With another flag it is no script that anything runs.
        let is_end = |it: char| it.is_whitespace() || matches!(it, ';' | '}' | '#');
        self.peek().is_none_or(is_end).then_some(())
    }

    /// The rest of the line.
    fn line(&mut self) -> String {
        let from = self.at;
        self.skip(|it| it != '\n');
        self.text[from..self.at].iter().collect::<String>().trim().to_owned()
    }
}
