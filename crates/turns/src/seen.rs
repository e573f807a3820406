//! What a turn has seen: the audiences it came from, and whose words it was made of. It only
//! grows: whatever the turn says or does afterwards may tell of all of it, and may be steered by
//! it.

use insula_domain::{Actor, Integrity, Label, Source, SourceKind};
use insula_store::session::NAME_BYTES_MAX;
use insula_tools::QuotedSource;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The label of a turn. Handles that show it something add to it.
pub(crate) struct Seen {
    now: Mutex<Now>,
    /// Who the turn is for. What they said before steers it as what they say now.
    sender: Actor,
}

#[derive(Clone)]
struct Now {
    label: Label,
    /// The same, as it is stored: most of what is seen carries exactly this.
    text: Arc<str>,
    /// Whether it read words of others itself, and not only after somebody who had.
    words: QuotedSource,
}

impl Seen {
    /// A turn of somebody that has seen nothing but what a label of this text is on.
    pub(crate) fn new(text: &Arc<str>, sender: &Actor) -> Self {
        let (whole, words) = (parse(text), QuotedSource::Own);
        let now = match without(&whole, sender) {
            Some(label) => Now { text: text_of(&label), label, words },
            None => Now { label: whole, text: text.clone(), words },
        };
        Self { now: Mutex::new(now), sender: sender.clone() }
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
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
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
        let without = without(label, &self.sender);
        let mut now = self.now();
        let joined = now.label.join(without.as_ref().unwrap_or(label));
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

/// What was seen by work that was done beside other work.
pub(crate) struct SeenApart(Now);

impl Seen {
    /// Does some work. What it sees is told with what comes of it, and nothing that other work sees
    /// meanwhile is among that.
    pub(crate) async fn apart<T>(&self, work: impl Future<Output = T>) -> (T, SeenApart) {
        let mut work = pin!(work);
        let mut own = self.now().clone();
        let done = poll_fn(|cx| {
            // Whoever looks while it works finds its own.
            std::mem::swap(&mut *self.now(), &mut own);
            let polled = work.as_mut().poll(cx);
            std::mem::swap(&mut *self.now(), &mut own);
            polled
        });
        let done = done.await;
        (done, SeenApart(own))
    }

    /// It sees what such work saw.
    pub(crate) fn join(&self, SeenApart(seen): SeenApart) {
        self.add_text(&seen.text);
        if seen.words == QuotedSource::Foreign {
            self.add_foreign();
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

pub(crate) fn parse(text: &str) -> Label {
    text.parse().unwrap_or_else(|_| Label::unknown())
}

/// Somebody who speaks in a conversation, as those know them who are steered by what they say.
pub(crate) fn person(who: &Actor) -> Option<Source> {
    match who {
        Actor::Token(_) | Actor::User(_) | Actor::Other(_) => {
            Some(Source::new(SourceKind::Observed, who.as_str()))
        }
        Actor::Agent(_) => {
            who.as_agent().map(|agent| Source::new(SourceKind::Agent, agent.as_str()))
        }
        _ => None,
    }
}

/// Whether words are somebody's own. By the whole name: what was cut may be somebody else.
pub(crate) fn is_said_by(source: &Source, who: &Actor) -> bool {
    match who.as_agent() {
        Some(agent) => source.kind == SourceKind::Agent && source.name() == agent.as_str(),
        None => source.kind == SourceKind::Observed && source.name() == who.as_str(),
    }
}

/// A label without what the sender said themselves; `None` where it has nothing of that.
fn without(label: &Label, sender: &Actor) -> Option<Label> {
    let is_theirs = |it: &Source| is_said_by(it, sender);
    let has_theirs = label.integrity().sources().any(is_theirs);
    has_theirs.then(|| label.audiences_alone().with(&label.integrity().without(is_theirs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_stays_and_what_is_not_understood_is_for_nobody() {
        let seen = Seen::new(&"telegram:a:1".into(), &Actor::CommandLine);
        seen.add_text("anyone");
        assert_eq!(&*seen.text(), "telegram:a:1");
        seen.add_text("telegram:a:0");
        seen.add_text("telegram:a:1");
        assert_eq!(&*seen.text(), "telegram:a:0,telegram:a:1");
        seen.add_text("private");
        assert_eq!(seen.label(), Label::unknown());
        seen.add_text("anyone");
        assert_eq!(seen.label(), Label::unknown());
        assert_eq!(Seen::new(&"".into(), &Actor::CommandLine).label(), Label::unknown());
    }

    #[test]
    fn what_is_seen_beside_other_work_is_told_with_what_comes_of_it() {
        use futures_util::FutureExt as _;
        let seen = Seen::new(&"anyone".into(), &Actor::CommandLine);
        let reads = |name: &'static str| {
            let seen = &seen;
            seen.apart(async move {
                seen.add(&Label::anyone().with(&Integrity::of(Source::new(SourceKind::Web, name))));
                // Another has its turn meanwhile.
                let mut waited = false;
                poll_fn(|_| match std::mem::replace(&mut waited, true) {
                    false => std::task::Poll::Pending,
                    true => std::task::Poll::Ready(()),
                })
                .await;
                seen.label().integrity().clone()
            })
        };
        let both = futures_util::future::join(reads("one"), reads("two"));
        let mut both = pin!(both);
        assert!(both.as_mut().now_or_never().is_none());
        assert!(seen.is_own(), "nothing of it is seen before it is told");
        let ((one, first), (two, second)) = both.now_or_never().unwrap();
        let of = |name| Integrity::of(Source::new(SourceKind::Web, name));
        assert_eq!((one, two), (of("one"), of("two")));
        seen.join(first);
        assert_eq!(*seen.label().integrity(), of("one"));
        seen.join(second);
        assert_eq!(*seen.label().integrity(), of("one").join(&of("two")));
    }

    #[test]
    fn more_places_than_a_label_has_room_for_are_for_nobody() {
        let seen = Seen::new(&"anyone".into(), &Actor::CommandLine);
        for chat in 0..200 {
            seen.add_text(&format!("telegram:a:{chat}"));
            assert!(seen.text().len() <= NAME_BYTES_MAX);
        }
        assert_eq!(&*seen.text(), "nobody");
    }

    #[test]
    fn what_the_sender_said_before_is_their_own_and_nobody_elses() {
        let (ann, bob): (Actor, Actor) = ("telegram:1".into(), "telegram:2".into());
        let of = |who: &Actor| Integrity::of(person(who).unwrap());
        let both = Label::anyone().with(&of(&ann)).with(&of(&bob));
        let seen = Seen::new(&text_of(&both), &ann);
        assert_eq!(*seen.label().integrity(), of(&bob));
        assert_eq!(*seen.text(), *text_of(&Label::anyone().with(&of(&bob))));
        let seen = Seen::new(&"anyone".into(), &ann);
        seen.add(&Label::anyone().with(&of(&ann)));
        assert!(seen.is_own());
        seen.add_text(&text_of(&both));
        assert_eq!(*seen.label().integrity(), of(&bob));
        // Quoted by somebody, their words are another's choice.
        let quoted = Integrity::of(Source::new(SourceKind::Quoted, "telegram:1"));
        seen.add(&Label::anyone().with(&quoted));
        assert_eq!(*seen.label().integrity(), of(&bob).join(&quoted));
        assert_eq!(person(&Actor::Summary), None);
    }
}
