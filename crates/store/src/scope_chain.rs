//! The arithmetic of one scope's records: links that whoever has the records can compute again,
//! without a key, without the daemon and without records of anybody else.
//!
//! A link covers the one before it, the position among those of the same scope, and the body: a
//! hash of the fields and of a salted commitment to what the tenant is told. So a record that is
//! left out of a part can stand there by its body alone, and nobody can guess from that what it
//! was. The beginning is bound to the agent and the scope. Knows no database.

use crate::digest::{Bytes32, commitment, sized};
use crate::seal::{Counted, Seals};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// What a chain's owner is called whose agent this is. Agent ids have no `:`.
pub(crate) fn owner_of(agent: &str) -> String {
    format!("agent:{agent}")
}

/// What the first record of a scope follows.
pub(crate) fn start(owner: &str, scope: &str) -> Bytes32 {
    let mut hasher = blake3::Hasher::new_derive_key("insula store 2026 audit scope start v1");
    sized(&mut hasher, owner.as_bytes());
    sized(&mut hasher, scope.as_bytes());
    *hasher.finalize().as_bytes()
}

/// What a body covers.
pub(crate) struct Fields<'a> {
    pub(crate) at: i64,
    pub(crate) actor: &'a [u8],
    pub(crate) kind: &'a [u8],
    pub(crate) session: Option<&'a [u8]>,
    pub(crate) generation: u64,
    /// The commitment to what is told of the content.
    pub(crate) told: Bytes32,
}

impl Fields<'_> {
    pub(crate) fn body(&self) -> Bytes32 {
        let mut hasher = blake3::Hasher::new_derive_key("insula store 2026 audit scope body v1");
        hasher.update(&self.at.to_le_bytes());
        sized(&mut hasher, self.actor);
        sized(&mut hasher, self.kind);
        hasher.update(&[u8::from(self.session.is_some())]);
        sized(&mut hasher, self.session.unwrap_or_default());
        hasher.update(&self.generation.to_le_bytes());
        hasher.update(&self.told);
        *hasher.finalize().as_bytes()
    }
}

/// The link of a record: after which one, where, and what it is.
pub(crate) fn link(before: &Bytes32, seq: u64, body: &Bytes32) -> Bytes32 {
    let mut hasher = blake3::Hasher::new_derive_key("insula store 2026 audit scope link v1");
    hasher.update(before).update(&seq.to_le_bytes()).update(body);
    *hasher.finalize().as_bytes()
}

/// What the tenant of a record is told of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) salt: Bytes32,
}

/// Numbers that count what all conversations of an agent have, and so tell of others.
const COUNTED: [(&str, Counted); 5] = [
    ("session", Counted::Session),
    ("turn", Counted::Turn),
    ("parent", Counted::Turn),
    ("delivery", Counted::Delivery),
    ("fragment", Counted::Fragment),
];

/// What is left out: where else words came from that a turn had read, and places in the chain of
/// what is remembered, which all scopes have in common.
const LEFT_OUT: [&str; 5] = ["from", "source", "integrity", "record", "link"];

impl Told {
    /// Of a content and its salt. The result is committed to for good: this must never give
    /// another text for a content that was recorded.
    pub(crate) fn of(seals: Option<&Seals>, content: &str, salt: &Bytes32) -> Self {
        let text = seals.and_then(|seals| told(seals, content));
        let salt = blake3::derive_key("insula store 2026 audit scope salt v1", salt);
        Self { text: text.unwrap_or_else(|| content.to_owned()), salt }
    }

    pub(crate) fn commitment(&self) -> Bytes32 {
        commitment(&self.salt, self.text.as_bytes())
    }
}

impl Seals {
    /// What the tenant of a record is told of its content: no number that counts others, and no
    /// name of another place.
    pub fn told(&self, content: &str) -> String {
        told(self, content).unwrap_or_else(|| content.to_owned())
    }
}

/// The fields of an object, each as it was written, in the order of their names; `None` for what
/// is no object.
fn told(seals: &Seals, content: &str) -> Option<String> {
    let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(content).ok()?;
    let kept = fields.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
    let mut parts = Vec::with_capacity(fields.len());
    for (name, value) in kept {
        let counted = COUNTED.iter().find(|(counted, _)| counted == name);
        let number = counted.and_then(|(_, of)| Some((*of, value.get().parse().ok()?)));
        let name = serde_json::to_string(name).ok()?;
        parts.push(match number {
            Some((of, number)) => format!("{name}:\"{}\"", seals.seal(of, number)),
            None => format!("{name}:{}", value.get()),
        });
    }
    Some(format!("{{{}}}", parts.join(",")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use crate::key::AuditKey;

    fn seals() -> Seals {
        Seals::of_agent(&AuditKey::from_bytes([7; 32]), "a")
    }

    fn told_of(content: &str) -> String {
        Told::of(Some(&seals()), content, &[1; 32]).text
    }

    #[test]
    fn a_tenant_is_told_no_number_that_counts_others_and_no_place_of_theirs() {
        let content = r#"{"turn":17,"tool":"x","session":4,"parent":16,"from":"a, b","source":"b","integrity":"observed:c","costs":1.50,"record":9,"link":"00"}"#;
        let name = |of, number| seals().seal(of, number);
        let (session, turn, parent) =
            (name(Counted::Session, 4), name(Counted::Turn, 17), name(Counted::Turn, 16));
        assert_eq!(
            told_of(content),
            format!(
                r#"{{"costs":1.50,"parent":"{parent}","session":"{session}","tool":"x","turn":"{turn}"}}"#
            )
        );
    }

    #[test]
    fn what_has_another_form_is_told_as_it_is() {
        for content in ["", "[1]", "no JSON", "7", "\"turn\""] {
            assert_eq!(told_of(content), content);
        }
        // A key of a conversation is no number of it.
        assert_eq!(
            told_of(r#"{"session":"agent:a:x","turn":null}"#),
            r#"{"session":"agent:a:x","turn":null}"#
        );
    }

    #[test]
    fn what_is_told_never_changes() {
        // Pinned: exports that tenants hold were made of these.
        let told = Told::of(Some(&seals()), r#"{"tool":"x","turn":3}"#, &[1; 32]);
        assert_eq!(blake3::Hash::from_bytes(told.commitment()).to_hex().as_str(), PINNED);
    }

    const PINNED: &str = "dbb26aa66edd040aa9d461562799c4555a67c1b71d4f46fe85e1daddb8af1287";
}
