//! Lines out of bytes that come in pieces, whatever the pieces.

/// A line, or an event made of lines, is longer than its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Oversized;

/// Finds the ends of lines: LF, CR, or both.
pub(crate) struct LineSplitter {
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// The last byte was CR: an LF that follows belongs to it.
    after_return: bool,
    line_len_max: usize,
}

impl LineSplitter {
    pub(crate) fn new(line_len_max: usize) -> Self {
        Self { partial: vec![], after_return: false, line_len_max }
    }

    /// Hands every line that is complete to `each`, without its end. Stops at the first error.
    pub(crate) fn push<E: From<Oversized>>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, rest) = (&bytes[..end], &bytes[end..]);
            if self.partial.len() + line.len() > self.line_len_max {
                return Err(Oversized.into());
            }
            if self.partial.is_empty() {
                each(line)?;
            } else {
                self.partial.extend_from_slice(line);
                let line = std::mem::take(&mut self.partial);
                each(&line)?;
            }
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_return = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        if self.partial.len() + bytes.len() > self.line_len_max {
            return Err(Oversized.into());
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    /// The line that has no end, at the end of everything.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.partial)
    }
}
