//! Everything a turn needs besides its agent.

use crate::approvals::Approvals;
use crate::blind::RefusedPictures;
use crate::budget::Budgets;
use crate::course::FailureCounts;
use crate::history::WindowCache;
use crate::host::Host;
use crate::messages::outputs_of;
use crate::redaction::Redaction;
use crate::subagents::Gauge;
use crate::tokens::text_tokens;
use crate::{compress, prompt};
use arc_swap::ArcSwap;
use insula_capabilities::static_models::StaticModels;
use insula_capabilities::{Capabilities, Opened};
use insula_config::DaemonConfig;
use insula_config::model::ModelRef;
use insula_models::{Chain, Link, RetryPolicy, ToolSchema, Transport};
use insula_registry::boards::Boards;
use insula_registry::context::AgentContext;
use insula_registry::forgotten::Forgotten;
use insula_registry::handoffs::Handoffs;
use insula_registry::jobs::Jobs;
use insula_registry::lives::Lives;
use insula_registry::providers;
use insula_registry::secrets::{DaemonKeys, SecretBook};
use insula_registry::trail::Trail;
use insula_registry::{Access, Environment, Registry};
use insula_store::Store;
use insula_tools::Tool;
use insula_world::World;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tools that any agent could have.
pub type Tools = &'static [&'static dyn Tool];

/// Everything a turn needs besides its agent.
pub(crate) struct Shop {
    pub(crate) world: World,
    env: Environment,
    pub(crate) store: Store,
    pub(crate) registry: Arc<Registry>,
    pub(crate) secrets: Arc<SecretBook>,
    pub(crate) access: Arc<Access>,
    pub(crate) trail: Trail,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) boards: Arc<Boards>,
    pub(crate) handoffs: Arc<Handoffs>,
    pub(crate) forgotten: Arc<Forgotten>,
    /// What the hands of tools are made of.
    pub(crate) caps: Capabilities,
    transport: Transport,
    /// The providers, and the configuration and secrets they were built from.
    providers: ArcSwap<Built>,
    /// Static models of embeddings.
    pub(crate) static_models: StaticModels,
    /// The tools that this engine runs.
    pub(crate) built: Tools,
    pub(crate) schemas: BTreeMap<Box<str>, ToolSchema>,
    pub(crate) preamble_text: Arc<str>,
    pub(crate) windows: WindowCache,
    pub(crate) refused_pictures: RefusedPictures,
    /// How many turns failed, by cause.
    pub(crate) failures: FailureCounts,
    pub(crate) budgets: Budgets,
    pub(crate) approvals: Approvals,
    /// Whom operators' notices go by.
    pub(crate) lives: Arc<Lives>,
    pub(crate) subagents: Gauge,
    /// Who runs turns of other agents.
    pub(crate) host: Arc<dyn Host>,
}

struct Built {
    from: Arc<DaemonConfig>,
    keys: Arc<DaemonKeys>,
    built: providers::Built,
}

impl Built {
    /// Where a model is asked; an error says why nowhere.
    fn link(&self, model: &ModelRef) -> Result<Link, String> {
        let (providers::Built { providers, unusable }, name) = (&self.built, &model.provider);
        if let Some(why) = unusable.get(name) {
            return Err(format!("provider `{name}` can't be used: {why}"));
        }
        let provider = providers.get(name).cloned().ok_or_else(|| {
            format!("provider `{name}` can't be used; give it a key under `providers.{name}` in config.yaml")
        })?;
        Ok(Link::new(provider, &*model.name))
    }
}

impl Shop {
    /// What turns of the agents of a home that is open need.
    pub(crate) fn new(
        opened: &Opened,
        transport: Transport,
        tools: Tools,
        host: Arc<dyn Host>,
    ) -> Self {
        let Opened { parts, capabilities: caps, .. } = opened;
        let schemas = tools.iter().filter_map(|tool| {
            // The tools' own tests parse every schema.
            let schema =
                ToolSchema::new(tool.name(), tool.description(), tool.parameters()).ok()?;
            Some((tool.name().into(), schema))
        });
        let from = parts.registry.snapshot().daemon.clone();
        let keys = parts.secrets.known().daemon().clone();
        let built = providers::Built::new(&parts.env, &from, &keys, &transport);
        Self {
            providers: ArcSwap::from_pointee(Built { from, keys, built }),
            budgets: Budgets::new(parts),
            approvals: Approvals::new(parts),
            lives: parts.lives.clone(),
            subagents: Gauge::default(),
            host,
            world: parts.world.clone(),
            env: parts.env.clone(),
            store: parts.store.clone(),
            registry: parts.registry.clone(),
            secrets: parts.secrets.clone(),
            access: parts.access.clone(),
            trail: parts.trail.clone(),
            jobs: parts.jobs.clone(),
            boards: parts.boards.clone(),
            handoffs: parts.handoffs.clone(),
            forgotten: parts.forgotten.clone(),
            caps: caps.clone(),
            transport,
            static_models: StaticModels::default(),
            built: tools,
            schemas: schemas.collect(),
            preamble_text: prompt::preamble_text(),
            windows: WindowCache::default(),
            refused_pictures: RefusedPictures::default(),
            failures: FailureCounts::default(),
        }
    }

    /// What keeps secrets out of a turn of `agent`, as they are now.
    pub(crate) fn redaction(&self, agent: &AgentContext) -> Redaction {
        Redaction::of(&agent.id, &self.secrets.known())
    }

    /// The providers of the configuration and the secrets that hold now, built anew when
    /// either changed.
    fn providers(&self) -> Arc<Built> {
        let from = self.registry.snapshot().daemon.clone();
        let built = self.providers.load_full();
        let keys = self.secrets.known().daemon().clone();
        if Arc::ptr_eq(&built.from, &from) && Arc::ptr_eq(&built.keys, &keys) {
            return built;
        }
        let providers = providers::Built::new(&self.env, &from, &keys, &self.transport);
        let built = Arc::new(Built { from, keys, built: providers });
        self.providers.store(built.clone());
        built
    }

    /// Where a model is asked for an agent: at a provider of its own, with its own secrets and
    /// nothing else, or at a shared one that it may use. `agent` is the generation that holds now.
    /// An error says what is missing and what to do. The one way to whatever costs somebody's key.
    pub(crate) fn link(&self, agent: &AgentContext, model: &ModelRef) -> Result<Link, String> {
        let (id, known) = (&agent.id, self.secrets.known());
        let asker: Arc<str> = format!("{id} {:x}", agent.store.incarnation()).into();
        if let Some(own) = agent.providers.link(model, id, &known, &self.transport) {
            return own.map(|link| link.asked_for(asker));
        }
        let (built, provider) = (self.providers(), &*model.provider);
        if !built.from.providers.admits(provider, id) {
            let what = insula_config::not_shared(provider, id.as_str());
            let help = insula_config::ways_to_have(provider, id.as_str());
            return Err(format!("{what}: {help}"));
        }
        built.link(model).map(|link| link.asked_for(asker))
    }

    /// The models of an agent, in order, of which the generation that holds now leaves it those
    /// it has too, where that is another. One that leads nowhere is passed over as one that fails
    /// would be; an error says why none of them leads anywhere.
    pub(crate) fn chain_under(
        &self,
        agent: &AgentContext,
        now: Option<&AgentContext>,
    ) -> Result<Chain, String> {
        self.chain_from(None, agent, now)
    }

    /// The same with a model in front that somebody chose.
    pub(crate) fn chain_from(
        &self,
        chosen: Option<&ModelRef>,
        agent: &AgentContext,
        now: Option<&AgentContext>,
    ) -> Result<Chain, String> {
        let holds = now.unwrap_or(agent);
        let is_left = |model: &&ModelRef| now.is_none_or(|now| now.leaves(agent, model));
        let (mut links, mut nowhere) = (Vec::new(), Vec::new());
        let others = agent.models.models.iter().filter(|it| Some(*it) != chosen);
        for model in chosen.into_iter().chain(others).filter(is_left) {
            match self.link(holds, model) {
                Ok(link) => links.push(link),
                Err(why) => nowhere.push(why),
            }
        }
        let mut links = links.into_iter();
        match links.next() {
            Some(first) => Ok(Chain::new(first, links.collect(), RetryPolicy::default())),
            None if nowhere.is_empty() => Err(format!(
                "agent `{}` may not use the model any more that this turn began with",
                agent.id
            )),
            None => Err(nowhere.join("; ")),
        }
    }

    /// Where a model is asked for pictures, and the address of its provider, where one was
    /// written; an error says why nowhere. `agent` is the generation that holds now.
    pub(crate) fn maker(
        &self,
        agent: &AgentContext,
        model: &ModelRef,
    ) -> Result<(Link, Option<Box<str>>), String> {
        let link = self.link(agent, model)?;
        let shared = self.providers();
        let shared = || shared.from.providers.configured.get(&model.provider);
        let written = agent.providers.get(&model.provider).or_else(shared);
        Ok((link, written.and_then(|it| it.base_url.clone())))
    }

    /// How large the history of an agent's conversations may get, in tokens: what its smallest
    /// model can be shown beside the fixed part.
    pub(crate) async fn history_tokens(
        &self,
        agent: &AgentContext,
        chain: &Chain,
        tools: &[ToolSchema],
    ) -> usize {
        let mut window = u32::MAX;
        for link in chain.links() {
            window = window.min(link.abilities().await.window);
        }
        let schemas: usize = tools.iter().map(ToolSchema::size).sum();
        let told = agent.identity.instructions.as_ref().map_or(0, |it| text_tokens(&it.text));
        let fixed =
            text_tokens(&agent.identity.soul.text) + told + text_tokens(&self.preamble_text);
        compress::limit(window, fixed + schemas / 4)
    }

    /// The tools the model is shown: those the table exposes and this version runs.
    pub(crate) fn tools(&self, agent: &AgentContext) -> Arc<[ToolSchema]> {
        agent.toolbox.shown(agent.tools(), &self.schemas)
    }

    /// The same with what was found in this conversation, where tools are held back.
    pub(crate) fn tools_in(
        &self,
        agent: &AgentContext,
        history: &[insula_store::Message],
    ) -> Arc<[ToolSchema]> {
        let shown = self.tools(agent);
        if !agent.toolbox.holds_back() {
            return shown;
        }
        let results = outputs_of(history, "tool_search");
        agent.toolbox.shown_with(shown, results.into_iter().flat_map(insula_tools::found))
    }
}
