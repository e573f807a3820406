//! What hooks make of a message before anybody answers it: let it through, leave it out, write
//! it anew, or send it to another agent that it could have gone to.

use super::Ingress;
use insula_capabilities::hooks::{self, Action, Go, HookDecision, Occasion};
use insula_channel::{Arrival, Envelope, Happening, Ledger, NotTaken, Path, Sent};
use insula_config::hook::HookOwner;
use insula_domain::Actor;
use insula_domain::hook::HookEvent;
use insula_registry::AgentContext;
use insula_store::SessionId;
use serde_json::json;

/// What becomes of a message.
pub(super) enum Dispatched {
    /// The agent gets it, as it reads now.
    Go(Box<Envelope>),
    /// The agent of this name is to get it.
    Send(Box<str>, Box<Arrival>),
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
        agent: &AgentContext,
        mut envelope: Envelope,
        path: Path,
        ledger: &dyn Ledger,
    ) -> Result<Dispatched, NotTaken> {
        let Happening::Said(message) = &envelope.what else {
            return Ok(Dispatched::Go(Box::new(envelope)));
        };
        // Hooks read all of it; only what they change is theirs.
        let before = message.words.all();
        let is_repeat = path == Path::Again;
        let mut sent = match path {
            Path::Sent(sent) => sent,
            Path::Routed | Path::Again => Sent {
                reserved: agent.id.clone(),
                by: agent.id.clone(),
                station: 0,
                moved: 0,
                text: before.clone(),
            },
        };
        if sent.by != agent.id {
            sent.moved += 1;
            // Two agents that send everything to each other would never stop.
            if sent.moved > STATIONS.len() {
                return Ok(Dispatched::Stop);
            }
            // The last ones are those of the agent itself: another one has others.
            sent.station = sent.station.min(STATIONS.len() - 1);
            sent.by = agent.id.clone();
        }
        while let Some((event, owner)) = STATIONS.get(sent.station).copied() {
            let decision = self.ask(agent, (event, owner), &envelope, &sent.text).await;
            let HookDecision::Go(Go { text, action, .. }) = decision else {
                return Ok(Dispatched::Stop);
            };
            sent.text = text.unwrap_or(sent.text);
            sent.station += 1;
            match action {
                Some(Action::Skip) => return Ok(Dispatched::Stop),
                Some(Action::Route(to)) if !is_repeat => {
                    let arrival = Arrival { envelope, path: Path::Sent(sent) };
                    return Ok(Dispatched::Send(to.into(), Box::new(arrival)));
                }
                _ => {}
            }
        }
        if agent.id != sent.reserved {
            ledger.give(&envelope.event, &agent.id).await?;
        }
        if let Happening::Said(message) = &mut envelope.what
            && sent.text != before
        {
            message.words = message.words.rewritten(&sent.text);
        }
        Ok(Dispatched::Go(Box::new(envelope)))
    }

    async fn ask(
        &self,
        agent: &AgentContext,
        (event, owner): (HookEvent, Option<HookOwner>),
        envelope: &Envelope,
        text: &str,
    ) -> HookDecision {
        if !agent.hooks.has(event) {
            return HookDecision::Go(Go::default());
        }
        let address = &envelope.address;
        let session = agent.session_key(address).to_string();
        let principal = Actor::from(address);
        // A folder of its own is made for a conversation, and a stranger's is none yet.
        let files = agent.workspace.common_files(&self.world);
        let at = agent.scope(address);
        let occasion = Occasion {
            agent,
            session: Some((&session, SessionId(0))),
            scope: None,
            principal: &principal,
            at: Some(&at),
            files: Some(&files),
        };
        let Happening::Said(message) = &envelope.what else {
            return HookDecision::Go(Go::default());
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
