//! Cuts an answer into words, thoughts and calls, however it comes in pieces. What is decided
//! stays decided: more text never changes what was said of the text before it. Whether calls are
//! meant is not decided here.

use super::fence::{self, Fence};
use super::found::{Form, Found, Outcome, ToolNames, blank_len};
use super::lenient::AtEnd;
use super::sequence::bare;
use super::thoughts::{Begins, Ending};
use super::{marked, thoughts};
use std::ops::Range;

/// How far a line may be indented and still begin a block, as in Markdown.
const INDENT_MAX: usize = 3;
/// What an answer may begin with that nobody said: a mark of the order of bytes, and what stands
/// before every answer in Llama's template.
const UNSAID: [&str; 2] = ["\u{feff}", "<|start_header_id|>assistant<|end_header_id|>\n"];
/// A block that has not ended is looked at with every piece up to this length, in bytes; then
/// whenever it is twice as long as before, so that a long file is not read a thousand times.
const OFTEN_LEN: usize = 4 * 1024;

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words for the person.
    Words(Range<usize>),
    /// What the model thought.
    Thought(Range<usize>),
    /// All words so far were thoughts: their end was marked and their beginning was not.
    ThoughtSoFar,
    /// What may be calls.
    Block { span: Range<usize>, calls: Vec<Found>, form: Form },
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looking {
    /// Thoughts and nothing else.
    Thoughts,
    /// Thoughts, and calls behind marks.
    Marks,
    /// Thoughts, and calls in every form.
    Calls,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the beginning of a line, or where one might as well begin.
    Start,
    /// In a line that begins nothing.
    Line,
    /// In a thought that this ends.
    Thought(&'static str),
    /// At a mark that opens a thought if this closes it, and is a word of the answer else.
    Doubted(&'static str),
    /// Behind a thought: blanks are nobody's words.
    Behind,
    /// In the line that opens a fence.
    Opening(Fence),
    /// At the beginning of a line inside of a fence.
    Fenced(Fence),
    /// In such a line, which does not close it.
    InFence(Fence),
}

/// An answer as it comes.
pub struct Scanner {
    text: String,
    /// Up to where it is cut into pieces.
    at: usize,
    state: State,
    looking: Looking,
    /// Whether a thought was marked so far: only the first can have begun unmarked.
    has_thought: bool,
    /// The last that was said, blanks aside.
    last_said: Option<char>,
    /// Whether the answer speaks of thoughts and their marks: from then on those are words.
    speaks_of_marks: bool,
    /// Up to where no end of a doubted thought was found.
    searched: usize,
    /// The length of text from which on a block that has not ended is looked at again.
    again_at: usize,
}

impl Scanner {
    pub fn new(looking: Looking) -> Self {
        Self {
            text: String::new(),
            at: 0,
            state: State::Start,
            looking,
            has_thought: false,
            last_said: None,
            speaks_of_marks: false,
            searched: 0,
            again_at: 0,
        }
    }

    /// All of it so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Takes more of it, and gives the pieces that are certain by now.
    pub fn push(&mut self, more: &str, tools: &ToolNames) -> Vec<Piece> {
        self.text.push_str(more);
        self.pieces(tools, AtEnd::Open)
    }

    /// There is no more: the pieces that are left.
    pub fn finish(&mut self, tools: &ToolNames) -> Vec<Piece> {
        self.again_at = 0;
        self.pieces(tools, AtEnd::Closed)
    }

    fn pieces(&mut self, tools: &ToolNames, at_end: AtEnd) -> Vec<Piece> {
        let mut pieces = vec![];
        while self.at < self.text.len() {
            let (before, state) = (self.at, self.state);
            if let Some(piece) = self.step(tools, at_end) {
                pieces.push(piece);
            }
            if (before, state) == (self.at, self.state) {
                break;
            }
        }
        pieces
    }

    /// One step on. Nothing moves where more has to come first.
    fn step(&mut self, tools: &ToolNames, at_end: AtEnd) -> Option<Piece> {
        let rest = &self.text[self.at..];
        match self.state {
            State::Start => self.start(tools, at_end),
            State::Line => self.line(at_end),
            State::Opening(fence) => {
                let next = rest.find('\n').map(|at| at + 1);
                self.words(next.unwrap_or(rest.len()), next.map(|_| State::Fenced(fence)))
            }
            State::InFence(fence) => {
                let next = rest.find('\n').map(|at| at + 1);
                self.words(next.unwrap_or(rest.len()), next.map(|_| State::Fenced(fence)))
            }
            State::Fenced(fence) => self.fenced(fence, at_end),
            State::Behind => {
                self.at += blank_len(rest, &[]);
                if self.at < self.text.len() {
                    self.state = State::Start;
                }
                None
            }
            State::Doubted(close) => self.doubted(close, at_end),
            State::Thought(close) => {
                if let Some(len) = thoughts::find(rest, close) {
                    let span = self.at..self.at + len;
                    self.at = span.end + close.len();
                    self.state = State::Behind;
                    return (!span.is_empty()).then_some(Piece::Thought(span));
                }
                let held = if at_end == AtEnd::Open { thoughts::held_len(rest, close) } else { 0 };
                let span = self.at..self.text.len() - held;
                self.at = span.end;
                (!span.is_empty()).then_some(Piece::Thought(span))
            }
        }
    }

    /// At a mark of which its end tells what it is.
    fn doubted(&mut self, close: &str, at_end: AtEnd) -> Option<Piece> {
        match thoughts::closed(&self.text, self.searched, close, at_end == AtEnd::Open) {
            Ending::Found { at, len } => {
                let mark = thoughts::opened(self.text[self.at..].trim_start()).map_or(0, |it| it.0);
                let from = self.at + indent(&self.text[self.at..]) + mark;
                self.at = at + len;
                self.state = State::Behind;
                self.has_thought = true;
                (from < at).then_some(Piece::Thought(from..at))
            }
            Ending::Open { at } => {
                self.searched = at;
                None
            }
            Ending::None => {
                self.speaks_of_marks = true;
                self.state = State::Start;
                None
            }
        }
    }

    /// In a line that begins nothing. It may hold the end of a thought whose beginning was not
    /// marked, and waits where that end may have begun.
    fn line(&mut self, at_end: AtEnd) -> Option<Piece> {
        let rest = &self.text[self.at..];
        let next = rest.find('\n').map(|at| at + 1);
        let len = next.unwrap_or(rest.len());
        if self.has_thought || self.speaks_of_marks {
            return self.words(len, next.map(|_| State::Start));
        }
        let is_open = at_end == AtEnd::Open;
        match thoughts::ending(&self.text, self.at, self.at + len, is_open) {
            Ending::None => self.words(len, next.map(|_| State::Start)),
            Ending::Open { at } => self.words(at - self.at, None),
            Ending::Found { at, len } if at == self.at => {
                self.at += len;
                self.state = State::Behind;
                self.has_thought = true;
                Some(Piece::ThoughtSoFar)
            }
            Ending::Found { at, .. } => self.words(at - self.at, None),
        }
    }

    /// The next bytes are words.
    fn words(&mut self, len: usize, next: Option<State>) -> Option<Piece> {
        let span = self.at..self.at + len;
        self.at = span.end;
        self.state = next.unwrap_or(self.state);
        let last = self.text[span.clone()].trim_end().chars().next_back();
        self.last_said = last.or(self.last_said);
        (!span.is_empty()).then_some(Piece::Words(span))
    }

    /// At the beginning of a line inside of a fence.
    fn fenced(&mut self, fence: Fence, at_end: AtEnd) -> Option<Piece> {
        let line = &self.text[self.at..];
        let indent = indent(line);
        let rest = &line[indent..];
        let is_open = at_end == AtEnd::Open;
        match Fence::run(rest).filter(|run| run.mark == fence.mark && indent <= INDENT_MAX) {
            None if is_open && rest.is_empty() => None,
            None => self.words(indent, Some(State::InFence(fence))),
            Some(run) => match rest.find('\n') {
                None if is_open => None,
                end => {
                    let behind = &rest[run.count..end.unwrap_or(rest.len())];
                    let closes = run.count >= fence.count && behind.trim().is_empty();
                    let next = if closes { State::Line } else { State::InFence(fence) };
                    self.words(indent + run.count, Some(next))
                }
            },
        }
    }

    /// At the beginning of a line.
    fn start(&mut self, tools: &ToolNames, at_end: AtEnd) -> Option<Piece> {
        let line = &self.text[self.at..];
        let indent = indent(line);
        let rest = &line[indent..];
        let is_open = at_end == AtEnd::Open;
        if rest.is_empty() {
            return if is_open { None } else { self.words(indent, None) };
        }
        if self.at == 0 && self.looking != Looking::Thoughts {
            if let Some(unsaid) = UNSAID.iter().find(|unsaid| line.starts_with(**unsaid)) {
                self.at += unsaid.len();
                return None;
            }
            if is_open && UNSAID.iter().any(|unsaid| unsaid.starts_with(line)) {
                return None;
            }
        }
        if rest.starts_with('\n') {
            return self.words(indent + 1, None);
        }
        if indent > INDENT_MAX || line[..indent].contains('\t') {
            return self.words(indent, Some(State::Line));
        }
        if self.speaks_of_marks && thoughts::is_mark(rest) {
            return self.words(indent, Some(State::Line));
        }
        if let Some((len, close)) = thoughts::opened(rest) {
            let begins = thoughts::begins_a_thought(&rest[len..], self.last_said, is_open)?;
            match begins {
                Begins::Surely => {
                    self.at += indent + len;
                    self.state = State::Thought(close);
                    self.has_thought = true;
                }
                Begins::IfClosed => {
                    self.searched = self.at + indent + len;
                    self.state = State::Doubted(close);
                }
                Begins::Never => self.speaks_of_marks = true,
            }
            return None;
        }
        if let Some(len) = thoughts::stray(rest) {
            self.at += indent + len;
            self.state = State::Behind;
            self.has_thought = true;
            return Some(Piece::ThoughtSoFar);
        }
        let mut marks = thoughts::openers().chain(thoughts::closers());
        if is_open && marks.any(|mark| thoughts::may_become(rest, mark)) {
            return None;
        }
        let looks_for_marks = self.looking != Looking::Thoughts;
        if is_open && looks_for_marks && marked::openers().any(|mark| mark.starts_with(rest)) {
            return None;
        }
        if looks_for_marks && marked::openers().any(|mark| rest.starts_with(mark)) {
            return self
                .block(indent, State::Line, at_end, |text| marked::read(text, tools, at_end));
        }
        let looks = self.looking == Looking::Calls;
        if looks && rest.starts_with(['{', '[']) {
            return self.block(indent, State::Line, at_end, |text| bare(text, tools, at_end));
        }
        let Some(fence) = Fence::run(rest) else {
            return self.words(indent, Some(State::Line));
        };
        if is_open && fence.count == rest.len() {
            return None;
        }
        if !fence.opens() {
            return self.words(indent, Some(State::Line));
        }
        if looks {
            return self.block(indent, State::Opening(fence), at_end, |text| {
                fence::read(text, fence, tools, at_end)
            });
        }
        self.opening(indent, fence, at_end)
    }

    /// What begins at `indent` of this line: calls, or else something that goes on as `otherwise`.
    fn block(
        &mut self,
        indent: usize,
        otherwise: State,
        at_end: AtEnd,
        read: impl FnOnce(&str) -> Outcome,
    ) -> Option<Piece> {
        let start = self.at + indent;
        if at_end == AtEnd::Open && self.text.len() < self.again_at {
            return None;
        }
        match read(&self.text[start..]) {
            Outcome::Block { end, calls, form } => {
                let span = self.at..start + end;
                self.at = span.end;
                self.state = State::Start;
                self.again_at = 0;
                Some(Piece::Block { span, calls, form })
            }
            Outcome::Unfinished => {
                let len = self.text.len() - start;
                self.again_at = if len < OFTEN_LEN { 0 } else { start + 2 * len };
                None
            }
            Outcome::No => {
                self.again_at = 0;
                match otherwise {
                    State::Opening(fence) => self.opening(indent, fence, at_end),
                    other => self.words(indent, Some(other)),
                }
            }
        }
    }

    /// A fence that holds no calls, if it is one.
    fn opening(&mut self, indent: usize, fence: Fence, at_end: AtEnd) -> Option<Piece> {
        let rest = &self.text[self.at + indent + fence.count..];
        let line = match rest.find('\n') {
            None if at_end == AtEnd::Open => return None,
            end => &rest[..end.unwrap_or(rest.len())],
        };
        // Backticks that are closed in the same line are code among words.
        let is_inline = fence.mark == '`' && line.contains('`');
        let next = if is_inline { State::Line } else { State::Opening(fence) };
        self.words(indent + fence.count, Some(next))
    }
}

/// The length of the blanks before the first word of a line.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t', '\r']).len()
}
