//! What somebody said, without what clients put around it: quoted fall-backs, and mentions of us.

use serde_json::Value;

/// What we are called in a room.
pub(super) struct Names<'a> {
    /// Our id there.
    pub user: &'a str,
    /// What people see, as far as we know: everywhere, and in this room.
    pub shown: Vec<&'a str>,
}

/// The text without the quote that older clients put before a reply. What it quotes is chosen by
/// whoever writes, so it proves nothing about what was said.
pub(super) fn without_fallback(body: &str) -> &str {
    let mut rest = body;
    while let Some(line) = rest.strip_prefix('>').map(|_| rest) {
        rest = line.split_once('\n').map_or("", |(_, behind)| behind);
    }
    if rest.len() == body.len() {
        return body;
    }
    // Without the empty line it was no fall-back but somebody's own quote.
    rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n")).unwrap_or(body)
}

/// Whether a message addresses us. Where a client says whom it mentions, that decides; else a
/// link to us, our id, or our name the way one is addressed.
pub(super) fn mentions(content: &Value, body: &str, names: &Names<'_>) -> bool {
    if let Some(mentions) = content.get("m.mentions").filter(|it| it.is_object()) {
        let users = mentions.get("user_ids").and_then(Value::as_array);
        return users.is_some_and(|users| users.iter().any(|user| user == names.user));
    }
    has_pill(content, names.user)
        || has_word(body, names.user)
        || leading(body, names, Bare::No).is_some()
        || names.shown.iter().any(|name| has_word(body, &format!("@{name}")))
}

/// The text without the mentions of us: our id wherever it stands, our name where the text
/// begins with it.
pub(super) fn without_mention(content: &Value, body: &str, names: &Names<'_>) -> String {
    let bare = if has_pill(content, names.user) { Bare::Yes } else { Bare::No };
    let mut body = body.trim();
    while let Some(rest) = leading(body, names, bare) {
        body = rest;
    }
    let mut text = String::with_capacity(body.len());
    let mut from = 0;
    for at in words(body, names.user) {
        text.push_str(body[from..at].trim_end());
        from = at + names.user.len();
        from = body.len() - body[from..].trim_start().len();
        if !text.is_empty() && !body[from..].starts_with([',', '.', ';', '!', '?', ')']) {
            text.push(' ');
        }
    }
    text.push_str(&body[from..]);
    text.truncate(text.trim_end().len());
    text
}

/// Whether our name alone counts, with nothing that shows it is meant as a mention.
#[derive(Clone, Copy, PartialEq)]
enum Bare {
    Yes,
    No,
}

/// What stands behind a mention of us that the text begins with.
fn leading<'a>(text: &'a str, names: &Names<'_>, bare: Bare) -> Option<&'a str> {
    let text = text.trim_start();
    let is_sure = |name: &str| name == names.user;
    let with_at = text.strip_prefix('@');
    for name in std::iter::once(names.user).chain(names.shown.iter().copied()) {
        if name.is_empty() {
            continue;
        }
        for (start, marked) in [(Some(text), false), (with_at, true)] {
            let Some(rest) = start.and_then(|start| behind(start, name)) else { continue };
            let told = rest.strip_prefix([':', ',']);
            if told.is_some() || marked || is_sure(name) || bare == Bare::Yes {
                return Some(told.unwrap_or(rest).trim_start());
            }
        }
    }
    None
}

/// What stands behind `name`, where the text begins with it as a word.
fn behind<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let head = text.get(..name.len())?;
    let rest = &text[name.len()..];
    // An id may go on behind a colon or a dot; a name ends there.
    let ends = if name.starts_with('@') { !goes_on(rest) } else { !rest.starts_with(belongs) };
    (head.eq_ignore_ascii_case(name) && ends).then_some(rest)
}

/// Whether a sign may be part of a name.
fn belongs(sign: char) -> bool {
    sign.is_alphanumeric() || matches!(sign, '_' | '-')
}

/// Whether what stands behind an id may belong to it: a dot may end a sentence, or go on with a
/// longer name.
fn goes_on(rest: &str) -> bool {
    let mut behind = rest.chars();
    match behind.next() {
        Some('.' | ':') => behind.next().is_some_and(belongs),
        Some(sign) => belongs(sign),
        None => false,
    }
}

/// Whether `word` stands somewhere.
fn has_word(text: &str, word: &str) -> bool {
    words(text, word).next().is_some()
}

/// Where `word` stands, with nothing beside it that could belong to it.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |&at| !text[..at].ends_with(belongs) && !goes_on(&text[at + word.len()..]))
}

/// Whether the formatted text links to us, as clients do for a mention.
fn has_pill(content: &Value, user: &str) -> bool {
    let Some(html) = content.get("formatted_body").and_then(Value::as_str) else { return false };
    let encoded = user.replace('@', "%40").replace(':', "%3A");
    [user, &encoded].iter().any(|user| {
        html.match_indices(&format!("https://matrix.to/#/{user}"))
            .any(|(at, found)| html[at + found.len()..].starts_with(['"', '\'', '?']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn names() -> Names<'static> {
        Names { user: "@bot:x.y", shown: vec!["Helper Bot"] }
    }

    #[test]
    fn a_fallback_is_taken_off_and_a_quote_of_ones_own_is_not() {
        for (body, expected) in [
            ("> <@a:x> first\n> second\n\nmine", "mine"),
            ("> <@a:x> first\n\n> own\nmine", "> own\nmine"),
            ("> own quote\nmine", "> own quote\nmine"),
            ("> only", "> only"),
            ("mine", "mine"),
            ("", ""),
        ] {
            assert_eq!(without_fallback(body), expected, "{body:?}");
        }
    }

    #[test]
    fn a_mention_is_recognised_and_taken_out() {
        let pill = |text: &str| {
            let html = format!(r#"<a href="https://matrix.to/#/@bot:x.y">Helper Bot</a> {text}"#);
            json!({ "formatted_body": html })
        };
        let said = |users: &[&str]| json!({ "m.mentions": { "user_ids": users } });
        for (content, body, mentioned, text) in [
            (json!({}), "Helper Bot: /new", true, "/new"),
            (json!({}), "helper bot, hello", true, "hello"),
            (json!({}), "Helper Bots are fine", false, "Helper Bots are fine"),
            (json!({}), "Helper Bot is fine", false, "Helper Bot is fine"),
            (json!({}), "ask @Helper Bot about it", true, "ask @Helper Bot about it"),
            (json!({}), "@bot:x.y /stop", true, "/stop"),
            (json!({}), "@bot:x.y: /stop", true, "/stop"),
            (json!({}), "please @bot:x.y, do", true, "please, do"),
            (json!({}), "please @bot:x.y do", true, "please do"),
            (json!({}), "hey @bot:x.y /stop", true, "hey /stop"),
            (json!({}), "thanks @bot:x.y", true, "thanks"),
            (json!({}), "@bot:x.yz hello", false, "@bot:x.yz hello"),
            (json!({}), "@bot:x.y.z hello", false, "@bot:x.y.z hello"),
            (pill("hello"), "Helper Bot hello", true, "hello"),
            (said(&["@bot:x.y"]), "Helper Bot: hi", true, "hi"),
            (said(&["@bot:x.y"]), "hi there", true, "hi there"),
            (said(&["@other:x"]), "Helper Bot: hi", false, "hi"),
            (said(&[]), "@bot:x.y hi", false, "hi"),
            (json!({"m.mentions": 3}), "none", false, "none"),
            (json!({}), "Helper Bot", false, "Helper Bot"),
            (pill(""), "Helper Bot", true, ""),
        ] {
            assert_eq!(mentions(&content, body, &names()), mentioned, "{content} {body}");
            if mentioned {
                assert_eq!(without_mention(&content, body, &names()), text, "{content} {body}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_looked_at(text in r"(@bot:x\.y|Helper Bot|[@:, >é\n]|\PC){0,20}") {
            let content = json!({ "formatted_body": text });
            without_fallback(&text);
            mentions(&content, &text, &names());
            let left = without_mention(&content, &text, &names());
            prop_assert!(left.len() <= text.len());
        }
    }
}
