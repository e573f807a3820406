//! The text of a PDF document.
//!
//! Written for somebody else's files: safe code only, no recursion that a file controls, and
//! every unpacked byte and every object read counts against a budget, so that any file ends
//! within bounded time and memory. It does not draw, and it does not decipher: an encrypted
//! document is refused. Text that a scanner laid invisibly over its picture is read.

mod content;
mod file;
mod font;
mod glyphs;
mod object;

use content::Painter;
use file::File;
use object::{Dict, Object};
use std::collections::HashSet;

/// Pages that are read.
const PAGES_MAX: usize = 2_000;
/// How deep a tree of pages may be.
const TREE_DEPTH_MAX: usize = 32;
/// Most text that is made of a document, in bytes.
const TEXT_BYTES_MAX: usize = 2 << 20;
/// Longest title.
const TITLE_CHARS_MAX: usize = 300;

/// What was read of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) is_cut: bool,
}

/// Why a document is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unread {
    /// something else
    #[error("it is not a PDF document, although the server says so")]
    NotPdf,
    /// enciphered
    #[error("the document is encrypted")]
    Encrypted,
    /// no pages in it
    #[error("the document is damaged: it has no pages that could be read")]
    NoPages,
}

/// Reads a document.
pub(super) fn read(bytes: &[u8]) -> Result<Document, Unread> {
    const HEADER_WITHIN: usize = 1_024;
    let head = bytes.get(..bytes.len().min(HEADER_WITHIN)).unwrap_or_default();
    if super::charset::find(head, b"%PDF-").is_none() {
        return Err(Unread::NotPdf);
    }
    let file = File::open(bytes);
    if file.trailer(b"Encrypt").is_some() {
        return Err(Unread::Encrypted);
    }
    let pages = pages(&file);
    if pages.is_empty() {
        return Err(Unread::NoPages);
    }
    let mut painter = Painter::new(&file, TEXT_BYTES_MAX);
    let mut is_cut = pages.len() == PAGES_MAX;
    for page in &pages {
        if painter.is_full() || file.is_spent() {
            is_cut = true;
            break;
        }
        painter.page(&page.content(&file), &page.resources);
    }
    is_cut |= painter.is_full() || file.is_spent();
    Ok(Document { title: title(&file), text: painter.finish(), is_cut })
}

struct Page {
    contents: Object,
    resources: Dict,
}

impl Page {
    /// The streams of a page, one after another: an operator may begin in one and end in the
    /// next, a word may not.
    fn content(&self, file: &File<'_>) -> Vec<u8> {
        let mut all = Vec::new();
        let parts = match file.resolve(&self.contents) {
            Object::Array(parts) => parts,
            _ => vec![self.contents.clone()],
        };
        for part in &parts {
            if let Some(bytes) = file.stream(part) {
                all.extend_from_slice(&bytes);
                all.push(b'\n');
            }
        }
        all
    }
}

/// The pages in order; where the tree is broken, whatever calls itself one.
fn pages(file: &File<'_>) -> Vec<Page> {
    let mut found = Vec::new();
    let root = file.trailer(b"Root").map(|root| file.dict(&root));
    let root = root.filter(|root| root.get(b"Pages").is_some());
    let root = root.or_else(|| file.all_of_type(b"Catalog").into_iter().next());
    if let Some(tree) = root.as_ref().and_then(|root| root.get(b"Pages")) {
        let mut seen = HashSet::new();
        // Depth first by a list of our own, so that the tree can't use up the stack.
        let mut open = vec![(tree.clone(), Dict::default(), 0_usize)];
        while let Some((node, inherited, depth)) = open.pop() {
            if let Object::Ref(number) = node
                && !seen.insert(number)
            {
                continue;
            }
            let node = file.dict(&node);
            let resources = match node.get(b"Resources") {
                Some(own) => file.dict(own),
                None => inherited,
            };
            match node.get(b"Kids").map(|kids| file.resolve(kids)) {
                Some(Object::Array(kids)) if depth < TREE_DEPTH_MAX => {
                    let kids = kids.into_iter().rev().take(PAGES_MAX);
                    open.extend(kids.map(|kid| (kid, resources.clone(), depth + 1)));
                }
                _ => {
                    if let Some(contents) = node.get(b"Contents") {
                        found.push(Page { contents: contents.clone(), resources });
                    } else if node.is(b"Type", b"Page") {
                        found.push(Page { contents: Object::Null, resources });
                    }
                }
            }
            if found.len() >= PAGES_MAX || open.len() > PAGES_MAX * 4 || file.is_spent() {
                break;
            }
        }
    }
    if found.is_empty() {
        let stray = file.all_of_type(b"Page").into_iter().take(PAGES_MAX).map(|page| Page {
            contents: page.get(b"Contents").cloned().unwrap_or(Object::Null),
            resources: page.get(b"Resources").map(|it| file.dict(it)).unwrap_or_default(),
        });
        found.extend(stray);
    }
    found
}

fn title(file: &File<'_>) -> Option<String> {
    let info = file.dict(&file.trailer(b"Info")?);
    let Object::Text(bytes) = file.resolve(info.get(b"Title")?) else { return None };
    let title = match bytes.strip_prefix(b"\xfe\xff") {
        Some(wide) => font::utf16(wide),
        None => encoding_rs::WINDOWS_1252.decode_without_bom_handling(&bytes).0.into_owned(),
    };
    let words: Vec<&str> = title.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(TITLE_CHARS_MAX).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
#[path = "../pdf_tests.rs"]
mod tests;
