//! The menu of commands, as people see it when they type a slash.

use super::Discord;
use super::api::Call;
use super::limits::Route;
use super::types::Command;
use crate::trouble::Trouble;
use insula_wire::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Commands of a menu.
const COMMANDS_MAX: usize = 100;
/// What a command says about itself, in characters.
const ABOUT_CHARS_MAX: usize = 100;

impl Discord {
    /// Puts these into the menu, and takes all others out of it. Where it has them already nothing
    /// is said: Discord counts what is made anew.
    pub(super) async fn offer(&self, commands: &[(&str, &str)]) -> Result<(), Trouble> {
        let stop = CancellationToken::new();
        let known = self.known().us.clone();
        let us = match known {
            Some(us) => us,
            None => self.learn_us(&stop).await?.0,
        };
        let offered = offered(commands);
        let path = format!("/applications/{}/commands", us.application);
        let route = Route::of("GET commands", "");
        let there: Vec<Command> = self.api.get(route, path.clone(), &stop).await?;
        let mut there: Vec<_> = there.into_iter().map(|it| (it.name, it.description)).collect();
        let mut wanted = offered.clone();
        there.sort();
        wanted.sort();
        if there == wanted {
            return Ok(());
        }
        let all = offered.iter().map(|(name, about)| {
            json!({
                "name": name, "type": 1, "description": about,
                "options": [{
                    "type": 3, "name": "text", "required": false,
                    "description": "what stands behind the command",
                }],
            })
        });
        let body: Value = all.collect();
        let call = Call { route: Route::of("PUT commands", ""), method: Method::PUT, path };
        self.api.tell(call, Some(&body)).await.map(drop)
    }
}

/// Those that Discord takes: names in lower case, with a word about each.
fn offered(commands: &[(&str, &str)]) -> Vec<(String, String)> {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
    let mut offered: Vec<(String, String)> = Vec::new();
    for (name, about) in commands {
        let (name, about) = (name.trim_start_matches('/'), about.trim());
        let fits = (1..=32).contains(&name.len()) && name.bytes().all(is_plain);
        if fits && !about.is_empty() && offered.iter().all(|(known, _)| known != name) {
            let about = about.chars().take(ABOUT_CHARS_MAX).collect();
            offered.push((name.to_owned(), about));
        }
    }
    offered.truncate(COMMANDS_MAX);
    offered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_menu_does_not_take_is_left_out() {
        let long = "x".repeat(200);
        let offered = offered(&[
            ("/new", "Begin anew"),
            ("/New", "no"),
            ("status", &long),
            ("/new", "twice"),
            ("/", "none"),
            ("/empty", " "),
        ]);
        let names: Vec<_> =
            offered.iter().map(|(name, about)| (name.as_str(), about.len())).collect();
        assert_eq!(names, [("new", 10), ("status", 100)]);
    }
}
