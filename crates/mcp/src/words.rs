//! What went wrong with a server, in words for people: short, on one line, and without what
//! nobody here said.

use insula_sandbox::Capture;
use rmcp::model::{ErrorCode, ProtocolVersion};
use rmcp::service::ClientInitializeError;

/// How much of what a program said last is kept for its operator, in bytes.
const SAID_BYTES_MAX: usize = 600;
/// How much of a version of the protocol that is none is repeated, in characters.
const VERSION_CHARS_MAX: usize = 40;

/// Whether the server does not know the manner in which it was greeted.
pub(crate) fn is_unknown(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::JsonRpcError(error)
        if [ErrorCode::METHOD_NOT_FOUND, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION].contains(&error.code))
}

/// What went wrong while connecting, without what the server had to say.
pub(crate) fn said(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => without_prefix(&*error.error),
        ClientInitializeError::ConnectionClosed(_) => "it ended before it answered".to_owned(),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it answered the greeting with an error: {}", plain(&error.message))
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version we know".to_owned()
        }
        _ => "its answer to the greeting is not MCP".to_owned(),
    }
}

/// Why a server can't be spoken with that answers the greeting with this version of the
/// protocol.
pub(crate) fn unknown_version(version: &str) -> Option<String> {
    let known = ProtocolVersion::KNOWN_VERSIONS;
    if known.iter().any(|known| known.as_str() == version) {
        return None;
    }
    let mut shown: String = version
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it })
        .take(VERSION_CHARS_MAX)
        .collect();
    if shown.len() < version.len() {
        shown.push('…');
    }
    let known: Vec<&str> = known.iter().map(ProtocolVersion::as_str).collect();
    let known = known.join(", ");
    Some(format!("it answers with version `{shown}` of the protocol; known are {known}"))
}

/// What the SDK says went wrong, without its own words about where.
pub(crate) fn without_prefix(error: &(dyn std::error::Error + Send + Sync)) -> String {
    let text = error.to_string();
    let prefixes = ["Client error: ", "unexpected server response: "];
    let rest = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
    plain(rest.unwrap_or(&text))
}

/// A server's words on one line, shortened.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).take(SAID_BYTES_MAX).collect()
}

/// The end of what a program said on its error stream.
pub(crate) fn last_words(errors: &Capture) -> Option<String> {
    let bytes = errors.snapshot().bytes();
    let text = String::from_utf8_lossy(&bytes);
    let start = text.ceil_char_boundary(text.len().saturating_sub(SAID_BYTES_MAX));
    let words = plain(text[start..].trim());
    (!words.is_empty()).then_some(words)
}
