//! Canaries: random strings planted with one tenant, and the search for them elsewhere.
//!
//! A leak need not be plain: what a puppet or a program could have made of a string is looked
//! for too.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// A string that only its owner may ever see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// Whose it is, and where it was planted.
    pub owner: String,
    pub text: String,
}

impl Canary {
    /// A canary of somebody's. `random` is what makes it findable.
    pub fn new(owner: &str, random: &str) -> Self {
        // Letters only behind a word, so that it survives where text is split or made lower case.
        Self { owner: owner.to_owned(), text: format!("canary{random}") }
    }

    /// What it could look like elsewhere: the name of an encoding, and its bytes.
    pub fn forms(&self) -> Vec<(&'static str, Vec<u8>)> {
        let text = self.text.as_bytes();
        let hex: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
        let percent: String = text.iter().map(|byte| format!("%{byte:02X}")).collect();
        let mut forms = vec![
            ("plain", text.to_vec()),
            ("reversed", text.iter().rev().copied().collect()),
            ("in capitals", self.text.to_uppercase().into_bytes()),
            ("in hex", hex.clone().into_bytes()),
            ("in capital hex", hex.to_uppercase().into_bytes()),
            ("percent-encoded", percent.clone().into_bytes()),
            ("percent-encoded in small letters", percent.to_lowercase().into_bytes()),
            ("in UTF-16", self.text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ];
        // Base64 of a text depends on how many bytes stand before it: three ways, each without
        // the letters at both ends that its neighbours have a part in.
        for shift in 0..3 {
            let mut padded = vec![b' '; shift];
            padded.extend_from_slice(text);
            for (name, engine) in
                [("in base64", STANDARD_NO_PAD), ("in base64url", URL_SAFE_NO_PAD)]
            {
                let encoded = engine.encode(&padded);
                let from = (shift * 8).div_ceil(6);
                let to = padded.len() * 8 / 6;
                forms.push((name, encoded.as_bytes()[from..to].to_vec()));
            }
        }
        forms
    }

    /// How it is in there, if it is.
    pub fn found_in(&self, bytes: &[u8]) -> Option<&'static str> {
        let forms = self.forms();
        forms.iter().find(|(_, form)| contains(bytes, form)).map(|(name, _)| *name)
    }
}

/// Whether the bytes are in there.
pub fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    let Some(first) = needle.first() else { return true };
    let mut from = 0;
    // Looking for the first byte alone skips almost everything.
    while let Some(at) = bytes[from..].iter().position(|byte| byte == first) {
        if bytes[from + at..].starts_with(needle) {
            return true;
        }
        from += at + 1;
    }
    false
}

/// Where any of these canaries is, in words; `None` where none is.
pub fn leak<'a>(
    canaries: &[Canary],
    seen: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Option<String> {
    for (place, bytes) in seen {
        for canary in canaries {
            if let Some(form) = canary.found_in(bytes) {
                return Some(format!("the canary of {} is in {place}, {form}", canary.owner));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_found_in_whatever_form_it_left() {
        let canary = Canary::new("b", "0123456789abcdef0123456789abcdef");
        let text = &canary.text;
        for before in ["", "x", "xy", "xyz"] {
            let whole = format!("{before}{text} and more");
            assert_eq!(canary.found_in(whole.as_bytes()), Some("plain"));
            let packed = STANDARD_NO_PAD.encode(&whole);
            assert!(canary.found_in(packed.as_bytes()).is_some(), "after {before:?}: {packed}");
        }
        let reversed: String = text.chars().rev().collect();
        assert_eq!(canary.found_in(reversed.as_bytes()), Some("reversed"));
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(canary.found_in(hex.as_bytes()), Some("in hex"));
        assert_eq!(canary.found_in(b"canary0123456789abcdef0123456789abcdee"), None);
        assert_eq!(canary.found_in(b""), None);
    }

    #[test]
    fn a_leak_is_told_with_owner_and_place() {
        let canary = Canary::new("b's note", "77");
        let seen = [("a file", &b"nothing"[..]), ("a prompt", b"so: canary77!")];
        let told = leak(&[canary], seen);
        assert_eq!(told.as_deref(), Some("the canary of b's note is in a prompt, plain"));
    }
}
