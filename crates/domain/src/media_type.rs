//! What a kept file is called by its kind. Nothing that a sender chose is in it, and the same kind
//! always gives the same: a file is found again by its content and its kind.

const ENDINGS: [(&str, &str); 18] = [
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("audio/ogg", "ogg"),
    ("audio/mpeg", "mp3"),
    ("audio/mp4", "m4a"),
    ("audio/aac", "aac"),
    ("audio/wav", "wav"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
    ("application/pdf", "pdf"),
    ("application/json", "json"),
    ("application/zip", "zip"),
    ("text/plain", "txt"),
    ("text/markdown", "md"),
    ("text/csv", "csv"),
    ("text/html", "html"),
];

/// What a file of that media type ends with; `bin` where it is none that is known.
pub fn ending(media_type: &str) -> &'static str {
    let plain = media_type.split(';').next().unwrap_or_default().trim();
    ENDINGS.iter().find(|(known, _)| plain.eq_ignore_ascii_case(known)).map_or("bin", |it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sound::SoundKind;

    #[test]
    fn a_file_is_called_by_what_we_know_of_it() {
        assert_eq!(ending("image/PNG"), "png");
        assert_eq!(ending("text/plain; charset=utf-8"), "txt");
        for odd in ["", "../../etc", "application/x-sh", "image/png/../x"] {
            assert_eq!(ending(odd), "bin", "{odd}");
        }
    }

    #[test]
    fn sounds_are_called_as_they_call_themselves() {
        for kind in SoundKind::ALL {
            assert_eq!(ending(kind.media_type()), kind.ending(), "{kind:?}");
        }
    }
}
