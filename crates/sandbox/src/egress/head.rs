//! The heads of HTTP messages: read strictly, checked, and written anew.

use super::cleaning::{Cleaner, PACKED_BY};
use super::framing::Framing;
use super::injection::Injection;
use super::policy::{EgressDestination, EgressRefusal};
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, IF_RANGE,
    RANGE, TRANSFER_ENCODING,
};
use http::{Method, StatusCode};
use insula_domain::Scheme;
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Longest head, of a request or a response.
pub(super) const HEAD_LEN_MAX: usize = 32 * 1024;
/// Most headers in one head.
const HEADERS_MAX: usize = 100;
/// Headers between two neighbours on the way, which go no further. Whatever begins with
/// `proxy-` is one too.
const HOP_BY_HOP: [&str; 5] = ["connection", "keep-alive", "te", "trailer", "upgrade"];

pub(super) type Headers = Vec<(HeaderName, HeaderValue)>;

/// Headers that would have an answer packed or cut, so that a credential in it is not found.
/// They are not passed on where one is added.
const UNREADABLE: [HeaderName; 3] = [ACCEPT_ENCODING, RANGE, IF_RANGE];

/// What a client wants of the proxy.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) destination: EgressDestination,
    pub(super) target: Target,
    pub(super) framing: Framing,
    /// The client holds its body back until it is asked for it.
    pub(super) expects_continue: bool,
    /// The client speaks HTTP/1.1: it reads chunks and answers before the answer.
    pub(super) knows_chunks: bool,
    headers: Headers,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A tunnel to the destination.
    Tunnel,
    /// This path on the destination.
    Path(String),
}

/// A head that can't be served, and what it was for, if that much could be read.
#[derive(Debug)]
pub(super) struct Unfit {
    pub(super) destination: Option<EgressDestination>,
    pub(super) refusal: EgressRefusal,
}

impl From<EgressRefusal> for Unfit {
    fn from(refusal: EgressRefusal) -> Self {
        Self { destination: None, refusal }
    }
}

const fn malformed(why: &'static str) -> EgressRefusal {
    EgressRefusal::Malformed(why)
}

/// Reads up to the empty line, and nothing behind it. `None` at an end before the first byte.
pub(super) async fn read_head(
    from: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<Vec<u8>>> {
    let mut head = vec![];
    loop {
        let available = from.fill_buf().await?;
        if available.is_empty() {
            return match head.is_empty() {
                true => Ok(None),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        let before = head.len();
        head.extend_from_slice(available);
        let look_from = before.saturating_sub(3);
        let end = head[look_from..].windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end.map(|at| look_from + at + 4) {
            from.consume(end - before);
            head.truncate(end);
            return Ok(Some(head));
        }
        let taken = available.len();
        from.consume(taken);
        if head.len() > HEAD_LEN_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the head is too long"));
        }
    }
}

impl Request {
    pub(super) fn parse(head: &[u8]) -> Result<Self, Unfit> {
        check_bytes(head)?;
        let mut slots = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut slots);
        match request.parse(head) {
            Ok(httparse::Status::Complete(len)) if len == head.len() => {}
            _ => return Err(malformed("it is not HTTP/1.1").into()),
        }
        let knows_chunks = request.version == Some(1);
        let method = request.method.and_then(|text| text.parse().ok());
        let method: Method = method.ok_or(malformed("the method is not one"))?;
        let (destination, target) = read_target(&method, request.path.unwrap_or_default())?;
        let unfit = |refusal| Unfit { destination: Some(destination.clone()), refusal };
        let headers = headers(request.headers).map_err(unfit)?;
        let framing = framing(&headers, Framing::Empty).map_err(unfit)?;
        if framing == Framing::Chunked && !knows_chunks {
            return Err(unfit(malformed("HTTP/1.0 has no chunked body")));
        }
        match target {
            Target::Tunnel if !matches!(framing, Framing::Empty | Framing::Length(0)) => {
                return Err(unfit(malformed("CONNECT has no body")));
            }
            Target::Tunnel => {}
            Target::Path(_) => check_host(&headers, &destination, knows_chunks).map_err(unfit)?,
        }
        // TRACE would send back what we add to the request.
        if method == Method::TRACE {
            return Err(unfit(malformed("TRACE is not passed on")));
        }
        let expects_continue = headers.iter().any(|(name, _)| name == EXPECT);
        Ok(Self { method, destination, target, framing, expects_continue, knows_chunks, headers })
    }

    /// The head for the host: the path alone, one Host of ours, no header that was meant for
    /// us, our credentials instead of the child's, one framing, one request.
    pub(super) fn write<'a>(
        &self,
        path: &str,
        injections: impl Iterator<Item = &'a Injection>,
    ) -> Vec<u8> {
        let injected: Headers =
            injections.filter_map(|it| Some((it.header().clone(), it.value()?))).collect();
        let mut head = format!("{} {path} HTTP/1.1\r\nHost: ", self.method).into_bytes();
        let EgressDestination { host, port, scheme } = &self.destination;
        match *port == scheme.default_port() {
            true => head.extend_from_slice(host.to_string().as_bytes()),
            false => head.extend_from_slice(self.destination.to_string().as_bytes()),
        }
        head.extend_from_slice(b"\r\n");
        for (name, value) in passed_on(&self.headers) {
            let ours = injected.iter().any(|(injected, _)| injected == name);
            let unreadable = !injected.is_empty() && UNREADABLE.contains(name);
            if name != HOST && name != EXPECT && !ours && !unreadable {
                put(&mut head, name, value);
            }
        }
        for (name, value) in &injected {
            put(&mut head, name, value);
        }
        if !injected.is_empty() {
            put(&mut head, &ACCEPT_ENCODING, &HeaderValue::from_static("identity"));
        }
        put_framing(&mut head, self.framing);
        head.extend_from_slice(b"Connection: close\r\n\r\n");
        head
    }
}

/// What a host answers.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) framing: Framing,
    /// The length it would have, where a body is described and not sent.
    described: Option<Framing>,
    headers: Headers,
}

impl Answer {
    pub(super) fn parse(head: &[u8], method: &Method) -> Result<Self, EgressRefusal> {
        check_bytes(head)?;
        let mut slots = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut slots);
        match response.parse(head) {
            Ok(httparse::Status::Complete(len)) if len == head.len() => {}
            _ => return Err(malformed("the answer is not HTTP/1.1")),
        }
        let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
        let status = status.ok_or(malformed("the answer has no status"))?;
        let headers = headers(response.headers)?;
        let framing = framing(&headers, Framing::UntilClose)?;
        let bodiless = method == Method::HEAD
            || status.is_informational()
            || status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED;
        Ok(match bodiless {
            true => Self { status, framing: Framing::Empty, described: Some(framing), headers },
            false => Self { status, framing, described: None, headers },
        })
    }

    /// How its body is packed.
    pub(super) fn codings(&self) -> impl Iterator<Item = &HeaderValue> {
        values(&self.headers, &PACKED_BY).into_iter()
    }

    /// The same without credentials. How long its body is then is not known before its end.
    pub(super) fn clear(&self, cleaner: &Cleaner) -> Self {
        let framing = match self.framing {
            Framing::Empty => Framing::Empty,
            Framing::Length(_) | Framing::Chunked | Framing::UntilClose => Framing::Chunked,
        };
        let headers = cleaner.headers(&self.headers);
        Self { status: self.status, framing, described: self.described, headers }
    }

    /// The head for the client, who asks again on another connection.
    pub(super) fn write(&self, knows_chunks: bool) -> Vec<u8> {
        let reason = self.status.canonical_reason().unwrap_or_default();
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", self.status.as_u16()).into_bytes();
        for (name, value) in passed_on(&self.headers) {
            put(&mut head, name, value);
        }
        match self.described.unwrap_or(self.framing) {
            Framing::Chunked if !knows_chunks => {}
            framing => put_framing(&mut head, framing),
        }
        head.extend_from_slice(b"Connection: close\r\n\r\n");
        head
    }
}

/// CR and LF stand together or not at all, and there is no NUL: readers differ over all three.
fn check_bytes(head: &[u8]) -> Result<(), EgressRefusal> {
    let mut previous = 0;
    for &byte in head {
        if (byte == b'\n') != (previous == b'\r') || byte == 0 {
            return Err(malformed("a CR, LF or NUL stands where none belongs"));
        }
        previous = byte;
    }
    Ok(())
}

fn headers(raw: &[httparse::Header<'_>]) -> Result<Headers, EgressRefusal> {
    let read = |header: &httparse::Header<'_>| {
        let name = header.name.parse().map_err(|_| malformed("a header's name is not one"))?;
        let value = HeaderValue::from_bytes(header.value);
        Ok((name, value.map_err(|_| malformed("a header's value is not one"))?))
    };
    raw.iter().map(read).collect()
}

fn values<'a>(headers: &'a Headers, wanted: &HeaderName) -> Vec<&'a HeaderValue> {
    headers.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value).collect()
}

/// How the body ends: by one header, said once. Two answers to that question are the root of
/// smuggling, so there is no rule here for which of them wins.
fn framing(headers: &Headers, otherwise: Framing) -> Result<Framing, EgressRefusal> {
    let lengths = values(headers, &CONTENT_LENGTH);
    let codings = values(headers, &TRANSFER_ENCODING);
    match (&lengths[..], &codings[..]) {
        ([], []) => Ok(otherwise),
        ([length], []) => {
            let digits = length.as_bytes();
            let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            let number = length.to_str().ok().filter(|_| plain).and_then(|it| it.parse().ok());
            let number = number.ok_or(malformed("its Content-Length is not a number"))?;
            Ok(Framing::Length(number))
        }
        ([], [coding]) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => {
            Ok(Framing::Chunked)
        }
        ([], [_]) => Err(malformed("its Transfer-Encoding is not `chunked`")),
        _ => Err(malformed("it says more than once where its body ends")),
    }
}

/// `CONNECT host:port`, or a whole address. A path alone is for a server, which this is not.
fn read_target(method: &Method, text: &str) -> Result<(EgressDestination, Target), EgressRefusal> {
    if method == Method::CONNECT {
        if !text.ends_with(|last: char| last.is_ascii_digit()) || !text.contains(':') {
            return Err(malformed("CONNECT wants `host:port`"));
        }
        return Ok((EgressDestination::parse(text, Scheme::Https)?, Target::Tunnel));
    }
    let strip = |scheme: &str| {
        let (front, rest) = text.split_at_checked(scheme.len())?;
        front.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let (scheme, rest) = match (strip("http://"), strip("https://")) {
        (Some(rest), _) => (Scheme::Http, rest),
        (_, Some(rest)) => (Scheme::Https, rest),
        _ => return Err(malformed("a proxy wants a whole address, as in `http://host/path`")),
    };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err(malformed("an address with a user name is not passed on"));
    }
    let destination = EgressDestination::parse(authority, scheme)?;
    if path.contains(['#', '\\']) || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(malformed("the path has characters that addresses don't have"));
    }
    let path = match path.as_bytes() {
        [b'/', ..] => path.to_owned(),
        _ => format!("/{path}"),
    };
    Ok((destination, Target::Path(path)))
}

/// The Host header names the host of the address, or a server behind a shared front could be
/// asked for another site than the one that was allowed.
fn check_host(
    headers: &Headers,
    destination: &EgressDestination,
    required: bool,
) -> Result<(), EgressRefusal> {
    match &values(headers, &HOST)[..] {
        [] if required => Err(malformed("it has no Host header")),
        [] => Ok(()),
        [host] => {
            let named = host.to_str().map_err(|_| malformed("its Host header is not a host"))?;
            match EgressDestination::parse(named, destination.scheme)? == *destination {
                true => Ok(()),
                false => Err(malformed("its Host header differs from its address")),
            }
        }
        _ => Err(malformed("it has more than one Host header")),
    }
}

/// The headers that go further: not those between neighbours, not those that a Connection
/// header calls so, and not those that frame the body, which are written anew.
fn passed_on(headers: &Headers) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
    let connection = values(headers, &CONNECTION);
    let named = connection.iter().filter_map(|value| value.to_str().ok());
    let named: Vec<&str> = named.flat_map(|list| list.split(',')).map(str::trim).collect();
    let stays = move |name: &HeaderName| {
        HOP_BY_HOP.contains(&name.as_str())
            || name.as_str().starts_with("proxy-")
            || name == CONTENT_LENGTH
            || name == TRANSFER_ENCODING
            || named.iter().any(|it| it.eq_ignore_ascii_case(name.as_str()))
    };
    headers.iter().filter(move |(name, _)| !stays(name)).map(|(name, value)| (name, value))
}

fn put(head: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    head.extend_from_slice(name.as_str().as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value.as_bytes());
    head.extend_from_slice(b"\r\n");
}

fn put_framing(head: &mut Vec<u8>, framing: Framing) {
    match framing {
        Framing::Empty | Framing::UntilClose => {}
        Framing::Length(len) => {
            head.extend_from_slice(format!("Content-Length: {len}\r\n").as_bytes());
        }
        Framing::Chunked => head.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
    }
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
