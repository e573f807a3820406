//! What fuzz targets call: messages of any shape. Built only for them.

use super::known::{Place, Us};
use super::reading::{Reader, Scene, Telling};
use super::types::Entry;
use insula_channel::Envelope;
use insula_domain::{AccountId, ChatType, Platform};

/// The envelope of a message, if these bytes are one that concerns anybody.
pub fn message(bytes: &[u8]) -> Option<Envelope> {
    let entry: Entry = serde_json::from_slice(bytes).ok()?;
    if !entry.is_sound() {
        return None;
    }
    let account = AccountId::new("main").ok()?;
    let us =
        Us { id: "9".into(), username: "ada".into(), application: "8".into(), hears_content: true };
    let place = Place {
        id: entry.channel_id.as_str().into(),
        chat_type: ChatType::Channel,
        guild: None,
        parent: None,
    };
    let scene = Scene { place: &place, user: Some(&entry.author), member: entry.member.as_ref() };
    let platform = Platform::new("discord").ok()?;
    Reader { platform, account: &account, us: &us }.entry(scene, &entry, Telling::Said, &[])
}
