//! A template and a payload of any shape, divided by a NUL; no delivery is taken for signed.
#![no_main]

use insula_adapters::webhook::fuzzing::{filled, is_signed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let at = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (head, body) = bytes.split_at(at);
    let body = body.get(1..).unwrap_or_default();
    let Ok(head) = std::str::from_utf8(head) else { return };
    let _ = filled(head, body);
    let (timestamp, signature) = head.split_once('\n').unwrap_or((head, head));
    assert!(!is_signed(timestamp, signature, body, 1_700_000_000));
});
