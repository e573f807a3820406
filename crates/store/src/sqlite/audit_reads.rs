//! Reading audit records: some of a chain, and those of one scope as their tenant may have them.

use super::audit::COLUMNS;
use super::sql::{actor, bad_value};
use crate::audit::{
    AUDIT_PAGE_MAX, AuditFilter, AuditPart, AuditRecord, KindFilter, ScopeFilter, Seq,
};
use crate::chain::{Bytes32, Chain};
use crate::proof::{ScopeRecord, Words};
use crate::scope_chain::Fields;
use insula_domain::AuditScope;
use insula_world::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

/// The conditions of a question, and what is bound in them.
#[derive(Default)]
struct Conditions {
    clauses: Vec<&'static str>,
    values: Vec<Value>,
}

impl Conditions {
    fn add<const N: usize>(&mut self, clause: &'static str, values: [Value; N]) {
        self.clauses.push(clause);
        self.values.extend(values);
    }

    /// Those of a filter. What has an index is compared as it is; a plus keeps the index of what
    /// would match too much from being chosen.
    fn of(filter: &AuditFilter) -> Self {
        let mut all = Self::default();
        let AuditFilter { scope, kind, actor, session, since, until } = filter;
        if let ScopeFilter::Only(scope) = scope {
            all.add("scope = ?", [scope.to_string().into()]);
        }
        if let Some(session) = session {
            all.add("session = ?", [session.to_string().into()]);
        }
        if let Some(actor) = actor {
            all.add("actor = ?", [actor.to_string().into()]);
        }
        match kind {
            KindFilter::Any => {}
            KindFilter::Exactly(kind) => all.add("kind = ?", [kind.to_string().into()]),
            KindFilter::Below(start) => {
                // The sign after the dot that it ends with: all that begin so are before that.
                let end = format!("{}/", start.trim_end_matches('.'));
                all.add("+kind >= ? AND +kind < ?", [start.to_string().into(), end.into()]);
            }
        }
        if let Some(since) = since {
            let at: Value = since.as_millis().into();
            // Records that waited for their agent stand after newer ones, so the time of each is
            // looked at; where to begin is found by the index.
            all.add(
                "+at >= ? AND seq >= (SELECT min(seq) FROM audit WHERE at >= ?)",
                [at.clone(), at],
            );
        }
        if let Some(until) = until {
            all.add("+at < ?", [until.as_millis().into()]);
        }
        all
    }
}

/// The records that are meant, oldest first.
pub(crate) fn read(
    sql: &Connection,
    filter: &AuditFilter,
    part: AuditPart,
    limit: usize,
) -> rusqlite::Result<Vec<AuditRecord>> {
    let mut conditions = Conditions::of(filter);
    let bound = |seq: u64| Value::from(i64::try_from(seq).unwrap_or(i64::MAX));
    let order = match part {
        AuditPart::Newest => "seq DESC",
        AuditPart::After(Seq(after)) => {
            conditions.add("seq > ?", [bound(after)]);
            "seq"
        }
        AuditPart::Before(Seq(before)) => {
            conditions.add("seq < ?", [bound(before)]);
            "seq DESC"
        }
        AuditPart::AfterInScope(after) => {
            conditions.add("scope_seq > ?", [bound(after)]);
            "scope_seq"
        }
        AuditPart::BeforeInScope(before) => {
            conditions.add("scope_seq < ?", [bound(before)]);
            "scope_seq DESC"
        }
    };
    let clauses = match conditions.clauses.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.clauses.join(" AND ")),
    };
    conditions.values.push(page(limit).into());
    let question = format!("SELECT {COLUMNS} FROM audit{clauses} ORDER BY {order} LIMIT ?");
    let mut records: Vec<AuditRecord> = sql
        .prepare_cached(&question)?
        .query_map(params_from_iter(conditions.values), record)?
        .collect::<rusqlite::Result<_>>()?;
    if order.ends_with("DESC") {
        records.reverse();
    }
    Ok(records)
}

fn page(limit: usize) -> i64 {
    i64::try_from(limit.min(AUDIT_PAGE_MAX)).unwrap_or(i64::MAX)
}

fn record(row: &Row<'_>) -> rusqlite::Result<AuditRecord> {
    Ok(AuditRecord {
        seq: Seq(row.get::<_, i64>(0)?.cast_unsigned()),
        at: Timestamp::from_millis(row.get(1)?),
        actor: actor(row, 2)?,
        kind: row.get(3)?,
        generation: row.get::<_, i64>(4)?.cast_unsigned(),
        content: row.get(5)?,
        commitment: row.get(7)?,
        prev: row.get(8)?,
        mac: row.get(9)?,
        scope: scope(row, 11)?,
        session: row.get(12)?,
        scope_seq: row.get::<_, Option<i64>>(13)?.map(i64::cast_unsigned),
    })
}

fn scope(row: &Row<'_>, column: usize) -> rusqlite::Result<AuditScope> {
    let text = row.get_ref(column)?.as_str().map_err(|_| bad_value(column))?;
    text.parse().map_err(|_| bad_value(column))
}

/// Records of one scope after a place, oldest first, as their tenant may have them.
pub(crate) fn of_scope(
    sql: &Connection,
    chain: &Chain,
    scope: &AuditScope,
    after: u64,
    limit: usize,
) -> rusqlite::Result<Vec<ScopeRecord>> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM audit WHERE scope = ?1 AND scope_seq > ?2
         ORDER BY scope_seq LIMIT ?3"
    ))?
    .query_map((scope.as_str(), after, page(limit)), |row| scope_record(chain, row))?
    .collect()
}

fn scope_record(chain: &Chain, row: &Row<'_>) -> rusqlite::Result<ScopeRecord> {
    let record = record(row)?;
    let salt: Option<Bytes32> = row.get(6)?;
    let told: Bytes32 = row.get(14)?;
    let words = match (&record.content, &salt) {
        (Some(content), Some(salt)) => {
            let words = chain.told(content, salt);
            // What would not verify is not handed out as if it did.
            if words.commitment() != told {
                return Err(bad_value(14));
            }
            Some(Words { text: words.text, salt: words.salt })
        }
        _ => None,
    };
    let body = Fields {
        at: record.at.as_millis(),
        actor: record.actor.as_str().as_bytes(),
        kind: record.kind.as_bytes(),
        session: record.session.as_deref().map(str::as_bytes),
        generation: record.generation,
        told,
    };
    Ok(ScopeRecord {
        seq: record.scope_seq.unwrap_or_default(),
        body: body.body(),
        commitment: told,
        words,
        link: row.get(15)?,
        record,
    })
}
