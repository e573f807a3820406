//! One run: a daemon over a home in memory, a world whose time stands still until the trace moves
//! it, and a trace that is played step by step. Each step of the agent that is watched begins when
//! everything waits, and whatever others do runs beside it.

use super::act;
use super::cast::{self, WATCHED};
use super::clock::{SteppedClock, quiet};
use super::disk::Ground;
use super::looks;
use super::observe::Observed;
use super::pages::{self, Pages, ToGateway};
use super::platform::Accounts;
use super::scripted::{self, Holding, TOOLS};
use super::stranger::Strangers;
use super::trace::{Other, Plan, Step, Variation};
use anyhow::{Context as _, Result, anyhow};
use axum::Router;
use insula_adapters::Makers;
use insula_api::{Api, LocalOwner};
use insula_capabilities::Capabilities;
use insula_channel::AccountSettings;
use insula_domain::{AccountId, AgentId, Platform};
use insula_gateway::Intake;
use insula_http::{AdminToken, Platforms, Server};
use insula_models::Transport;
use insula_owner::Messaging;
use insula_registry::daemon::Purpose;
use insula_registry::events::AgentEvent;
use insula_registry::{Actor, Daemon, Front, Home, Parts, Registry};
use insula_testkit::world::{InlineStorage, MemoryNetwork, ScriptedProcesses};
use insula_turns::Engine;
use insula_world::{Random, World};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What passes between two steps.
const STEP_MS: u64 = 250;
/// What passes after the last one, so that whatever waits for something has given up.
const END_MS: u64 = 400_000;

/// One run.
pub struct Stage {
    pub(super) ground: Arc<Ground>,
    pub(super) observed: Arc<Observed>,
    pub(super) holding: Arc<Holding>,
    pub(super) others: Mutex<Vec<Other>>,
    /// How many events each account had.
    pub(super) events: Mutex<BTreeMap<String, u64>>,
    /// The token of each agent that has one, by agent.
    pub(super) tokens: Mutex<BTreeMap<String, String>>,
    /// Whether the agent that is watched has the common room.
    pub(super) is_host: AtomicBool,
    pub(super) plan: Plan,
    variation: Variation,
    clock: Arc<SteppedClock>,
    world: World,
    accounts: Arc<Accounts>,
}

/// A daemon that is open.
#[derive(Clone)]
pub struct Open {
    pub(super) daemon: Arc<Daemon>,
    pub(super) parts: Parts,
    pub(super) engine: Engine,
    pub(super) way: Intake,
    pub(super) router: Router,
    pub(super) pages: Pages,
    pub(super) admin: AdminToken,
    stop: CancellationToken,
}

/// Plays `plan` beside `variation`; all that was seen of the agent that is watched.
pub fn play(ground: &Arc<Ground>, plan: &Plan, variation: &Variation) -> Result<Arc<Observed>> {
    ground.clear()?;
    let stage = Arc::new(Stage::new(ground.clone(), plan.clone(), variation.clone()));
    stage.move_in()?;
    let mut at = 0;
    while at <= plan.steps.len() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()?;
        // What still runs at its end is gone with the runtime, as with a process.
        at = runtime.block_on(stage.live(at))?;
    }
    ground.read(&stage.observed)?;
    Ok(stage.observed.clone())
}

impl Stage {
    fn new(ground: Arc<Ground>, plan: Plan, variation: Variation) -> Self {
        let clock = Arc::new(SteppedClock::default());
        let network = MemoryNetwork::default();
        network.name("site.test", [std::net::IpAddr::from([93, 184, 216, 34])]);
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&plan.seed.to_le_bytes());
        let world = World {
            clock: clock.clone(),
            random: Random::from_seed(seed),
            storage: Arc::new(InlineStorage),
            processes: Arc::new(ScriptedProcesses::default()),
            network: Arc::new(network),
        };
        let observed = Arc::new(Observed::default());
        Self {
            ground,
            accounts: Accounts::new(&observed),
            observed,
            holding: Arc::default(),
            others: Mutex::new(variation.others.clone()),
            events: Mutex::default(),
            tokens: Mutex::default(),
            is_host: AtomicBool::new(false),
            plan,
            variation,
            clock,
            world,
        }
    }

    pub(super) fn others(&self) -> MutexGuard<'_, Vec<Other>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at all that the agent that is watched shows.
    pub(super) async fn look(&self, open: &Open) -> String {
        let token = self.tokens().get(WATCHED).cloned().unwrap_or_default();
        looks::look(&self.observed, &open.router, (&token, open.admin.reveal())).await
    }

    fn move_in(&self) -> Result<()> {
        self.write_agent(WATCHED, self.plan.version)?;
        for other in self.variation.others.iter().filter(|other| other.is_there) {
            if !other.is_in_shared_file {
                self.write_agent(&other.id, other.version)?;
            }
        }
        self.write_shared()
    }

    /// Writes `config.yaml` with all who are there.
    pub(super) fn write_shared(&self) -> Result<()> {
        let others = self.others().clone();
        let there: Vec<&Other> = others.iter().filter(|other| other.is_there).collect();
        // It is the first other's until it is given to the one that is watched.
        let host = match self.is_host.load(Ordering::Relaxed) {
            true => Some(WATCHED),
            false => there.first().map(|other| other.id.as_str()),
        };
        self.ground.write("config.yaml", &cast::shared_file(&there, host))
    }

    /// Writes an agent's own files.
    pub(super) fn write_agent(&self, id: &str, version: u8) -> Result<()> {
        let mut file = cast::agent_file(id, version);
        if self.plan.is_steered {
            file = cast::steered(&file, self.plan.seed);
        }
        self.ground.write(&format!("agents/{id}/agent.yaml"), &file)?;
        self.ground.write(&format!("agents/{id}/skills/gardening/SKILL.md"), &cast::skill(id))
    }

    /// One life of the daemon, from the step of this number on; where the next one begins.
    async fn live(self: &Arc<Self>, from: usize) -> Result<usize> {
        let open = self.open().await.context("the daemon does not open")?;
        if from == 0 {
            act::make_token(self, &open).await?;
        }
        quiet().await;
        for number in from..self.plan.steps.len() {
            self.beside(&open, number).await;
            match &self.plan.steps[number] {
                Step::Crash => return Ok(number + 1),
                Step::Restart => {
                    self.close(&open).await;
                    return Ok(number + 1);
                }
                Step::Wait(ms) => self.clock.advance(Duration::from_millis(*ms)).await,
                Step::Release => {
                    self.release().await;
                    self.observed.note("step", format!("{number}: released"));
                }
                step => self.begin(&open, number, step.clone()),
            }
            quiet().await;
            self.clock.advance(Duration::from_millis(STEP_MS)).await;
        }
        self.release().await;
        self.clock.advance(Duration::from_millis(END_MS)).await;
        let seen = self.look(&open).await;
        self.observed.note("step", format!("at the end: {seen}"));
        self.close(&open).await;
        Ok(self.plan.steps.len() + 1)
    }

    async fn open(&self) -> Result<Open> {
        let strangers = Strangers::of(&self.plan);
        scripted::start(&self.world, &self.observed, &self.holding, strangers).await?;
        let home = Home::new(self.ground.home());
        home.prepare().map_err(|error| anyhow!(error.reason()))?;
        let lock = home.try_lock().map_err(|error| anyhow!(error.reason()))?;
        let lock = lock.ok_or_else(|| anyhow!("the last daemon still has its lock"))?;
        let world = self.world.clone();
        let transport = Transport::new(&world, &[])?;
        let env = BTreeMap::new();
        let opened = Capabilities::open(home, lock, world.clone(), env, Purpose::Serve).await;
        let opened = opened.map_err(|error| anyhow!(error.reason()))?;
        let makers = Arc::new(Makers::new(world.clone(), transport.clone()));
        let engine = Engine::with_tools(&opened, transport, TOOLS);
        self.follow(&opened.parts.registry)?;
        engine.resume().await?;
        let site = AccountSettings::new(Platform::WEB, AccountId::new(pages::ACCOUNT)?, []);
        let rooms = makers.webchats().make(&site);
        self.accounts.open_web(&rooms);
        let stop = CancellationToken::new();
        let messaging = Messaging::new(&opened, engine.clone(), self.accounts.clone());
        let api = Api::new(&opened, Some(engine.clone()));
        let owner = LocalOwner::new(api, Some(messaging.clone()));
        let way = Intake::new(Front::of(&opened.parts), owner.clone());
        way.resume().await.map_err(|error| anyhow!("{error:?}"))?;
        let told = stop.clone();
        tokio::spawn(async move { messaging.run(told).await });
        let (inbox, told) = (ToGateway(way.clone()), stop.clone());
        tokio::spawn(async move { rooms.listen(&inbox, &told).await });
        let admin = AdminToken::generate(&world);
        let mut server = Server::new(&opened, owner, admin.clone());
        server.platforms = Platforms { gateway: None, makers: Some(makers) };
        let router = insula_http::router(server);
        let pages = Pages::serve(router.clone());
        Ok(Open {
            daemon: opened.daemon,
            parts: opened.parts,
            engine,
            way,
            router,
            pages,
            admin,
            stop,
        })
    }

    /// Notes what happens to the agent that is watched, as whoever follows it hears it.
    fn follow(&self, registry: &Registry) -> Result<()> {
        let mut events = registry.hub.listen(&AgentId::new(WATCHED)?);
        let observed = self.observed.clone();
        tokio::spawn(async move {
            while let Ok(event) = events.recv().await {
                let stream = match &*event {
                    AgentEvent::Turn { turn, .. } => format!("turn:{turn}"),
                    AgentEvent::Work(_) => "work".to_owned(),
                    AgentEvent::Health { .. } => "health".to_owned(),
                };
                observed.note(&stream, event.to_string());
            }
        });
        Ok(())
    }

    async fn close(&self, open: &Open) {
        open.stop.cancel();
        quiet().await;
        // A daemon that does not close in order is one that crashed.
        let _ = open.daemon.close().await;
    }

    /// Begins what others do beside the step of this number.
    async fn beside(self: &Arc<Self>, open: &Open, number: usize) {
        for aside in self.variation.asides.iter().filter(|aside| aside.before == number) {
            let (stage, open, aside_step) = (self.clone(), open.clone(), aside.step.clone());
            let who = aside.who;
            let doing =
                async move { drop(act::perform_other(&stage, &open, who, aside_step).await) };
            let left = aside.cut_after.map_or(u32::MAX, u32::from);
            tokio::spawn(CutOff { doing: Box::pin(doing), left });
            for _ in 0..aside.yields {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Lets the models of the agent that is watched go on, one after the other: in which order its
    /// own conversations do what they do in the same moment is promised to nobody.
    async fn release(&self) {
        for word in self.holding.take(WATCHED) {
            word.notify_one();
            quiet().await;
        }
    }

    /// Begins a step of the agent that is watched; what came of it is noted when it is done.
    fn begin(self: &Arc<Self>, open: &Open, number: usize, step: Step) {
        let (stage, open) = (self.clone(), open.clone());
        tokio::spawn(async move {
            let came = act::perform(&stage, &open, WATCHED, &step).await;
            stage.observed.note("step", format!("{number}: {came}"));
        });
    }
}

/// Work that whoever asked for it leaves after so many polls.
struct CutOff {
    doing: Pin<Box<dyn Future<Output = ()> + Send>>,
    left: u32,
}

impl Future for CutOff {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.left == 0 {
            return Poll::Ready(());
        }
        self.left -= 1;
        self.doing.as_mut().poll(cx)
    }
}

/// What an operator does.
pub(super) const OPERATOR: Actor = Actor::CommandLine;
