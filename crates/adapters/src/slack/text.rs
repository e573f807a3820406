//! Slack's text: what people typed out of it, and ours as it.
//!
//! `&`, `<` and `>` are escaped in it, so whatever stands between `<` and `>` was put there by
//! Slack: `<@U…>` somebody, `<#C…|name>` a channel, `<!here>`, `<!subteam^S…|@name>`,
//! `<!date^…|words>`, `<https://…|label>`. Nobody can type one of them.

use serde_json::Value;

/// The deepest that blocks lie in blocks.
const DEPTH_MAX: usize = 8;

/// A text, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// What it says, without mentions of us.
    pub text: String,
    pub mentions_us: bool,
    /// Where links lead whose labels say something else.
    pub links: Vec<String>,
}

/// Takes a text apart. `name` tells what somebody is called.
pub(super) fn read(text: &str, us: &str, name: &dyn Fn(&str) -> Option<String>) -> Read {
    let mut read = Read::default();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        read.text.push_str(&unescaped(&rest[..start]));
        let inside = &rest[start + 1..];
        let Some(end) = inside.find('>') else {
            rest = &rest[start..];
            break;
        };
        entity(&inside[..end], us, name, &mut read);
        rest = &inside[end + 1..];
    }
    read.text.push_str(&unescaped(rest));
    if read.mentions_us {
        // The room that a mention leaves, so that a command behind it begins the text.
        read.text = read.text.trim_start_matches([' ', ',', ':']).trim_end().to_owned();
    }
    read
}

fn entity(inside: &str, us: &str, name: &dyn Fn(&str) -> Option<String>, read: &mut Read) {
    let (what, label) = inside.split_once('|').unwrap_or((inside, ""));
    let label = unescaped(label);
    if let Some(user) = what.strip_prefix('@') {
        if user == us {
            read.mentions_us = true;
            return;
        }
        let shown = name(user).or(Some(label).filter(|it| !it.is_empty()));
        let shown = shown.unwrap_or_else(|| user.to_owned());
        read.text.push('@');
        read.text.push_str(shown.trim_start_matches('@'));
    } else if let Some(channel) = what.strip_prefix('#') {
        read.text.push('#');
        read.text.push_str(if label.is_empty() { channel } else { &label });
    } else if let Some(special) = what.strip_prefix('!') {
        match (special.split_once('^'), label.as_str()) {
            // A group of people, or a date, as people see it.
            (_, label) if !label.is_empty() && special.contains('^') => read.text.push_str(label),
            (Some((_, id)), _) => {
                read.text.push('@');
                read.text.push_str(id.split('^').next().unwrap_or_default());
            }
            (None, _) => {
                read.text.push('@');
                read.text.push_str(special);
            }
        }
    } else {
        let url = unescaped(what);
        let bare = url.trim_start_matches("https://").trim_start_matches("http://");
        let bare = bare.trim_start_matches("mailto:").trim_start_matches("tel:");
        let is_same = label.is_empty()
            || label == url
            || label.trim_end_matches('/') == bare.trim_end_matches('/');
        if is_same {
            read.text.push_str(if label.is_empty() { &url } else { &label });
        } else {
            read.text.push_str(&label);
            read.links.push(url);
        }
    }
}

/// Ids of people whom a text names.
pub(super) fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split("<@").skip(1).filter_map(|it| it.split(['>', '|']).next())
}

/// A text by what is quoted in it and what is not, in order.
pub(super) fn quoted_runs(text: &str) -> Vec<(bool, String)> {
    let mut runs: Vec<(bool, String)> = Vec::new();
    for line in text.lines() {
        let quoted = line.strip_prefix("&gt;").or_else(|| line.strip_prefix('>'));
        let line_of = quoted.map_or(line, |it| it.strip_prefix(' ').unwrap_or(it));
        match runs.last_mut() {
            Some((before, run)) if *before == quoted.is_some() => {
                run.push('\n');
                run.push_str(line_of);
            }
            _ => runs.push((quoted.is_some(), line_of.to_owned())),
        }
    }
    runs
}

/// The text of rich text, escaped as Slack escapes it: for messages that have blocks alone.
pub(super) fn of_blocks(blocks: &Value) -> String {
    let mut text = String::new();
    for block in blocks.as_array().into_iter().flatten() {
        if block["type"] == "rich_text" {
            elements(&block["elements"], "", 0, &mut text);
        } else if let Some(said) = block["text"]["text"].as_str() {
            // What a program puts together.
            line(&mut text);
            text.push_str(said);
        }
    }
    text
}

/// Whether rich text that is no quotation mentions somebody.
pub(super) fn blocks_mention(blocks: &Value, us: &str) -> bool {
    of_blocks(blocks)
        .lines()
        .filter(|line| !line.starts_with("&gt;"))
        .any(|line| named(line).any(|it| it == us))
}

fn line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn elements(of: &Value, prefix: &str, depth: usize, text: &mut String) {
    if depth > DEPTH_MAX {
        return;
    }
    for element in of.as_array().into_iter().flatten() {
        let said = |key: &str| element[key].as_str().unwrap_or_default();
        match said("type") {
            "rich_text_quote" => {
                line(text);
                let mut inner = String::new();
                elements(&element["elements"], "", depth + 1, &mut inner);
                for quoted in inner.lines() {
                    text.push_str("&gt; ");
                    text.push_str(quoted);
                    text.push('\n');
                }
            }
            "rich_text_section" | "rich_text_preformatted" => {
                line(text);
                text.push_str(prefix);
                elements(&element["elements"], "", depth + 1, text);
            }
            "rich_text_list" => {
                line(text);
                elements(&element["elements"], "• ", depth + 1, text);
                line(text);
            }
            "text" => text.push_str(&escaped(said("text"))),
            "link" if said("text").is_empty() => {
                text.push_str(&format!("<{}>", escaped(said("url"))));
            }
            "link" => {
                text.push_str(&format!("<{}|{}>", escaped(said("url")), escaped(said("text"))));
            }
            "user" => text.push_str(&format!("<@{}>", escaped(said("user_id")))),
            "usergroup" => text.push_str(&format!("<!subteam^{}>", escaped(said("usergroup_id")))),
            "channel" => text.push_str(&format!("<#{}>", escaped(said("channel_id")))),
            "broadcast" => text.push_str(&format!("<!{}>", escaped(said("range")))),
            "emoji" => text.push_str(&format!(":{}:", escaped(said("name")))),
            _ => {}
        }
    }
}

/// A text as Slack escapes it: nothing of it means anybody or leads anywhere.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Our Markdown as Slack's text.
pub(super) fn mrkdwn(markdown: &str) -> String {
    crate::signs::text_written(markdown, escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn said(text: &str) -> Read {
        let name = |id: &str| (id == "U2").then(|| "Ann Lee".to_owned());
        read(text, "U1", &name)
    }

    #[test]
    fn what_slack_put_in_is_read_as_people_see_it() {
        for (text, expected) in [
            ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
            ("hi <@U2> and <@U3|bob> and <@U4>", "hi @Ann Lee and @bob and @U4"),
            ("in <#C1|general> or <#C2>", "in #general or #C2"),
            ("<!here> <!channel|@channel>", "@here @channel"),
            ("<!subteam^S1|@team> <!subteam^S2>", "@team @S2"),
            ("<!date^1700000000^{date}|14 Nov>", "14 Nov"),
            ("see <https://e.org/a?b&amp;c>", "see https://e.org/a?b&c"),
            ("see <http://e.org|e.org>", "see e.org"),
            ("<mailto:a@e.org|a@e.org>", "a@e.org"),
            ("1 < 2", "1 < 2"),
            ("&lt;@U1&gt; typed", "<@U1> typed"),
        ] {
            let read = said(text);
            assert_eq!((&*read.text, read.mentions_us), (expected, false), "{text}");
            assert!(read.links.is_empty(), "{text}");
        }
        let hidden = said("press <https://evil.example/x|my bank>");
        assert_eq!((&*hidden.text, &*hidden.links[0]), ("press my bank", "https://evil.example/x"));
    }

    #[test]
    fn our_mention_is_taken_out_and_a_command_may_follow() {
        for (text, expected) in [
            ("<@U1> /new", "/new"),
            ("<@U1|ada>, hello", "hello"),
            ("hello <@U1>", "hello"),
            ("<@U1>", ""),
            ("hey <@U1> you", "hey  you"),
        ] {
            let read = said(text);
            assert_eq!((&*read.text, read.mentions_us), (expected, true), "{text}");
        }
    }

    #[test]
    fn quotations_are_told_apart() {
        let runs = quoted_runs("&gt; a\n&gt; b\nmine\n&gt;c");
        let runs: Vec<_> = runs.iter().map(|(is, run)| (*is, run.as_str())).collect();
        assert_eq!(runs, [(true, "a\nb"), (false, "mine"), (true, "c")]);
    }

    #[test]
    fn rich_text_is_read_where_there_is_no_other() {
        let section = |elements: Value| json!({"type": "rich_text_section", "elements": elements});
        let word = |text: &str| json!({"type": "text", "text": text});
        let blocks = json!([{"type": "rich_text", "elements": [
            section(json!([{"type": "user", "user_id": "U1"}, word(" a < b")])),
            {"type": "rich_text_list", "elements": [section(json!([word("x")])), section(json!([word("y")]))]},
            {"type": "rich_text_quote", "elements": [{"type": "user", "user_id": "U9"}]},
            section(json!([{"type": "link", "url": "https://e.org", "text": "here"}, {"type": "emoji", "name": "tada"}])),
        ]}]);
        assert_eq!(
            of_blocks(&blocks),
            "<@U1> a &lt; b\n• x\n• y\n&gt; <@U9>\n<https://e.org|here>:tada:"
        );
        assert!(blocks_mention(&blocks, "U1") && !blocks_mention(&blocks, "U9"));
        let mut deep = json!([]);
        for _ in 0..100 {
            deep = json!([{"type": "rich_text_section", "elements": deep}]);
        }
        assert_eq!(of_blocks(&json!([{"type": "rich_text", "elements": deep}])), "");
    }

    #[test]
    fn our_words_mean_nobody() {
        for (markdown, expected) in [
            ("**b** _i_ ~~s~~ `c`", "*b* _i_ ~s~ `c`"),
            ("<!channel> & <@U1>", "&lt;!channel&gt; &amp; &lt;@U1&gt;"),
            ("**a & b**", "*a &amp; b*"),
            ("> quoted", "&gt; quoted"),
            ("[x](https://e.org/?a&b)", "x (https://e.org/?a&amp;b)"),
            ("```\na < b\n```", "```a &lt; b```"),
        ] {
            assert_eq!(mrkdwn(markdown), expected, "{markdown}");
        }
    }

    proptest! {
        #[test]
        fn nothing_we_say_is_an_escape_of_slacks(markdown in "[-*_~`#>|\\[\\]()@!<&a-c \n.\u{1f600}]{0,80}") {
            let text = mrkdwn(&markdown);
            prop_assert!(!text.contains(['<', '>']), "{text:?}");
        }

        #[test]
        fn whatever_comes_is_read(text in "[-<>@#!|&;^ltgamp UC12a\n:/.]{0,80}") {
            let read = said(&text);
            prop_assert!(read.text.len() <= text.len() * 4);
            for (_, run) in quoted_runs(&text) {
                said(&run);
            }
        }
    }
}
