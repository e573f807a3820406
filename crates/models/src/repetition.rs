//! A model that says the same again and again will not stop by itself. Pure: what was said goes
//! in, whether it goes in circles comes out.

use crate::event::Event;

/// Bytes that have to repeat before words count as a circle: long rules and tables are shorter.
const RUN_LEN: usize = 4_000;
/// The same for a circle of words with letters in it: no rule and no table of numbers.
const SENTENCES_RUN_LEN: usize = 1_600;
/// How many letters such a circle has at least.
const LETTERS_MIN: usize = 12;
/// The same for arguments of calls, which may be files.
const ARGUMENTS_RUN_LEN: usize = 24_000;
/// How often a unit has to come again in them.
const REPEATS_MIN: usize = 8;
/// How many new bytes there are between two looks.
const LOOK_EVERY: usize = 512;
/// How often what repeated is left standing.
const REPEATS_KEPT: usize = 2;

/// Listens to one stream of words.
#[derive(Debug)]
pub(crate) struct RepetitionWatch {
    run_len: usize,
    /// The end of what was said.
    tail: Vec<u8>,
    unseen: usize,
}

impl RepetitionWatch {
    /// For words and thoughts.
    pub(crate) fn of_words() -> Self {
        Self { run_len: RUN_LEN, tail: vec![], unseen: 0 }
    }

    /// For arguments of calls.
    pub(crate) fn of_arguments() -> Self {
        Self { run_len: ARGUMENTS_RUN_LEN, tail: vec![], unseen: 0 }
    }

    /// Hears more; whether it goes in circles by now.
    pub(crate) fn goes_in_circles(&mut self, more: &str) -> bool {
        self.tail.extend_from_slice(more.as_bytes());
        self.unseen += more.len();
        if self.tail.len() < self.run_len.min(SENTENCES_RUN_LEN) || self.unseen < LOOK_EVERY {
            return false;
        }
        self.unseen = 0;
        let surplus = self.tail.len().saturating_sub(self.run_len);
        self.tail.drain(..surplus);
        let is_long_enough = self.tail.len() >= self.run_len;
        let is_circle = is_long_enough
            && period(&self.tail).is_some_and(|period| period * REPEATS_MIN <= self.run_len);
        is_circle || self.run_len == RUN_LEN && sentences(&self.tail).is_some()
    }
}

/// Listens to one answer.
#[derive(Debug)]
pub(crate) struct Circles {
    words: RepetitionWatch,
    thoughts: RepetitionWatch,
    arguments: RepetitionWatch,
}

impl Default for Circles {
    fn default() -> Self {
        Self {
            words: RepetitionWatch::of_words(),
            thoughts: RepetitionWatch::of_words(),
            arguments: RepetitionWatch::of_arguments(),
        }
    }
}

impl Circles {
    /// Hears what comes next; whether the model goes in circles by now.
    pub(crate) fn hear(&mut self, event: &Event) -> bool {
        match event {
            Event::TextDelta(text) => self.words.goes_in_circles(text),
            Event::ReasoningDelta(text) => self.thoughts.goes_in_circles(text),
            Event::ToolCallDelta { json, .. } => self.arguments.goes_in_circles(json),
            Event::ToolCallStart { .. } => {
                self.arguments = RepetitionWatch::of_arguments();
                false
            }
            _ => false,
        }
    }
}

/// The length of the shortest unit that all of `bytes` repeats, the last time perhaps not whole.
fn period(bytes: &[u8]) -> Option<usize> {
    // For each place, how much of the beginning also ends there.
    let mut borders = vec![0_usize; bytes.len()];
    let mut border = 0;
    for at in 1..bytes.len() {
        let byte = bytes.get(at)?;
        while border > 0 && bytes.get(border)? != byte {
            border = *borders.get(border - 1)?;
        }
        if bytes.get(border)? == byte {
            border += 1;
        }
        *borders.get_mut(at)? = border;
    }
    Some(bytes.len() - borders.last()?)
}

/// The length of the circle of words that a text ends in, if it does.
fn sentences(bytes: &[u8]) -> Option<usize> {
    let end = bytes.get(bytes.len().checked_sub(SENTENCES_RUN_LEN)?..)?;
    let period = period(end).filter(|period| period * REPEATS_MIN <= SENTENCES_RUN_LEN)?;
    let letters =
        end.iter().take(period).filter(|byte| byte.is_ascii_alphabetic() || **byte > 0x7f);
    (letters.count() >= LETTERS_MIN).then_some(period)
}

/// A text that ends in a circle, with the circle gone round only twice. Any other as it is.
pub(crate) fn without_circle(text: &str) -> &str {
    let bytes = text.as_bytes();
    let long = || {
        let from = bytes.len().checked_sub(RUN_LEN)?;
        let period = period(bytes.get(from..)?).filter(|it| it * REPEATS_MIN <= RUN_LEN)?;
        Some((from, period))
    };
    let words = || Some((bytes.len().checked_sub(SENTENCES_RUN_LEN)?, sentences(bytes)?));
    let Some((from, period)) = words().or_else(long) else { return text };
    // It may have begun before the bytes that were looked at.
    let mut begin = from;
    while begin > 0 && bytes.get(begin - 1) == bytes.get(begin - 1 + period) {
        begin -= 1;
    }
    let end = begin + period * REPEATS_KEPT;
    let end = (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn heard(pieces: impl IntoIterator<Item = String>) -> Option<usize> {
        let mut watch = RepetitionWatch::of_words();
        let mut len = 0;
        for piece in pieces {
            len += piece.len();
            if watch.goes_in_circles(&piece) {
                return Some(len);
            }
        }
        None
    }

    #[test]
    fn a_circle_is_noticed_soon_and_what_only_looks_alike_is_not() {
        let said = std::iter::repeat_n("I will look at the file again.\n".to_owned(), 400);
        let at = heard(said).unwrap();
        assert!(at < SENTENCES_RUN_LEN + 2 * LOOK_EVERY, "{at}");
        let listed =
            std::iter::repeat_n("\"cypress\", \"elm\", \"sycamore\", \"ash\", ".to_owned(), 99);
        assert!(heard(listed).is_some());
        let at = heard(std::iter::repeat_n("0, 0, 1, 0\n".to_owned(), 999)).unwrap();
        assert!(at > RUN_LEN, "{at}");
        let counted = (0..2_000).map(|n| format!("line {n} of the list\n"));
        assert_eq!(heard(counted), None);
        assert_eq!(heard([format!("{}\n", "-".repeat(2_000))]), None);
    }

    #[test]
    fn arguments_may_repeat_more_than_words() {
        let mut watch = RepetitionWatch::of_arguments();
        assert!(!watch.goes_in_circles(&"0,0,0\\n".repeat(2_000)));
        assert!(watch.goes_in_circles(&"0,0,0\\n".repeat(2_000)));
    }

    proptest! {
        #[test]
        fn every_short_circle_is_noticed_however_it_is_cut(
            before in "[ -~]{0,300}",
            unit in "[ -~äö]{1,200}",
            cut in 1_usize..700,
        ) {
            let text = format!("{before}{}", unit.repeat(8_000 / unit.len() + 2));
            let chars: Vec<char> = text.chars().collect();
            let pieces = chars.chunks(cut).map(|piece| piece.iter().collect());
            prop_assert!(heard(pieces).is_some());
        }

        #[test]
        fn a_circle_is_cut_to_two_rounds_and_other_words_are_not_touched(
            before in "[a-z ]{0,2000}",
            unit in "[0-9]{1,100}ä",
        ) {
            prop_assert_eq!(without_circle(&before), &*before);
            let text = format!("{before}{}", unit.repeat(RUN_LEN / unit.len() + 2));
            let short = without_circle(&text);
            prop_assert!(short.starts_with(&before));
            prop_assert!(text.starts_with(short));
            prop_assert!(short.len() <= before.len() + unit.len() * REPEATS_KEPT + 4);
        }
    }
}
