//! Runs a program of ours over bytes of others, as confined as a program of the agent, and with
//! nothing of the agent's: what goes wrong in it has nothing to read and nobody to tell.

use super::outfit::bare;
use crate::Capabilities;
use insula_registry::context::AgentContext;
use insula_sandbox::{ExitOutcome, Finished, Stdin};
use insula_tools::web::Converted;
use insula_tools::web::readable::TEXT_BYTES_MAX;
use insula_tools::{HandError, ToolError};
use std::time::Duration;

/// How long it may take. A model waits for it.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Memory it may take: several run at once, and a document is at most 16 MiB.
const MEMORY_BYTES_MAX: u64 = 512 << 20;

/// Runs `command` over `input`.
pub(crate) async fn convert(
    caps: &Capabilities,
    agent: &AgentContext,
    command: &str,
    input: Vec<u8>,
) -> Result<Converted, ToolError> {
    let failed = |error: insula_sandbox::Error| ToolError::Hand(HandError(error.to_string()));
    let mut spec = bare(caps, agent).await?;
    spec.args = ["-c", command].into_iter().map(Into::into).collect();
    spec.stdin = Stdin::Bytes(input);
    spec.limits.memory_bytes = spec.limits.memory_bytes.min(MEMORY_BYTES_MAX);
    spec.limits.wall_clock = Some(TIMEOUT);
    spec.limits.cpu_time = spec.limits.cpu_time.min(TIMEOUT);
    // Half of it is kept from the beginning, and only that is wanted.
    spec.limits.output_bytes = 2 * TEXT_BYTES_MAX;
    let sandbox = caps.programs.sandbox().map_err(failed)?;
    let finished = sandbox.spawn(spec).await.map_err(failed)?.finish().await;
    let Finished { exit, stdout, stderr } = finished.map_err(failed)?;
    let status = match exit.outcome {
        ExitOutcome::Exited(status) => Some(status),
        ExitOutcome::Signaled(_) | ExitOutcome::Killed | ExitOutcome::Ended(_) => None,
    };
    let is_cut = stdout.dropped() > 0;
    let output = if is_cut { stdout.head } else { stdout.bytes() };
    let complaint = String::from_utf8_lossy(&stderr.bytes()).into_owned();
    Ok(Converted { status, output, is_cut, complaint })
}
