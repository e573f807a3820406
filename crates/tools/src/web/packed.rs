//! Packed bytes, unpacked up to a limit. We ask hosts not to pack; some do all the same.

use flate2::read::{DeflateDecoder, GzDecoder, ZlibDecoder};
use std::io::Read;

/// Layers of packing that are taken off: more than one is already a game.
const LAYERS_MAX: usize = 2;

/// Why something was not unpacked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unpacked {
    /// it grows
    #[error("it unpacks to more than {0} bytes")]
    TooLarge(usize),
    /// damaged
    #[error("it is packed and damaged")]
    Broken,
    /// another way
    #[error("it is packed in a way that is not read (`{0}`)")]
    Unknown(String),
}

/// The bytes under what `Content-Encoding` names.
pub(super) fn unpack(body: Vec<u8>, encoding: &str, max: usize) -> Result<Vec<u8>, Unpacked> {
    let layers: Vec<&str> =
        encoding.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    let unknown = |name: &str| Unpacked::Unknown(name.chars().take(40).collect());
    if layers.len() > LAYERS_MAX {
        return Err(unknown(encoding));
    }
    layers.iter().rev().try_fold(body, |bytes, layer| match layer.to_ascii_lowercase().as_str() {
        "identity" => Ok(bytes),
        "gzip" | "x-gzip" => run(GzDecoder::new(&*bytes), max),
        "deflate" => inflate(&bytes, max),
        _ => Err(unknown(layer)),
    })
}

/// zlib, as the standard says, or bare deflate, as some write it.
fn inflate(bytes: &[u8], max: usize) -> Result<Vec<u8>, Unpacked> {
    match run(ZlibDecoder::new(bytes), max) {
        Err(Unpacked::Broken) => run(DeflateDecoder::new(bytes), max),
        done => done,
    }
}

/// What comes out, and of what is damaged, the part before the damage.
fn run(reader: impl Read, max: usize) -> Result<Vec<u8>, Unpacked> {
    let mut out = Vec::new();
    let read = reader.take(max as u64 + 1).read_to_end(&mut out);
    match read {
        _ if out.len() > max => Err(Unpacked::TooLarge(max)),
        Err(_) if out.is_empty() => Err(Unpacked::Broken),
        _ => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    fn all(mut reader: impl Read) -> Vec<u8> {
        let mut out = Vec::new();
        reader.read_to_end(&mut out).unwrap();
        out
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        all(GzEncoder::new(bytes, Compression::default()))
    }

    #[test]
    fn what_hosts_pack_is_unpacked() {
        let text = b"hello hello hello".to_vec();
        let zlib = all(ZlibEncoder::new(&*text, Compression::default()));
        let bare = all(DeflateEncoder::new(&*text, Compression::default()));
        for (bytes, encoding) in [
            (gzip(&text), "X-Gzip"),
            (gzip(&text)[..gzip(&text).len() - 8].to_vec(), "gzip"),
            (zlib.clone(), "deflate"),
            (bare, "deflate"),
            (text.clone(), "identity"),
            (text.clone(), ""),
            (gzip(&zlib), "deflate, gzip"),
        ] {
            assert_eq!(unpack(bytes, encoding, 1_000), Ok(text.clone()), "{encoding}");
        }
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let zeros = vec![0; 50_000_000];
        let once = gzip(&zeros);
        assert!(once.len() < 100_000);
        assert_eq!(unpack(once.clone(), "gzip", 1 << 20), Err(Unpacked::TooLarge(1 << 20)));
        let twice = gzip(&once);
        assert_eq!(unpack(twice, "gzip, gzip", 1 << 20), Err(Unpacked::TooLarge(1 << 20)));
        assert_eq!(
            unpack(once, "gzip,gzip,gzip", 9),
            Err(Unpacked::Unknown("gzip,gzip,gzip".into()))
        );
    }

    #[test]
    fn what_is_not_read_says_so() {
        assert_eq!(unpack(vec![1], "br", 9), Err(Unpacked::Unknown("br".into())));
        assert_eq!(unpack(b"no".to_vec(), "gzip", 9), Err(Unpacked::Broken));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_exceed_the_limit(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            header: bool,
            encoding in "(gzip|deflate)",
        ) {
            let mut body = if header { vec![0x1f, 0x8b, 8] } else { vec![] };
            body.extend(bytes);
            if let Ok(out) = unpack(body, &encoding, 512) {
                prop_assert!(out.len() <= 512);
            }
        }
    }
}
