//! What fuzz targets call: posts of any shape. Built only for them.

use super::known::Us;
use super::reading::{Reader, Scene, Telling};
use super::types::{Channel, Entry};
use insula_channel::Envelope;
use insula_domain::{AccountId, Platform};

/// The envelope of a post, if these bytes are one that concerns anybody.
pub fn post(bytes: &[u8]) -> Option<Envelope> {
    let entry: Entry = serde_json::from_slice(bytes).ok()?;
    if !entry.is_sound() {
        return None;
    }
    let account = AccountId::new("main").ok()?;
    let us = Us { id: "bot".into(), username: "ada".into() };
    let channel = Channel {
        id: entry.channel_id.clone(),
        team_id: String::new(),
        kind: "O".to_owned(),
        last_post_at: 0,
    };
    let root = (!entry.root_id.is_empty()).then_some(entry.root_id.as_str());
    let scene = Scene { channel: &channel, root, person: None };
    let platform = Platform::new("mattermost").ok()?;
    Reader { platform, account: &account, us: &us }.entry(scene, &entry, Telling::Said)
}
