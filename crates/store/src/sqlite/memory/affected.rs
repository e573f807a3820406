//! What forgetting takes away: what is meant, what was made or shared from it, and what those
//! were made of where that is gone: its words may still be in a file.

use super::super::scopes;
use super::chain::unpack;
use super::read;
use crate::memory::{Affected, Forget, FragmentId, ListName, MemoryList};
use crate::sqlite::sql::bad_value;
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::BTreeSet;

/// What forgetting would take away.
pub(crate) fn affected(sql: &Connection, what: &Forget) -> rusqlite::Result<Affected> {
    let meant = meant(sql, what)?;
    let mut all: BTreeSet<i64> = meant.iter().copied().collect();
    let mut open = meant;
    while let Some(parent) = open.pop() {
        let children: Vec<i64> = sql
            .prepare_cached("SELECT child FROM lineage WHERE parent = ?1")?
            .query_map([parent], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        open.extend(children.into_iter().filter(|child| all.insert(*child)));
    }
    let mut open: Vec<i64> = all.iter().copied().collect();
    while let Some(child) = open.pop() {
        for FragmentId(parent) in parents(sql, child)? {
            // An original that is still there was not meant: a copy of it was.
            if !all.contains(&parent) && read::one(sql, FragmentId(parent))?.is_none() {
                all.insert(parent);
                open.push(parent);
            }
        }
    }
    let mut found = Affected::default();
    let mut lists: BTreeSet<ListName> = BTreeSet::new();
    for id in all {
        found.ids.push(FragmentId(id));
        found.fragments.extend(read::one(sql, FragmentId(id))?);
        lists.extend(list_of(sql, FragmentId(id))?);
    }
    found.lists = lists.into_iter().collect();
    Ok(found)
}

fn meant(sql: &Connection, what: &Forget) -> rusqlite::Result<Vec<i64>> {
    let ids = |condition: &str, value: &dyn rusqlite::ToSql| -> rusqlite::Result<Vec<i64>> {
        sql.prepare(&format!("SELECT seq FROM provenance WHERE kind = 0 AND {condition}"))?
            .query_map([value], |row| row.get(0))?
            .collect()
    };
    match what {
        Forget::Fragment(id) => ids("seq = ?1", &id.0),
        Forget::Session(session) => ids("session = ?1", &session.0),
        Forget::Principal(principal) => ids("principal = ?1", principal),
        Forget::Scope(scope) => ids("scope = ?1", &scope.as_str()),
    }
}

fn parents(sql: &Connection, id: i64) -> rusqlite::Result<Vec<FragmentId>> {
    sql.prepare_cached("SELECT parents FROM provenance WHERE seq = ?1")?
        .query_row([id], |row| unpack(row.get_ref(0)?.as_blob()?).ok_or_else(|| bad_value(0)))
        .optional()
        .map(Option::unwrap_or_default)
}

/// The list that a fragment is or was in.
pub(super) fn list_of(sql: &Connection, id: FragmentId) -> rusqlite::Result<Option<ListName>> {
    sql.prepare_cached("SELECT scope, target FROM provenance WHERE seq = ?1 AND kind = 0")?
        .query_row([id.0], |row| {
            Ok((
                scopes::read(row, 0)?,
                MemoryList::from_code(row.get(1)?).ok_or_else(|| bad_value(1))?,
            ))
        })
        .optional()
}
