//! The engine as whoever runs turns of other agents, for turns that go over links.

use crate::TurnHandle;
use crate::engine::Engine;
use crate::host::Host;
use crate::lanes::{Lanes, WeakLanes};
use crate::live::Live;
use crate::one_off::OneOffs;
use crate::shop::{Shop, Tools};
use crate::submit::{Around, Inbound, SubmitError};
use async_trait::async_trait;
use insula_capabilities::Opened;
use insula_domain::SessionKey;
use insula_models::Transport;
use insula_registry::context::AgentContext;
use insula_registry::events::turn::{TurnEnd, TurnEvent};
use insula_registry::whole::Whole;
use insula_store::{StoreError, TurnId};
use std::sync::{Arc, Weak};

/// An engine that is gone when nobody else has it: what it works with knows it by this.
struct WeakEngine {
    shop: Weak<Whole<Shop>>,
    lanes: WeakLanes,
    live: Weak<Live>,
    one_offs: OneOffs,
}

impl WeakEngine {
    fn engine(&self) -> Option<Engine> {
        Some(Engine {
            shop: self.shop.upgrade()?,
            lanes: self.lanes.upgrade()?,
            live: self.live.upgrade()?,
            one_offs: self.one_offs.clone(),
        })
    }
}

impl Engine {
    /// An engine over a daemon, which turns may begin others by.
    pub(crate) fn hosting(opened: &Opened, transport: Transport, tools: Tools) -> Self {
        let one_offs = OneOffs::new(opened.capabilities.clone());
        let (lanes, live) = (Lanes::new(), Arc::<Live>::default());
        let shop = Arc::new_cyclic(|shop| {
            let host = WeakEngine {
                shop: shop.clone(),
                lanes: lanes.downgrade(),
                live: Arc::downgrade(&live),
                one_offs: one_offs.clone(),
            };
            Whole::new(Shop::new(opened, transport, tools, Arc::new(host)))
        });
        Self { shop, lanes, live, one_offs }
    }
}

#[async_trait]
impl Host for WeakEngine {
    async fn begin(
        &self,
        inbound: Inbound,
        around: Around,
    ) -> Result<(TurnId, Option<TurnHandle>), SubmitError> {
        let engine = self.engine().ok_or(StoreError::Closed)?;
        let key = inbound.session.clone();
        match engine.submit_with(inbound, around).await {
            Ok(handle) => Ok((handle.turn, Some(handle))),
            Err(SubmitError::Known { turn, .. }) => Ok((turn, engine.listen(&key, turn))),
            Err(error) => Err(error),
        }
    }

    fn stop(&self, session: &SessionKey, turn: TurnId) {
        if let Some(engine) = self.engine() {
            engine.stop_turn(session, turn);
        }
    }

    async fn end_of(
        &self,
        agent: &AgentContext,
        turn: TurnId,
    ) -> Result<Option<TurnEnd>, StoreError> {
        let engine = self.engine().ok_or(StoreError::Closed)?;
        let Some(mut handle) = engine.ended(agent, turn).await? else { return Ok(None) };
        Ok(match handle.events.recv().await {
            Some(TurnEvent::Ended(end)) => Some(end),
            _ => None,
        })
    }
}
