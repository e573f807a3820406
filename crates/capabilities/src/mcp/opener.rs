//! Starts an agent's server in the agent's sandbox, or makes ready to ask one over the
//! agent's way to the network.

use crate::Capabilities;
use crate::programs::egress::KeptFolders;
use crate::programs::{Principal, hints, spawn, watchdog};
use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue};
use insula_config::mcp::{McpServer, McpWay};
use insula_domain::Actor;
use insula_mcp::{Link, Opener, Way};
use insula_registry::context::AgentContext;
use insula_sandbox::{Capture, Output, Pace, Stdin};
use insula_store::About;
use insula_tools::shell::Printed;
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

/// Runs what the operator wrote, found as a shell finds it, in its place.
const RUN: &str = r#"exec "$0" "$@""#;
/// Bytes kept of what a server says on its error stream.
const ERRORS_BYTES_MAX: usize = 16 * 1024;
/// What a server's environment has besides what was declared: where programs and their
/// temporary files are, none of it anybody's.
const ENVIRONMENT: [&str; 3] = ["PATH", "HOME", "LANG"];

/// Opens one server of one agent.
pub(crate) struct AgentOpener<'c> {
    pub(crate) caps: &'c Capabilities,
    pub(crate) agent: &'c AgentContext,
    pub(crate) server: &'c McpServer,
}

#[async_trait]
impl Opener for AgentOpener<'_> {
    async fn open(&self) -> Link {
        match &self.server.way {
            McpWay::Program { command, args, env } => self.start(command, args, env).await,
            McpWay::Http { url, headers } => {
                let headers = self.headers(headers).await?;
                let principal = Principal::Server(&self.server.name);
                let egress = principal.egress(self.caps, self.agent, KeptFolders::default()).await;
                let egress = egress.map_err(|error| error.to_string())?;
                Ok(Way::Http { egress: Box::new(egress), url: url.to_string(), headers })
            }
        }
    }
}

impl AgentOpener<'_> {
    async fn start(
        &self,
        command: &str,
        args: &[Box<str>],
        env: &BTreeMap<Box<str>, Box<str>>,
    ) -> Link {
        let (caps, agent) = (self.caps, self.agent);
        let files = agent.workspace.common_files(&caps.world);
        let outfit = crate::programs::outfit(caps, agent, &files).await;
        let mut outfit = outfit.map_err(|error| error.to_string())?;
        outfit.spec.env.retain(|name, _| ENVIRONMENT.iter().any(|kept| name == kept));
        for (name, value) in env {
            let value = agent.secrets.resolve(value).await;
            let value = value.map_err(|error| format!("`env.{name}`: {}", error.reason()))?;
            outfit.spec.env.insert(name.to_string().into(), value.reveal().into());
        }
        outfit.tell_git();
        let mut spec = outfit.spec;
        spec.args = ["-c", RUN, command].into_iter().map(Into::into).collect();
        spec.args.extend(args.iter().map(|arg| arg.to_string().into()));
        // It lives as long as it is used; what the operator wrote holds all the same.
        spec.limits.wall_clock = agent.programs.limits.wall_clock;
        spec.stdin = Stdin::Pipe;
        spec.output = Output::Stream;
        let principal = Principal::Server(&self.server.name);
        let watchdog = watchdog(caps, agent, &spec).await;
        let (mut child, proxy) =
            spawn(caps, agent, &principal, spec).await.map_err(|error| error.to_string())?;
        let (read, write) = match (child.take_stdout(), child.take_stdin()) {
            (Some(read), Some(write)) => (Box::new(read), Box::new(write)),
            _ => return Err("its streams can't be had".to_owned()),
        };
        let errors = Capture::new(ERRORS_BYTES_MAX);
        if let Some(stream) = child.take_stderr() {
            let (errors, clock) = (errors.clone(), caps.world.clock.clone());
            tokio::spawn(async move {
                // What can't be read any more was not said. A server that says more than
                // anybody could read waits.
                let _ = errors.drain(stream, clock, Pace::ASIDE).await;
            });
        }
        let stop = CancellationToken::new();
        let (stopped, audit, actor) =
            (stop.clone(), agent.audit.clone(), Actor::server(&self.server.name));
        tokio::spawn(async move {
            let id = child.id();
            let over = tokio::select! {
                biased;
                _ = child.wait() => None,
                () = stopped.cancelled() => None,
                over = watchdog.barks(id) => Some(over),
            };
            // Whatever came first, the program ends here.
            drop((child, proxy));
            if let Some(over) = over
                && let Err(error) =
                    audit.append(About::Agent, &actor, "sandbox.disk", over.record()).await
            {
                tracing::error!(%error, "the end of an MCP server could not be recorded");
            }
        });
        Ok(Way::Program { read, write, errors, keeps: Box::new(stop.drop_guard()) })
    }

    /// Which grants a server that failed with these words may have missed.
    pub(super) async fn hints(&self, said: &str) -> Vec<String> {
        let McpWay::Program { command, args, .. } = &self.server.way else { return Vec::new() };
        let files = self.agent.workspace.common_files(&self.caps.world);
        let Ok(outfit) = crate::programs::outfit(self.caps, self.agent, &files).await else {
            return Vec::new();
        };
        let line: Vec<&str> = [command].into_iter().chain(args).map(|word| &**word).collect();
        let printed = Printed { head: said.into(), tail: Vec::new(), total: said.len() as u64 };
        let has_network = !self.agent.boundary.network.is_none();
        hints(&printed, &line.join(" "), &outfit.spec, has_network, outfit.withheld)
    }

    async fn headers(&self, written: &BTreeMap<Box<str>, Box<str>>) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in written {
            let wrong = |why: String| format!("`headers.{name}`: {why}");
            let header: HeaderName =
                name.parse().map_err(|_| wrong("it is no name of a header".to_owned()))?;
            let value = self.agent.secrets.resolve(value).await;
            let value = value.map_err(|error| wrong(error.reason()))?;
            let mut value = HeaderValue::from_str(value.reveal())
                .map_err(|_| wrong("its value can't stand in a header".to_owned()))?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        Ok(headers)
    }
}
