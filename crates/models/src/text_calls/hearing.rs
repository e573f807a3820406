//! An answer in which calls and thoughts may stand as text, told apart while it comes. Nothing of
//! a call or a thought is passed on as words, and what was passed on stays said, but for words
//! that turn out to be the end of a thought whose beginning was not marked.

use super::found::{Form, Found, ToolNames};
use super::meant::{NotMeant, meant};
use super::quoted;
use super::scan::{Looking, Piece, Scanner};
use super::shown::Shown;

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Words for the person.
    Words(String),
    /// What the model thought.
    Thought(String),
    /// All words so far were thoughts.
    ThoughtSoFar,
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// What was not passed on before.
    pub heard: Vec<Heard>,
    /// The calls it asks for, or why it asks for none.
    pub calls: Result<Vec<(Found, Form)>, NotMeant>,
}

/// Words behind a call were said without knowing what it brings: they are no answer to anybody.
fn said_behind(words: &mut String) -> Option<Heard> {
    let words = std::mem::take(words);
    (!quoted::is_blank(&words)).then_some(Heard::Thought(words))
}

/// Whether a model also called tools as its provider's protocol has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Natively {
    Called,
    /// What stands in the text is all there is.
    Silent,
}

/// An answer as it comes.
pub struct Hearing {
    scanner: Scanner,
    tools: ToolNames,
    pieces: Vec<Piece>,
    /// How many of them were passed on.
    told: usize,
    /// Blanks before the first word. Where calls follow, they were nobody's words.
    lead: String,
    has_said: bool,
    has_thought: bool,
    /// Whether words wait until it is clear that they are no thoughts.
    waits: bool,
    /// Whether it began in the middle of a thought, and nobody was told.
    began_thinking: bool,
}

impl Hearing {
    pub fn new(tools: ToolNames, looking: Looking) -> Self {
        Self {
            scanner: Scanner::new(looking),
            tools,
            pieces: vec![],
            told: 0,
            lead: String::new(),
            has_said: false,
            has_thought: false,
            waits: false,
            began_thinking: false,
        }
    }

    /// It may begin in the middle of a thought.
    pub fn may_begin_thinking(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Its thoughts come by themselves.
    pub fn thinks_apart(&mut self) {
        self.waits = false;
    }

    /// Whether it turned out that it began in the middle of a thought; said once.
    pub fn began_thinking(&mut self) -> bool {
        std::mem::take(&mut self.began_thinking)
    }

    /// Takes more of it, and gives what can be passed on.
    pub fn push(&mut self, more: &str) -> Vec<Heard> {
        let pieces = self.scanner.push(more, &self.tools);
        self.take(pieces)
    }

    /// There is no more. `shown` is what the model was shown.
    pub fn finish(mut self, natively: Natively, shown: &Shown) -> Ended {
        let pieces = self.scanner.finish(&self.tools);
        let mut heard = self.take(pieces);
        let text = self.scanner.text();
        let meant = match natively {
            // Who can call as it should has no need to print.
            Natively::Called => Err(NotMeant::Nothing),
            Natively::Silent => meant(&self.pieces, text, &self.tools, shown),
        };
        let calls =
            meant.map(|calls| calls.into_iter().map(|(it, form)| (it.clone(), form)).collect());
        let mut behind: Option<String> = None;
        for piece in &self.pieces[self.told..] {
            if !matches!(piece, Piece::Words(_)) {
                heard.extend(behind.as_mut().and_then(said_behind));
            }
            match piece {
                Piece::Thought(span) => heard.push(Heard::Thought(text[span.clone()].to_owned())),
                Piece::ThoughtSoFar => {}
                Piece::Block { .. } if calls.is_ok() => {
                    behind.get_or_insert_default();
                }
                Piece::Words(span) | Piece::Block { span, .. } => match &mut behind {
                    Some(behind) => behind.push_str(&text[span.clone()]),
                    None => {
                        let lead = std::mem::take(&mut self.lead);
                        heard.push(Heard::Words(lead + &text[span.clone()]));
                    }
                },
            }
        }
        heard.extend(behind.as_mut().and_then(said_behind));
        if calls.is_err() && !self.lead.is_empty() {
            heard.push(Heard::Words(self.lead));
        }
        Ended { heard, calls }
    }

    fn take(&mut self, pieces: Vec<Piece>) -> Vec<Heard> {
        let mut heard = vec![];
        for piece in pieces {
            match piece {
                Piece::ThoughtSoFar => self.thought_so_far(&mut heard),
                Piece::Thought(_) => {
                    self.has_thought = true;
                    self.waits = false;
                    self.pieces.push(piece);
                }
                other => self.pieces.push(other),
            }
        }
        self.pass_on(&mut heard);
        heard
    }

    /// What came so far was thought, calls included: nobody has decided on them.
    fn thought_so_far(&mut self, heard: &mut Vec<Heard>) {
        // A mark too many says nothing.
        if std::mem::replace(&mut self.has_thought, true) {
            return;
        }
        self.waits = false;
        let was_said = std::mem::take(&mut self.has_said);
        if was_said {
            heard.push(Heard::ThoughtSoFar);
        }
        let text = self.scanner.text();
        let mut thought = std::mem::take(&mut self.lead);
        for piece in self.pieces.drain(..).skip(self.told) {
            if let Piece::Words(span) | Piece::Block { span, .. } = piece {
                thought.push_str(&text[span]);
            }
        }
        self.told = 0;
        self.began_thinking = was_said || !thought.trim().is_empty();
        if was_said && !thought.is_empty() || !thought.trim().is_empty() {
            heard.push(Heard::Thought(thought));
        }
    }

    fn pass_on(&mut self, heard: &mut Vec<Heard>) {
        let text = self.scanner.text();
        while let Some(piece) = self.pieces.get(self.told) {
            match piece {
                Piece::Words(_) if self.waits => break,
                Piece::Words(span) => {
                    let words = &text[span.clone()];
                    if !self.has_said && words.trim().is_empty() {
                        self.lead.push_str(words);
                    } else {
                        self.has_said = true;
                        let words = std::mem::take(&mut self.lead) + words;
                        match heard.last_mut() {
                            Some(Heard::Words(before)) => before.push_str(&words),
                            _ => heard.push(Heard::Words(words)),
                        }
                    }
                }
                Piece::Thought(span) => heard.push(Heard::Thought(text[span.clone()].to_owned())),
                // From here on everything waits for the end.
                Piece::Block { .. } => break,
                Piece::ThoughtSoFar => {}
            }
            self.told += 1;
        }
    }
}
