//! The hand by which one conversation reaches the web: the agent's network for pages, and the
//! one host of the search its operator named. Every decision is on the agent's audit trail.

use crate::Capabilities;
use crate::programs::egress::{Audited, KeptFolders};
use crate::programs::network::conversation_egress;
use async_trait::async_trait;
use insula_config::web::{SearchConfig, SearchProvider};
use insula_domain::Actor;
use insula_domain::NetworkGrants;
use insula_registry::context::AgentContext;
use insula_sandbox::egress::{
    Client, ClientLimits, Egress, Fetch, FetchError, Injection, Policy, Response,
};
use insula_store::{About, SessionId};
use insula_tools::web::readable::PageContent;
use insula_tools::web::{Converted, Page, SearchKind, Unfetched, Work};
use insula_tools::{HandError, ToolError, Web};
use std::sync::Arc;
use std::time::Duration;

/// What one fetch may take. A model waits for the slowest of them.
const LIMITS: ClientLimits = ClientLimits {
    redirects_max: 5,
    body_len_max: 8 << 20,
    resolve: Duration::from_secs(10),
    connect: Duration::from_secs(5),
    idle: Duration::from_secs(20),
    total: Duration::from_secs(60),
};
/// Who asks, as hosts see it.
const USER_AGENT: &str = concat!("insula/", env!("CARGO_PKG_VERSION"));
/// What we can read.
const ACCEPT: &str =
    "text/html, application/xhtml+xml, application/pdf, application/json, text/*;q=0.9, */*;q=0.1";

/// The web, for one conversation.
pub struct SessionWeb<'c> {
    caps: &'c Capabilities,
    agent: &'c AgentContext,
    /// The conversation; `None` for an operator who tries something.
    session: Option<SessionId>,
    principal: &'c Actor,
}

impl<'c> SessionWeb<'c> {
    /// The hand for one call of a turn.
    pub fn new(
        caps: &'c Capabilities,
        agent: &'c AgentContext,
        session: SessionId,
        principal: &'c Actor,
    ) -> Self {
        Self { caps, agent, session: Some(session), principal }
    }

    /// The hand of an operator who tries a search.
    pub(crate) fn of_operator(
        caps: &'c Capabilities,
        agent: &'c AgentContext,
        principal: &'c Actor,
    ) -> Self {
        Self { caps, agent, session: None, principal }
    }

    /// A client that reaches the search and nothing else.
    fn search_client(
        &self,
        search: &SearchConfig,
        key: Option<Injection>,
    ) -> Result<Client, ToolError> {
        let ledger = Audited {
            audit: self.agent.audit.clone(),
            principal: self.principal.clone(),
            about: self.session.map_or(About::Agent, About::Session),
            keeps: KeptFolders::default(),
        };
        let tls = self.caps.programs.tls().map_err(|error| failed(&error))?;
        let policy = Policy::new(NetworkGrants::allow([search.host.clone()]));
        let (world, key) = (self.caps.world.clone(), key.into_iter().collect());
        let lookups = self.caps.programs.lookups(&self.agent.id);
        let egress = Egress::new(world, policy, Arc::new(ledger), tls, key, lookups);
        Ok(Client::new(egress, LIMITS))
    }

    /// The key of a search as a header that is set on the way out.
    async fn key(&self, search: &SearchConfig) -> Result<Option<Injection>, ToolError> {
        let Some(key) = &search.api_key else { return Ok(None) };
        let key = self.agent.secrets.resolve(key).await.map_err(|error| {
            ToolError::Hand(HandError(format!("`web.search.api_key`: {error}")))
        })?;
        let (header, value) = match search.provider {
            SearchProvider::Searxng => ("authorization", format!("Bearer {}", key.reveal())),
            SearchProvider::Brave => ("x-subscription-token", key.reveal().to_owned()),
        };
        let made = Injection::new(search.host.clone(), header, value.into());
        let made = made.map_err(|error| failed(&error))?;
        // The configuration lets plain HTTP only to this machine.
        Ok(Some(if search.base_url.starts_with("https") { made } else { made.also_in_the_clear() }))
    }
}

#[async_trait]
impl Web for SessionWeb<'_> {
    async fn fetch(&self, url: &str) -> Result<Page, Unfetched> {
        let Some(session) = self.session else {
            return Err(failed(&"pages are fetched in conversations alone").into());
        };
        let egress = conversation_egress(
            self.caps,
            self.agent,
            session,
            self.principal,
            KeptFolders::default(),
        )
        .await?;
        let client = Client::new(egress, LIMITS);
        let fetch = Fetch::get(url).with("user-agent", USER_AGENT).with("accept", ACCEPT);
        page(&client, fetch).await
    }

    fn search(&self) -> Option<SearchKind> {
        self.agent.search.as_ref().map(|search| match search.provider {
            SearchProvider::Searxng => SearchKind::Searxng,
            SearchProvider::Brave => SearchKind::Brave,
        })
    }

    async fn ask(&self, path_and_query: &str) -> Result<Page, Unfetched> {
        let search = self.agent.search.as_ref();
        let search = search.ok_or_else(|| failed(&"no search is configured"))?;
        let key = self.key(search).await?;
        let client = self.search_client(search, key)?;
        let fetch = Fetch::get(format!("{}/{path_and_query}", search.base_url))
            .with("user-agent", USER_AGENT)
            .with("accept", "application/json");
        page(&client, fetch).await
    }

    async fn apart(&self, work: Work) -> Result<PageContent, HandError> {
        let done = self.caps.world.storage.run(work).await;
        done.map_err(|_| HandError("what came can't be read".to_owned()))
    }

    async fn convert(&self, command: &'static str, input: Vec<u8>) -> Result<Converted, ToolError> {
        crate::programs::convert(self.caps, self.agent, command, input).await
    }
}

/// What a fetch comes to, and who had a word in that.
async fn page(client: &Client, fetch: Fetch) -> Result<Page, Unfetched> {
    let mut reached = Vec::new();
    let fetched = match client.fetch_by(fetch, &mut reached).await {
        Ok(response) => read(response).await,
        Err(error) => Err(error),
    };
    let hosts = || reached.iter().map(|place| place.host.to_string()).collect::<Vec<_>>();
    match fetched {
        Ok(page) => Ok(Page { hosts: hosts(), ..page }),
        Err(error) if reached.is_empty() => Err(Unfetched::Unsent(told(error))),
        Err(error) => Err(Unfetched::Sent { hosts: hosts(), why: error.to_string() }),
    }
}

async fn read(response: Response) -> Result<Page, FetchError> {
    let header = |name: &str| {
        let value = response.headers.get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let page = Page {
        url: response.url.to_string(),
        hosts: Vec::new(),
        status: response.status.as_u16(),
        content_type: header("content-type"),
        content_encoding: header("content-encoding"),
        body: Vec::new(),
    };
    Ok(Page { body: response.bytes().await?, ..page })
}

fn failed(error: &dyn std::fmt::Display) -> ToolError {
    ToolError::Hand(HandError(error.to_string()))
}

fn told(error: FetchError) -> ToolError {
    match error {
        FetchError::Refused(refusal) => ToolError::Refused(refusal.to_string()),
        error => failed(&error),
    }
}
