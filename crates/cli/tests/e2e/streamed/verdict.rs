//! What a chat shows in the end, judged: whether each question has one answer, and whatever else
//! stands there says of itself that it may be a repetition.

use std::fmt;

/// What a message that may be a repetition begins with.
const REPETITION: &str = "(This may be a repetition";

/// A message of the agent's, as it reads in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The question it answers.
    pub name: String,
    /// Which of the model's answers it is.
    pub answer: String,
    pub is_whole: bool,
    /// Whether it says that it may be a repetition.
    pub is_marked: bool,
}

impl Shown {
    /// Reads a message; `None` for one that answers nothing.
    pub fn read(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once('<')?.1.split_once('>')?;
        let answer = rest.trim_start().strip_prefix("answer ")?.split(':').next()?;
        Some(Self {
            name: name.to_owned(),
            answer: answer.to_owned(),
            is_whole: text.trim_end().ends_with(" whole"),
            is_marked: text.starts_with(REPETITION),
        })
    }

    /// Whether a message is the whole answer to a question.
    pub fn answers(text: &str, name: &str) -> bool {
        Self::read(text).is_some_and(|shown| shown.is_whole && shown.name == name)
    }
}

/// What was found in chats. All but the first three have to be 0.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Questions.
    pub said: usize,
    /// Messages that say of themselves that they may be a repetition.
    pub marked: usize,
    /// What the audit has of that.
    pub records: usize,
    /// Questions without a whole answer at their end.
    pub lost: usize,
    /// Messages that say again what stands there, and do not say so.
    pub doubled: usize,
    /// Messages that stand beside another answer to the same question, and do not say so.
    pub different: usize,
    /// Chats in which answers do not come in the order of the questions.
    pub unordered: usize,
    /// Messages that answer nothing.
    pub strange: usize,
}

impl Verdict {
    /// Judges one chat: what was asked, and what stands there, both in order.
    pub fn add(&mut self, asked: &[String], texts: &[String]) {
        self.said += asked.len();
        let mut order: Vec<String> = vec![];
        let mut read: Vec<Shown> = vec![];
        for text in texts {
            let Some(shown) = Shown::read(text) else {
                println!("strange: {text}");
                self.strange += 1;
                continue;
            };
            if order.last() != Some(&shown.name) {
                order.push(shown.name.clone());
            }
            read.push(shown);
        }
        for name in asked {
            let all: Vec<&Shown> = read.iter().filter(|it| it.name == *name).collect();
            if !all.last().is_some_and(|last| last.is_whole) {
                println!("lost: <{name}> {all:?}");
                self.lost += 1;
            }
            for pair in all.windows(2) {
                match (pair[1].is_marked, pair[0].answer == pair[1].answer) {
                    (true, _) => self.marked += 1,
                    (false, true) => self.doubled += 1,
                    (false, false) => self.different += 1,
                }
                if !pair[1].is_marked {
                    println!("unmarked: {pair:?}");
                }
            }
            // What was in doubt, and had not arrived.
            self.marked += usize::from(all.first().is_some_and(|first| first.is_marked));
        }
        if order != asked {
            println!("order: {order:?}, asked {asked:?}");
            self.unordered += 1;
        }
    }

    /// Fails where something is not as it should be.
    ///
    /// # Panics
    /// Then.
    pub fn hold(&self) {
        let Self { lost, doubled, different, unordered, strange, marked, records, .. } = self;
        assert_eq!([lost, doubled, different, unordered, strange], [&0; 5], "{self}");
        assert!(marked <= records, "{self}");
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { said, marked, records, lost, doubled, different, unordered, strange } = self;
        write!(
            f,
            "{said} questions: {lost} lost, {doubled} unmarked duplicates, {different} unmarked \
             pairs of different answers, {unordered} chats out of order, {strange} messages that \
             answer nothing; {marked} marked as uncertain, of {records} audit records"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(texts: &[&str]) -> Verdict {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let mut verdict = Verdict { records: 9, ..Verdict::default() };
        verdict.add(&["a".to_owned(), "b".to_owned()], &texts);
        verdict
    }

    const MARKED: &str = "(This may be a repetition: x)\n\n<b> answer 3: w0 whole";

    #[test]
    fn one_answer_to_each_is_right_and_a_second_only_where_it_says_so() {
        judged(&["<a> answer 1: w0 whole", "<b> answer 2: w0 whole"]).hold();
        let doubt = judged(&["<a> answer 1: w0 whole", "<b> answer 2: w0\n…", MARKED]);
        doubt.hold();
        assert_eq!(doubt.marked, 1);
    }

    #[test]
    fn whatever_is_wrong_is_counted() {
        let (a, b) = ("<a> answer 1: w0 whole", "<b> answer 2: w0 whole");
        assert_eq!(judged(&[a]).lost, 1);
        assert_eq!(judged(&[a, "<b> answer 2: w0\n…"]).lost, 1);
        assert_eq!(judged(&[a, b, b]).doubled, 1);
        assert_eq!(judged(&[a, "<b> answer 2: w0\n…", b]).doubled, 1);
        assert_eq!(judged(&["<a> answer 7: w0\n…", a, b]).different, 1);
        assert_eq!(judged(&[b, a]).unordered, 1);
        assert_eq!(judged(&[a, b, "oh"]).strange, 1);
    }
}
