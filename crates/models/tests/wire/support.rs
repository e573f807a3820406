//! What the tests of this folder share.

use insula_models::{
    Answer, AnswerStream, Event, Kind, Message, ModelError, Part, Provider, ProviderSpec, Request,
    Timeouts, Transport,
};
use insula_testkit::upstream::{Seen, Step};
use insula_testkit::{Handles, Upstream, auto_world};
use insula_world::World;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A key that must never be seen.
pub const KEY: &str = "sk-canary-0123456789abcdef";

pub const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(20),
};

pub struct Bench {
    pub world: World,
    pub handles: Handles,
    pub transport: Transport,
}

/// A virtual world, for a runtime with paused time.
pub fn bench() -> Bench {
    let (world, handles) = auto_world(1);
    let transport = Transport::new(&world, &[]).unwrap();
    Bench { world, handles, transport }
}

impl Bench {
    pub async fn upstream(
        &self,
        script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
    ) -> Upstream {
        Upstream::start(&self.world, script).await.unwrap()
    }

    pub fn provider(&self, kind: Kind, base_url: &str) -> Arc<dyn Provider> {
        provider(&self.transport, kind, base_url)
    }

    /// One question to a server that always answers `steps`.
    pub async fn once(&self, kind: Kind, steps: Vec<Step>) -> Result<Answer, ModelError> {
        let upstream = self.upstream(move |_, _| steps.clone()).await;
        ask(&*self.provider(kind, &upstream.url("")), &hello()).await
    }
}

pub fn provider(transport: &Transport, kind: Kind, base_url: &str) -> Arc<dyn Provider> {
    let mut spec = ProviderSpec::new("test", kind);
    spec.base_url = Some(base_url.to_owned());
    spec.api_key = Some(KEY.into());
    spec.build(transport).unwrap()
}

pub fn hello() -> Request {
    Request::new("small", vec![Message::user("hello")])
}

pub async fn begin(provider: &dyn Provider, request: &Request) -> Result<AnswerStream, ModelError> {
    provider.stream(request, &LIMITS, &CancellationToken::new()).await
}

pub async fn ask(provider: &dyn Provider, request: &Request) -> Result<Answer, ModelError> {
    Answer::collect(&mut begin(provider, request).await?).await
}

/// Every event until the end or the first error.
pub async fn events(stream: &mut AnswerStream) -> (Vec<Event>, Option<ModelError>) {
    let mut events = vec![];
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing comes after an error");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

pub fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

pub fn text(text: &str) -> Part {
    Part::Text(text.into())
}
