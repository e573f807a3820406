//! What fuzz targets call: messages and texts of any shape. Built only for them.

use super::known::Us;
use super::reading::{Reader, Scene, Telling};
use super::types::Entry;
use insula_channel::Envelope;
use insula_domain::{AccountId, Platform};

/// The envelope of a message, if these bytes are one that concerns anybody.
pub fn message(bytes: &[u8]) -> Option<Envelope> {
    let entry: Entry = serde_json::from_slice(bytes).ok()?;
    let account = AccountId::new("main").ok()?;
    let us =
        Us { user: "UBOT".into(), bot: "BBOT".into(), team: "T1".into(), is_everywhere: false };
    let user = Some(entry.user.as_str()).filter(|user| !user.is_empty());
    let (thread, channel) = (entry.thread(), entry.channel.as_str());
    let scene = Scene { team: "T1", channel, thread, user, person: None };
    let platform = Platform::new("slack").ok()?;
    Reader { platform, account: &account, us: &us, name: &|_| None }.entry(
        scene,
        &entry,
        Telling::Said,
    )
}

/// A text as Slack is given it.
pub fn marked(markdown: &str) -> String {
    super::text::mrkdwn(markdown)
}
