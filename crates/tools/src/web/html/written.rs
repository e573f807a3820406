//! What the elements and words of a page write: blocks of Markdown, links, rows, code.

use super::{
    Block, LINK_BYTES_MAX, MAIN_CHARS_MIN, Reader, Reading, Row, TEXT_BYTES_MAX, TITLE_CHARS_MAX,
};
use crate::web::elements::BLOCKS;
use crate::web::text::tidy;
use url::Url;

impl Reader<'_> {
    /// What the beginning of an element writes.
    pub(super) fn begin(&mut self, name: &[u8], href: Option<&str>) {
        match name {
            b"br" => self.line.push('\n'),
            b"hr" => {
                self.flush();
                self.line.push_str("---");
                self.flush();
            }
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.flush();
                let level = usize::from(name[1].saturating_sub(b'0'));
                self.mark = format!("{} ", "#".repeat(level));
            }
            b"ul" | b"menu" | b"ol" => {
                self.flush();
                self.lists.push((name == b"ol").then_some(0));
            }
            b"li" => self.item(),
            b"td" | b"th" if !self.line.trim().is_empty() => self.line.push_str(" | "),
            b"td" | b"th" => {}
            b"code" if !self.in_pre() => self.line.push('`'),
            b"a" => self.link(href),
            _ if BLOCKS.contains(&name) => {
                self.flush();
                self.row = if name == b"tr" { Row::Table } else { Row::None };
            }
            _ => {}
        }
    }

    /// What the end of an element writes.
    pub(super) fn end(&mut self, name: &[u8]) {
        match name {
            b"a" => self.end_link(),
            b"code" if !self.in_pre() => self.line.push('`'),
            b"pre" => self.flush_code(),
            b"td" | b"th" => {}
            b"ul" | b"menu" | b"ol" => {
                self.flush();
                self.lists.pop();
            }
            _ if BLOCKS.contains(&name) => {
                self.flush();
                self.mark.clear();
                self.row = Row::None;
            }
            _ => {}
        }
    }

    pub(super) fn item(&mut self) {
        self.flush();
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(8));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        self.mark = format!("{indent}{mark}");
        self.row = Row::Item;
    }

    pub(super) fn link(&mut self, href: Option<&str>) {
        let Some(href) = href.filter(|href| !href.starts_with('#')) else { return };
        let url = match &self.base {
            Some(base) => base.join(href),
            None => Url::parse(href),
        };
        let kept = url.ok().filter(|url| {
            matches!(url.scheme(), "http" | "https") && url.as_str().len() <= LINK_BYTES_MAX
        });
        if let Some(url) = kept {
            self.links.push((self.line.len(), url.into()));
            self.line.push('[');
        }
    }

    pub(super) fn end_link(&mut self) {
        let Some((at, url)) = self.links.pop() else { return };
        let inside = self.line.get(at + 1..).unwrap_or_default();
        if inside.trim().is_empty() {
            self.line.truncate(at);
        } else {
            let len = self.line.trim_end().len();
            let spaced = len < self.line.len();
            self.line.truncate(len);
            self.line.push_str(&format!("]({url})"));
            if spaced {
                self.line.push(' ');
            }
        }
    }

    pub(super) fn words(&mut self, text: &str) {
        if self.stack.last().is_some_and(|open| *open.name == *b"title") {
            if self.open.foreign == 0 && self.title.is_empty() {
                let words: Vec<&str> = text.split_whitespace().collect();
                self.title = words.join(" ").chars().take(TITLE_CHARS_MAX).collect();
            }
            return;
        }
        if self.is_off() {
            return;
        }
        if self.in_pre() {
            self.line.push_str(text);
        } else {
            for it in text.chars() {
                match it.is_whitespace() {
                    false => self.line.push(it),
                    true if self.line.is_empty() || self.line.ends_with([' ', '\n']) => {}
                    true => self.line.push(' '),
                }
            }
        }
        if self.len + self.line.len() > TEXT_BYTES_MAX {
            self.flush();
            self.is_full = true;
        }
    }

    pub(super) fn flush(&mut self) {
        if self.in_pre() {
            // A block inside of code is code.
            return;
        }
        // A link whose words are in the block that begins stays open for them.
        let mut waiting = Vec::new();
        while let Some((at, url)) = self.links.last() {
            if self.line.get(at + 1..).unwrap_or_default().trim().is_empty() {
                waiting.push(url.clone());
            }
            self.end_link();
        }
        let text = std::mem::take(&mut self.line);
        for url in waiting.into_iter().rev() {
            self.links.push((self.line.len(), url));
            self.line.push('[');
        }
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let mark = std::mem::take(&mut self.mark);
        self.push(format!("{mark}{text}"));
    }

    pub(super) fn flush_code(&mut self) {
        let code = std::mem::take(&mut self.line);
        self.links.clear();
        let code = code.trim_end().trim_start_matches('\n');
        if !code.is_empty() {
            let fence = if code.contains("```") { "~~~~" } else { "```" };
            self.push(format!("{fence}\n{code}\n{fence}"));
        }
    }

    pub(super) fn push(&mut self, text: String) {
        let text = match self.open.quote > 0 {
            true => text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n"),
            false => text,
        };
        self.len += text.len();
        self.blocks.push(Block { text, in_main: self.in_main(), row: self.row });
    }

    pub(super) fn finish(mut self) -> Reading {
        let is_cut = self.is_full;
        self.pop_to(0);
        self.flush();
        let chars = |block: &Block| block.text.chars().count();
        let main: usize = self.blocks.iter().filter(|it| it.in_main).map(chars).sum();
        if main >= MAIN_CHARS_MIN {
            self.blocks.retain(|block| block.in_main);
        }
        let mut text = String::with_capacity(self.len);
        let mut before = Row::None;
        for block in &self.blocks {
            if !text.is_empty() {
                let is_close = block.row != Row::None && block.row == before;
                text.push_str(if is_close { "\n" } else { "\n\n" });
            }
            text.push_str(&block.text);
            before = block.row;
        }
        let title = (!self.title.is_empty()).then_some(self.title);
        Reading { title, text: tidy(&text), is_cut }
    }
}
