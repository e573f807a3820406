//! The daemon's log: one line an event, to standard error or a file, for people or programs,
//! and without secrets.

use crate::agent_log::{AgentLayer, heard};
use crate::failure::Failure;
use crate::otlp::{SpanLayer, is_ours};
use crate::process::open_log;
use insula_config::daemon::{LogFormat, Logging};
use insula_registry::secrets::SecretBook;
use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// What is not logged at any level: the MCP client repeats what servers say, and the log has
/// no content.
const UNHEARD: &str = "rmcp=off,matrix_sdk_crypto=off,matrix_sdk_common=off,vodozemac=off";

/// Begins to log as the configuration says, into agents' own logs, and spans to a collector; `secrets` knows what must
/// not show.
pub fn start(
    logging: &Logging,
    user_home: Option<&str>,
    secrets: Arc<SecretBook>,
    agents: AgentLayer,
    spans: Option<SpanLayer>,
) -> Result<(), Failure> {
    let writer = match &logging.file {
        None => BoxMakeWriter::new(|| Lenient(std::io::stderr())),
        Some(path) => {
            let path = match (path.strip_prefix("~/"), user_home) {
                (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
                _ => PathBuf::from(&**path),
            };
            let file = open_log(&path).map_err(|error| {
                Failure::Failed(format!("the log file {} can't be opened: {error}", path.display()))
            })?;
            BoxMakeWriter::new(Mutex::new(Lenient(file)))
        }
    };
    let colours = logging.file.is_none() && std::io::stderr().is_terminal();
    let filter = EnvFilter::new(format!("{},{UNHEARD}", logging.level));
    let own = tracing_subscriber::fmt::layer()
        .with_writer(Redacting { writer, secrets })
        .with_target(false)
        .with_ansi(colours);
    let spans = spans.map(|spans| spans.with_filter(filter_fn(is_ours)));
    let registry = tracing_subscriber::registry().with(spans).with(agents.with_filter(heard()));
    // A second call in one process changes nothing: the first log stays.
    let _ = match logging.format {
        LogFormat::Text => registry.with(own.with_filter(filter)).try_init(),
        LogFormat::Json => {
            registry.with(own.json().flatten_event(true).with_filter(filter)).try_init()
        }
    };
    Ok(())
}

/// Takes secrets out of every line, by what is known of them when it is written.
struct Redacting<M> {
    writer: M,
    secrets: Arc<SecretBook>,
}

impl<'w, M: MakeWriter<'w>> MakeWriter<'w> for Redacting<M> {
    type Writer = RedactingWriter<'w, M::Writer>;

    fn make_writer(&'w self) -> Self::Writer {
        RedactingWriter { writer: self.writer.make_writer(), secrets: &self.secrets }
    }
}

struct RedactingWriter<'w, W> {
    writer: W,
    secrets: &'w SecretBook,
}

impl<W: Write> Write for RedactingWriter<'_, W> {
    /// Gets a whole event at a time, so no secret is cut in two.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let known = self.secrets.known();
        self.writer.write_all(&known.records().redact_bytes(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}

/// A log that nobody reads any more, or a full disk, is no reason to stop serving: what can't
/// be written is dropped.
struct Lenient<W>(W);

impl<W: Write> Write for Lenient<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}
