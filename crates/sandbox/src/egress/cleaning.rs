//! Takes an injected credential out of what a host answers: a host that repeats the headers of
//! a request would otherwise hand it to the child.
//!
//! What is found is what [`Redactor`] finds: the value, its words and what a Basic credential
//! encodes, plain, in base64, hexadecimal, percent and JSON form, wherever the pieces of an
//! answer are cut. What a host reverses, encrypts or packs into a file is not found: a
//! credential for a host that does such things on purpose is in the wrong hands already.

use super::framing::{Framing, Rewrite, relay};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, HeaderName, HeaderValue};
use insula_vault::{ByteStreamRedactor, Redactor, Secret};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Bytes of a body that are looked through at once.
const PIECE_LEN: usize = 16 * 1024;
/// A part of a credential that is at least so long is looked for by itself.
const PART_LEN_MIN: usize = 8;
/// What stands between the parts of a credential, as in `Key id="…", secret="…"`.
const BETWEEN: &[char] = &[' ', '\t', ',', ';', '=', ':', '"', '\''];

/// Clears the answers of one host of the credentials that were sent to it.
#[derive(Clone)]
pub(super) struct Cleaner {
    redactor: Arc<Redactor>,
    /// For names of headers, which come in small letters whatever was sent.
    lowered: Arc<Redactor>,
}

impl Cleaner {
    /// Looks for these values.
    pub(super) fn new<'v>(values: impl Iterator<Item = &'v str>) -> Self {
        let all: Vec<Secret> = values.flat_map(parts).collect();
        let lowered = all.iter().map(|it| Secret::new(it.reveal().to_ascii_lowercase()));
        let lowered: Vec<Secret> = lowered.collect();
        Self { redactor: Arc::new(Redactor::new(&all)), lowered: Arc::new(Redactor::new(&lowered)) }
    }

    /// The headers without credentials. One whose name holds one is left out.
    pub(super) fn headers(
        &self,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Vec<(HeaderName, HeaderValue)> {
        headers.iter().filter_map(|(name, value)| self.header(name, value)).collect()
    }

    /// The same for a map.
    pub(super) fn map(&self, headers: &HeaderMap) -> HeaderMap {
        headers.iter().filter_map(|(name, value)| self.header(name, value)).collect()
    }

    fn header(&self, name: &HeaderName, value: &HeaderValue) -> Option<(HeaderName, HeaderValue)> {
        if matches!(self.lowered.redact(name.as_str()), Cow::Owned(_)) {
            return None;
        }
        let value = match self.redactor.redact_bytes(value.as_bytes()) {
            Cow::Borrowed(_) => value.clone(),
            Cow::Owned(cleared) => HeaderValue::from_bytes(&cleared).ok()?,
        };
        Some((name.clone(), value))
    }

    /// A body that comes in pieces.
    pub(super) fn body(&self) -> ByteStreamRedactor {
        ByteStreamRedactor::new(self.redactor.clone())
    }

    /// Passes a body on to its end, cleared. Its length is not known before, so it goes as
    /// chunks, or up to the end of the connection.
    pub(super) async fn relay(
        &self,
        from: &mut (impl AsyncBufRead + Unpin),
        framing: Framing,
        to: &mut (impl AsyncWrite + Unpin),
        rewrite: Rewrite,
    ) -> io::Result<()> {
        let mut body = self.body();
        let (mut near, mut far) = tokio::io::duplex(PIECE_LEN);
        let carrying = async move {
            let carried = relay(from, framing, &mut near, Rewrite::Bare).await;
            drop(near);
            carried
        };
        let clearing = async {
            let mut piece = vec![0; PIECE_LEN];
            loop {
                let read = far.read(&mut piece).await?;
                if read == 0 {
                    return Ok::<_, io::Error>(());
                }
                put(to, &body.push(&piece[..read]), rewrite).await?;
            }
        };
        // Whichever fails first ends both: what is cut off must not look whole.
        tokio::try_join!(carrying, clearing)?;
        put(to, &body.finish(), rewrite).await?;
        if rewrite == Rewrite::Chunks && framing != Framing::Empty {
            to.write_all(b"0\r\n\r\n").await?;
        }
        to.flush().await
    }
}

async fn put(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8], rewrite: Rewrite) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    match rewrite {
        Rewrite::Bare => to.write_all(bytes).await?,
        Rewrite::Chunks => {
            to.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
            to.write_all(bytes).await?;
            to.write_all(b"\r\n").await?;
        }
    }
    to.flush().await
}

/// Whether an answer is packed, so that nothing can be found in it.
pub(super) fn is_packed<'h>(values: impl Iterator<Item = &'h HeaderValue>) -> bool {
    let mut codings = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    codings.any(|coding| {
        let coding = coding.trim_ascii();
        !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity")
    })
}

/// The header that says so.
pub(super) const PACKED_BY: HeaderName = CONTENT_ENCODING;

/// What of a credential is to be looked for: all of it, its words, what lies between its
/// punctuation, and what a Basic credential encodes.
fn parts(value: &str) -> Vec<Secret> {
    let mut found = vec![Secret::new(value)];
    let mut words: Vec<Secret> = value.split_whitespace().map(Secret::new).collect();
    if let Some((scheme, encoded)) = value.trim().split_once(' ')
        && scheme.eq_ignore_ascii_case("basic")
        && let Ok(plain) = STANDARD.decode(encoded.trim())
        && let Ok(plain) = String::from_utf8(plain)
    {
        if let Some((_, password)) = plain.split_once(':') {
            found.push(Secret::new(password));
        }
        words.push(Secret::new(plain));
    }
    for word in &words {
        let pieces = word.reveal().split(BETWEEN).chain([word.reveal()]);
        found.extend(pieces.filter(|piece| piece.len() >= PART_LEN_MIN).map(Secret::new));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn cleared(body: &[u8], capacity: usize, framing: Framing) -> io::Result<Vec<u8>> {
        let cleaner = Cleaner::new(["Bearer tok-4711-secret"].into_iter());
        let mut from = tokio::io::BufReader::with_capacity(capacity, body);
        let mut to = vec![];
        cleaner.relay(&mut from, framing, &mut to, Rewrite::Bare).await.map(|()| to)
    }

    #[test]
    fn rule_12_every_part_of_a_credential_is_looked_for() {
        let basic = format!("Basic {}", STANDARD.encode("ann:correct horse"));
        let cleaner =
            Cleaner::new([&*basic, "Key id=\"12345678\", secret=\"s3cr3t-value\""].into_iter());
        for part in ["correct horse", "ann:correct horse", "s3cr3t-value", "12345678", &basic] {
            let text = format!("<{part}>");
            assert_eq!(cleaner.redactor.redact(&text), "<[secret]>", "{part}");
        }
        let encoded = STANDARD.encode("ann:correct horse");
        assert!(!cleaner.redactor.redact(&encoded).contains(&encoded));
        assert_eq!(cleaner.redactor.redact("Basic training"), "Basic training");
    }

    #[test]
    fn rule_12_headers_are_cleared_and_one_named_like_a_credential_is_left_out() {
        let cleaner = Cleaner::new(["Bearer Tok-4711-Secret"].into_iter());
        let map: HeaderMap = [
            ("x-echo", "you sent Bearer Tok-4711-Secret"),
            ("x-tok-4711-secret", "1"),
            ("x-other", "kept"),
        ]
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
        let cleared = cleaner.map(&map);
        assert_eq!(cleared.len(), 2);
        assert_eq!(cleared["x-echo"], "you sent [secret]");
        assert_eq!(cleared["x-other"], "kept");
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_does_not_look_whole() {
        assert!(cleared(b"abc", 8, Framing::Length(10)).await.is_err());
        assert!(cleared(b"a\r\n0123456789\r\n5\r\nab", 8, Framing::Chunked).await.is_err());
        let cleaner = Cleaner::new(["tok-4711-secret"].into_iter());
        let mut to = vec![];
        let mut from = &b"5\r\ntok-4\r\na\r\n711-secret\r\n0\r\n\r\n"[..];
        cleaner.relay(&mut from, Framing::Chunked, &mut to, Rewrite::Chunks).await.unwrap();
        assert_eq!(to, b"8\r\n[secret]\r\n0\r\n\r\n");
    }

    #[test]
    fn what_is_packed_is_known() {
        let packed =
            |value: &'static str| is_packed([&HeaderValue::from_static(value)].into_iter());
        assert!(packed("gzip") && packed("identity, br") && packed("x-unheard-of"));
        assert!(!packed("identity") && !packed("") && !is_packed([].into_iter()));
    }

    proptest! {
        #[test]
        fn rule_12_however_a_body_is_cut_the_credential_is_not_in_it(
            before in "[ -~]{0,30}", after in "[ -~]{0,30}", capacity in 1usize..24,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let body = format!("{before}tok-4711-secret{after}");
            let framing = Framing::Length(body.len() as u64);
            let out = runtime.block_on(cleared(body.as_bytes(), capacity, framing)).unwrap();
            let out = String::from_utf8(out).unwrap();
            prop_assert!(!out.contains("tok-4711-secret"), "{out}");
            prop_assert!(out.contains("[secret]"));
        }
    }
}
