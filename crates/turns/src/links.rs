//! The hand by which a turn reaches other agents. Each works under its own context, in a
//! conversation and a memory named after who asks; what this turn has seen goes along as a label,
//! and what comes back is the other's words.

use crate::TurnHandle;
use crate::handing::Handing;
use crate::linking::{decide, hops, serving};
use crate::seen::{parse, text_of};
use crate::shop::Shop;
use crate::submit::{Acknowledge, Around, Inbound, SubmitError};
use crate::turn::TurnContext;
use async_trait::async_trait;
use insula_domain::marks::plain;
use insula_domain::{Actor, AgentId, Label, Link, LinkKind};
use insula_registry::context::{AgentContext, LinkTurn};
use insula_registry::events::turn::{TurnEnd, TurnEvent};
use insula_registry::events::{AgentEvent, WorkEvent};
use insula_store::{About, AgentCommand, IdempotencyKey, MessageSeq, Part, StoreError, TurnId};
use insula_tools::agents::Handed;
use insula_tools::{Agents, HandError, ToolError};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Whose requests these are, among all that an agent gets.
const WHO: &str = "link";

/// Other agents, for one call of a turn.
pub(super) struct TurnLinks<'c> {
    shop: &'c Shop,
    cx: &'c TurnContext,
    /// The step in which the call began, by which what it began is found again.
    step: u32,
}

/// A turn of another agent.
struct Asked {
    agent: Arc<AgentContext>,
    by: Arc<LinkTurn>,
    turn: TurnId,
    handle: Option<TurnHandle>,
}

fn hand(what: impl Into<String>) -> ToolError {
    ToolError::Hand(HandError(what.into()))
}

fn store(error: StoreError) -> ToolError {
    hand(error.to_string())
}

impl<'c> TurnLinks<'c> {
    pub(super) fn new(shop: &'c Shop, cx: &'c TurnContext, step: u32) -> Self {
        Self { shop, cx, step }
    }

    fn link(&self, kind: LinkKind, name: &str) -> Result<Link, ToolError> {
        let own = &self.cx.agent;
        decide(self.shop, self.cx, own, (kind, name)).map_err(|it| ToolError::Refused(it.told))
    }

    /// Begins the turn of another agent that a link leads to, or finds it again.
    async fn begin(&self, link: &Link, message: &str) -> Result<Asked, ToolError> {
        let (shop, cx) = (self.shop, self.cx);
        let not_serving = || hand(format!("`{}` does not serve at the moment", link.to));
        let agent = serving(shop, &link.to).ok_or_else(not_serving)?;
        let by = LinkTurn::new(&cx.key, link, hops(cx));
        let by = Arc::new(by.ok_or_else(|| hand("this conversation has no name to ask under"))?);
        let own = cx.agent.store.turn(cx.turn).await.map_err(store)?;
        let since = own.map_or(0, |turn| turn.accepted_at.as_millis());
        // An agent that was deleted and made anew counts its turns anew.
        let key = format!("{}/{}/{since}/{}", cx.agent.id, cx.turn, self.step);
        let text = shop.redaction(&cx.agent).told(plain(message));
        let seen = cx.seen.label();
        let foreign = agent.boundary.integrity.untrusted(seen.integrity());
        let label = seen.audiences_alone().with(&foreign).join(&Label::of(by.audience()));
        let (address, session) = (by.address(), by.session());
        let inbound = Inbound {
            agent: agent.clone(),
            session: session.clone(),
            scope: agent.scope(&address).by_link(by.clone()),
            label,
            principal: Actor::agent(&cx.agent.id),
            history: Vec::new(),
            // A model wrote it: nobody said it, and nothing in it is a note of ours.
            parts: vec![Part::Beside(text)],
            idempotency: Some(IdempotencyKey {
                who: WHO.into(),
                request: *blake3::hash(key.as_bytes()).as_bytes(),
                key: key.into(),
            }),
            origin: None,
            acknowledge: Acknowledge::AtOnce,
        };
        let about =
            About::Conversation { scope: by.scope().into(), key: session.to_string().into() };
        let content = json!({
            "from": cx.agent.id.as_str(),
            "as": link.kind.as_str(),
            "through": by.hops.through.iter().map(AgentId::as_str).collect::<Vec<_>>(),
        });
        let who = Actor::agent(&cx.agent.id);
        let record = shop.trail.record(&agent, about, &who, "link.taken", content);
        let around = Around { first: vec![AgentCommand::Audit(record)], ..Around::default() };
        let (turn, handle) = self
            .shop
            .host
            .begin(inbound, around)
            .await
            .map_err(|error| not_taken(&link.to, error))?;
        self.tell_taken(link, Some(turn));
        self.record(link).await?;
        Ok(Asked { agent, by, turn, handle })
    }

    /// Tells whoever follows the other agent.
    fn tell_taken(&self, link: &Link, turn: Option<TurnId>) {
        self.shop.registry.hub.tell(&link.to, || {
            let (from, kind) = (self.cx.agent.id.clone(), link.kind);
            AgentEvent::Work(WorkEvent::LinkTaken { from, kind, turn })
        });
    }

    /// The record of what went over a link: to whom and from which audiences. Never what it says.
    async fn record(&self, link: &Link) -> Result<(), ToolError> {
        let cx = self.cx;
        let content = json!({
            "to": link.to.as_str(),
            "as": link.kind.as_str(),
            "from": text_of(&cx.seen.label()),
            "turn": cx.turn.0,
            "session": cx.session.0,
        });
        let trail = &self.shop.trail;
        let record = trail.record(&cx.agent, cx.about(), &cx.principal, "link.used", content);
        cx.agent.store.commit(vec![AgentCommand::Audit(record)]).await.map_err(store)?;
        self.shop.registry.hub.tell(&cx.agent.id, || {
            let (to, kind, turn) = (link.to.clone(), link.kind, cx.turn);
            AgentEvent::Work(WorkEvent::LinkUsed { to, kind, turn })
        });
        Ok(())
    }

    /// Waits for the end of a turn of another agent, as long as the link allows.
    async fn wait(&self, link: &Link, asked: &mut Asked) -> Result<TurnEnd, ToolError> {
        let (shop, cx) = (self.shop, self.cx);
        let late = shop.world.clock.sleep(Duration::from_millis(link.timeout_ms));
        tokio::pin!(late);
        let mut changes = shop.registry.changes();
        let (session, turn) = (asked.by.session(), asked.turn);
        let why = loop {
            let Some(handle) = &mut asked.handle else { return self.end_of(asked).await };
            tokio::select! {
                biased;
                () = cx.live.cancel.cancelled() => break hand("it was stopped"),
                event = handle.events.recv() => match event {
                    Some(TurnEvent::Ended(end)) => return Ok(end),
                    Some(_) => {}
                    None => asked.handle = None,
                },
                () = changes.changed() => {
                    let (own, to) = (&cx.agent.id, &link.to);
                    if shop.registry.snapshot().link(own, to, link.kind).is_none() {
                        let what = format!("the link to `{to}` was taken away while you waited");
                        break ToolError::Refused(what);
                    }
                }
                () = &mut late => break hand(format!(
                    "`{}` did not answer within {} s, which is as long as you may wait",
                    link.to,
                    link.timeout_ms / 1_000
                )),
            }
        };
        // Nobody waits for it any more.
        self.shop.host.stop(&session, turn);
        Err(why)
    }

    async fn end_of(&self, asked: &Asked) -> Result<TurnEnd, ToolError> {
        let end = self.shop.host.end_of(&asked.agent, asked.turn).await.map_err(store)?;
        end.ok_or_else(|| hand("what became of it is not known"))
    }

    /// What the other turn has seen, this one sees by its words.
    async fn see(&self, asked: &Asked) -> Result<(), ToolError> {
        let (cx, agent) = (self.cx, &asked.agent);
        let turn = agent.store.turn(asked.turn).await.map_err(store)?;
        let mut label = None;
        if let Some((session, reply)) = turn.and_then(|it| Some((it.session, it.reply?))) {
            let before = MessageSeq(reply.0.saturating_sub(1));
            let found = agent.store.messages_after(session, before, 1).await.map_err(store)?;
            label = found.first().map(|message| parse(&message.label));
        }
        // What nobody can read again is for nobody.
        let label = label.unwrap_or_else(Label::unknown).without(&asked.by.audience());
        let foreign = cx.agent.boundary.integrity.untrusted(label.integrity());
        cx.seen.add(&label.audiences_alone().with(&foreign));
        Ok(())
    }
}

/// Why another agent did not take something, without what is its own business.
fn not_taken(to: &AgentId, error: SubmitError) -> ToolError {
    hand(match error {
        SubmitError::Busy { .. } | SubmitError::UnderWay { .. } => {
            format!("`{to}` has too much to do at the moment; try again later")
        }
        SubmitError::Budget(_) => format!("`{to}` has nothing left to spend on this"),
        SubmitError::Known { .. } | SubmitError::NotWaiting { .. } | SubmitError::Store(_) => {
            format!("`{to}` could not take it")
        }
    })
}

#[async_trait]
impl Agents for TurnLinks<'_> {
    fn reached_by(&self, tool: &str) -> Vec<String> {
        let links = &self.cx.agent.boundary.links;
        let kind = LinkKind::of_tool(tool);
        kind.into_iter().flat_map(|kind| links.of(kind)).map(|it| it.to.to_string()).collect()
    }

    async fn ask(&self, agent: &str, message: &str) -> Result<String, ToolError> {
        let link = self.link(LinkKind::Ask, agent)?;
        let too_many = "too many conversations wait for other agents at the moment; go on without, or try again later";
        let leave = self.cx.live.place.may_wait().ok_or_else(|| hand(too_many))?;
        let mut asked = self.begin(&link, message).await?;
        // Meanwhile others run in its place: whom it asks, perhaps, or who waits for this agent.
        let wait = self.wait(&link, &mut asked);
        let end = leave.until(&self.cx.live.cancel, wait).await?;
        match end {
            TurnEnd::Replied { text, .. } => {
                self.see(&asked).await?;
                match text.trim().is_empty() {
                    true => Err(hand(format!("`{agent}` answered nothing"))),
                    false => Ok(text),
                }
            }
            // Why is its own business.
            TurnEnd::Failed { .. } => Err(hand(format!("`{agent}` could not answer"))),
            TurnEnd::OverBudget(_) => {
                Err(hand(format!("`{agent}` has nothing left to spend on this")))
            }
            TurnEnd::Stopped => Err(hand(format!("`{agent}` was stopped before it answered"))),
        }
    }

    async fn notify(&self, agent: &str, message: &str) -> Result<(), ToolError> {
        let link = self.link(LinkKind::Notify, agent)?;
        self.begin(&link, message).await.map(drop)
    }

    async fn hand_over(&self, agent: Option<&str>, summary: &str) -> Result<Handed, ToolError> {
        let handing = Handing::new(self.shop, self.cx)?;
        match agent {
            Some(name) => {
                let link = self.link(LinkKind::Handoff, name)?;
                let name = handing.over(&link, summary).await?;
                self.tell_taken(&link, None);
                self.record(&link).await?;
                Ok(Handed { name, is_told: true })
            }
            None => handing.back(summary).await,
        }
    }
}
