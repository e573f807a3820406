//! Server-sent events out of bytes, wherever the pieces end.

/// Longest event taken in. A whole reply is an event, so it is generous.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One event as it came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Its type.
    pub event: String,
    pub data: String,
}

/// An event was longer than anything that is meant.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

/// Reads events.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    frame: Frame,
}

impl Frames {
    /// Takes more bytes; the events that are whole now.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, TooLong> {
        self.bytes.extend_from_slice(bytes);
        let mut whole = vec![];
        let mut start = 0;
        while let Some(length) = self.bytes[start..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.bytes[start..start + length]).into_owned();
            start += length + 1;
            self.line(line.trim_end_matches('\r'), &mut whole);
        }
        self.bytes.drain(..start);
        let held = self.bytes.len() + self.frame.data.len();
        if held > EVENT_BYTES_MAX { Err(TooLong) } else { Ok(whole) }
    }

    fn line(&mut self, line: &str, whole: &mut Vec<Frame>) {
        if line.is_empty() {
            let frame = std::mem::take(&mut self.frame);
            if frame != Frame::default() {
                whole.push(frame);
            }
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => self.frame.event = value.to_owned(),
            "data" => {
                if !self.frame.data.is_empty() {
                    self.frame.data.push('\n');
                }
                self.frame.data.push_str(value);
            }
            // Comments keep the connection open; other fields are not for us.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn the_same_events_come_out_wherever_the_pieces_end() {
        let source = ": hello\n\nevent: text.delta\ndata: {\"text\":\"é\"}\n\nevent:x\r\ndata: a\r\ndata: b\r\n\r\ndata: unfinished\n";
        let all = Frames::default().push(source.as_bytes()).unwrap();
        let frame = |event: &str, data: &str| Frame { event: event.into(), data: data.into() };
        assert_eq!(all, [frame("text.delta", "{\"text\":\"é\"}"), frame("x", "a\nb")]);
        for size in 1..source.len() {
            let mut frames = Frames::default();
            let pieces = source.as_bytes().chunks(size);
            let found: Vec<Frame> = pieces.flat_map(|piece| frames.push(piece).unwrap()).collect();
            assert_eq!(found, all, "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut frames = Frames::default();
        let piece = vec![b'x'; EVENT_BYTES_MAX / 4];
        assert!((0..5).any(|_| frames.push(&piece).is_err()));
    }
}
