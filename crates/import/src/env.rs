//! A file of environment variables, as shells and dotenv read it.

use crate::place::Place;

/// One variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) from: Place,
}

/// The variables of a text, in order; of one that is set twice the last. Lines that set nothing
/// are left out.
pub(crate) fn parse(file: &str, text: &str) -> Vec<Variable> {
    let mut found: Vec<Variable> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        if line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            continue;
        }
        let value = unquoted(value.trim());
        found.retain(|it| it.name != name);
        let from = Place { file: file.to_owned(), line: Some(index + 1) };
        found.push(Variable { name: name.to_owned(), value, from });
    }
    found
}

fn unquoted(value: &str) -> String {
    let Some(quote) = value.chars().next().filter(|c| "\"'".contains(*c)) else {
        // A comment begins after a blank.
        let end = value.find(" #").unwrap_or(value.len());
        return value.get(..end).unwrap_or(value).trim_end().to_owned();
    };
    let mut text = String::new();
    let mut rest = value.chars().skip(1);
    while let Some(c) = rest.next() {
        match c {
            c if c == quote => break,
            '\\' if quote == '"' => match rest.next() {
                Some('n') => text.push('\n'),
                Some(c) => text.push(c),
                None => {}
            },
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_as_a_shell_reads_them() {
        let text = "# c\nA=1\nexport B='two words' # note\nC=\"a\\\"b\" x\nD=plain # note\n=no\nnot a line\nE-F=1\nA=last\nG=\n";
        let found = parse(".env", text);
        let short: Vec<(&str, &str, usize)> = found
            .iter()
            .map(|it| (&*it.name, &*it.value, it.from.line.unwrap_or_default()))
            .collect();
        assert_eq!(
            short,
            [
                ("B", "two words", 3),
                ("C", "a\"b", 4),
                ("D", "plain", 5),
                ("A", "last", 9),
                ("G", "", 10)
            ]
        );
    }
}
