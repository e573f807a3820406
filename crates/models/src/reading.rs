//! From the body of an answer to events: bounds, framing, and the end. What the pieces mean
//! is known by the parser of each provider.

use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelFault};
use crate::event::{Event, StopReason};
use crate::line_splitter::{LineSplitter, Oversized};
use crate::provider::{AnswerStream, EventSource, More};
use crate::repetition::Circles;
use crate::sse::SseDecoder;
use crate::surrogates::{Joining, without_halves};
use async_trait::async_trait;
use insula_wire::Body;
use std::collections::VecDeque;
use std::sync::Arc;

/// The longest single event. Deltas have a few hundred bytes, but a picture in an answer
/// comes in one piece.
pub const EVENT_LEN_MAX: usize = 4 * 1024 * 1024;
/// The longest answer, as bytes on the wire. The largest windows give about 128,000 tokens,
/// each at most some 300 bytes in its event, with most of it far below.
pub const ANSWER_LEN_MAX: usize = 48 * 1024 * 1024;
/// The longest answer that comes as one document, which has to be held as a whole.
pub const DOCUMENT_LEN_MAX: usize = 16 * 1024 * 1024;
/// How much of an answer that makes no sense is repeated in the error, before cleaning.
const HEAD_LEN_MAX: usize = 512;

/// How an answer is cut into events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events, or one JSON document from servers that can't stream.
    Sse,
    /// One JSON document a line.
    JsonLines,
}

/// Whether the answer goes on after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It goes on.
    On,
    /// That was the last one.
    End,
}

/// Knows what the pieces of one provider's answers mean. One value an answer.
pub(crate) trait Parser: Send {
    /// One event with its data, or one line.
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Event>) -> Result<Flow, ModelFault>;

    /// A whole answer in one document.
    fn document(&mut self, body: &[u8], out: &mut VecDeque<Event>) -> Result<(), ModelFault>;

    /// After the last event or at the end of the body: says `Done`, or that it is cut off.
    fn end(&mut self, out: &mut VecDeque<Event>) -> Result<(), ModelFault>;
}

enum Decoder {
    /// No byte has come that tells.
    Undecided,
    Sse(SseDecoder),
    JsonLines(LineSplitter),
    Document(Vec<u8>),
}

struct Reading<P> {
    endpoint: Endpoint,
    model: Arc<str>,
    /// `None` after the end.
    body: Option<Body>,
    pieces: Pieces<P>,
    read_len: usize,
    circles: Circles,
}

/// What the pieces of an answer come to, wherever they were cut.
pub(crate) struct Pieces<P> {
    decoder: Decoder,
    parser: P,
    /// Signs of which half stands in one event and half in the next.
    joining: Joining,
    /// The first bytes, to show when nothing can be made of them.
    head: Vec<u8>,
    event_seen: bool,
}

impl From<Oversized> for ModelFault {
    fn from(_: Oversized) -> Self {
        let mib = EVENT_LEN_MAX / (1024 * 1024);
        Self::Garbage { what: format!("an event of more than {mib} MiB") }
    }
}

/// The events of `body`, as `parser` understands them.
pub(crate) fn read<P: Parser + 'static>(
    endpoint: &Endpoint,
    model: &Arc<str>,
    body: Body,
    framing: Framing,
    parser: P,
) -> AnswerStream {
    AnswerStream::new(Box::new(Reading {
        endpoint: endpoint.clone(),
        model: model.clone(),
        body: Some(body),
        pieces: Pieces::new(framing, parser),
        read_len: 0,
        circles: Circles::default(),
    }))
}

#[async_trait]
impl<P: Parser> EventSource for Reading<P> {
    async fn fill(&mut self, ready: &mut VecDeque<Event>) -> Result<More, ModelError> {
        let filled = self.advance(ready).await;
        filled.map_err(|fault| self.endpoint.error(&self.model, fault))
    }
}

impl<P: Parser> Reading<P> {
    async fn advance(&mut self, ready: &mut VecDeque<Event>) -> Result<More, ModelFault> {
        let Some(body) = self.body.as_mut() else { return Ok(More::No) };
        let Some(piece) = body.piece().await? else {
            self.body = None;
            self.pieces.at_end(ready)?;
            return Ok(More::No);
        };
        self.read_len += piece.len();
        if self.read_len > ANSWER_LEN_MAX {
            let mib = ANSWER_LEN_MAX / (1024 * 1024);
            return Err(ModelFault::Garbage { what: format!("an answer of more than {mib} MiB") });
        }
        let heard = ready.len();
        let flow = self.pieces.decode(&piece, ready)?;
        let mut new = ready.iter().skip(heard);
        if let Some(at) = new.position(|event| self.circles.hear(event)) {
            // Dropping the body tells the server that nobody listens any more.
            self.body = None;
            ready.truncate(heard + at + 1);
            ready.push_back(Event::Done(StopReason::Repeating));
            return Ok(More::No);
        }
        if flow == Flow::On {
            return Ok(More::Yes);
        }
        self.pieces.end(ready)?;
        if let Some(body) = self.body.take() {
            body.finish().await;
        }
        Ok(More::No)
    }
}

impl<P: Parser> Pieces<P> {
    pub(crate) fn new(framing: Framing, parser: P) -> Self {
        let decoder = match framing {
            Framing::Sse => Decoder::Undecided,
            Framing::JsonLines => Decoder::JsonLines(LineSplitter::new(EVENT_LEN_MAX)),
        };
        Self { decoder, parser, joining: Joining::default(), head: vec![], event_seen: false }
    }

    /// The next piece.
    pub(crate) fn decode(
        &mut self,
        piece: &[u8],
        ready: &mut VecDeque<Event>,
    ) -> Result<Flow, ModelFault> {
        if !self.event_seen {
            let room = HEAD_LEN_MAX.saturating_sub(self.head.len());
            self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        let mut piece = piece;
        if matches!(self.decoder, Decoder::Undecided) {
            // Blanks before the first byte that tells are passed over, in whichever piece.
            piece = piece.trim_ascii_start();
            // An event stream never begins with a brace, and a JSON answer always does.
            match piece.first() {
                Some(b'{') => self.decoder = Decoder::Document(vec![]),
                Some(_) => self.decoder = Decoder::Sse(SseDecoder::new(EVENT_LEN_MAX)),
                None => return Ok(Flow::On),
            }
        }
        let Self { decoder, parser, joining, event_seen, .. } = self;
        let mut flow = Flow::On;
        let mut each = |data: &[u8]| {
            // What comes behind the end is nobody's business.
            if flow == Flow::On && !data.trim_ascii().is_empty() {
                *event_seen = true;
                for data in joining.next(data).into_iter().flatten() {
                    flow = parser.event(&data, ready)?;
                }
            }
            Ok::<(), ModelFault>(())
        };
        match decoder {
            Decoder::Undecided => {}
            Decoder::Sse(sse) => sse.push(piece, |_, data| each(data))?,
            Decoder::JsonLines(lines) => lines.push(piece, each)?,
            Decoder::Document(document) => {
                if document.len() + piece.len() > DOCUMENT_LEN_MAX {
                    let mib = DOCUMENT_LEN_MAX / (1024 * 1024);
                    return Err(ModelFault::Garbage {
                        what: format!("a document of more than {mib} MiB"),
                    });
                }
                document.extend_from_slice(piece);
            }
        }
        Ok(flow)
    }

    /// The last event was among them.
    pub(crate) fn end(&mut self, ready: &mut VecDeque<Event>) -> Result<(), ModelFault> {
        self.parser.end(ready)
    }

    /// There are no more.
    pub(crate) fn at_end(&mut self, ready: &mut VecDeque<Event>) -> Result<(), ModelFault> {
        match &mut self.decoder {
            Decoder::Document(document) => {
                let document = std::mem::take(document);
                return self.parser.document(&without_halves(document), ready);
            }
            Decoder::JsonLines(lines) => {
                // The last line may lack its end, or be half of one.
                let rest = lines.rest();
                let whole = serde_json::from_slice::<serde::de::IgnoredAny>(&rest).is_ok();
                if whole {
                    self.event_seen = true;
                    for data in self.joining.next(&rest).into_iter().flatten() {
                        self.parser.event(&data, ready)?;
                    }
                }
            }
            Decoder::Undecided | Decoder::Sse(_) => {}
        }
        if let Some(rest) = self.joining.rest() {
            self.parser.event(&rest, ready)?;
        }
        if !self.event_seen && looks_foreign(&self.head) {
            let head = String::from_utf8_lossy(&self.head);
            return Err(ModelFault::Garbage { what: format!("no event in it: {head}") });
        }
        self.parser.end(ready)
    }
}

/// Whether these bytes are something else than the beginning of an event stream.
fn looks_foreign(head: &[u8]) -> bool {
    let head = head.trim_ascii();
    !head.is_empty()
        && ![b"data".as_slice(), b"event", b"id:", b"retry", b":", b"\xef\xbb\xbf", b"{"]
            .iter()
            .any(|begin| head.starts_with(begin))
}

/// The error for data that is not what the provider's protocol says.
pub(crate) fn garbage(error: &serde_json::Error, data: &[u8]) -> ModelFault {
    let head = String::from_utf8_lossy(&data[..data.len().min(HEAD_LEN_MAX)]);
    ModelFault::Garbage { what: format!("{error} in: {head}") }
}
