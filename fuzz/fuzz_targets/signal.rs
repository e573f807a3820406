//! What comes from a stream of signal-cli of any shape is read event by event, and a text gets its marks.
#![no_main]

use insula_adapters::signal::fuzzing::{events, styled};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = events(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = styled(text);
    }
});
