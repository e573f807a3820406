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

/// Whether a client says of a message that somebody else wrote it: that it was forwarded, or is
/// said in the name of one of many behind the same account.
pub(super) fn is_passed_on(content: &Value) -> bool {
    const MARKS: [&str; 6] = [
        "m.forwarded",
        "org.matrix.msc2723.forwarded",
        "com.beeper.forwarded",
        "m.per_message_profile",
        "com.beeper.per_message_profile",
        "org.matrix.msc4144.per_message_profile",
    ];
    MARKS.iter().any(|mark| content.get(mark).is_some_and(|it| !it.is_null()))
}

/// The lines of a text in runs: whether they are marked as quoted, and what they say.
pub(super) fn quoted_runs(body: &str) -> Vec<(bool, String)> {
    let lines: Vec<&str> = body.split('\n').collect();
    let runs = lines.chunk_by(|one, next| is_quoted(one) == is_quoted(next));
    let one = lines.iter().all(|line| is_quoted(line) == is_quoted(lines[0]));
    let whole = |run: &[&str]| {
        let text = run.join("\n");
        if one { text } else { text.trim().to_owned() }
    };
    runs.map(|run| (is_quoted(run[0]), whole(run))).filter(|(_, run)| !run.is_empty()).collect()
}

/// The lines of a text that are not marked as quoted.
pub(super) fn own_lines(body: &str) -> String {
    body.split('\n').filter(|line| !is_quoted(line)).collect::<Vec<_>>().join("\n")
}

fn is_quoted(line: &str) -> bool {
    line.trim_start_matches(' ').starts_with('>')
}

/// Whether a message addresses us: its client says so, our id stands in it, or it begins with our
/// name the way one addresses somebody. Where a client says nothing of mentions, a link to us or
/// our name behind an `@` counts too.
pub(super) fn mentions(content: &Value, body: &str, names: &Names<'_>) -> bool {
    if has_word(body, names.user) || leading(body, names, Bare::No).is_some() {
        return true;
    }
    if let Some(mentions) = content.get("m.mentions").filter(|it| it.is_object()) {
        let users = mentions.get("user_ids").and_then(Value::as_array);
        return users.is_some_and(|users| users.iter().any(|user| user == names.user));
    }
    has_pill(content, names.user)
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
    let html = &without_quotes(html);
    let encoded = user.replace('@', "%40").replace(':', "%3A");
    [user, &encoded].iter().any(|user| {
        html.match_indices(&format!("https://matrix.to/#/{user}"))
            .any(|(at, found)| html[at + found.len()..].starts_with(['"', '\'', '?']))
    })
}

/// A formatted text without what it quotes. Where a quotation does not end, all that follows is
/// one.
fn without_quotes(html: &str) -> String {
    let mut own = String::with_capacity(html.len());
    let lower = html.to_ascii_lowercase();
    let mut from = 0;
    while from < html.len() {
        let opens = ["<mx-reply", "<blockquote"].iter();
        let next = opens.filter_map(|tag| Some((lower[from..].find(tag)? + from, *tag))).min();
        let Some((start, tag)) = next else { break };
        own.push_str(&html[from..start]);
        let close = format!("</{}>", &tag[1..]);
        // Quotations in quotations end with the last of them.
        let end = lower[start..].rfind(&close).map(|at| start + at + close.len());
        from = end.unwrap_or(html.len());
    }
    own.push_str(&html[from.min(html.len())..]);
    own
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
            (said(&["@other:x"]), "Helper Bot: hi", true, "hi"),
            (said(&["@other:x"]), "ask @Helper Bot", false, ""),
            (said(&[]), "@bot:x.y hi", true, "hi"),
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

    #[test]
    fn what_is_quoted_is_told_apart_and_addresses_nobody() {
        let runs = |body: &str| quoted_runs(body);
        assert_eq!(runs("mine\n"), [(false, "mine\n".to_owned())]);
        assert_eq!(
            runs("> theirs\n\nmine\n > more"),
            [
                (true, "> theirs".to_owned()),
                (false, "mine".to_owned()),
                (true, "> more".to_owned())
            ]
        );
        assert_eq!(own_lines("> @bot:x.y\nmine"), "mine");
        for quote in ["mx-reply", "blockquote"] {
            let html =
                format!(r#"<{quote}><a href="https://matrix.to/#/@bot:x.y">B</a></{quote}> no"#);
            assert!(!mentions(&json!({ "formatted_body": html }), "no", &names()), "{html}");
            let html =
                format!(r#"<{quote}>x</{quote}><a href="https://matrix.to/#/@bot:x.y">B</a>"#);
            assert!(mentions(&json!({ "formatted_body": html }), "yes", &names()), "{html}");
        }
        assert!(is_passed_on(&json!({ "m.forwarded": {} })));
        assert!(!is_passed_on(&json!({ "m.forwarded": null, "body": "x" })));
    }

    proptest! {
        #[test]
        fn any_text_can_be_looked_at(text in r"(@bot:x\.y|Helper Bot|[@:, >é\n]|\PC){0,20}") {
            let content = json!({ "formatted_body": text });
            without_fallback(&text);
            without_quotes(&text);
            prop_assert!(!own_lines(&text).split('\n').any(is_quoted));
            mentions(&content, &text, &names());
            let left = without_mention(&content, &text, &names());
            prop_assert!(left.len() <= text.len());
        }
    }
}
