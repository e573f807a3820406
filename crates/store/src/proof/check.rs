//! Checks a proof, line by line, with nothing but what stands in it: that the records are as they
//! were written, in order, none missing between the first and the last, and that the holder of a
//! key says where they end.

use super::text::{Line, ShownRecord, read};
use super::{Signature, Statement};
use crate::digest::{Bytes32, commitment};
use crate::scope_chain::{self, Fields};
use insula_world::Timestamp;

/// Why a text is no proof, or proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// a line is not one of a proof
    #[error("line {line} is not as it was written")]
    Line {
        /// Which, from 1.
        line: u64,
    },
    /// the first line is none
    #[error(
        "it does not begin as an audit export does; make one by `insula audit export AGENT --scope SCOPE --out FILE`"
    )]
    NoBeginning,
    /// the last line is missing
    #[error("it is cut off: the last line, which is signed, is missing")]
    NoEnd,
    /// something stands where nothing should
    #[error("line {line} stands where no such line can be")]
    Misplaced {
        /// Which, from 1.
        line: u64,
    },
    /// a record is missing
    #[error("record {expected} is missing: record {found} stands in its place")]
    Missing {
        /// Which should stand there.
        expected: u64,
        /// Which does.
        found: u64,
    },
    /// the words of a record are others
    #[error("the content of record {seq} was changed")]
    Content {
        /// Which.
        seq: u64,
    },
    /// a record is not what its link says
    #[error("record {seq} was changed, moved or put in, or one before it was")]
    Record {
        /// Which.
        seq: u64,
    },
    /// the records end elsewhere than is signed
    #[error(
        "the end is not the one that was signed: the last record here is {found}, not {signed}"
    )]
    End {
        /// Where they end.
        found: u64,
        /// Where they should.
        signed: u64,
    },
    /// the signature is nobody's
    #[error("the signature is not by the key that it names")]
    Signature,
    /// somebody else signed
    #[error("it was signed by another key than the one that was asked for: {found}")]
    Key {
        /// By which.
        found: Box<str>,
    },
    /// an earlier export does not lead here
    #[error("it does not go on from the earlier export, which ended with record {last}: {why}")]
    Earlier {
        /// Where the earlier one ended.
        last: u64,
        /// Why not.
        why: &'static str,
    },
}

/// What a good proof proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// What was signed.
    pub statement: Statement,
    /// By which key.
    pub key: Bytes32,
    /// Records that are shown.
    pub records: u64,
    /// How many of those had their content erased.
    pub erased: u64,
    /// Records of the same scope that are not shown.
    pub left_out: u64,
}

impl Verified {
    /// What a later export has to go on from.
    pub fn end(&self) -> Earlier {
        Earlier {
            agent: self.statement.agent.clone(),
            scope: self.statement.scope.clone(),
            last: self.statement.last,
            head: self.statement.head,
            key: self.key,
        }
    }
}

/// The end of an export that somebody kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    agent: Box<str>,
    scope: Box<str>,
    last: u64,
    head: Bytes32,
    key: Bytes32,
}

/// A check under way.
#[derive(Default)]
pub struct Checker {
    lines: u64,
    begun: Option<Begun>,
    ended: Option<Ended>,
    /// What it has to go on from.
    earlier: Option<Earlier>,
    /// Whether it was seen to.
    is_continued: bool,
}

struct Begun {
    agent: Box<str>,
    scope: Box<str>,
    first: u64,
    before: Bytes32,
    last: u64,
    link: Bytes32,
    records: u64,
    erased: u64,
    left_out: u64,
}

struct Ended {
    last: u64,
    head: Bytes32,
    at: Timestamp,
    key: Bytes32,
    signature: Box<Signature>,
}

impl Checker {
    /// A check that wants it to go on from an earlier export too.
    pub fn after(earlier: Earlier) -> Self {
        Self { earlier: Some(earlier), ..Self::default() }
    }

    /// Takes the next line, without its end.
    pub fn line(&mut self, text: &str) -> Result<(), ProofError> {
        self.lines += 1;
        let line = self.lines;
        let Some(read) = read(text) else {
            return Err(if line == 1 {
                ProofError::NoBeginning
            } else {
                ProofError::Line { line }
            });
        };
        if self.ended.is_some() {
            return Err(ProofError::Misplaced { line });
        }
        match (read, &mut self.begun) {
            (Line::Begin { agent, scope, first, before }, None) => {
                let is_start = before == Statement::start(&agent, &scope);
                let Some(last) = first.checked_sub(1).filter(|last| (*last == 0) == is_start)
                else {
                    return Err(ProofError::Line { line });
                };
                let (records, erased, left_out, link) = (0, 0, 0, before);
                self.begun = Some(Begun {
                    agent,
                    scope,
                    first,
                    before,
                    last,
                    link,
                    records,
                    erased,
                    left_out,
                });
                self.compare()
            }
            (_, None) => Err(ProofError::NoBeginning),
            (Line::Begin { .. }, Some(_)) => Err(ProofError::Misplaced { line }),
            (Line::Record(record), Some(begun)) => {
                begun.take(record.seq, &body(&record)?, &record.link)?;
                begun.records += 1;
                begun.erased += u64::from(record.words.is_none());
                self.compare()
            }
            (Line::LeftOut { seq, body, link }, Some(begun)) => {
                begun.take(seq, &body, &link)?;
                begun.left_out += 1;
                self.compare()
            }
            (Line::End { last, head, at, key, signature }, Some(_)) => {
                self.ended = Some(Ended { last, head, at, key, signature });
                Ok(())
            }
        }
    }

    /// Where the earlier export ended, this one must have the same record.
    fn compare(&mut self) -> Result<(), ProofError> {
        let (Some(earlier), Some(begun)) = (&self.earlier, &self.begun) else { return Ok(()) };
        let failed = |why| Err(ProofError::Earlier { last: earlier.last, why });
        if earlier.agent != begun.agent || earlier.scope != begun.scope {
            return failed("that is another agent's or another scope's");
        }
        if begun.last == earlier.last {
            if begun.link != earlier.head {
                return failed("the record there is another one");
            }
            self.is_continued = true;
        }
        Ok(())
    }

    /// Ends the check: by the key that is asked for, where one is.
    pub fn finish(self, key: Option<&Bytes32>) -> Result<Verified, ProofError> {
        let Some(begun) = self.begun else { return Err(ProofError::NoBeginning) };
        let Some(ended) = self.ended else { return Err(ProofError::NoEnd) };
        if (ended.last, ended.head) != (begun.last, begun.link) {
            return Err(ProofError::End { found: begun.last, signed: ended.last });
        }
        let Begun { records, erased, left_out, .. } = begun;
        let Begun { agent, scope, first, before, last, link: head, .. } = begun;
        let statement = Statement { agent, scope, first, before, last, head, at: ended.at };
        if !statement.is_signed(&ended.key, &ended.signature) {
            return Err(ProofError::Signature);
        }
        let wanted = key.or(self.earlier.as_ref().map(|earlier| &earlier.key));
        if wanted.is_some_and(|wanted| *wanted != ended.key) {
            let found = blake3::Hash::from_bytes(ended.key).to_hex().as_str().into();
            return Err(ProofError::Key { found });
        }
        if let Some(earlier) = self.earlier.filter(|_| !self.is_continued) {
            let why = match statement.last < earlier.last {
                true => "this one ends before that",
                false => "this one begins after that",
            };
            return Err(ProofError::Earlier { last: earlier.last, why });
        }
        Ok(Verified { statement, key: ended.key, records, erased, left_out })
    }
}

impl Begun {
    /// The next record is this one.
    fn take(&mut self, seq: u64, body: &Bytes32, link: &Bytes32) -> Result<(), ProofError> {
        let expected = self.last.saturating_add(1);
        if seq != expected {
            return Err(ProofError::Missing { expected, found: seq });
        }
        let made = scope_chain::link(&self.link, seq, body);
        if made != *link {
            return Err(ProofError::Record { seq });
        }
        (self.last, self.link) = (seq, made);
        Ok(())
    }
}

/// The body of a record whose words are those that were committed to.
fn body(record: &ShownRecord) -> Result<Bytes32, ProofError> {
    if let Some(words) = &record.words
        && commitment(&words.salt, words.text.as_bytes()) != record.commitment
    {
        return Err(ProofError::Content { seq: record.seq });
    }
    let fields = Fields {
        at: record.at.as_millis(),
        actor: record.actor.as_bytes(),
        kind: record.kind.as_bytes(),
        session: record.session.as_deref().map(str::as_bytes),
        generation: record.generation,
        told: record.commitment,
    };
    Ok(fields.body())
}
