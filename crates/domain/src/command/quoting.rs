//! Reads one word: quotes, escapes, variables, and commands inside of it.

use super::judge::Around;
use super::reader::{Reader, Stop, VALUE_WORK};
use super::rule::DangerRule;
use super::word::{Piece, Unknown, written};

const UNREADABLE: Stop = Stop(DangerRule::Unreadable);

/// Text whose letters mean themselves.
fn literal(text: String) -> Piece {
    Piece::Text { text, is_quoted: true, is_value: false }
}

fn value(text: String, is_quoted: bool) -> Piece {
    Piece::Text { text, is_quoted, is_value: true }
}

impl Reader<'_> {
    /// Reads a word; nothing where none begins.
    pub(super) fn word(&mut self) -> Result<Vec<Piece>, Stop> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut text = String::new();
        let flush = |text: &mut String, pieces: &mut Vec<Piece>| {
            if !text.is_empty() {
                pieces.push(written(std::mem::take(text)));
            }
        };
        while let Some(next) = self.peek(0) {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | ')' => break,
                '<' | '>' if self.peek(1) == Some('(') => {
                    flush(&mut text, &mut pieces);
                    self.at += 2;
                    let printed = self.nested(Some(')'))?;
                    self.files.extend(printed.filter(|_| next == '<'));
                    pieces.push(Piece::unknown(true));
                }
                '<' | '>' => break,
                '(' if text.ends_with('=') && pieces.is_empty() => {
                    self.at += 1;
                    self.elements()?;
                    flush(&mut text, &mut pieces);
                    pieces.push(Piece::unknown(false));
                }
                '(' if text.ends_with(['?', '*', '+', '@', '!']) => {
                    self.at += 1;
                    self.elements()?;
                    flush(&mut text, &mut pieces);
                    pieces.push(Piece::unknown(false));
                }
                '(' => break,
                '\\' => {
                    self.at += 1;
                    match self.peek(0) {
                        None => return Err(UNREADABLE),
                        Some('\n') => {}
                        Some(it) => {
                            flush(&mut text, &mut pieces);
                            pieces.push(literal(it.to_string()));
                        }
                    }
                    self.at += 1;
                }
                '\'' => {
                    flush(&mut text, &mut pieces);
                    self.at += 1;
                    pieces.push(literal(self.until_quote()?));
                }
                '"' => {
                    flush(&mut text, &mut pieces);
                    self.at += 1;
                    pieces.push(literal(String::new()));
                    pieces.extend(self.quoted(Some('"'))?);
                }
                '$' | '`' => {
                    flush(&mut text, &mut pieces);
                    pieces.extend(self.expansion(false)?);
                }
                it => {
                    text.push(it);
                    self.at += 1;
                }
            }
        }
        flush(&mut text, &mut pieces);
        Ok(pieces)
    }

    /// The rest of a `'…'`.
    fn until_quote(&mut self) -> Result<String, Stop> {
        let rest = &self.text[self.at..];
        let len = rest.iter().position(|it| *it == '\'').ok_or(UNREADABLE)?;
        let text = rest[..len].iter().collect();
        self.at += len + 1;
        Ok(text)
    }

    /// Words up to a closing bracket.
    fn elements(&mut self) -> Result<(), Stop> {
        self.deeper(Self::elements_inside)
    }

    fn elements_inside(&mut self) -> Result<(), Stop> {
        loop {
            match self.peek(0) {
                None => return Err(UNREADABLE),
                Some(')') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(' ' | '\t' | '\r' | '\n' | '|') => self.at += 1,
                Some(';' | '&' | '<' | '>' | '(') => return Err(UNREADABLE),
                Some(_) => {
                    self.word()?;
                }
            }
        }
    }

    /// The rest of a `"…"`, or of a text that is read like one to its end.
    pub(super) fn quoted(&mut self, close: Option<char>) -> Result<Vec<Piece>, Stop> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        loop {
            let Some(next) = self.peek(0) else {
                if close.is_some() {
                    return Err(UNREADABLE);
                }
                break;
            };
            if Some(next) == close {
                self.at += 1;
                break;
            }
            match next {
                '\\' => {
                    match self.peek(1) {
                        Some('\n') => {}
                        Some(it @ ('$' | '`' | '"' | '\\')) => text.push(it),
                        Some(it) => text.extend(['\\', it]),
                        None => return Err(UNREADABLE),
                    }
                    self.at += 2;
                }
                '$' | '`' => {
                    pieces.push(literal(std::mem::take(&mut text)));
                    pieces.extend(self.expansion(true)?);
                }
                it => {
                    text.push(it);
                    self.at += 1;
                }
            }
        }
        pieces.push(literal(text));
        Ok(pieces)
    }

    /// What a `$` or a backquote begins.
    pub(super) fn expansion(&mut self, is_quoted: bool) -> Result<Vec<Piece>, Stop> {
        if self.peek(0) == Some('`') {
            self.at += 1;
            return self.backquoted(is_quoted);
        }
        let unknown = || Ok(vec![Piece::unknown(is_quoted)]);
        match self.peek(1) {
            Some('(') => {
                self.at += 2;
                if self.peek(0) == Some('(') && self.is_calculation()? {
                    self.at += 1;
                    self.deeper(Self::skip_calculation)?;
                    return unknown();
                }
                match self.nested(Some(')'))? {
                    Some(text) => {
                        self.spend(text.len().saturating_mul(VALUE_WORK))?;
                        Ok(vec![value(text.trim_end_matches('\n').into(), is_quoted)])
                    }
                    None => Ok(vec![Piece::Unknown { is_quoted, kind: Unknown::Printed }]),
                }
            }
            Some('{') => {
                self.at += 2;
                self.deeper(|reader| reader.parameter(is_quoted))
            }
            Some('\'') if !is_quoted => {
                self.at += 2;
                Ok(vec![literal(self.escaped()?)])
            }
            Some('"') if !is_quoted => {
                self.at += 2;
                self.quoted(Some('"'))
            }
            Some(it) if it.is_ascii_alphabetic() || it == '_' => {
                self.at += 1;
                let name = self.name();
                Ok(vec![self.variable(&name, is_quoted)?])
            }
            Some(it) if it.is_ascii_digit() => {
                self.at += 2;
                Ok(vec![self.variable(&it.to_string(), is_quoted)?])
            }
            Some('@' | '*') => {
                self.at += 2;
                Ok(vec![Piece::Unknown { is_quoted, kind: Unknown::Many }])
            }
            Some('#' | '?' | '-' | '$' | '!') => {
                self.at += 2;
                unknown()
            }
            _ => {
                self.at += 1;
                Ok(vec![literal("$".to_owned())])
            }
        }
    }

    pub(super) fn name(&mut self) -> String {
        let rest = self.text[self.at..].iter();
        let name: String =
            rest.take_while(|it| it.is_ascii_alphanumeric() || **it == '_').collect();
        self.at += name.len();
        name
    }

    /// The value of a variable, where the line itself says what it is.
    fn variable(&mut self, name: &str, is_quoted: bool) -> Result<Piece, Stop> {
        let text = match (self.around.get(name), name) {
            (Some(Some(text)), _) => text.to_owned(),
            (None, "IFS") => " ".to_owned(),
            (None, "HOME") => "~".to_owned(),
            _ => return Ok(Piece::Unknown { is_quoted, kind: self.kind(name) }),
        };
        self.spend(text.len().saturating_mul(VALUE_WORK))?;
        Ok(value(text, is_quoted))
    }

    /// What a variable without a known value is.
    fn kind(&self, name: &str) -> Unknown {
        if self.around.many.contains(name) { Unknown::Many } else { Unknown::Plain }
    }

    /// The rest of a `${…}`.
    fn parameter(&mut self, is_quoted: bool) -> Result<Vec<Piece>, Stop> {
        let from = self.at;
        let name = self.name();
        if self.peek(0) == Some('}') && !name.is_empty() {
            self.at += 1;
            return Ok(vec![self.variable(&name, is_quoted)?]);
        }
        loop {
            match self.peek(0) {
                None => return Err(UNREADABLE),
                Some('}') => {
                    if self.text[..self.at].ends_with(&['@', 'P']) {
                        self.prompted(&name);
                    }
                    let text = &self.text[from..self.at];
                    let is_all = |it: &[char]| it == ['[', '@', ']'] || it == ['[', '*', ']'];
                    let is_many = text.windows(3).any(is_all) || text.starts_with(&['@']);
                    let counts = text.starts_with(&['#']);
                    let kind = if is_many { Unknown::Many } else { self.kind(&name) };
                    self.at += 1;
                    let kind = if counts { Unknown::Plain } else { kind };
                    return Ok(vec![Piece::Unknown { is_quoted, kind }]);
                }
                Some('\\') => self.at += 2,
                Some('\'') if !is_quoted => {
                    self.at += 1;
                    self.until_quote()?;
                }
                Some('"') => {
                    self.at += 1;
                    self.quoted(Some('"'))?;
                }
                Some('$' | '`') => {
                    let pieces = self.expansion(is_quoted)?;
                    self.calculated(&pieces)?;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// Whether what follows is `(…))`: a calculation, not a list in brackets.
    fn is_calculation(&mut self) -> Result<bool, Stop> {
        let mut level = 0usize;
        let end = self.text[self.at..].iter().position(|it| {
            match it {
                '(' => level += 1,
                ')' => level -= 1,
                _ => {}
            }
            level == 0
        });
        self.spend(end.unwrap_or(self.text.len() - self.at))?;
        Ok(end.is_some_and(|end| self.peek(end + 1) == Some(')')))
    }

    fn skip_calculation(&mut self) -> Result<(), Stop> {
        let mut level = 2;
        while level > 0 {
            match self.peek(0) {
                None => return Err(UNREADABLE),
                Some('$' | '`') => {
                    let pieces = self.expansion(true)?;
                    self.calculated(&pieces)?;
                    continue;
                }
                Some(it) if it.is_ascii_alphabetic() || it == '_' => {
                    self.calculated_name()?;
                    continue;
                }
                Some('(') => level += 1,
                Some(')') => level -= 1,
                Some(_) => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Commands inside this one, up to `close`; what they print, where that is known.
    pub(super) fn nested(&mut self, close: Option<char>) -> Result<Option<String>, Stop> {
        let depth = self.around.depth + 1;
        self.spend(self.around.work())?;
        let inner = Around { depth, ..self.around.clone() };
        let outer = std::mem::replace(&mut self.around, inner);
        let files = std::mem::take(&mut self.files);
        let read = self.list(close);
        (self.around, self.files) = (outer, files);
        read
    }

    /// The rest of a `` `…` ``, whose text is unescaped once and then read.
    fn backquoted(&mut self, is_quoted: bool) -> Result<Vec<Piece>, Stop> {
        let mut text = String::new();
        loop {
            match self.peek(0) {
                None => return Err(UNREADABLE),
                Some('`') => break,
                Some('\\') => {
                    match self.peek(1) {
                        Some(it @ ('$' | '`' | '\\')) => text.push(it),
                        Some('"') if is_quoted => text.push('"'),
                        Some(it) => text.extend(['\\', it]),
                        None => return Err(UNREADABLE),
                    }
                    self.at += 2;
                }
                Some(it) => {
                    text.push(it);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        self.inner(&text);
        Ok(vec![Piece::Unknown { is_quoted, kind: Unknown::Printed }])
    }

    /// The rest of a `$'…'`.
    fn escaped(&mut self) -> Result<String, Stop> {
        let (text, len) = unescape(&self.text[self.at..], '\'').ok_or(UNREADABLE)?;
        self.at += len;
        Ok(text)
    }
}

/// Text up to a quote, its escapes resolved as C, bash and Python have them; and how many
/// characters that took, the quote included.
pub(super) fn unescape(letters: &[char], quote: char) -> Option<(String, usize)> {
    let (mut text, mut at) = (String::new(), 0);
    let number = |from: usize, max: usize, radix: u32| {
        let digits: String =
            letters.iter().skip(from).take(max).take_while(|it| it.is_digit(radix)).collect();
        let code = u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32);
        (code.unwrap_or('\u{fffd}'), digits.len())
    };
    loop {
        let it = *letters.get(at)?;
        at += 1;
        if it == quote {
            return Some((text, at));
        }
        if it != '\\' {
            text.push(it);
            continue;
        }
        let escape = *letters.get(at)?;
        at += 1;
        let (letter, more) = match escape {
            'n' => ('\n', 0),
            't' => ('\t', 0),
            'r' => ('\r', 0),
            'a' | 'b' | 'v' | 'f' => (' ', 0),
            'e' | 'E' => ('\u{1b}', 0),
            'x' if letters.get(at) == Some(&'{') => {
                let (letter, len) = number(at + 1, 8, 16);
                (letter, len + 2)
            }
            'x' => number(at, 2, 16),
            'u' => number(at, 4, 16),
            'U' => number(at, 8, 16),
            '0'..='7' => {
                let (letter, len) = number(at - 1, 3, 8);
                (letter, len - 1)
            }
            other => (other, 0),
        };
        text.push(letter);
        at += more;
    }
}
