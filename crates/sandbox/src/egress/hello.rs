//! The first message of TLS, read for the name it asks for. Nothing is decrypted, and nothing
//! of it is changed.
//!
//! By hand and not with the `Acceptor` of rustls 0.23.46, which was given the same greetings: it
//! takes one with an encrypted client hello for an ordinary one and has no way to ask, so a
//! program could name one host in the clear and another in secret; it takes a name that is an
//! address for none; it refuses clients without signature algorithms, which are older than TLS
//! 1.2 and not ours to judge. It needs 30 µs for a greeting of 242 bytes where this needs 1 µs,
//! and 103 µs for one in records of a byte, which this refuses.

use super::policy::TlsRefusal;
use insula_domain::Host;

/// Longest greeting. Browsers' are below 2 KiB, also with keys that resist quantum computers.
pub(super) const HELLO_LEN_MAX: usize = 16 * 1024;

/// Records a greeting may be cut into: a client that hides from a filter cuts it in two or
/// three, and one that cuts it finer is after our processor time.
const RECORDS_MAX: usize = 16;
const RECORD_HEADER_LEN: usize = 5;
const RECORD_HANDSHAKE: u8 = 22;
const RECORD_LEN_MAX: usize = 16 * 1024;
const MESSAGE_HEADER_LEN: usize = 4;
const MESSAGE_CLIENT_HELLO: u8 = 1;
const EXTENSION_SERVER_NAME: u16 = 0;
/// Encrypted client hello, and the draft before it.
const EXTENSIONS_HIDING: [u16; 2] = [0xfe0d, 0xffce];
const NAME_TYPE_HOST: u8 = 0;

/// How far a greeting has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More bytes are needed.
    Unfinished,
    /// It is there.
    Complete(Greeting),
}

/// What a greeting says in the clear.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    /// The server's name, if it has one.
    pub(super) server_name: Option<Host>,
}

/// Reads what has come so far.
pub(super) fn read(bytes: &[u8]) -> Result<Progress, TlsRefusal> {
    let mut message = vec![];
    let mut rest = bytes;
    for _record in 0..=RECORDS_MAX {
        match message_len(&message)? {
            Some(len) if message.len() >= len => {
                let body = &message[MESSAGE_HEADER_LEN..len];
                return client_hello(body).map(Progress::Complete);
            }
            _ => {}
        }
        // What can be told from the first bytes is told then: whoever speaks another protocol
        // may never send more.
        if rest.first().is_some_and(|&kind| kind != RECORD_HANDSHAKE)
            || rest.get(1).is_some_and(|&major| major != 3)
        {
            return Err(TlsRefusal::NotTls);
        }
        let Some((header, after)) = rest.split_at_checked(RECORD_HEADER_LEN) else {
            return Ok(Progress::Unfinished);
        };
        let len = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if len == 0 || len > RECORD_LEN_MAX {
            return Err(TlsRefusal::Broken("the length of a record"));
        }
        let Some((fragment, after)) = after.split_at_checked(len) else {
            // Enough of it may be here to see that it is too long or something else.
            message.extend_from_slice(after);
            message_len(&message)?;
            return Ok(Progress::Unfinished);
        };
        message.extend_from_slice(fragment);
        rest = after;
    }
    Err(TlsRefusal::Broken("it comes in too many records"))
}

/// The length of the message with its header, as soon as that is known.
fn message_len(message: &[u8]) -> Result<Option<usize>, TlsRefusal> {
    if message.first().is_some_and(|&kind| kind != MESSAGE_CLIENT_HELLO) {
        return Err(TlsRefusal::Broken("no greeting at the beginning"));
    }
    let Some(&[_, a, b, c]) = message.first_chunk() else { return Ok(None) };
    let len = MESSAGE_HEADER_LEN + usize::from(a) * 65_536 + usize::from(b) * 256 + usize::from(c);
    if len > HELLO_LEN_MAX {
        return Err(TlsRefusal::Broken("it is too long"));
    }
    Ok(Some(len))
}

fn client_hello(body: &[u8]) -> Result<Greeting, TlsRefusal> {
    let mut reader = Reader(body);
    reader.take(2 + 32)?;
    let _session_id = reader.list8()?;
    let _cipher_suites = reader.list16()?;
    let _compression = reader.list8()?;
    let mut greeting = Greeting { server_name: None };
    if reader.0.is_empty() {
        return Ok(greeting);
    }
    let mut extensions = Reader(reader.list16()?);
    if !reader.0.is_empty() {
        return Err(TlsRefusal::Broken("bytes behind its end"));
    }
    let mut seen = vec![];
    while !extensions.0.is_empty() {
        let kind = extensions.number16()?;
        let content = extensions.list16()?;
        if seen.contains(&kind) {
            return Err(TlsRefusal::Broken("an extension twice"));
        }
        seen.push(kind);
        if EXTENSIONS_HIDING.contains(&kind) {
            return Err(TlsRefusal::Hidden);
        }
        if kind == EXTENSION_SERVER_NAME {
            greeting.server_name = Some(server_name(content)?);
        }
    }
    Ok(greeting)
}

/// The one name in the extension. Two would let us check one and the server take the other.
fn server_name(content: &[u8]) -> Result<Host, TlsRefusal> {
    let mut content = Reader(content);
    let mut names = Reader(content.list16()?);
    let kind = names.take(1)?;
    let name = names.list16()?;
    if !content.0.is_empty() || !names.0.is_empty() || kind != [NAME_TYPE_HOST] {
        return Err(TlsRefusal::Broken("more than one server name"));
    }
    let text = std::str::from_utf8(name).map_err(|_| TlsRefusal::Broken("the server name"))?;
    Host::parse(text).map_err(|_| TlsRefusal::Other(super::policy::shown(text)))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], TlsRefusal> {
        let (taken, rest) =
            self.0.split_at_checked(len).ok_or(TlsRefusal::Broken("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number16(&mut self) -> Result<u16, TlsRefusal> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn list8(&mut self) -> Result<&'a [u8], TlsRefusal> {
        let len = self.take(1)?[0];
        self.take(usize::from(len))
    }

    fn list16(&mut self) -> Result<&'a [u8], TlsRefusal> {
        let len = self.number16()?;
        self.take(usize::from(len))
    }
}

#[cfg(test)]
#[path = "hello_tests.rs"]
mod tests;
