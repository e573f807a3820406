//! What `insula up` tells people to type next: commands that work as they stand.

use crate::process::absolute;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The home that a command works in which is told of none.
pub fn bare_home(variables: &BTreeMap<String, String>) -> Option<PathBuf> {
    match variables.get("INSULA_HOME").filter(|named| !named.is_empty()) {
        Some(named) => Some(PathBuf::from(named)),
        None => {
            let home = variables.get("HOME").filter(|home| !home.is_empty())?;
            Some(Path::new(home).join(".insula"))
        }
    }
}

/// The home in a command, where a command that is told of none would work in another.
pub fn home_flag(root: &Path, variables: &BTreeMap<String, String>) -> String {
    let bare = bare_home(variables).and_then(|bare| absolute(&bare).ok());
    match bare.as_deref() == Some(root) {
        true => String::new(),
        false => format!(" --home {}", quoted(&root.to_string_lossy())),
    }
}

/// What is known of the daemon that starts.
pub struct Started<'a> {
    /// How commands are told of the home, where they have to be.
    pub home: &'a str,
    /// An agent that serves.
    pub agent: Option<&'a str>,
    /// Whether somebody answers the command line without being named.
    pub has_default: bool,
    /// The accounts: platform and name.
    pub accounts: &'a [(&'a str, &'a str)],
}

/// Commands with what each shows.
pub fn hints(started: &Started<'_>) -> Vec<(String, &'static str)> {
    let typed = |words: &str| format!("insula{} {words}", started.home);
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
        let usual = Started { home: "", agent: Some("coder"), has_default: true, accounts: &[] };
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
            home: &home_flag(Path::new("/srv/my home"), &BTreeMap::new()),
            agent: Some("a"),
            has_default: false,
            accounts: &[("matrix", "home"), ("telegram", "one"), ("telegram", "two")],
        };
        let told_there = told(&elsewhere);
        assert_eq!(told_there[0], "insula --home '/srv/my home' chat --agent a");
        assert!(told_there[3].contains("--platform matrix --chat 1"), "{told_there:?}");
        let two = Started { accounts: &[("telegram", "one"), ("telegram", "two")], ..elsewhere };
        assert!(told(&two)[3].contains("--platform telegram --account one --chat 1"));
        let nobody = Started { home: "", agent: None, has_default: false, accounts: &[] };
        assert_eq!(told(&nobody).len(), 3);
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }

    #[test]
    fn a_command_names_the_home_where_without_it_another_would_be_meant() {
        let told = |root: &str, variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(it, value)| ((*it).into(), (*value).into()));
            home_flag(Path::new(root), &variables.collect())
        };
        let usual = [("HOME", "/u")];
        assert_eq!(told("/u/.insula", &usual), "");
        assert_eq!(told("/srv/x", &usual), " --home /srv/x");
        let named = [("HOME", "/u"), ("INSULA_HOME", "/srv/y")];
        assert_eq!(told("/srv/y", &named), "");
        assert_eq!(told("/srv/x", &named), " --home /srv/x");
        assert_eq!(told("/u/.insula", &named), " --home /u/.insula");
        assert_eq!(told("/u/.insula", &[("HOME", "/u"), ("INSULA_HOME", "")]), "");
        assert_eq!(told("/srv/x", &[]), " --home /srv/x");
    }
}
