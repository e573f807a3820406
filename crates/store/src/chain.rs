//! The arithmetic of an audit chain: links, commitments, anchors, and the walk that checks
//! them. Knows no database.
//!
//! Each record's link is a keyed hash over its fields and the link before it, so a change, a
//! gap, an insertion or a swap breaks the chain where it happened. Of the content the link
//! covers only a salted hash: with content and salt erased, nobody can guess what it was, and
//! the chain still holds. A cut tail is not visible in what is left; for that the head is
//! anchored in another file, under a seal made with the same key.
//!
//! Records of one scope are linked among themselves too (`scope_chain`), so that their tenant can
//! check them without the key and without anybody else's; the link here covers that one.

pub(crate) use crate::digest::Bytes32;

use crate::audit::{About, AuditEntry, AuditReport, TAIL_LOST};
use crate::digest::{commitment, sized};
use crate::key::AuditKey;
use crate::scope_chain::{self, Fields, Told};
use crate::seal::Seals;
use insula_domain::{Actor, AuditScope};
use insula_world::{Random, Timestamp};

/// The newest record of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) seq: u64,
    pub(crate) mac: Bytes32,
}

impl Head {
    /// The head of a chain without records.
    pub(crate) const START: Self = Self { seq: 0, mac: [0; 32] };
}

/// A record as it is stored, minus its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) at: i64,
    pub(crate) actor: Vec<u8>,
    pub(crate) kind: Vec<u8>,
    pub(crate) generation: u64,
    /// Whose matter it is; `None` in records that were written before that was noted.
    pub(crate) noted: Option<Noted>,
    /// Content and salt; `None` once erased.
    pub(crate) content: Option<(Vec<u8>, Bytes32)>,
    pub(crate) commitment: Bytes32,
    pub(crate) prev: Bytes32,
    pub(crate) mac: Bytes32,
}

/// Whose matter a record is, and its place among theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) scope: Vec<u8>,
    pub(crate) session: Option<Vec<u8>>,
    /// Its position among those of the scope, from 1.
    pub(crate) seq: u64,
    /// The salted hash of what its tenant is told of the content.
    pub(crate) told: Bytes32,
    /// Its link among those of the scope.
    pub(crate) link: Bytes32,
}

/// Where a record goes: whose matter it is, and the newest before it of the same.
pub(crate) struct RecordPlace {
    pub(crate) scope: AuditScope,
    pub(crate) session: Option<Box<str>>,
    /// The newest of the scope; `None` where there is none.
    pub(crate) head: Option<Head>,
}

/// One chain: whose it is, and its key.
pub(crate) struct Chain {
    owner: String,
    key: Bytes32,
    /// How numbers are told outside; `None` for the daemon's own, which leaves it to nobody.
    seals: Option<Seals>,
}

impl Chain {
    /// The chain of an agent. Agent ids have no `:`, so no agent is called `daemon:`.
    pub(crate) fn of_agent(key: &AuditKey, agent: &str) -> Self {
        Self::new(key, scope_chain::owner_of(agent), Some(Seals::of_agent(key, agent)))
    }

    /// The daemon's own chain.
    pub(crate) fn of_daemon(key: &AuditKey) -> Self {
        Self::new(key, "daemon:".to_owned(), None)
    }

    fn new(key: &AuditKey, owner: String, seals: Option<Seals>) -> Self {
        Self { key: key.of_chain(&owner), owner, seals }
    }

    /// What the tenant of a record is told of its content, and under which salt.
    pub(crate) fn told(&self, content: &str, salt: &Bytes32) -> Told {
        Told::of(self.seals.as_ref(), content, salt)
    }

    /// What the first record of a scope follows.
    pub(crate) fn scope_start(&self, scope: &str) -> Bytes32 {
        scope_chain::start(&self.owner, scope)
    }

    /// The record that follows `head`.
    pub(crate) fn follow(
        &self,
        head: Head,
        place: RecordPlace,
        entry: AuditEntry,
        random: &Random,
    ) -> (Head, Stored) {
        let seq = head.seq + 1;
        let at = entry.at.as_millis();
        // The link before and the time are part of the purpose, so that a chain that begins
        // again under the same name in the same run does not use the same salts.
        let before = blake3::Hash::from_bytes(head.mac).to_hex();
        let purpose = ["audit", &self.owner, "salt", &seq.to_string(), &at.to_string(), &before];
        let salt = random.stream(&purpose).bytes();
        let told = self.told(&entry.content, &salt).commitment();
        let content = entry.content.into_bytes();
        let (actor, kind) = (entry.actor.as_str().as_bytes(), entry.kind.as_bytes());
        let session = place.session.as_deref().map(str::as_bytes);
        let body = Fields { at, actor, kind, session, generation: entry.generation, told }.body();
        let start = Head { seq: 0, mac: self.scope_start(place.scope.as_str()) };
        let before = place.head.unwrap_or(start);
        let noted = Noted {
            scope: place.scope.as_str().as_bytes().to_vec(),
            session: session.map(<[u8]>::to_vec),
            seq: before.seq + 1,
            told,
            link: scope_chain::link(&before.mac, before.seq + 1, &body),
        };
        let mut record = Stored {
            at,
            actor: actor.to_vec(),
            kind: kind.to_vec(),
            generation: entry.generation,
            noted: Some(noted),
            commitment: commitment(&salt, &content),
            content: Some((content, salt)),
            prev: head.mac,
            mac: [0; 32],
        };
        record.mac = self.link(seq, &record);
        (Head { seq, mac: record.mac }, record)
    }

    fn link(&self, seq: u64, record: &Stored) -> Bytes32 {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(if record.noted.is_some() { &b"link 2"[..] } else { b"link" });
        hasher.update(&seq.to_le_bytes());
        hasher.update(&record.at.to_le_bytes());
        for text in [&record.actor, &record.kind] {
            sized(&mut hasher, text);
        }
        if let Some(Noted { scope, session, seq, told, link }) = &record.noted {
            sized(&mut hasher, scope);
            hasher.update(&[u8::from(session.is_some())]);
            sized(&mut hasher, session.as_deref().unwrap_or_default());
            hasher.update(&seq.to_le_bytes());
            hasher.update(told);
            hasher.update(link);
        }
        hasher.update(&record.generation.to_le_bytes());
        hasher.update(&record.commitment);
        hasher.update(&record.prev);
        *hasher.finalize().as_bytes()
    }

    /// A keyed hash of another chain of the same owner, by what that is for.
    pub(crate) fn tag(&self, purpose: &str, bytes: &[u8]) -> Bytes32 {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"other");
        hasher.update(&(purpose.len() as u64).to_le_bytes());
        hasher.update(purpose.as_bytes());
        hasher.update(bytes);
        *hasher.finalize().as_bytes()
    }

    /// What proves that an anchor was written by someone with the key.
    pub(crate) fn seal(&self, head: Head) -> Bytes32 {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"anchor");
        hasher.update(&head.seq.to_le_bytes());
        hasher.update(&head.mac);
        *hasher.finalize().as_bytes()
    }

    /// The same for how far the chain is known to be on the disk.
    pub(crate) fn seal_flushed(&self, head: Head) -> Bytes32 {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"flushed");
        hasher.update(&head.seq.to_le_bytes());
        hasher.update(&head.mac);
        *hasher.finalize().as_bytes()
    }

    /// What proves that somebody with the key let the chain begin after a record.
    pub(crate) fn seal_start(&self, start: Head) -> Bytes32 {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"start");
        hasher.update(&start.seq.to_le_bytes());
        hasher.update(&start.mac);
        *hasher.finalize().as_bytes()
    }

    /// Whether a seal of a beginning is good.
    pub(crate) fn is_start(&self, start: Head, seal: Bytes32) -> bool {
        // `Hash` compares in constant time.
        blake3::Hash::from_bytes(self.seal_start(start)) == blake3::Hash::from_bytes(seal)
    }

    /// The anchor, if its seals are good. Without the second all that was written is on the disk.
    pub(crate) fn open_seals(
        &self,
        (written, seal): (Head, Bytes32),
        flushed: Option<(Head, Bytes32)>,
    ) -> Anchor {
        // `Hash` compares in constant time.
        let same = |one: Bytes32, other: Bytes32| {
            blake3::Hash::from_bytes(one) == blake3::Hash::from_bytes(other)
        };
        let is_good = same(self.seal(written), seal)
            && flushed.is_none_or(|(head, seal)| same(self.seal_flushed(head), seal));
        if is_good {
            let flushed = flushed.map_or(written, |(head, _)| head);
            Anchor::At(Anchored { written, flushed })
        } else {
            Anchor::Bad("the anchor of its head was changed")
        }
    }
}

/// What a record says of a tail that was lost: up to which record it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LostTail {
    /// Where the chain had ended.
    pub(crate) anchored: Head,
    /// How many records are gone.
    pub(crate) records: u64,
}

impl LostTail {
    /// The record that says so.
    pub(crate) fn entry(self, at: Timestamp) -> AuditEntry {
        let mac = blake3::Hash::from_bytes(self.anchored.mac).to_hex();
        AuditEntry {
            at,
            actor: Actor::Daemon,
            about: About::Agent,
            kind: TAIL_LOST.into(),
            generation: 0,
            content: format!(
                r#"{{"lost":{},"anchored":{},"mac":"{mac}"}}"#,
                self.records, self.anchored.seq
            ),
        }
    }

    /// What a record of that kind says.
    pub(crate) fn read(content: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(content).ok()?;
        let field = |name: &str| {
            let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
            let end = rest.find([',', '}'])?;
            Some(rest[..end].trim_matches('"'))
        };
        let mac = *blake3::Hash::from_hex(field("mac")?).ok()?.as_bytes();
        let anchored = Head { seq: field("anchored")?.parse().ok()?, mac };
        Some(Self { anchored, records: field("lost")?.parse().ok()? })
    }
}

/// Where a chain ends, as it was noted elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Anchored {
    /// The last record that was written.
    pub(crate) written: Head,
    /// The last record that is known to be on the disk, at or before that one.
    pub(crate) flushed: Head,
}

/// How a chain stands to its anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// It holds the record that was anchored.
    Whole,
    /// It holds all that was on the disk, and ends before the record that was anchored: the power
    /// went before that was flushed.
    Lost(LostTail),
    /// It is not the chain that was anchored.
    Broken,
}

/// What is known, outside a chain's own file, of where the chain ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Nothing, rightly: the chain is too young.
    None,
    /// It had these records.
    At(Anchored),
    /// What is known can't be trusted, for this reason.
    Bad(&'static str),
}

/// A check of a chain, record by record.
pub(crate) struct Walk<'a> {
    chain: &'a Chain,
    anchor: Anchor,
    /// The last record that was dropped.
    start: Head,
    head: Head,
    erased: u64,
    /// How many records the chain says it lost.
    lost: u64,
    /// Whether it says so of the tail that was anchored.
    is_excused: bool,
}

impl<'a> Walk<'a> {
    /// Begins after the last record that was dropped, or at the start.
    pub(crate) fn new(chain: &'a Chain, anchor: Anchor, start: Head) -> Self {
        Self { chain, anchor, start, head: start, erased: 0, lost: 0, is_excused: false }
    }

    /// Takes the next record, in order of position. `record` is `None` where what is stored
    /// does not even have the form of one.
    pub(crate) fn step(&mut self, seq: u64, record: Option<Stored>) -> Result<(), AuditReport> {
        let expected = self.head.seq + 1;
        if seq > expected {
            return Err(self.broken(format!("record {expected} is missing")));
        }
        let Some(record) = record.filter(|_| seq == expected) else {
            return Err(self.broken(format!("record {expected} is unreadable")));
        };
        if let Some((content, salt)) = &record.content
            && commitment(salt, content) != record.commitment
        {
            return Err(self.broken(format!("the content of record {seq} was changed")));
        }
        if record.prev != self.head.mac || record.mac != self.chain.link(seq, &record) {
            return Err(self.broken(format!("record {seq} was changed, moved or put in")));
        }
        let head = Head { seq, mac: record.mac };
        let said = record.content.as_ref().filter(|_| record.kind == TAIL_LOST.as_bytes());
        let said = said.and_then(|(content, _)| LostTail::read(content));
        self.lost += said.map_or(0, |said| said.records);
        if let Anchor::At(Anchored { written, flushed }) = self.anchor {
            // Only what was never on the disk can be lost so.
            self.is_excused |= seq > flushed.seq && said.is_some_and(|it| it.anchored == written);
            let differs = |anchor: Head| anchor.seq == seq && anchor != head;
            if differs(flushed) || (differs(written) && !self.is_excused) {
                return Err(self.broken(format!("record {seq} is not the one that was anchored")));
            }
        }
        self.erased += u64::from(record.content.is_none());
        self.head = head;
        Ok(())
    }

    /// Ends the check: the report, and the head if all is well.
    pub(crate) fn finish(self) -> (AuditReport, Option<Head>) {
        match self.anchor {
            Anchor::Bad(why) => (self.broken(why.to_owned()), None),
            Anchor::At(Anchored { written, flushed }) if flushed.seq > self.head.seq => {
                let why = format!(
                    "the end is cut off: the anchored head is record {}, the last one here is {}",
                    written.seq.max(flushed.seq),
                    self.head.seq
                );
                (self.broken(why), None)
            }
            Anchor::At(Anchored { written, .. })
                if written.seq > self.head.seq && !self.is_excused =>
            {
                // Not said in the chain yet: the anchor stays until it is.
                let lost = written.seq - self.head.seq;
                let why = format!(
                    "lost tail after unclean stop: {lost} records were never on the disk; the chain says so with its next record"
                );
                let report = self.whole();
                (AuditReport { lost: self.lost + lost, reason: Some(why), ..report }, None)
            }
            _ => (self.whole(), Some(self.head)),
        }
    }

    fn whole(&self) -> AuditReport {
        let lost = self.lost;
        let reason = (lost > 0).then(|| {
            format!("{lost} records were lost by unclean stops; `{TAIL_LOST}` says where")
        });
        let dropped = self.start.seq;
        let (records, erased) = (self.head.seq - dropped, self.erased);
        AuditReport { ok: true, records, erased, broken_at: None, reason, lost, dropped }
    }

    /// The report that the chain breaks after the head reached so far.
    pub(crate) fn broken(&self, reason: String) -> AuditReport {
        AuditReport {
            ok: false,
            records: self.head.seq - self.start.seq,
            erased: self.erased,
            broken_at: Some(self.head.seq + 1),
            reason: Some(reason),
            lost: self.lost,
            dropped: self.start.seq,
        }
    }
}
