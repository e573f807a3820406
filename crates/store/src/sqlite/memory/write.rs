//! What changes memory: setting a list, forgetting, marking a mirror, freezing a block.

use super::affected::list_of;
use super::chain::{self, AUDIT_KIND};
use super::{buried, find, read};
use crate::agent::CommandOutcome;
use crate::audit::{About, AuditEntry};
use crate::chain::Bytes32;
use crate::error::StoreError;
use crate::id::SessionId;
use crate::memory::{
    Fragment, FragmentId, Frozen, MemoryEntry, MemoryList, MemoryOrigin, MemorySource, NewFragment,
    Provenance, RecordKind, Remember,
};
use crate::sqlite::means::Means;
use crate::sqlite::sql::CommandFault;
use crate::sqlite::{audit, scopes, shown};
use insula_domain::ScopeName;
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// The list that something is written to.
struct List<'l> {
    sql: &'l Connection,
    means: &'l Means<'l>,
    scope: i64,
    name: &'l ScopeName,
    target: MemoryList,
    origin: &'l MemoryOrigin,
}

/// Sets the entries of a list.
pub(crate) fn remember(
    sql: &Connection,
    means: &Means<'_>,
    new: &Remember,
) -> Result<CommandOutcome, CommandFault> {
    let scope = scopes::intern(sql, new.scope.as_str())?;
    let list =
        List { sql, means, scope, name: &new.scope, target: new.target, origin: &new.origin };
    let places: Vec<(FragmentId, i64)> = places(sql, scope, new.target)?;
    let is_as_read = places.iter().map(|(id, _)| id).eq(new.expects.iter());
    let kept: BTreeSet<FragmentId> = new.entries.iter().filter_map(kept).collect();
    let keeps = new.entries.iter().filter_map(kept_ref).count();
    let known = places.iter().filter(|(id, _)| kept.contains(id)).count();
    if !is_as_read || known != keeps {
        return Err(StoreError::MemoryChanged.into());
    }
    if new.entries.iter().any(|entry| matches!(entry, MemoryEntry::New(_))) {
        buried::refuse(sql, &new.origin)?;
    }
    let mut head = chain::head(sql)?;
    let first = head.0;
    for (id, _) in places.iter().filter(|(id, _)| !kept.contains(id)) {
        list.note_removed(*id)?;
        list.take_out(&mut head, *id, RecordKind::Removed(*id))?;
    }
    let before: BTreeMap<FragmentId, i64> = places.into_iter().collect();
    let mut ids = Vec::with_capacity(new.entries.len());
    let mut last = -1;
    for entry in &new.entries {
        let id = match entry {
            MemoryEntry::Keep(id) => {
                let place = before.get(id).copied().unwrap_or_default();
                let moved = if place > last { place } else { last + 1 };
                if moved != place {
                    list.place(*id, moved)?;
                }
                last = moved;
                *id
            }
            MemoryEntry::New(fragment) => {
                last += 1;
                list.put_in(&mut head, fragment, last)?
            }
        };
        ids.push(id);
    }
    mark(sql, scope, new.target, &new.digest, &ids)?;
    if head.0 != first {
        anchor(sql, means, head, whose(sql, &new.scope, &new.origin)?, &new.origin)?;
    }
    Ok(CommandOutcome::Remembered(ids))
}

fn kept(entry: &MemoryEntry) -> Option<FragmentId> {
    kept_ref(entry).copied()
}

fn kept_ref(entry: &MemoryEntry) -> Option<&FragmentId> {
    match entry {
        MemoryEntry::Keep(id) => Some(id),
        MemoryEntry::New(_) => None,
    }
}

fn places(
    sql: &Connection,
    scope: i64,
    target: MemoryList,
) -> rusqlite::Result<Vec<(FragmentId, i64)>> {
    sql.prepare_cached(
        "SELECT id, place FROM fragment WHERE scope = ?1 AND target = ?2 ORDER BY place, id",
    )?
    .query_map((scope, target.code()), |row| Ok((FragmentId(row.get(0)?), row.get(1)?)))?
    .collect()
}

impl List<'_> {
    fn record(&self, kind: RecordKind, parents: Vec<FragmentId>, hash: Bytes32) -> Provenance {
        Provenance {
            seq: FragmentId::START,
            kind,
            scope: self.name.clone(),
            target: self.target,
            origin: self.origin.clone(),
            parents,
            commitment: hash,
            prev: [0; 32],
            mac: [0; 32],
        }
    }

    fn put_in(
        &self,
        head: &mut (i64, Bytes32),
        new: &NewFragment,
        place: i64,
    ) -> rusqlite::Result<FragmentId> {
        // The link before is part of the purpose: no salt is used twice.
        let before = blake3::Hash::from_bytes(head.1).to_hex();
        let purpose = ["memory", self.name.as_str(), &(head.0 + 1).to_string(), &before];
        let salt: Bytes32 = self.means.random.stream(&purpose).bytes();
        let hash = chain::commitment(&salt, &new.text, new.blocked.as_deref());
        let record = self.record(RecordKind::Learned, new.parents.clone(), hash);
        chain::append(self.sql, self.means.chain, head, record)?;
        let id = head.0;
        self.sql
            .prepare_cached("INSERT INTO fragment VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
            .execute((
                self.scope,
                self.target.code(),
                id,
                place,
                salt,
                new.blocked.as_deref(),
                &new.text,
            ))?;
        for parent in &new.parents {
            self.sql
                .prepare_cached("INSERT OR IGNORE INTO lineage VALUES (?1, ?2)")?
                .execute((parent.0, id))?;
        }
        if self.origin.source != MemorySource::ExternalEdit {
            let tag = buried::tag(self.means.chain, self.name.as_str(), self.target, &new.text);
            buried::unbury_text(self.sql, self.scope, self.target, &tag)?;
        }
        if new.blocked.is_none() {
            find::add(self.sql, self.scope, id, &new.text)?;
        }
        Ok(FragmentId(id))
    }

    /// Notes what the words of a fragment are known by, before it is taken out.
    fn note_removed(&self, id: FragmentId) -> rusqlite::Result<()> {
        let Some(fragment) = read::one(self.sql, id)? else { return Ok(()) };
        let tag = buried::tag(self.means.chain, self.name.as_str(), self.target, &fragment.text);
        buried::note_removed(self.sql, id, &tag)
    }

    fn take_out(
        &self,
        head: &mut (i64, Bytes32),
        id: FragmentId,
        kind: RecordKind,
    ) -> rusqlite::Result<()> {
        find::remove(self.sql, self.scope, id)?;
        self.sql
            .prepare_cached("DELETE FROM fragment WHERE scope = ?1 AND target = ?2 AND id = ?3")?
            .execute((self.scope, self.target.code(), id.0))?;
        chain::append(self.sql, self.means.chain, head, self.record(kind, Vec::new(), [0; 32]))
    }

    fn place(&self, id: FragmentId, place: i64) -> rusqlite::Result<()> {
        self.sql
            .prepare_cached(
                "UPDATE fragment SET place = ?4 WHERE scope = ?1 AND target = ?2 AND id = ?3",
            )?
            .execute((self.scope, self.target.code(), id.0, place))
            .map(drop)
    }
}

/// Whose matter a change of a scope's memory is: of the conversation it was made in, where that
/// is of the same scope. Another scope's records name no conversation of this one.
fn whose(sql: &Connection, scope: &ScopeName, origin: &MemoryOrigin) -> rusqlite::Result<About> {
    let Some(session) = origin.session else { return Ok(About::Scope(scope.clone())) };
    let is_its = sql
        .prepare_cached(
            "SELECT 1 FROM session JOIN scope ON scope.id = session.scope
             WHERE session.id = ?1 AND scope.name = ?2",
        )?
        .exists((session.0, scope.as_str()))?;
    Ok(if is_its { About::Session(session) } else { About::Scope(scope.clone()) })
}

/// Says on the audit trail where the chain ends now.
fn anchor(
    sql: &Connection,
    means: &Means<'_>,
    head: (i64, Bytes32),
    about: About,
    origin: &MemoryOrigin,
) -> rusqlite::Result<()> {
    let entry = AuditEntry {
        at: origin.at,
        actor: origin.principal.clone(),
        about,
        kind: AUDIT_KIND.into(),
        generation: origin.generation,
        content: chain::anchor_text(head),
    };
    audit::append(sql, means.chain, means.random, entry).map(drop)
}

/// Removes fragments for good, and buries the messages they were learned from. Blocks that
/// show them go too. Answers those that were there.
pub(crate) fn forget(
    sql: &Connection,
    means: &Means<'_>,
    ids: &[FragmentId],
    origin: &MemoryOrigin,
) -> Result<CommandOutcome, CommandFault> {
    let mut head = chain::head(sql)?;
    let mut forgotten: Vec<Fragment> = Vec::new();
    for id in ids {
        let Some((name, target)) = list_of(sql, *id)? else { continue };
        let scope = scopes::intern(sql, name.as_str())?;
        buried::bury_message(sql, *id)?;
        buried::erasure_due(sql, scope, target)?;
        thaw_all(sql, name.as_str())?;
        let Some(fragment) = read::one(sql, *id)? else {
            buried::bury_removed(sql, scope, target, *id)?;
            continue;
        };
        let list = List { sql, means, scope, name: &name, target, origin };
        list.take_out(&mut head, *id, RecordKind::Forgotten(*id))?;
        let tag = buried::tag(means.chain, name.as_str(), target, &fragment.text);
        buried::bury_text(sql, scope, target, &tag)?;
        forgotten.push(fragment);
    }
    if let Some(first) = forgotten.first() {
        // What was taken out of several scopes at once is none's alone.
        let about = match forgotten.iter().all(|it| it.scope == first.scope) {
            true => whose(sql, &first.scope, origin)?,
            false => About::Agent,
        };
        anchor(sql, means, head, about, origin)?;
    }
    Ok(CommandOutcome::Forgotten(forgotten))
}

/// Drops what every session is shown that reads a scope: what was shown may be what is
/// forgotten, in words that were changed on the way.
fn thaw_all(sql: &Connection, scope: &str) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM memory_block WHERE instr(' ' || chain || ' ', ?1) > 0")?
        .execute([format!(" {scope} ")])?;
    shown::forget_memory(sql, scope)
}

/// Notes that nothing forgotten is left in a list's files.
pub(crate) fn mirror_erased(
    sql: &Connection,
    scope: &str,
    target: MemoryList,
) -> rusqlite::Result<()> {
    buried::erased(sql, scope, target)
}

/// Notes what a mirror is made of.
fn mark(
    sql: &Connection,
    scope: i64,
    target: MemoryList,
    digest: &Bytes32,
    ids: &[FragmentId],
) -> rusqlite::Result<()> {
    sql.prepare_cached(
        "INSERT INTO mirror VALUES (?1, ?2, ?3, ?4, zeroblob(32), zeroblob(0))
         ON CONFLICT DO UPDATE SET old_digest = digest, old_ids = ids,
             digest = excluded.digest, ids = excluded.ids",
    )?
    .execute((scope, target.code(), digest, chain::pack(ids)))
    .map(drop)
}

/// Keeps what a session is shown, in place of what it was shown before.
pub(crate) fn freeze(
    sql: &Connection,
    session: SessionId,
    chain: &str,
    Frozen { text, label }: &Frozen,
) -> rusqlite::Result<()> {
    sql.prepare_cached("INSERT OR REPLACE INTO memory_block VALUES (?1, ?2, ?3, ?4)")?
        .execute((session.0, chain, text, label))
        .map(drop)
}

/// Drops what a session is shown.
pub(crate) fn thaw(sql: &Connection, session: SessionId) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM memory_block WHERE session = ?1")?
        .execute([session.0])
        .map(drop)
}
