//! What comes from WhatsApp of any shape is read event by event, and a text gets its marks.
#![no_main]

use insula_adapters::whatsapp::fuzzing::{request, marked};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = request(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = marked(text);
    }
});
