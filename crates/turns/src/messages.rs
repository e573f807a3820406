//! What stands in messages: words, calls and what they brought.

use insula_store::{Message, Part, Role};

/// The words of a message, and what stands beside them.
pub fn text_of(parts: &[Part]) -> String {
    let words = parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Beside(text) => Some(text.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// What somebody typed of a message that is theirs: nothing of what stands beside it.
pub fn typed_of(parts: &[Part]) -> String {
    let typed = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    insula_domain::words::join(typed)
}

/// What `tool` gave back in all its calls, in order.
pub fn outputs_of<'h>(history: &'h [Message], tool: &str) -> Vec<&'h str> {
    let mut called = std::collections::BTreeSet::new();
    let mut outputs = Vec::new();
    for part in history.iter().flat_map(|message| &message.parts) {
        match part {
            Part::ToolCall { id, name, .. } if **name == *tool => {
                called.insert(id);
            }
            Part::ToolResult { call, text, is_error: false, .. } if called.contains(call) => {
                outputs.push(text.as_str());
            }
            _ => {}
        }
    }
    outputs
}

/// What `tool` last gave back, by the calls and results of `history`.
pub fn last_output<'h>(history: &'h [Message], tool: &str) -> Option<&'h str> {
    (0..history.len()).rev().find_map(|at| {
        let called = history[at].parts.iter().rev().filter_map(|part| match part {
            Part::ToolCall { id, name, .. } if **name == *tool => Some(id),
            _ => None,
        });
        let results = || results_of(history, at).iter().flat_map(|message| &message.parts);
        let gave = |id: &str| {
            results().find_map(|part| match part {
                Part::ToolResult { call, text, is_error: false, .. } if **call == *id => Some(text),
                _ => None,
            })
        };
        called.into_iter().find_map(|id| gave(id)).map(String::as_str)
    })
}

/// The messages that answer the calls of the one at `at`: those of tools that follow it.
pub(crate) fn results_of(history: &[Message], at: usize) -> &[Message] {
    let after = &history[at + 1..];
    let count = after.iter().take_while(|message| message.role == Role::Tool).count();
    &after[..count]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_words_is_read_and_was_not_typed() {
        let parts = [
            Part::Beside("⟦from telegram:1⟧".to_owned()),
            Part::Text("pay Ann".to_owned()),
            Part::Beside("DE89".to_owned()),
            Part::Text("now".to_owned()),
        ];
        assert_eq!(text_of(&parts), "⟦from telegram:1⟧\npay Ann\nDE89\nnow");
        let typed = typed_of(&parts);
        assert!(typed.contains("pay Ann") && typed.ends_with("now") && !typed.contains("DE89"));
    }
}
