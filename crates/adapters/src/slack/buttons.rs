//! Buttons, and what comes when one is pressed.
//!
//! Slack signs what it tells, and a button comes back to the app that made it. What stands in one
//! is marked all the same, for this account, channel and button: so what was put into a message
//! by other means of the same app is no answer of anybody's.

use super::Slack;
use super::known::{Note, Us};
use super::reading::{Scene, is_ours};
use super::types::{Pressed, is_id, is_ts};
use insula_channel::{Button, Envelope, MessageId, Press};
use serde::Deserialize as _;
use serde_json::{Value, json};

/// The longest words of a button.
const LABEL_CHARS_MAX: usize = 75;
/// Buttons of one row.
const ROW_LEN_MAX: usize = 5;
/// The longest text of one block.
const SECTION_CHARS_MAX: usize = 3000;
/// Blocks of one message.
const BLOCKS_MAX: usize = 50;

impl Slack {
    /// What a message with buttons is made of; nothing where it has none, or is too long for that.
    pub(super) fn blocks(&self, channel: &str, text: &str, buttons: &[Vec<Button>]) -> Vec<Value> {
        let rows = buttons.iter().flat_map(|row| row.chunks(ROW_LEN_MAX)).enumerate();
        let rows: Vec<Value> = rows.map(|(number, row)| self.row(channel, number, row)).collect();
        if rows.is_empty() {
            return vec![];
        }
        let section = |text| json!({"type": "section", "text": {"type": "mrkdwn", "text": text}});
        let sections = sections(text, SECTION_CHARS_MAX).into_iter().map(section);
        let blocks: Vec<Value> = sections.chain(rows).collect();
        if blocks.len() > BLOCKS_MAX { vec![] } else { blocks }
    }

    fn row(&self, channel: &str, number: usize, row: &[Button]) -> Value {
        let button = |(at, button): (usize, &Button)| {
            let label: String = button.label.chars().take(LABEL_CHARS_MAX).collect();
            let mark = self.seal.mark(&[self.account.as_str(), channel, &button.data]);
            json!({
                "type": "button",
                "action_id": format!("insula_{number}_{at}"),
                "text": {"type": "plain_text", "text": label, "emoji": true},
                "value": format!("{mark}{}", button.data),
            })
        };
        let elements: Vec<Value> = row.iter().enumerate().map(button).collect();
        json!({"type": "actions", "elements": elements})
    }

    /// A button was pressed.
    pub(super) async fn pressed(&self, us: &Us, payload: &Value) -> Option<Envelope> {
        let pressed = Pressed::deserialize(payload).ok()?;
        let Pressed { kind, user, channel, team, message, response_url, actions } = &pressed;
        let action = actions.first().filter(|_| kind == "block_actions")?;
        let (mark, data) = action.value.split_at_checked(64)?;
        let is_sound = is_id(&user.id) && is_id(&channel.id) && is_ts(&message.ts);
        if !is_sound
            || !is_ours(us, message)
            || !self.seal.is_of(&[self.account.as_str(), &channel.id, data], mark)
        {
            return None;
        }
        let name = format!("{}/{}/{}/{}", channel.id, message.ts, user.id, action.action_ts);
        let handle: Box<str> = blake3::hash(name.as_bytes()).to_hex().as_str().into();
        let note: Note = self.keep_note(&channel.id, message);
        self.known().presses.insert(handle.clone(), response_url.clone());
        let person = self.person_if(Some(&user.id)).await;
        let press =
            Press { handle, message: MessageId(message.ts.as_str().into()), data: data.into() };
        let team = team.as_ref().map_or(&*us.team, |team| team.id.as_str());
        let scene = Scene {
            team: if us.is_everywhere { team } else { &us.team },
            channel: &channel.id,
            thread: note.thread.as_deref(),
            user: Some(&user.id),
            person: person.as_ref(),
        };
        self.reader(us, &|_| None).press(scene, press, &action.action_ts)
    }

    /// Tells whoever pressed something, and nobody else.
    pub(super) async fn tell_presser(&self, press: &str, text: &str) {
        let Some(url) = self.known().presses.remove(press) else { return };
        if !text.is_empty() {
            let about = json!({
                "response_type": "ephemeral", "replace_original": false,
                "text": super::text::escaped(text),
            });
            self.api.respond(&url, &about).await;
        }
    }
}

/// A text in parts of some length at most, cut where lines end if they do.
fn sections(text: &str, chars_max: usize) -> Vec<&str> {
    let mut parts = vec![];
    let mut rest = text;
    while !rest.trim().is_empty() {
        let end = rest.char_indices().nth(chars_max).map_or(rest.len(), |(at, _)| at);
        let cut = match rest.len() > end {
            true => rest[..end].rfind('\n').filter(|at| *at > 0).unwrap_or(end),
            false => end,
        };
        parts.push(&rest[..cut]);
        rest = rest[cut..].trim_start_matches('\n');
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_where_lines_end() {
        assert_eq!(sections("ab\ncd\nef", 5), ["ab", "cd\nef"]);
        assert_eq!(sections("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(sections("äöüß", 2), ["äö", "üß"]);
        assert_eq!(sections(" \n", 5), [""; 0]);
        assert_eq!(sections("\nabcdef", 3), ["\nab", "cde", "f"]);
    }
}
