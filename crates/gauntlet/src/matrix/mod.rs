//! The isolation matrix: every agent, every kind of resource, reading, writing, calling.

use crate::stage::Stage;
use anyhow::Result;

/// The matrix as text.
pub fn print(_stage: &Stage) -> Result<String> {
    Ok(String::new())
}
