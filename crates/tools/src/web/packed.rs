//! Packed bytes, unpacked up to a limit. We ask hosts not to pack; some do all the same.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

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
        "gzip" | "x-gzip" => gunzip(&bytes, max),
        "deflate" => inflate(&bytes, max),
        _ => Err(unknown(layer)),
    })
}

/// zlib, as the standard says, or bare deflate, as some write it. Of what is damaged, the
/// part before the damage.
pub(super) fn inflate(bytes: &[u8], max: usize) -> Result<Vec<u8>, Unpacked> {
    match run(bytes, TINFL_FLAG_PARSE_ZLIB_HEADER, max) {
        Err(Unpacked::Broken) => bare(bytes, max),
        done => done,
    }
}

fn bare(bytes: &[u8], max: usize) -> Result<Vec<u8>, Unpacked> {
    run(bytes, 0, max)
}

fn run(bytes: &[u8], flags: u32, max: usize) -> Result<Vec<u8>, Unpacked> {
    let flags = flags | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let mut state = Box::<DecompressorOxide>::default();
    let mut out = vec![0; bytes.len().saturating_mul(2).clamp(64, max.max(64))];
    let (mut read, mut written) = (0, 0);
    loop {
        let rest = bytes.get(read..).unwrap_or_default();
        let (status, taken, given) = decompress(&mut state, rest, &mut out, written, flags);
        read += taken;
        written += given;
        if status != TINFLStatus::HasMoreOutput {
            let is_whole = matches!(status, TINFLStatus::Done | TINFLStatus::Adler32Mismatch);
            if written > max {
                return Err(Unpacked::TooLarge(max));
            }
            out.truncate(written);
            return if is_whole || written > 0 { Ok(out) } else { Err(Unpacked::Broken) };
        }
        if out.len() >= max {
            return Err(Unpacked::TooLarge(max));
        }
        let larger = out.len().saturating_mul(2).min(max);
        out.resize(larger, 0);
    }
}

/// One member of a gzip file; what stands behind it is left alone.
fn gunzip(bytes: &[u8], max: usize) -> Result<Vec<u8>, Unpacked> {
    bare(gzip_data(bytes).ok_or(Unpacked::Broken)?, max)
}

/// Where the data begins, behind the header of RFC 1952.
fn gzip_data(bytes: &[u8]) -> Option<&[u8]> {
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const CHECK: u8 = 2;
    let rest = bytes.strip_prefix(&[0x1f, 0x8b, 8])?;
    let flags = *rest.first()?;
    let mut rest = rest.get(7..)?;
    if flags & EXTRA != 0 {
        let len = usize::from(u16::from_le_bytes([*rest.first()?, *rest.get(1)?]));
        rest = rest.get(2 + len..)?;
    }
    for flag in [NAME, COMMENT] {
        if flags & flag != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = rest.get(end + 1..)?;
        }
    }
    if flags & CHECK != 0 { rest.get(2..) } else { Some(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::deflate::{compress_to_vec, compress_to_vec_zlib};
    use proptest::prelude::*;

    fn gzip(bytes: &[u8], flags: u8, header: &[u8]) -> Vec<u8> {
        let mut out = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
        out.extend_from_slice(header);
        out.extend(compress_to_vec(bytes, 6));
        out.extend_from_slice(&[0; 8]);
        out
    }

    #[test]
    fn what_hosts_pack_is_unpacked() {
        let text = b"hello hello hello".to_vec();
        let zlib = compress_to_vec_zlib(&text, 6);
        for (bytes, encoding) in [
            (gzip(&text, 0, b""), "gzip"),
            (gzip(&text, 4 | 8 | 16 | 2, b"\x02\0xxname\0comment\0cc"), "X-Gzip"),
            (zlib.clone(), "deflate"),
            (compress_to_vec(&text, 6), "deflate"),
            (text.clone(), "identity"),
            (text.clone(), ""),
            (gzip(&zlib, 0, b""), "deflate, gzip"),
        ] {
            assert_eq!(unpack(bytes, encoding, 1_000), Ok(text.clone()), "{encoding}");
        }
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let zeros = vec![0; 50_000_000];
        let once = gzip(&zeros, 0, b"");
        assert!(once.len() < 100_000);
        assert_eq!(unpack(once.clone(), "gzip", 1 << 20), Err(Unpacked::TooLarge(1 << 20)));
        let twice = gzip(&once, 0, b"");
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
