//! What `insula up` tells people to type next: commands that work as they stand.

use std::path::Path;

/// What is known of the daemon that starts.
pub struct Started<'a> {
    /// The home, where commands have to be told of it.
    pub home: Option<&'a Path>,
    /// An agent that serves.
    pub agent: Option<&'a str>,
    /// Whether somebody answers the command line without being named.
    pub has_default: bool,
    /// The accounts: platform and name.
    pub accounts: &'a [(&'a str, &'a str)],
}

/// Commands with what each shows.
pub fn hints(started: &Started<'_>) -> Vec<(String, &'static str)> {
    let home = started.home.map(|home| format!(" --home {}", quoted(&home.to_string_lossy())));
    let typed = |words: &str| format!("insula{} {words}", home.as_deref().unwrap_or_default());
    let mut all = Vec::new();
    if let Some(agent) = started.agent {
        let talk = match started.has_default {
            true => "chat".to_owned(),
            false => format!("chat --agent {agent}"),
        };
        all.push((typed(&talk), "talk to it"));
    }
    all.push((typed("agents list"), "who lives here"));
    if let Some(agent) = started.agent {
        all.push((typed(&format!("tools {agent}")), "what it may use, and why"));
    }
    let (platform, account) = started.accounts.first().copied().unwrap_or(("telegram", ""));
    let of_it = started.accounts.iter().filter(|(it, _)| *it == platform).count();
    let account = match of_it {
        0 | 1 => String::new(),
        _ => format!(" --account {account}"),
    };
    let route = format!("route explain --platform {platform}{account} --chat 1 --user 1");
    all.push((typed(&route), "who would answer"));
    all.push((typed("doctor"), "what works here, and what is off"));
    all
}

/// A text as a shell takes it for one word.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,~".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(started: &Started<'_>) -> Vec<String> {
        hints(started).into_iter().map(|(command, _)| command).collect()
    }

    #[test]
    fn what_is_told_works_as_it_stands() {
        let usual = Started { home: None, agent: Some("coder"), has_default: true, accounts: &[] };
        assert_eq!(
            told(&usual),
            [
                "insula chat",
                "insula agents list",
                "insula tools coder",
                "insula route explain --platform telegram --chat 1 --user 1",
                "insula doctor",
            ]
        );
        let elsewhere = Started {
            home: Some(Path::new("/srv/my home")),
            agent: Some("a"),
            has_default: false,
            accounts: &[("matrix", "home"), ("telegram", "one"), ("telegram", "two")],
        };
        let told_there = told(&elsewhere);
        assert_eq!(told_there[0], "insula --home '/srv/my home' chat --agent a");
        assert!(told_there[3].contains("--platform matrix --chat 1"), "{told_there:?}");
        let two = Started { accounts: &[("telegram", "one"), ("telegram", "two")], ..elsewhere };
        assert!(told(&two)[3].contains("--platform telegram --account one --chat 1"));
        let nobody = Started { home: None, agent: None, has_default: false, accounts: &[] };
        assert_eq!(told(&nobody).len(), 3);
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
