//! What we answer to a server that asks, and what we hear when it tells.
//!
//! A server may not have the agent's model think for it, may not put questions to people, and
//! is told of no folder: it has those of its sandbox.

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ErrorCode, Implementation,
    ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// What was heard from a server.
#[derive(Debug)]
pub(crate) struct ServerNotices {
    /// Counts the notes that something goes on.
    pub(crate) progress: watch::Sender<u64>,
    /// Whether its list of tools is another one than when it was last asked.
    pub(crate) is_list_changed: AtomicBool,
}

impl Default for ServerNotices {
    fn default() -> Self {
        Self { progress: watch::Sender::new(0), is_list_changed: AtomicBool::new(false) }
    }
}

/// Our side of a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct OurSide {
    pub(crate) heard: Arc<ServerNotices>,
}

fn refused(what: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("{what} is not offered here"), None)
}

impl ClientHandler for OurSide {
    #[expect(deprecated, reason = "older servers still ask for roots")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(refused("a list of roots"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(refused("a question to the user"))
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard.progress.send_modify(|count| *count = count.wrapping_add(1));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.heard.is_list_changed.store(true, Ordering::Release);
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("insula", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
