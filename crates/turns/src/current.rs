//! What a turn may still do: the narrower of the generation it began under and the one that
//! holds now. The one place that says so, whether a turn begins, runs, waits, or is a child's.
//!
//! Where nothing changed that is a comparison of pointers. Where something did, a call has to be
//! allowed by both. What the two grant is not merged: an axis on which the agent has less than the
//! turn began with is closed to the turn.

use crate::admitted::As;
use crate::course::TurnFailure;
use crate::facts::{CallFacts, Surroundings};
use crate::gate::Denial;
use crate::shop::Shop;
use crate::turn::{Broken, Turn, TurnContext};
use insula_capabilities::Capabilities;
use insula_capabilities::programs::Given;
use insula_domain::Actor;
use insula_domain::FailureCause;
use insula_domain::{Axis, Budget, Effect, Narrowing, ToolVerdict};
use insula_registry::access::Access;
use insula_registry::context::{AgentContext, Whereabouts};
use insula_registry::registry::AgentState;
use insula_registry::signal::Changes;
use insula_store::StoreError;
use insula_tools::ToolRef;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Effects that a program has, whatever else its tool declares.
const PROGRAMS: &[Effect] = &[Effect::RunProgram, Effect::RunCode];
const FILES: &[Effect] =
    &[Effect::ReadFiles, Effect::WriteFiles, Effect::RunProgram, Effect::RunCode, Effect::Media];
const NETWORK: &[Effect] = &[Effect::Network, Effect::RunProgram, Effect::RunCode, Effect::Media];
const MEMORY: &[Effect] = &[Effect::Recall, Effect::Remember, Effect::ReadHistory];
const SKILLS: &[Effect] = &[Effect::ReadSkills, Effect::ChangeSelf];

/// How every reason ends that a turn lost its ground for.
const NOTHING_MORE: &str = "so nothing more was done";

/// Whether a turn ended for such a reason.
pub(crate) fn was_taken_away(error: &str) -> bool {
    error.ends_with(NOTHING_MORE)
}

/// Why a turn can't go on.
pub(crate) enum Lost {
    /// Something a person should read.
    Said(String),
    /// It could not be found out.
    Store(StoreError),
}

impl From<StoreError> for Lost {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Lost> for Broken {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Said(why) => Self::Said(TurnFailure::new(FailureCause::TakenAway, why)),
            Lost::Store(error) => Self::Store(error),
        }
    }
}

/// The generation of an agent that holds now; why it serves nobody, where it does not.
fn newest(access: &Access, agent: &AgentContext) -> Result<Arc<AgentContext>, Lost> {
    let snapshot = access.snapshot();
    let state = snapshot.agents.get(&agent.id).map(|entry| &entry.state);
    let why = match state {
        Some(AgentState::Ready(now)) => return Ok(now.clone()),
        Some(state) => state.reason().unwrap_or_default(),
        None => "it is not configured any more".into(),
    };
    Err(Lost::Said(format!("agent `{}` does not serve any more ({why}), {NOTHING_MORE}", agent.id)))
}

impl TurnContext {
    /// The generation that holds now, where it is another than the turn's own; or why the turn
    /// can't go on.
    pub(crate) async fn still(&self, access: &Access) -> Result<Option<Arc<AgentContext>>, Lost> {
        let now = newest(access, &self.agent)?;
        let known = self.admitted.get();
        if !known.as_ref().is_some_and(|known| known.holds(access, &now)) {
            let holds = As::now(access, &now, &self.from.address);
            self.may_talk(access, &now, known.as_ref()).await?;
            self.is_here(&holds, known.as_ref())?;
            self.admitted.put(holds);
        }
        let ways = self.from.ways(access, &now.id);
        if std::ptr::eq(&*now, self.agent.root()) && *ways == *self.agent.ways() {
            return Ok(None);
        }
        now.through(&ways).map(Some).map_err(|why| Lost::Said(format!("{why}, {NOTHING_MORE}")))
    }

    /// Whether who began it may talk to the agent as it is now.
    async fn may_talk(
        &self,
        access: &Access,
        now: &Arc<AgentContext>,
        known: Option<&As>,
    ) -> Result<(), Lost> {
        // What a token allows is no part of a generation.
        let is_same = known.is_some_and(|known| known.version.tokens == access.version().tokens);
        if is_same && matches!(self.principal, Actor::Token(_)) {
            return Ok(());
        }
        if access.may_talk(now, &self.principal, &self.from.address).await? {
            return Ok(());
        }
        Err(Lost::Said(format!(
            "who asked may not talk to agent `{}` any more, {NOTHING_MORE}",
            self.agent.id
        )))
    }

    /// Whether the chat it was asked in is still the agent's.
    fn is_here(&self, now: &As, known: Option<&As>) -> Result<(), Lost> {
        let leads = known.is_none_or(|known| known.led.still_leads(&now.led, &self.agent.id));
        if !self.principal.is_led() || leads {
            return Ok(());
        }
        Err(Lost::Said(format!(
            "this chat was taken from agent `{}`, {NOTHING_MORE}",
            self.agent.id
        )))
    }

    /// Puts a turn that was accepted a while ago under the generation that holds now; `settled`
    /// is the one it would have.
    pub(super) async fn begin_now(
        &mut self,
        (access, caps): (&Access, &Capabilities),
        settled: Arc<AgentContext>,
    ) -> Result<(), Lost> {
        let now = newest(access, &settled)?;
        if !Arc::ptr_eq(&now, &self.agent) {
            let (job, terms) = (self.from.job.take(), self.from.terms.take());
            self.from = Whereabouts { job, terms, ..now.scope(&self.from.address) };
            self.files = self.from.files(&now, (&self.key, self.session), &caps.world);
            self.scope = caps.written_scope(&now, &self.from, &self.key).await;
        }
        self.agent = now
            .through(&self.from.ways(access, &now.id))
            .map_err(|why| Lost::Said(format!("{why}, {NOTHING_MORE}")))?;
        self.still(access).await.map(drop)
    }
}

/// Ends a turn that runs as soon as it may not go on.
pub(super) async fn watch(shop: &Shop, cx: &TurnContext, mut changes: Changes) {
    loop {
        changes.changed().await;
        let lost = match cx.still(&shop.access).await {
            Ok(now) => shop.chain_under(&cx.agent, now.as_deref()).err(),
            Err(Lost::Said(why)) => Some(why),
            Err(Lost::Store(error)) => Some(error.to_string()),
        };
        if let Some(why) = lost {
            return cx.live.give_up(why);
        }
    }
}

impl Turn<'_> {
    /// Looks what holds now, and notes it.
    pub(super) async fn still(&mut self) -> Result<(), Broken> {
        let now = self.cx.still(&self.shop.access).await?;
        // What is the same is kept: what was judged under it holds on.
        let is_same = |before: &Arc<AgentContext>, now: &Arc<AgentContext>| {
            std::ptr::eq(before.root(), now.root()) && before.ways() == now.ways()
        };
        self.now = match (self.now.take(), now) {
            (Some(before), Some(now)) if is_same(&before, &now) => Some(before),
            (_, now) => now,
        };
        Ok(())
    }

    /// The ways in by which the turn was asked for whose spending is counted: as it began, and
    /// as they are now.
    pub(super) fn ways(&self) -> Vec<Arc<Narrowing>> {
        let own = self.cx.agent.ways().iter().cloned();
        let now = self.now.iter().flat_map(|now| now.ways().iter().cloned());
        own.chain(now).collect()
    }

    /// The generation that holds at this moment, where it is another than the turn's own, for a
    /// hand that asks a provider in the middle of a call; or why the turn can't go on.
    pub(super) async fn holds_now(&self) -> Result<Option<Arc<AgentContext>>, String> {
        match self.cx.still(&self.shop.access).await {
            Ok(now) => Ok(now),
            Err(Lost::Said(why)) => Err(why),
            Err(Lost::Store(error)) => Err(error.to_string()),
        }
    }

    /// What the turn may spend: the narrower of both.
    pub(super) fn budget(&self) -> Budget {
        let own = self.cx.agent.boundary.budget;
        self.now.as_ref().map_or(own, |now| own.narrowed(&now.boundary.budget))
    }

    /// Waits until a call that is under way is not allowed any more, by whatever changed since
    /// `changes` was last looked at.
    pub(super) async fn taken_away(
        &self,
        mut changes: Changes,
        (tool, arguments): (&ToolRef, &Value),
        (given, variables): (Option<Given>, &BTreeSet<Box<str>>),
        around: &(dyn Surroundings + Sync),
    ) -> Denial {
        loop {
            changes.changed().await;
            // Whoever watches the turn ends it where it can't go on at all.
            if let Ok(Some(now)) = self.cx.still(&self.shop.access).await
                && let Err(denial) = permits(&self.cx.agent, &now, (tool, arguments), around)
            {
                return denial;
            }
            // A program keeps the secrets it was given, so it ends with them.
            if let Some(given) = &given
                && *given != Given::now(&self.cx.agent, variables).await
            {
                return Denial::Changed { name: tool.name().to_owned(), what: "secrets" };
            }
        }
    }
}

/// Whether the generation that holds now allows a call that the turn's own allows.
pub(super) fn permits(
    own: &AgentContext,
    now: &AgentContext,
    (tool, arguments): (&ToolRef, &Value),
    around: &dyn Surroundings,
) -> Result<(), Denial> {
    let name = tool.name();
    if let ToolVerdict::Out(rule) = now.tools().verdict(name) {
        return Err(Denial::NotExposed { name: name.to_owned(), rule });
    }
    if matches!(tool, ToolRef::Own(_)) && now.toolbox.find(name).is_none() {
        return Err(Denial::NotBuilt { name: name.to_owned() });
    }
    let call = CallFacts::new(arguments, around);
    if let Err(refused) = now.boundary.rules.admit(name, &call) {
        return Err(Denial::Rule { name: name.to_owned(), refused });
    }
    match less(own, now, name, arguments) {
        Some(what) => Err(Denial::Changed { name: name.to_owned(), what }),
        None => Ok(()),
    }
}

/// Whether a tool starts programs.
pub(super) fn runs_programs(tool: &ToolRef) -> bool {
    let effects = insula_domain::tool::find(tool.name()).map_or(&[][..], |tool| tool.effects);
    effects.iter().any(|effect| PROGRAMS.contains(effect))
}

/// What an agent has less of than the generation that a call would be made under, of all that
/// the call touches.
fn less(
    own: &AgentContext,
    now: &AgentContext,
    name: &str,
    arguments: &Value,
) -> Option<&'static str> {
    let effects = insula_domain::tool::find(name).map_or(&[][..], |tool| tool.effects);
    let touches = |among: &[Effect]| effects.iter().any(|effect| among.contains(effect));
    let concerns = |axis: &Axis| match axis {
        Axis::Isolation => touches(PROGRAMS),
        Axis::Files => touches(FILES),
        Axis::Network | Axis::Secrets => touches(NETWORK),
        Axis::Spawn => touches(&[Effect::Delegate]),
        Axis::Send => touches(&[Effect::Send]),
        // Judged for themselves, and to the letter.
        Axis::Tools | Axis::Budget | Axis::Approvals => false,
    };
    if let Some(axis) = own.boundary.beyond(&now.boundary).find(concerns) {
        return Some(axis.as_str());
    }
    let root = own.root();
    let is_gone = |name: &str| root.skills.get(name).is_some() && now.skills.get(name).is_none();
    let differs = [
        ("sandbox", touches(PROGRAMS) && root.programs != now.programs),
        ("workspace", touches(FILES) && root.workspace.path != now.workspace.path),
        ("memory", touches(MEMORY) && !remembers_alike(root, now)),
        ("web", name == "web_search" && root.search != now.search),
        ("images", name == "image_generate" && root.images != now.images),
        (
            "skills",
            touches(SKILLS) && arguments.get("name").and_then(Value::as_str).is_some_and(is_gone),
        ),
    ];
    differs.into_iter().find(|(_, differs)| *differs).map(|(what, _)| what)
}

/// Whether two generations remember the same in the same places.
fn remembers_alike(own: &AgentContext, now: &AgentContext) -> bool {
    let written = |agent: &AgentContext| -> Vec<(Box<str>, Value)> {
        let settings = agent.config.settings.iter();
        let memory = settings.filter(|it| &*it.path == "memory" || it.path.starts_with("memory."));
        memory.map(|it| (it.path.clone(), it.value.clone())).collect()
    };
    own.memory.is_some() == now.memory.is_some()
        && own.conversations == now.conversations
        && written(own) == written(now)
}
