//! Splits a line into its simple commands: at operators, reserved words and brackets. Which of
//! them run, and how often, is not followed.

use super::lexer::{Lexer, Stop, Word};
use super::path;
use super::rule::Unseen;
use std::rc::Rc;

/// Reserved words that stand before a command, or after the last one of a group.
const RESERVED: &str = "if then elif else fi while until do done ! { }";
/// Operators of redirections, longest first.
const REDIRECTIONS: [&str; 12] =
    ["<<<", "<<-", "&>>", "<<", "<&", "<>", ">>", ">&", ">|", "&>", "<", ">"];

/// Most commands of one line: whoever wrote more must not keep others waiting.
const COMMANDS_MAX: usize = 4_096;

/// A simple command.
#[derive(Debug, Default)]
pub(super) struct Simple<'t> {
    pub(super) words: Vec<Word>,
    /// Names of variables that it sets for itself.
    pub(super) assignments: Vec<&'t str>,
    /// Files that it is connected with, and whether it writes to them.
    pub(super) files: Vec<(Word, bool)>,
    /// As it was written.
    pub(super) source: &'t str,
    /// The folder it runs in, where that is known.
    pub(super) folder: Option<Rc<str>>,
    /// Whether it is the head of a loop, and so no command.
    is_head: bool,
}

impl Simple<'_> {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.assignments.is_empty() && self.files.is_empty()
    }
}

/// What was read of a line.
#[derive(Debug, Default)]
pub(super) struct Read<'t> {
    pub(super) commands: Vec<Simple<'t>>,
    /// The first function that it makes.
    pub(super) function: Option<String>,
    /// Whether a command in it may read what another one or a file gives.
    pub(super) is_fed: bool,
    folder: Option<Rc<str>>,
    /// Here documents that begin behind the next end of a line: what ends each, whether tabs
    /// before that don't count, and whether the shell looks for substitutions in it.
    documents: Vec<(String, bool, bool)>,
}

/// Reads a line as far as it can be read.
pub(super) fn read<'t>(text: &'t str, folder: Option<&str>) -> Lexer<'t> {
    let read = Read { folder: folder.map(Rc::from), ..Read::default() };
    let mut lexer = Lexer::new(text, read);
    if lexer.list(false).is_err() {
        lexer.unseen.push((Unseen::Unreadable, text));
    }
    lexer
}

impl<'t> Lexer<'t> {
    /// Reads commands to the end, or to the bracket that closes a substitution.
    pub(super) fn list(&mut self, is_inner: bool) -> Result<(), Stop> {
        let (mut simple, mut start) = (Simple::default(), self.at);
        let (mut groups, mut cases) = (vec![self.read.folder.clone()], 0_usize);
        loop {
            self.blanks();
            if simple.is_empty() && !simple.is_head {
                start = self.at;
            }
            let Some(it) = self.peek() else {
                self.finish(&mut simple)?;
                return if is_inner || groups.len() > 1 { Err(Stop) } else { Ok(()) };
            };
            let is_command = simple.is_empty() && !simple.is_head;
            match it {
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '<' | '>' if !self.rest()[1..].starts_with('(') => self.redirect(&mut simple)?,
                '&' if self.rest().starts_with("&>") => self.redirect(&mut simple)?,
                ';' | '&' | '|' | '\n' => {
                    self.finish(&mut simple)?;
                    if self.eat(";;&") || self.eat(";;") || self.eat(";&") {
                        self.pattern(cases)?;
                        continue;
                    }
                    if !self.eat("||") {
                        self.next();
                        self.read.is_fed |= it == '|';
                    }
                    if it == '\n' {
                        self.documents();
                    }
                }
                '(' if self.rest().starts_with("((") && (is_command || simple.is_head) => {
                    self.arithmetic()?;
                }
                '(' if is_command => {
                    self.next();
                    groups.push(self.read.folder.clone());
                }
                '(' => self.function(&mut simple)?,
                ')' => {
                    self.finish(&mut simple)?;
                    self.next();
                    self.read.folder = groups.pop().flatten();
                    match (groups.is_empty(), is_inner) {
                        (true, true) => return Ok(()),
                        (true, false) => return Err(Stop),
                        (false, _) => {}
                    }
                }
                _ => {
                    let begin = self.at;
                    let word = self.word()?;
                    let is_plain = word.is_bare && (word.plain().is_some() || word.text == "[[");
                    let is_number = is_plain && word.text.bytes().all(|it| it.is_ascii_digit());
                    match &*word.text {
                        // The number of what is redirected.
                        _ if is_number && matches!(self.peek(), Some('<' | '>')) => {}
                        name if is_command && is_plain && self.reserved(name, &mut cases)? => {
                            simple.is_head = matches!(name, "for" | "select");
                        }
                        _ if simple.words.is_empty() && assigned(self.since(begin)).is_some() => {
                            simple.assignments.extend(assigned(self.since(begin)));
                            if self.since(begin).ends_with('=') && self.eat("(") {
                                self.until(")")?;
                            }
                        }
                        // `for x do`: a head that nothing ends.
                        "do" if simple.is_head && simple.words.len() == 1 => return Err(Stop),
                        _ => simple.words.push(word),
                    }
                }
            }
            simple.source = self.since(start);
        }
    }

    /// Takes a word for a reserved one, if it is.
    fn reserved(&mut self, name: &str, cases: &mut usize) -> Result<bool, Stop> {
        match name {
            "for" | "select" => {}
            "[[" => self.until("]]")?,
            "case" => {
                self.blanks();
                self.word()?;
                *cases += 1;
                self.until("in")?;
                self.pattern(*cases)?;
            }
            // With options it is a program like others.
            "time" => {
                self.blanks();
                return Ok(!self.rest().starts_with('-'));
            }
            "esac" => *cases = cases.checked_sub(1).ok_or(Stop)?,
            "coproc" => self.unseen.push((Unseen::Name, self.rest())),
            "function" => {
                self.unseen.push((Unseen::Name, self.rest()));
                self.blanks();
                self.word()?;
                self.blanks();
                let _ = self.eat("()");
            }
            name => return Ok(RESERVED.split(' ').any(|it| it == name)),
        }
        Ok(true)
    }

    /// Passes words and signs up to this one, which stands alone.
    fn until(&mut self, end: &str) -> Result<(), Stop> {
        loop {
            self.blanks();
            if end == ")" && self.eat(")") {
                return Ok(());
            }
            let word = self.word()?;
            match word.text.is_empty() && word.is_bare {
                true => self.next().map(drop).ok_or(Stop)?,
                false if word.is_bare && word.text == end => return Ok(()),
                false => {}
            }
        }
    }

    /// Passes the pattern of the next case, unless there is none.
    fn pattern(&mut self, cases: usize) -> Result<(), Stop> {
        if cases == 0 {
            return Err(Stop);
        }
        while self.peek().is_some_and(|it| it.is_whitespace()) {
            self.next();
        }
        let rest = self.rest().strip_prefix("esac").unwrap_or("x");
        let is_last = !rest.starts_with(char::is_alphanumeric);
        if is_last { Ok(()) } else { self.until(")") }
    }

    /// `name()`: what the name means from now on is not looked up.
    fn function(&mut self, simple: &mut Simple<'t>) -> Result<(), Stop> {
        self.next();
        self.blanks();
        let [name] = &simple.words[..] else { return Err(Stop) };
        if !self.eat(")") || !simple.files.is_empty() || !simple.assignments.is_empty() {
            return Err(Stop);
        }
        self.unseen.push((Unseen::Name, simple.source));
        self.read.function.get_or_insert(name.text.clone());
        *simple = Simple::default();
        Ok(())
    }

    fn redirect(&mut self, simple: &mut Simple<'t>) -> Result<(), Stop> {
        let operator = REDIRECTIONS.into_iter().find(|it| self.eat(it)).ok_or(Stop)?;
        self.read.is_fed |= operator.starts_with('<');
        self.blanks();
        let begin = self.at;
        let word = self.word()?;
        if self.at == begin {
            return Err(Stop);
        }
        match operator {
            "<<" | "<<-" => {
                self.read.documents.push((word.text, operator == "<<-", word.is_bare));
            }
            // A number, or `-`: what is open already.
            "<&" | ">&" if word.text.bytes().all(|it| it.is_ascii_digit() || it == b'-') => {}
            "<<<" => {}
            operator => simple.files.push((word, operator.contains('>'))),
        }
        Ok(())
    }

    /// Passes the here documents that begin here.
    fn documents(&mut self) {
        for (end, strips, is_expanded) in std::mem::take(&mut self.read.documents) {
            let start = self.at;
            while !self.rest().is_empty() {
                let line = self.rest().split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.text.len());
                if *end == *(if strips { line.trim_start_matches('\t') } else { line }) {
                    break;
                }
            }
            let body = self.since(start);
            if is_expanded && (body.contains("$(") || body.contains('`')) {
                self.unseen.push((Unseen::Nested, body));
            }
        }
    }

    /// Ends a simple command, and goes where it goes.
    fn finish(&mut self, simple: &mut Simple<'t>) -> Result<(), Stop> {
        let mut done = std::mem::take(simple);
        if done.is_empty() || done.is_head {
            return Ok(());
        }
        if self.read.commands.len() >= COMMANDS_MAX {
            return Err(Stop);
        }
        done.folder = self.read.folder.clone();
        if matches!(done.words.first().and_then(Word::plain), Some("cd" | "pushd")) {
            self.read.folder = path::entered(&done.words[1..], done.folder.as_deref());
        }
        self.read.commands.push(done);
        Ok(())
    }
}

/// The name of the variable, if a word sets one.
fn assigned(source: &str) -> Option<&str> {
    let (left, _) = source.split_once('=')?;
    let left = left.strip_suffix('+').unwrap_or(left);
    let name = left.split_once('[').filter(|_| left.ends_with(']')).map_or(left, |(it, _)| it);
    let is_name = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    let begins = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
    (is_name && begins).then_some(name)
}
