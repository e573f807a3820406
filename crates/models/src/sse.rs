//! Server-sent events out of bytes that come in pieces. Knows the framing, not the meaning.

use crate::line_splitter::{LineSplitter, Oversized};

/// Decodes an event stream as the HTML standard describes it, except that an event is
/// bounded: the standard lets a server fill our memory.
pub(crate) struct SseDecoder {
    lines: LineSplitter,
    event: Event,
    event_len_max: usize,
    /// A byte order mark may stand before the first line.
    at_start: bool,
}

#[derive(Default)]
struct Event {
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

impl SseDecoder {
    pub(crate) fn new(event_len_max: usize) -> Self {
        Self {
            lines: LineSplitter::new(event_len_max),
            event: Event::default(),
            event_len_max,
            at_start: true,
        }
    }

    /// Hands every event that is complete to `each`, as its name and its data. Comments, ids
    /// and events without data are passed over.
    pub(crate) fn push<E: From<Oversized>>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { lines, event, event_len_max, at_start } = self;
        lines.push(bytes, |line| {
            let line = if std::mem::take(at_start) {
                line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
            } else {
                line
            };
            if !line.is_empty() {
                return event.take_in(line, *event_len_max).map_err(E::from);
            }
            let handed = if event.has_data { each(&event.name, &event.data) } else { Ok(()) };
            event.clear();
            handed
        })
    }
}

impl Event {
    fn take_in(&mut self, line: &[u8], event_len_max: usize) -> Result<(), Oversized> {
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.data.len() + value.len() >= event_len_max {
                    return Err(Oversized);
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            _ => {}
        }
        Ok(())
    }

    /// Forgets the event and keeps its memory, unless it was an unusual one.
    fn clear(&mut self) {
        const KEPT_LEN_MAX: usize = 64 * 1024;
        self.name.clear();
        self.data.clear();
        self.data.shrink_to(KEPT_LEN_MAX);
        self.has_data = false;
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod sse_tests;
