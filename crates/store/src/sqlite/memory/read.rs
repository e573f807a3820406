//! Reading memory: one list, and all fragments by id.

use super::buried;
use super::chain::unpack;
use crate::id::SessionId;
use crate::memory::{
    Fragment, FragmentId, Frozen, ListName, MEMORY_PAGE_MAX, MemoryList, MemoryPage, Mirror,
};
use crate::sqlite::scopes;
use crate::sqlite::sql::bad_value;
use insula_domain::ScopeName;
use rusqlite::{Connection, OptionalExtension as _, Row};

const SELECT: &str = "SELECT fragment.id, scope.name, fragment.target, fragment.blocked, \
    fragment.text, provenance.label, provenance.approved_by IS NOT NULL FROM fragment JOIN scope ON scope.id = fragment.scope \
    LEFT JOIN provenance ON provenance.seq = fragment.id";

fn fragment(row: &Row<'_>) -> rusqlite::Result<Fragment> {
    Ok(Fragment {
        id: FragmentId(row.get(0)?),
        scope: scopes::read(row, 1)?,
        target: MemoryList::from_code(row.get(2)?).ok_or_else(|| bad_value(2))?,
        blocked: row.get::<_, Option<String>>(3)?.map(Into::into),
        text: row.get(4)?,
        label: row.get::<_, Option<String>>(5)?.map(Into::into),
        is_approved: row.get(6)?,
    })
}

/// One list and its mirror's marks.
pub(crate) fn page(
    sql: &Connection,
    scope: &ScopeName,
    target: MemoryList,
) -> rusqlite::Result<MemoryPage> {
    let Some(number) = scopes::find(sql, scope.as_str())? else { return Ok(MemoryPage::default()) };
    let fragments = sql
        .prepare_cached(
            "SELECT id, blocked, text, label, approved_by IS NOT NULL FROM fragment
             LEFT JOIN provenance ON provenance.seq = fragment.id
             WHERE fragment.scope = ?1 AND fragment.target = ?2 ORDER BY place, id",
        )?
        .query_map((number, target.code()), |row| {
            Ok(Fragment {
                id: FragmentId(row.get(0)?),
                scope: scope.clone(),
                target,
                blocked: row.get::<_, Option<String>>(1)?.map(Into::into),
                text: row.get(2)?,
                label: row.get::<_, Option<String>>(3)?.map(Into::into),
                is_approved: row.get(4)?,
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
    let erasure_due = buried::is_due(sql, number, target)?;
    Ok(MemoryPage { fragments, mirror, erasure_due })
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
             provenance.label, provenance.approved_by IS NOT NULL
         FROM provenance JOIN scope ON scope.name = provenance.scope
         JOIN fragment ON fragment.scope = scope.id AND fragment.target = provenance.target
             AND fragment.id = provenance.seq
         WHERE provenance.seq = ?1",
    )?
    .query_row([id.0], fragment)
    .optional()
}

/// Whether anything was ever remembered in a scope.
pub(crate) fn knows(sql: &Connection, scope: &str) -> rusqlite::Result<bool> {
    sql.prepare("SELECT 1 FROM provenance WHERE scope = ?1 LIMIT 1")?.exists([scope])
}

/// The days' lists that have something in them.
pub(crate) fn days(sql: &Connection) -> rusqlite::Result<Vec<ListName>> {
    sql.prepare_cached(
        "SELECT DISTINCT scope.name, fragment.target FROM fragment
         JOIN scope ON scope.id = fragment.scope WHERE fragment.target >= ?1
         ORDER BY scope.name, fragment.target",
    )?
    .query_map([MemoryList::FIRST_DAY], |row| {
        Ok((scopes::read(row, 0)?, MemoryList::from_code(row.get(1)?).ok_or_else(|| bad_value(1))?))
    })?
    .collect()
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
