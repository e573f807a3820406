//! What fuzz targets call: streams and texts of any shape. Built only for them.

use super::known::Known;
use super::people::Us;
use super::reading::{Heard, Reader};
use super::stream::StreamParser;
use super::types::Received;
use insula_channel::Envelope;
use insula_domain::{AccountId, Platform};

/// The envelopes of a stream of events.
pub fn events(bytes: &[u8]) -> Vec<Envelope> {
    let (Ok(account), Ok(platform)) = (AccountId::new("main"), Platform::new("signal")) else {
        return vec![];
    };
    let mut known = Known::new(Us::named("+4915100000"));
    let mut parser = StreamParser::default();
    let mut envelopes = vec![];
    for event in parser.push(bytes) {
        let Ok(received) = serde_json::from_slice::<Received>(&event.data) else { continue };
        let reader = Reader { platform, account: &account, ours: "+4915100000", known: &mut known };
        match reader.read(received) {
            Some(Heard::Event(envelope)) => envelopes.push(*envelope),
            Some(Heard::Group { by, .. }) => envelopes.push(*by),
            None => {}
        }
    }
    envelopes
}

/// A text as Signal is given it, with its styles.
pub fn styled(markdown: &str) -> (String, Vec<String>) {
    super::styles::text(markdown)
}
