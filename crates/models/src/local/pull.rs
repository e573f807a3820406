//! Has an Ollama fetch a model, and tells how far it is.

use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelFault};
use crate::line_splitter::LineSplitter;
use insula_wire::{Timeouts, Transport, excerpt};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Longest line of progress.
const LINE_LEN_MAX: usize = 64 * 1024;
/// What is waited for. A registry may take a while before its first byte, and Ollama says nothing
/// while it checks what it has.
const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(120),
    idle: Duration::from_secs(300),
};

/// How far a fetch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// What is being done, in Ollama's words.
    pub status: String,
    /// Bytes that are there, of those that one part has.
    pub bytes: Option<(u64, u64)>,
}

#[derive(Deserialize)]
struct Line {
    status: Option<String>,
    total: Option<u64>,
    completed: Option<u64>,
    error: Option<String>,
}

/// Fetches a model; `tell` hears how far it is.
pub async fn pull(
    transport: &Transport,
    url: &str,
    model: &str,
    cancel: &CancellationToken,
    mut tell: impl FnMut(&Pulled),
) -> Result<(), ModelError> {
    let (provider, name): (Arc<str>, Arc<str>) = ("ollama".into(), model.into());
    let endpoint = Endpoint::new(transport, &provider, url, "/api/pull", &[]);
    let endpoint = endpoint.map_err(|error| ModelError {
        provider: provider.clone(),
        model: name.clone(),
        fault: ModelFault::Unreachable { why: error.to_string() },
    })?;
    let fetched = fetch(&endpoint, model, cancel, &mut tell).await;
    fetched.map_err(|fault| endpoint.error(&name, fault))
}

async fn fetch(
    endpoint: &Endpoint,
    model: &str,
    cancel: &CancellationToken,
    tell: &mut impl FnMut(&Pulled),
) -> Result<(), ModelFault> {
    let body = serde_json::json!({ "model": model, "stream": true }).to_string();
    let mut body = endpoint.post(body.into_bytes(), &LIMITS, cancel).await?;
    let mut lines = LineSplitter::new(LINE_LEN_MAX);
    let mut is_done = false;
    let mut hear = |line: &[u8]| {
        if line.is_empty() {
            return Ok(());
        }
        let line: Line = serde_json::from_slice(line)
            .map_err(|_| ModelFault::Garbage { what: "its progress is no JSON".to_owned() })?;
        if let Some(message) = line.error {
            return Err(ModelFault::Refused { status: 200, message });
        }
        let status = line.status.unwrap_or_default();
        is_done = status == "success";
        let bytes = line.total.map(|total| (line.completed.unwrap_or(0).min(total), total));
        tell(&Pulled { status: excerpt(&status), bytes });
        Ok(())
    };
    while let Some(piece) = body.piece().await? {
        lines.push(&piece, &mut hear)?;
    }
    // It may end its last line or not.
    lines.push(b"\n", &mut hear)?;
    if is_done { Ok(()) } else { Err(ModelFault::CutOff) }
}
