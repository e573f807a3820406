//! What an agent does by the clock, out of its settings.

use crate::common::{environment, home, load_text};
use insula_config::job::{Deliver, Job, JobApprovals, JobScope, JobTime, of_text};
use insula_config::load::{AgentOutcome, Loaded, load};
use insula_domain::{AgentId, Effect, Zone};
use insula_schedule::{Missed, Overlap, Progress};
use std::sync::Arc;
use std::time::Duration;

fn jobs(loaded: &Loaded) -> Vec<Arc<Job>> {
    match &loaded.agents[&AgentId::new("a").unwrap()] {
        AgentOutcome::Ready(config) => config.jobs.to_vec(),
        other => panic!("{other:?}"),
    }
}

fn of_config(text: &str) -> Vec<Arc<Job>> {
    let (report, loaded) = load_text(text);
    assert_eq!(report.errors().count(), 0, "{:?}", report.diagnostics);
    jobs(&loaded.expect("it is in order"))
}

#[test]
fn a_job_has_its_settings_and_takes_away_what_nobody_could_answer() {
    let jobs = of_config(
        "timezone: Europe/Berlin
agents:
  a:
    send: {to: [\"telegram:main:-100\"]}
    cron:
      morning:
        schedule: every weekday at 8:30
        prompt: What is new?
        deliver: telegram:main:-100
        scope: global
        tools: [web_extract]
        budget: {tokens_per_day: 1000}
        approvals: deny
        timeout: 5m
        missed: all
        overlap: queue
        jitter: 2m
        until: 2027-01-01T00:00
        count: 7
      plain: {schedule: 0 6 * * *, script: date, timezone: Asia/Tokyo, enabled: false}
",
    );
    let [morning, plain] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!(morning.deliver, Some(Deliver::parse("telegram:main:-100").unwrap()));
    assert_eq!((&morning.zone, &plain.zone), (&zone("Europe/Berlin"), &zone("Asia/Tokyo")));
    assert_eq!(morning.approvals, JobApprovals::Deny);
    assert_eq!(morning.timeout, Duration::from_secs(300));
    assert_eq!((morning.bounds.missed, morning.overlap), (Missed::All, Overlap::Queue));
    assert_eq!((morning.bounds.count, morning.bounds.jitter_ms), (Some(7), 120_000));
    assert_eq!(morning.less.budget.tokens_per_day, Some(1_000));
    assert!(!plain.is_enabled && plain.deliver.is_none() && plain.scope == JobScope::Own);
    for job in [morning, plain] {
        let tools = job.less.tools.as_ref().unwrap();
        assert_eq!(tools.without_effects, [Effect::AskUser, Effect::Schedule]);
    }
    let plan = morning.plan(&AgentId::new("a").unwrap(), 0).unwrap().unwrap();
    // A Wednesday in winter: half past eight in Berlin, and its jitter.
    let (now, half_past) = (1_763_424_000_000, 1_763_451_000_000);
    let next = plan.ahead(Progress { handled_ms: now, runs: 0 }, now, 1);
    assert_eq!((plan.next(now), next), (Some(half_past), vec![plan.moved(half_past)]));
}

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

#[test]
fn a_heartbeat_and_a_beginning_are_jobs_and_a_file_says_the_latter_too() {
    let both =
        "agents: {a: {heartbeat: {every: 30m, active_hours: \"08:00-22:00\"}, boot: Hello}}\n";
    let jobs_of = |files: &[(&str, &str)]| {
        let (report, loaded) = load(&home(files), &environment());
        assert_eq!(report.errors().count(), 0, "{:?}", report.diagnostics);
        jobs(&loaded.unwrap())
    };
    let written = jobs_of(&[("config.yaml", both), ("agents/a/BOOT.md", "not this")]);
    let [heartbeat, boot] = &written[..] else { panic!("{written:?}") };
    assert_eq!((&*heartbeat.name, heartbeat.bounds.missed), ("heartbeat", Missed::Skip));
    assert!(heartbeat.bounds.within.is_some() && heartbeat.prompt.contains("[SILENT]"));
    assert_eq!((&*boot.prompt, &boot.time), ("Hello", &JobTime::AtStart));
    assert!(heartbeat.is_enabled && boot.is_enabled);
    let neither = "agents: {a: {heartbeat: {every: 30m, enabled: false}, boot: {prompt: Hello, enabled: false}}}\n";
    let written = jobs_of(&[("config.yaml", neither), ("agents/a/BOOT.md", "not this")]);
    assert!(written.len() == 2 && written.iter().all(|job| !job.is_enabled), "{written:?}");
    let file =
        jobs_of(&[("config.yaml", "agents: {a: {}}\n"), ("agents/a/BOOT.md", "From a file")]);
    assert_eq!((&*file[0].prompt, &file[0].time), ("From a file", &JobTime::AtStart));
}

#[test]
fn what_is_wrong_with_a_job_is_told() {
    for (job, said) in [
        ("{prompt: x}", "schedule"),
        ("{schedule: sometimes, prompt: x}", "is no schedule"),
        ("{schedule: @daily}", "neither a `prompt` nor a `script`"),
        ("{schedule: 30m, prompt: x}", "once from nobody knows when"),
        ("{schedule: \"@daily\", prompt: x, deliver: origin}", "was made in no chat"),
        ("{schedule: \"@daily\", prompt: x, scope: chat}", "was made in no chat"),
        ("{schedule: \"@daily\", prompt: x, deliver: \"telegram:main:1\"}", "may not send"),
        ("{schedule: \"@daily\", prompt: x, timezone: Berln}", "is no time zone"),
        ("{schedule: \"@daily\", prompt: x, scope: everything}", "no scope of a job"),
        ("{schedule: \"@daily\", prompt: x, active_hours: 9}", "are no hours"),
        ("{schedule: \"@daily\", prompt: x, missed: never}", "missed"),
    ] {
        let job = job.replace("schedule: @daily", "schedule: \"@daily\"");
        let (report, _) = load_text(&format!("agents: {{a: {{cron: {{j: {job}}}}}}}\n"));
        let told: Vec<String> = report.errors().map(|it| it.message.clone()).collect();
        assert!(told.iter().any(|it| it.contains(said)), "{job}: {told:?}");
    }
    let (report, _) = load_text("agents: {a: {cron: {boot: {schedule: \"@daily\", prompt: x}}}}\n");
    assert!(report.errors().any(|it| it.message.contains("is the name of the job")));
}

#[test]
fn an_added_job_is_read_by_the_same_rules() {
    let (a, utc) = (AgentId::new("a").unwrap(), Zone::utc());
    let job =
        of_text((&a, "j"), r#"{"schedule": "30m", "prompt": "x", "deliver": "origin"}"#, &utc);
    assert_eq!(job.unwrap().deliver, Some(Deliver::Origin));
    for (name, text, said) in [
        ("j", r#"{"schedule": "30m", "prompt": "x", "shedule": 1}"#, "shedule"),
        ("j", r#"{"schedule": "soon", "prompt": "x"}"#, "is no schedule"),
        ("j", "[]", "map"),
        ("boot", r#"{"schedule": "30m", "prompt": "x"}"#, "of the configuration"),
        ("a b", r#"{"schedule": "30m", "prompt": "x"}"#, "a b"),
    ] {
        let error = of_text((&a, name), text, &utc).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn a_job_tells_what_it_was_given_besides() {
    let jobs = of_config(
        "agents: {a: {model: echo/one, cron: {
  plain: {schedule: 0 6 * * *, prompt: x},
  full: {schedule: 0 6 * * *, prompt: x, model: echo/one, timeout: 90m, jitter: 5m, count: 2, approvals: deny,
    until: 2027-01-31, tools: {deny: [terminal]}, budget: {usd_per_day: 0.5, tokens_per_day: 100}}}}}
providers: {echo: {kind: openai, base_url: 'http://127.0.0.1:9'}}",
    );
    let told = |name: &str| {
        let job = jobs.iter().find(|job| &*job.name == name).unwrap();
        job.told().into_iter().map(|(key, what)| format!("{key} {what}")).collect::<Vec<_>>()
    };
    assert_eq!(told("plain"), ["pause_after 5", "timeout 30m"]);
    assert_eq!(
        told("full"),
        [
            "approvals deny",
            "budget usd_per_day 0.5; tokens_per_day 100",
            "count 2",
            "jitter 5m",
            "model echo/one",
            "pause_after 5",
            "timeout 1h30m",
            "tools without terminal",
            "until Sunday 2027-01-31 23:59 +00:00 UTC",
        ]
    );
}

#[test]
fn what_a_job_can_never_do_is_said_where_it_stands() {
    let wrong = |settings: &str| {
        let text = format!(
            "agents: {{a: {{model: echo/one, cron: {{x: {{schedule: 0 6 * * *, prompt: x, {settings}}}}}}}}}\nproviders: {{echo: {{kind: openai, base_url: 'http://127.0.0.1:9'}}}}"
        );
        let (report, _) = load_text(&text);
        report.errors().map(|error| error.message.clone()).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(wrong("model: echo/one"), "");
    assert_eq!(wrong("until: 2030-01-01"), "");
    let other = wrong("model: echo/two");
    assert!(
        other.contains("job `x` wants model `echo/two`, which agent `a` does not have"),
        "{other}"
    );
    assert!(wrong("timeout: 0s").contains("its `timeout` leaves it no time"));
    for until in ["every 2h", "garbage", "30m"] {
        let said = wrong(&format!("until: {until}"));
        assert!(said.contains("is no moment; write a day or a time"), "{said}");
    }
}
