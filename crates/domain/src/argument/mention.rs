//! What a message mentions: addresses to write to, and addresses on the web.

use super::bound::web_address;

/// Most mentions of a kind that are kept.
pub const MENTIONS_MAX: usize = 64;

/// Longest text that is looked through, in bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// What a message mentions, each once, in the order it comes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mentions {
    /// E-mail addresses, as written and, where that differs, in small letters.
    pub addresses: Vec<String>,
    /// Addresses on the web.
    pub urls: Vec<String>,
    /// The hosts of those.
    pub hosts: Vec<String>,
}

/// Looks for what a text mentions.
pub fn mentions(text: &str) -> Mentions {
    let mut found = Mentions::default();
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    let is_edge = |letter: char| {
        letter.is_whitespace() || letter.is_control() || "<>\"'`()[]{}|,;\\".contains(letter)
    };
    for word in text[..end].split(is_edge) {
        let word = word.trim_end_matches(['.', ':', '!', '?', '*', '_']);
        let lower = word.to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with("https://") {
            if let Some((host, ..)) = web_address(word) {
                keep(&mut found.urls, word.to_owned());
                keep(&mut found.hosts, host.to_string());
            }
            continue;
        }
        let word = word.strip_prefix("mailto:").unwrap_or(word);
        if is_address(word) {
            keep(&mut found.addresses, word.to_owned());
            keep(&mut found.addresses, word.to_ascii_lowercase());
        }
    }
    found
}

fn keep(list: &mut Vec<String>, item: String) {
    if list.len() < MENTIONS_MAX && !list.contains(&item) {
        list.push(item);
    }
}

/// One `@`, a name before it and a domain with a dot after it.
fn is_address(word: &str) -> bool {
    let Some((name, domain)) = word.split_once('@') else { return false };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(&byte);
    let is_domain = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    !name.is_empty()
        && word.len() <= 320
        && name.bytes().all(is_name)
        && domain.contains('.')
        && domain.bytes().all(is_domain)
        && !domain.split('.').any(str::is_empty)
}
