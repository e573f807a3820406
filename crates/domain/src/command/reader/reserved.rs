//! Words that belong to the shell's own language: loops, branches, functions, cases.

use super::{Arg, Kind, List, Reader, Stop, UNREADABLE};

/// Words that begin a compound command.
const COMPOUND: &[&str] =
    &["{", "!", "[[", "if", "for", "case", "while", "until", "select", "time", "coproc"];

impl Reader<'_> {
    /// Follows a reserved word; `false` when it is an ordinary one.
    pub(super) fn reserved(&mut self, list: &mut List, word: &str) -> Result<bool, Stop> {
        match word {
            "!" | "then" | "else" | "elif" | "do" => {}
            "coproc" => self.coproc_name(),
            "time" => return Ok(self.is_timed()),
            "while" | "until" => list.open(Kind::Loop),
            "{" | "if" => list.open(Kind::Other),
            "}" | "fi" | "done" | "esac" => {
                list.groups.pop();
                list.close_functions();
            }
            "for" | "select" => {
                self.blanks();
                if self.starts("((") {
                    self.at += 2;
                    self.calculation()?;
                } else {
                    self.looped()?;
                }
                list.open(Kind::Other);
            }
            "case" => {
                self.blanks();
                self.word()?;
                self.space();
                if self.plain_word()? != "in" {
                    return Err(UNREADABLE);
                }
                list.open(Kind::Case);
                self.pattern(list)?;
            }
            "function" => {
                self.blanks();
                let name = self.plain_word()?;
                self.blanks();
                if self.starts("()") {
                    self.at += 2;
                }
                list.functions.push((name, list.groups.len()));
            }
            "[[" => loop {
                self.space();
                match self.peek(0) {
                    None => return Err(UNREADABLE),
                    Some('<' | '>' | '&' | '|' | '(' | ')' | ';') => self.at += 1,
                    Some(_) => {
                        let word = self.plain_word()?;
                        if word == "]]" {
                            break;
                        }
                        self.compared(&word)?;
                    }
                }
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A word between `[[` and `]]`: it may be calculated, and so may its value.
    fn compared(&mut self, word: &str) -> Result<(), Stop> {
        self.evaluated(word)?;
        let value = self.around.get(word).flatten().map(str::to_owned);
        value.map_or(Ok(()), |value| self.evaluated(&value))
    }

    /// Whether `time` stands before a compound command; before a simple one it is a program.
    fn is_timed(&mut self) -> bool {
        let before = self.at;
        self.blanks();
        for option in ["-p", "--"] {
            if self.starts(option) && self.peek(2).is_some_and(|it| it == ' ' || it == '\t') {
                self.at += 2;
                self.blanks();
            }
        }
        let is_compound = self.starts("(") || COMPOUND.iter().any(|word| self.begins(word));
        if !is_compound {
            self.at = before;
        }
        is_compound
    }

    fn begins(&self, word: &str) -> bool {
        self.starts(word) && self.peek(word.len()).is_some_and(char::is_whitespace)
    }

    /// The name of a coprocess: a word that stands before a compound command.
    fn coproc_name(&mut self) {
        let before = self.at;
        self.blanks();
        self.name();
        self.blanks();
        let begins = ["{", "(", "[[", "if ", "for ", "case ", "while ", "until ", "select "];
        if !begins.iter().any(|it| self.starts(it)) {
            self.at = before;
        }
    }

    /// `NAME in words` of a loop. The name has a value only where there is one word.
    pub(super) fn looped(&mut self) -> Result<(), Stop> {
        let name = self.plain_word()?;
        self.space();
        let mut values = Vec::new();
        if self.starts("in") && self.peek(2).is_none_or(char::is_whitespace) {
            self.at += 2;
            loop {
                self.blanks();
                match self.peek(0) {
                    None => return Err(UNREADABLE),
                    Some(';' | '\n') => break,
                    Some('&' | '|' | '<' | '>' | '(' | ')') => return Err(UNREADABLE),
                    Some(_) => {
                        let pieces = self.word()?;
                        values.extend(self.args(&pieces)?);
                    }
                }
            }
        }
        let is_many = |arg: &Arg| arg.is_glob || arg.is_open || arg.is_many;
        match values.as_slice() {
            [one] if one.is_known && !one.is_glob => {
                self.around.set(name, Some(one.text.clone()));
            }
            // Without words it goes through all that it was called with.
            values if values.is_empty() || values.iter().any(is_many) => {
                self.around.set_many(name);
            }
            _ => self.around.set(name, None),
        }
        Ok(())
    }

    /// The pattern before the commands of a case, or the end of it.
    pub(super) fn pattern(&mut self, list: &mut List) -> Result<(), Stop> {
        self.space();
        if self.starts("esac") && self.peek(4).is_none_or(|it| !it.is_alphanumeric()) {
            return Ok(());
        }
        if !list.groups.iter().any(|group| group.kind == Kind::Case) {
            return Err(UNREADABLE);
        }
        if self.peek(0) == Some('(') {
            self.at += 1;
        }
        loop {
            self.space();
            match self.peek(0) {
                Some(')') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('|') => self.at += 1,
                Some(it) if !matches!(it, ';' | '&' | '<' | '>' | '(') => {
                    self.word()?;
                }
                _ => return Err(UNREADABLE),
            }
        }
    }
}
