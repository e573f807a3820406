//! The tags a message may have, read as strictly as the platform does.

/// The tags that are known.
const TAGS: [&str; 14] = [
    "b",
    "strong",
    "i",
    "em",
    "u",
    "ins",
    "s",
    "strike",
    "del",
    "a",
    "code",
    "pre",
    "blockquote",
    "tg-spoiler",
];

/// What is seen of `html`, or what the platform would say against it.
pub fn visible(html: &str) -> Result<String, String> {
    let mut seen = String::new();
    let mut open: Vec<&str> = vec![];
    let mut at = 0;
    while let Some(character) = html[at..].chars().next() {
        let rest = &html[at..];
        match character {
            '<' => {
                let end = rest.find('>').ok_or_else(|| format!("Unclosed start tag at {at}"))?;
                tag(&rest[1..end], &mut open, at)?;
                at += end + 1;
            }
            '>' => return Err(format!("Unescaped `>` at byte offset {at}")),
            '&' => {
                let (letter, length) =
                    entity(rest).ok_or_else(|| format!("Unescaped `&` at byte offset {at}"))?;
                seen.push(letter);
                at += length;
            }
            other => {
                seen.push(other);
                at += other.len_utf8();
            }
        }
    }
    match open.last() {
        Some(tag) => Err(format!("Can't find end tag corresponding to start tag \"{tag}\"")),
        None => Ok(seen),
    }
}

fn tag<'h>(inside: &'h str, open: &mut Vec<&'h str>, at: usize) -> Result<(), String> {
    if let Some(name) = inside.strip_prefix('/') {
        return match open.pop() {
            Some(begun) if begun == name => Ok(()),
            Some(begun) => Err(format!(
                "Unmatched end tag at byte offset {at}, expected \"</{begun}>\", found \"</{name}>\""
            )),
            None => Err(format!("Unexpected end tag at byte offset {at}")),
        };
    }
    let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
    if !TAGS.contains(&name) {
        return Err(format!("Unsupported start tag \"{name}\" at byte offset {at}"));
    }
    match open.last() {
        Some(&"pre") if name == "code" => {}
        Some(&("pre" | "code")) => return Err(format!("Tag \"{name}\" in code at {at}")),
        _ => {}
    }
    if open.contains(&name) {
        return Err(format!("Tag \"{name}\" inside itself at {at}"));
    }
    let is_right = match name {
        "a" => value(attributes, "href").is_some_and(|url| url.starts_with("http")),
        "code" => attributes.is_empty() || value(attributes, "class").is_some(),
        _ => attributes.is_empty(),
    };
    if !is_right {
        return Err(format!("Attributes `{attributes}` of \"{name}\" at {at}"));
    }
    open.push(name);
    Ok(())
}

fn value<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let value = attributes.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"')?;
    (!value.contains(['"', '<'])).then_some(value)
}

fn entity(rest: &str) -> Option<(char, usize)> {
    [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')]
        .into_iter()
        .find(|(name, _)| rest.starts_with(name))
        .map(|(name, letter)| (letter, name.len()))
}
