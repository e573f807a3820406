//! A page of HTML as people see it, in Markdown: title, main content, links.
//!
//! There is no tree. Tokens go by one at a time, and only the names of the elements that are
//! open are kept, so that no page can make this grow or recurse. Where a browser would build
//! another tree than the tags say, this errs on the side of leaving text out.
//!
//! Tags are told apart by `html5gum`. What goes from pages to text whole was measured beside this
//! (two cores, `opt-level = 2`) and builds the tree that this does without:
//!
//! | | here | html2text 0.17.4 | htmd 0.5.6 |
//! | --- | --- | --- | --- |
//! | 15 pages with hidden text: shown | 0 | 10 | 12 |
//! | an ordinary page of 632 KB | 170 ms, 3 MB | 455 ms, 68 MB | 200 ms, 12 MB |
//! | 100,000 open `<div>`, 488 KB | 52 ms | over 60 s | over 60 s |
//! | 400,000 stray end tags | 0.6 s | 6.1 s | 6.1 s |
//! | 20,000 open tables | 28 ms | 0.5 s, 87 MB | stack overflow, which ends the daemon |

mod written;

use super::elements::{AROUND, BLOCKS, NOT_TEXT, VOID, WALLS};
use super::style::{HiddenNames, hides};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use std::convert::Infallible;
use url::Url;

/// Elements open at once. Deeper pages are machines' or attempts.
const DEPTH_MAX: usize = 512;
/// Most text that is made of a page, in bytes.
const TEXT_BYTES_MAX: usize = 2 << 20;
/// Most of a page's styles that is looked at, in bytes.
const STYLE_BYTES_MAX: usize = 512 << 10;
/// Longest address of a link that is kept.
const LINK_BYTES_MAX: usize = 400;
/// Open elements that may be looked at in search of one, over the whole page: what makes a
/// page of nothing but stray tags end.
const STEPS_MAX: usize = 20_000_000;
/// Longest title.
const TITLE_CHARS_MAX: usize = 300;
/// Characters of `<main>` and its like that make it the whole of what is read.
const MAIN_CHARS_MIN: usize = 140;

/// What was read of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) is_cut: bool,
}

/// Reads a page that came from `url`.
pub(super) fn read(html: &str, url: Option<&Url>) -> Reading {
    let hidden = hidden_names(html);
    let strict = pass(html, url, &hidden, Around::Dropped);
    if strict.text.is_empty() { pass(html, url, &hidden, Around::Kept) } else { strict }
}

/// Text of a snippet of HTML, on one line.
pub(super) fn plain(html: &str) -> String {
    let text = pass(html, None, &HiddenNames::default(), Around::Kept).text;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn hidden_names(html: &str) -> HiddenNames {
    let mut names = HiddenNames::default();
    let (mut in_style, mut left) = (false, STYLE_BYTES_MAX);
    tokens(html, |event| match event {
        CallbackEvent::OpenStartTag { name } => in_style = name == b"style",
        CallbackEvent::EndTag { .. } => in_style = false,
        CallbackEvent::String { value } if in_style && value.len() <= left => {
            left -= value.len();
            names.read(&String::from_utf8_lossy(value));
        }
        _ => {}
    });
    names
}

fn tokens(html: &str, mut each: impl FnMut(CallbackEvent<'_>)) {
    let take = |event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        each(event);
        None
    };
    let mut emitter = CallbackEmitter::new(take);
    emitter.naively_switch_states(true);
    let Ok(()) = Tokenizer::new_with_emitter(html, emitter).finish();
}

fn pass(html: &str, url: Option<&Url>, hidden: &HiddenNames, around: Around) -> Reading {
    let mut reader = Reader { base: url.cloned(), around, ..Reader::new(hidden) };
    tokens(html, |event| reader.hear(event));
    reader.finish()
}

/// What becomes of menus, footers and their like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Dropped,
    Kept,
}

/// An element that is open.
struct Open {
    name: Box<[u8]>,
    /// What is in it does not count.
    is_off: bool,
    is_main: bool,
    is_block: bool,
    is_wall: bool,
}

/// How many of the open elements are of a kind.
#[derive(Default)]
struct Counts {
    off: usize,
    main: usize,
    pre: usize,
    quote: usize,
    foreign: usize,
}

#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    attribute: Vec<u8>,
    href: Option<String>,
    style: String,
    class: String,
    id: String,
    role: String,
    is_hidden: bool,
    is_open: bool,
}

struct Block {
    text: String,
    in_main: bool,
    row: Row,
}

/// Blocks that stand close to their neighbours of the same kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    None,
    Item,
    Table,
}

struct Reader<'h> {
    hidden: &'h HiddenNames,
    base: Option<Url>,
    around: Around,
    stack: Vec<Open>,
    open: Counts,
    steps: usize,
    tag: Tag,
    title: String,
    line: String,
    /// What the next block begins with: the mark of a heading or an item.
    mark: String,
    row: Row,
    links: Vec<(usize, String)>,
    lists: Vec<Option<usize>>,
    blocks: Vec<Block>,
    len: usize,
    is_full: bool,
}

impl<'h> Reader<'h> {
    fn new(hidden: &'h HiddenNames) -> Self {
        Self {
            hidden,
            base: None,
            around: Around::Dropped,
            stack: Vec::new(),
            open: Counts::default(),
            steps: 0,
            tag: Tag::default(),
            title: String::new(),
            line: String::new(),
            mark: String::new(),
            row: Row::None,
            links: Vec::new(),
            lists: Vec::new(),
            blocks: Vec::new(),
            len: 0,
            is_full: false,
        }
    }

    fn hear(&mut self, event: CallbackEvent<'_>) {
        if self.is_full {
            return;
        }
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = Tag { name: name.to_vec(), ..Tag::default() };
            }
            CallbackEvent::AttributeName { name } => {
                self.tag.attribute.clear();
                self.tag.attribute.extend_from_slice(name);
                self.tag.is_hidden |= name == b"hidden" || name == b"inert";
                self.tag.is_open |= name == b"open";
            }
            CallbackEvent::AttributeValue { value } => self.attribute(value),
            CallbackEvent::CloseStartTag { self_closing } => self.open(self_closing),
            CallbackEvent::EndTag { name } => self.close(name),
            CallbackEvent::String { value } => self.words(&String::from_utf8_lossy(value)),
            _ => {}
        }
    }

    fn attribute(&mut self, value: &[u8]) {
        let text = String::from_utf8_lossy(value);
        let tag = &mut self.tag;
        match tag.attribute.as_slice() {
            b"href" => tag.href = tag.href.take().or_else(|| Some(text.trim().to_owned())),
            b"style" if tag.style.is_empty() => tag.style = text.into_owned(),
            b"class" if tag.class.is_empty() => tag.class = text.into_owned(),
            b"id" if tag.id.is_empty() => tag.id = text.into_owned(),
            b"role" if tag.role.is_empty() => tag.role = text.to_ascii_lowercase(),
            b"aria-hidden" => tag.is_hidden |= text.eq_ignore_ascii_case("true"),
            _ => {}
        }
    }

    fn is_off(&self) -> bool {
        self.open.off > 0
    }

    fn in_main(&self) -> bool {
        self.open.main > 0
    }

    fn in_pre(&self) -> bool {
        self.open.pre > 0
    }

    /// The innermost open element that `wanted` says yes to.
    fn innermost(&mut self, wanted: impl Fn(&Open) -> bool) -> Option<usize> {
        let found = self.stack.iter().rposition(wanted);
        self.steps += self.stack.len() - found.unwrap_or(0);
        self.is_full |= self.steps > STEPS_MAX;
        found
    }

    fn count(&mut self, open: &Open, by: isize) {
        let counts = [
            (&mut self.open.off, open.is_off),
            (&mut self.open.main, open.is_main),
            (&mut self.open.pre, *open.name == *b"pre"),
            (&mut self.open.quote, *open.name == *b"blockquote"),
            (&mut self.open.foreign, matches!(&*open.name, b"svg" | b"math")),
        ];
        for (count, _) in counts.into_iter().filter(|(_, is_one)| *is_one) {
            *count = count.saturating_add_signed(by);
        }
    }

    fn open(&mut self, self_closing: bool) {
        let tag = std::mem::take(&mut self.tag);
        let name = tag.name.as_slice();
        self.end_what_this_ends(name);
        if name == b"base"
            && let (Some(base), Some(href)) = (&self.base, &tag.href)
        {
            self.base = base.join(href).ok().or(self.base.take());
        }
        let is_void = VOID.contains(&name);
        let is_empty = is_void || (self_closing && self.open.foreign > 0);
        let is_off = self.is_out_of_sight(&tag);
        if !is_off && !self.is_off() {
            self.begin(name, tag.href.as_deref());
        }
        if is_empty {
            return;
        }
        if self.stack.len() >= DEPTH_MAX {
            // Without the stack nothing could tell any more what is hidden.
            self.is_full = true;
            return;
        }
        let is_main = matches!(name, b"main" | b"article") || tag.role == "main";
        let (is_block, is_wall) = (BLOCKS.contains(&name), WALLS.contains(&name));
        let open = Open { name: name.into(), is_off, is_main, is_block, is_wall };
        self.count(&open, 1);
        self.stack.push(open);
    }

    fn is_out_of_sight(&self, tag: &Tag) -> bool {
        let name = tag.name.as_slice();
        // A header of an article has its headline.
        let is_around = AROUND.contains(&name) && !(name == b"header" && self.in_main())
            || matches!(&*tag.role, "navigation" | "contentinfo" | "complementary" | "search");
        NOT_TEXT.contains(&name)
            || tag.is_hidden
            || name == b"dialog" && !tag.is_open
            || hides(&tag.style)
            || self.hidden.hide(&tag.id, &tag.class)
            || is_around && self.around == Around::Dropped
    }

    /// Ends elements that a start tag ends without their own end tags.
    fn end_what_this_ends(&mut self, name: &[u8]) {
        let (ended, walls): (&[&[u8]], &[&[u8]]) = match name {
            b"a" => (&[b"a"], WALLS),
            b"li" => (&[b"li"], &[b"ul", b"ol", b"menu"]),
            b"dd" | b"dt" => (&[b"dd", b"dt"], &[b"dl"]),
            b"td" | b"th" => (&[b"td", b"th"], &[b"table"]),
            b"tr" => (&[b"tr"], &[b"table"]),
            b"thead" | b"tbody" | b"tfoot" => (&[b"thead", b"tbody", b"tfoot"], &[b"table"]),
            _ if BLOCKS.contains(&name) => (&[b"p"], WALLS),
            _ => return,
        };
        let found =
            self.innermost(|open| ended.contains(&&*open.name) || walls.contains(&&*open.name));
        if let Some(at) = found
            && ended.contains(&&*self.stack[at].name)
        {
            self.pop_to(at);
        }
    }

    fn close(&mut self, name: &[u8]) {
        let is_block = BLOCKS.contains(&name);
        // A block holds what is inline outside of it open; a wall holds everything.
        let stops = |open: &Open| open.is_wall || !is_block && open.is_block;
        let found = self.innermost(|open| *open.name == *name || stops(open));
        if let Some(at) = found
            && *self.stack[at].name == *name
        {
            self.pop_to(at);
        }
    }

    fn pop_to(&mut self, at: usize) {
        while self.stack.len() > at {
            // Ended while it still counts as open, so that its last block is where it was.
            let Some(name) = self.stack.last().map(|open| open.name.clone()) else { return };
            if !self.is_off() {
                self.end(&name);
            }
            if let Some(open) = self.stack.pop() {
                self.count(&open, -1);
            }
        }
    }
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
