//! What stands inside a line, as tags: bold, italic, struck out, code, links.
//!
//! What is a mark is decided where it is for every platform; marks come properly nested, so
//! tags do.

use super::escape;
use crate::markdown::{self, Mark, Piece};

/// Renders `text`, which may be of several lines. Inside something bold, bold is not begun again.
pub(super) fn inline(text: &str, is_bold: bool) -> String {
    let mut writer = Writer { html: String::new(), depth: [usize::from(is_bold), 0, 0], links: 0 };
    for piece in markdown::inline(text) {
        match piece {
            Piece::Text(text) => writer.html.push_str(&escape(&text)),
            Piece::Break => writer.html.push('\n'),
            Piece::Open(mark) => writer.open(&mark),
            Piece::Close(mark) => writer.close(&mark),
            Piece::Rule => {}
        }
    }
    writer.html
}

struct Writer {
    html: String,
    /// How often bold, italic and struck out are open: a tag inside the same tag is left out.
    depth: [usize; 3],
    /// How many links are open. No code stands in a link.
    links: usize,
}

impl Writer {
    fn open(&mut self, mark: &Mark) {
        match mark {
            Mark::Code if self.links == 0 => self.html.push_str("<code>"),
            Mark::Link(address) => {
                self.links += 1;
                if is_web(address) {
                    self.html.push_str(&format!("<a href=\"{}\">", escape(address)));
                }
            }
            mark => {
                let Some((at, tag)) = tag(mark) else { return };
                self.depth[at] += 1;
                if self.depth[at] == 1 {
                    self.html.push_str(&format!("<{tag}>"));
                }
            }
        }
    }

    fn close(&mut self, mark: &Mark) {
        match mark {
            Mark::Code if self.links == 0 => self.html.push_str("</code>"),
            Mark::Link(address) => {
                self.links = self.links.saturating_sub(1);
                match is_web(address) {
                    true => self.html.push_str("</a>"),
                    // The platform makes no link of it: whoever reads it sees where it goes.
                    false => self.html.push_str(&format!(" ({})", escape(address))),
                }
            }
            mark => {
                let Some((at, tag)) = tag(mark) else { return };
                self.depth[at] = self.depth[at].saturating_sub(1);
                if self.depth[at] == 0 {
                    self.html.push_str(&format!("</{tag}>"));
                }
            }
        }
    }
}

fn tag(mark: &Mark) -> Option<(usize, &'static str)> {
    match mark {
        Mark::Strong => Some((0, "b")),
        Mark::Emphasis => Some((1, "i")),
        Mark::Strike => Some((2, "s")),
        _ => None,
    }
}

fn is_web(address: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| address.starts_with(scheme))
}
