//! What a model that prints its calls is told beside what they brought. Most such models are small,
//! and go on in words where a call is due, or call again what they have called. Nothing of this is
//! kept: it stands in what is sent.

use super::found::text_call;
use crate::request::{Message, Part, Request, Role};
use std::sync::Arc;

/// The tool that shows how something is done.
const SKILL_VIEW: &str = "skill_view";

const AFTER_RESULT: &str =
    "\n[Answer the user with this in words, or make the next call if more is to be done.]";
/// What a skill says is no answer yet.
const AFTER_SKILL: &str = "\n[Do what the skill says now: make the next call, in JSON.]";
const AFTER_ERROR: &str = "\n[The call failed. Make the call that comes next, in JSON; in words only tell the user why nothing can be done.]";

/// The request with such a note behind every result of a call that came as text; `None` where there
/// is none. Behind every one, so that what was sent before stays the beginning of what is sent.
pub fn with_notes(request: &Request) -> Option<Request> {
    if !request.messages.iter().any(|message| is_due(message)) {
        return None;
    }
    let is_skill = |id: &str| {
        let mut parts = request.messages.iter().flat_map(|message| &message.parts);
        parts.any(|part| matches!(part, Part::ToolCall { id: of, name, .. } if &**of == id && &**name == SKILL_VIEW))
    };
    let mut noted = request.clone();
    for message in noted.messages.iter_mut().filter(|message| is_due(message)) {
        for part in &mut Arc::make_mut(message).parts {
            if let Part::ToolResult { call_id, content, is_error } = part
                && text_call(call_id).is_some()
            {
                let note = match *is_error {
                    true => AFTER_ERROR,
                    false if is_skill(call_id) => AFTER_SKILL,
                    false => AFTER_RESULT,
                };
                content.push(Part::Text(note.into()));
            }
        }
    }
    Some(noted)
}

fn is_due(message: &Message) -> bool {
    let is_result = |part: &Part| matches!(part, Part::ToolResult { call_id, .. } if text_call(call_id).is_some());
    message.role == Role::Tool && message.parts.iter().any(is_result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(ids: [&str; 2]) -> Request {
        let result = |id: &str, is_error| Part::ToolResult {
            call_id: id.into(),
            content: vec![Part::Text("it".into())],
            is_error,
        };
        let parts = vec![result(ids[0], false), result(ids[1], true)];
        Request::new("m", vec![Message::user("go"), Message::new(Role::Tool, parts)])
    }

    fn told(request: &Request) -> Vec<String> {
        let parts = request.messages.iter().flat_map(|message| &message.parts);
        let told = parts.filter_map(|part| match part {
            Part::ToolResult { content, .. } => Some(
                content
                    .iter()
                    .filter_map(|it| if let Part::Text(text) = it { Some(&**text) } else { None })
                    .collect(),
            ),
            _ => None,
        });
        told.collect()
    }

    #[test]
    fn who_printed_a_call_is_told_what_to_do_with_what_it_brought() {
        let request = results(["text_fence_1_0", "text_json_1_1"]);
        let noted = with_notes(&request).unwrap();
        assert_eq!(told(&noted), [format!("it{AFTER_RESULT}"), format!("it{AFTER_ERROR}")]);
        assert_eq!(told(&request), ["it", "it"]);
        assert_eq!(noted.messages[0].text(), "go");
    }

    #[test]
    fn what_a_skill_says_is_to_be_done() {
        let mut request = results(["text_fence_1_0", "text_fence_1_1"]);
        let call = Part::ToolCall {
            id: "text_fence_1_0".into(),
            name: SKILL_VIEW.into(),
            arguments: "{}".into(),
        };
        request.messages.insert(1, Message::new(Role::Assistant, vec![call]).into());
        let noted = with_notes(&request).unwrap();
        assert_eq!(told(&noted), [format!("it{AFTER_SKILL}"), format!("it{AFTER_ERROR}")]);
    }

    #[test]
    fn who_called_as_the_protocol_has_it_is_told_nothing() {
        assert!(with_notes(&results(["call_1", "text_of_mine"])).is_none());
        let both = with_notes(&results(["call_1", "text_tag_3_0"])).unwrap();
        assert_eq!(told(&both), ["it".to_owned(), format!("it{AFTER_ERROR}")]);
    }
}
