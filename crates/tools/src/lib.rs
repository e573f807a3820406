//! The built-in tools, one file each.
//!
//! A tool works over the [`Hands`] it is given for one call: handles that are bound to one
//! agent, session and scope before the tool sees them. It knows no store, no other agent and
//! no file system, and there is nothing it could name one by.

mod clarify;
pub mod hands;
mod output;
mod session_search;
mod todo;

pub use clarify::Clarify;
pub use hands::{HandError, Hands, History, Hit, Search};
pub use output::{Output, ToolError};
pub use session_search::SessionSearch;
pub use todo::Todo;

use async_trait::async_trait;
use serde_json::Value;

/// One tool.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Its name, as in the catalogue.
    fn name(&self) -> &'static str;

    /// What the model is told it is for. Short: it stands in every prompt.
    fn description(&self) -> &'static str;

    /// The JSON schema of its arguments, as JSON text. Short for the same reason.
    fn parameters(&self) -> &'static str;

    /// Whether it goes on from what it last gave back in the same session.
    fn recall(&self) -> Recall {
        Recall::Nothing
    }

    /// Does it, for arguments the gate admitted.
    async fn run(&self, hands: &Hands<'_>, arguments: &Value) -> Result<Output, ToolError>;
}

/// What a tool is given of its own past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recall {
    /// Nothing.
    Nothing,
    /// What it last gave back in this session.
    LastOutput,
}

/// Every built-in tool that this version runs.
pub const BUILT_IN: &[&dyn Tool] = &[&Clarify, &SessionSearch, &Todo];

/// Finds a built-in tool.
pub fn find(name: &str) -> Option<&'static dyn Tool> {
    BUILT_IN.iter().copied().find(|tool| tool.name() == name)
}

/// Reads a tool's arguments; what is wrong is said so that a model can mend it.
fn arguments<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, ToolError> {
    T::deserialize(value).map_err(|error| ToolError::Arguments(error.to_string()))
}

#[cfg(test)]
mod tools_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_an_object_and_small() {
        for tool in BUILT_IN {
            let schema: Value = serde_json::from_str(tool.parameters()).unwrap();
            assert_eq!(schema["type"], "object", "{}", tool.name());
            assert!(tool.parameters().len() + tool.description().len() < 1_200, "{}", tool.name());
        }
    }
}
