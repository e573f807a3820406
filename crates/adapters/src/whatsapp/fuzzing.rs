//! What fuzz targets call: requests and texts of any shape. Built only for them.

use super::reading::Reader;
use super::types::Called;
use insula_channel::Envelope;
use insula_domain::{AccountId, Platform};

/// The envelopes of a request.
pub fn request(bytes: &[u8]) -> Vec<Envelope> {
    let (Ok(account), Ok(platform)) = (AccountId::new("main"), Platform::new("whatsapp")) else {
        return vec![];
    };
    let Ok(called) = serde_json::from_slice::<Called>(bytes) else { return vec![] };
    let reader = Reader { platform, account: &account, phone: "123" };
    let changes = called.entry.iter().flat_map(|entry| &entry.changes);
    changes.flat_map(|change| reader.read(&change.value)).collect()
}

/// A text as WhatsApp is given it.
pub fn marked(markdown: &str) -> String {
    crate::signs::text(markdown, 4096)
}
