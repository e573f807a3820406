//! What happened in a turn so far, for whoever comes later: the same words in fewer pieces.

use insula_registry::events::turn::TurnEvent;

/// Bytes kept of one turn: more than most replies. What is longer is heard whole at its end.
const BYTES_MAX: usize = 512 * 1024;

/// Events kept of one turn.
const EVENTS_MAX: usize = 1_024;

/// What happened so far, as it was told.
#[derive(Default)]
pub(crate) struct Past {
    events: Vec<TurnEvent>,
    bytes: usize,
    /// Whether it became too much, and nothing is kept until the next passage.
    is_cut: bool,
}

impl Past {
    /// Notes what was just told.
    pub(crate) fn note(&mut self, event: &TurnEvent) {
        // An editor that comes later has missed what it was asked.
        if matches!(event, TurnEvent::Editor(_)) {
            return;
        }
        if matches!(event, TurnEvent::Void) {
            // Who comes later need not hear what does not count.
            while matches!(self.events.last(), Some(TurnEvent::Text(_) | TurnEvent::Reasoning(_))) {
                self.events.pop();
            }
            self.is_cut = false;
            return;
        }
        if ends_passage(event) {
            self.is_cut = false;
        }
        if self.is_cut {
            return;
        }
        self.bytes += weight(event);
        match (self.events.last_mut(), event) {
            (Some(TurnEvent::Text(said)), TurnEvent::Text(more))
            | (Some(TurnEvent::Reasoning(said)), TurnEvent::Reasoning(more)) => {
                said.push_str(more);
            }
            _ => self.events.push(event.clone()),
        }
        if self.bytes > BYTES_MAX || self.events.len() > EVENTS_MAX {
            *self = Self { is_cut: true, ..Self::default() };
        }
    }

    /// All of it, in order.
    pub(crate) fn events(&self) -> &[TurnEvent] {
        &self.events
    }

    /// Whether a part of the passage under way is not kept.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether words were said that may go on.
    pub(crate) fn is_in_a_passage(&self) -> bool {
        let said = self.events.iter().rev().take_while(|event| !ends_passage(event));
        self.is_cut || said.into_iter().any(|event| matches!(event, TurnEvent::Text(_)))
    }
}

/// Whether what is said after this stands apart from what was said before.
pub(crate) fn ends_passage(event: &TurnEvent) -> bool {
    matches!(event, TurnEvent::ToolCall { .. } | TurnEvent::Void)
}

/// What an event weighs: its words, and something for itself.
fn weight(event: &TurnEvent) -> usize {
    match event {
        TurnEvent::Text(text) | TurnEvent::Reasoning(text) => text.len(),
        TurnEvent::Approval { what, .. } => what.len() + 256,
        TurnEvent::ToolCall { about, .. } => about.len() + 256,
        _ => 256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> TurnEvent {
        TurnEvent::Text(text.to_owned())
    }

    fn call() -> TurnEvent {
        TurnEvent::ToolCall { name: "t".to_owned(), about: String::new() }
    }

    #[test]
    fn words_are_kept_in_order_and_in_few_pieces() {
        let mut past = Past::default();
        for event in [text("a"), text("b"), call(), text("c"), text("d")] {
            past.note(&event);
        }
        assert_eq!(past.events(), [text("ab"), call(), text("cd")]);
        assert!(past.is_in_a_passage());
        past.note(&call());
        assert!(!past.is_in_a_passage());
    }

    #[test]
    fn what_does_not_count_is_not_kept() {
        let mut past = Past::default();
        for event in [text("a"), call(), text("wrong"), TurnEvent::Void, text("right")] {
            past.note(&event);
        }
        assert_eq!(past.events(), [text("a"), call(), text("right")]);
    }

    #[test]
    fn what_is_too_long_is_not_kept_in_part_and_the_next_passage_is() {
        let mut past = Past::default();
        past.note(&text("begins"));
        past.note(&text(&"x".repeat(BYTES_MAX)));
        past.note(&text("rest"));
        assert!(past.is_cut() && past.events().is_empty() && past.is_in_a_passage());
        past.note(&call());
        past.note(&text("new"));
        assert!(!past.is_cut());
        assert_eq!(past.events(), [call(), text("new")]);
    }
}
