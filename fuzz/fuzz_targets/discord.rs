//! A message of any shape becomes an envelope or nothing.
#![no_main]

use insula_adapters::discord::fuzzing::message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(envelope) = message(bytes) {
        // Nothing is named that was not in the message.
        let text = String::from_utf8_lossy(bytes);
        let chat = envelope.address.chat.as_str();
        assert!(text.contains(chat), "{chat}");
    }
});
