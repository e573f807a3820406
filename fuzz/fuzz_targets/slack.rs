//! A message of Slack's of any shape becomes an envelope or nothing, and no text of ours means anybody.
#![no_main]

use insula_adapters::slack::fuzzing::{marked, message};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(envelope) = message(bytes) {
        // Nothing is named that was not in the message.
        let text = String::from_utf8_lossy(bytes);
        let chat = envelope.address.chat.as_str();
        assert!(text.contains(chat), "{chat}");
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert!(!marked(text).contains(['<', '>']));
    }
});
