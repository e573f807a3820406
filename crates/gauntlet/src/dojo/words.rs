//! What stands in a text and in a state: days, addresses, hosts, names, numbers of things.

use insula_domain::argument::{links, stands_in};
use serde_json::Value;
use std::collections::BTreeSet;

/// Longest text that may be a name.
const NAME_CHARS_MAX: usize = 48;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Every text in a state, the names of fields left out.
pub(super) fn texts(state: &Value) -> Vec<&str> {
    match state {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// The names of all fields in a state.
fn keys(state: &Value) -> Vec<&str> {
    match state {
        Value::Array(items) => items.iter().flat_map(keys).collect(),
        Value::Object(fields) => {
            let below = fields
                .iter()
                .flat_map(|(key, value)| [key.as_str()].into_iter().chain(keys(value)));
            below.collect()
        }
        _ => Vec::new(),
    }
}

/// The days that a text names, as `-MM-DD`: the year is often left out, or wrong.
pub(super) fn days(text: &str) -> BTreeSet<String> {
    let words: Vec<String> = text
        .split(|it: char| !it.is_alphanumeric() && it != '-')
        .filter(|it| !it.is_empty())
        .map(str::to_lowercase)
        .collect();
    let mut found = BTreeSet::new();
    for (at, word) in words.iter().enumerate() {
        if let [year, month, day] = word.split('-').collect::<Vec<_>>()[..]
            && year.len() == 4
            && [year, month, day].iter().all(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
        {
            found.insert(format!("-{month}-{day}"));
        }
        let Some(month) = MONTHS.iter().position(|it| it == word) else { continue };
        let before = match at.checked_sub(1).map(|at| words[at].as_str()) {
            Some("of") => at.checked_sub(2),
            _ => at.checked_sub(1),
        };
        let around = [before.and_then(|at| words.get(at)), words.get(at + 1)];
        for day in around.into_iter().flatten().filter_map(|word| day(word)) {
            found.insert(format!("-{:02}-{day:02}", month + 1));
        }
    }
    found
}

/// A day of a month: `5`, `5th`.
fn day(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|it: char| it.is_ascii_alphabetic());
    let ending = &word[digits.len()..];
    let is_ending = matches!(ending, "" | "st" | "nd" | "rd" | "th");
    digits.parse().ok().filter(|day| is_ending && (1..=31).contains(day))
}

/// The e-mail addresses in a text.
pub(super) fn addresses(text: &str) -> BTreeSet<String> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || "._%+-@".contains(it);
    let words = text.split(|it| !is_part(it)).map(|it| it.trim_matches(['.', '-']));
    let is_address = |word: &&str| {
        word.split_once('@').is_some_and(|(name, domain)| {
            !name.is_empty() && domain.contains('.') && !domain.contains('@')
        })
    };
    words.filter(is_address).map(str::to_lowercase).collect()
}

/// The hosts that a text links to.
pub(super) fn hosts(text: &str) -> BTreeSet<String> {
    links(text).into_iter().filter_map(|it| Some(it.at?.0.to_string())).collect()
}

/// The addresses of a state, as values and as names of fields.
pub(super) fn known_addresses(state: &Value) -> BTreeSet<String> {
    texts(state).into_iter().chain(keys(state)).flat_map(addresses).collect()
}

/// The hosts that texts of a state link to.
pub(super) fn known_hosts(state: &Value) -> BTreeSet<String> {
    texts(state).into_iter().flat_map(hosts).collect()
}

/// The numbers of the things in a state: what stands under `id`.
pub(super) fn known_ids(state: &Value) -> BTreeSet<String> {
    match state {
        Value::Array(items) => items.iter().flat_map(known_ids).collect(),
        Value::Object(fields) => {
            let own = fields.iter().filter(|(key, _)| key.trim_matches('_') == "id");
            let own = own.map(|(_, value)| match value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            });
            own.chain(fields.values().flat_map(known_ids)).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// What a state calls anything: its short texts and names of fields, the lines and parts of long
/// ones, and words in them that are names or numbers.
pub(super) fn known_names(state: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in texts(state).into_iter().chain(keys(state)) {
        let parts = [text].into_iter().chain(text.lines()).chain(text.split(['\n', ',', ':']));
        let parts = parts.map(str::trim).filter(|it| is_name(it)).map(str::to_owned);
        found.extend(parts);
        let is_part = |it: char| it.is_alphanumeric() || "._-".contains(it);
        let words = text.split(|it| !is_part(it)).map(|it| it.trim_matches(['.', '-']));
        let names = words.filter(|word| {
            is_name(word)
                && word.chars().count() >= 3
                && (word.starts_with(char::is_uppercase)
                    || word.contains(|it: char| it.is_ascii_digit()))
        });
        found.extend(names.map(str::to_owned));
    }
    found
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= NAME_CHARS_MAX
}

/// A thing of a state, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Thing<'s> {
    name: &'s str,
    facts: Vec<&'s str>,
}

/// The things that an argument of this name may name: what the state keeps under a field of that
/// name, its plural, or a list of it.
fn things<'s>(state: &'s Value, stem: &str, found: &mut Vec<Thing<'s>>) {
    let is_it =
        |key: &str| key == stem || key == format!("{stem}s") || key == format!("{stem}_list");
    match state {
        Value::Array(items) => items.iter().for_each(|it| things(it, stem, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(name) if is_it(key) => {
                        found.push(Thing { name, facts: vec![name] });
                    }
                    Value::Array(items) if is_it(key) => {
                        found.extend(items.iter().filter_map(thing));
                    }
                    Value::Object(named) if is_it(key) => {
                        found.extend(named.keys().map(|name| Thing { name, facts: vec![name] }));
                    }
                    _ => {}
                }
                things(value, stem, found);
            }
        }
        _ => {}
    }
}

fn thing(value: &Value) -> Option<Thing<'_>> {
    let name = value.as_str().or_else(|| value["name"].as_str())?;
    let facts = value.as_object().into_iter().flat_map(|it| it.values().filter_map(Value::as_str));
    let facts = facts.filter(|it| is_name(it)).chain([name]).collect();
    Some(Thing { name, facts })
}

/// The things that an argument may name, where the state keeps any of that kind: those that the
/// message names, by their name or by something known of them; all, where it names none.
pub(super) fn meant(state: &Value, argument: &str, message: &str) -> BTreeSet<String> {
    let stem = ["_names", "_name", "_path"].iter().find_map(|end| argument.strip_suffix(end));
    let mut all = Vec::new();
    things(state, stem.unwrap_or(argument), &mut all);
    let is_meant = |it: &&Thing<'_>| it.facts.iter().any(|fact| stands_in(fact, message));
    let meant: BTreeSet<String> =
        all.iter().filter(is_meant).map(|it| it.name.to_owned()).collect();
    match meant.is_empty() {
        true => all.iter().map(|it| it.name.to_owned()).collect(),
        false => meant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(texts: &[&str]) -> BTreeSet<String> {
        texts.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn days_are_found_as_people_write_them() {
        let text = "from January 11th to 2025-01-15, 3 May or May 4, on the 14th of November; in \
                    June, at 10:00 on -05-20";
        let wanted = ["-01-11", "-01-15", "-11-14", "-05-03", "-05-04"];
        assert_eq!(days(text), set(&wanted));
    }

    #[test]
    fn addresses_hosts_and_names_are_found() {
        assert_eq!(
            addresses("(Ann.Lee@Example.org), x@y, a@b@c.de."),
            set(&["ann.lee@example.org"])
        );
        assert_eq!(hosts("see www.a.com and https://b.org/x."), set(&["www.a.com", "b.org"]));
        let state =
            json!({ "files": { "a.txt": "Dear Ann,\nIBAN: UK123\nNew York, NY" }, "id_": 7 });
        let names = known_names(&state);
        for name in ["a.txt", "Dear Ann", "UK123", "New York", "IBAN", "Ann"] {
            assert!(names.contains(name), "{name} in {names:?}");
        }
        assert!(!names.contains("ear"));
        assert_eq!(known_ids(&state), set(&["7"]));
    }

    #[test]
    fn things_that_are_named_narrow_what_may_be_named() {
        let state = json!({
            "hotels": { "hotel_list": [
                { "name": "City Hub", "city": "Tokyo" }, { "name": "Good Night", "city": "Paris" },
                { "name": "Le Marais", "city": "Paris" },
            ] },
            "channels": ["general", "random"], "user_channels": { "Ann": ["general"] },
        });
        let meant = |argument: &str, message: &str| meant(&state, argument, message);
        assert_eq!(meant("hotel_names", "what about City Hub?"), set(&["City Hub"]));
        assert_eq!(meant("hotel", "I am in Paris"), set(&["Good Night", "Le Marais"]));
        assert_eq!(meant("channel", "look into general"), set(&["general"]));
        assert_eq!(meant("channel", "find a channel of Ann"), set(&["general", "random"]));
        assert_eq!(meant("city", "any"), set(&["Paris", "Tokyo"]));
        assert_eq!(meant("street", "any"), set(&[]));
    }
}
