//! An update of any shape becomes an envelope or nothing, and a text becomes whole HTML.
#![no_main]

use insula_adapters::telegram::fuzzing::{html, update};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(envelope) = update(bytes) {
        // An id keeps its digits, so that nothing is named that was not in the update.
        let text = String::from_utf8_lossy(bytes);
        let chat = envelope.address.chat.as_str();
        assert!(text.contains(chat.trim_start_matches('-')), "{chat}");
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = html(text);
    }
});
