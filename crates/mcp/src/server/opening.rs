//! How a connection is opened: the way to the server, and the greeting in one of two manners.

use super::{Connection, Ending, Opener, PROGRESS_FACTOR, Server, ServerError, Way};
use crate::handler::{Asking, OurSide, QUESTIONS_MAX};
use crate::http_way::HttpWay;
use crate::question::ANSWER_WITHIN;
use crate::stdio_lines::{FRAME_BYTES_MAX, StdioLines};
use crate::words::{is_unknown, last_words, said, unknown_version};
use http::HeaderMap;
use insula_sandbox::egress::{ClientLimits, Egress};
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::NeverRetry;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often the words of a program that ended at once are looked for, and after which pause.
const LAST_WORDS_LOOKS: usize = 20;
const LAST_WORDS_PAUSE: Duration = Duration::from_millis(25);

impl Server {
    /// Opens a connection and greets, in the manner most servers know, and in the newer one
    /// where the server knows no other.
    pub(super) async fn open(&self, opener: &dyn Opener) -> Result<Connection, ServerError> {
        match self.greet(opener, ClientLifecycleMode::Initialize).await {
            Err(Greeting::Unknown) => {
                let versions = vec![ProtocolVersion::LATEST];
                let newer = ClientLifecycleMode::Discover { preferred_versions: versions };
                self.greet(opener, newer).await.map_err(Greeting::error)
            }
            other => other.map_err(Greeting::error),
        }
    }

    async fn greet(
        &self,
        opener: &dyn Opener,
        manner: ClientLifecycleMode,
    ) -> Result<Connection, Greeting> {
        let way = opener.open().await;
        let way = way.map_err(|why| Greeting::Failed(ServerError::Unreachable(why)))?;
        let (side, ending) = (OurSide::new(self.asking), Arc::new(Ending::default()));
        let (served, errors) = match way {
            Way::Program { read, write, errors, keeps } => {
                let lines = StdioLines::new(read, write, keeps, self.clock.clone(), ending.clone());
                let served = serve_client_with_lifecycle(side.clone(), lines, manner).await;
                (served, Some(errors))
            }
            Way::Http { egress, url, headers } => {
                let http = self.http(*egress, headers);
                let mut config = StreamableHttpClientTransportConfig::with_uri(url);
                // A lost stream is not opened again: a server could have us do it for ever.
                config.retry_config = Arc::new(NeverRetry::default());
                let transport = StreamableHttpClientTransport::with_client(http, config);
                (serve_client_with_lifecycle(side.clone(), transport, manner).await, None)
            }
        };
        let used = AtomicU64::new(self.now());
        match served {
            Ok(service) => {
                let info = service.peer().peer_info();
                let version = info.as_deref().map_or("", |info| info.protocol_version.as_str());
                if let Some(why) = unknown_version(version) {
                    // Without a version both know, the two must part.
                    return Err(Greeting::Failed(ServerError::Unreachable(why)));
                }
                let as_tasks = Mutex::default();
                Ok(Connection { service, side, ending, errors, used, as_tasks })
            }
            Err(error) => {
                if is_unknown(&error) {
                    return Err(Greeting::Unknown);
                }
                let why = ending.why().unwrap_or_else(|| said(&error));
                if let Some(errors) = errors {
                    // It may be gone before what it said has been read.
                    for _ in 0..LAST_WORDS_LOOKS {
                        if last_words(&errors).is_some() {
                            break;
                        }
                        self.clock.sleep(LAST_WORDS_PAUSE).await;
                    }
                    self.facts().trouble = last_words(&errors);
                }
                Err(Greeting::Failed(ServerError::Unreachable(why)))
            }
        }
    }

    fn http(&self, egress: Egress, headers: HeaderMap) -> HttpWay {
        // The stream of a call stays open while its person thinks.
        let person = match self.asking {
            Asking::Offered => ANSWER_WITHIN,
            Asking::Refused => Duration::ZERO,
        };
        let longest = self.limits.call.saturating_mul(PROGRESS_FACTOR);
        let limits = ClientLimits {
            redirects_max: 0,
            body_len_max: FRAME_BYTES_MAX as u64,
            idle: self.limits.call + person,
            total: longest + person.saturating_mul(QUESTIONS_MAX),
            ..ClientLimits::default()
        };
        let long = ClientLimits { idle: self.limits.idle, total: self.limits.idle, ..limits };
        let client = |limits| insula_sandbox::egress::Client::new(egress.clone(), limits);
        HttpWay { ask: client(limits), listen: client(long), headers }
    }
}

/// Why a greeting came to nothing.
enum Greeting {
    /// The server does not know this manner.
    Unknown,
    Failed(ServerError),
}

impl Greeting {
    fn error(self) -> ServerError {
        match self {
            Self::Unknown => ServerError::Unreachable("it speaks no version we know".to_owned()),
            Self::Failed(error) => error,
        }
    }
}
