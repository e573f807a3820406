//! Bytes as hexadecimal digits, as signatures and marks are written.

/// As digits, in lower case.
pub(crate) fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The 32 bytes of a hash; nothing where a text is none.
pub(crate) fn unhexed(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_is_written_and_nothing_else_is_one() {
        let bytes: [u8; 32] = std::array::from_fn(|at| u8::try_from(at * 7).unwrap());
        assert_eq!(unhexed(&hex(bytes)), Some(bytes));
        assert_eq!(hex([0, 255]), "00ff");
        for bad in ["", "00", "zz", &"g".repeat(64), &"é".repeat(32), &"+1".repeat(32)] {
            assert_eq!(unhexed(bad), None, "{bad}");
        }
    }
}
