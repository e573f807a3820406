//! What hooks make of a message before anybody answers it: let it through, leave it out, write
//! it anew, or send it to another agent that it could have gone to.

use super::Ingress;
use crate::adapter::NotTaken;
use crate::envelope::{Envelope, Happening};
use insula_capabilities::hooks::{self, Action, Decision, Go, Occasion};
use insula_config::hook::HookOwner;
use insula_domain::Actor;
use insula_domain::hook::HookEvent;
use insula_domain::{Address, AgentId};
use insula_registry::{AgentContext, Snapshot, State};
use insula_store::SessionId;
use serde_json::json;
use std::sync::Arc;

/// What becomes of a message.
#[expect(clippy::large_enum_variant, reason = "most are the large one, for a moment")]
pub(super) enum Dispatched {
    /// This agent gets it, as it reads now.
    Go(Arc<AgentContext>, Envelope),
    /// Nobody does.
    Stop,
}

/// The hooks that a message passes: those of the daemon, those for routes, and the agent's own.
const STATIONS: [(HookEvent, Option<HookOwner>); 3] = [
    (HookEvent::PreGatewayDispatch, Some(HookOwner::Daemon)),
    (HookEvent::RouteSelect, None),
    (HookEvent::PreGatewayDispatch, Some(HookOwner::Agent)),
];

/// Whether an agent has hooks that are asked about messages.
pub(super) fn is_asked(agent: &AgentContext) -> bool {
    STATIONS.iter().any(|(event, _)| agent.hooks.has(*event))
}

impl Ingress {
    /// Asks the hooks about something said. An event that was an agent's before stays its own,
    /// whatever they say about its way.
    pub(super) async fn dispatch(
        &self,
        snapshot: &Snapshot,
        mut agent: Arc<AgentContext>,
        mut envelope: Envelope,
        is_repeat: bool,
    ) -> Result<Dispatched, NotTaken> {
        let Happening::Said(message) = &envelope.what else {
            return Ok(Dispatched::Go(agent, envelope));
        };
        let reserved = agent.id.clone();
        // Hooks read all of it; only what they change is theirs.
        let before = message.words.all();
        let mut text = before.clone();
        let mut station = 0;
        let mut moved = 0;
        while let Some((event, owner)) = STATIONS.get(station).copied() {
            let decision = self.ask(&agent, (event, owner), &envelope, &text).await;
            let Decision::Go(Go { text: new, action, .. }) = decision else {
                return Ok(Dispatched::Stop);
            };
            text = new.unwrap_or(text);
            station += 1;
            match action {
                Some(Action::Skip) => return Ok(Dispatched::Stop),
                Some(Action::Route(to)) if !is_repeat => {
                    let other = reachable(snapshot, &envelope.address, &to);
                    let can_reach =
                        |it: &Arc<AgentContext>| self.house.can_reach(&it.id, &envelope.address);
                    let Some(other) = other.filter(can_reach) else {
                        tracing::warn!(agent = %agent.id, %event, "a hook sends a message where no rule leads; it is refused");
                        return Ok(Dispatched::Stop);
                    };
                    moved += usize::from(other.id != agent.id);
                    // Two agents that send everything to each other would never stop.
                    if moved > STATIONS.len() {
                        return Ok(Dispatched::Stop);
                    }
                    // The last ones are those of the agent itself: another one has others.
                    if other.id != agent.id && station == STATIONS.len() {
                        station -= 1;
                    }
                    agent = other;
                }
                _ => {}
            }
        }
        if agent.id != reserved {
            self.account(&envelope).give(&envelope.event.0, &agent.id).await?;
        }
        if let Happening::Said(message) = &mut envelope.what
            && text != before
        {
            message.words = message.words.rewritten(&text);
        }
        Ok(Dispatched::Go(agent, envelope))
    }

    async fn ask(
        &self,
        agent: &AgentContext,
        (event, owner): (HookEvent, Option<HookOwner>),
        envelope: &Envelope,
        text: &str,
    ) -> Decision {
        if !agent.hooks.has(event) {
            return Decision::Go(Go::default());
        }
        let address = &envelope.address;
        let session = agent.session_key(address).to_string();
        let principal = Actor::from(address);
        // A folder of its own is made for a conversation, and a stranger's is none yet.
        let files = agent.workspace.common_files(&self.house.world);
        let occasion = Occasion {
            agent,
            session: Some((&session, SessionId(0))),
            scope: None,
            principal: &principal,
            files: Some(&files),
        };
        let Happening::Said(message) = &envelope.what else {
            return Decision::Go(Go::default());
        };
        let fields = || {
            json!({
                "text": text,
                "extra": {
                    "chat_type": address.chat_type.as_str(),
                    "mentions_us": message.mentions_us,
                    "attachments": message.attachments.len(),
                    "roles": address.roles.iter().map(|role| role.as_str()).collect::<Vec<_>>(),
                    "name": &*envelope.sender.name,
                },
            })
        };
        hooks::ask_of(self.engine.capabilities(), owner, event, &occasion, fields).await
    }
}

/// The agent that a hook names, if a rule for this place leads to it and it serves.
fn reachable(snapshot: &Snapshot, address: &Address, to: &str) -> Option<Arc<AgentContext>> {
    let id = AgentId::new(to).ok()?;
    let router = &snapshot.router;
    let by_rule = router.explain(address).considered.iter().any(|considered| {
        let binding = &router.bindings()[considered.binding];
        considered.matched && binding.agent == id && binding.refusal.is_none()
    });
    let by_default = router.defaults().everywhere.as_ref() == Some(&id);
    if !by_rule && !by_default {
        return None;
    }
    match snapshot.agents.get(&id).map(|entry| &entry.state) {
        Some(State::Ready(context)) => Some(context.clone()),
        _ => None,
    }
}
