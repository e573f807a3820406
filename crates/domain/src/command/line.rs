//! Splits a line into its simple commands and their words, as a shell does. Which of them run,
//! and how often, is not followed. Reads every letter once, and stops at what it does not know.

use super::path;
use super::rule::Unseen;
use super::word::{Word, assigned};

/// Reserved words that stand before a command, or after the last one of a group.
const RESERVED: [&str; 12] =
    ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}"];
/// Operators of redirections, longest first.
const REDIRECTIONS: [&str; 12] =
    ["<<<", "<<-", "&>>", "<<", "<&", "<>", ">>", ">&", ">|", "&>", "<", ">"];

/// Texts inside of texts that are read (`"$(… "${…}" …)"`).
const DEPTH_MAX: usize = 24;
/// Most commands of one line: whoever wrote more must not keep others waiting.
const COMMANDS_MAX: usize = 4_096;

/// The line goes on with something that can't be read.
#[derive(Debug)]
struct Stop;

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
    pub(super) folder: Option<String>,
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
}

/// A place in a text, and what is known there.
#[derive(Default)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    folder: Option<String>,
    /// Here documents that begin behind the next end of a line: what ends each, whether tabs
    /// before that don't count, and whether the shell looks for substitutions in it.
    documents: Vec<(String, bool, bool)>,
    /// What could not be looked at, and where it began.
    pub(super) unseen: Vec<(Unseen, &'t str)>,
    pub(super) read: Read<'t>,
}

/// Reads a line as far as it can be read.
pub(super) fn read<'t>(text: &'t str, folder: Option<&str>) -> Lexer<'t> {
    let mut lexer = Lexer { text, folder: folder.map(str::to_owned), ..Lexer::default() };
    if lexer.list(false).is_err() {
        lexer.unseen.push((Unseen::Unreadable, text));
    }
    lexer
}

/// Commands.
impl<'t> Lexer<'t> {
    /// Reads commands to the end, or to the bracket that closes a substitution.
    fn list(&mut self, is_inner: bool) -> Result<(), Stop> {
        let (mut simple, mut start) = (Simple::default(), self.at);
        let (mut groups, mut cases) = (vec![self.folder.clone()], 0_usize);
        loop {
            self.blanks();
            let is_first = simple.is_empty();
            if is_first {
                start = self.at;
            }
            let Some(it) = self.peek() else {
                self.finish(&mut simple)?;
                return if is_inner || groups.len() > 1 { Err(Stop) } else { Ok(()) };
            };
            match it {
                '#' => self.pass(|it| it != '\n'),
                '<' | '>' if !self.rest()[1..].starts_with('(') => self.redirect(&mut simple)?,
                '&' if self.rest().starts_with("&>") => self.redirect(&mut simple)?,
                ';' | '&' | '|' | '\n' => {
                    self.finish(&mut simple)?;
                    if self.eat(";;&") || self.eat(";;") || self.eat(";&") {
                        self.pattern(cases)?;
                    } else if !self.eat("||") {
                        self.next();
                        self.read.is_fed |= it == '|';
                    }
                    if it == '\n' {
                        self.documents();
                    }
                }
                '(' if is_first && self.rest().starts_with("((") => self.arithmetic()?,
                '(' if is_first => {
                    self.next();
                    groups.push(self.folder.clone());
                }
                '(' => self.function(&mut simple)?,
                ')' => {
                    self.finish(&mut simple)?;
                    self.next();
                    self.folder = groups.pop().flatten();
                    if groups.is_empty() {
                        return if is_inner { Ok(()) } else { Err(Stop) };
                    }
                }
                _ => {
                    let begin = self.at;
                    let word = self.word()?;
                    let source = self.since(begin);
                    let is_number = source.bytes().all(|it| it.is_ascii_digit())
                        && matches!(self.peek(), Some('<' | '>'));
                    let is_sign = is_number || is_first && self.reserved(source, &mut cases)?;
                    match assigned(source).filter(|_| simple.words.is_empty()) {
                        _ if is_sign => {}
                        Some(name) => {
                            simple.assignments.push(name);
                            if source.ends_with('=') && self.eat("(") {
                                self.until(")")?;
                            }
                        }
                        None => simple.words.push(word),
                    }
                }
            }
            simple.source = self.since(start);
        }
    }

    /// Takes a word for a reserved one, if it is.
    fn reserved(&mut self, source: &str, cases: &mut usize) -> Result<bool, Stop> {
        match source {
            "for" | "select" => self.head()?,
            "[[" => self.until("]]")?,
            "case" => {
                self.blanks();
                self.word()?;
                *cases += 1;
                self.until("in")?;
                self.pattern(*cases)?;
            }
            "esac" => *cases = cases.checked_sub(1).ok_or(Stop)?,
            // With options it is a program like others.
            "time" => {
                self.blanks();
                return Ok(!self.rest().starts_with('-'));
            }
            "coproc" => self.unseen.push((Unseen::Name, self.rest())),
            "function" => {
                self.unseen.push((Unseen::Name, self.rest()));
                self.blanks();
                self.word()?;
                self.blanks();
                let _ = self.eat("()");
            }
            source => return Ok(RESERVED.contains(&source)),
        }
        Ok(true)
    }

    /// Passes the head of a loop, which is no command.
    fn head(&mut self) -> Result<(), Stop> {
        loop {
            self.blanks();
            let begin = self.at;
            match self.rest().starts_with("((") {
                true => self.arithmetic()?,
                false => drop(self.word()?),
            }
            if matches!(self.since(begin), "" | "do") {
                return Ok(());
            }
        }
    }

    /// Passes words and signs up to this one, which stands alone.
    fn until(&mut self, end: &str) -> Result<(), Stop> {
        loop {
            self.blanks();
            if end == ")" && self.eat(")") {
                return Ok(());
            }
            let begin = self.at;
            self.word()?;
            match self.since(begin) {
                "" => drop(self.next().ok_or(Stop)?),
                source if source == end => return Ok(()),
                _ => {}
            }
        }
    }

    /// Passes the pattern of the next case, unless there is none.
    fn pattern(&mut self, cases: usize) -> Result<(), Stop> {
        if cases == 0 {
            return Err(Stop);
        }
        self.pass(char::is_whitespace);
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
        let source = self.since(begin);
        match operator {
            _ if source.is_empty() => return Err(Stop),
            "<<" | "<<-" => {
                let is_quoted = word.text != source;
                self.documents.push((word.text, operator == "<<-", !is_quoted));
            }
            "<<<" => {}
            // A number, or `-`: what is open already.
            "<&" | ">&" if source.bytes().all(|it| it.is_ascii_digit() || it == b'-') => {}
            operator => simple.files.push((word, operator.contains('>'))),
        }
        Ok(())
    }

    /// Passes the here documents that begin here.
    fn documents(&mut self) {
        for (end, strips, is_expanded) in std::mem::take(&mut self.documents) {
            let start = self.at;
            while !self.rest().is_empty() {
                let begin = self.at;
                self.pass(|it| it != '\n');
                let line = self.since(begin);
                self.next();
                if end == if strips { line.trim_start_matches('\t') } else { line } {
                    break;
                }
            }
            let body = self.since(start);
            if is_expanded {
                self.note_nested(body);
            }
        }
    }

    /// Ends a simple command, and goes where it goes.
    fn finish(&mut self, simple: &mut Simple<'t>) -> Result<(), Stop> {
        let mut done = std::mem::take(simple);
        if done.is_empty() {
            return Ok(());
        }
        if self.read.commands.len() >= COMMANDS_MAX {
            return Err(Stop);
        }
        done.folder.clone_from(&self.folder);
        if matches!(done.words.first().and_then(Word::plain), Some("cd" | "pushd")) {
            self.folder = path::entered(&done.words[1..], done.folder.as_deref());
        }
        self.read.commands.push(done);
        Ok(())
    }
}

/// Words: quotes, backslashes, and where what is only known at run time begins and ends.
impl<'t> Lexer<'t> {
    /// Reads a word; an empty one where none is.
    fn word(&mut self) -> Result<Word, Stop> {
        let (start, mut word) = (self.at, Word::default());
        while let Some(it) = self.peek() {
            let is_process = "<>".contains(it) && self.rest()[1..].starts_with('(');
            if " \t\n;&|<>()".contains(it) && !is_process {
                break;
            }
            self.next();
            match it {
                '<' | '>' => {
                    self.next();
                    self.substitution(&mut word, start)?;
                }
                '\'' => self.single(&mut word)?,
                '"' => self.inside(&mut word, '"', true)?,
                '\\' => word.text.extend(self.next().filter(|it| *it != '\n')),
                '$' => self.dollar(&mut word, false)?,
                '`' => self.backticks(&mut word)?,
                it => {
                    word.is_pattern |= "*?[{".contains(it);
                    word.text.push(it);
                }
            }
        }
        Ok(word)
    }

    /// The rest of a text in single quotes.
    fn single(&mut self, word: &mut Word) -> Result<(), Stop> {
        let (text, _) = self.rest().split_once('\'').ok_or(Stop)?;
        word.text.push_str(text);
        self.at += text.len() + 1;
        Ok(())
    }

    /// The rest of a text that ends with `"`, or of `${…}`. Inside of double quotes a single one
    /// is a letter.
    fn inside(&mut self, word: &mut Word, end: char, is_quoted: bool) -> Result<(), Stop> {
        self.deeper()?;
        loop {
            match self.next().ok_or(Stop)? {
                it if it == end => break,
                '$' => self.dollar(word, true)?,
                '`' => self.backticks(word)?,
                '"' => self.inside(word, '"', true)?,
                '\'' if !is_quoted => self.single(word)?,
                '\\' => match self.next().ok_or(Stop)? {
                    '\n' => {}
                    it if "$`\"\\".contains(it) => word.text.push(it),
                    it => word.text.extend(['\\', it]),
                },
                it => word.text.push(it),
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// The rest of what begins with a dollar.
    fn dollar(&mut self, word: &mut Word, is_quoted: bool) -> Result<(), Stop> {
        let start = self.at - 1;
        match self.peek() {
            Some('(') if self.rest().starts_with("((") => self.arithmetic()?,
            Some('(') => {
                self.next();
                return self.substitution(word, start);
            }
            Some('{') => {
                self.next();
                // Newer shells run a command in `${ …; }`.
                let runs = self.rest().starts_with([' ', '\t', '\n', '|']);
                self.inside(&mut Word::default(), '}', is_quoted)?;
                if runs {
                    self.unseen.push((Unseen::Nested, self.since(start)));
                }
            }
            // Its escapes spell letters that nobody sees.
            Some('\'') if !is_quoted => {
                self.next();
                self.pass_to('\'')?;
                self.unseen.push((Unseen::Unreadable, self.since(start)));
            }
            Some('"') if !is_quoted => return Ok(()),
            Some(it) if it.is_alphabetic() || it == '_' => {
                self.pass(|it| it.is_alphanumeric() || it == '_');
            }
            Some(it) if it.is_ascii_digit() || "@*#?$!-".contains(it) => drop(self.next()),
            _ => {
                word.text.push('$');
                return Ok(());
            }
        }
        word.varies = true;
        word.text.push_str(self.since(start));
        Ok(())
    }

    /// The rest of `$(…)`, `<(…)` or `>(…)`. What it runs is read; what it gives nobody knows.
    fn substitution(&mut self, word: &mut Word, start: usize) -> Result<(), Stop> {
        self.deeper()?;
        self.list(true)?;
        self.depth -= 1;
        self.substituted(word, Unseen::Substitution, start);
        Ok(())
    }

    /// The rest of what stands between backticks, which is not read.
    fn backticks(&mut self, word: &mut Word) -> Result<(), Stop> {
        let start = self.at - 1;
        self.pass_to('`')?;
        self.substituted(word, Unseen::Nested, start);
        Ok(())
    }

    fn substituted(&mut self, word: &mut Word, unseen: Unseen, start: usize) {
        self.unseen.push((unseen, self.since(start)));
        word.varies = true;
        word.text.push_str("$(…)");
    }

    /// A sum in double parentheses. What only looks like one can't be read.
    fn arithmetic(&mut self) -> Result<(), Stop> {
        let (start, mut open) = (self.at, 0_usize);
        while open > 0 || self.at == start {
            match self.next().ok_or(Stop)? {
                '(' => open += 1,
                ')' if open == 2 && self.peek() != Some(')') => return Err(Stop),
                ')' => open -= 1,
                _ => {}
            }
        }
        self.note_nested(self.since(start));
        Ok(())
    }

    /// Commands in a text that is no command are not read.
    fn note_nested(&mut self, text: &'t str) {
        if text.contains('`') || text.contains("$(") {
            self.unseen.push((Unseen::Nested, text));
        }
    }

    fn deeper(&mut self) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(Stop) } else { Ok(()) }
    }
}

/// Letters.
impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let it = self.peek()?;
        self.at += it.len_utf8();
        Some(it)
    }

    fn eat(&mut self, text: &str) -> bool {
        let is_here = self.rest().starts_with(text);
        self.at += if is_here { text.len() } else { 0 };
        is_here
    }

    /// Passes what stands between words.
    fn blanks(&mut self) {
        while self.eat(" ") || self.eat("\t") || self.eat("\\\n") {}
    }

    /// Passes letters of a kind.
    fn pass(&mut self, is_one: impl Fn(char) -> bool) {
        self.at += self.rest().find(|it| !is_one(it)).unwrap_or(self.rest().len());
    }

    /// Passes a text up to its end, which a backslash hides.
    fn pass_to(&mut self, end: char) -> Result<(), Stop> {
        loop {
            match self.next().ok_or(Stop)? {
                '\\' => drop(self.next()),
                it if it == end => return Ok(()),
                _ => {}
            }
        }
    }
}
