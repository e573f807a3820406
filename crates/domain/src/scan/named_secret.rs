//! Credentials that are called so: `api_key=…`, `password: …`, `the token is …`, and those in
//! an address. Counted in memories only: a skill may well show how a variable is set.

use super::Uses;
use super::secret::{Note, different, is_placeholder};

/// What a person chooses: may be short.
const PASSWORDS: &[&str] =
    &["password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "contrasena"];
/// What a machine makes: long, and mixed.
const KEYS: &[&str] = &[
    "api_key",
    "api-key",
    "apikey",
    "api key",
    "secret_key",
    "secret key",
    "secret-key",
    "access_key",
    "access key",
    "access-key",
    "access_token",
    "access token",
    "access-token",
    "auth_token",
    "auth token",
    "client_secret",
    "client secret",
    "private_key",
];
/// Words that mean many other things too: only what can hardly be anything else counts.
const VAGUE: &[&str] = &["token", "secret", "bearer"];

/// What follows a number that says how much, and not a credential.
const UNITS: &[&str] = &[
    "character",
    "characters",
    "char",
    "chars",
    "day",
    "days",
    "hour",
    "hours",
    "minute",
    "minutes",
    "bit",
    "bits",
    "byte",
    "bytes",
    "password",
    "fa",
    "x",
    "times",
    "kb",
    "k",
];

/// Longest value that is looked at, in bytes.
const VALUE_BYTES_MAX: usize = 256;

const NAMED: &str = "a password or key that is called so";

/// Notes credentials that are called so.
pub(super) fn look(text: &str, note: Note<'_>) {
    for (names, is_secret) in [
        (PASSWORDS, is_password as fn(&str) -> bool),
        (KEYS, is_key as fn(&str) -> bool),
        (VAGUE, is_surely_key as fn(&str) -> bool),
    ] {
        for name in names {
            for (at, _) in text.match_indices(name) {
                let before = text.get(..at).and_then(|text| text.chars().next_back());
                let after = text.get(at + name.len()..).unwrap_or_default();
                let is_inside = before.is_some_and(char::is_alphanumeric);
                // As a header has it: the word, and the token after a space.
                let bare = (*name == "bearer").then(|| value_at(after.trim_start())).flatten();
                if !is_inside && [assigned(after), bare].into_iter().flatten().any(is_secret) {
                    note(Uses::MEMORY, NAMED, at);
                }
            }
        }
    }
    addresses(text, note);
}

/// The value that is given to the name that ends here, if one is.
fn assigned(after: &str) -> Option<&str> {
    let after = after.trim_start_matches(['"', '\'', '`', '*', ' ']);
    let value = after.strip_prefix([':', '=']).or_else(|| after.strip_prefix("is "))?;
    let value = value.trim_start_matches(['=', '>', ':', ' ', '"', '\'', '`', '*']);
    value_at(value).filter(|value| !value.is_empty())
}

fn value_at(text: &str) -> Option<&str> {
    let ends = |one: char| {
        one.is_whitespace() || matches!(one, ',' | ';' | '"' | '\'' | '`' | ')' | ']' | '<' | '>')
    };
    let head = text.get(..text.floor_char_boundary(VALUE_BYTES_MAX))?;
    let value = head.split(ends).next()?;
    Some(value.trim_end_matches(['.', '!', '?', ':', '*']))
}

/// What a value is made of.
struct Made {
    letters: usize,
    digits: usize,
    signs: usize,
}

impl Made {
    /// `None` for what is no value: a variable, a reference, a path, a placeholder, an amount.
    fn of(value: &str) -> Option<Self> {
        let is_reference = value.starts_with(['$', '{', '<', '*', '%', '(', '/', '~', '.', '['])
            || value.contains("://")
            || value.contains('(')
            || is_placeholder(value);
        let unit = value.trim_start_matches(|one: char| one.is_ascii_digit());
        let is_amount = unit.len() < value.len() && UNITS.contains(&unit.trim_start_matches('-'));
        if is_reference || is_amount {
            return None;
        }
        let count = |test: fn(&char) -> bool| value.chars().filter(test).count();
        Some(Self {
            letters: count(|one| one.is_alphabetic()),
            digits: count(|one| one.is_ascii_digit()),
            signs: count(|one| matches!(one, '!' | '@' | '#' | '$' | '%' | '^' | '&' | '+' | '?')),
        })
    }
}

fn is_password(value: &str) -> bool {
    Made::of(value).is_some_and(|made| {
        let is_mixed = made.letters > 0 && made.digits + made.signs > 0;
        (is_mixed && value.len() >= 6) || (made.digits == value.len() && value.len() >= 4)
    })
}

fn is_key(value: &str) -> bool {
    Made::of(value).is_some_and(|made| {
        made.letters > 0 && made.digits > 0 && value.len() >= 8 && different(value) >= 6
    })
}

fn is_surely_key(value: &str) -> bool {
    Made::of(value).is_some_and(|made| {
        made.letters > 2 && made.digits > 2 && value.len() >= 12 && different(value) >= 8
    })
}

/// Notes a name and a password in an address.
fn addresses(text: &str, note: Note<'_>) {
    for (at, _) in text.match_indices("://") {
        let rest = text.get(at + 3..).unwrap_or_default();
        let head = rest.get(..rest.floor_char_boundary(VALUE_BYTES_MAX)).unwrap_or_default();
        let ends = |one: char| one.is_whitespace() || matches!(one, '/' | '"' | '\'' | '`' | '<');
        let place = head.split(ends).next().unwrap_or_default();
        let Some((user, _)) = place.rsplit_once('@') else { continue };
        let Some((_, password)) = user.split_once(':') else { continue };
        let is_stand_in = password.starts_with(['$', '{', '*', '%'])
            || matches!(password, "pass" | "password" | "secret" | "pw" | "pwd")
            || is_placeholder(password);
        if password.len() >= 3 && !is_stand_in {
            note(Uses::MEMORY, "a password in an address", at);
        }
    }
}
