//! Reading memory: one list, all fragments by id, what forgetting would take away.

use super::chain::unpack;
use crate::memory::{
    Forget, Fragment, FragmentId, Frozen, MEMORY_PAGE_MAX, MemoryPage, Mirror, Target,
};
use crate::session::SessionId;
use crate::sqlite::scopes;
use crate::sqlite::sql::bad_value;
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::collections::BTreeSet;
use std::sync::Arc;

const SELECT: &str = "SELECT fragment.id, scope.name, fragment.target, fragment.blocked, \
    fragment.text, provenance.label FROM fragment JOIN scope ON scope.id = fragment.scope \
    LEFT JOIN provenance ON provenance.seq = fragment.id";

fn fragment(row: &Row<'_>) -> rusqlite::Result<Fragment> {
    Ok(Fragment {
        id: FragmentId(row.get(0)?),
        scope: row.get(1)?,
        target: Target::from_code(row.get(2)?).ok_or_else(|| bad_value(2))?,
        blocked: row.get::<_, Option<String>>(3)?.map(Into::into),
        text: row.get(4)?,
        label: row.get::<_, Option<String>>(5)?.map(Into::into),
    })
}

/// One list and its mirror's marks.
pub(crate) fn page(sql: &Connection, scope: &str, target: Target) -> rusqlite::Result<MemoryPage> {
    let Some(number) = scopes::find(sql, scope)? else { return Ok(MemoryPage::default()) };
    let name: Arc<str> = scope.into();
    let fragments = sql
        .prepare_cached(
            "SELECT id, blocked, text, label FROM fragment
             LEFT JOIN provenance ON provenance.seq = fragment.id
             WHERE fragment.scope = ?1 AND fragment.target = ?2 ORDER BY place, id",
        )?
        .query_map((number, target.code()), |row| {
            Ok(Fragment {
                id: FragmentId(row.get(0)?),
                scope: name.clone(),
                target,
                blocked: row.get::<_, Option<String>>(1)?.map(Into::into),
                text: row.get(2)?,
                label: row.get::<_, Option<String>>(3)?.map(Into::into),
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    let ids = |row: &Row<'_>, at: usize| -> rusqlite::Result<Vec<FragmentId>> {
        unpack(row.get_ref(at)?.as_blob()?).ok_or_else(|| bad_value(at))
    };
    let mirror = sql
        .prepare_cached(
            "SELECT digest, ids, old_digest, old_ids FROM mirror WHERE scope = ?1 AND target = ?2",
        )?
        .query_row((number, target.code()), |row| {
            Ok(Mirror { now: (row.get(0)?, ids(row, 1)?), before: (row.get(2)?, ids(row, 3)?) })
        })
        .optional()?;
    Ok(MemoryPage { fragments, mirror })
}

/// Fragments of every scope, by id.
pub(crate) fn after(
    sql: &Connection,
    after: FragmentId,
    limit: usize,
) -> rusqlite::Result<Vec<Fragment>> {
    let limit = i64::try_from(limit.min(MEMORY_PAGE_MAX)).unwrap_or(i64::MAX);
    sql.prepare(&format!("{SELECT} WHERE fragment.id > ?1 ORDER BY fragment.id LIMIT ?2"))?
        .query_map((after.0, limit), fragment)?
        .collect()
}

/// One fragment: its record says in which list it is.
pub(crate) fn one(sql: &Connection, id: FragmentId) -> rusqlite::Result<Option<Fragment>> {
    sql.prepare_cached(
        "SELECT fragment.id, scope.name, fragment.target, fragment.blocked, fragment.text,
             provenance.label
         FROM provenance JOIN scope ON scope.name = provenance.scope
         JOIN fragment ON fragment.scope = scope.id AND fragment.target = provenance.target
             AND fragment.id = provenance.seq
         WHERE provenance.seq = ?1",
    )?
    .query_row([id.0], fragment)
    .optional()
}

/// What forgetting would take away: what is meant, and what was made or shared from it.
pub(crate) fn affected(sql: &Connection, what: &Forget) -> rusqlite::Result<Vec<Fragment>> {
    let ids = |condition: &str, value: &dyn rusqlite::ToSql| -> rusqlite::Result<Vec<i64>> {
        sql.prepare(&format!("SELECT seq FROM provenance WHERE kind = 0 AND {condition}"))?
            .query_map([value], |row| row.get(0))?
            .collect()
    };
    let mut open = match what {
        Forget::Fragment(id) => ids("seq = ?1", &id.0)?,
        Forget::Session(session) => ids("session = ?1", &session.0)?,
        Forget::Principal(principal) => ids("principal = ?1", principal)?,
        Forget::Scope(scope) => ids("scope = ?1", scope)?,
    };
    let mut seen: BTreeSet<i64> = open.iter().copied().collect();
    while let Some(parent) = open.pop() {
        let children: Vec<i64> = sql
            .prepare_cached("SELECT child FROM lineage WHERE parent = ?1")?
            .query_map([parent], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        open.extend(children.into_iter().filter(|child| seen.insert(*child)));
    }
    let mut found = Vec::new();
    for id in seen {
        found.extend(one(sql, FragmentId(id))?);
    }
    Ok(found)
}

/// What a session was shown.
pub(crate) fn block(
    sql: &Connection,
    session: SessionId,
    chain: &str,
) -> rusqlite::Result<Option<Frozen>> {
    sql.prepare_cached("SELECT text, label FROM memory_block WHERE session = ?1 AND chain = ?2")?
        .query_row((session.0, chain), |row| {
            let label = row.get::<_, Option<String>>(1)?.map(Into::into);
            Ok(Frozen { text: row.get(0)?, label })
        })
        .optional()
}
