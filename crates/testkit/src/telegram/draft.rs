//! What people on the fake platform send.

use serde_json::{Map, Value, json};

/// Somebody on the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: i64,
    /// What people call them.
    pub name: String,
    /// Whether it is a program.
    pub is_bot: bool,
}

impl User {
    /// A person.
    pub fn new(id: i64, name: &str) -> Self {
        Self { id, name: name.to_owned(), is_bot: false }
    }

    pub(super) fn json(&self) -> Value {
        json!({"id": self.id, "is_bot": self.is_bot, "first_name": self.name})
    }
}

/// A message on its way in.
#[derive(Debug, Clone)]
pub struct Draft {
    pub(super) from: User,
    pub(super) text: String,
    pub(super) reply_to: Option<i64>,
    /// Field, media type, name, content.
    pub(super) file: Option<(&'static str, String, String, Vec<u8>)>,
    pub(super) fields: Map<String, Value>,
    pub(super) is_anonymous: bool,
}

impl Draft {
    /// Somebody says something.
    pub fn new(from: &User, text: &str) -> Self {
        Self {
            from: from.clone(),
            text: text.to_owned(),
            reply_to: None,
            file: None,
            fields: Map::new(),
            is_anonymous: false,
        }
    }

    /// As a reply to a message of the same chat.
    #[must_use]
    pub fn reply_to(mut self, message: i64) -> Self {
        self.reply_to = Some(message);
        self
    }

    #[must_use]
    pub fn photo(self, content: &[u8]) -> Self {
        self.with_file("photo", "image/jpeg", "", content)
    }

    /// With a voice memo.
    #[must_use]
    pub fn voice(self, content: &[u8]) -> Self {
        self.with_file("voice", "audio/ogg", "", content)
    }

    /// With a file.
    #[must_use]
    pub fn document(self, name: &str, media_type: &str, content: &[u8]) -> Self {
        self.with_file("document", media_type, name, content)
    }

    /// As a part of an album.
    #[must_use]
    pub fn album(self, group: &str) -> Self {
        self.with("media_group_id", json!(group))
    }

    /// In the name of the chat, as an anonymous admin.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.is_anonymous = true;
        self
    }

    /// With any other field of a message.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.fields.insert(field.to_owned(), value);
        self
    }

    fn with_file(mut self, field: &'static str, kind: &str, name: &str, content: &[u8]) -> Self {
        self.file = Some((field, kind.to_owned(), name.to_owned(), content.to_vec()));
        self
    }
}

/// The marks the platform puts on a text: commands and names.
pub(super) fn entities(text: &str) -> Vec<Value> {
    let mut found = vec![];
    let mut unit = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let marked = match word.chars().next() {
            Some('@') => {
                let end = word[1..].find(|c| !is_name(c)).map_or(word.len(), |at| at + 1);
                (end > 3).then_some(("mention", end))
            }
            Some('/') => {
                let end =
                    word[1..].find(|c| !is_name(c) && c != '@').map_or(word.len(), |at| at + 1);
                (end > 1).then_some(("bot_command", end))
            }
            _ => None,
        };
        if let Some((kind, length)) = marked {
            found.push(json!({"type": kind, "offset": unit, "length": length}));
        }
        unit += piece.encode_utf16().count();
    }
    found
}
