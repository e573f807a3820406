//! A text is the name of at most one conversation, and a conversation has one name.
#![no_main]

use insula_domain::SessionKey;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(key) = text.parse::<SessionKey>() {
        assert_eq!(key.to_string(), text);
    }
});
