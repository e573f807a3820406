//! Redirections, and the here documents among them.

use super::super::path::is_handle;
use super::{Arg, List, Piece, Reader, Stop, UNREADABLE, judge};

impl Reader<'_> {
    /// A redirection and what it leads to.
    pub(super) fn redirect(&mut self, list: &mut List) -> Result<(), Stop> {
        let mut operator = String::new();
        while let Some(it @ ('<' | '>' | '&' | '|')) = self.peek(0) {
            let is_word = it == '>' && self.peek(1) == Some('(') && operator.ends_with('>');
            let is_other = it == '<' && self.peek(1) == Some('(') && operator.ends_with('<');
            if operator.len() == 3 || is_word || is_other {
                break;
            }
            operator.push(it);
            self.at += 1;
        }
        if operator == "<<" {
            let strips = self.peek(0) == Some('-');
            self.at += usize::from(strips);
            self.blanks();
            return self.here_document(list, strips);
        }
        self.blanks();
        let before = self.at;
        let pieces = self.word()?;
        if self.at == before {
            return Err(UNREADABLE);
        }
        let args = self.args(&pieces)?;
        list.simple.has_words = true;
        // A file is known by its name; what comes from elsewhere is not.
        let is_led = |arg: &Arg| match &*operator {
            "<&" => !arg.is_known || arg.text != "-",
            "<" | "<>" => !arg.is_known || is_handle(&arg.text),
            _ => false,
        };
        list.simple.is_led |= args.iter().any(is_led);
        if operator == "<<<" {
            let is_known = args.iter().all(|arg| arg.is_known);
            let texts: Vec<String> = args.into_iter().map(|arg| arg.text).collect();
            list.simple.bodies.push((texts.join(" "), is_known));
        } else {
            self.spend(self.at - list.start)?;
            let source: String = self.text[list.start..self.at].iter().collect();
            for arg in &args {
                judge::redirected(&operator, arg, &self.around, &source, self.worst);
            }
        }
        Ok(())
    }

    /// Takes the body of a here document out of the text: it begins on the next line.
    fn here_document(&mut self, list: &mut List, strips: bool) -> Result<(), Stop> {
        let pieces = self.word()?;
        let is_literal =
            pieces.iter().any(|piece| matches!(piece, Piece::Text { is_quoted: true, .. }));
        let end: String = self.args(&pieces)?.into_iter().map(|arg| arg.text).collect();
        if end.is_empty() {
            return Err(UNREADABLE);
        }
        let line = self.line_end()?;
        let mut body = String::new();
        let mut from = line;
        loop {
            if from >= self.text.len() {
                break;
            }
            let len = self.text[from..].iter().take_while(|it| **it != '\n').count();
            let text: String = self.text[from..from + len].iter().collect();
            from = (from + len + 1).min(self.text.len());
            let text = if strips { text.trim_start_matches('\t') } else { &text };
            if text == end {
                break;
            }
            body.push_str(text);
            body.push('\n');
        }
        // The line was looked through, the body taken, and what is behind it moved.
        self.spend(from - self.at + (self.text.len() - from) / 16)?;
        self.text.drain(line..from);
        let mut is_known = true;
        if !is_literal {
            let around = self.around.clone();
            let mut inner = Reader::new(&body, around, self.worst);
            let pieces = inner.quoted(None)?;
            is_known = !pieces.iter().any(|piece| matches!(piece, Piece::Unknown { .. }));
            body = pieces
                .into_iter()
                .map(|piece| match piece {
                    Piece::Text { text, .. } => text,
                    Piece::Unknown { .. } => String::new(),
                })
                .collect();
        }
        list.simple.bodies.push((body, is_known));
        list.simple.has_words = true;
        Ok(())
    }

    /// Where the line after this one begins.
    fn line_end(&mut self) -> Result<usize, Stop> {
        let (mut at, mut quote, mut quotes, mut nested) = (self.at, None, false, false);
        while let Some(it) = self.text.get(at).copied() {
            match (quote, it) {
                (None, '\n') => {
                    // Quotes inside of what is substituted inside of quotes: where this line
                    // ends is anybody's guess.
                    return if quotes && nested { Err(UNREADABLE) } else { Ok(at + 1) };
                }
                (None | Some('"'), '\\') => at += 1,
                (None, '\'' | '"') => (quote, quotes) = (Some(it), true),
                (Some(open), it) if open == it => quote = None,
                (_, '`') => nested = true,
                (_, '$') if self.text.get(at + 1) == Some(&'(') => nested = true,
                _ => {}
            }
            at += 1;
        }
        Ok(self.text.len())
    }
}
