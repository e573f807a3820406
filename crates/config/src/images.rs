//! Who makes pictures for an agent, and what they cost.

use crate::model::{ModelRef, Provider, Providers};
use insula_domain::{HostPattern, Scheme, parse_authority};

/// Built-in providers that speak the protocol for pictures.
const SPEAKING: [&str; 3] = ["google", "openai", "openrouter"];
/// The kind of provider that speaks it.
const KIND: &str = "openai";

/// The model that makes pictures. Naming it gives the agent the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagesConfig {
    pub model: ModelRef,
    /// The agent's own key, as written: a reference to a secret.
    pub api_key: Option<Box<str>>,
    /// Sizes that may be asked for, the usual one first.
    pub sizes: Vec<Box<str>>,
    pub quality: Option<Box<str>>,
    /// What one picture costs, in millionths of a dollar; else it is counted by tokens.
    pub price_micros: Option<u64>,
}

/// Whether the provider of a model can be asked for pictures; otherwise what it is instead.
pub(crate) fn speaks(providers: &Providers, model: &ModelRef) -> Result<(), String> {
    match providers.configured.get(&model.provider) {
        Some(Provider { kind, .. }) if &**kind == KIND => Ok(()),
        Some(Provider { kind, .. }) => Err(format!("it is of kind `{kind}`")),
        None if SPEAKING.contains(&&*model.provider) => Ok(()),
        None => Err("it has no pictures".to_owned()),
    }
}

/// The host and the port of an address, where it has some.
pub fn host_of(url: &str) -> Option<HostPattern> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = match () {
        () if scheme.eq_ignore_ascii_case("https") => Scheme::Https,
        () if scheme.eq_ignore_ascii_case("http") => Scheme::Http,
        () => return None,
    };
    // A backslash, as browsers read it, ends a host too: such an address is nobody's.
    let authority = rest.split(['/', '?', '#']).next().filter(|it| !it.contains(['@', '\\']))?;
    let (host, port) = parse_authority(authority).ok()?;
    HostPattern::parse(&format!("{host}:{}", port.unwrap_or(scheme.default_port()))).ok()
}

/// Whether a text is a size: two numbers, or a word such as `auto`.
pub(crate) fn is_size(text: &str) -> bool {
    let is_number =
        |part: &str| (1..=5).contains(&part.len()) && part.bytes().all(|it| it.is_ascii_digit());
    match text.split_once('x') {
        Some((width, height)) if is_number(width) => is_number(height),
        _ => !text.is_empty() && text.bytes().all(|it| it.is_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_its_host_and_port() {
        for (url, host) in [
            ("https://x.org/v1", Some("x.org:443")),
            ("http://127.0.0.1:81?q", Some("127.0.0.1:81")),
            ("HTTP://[::1]/", Some("[::1]:80")),
            ("https://x.org@evil.org/", None),
            ("https://x.org\\@evil.org/", None),
            ("data:image/png;base64,", None),
            ("file:///etc/passwd", None),
        ] {
            assert_eq!(host_of(url).map(|it| it.to_string()).as_deref(), host, "{url}");
        }
    }

    #[test]
    fn sizes_are_numbers_or_a_word() {
        for text in ["1024x1024", "1x1", "auto", "512x768", "max"] {
            assert!(is_size(text), "{text}");
        }
        for text in
            ["", "1024", "1024X1024", "x1024", "1024x", "1024x1024x3", "A", "1024 x 1", "-1x1"]
        {
            assert!(!is_size(text), "{text}");
        }
    }
}
