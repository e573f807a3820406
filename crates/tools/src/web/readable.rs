//! What can be read of an answer, whatever kind it is of.

use super::packed::unpack;
use super::{Page, charset, html, text};
use url::Url;

/// Most that a packed answer may unpack to, in bytes.
pub const UNPACKED_BYTES_MAX: usize = 16 << 20;
/// Most of a JSON text that is laid out anew, in bytes: it has to be held as values for that.
const JSON_BYTES_MAX: usize = 256 << 10;
/// Most text that is kept of one answer, in bytes.
pub const TEXT_BYTES_MAX: usize = 2 << 20;

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Readable {
    /// What it calls itself.
    pub title: Option<String>,
    pub text: String,
    /// What the reader should know: it is cut, or why there is nothing. Only the latter may have
    /// words of whoever sent it.
    pub note: Option<String>,
}

impl Readable {
    pub(super) fn nothing(why: impl Into<String>) -> Self {
        Self { note: Some(why.into()), ..Self::default() }
    }
}

/// What an answer turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageContent {
    /// Something that was read.
    Text(Readable),
    /// A document that has yet to be.
    Pdf(Vec<u8>),
}

/// Reads an answer, all but documents.
pub fn read(page: Page) -> PageContent {
    let Page { url, content_type, content_encoding, body, .. } = page;
    let body =
        match unpack(body, content_encoding.as_deref().unwrap_or_default(), UNPACKED_BYTES_MAX) {
            Ok(body) => body,
            Err(error) => return PageContent::Text(Readable::nothing(error.to_string())),
        };
    let content_type = content_type.unwrap_or_default();
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let label = charset::label(&content_type);
    let kind = kind_of(&media, &body);
    let readable = match kind {
        Kind::Html => {
            let page = charset::decode(&body, label, true);
            let read = html::read(&page, Url::parse(&url).ok().as_ref());
            let note =
                read.is_cut.then(|| "the page is larger than what is read of one".to_owned());
            Readable { title: read.title, text: read.text, note }
        }
        Kind::Pdf => return PageContent::Pdf(body),
        Kind::Json if body.len() <= JSON_BYTES_MAX => {
            let laid_out = serde_json::from_slice::<serde_json::Value>(&body)
                .and_then(|value| serde_json::to_string_pretty(&value));
            let as_is = |_| charset::decode(&body, label, false);
            Readable { text: text::tidy(&laid_out.unwrap_or_else(as_is)), ..Readable::default() }
        }
        Kind::Json | Kind::Text => {
            let text = charset::decode(&body, label, false);
            Readable { text: text::tidy(&text), ..Readable::default() }
        }
        Kind::Other => {
            let media: String = media.chars().filter(|it| text::is_seen(*it)).take(80).collect();
            let what = if media.is_empty() { "something else" } else { &media };
            Readable::nothing(format!(
                "it is {what}; what can be read is HTML, plain text, JSON and PDF"
            ))
        }
    };
    let empty = match kind {
        Kind::Html => "there is no text on the page; it may be made by scripts, which are not run",
        _ => "it is empty",
    };
    PageContent::Text(finish(readable, empty))
}

/// What was read, no longer than may be, and with a word where there is nothing.
pub(super) fn finish(mut readable: Readable, empty: &str) -> Readable {
    if readable.text.len() > TEXT_BYTES_MAX {
        let begun = text::beginning(&readable.text, usize::MAX, TEXT_BYTES_MAX).len();
        readable.text.truncate(begun);
        readable.note = Some("only the beginning was read".to_owned());
    }
    readable.title =
        readable.title.map(|title| title.chars().filter(|it| text::is_seen(*it)).collect());
    if readable.text.is_empty() && readable.note.is_none() {
        readable.note = Some(empty.to_owned());
    }
    readable
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Pdf,
    Json,
    Text,
    Other,
}

/// By what the host says; by how it begins where the host does not say.
fn kind_of(media: &str, body: &[u8]) -> Kind {
    const UNSAID: [&str; 4] =
        ["", "application/octet-stream", "binary/octet-stream", "unknown/unknown"];
    let is_binary = || body.iter().take(4_096).any(|byte| *byte == 0) && !is_wide(body);
    match media {
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "application/pdf" | "application/x-pdf" => Kind::Pdf,
        "application/json" | "text/json" => Kind::Json,
        _ if media.ends_with("+json") => Kind::Json,
        _ if UNSAID.contains(&media) => {
            let begun = body.trim_ascii_start();
            if begun.starts_with(b"%PDF-") {
                Kind::Pdf
            } else if is_binary() {
                Kind::Other
            } else if begun.starts_with(b"<") {
                Kind::Html
            } else {
                Kind::Text
            }
        }
        "application/xml"
        | "application/javascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-ndjson"
        | "application/rtf"
            if !is_binary() =>
        {
            Kind::Text
        }
        _ if (media.starts_with("text/") || media.ends_with("+xml")) && !is_binary() => Kind::Text,
        _ => Kind::Other,
    }
}

fn is_wide(body: &[u8]) -> bool {
    body.starts_with(b"\xff\xfe") || body.starts_with(b"\xfe\xff")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(content_type: &str, body: &[u8]) -> Page {
        Page {
            url: "https://site.org/".to_owned(),
            hosts: vec!["site.org".to_owned()],
            status: 200,
            content_type: (!content_type.is_empty()).then(|| content_type.to_owned()),
            content_encoding: None,
            body: body.to_vec(),
        }
    }

    fn read(page: Page) -> Readable {
        match super::read(page) {
            PageContent::Text(readable) => readable,
            PageContent::Pdf(document) => Readable::nothing(format!("PDF of {}", document.len())),
        }
    }

    #[test]
    fn each_kind_is_read_as_what_it_is() {
        for (content_type, body, text) in [
            ("text/html; charset=latin1", &b"<p>caf\xe9"[..], "café"),
            ("", b"  <p>hi", "hi"),
            ("application/octet-stream", b"plain", "plain"),
            ("text/plain", b"<p>not html</p>", "<p>not html</p>"),
            ("application/ld+json", b"{\"a\":[1]}", "{\n  \"a\": [\n    1\n  ]\n}"),
            ("application/json", b"{broken", "{broken"),
            ("text/markdown", "# é".as_bytes(), "# é"),
            ("text/plain", b"\xff\xfeh\0i\0", "hi"),
            ("application/rss+xml", b"<rss>x</rss>", "<rss>x</rss>"),
        ] {
            let read = read(page(content_type, body));
            assert_eq!((&*read.text, read.note), (text, None), "{content_type}");
        }
    }

    #[test]
    fn what_is_no_text_is_named() {
        let note = |content_type, body: &[u8]| read(page(content_type, body)).note.unwrap();
        let told = "it is image/png; what can be read is HTML, plain text, JSON and PDF";
        assert_eq!(note("image/png", b"\x89PNG"), told);
        assert!(note("text/plain", b"a\0b").starts_with("it is text/plain"));
        assert!(note("", b"\x7fELF\0").starts_with("it is something else"));
        assert!(note("text/html", b"<script>1</script>").contains("scripts"));
        assert_eq!(note("", b"%PDF-1.4\0"), "PDF of 9");
        assert_eq!(note("text/plain", b" \n"), "it is empty");
    }

    #[test]
    fn a_long_text_is_cut() {
        let read = read(page("text/plain", &"é\n".repeat(2_000_000).into_bytes()));
        assert!(read.text.len() <= TEXT_BYTES_MAX && read.note.is_some());
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic_or_swell(
            content_type in "(text/html|application/pdf|application/json|text/plain|)(; charset=(utf-16|gbk|x))?",
            encoding in prop::option::of("(gzip|deflate|br)"),
            prefix in prop::sample::select(vec!["", "%PDF-1.4\n1 0 obj\n<<", "<p>", "{"]),
            bytes in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            let body = [prefix.as_bytes(), &bytes].concat();
            let len = body.len();
            let page = Page { content_encoding: encoding.clone(), ..page(&content_type, &body) };
            let read = read(page);
            prop_assert!(encoding.is_some() || read.text.len() <= len * 6 + 64);
        }
    }
}
