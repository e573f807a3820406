//! Which picture some bytes are, by what they say themselves and not by what others say of them.

/// A picture as people can look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    Png,
    Jpeg,
    Webp,
    Gif,
}

/// Why bytes are no picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPicture {
    #[error("what came is no picture")]
    Unknown,
    #[error("the picture that came is cut off")]
    CutOff,
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The last chunk of a PNG.
const PNG_END: &[u8] = b"IEND\xae\x42\x60\x82";
const JPEG_END: &[u8] = &[0xff, 0xd9];
/// How far before its end a JPEG may say that it ends: some programs add something after it.
const JPEG_TAIL: usize = 4 * 1024;

impl PictureKind {
    /// The picture that bytes are.
    pub fn of(bytes: &[u8]) -> Result<Self, BadPicture> {
        let whole =
            |is_whole: bool, kind| if is_whole { Ok(kind) } else { Err(BadPicture::CutOff) };
        match bytes {
            [0xff, 0xd8, 0xff, rest @ ..] => {
                let tail = rest.get(rest.len().saturating_sub(JPEG_TAIL)..).unwrap_or_default();
                whole(tail.windows(2).any(|pair| pair == JPEG_END), Self::Jpeg)
            }
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', rest @ ..] => {
                whole(rest.last() == Some(&0x3b), Self::Gif)
            }
            [b'R', b'I', b'F', b'F', a, b, c, d, b'W', b'E', b'B', b'P', rest @ ..] => {
                let told = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
                // It counts the four letters before the rest too.
                whole(!rest.is_empty() && told <= rest.len() + 4, Self::Webp)
            }
            bytes if bytes.starts_with(PNG) => whole(bytes.ends_with(PNG_END), Self::Png),
            _ => Err(BadPicture::Unknown),
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
        }
    }

    /// What names of such files end with.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Webp => "webp",
            Self::Gif => "gif",
        }
    }

    /// The one of that media type.
    pub fn from_media_type(text: &str) -> Option<Self> {
        [Self::Png, Self::Jpeg, Self::Webp, Self::Gif]
            .into_iter()
            .find(|kind| kind.media_type() == text)
    }

    /// Whether a file of that name is taken for such a picture.
    pub(crate) fn fits(self, path: &str) -> bool {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        let also = self == Self::Jpeg && ending.eq_ignore_ascii_case("jpeg");
        also || ending.eq_ignore_ascii_case(self.ending())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples() -> Vec<(PictureKind, Vec<u8>)> {
        let png = [PNG, b"\0\0\0\rIHDR....", b"\0\0\0\0", PNG_END].concat();
        let jpeg = [&[0xff, 0xd8, 0xff, 0xe0][..], b"....", JPEG_END].concat();
        let webp = [&b"RIFF\x0c\0\0\0WEBP"[..], b"VP8 ...."].concat();
        let gif = [&b"GIF89a"[..], b"....", b";"].concat();
        let kinds = [PictureKind::Png, PictureKind::Jpeg, PictureKind::Webp, PictureKind::Gif];
        kinds.into_iter().zip([png, jpeg, webp, gif]).collect()
    }

    #[test]
    fn whole_pictures_are_known_and_cut_ones_told() {
        for (kind, bytes) in samples() {
            assert_eq!(PictureKind::of(&bytes), Ok(kind));
            assert_eq!(PictureKind::from_media_type(kind.media_type()), Some(kind));
            let cut = &bytes[..bytes.len() - 1];
            assert_eq!(PictureKind::of(cut), Err(BadPicture::CutOff), "{kind:?}");
        }
        for bytes in [&b""[..], b"<html>", b"\x89PNG", b"RIFF....WAVE", b"%PDF-1.7"] {
            assert_eq!(PictureKind::of(bytes), Err(BadPicture::Unknown), "{bytes:?}");
        }
    }

    #[test]
    fn names_fit_by_their_ending() {
        assert!(PictureKind::Jpeg.fits("a/b.JPEG") && PictureKind::Jpeg.fits("b.jpg"));
        assert!(PictureKind::Png.fits("x.png"));
        assert!(!PictureKind::Png.fits("png") && !PictureKind::Png.fits("x.jpg"));
    }

    proptest! {
        #[test]
        fn what_begins_like_no_picture_is_none(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let begins = [PNG, &[0xff, 0xd8, 0xff], b"RIFF", b"GIF8"];
            prop_assume!(!begins.iter().any(|it| bytes.starts_with(it)));
            prop_assert_eq!(PictureKind::of(&bytes), Err(BadPicture::Unknown));
        }
    }
}
