//! A `SKILL.md` of any shape is read or refused.
#![no_main]

use insula_config::skills::document;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = document::parse(text);
});
