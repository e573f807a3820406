//! Pictures where they can be seen, words about them where they can't, and no empty messages.

use super::{Fit, NOTHING_SAID, OWN_IMAGE, Pictures, Taken, says_something};
use crate::request::{Image, ImageData, Message, Part, Role};
use std::borrow::Cow;

/// Kinds of pictures that all who take pictures take.
const KINDS: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The message with pictures as its reader takes them; `None` when nothing is left of it.
pub(super) fn filled<'r>(message: Cow<'r, Message>, fit: &Fit) -> Option<Cow<'r, Message>> {
    let role = message.role;
    let is_right = |part: &Part| match part {
        Part::Text(text) => says_something(text),
        Part::Image(image) => role != Role::Assistant && is_taken(image, fit),
        Part::ToolResult { content, .. } => content.iter().all(|part| match part {
            Part::Image(image) => is_taken(image, fit),
            _ => true,
        }),
        Part::ToolCall { .. } | Part::Reasoning { .. } => true,
    };
    let mut message = message;
    if !message.parts.iter().all(is_right) {
        let owned = message.to_mut();
        let parts = std::mem::take(&mut owned.parts);
        owned.parts = parts.into_iter().filter_map(|part| seen(part, role, fit)).collect();
    }
    let is_content = |part: &Part| !matches!(part, Part::Reasoning { .. });
    if message.parts.iter().any(is_content) {
        return Some(message);
    }
    if role != Role::User {
        return None;
    }
    message.to_mut().parts = vec![Part::Text(NOTHING_SAID.into())];
    Some(message)
}

fn is_taken(image: &Image, fit: &Fit) -> bool {
    let Pictures::Shown(taken) = fit.pictures else { return false };
    match (&image.data, taken) {
        (ImageData::Base64(data), _) => !data.is_empty() && KINDS.contains(&&*image.mime),
        (ImageData::Url(url), Taken::Anywhere) => {
            url.starts_with("https://") || url.starts_with("http://")
        }
        (ImageData::Url(url), Taken::Https) => url.starts_with("https://"),
        (ImageData::Url(_), Taken::InPlace) => false,
    }
}

/// A part as its reader takes it; `None` for one that says nothing.
fn seen(part: Part, role: Role, fit: &Fit) -> Option<Part> {
    Some(match part {
        Part::Text(text) if !says_something(&text) => return None,
        Part::Image(_) if role == Role::Assistant => Part::Text(OWN_IMAGE.into()),
        Part::Image(image) if !is_taken(&image, fit) => Part::Text(image.in_words().into()),
        Part::ToolResult { call_id, content, is_error } => {
            let content = content.into_iter().filter_map(|part| seen(part, role, fit)).collect();
            Part::ToolResult { call_id, content, is_error }
        }
        other => other,
    })
}
