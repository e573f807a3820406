//! Templates: text with `{{ path }}` where a value of the payload goes. No loops, no calls, no
//! second look at what a value says: a payload can't write a template.

use insula_domain::{Source, Words};
use serde_json::Value;

/// Longest text a template comes to. A model reads that much, and no payload makes it more.
pub const RESULT_BYTES_MAX: usize = 32 * 1024;

/// A template, read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Box<str>),
    /// Names of fields and numbers of items, outermost first; none for the whole payload.
    Value(Vec<Box<str>>),
}

impl Template {
    /// Reads a template; an error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            if at > 0 {
                pieces.push(Piece::Text(rest[..at].into()));
            }
            let body = &rest[at + 2..];
            let Some(end) = body.find("}}") else {
                return Err("a `{{` has no `}}`".to_owned());
            };
            pieces.push(Piece::Value(path(body[..end].trim())?));
            rest = &body[end + 2..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.into()));
        }
        Ok(Self(pieces))
    }

    /// The same piece by piece: what the operator wrote, and what the payload says.
    pub fn words(&self, payload: &Value) -> Words {
        let mut words = Words::new();
        for piece in &self.0 {
            let room = RESULT_BYTES_MAX.saturating_sub(words.bytes());
            let (source, text) = match piece {
                Piece::Text(text) => (Source::Template, text.to_string()),
                Piece::Value(path) => {
                    let mut text = String::new();
                    push(&mut text, find(payload, path));
                    (Source::Fields, text)
                }
            };
            words.push_foreign(source, None, &cut(text, room));
            if room == 0 {
                break;
            }
        }
        words
    }

    /// What it comes to for a payload. What is not there is left empty; what is too long is
    /// cut, with a mark.
    pub fn fill(&self, payload: &Value) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Value(path) => push(&mut out, find(payload, path)),
            }
            if out.len() > RESULT_BYTES_MAX {
                return cut(out, RESULT_BYTES_MAX);
            }
        }
        out
    }
}

fn path(text: &str) -> Result<Vec<Box<str>>, String> {
    if text == "." {
        return Ok(Vec::new());
    }
    let is_part = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '$' | '/'))
    };
    text.split('.')
        .map(|part| if is_part(part) { Ok(part.into()) } else { Err(()) })
        .collect::<Result<_, ()>>()
        .map_err(|()| {
            format!(
                "`{{{{ {text} }}}}` is no path; write names joined by dots, or `.` for everything"
            )
        })
}

fn find<'v>(payload: &'v Value, path: &[Box<str>]) -> Option<&'v Value> {
    path.iter().try_fold(payload, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(&**part),
    })
}

fn push(out: &mut String, value: Option<&Value>) {
    match value {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => out.push_str(text),
        Some(value) => out.push_str(&value.to_string()),
    }
}

/// The start of a text, at the end of a character, with a mark.
pub fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    let end = (0..=bytes_max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    text.push('…');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_found_by_path_and_put_in_as_they_are() {
        let payload = json!({
            "repository": { "full_name": "acme/app", "stars": 3 },
            "commits": [{ "message": "fix {{ repository.full_name }}" }],
            "empty": null,
        });
        for (template, expected) in [
            (
                "{{ repository.full_name }}: {{commits.0.message}}",
                "acme/app: fix {{ repository.full_name }}",
            ),
            ("{{ repository.stars }} stars", "3 stars"),
            ("{{ repository }}", r#"{"full_name":"acme/app","stars":3}"#),
            ("a{{ empty }}b{{ nothing.here }}c{{ commits.7 }}d", "abcd"),
            ("plain } { text", "plain } { text"),
            ("", ""),
        ] {
            assert_eq!(Template::parse(template).unwrap().fill(&payload), expected, "{template}");
        }
        let made = Template::parse("/approve {{ repository.full_name }}").unwrap().words(&payload);
        assert_eq!(made.all(), "/approve acme/app");
        assert_eq!((made.said().as_str(), made.instruction()), ("", ""));
        assert_eq!(Template::parse("{{ . }}").unwrap().fill(&json!([1, "a"])), r#"[1,"a"]"#);
    }

    #[test]
    fn what_is_no_template_is_said_and_what_is_too_long_is_cut() {
        for bad in
            ["{{ a", "{{ }}", "{{ a b }}", "{{ a..b }}", "{{ a() }}", "{{ a|b }}", "{{{ a }}}"]
        {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
        let long = json!({ "a": "ä".repeat(RESULT_BYTES_MAX) });
        let filled = Template::parse("x{{ a }}{{ a }}").unwrap().fill(&long);
        assert!(filled.len() <= RESULT_BYTES_MAX + '…'.len_utf8());
        assert!(filled.ends_with('…'));
        let made = Template::parse("x{{ a }}{{ a }}{{ a }}").unwrap().words(&long);
        assert!(made.bytes() <= RESULT_BYTES_MAX + 4 * '…'.len_utf8());
    }
}
