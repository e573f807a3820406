//! What a turn has seen: the audiences it came from, and whose words it was made of. It only
//! grows: whatever the turn says or does afterwards may tell of all of it, and may be steered by
//! it.

use insula_domain::{Integrity, Label};
use insula_store::session::NAME_BYTES_MAX;
use insula_tools::QuotedSource;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The label of a turn. Handles that show it something add to it.
pub(crate) struct Seen(Mutex<Now>);

struct Now {
    label: Label,
    /// The same, as it is stored: most of what is seen carries exactly this.
    text: Arc<str>,
    /// Whether it read words of others itself, and not only after somebody who had.
    words: QuotedSource,
}

impl Seen {
    /// A turn that has seen nothing but what a label of this text is on.
    pub(crate) fn new(text: &Arc<str>) -> Self {
        Self(Mutex::new(Now { label: parse(text), text: text.clone(), words: QuotedSource::Own }))
    }

    /// It reads words from outside.
    pub(crate) fn add_foreign(&self) {
        self.now().words = QuotedSource::Foreign;
    }

    /// Whose words it may pass on by its own.
    pub(crate) fn words(&self) -> QuotedSource {
        self.now().words
    }

    /// Whether nobody but operator and sender had a word in what it has seen.
    pub(crate) fn is_own(&self) -> bool {
        self.now().label.integrity().is_own()
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The label of all it has seen.
    pub(crate) fn label(&self) -> Label {
        self.now().label.clone()
    }

    /// The same, as text.
    pub(crate) fn text(&self) -> Arc<str> {
        self.now().text.clone()
    }

    /// It sees something with this label.
    pub(crate) fn add(&self, label: &Label) {
        let mut now = self.now();
        let joined = now.label.join(label);
        if joined == now.label {
            return;
        }
        let text = text_of(&joined);
        *now = Now { label: parse(&text), text, words: now.words };
    }

    /// It sees something with a label of this text. One that says nothing is no permission.
    pub(crate) fn add_text(&self, text: &str) {
        if *self.now().text != *text {
            self.add(&parse(text));
        }
    }

    /// It sees things with these labels.
    pub(crate) fn add_all<'l>(&self, labels: impl IntoIterator<Item = &'l str>) {
        let mut before = None;
        for label in labels {
            // Most carry the label of the one before.
            if before != Some(label) {
                self.add_text(label);
            }
            before = Some(label);
        }
    }
}

/// A label as it is kept: a name of bounded length. What came from more places than have room
/// in one is fit for none of them, and whose words are more than have room are anybody's.
pub(crate) fn text_of(label: &Label) -> Arc<str> {
    let fits = |label: &Label| label.to_string().len() <= NAME_BYTES_MAX;
    if fits(label) {
        return label.to_string().into();
    }
    let fewer = [label.clone().with(&Integrity::many()), Label::nobody().with(label.integrity())];
    fewer.into_iter().find(fits).unwrap_or_else(Label::unknown).to_string().into()
}

fn parse(text: &str) -> Label {
    text.parse().unwrap_or_else(|_| Label::unknown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_stays_and_what_is_not_understood_is_for_nobody() {
        let seen = Seen::new(&"telegram:a:1".into());
        seen.add_text("anyone");
        assert_eq!(&*seen.text(), "telegram:a:1");
        seen.add_text("telegram:a:0");
        seen.add_text("telegram:a:1");
        assert_eq!(&*seen.text(), "telegram:a:0,telegram:a:1");
        seen.add_text("private");
        assert_eq!(seen.label(), Label::unknown());
        seen.add_text("anyone");
        assert_eq!(seen.label(), Label::unknown());
        assert_eq!(Seen::new(&"".into()).label(), Label::unknown());
    }

    #[test]
    fn more_places_than_a_label_has_room_for_are_for_nobody() {
        let seen = Seen::new(&"anyone".into());
        for chat in 0..200 {
            seen.add_text(&format!("telegram:a:{chat}"));
            assert!(seen.text().len() <= NAME_BYTES_MAX);
        }
        assert_eq!(&*seen.text(), "nobody");
    }
}
