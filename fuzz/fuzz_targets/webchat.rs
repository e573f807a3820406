//! A frame of a page of any shape is understood or not.
#![no_main]

use insula_adapters::webchat::fuzzing::frame;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = frame(bytes);
});
