//! The objects of a PDF and the words they are written in.

use std::cell::Cell;

/// Objects in one object.
const OBJECTS_MAX: u32 = 200_000;
/// How deep arrays and dictionaries may stand in each other.
const DEPTH_MAX: usize = 32;
/// Longest name or word.
const WORD_BYTES_MAX: usize = 256;

/// One object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Object {
    Null,
    Number(f64),
    Name(Box<[u8]>),
    Text(Vec<u8>),
    Array(Vec<Object>),
    Dict(Dict),
    /// Another object, by its number.
    Ref(u32),
    /// A keyword, or an operator of a page.
    Word(Box<[u8]>),
}

impl Object {
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn index(&self) -> Option<usize> {
        self.number().filter(|it| (0.0..=4e9).contains(it)).map(|it| it as usize)
    }

    pub(super) fn name(&self) -> Option<&[u8]> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// A dictionary. The first entry of a name counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Dict(Vec<(Box<[u8]>, Object)>);

impl Dict {
    pub(super) fn get(&self, key: &[u8]) -> Option<&Object> {
        self.0.iter().find(|(name, _)| **name == *key).map(|(_, value)| value)
    }

    pub(super) fn is(&self, key: &[u8], name: &[u8]) -> bool {
        self.get(key).and_then(Object::name) == Some(name)
    }
}

/// What may still be spent on one document.
#[derive(Debug)]
pub(super) struct Budget {
    /// Objects that may still be read.
    pub(super) objects: Cell<u32>,
    /// Bytes that may still be unpacked.
    pub(super) bytes: Cell<usize>,
}

/// Whether `12 0 R` is one object: it is in a file, it is not on a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Refs {
    Read,
    Unknown,
}

/// Reads objects one after another.
pub(super) struct Lexer<'b> {
    bytes: &'b [u8],
    pub(super) at: usize,
    refs: Refs,
    budget: &'b Budget,
    left: u32,
}

impl<'b> Lexer<'b> {
    pub(super) fn new(bytes: &'b [u8], at: usize, refs: Refs, budget: &'b Budget) -> Self {
        Self { bytes, at, refs, budget, left: 0 }
    }

    /// The next object; `None` at the end, at what is none, or when too much was read.
    pub(super) fn next(&mut self) -> Option<Object> {
        self.left = OBJECTS_MAX;
        self.object(0)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'%' => {
                    let line = self.rest().iter().position(|it| matches!(it, b'\r' | b'\n'));
                    self.at += line.unwrap_or(self.rest().len());
                }
                it if is_space(it) => self.at += 1,
                _ => return,
            }
        }
    }

    /// Takes `word` if it is what comes next.
    pub(super) fn take(&mut self, word: &[u8]) -> bool {
        let before = self.at;
        self.skip_space();
        let is_next = self.rest().starts_with(word);
        self.at = if is_next { self.at + word.len() } else { before };
        is_next
    }

    fn object(&mut self, depth: usize) -> Option<Object> {
        let objects = self.budget.objects.get();
        if objects == 0 || self.left == 0 || depth > DEPTH_MAX {
            return None;
        }
        self.budget.objects.set(objects - 1);
        self.left -= 1;
        self.skip_space();
        match self.peek()? {
            b'/' => {
                self.at += 1;
                Some(Object::Name(self.name()))
            }
            b'(' => Some(Object::Text(self.text())),
            b'<' if self.rest().starts_with(b"<<") => {
                self.at += 2;
                self.dict(depth)
            }
            b'<' => Some(Object::Text(self.hex())),
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.take(b"]") {
                    match self.object(depth + 1) {
                        Some(item) => items.push(item),
                        None if self.at >= self.bytes.len() => break,
                        None => return None,
                    }
                }
                Some(Object::Array(items))
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => Some(self.number_or_ref()),
            // One that closes nothing is stepped over, so that reading always gets on.
            b')' | b']' | b'{' | b'}' | b'>' => {
                self.at += 1;
                Some(Object::Null)
            }
            _ => Some(self.word()),
        }
    }

    fn dict(&mut self, depth: usize) -> Option<Object> {
        let mut entries = Vec::new();
        loop {
            if self.take(b">>") {
                break;
            }
            match self.object(depth + 1) {
                Some(Object::Name(key)) => match self.object(depth + 1) {
                    Some(value) => entries.push((key, value)),
                    None => break,
                },
                // Something between the entries is damage; what was read stays.
                Some(Object::Word(word)) if *word == *b"endobj" => break,
                Some(_) => {}
                None => break,
            }
        }
        Some(Object::Dict(Dict(entries)))
    }

    fn name(&mut self) -> Box<[u8]> {
        let mut name = Vec::new();
        while let Some(byte) = self.peek().filter(|it| is_regular(*it)) {
            self.at += 1;
            let escaped = (byte == b'#').then(|| {
                let (high, low) = (self.bytes.get(self.at)?, self.bytes.get(self.at + 1)?);
                Some(digit(*high)? << 4 | digit(*low)?)
            });
            let byte = match escaped.flatten() {
                Some(byte) => {
                    self.at += 2;
                    byte
                }
                None => byte,
            };
            if name.len() < WORD_BYTES_MAX {
                name.push(byte);
            }
        }
        name.into()
    }

    fn word(&mut self) -> Object {
        let len = self.rest().iter().position(|it| !is_regular(*it)).unwrap_or(self.rest().len());
        let word = self.rest().get(..len.min(WORD_BYTES_MAX)).unwrap_or_default();
        self.at += len.max(1);
        match word {
            b"null" | b"true" | b"false" => Object::Null,
            _ => Object::Word(word.into()),
        }
    }

    fn plain_number(&mut self) -> f64 {
        let is_part = |it: &u8| it.is_ascii_digit() || matches!(it, b'+' | b'-' | b'.');
        let len = self.rest().iter().position(|it| !is_part(it)).unwrap_or(self.rest().len());
        let digits = self.rest().get(..len.min(40)).unwrap_or_default();
        self.at += len.max(1);
        let text = std::str::from_utf8(digits).unwrap_or_default();
        // Some writers put a second sign in front or a stray one behind.
        let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
        let text = text.trim_start_matches(['-', '+']);
        let text = text.split(['-', '+']).next().unwrap_or_default();
        text.parse::<f64>().map_or(0.0, |number| number * sign)
    }

    fn number_or_ref(&mut self) -> Object {
        let number = self.plain_number();
        let after = self.at;
        if self.refs == Refs::Read && number >= 0.0 && number.fract() == 0.0 && number <= 4e9 {
            self.skip_space();
            if self.peek().is_some_and(|it| it.is_ascii_digit()) {
                self.plain_number();
                self.skip_space();
                let ends = self.bytes.get(self.at + 1).is_none_or(|it| !is_regular(*it));
                if self.peek() == Some(b'R') && ends {
                    self.at += 1;
                    return Object::Ref(number as u32);
                }
            }
            self.at = after;
        }
        Object::Number(number)
    }

    fn text(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => {
                    depth += 1;
                    if depth > 1 {
                        out.push(byte);
                    }
                }
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                    out.push(byte);
                }
                b'\\' => self.escape(&mut out),
                _ => out.push(byte),
            }
        }
        out
    }

    fn escape(&mut self, out: &mut Vec<u8>) {
        let Some(byte) = self.peek() else { return };
        self.at += 1;
        match byte {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'\r' => {
                if self.peek() == Some(b'\n') {
                    self.at += 1;
                }
            }
            b'\n' => {}
            b'0'..=b'7' => {
                let mut value = u32::from(byte - b'0');
                for _ in 0..2 {
                    match self.peek() {
                        Some(next @ b'0'..=b'7') => {
                            value = value * 8 + u32::from(next - b'0');
                            self.at += 1;
                        }
                        _ => break,
                    }
                }
                out.push((value & 0xff) as u8);
            }
            other => out.push(other),
        }
    }

    fn hex(&mut self) -> Vec<u8> {
        self.at += 1;
        let len = self.rest().iter().position(|it| *it == b'>').unwrap_or(self.rest().len());
        let digits = self.rest().get(..len).unwrap_or_default();
        self.at += len + 1;
        hex(digits)
    }
}

/// The bytes that pairs of digits stand for; whatever is no digit is stepped over.
pub(super) fn hex(digits: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = digits.iter().filter_map(|it| digit(*it)).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect()
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 12 | b'\r' | b' ')
}

fn is_regular(byte: u8) -> bool {
    !is_space(byte)
        && !matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}
