//! Parts and their bytes: there and back, and nothing else.

use super::{decode, encode, words};
use crate::message::Part;
use proptest::prelude::*;

fn part() -> impl Strategy<Value = Part> {
    let name = || ".{0,12}".prop_map(String::into_boxed_str);
    prop_oneof![
        ".{0,300}".prop_map(Part::Text),
        ".{0,300}".prop_map(Part::Beside),
        (any::<[u8; 32]>(), name(), name(), any::<u64>()).prop_map(
            |(hash, name, media_type, bytes)| Part::Attachment { hash, name, media_type, bytes }
        ),
        (name(), name()).prop_map(|(source, media_type)| Part::Image { source, media_type }),
        (name(), name(), ".{0,200}").prop_map(|(id, name, arguments)| Part::ToolCall {
            id,
            name,
            arguments
        }),
        (name(), ".{0,200}", any::<bool>(), any::<bool>()).prop_map(
            |(call, text, is_error, untrusted)| Part::ToolResult {
                call,
                text,
                is_error,
                untrusted
            }
        ),
        (".{0,200}", proptest::option::of(".{0,40}"))
            .prop_map(|(text, signature)| Part::Reasoning { text, signature }),
    ]
}

proptest! {
    #[test]
    fn parts_come_back_as_they_were(parts in proptest::collection::vec(part(), 0..8)) {
        let bytes = encode(&parts);
        prop_assert_eq!(decode(&bytes), Some(parts.clone()));
        let mut found = Vec::new();
        words(&bytes, |text| found.push(Part::Text(text.to_owned()))).unwrap();
        let texts = parts.into_iter().filter_map(|part| match part {
            Part::Text(text) | Part::Beside(text) => Some(Part::Text(text)),
            _ => None,
        });
        let texts: Vec<Part> = texts.collect();
        prop_assert_eq!(found, texts);
    }

    #[test]
    fn what_can_be_read_is_what_would_be_written(mut bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        // Mostly a known version, so that the rest is looked at.
        if let Some(first) = bytes.first_mut() && *first < 200 {
            *first = 1;
        }
        let read = words(&bytes, |_| ());
        if let Some(parts) = decode(&bytes) {
            prop_assert_eq!(encode(&parts), bytes);
            prop_assert!(read.is_some());
        }
    }

    #[test]
    fn a_cut_end_shows(parts in proptest::collection::vec(part(), 1..4), cut in 1_usize..40) {
        let bytes = encode(&parts);
        let kept = bytes.len().saturating_sub(cut);
        if let Some(fewer) = decode(&bytes[..kept]) {
            prop_assert!(fewer.len() < parts.len() && fewer[..] == parts[..fewer.len()]);
        }
    }
}

#[test]
fn the_bytes_of_a_version_never_change() {
    let parts = [
        Part::Text("hé".to_owned()),
        Part::Attachment { hash: [7; 32], name: "n".into(), media_type: "m".into(), bytes: 300 },
        Part::ToolResult {
            call: "c".into(),
            text: "t".to_owned(),
            is_error: true,
            untrusted: false,
        },
        Part::ToolResult {
            call: "c".into(),
            text: "u".to_owned(),
            is_error: false,
            untrusted: true,
        },
        Part::Reasoning { text: String::new(), signature: Some("s".to_owned()) },
    ];
    let mut expected = vec![1, 1, 3, b'h', 0xc3, 0xa9, 2];
    expected.extend([7; 32]);
    expected.extend([0xac, 0x02, 1, b'n', 1, b'm', 6, 1, b'c', 1, b't']);
    expected.extend([9, 1, b'c', 1, b'u', 8, 0, 1, b's']);
    assert_eq!(encode(&parts), expected);
    for other in [&b""[..], &[0], &[2], &[1, 0], &[1, 11], &[1, 1, 0x80, 0]] {
        assert_eq!(decode(other), None, "{other:?}");
    }
}
