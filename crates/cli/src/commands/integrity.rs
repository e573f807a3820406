//! Whose words steer a turn, as people read it.

use insula_domain::Integrity;
use serde_json::Value;

/// Columns of a line of names below others.
const LINE_COLUMNS: usize = 64;

/// Whose words of others something was made of; `None` for nobody's.
pub fn others(integrity: &Value) -> Option<String> {
    if integrity["own"] == true {
        return None;
    }
    let sources = integrity["sources"].as_array().into_iter().flatten();
    let sources: Vec<&str> = sources.filter_map(Value::as_str).collect();
    let known = sources.join(",").parse().unwrap_or_else(|_| Integrity::many());
    Some(known.in_words())
}

/// Names after a word, on as many lines as they need.
pub fn names(word: &str, names: &[&str]) -> String {
    let mut lines = vec![format!("{word}:")];
    for (place, name) in names.iter().enumerate() {
        let name = if place + 1 < names.len() { format!(" {name},") } else { format!(" {name}") };
        match lines.last_mut() {
            Some(line) if line.len() + name.len() <= LINE_COLUMNS => line.push_str(&name),
            _ => lines.push(format!(" {name}")),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sources_are_told_in_words() {
        let told = |own: bool, sources: &[&str], many: bool| {
            others(&json!({ "own": own, "sources": sources, "many": many }))
        };
        assert_eq!(told(true, &[], false), None);
        let both = told(false, &["web:docs.rs", "mcp:mail%2Fget_unread"], false);
        assert_eq!(both.as_deref(), Some("web docs.rs, mcp mail/get_unread"));
        let many = "more sources than are told apart";
        assert_eq!(told(false, &[], true).as_deref(), Some(many));
        assert_eq!(told(false, &["of:a later version"], false).as_deref(), Some(many));
    }

    #[test]
    fn names_fit_their_lines() {
        assert_eq!(names("asks", &["send", "call"]), "asks: send, call");
        let many = names("asks", &["remember_globally"; 7]);
        assert!(many.lines().count() > 1 && many.lines().all(|it| it.len() <= LINE_COLUMNS));
    }
}
