//! What was mended, for the record: which argument and how, never what it said.

use std::fmt;

/// Mends that a record names; what is beyond them is of the same kind.
const MENDS_MAX: usize = 16;

/// One thing that was mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mend {
    /// The argument, by the name the schema has for it; `None` for the arguments as a whole.
    pub argument: Option<String>,
    pub how: &'static str,
}

impl fmt::Display for Mend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            Some(argument) => write!(f, "`{argument}` {}", self.how),
            None => f.write_str(self.how),
        }
    }
}

/// What was mended so far.
#[derive(Default)]
pub struct Notes(Vec<Mend>);

impl Notes {
    /// Something about one argument.
    pub fn note(&mut self, argument: &str, how: &'static str) {
        self.add(Mend { argument: Some(argument.to_owned()), how });
    }

    /// Something about all of them.
    pub fn note_all(&mut self, how: &'static str) {
        self.add(Mend { argument: None, how });
    }

    fn add(&mut self, mend: Mend) {
        if self.0.len() < MENDS_MAX && !self.0.contains(&mend) {
            self.0.push(mend);
        }
    }

    pub fn into_mends(self) -> Vec<Mend> {
        self.0
    }
}
