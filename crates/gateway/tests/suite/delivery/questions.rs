//! Questions in a chat: buttons, what they mean and to whom, and what becomes of them.

use crate::delivery::platform::{Fake, forgetful};
use crate::delivery::support::{Life, address, home, in_a_life};
use async_trait::async_trait;
use insula_channel::{Features, TextLimit};
use insula_domain::UserId;
use insula_owner::{BUTTON_DATA_BYTES_MAX, Choice};
use insula_registry::Actor;
use insula_tools::{Cleared, Hands, Output, Risk, Tool, ToolError};
use insula_turns::approvals::{AnswerError, ApprovalAnswer, ApprovalDuration};
use insula_world::storage::Job;
use insula_world::{Clock, StorageExecutor};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A shell that runs nothing.
struct Shell;

#[async_trait]
impl Tool for Shell {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn description(&self) -> &'static str {
        "Runs a command."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"command":{"type":"string"}}}"#
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        Risk::Command(Cow::Borrowed(arguments["command"].as_str().unwrap_or_default()))
    }

    async fn run(&self, _: &Hands<'_>, arguments: &Cleared) -> Result<Output, ToolError> {
        let command = arguments["command"].as_str().unwrap_or_default();
        if let Some(seconds) = command.strip_prefix("sleep ") {
            let seconds = seconds.parse().expect("a number");
            tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
        }
        Ok(Output::Text(format!("ran {command}")))
    }
}

const TOOLS: insula_turns::gate::Tools = &[&Shell];

const AGENTS: &str = "
agents:
  a: {tools: [terminal], access: {admins: [\"telegram:root\"], allow: [\"telegram:ann\"]}}
  b: {tools: [terminal], access: {admins: [\"telegram:root\"]}}
";

fn actor(life: &Life, user: &str) -> Actor {
    let at = address("main", "c1");
    let agent = life.agent("a");
    let who = agent.principal((at.platform, at.account), UserId::new(user).unwrap(), vec![]);
    Actor::from(&who)
}

#[test]
fn an_approval_is_asked_for_with_buttons_that_only_admins_make_count() {
    let features = Features { text: TextLimit::Utf16(400), ..forgetful() };
    let (files, fake) = (home(), Fake::new(features));
    in_a_life(async {
        let life = Life::with(&files, &fake, AGENTS, Some(TOOLS)).await;
        life.say("a", "c1", "run rm -rf build").await;
        fake.count(1).await;
        let asked = fake.seen().remove(0);
        assert!(asked.text.contains("rm -rf build"), "{}", asked.text);
        assert!(asked.text.contains("for `telegram:ann`"), "who asks: {}", asked.text);
        assert!(asked.text.contains("/approve "), "{}", asked.text);
        let labels: Vec<_> = asked.buttons.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["Approve once", "For this session", "Always", "Deny"]);
        assert!(asked.buttons.iter().all(|(_, data)| data.len() <= BUTTON_DATA_BYTES_MAX));
        let (a, b) = (life.agent("a"), life.agent("b"));
        let once = &asked.buttons[0].1;
        // Only the agent that asked knows it, and nobody knows what is made up.
        assert_eq!(life.out.find_button(&b, once).await, None);
        assert_eq!(life.out.find_button(&a, "made up").await, None);
        assert_eq!(life.out.find_button(&a, &"x".repeat(100)).await, None);
        let Some(Choice::Approval { id, answer }) = life.out.find_button(&a, once).await else {
            panic!("no choice");
        };
        assert_eq!(answer, ApprovalAnswer::Approve(ApprovalDuration::Once));
        let approvals = life.engine.approvals();
        let ann = approvals.answer(&a, &id, answer.clone(), &actor(&life, "ann")).await;
        assert!(matches!(ann, Err(AnswerError::NotAdmin(_))), "{ann:?}");
        approvals.answer(&a, &id, answer.clone(), &actor(&life, "root")).await.unwrap();
        fake.until(|seen| seen.iter().any(|it| it.text == "re: ran rm -rf build")).await;
        fake.until(|seen| seen[0].text.ends_with("Approved by `telegram:root`.")).await;
        assert_eq!(fake.seen()[0].buttons, []);
        assert!(!fake.seen()[0].text.contains("/approve"), "{}", fake.seen()[0].text);
        let again = approvals.answer(&a, &id, answer, &actor(&life, "root")).await;
        assert!(matches!(again, Err(AnswerError::NotWaiting(_))), "{again:?}");
        life.end().await;
    });
}

/// Storage at which one job takes long, and all others no time.
struct Slow {
    clock: Arc<dyn Clock>,
    jobs: AtomicUsize,
    slow: usize,
}

impl StorageExecutor for Slow {
    fn execute(&self, job: Job) {
        if self.jobs.fetch_add(1, Ordering::SeqCst) != self.slow {
            return job();
        }
        let clock = self.clock.clone();
        tokio::spawn(async move {
            clock.sleep(Duration::from_secs(10)).await;
            job();
        });
    }
}

#[test]
fn a_question_comes_through_whatever_is_being_shown_while_the_disk_is_slow() {
    let features = Features { text: TextLimit::Utf16(400), ..forgetful() };
    let run = |slow: usize| {
        let (files, fake) = (home(), Fake::new(features));
        in_a_life(async {
            let (mut world, _) = insula_testkit::auto_world(7);
            let storage =
                Arc::new(Slow { clock: world.clock.clone(), jobs: AtomicUsize::new(0), slow });
            world.storage = storage.clone();
            let life = Life::within(world, &files, &fake, AGENTS, Some(TOOLS)).await;
            life.say("a", "c1", "run rm -rf build").await;
            let is_question = |text: &str| text.contains("/approve");
            let asked = fake.until(|seen| seen.iter().any(|it| is_question(&it.text)));
            let asked = tokio::time::timeout(Duration::from_secs(600), asked).await;
            assert!(asked.is_ok(), "nothing goes on after job {slow}: {:#?}", fake.seen());
            life.end().await;
            storage.jobs.load(Ordering::SeqCst)
        })
    };
    let jobs = run(usize::MAX);
    for slow in 0..jobs {
        run(slow);
    }
}

#[test]
fn a_question_is_asked_once_whatever_crashes() {
    let features = Features { text: TextLimit::Utf16(400), ..forgetful() };
    let (files, fake) = (home(), Fake::new(features));
    in_a_life(async {
        let life = Life::with(&files, &fake, AGENTS, Some(TOOLS)).await;
        life.say("a", "c1", "run rm -rf build").await;
        fake.count(1).await;
        life.quiet("a").await;
    });
    in_a_life(async {
        let life = Life::with(&files, &fake, AGENTS, Some(TOOLS)).await;
        let a = life.agent("a");
        while life.engine.approvals().list(&a).await.unwrap().is_empty() {
            life.daemon.world().clock.sleep(std::time::Duration::from_millis(50)).await;
        }
        life.sleep(5).await;
        assert_eq!(fake.seen().len(), 1, "{:#?}", fake.seen());
        // The buttons from before still mean what they meant.
        let deny = fake.seen()[0].buttons[3].1.clone();
        let Some(Choice::Approval { id, answer }) = life.out.find_button(&a, &deny).await else {
            panic!("no choice");
        };
        life.engine.approvals().answer(&a, &id, answer, &actor(&life, "root")).await.unwrap();
        fake.until(|seen| seen[0].text.ends_with("Denied by `telegram:root`.")).await;
        fake.count(2).await;
        life.end().await;
    });
}

#[test]
fn a_question_with_answers_has_them_as_buttons_while_it_is_open() {
    let (files, fake) = (home(), Fake::new(forgetful()));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", "ask me").await;
        fake.count(1).await;
        life.quiet("a").await;
        let asked = fake.seen().remove(0);
        assert!(asked.text.starts_with("Which?\n1. red\n2. blue"), "{}", asked.text);
        assert!(asked.text.contains("reply with the number"), "{}", asked.text);
        let labels: Vec<_> = asked.buttons.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["red", "blue"]);
        let a = life.agent("a");
        let choice = life.out.find_button(&a, &asked.buttons[1].1).await;
        let Some(Choice::Reply { question, text, .. }) = choice else { panic!("{choice:?}") };
        assert_eq!(text, "blue");
        life.out.answered(&a, question, ("blue", &"telegram:43".into())).await;
        let now = fake.seen().remove(0);
        assert!(now.text.ends_with("Answer of `telegram:43`: blue"), "{now:?}");
        assert!(now.buttons.is_empty(), "{now:?}");
        // Once something else was said, it is no longer open.
        life.say("a", "c1", "say something else").await;
        fake.count(2).await;
        assert_eq!(life.out.find_button(&a, &asked.buttons[1].1).await, None);
        life.end().await;
    });
}

#[test]
fn without_buttons_the_text_says_how_to_answer() {
    let features = Features { has_buttons: false, ..forgetful() };
    let (files, fake) = (home(), Fake::new(features));
    in_a_life(async {
        let life = Life::begin(&files, &fake).await;
        life.say("a", "c1", "ask me").await;
        fake.count(1).await;
        let asked = fake.seen().remove(0);
        assert_eq!(asked.buttons, []);
        assert!(asked.text.contains("1. red") && asked.text.contains("reply with the number"));
        assert!(!asked.text.contains("button"), "{}", asked.text);
        life.end().await;
    });
}

#[test]
fn without_buttons_an_approval_speaks_of_none() {
    let features = Features { has_buttons: false, text: TextLimit::Utf16(400), ..forgetful() };
    let (files, fake) = (home(), Fake::new(features));
    in_a_life(async {
        let life = Life::with(&files, &fake, AGENTS, Some(TOOLS)).await;
        life.say("a", "c1", "run rm -rf build").await;
        fake.count(1).await;
        let asked = fake.seen().remove(0);
        assert!(asked.text.contains("/approve ") && !asked.text.contains("button"), "{asked:?}");
        life.end().await;
    });
}

#[test]
fn a_chat_reads_which_tools_are_used_until_the_reply_takes_the_place_of_that() {
    for features in [forgetful(), Features { can_edit: None, ..forgetful() }] {
        let (files, fake) = (home(), Fake::new(features));
        in_a_life(async {
            let life = Life::with(&files, &fake, AGENTS, Some(TOOLS)).await;
            life.say("a", "c1", "run sleep 30").await;
            let is_edited = features.can_edit.is_some();
            if is_edited {
                fake.count(1).await;
                let shown = fake.seen().remove(0);
                assert!(shown.text.starts_with("⚙ terminal"), "{shown:?}");
            }
            fake.until(|seen| seen.iter().any(|it| it.text.contains("ran sleep 30"))).await;
            life.quiet("a").await;
            assert_eq!(fake.seen().len(), 1, "{:#?}", fake.seen());
            life.end().await;
        });
    }
}
