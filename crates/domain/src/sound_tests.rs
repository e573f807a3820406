//! Real recordings, what is none, and files that lie.

use super::*;
use proptest::prelude::*;

const FILES: [(&str, &[u8], SoundKind, u64); 6] = [
    ("opus", include_bytes!("../../testkit/sounds/opus.ogg"), SoundKind::Opus, 3_000),
    ("vorbis", include_bytes!("../../testkit/sounds/vorbis.ogg"), SoundKind::Ogg, 2_000),
    ("wav", include_bytes!("../../testkit/sounds/tone.wav"), SoundKind::Wav, 1_500),
    ("mp3", include_bytes!("../../testkit/sounds/tone.mp3"), SoundKind::Mp3, 2_000),
    ("m4a", include_bytes!("../../testkit/sounds/tone.m4a"), SoundKind::M4a, 4_000),
    ("aac", include_bytes!("../../testkit/sounds/tone.aac"), SoundKind::Aac, 2_000),
];

#[test]
fn real_recordings_are_known_with_their_lengths() {
    for (name, bytes, kind, millis) in FILES {
        assert_eq!(SoundKind::of(bytes), Some(kind), "{name}");
        let found = length(bytes).unwrap().as_millis();
        // Encoders add some frames around what they were given.
        assert!(found.abs_diff(u128::from(millis)) <= 250, "{name}: {found}");
        let back = SoundKind::from_media_type(kind.media_type()).unwrap();
        assert_eq!(back.ending(), kind.ending(), "{name}");
    }
    assert_eq!(SoundKind::from_media_type("audio/OGG; codecs=opus"), Some(SoundKind::Opus));
}

#[test]
fn what_is_no_sound_has_no_kind_and_no_length() {
    for bytes in [&b""[..], b"hello", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"{\"a\":1}"] {
        assert_eq!((SoundKind::of(bytes), length(bytes)), (None, None), "{bytes:?}");
    }
}

#[test]
fn a_lie_about_a_length_has_an_end() {
    let mut opus = FILES[0].1.to_vec();
    let last = opus.windows(4).rposition(|it| it == b"OggS").unwrap();
    opus[last + 6..last + 14].copy_from_slice(&(u64::MAX - 1).to_le_bytes());
    assert_eq!(length(&opus), Some(Duration::from_secs(SECONDS_MAX)));
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(
        which in 0..FILES.len(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
    ) {
        let mut bytes = FILES[which].1.to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let _ = length(&bytes);
        // The beginning decides what it is: all of what may follow it is read, too.
        for head in [&b"OggS"[..], b"RIFF\0\0\0\0WAVE", b"ID3", b"\xff\xf1", b"\0\0\0\x08ftyp"] {
            let _ = length(&[head, &bytes].concat());
        }
    }
}
