//! Jobs and their runs.

use super::{Opener, agent};
use crate::job::{JOB_NAME_BYTES_MAX, JOB_RUNS_KEPT};
use crate::{AgentCommand, JobCommand, JobRow, JobRun, JobState, TurnId};
use insula_domain::Actor;
use insula_world::Timestamp;

pub(super) async fn run(opener: &dyn Opener) {
    a_job_is_kept_until_it_is_removed(opener).await;
    a_moment_is_run_for_once(opener).await;
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn command(command: JobCommand) -> AgentCommand {
    AgentCommand::Job(Box::new(command))
}

fn row(name: &str) -> JobRow {
    JobRow {
        name: name.into(),
        spec: Some("{}".into()),
        owner: Actor::CommandLine,
        place: None,
        state: JobState::Active,
        why: None,
        handled_at: at(5),
        runs: 2,
        failures: 1,
        retry_at: Some(at(9)),
        made_at: at(1),
    }
}

fn begun(job: &str, scheduled: i64) -> JobRun {
    JobRun {
        job: job.into(),
        scheduled_at: at(scheduled),
        began_at: at(scheduled + 1),
        ended_at: None,
        turn: None,
        outcome: None,
        why: None,
    }
}

async fn a_job_is_kept_until_it_is_removed(opener: &dyn Opener) {
    let store = opener.open("jobs").await;
    let owner = store.claim("suite").await.unwrap();
    let (a, b) = (owner.agent(&agent("a")), owner.agent(&agent("b")));
    let of_config = JobRow { spec: None, state: JobState::Over, retry_at: None, ..row("y") };
    let put = |row: &JobRow| command(JobCommand::Put(row.clone()));
    a.commit(vec![put(&row("x")), put(&of_config)]).await.unwrap();
    assert_eq!(a.jobs().await.unwrap(), [row("x"), of_config.clone()]);
    assert_eq!(b.jobs().await.unwrap(), []);
    let paused = JobRow { state: JobState::Paused, why: Some("w".into()), ..row("x") };
    a.commit(vec![put(&paused)]).await.unwrap();
    store.shutdown().await;

    let store = opener.open("jobs").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(a.jobs().await.unwrap(), [paused, of_config.clone()]);
    a.commit(vec![command(JobCommand::Remove { name: "x".into() })]).await.unwrap();
    assert_eq!(a.jobs().await.unwrap(), [of_config]);
    let long = row(&"x".repeat(JOB_NAME_BYTES_MAX + 1));
    assert!(a.commit(vec![put(&long)]).await.is_err());
    store.shutdown().await;
}

async fn a_moment_is_run_for_once(opener: &dyn Opener) {
    let store = opener.open("job-runs").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let begin = |run: JobRun| command(JobCommand::Begin(run));
    let turn = JobCommand::Turn {
        job: "x".into(),
        scheduled_at: at(10),
        began_at: at(12),
        turn: TurnId(7),
    };
    a.commit(vec![begin(begun("x", 10)), begin(begun("y", 10)), command(turn)]).await.unwrap();
    let again = JobRun { began_at: at(99), ..begun("x", 10) };
    a.commit(vec![begin(again)]).await.unwrap();
    let with_turn = JobRun { began_at: at(12), turn: Some(TurnId(7)), ..begun("x", 10) };
    assert_eq!(a.job_runs_open().await.unwrap(), [with_turn.clone(), begun("y", 10)]);
    let busy = store.daemon().busy().await.unwrap();
    assert_eq!(busy, [agent("a")], "a run that is under way is found after a crash");

    let end = |outcome: &str| {
        command(JobCommand::End {
            job: "x".into(),
            scheduled_at: at(10),
            began_at: at(13),
            outcome: outcome.into(),
            why: Some("because".into()),
            at: at(20),
        })
    };
    a.commit(vec![end("done"), end("failed")]).await.unwrap();
    let over = JobRun {
        began_at: at(13),
        ended_at: Some(at(20)),
        outcome: Some("done".into()),
        why: Some("because".into()),
        ..with_turn
    };
    assert_eq!(a.job_runs("x", 10).await.unwrap(), [over]);
    assert_eq!(a.job_runs_open().await.unwrap(), [begun("y", 10)]);

    let skipped = |moment: i64| {
        begin(JobRun {
            ended_at: Some(at(1)),
            outcome: Some("missed".into()),
            ..begun("x", moment)
        })
    };
    let many = 100..i64::from(JOB_RUNS_KEPT) + 200;
    a.commit(many.map(skipped).collect()).await.unwrap();
    let kept = a.job_runs("x", 1_000).await.unwrap();
    assert_eq!(kept.len(), JOB_RUNS_KEPT as usize);
    assert_eq!(kept[0].scheduled_at, at(i64::from(JOB_RUNS_KEPT) + 199));
    let within = a.job_runs_within("x", (at(210), at(213))).await.unwrap();
    let moments: Vec<_> = within.iter().map(|run| run.scheduled_at).collect();
    assert_eq!(moments, [at(212), at(211), at(210)]);
    assert!(a.job_runs_within("z", (at(0), at(999))).await.unwrap().is_empty());
    assert_eq!(a.job_runs_open().await.unwrap(), [begun("y", 10)]);
    store.shutdown().await;
}
