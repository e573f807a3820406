//! What passes between a platform that calls us and its account's adapter.

use bytes::Bytes;
use std::borrow::Cow;

/// A request from a platform, as the daemon's listener got it.
#[derive(Debug, Clone)]
pub struct WebRequest {
    /// How it was asked. A `HEAD` never gets here.
    pub method: WebMethod,
    /// Path and query as they came, for signatures over them.
    pub target: Box<str>,
    /// Its headers, names in lower case.
    pub headers: Vec<(Box<str>, Box<str>)>,
    /// Its body, within the limit of its platform.
    pub body: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebMethod {
    Get,
    Post,
}

impl WebRequest {
    /// Something that was posted, at no particular path.
    pub fn posted(headers: Vec<(Box<str>, Box<str>)>, body: Bytes) -> Self {
        Self { method: WebMethod::Post, target: "/".into(), headers, body }
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| &**known == name).map(|(_, value)| &**value)
    }

    /// What stands behind the question mark, as it came.
    pub fn raw_query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// A value of the query, decoded; `None` where its name is not there or it is no text.
    pub fn query(&self, name: &str) -> Option<String> {
        value(self.raw_query(), name)
    }

    /// A value of a form that was posted, decoded, as in [`WebRequest::query`].
    pub fn form(&self, name: &str) -> Option<String> {
        value(std::str::from_utf8(&self.body).ok()?, name)
    }
}

/// A value among pairs, decoded.
fn value(pairs: &str, name: &str) -> Option<String> {
    pairs.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(key)? == name).then(|| decoded(value).map(Cow::into_owned)).flatten()
    })
}

/// A part of a query as it was before it was encoded.
fn decoded(part: &str) -> Option<Cow<'_, str>> {
    if !part.contains(['%', '+']) {
        return Some(Cow::Borrowed(part));
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// What a platform is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAnswer {
    /// The HTTP status.
    pub status: u16,
    /// What the body is; nothing where there is none.
    pub media_type: Option<&'static str>,
    pub body: Bytes,
}

impl WebAnswer {
    /// An answer without words.
    pub fn empty(status: u16) -> Self {
        Self { status, media_type: None, body: Bytes::new() }
    }

    /// An answer in JSON.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, media_type: Some("application/json"), body: body.into() }
    }

    /// An answer in plain text.
    pub fn text(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, media_type: Some("text/plain; charset=utf-8"), body: body.into() }
    }

    /// What a request gets that shows no valid secret, or is for an account that is not there:
    /// one answer, so that nobody learns which accounts there are.
    pub fn refused() -> Self {
        let body = br#"{"error":{"code":"unauthorized","message":"there is no such account, or the request does not show its secret"}}"#;
        Self::json(401, Bytes::from_static(body))
    }

    /// What a request gets that has to come again.
    pub fn later() -> Self {
        let body = br#"{"error":{"code":"busy","message":"too much at once; try again later"}}"#;
        Self::json(503, Bytes::from_static(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_query_are_found_and_decoded() {
        let asked = |target: &str, name: &str| {
            let post = WebRequest::posted(vec![], Bytes::new());
            let request = WebRequest { method: WebMethod::Get, target: target.into(), ..post };
            request.query(name)
        };
        let target =
            "/hooks/x/y?hub.mode=subscribe&hub.challenge=1%2B1+a&e=&f&bad=%zz&cut=%4&x=%ff";
        for (name, expected) in [
            ("hub.mode", Some("subscribe")),
            ("hub.challenge", Some("1+1 a")),
            ("e", Some("")),
            ("f", Some("")),
            ("bad", None),
            ("cut", None),
            ("x", None),
            ("none", None),
        ] {
            assert_eq!(asked(target, name).as_deref(), expected, "{name}");
        }
        assert_eq!(asked("/hooks/x/y", "a"), None);
        assert_eq!(asked("/?h%75b=1", "hub").as_deref(), Some("1"));
        let posted = |body: &'static [u8]| WebRequest::posted(vec![], Bytes::from_static(body));
        assert_eq!(posted(b"a=1&payload=%7B%7D").form("payload").as_deref(), Some("{}"));
        assert_eq!(posted(b"a=\xff").form("a"), None);
    }
}
