//! Reads a command line as a shell does, and hands every simple command in it to the judge.
//!
//! Nothing is built: lists, pipes, loops and functions are walked through, since what
//! counts is which commands there are and what feeds them, not in which order they run.

mod redirect;
mod reserved;

use super::judge::{self, Around, Simple};
use super::rule::DangerRule;
use super::word::{self, Arg, Piece};
use super::{DEPTH_MAX, Worst, evaluate};

/// Why reading stopped before the end. What was read by then was judged.
pub(super) struct Stop(pub(super) DangerRule);

const UNREADABLE: Stop = Stop(DangerRule::Unreadable);

/// What a letter of a value takes: each can become an argument of its own.
pub(super) const VALUE_WORK: usize = 8;

/// Most letters of all that one word stands for: a few braces stand for millions of words.
const EXPANDED_MAX: usize = 64 * 1024;

/// A compound command that has begun.
struct Group {
    kind: Kind,
    /// Whether something is piped into it, or into one around it.
    is_fed: bool,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Paren,
    Case,
    Loop,
    Other,
}

/// How a simple command ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Into a pipe.
    Pipe,
    /// In the background.
    Background,
    /// Otherwise.
    Other,
    /// At the end of a line, which means nothing after a pipe.
    Line,
}

pub(super) struct Reader<'w> {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
    pub(super) around: Around,
    worst: &'w mut Worst,
    /// What the commands print that the words of this one read as files.
    pub(super) files: Vec<String>,
}

/// What is being read between two brackets.
struct List {
    simple: Simple,
    start: usize,
    groups: Vec<Group>,
    /// Functions being defined, and how many groups there were around each.
    functions: Vec<(String, usize)>,
    is_fed: bool,
    feed: Option<String>,
    /// Whether `exec` has led something in, for all that follows.
    is_led: bool,
    /// How many commands there were, and what the last one prints.
    count: usize,
    printed: Option<String>,
}

impl<'w> Reader<'w> {
    pub(super) fn new(text: &str, around: Around, worst: &'w mut Worst) -> Self {
        Self { text: text.chars().collect(), at: 0, around, worst, files: Vec::new() }
    }

    /// Notes work that is about to be done.
    pub(super) fn spend(&mut self, work: usize) -> Result<(), Stop> {
        if self.worst.spend(work) { Ok(()) } else { Err(Stop(DangerRule::TooComplex)) }
    }

    /// Reads what is inside of something that can be inside of itself.
    pub(super) fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        if self.around.depth > DEPTH_MAX {
            return Err(Stop(DangerRule::TooComplex));
        }
        self.around.depth += 1;
        let done = read(self);
        self.around.depth -= 1;
        done
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn starts(&self, with: &str) -> bool {
        with.chars().enumerate().all(|(ahead, it)| self.peek(ahead) == Some(it))
    }

    fn blanks(&mut self) {
        loop {
            match self.peek(0) {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.peek(1) == Some('\n') => self.at += 2,
                _ => return,
            }
        }
    }

    /// Reads commands up to `close`, or to the end of the text; what they print, if that is
    /// one command and known.
    pub(super) fn list(&mut self, close: Option<char>) -> Result<Option<String>, Stop> {
        if self.around.depth > DEPTH_MAX {
            return Err(Stop(DangerRule::TooComplex));
        }
        let mut list = List {
            simple: Simple::default(),
            start: self.at,
            groups: Vec::new(),
            functions: Vec::new(),
            is_fed: self.around.is_fed,
            feed: self.around.feed.take(),
            is_led: false,
            count: 0,
            printed: None,
        };
        loop {
            self.blanks();
            if list.simple.is_empty() {
                list.start = self.at;
                // What its words substitute reads what it reads itself.
                self.around.is_fed = list.is_fed();
            }
            let Some(next) = self.peek(0) else {
                self.finish(&mut list, End::Other)?;
                return if close.is_none() { Ok(list.printed()) } else { Err(UNREADABLE) };
            };
            match next {
                '\n' => self.ended(&mut list, 1, End::Line)?,
                '#' => {
                    while self.peek(0).is_some_and(|it| it != '\n') {
                        self.at += 1;
                    }
                }
                ';' => {
                    let is_case = self.starts(";;") || self.starts(";&");
                    let len = if self.starts(";;&") { 3 } else { 1 + usize::from(is_case) };
                    self.ended(&mut list, len, End::Other)?;
                    if is_case {
                        self.pattern(&mut list)?;
                    }
                }
                '&' if self.starts("&>") => self.redirect(&mut list)?,
                '&' if self.starts("&&") => self.ended(&mut list, 2, End::Other)?,
                '&' => self.ended(&mut list, 1, End::Background)?,
                '|' if self.starts("||") => self.ended(&mut list, 2, End::Other)?,
                '|' if self.starts("|&") => self.ended(&mut list, 2, End::Pipe)?,
                '|' => self.ended(&mut list, 1, End::Pipe)?,
                '(' => self.bracket(&mut list)?,
                ')' => {
                    let inner = list.groups.iter().rposition(|it| it.kind == Kind::Paren);
                    self.finish(&mut list, End::Other)?;
                    self.at += 1;
                    match inner {
                        Some(at) => list.groups.truncate(at),
                        None if close == Some(')') => return Ok(list.printed()),
                        None => return Err(UNREADABLE),
                    }
                    list.close_functions();
                }
                '<' | '>' if !matches!(self.peek(1), Some('(')) => self.redirect(&mut list)?,
                '0'..='9' if self.is_numbered_redirect() => {
                    while self.peek(0).is_some_and(|it| it.is_ascii_digit()) {
                        self.at += 1;
                    }
                    self.redirect(&mut list)?;
                }
                _ => self.next_word(&mut list)?,
            }
        }
    }

    fn is_numbered_redirect(&self) -> bool {
        let digits = (0..).take_while(|at| self.peek(*at).is_some_and(|it| it.is_ascii_digit()));
        matches!(self.peek(digits.count()), Some('<' | '>'))
    }

    fn ended(&mut self, list: &mut List, len: usize, end: End) -> Result<(), Stop> {
        self.finish(list, end)?;
        self.at += len;
        Ok(())
    }

    /// Judges the command that was read, and notes what the next one is fed with.
    fn finish(&mut self, list: &mut List, end: End) -> Result<(), Stop> {
        let mut simple = std::mem::take(&mut list.simple);
        if simple.is_empty() && end == End::Line {
            return Ok(());
        }
        self.spend(1 + list.groups.len() + list.functions.len())?;
        if !simple.is_empty() {
            simple.source = self.text[list.start..self.at].iter().collect();
            simple.is_fed = list.is_fed() || simple.is_led;
            simple.feed = list.feed.take();
            simple.files = std::mem::take(&mut self.files);
            let name = simple.args.first().map(|arg| arg.text.clone()).unwrap_or_default();
            let multiplies = matches!(end, End::Pipe | End::Background) || list.is_fed();
            let is_led = simple.is_led || !simple.bodies.is_empty();
            list.is_led |= is_led && name == "exec" && simple.args.len() == 1;
            if multiplies && list.functions.iter().any(|(function, _)| *function == name) {
                self.worst.add(DangerRule::ForkBomb, &simple.source);
            }
            // What a loop reads is another thing each time.
            if name == "read" && list.groups.iter().any(|it| it.kind == Kind::Loop) {
                let names = simple.args.iter().skip(1);
                names.for_each(|arg| self.around.set_many(arg.text.clone()));
            }
            self.led(&simple, is_led);
            list.count += 1;
            list.printed = judge::simple(&simple, &mut self.around, self.worst);
        } else {
            list.printed = None;
        }
        list.is_fed = end == End::Pipe;
        list.feed = if list.is_fed { list.printed.clone() } else { None };
        Ok(())
    }

    /// Judges what is led into a group behind its end: a command in it may run that.
    fn led(&mut self, simple: &Simple, is_led: bool) {
        if !is_led || !simple.args.is_empty() || !self.worst.is_hungry {
            return;
        }
        let texts = simple.bodies.iter().map(|(body, _)| body).chain(&simple.files);
        for text in texts {
            judge::script(text, self.around.inside(), self.worst);
        }
        self.worst.add(DangerRule::PipedCode, &simple.source);
    }

    /// `(`: a function's, a calculation's, or of a list of commands.
    fn bracket(&mut self, list: &mut List) -> Result<(), Stop> {
        match list.simple.args.as_slice() {
            [] if list.simple.assignments.is_empty() && self.starts("((") => {
                self.at += 2;
                self.calculation()
            }
            [] => {
                self.at += 1;
                list.open(Kind::Paren);
                Ok(())
            }
            [name] => {
                let name = name.text.clone();
                self.at += 1;
                self.blanks();
                if self.peek(0) != Some(')') {
                    return Err(UNREADABLE);
                }
                self.at += 1;
                list.simple = Simple::default();
                list.functions.push((name, list.groups.len()));
                Ok(())
            }
            _ => Err(UNREADABLE),
        }
    }

    /// The rest of `((…))`: only what is substituted in it is a command.
    fn calculation(&mut self) -> Result<(), Stop> {
        let mut level = 2;
        while level > 0 {
            match self.peek(0) {
                None => return Err(UNREADABLE),
                Some('(') => {
                    level += 1;
                    self.at += 1;
                }
                Some(')') => {
                    level -= 1;
                    self.at += 1;
                }
                Some('$' | '`') => {
                    let pieces = self.expansion(true)?;
                    self.calculated(&pieces)?;
                }
                Some(it) if it.is_ascii_alphabetic() || it == '_' => self.calculated_name()?,
                Some(_) => self.at += 1,
            }
        }
        Ok(())
    }

    /// Judges a name in a calculation: its value is calculated too.
    pub(super) fn calculated_name(&mut self) -> Result<(), Stop> {
        let name = self.name();
        let value = self.around.get(&name).flatten().map(str::to_owned);
        value.map_or(Ok(()), |value| self.evaluated(&value))
    }

    /// Judges what was substituted in a calculation.
    pub(super) fn calculated(&mut self, pieces: &[Piece]) -> Result<(), Stop> {
        for piece in pieces {
            if let Piece::Text { text, is_value: true, .. } = piece {
                self.evaluated(text)?;
            }
        }
        Ok(())
    }

    pub(super) fn evaluated(&mut self, text: &str) -> Result<(), Stop> {
        self.spend(text.len())?;
        if evaluate::is_run(text) {
            judge::substituted(text, self.around.inside(), self.worst);
        }
        Ok(())
    }

    /// Judges a text that becomes a prompt.
    pub(super) fn prompted(&mut self, name: &str) {
        match self.around.get(name) {
            Some(Some(text)) => {
                let text = text.to_owned();
                judge::substituted(&text, self.around.inside(), self.worst);
            }
            _ => self.worst.add(DangerRule::Dynamic, name),
        }
    }

    /// A word: a reserved one, an assignment, or the next argument.
    fn next_word(&mut self, list: &mut List) -> Result<(), Stop> {
        let pieces = self.word()?;
        if list.simple.args.is_empty() {
            if let [Piece::Text { text, is_quoted: false, is_value: false }] = pieces.as_slice()
                && list.simple.assignments.is_empty()
                && self.reserved(list, text)?
            {
                return Ok(());
            }
            if let Some((name, value)) = assignment(&pieces) {
                list.simple.assignments.push((name, value));
                return Ok(());
            }
        }
        list.simple.args.extend(self.args(&pieces)?);
        // A word that is nothing but an empty value is no word; the command still is one.
        list.simple.has_words = true;
        Ok(())
    }

    /// Blanks, ends of lines and comments.
    fn space(&mut self) {
        loop {
            self.blanks();
            match self.peek(0) {
                Some('\n') => self.at += 1,
                Some('#') => {
                    while self.peek(0).is_some_and(|it| it != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// A word as far as it is known.
    fn plain_word(&mut self) -> Result<String, Stop> {
        let before = self.at;
        let pieces = self.word()?;
        if self.at == before {
            return Err(UNREADABLE);
        }
        Ok(self.args(&pieces)?.into_iter().map(|arg| arg.text).collect())
    }

    /// The arguments that a word becomes.
    fn args(&mut self, pieces: &[Piece]) -> Result<Vec<Arg>, Stop> {
        let mut left = EXPANDED_MAX;
        let args = word::args(pieces, &mut left);
        self.spend((EXPANDED_MAX - left).saturating_mul(VALUE_WORK))?;
        args.ok_or(Stop(DangerRule::TooComplex))
    }

    /// Judges the text of a command inside this one.
    pub(super) fn inner(&mut self, text: &str) {
        judge::script(text, self.around.inside(), self.worst);
    }
}

impl List {
    fn open(&mut self, kind: Kind) {
        self.groups.push(Group { kind, is_fed: self.is_fed() });
        (self.is_fed, self.feed) = (false, None);
    }

    /// Whether something is piped into the next command, or into a group around it.
    fn is_fed(&self) -> bool {
        self.is_fed || self.is_led || self.groups.last().is_some_and(|group| group.is_fed)
    }

    fn close_functions(&mut self) {
        let open = self.groups.len();
        self.functions.retain(|(_, groups)| *groups < open);
    }

    fn printed(self) -> Option<String> {
        if self.count == 1 { self.printed } else { None }
    }
}

/// `NAME=value`, with the value as far as it is known.
fn assignment(pieces: &[Piece]) -> Option<(String, Option<String>)> {
    let Piece::Text { text, is_quoted: false, is_value: false } = pieces.first()? else {
        return None;
    };
    let (name, first) = text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    let is_name = !name.is_empty()
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
        && !name.starts_with(|it: char| it.is_ascii_digit());
    if !is_name {
        return None;
    }
    let mut value = Some(first.to_owned());
    for piece in &pieces[1..] {
        match (piece, &mut value) {
            (Piece::Text { text, .. }, Some(value)) => value.push_str(text),
            _ => value = None,
        }
    }
    let is_whole = text.contains("+=") || text.split('=').next().is_some_and(|it| it.contains('['));
    Some((name.to_owned(), value.filter(|_| !is_whole)))
}

/// An argument nobody knows.
pub(super) fn unknown() -> Arg {
    Arg { is_open: true, ..Arg::default() }
}
