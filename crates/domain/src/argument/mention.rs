//! What a text mentions: addresses to write to, addresses on the web, and other words.

use super::bound::web_address;
use crate::host::{Host, Scheme, parse_authority};

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
    for word in text[..end].split(is_edge) {
        let word = word.trim_end_matches(LOOSE_ENDS);
        let lower = word.to_ascii_lowercase();
        let host = match lower {
            lower if lower.starts_with("http://") || lower.starts_with("https://") => {
                Some(web_address(word).map(|(host, ..)| host))
            }
            lower if lower.starts_with("www.") => Some(bare(word).map(|(host, ..)| host)),
            _ => None,
        };
        if let Some(host) = host {
            if let Some(host) = host {
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

/// What stands between words.
fn is_edge(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "<>\"'`()[]{}|,;\\".contains(letter)
}

/// What ends a sentence rather than an address.
const LOOSE_ENDS: [char; 6] = ['.', ':', '!', '?', '*', '_'];

/// Where a link leads: host, port and scheme, as far as they are written.
type LinkTarget = (Host, Option<u16>, Option<Scheme>);

/// Something in a text that a reader may follow.
#[derive(Debug, Clone, PartialEq)]
pub struct Link<'t> {
    /// As it stands there.
    pub text: &'t str,
    /// Where it leads; `None` where readers could disagree.
    pub at: Option<LinkTarget>,
}

/// The web addresses in a text: whatever has `://` in it, begins with `www.`, or is a host
/// with a path behind it. A host alone (`docs.rs`) is a word like others: a file may be called
/// so.
pub fn links(text: &str) -> Vec<Link<'_>> {
    // A backslash is no edge here: browsers take `https:\\evil.net` for an address.
    text.split(|it| is_edge(it) && it != '\\').flat_map(links_of).flatten().collect()
}

/// What a reader may follow in one word: what begins with the first scheme in it, and what
/// stands before that, for which the rest would only be a path.
fn links_of(word: &str) -> [Option<Link<'_>>; 2] {
    let word = word.trim_end_matches(LOOSE_ENDS);
    let lower = word.to_ascii_lowercase();
    // With or without slashes behind it, and whichever: some reader follows each.
    let schemes = ["http:", "https:"].into_iter().filter_map(|scheme| lower.find(scheme));
    let Some(at) = schemes.min() else { return [without_scheme(word), None] };
    let (before, text) = word.split_at(at);
    [without_scheme(before), Some(Link { text, at: web_address(text) })]
}

fn without_scheme(word: &str) -> Option<Link<'_>> {
    let lower = word.to_ascii_lowercase();
    if lower.contains("://") {
        return Some(Link { text: word, at: None });
    }
    let text = match lower.find("www.") {
        Some(at) if !lower[..at].ends_with(|it: char| it.is_ascii_alphanumeric()) => &word[at..],
        _ => word.trim_start_matches('/'),
    };
    let is_www = text.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("www."));
    let (host, path) = text.split_once(['/', '?', '#']).map_or((text, None), |(h, p)| (h, Some(p)));
    let is_link = is_www || path.is_some() && is_host_like(host);
    is_link.then(|| Link { text, at: bare(text) })
}

/// Where an address without a scheme leads.
fn bare(text: &str) -> Option<LinkTarget> {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let (host, port) = parse_authority(&text[..end]).ok()?;
    Some((host, port, None))
}

/// Labels with dots between, of which the last has letters only, or is one in punycode. A final
/// dot makes no difference.
fn is_host_like(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|it| it.is_alphanumeric() || it == '-')
    };
    let host = text.split_once(':').map_or(text, |(host, _)| host);
    let host = host.strip_suffix('.').unwrap_or(host);
    host.rsplit_once('.').is_some_and(|(before, last)| {
        let is_punycode = || last.to_ascii_lowercase().starts_with("xn--") && is_label(last);
        last.len() >= 2
            && (last.chars().all(char::is_alphabetic) || is_punycode())
            && before.split('.').all(is_label)
    })
}

/// Whether something stands in what was said, as whole words and without regard to case.
pub fn stands_in(wanted: &str, said: &str) -> bool {
    let wanted = wanted.trim().to_lowercase();
    if wanted.is_empty() {
        return false;
    }
    let said = said.to_lowercase();
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    said.match_indices(&wanted).any(|(at, _)| {
        let begins = !said[..at].ends_with(is_word);
        let ends = !said[at + wanted.len()..].starts_with(is_word);
        begins && ends
    })
}

/// What may stand before a word that somebody says, and is no part of it. A sign that changes what
/// a number or a path is (`-`, `.`, `~`) is none of these.
const BEFORE_WORDS: &str = "\"'`´“”„‘’‚«»‹›([{@#$€£¥";
/// The same behind it.
const BEHIND_WORDS: &str = "\"'`´“”„‘’‚«»‹›)]}.,;:!?…$€£¥、。，！？";

/// Whether somebody said this and nothing beside it: one or more words, all that stands between
/// two blanks but for quotes and the ends of sentences. `0.20` does not say `20`, nor does
/// `jean-luc@mail.com` say `luc@mail.com`. Small letters are as good as capital ones, where no
/// other letter could be taken for them.
pub fn is_said(wanted: &str, said: &str) -> bool {
    let wanted = wanted.trim().to_ascii_lowercase();
    if wanted.is_empty() {
        return false;
    }
    let said = said.to_ascii_lowercase();
    said.match_indices(&wanted).any(|(at, _)| {
        let (mut before, mut behind) = (&said[..at], &said[at + wanted.len()..]);
        loop {
            before = before.trim_end_matches(|it| BEFORE_WORDS.contains(it));
            behind = behind.trim_start_matches(|it| BEHIND_WORDS.contains(it));
            // One of them alone says that it is less, or more.
            match (before.strip_suffix('<'), behind.strip_prefix('>')) {
                (Some(outer), Some(rest)) => (before, behind) = (outer, rest),
                _ => break,
            }
        }
        let is_edge = |letter: Option<char>| letter.is_none_or(char::is_whitespace);
        is_edge(before.chars().next_back()) && is_edge(behind.chars().next())
    })
}

/// The same of a number, which may have been written with more digits than it takes: `0.20` is 0.2.
/// Signs that stand for something else elsewhere (`1,000`, `1e3`) are read by nobody.
pub fn is_number_said(number: f64, said: &str) -> bool {
    // Beyond this, two numbers that differ are one.
    const EXACT_MAX: f64 = 9e15;
    let is_it = |word: &str| {
        let word = word.trim_start_matches(|it| BEFORE_WORDS.contains(it));
        let word = word.trim_end_matches(|it| BEHIND_WORDS.contains(it));
        let digits = word.strip_prefix('-').unwrap_or(word);
        let is_plain = digits.bytes().all(|it| it.is_ascii_digit() || it == b'.')
            && digits.starts_with(|it: char| it.is_ascii_digit());
        is_plain && word.parse::<f64>().is_ok_and(|said| said.to_bits() == number.to_bits())
    };
    number.abs() < EXACT_MAX && said.split_whitespace().any(is_it)
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
