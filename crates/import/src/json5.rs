//! JSON as people write it: comments, commas at ends, single quotes, keys without quotes. Gives
//! the same tree as YAML does, with a place for every value.

use insula_config::source::{SourceId, Span};
use insula_config::yaml::{Layer, MapEntry, Node, Value};

/// Deepest nesting.
const DEPTH_MAX: usize = 64;

/// Why a text can't be read, and in which line.
pub(crate) type Fault = (u32, String);

/// Reads one value.
pub(crate) fn parse(source: SourceId, text: &str) -> Result<Node, Fault> {
    let mut reader = Reader { source, text, at: 0, line: 1, line_start: 0 };
    reader.blank()?;
    let node = reader.value(0)?;
    reader.blank()?;
    match reader.peek() {
        None => Ok(node),
        Some(c) => Err(reader.fault(&format!("`{c}` stands after the end of the value"))),
    }
}

struct Reader<'t> {
    source: SourceId,
    text: &'t str,
    at: usize,
    line: u32,
    line_start: usize,
}

impl Reader<'_> {
    fn fault(&self, why: &str) -> Fault {
        (self.line, why.to_owned())
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        if c == '\n' {
            self.line += 1;
            self.line_start = self.at;
        }
        Some(c)
    }

    /// Steps over blanks and comments.
    fn blank(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            if rest.starts_with("//") {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.next();
                }
            } else if rest.starts_with("/*") {
                let begun = self.line;
                while !self.rest().starts_with("*/") {
                    if self.next().is_none() {
                        return Err((begun, "a comment begins here and does not end".to_owned()));
                    }
                }
                self.next();
                self.next();
            } else if rest.starts_with(|c: char| c.is_whitespace() || c == '\u{feff}') {
                self.next();
            } else {
                return Ok(());
            }
        }
    }

    fn here(&self) -> Span {
        let start = u32::try_from(self.at).unwrap_or(u32::MAX);
        let column = self.text.get(self.line_start..self.at).map_or(0, |it| it.chars().count());
        let column = u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1);
        Span { source: self.source, line: self.line, column, start, end: start }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        if depth > DEPTH_MAX {
            return Err(self.fault("values are nested too deep"));
        }
        let mut span = self.here();
        let value = match self.peek() {
            Some('{') => self.map(depth)?,
            Some('[') => self.list(depth)?,
            Some('"' | '\'') => Value::Scalar { text: self.quoted()?.into(), plain: false },
            Some(_) => Value::Scalar { text: self.word()?.into(), plain: true },
            None => return Err(self.fault("the text ends in the middle of a value")),
        };
        span.end = self.here().start;
        Ok(Node { span, layer: Layer::Own, value })
    }

    fn map(&mut self, depth: usize) -> Result<Value, Fault> {
        self.next();
        let mut entries: Vec<MapEntry> = Vec::new();
        loop {
            self.blank()?;
            if self.peek() == Some('}') {
                self.next();
                return Ok(Value::Map(entries));
            }
            let key_span = self.here();
            let key = match self.peek() {
                Some('"' | '\'') => self.quoted()?,
                _ => self.word()?,
            };
            self.blank()?;
            if self.next() != Some(':') {
                return Err(self.fault(&format!("a `:` is missing after `{}`", shorten(&key))));
            }
            self.blank()?;
            let value = self.value(depth + 1)?;
            // What stands last counts, as in the program that wrote it.
            entries.retain(|it| *it.key != *key);
            entries.push(MapEntry { key: key.into(), key_span, value });
            self.separator('}')?;
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Fault> {
        self.next();
        let mut items = Vec::new();
        loop {
            self.blank()?;
            if self.peek() == Some(']') {
                self.next();
                return Ok(Value::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.separator(']')?;
        }
    }

    /// A comma, or the end that follows.
    fn separator(&mut self, end: char) -> Result<(), Fault> {
        self.blank()?;
        match self.peek() {
            Some(',') => {
                self.next();
                Ok(())
            }
            Some(c) if c == end => Ok(()),
            _ => Err(self.fault(&format!("a `,` or `{end}` is missing"))),
        }
    }

    fn word(&mut self) -> Result<String, Fault> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| c.is_whitespace() || ",:{}[]\"'/".contains(c))
            .unwrap_or(rest.len());
        if end == 0 {
            let found = self.peek().map_or_else(String::new, |c| c.to_string());
            return Err(self.fault(&format!("`{found}` can't begin a value")));
        }
        let word = rest.get(..end).unwrap_or_default().to_owned();
        self.at += end;
        // Numbers that only this form has.
        let plus = word.strip_prefix('+').filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
        Ok(plus.map_or(word.clone(), str::to_owned))
    }

    fn quoted(&mut self) -> Result<String, Fault> {
        let begun = self.line;
        let quote = self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err((begun, "a text begins here and does not end".to_owned())),
                end if end == quote => return Ok(text),
                Some('\\') => self.escaped(&mut text)?,
                Some(c) => text.push(c),
            }
        }
    }

    fn escaped(&mut self, text: &mut String) -> Result<(), Fault> {
        match self.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('v') => text.push('\u{b}'),
            Some('0') => text.push('\0'),
            Some('x') => {
                let code = self.hex(2)?;
                text.push(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            Some('u') => {
                let mut code = self.hex(4)?;
                if (0xd800..0xdc00).contains(&code) && self.rest().starts_with("\\u") {
                    self.next();
                    self.next();
                    let low = self.hex(4)?;
                    code = 0x1_0000 + ((code - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
                }
                text.push(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            // A line that goes on.
            Some('\r') => {
                if self.peek() == Some('\n') {
                    self.next();
                }
            }
            Some('\n') => {}
            Some(c) => text.push(c),
            None => return Err(self.fault("the text ends in the middle of a value")),
        }
        Ok(())
    }

    fn hex(&mut self, digits: usize) -> Result<u32, Fault> {
        let found = self.rest().get(..digits).and_then(|it| u32::from_str_radix(it, 16).ok());
        let Some(code) = found else {
            return Err(self.fault("digits are missing after a `\\`"));
        };
        self.at += digits;
        Ok(code)
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use crate::doc::{Doc, json};
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    fn read(text: &str) -> Result<Json, (usize, String)> {
        let doc = Doc::json5("x", text.to_owned());
        doc.map(|doc| json(&doc.root)).map_err(|(at, why)| (at.line.unwrap(), why))
    }

    #[test]
    fn what_people_add_to_json_is_understood() {
        let text = "// first\n{ a: 1, 'b': [true, null, 'x\\'y', ], /* c */ \"d\": \"\\u00e9\\ud83d\\ude00\", e: +2.5, a: 3 }\n";
        assert_eq!(
            read(text).unwrap(),
            json!({"b": [true, null, "x'y"], "d": "é😀", "e": 2.5, "a": 3})
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, line, why) in [
            ("{\n a: 1\n b: 2}", 3, "a `,` or `}` is missing"),
            ("{\n a 1}", 2, "a `:` is missing after `a`"),
            ("{a: \n'x", 2, "a text begins here and does not end"),
            ("{a: 1} {", 1, "`{` stands after the end of the value"),
            ("\n/* x", 2, "a comment begins here and does not end"),
            ("", 1, "the text ends in the middle of a value"),
        ] {
            assert_eq!(read(text), Err((line, why.to_owned())), "{text}");
        }
        assert!(read(&"[".repeat(10_000)).unwrap_err().1.contains("too deep"));
    }

    proptest! {
        #[test]
        fn what_is_json_is_read_as_json(text in "\\PC{0,20}", number in any::<i32>(), flag in any::<bool>()) {
            let value = json!({"t": text, "n": number, "list": [flag, {"deep": "x"}]});
            prop_assert_eq!(read(&value.to_string()).unwrap(), value.clone());
            prop_assert_eq!(read(&serde_json::to_string_pretty(&value).unwrap()).unwrap(), value);
        }

        #[test]
        fn nothing_makes_it_fall(text in "[\\[\\]{}:,'\"/*\\\\ux0-9a\n ]{0,60}") {
            let _ = read(&text);
        }
    }
}
