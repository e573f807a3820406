//! What fuzz targets call: updates and texts of any shape. Built only for them.

use super::reading::Reader;
use super::types::Update;
use super::words::Myself;
use insula_channel::Envelope;
use insula_domain::{AccountId, Platform};
use insula_world::Timestamp;

/// The envelope of an update, if these bytes are one that concerns anybody.
pub fn update(bytes: &[u8]) -> Option<Envelope> {
    let update: Update = serde_json::from_slice(bytes).ok()?;
    let account = AccountId::new("main").ok()?;
    let myself = Myself { id: 7, username: "ada_bot".into() };
    let platform = Platform::new("telegram").ok()?;
    let now = Timestamp::from_millis(5000);
    Reader { platform, account: &account, myself: &myself, now }.read(update)
}

/// A text as Telegram is given it.
pub fn html(markdown: &str) -> Option<String> {
    super::format::html(markdown)
}
