//! The stream of events, taken apart: lines as they come, in pieces of any size. Pure.
//!
//! An event is some lines and an empty one: `id:…`, `event:…`, `data:…`. A line that begins with a
//! colon says nothing but that somebody is there. An event that is longer than it may be is left
//! out, and what follows is heard.

/// The longest event that is read. One holds a text and names of files, never files.
const EVENT_LEN_MAX: usize = 1024 * 1024;
/// The longest id that is kept.
const ID_LEN_MAX: usize = 200;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamEvent {
    /// The server's name for it, where it has some: it can go on behind it.
    pub(super) id: Option<Box<str>>,
    pub(super) data: Vec<u8>,
}

/// What of the stream has no end yet.
#[derive(Default)]
pub(super) struct StreamParser {
    line: Vec<u8>,
    data: Vec<u8>,
    id: Option<Box<str>>,
    kind: Vec<u8>,
    has_data: bool,
    is_too_long: bool,
    after_return: bool,
}

impl StreamParser {
    /// The events that a piece completes, in order.
    pub(super) fn push(&mut self, piece: &[u8]) -> Vec<StreamEvent> {
        let mut events = vec![];
        for &byte in piece {
            let was_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if was_return => {}
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    events.extend(self.end_of_line());
                }
                byte if self.line.len() + self.data.len() < EVENT_LEN_MAX => self.line.push(byte),
                _ => self.is_too_long = true,
            }
        }
        events
    }

    fn end_of_line(&mut self) -> Option<StreamEvent> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.end_of_event();
        }
        let (name, value) = match line.iter().position(|&byte| byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (&line[..], &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.kind = value.to_vec(),
            b"id" if value.len() <= ID_LEN_MAX => {
                let id = std::str::from_utf8(value).ok();
                // It goes into a header.
                let id =
                    id.filter(|id| !id.is_empty() && id.bytes().all(|it| it.is_ascii_graphic()));
                self.id = id.map(Into::into);
            }
            _ => {}
        }
        None
    }

    fn end_of_event(&mut self) -> Option<StreamEvent> {
        let data = std::mem::take(&mut self.data);
        let kind = std::mem::take(&mut self.kind);
        let id = self.id.take();
        let is_too_long = std::mem::take(&mut self.is_too_long);
        let is_there = std::mem::take(&mut self.has_data) && !is_too_long;
        let is_ours = kind.is_empty() || kind == b"receive" || kind == b"message";
        if is_too_long {
            tracing::warn!(
                "an event of signal-cli that is longer than {EVENT_LEN_MAX} bytes was left out"
            );
        }
        (is_there && is_ours).then_some(StreamEvent { id, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&[u8]]) -> Vec<(Option<String>, String)> {
        let mut parser = StreamParser::default();
        let all = pieces.iter().flat_map(|piece| parser.push(piece)).collect::<Vec<_>>();
        let shown = |event: StreamEvent| {
            (event.id.map(String::from), String::from_utf8(event.data).unwrap())
        };
        all.into_iter().map(shown).collect()
    }

    #[test]
    fn events_come_whole_wherever_the_pieces_end() {
        let stream =
            b"event:receive\ndata:{\"a\":1}\n\n:\nid: 7\nevent: receive\ndata: x\ndata: y\n\n\
            event:other\ndata:no\n\n:\n\ndata:last\r\n\r\nid:8\n\ndata:cut";
        let expected = [
            (None, "{\"a\":1}".to_owned()),
            (Some("7".to_owned()), "x\ny".to_owned()),
            (None, "last".to_owned()),
        ];
        assert_eq!(heard(&[stream]), expected);
        for at in 0..stream.len() {
            assert_eq!(heard(&[&stream[..at], &stream[at..]]), expected, "{at}");
        }
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(heard(&single), expected);
    }

    #[test]
    fn an_event_without_end_takes_no_room_and_hides_nothing() {
        let long =
            [b"data:".to_vec(), vec![b'x'; EVENT_LEN_MAX + 9], b"\n\ndata:next\n\n".to_vec()];
        let mut parser = StreamParser::default();
        let mut events = vec![];
        for piece in long {
            events.extend(parser.push(&piece));
            assert!(parser.line.len() + parser.data.len() <= EVENT_LEN_MAX);
        }
        assert_eq!(events, [StreamEvent { id: None, data: b"next".to_vec() }]);
        // The same in many lines.
        let mut parser = StreamParser::default();
        for _ in 0..3 {
            parser.push(&[&b"data:"[..], &vec![b'x'; EVENT_LEN_MAX / 2], b"\n"].concat());
        }
        assert!(parser.data.len() <= EVENT_LEN_MAX);
        assert_eq!(parser.push(b"\ndata:next\n\n").len(), 1);
    }

    #[test]
    fn an_id_that_no_header_can_carry_is_none() {
        assert_eq!(heard(&[b"id:a b\ndata:x\n\n"]), [(None, "x".to_owned())]);
        let long = [b"id:".to_vec(), vec![b'1'; ID_LEN_MAX + 1], b"\ndata:x\n\n".to_vec()].concat();
        assert_eq!(heard(&[&long]), [(None, "x".to_owned())]);
    }
}
