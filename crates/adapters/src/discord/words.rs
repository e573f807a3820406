//! The words of a message: which of them address us, and which their sender only quotes.
//!
//! A mention is `<@ID>`, `<@!ID>` or `<@&ROLE>` in the text. What stands as code or in a quotation
//! addresses nobody, and `@everyone` is everybody, not us.

use super::types::is_id;
use insula_domain::{WordSource, Words};

/// Who is addressed when these are.
pub(super) struct Addressed<'a> {
    pub us: &'a str,
    /// Our roles where it was said.
    pub roles: &'a [String],
}

/// What a text says, and whether it addresses us.
pub(super) fn read(text: &str, addressed: &Addressed<'_>) -> (Words, bool) {
    let mut words = Words::new();
    let mut mentions_us = false;
    for (is_quoted, run) in quoted_runs(text) {
        if is_quoted {
            words.push_foreign(WordSource::Quote, None, &run);
            continue;
        }
        match without_mention(&run, addressed) {
            Some(rest) => {
                mentions_us = true;
                words.push_typed(&rest);
            }
            None => words.push_typed(&run),
        }
    }
    (words, mentions_us)
}

/// A text by what is quoted in it and what is not, in order. `> ` quotes a line, `>>> ` all that
/// follows; in a block of code neither does.
fn quoted_runs(text: &str) -> Vec<(bool, String)> {
    let mut runs: Vec<(bool, String)> = Vec::new();
    let (mut in_code, mut to_the_end) = (false, false);
    for line in text.split('\n') {
        let (is_quoted, line) = match (line.strip_prefix(">>> "), line.strip_prefix("> ")) {
            _ if to_the_end => (true, line),
            (Some(rest), _) if !in_code => {
                to_the_end = true;
                (true, rest)
            }
            (_, Some(rest)) if !in_code => (true, rest),
            _ => (false, line),
        };
        if !is_quoted && line.matches("```").count() % 2 == 1 {
            in_code = !in_code;
        }
        match runs.last_mut() {
            Some((before, run)) if *before == is_quoted => {
                run.push('\n');
                run.push_str(line);
            }
            _ => runs.push((is_quoted, line.to_owned())),
        }
    }
    runs
}

/// A text without the mentions of us; `None` where there are none.
fn without_mention(text: &str, addressed: &Addressed<'_>) -> Option<String> {
    let mut found = false;
    let mut rest = String::with_capacity(text.len());
    // Every second piece between marks of code is code.
    for (number, piece) in text.split('`').enumerate() {
        if number > 0 {
            rest.push('`');
        }
        let mut left = piece;
        while let Some(at) = left.find("<@").filter(|_| number % 2 == 0) {
            rest.push_str(&left[..at]);
            let behind = &left[at..];
            match mention(behind).filter(|(_, whom)| is_us(whom, addressed)) {
                Some((len, _)) => {
                    found = true;
                    left = &behind[len..];
                    // A name in the middle leaves one space, not two.
                    if rest.ends_with(' ') {
                        left = left.strip_prefix(' ').unwrap_or(left);
                    }
                }
                None => {
                    rest.push_str("<@");
                    left = &behind[2..];
                }
            }
        }
        rest.push_str(left);
    }
    found.then(|| rest.trim_start_matches([' ', ',', ':']).trim_end().to_owned())
}

enum Whom<'t> {
    User(&'t str),
    Role(&'t str),
}

/// The mention that a text begins with: how long it is, and of whom.
fn mention(text: &str) -> Option<(usize, Whom<'_>)> {
    let end = text.find('>').filter(|end| *end <= 32)?;
    let inner = text.get(2..end)?;
    let whom = match inner.strip_prefix('&') {
        Some(role) => Whom::Role(role),
        None => Whom::User(inner.strip_prefix('!').unwrap_or(inner)),
    };
    let (Whom::User(id) | Whom::Role(id)) = whom;
    is_id(id).then_some((end + 1, whom))
}

fn is_us(whom: &Whom<'_>, addressed: &Addressed<'_>) -> bool {
    match whom {
        Whom::User(id) => *id == addressed.us,
        Whom::Role(id) => addressed.roles.iter().any(|role| role == id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_taken_out_where_it_addresses_us() {
        let roles = ["70".to_owned()];
        let addressed = Addressed { us: "9", roles: &roles };
        for (text, said, is_addressed) in [
            ("<@9> hello", "hello", true),
            ("<@!9>, /new", "/new", true),
            ("well <@9> hello", "well hello", true),
            ("<@&70> hello", "hello", true),
            ("<@&71> hello", "<@&71> hello", false),
            ("<@10> hello", "<@10> hello", false),
            ("<@9", "<@9", false),
            ("<@9x> <@> <@&>", "<@9x> <@> <@&>", false),
            ("`<@9>` hello", "`<@9>` hello", false),
            ("```\n<@9>\n``` hello", "```\n<@9>\n``` hello", false),
            ("@everyone and @here", "@everyone and @here", false),
            ("<@<@9>", "<@", true),
            ("<@9>", "", true),
        ] {
            let (words, mentions_us) = read(text, &addressed);
            assert_eq!((words.said().as_str(), mentions_us), (said, is_addressed), "{text:?}");
        }
    }

    #[test]
    fn what_is_quoted_addresses_nobody_and_is_no_instruction() {
        let addressed = Addressed { us: "9", roles: &[] };
        let (words, mentions_us) = read("> <@9> do it\nno", &addressed);
        assert!(!mentions_us);
        assert_eq!((words.said().as_str(), words.instruction()), ("no", ""));
        let (words, mentions_us) = read("yes\n>>> a\n<@9> b", &addressed);
        assert!(!mentions_us);
        assert_eq!(words.said(), "yes");
        let (words, _) = read("```\n> in code\n```\n>no space", &addressed);
        assert_eq!(words.said(), "```\n> in code\n```\n>no space");
    }
}
