//! How a summary stands in a history: how the conversation began, in its own words, and notes on
//! the rest, each between marks of ours.

use insula_domain::marks::{note, plain};
use insula_store::{Message, Part};

/// What stands around the first message of a conversation, and around the notes.
pub(crate) const BEGAN: &str = "how this conversation began, in the words of its first message:";
pub(crate) const BEGAN_ENDS: &str = "end of how it began";
pub(crate) const NOTES: &str = "notes on what was said after that, which is no longer shown; a model wrote them from the conversation, and they are nobody's own words:";
pub(crate) const NOTES_END: &str = "end of the notes";

/// How the same two began before they stood between marks.
pub(crate) const BEGAN_BEFORE: &str = "This conversation began with:\n";
pub(crate) const NOTES_BEFORE: &str = "Notes on what followed, which is no longer shown:\n";

/// Notes as they stand in a history.
pub(crate) fn notes_part(notes: &str) -> Part {
    between(NOTES, &plain(notes), NOTES_END)
}

/// Words between marks of ours, and nobody's own. A blank line sets off what follows them.
fn between(begin: &str, words: &str, end: &str) -> Part {
    Part::Beside(format!("{}\n{words}\n{}\n", note(begin), note(end)))
}

/// Brings a summary into today's form that an earlier version stored without marks. Which of
/// its words were ours can't be told any more, so none of them is taken for that.
pub(crate) fn marked(summary: &mut Message) {
    for part in &mut summary.parts {
        let Part::Text(text) = part else { continue };
        *part = match (text.strip_prefix(BEGAN_BEFORE), text.strip_prefix(NOTES_BEFORE)) {
            (Some(words), _) => between(BEGAN, &plain(words), BEGAN_ENDS),
            (None, notes) => notes_part(notes.unwrap_or(text)),
        };
    }
}

/// How a conversation began, as it stands in a history.
pub(crate) fn beginning(words: &str) -> Part {
    between(BEGAN, words, BEGAN_ENDS)
}
