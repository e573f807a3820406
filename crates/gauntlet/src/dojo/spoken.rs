//! Pieces of a message that a call could be made of, word for word as they were said.

use insula_domain::argument::links as links_in;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The links of a message.
pub(super) fn links(message: &str) -> Vec<String> {
    links_in(message).iter().map(|it| it.text.to_owned()).collect()
}

/// The numbers of a message, those that stand in days and times too.
pub(super) fn numbers(message: &str) -> Vec<String> {
    let words = message.split(|it: char| !it.is_ascii_digit() && it != '.');
    let words = words.map(|it| it.trim_matches('.')).filter(|it| !it.is_empty());
    words.map(str::to_owned).collect()
}

/// The days of a message: `2024-05-15`, `May 15th`, `15 May`.
pub(super) fn days(message: &str) -> Vec<String> {
    let trimmed = |it: &'_ str| it.trim_matches(|it: char| !it.is_alphanumeric()).to_owned();
    let words: Vec<String> = message.split_whitespace().map(trimmed).collect();
    let has_digit = |it: &str| it.contains(|it: char| it.is_ascii_digit());
    let is_month = |it: &str| {
        let word = it.to_lowercase();
        MONTHS.iter().any(|month| word.starts_with(month)) && word.chars().all(char::is_alphabetic)
    };
    let is_written_out = |it: &str| {
        let parts: Vec<&str> = it.split('-').collect();
        let are_digits = parts.iter().all(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        are_digits && parts.iter().map(|it| it.len()).eq([4, 2, 2])
    };
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if is_written_out(word) {
            found.push(word.clone());
        }
        let Some(next) = words.get(at + 1) else { continue };
        let is_pair = is_month(word) && has_digit(next) || has_digit(word) && is_month(next);
        if is_pair {
            found.push(format!("{word} {next}"));
        }
    }
    found
}

/// Words of a message that could be what somebody calls something, the likeliest first.
pub(super) fn names(message: &str) -> Vec<String> {
    let quoted = message.split('\'').skip(1).step_by(2).map(str::to_owned);
    let words = message.split(|it: char| !it.is_alphanumeric()).filter(|it| it.len() > 2);
    let mut words: Vec<&str> = words.collect();
    words.sort_by_key(|it| !it.starts_with(char::is_uppercase));
    quoted.chain(words.into_iter().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_found_as_they_were_said() {
        let message = "Pay 'bill-12-2023.txt' on 2024-05-15 or May 16th, 10.50 to www.a.com/x.";
        assert_eq!(days(message), ["2024-05-15", "May 16th"]);
        assert_eq!(numbers(message), ["12", "2023", "2024", "05", "15", "16", "10.50"]);
        assert_eq!(links(message), ["www.a.com/x"]);
        assert_eq!(names(message)[..2], ["bill-12-2023.txt", "Pay"]);
    }
}
