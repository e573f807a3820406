//! Events of each platform as they come, to begin from.
//!
//! Each function takes the ids of a [`super::Cast`] and who says the events.

mod discord;
mod matrix;
mod mattermost;
mod signal;
mod slack;
mod telegram;
mod web;
mod whatsapp;

pub use discord::discord;
pub use matrix::matrix;
pub use mattermost::mattermost;
pub use signal::signal;
pub use slack::slack;
pub use telegram::telegram;
pub use web::{frames, hooks};
pub use whatsapp::whatsapp;

use serde_json::Value;

/// These fields, and those.
fn with(mut value: Value, fields: &Value) -> Value {
    if let (Some(all), Some(more)) = (value.as_object_mut(), fields.as_object()) {
        all.extend(more.clone());
    }
    value
}
