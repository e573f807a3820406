//! An answer of a homeserver of any shape is read event by event, and a text becomes HTML.
#![no_main]

use insula_adapters::matrix::fuzzing::{html, sync};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = sync(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = html(text);
    }
});
