//! Budgets from outside: a provider that says what it used, the real store, and time that
//! moves when told to.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use insula_domain::{AccountId, Address, AgentId, ChatId, ChatType, Label, Platform, UserId};
use insula_registry::RuntimeError;
use insula_store::Part;
use insula_testdaemon::{TestDaemon, introduce};
use insula_testkit::upstream::{Step, answer};
use insula_testkit::world::{Handles, world};
use insula_testkit::{Upstream, upstream};
use insula_turns::budget::report::{self, DaemonUsage};
use insula_turns::budget::{BudgetLevel, BudgetRefusal, Dimension};
use insula_turns::{Acknowledge, Engine, Inbound, SubmitError, TurnEnd, TurnEvent};
use insula_world::World;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What the provider says every call took: 1,200 tokens and, by the prices below, 2,000
/// millionths of a dollar.
const ANSWER: &str = r#"{"choices":[{"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}],
    "usage":{"prompt_tokens":1000,"completion_tokens":200}}"#;
const PRICES: &str = "prices: {up/one: {input: 1, output: 5}}\n";
const DAY: Duration = Duration::from_secs(86_400);

struct Fixture {
    files: insula_testkit::Home,
    world: World,
    handles: Handles,
    upstream: Upstream,
    /// Whether the provider breaks off instead of answering.
    broken: Arc<AtomicBool>,
    engine: Engine,
    daemon: TestDaemon,
}

/// What the last days used.
async fn usage(fixture: &Fixture, days: u32) -> Result<DaemonUsage, RuntimeError> {
    let (daemon, now) = (&fixture.daemon, fixture.world.clock.now());
    report::usage(&daemon.opened().parts.store, &daemon.snapshot(), (now, days)).await
}

/// Who says it where, and what becomes of it.
#[derive(Debug, PartialEq)]
enum Said {
    Replied,
    Refused(BudgetLevel, Dimension),
    Failed(String),
}
use Said::{Failed, Refused, Replied};

async fn open(files: &insula_testkit::Home, world: &World) -> (Engine, TestDaemon) {
    introduce(files, world).await;
    let daemon = TestDaemon::open(files, world).await;
    (daemon.engine(), daemon)
}

async fn fixture(config: &str) -> Fixture {
    let (world, handles) = world(7);
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = broken.clone();
    let script = move |_: &upstream::Seen, _: usize| {
        if is_broken.load(Ordering::SeqCst) {
            return vec![answer(400, &[], r#"{"error":{"message":"no"}}"#)];
        }
        vec![answer(200, &[("content-type", "application/json")], ANSWER), Step::Close]
    };
    let upstream = Upstream::start(&world, script).await.unwrap();
    // Few tools: what a prompt weighs must not grow with every tool there is.
    let provider = format!(
        "model: up/one\ndefaults: {{tools: minimal}}\nproviders: {{up: {{kind: openai, base_url: \"{}\"}}}}\n",
        upstream.url("/v1")
    );
    let config = provider + config;
    let files = insula_testkit::Home::with([("config.yaml", config.as_str())]).unwrap();
    let (engine, daemon) = open(&files, &world).await;
    Fixture { files, world, handles, upstream, broken, engine, daemon }
}

impl Fixture {
    async fn say(&self, agent: &str, who: &str, chat: &str) -> Said {
        let id = AgentId::new(agent).unwrap();
        let entry = &self.daemon.snapshot().agents[&id];
        let agent = entry.state.context().expect("the agent serves").clone();
        let address = Address {
            platform: Platform::API,
            account: AccountId::new("token").unwrap(),
            chat: ChatId::new(chat).unwrap(),
            chat_type: ChatType::Group,
            topic: None,
            parent: None,
            community: None,
            user: Some(UserId::new(who).unwrap()),
            roles: vec![],
        };
        let inbound = Inbound {
            origin: None,
            acknowledge: Acknowledge::AtOnce,
            session: agent.session_key(&address),
            scope: agent.scope(&address),
            label: Label::anyone(),
            principal: format!("api:{who}").into(),
            history: vec![],
            parts: vec![Part::Text("hello".to_owned())],
            idempotency: None,
            agent,
        };
        let refused = |refusal: &BudgetRefusal| Refused(refusal.level, refusal.dimension);
        let mut handle = match self.engine.submit(inbound).await {
            Ok(handle) => handle,
            Err(SubmitError::Budget(refusal)) => return refused(&refusal),
            Err(error) => panic!("{error}"),
        };
        loop {
            match handle.events.recv().await.expect("a turn ends") {
                TurnEvent::Ended(TurnEnd::Replied { .. }) => return Replied,
                TurnEvent::Ended(TurnEnd::OverBudget(refusal)) => return refused(&refusal),
                TurnEvent::Ended(TurnEnd::Failed { error }) => return Failed(error),
                _ => {}
            }
        }
    }

    /// The next process. `orderly` or not: nothing is told that the old one ends.
    async fn restart(self, orderly: bool) -> Self {
        let Self { files, world, handles, upstream, broken, engine, daemon } = self;
        if orderly {
            daemon.opened().parts.store.shutdown().await;
        }
        drop((engine, daemon));
        let (engine, daemon) = open(&files, &world).await;
        Self { files, world, handles, upstream, broken, engine, daemon }
    }
}

/// One level and dimension: the budget as written, and who is not concerned by it.
struct Case {
    config: &'static str,
    refused: Said,
    /// When it admits again.
    later: Duration,
    /// Another agent, another person, another chat: whether each still gets a reply.
    others: [bool; 3],
}

const AGENT: [bool; 3] = [true, false, false];
const PERSON: [bool; 3] = [true, true, false];
const CHAT: [bool; 3] = [true, false, true];
const DAEMON: [bool; 3] = [false, false, false];
const PERSON_ANYWHERE: [bool; 3] = [false, true, false];

#[tokio::test]
async fn every_level_and_dimension_refuses_by_name_leaves_others_alone_and_admits_again() {
    use BudgetLevel::{Agent, Context, Daemon, Principal};
    use Dimension::{TokensPerDay, TurnsPerMinute, UsdPerDay};
    let minute = Duration::from_secs(61);
    let case = |config, level, dimension, later, others| Case {
        config,
        refused: Refused(level, dimension),
        later,
        others,
    };
    let cases = [
        case(
            "agents: {a: {budget: {tokens_per_day: 1250}}, b: {}}",
            Agent,
            TokensPerDay,
            DAY,
            AGENT,
        ),
        case("agents: {a: {budget: {usd_per_day: 0.00205}}, b: {}}", Agent, UsdPerDay, DAY, AGENT),
        case(
            "agents: {a: {budget: {turns_per_minute: 1}}, b: {}}",
            Agent,
            TurnsPerMinute,
            minute,
            AGENT,
        ),
        case(
            "agents: {a: {budget: {per_user: {tokens_per_day: 1250}}}, b: {}}",
            Principal,
            TokensPerDay,
            DAY,
            PERSON,
        ),
        case(
            "agents: {a: {budget: {per_principal: {usd_per_day: 0.00205}}}, b: {}}",
            Principal,
            UsdPerDay,
            DAY,
            PERSON,
        ),
        case(
            "agents: {a: {budget: {per_user: {turns_per_minute: 1}}}, b: {}}",
            Principal,
            TurnsPerMinute,
            minute,
            PERSON,
        ),
        case(
            "agents: {a: {budget: {per_context: {tokens_per_day: 1250}}}, b: {}}",
            Context,
            TokensPerDay,
            DAY,
            CHAT,
        ),
        case(
            "agents: {a: {budget: {per_context: {usd_per_day: 0.00205}}}, b: {}}",
            Context,
            UsdPerDay,
            DAY,
            CHAT,
        ),
        case(
            "agents: {a: {budget: {per_context: {turns_per_minute: 1}}}, b: {}}",
            Context,
            TurnsPerMinute,
            minute,
            CHAT,
        ),
        case(
            "budget: {tokens_per_day: 1250}\nagents: {a: {}, b: {}}",
            Daemon,
            TokensPerDay,
            DAY,
            DAEMON,
        ),
        case(
            "budget: {usd_per_day: 0.00205}\nagents: {a: {}, b: {}}",
            Daemon,
            UsdPerDay,
            DAY,
            DAEMON,
        ),
        case(
            "budget: {turns_per_minute: 1}\nagents: {a: {}, b: {}}",
            Daemon,
            TurnsPerMinute,
            minute,
            DAEMON,
        ),
        case(
            "budget: {per_user: {tokens_per_day: 1250}}\nagents: {a: {}, b: {}}",
            Principal,
            TokensPerDay,
            DAY,
            PERSON_ANYWHERE,
        ),
        case(
            "budget: {per_user: {turns_per_minute: 1}}\nagents: {a: {}, b: {}}",
            Principal,
            TurnsPerMinute,
            minute,
            PERSON_ANYWHERE,
        ),
    ];
    for Case { config, refused, later, others } in cases {
        let fixture = fixture(&format!("{PRICES}{config}\n")).await;
        assert_eq!(fixture.say("a", "ann", "one").await, Replied, "{config}");
        assert_eq!(fixture.say("a", "ann", "one").await, refused, "{config}");
        let who = [("b", "ann", "one"), ("a", "bob", "one"), ("a", "ann", "two")];
        for ((agent, who, chat), goes_on) in who.into_iter().zip(others) {
            let said = fixture.say(agent, who, chat).await;
            assert_eq!(said == Replied, goes_on, "{config}: {agent} {who} {chat}: {said:?}");
        }
        fixture.handles.clock.advance(later).await;
        assert_eq!(fixture.say("a", "ann", "one").await, Replied, "{config}: later");
    }
}

#[tokio::test]
async fn a_restart_forgets_nothing_of_the_day_however_it_came() {
    let configs = [
        "budget: {tokens_per_day: 1250}\nagents: {a: {}, b: {}}",
        "budget: {per_user: {tokens_per_day: 1250}}\nagents: {a: {}, b: {}}",
        "agents: {a: {}, b: {budget: {tokens_per_day: 1250}}}",
        "agents: {a: {}, b: {budget: {per_user: {usd_per_day: 0.00205}}}}",
        "agents: {a: {}, b: {budget: {per_context: {tokens_per_day: 1250}}}}",
    ];
    for config in configs {
        for orderly in [true, false] {
            let fixture = fixture(&format!("{PRICES}{config}\n")).await;
            assert_eq!(fixture.say("b", "ann", "one").await, Replied, "{config}");
            let fixture = fixture.restart(orderly).await;
            // The daemon's sum is known although nobody has asked for agent `b` yet.
            let asked = if config.starts_with("budget") { "a" } else { "b" };
            let said = fixture.say(asked, "ann", "one").await;
            assert!(matches!(said, Refused(..)), "{config}, orderly: {orderly}: {said:?}");
            fixture.handles.clock.advance(DAY).await;
            assert_eq!(fixture.say(asked, "ann", "one").await, Replied, "{config}");
        }
    }
}

#[tokio::test]
async fn what_a_deleted_agent_used_stays_used() {
    for orderly in [true, false] {
        let config = "budget: {tokens_per_day: 1250}\nagents: {a: {}, b: {}}\n";
        let fixture = fixture(&format!("{PRICES}{config}")).await;
        assert_eq!(fixture.say("b", "ann", "one").await, Replied);
        let before = usage(&fixture, 1).await.unwrap().today.usage;
        let operator = insula_registry::Actor::CommandLine;
        fixture.daemon.delete(&AgentId::new("b").unwrap(), &operator).await.unwrap();
        let over = Refused(BudgetLevel::Daemon, Dimension::TokensPerDay);
        assert_eq!(fixture.say("a", "ann", "one").await, over);
        assert_eq!(usage(&fixture, 1).await.unwrap().today.usage, before);
        // What the next process knows is what this one knew.
        let fixture = fixture.restart(orderly).await;
        assert_eq!(fixture.say("a", "ann", "one").await, over, "orderly: {orderly}");
        let after = usage(&fixture, 1).await.unwrap().today.usage;
        assert_eq!(after, before, "orderly: {orderly}");
        fixture.handles.clock.advance(DAY).await;
        assert_eq!(fixture.say("a", "ann", "one").await, Replied);
    }
}

#[tokio::test]
async fn a_call_that_fails_gives_back_what_was_reserved() {
    let fixture = fixture("agents: {a: {tools: [todo], budget: {tokens_per_day: 1250}}}\n").await;
    fixture.broken.store(true, Ordering::SeqCst);
    for _ in 0..20 {
        assert!(matches!(fixture.say("a", "ann", "one").await, Failed(_)));
    }
    fixture.broken.store(false, Ordering::SeqCst);
    assert_eq!(fixture.say("a", "ann", "two").await, Replied);
    assert_eq!(fixture.upstream.seen().len(), 21);
}

#[tokio::test]
async fn who_is_refused_by_the_minute_leaves_nothing_behind() {
    let fixture = fixture("agents: {a: {budget: {turns_per_minute: 1}}}\n").await;
    fixture.say("a", "ann", "one").await;
    let store = fixture.daemon.store_of(&AgentId::new("a").unwrap());
    let before = store.sessions(None, 10).await.unwrap();
    assert!(matches!(fixture.say("a", "ann", "two").await, Refused(..)));
    assert_eq!(store.sessions(None, 10).await.unwrap(), before);
}

#[tokio::test]
async fn a_model_without_a_price_is_not_called_where_money_is_limited() {
    let fixture = fixture("agents: {a: {budget: {usd_per_day: 5}}, b: {}}\n").await;
    let said = fixture.say("a", "ann", "one").await;
    assert!(matches!(&said, Failed(error) if error.contains("`up/one` has no price")), "{said:?}");
    assert_eq!(fixture.upstream.seen().len(), 0);
    assert_eq!(fixture.say("b", "ann", "one").await, Replied);
}

#[tokio::test]
async fn a_limit_that_comes_with_a_reload_counts_what_was_used_before() {
    let fixture = fixture("agents: {a: {}}\n").await;
    assert_eq!(fixture.say("a", "ann", "one").await, Replied);
    let config = fixture.files.read("config.yaml").unwrap();
    for budget in ["budget: {tokens_per_day: 1250}", ""] {
        let new = config.replace("a: {}", &format!("a: {{{budget}}}"));
        fixture.files.write("config.yaml", &new).unwrap();
        fixture.daemon.reload(None, &insula_registry::Actor::Signal).await.unwrap();
        let said = fixture.say("a", "ann", "one").await;
        assert_eq!(said == Replied, budget.is_empty(), "{budget}: {said:?}");
    }
}

#[tokio::test]
async fn a_report_adds_up_what_the_journal_has() {
    let config =
        "budget: {usd_per_day: 1}\nagents: {a: {budget: {tokens_per_day: 9000}}, b: {}, c: {}}\n";
    let fixture = fixture(&format!("{PRICES}{config}")).await;
    fixture.say("a", "ann", "one").await;
    fixture.handles.clock.advance(DAY).await;
    fixture.say("a", "ann", "one").await;
    fixture.say("b", "bob", "two").await;
    for fixture in [fixture.restart(true).await] {
        let today = usage(&fixture, 1).await.unwrap();
        let figures = |id: &str, used: &insula_turns::budget::report::DaemonUsage| {
            let agent = &used.agents[&AgentId::new(id).unwrap()];
            (agent.total.turns, agent.total.usage.input, agent.today.turns)
        };
        assert_eq!(fixture.daemon.front().databases_open(), 0, "a report of today opens nothing");
        assert_eq!((figures("a", &today), figures("b", &today)), ((1, 1_000, 1), (1, 1_000, 1)));
        assert_eq!(today.agents.len(), 2, "agent `c` has neither used anything nor a budget");
        assert_eq!((today.total.turns, today.total.usage.cost_micros), (2, 4_000));
        let both = usage(&fixture, 2).await.unwrap();
        assert_eq!(figures("a", &both), (2, 2_000, 1));
        assert_eq!(both.total.usage.output, 600);
    }
}
