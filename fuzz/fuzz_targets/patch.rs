//! A patch, a text, and something to replace in it, divided by NULs.
#![no_main]

use insula_tools::patch_fuzzing::{patched, replaced};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|all: &str| {
    let mut parts = all.split('\0');
    let (patch, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let _ = patched(patch, text);
    let (old, new) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if let Ok(edited) = replaced(text, old, new) {
        assert!(edited.len() <= text.len() * 2 + new.len() * 2 + 4_096);
    }
});
