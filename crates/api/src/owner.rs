//! The agents that are owned here, as the front reaches them: by requests and by what else it
//! asks, in types that are whole by themselves. In one process all of it is calls.

use crate::spoken::{Spoken, spoken};
use crate::{Api, router};
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use insula_domain::Address;
use insula_store::StoreError;
use tower_service::Service as _;

/// How often a budget refused: whose it is, what it counts, how often.
pub type Refusals = Vec<(&'static str, &'static str, u64)>;

/// The owner of the agents that are here.
#[derive(Clone)]
pub struct Owner {
    api: Api,
    router: Router,
}

impl Owner {
    /// The owner of these agents.
    pub fn new(api: Api) -> Self {
        Self { router: router(api.clone()), api }
    }

    /// Answers a request that the front hands over whole, with its [`Caller`](crate::Caller).
    pub async fn request(&self, request: Request) -> Response {
        let Ok(answer) = self.router.clone().call(request).await;
        answer
    }

    /// What was said at an address before, for somebody who may hear it.
    pub async fn spoken(&self, address: Address) -> Result<Vec<Spoken>, StoreError> {
        spoken(&self.api, &address).await
    }

    /// How often budgets refused; `None` where no turns run.
    pub fn refusals(&self) -> Option<Refusals> {
        let refusals = self.api.engine.as_ref()?.budgets().refusals();
        let named = refusals.map(|(level, what, count)| (level.as_str(), what.as_str(), count));
        Some(named.collect())
    }
}
