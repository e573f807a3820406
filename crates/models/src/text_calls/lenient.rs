//! JSON as models write it by hand: with a comma too many, Python's words for true and null,
//! the wrong quotes. Reads what has one meaning and nothing else: what is cut off stays cut off.
//! Knows no calls and no tools.

use serde_json::{Map, Number, Value};
use std::collections::BTreeSet;
use std::ops::Range;

/// How deep values may stand in each other; the same that strict readers allow.
const DEPTH_MAX: usize = 128;

/// What was not quite JSON about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slip {
    /// A comma before the end of a list or an object.
    TrailingComma,
    /// `True`, `False` or `None`.
    PythonLiteral,
    /// `'text'`, or `"""text"""`.
    Quotes,
    /// `{name: 1}`.
    BareKey,
    /// A line break or another control character inside of a text.
    ControlCharacter,
    /// A backslash before a character that needs none.
    Escape,
    /// The last brace is missing, behind a complete value.
    Unclosed,
    /// `{{…}}`, as templates have it.
    DoubledBraces,
}

impl Slip {
    /// In words, for a record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TrailingComma => "trailing comma",
            Self::PythonLiteral => "Python literal",
            Self::Quotes => "quotes",
            Self::BareKey => "key without quotes",
            Self::ControlCharacter => "line break in a text",
            Self::Escape => "needless backslash",
            Self::Unclosed => "missing brace",
            Self::DoubledBraces => "doubled braces",
        }
    }
}

/// A value, and where it stands in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub span: Range<usize>,
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    /// In the order they were written, a name that stands twice included.
    Fields(Vec<(String, Node)>),
}

impl Node {
    /// The value alone. Of a name that stands twice the last counts, as strict readers have it.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Kind::Fields(fields) => {
                let fields = fields.iter().map(|(name, node)| (name.clone(), node.to_value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    /// Its text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A value at the beginning of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub node: Node,
    /// How far it reaches, in bytes.
    pub len: usize,
    pub slips: BTreeSet<Slip>,
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Failed {
    /// The text ends inside of it. Of an object, the fields that had begun, each with its value if
    /// that is complete, or else where it begins.
    Unfinished(Vec<(String, Result<Node, usize>)>),
    /// It is something else, from here on.
    Wrong(usize),
}

/// What the end of a text means for a value that is not closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtEnd {
    /// More may come.
    Open,
    /// That was all: a last brace may be missing behind a complete value.
    Closed,
}

/// Reads the value that a text begins with, blanks before it included.
pub fn prefix(text: &str, at_end: AtEnd) -> Result<Document, Failed> {
    let mut reader = Reader { text, at: 0, depth: 0, slips: BTreeSet::new(), top: vec![], at_end };
    reader.blanks();
    match reader.value() {
        Ok(node) => Ok(Document { node, len: reader.at, slips: reader.slips }),
        Err(Stop::End) => Err(Failed::Unfinished(reader.top)),
        Err(Stop::Wrong) => Err(Failed::Wrong(reader.at)),
    }
}

/// Reads a text that is one value and nothing else.
pub fn whole(text: &str) -> Option<(Value, BTreeSet<Slip>)> {
    let read = prefix(text, AtEnd::Closed).ok()?;
    let rest = text.get(read.len..)?;
    rest.trim().is_empty().then(|| (read.node.to_value(), read.slips))
}

enum Stop {
    End,
    Wrong,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    slips: BTreeSet<Slip>,
    /// The fields of the outermost object so far.
    top: Vec<(String, Result<Node, usize>)>,
    at_end: AtEnd,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Result<char, Stop> {
        self.rest().chars().next().ok_or(Stop::End)
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn value(&mut self) -> Result<Node, Stop> {
        let start = self.at;
        let kind = match self.peek()? {
            '{' => self.fields()?,
            '[' => self.list()?,
            '"' | '\'' => Kind::Text(self.quoted()?),
            '-' | '0'..='9' => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn deeper(&mut self) -> Result<(), Stop> {
        self.depth += 1;
        self.at += 1;
        if self.depth > DEPTH_MAX { Err(Stop::Wrong) } else { Ok(()) }
    }

    fn fields(&mut self) -> Result<Kind, Stop> {
        self.deeper()?;
        let is_top = self.depth == 1;
        let mut fields = vec![];
        // No field begins so: it is an object in braces of its own.
        if self.rest().starts_with('{') {
            let inner = self.fields()?;
            self.slips.insert(Slip::DoubledBraces);
            let is_all = !self.goes_on('}')?;
            self.depth -= 1;
            return if is_all { Ok(inner) } else { Err(Stop::Wrong) };
        }
        loop {
            self.blanks();
            if self.closes('}', !fields.is_empty())? {
                break;
            }
            let name = self.key()?;
            self.blanks();
            self.expect(':')?;
            self.blanks();
            if is_top {
                self.top.push((name.clone(), Err(self.at)));
            }
            let value = self.value()?;
            if is_top && let Some(last) = self.top.last_mut() {
                last.1 = Ok(value.clone());
            }
            fields.push((name, value));
            if self.goes_on('}')? {
                continue;
            }
            break;
        }
        self.depth -= 1;
        Ok(Kind::Fields(fields))
    }

    fn list(&mut self) -> Result<Kind, Stop> {
        self.deeper()?;
        let mut items = vec![];
        loop {
            self.blanks();
            if self.closes(']', !items.is_empty())? {
                break;
            }
            items.push(self.value()?);
            if self.goes_on(']')? {
                continue;
            }
            break;
        }
        self.depth -= 1;
        Ok(Kind::List(items))
    }

    /// Whether it ends where the next item could stand.
    fn closes(&mut self, end: char, is_behind_comma: bool) -> Result<bool, Stop> {
        if self.peek()? != end {
            return Ok(false);
        }
        self.at += 1;
        if is_behind_comma {
            self.slips.insert(Slip::TrailingComma);
        }
        Ok(true)
    }

    /// Behind an item: whether another follows.
    fn goes_on(&mut self, end: char) -> Result<bool, Stop> {
        self.blanks();
        match self.peek() {
            // Only the outermost: what is cut off deeper may lack more than braces.
            Err(Stop::End) if self.depth == 1 && self.at_end == AtEnd::Closed => {
                self.slips.insert(Slip::Unclosed);
                Ok(false)
            }
            Err(stop) => Err(stop),
            Ok(',') => {
                self.at += 1;
                Ok(true)
            }
            Ok(other) if other == end => {
                self.at += 1;
                Ok(false)
            }
            Ok(_) => Err(Stop::Wrong),
        }
    }

    fn key(&mut self) -> Result<String, Stop> {
        if matches!(self.peek()?, '"' | '\'') {
            return self.quoted();
        }
        let rest = self.rest();
        let len = rest.find(|c: char| !is_word(c)).ok_or(Stop::End)?;
        let name = rest.get(..len).unwrap_or_default();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(Stop::Wrong);
        }
        self.slips.insert(Slip::BareKey);
        self.at += len;
        Ok(name.to_owned())
    }

    fn expect(&mut self, wanted: char) -> Result<(), Stop> {
        if self.peek()? != wanted {
            return Err(Stop::Wrong);
        }
        self.at += wanted.len_utf8();
        Ok(())
    }

    fn quoted(&mut self) -> Result<String, Stop> {
        let rest = self.rest();
        for triple in ["\"\"\"", "'''"] {
            if let Some(inner) = rest.strip_prefix(triple) {
                let len = inner.find(triple).ok_or(Stop::End)?;
                self.slips.insert(Slip::Quotes);
                self.at += len + 2 * triple.len();
                return Ok(inner.get(..len).unwrap_or_default().to_owned());
            }
        }
        let quote = self.peek()?;
        if quote == '\'' {
            self.slips.insert(Slip::Quotes);
        }
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.at += at + quote.len_utf8();
                    return Ok(text);
                }
                '\\' => {
                    let (_, escaped) = chars.next().ok_or(Stop::End)?;
                    let digits = rest.get(at + 2..).unwrap_or_default();
                    let read = self.escaped(escaped, digits, &mut text)?;
                    for _ in 0..read {
                        chars.next();
                    }
                }
                c => {
                    if c.is_control() {
                        self.slips.insert(Slip::ControlCharacter);
                    }
                    text.push(c);
                }
            }
        }
        Err(Stop::End)
    }

    /// What stands behind a backslash; how many characters more of it were read.
    fn escaped(&mut self, escaped: char, rest: &str, text: &mut String) -> Result<usize, Stop> {
        let meant = match escaped {
            '"' | '\\' | '/' => escaped,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => return unicode(rest, text),
            '\'' => {
                self.slips.insert(Slip::Escape);
                escaped
            }
            // `\d` of a pattern: the backslash was meant.
            other => {
                self.slips.insert(Slip::Escape);
                text.push('\\');
                other
            }
        };
        text.push(meant);
        Ok(0)
    }

    fn number(&mut self) -> Result<Kind, Stop> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let len = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        // Where more may come, there may be more digits.
        if len == rest.len() && self.at_end == AtEnd::Open {
            return Err(Stop::End);
        }
        let number = serde_json::from_str(rest.get(..len).unwrap_or_default());
        let number = number.map_err(|_| Stop::Wrong)?;
        self.at += len;
        Ok(Kind::Number(number))
    }

    fn word(&mut self) -> Result<Kind, Stop> {
        let rest = self.rest();
        let len = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        const WORDS: [(&str, Kind); 6] = [
            ("true", Kind::Bool(true)),
            ("false", Kind::Bool(false)),
            ("null", Kind::Null),
            ("True", Kind::Bool(true)),
            ("False", Kind::Bool(false)),
            ("None", Kind::Null),
        ];
        let is_open = len == rest.len() && self.at_end == AtEnd::Open;
        if is_open && WORDS.iter().any(|(known, _)| known.starts_with(word)) {
            return Err(Stop::End);
        }
        let (_, kind) = WORDS.iter().find(|(known, _)| *known == word).ok_or(Stop::Wrong)?;
        if word.starts_with(|c: char| c.is_ascii_uppercase()) {
            self.slips.insert(Slip::PythonLiteral);
        }
        self.at += len;
        Ok(kind.clone())
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Four hexadecimal digits, and the second half of a pair where one follows.
fn unicode(rest: &str, text: &mut String) -> Result<usize, Stop> {
    let four = |from: &str| match from.get(..4) {
        Some(digits) => u32::from_str_radix(digits, 16).map_err(|_| Stop::Wrong),
        None if from.len() < 4 => Err(Stop::End),
        None => Err(Stop::Wrong),
    };
    let first = four(rest)?;
    if (0xd800..0xdc00).contains(&first) {
        let second = match rest.get(4..) {
            Some(more) if more.starts_with("\\u") => four(more.get(2..).unwrap_or_default())?,
            Some(more) if "\\u".starts_with(more) => return Err(Stop::End),
            _ => return Err(Stop::Wrong),
        };
        if !(0xdc00..0xe000).contains(&second) {
            return Err(Stop::Wrong);
        }
        let joined = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        text.push(char::from_u32(joined).ok_or(Stop::Wrong)?);
        return Ok(10);
    }
    text.push(char::from_u32(first).ok_or(Stop::Wrong)?);
    Ok(4)
}

#[cfg(test)]
#[path = "lenient_tests.rs"]
mod tests;
