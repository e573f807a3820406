//! Reads words as a shell does: quotes, backslashes, and where what is only known at run time
//! begins and ends. Reads every letter once, and stops at what it does not know.

use super::rule::Unseen;

/// Texts inside of texts that are read (`"$(… "${…}" …)"`).
const DEPTH_MAX: usize = 24;

/// The line goes on with something that can't be read.
#[derive(Debug)]
pub(super) struct Stop;

/// A word, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Its letters. A variable stands in it as it was written.
    pub(super) text: String,
    /// Whether it is the same whenever it runs.
    pub(super) is_literal: bool,
    /// Whether a shell makes other words of it (`*`, `{a,b}`).
    pub(super) is_pattern: bool,
    /// Whether nothing in it was quoted, as reserved words have to be.
    pub(super) is_bare: bool,
    /// Whether it begins with the home folder (`~`, `$HOME`).
    pub(super) is_home: bool,
}

impl Default for Word {
    fn default() -> Self {
        let text = String::new();
        Self { text, is_literal: true, is_pattern: false, is_bare: true, is_home: false }
    }
}

impl Word {
    /// The text of a word that is no pattern and the same whenever it runs.
    pub(super) fn plain(&self) -> Option<&str> {
        (self.is_literal && !self.is_pattern).then_some(&*self.text)
    }

    /// The same word without its beginning, as in `of=file`.
    pub(super) fn but(&self, text: &str) -> Self {
        let is_home = text.starts_with(['~', '$']);
        Self { text: text.to_owned(), is_home, ..self.clone() }
    }
}

/// A place in a text.
pub(super) struct Lexer<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    depth: usize,
    /// What could not be looked at, and where it began.
    pub(super) unseen: Vec<(Unseen, &'t str)>,
    /// The commands so far, and what is known around them.
    pub(super) read: super::line::Read<'t>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str, read: super::line::Read<'t>) -> Self {
        Self { text, at: 0, depth: 0, unseen: Vec::new(), read }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let it = self.peek()?;
        self.at += it.len_utf8();
        Some(it)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let is_here = self.rest().starts_with(text);
        self.at += if is_here { text.len() } else { 0 };
        is_here
    }

    /// Passes what stands between words.
    pub(super) fn blanks(&mut self) {
        while self.eat(" ") || self.eat("\t") || self.eat("\\\n") {}
    }

    fn deeper(&mut self) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(Stop) } else { Ok(()) }
    }

    /// Reads a word; an empty one where none is.
    pub(super) fn word(&mut self) -> Result<Word, Stop> {
        let (start, mut word) = (self.at, Word::default());
        let (mut is_open, mut has_choice) = (false, false);
        while let Some(it) = self.peek() {
            match it {
                '<' | '>' if self.rest()[1..].starts_with('(') => {
                    self.at += 2;
                    self.substitution(&mut word, start)?;
                }
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    self.next();
                    let end = self.rest().find('\'').ok_or(Stop)?;
                    word.text.push_str(&self.rest()[..end]);
                    word.is_bare = false;
                    self.at += end + 1;
                }
                '"' => {
                    self.next();
                    word.is_bare = false;
                    self.quoted(&mut word)?;
                }
                '\\' => {
                    self.next();
                    word.is_bare = false;
                    word.text.extend(self.next().filter(|it| *it != '\n'));
                }
                '$' => self.dollar(&mut word, false)?,
                '`' => self.backticks(&mut word)?,
                it => {
                    is_open |= it == '{';
                    has_choice |= is_open && (it == ',' || self.rest().starts_with(".."));
                    word.is_pattern |= "*?[".contains(it) || it == '}' && has_choice;
                    word.text.push(it);
                    self.next();
                }
            }
        }
        let source = self.since(start).trim_start_matches('"');
        word.is_home = source.starts_with('~') && self.since(start) == source
            || source.starts_with("$HOME")
            || source.starts_with("${HOME}");
        Ok(word)
    }

    /// The rest of a text in double quotes.
    fn quoted(&mut self, word: &mut Word) -> Result<(), Stop> {
        self.deeper()?;
        loop {
            match self.peek().ok_or(Stop)? {
                '"' => break,
                '$' => self.dollar(word, true)?,
                '`' => self.backticks(word)?,
                '\\' => {
                    self.next();
                    match self.next().ok_or(Stop)? {
                        '\n' => {}
                        it if "$`\"\\".contains(it) => word.text.push(it),
                        it => word.text.extend(['\\', it]),
                    }
                }
                it => {
                    word.text.push(it);
                    self.next();
                }
            }
        }
        self.next();
        self.depth -= 1;
        Ok(())
    }

    /// What begins with a dollar.
    fn dollar(&mut self, word: &mut Word, is_quoted: bool) -> Result<(), Stop> {
        let start = self.at;
        self.next();
        match self.peek() {
            Some('(') if self.rest().starts_with("((") => self.arithmetic()?,
            Some('(') => {
                self.next();
                return self.substitution(word, start);
            }
            Some('{') => self.parameter(is_quoted)?,
            // Its escapes spell letters that nobody sees.
            Some('\'') if !is_quoted => {
                self.next();
                while self.peek().ok_or(Stop)? != '\'' {
                    let is_escape = self.next() == Some('\\');
                    if is_escape {
                        self.next();
                    }
                }
                self.next();
                self.unseen.push((Unseen::Unreadable, self.since(start)));
            }
            Some('"') if !is_quoted => return Ok(()),
            Some(it) if it.is_alphabetic() || it == '_' => {
                while self.peek().is_some_and(|it| it.is_alphanumeric() || it == '_') {
                    self.next();
                }
            }
            Some(it) if it.is_ascii_digit() || "@*#?$!-".contains(it) => {
                self.next();
            }
            _ => {
                word.text.push('$');
                return Ok(());
            }
        }
        word.is_literal = false;
        word.text.push_str(self.since(start));
        Ok(())
    }

    /// The rest of `$(…)`, `<(…)` or `>(…)`. What it runs is read; what it gives nobody knows.
    fn substitution(&mut self, word: &mut Word, start: usize) -> Result<(), Stop> {
        self.deeper()?;
        self.list(true)?;
        self.depth -= 1;
        self.unseen.push((Unseen::Substitution, self.since(start)));
        word.is_literal = false;
        word.text.push_str("$(…)");
        Ok(())
    }

    fn backticks(&mut self, word: &mut Word) -> Result<(), Stop> {
        let start = self.at;
        self.next();
        while self.peek().ok_or(Stop)? != '`' {
            if self.next() == Some('\\') {
                self.next();
            }
        }
        self.next();
        self.unseen.push((Unseen::Nested, self.since(start)));
        word.is_literal = false;
        word.text.push_str("$(…)");
        Ok(())
    }

    /// The rest of `${…}`.
    fn parameter(&mut self, is_quoted: bool) -> Result<(), Stop> {
        self.deeper()?;
        let start = self.at;
        self.next();
        // Newer shells run a command in `${ …; }`.
        let runs = self.peek().is_some_and(|it| it.is_whitespace() || it == '|');
        let mut inside = Word::default();
        loop {
            match self.peek().ok_or(Stop)? {
                '}' => break,
                '$' => self.dollar(&mut inside, true)?,
                '`' => self.backticks(&mut inside)?,
                '"' => {
                    self.next();
                    self.quoted(&mut inside)?;
                }
                '\'' if !is_quoted => {
                    self.next();
                    self.at += self.rest().find('\'').ok_or(Stop)? + 1;
                }
                it => {
                    self.next();
                    if it == '\\' {
                        self.next();
                    }
                }
            }
        }
        self.next();
        self.depth -= 1;
        if runs {
            self.unseen.push((Unseen::Nested, self.since(start)));
        }
        Ok(())
    }

    /// A sum in double parentheses. What only looks like one can't be read.
    pub(super) fn arithmetic(&mut self) -> Result<(), Stop> {
        let (start, mut open) = (self.at, 0_usize);
        loop {
            match self.next().ok_or(Stop)? {
                '(' => open += 1,
                ')' if open == 1 => break,
                ')' => {
                    open -= 1;
                    if open == 1 && self.peek() != Some(')') {
                        return Err(Stop);
                    }
                }
                _ => {}
            }
        }
        let sum = self.since(start);
        if sum.contains('`') || sum.contains("$(") {
            self.unseen.push((Unseen::Nested, sum));
        }
        Ok(())
    }
}
