//! What a tenant's export proves, over random trails: whatever is changed in it shows.

use super::*;
use crate::audit::{About, AuditEntry};
use crate::chain::{Chain, Head, RecordPlace};
use crate::scope_chain::Fields;
use insula_domain::{AuditScope, ScopeName};
use insula_world::Random;
use proptest::prelude::*;
use std::collections::BTreeMap;

const AGENT: &str = "clerk";

fn key() -> AuditKey {
    AuditKey::from_bytes([5; 32])
}

fn signer() -> Signer {
    Signer::of_agent(&key(), AGENT)
}

/// One thing that happens: in which scope, by whom, which kind, what is said.
type Happened = (u8, u8, u8, String);

fn scope(number: u8) -> AuditScope {
    match number {
        0 => AuditScope::Agent,
        number => {
            let name: ScopeName = format!("custom:tenant{number}").parse().unwrap();
            AuditScope::Of(name)
        }
    }
}

/// The records of each scope, as a chain of all of them makes them.
fn trail(happened: &[Happened]) -> BTreeMap<AuditScope, Vec<ScopeRecord>> {
    let chain = Chain::of_agent(&key(), AGENT);
    let random = Random::from_seed([3; 32]);
    let mut head = Head::START;
    let mut all: BTreeMap<AuditScope, Vec<ScopeRecord>> = BTreeMap::new();
    for (number, (of, who, kind, said)) in happened.iter().enumerate() {
        let scope = scope(*of);
        let known = all.entry(scope.clone()).or_default();
        let place = RecordPlace {
            scope: scope.clone(),
            session: (who % 2 == 0).then(|| format!("key{of}").into()),
            head: known.last().map(|last| Head { seq: last.seq, mac: last.link }),
        };
        let entry = AuditEntry {
            at: Timestamp::from_millis(1_794_708_747_004 + number as i64),
            actor: format!("telegram:{of}{who}").as_str().into(),
            about: About::Agent,
            kind: format!("kind.k{kind}").into(),
            generation: 1,
            content: serde_json::json!({ "turn": number, "said": said }).to_string(),
        };
        let session = place.session.clone();
        let (next, stored) = chain.follow(head, place, entry.clone(), &random);
        let noted = stored.noted.unwrap();
        let (content, salt) = stored.content.unwrap();
        let told = chain.told(std::str::from_utf8(&content).unwrap(), &salt);
        let body = Fields {
            at: stored.at,
            actor: &stored.actor,
            kind: &stored.kind,
            session: session.as_deref().map(str::as_bytes),
            generation: 1,
            told: noted.told,
        };
        known.push(ScopeRecord {
            seq: noted.seq,
            body: body.body(),
            commitment: noted.told,
            // Every fifth one was erased.
            words: (number % 5 != 4).then_some(Words { text: told.text, salt: told.salt }),
            link: noted.link,
            record: AuditRecord {
                seq: crate::Seq(next.seq),
                at: entry.at,
                actor: entry.actor,
                scope,
                session,
                scope_seq: Some(noted.seq),
                kind: entry.kind,
                generation: 1,
                content: None,
                commitment: stored.commitment,
                prev: stored.prev,
                mac: stored.mac,
            },
        });
        head = next;
    }
    all
}

/// An export of the records from `first` on; of those that `shows` does not admit, their bodies.
fn export(
    scope: &AuditScope,
    records: &[ScopeRecord],
    first: usize,
    shows: impl Fn(&ScopeRecord) -> bool,
) -> Vec<String> {
    let start = Statement::start(AGENT, scope.as_str());
    let before = first.checked_sub(1).map_or(start, |at| records[at].link);
    let part = &records[first..];
    let begin = begin_line(AGENT, scope.as_str(), first as u64 + 1, &before);
    let mut lines = vec![begin];
    lines.extend(part.iter().map(|record| match shows(record) {
        true => record_line(record),
        false => left_out_line(record.seq, &record.body, &record.link),
    }));
    let statement = Statement {
        agent: AGENT.into(),
        scope: scope.as_str().into(),
        first: first as u64 + 1,
        before,
        last: records.len() as u64,
        head: part.last().map_or(before, |last| last.link),
        at: Timestamp::from_millis(1_794_800_000_000),
    };
    let signature = signer().sign(&statement).unwrap();
    lines.push(end_line(&statement, &signer().public_key().unwrap(), &signature));
    lines
}

fn check(lines: &[String]) -> Result<Verified, ProofError> {
    check_by(lines, None, None)
}

fn check_by(
    lines: &[String],
    key: Option<&Bytes32>,
    earlier: Option<Earlier>,
) -> Result<Verified, ProofError> {
    let mut checker = earlier.map_or_else(Checker::default, Checker::after);
    lines.iter().try_for_each(|line| checker.line(line))?;
    checker.finish(key)
}

fn happenings() -> impl Strategy<Value = Vec<Happened>> {
    prop::collection::vec(
        (0..4_u8, 0..4_u8, 0..3_u8, "[ -~é\"\\\\\u{202e}\u{7f}\u{1f600}\n]{0,12}"),
        1..24,
    )
}

proptest! {
    #[test]
    fn every_tenant_can_check_its_own_part_alone(happened in happenings()) {
        for (scope, records) in trail(&happened) {
            for first in 0..=records.len() {
                let lines = export(&scope, &records, first, |_| true);
                prop_assert!(lines.iter().all(|it| it.bytes().all(|it| (32..127).contains(&it))));
                let verified = check(&lines).unwrap();
                prop_assert_eq!(verified.records as usize, records.len() - first);
                prop_assert_eq!(verified.left_out, 0);
                prop_assert_eq!(&*verified.statement.scope, scope.as_str());
                let erased = records[first..].iter().filter(|it| it.words.is_none()).count();
                prop_assert_eq!(verified.erased as usize, erased);
            }
        }
    }

    #[test]
    fn an_export_says_nothing_of_anybody_else(happened in happenings()) {
        let mut others = happened.clone();
        others.retain(|it| it.0 == 1);
        let all = trail(&happened);
        let mine = all.get(&scope(1)).cloned().unwrap_or_default();
        let text = export(&scope(1), &mine, 0, |_| true).join("\n");
        for other in [0, 2, 3] {
            // By their names, and by the bytes of any of their links, bodies and commitments.
            let names = [format!("telegram:{other}"), format!("tenant{other}")];
            prop_assert!(!names.iter().any(|name| text.contains(name)));
            for record in all.get(&scope(other)).into_iter().flatten() {
                for bytes in [record.link, record.body, record.commitment, record.record.mac] {
                    let hash = blake3::Hash::from_bytes(bytes).to_hex();
                    prop_assert!(!text.contains(hash.as_str()));
                }
            }
        }
        // Positions count its own alone, also where others did something in between.
        let seqs: Vec<u64> = mine.iter().map(|record| record.seq).collect();
        prop_assert_eq!(seqs, (1..=others.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn whatever_is_changed_shows(
        happened in happenings(),
        (at, other, bit) in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..7_u32),
    ) {
        let all = trail(&happened);
        for (scope, records) in &all {
            let lines = export(scope, records, 0, |_| true);
            // Any bit of any line: what is no text any more can't even be read.
            let mut flipped = lines.clone();
            let line = at.index(lines.len());
            let mut bytes = lines[line].clone().into_bytes();
            let place = other.index(bytes.len());
            bytes[place] ^= 1 << bit;
            if let Ok(text) = String::from_utf8(bytes) {
                flipped[line] = text;
                prop_assert!(check(&flipped).is_err(), "{}", flipped[line]);
            }
            // Dropped, repeated, cut, and moved.
            let mut dropped = lines.clone();
            dropped.remove(line);
            prop_assert!(check(&dropped).is_err());
            let mut twice = lines.clone();
            twice.insert(other.index(lines.len() + 1), lines[line].clone());
            prop_assert!(check(&twice).is_err());
            prop_assert!(check(&lines[..line]).is_err());
            let with = other.index(lines.len());
            let mut swapped = lines.clone();
            swapped.swap(line, with);
            prop_assert_eq!(check(&swapped).is_ok(), line == with);
            // A record of somebody else's in its place.
            for (theirs, records) in all.iter().filter(|(it, _)| *it != scope) {
                for record in records {
                    let mut put_in = lines.clone();
                    put_in.insert(1 + other.index(lines.len() - 1), record_line(record));
                    prop_assert!(check(&put_in).is_err());
                    if line > 0 && line < lines.len() - 1 {
                        let mut replaced = lines.clone();
                        replaced[line] = record_line(record);
                        prop_assert!(check(&replaced).is_err(), "{theirs}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_part_that_shows_some_records_holds_too(happened in happenings(), shown in 0..4_u8) {
        for (scope, records) in trail(&happened) {
            let shows = |record: &ScopeRecord| record.record.kind.ends_with(char::from(b'0' + shown));
            let lines = export(&scope, &records, 0, shows);
            let verified = check(&lines).unwrap();
            let count = records.iter().filter(|it| shows(it)).count();
            prop_assert_eq!(verified.records as usize, count);
            prop_assert_eq!(verified.left_out as usize, records.len() - count);
            // What is left out stands for one record and no other.
            for at in 1..lines.len() - 1 {
                let mut dropped = lines.clone();
                dropped.remove(at);
                prop_assert!(check(&dropped).is_err());
            }
        }
    }

    #[test]
    fn a_later_export_goes_on_from_an_earlier_one_or_shows(
        happened in happenings(),
        (cut, first) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        for (scope, records) in trail(&happened) {
            let cut = cut.index(records.len() + 1);
            let early = check(&export(&scope, &records[..cut], 0, |_| true)).unwrap().end();
            let first = first.index(records.len() + 1);
            let late = export(&scope, &records, first, |_| true);
            prop_assert_eq!(check_by(&late, None, Some(early.clone())).is_ok(), first <= cut);
            // Something else happened after all, or less did.
            let other = trail(&[(0, 0, 0, "else".to_owned())]);
            let other = export(&AuditScope::Agent, &other[&AuditScope::Agent], 0, |_| true);
            let same = scope == AuditScope::Agent && (cut == 0 || happened[0].3 == "else");
            if !same && cut > 0 {
                prop_assert!(check_by(&other, None, Some(early.clone())).is_err());
            }
            if cut > 0 {
                let shorter = export(&scope, &records[..cut - 1], 0, |_| true);
                prop_assert!(check_by(&shorter, None, Some(early)).is_err());
            }
        }
    }
}

fn three() -> Vec<String> {
    let happened = [1, 2, 1, 1].map(|of| (of, 0, 0, "said".to_owned()));
    export(&scope(1), &trail(&happened)[&scope(1)], 0, |_| true)
}

#[test]
fn who_signed_is_looked_at() {
    let lines = three();
    let own = signer().public_key().unwrap();
    assert!(check_by(&lines, Some(&own), None).is_ok());
    let other = Signer::of_agent(&key(), "other").public_key().unwrap();
    assert_ne!(own, other, "each agent's own");
    let refused = check_by(&lines, Some(&other), None);
    assert!(matches!(refused, Err(ProofError::Key { .. })), "{refused:?}");
    // One that somebody made with a key of their own, which the tenant does not know.
    let forger = Signer::of_agent(&AuditKey::from_bytes([6; 32]), AGENT);
    let statement = check(&lines).unwrap().statement;
    let signature = forger.sign(&statement).unwrap();
    let mut forged = lines.clone();
    *forged.last_mut().unwrap() = end_line(&statement, &forger.public_key().unwrap(), &signature);
    assert!(check(&forged).is_ok(), "that a key signed says nothing of whose it is");
    assert!(matches!(check_by(&forged, Some(&own), None), Err(ProofError::Key { .. })));
    let earlier = check(&lines).unwrap().end();
    assert!(matches!(check_by(&forged, None, Some(earlier)), Err(ProofError::Key { .. })));
    *forged.last_mut().unwrap() = end_line(&statement, &own, &signature);
    assert_eq!(check(&forged), Err(ProofError::Signature));
}

#[test]
fn a_refusal_says_what_is_wrong() {
    let lines = three();
    let told = |lines: &[String]| check(lines).unwrap_err().to_string();
    assert_eq!(told(&lines[..4]), "it is cut off: the last line, which is signed, is missing");
    assert!(told(&[]).starts_with("it does not begin as an audit export does"));
    assert!(told(&lines[1..]).starts_with("it does not begin as an audit export does"));
    let mut dropped = lines.clone();
    dropped.remove(2);
    assert_eq!(told(&dropped), "record 2 is missing: record 3 stands in its place");
    let mut changed = lines.clone();
    changed[2] = changed[2].replace("said\\\":\\\"said", "said\\\":\\\"sold");
    assert_eq!(told(&changed), "the content of record 2 was changed");
    changed[2] = lines[2].replace("kind.k0", "kind.k1");
    assert_eq!(told(&changed), "record 2 was changed, moved or put in, or one before it was");
    changed[2] = lines[2].replace("{\"seq\"", "{ \"seq\"");
    assert_eq!(told(&changed), "line 3 is not as it was written");
    changed[2] = lines[2].replace("{\"seq\":2", "{\"actor\":\"nobody\",\"seq\":2");
    assert_eq!(told(&changed), "line 3 is not as it was written");
    let mut cut = lines.clone();
    cut.remove(3);
    assert_eq!(
        told(&cut),
        "the end is not the one that was signed: the last record here is 2, not 3"
    );
}

#[test]
fn nobody_did_anything_is_something_to_prove_too() {
    let lines = export(&scope(2), &[], 0, |_| true);
    let verified = check(&lines).unwrap();
    assert_eq!((verified.records, verified.statement.last), (0, 0));
    // And not by the beginning of another scope.
    let mut other = lines;
    other[0] = other[0].replace("tenant2", "tenant3");
    assert!(check(&other).is_err());
}
