//! The daemon's log: one line an event, to standard error or a file, for people or programs.

use crate::failure::Failure;
use crate::process::open_log;
use insula_config::daemon::{LogFormat, Logging};
use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

/// Begins to log as the configuration says.
pub fn start(logging: &Logging, user_home: Option<&str>) -> Result<(), Failure> {
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
    let builder = tracing_subscriber::fmt()
        .with_writer(writer)
        .with_target(false)
        .with_ansi(colours)
        .with_env_filter(EnvFilter::new(&*logging.level));
    // A second call in one process changes nothing: the first log stays.
    let _ = match logging.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    Ok(())
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
