//! What bounds the runs of jobs: time, money, hours, runs that were missed, runs that overlap;
//! and jobs that a model makes.

use super::jobs::{HOUR, config, outcomes, over, pass, wind};
use crate::ingress::support::{again, calls, dm, echo, open_fixture, process, says, shown, with};
use insula_store::{JobRun, JobState};
use insula_testkit::upstream::{Seen, Step};
use insula_world::Clock as _;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_run_that_takes_longer_than_its_time_is_stopped_and_counts_as_a_failure() {
    let hangs = |_: &Seen, _| vec![Step::Hang];
    let text = config("cron: {report: {schedule: every 1h, prompt: Report, timeout: 5m}}");
    let fixture = with(&text, insula_tools::BUILT_IN, hangs).await;
    let _stop = wind(&fixture).drop_guard();
    pass(&fixture, HOUR).await;
    pass(&fixture, 10 * MINUTE).await;
    let runs = over(&fixture, "report", 1).await;
    assert_eq!(outcomes(&runs), ["timeout"]);
    let took = runs[0].ended_at.unwrap().as_millis() - runs[0].began_at.as_millis();
    assert!((300_000..400_000).contains(&took), "{took} ms");
    assert_eq!(fixture.agent("a").store.jobs().await.unwrap()[0].failures, 1);
}

#[tokio::test]
async fn a_job_spends_no_more_than_its_own_budget_and_the_agent_goes_on() {
    let text =
        config("cron: {report: {schedule: every 1h, prompt: Report, budget: {tokens_per_day: 1}}}");
    let fixture = open_fixture(&text).await;
    let _stop = wind(&fixture).drop_guard();
    pass(&fixture, HOUR).await;
    over(&fixture, "report", 1).await;
    pass(&fixture, HOUR).await;
    let runs = over(&fixture, "report", 2).await;
    assert_eq!(outcomes(&runs), ["budget", "budget"], "{runs:?}");
    let why = runs[0].why.as_deref().unwrap();
    assert!(why.starts_with("job `a/report`'s budget") && why.contains("is 1"), "{why}");
    assert_eq!(fixture.asked(), 0);
    let row = &fixture.agent("a").store.jobs().await.unwrap()[0];
    assert_eq!((row.failures, row.state), (0, JobState::Active), "no fault of the job");
    assert_eq!(fixture.ask(&dm("1"), "Still there?").await, "heard: Still there?");
}

/// A daemon that is away for three hours while a job of every hour is due.
fn away_for_three_hours(missed: &str) -> Vec<String> {
    let job = format!("schedule: '0 * * * *', prompt: Report, missed: {missed}");
    let text = config(&format!("cron: {{report: {{{job}}}}}"));
    let first = process();
    let (files, now) = first.block_on(async {
        let fixture = open_fixture(&text).await;
        let stop = wind(&fixture);
        pass(&fixture, HOUR).await;
        over(&fixture, "report", 1).await;
        let now = fixture.handles.clock.now();
        drop(stop);
        (fixture.into_files(), now)
    });
    drop(first);
    process().block_on(async {
        let fixture = again(files, &text, insula_tools::BUILT_IN, echo).await;
        let later = now.as_millis() - fixture.handles.clock.now().as_millis();
        let later = Duration::from_millis(u64::try_from(later).unwrap());
        fixture.handles.clock.advance(later + 3 * HOUR + HOUR / 2).await;
        let _stop = wind(&fixture).drop_guard();
        let runs = match missed {
            "all" => over(&fixture, "report", 4).await,
            _ => over(&fixture, "report", 2).await,
        };
        // Nothing more comes of those that were missed.
        pass(&fixture, MINUTE).await;
        let all = fixture.agent("a").store.job_runs("report", 100).await.unwrap();
        assert_eq!(all.len(), runs.len(), "{all:#?}");
        outcomes(&runs).into_iter().map(str::to_owned).collect()
    })
}

#[test]
fn runs_that_were_missed_are_left_out_or_made_up_for_as_the_job_says() {
    assert_eq!(away_for_three_hours("skip"), ["missed", "done"]);
    assert_eq!(away_for_three_hours("once"), ["done", "done"]);
    assert_eq!(away_for_three_hours("all"), ["done"; 4]);
}

/// The runs of a job, the oldest first, whose first takes longer than the way to the third.
async fn overlapping(overlap: &str) -> Vec<JobRun> {
    let first_hangs = |seen: &Seen, nth| match nth {
        0 => vec![Step::Hang],
        nth => echo(seen, nth),
    };
    let job = format!("schedule: every 1m, prompt: Report, timeout: 150s, overlap: {overlap}");
    let text = config(&format!("cron: {{report: {{{job}}}}}"));
    let fixture = with(&text, insula_tools::BUILT_IN, first_hangs).await;
    let _stop = wind(&fixture).drop_guard();
    // Due after one, two and three minutes; the first is stopped after three and a half.
    pass(&fixture, Duration::from_secs(215)).await;
    let mut runs = over(&fixture, "report", 3).await;
    runs.reverse();
    runs
}

#[tokio::test]
async fn a_run_that_is_due_while_another_runs_is_left_out_or_waits() {
    let skipped = overlapping("skip").await;
    assert_eq!(outcomes(&skipped), ["timeout", "overlap", "overlap"]);
    let queued = overlapping("queue").await;
    assert_eq!(outcomes(&queued)[..2], ["timeout", "done"], "{queued:?}");
    // Due a minute after the first, which took two and a half.
    assert!(queued[1].began_at >= queued[0].ended_at.unwrap(), "{queued:?}");
    let late = queued[1].began_at.as_millis() - queued[1].scheduled_at.as_millis();
    assert!(late >= 60_000, "{late} ms");
}

#[tokio::test]
async fn an_agent_looks_around_in_its_hours_alone_and_tells_its_home() {
    let text = config("heartbeat: {every: 1h, active_hours: '08:00-10:00', deliver: agent}");
    let fixture = open_fixture(&text).await;
    let _stop = wind(&fixture).drop_guard();
    fixture.ask(&dm("9"), "/sethome").await;
    let (asked, told) = (fixture.asked(), fixture.posted().len());
    for _ in 0..24 {
        pass(&fixture, HOUR).await;
    }
    let runs = over(&fixture, "heartbeat", 2).await;
    let hours: Vec<i64> =
        runs.iter().map(|run| run.scheduled_at.as_millis() / 3_600_000 % 24).collect();
    assert!(!hours.is_empty() && hours.iter().all(|hour| (8..=10).contains(hour)), "{hours:?}");
    assert_eq!(outcomes(&runs), vec!["done"; runs.len()]);
    assert_eq!(fixture.asked() - asked, runs.len());
    let posts = fixture.posts(told + runs.len()).await;
    assert!(posts[told..].iter().all(|post| post.1 == "9"), "{posts:?}");
}

#[tokio::test]
async fn what_a_job_should_tell_a_home_that_is_not_there_is_undelivered() {
    let text = config("cron: {report: {schedule: every 1h, prompt: Report, deliver: agent}}");
    let fixture = open_fixture(&text).await;
    let _stop = wind(&fixture).drop_guard();
    pass(&fixture, HOUR).await;
    let runs = over(&fixture, "report", 1).await;
    assert_eq!(outcomes(&runs), ["undelivered"]);
    assert!(runs[0].why.as_deref().unwrap().contains("home chat"), "{runs:?}");
    assert!(fixture.posted().is_empty());
}

/// A model that makes a job where it is asked to, and does what it is told in its run.
fn planner(seen: &Seen, nth: usize) -> Vec<Step> {
    let heard = shown(seen);
    let (role, last) = heard.last().cloned().unwrap_or_default();
    match (role.as_str(), last.as_str()) {
        ("user", "Remind me") => calls(
            "c1",
            "cronjob",
            r#"{"action":"create","name":"tea","schedule":"every 1h","prompt":"Say tea","repeat":2}"#,
        ),
        ("user", "What is there?") => calls("c2", "cronjob", r#"{"action":"list"}"#),
        ("tool", said) => says(said),
        _ => echo(seen, nth),
    }
}

#[tokio::test]
async fn a_model_makes_a_job_for_an_admin_and_it_answers_where_it_was_made() {
    let fixture = with(&config("tools: [cronjob]"), insula_tools::BUILT_IN, planner).await;
    let _stop = wind(&fixture).drop_guard();
    let made = fixture.ask(&dm("9"), "Remind me").await;
    assert!(made.contains("tea"), "{made}");
    let listed = fixture.ask(&dm("9"), "What is there?").await;
    assert!(listed.contains("tea"), "{listed}");
    let others = fixture.ask(&dm("1"), "What is there?").await;
    assert!(!others.contains("tea"), "{others}");
    let told = fixture.posted().len();
    for _ in 0..4 {
        pass(&fixture, HOUR).await;
    }
    let runs = over(&fixture, "tea", 2).await;
    assert_eq!(outcomes(&runs), ["done", "done"], "twice, and no more");
    let posts = fixture.posts(told + 2).await;
    let said = ("main".to_owned(), "9".to_owned(), "heard: Say tea".to_owned());
    assert_eq!(posts[told..], [said.clone(), said]);
}

#[tokio::test]
async fn a_hook_refuses_a_run_and_the_job_goes_on() {
    let text = config(
        "hooks: {'cron:run': [{expr: \"!text.contains('Report')\"}]}, cron: {report: {schedule: '0 * * * *', prompt: Report}, other: {schedule: '0 * * * *', prompt: Other}}",
    );
    let fixture = open_fixture(&text).await;
    let _stop = wind(&fixture).drop_guard();
    pass(&fixture, HOUR).await;
    let runs = over(&fixture, "report", 1).await;
    assert_eq!(outcomes(&runs), ["refused"]);
    assert!(runs[0].why.as_deref().unwrap().contains("hook"), "{runs:?}");
    assert_eq!(outcomes(&over(&fixture, "other", 1).await), ["done"]);
    assert_eq!(fixture.asked(), 1);
    let rows = fixture.agent("a").store.jobs().await.unwrap();
    assert!(rows.iter().all(|row| row.state == JobState::Active && row.failures == 0), "{rows:?}");
}
