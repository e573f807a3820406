//! What each platform can do here, as the adapters declare it: for the page about platforms, and for
//! whoever has to know before there is an account.

use crate::declared::{Declared, REQUEST_LEN_MAX, Support};
use insula_channel::{Features, Idempotency, TextLimit};
use std::fmt::Write as _;
use std::time::Duration;

/// Every platform that this version connects to, by name.
pub static DECLARED: &[&Declared] = &[
    &crate::discord::DECLARED,
    &crate::matrix::DECLARED,
    &crate::mattermost::DECLARED,
    &crate::signal::DECLARED,
    &crate::slack::DECLARED,
    &crate::telegram::DECLARED,
    &crate::webchat::DECLARED,
    &crate::webhook::DECLARED,
    &crate::whatsapp::DECLARED,
];

/// The longest request that may come from a platform.
pub fn request_len_max(platform: &str) -> usize {
    let declared = DECLARED.iter().find(|declared| declared.platform == platform);
    declared.map_or(REQUEST_LEN_MAX, |declared| declared.request_len_max)
}

/// What every platform can do, as tables in Markdown.
pub fn table() -> String {
    let mut page = String::from(HEAD);
    line(
        &mut page,
        ["Platform", "Events come by", "A topic is", "A role is", "Hears others in groups"],
    );
    line(&mut page, ["---"; 5]);
    for it in DECLARED {
        let said = |what: Option<&str>| what.unwrap_or("–").to_owned();
        line(
            &mut page,
            [
                format!("{} (`{}`)", it.name, it.platform),
                it.hears_by.to_owned(),
                said(it.topics),
                said(it.roles),
                it.observes.to_string(),
            ],
        );
    }
    page.push_str("\nWhat is heard besides messages, mentions and buttons:\n\n");
    line(&mut page, ["Platform", "Edits", "Deletions", "Reactions", "Files, both ways"]);
    line(&mut page, ["---"; 5]);
    for it in DECLARED {
        line(
            &mut page,
            [
                it.name.to_owned(),
                it.hears_edits.to_string(),
                it.hears_deletions.to_string(),
                it.hears_reactions.to_string(),
                it.files.to_string(),
            ],
        );
    }
    page.push_str("\nWhat is sent:\n\n");
    line(
        &mut page,
        [
            "Platform",
            "Longest message",
            "Buttons",
            "Edits",
            "Reactions",
            "Sign of writing",
            "Same message twice",
            "Menu of commands",
        ],
    );
    line(&mut page, ["---"; 8]);
    for it in DECLARED {
        let Features { text, can_edit, idempotency, has_buttons, can_react, typing, .. } =
            it.features;
        let yes = |has: bool| if has { Support::Yes } else { Support::No }.to_string();
        line(
            &mut page,
            [
                it.name.to_owned(),
                length(text),
                yes(has_buttons),
                can_edit.map_or_else(|| "no".to_owned(), |every| format!("every {}", time(every))),
                yes(can_react),
                typing.map_or_else(|| "no".to_owned(), |lasts| format!("for {}", time(lasts))),
                match idempotency {
                    Idempotency::Never => "not recognised".to_owned(),
                    Idempotency::For(span) => format!("recognised for {}", time(span)),
                    Idempotency::Always => "recognised".to_owned(),
                },
                it.commands.to_string(),
            ],
        );
    }
    page
}

const HEAD: &str = "# Platforms

What each platform can do here. The tables are written by the adapters themselves: a test fails where they differ from what the code declares (`UPDATE_DOCS=1 cargo nextest run -p insula-adapters platforms_page` writes them anew). What a platform can't express, its adapter is not asked for by the suite of `crates/adapters/tests/suite/conformance`.

Where a repetition of the same message is not recognised, one that may have arrived is said to be a repetition when it is sent again, or held (`uncertain` of an account); where it is recognised for some time, that begins after it.

";

fn line<const N: usize>(page: &mut String, cells: [impl AsRef<str>; N]) {
    for cell in cells {
        // Writing to a text does not fail.
        let _ = write!(page, "| {} ", cell.as_ref());
    }
    page.push_str("|\n");
}

fn length(text: TextLimit) -> String {
    match text {
        TextLimit::Utf16(most) => format!("{most} UTF-16 units"),
        TextLimit::Chars(most) => format!("{most} characters"),
        TextLimit::Bytes(most) => format!("{most} bytes"),
    }
}

fn time(time: Duration) -> String {
    match time.as_millis() {
        ms if ms % 1000 == 0 => format!("{} s", ms / 1000),
        ms => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::unwrap_used,
        reason = "tests read and write the page"
    )]
    use super::*;
    use insula_config::schema::CONNECTED;

    #[test]
    fn every_platform_declares_what_it_can() {
        let declared: Vec<_> = DECLARED.iter().map(|it| it.platform).collect();
        let connected: Vec<_> = CONNECTED.iter().map(|keys| keys.platform).collect();
        assert_eq!(declared, connected, "both in the order of their names");
        assert_eq!(request_len_max("nowhere"), REQUEST_LEN_MAX);
    }

    #[test]
    fn platforms_page_is_what_is_declared() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/platforms/README.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, table()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(page, table(), "write it anew with UPDATE_DOCS=1");
    }
}
