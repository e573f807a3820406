//! Jobs and their runs, in SQLite.

use super::sql::actor;
use crate::id::TurnId;
use crate::job::{JOB_ROWS_MAX, JOB_RUNS_KEPT, JobCommand, JobRow, JobRun, JobState};
use insula_world::Timestamp;
use rusqlite::{Connection, Row};

const RUN: &str = "job, scheduled_at, began_at, ended_at, turn, outcome, why";

/// Does what a command says.
pub(crate) fn apply(sql: &Connection, command: &JobCommand) -> rusqlite::Result<()> {
    match command {
        JobCommand::Put(row) => {
            sql.prepare_cached(
                "INSERT OR REPLACE INTO job VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .execute((
                &row.name,
                &row.spec,
                row.owner.as_str(),
                &row.place,
                row.state as i64,
                &row.why,
                row.handled_at.as_millis(),
                row.runs,
                row.failures,
                row.retry_at.map(Timestamp::as_millis),
                row.made_at.as_millis(),
            ))?;
        }
        JobCommand::Remove { name } => {
            sql.prepare_cached("DELETE FROM job WHERE name = ?1")?.execute([name])?;
        }
        JobCommand::Begin(run) => begin(sql, run)?,
        JobCommand::Turn { job, scheduled_at, began_at, turn } => {
            sql.prepare_cached(
                "UPDATE job_run SET began_at = ?3, turn = ?4 WHERE job = ?1 AND scheduled_at = ?2",
            )?
            .execute((job, scheduled_at.as_millis(), began_at.as_millis(), turn.0))?;
        }
        JobCommand::Mark { job, scheduled_at, began_at, outcome } => {
            sql.prepare_cached(
                "UPDATE job_run SET began_at = ?3, outcome = ?4
                 WHERE job = ?1 AND scheduled_at = ?2 AND ended_at IS NULL",
            )?
            .execute((
                job,
                scheduled_at.as_millis(),
                began_at.as_millis(),
                outcome,
            ))?;
        }
        JobCommand::End { job, scheduled_at, began_at, outcome, why, at } => {
            let moments = [scheduled_at, began_at, at].map(|it| it.as_millis());
            sql.prepare_cached(
                "UPDATE job_run SET began_at = ?3, ended_at = ?4, outcome = ?5, why = ?6
                 WHERE job = ?1 AND scheduled_at = ?2 AND ended_at IS NULL",
            )?
            .execute((job, moments[0], moments[1], moments[2], outcome, why))?;
        }
    }
    Ok(())
}

fn begin(sql: &Connection, run: &JobRun) -> rusqlite::Result<()> {
    sql.prepare_cached(
        "INSERT OR IGNORE INTO job_run (job, scheduled_at, began_at, ended_at, turn, outcome, why)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute((
        &run.job,
        run.scheduled_at.as_millis(),
        run.began_at.as_millis(),
        run.ended_at.map(Timestamp::as_millis),
        run.turn.map(|turn| turn.0),
        &run.outcome,
        &run.why,
    ))?;
    sql.prepare_cached(
        "DELETE FROM job_run WHERE job = ?1 AND ended_at IS NOT NULL AND id <=
         (SELECT id FROM job_run WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
    )?
    .execute((&run.job, JOB_RUNS_KEPT))
    .map(drop)
}

/// Every job, by name.
pub(crate) fn all(sql: &Connection) -> rusqlite::Result<Vec<JobRow>> {
    let text = format!("SELECT * FROM job ORDER BY name LIMIT {JOB_ROWS_MAX}");
    sql.prepare_cached(&text)?.query_map([], row)?.collect()
}

/// Whether a run is under way.
pub(crate) fn any_open(sql: &Connection) -> rusqlite::Result<bool> {
    sql.prepare_cached("SELECT EXISTS (SELECT 1 FROM job_run WHERE ended_at IS NULL)")?
        .query_row([], |row| row.get(0))
}

/// The runs that are under way, the oldest first.
pub(crate) fn open(sql: &Connection) -> rusqlite::Result<Vec<JobRun>> {
    let text = format!(
        "SELECT {RUN} FROM job_run WHERE ended_at IS NULL ORDER BY id LIMIT {JOB_ROWS_MAX}"
    );
    sql.prepare_cached(&text)?.query_map([], run)?.collect()
}

/// The newest runs of a job, the newest first.
pub(crate) fn runs(sql: &Connection, job: &str, limit: usize) -> rusqlite::Result<Vec<JobRun>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX).min(JOB_ROWS_MAX.into());
    let text = format!("SELECT {RUN} FROM job_run WHERE job = ?1 ORDER BY id DESC LIMIT ?2");
    sql.prepare_cached(&text)?.query_map((job, limit), run)?.collect()
}

/// The runs of a job for moments from one to before another, the newest first.
pub(crate) fn runs_within(
    sql: &Connection,
    job: &str,
    (from, until): (Timestamp, Timestamp),
) -> rusqlite::Result<Vec<JobRun>> {
    let text = format!(
        "SELECT {RUN} FROM job_run WHERE job = ?1 AND scheduled_at >= ?2 AND scheduled_at < ?3
         ORDER BY scheduled_at DESC LIMIT {JOB_RUNS_KEPT}"
    );
    sql.prepare_cached(&text)?.query_map((job, from.as_millis(), until.as_millis()), run)?.collect()
}

fn row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let state: i64 = row.get(4)?;
    let state = usize::try_from(state).ok().and_then(|at| JobState::ALL.get(at)).copied();
    Ok(JobRow {
        name: row.get(0)?,
        spec: row.get(1)?,
        owner: actor(row, 2)?,
        place: row.get(3)?,
        // What no version of ours wrote does not run.
        state: state.unwrap_or(JobState::Paused),
        why: row.get(5)?,
        handled_at: Timestamp::from_millis(row.get(6)?),
        runs: row.get(7)?,
        failures: row.get(8)?,
        retry_at: row.get::<_, Option<i64>>(9)?.map(Timestamp::from_millis),
        made_at: Timestamp::from_millis(row.get(10)?),
    })
}

fn run(row: &Row<'_>) -> rusqlite::Result<JobRun> {
    Ok(JobRun {
        job: row.get(0)?,
        scheduled_at: Timestamp::from_millis(row.get(1)?),
        began_at: Timestamp::from_millis(row.get(2)?),
        ended_at: row.get::<_, Option<i64>>(3)?.map(Timestamp::from_millis),
        turn: row.get::<_, Option<_>>(4)?.map(TurnId),
        outcome: row.get(5)?,
        why: row.get(6)?,
    })
}
