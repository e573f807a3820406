//! The ground an attempt stands on: one real daemon in a fresh home, its agents, and all that
//! stands around it: the puppets' model server, a fake Telegram, a server on the web.
//!
//! Everything here blocks: an attempt reads from top to bottom.

mod jobs;
pub mod look;
mod plan;
mod talk;

pub use plan::Plan;
pub use talk::Turn;

use crate::canary::Canary;
use crate::machine::{self, Answer};
use crate::puppet::Puppets;
use crate::stage::Stage;
use anyhow::{Context as _, Result, bail};
use insula_testkit::telegram::Telegram;
use insula_testkit::{Daemon, Home, Output, Upstream, run, run_with_input, try_run};
use serde_json::{Value, json};
use std::any::Any;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A token of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id, which is the account of conversations by it.
    pub id: String,
    /// What is shown.
    pub text: String,
}

/// One daemon and its surroundings. The daemon is killed and the home removed on drop.
pub struct Ground {
    stage: Stage,
    home: Home,
    /// A folder beside the home, for what is granted to agents: `{outside}` in a plan.
    pub outside: Home,
    daemon: Mutex<Option<Daemon>>,
    /// The models of all agents.
    pub puppets: Puppets,
    /// The platform, where the plan has bots.
    telegram: Option<Telegram>,
    /// A server on the web that answers everything with its own words, and keeps what it heard.
    pub web: Upstream,
    tokens: BTreeMap<String, Token>,
    canaries: Mutex<Vec<Canary>>,
    /// What only its own scene knows.
    own: Box<dyn Any + Send + Sync>,
}

/// What a program says it is, where it is a daemon that can be attacked.
pub fn version(insula: &Path) -> Result<String> {
    let nowhere = tempfile::tempdir()?;
    let said = try_run(insula, nowhere.path(), &["--version"])
        .with_context(|| format!("{} can't be started", insula.display()))?;
    let said = said.stdout.trim();
    if !said.starts_with("insula ") {
        bail!("{} is no insula: it does not answer `--version` as one", insula.display());
    }
    Ok(said.to_owned())
}

impl Ground {
    /// Makes the home, sets the secrets, starts the daemon, and makes a token for each agent.
    pub fn raise(stage: &Stage, plan: Plan) -> Result<Self> {
        let agents: Vec<String> = plan.agents.iter().map(|(id, _)| id.clone()).collect();
        let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
        Self::raise_without_tokens(stage, plan, &agents)
    }

    /// The same, with tokens for these agents only: others of the plan may be none.
    pub fn raise_without_tokens(stage: &Stage, plan: Plan, agents: &[&str]) -> Result<Self> {
        let (home, outside) = (Home::empty()?, Home::empty()?);
        machine::make_folder(&outside.path().join("shared"))?;
        let puppets = stage.runtime.block_on(Puppets::start(&stage.world))?;
        let page = plan.page.clone();
        let web = stage.runtime.block_on(Upstream::start(&stage.world, move |_, _| {
            vec![insula_testkit::upstream::answer(200, &[("content-type", "text/plain")], &page)]
        }))?;
        let telegram = if plan.bots.is_empty() {
            None
        } else {
            let telegram = stage.runtime.block_on(Telegram::start(&stage.world))?;
            for (token, name) in &plan.bots {
                telegram.bot(token, name);
                telegram.permit(token, true, true);
            }
            Some(telegram)
        };
        let places = plan::PlanAddresses {
            puppets: puppets.url(),
            telegram: telegram.as_ref().map(Telegram::url).unwrap_or_default(),
            web: web.url(""),
            home: machine::real(home.path())?.display().to_string(),
            outside: machine::real(outside.path())?.display().to_string(),
        };
        let filled = |text: &str| places.put_into(&stage.with_canaries(text));
        let config = filled(&plan.config(&places));
        home.write("config.yaml", &config)?;
        for (path, content) in &plan.files {
            home.write(path, filled(content))?;
        }
        for (agent, name, value) in &plan.secrets {
            let args: &[&str] = match agent {
                Some(agent) => &["secret", "set", agent, name],
                None => &["secret", "set", "--daemon", name],
            };
            let output =
                run_with_input(&stage.insula, home.path(), args, format!("{}\n", filled(value)));
            if output.code != Some(0) {
                bail!("a secret can't be set: {output:?}");
            }
        }
        let arguments: &[&str] = if plan.follows_edits { &[] } else { &["--no-watch"] };
        let daemon = Daemon::start_with(&stage.insula, home.path(), arguments)
            .with_context(|| format!("with this configuration:\n{config}"))?;
        let mut ground = Self {
            stage: stage.clone(),
            home,
            outside,
            daemon: Mutex::new(Some(daemon)),
            puppets,
            telegram,
            web,
            tokens: BTreeMap::new(),
            canaries: Mutex::default(),
            own: Box::new(()),
        };
        for agent in agents {
            let token = ground.mint(agent, &["chat"])?;
            ground.tokens.insert((*agent).to_owned(), token);
        }
        if ground.telegram.is_some() {
            ground.until_connected()?;
        }
        Ok(ground)
    }

    /// With things that only its own scene knows.
    #[must_use]
    pub fn with(mut self, own: impl Any + Send + Sync) -> Self {
        self.own = Box::new(own);
        self
    }

    /// The things that only its own scene knows.
    pub fn own<T: Any>(&self) -> Result<&T> {
        self.own.downcast_ref().context("the scene has no such things")
    }

    /// What this ground was raised with, for an attempt that needs another.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    fn daemon(&self) -> MutexGuard<'_, Option<Daemon>> {
        self.daemon.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the daemon listens.
    pub fn listen(&self) -> Result<SocketAddr> {
        self.daemon().as_ref().map(Daemon::listen).context("no daemon runs")
    }

    /// The daemon's process.
    pub fn pid(&self) -> Result<u32> {
        self.daemon().as_ref().map(Daemon::pid).context("no daemon runs")
    }

    /// All that the daemon has written to its outputs.
    pub fn log(&self) -> String {
        self.daemon().as_ref().map(Daemon::log).unwrap_or_default()
    }

    /// Ends the daemon by a signal.
    pub fn stop(&self) -> Result<()> {
        if let Some(daemon) = self.daemon().take() {
            daemon.terminate()?;
        }
        Ok(())
    }

    /// Ends the daemon as a power cut would.
    pub fn crash(&self) -> Result<()> {
        if let Some(daemon) = self.daemon().take() {
            daemon.kill9()?;
        }
        Ok(())
    }

    /// Starts it again after [`stop`](Self::stop) or [`crash`](Self::crash).
    pub fn start_again(&self) -> Result<()> {
        let started = Daemon::start_with(&self.stage.insula, self.home.path(), &["--no-watch"])?;
        *self.daemon() = Some(started);
        if self.telegram.is_some() {
            self.until_connected()?;
        }
        Ok(())
    }

    /// Runs a command in this home.
    pub fn cli(&self, args: &[&str]) -> Output {
        run(&self.stage.insula, self.home.path(), args)
    }

    /// The answer of a command that has to succeed.
    pub fn cli_json(&self, args: &[&str]) -> Result<Value> {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let output = self.cli(&args);
        if output.code != Some(0) {
            bail!("`insula {}` failed: {output:?}", args.join(" "));
        }
        Ok(serde_json::from_str(&output.stdout)?)
    }

    /// Makes a token for an agent.
    pub fn mint(&self, agent: &str, verbs: &[&str]) -> Result<Token> {
        self.mint_for(&[agent], verbs)
    }

    /// Makes a token for several agents.
    pub fn mint_for(&self, agents: &[&str], verbs: &[&str]) -> Result<Token> {
        let body = json!({ "agents": agents, "verbs": verbs });
        let made = self.admin("POST", "/api/tokens", &body)?;
        let text = |key: &str| made.json()[key].as_str().map(str::to_owned);
        match (text("id"), text("token")) {
            (Some(id), Some(text)) => Ok(Token { id, text }),
            _ => bail!("no token for {agents:?}: {made:?}"),
        }
    }

    /// The chat token of an agent.
    pub fn token(&self, agent: &str) -> Result<&Token> {
        self.tokens.get(agent).with_context(|| format!("`{agent}` is no agent of the plan"))
    }

    /// Calls the API with a token's text; null is no body.
    pub fn api(&self, token: &str, method: &str, path: &str, body: &Value) -> Result<Answer> {
        let bearer = format!("Authorization: Bearer {token}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [bearer.as_str(), "Content-Type: application/json"];
        machine::request(self.listen()?, method, path, &headers, &body)
    }

    /// Calls the API as the admin of all.
    pub fn admin(&self, method: &str, path: &str, body: &Value) -> Result<Answer> {
        self.api(&self.home.read("run/admin.token")?, method, path, body)
    }

    /// The platform.
    pub fn telegram(&self) -> Result<&Telegram> {
        self.telegram.as_ref().context("the plan has no bots")
    }

    /// Waits for something of the servers around, for as long as patience lasts.
    pub fn wait<T>(&self, what: &str, future: impl Future<Output = T>) -> Result<T> {
        let clock = self.stage.world.clock.clone();
        self.stage.runtime.block_on(async {
            tokio::select! {
                done = future => Ok(done),
                () = clock.sleep(machine::PATIENCE) => bail!("it never came to pass that {what}"),
            }
        })
    }

    /// Waits until every account is connected.
    fn until_connected(&self) -> Result<()> {
        machine::eventually("every account is connected", || {
            let status = self.admin("GET", "/api/status", &Value::Null)?.json();
            let accounts = status["accounts"].as_array().cloned().unwrap_or_default();
            let all = accounts.iter().all(|account| account["state"] == "connected");
            Ok((all && !accounts.is_empty()).then_some(()))
        })
    }

    /// A path in the home, without any link in it.
    pub fn path(&self, inside: &str) -> Result<PathBuf> {
        Ok(machine::real(self.home.path())?.join(inside))
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// A canary of somebody's that this ground remembers.
    pub fn canary(&self, owner: &str) -> Canary {
        let mut canaries = self.canaries.lock().unwrap_or_else(PoisonError::into_inner);
        let home = self.home.path().display().to_string();
        let number = canaries.len().to_string();
        let canary = Canary::new(owner, &self.stage.random(&["canary", &home, owner, &number]));
        canaries.push(canary.clone());
        canary
    }

    /// The canary that the plan planted under this name.
    pub fn planted(&self, name: &str) -> Canary {
        self.stage.planted(name)
    }

    /// Every canary planted so far.
    pub fn canaries(&self) -> Vec<Canary> {
        self.canaries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
