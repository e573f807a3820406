//! Numbers of an agent's store as they are shown outside it: under a key, so that none tells how
//! many there were before it.
//!
//! A number and what it counts give one name, always the same, and no other number gives it. It
//! is a disguise and no credential: who may see what a name stands for is decided elsewhere.

use crate::key::AuditKey;

/// Rounds of the permutation. Four make it one that can't be told from a random one.
const ROUNDS: u8 = 4;

/// The largest number that is sealed. What opens to a larger one was made up.
const NUMBER_MAX: i64 = 1 << 40;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Sessions.
    Session,
    /// Turns.
    Turn,
    /// Deliveries.
    Delivery,
    /// Fragments of memory.
    Fragment,
    /// Folders of what the programs of a session printed.
    Output,
}

impl Counted {
    fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Turn => "turn",
            Self::Delivery => "delivery",
            Self::Fragment => "fragment",
            Self::Output => "output",
        }
    }
}

/// Makes names of an agent's numbers, and reads them. Bound to its agent.
#[derive(Clone)]
pub struct Seals {
    key: [u8; 32],
}

impl Seals {
    pub(crate) fn of_agent(key: &AuditKey, agent: &str) -> Self {
        Self { key: key.of_names(agent) }
    }

    /// The name of a number: 16 hexadecimal digits.
    pub fn seal(&self, counted: Counted, number: i64) -> String {
        let (mut left, mut right) = halves(number.cast_unsigned());
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.mix(counted, round, right));
        }
        format!("{left:08x}{right:08x}")
    }

    /// The number of a name; `None` for what is no name of ours.
    pub fn open(&self, counted: Counted, name: &str) -> Option<i64> {
        let is_digit = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
        if name.len() != 16 || !name.bytes().all(is_digit) {
            return None;
        }
        let (mut left, mut right) = halves(u64::from_str_radix(name, 16).ok()?);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.mix(counted, round, left), left);
        }
        let number = (u64::from(left) << 32 | u64::from(right)).cast_signed();
        (0..=NUMBER_MAX).contains(&number).then_some(number)
    }

    fn mix(&self, counted: Counted, round: u8, half: u32) -> u32 {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(counted.as_str().as_bytes()).update(&[0, round]).update(&half.to_be_bytes());
        let mut mixed = [0; 4];
        hasher.finalize_xof().fill(&mut mixed);
        u32::from_be_bytes(mixed)
    }
}

impl std::fmt::Debug for Seals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seals(…)")
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
fn halves(number: u64) -> (u32, u32) {
    ((number >> 32) as u32, number as u32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn seals(agent: &str) -> Seals {
        Seals::of_agent(&AuditKey::from_bytes([7; 32]), agent)
    }

    #[test]
    fn a_name_opens_to_its_number_for_its_agent_and_kind_only() {
        let (a, b) = (seals("a"), seals("b"));
        for number in [0, 1, 2, 77, NUMBER_MAX] {
            let name = a.seal(Counted::Turn, number);
            assert_eq!(name.len(), 16);
            assert_eq!(a.open(Counted::Turn, &name), Some(number));
            assert_eq!(a.open(Counted::Session, &name), None);
            assert_eq!(b.open(Counted::Turn, &name), None);
        }
    }

    #[test]
    fn names_of_numbers_in_a_row_have_nothing_in_common() {
        let a = seals("a");
        let names: Vec<String> = (1..=500).map(|number| a.seal(Counted::Session, number)).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 500);
        let mut sorted = names.clone();
        sorted.sort();
        assert_ne!(names, sorted);
        let starts: BTreeSet<&str> = names.iter().map(|name| &name[..8]).collect();
        assert!(starts.len() > 490, "{}", starts.len());
    }

    #[test]
    fn what_is_no_name_opens_nothing() {
        let a = seals("a");
        let name = a.seal(Counted::Turn, 7);
        for text in ["", "7", "é", &name[1..], &name.to_uppercase(), "+123456789abcdef"] {
            assert_eq!(a.open(Counted::Turn, text), None, "{text}");
        }
    }
}
