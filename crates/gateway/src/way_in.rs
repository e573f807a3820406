//! The way in: placeholder until routing and authorisation are here.

use crate::adapter::NotTaken;
use crate::envelope::Envelope;
use crate::lines::Lines;
use crate::way_out::WayOut;
use insula_runtime::House;
use insula_runtime::turn::Engine;
use std::sync::Arc;

/// Takes envelopes and refuses them all.
pub struct WayIn;

impl WayIn {
    /// A way in that leads nowhere.
    pub fn new(_: Arc<House>, _: Engine, _: Arc<WayOut>, _: Arc<dyn Lines>) -> Self {
        Self
    }

    /// Takes an envelope.
    pub async fn take(&self, _: Envelope) -> Result<(), NotTaken> {
        Ok(())
    }
}
