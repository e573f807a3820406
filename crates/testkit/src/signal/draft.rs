//! What people on the fake platform are and send.

use serde_json::{Map, Value, json};

/// Somebody on the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Hidden by many.
    pub number: Option<String>,
    pub uuid: String,
    pub name: String,
}

impl User {
    /// Somebody who shows their number.
    pub fn new(number: &str, uuid: &str, name: &str) -> Self {
        Self { number: Some(number.to_owned()), uuid: uuid.to_owned(), name: name.to_owned() }
    }

    /// Somebody who hides it.
    pub fn hidden(uuid: &str, name: &str) -> Self {
        Self { number: None, uuid: uuid.to_owned(), name: name.to_owned() }
    }

    pub(super) fn is(&self, id: &str) -> bool {
        self.uuid == id || self.number.as_deref() == Some(id)
    }
}

/// A message on its way in.
#[derive(Debug, Clone)]
pub struct Draft {
    pub(super) from: User,
    pub(super) message: Map<String, Value>,
    /// Media type, name, content.
    pub(super) files: Vec<(String, Option<String>, Vec<u8>)>,
}

impl Draft {
    /// Somebody says something.
    pub fn new(from: &User, text: &str) -> Self {
        let text = (!text.is_empty()).then_some(text);
        let message = json!({ "message": text, "expiresInSeconds": 0 });
        let message = message.as_object().cloned().unwrap_or_default();
        Self { from: from.clone(), message, files: vec![] }
    }

    /// The text names somebody at this place.
    #[must_use]
    pub fn mention(mut self, start: usize, whom: &User) -> Self {
        let mention = json!({"name": whom.uuid, "number": whom.number, "uuid": whom.uuid,
            "start": start, "length": 1});
        match self.message.get_mut("mentions").and_then(Value::as_array_mut) {
            Some(all) => all.push(mention),
            None => drop(self.message.insert("mentions".into(), json!([mention]))),
        }
        self
    }

    /// As an answer to what somebody said then.
    #[must_use]
    pub fn quote(self, at: i64, whom: &User, text: &str) -> Self {
        self.with(json!({"quote": {"id": at, "author": whom.uuid, "authorNumber": whom.number,
            "authorUuid": whom.uuid, "text": text, "attachments": []}}))
    }

    /// With a file.
    #[must_use]
    pub fn file(mut self, media_type: &str, name: Option<&str>, content: &[u8]) -> Self {
        self.files.push((media_type.to_owned(), name.map(str::to_owned), content.to_vec()));
        self
    }

    /// With these fields of the wire.
    #[must_use]
    pub fn with(mut self, fields: Value) -> Self {
        if let Value::Object(fields) = fields {
            self.message.extend(fields);
        }
        self
    }
}
