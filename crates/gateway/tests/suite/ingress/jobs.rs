//! What agents do by the clock, from the configuration or a chat to what a platform is told.

use crate::ingress::support::{Fixture, From, again, dm, echo, open_fixture, process, says, with};
use insula_domain::Actor;
use insula_registry::jobs::{JobError, NewJob};
use insula_store::{JobRun, JobState};
use insula_testkit::upstream::Step;
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub const HOUR: Duration = Duration::from_secs(60 * 60);
const ACCOUNT: &str = "channels: {telegram: {accounts: {main: {token: '1:x'}}}}\n";

pub fn config(agent: &str) -> String {
    let access = "access: {allow: ['telegram:1'], admins: ['telegram:9']}";
    format!("{ACCOUNT}agents:\n  a: {{default: true, {access}, {agent}}}\n")
}

/// Begins what is due from now on, as a daemon does.
pub fn wind(fixture: &Fixture) -> CancellationToken {
    let stop = CancellationToken::new();
    tokio::spawn(fixture.owner.clockwork().clone().run(stop.clone()));
    stop
}

/// The runs of a job, the newest first, once so many are over.
pub async fn over(fixture: &Fixture, job: &str, count: usize) -> Vec<JobRun> {
    for _ in 0..20_000 {
        let runs = fixture.agent("a").store.job_runs(job, 100).await.unwrap();
        if runs.iter().filter(|run| run.ended_at.is_some()).count() >= count {
            return runs;
        }
        tokio::task::yield_now().await;
    }
    panic!("{:?}", fixture.agent("a").store.job_runs(job, 100).await);
}

pub fn outcomes(runs: &[JobRun]) -> Vec<&str> {
    runs.iter().map(|run| run.outcome.as_deref().unwrap_or("under way")).collect()
}

/// Lets time pass bit by bit, so that whoever sets off something may before it goes on.
pub async fn pass(fixture: &Fixture, time: Duration) {
    for _ in 0..60 {
        fixture.handles.clock.advance(time / 60).await;
    }
}

async fn add(fixture: &Fixture, from: &From, settings: Value) -> Result<String, JobError> {
    let Value::Object(settings) = settings else { panic!() };
    let by = Actor::from(&from.address);
    let new = NewJob { name: None, settings, by: &by, place: Some(&from.address), paused: None };
    let jobs = &fixture.daemon.opened().parts.jobs;
    jobs.add(&fixture.agent("a"), new).await.map(|view| view.job.name.to_string())
}

fn job(schedule: &str) -> Value {
    json!({ "schedule": schedule, "prompt": "Report" })
}

#[tokio::test]
async fn a_job_of_the_configuration_runs_when_it_is_due_and_delivers_where_it_may() {
    let fixture = open_fixture(&config(
        "send: {to: ['telegram:main:5']}, cron: {report: {schedule: every 1h, prompt: Report, deliver: 'telegram:main:5'}}",
    ))
    .await;
    let _stop = wind(&fixture).drop_guard();
    pass(&fixture, HOUR).await;
    let said = ("main".to_owned(), "5".to_owned(), "heard: Report".to_owned());
    assert_eq!(fixture.posts(1).await, [said]);
    assert_eq!(outcomes(&over(&fixture, "report", 1).await), ["done"]);
    pass(&fixture, HOUR).await;
    assert_eq!(fixture.posts(2).await.len(), 2);
    assert_eq!(fixture.asked(), 2);
}

#[tokio::test]
async fn a_reply_of_silence_goes_nowhere_and_a_flow_that_is_not_granted_neither() {
    let fixture =
        with(&config("memory: false"), insula_tools::BUILT_IN, |_, _| says("[SILENT]")).await;
    let _stop = wind(&fixture).drop_guard();
    let name = add(&fixture, &dm("1"), job("every 1h")).await.unwrap();
    pass(&fixture, HOUR).await;
    assert_eq!(outcomes(&over(&fixture, &name, 1).await), ["silent"]);
    assert!(fixture.posted().is_empty());
}

#[tokio::test]
async fn a_job_answers_where_it_was_made_and_ends_with_the_right_of_who_made_it() {
    let fixture = open_fixture(&config("memory: false")).await;
    let _stop = wind(&fixture).drop_guard();
    let name = add(&fixture, &dm("1"), job("every 1h")).await.unwrap();
    pass(&fixture, HOUR).await;
    assert_eq!(fixture.posts(1).await[0].1, "1");
    fixture.reconfigure(|config| config.replace("'telegram:1'", "'telegram:2'")).await;
    pass(&fixture, HOUR).await;
    let runs = over(&fixture, &name, 2).await;
    assert_eq!(outcomes(&runs), ["denied", "done"]);
    assert_eq!(fixture.asked(), 1, "nobody asked a model for somebody who may not");
    let rows = fixture.agent("a").store.jobs().await.unwrap();
    assert_eq!(rows[0].state, JobState::Paused);
    assert!(rows[0].why.as_deref().unwrap().contains("may not talk"), "{rows:?}");
    pass(&fixture, 3 * HOUR).await;
    assert_eq!(over(&fixture, &name, 2).await.len(), 2);
}

#[tokio::test]
async fn what_only_an_admin_may_have_ends_with_whoever_is_none_any_more() {
    let fixture = open_fixture(&config("memory: true")).await;
    let _stop = wind(&fixture).drop_guard();
    let mut everywhere = job("every 1h");
    everywhere["scope"] = "global".into();
    let name = add(&fixture, &dm("9"), everywhere).await.unwrap();
    pass(&fixture, HOUR).await;
    over(&fixture, &name, 1).await;
    let talks = |config: &str| {
        config.replace("['telegram:1'], admins: ['telegram:9']", "['telegram:1', 'telegram:9']")
    };
    fixture.reconfigure(talks).await;
    pass(&fixture, HOUR).await;
    let runs = over(&fixture, &name, 2).await;
    assert_eq!(outcomes(&runs), ["denied", "done"], "{runs:?}");
    assert_eq!(fixture.asked(), 1);
}

#[tokio::test]
async fn others_see_and_change_a_job_only_as_admins_and_nobody_takes_more_than_they_have() {
    let fixture = open_fixture(&config("memory: true")).await;
    let name = add(&fixture, &dm("1"), job("every 1h")).await.unwrap();
    let jobs = &fixture.daemon.opened().parts.jobs;
    let agent = fixture.agent("a");
    let who = |id: &str| Actor::from(&dm(id).address);
    assert!(jobs.seen_by(&agent, &who("2")).await.unwrap().is_empty());
    let error = jobs.remove(&agent, &who("2"), &name).await.unwrap_err();
    assert!(matches!(error, JobError::NoSuchJob { .. }), "{error}");
    assert_eq!(jobs.seen_by(&agent, &who("9")).await.unwrap().len(), 1);
    let with = |key: &str, value: &str| {
        let mut settings: Map<String, Value> = job("every 1h").as_object().unwrap().clone();
        settings.insert(key.to_owned(), value.into());
        Value::Object(settings)
    };
    for (key, value) in [
        ("scope", "global"),
        ("scope", "chat:telegram:main:77"),
        ("deliver", "telegram:main:77"),
        ("deliver", "agent"),
        ("script", "date"),
    ] {
        let error = add(&fixture, &dm("1"), with(key, value)).await.unwrap_err();
        assert!(matches!(error, JobError::NotAllowed(_)), "{key}: {error}");
    }
    add(&fixture, &dm("9"), with("scope", "global")).await.unwrap();
    jobs.remove(&agent, &who("9"), &name).await.unwrap();
    assert!(jobs.seen_by(&agent, &who("1")).await.unwrap().is_empty());
}

#[tokio::test]
async fn failures_are_told_once_and_pause_a_job_after_its_limit() {
    let broken = |_: &_, _| vec![Step::Close];
    let fixture = with(
        &config("cron: {report: {schedule: every 1h, prompt: Report, pause_after: 2}}"),
        insula_tools::BUILT_IN,
        broken,
    )
    .await;
    let _stop = wind(&fixture).drop_guard();
    assert!(fixture.ask(&dm("9"), "/sethome").await.contains("here"));
    let told = fixture.posted().len();
    for _ in 0..4 {
        pass(&fixture, HOUR).await;
    }
    let runs = over(&fixture, "report", 2).await;
    assert_eq!(outcomes(&runs), ["failed", "failed"]);
    let posts = fixture.posts(told + 2).await;
    assert!(posts[told].2.starts_with("Job report failed"), "{posts:?}");
    assert!(posts[told + 1].2.starts_with("Job report is paused"), "{posts:?}");
}

#[test]
fn a_run_that_a_crash_cut_off_happens_once() {
    let text = config(
        "send: {to: ['telegram:main:5']}, cron: {report: {schedule: every 1h, prompt: Report, deliver: 'telegram:main:5'}}",
    );
    let first = process();
    let files = first.block_on(async {
        let hangs = |_: &_, _| vec![Step::Hang];
        let fixture = with(&text, insula_tools::BUILT_IN, hangs).await;
        let stop = wind(&fixture);
        // No longer than until it runs: a run has an end too.
        while fixture.asked() == 0 {
            fixture.handles.clock.advance(HOUR / 60).await;
        }
        assert_eq!(fixture.agent("a").store.job_runs_open().await.unwrap().len(), 1);
        drop(stop);
        fixture.into_files()
    });
    drop(first);
    process().block_on(async {
        let fixture = again(files, &text, insula_tools::BUILT_IN, echo).await;
        let _stop = wind(&fixture).drop_guard();
        assert_eq!(fixture.posts(1).await[0].2, "heard: Report");
        let runs = over(&fixture, "report", 1).await;
        assert_eq!(outcomes(&runs), ["done"]);
        assert_eq!((fixture.asked(), fixture.posted().len()), (1, 1));
    });
}

#[tokio::test]
async fn a_chat_lists_and_an_admin_adds_jobs_by_a_command() {
    let fixture = open_fixture(&config("memory: false")).await;
    let (guest, admin) = (dm("1"), dm("9"));
    assert_eq!(fixture.ask(&guest, "/cron").await, "there are no jobs");
    assert!(fixture.ask(&guest, "/cron add every 1h | Report").await.starts_with("only an admin"));
    let added = fixture.ask(&admin, "/cron add every weekday at 8:30 | Report").await;
    assert!(added.starts_with("job job-1 is added; it runs "), "{added}");
    assert!(fixture.ask(&admin, "/cron list").await.starts_with("job-1: 30 8 * * 1-5; next "));
    assert_eq!(fixture.ask(&guest, "/cron list").await, "there are no jobs");
    assert!(fixture.ask(&guest, "/cron remove job-1").await.contains("has no job `job-1`"));
    assert_eq!(fixture.ask(&admin, "/cron pause job-1").await, "job job-1 is paused");
    assert!(fixture.ask(&admin, "/cron add sometimes | x").await.contains("is no schedule"));
    assert_eq!(fixture.ask(&admin, "/cron remove job-1").await, "job job-1 is removed");
}
