//! What the Cloud API sends: the fields that are read, and nothing else of it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A request to our webhook.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Called {
    pub(super) object: String,
    #[serde(deserialize_with = "each")]
    pub(super) entry: Vec<Entry>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    #[serde(deserialize_with = "each")]
    pub(super) changes: Vec<Change>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Change {
    pub(super) field: String,
    pub(super) value: Changed,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Changed {
    pub(super) metadata: Metadata,
    #[serde(deserialize_with = "each")]
    pub(super) contacts: Vec<Contact>,
    #[serde(deserialize_with = "each")]
    pub(super) messages: Vec<Message>,
    #[serde(deserialize_with = "each")]
    pub(super) statuses: Vec<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) phone_number_id: String,
    pub(super) display_phone_number: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Contact {
    pub(super) wa_id: Option<String>,
    /// What the platform calls whoever hides their number, within one business.
    pub(super) user_id: Option<String>,
    pub(super) profile: Option<Profile>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Profile {
    pub(super) name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) from: Option<String>,
    pub(super) group_id: Option<String>,
    /// Seconds since 1970, as text.
    pub(super) timestamp: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) context: Option<Context>,
    #[serde(flatten)]
    pub(super) content: Content,
    pub(super) edit: Option<Edit>,
    pub(super) revoke: Option<Revoke>,
}

/// What a message holds, by its type.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content {
    pub(super) text: Option<Text>,
    pub(super) image: Option<Media>,
    pub(super) video: Option<Media>,
    pub(super) audio: Option<Media>,
    pub(super) document: Option<Media>,
    pub(super) sticker: Option<Media>,
    pub(super) location: Option<Location>,
    #[serde(deserialize_with = "each")]
    pub(super) contacts: Vec<Card>,
    pub(super) reaction: Option<Reaction>,
    pub(super) interactive: Option<Interactive>,
    pub(super) button: Option<TemplateButton>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Edit {
    pub(super) original_message_id: String,
    pub(super) message: EditedMessage,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct EditedMessage {
    pub(super) context: Option<Context>,
    #[serde(flatten)]
    pub(super) content: Content,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Revoke {
    pub(super) original_message_id: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Context {
    pub(super) from: Option<String>,
    pub(super) id: Option<String>,
    pub(super) forwarded: bool,
    pub(super) frequently_forwarded: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Text {
    pub(super) body: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Media {
    pub(super) id: String,
    pub(super) mime_type: Option<String>,
    pub(super) caption: Option<String>,
    pub(super) filename: Option<String>,
    /// Whether it was recorded in the chat.
    pub(super) voice: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Location {
    pub(super) latitude: f64,
    pub(super) longitude: f64,
    pub(super) name: Option<String>,
    pub(super) address: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Card {
    pub(super) name: CardName,
    #[serde(deserialize_with = "each")]
    pub(super) phones: Vec<CardPhone>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct CardName {
    pub(super) formatted_name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct CardPhone {
    pub(super) phone: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Reaction {
    pub(super) message_id: String,
    /// Absent or empty where one was taken away.
    pub(super) emoji: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Interactive {
    pub(super) button_reply: Option<Choice>,
    pub(super) list_reply: Option<Choice>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    pub(super) id: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct TemplateButton {
    pub(super) text: String,
}

/// What became of a message of ours.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) id: String,
    pub(super) status: String,
    pub(super) recipient_id: Option<String>,
    pub(super) biz_opaque_callback_data: Option<String>,
    #[serde(deserialize_with = "each")]
    pub(super) errors: Vec<GraphError>,
}

/// Why something was refused.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct GraphError {
    pub(super) code: i64,
    pub(super) message: String,
    /// The same in short. Statuses have both, those of older versions this alone.
    pub(super) title: String,
    pub(super) error_data: Option<ErrorData>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorData {
    pub(super) details: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    pub(super) error: GraphError,
}

/// The answer to a message.
#[derive(Debug, Deserialize)]
pub(super) struct Taken {
    pub(super) messages: Vec<Named>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) id: String,
}

/// Our number.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Phone {
    pub(super) id: String,
    pub(super) display_phone_number: String,
    pub(super) verified_name: String,
    pub(super) quality_rating: String,
    /// Where its events go, by what says so.
    pub(super) webhook_configuration: Option<serde_json::Map<String, Value>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct MediaPlace {
    pub(super) url: String,
}

/// A list in which what can't be read is left out: it must not hold up the others.
fn each<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let all = match Value::deserialize(deserializer)? {
        Value::Array(all) => all,
        _ => return Ok(vec![]),
    };
    let count = all.len();
    let read: Vec<T> = all.into_iter().filter_map(|it| serde_json::from_value(it).ok()).collect();
    if read.len() < count {
        let lost = count - read.len();
        tracing::warn!(
            platform = "whatsapp",
            lost,
            "parts of an event that can't be read were left out"
        );
    }
    Ok(read)
}
