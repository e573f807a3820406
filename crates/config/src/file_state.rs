//! What one file says, or why it says nothing. Opens none.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FileState {
    /// It does not exist.
    #[default]
    Absent,
    /// Its text.
    Text(Arc<str>),
    /// It exists and can't be used; why.
    Unreadable(String),
}

impl FileState {
    /// Whether it is a text without content: nothing but blank lines and comments.
    pub fn is_blank(&self) -> bool {
        let says_nothing = |line: &str| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#') || matches!(line, "---" | "...")
        };
        matches!(self, Self::Text(text) if text.lines().all(says_nothing))
    }

    /// Whether it says something.
    pub fn has_content(&self) -> bool {
        matches!(self, Self::Text(_)) && !self.is_blank()
    }
}

/// The text of an open file, or why it is none.
pub(crate) fn text_of(file: File, bytes_max: u64) -> FileState {
    let text = match file.metadata() {
        Err(error) => Err(format!("can't be read: {error}")),
        Ok(kind) if !kind.is_file() => Err("is not a regular file".to_owned()),
        Ok(_) => read_bounded(file, bytes_max),
    };
    text.map_or_else(FileState::Unreadable, |text| FileState::Text(text.into()))
}

/// The text of a file, if it has no more bytes than these.
pub(crate) fn read_bounded(file: File, bytes_max: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("can't be read: {error}"))?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("is larger than {bytes_max} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("is not UTF-8 text, as line {line} shows")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
