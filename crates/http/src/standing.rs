//! What an account's platform says of it is half of how it stands: the token may be good, and the
//! daemon has turned the account off all the same, since another account is the same bot.

use insula_capabilities::doctor::{DoctorFinding, Status};
use insula_config::{Account, AccountValue};
use insula_gateway::{AccountState, Connection};
use insula_registry::Front;
use std::collections::HashMap;

/// What stands before the name of an account in a finding.
const ACCOUNT: &str = "account ";
/// How a finding begins whose platform said who we are.
const WE_ARE: &str = "we are ";
/// Settings that say which server an account is on.
const SERVERS: [&str; 2] = ["homeserver", "base_url"];

/// Corrects findings by the word of the daemon about each account.
pub fn as_the_daemon_says(findings: &mut [DoctorFinding], states: &[AccountState]) {
    for found in findings.iter_mut().filter(|it| works(it)) {
        let is_it = |it: &&AccountState| found.name == called(it.platform.as_str(), &it.account);
        let Some(AccountState { state, reason, .. }) = states.iter().find(is_it) else { continue };
        let status = match state {
            Connection::Off | Connection::Refused => Status::Bad,
            Connection::BackingOff => Status::Notice,
            Connection::Connecting | Connection::Connected => continue,
        };
        let why = reason.as_deref().unwrap_or("the daemon does not say why");
        found.status = status;
        found.detail = match state {
            Connection::Off => format!("off: {why}"),
            state => format!("{}: {why}; asked now: {}", state.as_str(), found.detail),
        };
    }
}

/// Corrects findings by each other: of accounts that are the same one, only the first connects.
/// `states` is what the daemon says, where one runs; one that has just been added is not known yet.
pub fn as_they_are_alike(findings: &mut [DoctorFinding], front: &Front, states: &[AccountState]) {
    let accounts = front.accounts();
    let mut known: HashMap<(String, Option<String>, String), String> = HashMap::new();
    for found in findings.iter_mut().filter(|it| works(it)) {
        let is_it = |it: &&Account| found.name == called(it.platform.as_str(), &it.name);
        let Some(account) = accounts.iter().find(is_it) else { continue };
        let Some(us) = us(&found.detail) else { continue };
        let platform = account.platform.to_string();
        let key = (platform, server(account, front), us.to_owned());
        let name = format!("{}.{}", account.platform, account.name);
        let first = known.entry(key).or_insert_with(|| name.clone());
        if *first == name {
            continue;
        }
        let is_connected = states.iter().any(|it| {
            (it.platform, &it.account) == (account.platform, &account.name)
                && it.state == Connection::Connected
        });
        found.status = Status::Bad;
        found.detail = match is_connected {
            true => format!("{us}, and so is `{first}`: both hear everything; remove one of them"),
            false => format!(
                "off: {us}, and `{first}` is that already; each account needs a bot of its own"
            ),
        };
    }
}

fn works(found: &DoctorFinding) -> bool {
    matches!(found.status, Status::Good | Status::Notice)
}

fn called(platform: &str, account: &impl std::fmt::Display) -> String {
    format!("{ACCOUNT}{platform}.{account}")
}

/// Who we are, out of a finding: our name, and the platform's id for us in brackets.
fn us(detail: &str) -> Option<&str> {
    let us = detail
        .strip_prefix(WE_ARE)?
        .find("); ")
        .map_or(detail, |at| detail.get(..=WE_ARE.len() + at).unwrap_or(detail));
    us.ends_with(')').then_some(us)
}

/// The server of an account, where it names one.
fn server(account: &Account, front: &Front) -> Option<String> {
    let value = SERVERS.iter().find_map(|key| account.values.get(*key))?;
    let AccountValue::Text(text) = value else { return None };
    let filled = front.filled_in(text).ok()?;
    Some(filled.reveal().trim().trim_end_matches('/').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_we_are_is_read_out_of_a_finding() {
        assert_eq!(us("we are @ada (12)"), Some("we are @ada (12)"));
        assert_eq!(us("we are @ada (12); the intent is off"), Some("we are @ada (12)"));
        assert_eq!(us("refused: we are nobody (1)"), None);
        assert_eq!(us("we are of no id"), None);
    }
}
