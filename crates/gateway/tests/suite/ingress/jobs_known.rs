//! Since when jobs of a configuration are what they are, whatever changes beside them; what is told
//! of jobs that do not run, and of those that are put off.

use super::jobs::{HOUR, config, outcomes, over, pass, wind};
use crate::ingress::support::{Fixture, again, dm, echo, open_fixture, process, with};
use insula_domain::Actor;
use insula_registry::jobs::JobView;
use insula_store::JobState;
use insula_testkit::Home;
use insula_testkit::upstream::Step;
use insula_world::{Clock as _, Timestamp};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

fn cron(jobs: &[(&str, &str)]) -> String {
    let jobs: Vec<String> =
        jobs.iter().map(|(name, job)| format!("{name}: {{prompt: Report, {job}}}")).collect();
    config(&format!("cron: {{{}}}", jobs.join(", ")))
}

const HOURLY: &str = "schedule: '0 * * * *', missed: all";

/// A life in which these jobs are known and run once; what it leaves, and when it ends.
fn lived(jobs: &[(&str, &str)]) -> (Home, Timestamp) {
    let first = process();
    let left = first.block_on(async {
        let fixture = open_fixture(&cron(jobs)).await;
        let stop = wind(&fixture);
        pass(&fixture, HOUR).await;
        over(&fixture, jobs[0].0, 1).await;
        let now = fixture.handles.clock.now();
        drop(stop);
        (fixture.into_files(), now)
    });
    drop(first);
    left
}

/// The same home with these jobs, so much later.
async fn later(files: Home, then: Timestamp, jobs: &[(&str, &str)]) -> Fixture {
    let fixture = again(files, &cron(jobs), insula_tools::BUILT_IN, echo).await;
    let left = then.as_millis() - fixture.handles.clock.now().as_millis();
    let left = Duration::from_millis(u64::try_from(left).unwrap());
    fixture.handles.clock.advance(left + 3 * HOUR + HOUR / 2).await;
    fixture
}

async fn view(fixture: &Fixture, job: &str) -> JobView {
    let jobs = &fixture.daemon.opened().parts.jobs;
    jobs.one(&fixture.agent("a"), &Actor::CommandLine, job).await.unwrap()
}

#[test]
fn a_job_makes_up_for_what_it_missed_whatever_became_of_those_beside_it() {
    let plain = [("kept", HOURLY), ("changed", HOURLY)];
    let (files, then) = lived(&plain);
    process().block_on(async {
        let half_past = "schedule: '30 * * * *', missed: all";
        // What it does then is not when it does it.
        let longer = format!("{HOURLY}, timeout: 5m");
        let jobs = [("kept", &*longer), ("changed", half_past), ("new", HOURLY)];
        let fixture = later(files, then, &jobs).await;
        let _stop = wind(&fixture).drop_guard();
        assert_eq!(outcomes(&over(&fixture, "kept", 4).await), ["done"; 4]);
        pass(&fixture, HOUR).await;
        let begun = then.as_millis() + 3 * 3_600_000;
        for (job, before) in [("changed", 1), ("new", 0)] {
            let runs = over(&fixture, job, before + 1).await;
            let late: Vec<_> =
                runs.iter().filter(|it| it.scheduled_at.as_millis() > begun).collect();
            assert_eq!((runs.len() - late.len(), late.len()), (before, 1), "{job}: {runs:#?}");
        }
    });
}

#[test]
fn a_job_that_took_the_place_of_another_while_nobody_looked_begins_when_it_is_loaded() {
    let (files, then) = lived(&[("foo", HOURLY)]);
    process().block_on(async {
        let fixture = later(files, then, &[("bar", &format!("{HOURLY}, count: 2"))]).await;
        // Before the clockwork has taken it up: an agent that was busy is looked at first.
        let bar = view(&fixture, "bar").await;
        let now = fixture.handles.clock.now();
        assert_eq!((bar.row.made_at, bar.row.handled_at), (now, now));
        let _stop = wind(&fixture).drop_guard();
        for _ in 0..3 {
            pass(&fixture, HOUR).await;
        }
        let runs = over(&fixture, "bar", 2).await;
        assert_eq!(outcomes(&runs), ["done", "done"]);
        assert!(runs.iter().all(|run| run.scheduled_at > now), "{runs:#?}");
    });
}

#[test]
fn a_job_that_was_away_missed_nothing() {
    let (files, then) = lived(&[("foo", HOURLY)]);
    let second = process();
    let files = second.block_on(async {
        let fixture = later(files, then, &[]).await;
        let stop = wind(&fixture);
        pass(&fixture, MINUTE).await;
        drop(stop);
        fixture.into_files()
    });
    drop(second);
    process().block_on(async {
        let fixture = later(files, then, &[("foo", HOURLY)]).await;
        let now = fixture.handles.clock.now();
        assert_eq!(view(&fixture, "foo").await.row.handled_at, now);
    });
}

#[tokio::test]
async fn one_that_was_over_goes_on_where_its_schedule_does() {
    let fixture =
        open_fixture(&cron(&[("once", "schedule: '2026-01-01T00:30Z'"), ("other", HOURLY)])).await;
    let _stop = wind(&fixture).drop_guard();
    pass(&fixture, HOUR).await;
    over(&fixture, "once", 1).await;
    assert_eq!(view(&fixture, "once").await.row.state, JobState::Over);
    let listed = fixture.ask(&dm("9"), "/cron").await;
    assert!(
        listed.lines().any(|line| line.starts_with("once: ") && line.ends_with("; over")),
        "{listed}"
    );
    fixture.reconfigure(|config| config.replace("0 * * * *", "1 * * * *")).await;
    assert_eq!(view(&fixture, "once").await.row.state, JobState::Over, "it is the same");
    let tomorrow = |config: &str| config.replace("2026-01-01T00:30Z", "2026-01-02T00:30Z");
    fixture.reconfigure(tomorrow).await;
    let once = view(&fixture, "once").await;
    assert_eq!((once.row.state, once.ahead(0, 5).len()), (JobState::Active, 1));
}

#[tokio::test]
async fn a_chat_is_told_when_a_job_really_runs() {
    let fixture = open_fixture(&cron(&[("moved", "schedule: '0 * * * *', jitter: 50m")])).await;
    let _stop = wind(&fixture).drop_guard();
    let plan = view(&fixture, "moved").await.plan.unwrap();
    let now = fixture.handles.clock.now().as_millis();
    let moment = plan.next(now).unwrap();
    let told = plan.zone.describe(plan.moved(moment));
    let listed = fixture.ask(&dm("9"), "/cron").await;
    assert!(listed.ends_with(&format!("next {told}")), "{listed}, not {told}");
    // Past its moment, and not yet where it is moved to.
    let middle = i64::midpoint(moment, plan.moved(moment)) - now;
    fixture.handles.clock.advance(Duration::from_millis(middle.try_into().unwrap())).await;
    let listed = fixture.ask(&dm("9"), "/cron").await;
    assert!(listed.ends_with(&format!("next {told}")), "{listed}, not {told}");
}

#[tokio::test]
async fn a_job_that_failed_is_told_as_put_off() {
    let broken = |_: &_, _| vec![Step::Close];
    let text = cron(&[("report", "schedule: every 1m, pause_after: 9")]);
    let fixture = with(&text, insula_tools::BUILT_IN, broken).await;
    let stop = wind(&fixture);
    pass(&fixture, 4 * MINUTE).await;
    over(&fixture, "report", 2).await;
    drop(stop);
    let report = view(&fixture, "report").await;
    let retry = report.row.retry_at.unwrap().as_millis();
    let now = retry - 1_000;
    let told = report.ahead(now, 2);
    assert_eq!((told[0], report.next_ms(now)), (retry, Some(retry)));
    assert!(told[1] > retry && told[1] <= retry + 60_000, "{told:?}, {retry}");
}

#[tokio::test]
async fn what_is_not_enabled_neither_beats_nor_begins() {
    let text =
        config("heartbeat: {every: 1h, enabled: false}, boot: {prompt: Hello, enabled: false}");
    let fixture = open_fixture(&text).await;
    let _stop = wind(&fixture).drop_guard();
    for _ in 0..3 {
        pass(&fixture, HOUR).await;
    }
    assert_eq!(fixture.asked(), 0);
    let listed = fixture.ask(&dm("9"), "/cron").await;
    let disabled = |line: &str| line.ends_with("; disabled");
    assert!(listed.lines().count() == 2 && listed.lines().all(disabled), "{listed}");
    fixture.ask(&dm("9"), "/cron run boot").await;
    assert_eq!(outcomes(&over(&fixture, "boot", 1).await), ["done"], "somebody asked for it");
}
